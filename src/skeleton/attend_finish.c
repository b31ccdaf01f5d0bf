/*
 * attend, what is written: once a block of queries has seen its keys, the maps that follow, query
 * by query with channels in lanes.
 */
#include <math.h>

#include "skeleton/attend_code.h"

static void store_lanes(struct attend_code *code, struct loop_block *block, int tensor,
                        loop_value offset, loop_value value, const struct skeleton_lanes *lanes)
{
    struct arena *arena = code->arena;
    const struct loop_buffer *buffer = skeleton_buffer(&code->values, tensor);
    loop_value step = loop_step(arena, offset, lanes->variable);
    skeleton_widen(block, lanes, &value, 1);
    value = loop_splat(arena, value, lanes->lanes);
    if (step && step->op == LOOP_INTEGER && step->integer == 1) {
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

loop_value attend_written_place(struct attend_code *code, const struct ir_stage *stage)
{
    const struct ir_write *write = &stage->writes[0];
    loop_value at[IR_MAX_RANK];
    for (int i = 0; i < code->attend->group.part->tensors[write->tensor].rank; i++)
        at[i] = skeleton_value(&code->values, stage, write->at[i]);
    return skeleton_offset(&code->values, write->tensor, at);
}

static bool has_axis(const struct attend_stage *stage, int left, int axis)
{
    for (int i = 0; i < left; i++) {
        if (stage->axes[i] == axis)
            return true;
    }
    return false;
}

/* A stage's element for the present query: all its channels, or the one there is. */
static void finish_stage(struct attend_code *code, struct loop_block *block,
                         const struct attend_stage *stage, loop_value given)
{
    const struct attend *attend = code->attend;
    struct arena *arena = code->arena;
    int tensor = attend_tensor(stage), width = code->plan.lanes;
    if (!attend->group.needed[tensor])
        return;
    code->at[attend->channel] = axis_variable(code, attend->channel);
    open_stage(code, stage);
    loop_value value =
        given ? given : skeleton_value(&code->values, stage->stage, stage->stage->writes[0].value);
    loop_value offset = attend_written_place(code, stage->stage);
    value = skeleton_round(&code->values, tensor, value);
    if (!has_axis(stage, stage->stage->left_count, attend->channel)) {
        loop_store(block, skeleton_buffer(&code->values, tensor), offset, value);
        return;
    }
    struct loop_variable *from;
    loop_value lanes = integer(code, width);
    loop_value whole = loop_apply(arena, IR_FLOORDIV, code->channels, lanes, NULL);
    whole = named(code, block, "whole", loop_mul(arena, whole, lanes));
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "channel", integer(code, 0), whole, lanes, &from);
    struct skeleton_lanes all = {&attend->variables[attend->channel], width, loop_of(arena, from),
                                 NULL};
    store_lanes(code, body, tensor, offset, value, &all);
    struct loop_block *rest = loop_if(block, loop_less(arena, whole, code->channels));
    struct skeleton_lanes some = {all.variable, width, whole,
                                  loop_sub(arena, code->channels, whole)};
    store_lanes(code, rest, tensor, offset, value, &some);
}

loop_value attend_unguarded(struct attend_code *code, loop_value top, loop_value value)
{
    struct arena *arena = code->arena;
    enum dtype dtype = code->attend->dtype;
    if (code->attend->guarded)
        return value;
    loop_value none = loop_apply(arena, IR_EQ, top, loop_number(arena, -INFINITY, dtype), NULL);
    loop_value some = loop_less(arena, integer(code, 0), code->keys);
    none = loop_apply(arena, IR_AND, none, some, NULL);
    return loop_select(arena, none, loop_number(arena, NAN, dtype), value);
}

void attend_finish(struct attend_code *code, struct loop_block *block)
{
    const struct attend *attend = code->attend;
    struct arena *arena = code->arena;
    int lanes = code->plan.lanes, width = code->plan.vectors * lanes;
    struct loop_variable *query;
    const struct loop_buffer *tops = loop_stack(block, "tops", attend->dtype, 1, width);
    const struct loop_buffer *totals = loop_stack(block, "totals", attend->dtype, 1, width);
    for (int i = 0; i < code->plan.vectors; i++) {
        loop_store(block, tops, integer(code, i * lanes), loop_of(arena, code->tops[i]));
        loop_store(block, totals, integer(code, i * lanes), loop_of(arena, code->totals[i]));
    }
    loop_value count = loop_sub(arena, code->queries, code->first);
    count = loop_min(arena, count, integer(code, width));
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "query", integer(code, 0), count, NULL, &query);
    loop_value number = loop_of(arena, query);
    loop_value place = loop_mul(arena, axis_variable(code, attend->channel), integer(code, width));
    place = loop_add(arena, loop_add(arena, code->sums_from, place), number);
    code->at[attend->query] = loop_add(arena, code->first, number);
    code->top = named(code, body, "top", loop_load(arena, tops, number, 1));
    code->total = named(code, body, "total",
                        attend_unguarded(code, code->top, loop_load(arena, totals, number, 1)));
    code->mix = attend_unguarded(code, code->top, loop_load(arena, code->sums, place, 1));
    finish_stage(code, body, &attend->top, code->top);
    finish_stage(code, body, &attend->total, code->total);
    finish_stage(code, body, &attend->mix, code->mix);
    for (int i = 0; i < attend->after_count; i++)
        finish_stage(code, body, &attend->after[i], NULL);
    code->top = code->total = code->mix = NULL;
}
