/*
 * Vectors of an index that runs in lanes: see lanes.h.
 */
#include "skeleton/lanes.h"

void lanes_store(struct loop_block *block, const struct loop_buffer *buffer, loop_value offset,
                 loop_value value, const struct skeleton_lanes *lanes)
{
    struct arena *arena = block->arena;
    loop_value step = loop_step(arena, offset, lanes->variable);
    value = loop_splat(arena, value, lanes->lanes);
    if (lanes->lanes == 1 || (step && step->op == LOOP_INTEGER && step->integer == 1)) {
        offset = loop_substitute(arena, offset, lanes->variable, lanes->from);
        loop_store(block, buffer, offset, value)->count = lanes->count;
        return;
    }
    offset = loop_widen(arena, offset, lanes->variable, lanes->lanes, NULL);
    offset = loop_substitute(arena, offset, lanes->variable, lanes->from);
    struct loop_statement *store =
        loop_store(block, buffer, loop_splat(arena, offset, lanes->lanes), value);
    store->scatter = true;
    if (lanes->count) {
        loop_value numbers = loop_narrow(arena, loop_iota(arena, lanes->lanes));
        store->mask = loop_apply(arena, IR_LT, numbers, loop_narrow(arena, lanes->count), NULL);
    }
}

void lanes_loop(struct loop_block *block, const struct skeleton_lanes *lanes, loop_value to,
                int vectors, lanes_body *body, void *context)
{
    struct arena *arena = block->arena;
    loop_value from = lanes->from;
    struct loop_variable *counter;
    for (int at_once = vectors;; at_once = 1) {
        int64_t step = (int64_t)at_once * lanes->lanes;
        loop_value left = loop_sub(arena, to, from);
        left = loop_apply(arena, IR_REM, left, loop_integer(arena, step), NULL);
        loop_value whole = to;
        if (step > 1)
            whole = loop_of(arena, loop_let(block, "whole", loop_sub(arena, to, left)));
        struct loop_block *inside = loop_for(block, LOOP_SERIAL, lanes->variable->name, from, whole,
                                             loop_integer(arena, step), &counter);
        struct skeleton_lanes whole_lanes = {lanes->variable, lanes->lanes, loop_of(arena, counter),
                                             NULL};
        body(context, inside, &whole_lanes, at_once);
        from = whole;
        if (at_once == 1)
            break;
    }
    if (lanes->lanes == 1)
        return;
    struct loop_block *rest = loop_if(block, loop_less(arena, from, to));
    struct skeleton_lanes part = {lanes->variable, lanes->lanes, from, loop_sub(arena, to, from)};
    body(context, rest, &part, 1);
}

struct loop_variable *lanes_variable(struct arena *arena, const char *name)
{
    struct loop_variable *variable = arena_new(arena, struct loop_variable);
    *variable = (struct loop_variable){name, LOOP_COUNTER, {DTYPE_I64, 1}, 0};
    return variable;
}

bool lanes_uses(const struct ir_part *part, const struct ir_nodes *nodes, int number, int index)
{
    if (number == IR_NONE)
        return false;
    const struct ir_node *node = &nodes->at[number];
    if (node->op == IR_INDEX)
        return node->index == index;
    if (node->op == IR_READ) {
        int rank = part->tensors[node->read.tensor].rank;
        for (int d = 0; d < rank; d++) {
            if (lanes_uses(part, nodes, node->read.at[d], index))
                return true;
        }
        return lanes_uses(part, nodes, node->read.guard, index) ||
               lanes_uses(part, nodes, node->read.otherwise, index);
    }
    int count = ir_op_arguments(node->op);
    return (count > 0 && lanes_uses(part, nodes, node->a, index)) ||
           (count > 1 && lanes_uses(part, nodes, node->b, index)) ||
           (count > 2 && lanes_uses(part, nodes, node->c, index));
}
