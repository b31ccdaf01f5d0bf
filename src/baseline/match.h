/*
 * Private to src/baseline: recognising what a program computes by its structure, whatever its names
 * are and however its formulas are written.
 */
#ifndef SMELT_BASELINE_MATCH_H
#define SMELT_BASELINE_MATCH_H

#include "ir/ir.h"

enum { MATCH_TERMS = 3, MATCH_READS = 6 };

/* A sum of indices with factors, and a constant: p*stride - pad + r*dil. */
struct match_affine {
    struct match_term {
        int index;
        const struct ir_size *factor;
    } terms[MATCH_TERMS];
    int count;
    const struct ir_size *constant; /* NULL: 0 */
};

bool match_affine(struct arena *arena, const struct ir_stage *stage, int node,
                  struct match_affine *out);
/* The index a node is, when it is nothing but an index; else -1. */
int match_bare(const struct ir_stage *stage, int node);
/* Number among the inputs; -1 when it is none. */
int match_input(const struct ir_part *part, int tensor);
bool match_same_size(const struct ir_size *a, const struct ir_size *b);
/* A read without a condition; `padded`: one that gives the number `outside` beyond the borders
 * passes as well. */
bool match_read(const struct ir_stage *stage, int node, bool padded, double outside);
/* Whether a tensor is addressed by exactly these indices, in this order. */
bool match_indices(const struct ir_stage *stage, const int *at, int rank, const int *indices);

/*
 * The value a stage writes as a function of what it reads. It is recognised by its values: at many
 * points, ordinary and extreme, it must agree with the function it is taken for.
 */
struct match_function {
    const struct ir_part *part;
    const struct ir_stage *stage;
    int reads[MATCH_READS]; /* nodes, in order of appearance; equal reads count once */
    int count;
    struct ir_nodes nodes; /* the reads replaced by parameters */
    const int64_t *sizes;  /* made up, one per symbol */
    double *scalars;       /* the same */
};

/* False when it depends on an index otherwise than through reads, or reads too much. */
bool match_function(struct arena *arena, const struct ir_part *part, const struct ir_stage *stage,
                    struct match_function *out);
/* What it is taken for: a function of the values read, with whatever else it needs. */
typedef double match_formula(const double *values, const void *context);
/* values[i] is what reads[order[i]] gives. */
bool match_agrees(const struct match_function *function, const int *order, match_formula *formula,
                  const void *context);

/* The size as an expression in C over sizes[]. */
void match_print_size(struct text *out, const struct ir_size *size);

#endif
