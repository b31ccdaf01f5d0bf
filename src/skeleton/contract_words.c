/*
 * contract, words: factors packed as small operands, several to a word of 4 bytes, and the sums of
 * their products.
 *
 * A packed row has its operands one after the other, so that a word is several terms of one row. A
 * panel of columns has, for as many terms as a word holds, one word per column. Room beyond the
 * last term is zero in both. Factors in parts are so many panels, the leading part first.
 *
 * Tiles: the rows of a panel go through their terms a tile at a time, and so do columns, 16 of them
 * after the other, so that a tile is one piece of memory. A word of bf16 has terms half a tile
 * apart, in rows and columns alike: it is then made of two vectors, lane by lane, on both sides.
 *
 * Bytes: the machine multiplies u8 by i8. When both factors are the same of the two, rows are moved
 * by 128, and the sums get back what that added: 128 times the sum of the column.
 */
#include "skeleton/contract.h"

enum {
    WORD_BYTES = 4,
    ROUND_TERMS = 64,
    MOST_WORD = 4,
    MOST_PARTS = 3,
    /* six products of each term are added to one sum: so long, that is as accurate as f32 */
    LONGEST_IN_PARTS = 512,
    MOST_BESIDE = 8, /* panels of columns that are packed side by side */
};

static const double LARGEST_SPLIT = 0x1p120; /* beyond it parts and their products may overflow */

void contract_words_open(struct contract_code *code, const struct contract_choice *choice)
{
    if (!choice->atom)
        return;
    bool bytes = code->contract->factors == CONTRACT_BYTES;
    code->atom = choice->atom;
    code->parts = choice->parts;
    code->rows = contract_tile_rows(choice->atom, code->rows);
    code->vectors = contract_tile_vectors(choice->atom, code->vectors);
    code->block_k = (code->block_k + ROUND_TERMS - 1) / ROUND_TERMS * ROUND_TERMS;
    if (code->parts > 1 && code->block_k > LONGEST_IN_PARTS)
        code->block_k = LONGEST_IN_PARTS;
    code->pack_a = code->pack_b = true;
    code->merged = 1;
    code->row_dtype = code->column_dtype = DTYPE_BF16;
    if (bytes) {
        code->row_dtype = code->contract->row_dtype;
        code->column_dtype = code->contract->column_dtype;
        if (code->atom->rows == 1)
            code->row_dtype = code->column_dtype == DTYPE_I8 ? DTYPE_U8 : DTYPE_I8;
    }
}

/* What is added to a byte of a row before it is packed. */
static int row_shift(const struct contract_code *code)
{
    const struct contract *contract = code->contract;
    if (contract->factors != CONTRACT_BYTES || code->row_dtype == contract->row_dtype)
        return 0;
    return code->row_dtype == DTYPE_U8 ? 128 : -128;
}

bool contract_rows_moved(const struct contract_code *code)
{
    return row_shift(code) != 0;
}

/* ---- places ---- */

loop_value contract_row_number(struct contract_code *code, loop_value panel)
{
    struct arena *arena = code->arena;
    loop_value owner = code->slice ? code->slice : code->share;
    if (code->row_from)
        panel = loop_sub(arena, panel, code->row_from);
    if (!owner || !(code->slice || code->row_from))
        return panel;
    loop_value room = code->row_from ? code->room_a : code->row_panels;
    return loop_add(arena, loop_mul(arena, owner, room), panel);
}

static loop_value column_panel_number(struct contract_code *code, loop_value panel)
{
    if (code->column_from)
        return loop_sub(code->arena, panel, code->column_from);
    if (!code->slice)
        return panel;
    return loop_add(code->arena, loop_mul(code->arena, code->slice, code->column_panels), panel);
}

static loop_value part_number(struct contract_code *code, loop_value panel, int part)
{
    panel = loop_mul(code->arena, panel, loop_integer(code->arena, code->parts));
    return loop_add(code->arena, panel, loop_integer(code->arena, part));
}

static bool has_tiles(const struct contract_code *code)
{
    return code->atom->rows > 1;
}

/* The terms of a word are half a tile apart, not neighbours. */
static bool terms_apart(const struct contract_code *code)
{
    return has_tiles(code) && code->atom->word == 2;
}

static int64_t half_tile(const struct contract_code *code)
{
    return code->atom->terms / 2;
}

loop_value contract_row_tile(struct contract_code *code, loop_value panel, int part, loop_value row,
                             loop_value term)
{
    struct arena *arena = code->arena;
    loop_value rows = loop_integer(arena, code->rows),
               wide = loop_integer(arena, code->atom->terms);
    loop_value at = part_number(code, contract_row_number(code, panel), part);
    at = loop_add(arena, loop_mul(arena, at, code->row_length), term);
    return loop_add(arena, loop_mul(arena, at, rows), loop_mul(arena, row, wide));
}

loop_value contract_row_word(struct contract_code *code, loop_value panel, int part, loop_value row,
                             loop_value term)
{
    struct arena *arena = code->arena;
    if (has_tiles(code)) {
        loop_value wide = loop_integer(arena, code->atom->terms);
        loop_value tile = loop_mul(arena, loop_apply(arena, IR_FLOORDIV, term, wide, NULL), wide);
        loop_value within = loop_sub(arena, term, tile);
        if (terms_apart(code)) { /* the first half at even places, the second at odd ones */
            loop_value length = loop_integer(arena, half_tile(code));
            loop_value half = loop_apply(arena, IR_FLOORDIV, within, length, NULL);
            loop_value word = loop_sub(arena, within, loop_mul(arena, half, length));
            within = loop_add(arena, loop_mul(arena, word, loop_integer(arena, 2)), half);
        }
        return loop_add(arena, contract_row_tile(code, panel, part, row, tile), within);
    }
    loop_value at = part_number(code, contract_row_number(code, panel), part);
    at = loop_add(arena, loop_mul(arena, at, loop_integer(arena, code->rows)), row);
    return loop_add(arena, loop_mul(arena, at, code->row_length), term);
}

loop_value contract_column_word(struct contract_code *code, loop_value panel, int part,
                                loop_value term, int vector)
{
    struct arena *arena = code->arena;
    int64_t width = (int64_t)code->vectors * code->lanes;
    int64_t together = has_tiles(code) ? code->atom->terms : code->atom->word;
    loop_value at = part_number(code, column_panel_number(code, panel), part);
    at = loop_add(arena, loop_mul(arena, at, loop_integer(arena, code->block_k)), term);
    at = loop_mul(arena, at, loop_integer(arena, width));
    return loop_add(arena, at, loop_integer(arena, vector * code->lanes * together));
}

/* The same for a term within a tile, counted as the words are: two for each word of bf16. */
static loop_value column_word_within(struct contract_code *code, loop_value panel, int part,
                                     loop_value tile, loop_value within, int vector)
{
    struct arena *arena = code->arena;
    return loop_add(arena, contract_column_word(code, panel, part, tile, vector),
                    loop_mul(arena, within, loop_integer(arena, code->lanes)));
}

/* Terms up to a multiple of what one instruction sums. */
static loop_value round_terms(struct contract_code *code, struct loop_block *block,
                              loop_value terms, int64_t multiple)
{
    struct arena *arena = code->arena;
    loop_value by = loop_integer(arena, multiple);
    terms = loop_add(arena, terms, loop_integer(arena, multiple - 1));
    terms = loop_mul(arena, loop_apply(arena, IR_FLOORDIV, terms, by, NULL), by);
    return loop_of(arena, loop_let(block, "whole_terms", terms));
}

static loop_value round_down(struct contract_code *code, struct loop_block *block, loop_value terms,
                             int64_t multiple)
{
    struct arena *arena = code->arena;
    loop_value by = loop_integer(arena, multiple);
    loop_value whole = loop_mul(arena, loop_apply(arena, IR_FLOORDIV, terms, by, NULL), by);
    return loop_of(arena, loop_let(block, "whole", whole));
}

/* ---- parts ---- */

/* The nearest number of bf16. */
static loop_value bring_near(struct arena *arena, loop_value value)
{
    return value->type.lanes > 1 ? loop_near(arena, value) : loop_cast(arena, DTYPE_BF16, value);
}

/* What the parts before leave, to the nearest; exact as long as nothing is too large or small. */
static void split(struct contract_code *code, struct loop_block *block, loop_value value,
                  loop_value *parts)
{
    struct arena *arena = code->arena;
    loop_value left = value;
    for (int i = 0; i < code->parts; i++) {
        parts[i] = left;
        if (code->column_dtype != DTYPE_BF16 || code->contract->factors == CONTRACT_BF16)
            continue;
        parts[i] = loop_of(arena, loop_let(block, "part", bring_near(arena, left)));
        if (i + 1 < code->parts)
            left = loop_of(arena, loop_let(block, "left", loop_sub(arena, left, parts[i])));
    }
}

/* The greatest magnitude so far, in lanes; NaN stays. NULL when nobody asks. */
static struct loop_variable *greatest_open(struct contract_code *code, struct loop_block *block,
                                           int lanes)
{
    if (!code->row_outside)
        return NULL;
    loop_value zero = loop_number(code->arena, 0, DTYPE_F32);
    return loop_let(block, "greatest", loop_splat(code->arena, zero, lanes));
}

static void greatest_add(struct contract_code *code, struct loop_block *block,
                         struct loop_variable *greatest, loop_value value)
{
    struct arena *arena = code->arena;
    if (!greatest)
        return;
    value = loop_apply(arena, IR_ABS, value, NULL, NULL);
    loop_set(block, greatest, loop_apply(arena, IR_MAX, loop_of(arena, greatest), value, NULL));
}

static void clear_flag(struct contract_code *code, struct loop_block *block,
                       const struct loop_buffer *outside, loop_value place)
{
    if (outside)
        loop_store(block, outside, place, loop_number(code->arena, 0, DTYPE_F32));
}

/* One flag for all of a panel, raised by whatever is too large. */
static void raise_flag(struct contract_code *code, struct loop_block *block,
                       const struct loop_variable *greatest, const struct loop_buffer *outside,
                       loop_value place)
{
    struct arena *arena = code->arena;
    if (!greatest)
        return;
    loop_value most = loop_fold(arena, IR_MAXIMUM, loop_of(arena, greatest));
    loop_value limit = loop_number(arena, LARGEST_SPLIT, DTYPE_F32);
    loop_value fits = loop_apply(arena, IR_LE, most, limit, NULL);
    struct loop_block *fails = loop_if(block, loop_apply(arena, IR_NOT, fits, NULL, NULL));
    loop_store(fails, outside, place, loop_number(arena, 1, DTYPE_F32));
}

loop_value contract_is_outside(struct contract_code *code, const struct contract_tile *tile)
{
    struct arena *arena = code->arena;
    loop_value row = contract_row_number(code, tile->row_panel);
    loop_value sum = loop_add(
        arena, loop_load(arena, code->row_outside, row, 1),
        loop_load(arena, code->column_outside, column_panel_number(code, tile->column_panel), 1));
    return loop_less(arena, loop_number(arena, 0, DTYPE_F32), sum);
}

/* ---- rows ---- */

static void store_row(struct contract_code *code, struct loop_block *block, loop_value panel,
                      loop_value row, loop_value term, loop_value value)
{
    struct arena *arena = code->arena;
    loop_value parts[MOST_PARTS];
    if (row_shift(code))
        value = loop_add(arena, value, loop_integer(arena, row_shift(code)));
    split(code, block, value, parts);
    for (int i = 0; i < code->parts; i++)
        loop_store(block, code->a, contract_row_word(code, panel, i, row, term), parts[i]);
}

/* Whether terms of a row are neighbours in memory, and so can be read as vectors. */
static bool terms_are_neighbours(struct contract_code *code, const struct loop_variable *term)
{
    loop_value value = contract_factor(code, false);
    if (code->contract->sets[CONTRACT_K].count != 1)
        return false;
    while (value->op == LOOP_APPLY && value->apply == IR_CAST)
        value = value->a;
    if (value->op != LOOP_LOAD || value->mask)
        return false;
    loop_value step = loop_step(code->arena, value->offset, term);
    return step && step->op == LOOP_INTEGER && step->integer == 1;
}

/* A vector of the terms of a row, from one on; 0 beyond the last. NULL for terms: all are there. */
static loop_value row_vector(struct contract_code *code, struct loop_block *block,
                             const struct loop_variable *term, loop_value from, loop_value terms)
{
    struct arena *arena = code->arena;
    loop_value value = contract_factor(code, false), none = loop_integer(arena, 0), wanted = NULL;
    if (terms) {
        wanted = loop_apply(arena, IR_MAX, loop_sub(arena, terms, from), none, NULL);
        wanted = loop_min(arena, loop_integer(arena, code->lanes), wanted);
        wanted = loop_of(arena, loop_let(block, "wanted", wanted));
    }
    struct skeleton_lanes along = {term, code->lanes, from, wanted};
    skeleton_widen(block, &along, &value, 1);
    return loop_of(arena, loop_let(block, "value", loop_splat(arena, value, code->lanes)));
}

/* A tile's terms of a row: words of what is half a tile apart. */
static void store_row_words(struct contract_code *code, struct loop_block *block, loop_value panel,
                            loop_value row, loop_value term, const loop_value *halves)
{
    loop_value low[MOST_PARTS], high[MOST_PARTS];
    split(code, block, halves[0], low);
    split(code, block, halves[1], high);
    for (int i = 0; i < code->parts; i++)
        loop_store_words(block, code->a, contract_row_tile(code, panel, i, row, term),
                         loop_pair(code->arena, low[i], high[i]));
}

struct row_span { /* some of the terms of a row */
    loop_value from, to;
    loop_value guard; /* the end of all terms; NULL: none is beyond it */
    int64_t step;
    bool wide; /* by vectors */
    struct loop_variable *greatest;
};

static void pack_row_terms(struct contract_code *code, struct loop_block *block, loop_value panel,
                           loop_value row, struct loop_variable *greatest,
                           const struct loop_variable *term, loop_value terms, bool wide)
{
    struct arena *arena = code->arena;
    loop_value from = loop_of(arena, term), values[2];
    int halves = wide && terms_apart(code) ? 2 : 1;
    for (int i = 0; i < halves; i++) {
        loop_value at = loop_add(arena, from, loop_integer(arena, i * half_tile(code)));
        values[i] = wide ? row_vector(code, block, term, at, terms)
                         : loop_of(arena, loop_let(block, "value", contract_factor(code, false)));
        greatest_add(code, block, greatest, values[i]);
    }
    if (halves == 2)
        store_row_words(code, block, panel, row, from, values);
    else
        store_row(code, block, panel, row, from, values[0]);
}

/* Terms from one on to another, `step` at a time. */
static void pack_row_span(struct contract_code *code, struct loop_block *block, loop_value panel,
                          loop_value row, loop_value first, const struct row_span *span)
{
    struct arena *arena = code->arena;
    struct loop_variable *term;
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "term", span->from, span->to,
                                       loop_integer(arena, span->step), &term);
    contract_open_set(code, body, CONTRACT_K, loop_add(arena, first, loop_of(arena, term)));
    pack_row_terms(code, body, panel, row, span->greatest, term, span->guard, span->wide);
}

static void pack_row(struct contract_code *code, struct loop_block *block, loop_value panel,
                     loop_value row, loop_value first, loop_value terms)
{
    struct arena *arena = code->arena;
    struct loop_variable *term = arena_new(arena, struct loop_variable), *beyond;
    *term = (struct loop_variable){"term", LOOP_COUNTER, {DTYPE_I64, 1}, 0};
    contract_open_set(code, block, CONTRACT_K, loop_add(arena, first, loop_of(arena, term)));
    struct row_span span = {loop_integer(arena, 0), terms, terms, .step = 1};
    span.wide = terms_are_neighbours(code, term);
    span.greatest = greatest_open(code, block, span.wide ? code->lanes : 1);
    if (span.wide) { /* whole vectors first, without masks */
        span.step = terms_apart(code) ? code->atom->terms : code->lanes;
        span.to = round_down(code, block, terms, span.step);
        span.guard = NULL;
        pack_row_span(code, block, panel, row, first, &span);
        span.from = span.to;
        span.to = span.guard = terms;
    }
    pack_row_span(code, block, panel, row, first, &span);
    raise_flag(code, block, span.greatest, code->row_outside, contract_row_number(code, panel));
    if (span.wide && terms_apart(code))
        return; /* whole tiles were written */
    loop_value end = round_terms(code, block, terms, code->atom->terms);
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "beyond", terms, end, NULL, &beyond);
    loop_value zero = loop_number(arena, 0, dtype_compute(code->row_dtype));
    for (int i = 0; i < code->parts; i++)
        loop_store(body, code->a, contract_row_word(code, panel, i, row, loop_of(arena, beyond)),
                   zero);
}

void contract_pack_row_words(struct contract_code *code, struct loop_block *block, loop_value first,
                             loop_value terms)
{
    struct arena *arena = code->arena;
    struct loop_variable *panel, *row;
    bool alone = code->slices || code->serial || code->row_from;
    loop_value from = code->row_from ? code->row_from : loop_integer(arena, 0);
    loop_note(block, "rows into panels of words");
    struct loop_block *body =
        loop_for(block, alone ? LOOP_SERIAL : LOOP_PARALLEL, "panel", from,
                 code->row_from ? code->row_to : code->row_panels, NULL, &panel);
    clear_flag(code, body, code->row_outside, contract_row_number(code, loop_of(arena, panel)));
    struct loop_block *inner = loop_for(body, LOOP_SERIAL, "row", loop_integer(arena, 0),
                                        loop_integer(arena, code->rows), NULL, &row);
    loop_value last = loop_sub(arena, code->m, loop_integer(arena, 1));
    loop_value number = contract_row(code, loop_of(arena, panel), loop_of(arena, row));
    number = loop_of(arena, loop_let(inner, "from_row", loop_min(arena, number, last)));
    contract_open_set(code, inner, CONTRACT_M, number);
    pack_row(code, inner, loop_of(arena, panel), loop_of(arena, row), first, terms);
}

/* ---- columns ---- */

struct column_group { /* as many terms of a panel as a word holds */
    loop_value panel, term, first, terms;
    loop_value tile, within; /* the place of its words, as terms; without tiles the first alone */
    const struct contract_columns *columns;
    loop_value panel_from, panel_to; /* panels side by side; NULL: one, `panel` */
    bool whole;                      /* none is beyond the last */
    struct loop_variable *greatest, *const *sums;
};

/* The word of bytes: each shifted to its place. */
static loop_value join_bytes(struct contract_code *code, const loop_value *values)
{
    struct arena *arena = code->arena;
    loop_value word = NULL, mask = loop_integer(arena, 255);
    for (int t = 0; t < code->atom->word; t++) {
        loop_value byte = loop_apply(arena, IR_BITAND, values[t], mask, NULL);
        byte = loop_mul(arena, byte, loop_integer(arena, (int64_t)1 << 8 * t));
        word = word ? loop_apply(arena, IR_BITOR, word, byte, NULL) : byte;
    }
    return loop_narrow(arena, word);
}

static loop_value column_value(struct contract_code *code, struct loop_block *block,
                               const struct column_group *group, int vector, int further)
{
    struct arena *arena = code->arena;
    int64_t apart = terms_apart(code) ? half_tile(code) : 1;
    loop_value term = loop_add(arena, group->term, loop_integer(arena, further * apart));
    loop_value there = loop_less(arena, term, group->terms);
    bool guarded = !group->whole && (further || apart > 1);
    if (guarded) /* beyond the last: that one again, and then none */
        term = loop_min(arena, term, loop_sub(arena, group->terms, loop_integer(arena, 1)));
    contract_open_set(code, block, CONTRACT_K, loop_add(arena, group->first, term));
    contract_open_vector(code, group->columns, vector);
    struct skeleton_lanes lanes = {code->lane, code->lanes, group->columns->from[vector],
                                   group->columns->count[vector]};
    loop_value value = contract_factor(code, true);
    skeleton_widen(block, &lanes, &value, 1);
    value = loop_splat(arena, value, code->lanes);
    if (guarded)
        value =
            loop_select(arena, there, value,
                        loop_splat(arena, loop_number(arena, 0, value->type.dtype), code->lanes));
    return loop_of(arena, loop_let(block, "value", value));
}

static void pack_column_group(struct contract_code *code, struct loop_block *block,
                              const struct column_group *group)
{
    struct arena *arena = code->arena;
    int word = code->atom->word;
    for (int j = 0; j < code->vectors; j++) {
        loop_value values[MOST_WORD], parts[MOST_WORD][MOST_PARTS];
        for (int t = 0; t < word; t++) {
            values[t] = column_value(code, block, group, j, t);
            greatest_add(code, block, group->greatest, values[t]);
            if (group->sums)
                loop_set(block, group->sums[j],
                         loop_add(arena, loop_of(arena, group->sums[j]), values[t]));
            split(code, block, values[t], parts[t]);
        }
        for (int p = 0; p < code->parts; p++) {
            loop_value place =
                column_word_within(code, group->panel, p, group->tile, group->within, j);
            loop_store_words(block, code->b, place,
                             word == 2 ? loop_pair(arena, parts[0][p], parts[1][p])
                                       : join_bytes(code, values));
        }
    }
}

/* The words of terms that are neighbours, from one on. */
static void place_group(struct contract_code *code, struct column_group *group, loop_value term)
{
    struct arena *arena = code->arena;
    loop_value wide = loop_integer(arena, code->atom->terms);
    group->tile = term;
    group->within = loop_integer(arena, 0);
    if (!has_tiles(code))
        return;
    group->tile = loop_mul(arena, loop_apply(arena, IR_FLOORDIV, term, wide, NULL), wide);
    group->within = loop_sub(arena, term, group->tile);
}

/* Words of nothing, up to what one instruction sums. */
static void pack_beyond(struct contract_code *code, struct loop_block *block,
                        struct column_group *group, loop_value from)
{
    struct arena *arena = code->arena;
    struct loop_variable *term;
    if (code->atom->terms == code->atom->word)
        return;
    loop_value end = round_terms(code, block, group->terms, code->atom->terms);
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "term", from, end,
                                       loop_integer(arena, code->atom->word), &term);
    place_group(code, group, loop_of(arena, term));
    for (int i = 0; i < code->parts * code->vectors; i++) {
        loop_value place = column_word_within(code, group->panel, i / code->vectors, group->tile,
                                              group->within, i % code->vectors);
        loop_value zero = loop_narrow(arena, loop_integer(arena, 0));
        loop_store_words(body, code->b, place, loop_splat(arena, zero, code->lanes));
    }
}

static loop_value column_sum_place(struct contract_code *code, loop_value panel, int vector)
{
    struct arena *arena = code->arena;
    int64_t width = (int64_t)code->vectors * code->lanes;
    panel = loop_mul(arena, column_panel_number(code, panel), loop_integer(arena, width));
    return loop_add(arena, panel, loop_integer(arena, (int64_t)vector * code->lanes));
}

loop_value contract_column_sum(struct contract_code *code, loop_value panel, int vector)
{
    return loop_load(code->arena, code->column_sums, column_sum_place(code, panel, vector),
                     code->lanes);
}

/* Words of terms that are neighbours. */
static void pack_neighbours(struct contract_code *code, struct loop_block *block,
                            struct column_group *group)
{
    struct arena *arena = code->arena;
    struct loop_variable *term;
    loop_value word = loop_integer(arena, code->atom->word);
    loop_value whole = round_down(code, block, group->terms, code->atom->word);
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "term", loop_integer(arena, 0), whole, word, &term);
    group->term = loop_of(arena, term);
    place_group(code, group, group->term);
    group->whole = true;
    pack_column_group(code, body, group);
    struct loop_block *rest = loop_if(block, loop_less(arena, whole, group->terms));
    group->term = whole;
    place_group(code, group, whole);
    group->whole = false;
    pack_column_group(code, rest, group);
    pack_beyond(code, block, group, round_terms(code, block, group->terms, code->atom->word));
}

/* The words of one tile, from its first term on. */
static void pack_tile(struct contract_code *code, struct loop_block *block,
                      struct column_group *group, loop_value first, bool whole)
{
    struct arena *arena = code->arena;
    struct loop_variable *word;
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "word", loop_integer(arena, 0),
                                       loop_integer(arena, half_tile(code)), NULL, &word);
    loop_value number = loop_of(arena, word);
    group->term = loop_add(arena, first, number);
    group->tile = first;
    group->within = loop_mul(arena, number, loop_integer(arena, 2));
    group->whole = whole;
    if (!group->panel_to) {
        pack_column_group(code, body, group);
        return;
    }
    struct loop_variable *panel;
    struct contract_columns columns;
    body = loop_for(body, LOOP_SERIAL, "panel", group->panel_from, group->panel_to, NULL, &panel);
    group->panel = loop_of(arena, panel);
    group->columns = &columns;
    contract_open_columns(code, body, group->panel, &columns);
    pack_column_group(code, body, group);
}

/* Words of terms that are half a tile apart. */
static void pack_apart(struct contract_code *code, struct loop_block *block,
                       struct column_group *group)
{
    struct arena *arena = code->arena;
    struct loop_variable *first;
    loop_value whole = round_down(code, block, group->terms, code->atom->terms);
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "first", loop_integer(arena, 0), whole,
                                       loop_integer(arena, code->atom->terms), &first);
    pack_tile(code, body, group, loop_of(arena, first), true);
    struct loop_block *rest = loop_if(block, loop_less(arena, whole, group->terms));
    pack_tile(code, rest, group, whole, false);
}

static void pack_column_panel(struct contract_code *code, struct loop_block *block,
                              struct column_group *group)
{
    struct arena *arena = code->arena;
    struct loop_variable *sums[CONTRACT_MAX_VECTORS];
    loop_value zero = loop_integer(arena, 0);
    loop_value number = column_panel_number(code, group->panel);
    group->greatest = greatest_open(code, block, code->lanes);
    group->sums = code->column_sums ? sums : NULL;
    for (int j = 0; j < code->vectors && code->column_sums; j++)
        sums[j] = loop_let(block, "sum", loop_splat(arena, zero, code->lanes));
    if (terms_apart(code))
        pack_apart(code, block, group);
    else
        pack_neighbours(code, block, group);
    for (int j = 0; j < code->vectors && code->column_sums; j++)
        loop_store(block, code->column_sums, column_sum_place(code, group->panel, j),
                   loop_of(arena, sums[j]));
    clear_flag(code, block, code->column_outside, number);
    raise_flag(code, block, group->greatest, code->column_outside, number);
}

/*
 * Panels that are packed side by side: a row of the columns is then read several lines at a time,
 * where one panel would take one line of each page. One where threads would go without.
 */
static int64_t panels_beside(const struct contract_code *code, bool alone)
{
    const struct contract *contract = code->contract;
    double threads = alone ? 1 : contract->group->target->threads;
    double panels = contract->sets[CONTRACT_N].size / ((double)code->vectors * code->lanes);
    double beside = panels / (4 * threads);
    if (!terms_apart(code) || code->column_outside || !(beside >= 2))
        return 1;
    return beside < MOST_BESIDE ? (int64_t)beside : MOST_BESIDE;
}

static void pack_beside(struct contract_code *code, struct loop_block *block, bool alone,
                        int64_t panels, loop_value from, loop_value to, struct column_group *group)
{
    struct arena *arena = code->arena;
    struct loop_variable *panel;
    loop_value step = loop_integer(arena, panels);
    struct loop_block *body =
        loop_for(block, alone ? LOOP_SERIAL : LOOP_PARALLEL, "panel_from", from, to, step, &panel);
    group->panel_from = loop_of(arena, panel);
    loop_value end = loop_min(arena, loop_add(arena, group->panel_from, step), to);
    group->panel_to = loop_of(arena, loop_let(body, "panel_to", end));
    pack_apart(code, body, group);
}

void contract_pack_column_words(struct contract_code *code, struct loop_block *block, loop_value to,
                                loop_value first, loop_value terms)
{
    struct arena *arena = code->arena;
    struct loop_variable *panel;
    struct contract_columns columns;
    bool alone = code->column_from || code->slices || code->serial;
    loop_value from = code->column_from ? code->column_from : loop_integer(arena, 0);
    struct column_group group = {.first = first, .terms = terms, .columns = &columns};
    int64_t beside = panels_beside(code, alone);
    loop_note(block, "columns into panels of words");
    if (beside > 1) {
        pack_beside(code, block, alone, beside, from, to, &group);
        return;
    }
    struct loop_block *body =
        loop_for(block, alone ? LOOP_SERIAL : LOOP_PARALLEL, "panel", from, to, NULL, &panel);
    group.panel = loop_of(arena, panel);
    contract_open_columns(code, body, group.panel, &columns);
    pack_column_panel(code, body, &group);
}
