/*
 * Rows whose value is finite, as nearly all are, need no guard against infinite differences:
 *
 *     x == m ? 1 : exp(x - m)
 *
 * is exp(x - m) then, to the last bit. A pass that guards like this is written twice, and each row
 * takes the version it needs.
 */
#include "skeleton/row.h"

struct finite {
    struct arena *arena;
    const struct loop_variable *along;
    loop_value guarded; /* what must be finite; NULL: nothing found yet */
    struct map done;
};

static bool is_apply(loop_value value, enum ir_op op)
{
    return value && value->op == LOOP_APPLY && value->apply == op;
}

static bool is_guard(struct finite *finite, loop_value value)
{
    if (!is_apply(value, IR_SELECT) || !is_apply(value->a, IR_EQ) || !is_apply(value->c, IR_EXP) ||
        !is_apply(value->c->a, IR_SUB) || value->b->op != LOOP_NUMBER || value->b->number != 1)
        return false;
    loop_value left = value->a->a, right = value->a->b, difference = value->c->a;
    if (!loop_equal(left, difference->a) || !loop_equal(right, difference->b) ||
        loop_mentions(right, finite->along) || !dtype_is_float(right->type.dtype))
        return false;
    if (finite->guarded && !loop_equal(finite->guarded, right))
        return false;
    finite->guarded = right;
    return true;
}

static loop_value unguard(struct finite *finite, loop_value value)
{
    if (!value || value->op != LOOP_APPLY)
        return value;
    loop_value known = map_get_bytes(&finite->done, &value, sizeof value);
    if (known)
        return known;
    loop_value result = value;
    if (is_guard(finite, value)) {
        result = value->c;
    } else {
        loop_value a = unguard(finite, value->a), b = unguard(finite, value->b),
                   c = unguard(finite, value->c);
        if (a != value->a || b != value->b || c != value->c)
            result = loop_rebuild(finite->arena, value, a, b, c);
    }
    map_set_bytes(&finite->done, &value, sizeof value, (void *)result);
    return result;
}

loop_value row_finite(struct arena *arena, const struct loop_variable *along, loop_value *values,
                      int count)
{
    struct finite finite = {arena, along, NULL, map_new(arena)};
    for (int i = 0; i < count; i++)
        values[i] = unguard(&finite, values[i]);
    if (!finite.guarded)
        return NULL;
    loop_value zero = loop_number(arena, 0, finite.guarded->type.dtype);
    loop_value none = loop_sub(arena, finite.guarded, finite.guarded);
    return loop_apply(arena, IR_EQ, none, zero, NULL);
}
