/*
 * contract, values: from numbers of rows, columns and terms to indices, and the factors there.
 */
#include "skeleton/contract.h"

static bool is_one(loop_value value)
{
    return value->op == LOOP_INTEGER && value->integer == 1;
}

/* The digits of `number`: the last of `count` indices varies fastest. */
void contract_open_digits(struct contract_code *code, struct loop_block *block, const int *indices,
                          int count, loop_value number)
{
    struct arena *arena = code->arena;
    const struct ir_part *part = code->contract->group->part;
    /* numbers are not negative, and devices divide by functions: the shorter ones */
    bool device = code->contract->group->target->device;
    enum ir_op quotient = device ? IR_QUOT : IR_FLOORDIV, remainder = device ? IR_REM : IR_FLOORMOD;
    int more = 0; /* indices before this one that have more than one value */
    loop_value extents[CONTRACT_MAX_INDICES];
    for (int i = 0; i < count; i++)
        extents[i] = skeleton_size(&code->values, part->indices[indices[i]].extent);
    for (int i = 0; i < count; i++)
        more += !is_one(extents[i]);
    for (int i = count - 1; i >= 0; i--) {
        if (is_one(extents[i])) {
            code->values.indices[indices[i]] = loop_integer(arena, 0);
            continue;
        }
        more--;
        loop_value digit = number;
        if (more > 0) {
            digit = loop_apply(arena, remainder, number, extents[i], NULL);
            number = loop_apply(arena, quotient, number, extents[i], NULL);
            number = loop_of(arena, loop_let(block, "rest", number));
            digit = loop_of(arena, loop_let(block, part->indices[indices[i]].name, digit));
        }
        code->values.indices[indices[i]] = digit;
    }
}

void contract_open_set(struct contract_code *code, struct loop_block *block, enum contract_set set,
                       loop_value number)
{
    const struct contract_indices *indices = &code->contract->sets[set];
    contract_open_digits(code, block, indices->at, indices->count, number);
}

loop_value contract_row(struct contract_code *code, loop_value panel, loop_value row)
{
    struct arena *arena = code->arena;
    loop_value first = loop_mul(arena, panel, loop_integer(arena, code->rows));
    return loop_add(arena, first, row);
}

/*
 * Vectors beyond the last are the last one again: they may be computed, and are never stored. With
 * one N index alone there are no digits, and only the last panel is not whole.
 */
void contract_open_column(struct contract_code *code, struct loop_block *block, loop_value number,
                          struct contract_columns *columns, int slot)
{
    struct arena *arena = code->arena;
    loop_value one = loop_integer(arena, 1), lanes = loop_integer(arena, code->lanes);
    const struct contract_indices *indices = &code->contract->sets[CONTRACT_N];
    number = loop_min(arena, number, loop_sub(arena, code->vector_total, one));
    loop_value inner = loop_of(arena, loop_let(block, "vector", number));
    int outer_count = indices->count - code->merged;
    if (outer_count > 0) {
        loop_value outer = loop_apply(arena, IR_FLOORDIV, inner, code->lane_blocks, NULL);
        inner = loop_apply(arena, IR_FLOORMOD, inner, code->lane_blocks, NULL);
        contract_open_digits(code, block, indices->at, outer_count,
                             loop_of(arena, loop_let(block, "outer", outer)));
        for (int j = 0; j < outer_count; j++)
            columns->outer[slot][j] = code->values.indices[indices->at[j]];
    }
    inner = loop_mul(arena, inner, lanes);
    columns->from[slot] = loop_of(arena, loop_let(block, "column", inner));
    loop_value count = loop_sub(arena, code->lane_extent, columns->from[slot]);
    columns->count[slot] = loop_of(arena, loop_let(block, "count", loop_min(arena, count, lanes)));
}

void contract_open_columns(struct contract_code *code, struct loop_block *block, loop_value panel,
                           struct contract_columns *columns)
{
    struct arena *arena = code->arena;
    loop_value first = loop_mul(arena, panel, loop_integer(arena, code->vectors));
    for (int i = 0; i < code->vectors; i++)
        contract_open_column(code, block, loop_add(arena, first, loop_integer(arena, i)), columns,
                             i);
}

void contract_open_vector(struct contract_code *code, const struct contract_columns *columns,
                          int vector)
{
    const struct contract_indices *indices = &code->contract->sets[CONTRACT_N];
    int last = indices->count - 1, outer_count = indices->count - code->merged;
    for (int i = 0; i < outer_count; i++)
        code->values.indices[indices->at[i]] = columns->outer[vector][i];
    /* merged indices are one in memory: their offset is that of the last alone, counted on */
    for (int i = outer_count; i < last; i++)
        code->values.indices[indices->at[i]] = loop_integer(code->arena, 0);
    code->values.indices[indices->at[last]] = loop_of(code->arena, code->lane);
}

/* The product of the terms of a factor at the present indices. */
loop_value contract_factor(struct contract_code *code, bool second)
{
    const struct contract *contract = code->contract;
    loop_value product = NULL, divisor = NULL;
    for (int i = 0; i < contract->term_count; i++) {
        const struct contract_term *term = &contract->terms[i];
        if (term->second != second)
            continue;
        loop_value value = skeleton_value(&code->values, contract->stage, term->node);
        loop_value *side = term->inverse ? &divisor : &product;
        *side = *side ? loop_mul(code->arena, *side, value) : value;
    }
    if (!product)
        product = loop_number(code->arena, 1, contract->dtype);
    if (divisor)
        product = loop_apply(code->arena, IR_DIV, product, divisor, NULL);
    if (contract->negative && !second)
        product = loop_apply(code->arena, IR_NEG, product, NULL, NULL);
    return product;
}
