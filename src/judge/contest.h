/*
 * Private to src/judge: timing several kernels against each other.
 */
#ifndef SMELT_JUDGE_CONTEST_H
#define SMELT_JUDGE_CONTEST_H

#include "judge/private.h"

enum { CONTEST_MAX = 8, CONTEST_LEAST_ROUNDS = 8, CONTEST_MOST_ROUNDS = 40 };

struct contestant {
    const char *name;    /* "kernel", "plain" */
    const char *library; /* shared object */
    int64_t scratch;
};

struct contest {
    const struct ir_binding *binding;
    const struct contestant *contestants; /* [0] is the one the others are compared with */
    int count;
    const char *empty;        /* a kernel that does nothing: what starting and stopping costs */
    const struct draw *draws; /* as declared, different seeds */
    int draw_count;
    int threads;
    double seconds;      /* for all of it */
    double call_seconds; /* for one call before it counts as hung */
    double width;        /* of the interval of the ratio, relative: stop when narrower */
    uint64_t seed;
};

struct standing {
    enum outcome outcome; /* OK, or what went wrong while it was timed */
    char message[200];
    struct interval seconds; /* one call; the interval is over launches */
    struct interval ratio;   /* its time over that of contestant 0: above 1 is slower */
    bool decided;            /* the interval of the ratio excludes 1 */
};

/* False when the judge itself failed. */
bool contest_run(const struct contest *contest, struct standing *standings, int *rounds,
                 struct error *error);

#endif
