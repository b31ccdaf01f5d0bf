/*
 * For this room: how often the nodes of a stage are evaluated.
 */
#ifndef SMELT_IR_WORK_H
#define SMELT_IR_WORK_H

#include "ir/ir.h"

/* Points of a stage's domain; ranges count as the rows they run over together. */
double ir_domain_points(const struct ir_binding *binding, const struct ir_stage *stage);
/* Float operations of stages as they are written, wanted or not. */
double ir_written_operations(const struct ir_binding *binding, const struct ir_stage *stages,
                             int count, struct arena *scratch);
/* Whether a node is one of them. */
bool ir_node_computes(const struct ir_node *node);

#endif
