/*
 * Private to src/judge: one kernel on its way to a verdict.
 */
#ifndef SMELT_JUDGE_JUDGING_H
#define SMELT_JUDGE_JUDGING_H

#include "judge/private.h"

struct references;

struct judging {
    struct arena *arena;
    const struct task *task;
    const struct judge_options *options;
    const struct source *source;
    struct verdict *verdict;
    struct error *error;
    struct compiled *compiled; /* released by whoever called */
    struct ahead *ahead;       /* compiles it, as this number */
    int number;
    struct yardstick *yardstick;
    struct references *references; /* reference.h */
    struct judge_draws *draws;
    uint64_t seed;
    struct result_list VECTOR(struct case_result) results;
};

/* Compiles and checks it; what was compiled stays for timing. False when the judge failed. */
bool judging_check(struct judging *judging);

#endif
