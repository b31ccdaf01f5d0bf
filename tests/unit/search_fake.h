/*
 * For the tests of the search: softmax, judged by a function of the plan, with a clock that counts.
 */
#ifndef SMELT_TESTS_UNIT_SEARCH_FAKE_H
#define SMELT_TESTS_UNIT_SEARCH_FAKE_H

#include "search/search.h"

struct fake_trace {
    struct text text; /* a line for each candidate judged */
    int stop_after;   /* calls of `progress`; 0: none */
    int calls;
};

struct fake_store { /* in a folder of its own */
    char folder[32], path[64];
    struct store *store;
};

struct fake_store fake_store_open(void);
/* Closes it and removes the folder. */
void fake_store_close(struct fake_store *store);

struct skeleton_program *fake_prepare(struct arena *arena);
/* The same with other sizes. */
struct skeleton_program *fake_prepare_sized(struct arena *arena, int64_t rows, int64_t columns);
/* Fitness from the plan's text; every seventh plan is wrong. A kernel without a plan that says
 * "fast" is. */
bool fake_judge(void *context, struct arena *arena, const struct source *const *kernels,
                struct plan *const *plans, int count, enum search_care care,
                struct search_judgement *judgements, struct error *error);
/* The same; plans whose hashes begin with the same fake_digits digits give the same binary. */
bool fake_judge_twins(void *context, struct arena *arena, const struct source *const *kernels,
                      struct plan *const *plans, int count, enum search_care care,
                      struct search_judgement *judgements, struct error *error);
extern size_t fake_digits;
/* The judge of fake_run. */
extern bool (*fake_judge_now)(void *context, struct arena *arena,
                              const struct source *const *kernels, struct plan *const *plans,
                              int count, enum search_care care, struct search_judgement *judgements,
                              struct error *error);
/* Told what comes next; NULL: nobody is. */
extern void (*fake_announce_now)(void *context, const struct source *const *kernels, int count);
double fake_clock(void);
void fake_clock_reset(void);

extern const struct run *fake_going_on; /* the run as the store has it, or NULL */
extern struct search *fake_current;     /* the search that is running */
extern int fake_fail_at;                /* the batch whose judge fails; 0: none */
extern int fake_live;                   /* candidates in memory; 0: as many as usual */

struct search *fake_run(struct arena *arena, const char *policy, int64_t evaluations,
                        struct store *store, int64_t id, struct fake_trace *trace);

#endif
