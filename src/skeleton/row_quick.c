/*
 * Rows of ordinary numbers. A maximum that passes NaN on and tells zeros apart is five instructions
 * of AVX2, one that does neither is one; and there are rows that show at the end what they hold:
 *
 *     m max= x;  s += exp(x - m)    s is not finite where an x is NaN or m is infinite;
 *                                   how far x is below m is noted on the way
 *     (v, i) argmax= (x, d)         whether an x was NaN is noted on the way
 *
 * Their passes are done the quick way, and rows that hold something else are gone over again with
 * care.
 */
#include "skeleton/row.h"

static bool is_apply(loop_value value, enum ir_op op)
{
    return value && value->op == LOOP_APPLY && value->apply == op;
}

static bool is_reduction(const struct row_stage *stage, enum ir_monoid_kind monoid)
{
    const struct ir_stage *ir = stage->stage;
    return stage->kind == ROW_REDUCE && ir->monoid->kind == monoid && ir->predicate == IR_NONE &&
           dtype_is_float(ir->nodes.at[ir->writes[0].value].type);
}

/* Whether all there is in the pass are such reductions. */
static bool pass_is(const struct row_lowering *lowering, int pass, enum ir_monoid_kind monoid)
{
    int found = 0;
    for (int i = 0; i < lowering->row.stage_count; i++) {
        const struct row_stage *stage = &lowering->row.stages[i];
        if (!row_in_pass(stage, pass))
            continue;
        if (!is_reduction(stage, monoid))
            return false;
        found++;
    }
    return found > 0;
}

/* Whether a value is exp(x - m) of what m is the maximum of. */
static bool is_below(struct row_lowering *lowering, struct row_stage *most, loop_value value)
{
    const struct nest_chain *inner = &lowering->reduced.at[lowering->reduced.count - 1];
    row_finite(lowering->arena, inner->variable, &value, 1);
    return is_apply(value, IR_EXP) && is_apply(value->a, IR_SUB) &&
           loop_equal(value->a->a, row_element(lowering, most)) &&
           loop_equal(value->a->b, most->results[0]);
}

/* Whether a sum of the second pass is one of such values. */
static bool is_told(struct row_lowering *lowering, struct row_stage *most)
{
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        if (row_in_pass(stage, 2) && is_below(lowering, most, row_element(lowering, stage)))
            return true;
    }
    return false;
}

bool row_decay_is_whole(const struct row_lowering *lowering)
{
    return lowering->masks && lowering->lanes == 16;
}

loop_value row_quick_decay(struct row_lowering *lowering, loop_value value)
{
    const struct nest_chain *inner = &lowering->reduced.at[lowering->reduced.count - 1];
    if (!lowering->quick || lowering->lanes == 1 || value->type.dtype != DTYPE_F32 ||
        (lowering->masks && !row_decay_is_whole(lowering)))
        return NULL;
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        if (!row_in_pass(stage, 1) || !is_below(lowering, stage, value))
            continue;
        row_finite(lowering->arena, inner->variable, &value, 1);
        return loop_sub(lowering->arena, value->a->b, value->a->a);
    }
    return NULL;
}

/* The same for all maxima: each is some variable while this is looked at. */
static bool all_told(struct row_lowering *lowering)
{
    struct row_group *row = &lowering->row;
    bool told = true;
    for (int i = 0; i < row->stage_count; i++) {
        struct row_stage *stage = &row->stages[i];
        if (!row_in_pass(stage, 1))
            continue;
        struct loop_variable *some = arena_new(lowering->arena, struct loop_variable);
        enum dtype dtype = stage->stage->nodes.at[stage->stage->writes[0].value].type;
        *some = (struct loop_variable){"some", LOOP_LOCAL, {dtype, 1}, 0};
        stage->results[0] = loop_of(lowering->arena, some);
    }
    nest_bind_all(&row->nest, &lowering->values, &lowering->reduced);
    lowering->values.memo = NULL;
    for (int i = 0; i < row->stage_count; i++) {
        if (row_in_pass(&row->stages[i], 1))
            told &= is_told(lowering, &row->stages[i]);
    }
    lowering->values.memo = NULL;
    return told;
}

int row_quick_passes(struct row_lowering *lowering)
{
    if (pass_is(lowering, 1, IR_ARGMAX) || pass_is(lowering, 1, IR_ARGMIN))
        return 1;
    if (pass_is(lowering, 1, IR_MAXIMUM) && pass_is(lowering, 2, IR_SUM) && all_told(lowering))
        return 2;
    return 0;
}

/* Whether the result can be what care would have found. */
static loop_value is_ordinary(struct arena *arena, const struct row_stage *stage)
{
    loop_value result = stage->results[0], zero = loop_number(arena, 0, result->type.dtype);
    if (row_is_indexed(stage)) {
        loop_value odd = loop_fold(arena, IR_ANY, loop_of(arena, stage->odd));
        loop_value found =
            loop_apply(arena, IR_LE, loop_integer(arena, 0), stage->result_places[0], NULL);
        return loop_apply(arena, IR_AND, loop_apply(arena, IR_NOT, odd, NULL, NULL), found, NULL);
    }
    if (stage->stage->monoid->kind == IR_SUM) {
        loop_value finite = loop_apply(arena, IR_EQ, loop_sub(arena, result, result), zero, NULL);
        if (!stage->far)
            return finite;
        loop_value near = loop_apply(arena, IR_LE, loop_of(arena, stage->far),
                                     loop_number(arena, LOOP_DECAY_MOST, DTYPE_F32), NULL);
        return loop_apply(arena, IR_AND, finite, loop_fold(arena, IR_ALL, near), NULL);
    }
    return loop_apply(arena, IR_NE, result, zero, NULL);
}

/* The passes with care; what they find takes the place of what was found before. */
static void passes_again(struct row_lowering *lowering, struct loop_block *block, int passes)
{
    struct row_group *row = &lowering->row;
    struct row_stage *before = arena_array(lowering->arena, ROW_MAX_STAGES, sizeof *before);
    loop_value kept_value = lowering->kept_value;
    bool brief = lowering->brief;
    int unroll = lowering->unroll, rows_ahead = lowering->rows_ahead;
    loop_note(block, "NaN, infinite or zero: again, with care");
    for (int i = 0; i < row->stage_count; i++)
        before[i] = row->stages[i];
    lowering->kept_value = NULL;
    lowering->rows_ahead = 0;
    lowering->brief = true;
    lowering->unroll = 1;
    for (int pass = 1; pass <= passes; pass++)
        row_pass(lowering, block, pass);
    for (int i = 0; i < row->stage_count; i++) {
        struct row_stage *stage = &row->stages[i];
        if (stage->kind != ROW_REDUCE || stage->pass > passes)
            continue;
        loop_set(block, before[i].found[0], stage->results[0]);
        if (row_is_indexed(stage))
            loop_set(block, before[i].found[1], stage->result_places[0]);
        *stage = before[i];
    }
    lowering->unroll = unroll;
    lowering->brief = brief;
    lowering->rows_ahead = rows_ahead;
    lowering->kept_value = kept_value;
}

void row_quick(struct row_lowering *lowering, struct loop_block *block, int passes)
{
    struct arena *arena = lowering->arena;
    lowering->quick = true;
    for (int pass = 1; pass <= passes; pass++)
        row_pass(lowering, block, pass);
    lowering->quick = false;
    loop_value ordinary = loop_bool(arena, true);
    for (int i = 0; i < lowering->row.stage_count; i++) {
        const struct row_stage *stage = &lowering->row.stages[i];
        if (stage->kind == ROW_REDUCE && stage->pass <= passes)
            ordinary = loop_apply(arena, IR_AND, ordinary, is_ordinary(arena, stage), NULL);
    }
    passes_again(lowering, loop_if(block, loop_apply(arena, IR_NOT, ordinary, NULL, NULL)), passes);
}
