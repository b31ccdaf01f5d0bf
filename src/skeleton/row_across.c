/*
 * Rows that lie side by side in memory: lanes across them, one step along all of them at a time.
 * Every row value is a vector, one lane per row.
 */
#include "skeleton/row.h"

struct across_item {
    struct row_stage *stage;
    int vector;
    bool dense;
    const struct loop_buffer *buffer; /* of a store, else NULL */
};

struct across_items VECTOR(struct across_item);

struct across {
    struct row_lowering *lowering;
    const struct nest_chain *chain;
    int vectors;
    loop_value from, count;
    struct across_items items;
    loop_value *values; /* per item: value, offset or NULL */
};

static loop_value across_from(const struct across *across, int vector)
{
    struct arena *arena = across->lowering->arena;
    return loop_add(arena, across->from,
                    loop_integer(arena, (int64_t)vector * across->lowering->lanes));
}

static loop_value across_wide(const struct across *across, loop_value value, int vector)
{
    const struct row_lowering *lowering = across->lowering;
    value =
        loop_widen(lowering->arena, value, across->chain->variable, lowering->lanes, across->count);
    return loop_substitute(lowering->arena, value, across->chain->variable,
                           across_from(across, vector));
}

static void across_item(struct across *across, struct row_stage *stage, int vector)
{
    struct row_lowering *lowering = across->lowering;
    struct arena *arena = lowering->arena;
    int tensor = stage->stage->writes[0].tensor;
    struct across_item item = {stage, vector, true, NULL};
    loop_value value = row_divide(lowering, row_element(lowering, stage));
    loop_value offset = NULL;
    if (stage->kind == ROW_MAP) {
        item.buffer = skeleton_buffer(&lowering->values, tensor);
        offset = row_offset(lowering, stage->stage, 0);
        loop_value step = loop_step(arena, offset, across->chain->variable);
        item.dense = step && step->op == LOOP_INTEGER && step->integer == 1;
        offset = item.dense
                     ? loop_substitute(arena, offset, across->chain->variable,
                                       across_from(across, vector))
                     : loop_splat(arena, across_wide(across, offset, vector), lowering->lanes);
    }
    across->values[2 * across->items.count] = across_wide(across, value, vector);
    across->values[2 * across->items.count + 1] = offset;
    vector_push(arena, &across->items, item);
}

static void across_collect(struct across *across, int pass)
{
    struct row_lowering *lowering = across->lowering;
    struct row_group *row = &lowering->row;
    across->items = (struct across_items){0};
    across->values = arena_array(lowering->arena, (size_t)(2 * row->stage_count * across->vectors),
                                 sizeof *across->values);
    for (int vector = 0; vector < across->vectors; vector++) {
        lowering->vector = vector;
        lowering->values.memo = NULL;
        for (int i = 0; i < row->stage_count; i++) {
            struct row_stage *stage = &row->stages[i];
            bool wanted =
                stage->kind != ROW_MAP || lowering->group->needed[stage->stage->writes[0].tensor];
            if (row_in_pass(stage, pass) && wanted)
                across_item(across, stage, vector);
        }
    }
    lowering->vector = 0;
}

static void across_body(struct across *across, struct loop_block *body, loop_value along)
{
    struct row_lowering *lowering = across->lowering;
    struct arena *arena = lowering->arena;
    skeleton_share(body, across->values, (int)(2 * across->items.count));
    for (size_t i = 0; i < across->items.count; i++) {
        const struct across_item *item = &across->items.at[i];
        loop_value value = across->values[2 * i];
        if (!item->buffer) {
            loop_value parts[2] = {value, loop_narrow(arena, along)};
            row_sums_add(lowering, body, item->stage, item->vector, parts, NULL);
            continue;
        }
        struct loop_statement *store = loop_store(body, item->buffer, across->values[2 * i + 1],
                                                  loop_splat(arena, value, lowering->lanes));
        store->count = item->dense ? across->count : NULL;
        if (!item->dense && across->count)
            store->mask = nest_live(arena, lowering->lanes, across->count);
    }
}

/* The variables of reduced chains get loops, and their counters their place. */
static void across_loops(struct across *across, struct loop_block *block)
{
    struct row_lowering *lowering = across->lowering;
    struct arena *arena = lowering->arena;
    struct map counters = map_new(arena);
    loop_value along = NULL;
    for (int i = 0; i < lowering->reduced.count; i++) {
        const struct nest_chain *chain = &lowering->reduced.at[i];
        loop_value from = loop_integer(arena, 0);
        loop_value to = skeleton_size(&lowering->values, chain->extent);
        struct loop_variable *counter;
        struct loop_block *aside = NULL;
        if (i + 1 == lowering->reduced.count)
            block = row_long_pieces(lowering, block, &from, &to, &aside);
        if (aside)
            row_long_aside(lowering, aside, across->vectors);
        block = loop_for(block, LOOP_SERIAL, chain->variable->name, from, to, NULL, &counter);
        along = loop_of(arena, counter);
        map_set_bytes(&counters, &chain->variable, sizeof chain->variable, (void *)along);
    }
    for (size_t i = 0; i < 2 * across->items.count; i++) {
        if (across->values[i])
            across->values[i] = loop_replace(arena, across->values[i], &counters);
    }
    across_body(across, block, along);
}

static void across_pass(struct across *across, struct loop_block *block, int pass)
{
    struct row_lowering *lowering = across->lowering;
    struct arena *arena = lowering->arena;
    struct row_group *row = &lowering->row;
    row_long_pass(lowering, block, pass, 1, true);
    for (int i = 0; i < row->stage_count; i++) {
        if (row_in_pass(&row->stages[i], pass) && row->stages[i].kind != ROW_MAP)
            row_sums_open(lowering, block, &row->stages[i], across->vectors, lowering->lanes);
    }
    nest_bind_all(&row->nest, &lowering->values, &lowering->reduced);
    across_collect(across, pass);
    const struct loop_variable *variables[NEST_MAX_AXES];
    loop_value some = loop_bool(arena, true);
    for (int i = 0; i < lowering->reduced.count; i++) {
        const struct nest_chain *chain = &lowering->reduced.at[i];
        variables[i] = chain->variable;
        loop_value extent = skeleton_size(&lowering->values, chain->extent);
        some =
            loop_apply(arena, IR_AND, some, loop_less(arena, loop_integer(arena, 0), extent), NULL);
    }
    struct loop_block *body = loop_if(block, some);
    skeleton_hoist(body, variables, lowering->reduced.count, across->values,
                   (int)(2 * across->items.count));
    across_loops(across, body);
}

/* The accumulators are the rows' values now, each lane its own. */
static void across_finish(struct across *across, struct loop_block *block, struct row_stage *stage)
{
    struct row_lowering *lowering = across->lowering;
    struct arena *arena = lowering->arena;
    const struct ir_write *writes = stage->stage->writes;
    for (int i = 0; i < across->vectors; i++) {
        loop_value sum = row_long_sum(lowering, stage, i, loop_of(arena, stage->sums[i]));
        loop_value value = skeleton_round(&lowering->values, writes[0].tensor, sum);
        if (value->op != LOOP_VARIABLE)
            value = loop_of(arena, loop_let(block, stage->sums[i]->name, value));
        stage->results[i] = value;
        if (row_is_indexed(stage))
            stage->result_places[i] =
                loop_of(arena, loop_let(block, "place",
                                        skeleton_round(&lowering->values, writes[1].tensor,
                                                       row_place(lowering, stage, i))));
    }
}

void row_across(struct row_lowering *lowering, struct loop_block *block,
                const struct nest_chain *chain, int vectors, loop_value from, loop_value count)
{
    struct across across = {lowering, chain, vectors, from, count, {0}, NULL};
    struct row_group *row = &lowering->row;
    nest_bind(&row->nest, &lowering->values, chain, loop_of(lowering->arena, chain->variable));
    for (int pass = 1; pass <= row->pass_count; pass++) {
        across_pass(&across, block, pass);
        for (int i = 0; i < row->stage_count; i++) {
            if (row_in_pass(&row->stages[i], pass) && row->stages[i].kind != ROW_MAP)
                across_finish(&across, block, &row->stages[i]);
        }
    }
    row_store_values(lowering, block, vectors, chain, from, count);
}
