/*
 * What earlier runs taught: where to begin, what to try first, what never worked.
 *
 * Tasks are alike in steps: the same structure (the same stages, whatever the sizes and names), the
 * same class (the same skeletons), the same diagnosis. What is known of the nearer counts more, and
 * what was learned on another machine less.
 */
#ifndef SMELT_KNOW_KNOW_H
#define SMELT_KNOW_KNOW_H

#include "base/base.h"
#include "ir/ir.h"
#include "know/belief.h"
#include "record/search.h"
#include "store/store.h"

struct know { /* the situation of a run, and the store it asks */
    struct arena *arena;
    const struct store_engine *engine;
    struct store *store;
    const char *structure; /* "row:3f2a9c0d11e0" */
    const char *shape, *dtype, *target, *signature;
    struct map actions; /* diagnosis and action -> struct know_action, read once */
    bool ready;
    bool frozen; /* nothing is written to the store: for comparisons */
};

struct know_action { /* what is known of an action, nearer tasks counted more */
    double tries, wins, infeasible, log_gain;
};

struct know_plan { /* that won somewhere */
    const char *text;
    bool same; /* on a task of the same structure: at other sizes, or with other names */
};

/* What makes programs alike: a hash over their stages without names and sizes. */
const char *know_structure(struct arena *arena, const char *class, const struct ir_part *flat);
/* The power of ten of the elements: "1e6". */
const char *know_shape(struct arena *arena, const struct ir_binding *binding);

/* Whether an action was tried often enough, and never worked. */
bool know_never(struct know *know, enum diagnosis_class diagnosis, const char *action);
/* What other tasks taught, put into beliefs: the nearer, the more it counts. `classes` false: the
 * diagnosis is not to count. */
void know_teach(struct know *know, struct belief_set *beliefs, bool classes);
/* Plans that won on tasks like this one, nearest first; how many, up to `most`. */
int know_plans(struct know *know, struct know_plan *plans, int most);
/* Adds what came of an action. `gain`: fitness over the parent's; 0: it was not right. */
bool know_learn(struct know *know, enum diagnosis_class diagnosis, const char *action, double gain,
                struct error *error);
/* The plan that won, for tasks like this one to begin with. */
bool know_winner(struct know *know, const char *plan_hash, double fitness, struct error *error);

/* ---- wisdom: experience as text (wisdom.c) ---- */

void wisdom_print(struct text *out, const struct store_experiences *entries);
/* All or nothing; what was learned elsewhere keeps its signature. */
bool wisdom_parse(struct arena *arena, const struct source *source,
                  struct store_experiences *entries, struct error *error);

#endif
