/*
 * Private to src/ir: what rewrites share. A part under construction, stages under construction, and
 * values copied from one stage into another.
 */
#ifndef SMELT_IR_REWRITING_H
#define SMELT_IR_REWRITING_H

#include "ir/rewrite.h"

struct rewriting {
    struct arena *arena;
    const struct ir_part *old;
    struct rewriting_tensors VECTOR(struct ir_tensor) tensors;
    struct rewriting_indices VECTOR(struct ir_index) indices;
    struct rewriting_stages VECTOR(struct ir_stage) stages;
    struct rewriting_sizes VECTOR(const struct ir_size *) zeros;
};

/* With the tensors and indices of the part, and no stages yet. */
struct rewriting rewriting_new(struct arena *arena, const struct ir_part *part);
/* Stages from .. to-1 of the old part as they are. */
void rewriting_keep(struct rewriting *rewriting, int from, int to);
/* A temporary of undeclared type, named after another: "s.part". Dimensions are the extents of the
 * indices. */
int rewriting_tensor(struct rewriting *rewriting, const char *name, const char *suffix,
                     enum dtype dtype, const int *indices, int rank);
/* The stage with tensor instead[t] wherever it reads or writes tensor t. */
struct ir_stage rewriting_redirect(struct arena *arena, const struct ir_stage *stage,
                                   const int *instead);
/* The program that results is right only where this size is 0. */
void rewriting_rely(struct rewriting *rewriting, const struct ir_size *zero);
/* Tensors that nobody writes any more are left out. */
struct ir_program *rewriting_end(struct rewriting *rewriting);

/* ---- a stage under construction ---- */

struct rewriting_stage {
    struct rewriting *rewriting;
    struct rewriting_nodes VECTOR(struct ir_node) nodes;
    struct rewriting_numbers VECTOR(int) indices;
    int left_count;
    struct place place;
};

struct rewriting_stage rewriting_stage_new(struct rewriting *rewriting, const struct ir_stage *old);
/* An index of its own like this one of the part; the node that is its value. */
int rewriting_index(struct rewriting_stage *stage, int like, bool left);
int rewriting_node(struct rewriting_stage *stage, enum ir_op op, enum dtype type, int a, int b,
                   int c);
int rewriting_cast(struct rewriting_stage *stage, enum dtype cast, int a);
int rewriting_int(struct rewriting_stage *stage, int64_t value);
int rewriting_size(struct rewriting_stage *stage, const struct ir_size *size);
/* A read that is known to stay in its tensor while `guard` (or IR_NONE) holds. */
int rewriting_read(struct rewriting_stage *stage, int tensor, const int *at, int guard);
/* Adds the stage with its only write, at these places. */
void rewriting_finish(struct rewriting_stage *stage, const struct ir_monoid *monoid, int predicate,
                      int tensor, const int *at, int value);

/* How many values the stage of the old part combines into one. */
const struct ir_size *rewriting_points(const struct rewriting *rewriting,
                                       const struct ir_stage *stage);
/* The value, or 0 where `old` has nothing to sum. */
int rewriting_unless_empty(struct rewriting_stage *stage, const struct ir_stage *old, int value,
                           enum dtype type);

/* Values of another stage as they are here: each of its indices has a node here, or none yet. */
struct rewriting_source {
    const struct ir_stage *from;
    int *indices; /* per index of the old part: a node of the new stage, or IR_NONE */
    int *copied;  /* per node of `from`: its number here, or IR_NONE */
};

struct rewriting_source rewriting_source_new(struct rewriting *rewriting,
                                             const struct ir_stage *from);
int rewriting_copy(struct rewriting_stage *stage, struct rewriting_source *source, int node);

/* ---- questions ---- */

/* Whether the node depends on one of the stage's indices from .. to-1. */
bool rewriting_depends(const struct ir_part *part, const struct ir_stage *stage, int node, int from,
                       int to);
/* Whether all indices of the stage run over an extent. */
bool rewriting_is_boxed(const struct ir_part *part, const struct ir_stage *stage);
/* Whether its only write is at its left indices, in order, over the whole tensor. */
bool rewriting_is_plain(const struct ir_part *part, const struct ir_stage *stage);
/* False, with the reason. */
bool rewriting_refuse(struct ir_reason *why_not, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The factors of a product, and which of them it is divided by. */
enum { REWRITING_FACTORS = 16 };

struct rewriting_product {
    int count;
    struct rewriting_factor {
        int node;
        bool divides;
    } factors[REWRITING_FACTORS];
    bool negative;
};

/* False: it has too many. */
bool rewriting_factors(const struct ir_stage *stage, int node, struct rewriting_product *product);

/* Whether a stage looks for a value among sorted keys (rewrite_search.c). */
bool rewriting_is_search(const struct ir_part *part, int number);

extern const struct ir_rewrite rewrite_hoist, rewrite_reassociate, rewrite_search, rewrite_factor,
    rewrite_phases, rewrite_moments, rewrite_lift;

#endif
