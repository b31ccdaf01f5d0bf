/*
 * contract, who does what: the tiles shared out among threads.
 *
 * With panels that all have in common (contract_lower_tiles) threads take shares of the rows and
 * columns of each block of terms. Else each has a share of rows, columns and terms of the whole
 * product and packs what it reads itself (contract_lower_shares): nobody waits for anybody until
 * the end. Shares of the terms leave sums behind that are added up then.
 */
#include "skeleton/contract.h"

struct range {
    loop_value from, to;
};

static loop_value ceil_by(struct arena *arena, loop_value a, loop_value by)
{
    a = loop_add(arena, a, loop_sub(arena, by, loop_integer(arena, 1)));
    return loop_apply(arena, IR_FLOORDIV, a, by, NULL);
}

static loop_value named(struct contract_code *code, struct loop_block *block, const char *name,
                        loop_value value)
{
    return loop_of(code->arena, loop_let(block, name, value));
}

/* A loop over shares; none where there is but one, which has number NULL. */
static struct loop_block *share_loop(struct contract_code *code, struct loop_block *block,
                                     const char *name, const char *key, int64_t split,
                                     loop_value *number)
{
    struct arena *arena = code->arena;
    struct loop_variable *share;
    *number = NULL;
    if (split <= 1)
        return block;
    struct loop_block *body = loop_for(block, LOOP_PARALLEL, name, loop_integer(arena, 0),
                                       loop_integer(arena, split), NULL, &share);
    loop_note_loop(block, arena_printf(arena, "%s %lld", key, (long long)split));
    *number = loop_of(arena, share);
    return body;
}

/* The panels of a share: as many for all, but for one. */
static struct range panels_of(struct contract_code *code, struct loop_block *block,
                              const char *const names[2], loop_value panels, int64_t split,
                              loop_value share)
{
    struct arena *arena = code->arena;
    struct range range = {loop_integer(arena, 0), panels};
    if (!share)
        return range;
    loop_value count = loop_integer(arena, split);
    loop_value next = loop_add(arena, share, loop_integer(arena, 1));
    range.from = loop_apply(arena, IR_FLOORDIV, loop_mul(arena, panels, share), count, NULL);
    range.from = named(code, block, names[0], range.from);
    range.to = loop_apply(arena, IR_FLOORDIV, loop_mul(arena, panels, next), count, NULL);
    range.to = named(code, block, names[1], range.to);
    return range;
}

/* Whole vectors of terms, so that loads of shares do not cut them. */
static struct range terms_of(struct contract_code *code, struct loop_block *block, loop_value share)
{
    struct arena *arena = code->arena;
    struct range range = {loop_integer(arena, 0), code->k};
    if (!share)
        return range;
    loop_value whole = loop_integer(arena, code->split_k * code->lanes);
    loop_value lanes = loop_integer(arena, code->lanes);
    loop_value step = loop_mul(arena, ceil_by(arena, code->k, whole), lanes);
    step = named(code, block, "share_terms", step);
    range.from = loop_min(arena, loop_mul(arena, share, step), code->k);
    range.from = named(code, block, "share_from", range.from);
    range.to = loop_min(arena, loop_add(arena, range.from, step), code->k);
    range.to = named(code, block, "share_to", range.to);
    return range;
}

/* Panels of rows in a block: at most what was decided, and all blocks alike. */
static loop_value row_step(struct contract_code *code, struct loop_block *block, struct range rows)
{
    struct arena *arena = code->arena;
    int64_t most = code->block_m / code->rows > 0 ? code->block_m / code->rows : 1;
    loop_value one = loop_integer(arena, 1), count = loop_sub(arena, rows.to, rows.from);
    loop_value blocks = ceil_by(arena, count, loop_integer(arena, most));
    blocks = loop_apply(arena, IR_MAX, blocks, one, NULL);
    loop_value step = loop_apply(arena, IR_MAX, ceil_by(arena, count, blocks), one, NULL);
    return named(code, block, "row_block", step);
}

static int64_t panels_wide(const struct contract_code *code)
{
    int64_t width = contract_column_width(code);
    return code->block_n / width > 0 ? code->block_n / width : 1;
}

/* Of the terms so many that the columns stay in the first-level cache for all rows of the block. */
static struct loop_block *pieces_loop(struct contract_code *code, struct loop_block *block,
                                      struct contract_tile *tile)
{
    struct arena *arena = code->arena;
    struct loop_variable *from;
    loop_value step = loop_integer(arena, code->piece);
    loop_value end = loop_apply(arena, IR_MAX, tile->terms, loop_integer(arena, 1), NULL);
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "piece", loop_integer(arena, 0), end, step, &from);
    loop_note_loop(block, "columns of so many terms stay in the first-level cache");
    tile->piece_from = loop_of(arena, from);
    loop_value to = loop_min(arena, loop_add(arena, tile->piece_from, step), tile->terms);
    tile->piece_to = named(code, body, "piece_to", to);
    return body;
}

/* All tiles of these panels. */
static void tiles_loop(struct contract_code *code, struct loop_block *block, struct range rows,
                       struct range columns, loop_value first, loop_value terms)
{
    struct arena *arena = code->arena;
    struct loop_variable *row, *column;
    struct loop_block *over =
        loop_for(block, LOOP_SERIAL, "column_panel", columns.from, columns.to, NULL, &column);
    struct contract_columns places;
    if (!code->along)
        contract_open_columns(code, over, loop_of(arena, column), &places);
    struct contract_tile tile = {.first = first, .terms = terms};
    if (code->piece)
        over = pieces_loop(code, over, &tile);
    struct loop_block *tiles =
        loop_for(over, LOOP_SERIAL, "row_panel", rows.from, rows.to, NULL, &row);
    loop_note_loop(over, arena_printf(arena, "tile.m %d tile.n %d", code->rows,
                                      (int)contract_column_width(code)));
    tile.row_panel = loop_of(arena, row);
    tile.column_panel = loop_of(arena, column);
    tile.columns = code->along ? NULL : &places;
    contract_tile(code, tiles, &tile);
}

/* A loop over blocks of a range; the block in `part`. */
static struct loop_block *blocks_loop(struct contract_code *code, struct loop_block *block,
                                      const char *const names[2], const char *note,
                                      struct range all, loop_value step, struct range *part)
{
    struct arena *arena = code->arena;
    struct loop_variable *from;
    struct loop_block *body = loop_for(block, LOOP_SERIAL, names[0], all.from, all.to, step, &from);
    loop_note_loop(block, note);
    part->from = loop_of(arena, from);
    loop_value to = loop_min(arena, loop_add(arena, part->from, step), all.to);
    part->to = named(code, body, names[1], to);
    return body;
}

static const char *const row_names[] = {"row_first", "row_last"};
static const char *const row_block_names[] = {"rows_from", "rows_to"};
static const char *const column_names[] = {"column_first", "column_last"};
static const char *const column_block_names[] = {"columns_from", "columns_to"};

/* Of a share of rows and columns, either of which may be all; NULL: there is one. */
static loop_value share_number(struct arena *arena, loop_value row, loop_value column,
                               int64_t columns)
{
    if (!row || !column)
        return row ? row : column;
    return loop_add(arena, loop_mul(arena, row, loop_integer(arena, columns)), column);
}

void contract_lower_tiles(struct contract_code *code, struct loop_block *block, loop_value first,
                          loop_value terms)
{
    struct arena *arena = code->arena;
    bool alone = code->slices || code->serial;
    loop_value row_share = NULL, column_share = NULL;
    struct loop_block *body = block;
    if (!alone) {
        body = share_loop(code, body, "row_share", "split.m", code->split_m, &row_share);
        body = share_loop(code, body, "column_share", "split.n", code->split_n, &column_share);
    }
    struct range rows =
        panels_of(code, body, row_names, code->row_panels, code->split_m, row_share);
    struct range columns =
        panels_of(code, body, column_names, code->column_panels, code->split_n, column_share);
    loop_value step = row_step(code, body, rows);
    body = blocks_loop(code, body, row_block_names,
                       arena_printf(arena, "block.m %lld", (long long)code->block_m), rows, step,
                       &rows);
    if (code->rows_by_block) {
        code->share = share_number(arena, row_share, column_share, code->split_n);
        code->row_from = rows.from;
        code->row_to = rows.to;
        contract_pack_rows(code, body, first, terms);
    }
    body = blocks_loop(code, body, column_block_names,
                       arena_printf(arena, "block.n %lld", (long long)code->block_n), columns,
                       loop_integer(arena, panels_wide(code)), &columns);
    contract_tiles_begin(code, body);
    tiles_loop(code, body, rows, columns, first, terms);
    contract_tiles_end(code, body);
}

struct loop_block *contract_terms_loop(struct contract_code *code, struct loop_block *block,
                                       loop_value *first, loop_value *terms)
{
    struct arena *arena = code->arena;
    struct loop_variable *from;
    loop_value begin = code->terms_from ? code->terms_from : loop_integer(arena, 0);
    loop_value end = code->terms_to ? code->terms_to : code->k;
    loop_value step = loop_integer(arena, code->block_k);
    /* a sum of no terms is still written */
    loop_value least = loop_add(arena, begin, loop_integer(arena, 1));
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "terms_from", begin,
                                       loop_apply(arena, IR_MAX, end, least, NULL), step, &from);
    loop_note_loop(block, arena_printf(arena, "block.k %lld", (long long)code->block_k));
    *first = loop_of(arena, from);
    *terms = loop_min(arena, step, loop_sub(arena, end, *first));
    *terms = loop_of(arena, loop_let(body, "terms", *terms));
    return body;
}

/* One share: columns, terms, rows, each in blocks, packed where the block is chosen. */
static void share_body(struct contract_code *code, struct loop_block *block, struct range rows,
                       struct range columns)
{
    struct arena *arena = code->arena;
    loop_value first, terms, step = row_step(code, block, rows);
    struct loop_block *body =
        blocks_loop(code, block, column_block_names,
                    arena_printf(arena, "block.n %lld", (long long)code->block_n), columns,
                    loop_integer(arena, panels_wide(code)), &columns);
    body = contract_terms_loop(code, body, &first, &terms);
    code->column_from = columns.from;
    if (code->pack_b)
        contract_pack_columns(code, body, columns.to, first, terms);
    body = blocks_loop(code, body, row_block_names,
                       arena_printf(arena, "block.m %lld", (long long)code->block_m), rows, step,
                       &rows);
    code->row_from = rows.from;
    code->row_to = rows.to;
    if (code->pack_a)
        contract_pack_rows(code, body, first, terms);
    tiles_loop(code, body, rows, columns, first, terms);
}

/* What shares of the terms left behind, added up and finished. */
static void share_join(struct contract_code *code, struct loop_block *block)
{
    struct arena *arena = code->arena;
    struct loop_variable *row, *column;
    loop_value zero = loop_integer(arena, 0);
    loop_note(block, "sums of all shares");
    struct loop_block *over =
        loop_for(block, LOOP_PARALLEL, "row_panel", zero, code->row_panels, NULL, &row);
    struct loop_block *body =
        loop_for(over, LOOP_PARALLEL, "column_panel", zero, code->column_panels, NULL, &column);
    struct contract_tile tile = {.row_panel = loop_of(arena, row),
                                 .column_panel = loop_of(arena, column),
                                 .first = zero,
                                 .terms = zero};
    contract_tile_join(code, body, &tile);
}

void contract_lower_shares(struct contract_code *code, struct loop_block *block)
{
    struct arena *arena = code->arena;
    loop_value shares[3];
    const int64_t splits[] = {code->split_m, code->split_n, code->split_k};
    struct loop_block *body = block;
    body = share_loop(code, body, "row_share", "split.m", code->split_m, &shares[0]);
    body = share_loop(code, body, "column_share", "split.n", code->split_n, &shares[1]);
    body = share_loop(code, body, "term_share", "split.k", code->split_k, &shares[2]);
    for (int i = 0; i < 3; i++) {
        if (!shares[i])
            continue;
        loop_value count = loop_integer(arena, splits[i]);
        code->share = code->share ? loop_add(arena, loop_mul(arena, code->share, count), shares[i])
                                  : shares[i];
    }
    if (code->share)
        code->share = named(code, body, "share", code->share);
    struct range rows =
        panels_of(code, body, row_names, code->row_panels, code->split_m, shares[0]);
    struct range columns =
        panels_of(code, body, column_names, code->column_panels, code->split_n, shares[1]);
    struct range terms = terms_of(code, body, shares[2]);
    code->terms_from = terms.from;
    code->terms_to = terms.to;
    code->part = shares[2];
    share_body(code, body, rows, columns);
    code->part = NULL;
    if (code->split_k > 1)
        share_join(code, block);
}
