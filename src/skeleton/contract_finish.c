/*
 * contract, what follows the sum: the maps of the group, applied to a vector of sums while it is in
 * a register, and the stores of what is needed.
 */
#include <string.h>

#include "skeleton/contract.h"

static loop_value resolve(void *context, struct skeleton_values *values, int tensor,
                          const loop_value *at)
{
    const struct contract_code *code = context;
    (void)values, (void)at;
    return code->done[tensor];
}

/* The indices of a map from the places at which the sum is written. */
static void open_map(struct contract_code *code, const struct ir_stage *map,
                     const loop_value *places)
{
    for (int i = 0; i < map->nodes.count; i++) {
        const struct ir_node *node = &map->nodes.at[i];
        if (node->op != IR_READ || !code->done[node->read.tensor])
            continue;
        for (int j = 0; j < map->index_count; j++)
            code->values.indices[map->nodes.at[node->read.at[j]].index] = places[j];
        return;
    }
}

static void store_vector(struct contract_code *code, struct loop_block *block, int tensor,
                         loop_value offset, loop_value value, const struct skeleton_lanes *lanes)
{
    struct arena *arena = code->arena;
    const struct loop_buffer *buffer = skeleton_buffer(&code->values, tensor);
    loop_value step = loop_step(arena, offset, lanes->variable);
    if (lanes->lanes == 1 && !loop_mentions(offset, lanes->variable)) {
        loop_store(block, buffer, offset, value);
        return;
    }
    value = loop_splat(arena, value, lanes->lanes);
    if (step && step->op == LOOP_INTEGER && step->integer == 1) {
        offset = loop_substitute(arena, offset, lanes->variable, lanes->from);
        struct loop_statement *store = loop_store(block, buffer, offset, value);
        store->count = lanes->count;
        store->streaming = code->streaming && !lanes->count;
        return;
    }
    offset = loop_widen(arena, offset, lanes->variable, lanes->lanes, NULL);
    offset = loop_substitute(arena, offset, lanes->variable, lanes->from);
    offset = loop_splat(arena, offset, lanes->lanes);
    struct loop_statement *store = loop_store(block, buffer, offset, value);
    store->scatter = true;
    if (lanes->count) {
        loop_value numbers = loop_narrow(arena, loop_iota(arena, lanes->lanes));
        store->mask = loop_apply(arena, IR_LT, numbers, loop_narrow(arena, lanes->count), NULL);
    }
}

static void finish_stage(struct contract_code *code, struct loop_block *block,
                         const struct ir_stage *stage, loop_value value,
                         const struct skeleton_lanes *lanes)
{
    const struct skeleton_group *group = code->contract->group;
    int tensor = stage->writes[0].tensor;
    code->done[tensor] = skeleton_round(&code->values, tensor, value);
    if (!group->needed[tensor])
        return;
    loop_value at[IR_MAX_RANK];
    for (int i = 0; i < group->part->tensors[tensor].rank; i++)
        at[i] = skeleton_value(&code->values, stage, stage->writes[0].at[i]);
    loop_value offset = skeleton_offset(&code->values, tensor, at);
    if (code->store)
        code->store(code->store_context, block, tensor, offset, value);
    else
        store_vector(code, block, tensor, offset, value, lanes);
}

/* The row and the vector are open; `sum` has as many lanes as there are. */
void contract_finish(struct contract_code *code, struct loop_block *block, loop_value sum,
                     const struct skeleton_lanes *lanes)
{
    const struct contract *contract = code->contract;
    const struct ir_part *part = contract->group->part;
    loop_value places[IR_MAX_RANK];
    code->done = arena_array(code->arena, (size_t)part->tensor_count + 1, sizeof *code->done);
    code->values.resolve = resolve;
    code->values.context = code;
    code->values.memo = NULL;
    for (int i = 0; i < part->tensors[contract->tensor].rank; i++)
        places[i] =
            skeleton_value(&code->values, contract->stage, contract->stage->writes[0].at[i]);
    finish_stage(code, block, contract->stage, sum, lanes);
    for (int i = 0; i < contract->after_count; i++) {
        const struct ir_stage *map = contract->after[i];
        open_map(code, map, places);
        loop_value value = skeleton_value(&code->values, map, map->writes[0].value);
        if (code->reciprocal)
            value = skeleton_reciprocal(code->arena, value, lanes->variable);
        skeleton_widen(block, lanes, &value, 1);
        value = loop_of(code->arena, loop_let(block, part->tensors[map->writes[0].tensor].name,
                                              loop_splat(code->arena, value, lanes->lanes)));
        code->values.memo = NULL;
        finish_stage(code, block, map, value, lanes);
    }
    code->values.resolve = NULL;
    code->values.memo = NULL;
}
