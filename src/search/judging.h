/*
 * The real judge behind the interface of the search.
 */
#ifndef SMELT_SEARCH_JUDGING_H
#define SMELT_SEARCH_JUDGING_H

#include "judge/judge.h"
#include "search/search.h"

/* Batches that share their draws; finalists have their own. */
enum { JUDGING_RENEW = 16, JUDGING_FASTEST = 7, JUDGING_ANNOUNCED = 2 };

struct judging {
    const struct task *task;
    struct judge_options options; /* time_seconds: of a batch; finalists get three times that */
    struct judge_draws draws;     /* of these batches */
    int batches;                  /* they served */
    /* Baselines that are the fastest in some case, once that is known: the others are left out
     * then. Ends with NULL. */
    const char *fastest[JUDGING_FASTEST + 1];
    /* The one to beat, once there is one, and its speed-up: what the others' are measured by. */
    const struct source *champion;
    double champion_fitness;
    struct judge_announced *announced[JUDGING_ANNOUNCED]; /* of batches to come, or NULL */
    struct arena *arena;                                  /* as long as the run */
    struct search *search; /* who has judged the same binary is asked there; or NULL */
};

bool judging_judge(void *context, struct arena *arena, const struct source *const *kernels,
                   struct plan *const *plans, int count, enum search_care care,
                   struct search_judgement *judgements, struct error *error);

/* Begins to compile what is judged after the next batch; no kernels: what was begun is given up. */
void judging_announce(void *context, const struct source *const *kernels, int count);

/* The speed-up over the fastest baseline, geometric mean over the timed cases; 0: none was timed.
 */
double judging_fitness(const struct verdict *verdict);
/* The same with its interval; all 0: none was timed. */
struct interval judging_speedup(const struct verdict *verdict);

/* A library is reported with how it was set up, "openblas (OPENBLAS_CORETYPE=Zen)"; it is asked for
 * by its name alone. NULL: nobody of that name was asked for. */
const char *judging_asked_name(const char *const *names, const char *reported);

/* What a kernel is for the judge: its binary and what its manifest asks for. 64 digits. */
const char *judging_key(struct arena *arena, const struct source *source, const char *binary);

#endif
