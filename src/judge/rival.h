/*
 * Private to src/judge: baselines on their way into a contest.
 */
#ifndef SMELT_JUDGE_RIVAL_H
#define SMELT_JUDGE_RIVAL_H

#include "baseline/baseline.h"
#include "judge/contest.h"

enum { RIVAL_MOST = 32 }; /* baselines whose absence is explained */

/* One participant: compiled once, used for every case it holds for. */
struct participant {
    const char *name;
    struct compiled compiled;
    struct kernel *kernel;   /* NULL for a command */
    struct verdict *verdict; /* of a kernel that is judged; NULL for a baseline */
    bool opens_libraries;
    const struct baseline_product *product; /* what is done instead of the kernel's launches */
    struct command *command; /* an external program, ready for the case at hand; else NULL */
};

/* A baseline and the ways to set it up, or a command, or why it cannot take part. */
struct rival {
    const char *name;
    struct participant variants[BASELINE_VARIANTS];
    int count;
    const char *const *command;
    const char *problem;
};

/*
 * Compiles all ways to set it up; target NULL: for the processor. A baseline that does not apply
 * has a problem, and that is fine; false when it cannot be had at all. Not asked for (but named by
 * the task): no program is started, and whatever goes wrong is a problem of the baseline's.
 */
bool rival_make(struct arena *arena, const char *name, bool asked, const struct target *target,
                const struct ir_program *program, struct rival *rival, struct error *error);
void rival_release(struct rival *rival);

struct contestant rival_contestant(struct arena *arena, const struct participant *participant,
                                   const struct task_case *task_case,
                                   const struct ir_binding *binding);
/*
 * The way to set a baseline up that is right in this case and fastest, found by trying. NULL with
 * *problem: none works, and why. NULL without: it does not hold for the case, or the judge failed
 * (then `error` is set).
 */
const struct participant *rival_choose(struct arena *arena, const struct rival *rival,
                                       struct contest contest, const struct task_case *task_case,
                                       const char **problem, struct error *error);

/* Tells programs that stay what the first timed case will ask of them. */
void rival_announce(struct arena *arena, const struct task *task,
                    const struct judge_options *options, const struct target *target);

#endif
