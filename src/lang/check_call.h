/*
 * Private to src/lang: the call of an op while it is checked.
 */
#ifndef SMELT_LANG_CHECK_CALL_H
#define SMELT_LANG_CHECK_CALL_H

#include "lang/check.h"

/* One input of the callee and what is passed for it. */
struct argument {
    const struct ast_declaration *declaration;
    const char *name;
    int *tensors;
    int count;                   /* more than one only for a list */
    struct place place, *places; /* of the whole, of each member */
};

struct call {
    struct builder *builder;
    const struct ast_expression *expression;
    const struct ast_op *op;
    struct argument_list VECTOR(struct argument) arguments;
    struct instance_key key;
    struct instance *instance;
    const struct ir_part *part;
    const struct ir_size **sizes; /* per symbol of the callee, NULL: not known */
    struct stage_builder stage;   /* scalar arguments */
    int *scalars;
    int terms; /* left to write out of the size at hand */
};

/* ---- types and ranks (check_call_key.c) ---- */

/* What the callee is checked at, from the arguments and names; false with an error reported. */
bool call_bind_key(struct call *call);

/* ---- sizes and parameters (check_call_size.c) ---- */

/* All sizes and scalars of the callee, from names, defaults and shapes; false with an error. */
bool call_settle(struct call *call);
/* A size of the callee in the caller's terms, unknown symbols as atoms of their own. */
const struct poly *call_poly(struct call *call, const struct ir_size *size);
/*
 * A size of the callee as one of the caller. NULL with an error reported when it is too long: a
 * chain of calls that each use a size twice would double it every time.
 */
const struct ir_size *call_size(struct call *call, const struct ir_size *size);

#endif
