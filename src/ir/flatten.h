/*
 * What flatten.c (parts and stages) and flatten_nodes.c (nodes and scalars) share.
 */
#ifndef SMELT_IR_FLATTEN_H
#define SMELT_IR_FLATTEN_H

#include "ir/ir.h"

struct flat_stages VECTOR(struct ir_stage);
struct flat_node_list VECTOR(struct ir_node);

struct flat_scalar { /* of a callee: what the caller gives, in terms of the root */
    struct ir_nodes nodes;
    int result;
};

struct flat_scope { /* one part, at the place where it is written out */
    const struct ir_part *part;
    const struct flat_scope *caller; /* NULL: the root */
    const struct ir_stage *call;
    const struct ir_size **sizes; /* per symbol, in terms of the root; NULL: not asked yet */
    struct flat_scalar *scalars;  /* per scalar; NULL in the root */
    int *tensors;                 /* per tensor: its number in the flat part */
    int first_index;              /* its indices follow from here on */
    const char *prefix;           /* of the names of its tensors; NULL: none */
};

struct flat { /* the part that grows */
    struct arena *arena;
    const struct ir_part *root;
    bool wide; /* floats are all f64 */
    struct map names, facts_said;
    struct flat_tensors VECTOR(struct ir_tensor) tensors;
    struct flat_indices VECTOR(struct ir_index) indices;
    struct flat_facts VECTOR(struct ir_fact) facts;
};

const struct ir_size *flat_size(struct flat *flat, const struct flat_scope *scope,
                                const struct ir_size *size);
/* What the scalars of a callee are. */
void flat_scalars(struct flat *flat, struct flat_scope *scope);
/* The nodes of a stage; what each of them is called now. */
int *flat_nodes(struct flat *flat, const struct flat_scope *scope, const struct ir_stage *stage,
                struct ir_nodes *out);
/* Dimensions of a written tensor that no node tells: 1 for the ranks of TOPK. */
int flat_ranked(const struct ir_monoid *monoid);

#endif
