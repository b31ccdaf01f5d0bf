/*
 * Who mentions which tensor: what the interpreter needs to know to give memory back early.
 */
#include "oracle/interpret.h"

static void nodes_tensors(const struct ir_nodes *nodes, tensor_visit *visit, void *context)
{
    for (int i = 0; i < nodes->count; i++)
        if (nodes->at[i].op == IR_READ)
            visit(context, nodes->at[i].read.tensor, false);
}

void stage_tensors(const struct ir_stage *stage, tensor_visit *visit, void *context)
{
    switch (stage->kind) {
    case IR_CALL:
        for (int i = 0; i < stage->callee->input_count; i++)
            visit(context, stage->inputs[i], false);
        for (int i = 0; i < stage->callee->output_count; i++)
            visit(context, stage->outputs[i], true);
        return;
    case IR_LOOP:
        for (int s = 0; s < stage->body_count; s++)
            stage_tensors(&stage->body[s], visit, context);
        for (int c = 0; c < stage->carry_count; c++) {
            visit(context, stage->carries[c].next, false);
            visit(context, stage->carries[c].state, true);
        }
        return;
    default: break;
    }
    nodes_tensors(&stage->nodes, visit, context);
    if (stage->kind == IR_SCATTER && stage->from != IR_NONE)
        visit(context, stage->from, false);
    for (int w = 0; w < stage->write_count; w++)
        visit(context, stage->writes[w].tensor, true);
}

struct lifetimes {
    int *first, *last;
    int stage;
};

static void lifetime_extend(void *context, int tensor, bool written)
{
    struct lifetimes *l = context;
    (void)written;
    if (l->first[tensor] < 0)
        l->first[tensor] = l->stage;
    l->last[tensor] = l->stage;
}

void part_lifetimes(const struct ir_part *part, int *first, int *last)
{
    for (int t = 0; t < part->tensor_count; t++)
        first[t] = last[t] = -1;
    struct lifetimes l = {first, last, 0};
    for (l.stage = 0; l.stage < part->stage_count; l.stage++)
        stage_tensors(&part->stages[l.stage], lifetime_extend, &l);
}

struct reading {
    int tensor;
    bool found;
};

static void find_reading(void *context, int tensor, bool written)
{
    struct reading *r = context;
    r->found |= tensor == r->tensor && !written;
}

bool part_reads(const struct ir_part *part, int tensor)
{
    struct reading r = {tensor, false};
    for (int s = 0; s < part->stage_count && !r.found; s++)
        stage_tensors(&part->stages[s], find_reading, &r);
    return r.found;
}

bool carry_crosses(const struct ir_stage *loop)
{
    for (int a = 0; a < loop->carry_count; a++)
        for (int b = 0; b < loop->carry_count; b++)
            if (loop->carries[a].next == loop->carries[b].state)
                return true;
    return false;
}
