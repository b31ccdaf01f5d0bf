/*
 * Hardware counters of another process, where the system has them and lets us: virtual machines and
 * containers often do not. Whether it does is an answer, not an error.
 */
#ifndef SMELT_OS_COUNTERS_H
#define SMELT_OS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum counter {
    COUNTER_NANOSECONDS, /* of processor time: counted by the system, not the processor */
    COUNTER_CYCLES,
    COUNTER_INSTRUCTIONS,
    COUNTER_CACHE_MISSES, /* of the last level */
    COUNTER_BRANCH_MISSES,
    COUNTER_COUNT
};

const char *counter_name(enum counter counter); /* "cycles" */

struct counters {
    int descriptors[COUNTER_COUNT]; /* -1: not available */
};

struct counter_values {
    bool have[COUNTER_COUNT];
    uint64_t value[COUNTER_COUNT];
};

/* Counts what a process and the threads it starts from now on do in user mode. */
void counters_open(struct counters *counters, pid_t process);
/* What was counted so far; closes them. */
void counters_close(struct counters *counters, struct counter_values *values);
/* NULL when the processor's own counters can be read, else why not. */
const char *counters_unavailable(void);

#endif
