/*
 * contract, columns that need no guards. Windows reach beyond the edges of images, but most panels
 * of columns lie inside with all their taps. That is found out once for a panel, from the taps and
 * lanes that are worst for each guard.
 */
#include "skeleton/contract.h"

struct corner { /* what a variable runs from and to */
    const struct loop_variable *variable;
    loop_value least, most;
};

struct corners {
    struct arena *arena;
    struct corner at[CONTRACT_MAX_INDICES + 1];
    int count;
    const struct loop_variable *channel; /* guards must not depend on it */
};

static bool is_known(loop_value step)
{
    return step && step->op == LOOP_INTEGER;
}

/* A comparison where it is least likely to hold; NULL: that is not known. */
static loop_value worst_comparison(const struct corners *corners, loop_value value)
{
    struct arena *arena = corners->arena;
    for (int i = 0; i < corners->count; i++) {
        const struct corner *corner = &corners->at[i];
        loop_value left = loop_step(arena, value->a, corner->variable);
        loop_value right = loop_step(arena, value->b, corner->variable);
        if (!is_known(left) || !is_known(right))
            return NULL;
        value = loop_substitute(arena, value, corner->variable,
                                left->integer > right->integer ? corner->most : corner->least);
    }
    return loop_mentions(value, corners->channel) ? NULL : value;
}

static loop_value worst(const struct corners *corners, loop_value value)
{
    if (value->op == LOOP_APPLY && value->apply == IR_AND) {
        loop_value a = worst(corners, value->a), b = worst(corners, value->b);
        return a && b ? loop_apply(corners->arena, IR_AND, a, b, NULL) : NULL;
    }
    if (value->op == LOOP_APPLY && (value->apply == IR_LT || value->apply == IR_LE) &&
        value->a->type.dtype == DTYPE_I64)
        return worst_comparison(corners, value);
    return NULL;
}

/* The terms as variables: the first index counts channels, the others taps, whose number must be
 * known. */
static bool open_corners(struct contract_code *code, struct corners *corners)
{
    struct arena *arena = code->arena;
    const struct contract_indices *terms = &code->contract->sets[CONTRACT_K];
    for (int i = 0; i < terms->count; i++) {
        const struct ir_index *index = &code->contract->group->part->indices[terms->at[i]];
        struct loop_variable *variable = arena_new(arena, struct loop_variable);
        *variable = (struct loop_variable){index->name, LOOP_COUNTER, {DTYPE_I64, 1}, 0};
        code->values.indices[terms->at[i]] = loop_of(arena, variable);
        if (i == 0) {
            corners->channel = variable;
            continue;
        }
        loop_value extent = skeleton_size(&code->values, index->extent);
        if (!is_known(extent))
            return false;
        corners->at[corners->count++] = (struct corner){variable, loop_integer(arena, 0),
                                                        loop_integer(arena, extent->integer - 1)};
    }
    return terms->count > 0;
}

loop_value contract_columns_inside(struct contract_code *code,
                                   const struct contract_columns *columns)
{
    struct arena *arena = code->arena;
    struct corners corners = {.arena = arena};
    loop_value all = NULL, lanes = loop_integer(arena, code->lanes);
    if (!open_corners(code, &corners))
        return NULL;
    int taps = corners.count++;
    for (int i = 0; i < code->vectors; i++) {
        loop_value from = columns->from[i];
        loop_value most = loop_add(arena, from, loop_integer(arena, code->lanes - 1));
        contract_open_vector(code, columns, i);
        loop_value value = contract_factor(code, true);
        if (value->op != LOOP_LOAD || !value->mask)
            return NULL;
        corners.at[taps] = (struct corner){code->lane, from, most};
        loop_value inside = worst(&corners, value->mask);
        if (!inside)
            return NULL;
        all = all ? loop_apply(arena, IR_AND, all, inside, NULL) : inside;
        all = loop_apply(arena, IR_AND, all,
                         loop_apply(arena, IR_LE, lanes, columns->count[i], NULL), NULL);
    }
    return all;
}
