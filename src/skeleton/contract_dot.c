/*
 * contract, dot products: a tile of sums in registers from words of small operands.
 *
 * Factors in parts are gone over twice, first all products but the one of the leading parts: those
 * are some hundred times smaller, so what rounding does to their sum does not show.
 */
#include "skeleton/contract.h"

struct dots { /* while a tile is written */
    const struct contract_tile *at;
    const struct loop_buffer *sums;
    loop_value term;
};

static loop_value first_term(struct contract_code *code, const struct dots *dots)
{
    return code->whole_rows ? loop_add(code->arena, dots->at->first, dots->term) : dots->term;
}

/* The products of part `part` of the rows with parts `from` to `to` of the columns. */
static void row_products(struct contract_code *code, struct loop_block *block,
                         const struct dots *dots, int part,
                         loop_value (*columns)[CONTRACT_MAX_VECTORS], int from, int to)
{
    struct arena *arena = code->arena;
    enum loop_words words = code->atom->word == 2 ? LOOP_BF16_BF16 : LOOP_U8_I8;
    bool swap = words == LOOP_U8_I8 && code->column_dtype == DTYPE_U8;
    for (int i = 0; i < code->rows; i++) {
        loop_value place = contract_row_word(code, dots->at->row_panel, part,
                                             loop_integer(arena, i), first_term(code, dots));
        loop_value row =
            loop_of(arena, loop_let(block, "row", loop_words(arena, code->a, place, 1)));
        row = loop_splat(arena, row, code->lanes);
        for (int p = from; p <= to; p++) {
            for (int j = 0; j < code->vectors; j++) {
                loop_value number = loop_integer(arena, i * code->vectors + j);
                loop_value sum = loop_load(arena, dots->sums, number, code->lanes);
                sum = loop_dot(arena, words, swap ? columns[p][j] : row, swap ? row : columns[p][j],
                               sum);
                loop_store(block, dots->sums, number, sum);
            }
        }
    }
}

/* All terms, for products of parts whose numbers add up to between `least` and `most`. */
static void go_over(struct contract_code *code, struct loop_block *block, struct dots *dots,
                    int least, int most)
{
    struct arena *arena = code->arena;
    struct loop_variable *term;
    loop_value columns[3][CONTRACT_MAX_VECTORS];
    loop_value step = loop_integer(arena, code->atom->word);
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "term", loop_integer(arena, 0), dots->at->terms, step, &term);
    dots->term = loop_of(arena, term);
    for (int p = 0; p <= most; p++) {
        for (int j = 0; j < code->vectors; j++) {
            loop_value place = contract_column_word(code, dots->at->column_panel, p, dots->term, j);
            loop_value value = loop_words(arena, code->b, place, code->lanes);
            columns[p][j] = loop_of(arena, loop_hold(body, "column", value));
        }
    }
    for (int part = most; part >= 0; part--)
        row_products(code, body, dots, part, columns, least > part ? least - part : 0, most - part);
}

void contract_widen_sums(struct contract_code *code, struct loop_block *block,
                         const struct contract_tile *tile, const struct loop_buffer *dots,
                         const struct loop_buffer *sums)
{
    struct arena *arena = code->arena;
    loop_value back = loop_integer(arena, code->row_dtype == DTYPE_U8 ? -128 : 128);
    for (int i = 0; i < code->rows * code->vectors; i++) {
        loop_value place = loop_integer(arena, i);
        loop_value sum = loop_load(arena, dots, place, code->lanes);
        sum = loop_cast(arena, DTYPE_I64, sum);
        if (code->column_sums) {
            loop_value of = contract_column_sum(code, tile->column_panel, i % code->vectors);
            sum = loop_add(arena, sum, loop_mul(arena, of, back));
        }
        loop_store(block, sums, place, sum);
    }
}

void contract_word_terms(struct contract_code *code, struct loop_block *block,
                         const struct contract_tile *tile, const struct loop_buffer *sums)
{
    struct arena *arena = code->arena;
    struct dots dots = {.at = tile, .sums = sums};
    bool bytes = code->contract->factors == CONTRACT_BYTES;
    if (code->atom->rows > 1) {
        contract_tile_terms(code, block, tile, sums);
        return;
    }
    if (bytes) {
        int count = code->rows * code->vectors;
        dots.sums = loop_stack(block, "dots", DTYPE_I32, code->lanes, count);
        loop_value zero = loop_narrow(arena, loop_integer(arena, 0));
        for (int i = 0; i < count; i++)
            loop_store(block, dots.sums, loop_integer(arena, i),
                       loop_splat(arena, zero, code->lanes));
    }
    if (code->parts > 1)
        go_over(code, block, &dots, 1, code->parts - 1);
    go_over(code, block, &dots, 0, 0);
    if (bytes)
        contract_widen_sums(code, block, tile, dots.sums, sums);
}
