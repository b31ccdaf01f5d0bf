/*
 * Accumulators of the row skeleton: several vectors per reduction, so that one addition need not
 * wait for the one before, and so that sums stay short. Of two components (argmax) each lane keeps
 * its best value and where it was; the lowest place of the best value is found at the end.
 */
#include "skeleton/row.h"

#include <math.h>

bool row_is_indexed(const struct row_stage *stage)
{
    return stage->stage->monoid->width == 2;
}

static enum ir_monoid_kind value_monoid(const struct row_stage *stage)
{
    switch (stage->stage->monoid->kind) {
    case IR_ARGMAX: return IR_MAXIMUM;
    case IR_ARGMIN: return IR_MINIMUM;
    default: return stage->stage->monoid->kind;
    }
}

static enum dtype value_type(const struct row_stage *stage)
{
    return stage->stage->nodes.at[stage->stage->writes[0].value].type;
}

void row_sums_open(struct row_lowering *lowering, struct loop_block *block, struct row_stage *stage,
                   int vectors, int lanes)
{
    struct arena *arena = lowering->arena;
    const struct ir_part *part = lowering->group->part;
    const char *name = part->tensors[stage->stage->writes[0].tensor].name;
    struct loop_type type = {value_type(stage), lanes};
    for (int i = 0; i < vectors; i++) {
        stage->sums[i] = loop_let(block, name, loop_unit(arena, value_monoid(stage), type));
        if (row_is_indexed(stage))
            stage->places[i] =
                loop_let(block, part->tensors[stage->stage->writes[1].tensor].name,
                         loop_splat(arena, loop_narrow(arena, loop_integer(arena, -1)), lanes));
    }
    row_long_open(lowering, block, stage, vectors, lanes);
    stage->far = NULL;
    if (lowering->quick && value_monoid(stage) == IR_SUM &&
        type.dtype == DTYPE_F32) /* pass_collect knows whether it is needed */
        stage->far =
            loop_let(block, "far", loop_splat(arena, loop_number(arena, 0, DTYPE_F32), lanes));
    if (lowering->quick && row_is_indexed(stage))
        stage->odd = loop_let(block, "odd", loop_splat(arena, loop_bool(arena, false), lanes));
}

/* Whether the new value takes the old one's place: it is the first, better, or the first NaN. */
static loop_value is_better(struct arena *arena, const struct row_stage *stage, loop_value old,
                            loop_value place, loop_value value)
{
    bool most = stage->stage->monoid->kind == IR_ARGMAX;
    loop_value first = loop_less(arena, place, loop_narrow(arena, loop_integer(arena, 0)));
    loop_value not_better = most ? loop_apply(arena, IR_LE, value, old, NULL)
                                 : loop_apply(arena, IR_LE, old, value, NULL);
    loop_value better = loop_apply(arena, IR_NOT, not_better, NULL, NULL);
    if (dtype_is_float(value->type.dtype))
        better = loop_apply(arena, IR_AND, better, loop_apply(arena, IR_EQ, old, old, NULL), NULL);
    return loop_apply(arena, IR_OR, first, better, NULL);
}

/* Whether the new value is beyond the old one, both taken to be numbers. */
static loop_value is_beyond(struct arena *arena, const struct row_stage *stage, loop_value old,
                            loop_value value)
{
    return value_monoid(stage) == IR_MAXIMUM ? loop_less(arena, old, value)
                                             : loop_less(arena, value, old);
}

/* Two accumulators, or one and what comes to it. */
static loop_value sums_pair(struct row_lowering *lowering, const struct row_stage *stage,
                            loop_value old, loop_value value)
{
    struct arena *arena = lowering->arena;
    enum ir_monoid_kind monoid = value_monoid(stage);
    if (!lowering->quick || monoid == IR_SUM)
        return loop_combine(arena, monoid, old, value);
    value = loop_splat(arena, value, old->type.lanes);
    return loop_select(arena, is_beyond(arena, stage, old, value), value, old);
}

void row_sums_add(struct row_lowering *lowering, struct loop_block *block, struct row_stage *stage,
                  int vector, const loop_value *values, loop_value live)
{
    struct arena *arena = lowering->arena;
    loop_value old = loop_of(arena, stage->sums[vector]);
    if (!row_is_indexed(stage)) {
        loop_value sum = sums_pair(lowering, stage, old, values[0]);
        if (live)
            sum = loop_select(arena, live, sum, old);
        loop_set(block, stage->sums[vector], sum);
        return;
    }
    loop_value value = loop_splat(arena, values[0], old->type.lanes);
    value = loop_of(arena, loop_let(block, "value", value));
    loop_value place = loop_of(arena, stage->places[vector]);
    loop_value better = lowering->quick ? is_beyond(arena, stage, old, value)
                                        : is_better(arena, stage, old, place, value);
    if (lowering->quick)
        loop_set(block, stage->odd,
                 loop_apply(arena, IR_OR, loop_of(arena, stage->odd),
                            loop_apply(arena, IR_NE, value, value, NULL), NULL));
    if (live)
        better = loop_apply(arena, IR_AND, better, live, NULL);
    better = loop_of(arena, loop_let(block, "better", better));
    loop_set(block, stage->places[vector],
             loop_select(arena, better, loop_splat(arena, values[1], old->type.lanes), place));
    loop_set(block, stage->sums[vector], loop_select(arena, better, value, old));
}

/* Lanes that hold the best value: equal to it, or NaN as it is. */
static loop_value is_best(struct arena *arena, loop_value value, loop_value best)
{
    loop_value equal = loop_apply(arena, IR_EQ, value, best, NULL);
    if (!dtype_is_float(value->type.dtype))
        return equal;
    loop_value nan = loop_apply(arena, IR_NE, value, value, NULL);
    return loop_apply(arena, IR_OR, equal, nan, NULL);
}

loop_value row_place(struct row_lowering *lowering, const struct row_stage *stage, int vector)
{
    return loop_cast(lowering->arena, DTYPE_I64, loop_of(lowering->arena, stage->places[vector]));
}

/* The vector of each lane's value where that is the best one; others are in no vector. */
static loop_value best_number(struct arena *arena, const struct row_stage *stage, int vector,
                              loop_value best, loop_value nowhere)
{
    loop_value number = loop_of(arena, stage->places[vector]);
    loop_value seen =
        loop_apply(arena, IR_LE, loop_narrow(arena, loop_integer(arena, 0)), number, NULL);
    loop_value counts = loop_apply(
        arena, IR_AND, is_best(arena, loop_of(arena, stage->sums[vector]), best), seen, NULL);
    number =
        loop_apply(arena, IR_ADD, number, loop_narrow(arena, loop_integer(arena, vector)), NULL);
    return loop_select(arena, counts, number, nowhere);
}

/* The lowest place is in the lowest vector, and in the lowest lane of it. */
static void fold_indexed(struct row_lowering *lowering, struct loop_block *block,
                         struct row_stage *stage, int vectors, loop_value results[2])
{
    struct arena *arena = lowering->arena;
    enum ir_monoid_kind monoid = value_monoid(stage);
    int lanes = stage->sums[0]->type.lanes;
    loop_value nowhere = loop_narrow(arena, loop_integer(arena, INT32_MAX)), lowest = NULL;
    loop_value best = loop_of(arena, stage->sums[0]), lane = NULL, numbers[ROW_MAX_UNROLL];
    for (int i = 1; i < vectors; i++)
        best = loop_combine(arena, monoid, best, loop_of(arena, stage->sums[i]));
    best = loop_of(arena, loop_let(block, "best", loop_fold(arena, monoid, best)));
    for (int i = 0; i < vectors; i++) {
        numbers[i] = best_number(arena, stage, i, best, nowhere);
        numbers[i] = loop_of(arena, loop_let(block, "number", numbers[i]));
        lowest = lowest ? loop_min(arena, lowest, numbers[i]) : numbers[i];
    }
    lowest = loop_of(arena, loop_let(block, "lowest", loop_fold(arena, IR_MINIMUM, lowest)));
    for (int i = 0; i < vectors; i++) {
        loop_value here = loop_select(arena, loop_apply(arena, IR_EQ, numbers[i], lowest, NULL),
                                      loop_narrow(arena, loop_iota(arena, lanes)), nowhere);
        lane = lane ? loop_min(arena, lane, here) : here;
    }
    lane = loop_of(arena, loop_let(block, "lane", loop_fold(arena, IR_MINIMUM, lane)));
    loop_value place =
        loop_mul(arena, loop_cast(arena, DTYPE_I64, lowest), loop_integer(arena, lanes));
    place = loop_add(arena, place, loop_cast(arena, DTYPE_I64, lane));
    results[0] = best;
    results[1] = loop_select(arena, loop_apply(arena, IR_EQ, lowest, nowhere, NULL),
                             loop_integer(arena, -1), place);
}

loop_value row_sums_join(struct row_lowering *lowering, const struct row_stage *stage, int vectors)
{
    struct arena *arena = lowering->arena;
    loop_value sums[ROW_MAX_UNROLL];
    for (int i = 0; i < vectors; i++)
        sums[i] = loop_of(arena, stage->sums[i]);
    for (int width = 1; width < vectors; width *= 2) { /* in pairs */
        for (int i = 0; i + width < vectors; i += 2 * width)
            sums[i] = sums_pair(lowering, stage, sums[i], sums[i + width]);
    }
    return loop_fold(arena, value_monoid(stage), sums[0]);
}

void row_sums_fold(struct row_lowering *lowering, struct loop_block *block, struct row_stage *stage,
                   int vectors, loop_value results[2])
{
    if (row_is_indexed(stage))
        fold_indexed(lowering, block, stage, vectors, results);
    else
        results[0] = row_long_sum(lowering, stage, 0, row_sums_join(lowering, stage, vectors));
}
