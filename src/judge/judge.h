/*
 * The verdict on a kernel: compiled, run and compared in a way it cannot influence.
 *
 * What is guaranteed: these bytes, for these inputs, appeared within this time, in a process that
 * never held the answer or the seed. A failed kernel is data (struct verdict); a failed judge is an
 * error.
 */
#ifndef SMELT_JUDGE_JUDGE_H
#define SMELT_JUDGE_JUDGE_H

#include "base/base.h"
#include "os/sandbox.h"
#include "record/task.h"
#include "record/verdict.h"

struct target; /* target/target.h */

enum judge_cache { JUDGE_CACHE_TASK, JUDGE_CACHE_WARM, JUDGE_CACHE_COLD };
/* Where elements of cases too large to evaluate whole are evaluated; AUTO: on a GPU where there is
 * much to do, else by the processor. */
enum judge_oracle { JUDGE_ORACLE_AUTO, JUDGE_ORACLE_CPU, JUDGE_ORACLE_DEVICE };

/*
 * Draws of a task's cases, with the right answers, that several calls share: making them takes
 * longer than checking a small kernel. All zero is ready for use; whoever owns it renews it now and
 * then by releasing it. A kernel is no wiser for it: seed and answers stay where they were. What a
 * verdict tells a proposer about a draw is one element of it, so the last word is spoken over new
 * draws.
 */
struct judge_draws {
    struct arena arena;
    const struct task *task; /* they are of; NULL: none were made yet */
    uint64_t seed;
    struct judge_drawn *cases; /* one per case */
};

void judge_draws_release(struct judge_draws *draws);

/*
 * A process of a device's driver that stays from judgement to judgement, confined as ever: for
 * kernels that nobody suspects, since drivers take longer to start than small kernels to be
 * checked. What speaks against a kernel there does not count: it is judged again in a process of
 * its own, and the next one gets a new process. All zero is ready for use; whoever owns it
 * releases it. Kernels that are timed have processes of their own.
 */
struct judge_resident {
    struct arena arena;
    const struct target *target; /* NULL: none is running */
    const char *folder;          /* of the driver's caches */
    int folder_lock;
    pid_t keeper; /* its parent, a child of ours */
    int leash;    /* the keeper ends when this is closed */
    int socket;   /* to the process: runtime/cell.h */
    unsigned layers;
    int launches;
    bool worked;  /* something was right in it */
    int failures; /* so many in a row of which nothing was: then it is not tried any more */
};

void judge_resident_release(struct judge_resident *resident);

struct judge_announced;

struct judge_options {
    enum judge_cache cache;       /* timing with warm or cold caches; TASK: as the task says */
    enum judge_oracle oracle;     /* of cases for a device that are sampled */
    enum sandbox_level isolation; /* the least that is accepted */
    int jobs;        /* of several kernels, so many are worked on at once; 0: one per processor */
    int threads;     /* given to the kernel; 0: 1 */
    uint64_t seed;   /* 0: from the system, as it should be */
    double seconds;  /* for one call before it counts as hung; 0: 10 */
    int only_case;   /* -1: all */
    int only_draw;   /* -1: all; with seed: replays a failure */
    bool check_only; /* no timing */
    double time_seconds;          /* for timing one case; 0: 3 */
    const char *const *baselines; /* "plain", "kernel:FILE.c"; ends with NULL; NULL: plain */
    int64_t memory;               /* most bytes to take; 0: four fifths of what there is */
    /*
     * Cases that take more than a moment to evaluate whole are checked at sampled elements, where
     * single elements can be evaluated: for whoever judges many kernels, and the best of them once
     * more without it.
     */
    bool brief;
    bool hasty;          /* few rounds of timing: the same for times, which are less sure then */
    const char *keep;    /* folder for the arrays of a failing draw, or NULL */
    const char *samples; /* file for every time that is measured, or NULL */
    bool count;          /* with counters of the processor, where there are any: verdict.counts */
    bool sanitize;       /* on devices: look for races and the like where results are wrong, too */
    bool inspect;        /* look at what the compiler made of kernels: verdict.binary */
    /*
     * With inspect: asked once a kernel is compiled, before it runs. True: whoever asks knows what
     * comes of this binary, and the kernel is not judged (verdict.known). NULL: all are judged.
     */
    bool (*known)(void *context, int number, const char *binary);
    void *context;
    struct judge_draws *draws;         /* to take them from; NULL: they are made for this call */
    struct judge_resident *resident;   /* for devices; NULL: each launch has its own process */
    struct judge_announced *announced; /* used where it is of the same kernels; NULL: none is */
    /*
     * A kernel that an earlier call found right: it is timed beside the others as the one to beat,
     * so that verdicts of several calls can be compared, and a call that brings nothing better ends
     * early. Its name is that of the comparison. NULL: none.
     */
    const struct source *champion;
};

/*
 * Judges C kernels against all cases of a task, one verdict each; those that are right are timed
 * against each other and the baselines. False when the judge itself could not work.
 */
bool judge_kernels(struct arena *arena, const struct task *task,
                   const struct source *const *sources, int count,
                   const struct judge_options *options, struct verdict *verdicts,
                   struct error *error);

/*
 * Kernels that will be judged before long: compiling them begins at once, on the processors that
 * timing with one thread leaves alone, while others are judged. NULL: there are no such processors,
 * or timing takes all of them. Released by whoever asked for it, after they were judged or in their
 * place. The sources are copied.
 */
struct judge_announced *judge_announce(const struct source *const *sources, int count,
                                       const struct judge_options *options);
/* Whether it is of these kernels; false where it is NULL. */
bool judge_is_announced(const struct judge_announced *announced,
                        const struct source *const *sources, int count);
void judge_announced_release(struct judge_announced *announced); /* NULL is fine */

/*
 * Has everything compiled that judging a kernel of the task will ask for, and kept: for whoever
 * judges many tasks one after the other, and has another processor to do this ahead. What fails is
 * found out when it is judged.
 */
void judge_prepare(struct arena *arena, const struct task *task, const struct source *source);

/* Takes the id of a failure, "SEED.CASE.DRAW", into the options. False when it is none. */
bool judge_id_parse(const char *id, struct judge_options *options);

/*
 * The baselines of a judgement, ends with NULL: those the options name, where a bare name stands
 * for a line of the task; else plain and the lines of the task.
 */
const char *const *judge_baseline_names(struct arena *arena, const struct task *task,
                                        const struct judge_options *options);

/*
 * How far off an element of an output of this type may be, in words and numbers, for whoever writes
 * a kernel; those of the task's cases where asked for. In the arena.
 */
const char *judge_accuracy(struct arena *arena, const struct task *task, enum dtype output,
                           bool cases);

/*
 * The reference that large cases of these sizes are compared with on a device: a plain kernel of
 * the op in double precision. False: there is none, or no such target.
 */
bool judge_print_reference(struct text *out, const struct ir_program *program, const int64_t *sizes,
                           const char *target);

/* The flags every kernel is compiled with, ends with NULL. */
const char *const *judge_compiler_flags(void);

/* A short name that changes when the compiler does. */
const char *judge_toolchain(struct arena *arena);

#endif
