/*
 * Private to src/judge: timing several kernels against each other.
 */
#ifndef SMELT_JUDGE_CONTEST_H
#define SMELT_JUDGE_CONTEST_H

#include <stdio.h>

#include "judge/private.h"

enum { CONTEST_MAX = 8, CONTEST_LEAST_ROUNDS = 8, CONTEST_MOST_ROUNDS = 64 };

struct contestant {
    const char *name;                   /* "kernel", "plain" */
    const char *library;                /* shared object, or what a device loads */
    const char *directory;              /* of a device: where its driver keeps what it makes */
    const struct launch_device *device; /* NULL: the processor */
    int64_t scratch;
    bool opens_libraries;    /* see struct launch */
    struct command *command; /* not NULL: an external program instead of a library */
    bool is_empty;           /* computes nothing: what starting and stopping costs */
};

struct refresh_pool;

struct contest {
    const struct ir_binding *binding;
    const struct contestant *contestants; /* first the kernels that are judged, then baselines */
    int count, judged;
    bool champion;     /* the first of them has been timed against the baselines already */
    const char *empty; /* shared object of a kernel that does nothing */
    const struct launch_device *empty_device; /* on a device: the same; else NULL */
    const struct draw *draws;                 /* as declared, different seeds */
    int draw_count;
    const struct refresh_pool *pool; /* where values come from: the same draws, turned */
    const struct sampling *sampling; /* not NULL: the case is too large to evaluate whole */
    int threads;
    bool cold;           /* the caches hold nothing of a call's tensors when it begins */
    double seconds;      /* for all of it */
    double call_seconds; /* for one call before it counts as hung */
    double width;        /* of the interval of the ratio, relative: stop when narrower */
    bool patient;        /* all seconds may be used for that; else less will do after half of one */
    bool hasty;          /* few rounds: the best of many contests meet once more */
    uint64_t seed;
    FILE *samples; /* where all that is measured is written down; NULL: nowhere */
};

struct standing {
    enum outcome outcome; /* OK, or what went wrong while it was timed */
    char message[200];
    double laps[CONTEST_MOST_ROUNDS]; /* seconds of one call, one per round it took part in */
    /* the same over another contestant's, in the rounds both took part in */
    double ratios[CONTEST_MAX][CONTEST_MOST_ROUNDS];
    double noise[CONTEST_MOST_ROUNDS]; /* the middle one of its batches over the low one, less 1 */
    int rounds;
    double device; /* seconds of one call at best, by the clock of a device; 0: there is none */
    double spent;  /* seconds an external program took, in all */
    bool cut;      /* left out after some rounds: clearly slower than another kernel... */
    int ahead;     /* ...than this one */
};

/* The 95 % interval of a's time over b's, by the rounds both took part in. */
struct interval contest_ratio(const struct standing *standings, int a, int b);
/* The same for the seconds of one call. */
struct interval contest_seconds(const struct standing *standing);

/* Calls of a batch, each on tensors of its own: as many as have room in half of the second-level
 * cache; cold ones may be more. */
int contest_slots(const struct contest *contest);

/* False when the judge itself failed. */
bool contest_run(const struct contest *contest, struct standing *standings, struct error *error);

/* Of times of the same work: what it takes when nothing comes between. Disturbances only ever make
 * it longer, so this is the low end of them, for kernels and for programs outside alike. */
double interval_low(const double *seconds, int count);
/* Of positive values that differ by chance, by their logarithms: robust, two-sided 95 %. */
struct interval interval_of_logs(const double *values, int count);
/* Whether a ratio is known well enough to say who is faster. */
bool interval_decides(struct interval ratio);
/* Whether somebody is surely slower than another by `least`, given the ratios of his times to the
 * other's: so that nothing stays undecided when he is left out. */
bool interval_is_behind(const double *ratios, int count, double least);

#endif
