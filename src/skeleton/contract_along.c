/*
 * contract, terms in lanes: each sum is a vector of partial sums, folded at the end.
 *
 * For factors whose terms are neighbours in memory, and for few columns, which would leave most
 * lanes empty. A packed panel holds, row after row or column after column, a block of terms.
 */
#include "skeleton/contract.h"

/* The number of a row or column of a panel; beyond the last it is the last again. */
static loop_value line_number(struct contract_code *code, bool second, loop_value panel, int line)
{
    struct arena *arena = code->arena;
    loop_value count = second ? code->vector_total : code->m;
    loop_value number =
        loop_mul(arena, panel, loop_integer(arena, second ? code->vectors : code->rows));
    number = loop_add(arena, number, loop_integer(arena, line));
    return loop_min(arena, number, loop_sub(arena, count, loop_integer(arena, 1)));
}

/* Where the terms of a row or column begin in its panel. */
static loop_value line_place(struct contract_code *code, bool second, loop_value panel, int line)
{
    struct arena *arena = code->arena;
    loop_value zero = loop_integer(arena, 0);
    loop_value place =
        second ? contract_column_place(code, panel, zero) : contract_row_place(code, panel, zero);
    return loop_add(arena, place, loop_integer(arena, line * code->block_k));
}

/* One panel: terms outside, since what is packed has neighbours across the lines. */
void contract_along_pack(struct contract_code *code, struct loop_block *block, bool second,
                         loop_value panel, loop_value first, loop_value terms)
{
    struct arena *arena = code->arena;
    int count = second ? code->vectors : code->rows;
    loop_value lines[CONTRACT_MAX_ROWS];
    struct loop_variable *term;
    for (int i = 0; i < count; i++)
        lines[i] = loop_of(
            arena, loop_let(block, second ? "column" : "row", line_number(code, second, panel, i)));
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "term", loop_integer(arena, 0), terms, NULL, &term);
    contract_open_set(code, body, CONTRACT_K, loop_add(arena, first, loop_of(arena, term)));
    for (int i = 0; i < count; i++) {
        contract_open_set(code, body, second ? CONTRACT_N : CONTRACT_M, lines[i]);
        loop_value place =
            loop_add(arena, line_place(code, second, panel, i), loop_of(arena, term));
        loop_store(body, second ? code->b : code->a, place, contract_factor(code, second));
    }
}

struct along { /* while the terms of a tile are written */
    const struct contract_tile *at;
    const struct loop_buffer *sums;
    loop_value rows[CONTRACT_MAX_ROWS], columns[CONTRACT_MAX_ROWS];
};

/* A vector of terms from `term` on, `count` of them (NULL: all) of row or column `line`. */
static loop_value line_load(struct contract_code *code, struct loop_block *block,
                            const struct along *along, bool second, int line, loop_value term,
                            loop_value count)
{
    struct arena *arena = code->arena;
    loop_value panel = second ? along->at->column_panel : along->at->row_panel;
    if (second ? code->pack_b : code->pack_a) {
        const struct loop_buffer *buffer = second ? code->b : code->a;
        loop_value place = loop_add(arena, line_place(code, second, panel, line), term);
        return count ? loop_load_part(arena, buffer, place, code->lanes, count, NULL)
                     : loop_load(arena, buffer, place, code->lanes);
    }
    contract_open_set(code, block, second ? CONTRACT_N : CONTRACT_M,
                      second ? along->columns[line] : along->rows[line]);
    contract_open_set(code, block, CONTRACT_K,
                      loop_add(arena, along->at->first, loop_of(arena, code->lane)));
    loop_value value = contract_factor(code, second);
    struct skeleton_lanes lanes = {code->lane, code->lanes, term, count};
    skeleton_widen(block, &lanes, &value, 1);
    value = loop_splat(arena, value, code->lanes);
    /* a factor that reads nothing has no lanes to leave out by itself */
    if (count && value->op != LOOP_LOAD)
        value = loop_select(
            arena,
            loop_apply(arena, IR_LT, loop_narrow(arena, loop_iota(arena, code->lanes)),
                       loop_narrow(arena, count), NULL),
            value, loop_splat(arena, loop_number(arena, 0, code->contract->dtype), code->lanes));
    return value;
}

static void vector_of_terms(struct contract_code *code, struct loop_block *block,
                            const struct along *along, loop_value term, loop_value count)
{
    struct arena *arena = code->arena;
    loop_value columns[CONTRACT_MAX_ROWS];
    for (int j = 0; j < code->vectors; j++) {
        columns[j] = line_load(code, block, along, true, j, term, count);
        columns[j] = loop_of(arena, loop_hold(block, "column", columns[j]));
    }
    for (int i = 0; i < code->rows; i++) {
        loop_value row = line_load(code, block, along, false, i, term, count);
        row = loop_of(arena, loop_let(block, "row", row));
        for (int j = 0; j < code->vectors; j++) {
            loop_value place = loop_integer(arena, i * code->vectors + j);
            loop_value sum = loop_load(arena, along->sums, place, code->lanes);
            sum = loop_add(arena, sum, loop_mul(arena, row, columns[j]));
            loop_store(block, along->sums, place, sum);
        }
    }
}

void contract_along_terms(struct contract_code *code, struct loop_block *block,
                          const struct contract_tile *tile, const struct loop_buffer *sums)
{
    struct arena *arena = code->arena;
    struct along along = {.at = tile, .sums = sums};
    loop_value lanes = loop_integer(arena, code->lanes);
    for (int i = 0; i < code->rows && !code->pack_a; i++)
        along.rows[i] =
            loop_of(arena, loop_let(block, "row", line_number(code, false, tile->row_panel, i)));
    for (int j = 0; j < code->vectors && !code->pack_b; j++)
        along.columns[j] = loop_of(
            arena, loop_let(block, "column", line_number(code, true, tile->column_panel, j)));
    loop_value whole = loop_apply(arena, IR_FLOORDIV, tile->terms, lanes, NULL);
    whole = loop_of(arena, loop_let(block, "whole", loop_mul(arena, whole, lanes)));
    struct loop_variable *term;
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "term", loop_integer(arena, 0), whole, lanes, &term);
    vector_of_terms(code, body, &along, loop_of(arena, term), NULL);
    struct loop_block *rest = loop_if(block, loop_less(arena, whole, tile->terms));
    vector_of_terms(code, rest, &along, whole, loop_sub(arena, tile->terms, whole));
}

/* Sums are folded all at once, then finished one by one. */
void contract_along_store(struct contract_code *code, struct loop_block *block,
                          const struct contract_tile *tile, const struct loop_buffer *sums)
{
    struct arena *arena = code->arena;
    int count = code->rows * code->vectors;
    struct loop_variable *row, *column;
    const struct loop_buffer *finished =
        loop_stack(block, "finished", code->contract->dtype, 1, count);
    for (int i = 0; i < count; i++) {
        loop_value sum = loop_load(arena, sums, loop_integer(arena, i), code->lanes);
        loop_store(block, finished, loop_integer(arena, i), loop_fold(arena, IR_SUM, sum));
    }
    loop_value first_row = contract_row(code, tile->row_panel, loop_integer(arena, 0));
    loop_value width = loop_integer(arena, code->vectors);
    loop_value first_column = loop_mul(arena, tile->column_panel, width);
    loop_value rows =
        loop_min(arena, loop_integer(arena, code->rows), loop_sub(arena, code->m, first_row));
    loop_value columns = loop_min(arena, width, loop_sub(arena, code->vector_total, first_column));
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "row", loop_integer(arena, 0), rows, NULL, &row);
    contract_open_set(code, body, CONTRACT_M, loop_add(arena, first_row, loop_of(arena, row)));
    struct loop_block *inner =
        loop_for(body, LOOP_SERIAL, "column", loop_integer(arena, 0), columns, NULL, &column);
    contract_open_set(code, inner, CONTRACT_N,
                      loop_add(arena, first_column, loop_of(arena, column)));
    loop_value place =
        loop_add(arena, loop_mul(arena, loop_of(arena, row), width), loop_of(arena, column));
    loop_value sum = loop_load(arena, finished, place, 1);
    struct skeleton_lanes lanes = {code->lane, 1, loop_integer(arena, 0), NULL};
    contract_finish(code, inner, loop_of(arena, loop_let(inner, "sum", sum)), &lanes);
}
