/*
 * attend: weighted means of values, the weights a softmax of scores that are sums of products.
 * Private to the attend_*.c files.
 *
 * Six stages, whatever their names: scores (a sum of products of queries and keys), maps of them,
 * their greatest one (top), the sum of the weights exp(score - top) (total), the sum of weights
 * times values (mix), and maps of that. An axis is an index of the mix, by position, or the one
 * that scores are summed over, which comes behind; each stage's own indices are axes under other
 * numbers.
 */
#ifndef SMELT_SKELETON_ATTEND_H
#define SMELT_SKELETON_ATTEND_H

#include "skeleton/skeleton.h"

enum {
    ATTEND_MAX_AXES = 16,
    ATTEND_MAX_TERMS = 8,
    ATTEND_MAX_AFTER = 8,
    ATTEND_MAX_VECTORS = 8, /* of queries in a block */
    ATTEND_NO_AXIS = -1,
};

struct attend_stage {
    const struct ir_stage *stage;
    int axes[ATTEND_MAX_AXES]; /* per index of the stage */
};

struct attend_term { /* of a product */
    int node;
    bool inverse; /* divided by */
};

struct attend_factor {
    struct attend_term terms[ATTEND_MAX_TERMS];
    int count;
    bool negative;
};

struct attend {
    struct skeleton_group group; /* maps of the group are computed where they are read */
    struct attend_stage score, top, total, mix, after[ATTEND_MAX_AFTER];
    int after_count;
    int axis_count; /* of the mix; the feature is behind them */
    int query, key, channel, feature;
    const struct ir_size *extents[ATTEND_MAX_AXES];
    struct attend_factor queries, keys; /* of a score */
    struct attend_factor values;        /* of the mix, beside the weight */
    bool guarded;                       /* a score of -inf has no weight, whatever the top is */
    enum dtype dtype;                   /* computed in */
    int element;                        /* bytes */
    struct loop_variable *variables;    /* per axis */
};

static inline int attend_tensor(const struct attend_stage *stage)
{
    return stage->stage->writes[0].tensor;
}

/* attend_match.c */
bool attend_classify(const struct skeleton_group *group, struct attend *attend,
                     struct skeleton_reason *why_not);
/* The product of a factor's terms; the indices of its stage are open. */
loop_value attend_product(struct skeleton_values *values, const struct attend *attend,
                          const struct ir_stage *stage, const struct attend_factor *factor);
/* Gives the stage's indices what stands for their axes. */
void attend_open(struct skeleton_values *values, const struct attend_stage *stage,
                 const loop_value *at);

/* What the plan decided. */
struct attend_decisions {
    int lanes, vectors; /* of queries */
    int block_k;        /* keys */
    int tile_k, tile_d; /* rows of the tiles of scores and of sums */
    int threads;
};
struct attend_decisions attend_decide(const struct attend *attend, const struct plan_group *plan);

/* attend_lower.c */
void attend_lower(const struct skeleton_group *group, const struct plan_group *plan,
                  struct loop_kernel *kernel);

/* attend_span.c: the keys that a block of queries can see */
struct attend_span {
    loop_value from, to;
};
/* `predicate` is of variables for the query and the key; queries first .. last. */
struct attend_span attend_span(struct arena *arena, const struct attend *attend,
                               loop_value predicate, loop_value first, loop_value last,
                               loop_value keys);

#endif
