/*
 * What the judge found about one kernel. Plain data.
 */
#ifndef SMELT_RECORD_VERDICT_H
#define SMELT_RECORD_VERDICT_H

#include "base/base.h"
#include "ir/ir.h"

enum outcome {
    OUTCOME_OK,
    OUTCOME_COMPILE_ERROR,
    OUTCOME_LAUNCH_ERROR, /* it said that it cannot do the call, or could not be started */
    OUTCOME_CRASH,
    OUTCOME_TIMEOUT,
    OUTCOME_OUT_OF_MEMORY,
    OUTCOME_OUT_OF_BOUNDS,
    OUTCOME_WRONG,
    OUTCOME_INACCURATE,
    OUTCOME_UNSTABLE,
    OUTCOME_CHEAT,
    OUTCOME_UNSUPPORTED, /* it holds for none of the task's cases */
    OUTCOME_JUDGE_FAULT, /* ours: never counted against the kernel */
    OUTCOME_COUNT
};

const char *outcome_name(enum outcome outcome); /* "out-of-bounds" */

/* The first element that is wrong. */
struct mismatch {
    const char *tensor;
    int rank;
    int64_t index[IR_MAX_RANK];
    double expected, got, limit; /* integers as doubles where they fit */
    int64_t wrong, total;        /* elements of this tensor */
    const char *pattern;         /* a sentence: "every element from row 64 on" */
};

/* How a kernel compares with a baseline, or with another kernel judged at the same time. */
struct speedup {
    const char *baseline;  /* "plain", "kernel:mine.c" */
    double microseconds;   /* of the baseline */
    struct interval ratio; /* baseline's time over the kernel's: above 1 the kernel is faster */
    bool decided;          /* the interval excludes 1 */
    bool self_reported;    /* the baseline measured itself: an external program */
    const char *problem;   /* not NULL: there was no comparison, and why */
};

struct case_result {
    const char *text; /* "B=[4096], D=1024" */
    bool held;        /* drawn by the judge, not one of the task's */
    enum outcome outcome;
    double worst;                /* largest error in units of the limit, over all draws */
    int64_t skipped;             /* elements where the plain version overflows */
    int64_t sampled, elements;   /* too large to compare whole: so many of so many, per draw */
    const char *refused;         /* why it was not judged: "takes at least ..."; else NULL */
    double microseconds;         /* of one call; nan when not timed */
    struct interval time;        /* the same with its 95 % interval over launches */
    double gigabytes, gigaflops; /* per second, of the op as it is written */
    int rounds;                  /* launches of each kernel */
    double floor;                /* microseconds no kernel can beat on this machine; 0: not known */
    bool cold;                   /* timed with empty caches */
    bool cut;                    /* timed in few rounds only: clearly slower than another */
    struct speedup *speedups;    /* those with a problem come last */
    int speedup_count;
};

struct verdict {
    enum outcome outcome;
    char message[400];         /* one sentence */
    char detail[2000];         /* compiler output, signal, place */
    const char *id;            /* replays the very draw that failed; NULL when ok */
    struct mismatch *mismatch; /* NULL unless wrong, inaccurate or unstable */
    struct case_result *cases;
    int case_count;
    const char *isolation; /* layers in force, "user pid net landlock seccomp" */
    const char *compiler;  /* version and flags */
    double compile_seconds, check_seconds;
};

/* Adds the verdict as an object; `name` is the kernel's. */
void verdict_write(struct json *json, const char *name, const struct verdict *verdict);

#endif
