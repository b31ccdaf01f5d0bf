/*
 * Names of what a search records.
 */
#include <string.h>

#include "record/search.h"

static const char *const diagnoses[DIAGNOSIS_COUNT] = {
    [DIAGNOSIS_NONE] = "none",       [DIAGNOSIS_COMPILE] = "compile",
    [DIAGNOSIS_LAUNCH] = "launch",   [DIAGNOSIS_BOUNDS] = "bounds",
    [DIAGNOSIS_VALUES] = "values",   [DIAGNOSIS_PRECISION] = "precision",
    [DIAGNOSIS_RACE] = "race",       [DIAGNOSIS_HANG] = "hang",
    [DIAGNOSIS_MEMORY] = "memory",   [DIAGNOSIS_INSTRUCTION] = "instruction",
    [DIAGNOSIS_LATENCY] = "latency",
};

static const char *const states[] = {"running", "done", "stopped", "failed"};

static bool find(const char *const *names, int count, const char *name, int *number)
{
    for (*number = 0; *number < count; ++*number)
        if (strcmp(names[*number], name) == 0)
            return true;
    return false;
}

const char *diagnosis_name(enum diagnosis_class class)
{
    return diagnoses[class];
}

bool diagnosis_parse(const char *name, enum diagnosis_class *class)
{
    int number;
    bool found = find(diagnoses, DIAGNOSIS_COUNT, name, &number);
    if (found)
        *class = (enum diagnosis_class)number;
    return found;
}

const char *run_state_name(enum run_state state)
{
    return states[state];
}

bool run_state_parse(const char *name, enum run_state *state)
{
    int number;
    bool found = find(states, 4, name, &number);
    if (found)
        *state = (enum run_state)number;
    return found;
}
