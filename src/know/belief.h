/*
 * What decisions are worth: a guess about steps nobody tried, from those that were.
 */
#ifndef SMELT_KNOW_BELIEF_H
#define SMELT_KNOW_BELIEF_H

#include "base/base.h"

struct belief { /* about a logarithm of speed */
    double mean, variance;
    double drawn;     /* what it might be, at... */
    uint64_t drawing; /* ...the drawing of this number */
};

struct belief_set {
    struct arena *arena;
    struct map values;    /* diagnosis and "row.lanes 16" -> struct belief */
    struct belief model;  /* how far what the cost model promises is true: an exponent */
    struct belief advice; /* what following the advice of a diagnosis gains */
    uint64_t drawing;     /* counts belief_draw_anew */
};

struct belief_step {    /* from one plan to another */
    const char *class;  /* the diagnosis of what it starts from; "": it is not to count */
    const char *action; /* of a proposal for any task: "row.lanes 8 -> 16; row.unroll 2 -> 4" */
    double promise;     /* what the cost model says of it; 0: nothing */
    double advice;      /* what the diagnosis says of it (diagnose_advice); 0: nothing */
};

struct belief_set belief_new(struct arena *arena);
/* What a step may gain. */
struct belief belief_guess(struct belief_set *set, const struct belief_step *step);
/* From here on belief_draw speaks of another world. */
void belief_draw_anew(struct belief_set *set);
/*
 * What a step gains in a world in which every belief is as it may be by its doubt, `curiosity`
 * times: one world for all steps until the next is drawn, so that steps to the same value are
 * alike, and what is best of many is not what luck was drawn for.
 */
double belief_draw(struct belief_set *set, const struct belief_step *step, double curiosity,
                   struct random *random);
/* What it did gain. `weight`: 1 for one careful observation of this very task, less for others. */
void belief_learn(struct belief_set *set, const struct belief_step *step, double log_gain,
                  double weight);

#endif
