/*
 * contract, tiles: sums of products of words by tile registers of the machine (AMX).
 *
 * Four tiles of sums, two by two, so that each tile of rows or columns that is loaded is multiplied
 * twice. Rows and columns are packed as for dot products (contract_words.c); a tile of rows is 16
 * rows of a panel, a tile of columns 16 words of each of 16 columns; both are one piece of memory.
 *
 * Two loads from the second-level cache take longer than the product they are for. So the terms are
 * gone over in pieces: a panel of columns of so many terms stays in the first-level cache while all
 * rows of the block pass by, which are loaded so that they do not stay there. Sums go on from piece
 * to piece, and wait in memory of their own meanwhile. Factors in parts have two or three products
 * for each load, and no pieces.
 */
#include "skeleton/contract.h"

enum { TILE = 16, TILE_BYTES = 64, FIRST_ROWS = 4, FIRST_COLUMNS = 6 };

struct tiles { /* while a tile of the plan is written */
    const struct contract_tile *at;
    int down, across; /* tiles of sums */
    loop_value term;
    int row_part, column_part; /* that are loaded; -1: none */
};

int64_t contract_tile_piece(const struct contract_code *code)
{
    if (!code->atom || !code->rows_by_block || code->parts > 1)
        return 0;
    int64_t bytes = (int64_t)code->vectors * TILE * (4 / code->atom->word);
    int64_t piece = code->contract->group->target->l1 * 2 / 3 / bytes;
    piece = piece / code->atom->terms * code->atom->terms;
    if (piece < code->atom->terms)
        piece = code->atom->terms;
    return piece < code->block_k ? piece : 0;
}

loop_value contract_tile_last(struct contract_code *code, const struct contract_tile *tile)
{
    if (!tile->piece_from)
        return NULL;
    return loop_apply(code->arena, IR_LE, tile->terms, tile->piece_to, NULL);
}

void contract_tiles_begin(struct contract_code *code, struct loop_block *block)
{
    if (code->atom && code->atom->rows > 1)
        loop_tile(block, LOOP_TILE_BEGIN);
}

void contract_tiles_end(struct contract_code *code, struct loop_block *block)
{
    if (code->atom && code->atom->rows > 1)
        loop_tile(block, LOOP_TILE_END);
}

static enum loop_tile_words tile_words(const struct contract_code *code)
{
    if (code->atom->word == 2)
        return LOOP_TILE_BF16;
    if (code->row_dtype == DTYPE_I8)
        return code->column_dtype == DTYPE_I8 ? LOOP_TILE_I8_I8 : LOOP_TILE_I8_U8;
    return code->column_dtype == DTYPE_I8 ? LOOP_TILE_U8_I8 : LOOP_TILE_U8_U8;
}

static void load_rows(struct contract_code *code, struct loop_block *block, struct tiles *tiles,
                      int part)
{
    struct arena *arena = code->arena;
    loop_value term =
        code->whole_rows ? loop_add(arena, tiles->at->first, tiles->term) : tiles->term;
    for (int i = 0; i < tiles->down && tiles->row_part != part; i++) {
        loop_value row = loop_integer(arena, (int64_t)i * TILE);
        loop_tile_move(block, LOOP_TILE_LOAD_ONCE, FIRST_ROWS + i, code->a,
                       contract_row_tile(code, tiles->at->row_panel, part, row, term),
                       loop_integer(arena, TILE_BYTES));
    }
    tiles->row_part = part;
}

static void load_columns(struct contract_code *code, struct loop_block *block, struct tiles *tiles,
                         int part)
{
    for (int j = 0; j < tiles->across && tiles->column_part != part; j++)
        loop_tile_move(block, LOOP_TILE_LOAD, FIRST_COLUMNS + j, code->b,
                       contract_column_word(code, tiles->at->column_panel, part, tiles->term, j),
                       loop_integer(code->arena, TILE_BYTES));
    tiles->column_part = part;
}

/*
 * The rows of a block stay in the second-level cache, the columns come from beyond it, a panel
 * after the other: while one is multiplied, every panel of rows fetches its share of the next, line
 * after line. Parts do without: they are multiplied several times once they are there.
 */
static void fetch_columns(struct contract_code *code, struct loop_block *block,
                          const struct tiles *tiles)
{
    struct arena *arena = code->arena;
    int64_t panels = code->block_m / code->rows > 0 ? code->block_m / code->rows : 1;
    int64_t lines = ((int64_t)tiles->across * TILE + panels - 1) / panels; /* for each step */
    loop_value next = loop_add(arena, tiles->at->column_panel, loop_integer(arena, 1));
    loop_value terms = loop_sub(arena, tiles->at->row_panel, code->row_from), part = tiles->term;
    if (code->piece) { /* that of the pieces before, then of the panels before */
        loop_value before = loop_mul(arena, tiles->at->piece_from, loop_integer(arena, panels));
        part = loop_add(arena, before, loop_sub(arena, tiles->term, tiles->at->piece_from));
        terms = loop_mul(arena, terms, loop_integer(arena, code->piece));
    } else {
        terms = loop_mul(arena, terms, tiles->at->terms);
    }
    terms = loop_add(arena, terms, part);
    loop_value place = contract_column_word(code, next, 0, loop_integer(arena, 0), 0);
    place = loop_add(arena, place, loop_mul(arena, terms, loop_integer(arena, lines)));
    for (int64_t i = 0; i < lines; i++)
        loop_prefetch_far(block, code->b,
                          loop_add(arena, place, loop_integer(arena, i * TILE * code->atom->word)));
}

/* The products of two parts. */
static void multiply(struct contract_code *code, struct loop_block *block, struct tiles *tiles,
                     int row, int column)
{
    load_rows(code, block, tiles, row);
    load_columns(code, block, tiles, column);
    for (int i = 0; i < tiles->down * tiles->across; i++)
        loop_tile_dot(block, tile_words(code), i, FIRST_ROWS + i / tiles->across,
                      FIRST_COLUMNS + i % tiles->across);
}

/* All terms of the piece. Of parts, those products whose numbers add up to less than there are
 * parts: the leading ones last, the others in an order in which neighbours have a factor in common.
 */
static void go_over(struct contract_code *code, struct loop_block *block, struct tiles *tiles)
{
    struct arena *arena = code->arena;
    struct loop_variable *term;
    loop_value zero = loop_integer(arena, 0);
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "term", code->piece ? tiles->at->piece_from : zero,
                 code->piece ? tiles->at->piece_to : tiles->at->terms,
                 loop_integer(arena, code->atom->terms), &term);
    tiles->term = loop_of(arena, term);
    tiles->row_part = tiles->column_part = -1;
    if (code->row_from && code->parts == 1)
        fetch_columns(code, body, tiles);
    for (int row = 0; row < code->parts; row++) {
        for (int column = code->parts - 1 - row; column >= 0 && row + column > 0; column--)
            multiply(code, body, tiles, row, column);
    }
    multiply(code, body, tiles, 0, 0);
}

/* The sums of the pieces before, or those of this one, where they wait. */
static void move_aside(struct contract_code *code, struct loop_block *block,
                       const struct tiles *tiles, enum loop_tile action)
{
    struct arena *arena = code->arena;
    int count = tiles->down * tiles->across;
    loop_value at = contract_row_number(code, tiles->at->row_panel);
    at = loop_mul(arena, at, loop_integer(arena, (int64_t)count * TILE * TILE));
    for (int i = 0; i < count; i++)
        loop_tile_move(block, action, i, code->aside,
                       loop_add(arena, at, loop_integer(arena, (int64_t)i * TILE * TILE)),
                       loop_integer(arena, TILE_BYTES));
}

/* From nothing, or from where the pieces before ended. */
static void begin_sums(struct contract_code *code, struct loop_block *block,
                       const struct tiles *tiles)
{
    struct loop_block *first = block;
    if (code->piece) {
        loop_value zero = loop_integer(code->arena, 0);
        move_aside(code, loop_if(block, loop_less(code->arena, zero, tiles->at->piece_from)), tiles,
                   LOOP_TILE_LOAD);
        first = loop_else(block);
    }
    for (int i = 0; i < tiles->down * tiles->across; i++)
        loop_tile_zero(first, i);
}

void contract_tile_terms(struct contract_code *code, struct loop_block *block,
                         const struct contract_tile *tile, const struct loop_buffer *sums)
{
    struct arena *arena = code->arena;
    struct tiles tiles = {.at = tile, .down = code->rows / TILE, .across = code->vectors};
    bool bytes = code->contract->factors == CONTRACT_BYTES;
    loop_value last = contract_tile_last(code, tile);
    begin_sums(code, block, &tiles);
    go_over(code, block, &tiles);
    if (last) {
        struct loop_block *ended = loop_if(block, last);
        move_aside(code, loop_else(block), &tiles, LOOP_TILE_STORE);
        block = ended;
    }
    const struct loop_buffer *dots = sums;
    if (bytes)
        dots = loop_stack(block, "dots", DTYPE_I32, code->lanes, code->rows * code->vectors);
    for (int i = 0; i < tiles.down * tiles.across; i++) {
        int64_t place = (int64_t)(i / tiles.across) * TILE * code->vectors + i % tiles.across;
        loop_tile_move(block, LOOP_TILE_STORE, i, dots, loop_integer(arena, place),
                       loop_integer(arena, (int64_t)code->vectors * TILE_BYTES));
    }
    if (bytes)
        contract_widen_sums(code, block, tile, dots, sums);
}
