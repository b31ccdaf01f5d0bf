/*
 * contract, packing of rows: a panel holds, term after term, one element per row. Vectors that are
 * stored there are wider than that; what they have too much is written over by the next term, and
 * after the last there is room to spare.
 */
#include "skeleton/contract.h"

struct rows { /* a panel while it is packed */
    loop_value panel, first, terms;
    loop_value at[CONTRACT_MAX_ROWS]; /* those beyond the last are the last again */
};

/* Rows next to each other in memory: all rows of the panel are loaded at once. */
static bool rows_are_neighbours(struct contract_code *code, struct loop_block *block,
                                struct loop_variable *row)
{
    if (code->contract->sets[CONTRACT_M].count != 1)
        return false;
    contract_open_set(code, block, CONTRACT_M, loop_of(code->arena, row));
    return contract_steps_by_one(contract_factor(code, false), row, code->arena);
}

static int power_of_two(int least)
{
    int power = 1;
    while (power < least)
        power *= 2;
    return power;
}

static void pack_neighbours(struct contract_code *code, struct loop_block *block,
                            const struct rows *rows, struct loop_variable *row, loop_value place)
{
    struct arena *arena = code->arena;
    loop_value count = loop_sub(arena, code->m, rows->at[0]);
    count = loop_min(arena, count, loop_integer(arena, code->rows));
    struct skeleton_lanes lanes = {row, power_of_two(code->rows), rows->at[0], count};
    loop_value value = contract_factor(code, false);
    skeleton_widen(block, &lanes, &value, 1);
    loop_store(block, code->a, place, value);
}

/* Term by term, all rows. */
static void pack_terms(struct contract_code *code, struct loop_block *block,
                       const struct rows *rows)
{
    struct arena *arena = code->arena;
    struct loop_variable *term, *row = arena_new(arena, struct loop_variable);
    *row = (struct loop_variable){"row", LOOP_COUNTER, {DTYPE_I64, 1}, 0};
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "term", loop_integer(arena, 0), rows->terms, NULL, &term);
    contract_open_set(code, body, CONTRACT_K, loop_add(arena, rows->first, loop_of(arena, term)));
    loop_value place = contract_row_place(code, rows->panel, loop_of(arena, term));
    if (code->rows > 2 && rows_are_neighbours(code, body, row)) {
        pack_neighbours(code, body, rows, row, place);
        return;
    }
    for (int i = 0; i < code->rows; i++) {
        contract_open_set(code, body, CONTRACT_M, rows->at[i]);
        loop_value value = contract_factor(code, false);
        loop_store(body, code->a, loop_add(arena, place, loop_integer(arena, i)), value);
    }
}

/* ---- rows whose terms are neighbours in memory: squares turned over in registers ---- */

/* Whether all that the value reads is the same for all values of the variable, or neighbours. */
static bool runs_along(loop_value value, const struct loop_variable *variable, struct arena *arena)
{
    if (!value || !loop_mentions(value, variable) || contract_steps_by_one(value, variable, arena))
        return true;
    return value->op == LOOP_APPLY && runs_along(value->a, variable, arena) &&
           runs_along(value->b, variable, arena) && runs_along(value->c, variable, arena);
}

/* Whether what a square's last vector has too much fits into what is spared, and terms are there in
 * whole squares. */
static bool squares_fit(struct contract_code *code, struct loop_block *block, loop_value first,
                        loop_value row)
{
    struct arena *arena = code->arena;
    if (code->whole_rows || code->contract->sets[CONTRACT_K].count != 1 ||
        code->rows > code->lanes || code->lanes - code->rows > CONTRACT_SPARE_TERMS * code->rows)
        return false;
    struct loop_variable *term = arena_new(arena, struct loop_variable);
    *term = (struct loop_variable){"term", LOOP_COUNTER, {DTYPE_I64, 1}, 0};
    contract_open_set(code, NULL, CONTRACT_K, loop_add(arena, first, loop_of(arena, term)));
    contract_open_set(code, block, CONTRACT_M, row);
    loop_value value = contract_factor(code, false);
    return loop_mentions(value, term) && runs_along(value, term, arena);
}

/* The terms of a block are a multiple of all numbers of lanes. */
static void pack_squares(struct contract_code *code, struct loop_block *block,
                         const struct rows *rows)
{
    struct arena *arena = code->arena;
    struct loop_variable *term;
    loop_value vectors[LOOP_MAX_LANES], lanes = loop_integer(arena, code->lanes);
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "term", loop_integer(arena, 0), rows->terms, lanes, &term);
    loop_value from = loop_of(arena, term);
    contract_open_set(code, body, CONTRACT_K, loop_add(arena, rows->first, from));
    loop_value wanted = loop_min(arena, lanes, loop_sub(arena, rows->terms, from));
    wanted = loop_of(arena, loop_let(body, "wanted", wanted));
    struct skeleton_lanes along = {term, code->lanes, from, wanted};
    for (int i = 0; i < code->lanes; i++) {
        if (i >= code->rows) {
            vectors[i] = vectors[code->rows - 1];
            continue;
        }
        contract_open_set(code, body, CONTRACT_M, rows->at[i]);
        vectors[i] = contract_factor(code, false);
        skeleton_widen(body, &along, &vectors[i], 1);
        vectors[i] = loop_of(arena, loop_let(body, "along", vectors[i]));
    }
    contract_transpose(code, body, vectors);
    loop_value place = contract_row_place(code, rows->panel, from);
    for (int i = 0; i < code->lanes; i++)
        loop_store(body, code->a,
                   loop_add(arena, place, loop_integer(arena, (int64_t)i * code->rows)),
                   vectors[i]);
}

void contract_pack_rows(struct contract_code *code, struct loop_block *block, loop_value first,
                        loop_value terms)
{
    struct arena *arena = code->arena;
    struct loop_variable *panel;
    if (code->atom) {
        contract_pack_row_words(code, block, first, terms);
        return;
    }
    loop_note(block, "rows into panels");
    struct loop_block *body =
        loop_for(block, contract_shared_loop(code), "panel",
                 code->row_from ? code->row_from : loop_integer(arena, 0),
                 code->row_to ? code->row_to : code->row_panels, NULL, &panel);
    struct rows rows = {.panel = loop_of(arena, panel), .first = first, .terms = terms};
    if (code->along) {
        contract_along_pack(code, body, false, rows.panel, first, terms);
        return;
    }
    loop_value last = loop_sub(arena, code->m, loop_integer(arena, 1));
    for (int i = 0; i < code->rows; i++) {
        loop_value row = contract_row(code, rows.panel, loop_integer(arena, i));
        rows.at[i] = loop_of(arena, loop_let(body, "row", loop_min(arena, row, last)));
    }
    if (squares_fit(code, body, first, rows.at[0]))
        pack_squares(code, body, &rows);
    else
        pack_terms(code, body, &rows);
}
