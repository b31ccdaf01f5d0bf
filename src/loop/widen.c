/*
 * From a scalar expression to the same for several consecutive values of a variable at once.
 *
 * The one thing that decides speed is how offsets depend on the variable: not at all (one load,
 * splat), by one (a load of consecutive elements), or otherwise (a gather).
 */
#include "loop/loop.h"

#include "ir/ops.h"

/* ---- what an expression mentions ---- */

bool loop_mentions(loop_value value, const struct loop_variable *variable)
{
    if (!value)
        return false;
    if (value->op == LOOP_VARIABLE)
        return value->variable == variable;
    return loop_mentions(value->a, variable) || loop_mentions(value->b, variable) ||
           loop_mentions(value->c, variable) || loop_mentions(value->offset, variable) ||
           loop_mentions(value->mask, variable) || loop_mentions(value->count, variable) ||
           loop_mentions(value->otherwise, variable);
}

/* The same load with other parts; what is NULL stays so. */
static loop_value load_with(struct arena *arena, loop_value load, loop_value offset,
                            loop_value mask, loop_value count, loop_value otherwise)
{
    struct loop_expression *copy = arena_new(arena, struct loop_expression);
    *copy = *load;
    copy->offset = offset;
    copy->mask = mask;
    copy->count = count;
    copy->otherwise = otherwise;
    return copy;
}

loop_value loop_rebuild(struct arena *arena, loop_value value, loop_value a, loop_value b,
                        loop_value c)
{
    switch (value->op) {
    case LOOP_SPLAT: return loop_splat(arena, a, value->type.lanes);
    case LOOP_FOLD: return loop_fold(arena, value->monoid, a);
    case LOOP_SHUFFLE: return loop_shuffle(arena, a, b, value->pattern, value->type.lanes);
    case LOOP_NEAR: return loop_near(arena, a);
    case LOOP_PAIR: return loop_pair(arena, a, b);
    case LOOP_DOT: return loop_dot(arena, value->words, a, b, c);
    case LOOP_DECAY: return loop_decay(arena, a);
    case LOOP_FARTHER: return loop_farther(arena, a, b);
    case LOOP_EXCHANGE: return loop_exchange(arena, value->exchange, a, b, (int)value->integer);
    default: break;
    }
    if (value->apply == IR_CAST && value->type.dtype == DTYPE_I32)
        return loop_narrow(arena, a);
    if (value->apply == IR_CAST)
        return loop_cast(arena, value->cast, a);
    if (value->apply == IR_TO_FLOAT)
        return loop_to_float(arena, value->type.dtype, a);
    return loop_apply(arena, value->apply, a, b, c);
}

loop_value loop_replace(struct arena *arena, loop_value value, const struct map *by)
{
    if (!value)
        return NULL;
    if (value->op == LOOP_VARIABLE) {
        loop_value found = map_get_bytes(by, &value->variable, sizeof value->variable);
        return found ? found : value;
    }
    if (value->op == LOOP_LOAD || value->op == LOOP_GATHER || value->op == LOOP_WORDS) {
        loop_value offset = loop_replace(arena, value->offset, by);
        loop_value mask = loop_replace(arena, value->mask, by);
        loop_value count = loop_replace(arena, value->count, by);
        loop_value otherwise = loop_replace(arena, value->otherwise, by);
        bool same = offset == value->offset && mask == value->mask && count == value->count &&
                    otherwise == value->otherwise;
        return same ? value : load_with(arena, value, offset, mask, count, otherwise);
    }
    loop_value a = loop_replace(arena, value->a, by);
    loop_value b = loop_replace(arena, value->b, by);
    loop_value c = loop_replace(arena, value->c, by);
    bool same = a == value->a && b == value->b && c == value->c;
    return same ? value : loop_rebuild(arena, value, a, b, c);
}

loop_value loop_substitute(struct arena *arena, loop_value value,
                           const struct loop_variable *variable, loop_value by)
{
    struct map one = map_new(arena);
    map_set_bytes(&one, &variable, sizeof variable, (void *)by);
    return loop_replace(arena, value, &one);
}

/* ---- steps ---- */

static loop_value step_of_product(struct arena *arena, loop_value value,
                                  const struct loop_variable *variable)
{
    bool left = loop_mentions(value->a, variable), right = loop_mentions(value->b, variable);
    if (left && right)
        return NULL;
    loop_value step = loop_step(arena, left ? value->a : value->b, variable);
    return step ? loop_mul(arena, step, left ? value->b : value->a) : NULL;
}

loop_value loop_step(struct arena *arena, loop_value value, const struct loop_variable *variable)
{
    if (!loop_mentions(value, variable))
        return loop_integer(arena, 0);
    if (value->op == LOOP_VARIABLE)
        return loop_integer(arena, 1);
    if (value->op != LOOP_APPLY || value->type.dtype != DTYPE_I64)
        return NULL;
    if (value->apply == IR_MUL)
        return step_of_product(arena, value, variable);
    if (value->apply != IR_ADD && value->apply != IR_SUB && value->apply != IR_NEG)
        return NULL;
    loop_value a = loop_step(arena, value->a, variable);
    loop_value b = value->b ? loop_step(arena, value->b, variable) : NULL;
    if (!a || (value->b && !b))
        return NULL;
    return value->apply == IR_NEG ? loop_sub(arena, loop_integer(arena, 0), a)
                                  : loop_apply(arena, value->apply, a, b, NULL);
}

/* ---- widening ---- */

struct widening {
    struct arena *arena;
    const struct loop_variable *variable;
    int lanes;
    loop_value count;
};

static loop_value widen(const struct widening *by, loop_value value);

static bool is_exactly(loop_value value, int64_t integer)
{
    return value && value->op == LOOP_INTEGER && value->integer == integer;
}

/* An integer that goes up by the same step: its first value plus multiples. */
static loop_value widen_integer(const struct widening *by, loop_value value, loop_value step)
{
    loop_value lanes = loop_iota(by->arena, by->lanes);
    if (is_exactly(step, 0))
        return value;
    return loop_add(by->arena, value, loop_mul(by->arena, lanes, step));
}

static loop_value both(struct arena *arena, loop_value a, loop_value b)
{
    if (!a || !b)
        return a ? a : b;
    return loop_apply(arena, IR_AND, a, b, NULL);
}

/* Lane numbers compared with a number that is about as small: 32 bits do. */
static loop_value lanes_compare(const struct widening *by, enum ir_op op, loop_value limit,
                                bool limit_first)
{
    loop_value lanes = loop_narrow(by->arena, loop_iota(by->arena, by->lanes));
    limit = loop_narrow(by->arena, limit);
    return limit_first ? loop_apply(by->arena, op, limit, lanes, NULL)
                       : loop_apply(by->arena, op, lanes, limit, NULL);
}

/* The lanes that are wanted, as a mask; NULL: all. */
static loop_value wanted(const struct widening *by)
{
    return by->count ? lanes_compare(by, IR_LT, by->count, false) : NULL;
}

/*
 * ---- every second element: two loads of neighbours, of which the even lanes are taken ----
 */

/* A condition for the element `further` on, where every second one is a lane. NULL: it is not of
 * that kind. */
static loop_value stretch_condition(const struct widening *by, loop_value value, loop_value further)
{
    struct arena *arena = by->arena;
    if (!loop_mentions(value, by->variable))
        return value;
    if (value->op != LOOP_APPLY)
        return NULL;
    if (value->apply == IR_AND) {
        loop_value a = stretch_condition(by, value->a, further);
        loop_value b = stretch_condition(by, value->b, further);
        return a && b ? loop_apply(arena, IR_AND, a, b, NULL) : NULL;
    }
    if ((value->apply != IR_LT && value->apply != IR_LE) || value->a->type.dtype != DTYPE_I64)
        return NULL;
    loop_value left = loop_step(arena, value->a, by->variable);
    loop_value right = loop_step(arena, value->b, by->variable);
    if (is_exactly(left, 2) && is_exactly(right, 0))
        return loop_apply(arena, value->apply, loop_add(arena, value->a, further), value->b, NULL);
    if (is_exactly(left, 0) && is_exactly(right, 2))
        return loop_apply(arena, value->apply, value->a, loop_add(arena, value->b, further), NULL);
    return NULL;
}

/* The lanes with even numbers. */
static loop_value even_lanes(const struct widening *by)
{
    struct arena *arena = by->arena;
    loop_value lanes = loop_narrow(arena, loop_iota(arena, by->lanes));
    int *pattern = arena_array(arena, (size_t)by->lanes, sizeof *pattern);
    for (int i = 0; i < by->lanes; i++)
        pattern[i] = i % 2;
    loop_value odd = loop_shuffle(arena, lanes, lanes, pattern, by->lanes);
    return loop_apply(arena, IR_LT, odd, loop_narrow(arena, loop_integer(arena, 1)), NULL);
}

/* Only what lanes stand for is read, so nothing that the scalar loads would not. */
static loop_value stretch_half(const struct widening *by, loop_value load, int64_t first)
{
    struct arena *arena = by->arena;
    struct loop_variable *element = arena_new(arena, struct loop_variable);
    *element = (struct loop_variable){"element", LOOP_COUNTER, {DTYPE_I64, 1}, 0};
    loop_value further = loop_of(arena, element), mask = even_lanes(by);
    struct widening along = *by;
    along.variable = element;
    if (load->mask) {
        loop_value condition = stretch_condition(by, load->mask, further);
        mask = condition ? both(arena, widen(&along, condition), mask) : NULL;
    }
    if (!mask)
        return NULL;
    if (by->count) {
        loop_value end = loop_mul(arena, by->count, loop_integer(arena, 2));
        loop_value less = loop_less(arena, further, end);
        mask = both(arena, mask, widen(&along, less));
    }
    loop_value offset = loop_add(arena, load->offset, further);
    loop_value half = loop_load_masked(arena, load->buffer, offset, by->lanes, mask, NULL);
    return loop_substitute(arena, half, element, loop_integer(arena, first));
}

/* All lanes are there: what lies between the first and the last may be read, nothing beyond, so the
 * second half ends with the last. */
static loop_value widen_every_second_whole(const struct widening *by, loop_value load)
{
    struct arena *arena = by->arena;
    loop_value further = loop_add(arena, load->offset, loop_integer(arena, by->lanes - 1));
    int *pattern = arena_array(arena, (size_t)by->lanes, sizeof *pattern);
    for (int i = 0; i < by->lanes; i++)
        pattern[i] = i < by->lanes / 2 ? 2 * i : 2 * i + 1;
    return loop_shuffle(arena, loop_load(arena, load->buffer, load->offset, by->lanes),
                        loop_load(arena, load->buffer, further, by->lanes), pattern, by->lanes);
}

static loop_value widen_every_second(const struct widening *by, loop_value load)
{
    if (load->otherwise || load->count)
        return NULL;
    if (!load->mask && !by->count)
        return widen_every_second_whole(by, load);
    loop_value low = stretch_half(by, load, 0), high = stretch_half(by, load, by->lanes);
    if (!low || !high)
        return NULL;
    int *pattern = arena_array(by->arena, (size_t)by->lanes, sizeof *pattern);
    for (int i = 0; i < by->lanes; i++)
        pattern[i] = 2 * i;
    return loop_shuffle(by->arena, low, high, pattern, by->lanes);
}

static loop_value widen_load(const struct widening *by, loop_value load)
{
    struct arena *arena = by->arena;
    loop_value step = loop_step(arena, load->offset, by->variable);
    if (is_exactly(step, 2)) {
        loop_value two = widen_every_second(by, load);
        if (two)
            return two;
    }
    loop_value mask = load->mask ? widen(by, load->mask) : NULL;
    loop_value otherwise = load->otherwise ? widen(by, load->otherwise) : NULL;
    if (is_exactly(step, 0) && (!mask || mask->type.lanes == 1)) {
        /* one element; where it is not read, each lane may have its own value */
        if (!otherwise || otherwise->type.lanes == 1)
            return load_with(arena, load, load->offset, mask, load->count, otherwise);
        loop_value one = load_with(arena, load, load->offset, mask, load->count, NULL);
        return loop_select(arena, mask, one, otherwise);
    }
    if (is_exactly(step, 1)) {
        loop_value wide = by->count ? loop_load_part(arena, load->buffer, load->offset, by->lanes,
                                                     by->count, otherwise)
                                    : loop_load(arena, load->buffer, load->offset, by->lanes);
        if (!mask)
            return wide;
        return load_with(arena, wide, load->offset, loop_splat(arena, mask, by->lanes), by->count,
                         otherwise ? loop_splat(arena, otherwise, by->lanes) : NULL);
    }
    loop_value offset = step ? widen_integer(by, load->offset, step) : widen(by, load->offset);
    offset = loop_splat(arena, offset, by->lanes);
    return loop_gather(arena, load->buffer, offset, both(arena, mask, wanted(by)), otherwise);
}

static bool rises_by_known(loop_value step)
{
    return step && step->op == LOOP_INTEGER && step->integer >= 1 && step->integer <= 64;
}

/*
 * A comparison of integers that differ by the same step from lane to lane: as good as one of lane
 * numbers with a single limit, in lanes of 32 bits. i + first < limit means i < limit - first.
 */
static loop_value widen_compare(const struct widening *by, loop_value value)
{
    struct arena *arena = by->arena;
    if ((value->apply != IR_LT && value->apply != IR_LE) || value->a->type.dtype != DTYPE_I64)
        return NULL;
    loop_value left = loop_step(arena, value->a, by->variable);
    loop_value right = loop_step(arena, value->b, by->variable);
    bool rises = rises_by_known(left) && is_exactly(right, 0);
    bool falls = is_exactly(left, 0) && rises_by_known(right);
    if (!rises && !falls)
        return NULL;
    loop_value step = rises ? left : right;
    loop_value room = loop_sub(arena, value->b, value->a); /* at the first lane */
    loop_value least = loop_integer(arena, -1), most = loop_integer(arena, by->lanes);
    if (falls) /* a < b + i: -(b - a) < i */
        room = loop_sub(arena, value->a, value->b);
    if (!is_exactly(step, 1)) { /* i * step < room, or room <= i * step: rounded up; else down */
        if ((value->apply == IR_LT) == rises)
            room = loop_add(arena, room, loop_sub(arena, step, loop_integer(arena, 1)));
        room = loop_apply(arena, IR_FLOORDIV, room, step, NULL);
    }
    room = loop_min(arena, loop_apply(arena, IR_MAX, room, least, NULL), most);
    return lanes_compare(by, value->apply, room, falls);
}

static loop_value widen(const struct widening *by, loop_value value)
{
    struct arena *arena = by->arena;
    if (!loop_mentions(value, by->variable))
        return value;
    if (value->op == LOOP_LOAD)
        return widen_load(by, value);
    if (value->op == LOOP_VARIABLE)
        return widen_integer(by, value, loop_integer(arena, 1));
    loop_value step = value->type.dtype == DTYPE_I64 ? loop_step(arena, value, by->variable) : NULL;
    if (step)
        return widen_integer(by, value, step);
    loop_value compared = widen_compare(by, value);
    if (compared)
        return compared;
    return loop_rebuild(arena, value, widen(by, value->a), value->b ? widen(by, value->b) : NULL,
                        value->c ? widen(by, value->c) : NULL);
}

loop_value loop_widen(struct arena *arena, loop_value value, const struct loop_variable *variable,
                      int lanes, loop_value count)
{
    const struct widening by = {arena, variable, lanes, count};
    return lanes == 1 ? value : widen(&by, value);
}
