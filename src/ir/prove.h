/*
 * Small proofs about integers: polynomials over atoms (sizes, indices, quotients, data), facts
 * known to be non-negative, and a bounded search that shows a polynomial non-negative by adding
 * facts up. It answers "shown" or "not shown", never a wrong "shown".
 */
#ifndef SMELT_IR_PROVE_H
#define SMELT_IR_PROVE_H

#include "ir/ir.h"

enum { POLY_DEGREE = 6, POLY_TERMS = 48 };

struct poly_term {
    int64_t factor;
    int degree;
    int atoms[POLY_DEGREE]; /* ascending */
};

/* A sum of terms, sorted, no two alike, no zero factors. NULL stands for "too big to say", such as
 * a factor that is not of the size of an int64_t or its least one. */
struct poly {
    int count;
    struct poly_term terms[];
};

struct prover;

/* With values (one per symbol of the part) sizes are numbers; without, they are symbols. */
struct prover *prover_new(struct arena *arena, const struct ir_part *part, const int64_t *values);
/* Forget everything learned since the mark was taken. */
struct prover_mark {
    size_t atoms, facts;
};
struct prover_mark prover_mark(const struct prover *prover);
void prover_return(struct prover *prover, struct prover_mark mark);

/* Polynomials. NULL in, NULL out. */
const struct poly *poly_constant(struct prover *prover, int64_t value);
const struct poly *poly_add(struct prover *prover, const struct poly *a, const struct poly *b);
const struct poly *poly_subtract(struct prover *prover, const struct poly *a, const struct poly *b);
const struct poly *poly_multiply(struct prover *prover, const struct poly *a, const struct poly *b);
/* Exact quotient, or NULL. */
const struct poly *poly_quotient(struct prover *prover, const struct poly *a, const struct poly *b);
bool poly_equal(const struct poly *a, const struct poly *b); /* NULL equals nothing */
bool poly_is_constant(const struct poly *a, int64_t *value);

/* Atoms. */
const struct poly *prover_size(struct prover *prover, const struct ir_size *size);
/* `a op b`, for an operation on two sizes. */
const struct poly *prover_combine(struct prover *prover, enum ir_size_op op, const struct poly *a,
                                  const struct poly *b);
const struct poly *prover_index(struct prover *prover, int index); /* number in the part */
/* A value of which nothing is known: the same number is the same value. */
const struct poly *prover_opaque(struct prover *prover, int number);
const struct poly *prover_divide(struct prover *prover, const struct poly *a, const struct poly *b);
const struct poly *prover_least(struct prover *prover, const struct poly *a, const struct poly *b);
const struct poly *prover_greatest(struct prover *prover, const struct poly *a,
                                   const struct poly *b);

/* a = factor * index + rest where neither holds the index; false when it is not linear in it. */
bool poly_split(struct prover *prover, const struct poly *a, int index, const struct poly **factor,
                const struct poly **rest);
/* The same for a symbol of the part. */
bool poly_split_symbol(struct prover *prover, const struct poly *a, int symbol,
                       const struct poly **factor, const struct poly **rest);

/* Back to a size expression over the part's symbols; NULL when an atom has no such form, or when
 * it would be very long. */
const struct ir_size *poly_to_size(struct prover *prover, const struct poly *a);

/* Facts and questions. */
void prover_assume(struct prover *prover, const struct poly *not_negative);
void prover_assume_relation(struct prover *prover, enum ir_relation relation, const struct poly *a,
                            const struct poly *b);
bool prover_shows(struct prover *prover, const struct poly *not_negative);
bool prover_shows_equal(struct prover *prover, const struct poly *a, const struct poly *b);

/* ---- stages ---- */

/* Learns the domain of a stage: extents and ranges. Return to a mark when done with the stage. */
void prover_enter_stage(struct prover *prover, const struct ir_part *part,
                        const struct ir_stage *stage);
void prover_enter_index(struct prover *prover, const struct ir_part *part,
                        const struct ir_nodes *nodes, int index);
/* An integer node as a polynomial. */
const struct poly *prover_node(struct prover *prover, const struct ir_part *part,
                               const struct ir_nodes *nodes, int node);
/* Learns from a bool node being true (or false). */
void prover_assume_node(struct prover *prover, const struct ir_part *part,
                        const struct ir_nodes *nodes, int node, bool holds);
/* Whether an integer node is shown to be in 0 .. extent-1. */
bool prover_shows_within(struct prover *prover, const struct ir_part *part,
                         const struct ir_nodes *nodes, int node, const struct ir_size *extent);
/* Whether dimension `dim` of a READ node is shown within bounds, under its guard. */
bool prover_shows_read(struct prover *prover, const struct ir_part *part,
                       const struct ir_nodes *nodes, int read, int dim);

/* ---- covering: is every element written exactly once? ---- */

enum cover { COVER_YES, COVER_NO, COVER_UNKNOWN };

/* Which stages define which tensors of a part; made once, before asking about each. */
struct ir_definitions;
struct ir_definitions *ir_definitions_new(struct arena *arena, const struct ir_part *part);
/* `why` gets a sentence when not YES. */
enum cover ir_cover(struct prover *prover, const struct ir_definitions *definitions, int tensor,
                    struct text *why);
/* Whether the left map of a write is one-to-one. */
bool ir_injective(struct prover *prover, const struct ir_part *part, const struct ir_stage *stage,
                  int write, struct text *why);

#endif
