/*
 * Failed or slow: which of the two questions is asked.
 */
#include <math.h>

#include "diagnose/private.h"

void diagnosis_fact(struct diagnosis *diagnosis, const char *name, double value, const char *unit)
{
    if (diagnosis->fact_count < DIAGNOSIS_EVIDENCE)
        diagnosis->facts[diagnosis->fact_count++] = (struct diagnosis_fact){name, value, unit};
}

void diagnosis_action(struct diagnosis *diagnosis, const char *action)
{
    if (diagnosis->action_count < DIAGNOSIS_ACTIONS)
        diagnosis->actions[diagnosis->action_count++] = action;
}

const struct case_result *diagnose_timed_case(const struct diagnose_subject *subject)
{
    const struct verdict *verdict = subject->verdict;
    for (int i = 0; i < verdict->case_count; i++)
        if ((subject->which < 0 || subject->which == i) && !isnan(verdict->cases[i].microseconds))
            return &verdict->cases[i];
    return NULL;
}

void diagnose(struct arena *arena, const struct diagnose_subject *subject,
              struct diagnosis *diagnosis)
{
    const struct case_result *result = diagnose_timed_case(subject);
    *diagnosis = (struct diagnosis){.pattern = "", .text = ""};
    if (subject->verdict->outcome != OUTCOME_OK)
        diagnose_failure(arena, subject, diagnosis);
    else if (result)
        diagnose_speed(arena, subject, result, diagnosis);
    else
        diagnosis->text = "it is right; it was not timed";
}

void diagnosis_write(struct json *json, const char *name, const struct diagnosis *diagnosis)
{
    json_object(json, name);
    json_string(json, "class", diagnosis_name(diagnosis->class));
    json_double(json, "confidence", diagnosis->confidence);
    json_string(json, "pattern", diagnosis->pattern);
    json_string(json, "text", diagnosis->text);
    if (diagnosis->reach > 0)
        json_double(json, "reach", diagnosis->reach);
    json_array(json, "evidence");
    for (int i = 0; i < diagnosis->fact_count; i++) {
        json_object(json, NULL);
        json_string(json, "name", diagnosis->facts[i].name);
        json_double(json, "value", diagnosis->facts[i].value);
        json_string(json, "unit", diagnosis->facts[i].unit);
        json_end(json);
    }
    json_end(json);
    json_array(json, "actions");
    for (int i = 0; i < diagnosis->action_count; i++)
        json_string(json, NULL, diagnosis->actions[i]);
    json_end(json);
    json_end(json);
}
