/*
 * One pass down many rows that lie side by side, wide enough that memory is read in long pieces:
 * the accumulators of a block of columns are in the first cache, not in registers.
 */
#include "skeleton/row.h"

enum {
    FETCH_BELOW = 2, /* rows */
    SHARES = 16,     /* of the terms, when threads share them: a power of 2 */
    /* rows whose pieces are so many bytes, a page, are read several at a time: as many streams, and
     * the accumulators are read and written less often */
    WIDE_BYTES = 4096,
    ROWS = 4, /* a power of 2 */
};

struct columns {
    struct row_lowering *lowering;
    const struct nest_chain *chain;
    loop_value from, width;
    const struct loop_variable *along; /* counter of the innermost loop down the rows */
    int rows;                          /* added at a time, from that one on */
    bool wide; /* they are added ROWS at a time; else those below are fetched meanwhile */
    const struct loop_buffer *sums[ROW_MAX_STAGES];   /* per stage; NULL: no reduction */
    const struct loop_buffer *totals[ROW_MAX_STAGES]; /* of long sums: see row_long.c */
    /* threads share terms: what each share leaves */
    const struct loop_buffer *parts[ROW_MAX_STAGES];
    loop_value share, extent;
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

/* All of them, a power of 2, combined in pairs. */
static loop_value pairs_combine(struct arena *arena, enum ir_monoid_kind monoid, loop_value *values,
                                int count)
{
    for (int width = 1; width < count; width *= 2) {
        for (int k = 0; k + width < count; k += 2 * width)
            values[k] = loop_combine(arena, monoid, values[k], values[k + width]);
    }
    return values[0];
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

/* What was put aside of a sum that may be long. */
static loop_value totals_at(struct columns *columns, int stage, loop_value place, loop_value count)
{
    struct row_lowering *lowering = columns->lowering;
    return loop_load_part(lowering->arena, columns->totals[stage], place, lowering->lanes, count,
                          NULL);
}

/* The sums so far, with what was put aside. */
static loop_value result_at(struct columns *columns, int stage, loop_value place, loop_value count)
{
    struct arena *arena = columns->lowering->arena;
    loop_value sum = sums_at(columns, stage, place, count);
    if (!columns->totals[stage])
        return sum;
    loop_value total =
        loop_add(arena, totals_at(columns, stage, place, count), loop_cast(arena, DTYPE_F64, sum));
    return loop_cast(arena, sum->type.dtype, total);
}

static void columns_clear(struct columns *columns, struct loop_block *block, loop_value place,
                          loop_value count)
{
    struct row_lowering *lowering = columns->lowering;
    struct loop_type total = {DTYPE_F64, lowering->lanes};
    for (int i = 0; i < lowering->row.stage_count; i++) {
        if (!columns->sums[i])
            continue;
        struct loop_type type = {loop_buffer_dtype(columns->sums[i]), lowering->lanes};
        loop_store(block, columns->sums[i], place,
                   loop_unit(lowering->arena, monoid_of(columns, i), type))
            ->count = count;
        if (columns->totals[i])
            loop_store(block, columns->totals[i], place, loop_unit(lowering->arena, IR_SUM, total))
                ->count = count;
    }
}

static void columns_aside(struct columns *columns, struct loop_block *block, loop_value place,
                          loop_value count)
{
    struct row_lowering *lowering = columns->lowering;
    struct arena *arena = lowering->arena;
    for (int i = 0; i < lowering->row.stage_count; i++) {
        if (!columns->totals[i])
            continue;
        loop_value sum = loop_cast(arena, DTYPE_F64, sums_at(columns, i, place, count));
        loop_store(block, columns->totals[i], place,
                   loop_add(arena, totals_at(columns, i, place, count), sum))
            ->count = count;
        struct loop_type type = {loop_buffer_dtype(columns->sums[i]), lowering->lanes};
        loop_store(block, columns->sums[i], place, loop_unit(arena, IR_SUM, type))->count = count;
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
        loop_value value = row_element(lowering, &lowering->row.stages[i]), values[ROWS];
        if (!count && !columns->wide)
            fetch_below(columns, block, value, loop_add(arena, columns->from, place));
        const struct skeleton_lanes side = {columns->chain->variable, lowering->lanes,
                                            loop_add(arena, columns->from, place), count};
        for (int k = 0; k < columns->rows; k++) {
            loop_value row =
                loop_add(arena, loop_of(arena, columns->along), loop_integer(arena, k));
            values[k] = loop_substitute(arena, value, columns->along, row);
        }
        skeleton_widen(block, &side, values, columns->rows);
        for (int k = 0; k < columns->rows; k++)
            values[k] = loop_splat(arena, values[k], lowering->lanes);
        loop_value sum = pairs_combine(arena, monoid_of(columns, i), values, columns->rows);
        sum = loop_combine(arena, monoid_of(columns, i), sums_at(columns, i, place, count), sum);
        loop_store(block, columns->sums[i], place, sum)->count = count;
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
                                               result_at(columns, i, place, count));
    }
    row_store_values(lowering, block, 1, columns->chain, loop_add(arena, columns->from, place),
                     count);
}

/* The sums of a share of the terms, put aside. */
static void columns_keep(struct columns *columns, struct loop_block *block, loop_value place,
                         loop_value count)
{
    struct arena *arena = columns->lowering->arena;
    loop_value at = loop_add(arena, loop_mul(arena, columns->share, columns->extent),
                             loop_add(arena, columns->from, place));
    for (int i = 0; i < columns->lowering->row.stage_count; i++) {
        if (columns->sums[i])
            loop_store(block, columns->parts[i], at, result_at(columns, i, place, count))->count =
                count;
    }
}

/* What the shares put aside, combined in pairs. */
static void columns_join(struct columns *columns, struct loop_block *block, loop_value place,
                         loop_value count)
{
    struct row_lowering *lowering = columns->lowering;
    struct arena *arena = lowering->arena;
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        loop_value parts[SHARES];
        if (!columns->parts[i])
            continue;
        for (int k = 0; k < SHARES; k++) {
            loop_value at =
                loop_add(arena, loop_mul(arena, loop_integer(arena, k), columns->extent), place);
            parts[k] = loop_load_part(arena, columns->parts[i], at, lowering->lanes, count, NULL);
        }
        loop_value sum = pairs_combine(arena, monoid_of(columns, i), parts, SHARES);
        sum = loop_of(arena, loop_let(block, "joined", sum));
        stage->results[0] = skeleton_round(&lowering->values, stage->stage->writes[0].tensor, sum);
    }
    lowering->values.memo = NULL;
    row_store_values(lowering, block, 1, columns->chain, place, count);
}

static void columns_sums_open(struct columns *columns, struct loop_block *block, int64_t most)
{
    struct row_lowering *lowering = columns->lowering;
    row_long_pass(lowering, block, 1, columns->wide ? ROWS : 1, true);
    for (int i = 0; i < lowering->row.stage_count; i++) {
        const struct ir_stage *ir = lowering->row.stages[i].stage;
        if (lowering->row.stages[i].kind != ROW_REDUCE)
            continue;
        columns->sums[i] =
            loop_stack(block, lowering->group->part->tensors[ir->writes[0].tensor].name,
                       ir->nodes.at[ir->writes[0].value].type, 1, most);
        if (row_is_long(lowering, &lowering->row.stages[i]))
            columns->totals[i] = loop_stack(block, "total", DTYPE_F64, 1, most);
    }
}

/* Down the innermost of the reduced chains, `rows` at a time. */
static void columns_rows(struct columns *columns, struct loop_block *block, loop_value first,
                         loop_value last, int rows)
{
    struct row_lowering *lowering = columns->lowering;
    struct arena *arena = lowering->arena;
    const struct nest_chain *reduced = &lowering->reduced.at[lowering->reduced.count - 1];
    const struct nest_chain *chain = columns->chain;
    struct loop_variable *counter;
    struct loop_block *aside = NULL;
    if (rows == 1 && columns->wide) { /* a few that are left: but there may be many such rests */
        if (lowering->reduced.count > 1)
            aside = row_long_check(lowering, block, loop_integer(arena, ROWS));
    } else {
        block = row_long_pieces(lowering, block, &first, &last, &aside);
    }
    if (aside)
        columns_loop(columns, aside, columns_aside);
    block = loop_for(block, LOOP_SERIAL, reduced->variable->name, first, last,
                     loop_integer(arena, rows), &counter);
    nest_bind(&lowering->row.nest, &lowering->values, reduced, loop_of(arena, counter));
    nest_bind(&lowering->row.nest, &lowering->values, chain, loop_of(arena, chain->variable));
    columns->along = counter;
    columns->rows = rows;
    columns_loop(columns, block, columns_add);
}

/* Down the rows: all of them, or the share of the terms from `first` to `last`. */
static void columns_down(struct columns *columns, struct loop_block *block, loop_value first,
                         loop_value last)
{
    struct row_lowering *lowering = columns->lowering;
    struct arena *arena = lowering->arena;
    int inner = lowering->reduced.count - 1;
    columns_loop(columns, block, columns_clear);
    for (int i = 0; i <= inner; i++) {
        const struct nest_chain *reduced = &lowering->reduced.at[i];
        loop_value from = i == 0 && first ? first : loop_integer(arena, 0);
        loop_value to = i == 0 && last ? last : skeleton_size(&lowering->values, reduced->extent);
        if (i == inner) {
            loop_value whole = from;
            if (columns->wide) {
                loop_value rest = loop_apply(arena, IR_REM, loop_sub(arena, to, from),
                                             loop_integer(arena, ROWS), NULL);
                whole = loop_of(arena, loop_let(block, "whole", loop_sub(arena, to, rest)));
                columns_rows(columns, block, from, whole, ROWS);
            }
            columns_rows(columns, block, whole, to, 1);
            return;
        }
        struct loop_variable *counter;
        block = loop_for(block, LOOP_SERIAL, reduced->variable->name, from, to, NULL, &counter);
        nest_bind(&lowering->row.nest, &lowering->values, reduced, loop_of(arena, counter));
    }
}

/* The loop over blocks of columns; they are summed inside. */
static struct loop_block *columns_blocks(struct columns *columns, struct loop_block *block,
                                         enum loop_kind kind, int64_t most)
{
    struct arena *arena = columns->lowering->arena;
    struct loop_variable *counter;
    struct loop_block *body = loop_for(block, kind, "from", loop_integer(arena, 0), columns->extent,
                                       loop_integer(arena, most), &counter);
    loop_note_loop(block, "rows side by side");
    columns->from = loop_of(arena, counter);
    loop_value width = loop_sub(arena, columns->extent, columns->from);
    width = loop_min(arena, width, loop_integer(arena, most));
    columns->width = loop_of(arena, loop_let(body, "width", width));
    columns->wide = most * nest_value_bytes(&columns->lowering->row.nest) >= WIDE_BYTES;
    columns_sums_open(columns, body, most);
    return body;
}

void row_columns(struct row_lowering *lowering, struct loop_block *block,
                 const struct nest_chain *chain, int64_t most)
{
    struct columns columns = {.lowering = lowering, .chain = chain};
    columns.extent = skeleton_size(&lowering->values, chain->extent);
    block = row_loops(lowering, block, chain);
    block = columns_blocks(&columns, block, lowering->kind, most);
    columns_down(&columns, block, NULL, NULL);
    columns_loop(&columns, block, columns_finish);
}

void row_columns_split(struct row_lowering *lowering, struct loop_block *block,
                       const struct nest_chain *chain, int64_t most)
{
    struct arena *arena = lowering->arena;
    struct columns columns = {.lowering = lowering, .chain = chain};
    const struct ir_size *shares = ir_size_constant(arena, SHARES);
    columns.extent = skeleton_size(&lowering->values, chain->extent);
    for (int i = 0; i < lowering->row.stage_count; i++) {
        const struct ir_stage *ir = lowering->row.stages[i].stage;
        if (lowering->row.stages[i].kind == ROW_REDUCE)
            columns.parts[i] = loop_scratch(
                lowering->kernel,
                arena_printf(arena, "%s_parts",
                             lowering->group->part->tensors[ir->writes[0].tensor].name),
                ir->nodes.at[ir->writes[0].value].type,
                ir_size_make(arena, IR_SIZE_MUL, chain->extent, shares));
    }
    struct loop_variable *counter;
    struct loop_block *body = loop_for(block, lowering->kind, "share", loop_integer(arena, 0),
                                       loop_integer(arena, SHARES), NULL, &counter);
    loop_note_loop(block, "threads share the terms");
    columns.share = loop_of(arena, counter);
    loop_value terms = skeleton_size(&lowering->values, lowering->reduced.at[0].extent);
    loop_value first = loop_apply(arena, IR_QUOT, loop_mul(arena, terms, columns.share),
                                  loop_integer(arena, SHARES), NULL);
    loop_value last =
        loop_mul(arena, terms, loop_add(arena, columns.share, loop_integer(arena, 1)));
    last = loop_apply(arena, IR_QUOT, last, loop_integer(arena, SHARES), NULL);
    first = loop_of(arena, loop_let(body, "first", first));
    last = loop_of(arena, loop_let(body, "last", last));
    body = columns_blocks(&columns, body, LOOP_SERIAL, most);
    columns_down(&columns, body, first, last);
    columns_loop(&columns, body, columns_keep);
    block = loop_function(lowering->kernel, arena_printf(arena, "%s_join", lowering->plan->name),
                          "what the shares of the terms left, combined");
    columns.from = loop_integer(arena, 0);
    columns.width = columns.extent;
    columns_loop(&columns, block, columns_join);
}
