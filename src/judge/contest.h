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
    bool opens_libraries;    /* see struct launch */
    struct command *command; /* not NULL: an external program instead of a library */
};

struct contest {
    const struct ir_binding *binding;
    const struct contestant *contestants; /* first the kernels that are judged, then baselines */
    int count, judged;
    const char *empty;        /* a kernel that does nothing: what starting and stopping costs */
    const struct draw *draws; /* as declared, different seeds */
    int draw_count;
    const struct task_input *inputs; /* what is promised about them */
    int threads;
    double seconds;      /* for all of it */
    double call_seconds; /* for one call before it counts as hung */
    double width;        /* of the interval of the ratio, relative: stop when narrower */
    uint64_t seed;
};

struct standing {
    enum outcome outcome; /* OK, or what went wrong while it was timed */
    char message[200];
    double laps[CONTEST_MOST_ROUNDS]; /* seconds of one call, one per round it took part in */
    int rounds;
    bool cut; /* left out after some rounds: clearly slower than another kernel */
};

/* The 95 % interval of a's time over b's, by the rounds both took part in. */
struct interval contest_ratio(const struct standing *a, const struct standing *b);
/* The same for the seconds of one call. */
struct interval contest_seconds(const struct standing *standing);

/* False when the judge itself failed. */
bool contest_run(const struct contest *contest, struct standing *standings, struct error *error);

#endif
