/*
 * What is combined over rows, or over chunks of a row that threads share: each leaves its part in
 * scratch, and a function after it combines the parts.
 */
#include "skeleton/row.h"

static const struct ir_size *row_count(struct row_lowering *lowering)
{
    const struct ir_size *count = ir_size_constant(lowering->arena, 1);
    for (int i = 0; i < lowering->left.count; i++)
        count = ir_size_make(lowering->arena, IR_SIZE_MUL, count, lowering->left.at[i].extent);
    return count;
}

static const struct loop_buffer *partial_new(struct row_lowering *lowering,
                                             const struct row_stage *stage, int component,
                                             const struct ir_size *count)
{
    const struct ir_stage *ir = stage->stage;
    const char *name = lowering->group->part->tensors[ir->writes[component].tensor].name;
    return loop_scratch(lowering->kernel, arena_printf(lowering->arena, "%s_parts", name),
                        ir->nodes.at[ir->writes[component].value].type, count);
}

void row_totals_open(struct row_lowering *lowering)
{
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        if (stage->kind == ROW_TOTAL)
            stage->partial[0] = partial_new(lowering, stage, 0, row_count(lowering));
    }
}

/* Combines count parts from `first` on. */
static void combine_parts(struct row_lowering *lowering, struct loop_block *block,
                          struct row_stage *stage, loop_value first, loop_value count)
{
    struct arena *arena = lowering->arena;
    int lanes = lowering->lanes, vectors = 4;
    row_long_parts(lowering, block, stage, (int64_t)lanes * vectors);
    row_sums_open(lowering, block, stage, vectors, lanes);
    loop_value step = loop_integer(arena, (int64_t)lanes * vectors);
    loop_value rest = loop_apply(arena, IR_REM, count, step, NULL);
    loop_value whole = loop_of(arena, loop_let(block, "whole", loop_sub(arena, count, rest)));
    loop_value from = loop_integer(arena, 0), to = whole;
    struct loop_block *aside, *body = row_long_pieces(lowering, block, &from, &to, &aside);
    if (aside)
        row_long_aside(lowering, aside, vectors);
    struct loop_variable *counter;
    body = loop_for(body, LOOP_SERIAL, "part", from, to, step, &counter);
    for (int i = 0; i < vectors; i++) {
        loop_value at = loop_add(arena, loop_add(arena, first, loop_of(arena, counter)),
                                 loop_integer(arena, (int64_t)i * lanes));
        loop_value value = loop_load(arena, stage->partial[0], at, lanes);
        row_sums_add(lowering, body, stage, i, &value, NULL);
    }
    body = loop_for(block, LOOP_SERIAL, "part", whole, count, loop_integer(arena, lanes), &counter);
    loop_value left = loop_sub(arena, count, loop_of(arena, counter));
    left = loop_min(arena, left, loop_integer(arena, lanes));
    loop_value at = loop_add(arena, first, loop_of(arena, counter));
    loop_value value = loop_load_part(arena, stage->partial[0], at, lanes, left, NULL);
    loop_value live = lanes > 1 ? nest_live(arena, lanes, left) : NULL;
    row_sums_add(lowering, body, stage, 0, &value, live);
    row_stage_finish(lowering, block, stage, vectors);
}

/* The same for values with places: in order, one by one. */
static void combine_indexed(struct row_lowering *lowering, struct loop_block *block,
                            struct row_stage *stage, loop_value first, loop_value count)
{
    struct arena *arena = lowering->arena;
    const struct ir_write *writes = stage->stage->writes;
    row_sums_open(lowering, block, stage, 1, 1);
    struct loop_variable *counter;
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "part", loop_integer(arena, 0), count, NULL, &counter);
    loop_value at = loop_add(arena, first, loop_of(arena, counter));
    loop_value parts[2] = {loop_load(arena, stage->partial[0], at, 1),
                           loop_narrow(arena, loop_of(arena, counter))};
    row_sums_add(lowering, body, stage, 0, parts, NULL);
    stage->results[0] = loop_of(arena, stage->sums[0]);
    loop_value part = row_place(lowering, stage, 0);
    loop_value none = loop_less(arena, part, loop_integer(arena, 0));
    loop_value found = loop_load_masked(arena, stage->partial[1], loop_add(arena, first, part), 1,
                                        loop_apply(arena, IR_NOT, none, NULL, NULL), NULL);
    found = loop_select(arena, none, loop_integer(arena, -1), found);
    stage->results[0] = skeleton_round(&lowering->values, writes[0].tensor, stage->results[0]);
    stage->result_places[0] = skeleton_round(&lowering->values, writes[1].tensor, found);
}

static void store_result(struct row_lowering *lowering, struct loop_block *block,
                         struct row_stage *stage, int write)
{
    const struct ir_stage *ir = stage->stage;
    bool mapped = stage->kind == ROW_FINAL || stage->kind == ROW_VALUE;
    loop_value value = mapped  ? row_element(lowering, stage)
                       : write ? stage->result_places[0]
                               : stage->results[0];
    loop_value offset = row_offset(lowering, ir, write);
    skeleton_share(block, &value, 1);
    loop_store(block, skeleton_buffer(&lowering->values, ir->writes[write].tensor), offset, value);
}

void row_totals_finish(struct row_lowering *lowering)
{
    bool any = false;
    for (int i = 0; i < lowering->row.stage_count; i++)
        any |= lowering->row.stages[i].kind >= ROW_TOTAL;
    if (!any)
        return;
    struct loop_block *block = loop_function(
        lowering->kernel, arena_printf(lowering->arena, "%s_total", lowering->plan->name),
        "the rows' parts combined");
    loop_value rows = skeleton_size(&lowering->values, row_count(lowering));
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        lowering->values.memo = NULL;
        if (stage->kind == ROW_TOTAL)
            combine_parts(lowering, block, stage, loop_integer(lowering->arena, 0), rows);
        if (stage->kind >= ROW_TOTAL && lowering->group->needed[stage->stage->writes[0].tensor])
            store_result(lowering, block, stage, 0);
    }
}

/* ---- rows cut into chunks ---- */

static const struct ir_size *chunk_count(struct row_lowering *lowering)
{
    struct arena *arena = lowering->arena;
    const struct ir_size *extent = lowering->reduced.at[0].extent;
    const struct ir_size *up =
        ir_size_make(arena, IR_SIZE_ADD, extent, ir_size_constant(arena, ROW_CHUNK - 1));
    return ir_size_make(arena, IR_SIZE_DIV, up, ir_size_constant(arena, ROW_CHUNK));
}

/* Row values of earlier passes are read from their tensors. */
static void load_results(struct row_lowering *lowering, int pass)
{
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        const struct ir_stage *ir = stage->stage;
        for (int k = 0; stage->kind == ROW_REDUCE && stage->pass < pass && k < ir->write_count;
             k++) {
            const struct loop_buffer *buffer =
                skeleton_buffer(&lowering->values, ir->writes[k].tensor);
            loop_value value = loop_load(lowering->arena, buffer, row_offset(lowering, ir, k), 1);
            *(k ? &stage->result_places[0] : &stage->results[0]) = value;
        }
    }
}

static void split_parts(struct row_lowering *lowering, int pass)
{
    struct arena *arena = lowering->arena;
    struct loop_block *block =
        loop_function(lowering->kernel, arena_printf(arena, "%s_%d", lowering->plan->name, pass),
                      "a pass over the rows in chunks that threads share");
    block = row_loops(lowering, block, NULL);
    loop_value extent = skeleton_size(&lowering->values, lowering->reduced.at[0].extent);
    loop_value chunks = skeleton_size(&lowering->values, chunk_count(lowering));
    struct loop_variable *counter;
    block =
        loop_for(block, lowering->kind, "chunk", loop_integer(arena, 0), chunks, NULL, &counter);
    loop_value chunk = loop_integer(arena, ROW_CHUNK), number = loop_of(arena, counter);
    loop_value from = loop_of(arena, loop_let(block, "from", loop_mul(arena, number, chunk)));
    loop_value to = loop_min(arena, loop_add(arena, from, chunk), extent);
    to = loop_of(arena, loop_let(block, "to", to));
    lowering->values.memo = NULL;
    load_results(lowering, pass);
    lowering->longest = ROW_CHUNK;
    row_pass_along(lowering, block, pass, from, to);
    loop_value at = loop_add(arena, loop_mul(arena, row_number(lowering), chunks), number);
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        if (stage->kind != ROW_REDUCE || stage->pass != pass)
            continue;
        loop_value results[2] = {NULL, NULL};
        row_sums_fold(lowering, block, stage, lowering->unroll, results);
        for (int k = 0; k < stage->stage->write_count; k++)
            loop_store(block, stage->partial[k], at, results[k]);
    }
}

/* The parts of each row together, and stored as the tensor the stage defines. */
static void split_combine(struct row_lowering *lowering, int pass)
{
    struct arena *arena = lowering->arena;
    struct loop_block *block = loop_function(
        lowering->kernel, arena_printf(arena, "%s_%d_parts", lowering->plan->name, pass),
        "the chunks' parts combined");
    enum loop_kind kind = lowering->kind;
    lowering->kind = LOOP_SERIAL; /* few rows: or they would not have been cut */
    block = row_loops(lowering, block, NULL);
    lowering->kind = kind;
    loop_value chunks = skeleton_size(&lowering->values, chunk_count(lowering));
    loop_value first = loop_mul(arena, row_number(lowering), chunks);
    lowering->values.memo = NULL;
    load_results(lowering, pass);
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        if (stage->kind == ROW_REDUCE && stage->pass == pass) {
            if (row_is_indexed(stage))
                combine_indexed(lowering, block, stage, first, chunks);
            else
                combine_parts(lowering, block, stage, first, chunks);
            for (int k = 0; k < stage->stage->write_count; k++)
                store_result(lowering, block, stage, k);
        }
    }
    lowering->values.memo = NULL;
    for (int i = 0; i < lowering->row.stage_count && pass == lowering->row.pass_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        if (stage->kind == ROW_VALUE && lowering->group->needed[stage->stage->writes[0].tensor])
            store_result(lowering, block, stage, 0);
    }
}

static bool leaves_parts(const struct row_lowering *lowering, int pass)
{
    for (int i = 0; i < lowering->row.stage_count; i++) {
        const struct row_stage *stage = &lowering->row.stages[i];
        if ((stage->kind == ROW_REDUCE && stage->pass == pass) ||
            (stage->kind == ROW_VALUE && pass == lowering->row.pass_count))
            return true;
    }
    return false;
}

void row_split(struct row_lowering *lowering)
{
    const struct ir_size *count =
        ir_size_make(lowering->arena, IR_SIZE_MUL, row_count(lowering), chunk_count(lowering));
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        for (int k = 0; stage->kind == ROW_REDUCE && k < stage->stage->write_count; k++)
            stage->partial[k] = partial_new(lowering, stage, k, count);
    }
    for (int pass = 1; pass <= lowering->row.pass_count; pass++) {
        split_parts(lowering, pass);
        if (leaves_parts(lowering, pass))
            split_combine(lowering, pass);
    }
}
