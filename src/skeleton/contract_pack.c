/*
 * contract, packing: factors copied into panels, in the order the tiles read them.
 *
 * A panel of rows holds, term after term, one element per row; a panel of columns one vector per
 * vector of the tile. Conversions, guards and whatever the factor computes are done here, once per
 * element and not once per use.
 */
#include "skeleton/contract.h"

enum loop_kind contract_shared_loop(const struct contract_code *code)
{
    return code->slices || code->serial || code->shares ? LOOP_SERIAL : LOOP_PARALLEL;
}

/* Slices and shares have panels of their own; those of shares are counted from the first. */
static loop_value panel_number(struct contract_code *code, loop_value panel, loop_value panels,
                               loop_value from, loop_value room)
{
    loop_value owner = code->slice ? code->slice : code->share;
    if (from)
        panel = loop_sub(code->arena, panel, from);
    if (!owner)
        return panel;
    panels = code->slice ? panels : room;
    return loop_add(code->arena, loop_mul(code->arena, owner, panels), panel);
}

int64_t contract_column_width(const struct contract_code *code)
{
    return code->along ? code->vectors : (int64_t)code->vectors * code->lanes;
}

/* `term` counts from the first of the block, or of all when rows are packed whole. */
loop_value contract_row_place(struct contract_code *code, loop_value panel, loop_value term)
{
    struct arena *arena = code->arena;
    loop_value length = code->whole_rows ? code->k : loop_integer(arena, code->block_k);
    length = loop_add(arena, length, loop_integer(arena, CONTRACT_SPARE_TERMS));
    panel = panel_number(code, panel, code->row_panels, code->row_from, code->room_a);
    loop_value at = loop_mul(arena, panel, length);
    at = loop_add(arena, at, term);
    return loop_mul(arena, at, loop_integer(arena, code->rows));
}

loop_value contract_column_place(struct contract_code *code, loop_value panel, loop_value term)
{
    struct arena *arena = code->arena;
    int64_t width = contract_column_width(code);
    panel = panel_number(code, panel, code->column_panels, code->column_from, code->room_b);
    loop_value room = code->column_terms ? code->column_terms : loop_integer(arena, code->block_k);
    loop_value at = loop_mul(arena, panel, room);
    return loop_mul(arena, loop_add(arena, at, term), loop_integer(arena, width));
}

/* ---- terms, one by one ---- */

/* Values the indices of terms after the first have together, where that is known; else 0. */
static int64_t known_taps(struct contract_code *code)
{
    enum { MOST_TAPS = 128 };
    const struct contract_indices *k = &code->contract->sets[CONTRACT_K];
    int64_t taps = 1;
    for (int i = 1; i < k->count; i++) {
        loop_value extent =
            skeleton_size(&code->values, code->contract->group->part->indices[k->at[i]].extent);
        if (extent->op != LOOP_INTEGER || extent->integer < 1 || extent->integer > MOST_TAPS / taps)
            return 0;
        taps *= extent->integer;
    }
    return taps;
}

/*
 * A loop over the terms of the block, whose number in it goes to `term`. Where the first index
 * counts channels and the others the taps of a window, tap by tap: what lies outside an image is
 * the same for all channels, and found out once.
 */
static struct loop_block *each_term(struct contract_code *code, struct loop_block *block,
                                    loop_value first, loop_value terms, loop_value *term)
{
    struct arena *arena = code->arena;
    const struct contract_indices *k = &code->contract->sets[CONTRACT_K];
    struct loop_variable *tap, *channel;
    int64_t taps = known_taps(code);
    if (taps < 2) {
        block = loop_for(block, LOOP_SERIAL, "term", loop_integer(arena, 0), terms, NULL, &tap);
        *term = loop_of(arena, tap);
        contract_open_set(code, block, CONTRACT_K, loop_add(arena, first, *term));
        return block;
    }
    loop_value step = loop_integer(arena, taps), last = loop_integer(arena, taps - 1);
    block = loop_for(block, LOOP_SERIAL, "tap", loop_integer(arena, 0), step, NULL, &tap);
    contract_open_digits(code, block, k->at + 1, k->count - 1, loop_of(arena, tap));
    /* channels whose term of this tap is in the block */
    last = loop_add(arena, first, loop_sub(arena, last, loop_of(arena, tap)));
    loop_value from = loop_apply(arena, IR_FLOORDIV, last, step, NULL);
    loop_value to = loop_apply(arena, IR_FLOORDIV, loop_add(arena, last, terms), step, NULL);
    block = loop_for(block, LOOP_SERIAL, code->contract->group->part->indices[k->at[0]].name, from,
                     to, NULL, &channel);
    code->values.indices[k->at[0]] = loop_of(arena, channel);
    *term = loop_mul(arena, loop_of(arena, channel), step);
    *term = loop_sub(arena, loop_add(arena, *term, loop_of(arena, tap)), first);
    return block;
}

/* ---- columns whose terms are neighbours in memory: squares turned over in registers ---- */

bool contract_steps_by_one(loop_value value, const struct loop_variable *variable,
                           struct arena *arena)
{
    if (value->op != LOOP_LOAD || value->mask)
        return false;
    loop_value step = loop_step(arena, value->offset, variable);
    return step && step->op == LOOP_INTEGER && step->integer == 1;
}

static bool terms_are_neighbours(struct contract_code *code, const struct contract_columns *columns,
                                 loop_value first)
{
    if (code->contract->sets[CONTRACT_K].count != 1 || code->merged > 1)
        return false;
    struct loop_variable *term = arena_new(code->arena, struct loop_variable);
    *term = (struct loop_variable){"term", LOOP_COUNTER, {DTYPE_I64, 1}, 0};
    contract_open_set(code, NULL, CONTRACT_K,
                      loop_add(code->arena, first, loop_of(code->arena, term)));
    contract_open_vector(code, columns, 0);
    loop_value value = contract_factor(code, true);
    return contract_steps_by_one(value, term, code->arena) &&
           !contract_steps_by_one(value, code->lane, code->arena);
}

/* Blocks of `size` x `size` change places across the diagonal: lanes of a and b where bit `size` of
 * the lane differs from the vector's. */
static loop_value exchange(struct contract_code *code, loop_value a, loop_value b, int size,
                           bool upper)
{
    int *pattern = arena_array(code->arena, (size_t)code->lanes, sizeof *pattern);
    for (int i = 0; i < code->lanes; i++) {
        int lane = i & ~size;
        if (i & size)
            pattern[i] = code->lanes + lane + (upper ? size : 0);
        else
            pattern[i] = lane + (upper ? size : 0);
    }
    return loop_shuffle(code->arena, a, b, pattern, code->lanes);
}

void contract_transpose(struct contract_code *code, struct loop_block *block, loop_value *vectors)
{
    for (int size = code->lanes / 2; size >= 1; size /= 2) {
        for (int i = 0; i < code->lanes; i++) {
            if (i & size)
                continue;
            loop_value low = exchange(code, vectors[i], vectors[i + size], size, false);
            loop_value high = exchange(code, vectors[i], vectors[i + size], size, true);
            vectors[i] = loop_of(code->arena, loop_let(block, "low", low));
            vectors[i + size] = loop_of(code->arena, loop_let(block, "high", high));
        }
    }
}

/* One square: the lanes of a vector of columns by as many terms. */
static void pack_square(struct contract_code *code, struct loop_block *block,
                        const struct contract_columns *columns, const struct skeleton_lanes *along,
                        loop_value place)
{
    struct arena *arena = code->arena;
    loop_value vectors[LOOP_MAX_LANES];
    const struct contract_indices *n = &code->contract->sets[CONTRACT_N];
    loop_value last = loop_sub(arena, code->lane_extent, loop_integer(arena, 1));
    for (int i = 0; i < code->lanes; i++) {
        loop_value column = loop_add(arena, columns->from[0], loop_integer(arena, i));
        contract_open_vector(code, columns, 0);
        code->values.indices[n->at[n->count - 1]] = loop_min(arena, column, last);
        vectors[i] = contract_factor(code, true);
        skeleton_widen(block, along, &vectors[i], 1);
        vectors[i] = loop_of(arena, loop_let(block, "along", vectors[i]));
    }
    contract_transpose(code, block, vectors);
    for (int i = 0; i < code->lanes; i++) {
        int64_t further = (int64_t)i * code->vectors * code->lanes;
        loop_store(block, code->b, loop_add(arena, place, loop_integer(arena, further)),
                   vectors[i]);
    }
}

/* Panels have room for whole squares: block.k is a multiple of all numbers of lanes. */
static void pack_squares(struct contract_code *code, struct loop_block *block, loop_value panel,
                         loop_value first, loop_value terms)
{
    struct arena *arena = code->arena;
    struct loop_variable *vector, *term;
    struct contract_columns columns;
    loop_value lanes = loop_integer(arena, code->lanes), count = loop_integer(arena, code->vectors);
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "vector", loop_integer(arena, 0), count, NULL, &vector);
    loop_value number = loop_add(arena, loop_mul(arena, panel, count), loop_of(arena, vector));
    contract_open_column(code, body, number, &columns, 0);
    struct loop_block *inner =
        loop_for(body, LOOP_SERIAL, "term", loop_integer(arena, 0), terms, lanes, &term);
    loop_value from = loop_of(arena, term);
    contract_open_set(code, inner, CONTRACT_K, loop_add(arena, first, from));
    loop_value wanted = loop_min(arena, lanes, loop_sub(arena, terms, from));
    wanted = loop_of(arena, loop_let(inner, "wanted", wanted));
    struct skeleton_lanes along = {term, code->lanes, from, wanted};
    loop_value place = contract_column_place(code, panel, from);
    place = loop_add(arena, place, loop_mul(arena, loop_of(arena, vector), lanes));
    pack_square(code, inner, &columns, &along, place);
}

/* ---- columns of several indices in one vector: line by line of the innermost ---- */

struct line { /* places from.. of it are in lanes lane.. of a vector */
    loop_value from, count, lane;
};

/* By how much the place of what is read goes up with the lane: 1, or 2 for every second element; 0:
 * otherwise. */
static int64_t line_step(struct contract_code *code, loop_value value)
{
    if (value->op != LOOP_LOAD || value->count)
        return 0;
    loop_value step = loop_step(code->arena, value->offset, code->lane);
    bool known = step && step->op == LOOP_INTEGER && (step->integer == 1 || step->integer == 2);
    return known ? step->integer : 0;
}

/* Whether the lane stands for a place of the line, said in steps of what is read, so that it widens
 * as that does. */
static loop_value line_has(struct contract_code *code, const struct line *line, int64_t step)
{
    struct arena *arena = code->arena;
    loop_value by = loop_integer(arena, step);
    loop_value at = loop_mul(arena, loop_of(arena, code->lane), by);
    loop_value end = loop_mul(arena, loop_add(arena, line->from, line->count), by);
    loop_value after = loop_apply(arena, IR_LE, loop_mul(arena, line->from, by), at, NULL);
    return loop_apply(arena, IR_AND, after, loop_less(arena, at, end), NULL);
}

/* Where stores of some lanes are slow: the vector again as it is, but for the lanes of the line. */
static void store_line(struct contract_code *code, struct loop_block *block, loop_value load,
                       loop_value place, const struct line *line)
{
    struct arena *arena = code->arena;
    loop_value has = line_has(code, line, line_step(code, load));
    loop_value mask = load->mask ? loop_apply(arena, IR_AND, load->mask, has, NULL) : has;
    loop_value value =
        loop_load_masked(arena, load->buffer, load->offset, 1, mask, load->otherwise);
    struct skeleton_lanes along = {code->lane, code->lanes, loop_sub(arena, line->from, line->lane),
                                   NULL};
    skeleton_widen(block, &along, &value, 1);
    has = loop_widen(arena, line_has(code, line, 1), code->lane, code->lanes, NULL);
    has = loop_substitute(arena, has, code->lane, along.from);
    value = loop_select(arena, has, loop_splat(arena, value, code->lanes),
                        loop_load(arena, code->b, place, code->lanes));
    loop_store(block, code->b, place, value);
}

/* The lanes of one vector that lie on one line, for all terms. */
static void pack_line(struct contract_code *code, struct loop_block *block, loop_value line,
                      const struct contract_columns *columns, loop_value panel, loop_value vector,
                      loop_value first, loop_value terms)
{
    struct arena *arena = code->arena;
    const struct contract_indices *n = &code->contract->sets[CONTRACT_N];
    const int *merged = &n->at[n->count - code->merged];
    int innermost = n->at[n->count - 1];
    loop_value length =
        skeleton_size(&code->values, code->contract->group->part->indices[innermost].extent);
    loop_value zero = loop_integer(arena, 0), lanes = loop_integer(arena, code->lanes);
    /* the line begins at lane `begin`, before the vector if that is negative */
    loop_value begin = loop_sub(arena, loop_mul(arena, line, length), columns->from[0]);
    begin = loop_of(arena, loop_let(block, "begin", begin));
    loop_value lane = loop_apply(arena, IR_MAX, begin, zero, NULL);
    lane = loop_of(arena, loop_let(block, "first_lane", lane));
    loop_value from = loop_of(arena, loop_let(block, "from", loop_sub(arena, lane, begin)));
    loop_value count =
        loop_min(arena, loop_sub(arena, length, from), loop_sub(arena, columns->count[0], lane));
    count = loop_of(arena, loop_let(block, "count", count));
    contract_open_vector(code, columns, 0);
    contract_open_digits(code, block, merged, code->merged - 1, line);
    code->values.indices[innermost] = loop_of(arena, code->lane);
    loop_value term;
    struct loop_block *body = each_term(code, block, first, terms, &term);
    loop_value place = contract_column_place(code, panel, term);
    place = loop_add(arena, place, loop_mul(arena, vector, lanes));
    loop_value value = contract_factor(code, true);
    if (!code->contract->group->target->masks && line_step(code, value)) {
        store_line(code, body, value, place, &(struct line){from, count, lane});
        return;
    }
    struct skeleton_lanes along = {code->lane, code->lanes, from, count};
    skeleton_widen(body, &along, &value, 1);
    loop_store(body, code->b, loop_add(arena, place, lane), loop_splat(arena, value, code->lanes))
        ->count = count;
}

static void pack_lines(struct contract_code *code, struct loop_block *block, loop_value panel,
                       loop_value first, loop_value terms)
{
    struct arena *arena = code->arena;
    const struct contract_indices *n = &code->contract->sets[CONTRACT_N];
    struct loop_variable *vector, *line;
    struct contract_columns columns;
    loop_value zero = loop_integer(arena, 0), count = loop_integer(arena, code->vectors);
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "vector", zero, count, NULL, &vector);
    loop_value number = loop_add(arena, loop_mul(arena, panel, count), loop_of(arena, vector));
    contract_open_column(code, body, number, &columns, 0);
    loop_value length = skeleton_size(
        &code->values, code->contract->group->part->indices[n->at[n->count - 1]].extent);
    loop_value last = loop_add(arena, columns.from[0], columns.count[0]);
    last = loop_sub(arena, last, loop_integer(arena, 1));
    loop_value to = loop_apply(arena, IR_FLOORDIV, last, length, NULL);
    struct loop_block *inner = loop_for(
        body, LOOP_SERIAL, "line", loop_apply(arena, IR_FLOORDIV, columns.from[0], length, NULL),
        loop_add(arena, to, loop_integer(arena, 1)), NULL, &line);
    pack_line(code, inner, loop_of(arena, line), &columns, panel, loop_of(arena, vector), first,
              terms);
}

/* ---- columns as they are ---- */

/* `inside`: no guard fails, so none is asked. */
static void pack_vectors(struct contract_code *code, struct loop_block *block, loop_value panel,
                         const struct contract_columns *columns, bool inside, loop_value first,
                         loop_value terms)
{
    struct arena *arena = code->arena;
    loop_value term;
    struct loop_block *body = each_term(code, block, first, terms, &term);
    loop_value place = contract_column_place(code, panel, term);
    for (int i = 0; i < code->vectors; i++) {
        contract_open_vector(code, columns, i);
        struct skeleton_lanes lanes = {code->lane, code->lanes, columns->from[i],
                                       inside ? NULL : columns->count[i]};
        loop_value value = contract_factor(code, true);
        if (inside)
            value = loop_load(arena, value->buffer, value->offset, 1);
        skeleton_widen(body, &lanes, &value, 1);
        loop_store(body, code->b, loop_add(arena, place, loop_integer(arena, i * code->lanes)),
                   loop_splat(arena, value, code->lanes));
    }
}

void contract_pack_columns(struct contract_code *code, struct loop_block *block, loop_value to,
                           loop_value first, loop_value terms)
{
    struct arena *arena = code->arena;
    struct loop_variable *panel;
    struct contract_columns columns;
    if (code->atom) {
        contract_pack_column_words(code, block, to, first, terms);
        return;
    }
    loop_note(block, "columns into panels");
    enum loop_kind kind = code->column_from ? LOOP_SERIAL : contract_shared_loop(code);
    loop_value from = code->column_from ? code->column_from : loop_integer(arena, 0);
    struct loop_block *body = loop_for(block, kind, "panel", from, to, NULL, &panel);
    if (code->along) {
        contract_along_pack(code, body, true, loop_of(arena, panel), first, terms);
        return;
    }
    if (code->merged > 1) {
        pack_lines(code, body, loop_of(arena, panel), first, terms);
        return;
    }
    contract_open_columns(code, body, loop_of(arena, panel), &columns);
    if (terms_are_neighbours(code, &columns, first)) {
        pack_squares(code, body, loop_of(arena, panel), first, terms);
        return;
    }
    loop_value inside = contract_columns_inside(code, &columns);
    if (!inside) {
        pack_vectors(code, body, loop_of(arena, panel), &columns, false, first, terms);
        return;
    }
    struct loop_block *yes = loop_if(body, inside), *no = loop_else(body);
    pack_vectors(code, yes, loop_of(arena, panel), &columns, true, first, terms);
    pack_vectors(code, no, loop_of(arena, panel), &columns, false, first, terms);
}
