/*
 * The classes of operations, as ops.def names them. For this room: what a node may be made of.
 */
#ifndef SMELT_IR_OPS_H
#define SMELT_IR_OPS_H

#include "ir/ir.h"

enum ir_op_class {
    IR_CLASS_FLOAT,
    IR_CLASS_ARITH,
    IR_CLASS_INTEGER,
    IR_CLASS_COMPARE,
    IR_CLASS_LOGIC,
    IR_CLASS_TEST,
    IR_CLASS_OTHER,
};

enum ir_op_class ir_op_class(enum ir_op op);

/* The value of one node that is neither a read nor an index, given those of its arguments. */
struct ir_value ir_fold_node(const struct ir_nodes *nodes, int node,
                             const struct ir_binding *binding, const struct ir_value *values);

#endif
