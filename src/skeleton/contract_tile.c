/*
 * contract, the tile: rows x vectors of sums in registers over a block of terms.
 *
 * All that is inside the loop over terms is written out: one load per vector of columns, one per
 * row, and a multiplication with addition for each pair, which compilers make one instruction of.
 */
#include "skeleton/contract.h"

enum { MOST_WRITTEN_OUT = 16 }; /* rows of a tile that are stored one by one */

struct tile { /* while a tile is written */
    const struct contract_tile *at;
    const struct loop_buffer *sums;
    struct contract_columns columns;
    /* indices of rows that are read straight from their tensor: dividing for them in the loop over
     * terms takes longer than the products */
    loop_value rows[CONTRACT_MAX_ROWS][CONTRACT_MAX_INDICES];
};

static loop_value vector_load(struct contract_code *code, const struct loop_buffer *buffer,
                              loop_value offset)
{
    return loop_load(code->arena, buffer, offset, code->lanes);
}

/* ---- terms ---- */

static void columns_load(struct contract_code *code, struct loop_block *block,
                         const struct tile *tile, loop_value term, bool whole, loop_value *vectors)
{
    struct arena *arena = code->arena;
    for (int i = 0; i < code->vectors; i++) {
        loop_value value;
        if (code->pack_b) {
            value = contract_column_place(code, tile->at->column_panel, term);
            value = loop_add(arena, value, loop_integer(arena, i * code->lanes));
            value = vector_load(code, code->b, value);
        } else {
            contract_open_vector(code, &tile->columns, i);
            struct skeleton_lanes lanes = {code->lane, code->lanes, tile->columns.from[i],
                                           whole ? NULL : tile->columns.count[i]};
            value = contract_factor(code, true);
            skeleton_widen(block, &lanes, &value, 1);
            value = loop_splat(arena, value, code->lanes);
        }
        vectors[i] = loop_of(arena, loop_hold(block, "column", value));
    }
}

static loop_value row_load(struct contract_code *code, const struct tile *tile, loop_value term,
                           int row)
{
    struct arena *arena = code->arena;
    if (code->pack_a) {
        if (code->whole_rows)
            term = loop_add(arena, tile->at->first, term);
        loop_value place = contract_row_place(code, tile->at->row_panel, term);
        return loop_load(arena, code->a, loop_add(arena, place, loop_integer(arena, row)), 1);
    }
    const struct contract_indices *indices = &code->contract->sets[CONTRACT_M];
    for (int i = 0; i < indices->count; i++)
        code->values.indices[indices->at[i]] = tile->rows[row][i];
    return contract_factor(code, false);
}

static void tile_terms(struct contract_code *code, struct loop_block *block, struct tile *tile,
                       bool whole)
{
    struct arena *arena = code->arena;
    struct loop_variable *term;
    loop_value vectors[CONTRACT_MAX_VECTORS];
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "term", loop_integer(arena, 0), tile->at->terms, NULL, &term);
    if (!code->pack_b && code->contract->group->target->masks && contract_is_simple(code->contract))
        loop_clear(body, code->rows * code->vectors + code->vectors + 1);
    if (!code->pack_a || !code->pack_b)
        contract_open_set(code, body, CONTRACT_K,
                          loop_add(arena, tile->at->first, loop_of(arena, term)));
    columns_load(code, body, tile, loop_of(arena, term), whole, vectors);
    for (int i = 0; i < code->rows; i++) {
        loop_value row = row_load(code, tile, loop_of(arena, term), i);
        row = loop_of(arena, loop_let(body, "row", row));
        for (int j = 0; j < code->vectors; j++) {
            loop_value place = loop_integer(arena, i * code->vectors + j);
            loop_value sum = vector_load(code, tile->sums, place);
            sum = loop_add(arena, sum, loop_mul(arena, row, vectors[j]));
            loop_store(body, tile->sums, place, sum);
        }
    }
}

/* ---- sums ---- */

/*
 * Sums in vector registers are written out one by one, as they must be to stay there. Those of tile
 * registers are in memory when they are met here, and a loop goes over them.
 */
static bool in_memory(const struct contract_code *code)
{
    return code->atom && code->atom->rows > 1;
}

/* Tiles of one vector, on machines where a part of one is read and written as fast. */
static bool is_narrow(const struct contract_code *code)
{
    return code->vectors == 1 && !code->atom && code->contract->group->target->masks;
}

/* How often what is done with every sum, or with each `step`th, is written. */
static int times_written(const struct contract_code *code, int step)
{
    return in_memory(code) ? 1 : (code->rows * code->vectors + step - 1) / step;
}

/* Where it is written the nth time, and the number of the sum there. */
static struct loop_block *sum_block(struct contract_code *code, struct loop_block *block, int step,
                                    int n, loop_value *number)
{
    struct arena *arena = code->arena;
    struct loop_variable *sum;
    if (!in_memory(code)) {
        *number = loop_integer(arena, (int64_t)n * step);
        return block;
    }
    loop_value count = loop_integer(arena, (int64_t)code->rows * code->vectors);
    block = loop_for(block, LOOP_SERIAL, "sum", loop_integer(arena, 0), count,
                     step > 1 ? loop_integer(arena, step) : NULL, &sum);
    *number = loop_of(arena, sum);
    return block;
}

static void tile_zero(struct contract_code *code, struct loop_block *block, const struct tile *tile)
{
    loop_value zero = loop_number(code->arena, 0, code->contract->dtype), at;
    for (int i = 0; i < times_written(code, 1); i++) {
        struct loop_block *body = sum_block(code, block, 1, i, &at);
        loop_store(body, tile->sums, at, loop_splat(code->arena, zero, code->lanes));
    }
}

/* Sums of earlier blocks are kept tile by tile: whole vectors, none masked. */
static loop_value partial_place(struct contract_code *code, const struct tile *tile,
                                loop_value number)
{
    struct arena *arena = code->arena;
    loop_value at = tile->at->row_panel;
    if (code->part)
        at = loop_add(arena, loop_mul(arena, code->part, code->row_panels), at);
    at = loop_add(arena, loop_mul(arena, at, code->column_panels), tile->at->column_panel);
    at = loop_mul(arena, at, loop_integer(arena, (int64_t)code->rows * code->vectors));
    at = loop_add(arena, at, number);
    return loop_mul(arena, at, loop_integer(arena, code->lanes));
}

static void tile_blocks(struct contract_code *code, struct loop_block *block,
                        const struct tile *tile, bool store)
{
    for (int i = 0; i < times_written(code, 1); i++) {
        loop_value at;
        struct loop_block *body = sum_block(code, block, 1, i, &at);
        loop_value place = partial_place(code, tile, at), sum = vector_load(code, tile->sums, at);
        if (store) {
            loop_store(body, code->partial, place, sum);
        } else {
            sum = loop_add(code->arena, sum, vector_load(code, code->partial, place));
            loop_store(body, tile->sums, at, sum);
        }
    }
}

/* They were put aside long ago: fetched while the terms are summed. */
static void tile_fetch(struct contract_code *code, struct loop_block *block,
                       const struct tile *tile)
{
    enum { LINE = 64 }; /* bytes */
    int each = code->lanes * code->contract->element, step = each < LINE ? LINE / each : 1;
    for (int i = 0; i < times_written(code, step); i++) {
        loop_value at;
        struct loop_block *body = sum_block(code, block, step, i, &at);
        loop_prefetch(body, code->partial, partial_place(code, tile, at));
    }
}

/* Straight from registers; `whole`: no column is beyond the last. */
static void tile_store_whole(struct contract_code *code, struct loop_block *block,
                             const struct tile *tile, bool whole)
{
    struct arena *arena = code->arena;
    bool alone = whole && code->contract->sets[CONTRACT_N].count == code->merged;
    for (int i = 0; i < code->rows; i++) {
        loop_value row = contract_row(code, tile->at->row_panel, loop_integer(arena, i));
        contract_open_set(code, block, CONTRACT_M, row);
        for (int j = 0; j < code->vectors; j++) {
            contract_open_vector(code, &tile->columns, j);
            struct skeleton_lanes lanes = {code->lane, code->lanes, tile->columns.from[j],
                                           alone ? NULL : tile->columns.count[j]};
            contract_finish(
                code, block,
                vector_load(code, tile->sums, loop_integer(arena, i * code->vectors + j)), &lanes);
        }
    }
}

/* By way of memory, row after row: so that what follows the sum is written but once. */
static void tile_store_rows(struct contract_code *code, struct loop_block *block,
                            const struct tile *tile, bool whole)
{
    struct arena *arena = code->arena;
    int count = code->rows * code->vectors;
    struct loop_variable *row;
    const struct loop_buffer *finished = tile->sums;
    if (!in_memory(code)) {
        finished = loop_stack(block, "finished", code->contract->dtype, code->lanes, count);
        for (int i = 0; i < count; i++)
            loop_store(block, finished, loop_integer(arena, i),
                       vector_load(code, tile->sums, loop_integer(arena, i)));
    }
    loop_value first = contract_row(code, tile->at->row_panel, loop_integer(arena, 0));
    loop_value rows = loop_integer(arena, code->rows);
    if (!whole)
        rows = loop_min(arena, rows, loop_sub(arena, code->m, first));
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "row", loop_integer(arena, 0), rows, NULL, &row);
    contract_open_set(code, body, CONTRACT_M, loop_add(arena, first, loop_of(arena, row)));
    bool alone = code->contract->sets[CONTRACT_N].count == code->merged;
    for (int j = 0; j < code->vectors; j++) {
        loop_value place = loop_mul(arena, loop_of(arena, row), loop_integer(arena, code->vectors));
        place = loop_add(arena, place, loop_integer(arena, j));
        struct loop_block *inside = body;
        if (!whole && j > 0) {
            loop_value number =
                loop_mul(arena, tile->at->column_panel, loop_integer(arena, code->vectors));
            number = loop_add(arena, number, loop_integer(arena, j));
            inside = loop_if(body, loop_less(arena, number, code->vector_total));
        }
        contract_open_vector(code, &tile->columns, j);
        struct skeleton_lanes lanes = {code->lane, code->lanes, tile->columns.from[j],
                                       whole && alone ? NULL : tile->columns.count[j]};
        loop_value sum =
            loop_of(arena, loop_let(inside, "sum", vector_load(code, finished, place)));
        contract_finish(code, inside, sum, &lanes);
    }
}

/* Whether no row of the tile is beyond the last. */
static loop_value rows_are_whole(struct contract_code *code, const struct tile *tile)
{
    struct arena *arena = code->arena;
    loop_value next = loop_add(arena, tile->at->row_panel, loop_integer(arena, 1));
    return loop_apply(arena, IR_LE, contract_row(code, next, loop_integer(arena, 0)), code->m,
                      NULL);
}

/* Whether no row and no column of the tile is beyond the last. */
static loop_value tile_is_whole(struct contract_code *code, const struct tile *tile)
{
    struct arena *arena = code->arena;
    loop_value one = loop_integer(arena, 1);
    bool alone = code->contract->sets[CONTRACT_N].count == code->merged;
    loop_value columns = loop_add(arena, tile->at->column_panel, one);
    int width = alone ? code->vectors * code->lanes : code->vectors;
    columns = loop_mul(arena, columns, loop_integer(arena, width));
    loop_value limit = alone ? code->lane_extent : code->vector_total;
    return loop_apply(arena, IR_AND, rows_are_whole(code, tile),
                      loop_apply(arena, IR_LE, columns, limit, NULL), NULL);
}

static void tile_store(struct contract_code *code, struct loop_block *block,
                       const struct tile *tile, loop_value whole)
{
    struct loop_block *yes = loop_if(block, whole), *no = loop_else(block);
    bool rows = code->contract->after_count || code->rows > MOST_WRITTEN_OUT;
    if (rows)
        tile_store_rows(code, yes, tile, true);
    else
        tile_store_whole(code, yes, tile, true);
    if (!rows && is_narrow(code)) { /* they may have no other tiles */
        tile_store_whole(code, loop_if(no, rows_are_whole(code, tile)), tile, false);
        no = loop_else(no);
    }
    tile_store_rows(code, no, tile, false);
}

/* The sums of the block, terms taken where they are. */
static void tile_unpacked(struct contract_code *code, struct loop_block *block, struct tile *tile,
                          loop_value whole)
{
    if (is_narrow(code)) { /* a mask costs nothing */
        tile_terms(code, block, tile, false);
        return;
    }
    struct loop_block *yes = loop_if(block, whole), *no = loop_else(block);
    tile_terms(code, yes, tile, code->contract->sets[CONTRACT_N].count == code->merged);
    tile_terms(code, no, tile, false);
}

/* Rows read where they are; beyond the last, that one again, unless all of the tile exist. */
static void open_rows(struct contract_code *code, struct loop_block *block, struct tile *tile,
                      bool whole)
{
    struct arena *arena = code->arena;
    const struct contract_indices *indices = &code->contract->sets[CONTRACT_M];
    for (int i = 0; i < code->rows; i++) {
        loop_value last = loop_sub(arena, code->m, loop_integer(arena, 1));
        loop_value row = contract_row(code, tile->at->row_panel, loop_integer(arena, i));
        if (!whole)
            row = loop_of(arena, loop_let(block, "row", loop_min(arena, row, last)));
        contract_open_set(code, block, CONTRACT_M, row);
        for (int k = 0; k < indices->count; k++)
            tile->rows[i][k] = code->values.indices[indices->at[k]];
    }
}

/* From words; what cannot be taken apart is multiplied as it is. */
static void tile_words(struct contract_code *code, struct loop_block *block, struct tile *tile,
                       loop_value whole)
{
    if (!code->row_outside) {
        contract_word_terms(code, block, tile->at, tile->sums);
        return;
    }
    struct loop_block *outside = loop_if(block, contract_is_outside(code, tile->at));
    struct loop_block *inside = loop_else(block);
    code->pack_a = code->pack_b = false;
    if (in_memory(code))
        tile_zero(code, outside, tile);
    open_rows(code, outside, tile, false);
    tile_unpacked(code, outside, tile, whole);
    code->pack_a = code->pack_b = true;
    contract_word_terms(code, inside, tile->at, tile->sums);
}

/* The sums of a block of terms, from nothing. */
static void tile_sums(struct contract_code *code, struct loop_block *block, struct tile *tile,
                      loop_value whole)
{
    if (code->along) {
        contract_along_terms(code, block, tile->at, tile->sums);
    } else if (code->atom) {
        tile_words(code, block, tile, whole);
    } else if (code->pack_b) {
        tile_terms(code, block, tile, true);
    } else {
        tile_unpacked(code, block, tile, whole);
    }
}

static void tile_finish(struct contract_code *code, struct loop_block *block,
                        const struct tile *tile, loop_value whole)
{
    if (code->along)
        contract_along_store(code, block, tile->at, tile->sums);
    else
        tile_store(code, block, tile, whole);
}

/* The places of the tile, and room for its sums; whether all of it exists. */
static loop_value tile_open(struct contract_code *code, struct loop_block *block, struct tile *tile)
{
    loop_value whole = NULL;
    if (!code->along) {
        if (tile->at->columns)
            tile->columns = *tile->at->columns;
        else
            contract_open_columns(code, block, tile->at->column_panel, &tile->columns);
        whole = tile_is_whole(code, tile);
    }
    tile->sums =
        loop_stack(block, "sums", code->contract->dtype, code->lanes, code->rows * code->vectors);
    return whole;
}

void contract_tile(struct contract_code *code, struct loop_block *block,
                   const struct contract_tile *at)
{
    struct arena *arena = code->arena;
    struct tile tile = {.at = at};
    bool in_place = !code->pack_a && !code->along, narrow = in_place && is_narrow(code);
    if (in_place && !narrow)
        open_rows(code, block, &tile, false);
    loop_clear(block, 0);
    loop_value whole = tile_open(code, block, &tile);
    if (!in_memory(code)) /* tiles begin with nothing by themselves */
        tile_zero(code, block, &tile);
    loop_value from = code->terms_from ? code->terms_from : loop_integer(arena, 0);
    loop_value earlier = loop_less(arena, from, at->first), last = contract_tile_last(code, at);
    tile_fetch(code,
               loop_if(block, last ? loop_apply(arena, IR_AND, earlier, last, NULL) : earlier),
               &tile);
    if (narrow) { /* few terms: finding rows would take as long as the sums */
        struct loop_block *yes = loop_if(block, rows_are_whole(code, &tile));
        struct loop_block *no = loop_else(block);
        open_rows(code, yes, &tile, true);
        tile_sums(code, yes, &tile, whole);
        open_rows(code, no, &tile, false);
        tile_sums(code, no, &tile, whole);
    } else {
        tile_sums(code, block, &tile, whole);
    }
    if (last)
        block = loop_if(block, last);
    tile_blocks(code, loop_if(block, earlier), &tile, false);
    if (code->split_k > 1) { /* others have sums of the tile, too */
        tile_blocks(code, block, &tile, true);
        return;
    }
    loop_value next = loop_add(arena, at->first, loop_integer(arena, code->block_k));
    struct loop_block *more = loop_if(block, loop_less(arena, next, code->k));
    struct loop_block *all = loop_else(block);
    tile_blocks(code, more, &tile, true);
    tile_finish(code, all, &tile, whole);
}

void contract_tile_join(struct contract_code *code, struct loop_block *block,
                        const struct contract_tile *at)
{
    struct tile tile = {.at = at};
    loop_value whole = tile_open(code, block, &tile);
    tile_zero(code, block, &tile);
    for (int64_t i = 0; i < code->split_k; i++) {
        code->part = loop_integer(code->arena, i);
        tile_blocks(code, block, &tile, false);
    }
    code->part = NULL;
    tile_finish(code, block, &tile, whole);
}
