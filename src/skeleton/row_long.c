/*
 * Sums too long for one accumulator. An addition rounds at the size of the sum so far, so the last
 * of very many terms are lost. After a piece of the row the accumulators are put aside: added to a
 * total in f64, and begun anew. Pieces are long enough that this takes no time, but having a total
 * does for short rows: kernels planned for those have two versions.
 */
#include "skeleton/row.h"

enum { LONG_TERMS = 1024, PIECE_TERMS = 512 }; /* of one accumulator */

/* The most elements a row can have, or 0. */
static int64_t longest_row(const struct row_lowering *lowering)
{
    int64_t longest = 1;
    for (int i = 0; i < lowering->reduced.count; i++) {
        const struct ir_size *extent = lowering->reduced.at[i].extent;
        if (extent->op != IR_SIZE_CONSTANT || extent->value > INT32_MAX || longest > INT32_MAX)
            return lowering->longest;
        longest *= extent->value > 1 ? extent->value : 1;
    }
    return longest;
}

/* Whether it is a sum that is off when it is long. */
static bool is_rounded(const struct row_stage *stage)
{
    const struct ir_stage *ir = stage->stage;
    return (stage->kind == ROW_REDUCE || stage->kind == ROW_TOTAL) && ir->monoid->kind == IR_SUM &&
           dtype_is_float(ir->nodes.at[ir->writes[0].value].type);
}

loop_value row_is_short(struct row_lowering *lowering, int64_t together, int64_t *most)
{
    struct arena *arena = lowering->arena;
    const struct row_group *row = &lowering->row;
    loop_value length = loop_integer(arena, 1);
    int64_t planned = 1, longest = longest_row(lowering);
    bool rounded = false;
    *most = LONG_TERMS * together;
    for (int i = 0; i < row->stage_count; i++)
        rounded |= row->stages[i].pass > 0 && is_rounded(&row->stages[i]);
    for (int i = 0; i < lowering->reduced.count; i++) {
        const struct nest_chain *chain = &lowering->reduced.at[i];
        planned *= nest_extent(&row->nest, chain);
        length = loop_mul(arena, length, skeleton_size(&lowering->values, chain->extent));
    }
    if (!rounded || planned > *most || (longest > 0 && longest <= *most))
        return NULL;
    return loop_apply(arena, IR_LE, length, loop_integer(arena, *most), NULL);
}

static void long_begin(struct row_lowering *lowering, struct loop_block *block, bool is_long,
                       int64_t together)
{
    lowering->piece = is_long ? PIECE_TERMS * together : 0;
    lowering->since = NULL;
    if (is_long)
        lowering->since = loop_let(block, "since", loop_integer(lowering->arena, 0));
}

void row_long_pass(struct row_lowering *lowering, struct loop_block *block, int pass,
                   int64_t together, bool apart)
{
    int64_t longest = longest_row(lowering);
    bool rounded = false;
    for (int i = 0; i < lowering->row.stage_count; i++)
        rounded |=
            row_in_pass(&lowering->row.stages[i], pass) && is_rounded(&lowering->row.stages[i]);
    lowering->apart = apart;
    long_begin(lowering, block, rounded && (longest == 0 || longest > LONG_TERMS * together),
               together);
}

void row_long_parts(struct row_lowering *lowering, struct loop_block *block,
                    const struct row_stage *stage, int64_t together)
{
    lowering->apart = false;
    long_begin(lowering, block, is_rounded(stage), together);
}

bool row_is_long(const struct row_lowering *lowering, const struct row_stage *stage)
{
    return lowering->piece > 0 && is_rounded(stage);
}

void row_long_open(struct row_lowering *lowering, struct loop_block *block, struct row_stage *stage,
                   int vectors, int lanes)
{
    struct arena *arena = lowering->arena;
    bool wanted = row_is_long(lowering, stage);
    loop_value none = loop_number(arena, 0, DTYPE_F64);
    if (lowering->apart)
        none = loop_splat(arena, none, lanes);
    for (int i = 0; i < ROW_MAX_UNROLL; i++) {
        stage->totals[i] = NULL;
        if (wanted && i < (lowering->apart ? vectors : 1))
            stage->totals[i] = loop_let(block, "total", none);
    }
}

struct loop_block *row_long_check(struct row_lowering *lowering, struct loop_block *block,
                                  loop_value more)
{
    struct arena *arena = lowering->arena;
    if (!lowering->piece)
        return NULL;
    loop_value since = loop_of(arena, lowering->since);
    loop_value enough = loop_integer(arena, lowering->piece);
    struct loop_block *aside = loop_if(block, loop_apply(arena, IR_LE, enough, since, NULL));
    loop_set(aside, lowering->since, loop_integer(arena, 0));
    loop_set(block, lowering->since, loop_add(arena, since, more));
    return aside;
}

struct loop_block *row_long_pieces(struct row_lowering *lowering, struct loop_block *block,
                                   loop_value *from, loop_value *to, struct loop_block **aside)
{
    struct arena *arena = lowering->arena;
    *aside = NULL;
    if (!lowering->piece)
        return block;
    loop_value piece = loop_integer(arena, lowering->piece);
    struct loop_variable *counter;
    block = loop_for(block, LOOP_SERIAL, "piece", *from, *to, piece, &counter);
    *from = loop_of(arena, counter);
    *to = loop_min(arena, loop_add(arena, *from, piece), *to);
    *to = loop_of(arena, loop_let(block, "end", *to));
    *aside = row_long_check(lowering, block, loop_sub(arena, *to, *from));
    return block;
}

void row_long_aside(struct row_lowering *lowering, struct loop_block *block, int vectors)
{
    struct arena *arena = lowering->arena;
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        if (!stage->totals[0])
            continue;
        for (int k = 0; k < (lowering->apart ? vectors : 1); k++) {
            loop_value sum = lowering->apart ? loop_of(arena, stage->sums[k])
                                             : row_sums_join(lowering, stage, vectors);
            loop_set(block, stage->totals[k],
                     loop_add(arena, loop_of(arena, stage->totals[k]),
                              loop_cast(arena, DTYPE_F64, sum)));
        }
        for (int k = 0; k < vectors; k++)
            loop_set(block, stage->sums[k], loop_unit(arena, IR_SUM, stage->sums[k]->type));
    }
}

loop_value row_long_sum(struct row_lowering *lowering, struct row_stage *stage, int vector,
                        loop_value sum)
{
    struct arena *arena = lowering->arena;
    if (!stage->totals[vector])
        return sum;
    loop_value total =
        loop_add(arena, loop_of(arena, stage->totals[vector]), loop_cast(arena, DTYPE_F64, sum));
    stage->totals[vector] = NULL;
    return loop_cast(arena, sum->type.dtype, total);
}
