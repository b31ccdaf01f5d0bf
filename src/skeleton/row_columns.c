/*
 * One pass down many rows that lie side by side, wide enough that memory is read in long pieces:
 * the accumulators of a block of columns are in the first cache, not in registers.
 */
#include "skeleton/row.h"

enum { FETCH_BELOW = 2 }; /* rows */

struct columns {
    struct row_lowering *lowering;
    const struct nest_chain *chain;
    loop_value from, width;
    const struct loop_variable *along; /* counter of the innermost loop down the rows */
    const struct loop_buffer *sums[ROW_MAX_STAGES]; /* per stage; NULL: no reduction */
};

typedef void columns_body(struct columns *columns, struct loop_block *block, loop_value place,
                          loop_value count);

/* The body for all columns of the block: whole vectors, then the rest. */
static void columns_loop(struct columns *columns, struct loop_block *block, columns_body *body)
{
    struct arena *arena = columns->lowering->arena;
    loop_value lanes = loop_integer(arena, columns->lowering->lanes);
    loop_value rest = loop_apply(arena, IR_REM, columns->width, lanes, NULL);
    loop_value whole = loop_sub(arena, columns->width, rest);
    struct loop_variable *counter;
    struct loop_block *inner =
        loop_for(block, LOOP_SERIAL, "column", loop_integer(arena, 0), whole, lanes, &counter);
    body(columns, inner, loop_of(arena, counter), NULL);
    if (columns->lowering->lanes == 1)
        return;
    inner = loop_for(block, LOOP_SERIAL, "column", whole, columns->width, lanes, &counter);
    body(columns, inner, loop_of(arena, counter),
         loop_sub(arena, columns->width, loop_of(arena, counter)));
}

static enum ir_monoid_kind monoid_of(const struct columns *columns, int stage)
{
    return columns->lowering->row.stages[stage].stage->monoid->kind;
}

static loop_value sums_at(struct columns *columns, int stage, loop_value place, loop_value count)
{
    struct row_lowering *lowering = columns->lowering;
    struct loop_type type = {loop_buffer_dtype(columns->sums[stage]), lowering->lanes};
    return loop_load_part(lowering->arena, columns->sums[stage], place, lowering->lanes, count,
                          loop_unit(lowering->arena, monoid_of(columns, stage), type));
}

static void columns_clear(struct columns *columns, struct loop_block *block, loop_value place,
                          loop_value count)
{
    struct row_lowering *lowering = columns->lowering;
    for (int i = 0; i < lowering->row.stage_count; i++) {
        if (!columns->sums[i])
            continue;
        struct loop_type type = {loop_buffer_dtype(columns->sums[i]), lowering->lanes};
        loop_store(block, columns->sums[i], place,
                   loop_unit(lowering->arena, monoid_of(columns, i), type))
            ->count = count;
    }
}

/* A piece of a row may be a page, where prefetchers stop: the same place further down. */
static void fetch_below(struct columns *columns, struct loop_block *block, loop_value value,
                        loop_value from)
{
    struct arena *arena = columns->lowering->arena;
    struct soon_loads loads = {0};
    soon_collect(arena, value, columns->chain->variable, &loads);
    loop_value below =
        loop_add(arena, loop_of(arena, columns->along), loop_integer(arena, FETCH_BELOW));
    for (size_t i = 0; i < loads.count; i++) {
        loop_value offset =
            loop_substitute(arena, loads.at[i]->offset, columns->chain->variable, from);
        if (loop_mentions(offset, columns->along))
            loop_prefetch(block, loads.at[i]->buffer,
                          loop_substitute(arena, offset, columns->along, below));
    }
}

static void columns_add(struct columns *columns, struct loop_block *block, loop_value place,
                        loop_value count)
{
    struct row_lowering *lowering = columns->lowering;
    struct arena *arena = lowering->arena;
    lowering->values.memo = NULL;
    for (int i = 0; i < lowering->row.stage_count; i++) {
        if (!columns->sums[i])
            continue;
        loop_value value = row_element(lowering, &lowering->row.stages[i]);
        if (!count)
            fetch_below(columns, block, value, loop_add(arena, columns->from, place));
        const struct skeleton_lanes side = {columns->chain->variable, lowering->lanes,
                                            loop_add(arena, columns->from, place), count};
        skeleton_widen(block, &side, &value, 1);
        value = loop_splat(arena, value, lowering->lanes);
        value =
            loop_combine(arena, monoid_of(columns, i), sums_at(columns, i, place, count), value);
        loop_store(block, columns->sums[i], place, value)->count = count;
    }
}

static void columns_finish(struct columns *columns, struct loop_block *block, loop_value place,
                           loop_value count)
{
    struct row_lowering *lowering = columns->lowering;
    struct arena *arena = lowering->arena;
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        if (columns->sums[i])
            stage->results[0] = skeleton_round(&lowering->values, stage->stage->writes[0].tensor,
                                               sums_at(columns, i, place, count));
    }
    row_store_values(lowering, block, 1, columns->chain, loop_add(arena, columns->from, place),
                     count);
}

void row_columns(struct row_lowering *lowering, struct loop_block *block,
                 const struct nest_chain *chain, int64_t most)
{
    struct arena *arena = lowering->arena;
    struct columns columns = {.lowering = lowering, .chain = chain};
    block = row_loops(lowering, block, chain);
    loop_value extent = skeleton_size(&lowering->values, chain->extent);
    struct loop_variable *counter;
    struct loop_block *body = loop_for(block, lowering->kind, "from", loop_integer(arena, 0),
                                       extent, loop_integer(arena, most), &counter);
    loop_note_loop(block, "rows side by side");
    columns.from = loop_of(arena, counter);
    loop_value width = loop_sub(arena, extent, columns.from);
    width = loop_min(arena, width, loop_integer(arena, most));
    columns.width = loop_of(arena, loop_let(body, "width", width));
    for (int i = 0; i < lowering->row.stage_count; i++) {
        const struct ir_stage *ir = lowering->row.stages[i].stage;
        if (lowering->row.stages[i].kind == ROW_REDUCE)
            columns.sums[i] =
                loop_stack(body, lowering->group->part->tensors[ir->writes[0].tensor].name,
                           ir->nodes.at[ir->writes[0].value].type, 1, most);
    }
    columns_loop(&columns, body, columns_clear);
    struct loop_block *along = body;
    for (int i = 0; i < lowering->reduced.count; i++) {
        const struct nest_chain *reduced = &lowering->reduced.at[i];
        along = loop_for(along, LOOP_SERIAL, reduced->variable->name, loop_integer(arena, 0),
                         skeleton_size(&lowering->values, reduced->extent), NULL, &counter);
        nest_bind(&lowering->row.nest, &lowering->values, reduced, loop_of(arena, counter));
        columns.along = counter;
    }
    nest_bind(&lowering->row.nest, &lowering->values, chain, loop_of(arena, chain->variable));
    columns_loop(&columns, along, columns_add);
    columns_loop(&columns, body, columns_finish);
}
