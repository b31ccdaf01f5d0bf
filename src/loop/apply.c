/*
 * Operations of the low form. What is plain from the arguments is folded while it is built, so that
 * the loops of a kernel for one size, or without a tail, come out as short as if written by hand.
 *
 * Integers are folded as exact sums: kernels compute offsets and sizes that fit, as ir_bind checks.
 * Of floats only what keeps every bit is folded.
 */
#include "loop/loop.h"

#include <math.h>
#include <string.h>

#include "ir/ops.h"

/* ---- equality ---- */

static bool both_or_none(loop_value a, loop_value b)
{
    return a == b || (a && b && loop_equal(a, b));
}

static bool same_variable(const struct loop_variable *a, const struct loop_variable *b)
{
    if (a == b)
        return true;
    return a && b && a->kind == b->kind && a->kind >= LOOP_SYMBOL && a->number == b->number;
}

static bool same_pattern(loop_value a, loop_value b)
{
    return a->op != LOOP_SHUFFLE ||
           memcmp(a->pattern, b->pattern, (size_t)a->type.lanes * sizeof *a->pattern) == 0;
}

bool loop_equal(loop_value a, loop_value b)
{
    if (a == b)
        return true;
    return a->op == b->op && a->type.dtype == b->type.dtype && a->type.lanes == b->type.lanes &&
           a->integer == b->integer && memcmp(&a->number, &b->number, sizeof a->number) == 0 &&
           same_variable(a->variable, b->variable) && a->apply == b->apply && a->cast == b->cast &&
           a->buffer == b->buffer && a->monoid == b->monoid && a->words == b->words &&
           both_or_none(a->a, b->a) && both_or_none(a->b, b->b) && both_or_none(a->c, b->c) &&
           both_or_none(a->offset, b->offset) && both_or_none(a->mask, b->mask) &&
           both_or_none(a->count, b->count) && both_or_none(a->otherwise, b->otherwise) &&
           same_pattern(a, b);
}

/* ---- integers ---- */

static bool is_integer(loop_value value)
{
    return value->op == LOOP_INTEGER;
}

static bool is_exactly(loop_value value, int64_t integer)
{
    return value->op == LOOP_INTEGER && value->integer == integer;
}

static int64_t floor_division(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* One operation on numbers; false when it is better left to run time. */
static bool integer_apply(enum ir_op op, int64_t a, int64_t b, int64_t *result)
{
    bool divides = b != 0 && b != -1;
    switch (op) {
    case IR_ADD: return !__builtin_add_overflow(a, b, result);
    case IR_SUB: return !__builtin_sub_overflow(a, b, result);
    case IR_MUL: return !__builtin_mul_overflow(a, b, result);
    case IR_FLOORDIV: *result = divides ? floor_division(a, b) : 0; return divides;
    case IR_FLOORMOD: *result = divides ? a - floor_division(a, b) * b : 0; return divides;
    case IR_QUOT: *result = divides ? a / b : 0; return divides;
    case IR_REM: *result = divides ? a % b : 0; return divides;
    case IR_MIN: *result = a < b ? a : b; return true;
    case IR_MAX: *result = a > b ? a : b; return true;
    case IR_EQ: *result = a == b; return true;
    case IR_NE: *result = a != b; return true;
    case IR_LT: *result = a < b; return true;
    case IR_LE: *result = a <= b; return true;
    case IR_AND: *result = a && b; return true;
    case IR_OR: *result = a || b; return true;
    case IR_BITAND: *result = a & b; return true;
    case IR_BITOR: *result = a | b; return true;
    case IR_BITXOR: *result = a ^ b; return true;
    default: return false;
    }
}

static bool is_apply(loop_value value, enum ir_op op)
{
    return value->op == LOOP_APPLY && value->apply == op;
}

/* A sum of integers; x + c + d becomes x + (c + d), and what was taken away comes back. */
static loop_value fold_add(struct arena *arena, loop_value a, loop_value b)
{
    if (is_exactly(a, 0))
        return b;
    if (is_exactly(b, 0))
        return a;
    if (is_integer(a))
        return loop_add(arena, b, a);
    if (is_apply(a, IR_SUB) && loop_equal(a->b, b))
        return a->a;
    if (is_apply(b, IR_SUB) && loop_equal(b->b, a))
        return b->a;
    if (is_integer(b) && (is_apply(a, IR_ADD) || is_apply(a, IR_SUB)) && is_integer(a->b)) {
        int64_t sum;
        bool fits = is_apply(a, IR_ADD) ? !__builtin_add_overflow(b->integer, a->b->integer, &sum)
                                        : !__builtin_sub_overflow(b->integer, a->b->integer, &sum);
        return fits ? loop_add(arena, a->a, loop_integer(arena, sum)) : NULL;
    }
    if (is_apply(b, IR_ADD) && is_integer(b->b)) /* constants go last */
        return loop_add(arena, loop_add(arena, a, b->a), b->b);
    if (is_apply(a, IR_ADD) && is_integer(a->b))
        return loop_add(arena, loop_add(arena, a->a, b), a->b);
    return NULL;
}

static loop_value fold_sub(struct arena *arena, loop_value a, loop_value b)
{
    if (is_exactly(b, 0))
        return a;
    if (loop_equal(a, b))
        return loop_integer(arena, 0);
    if (is_integer(b) && b->integer != INT64_MIN && (b->integer < 0 || is_apply(a, IR_ADD)))
        return loop_add(arena, a, loop_integer(arena, -b->integer));
    if (is_apply(a, IR_ADD) && loop_equal(a->a, b))
        return a->b;
    if (is_apply(a, IR_ADD) && loop_equal(a->b, b))
        return a->a;
    if (is_apply(b, IR_SUB) && loop_equal(a, b->a))
        return b->b;
    return NULL;
}

static loop_value fold_mul(struct arena *arena, loop_value a, loop_value b)
{
    if (is_exactly(a, 0) || is_exactly(b, 1))
        return a;
    if (is_exactly(a, 1) || is_exactly(b, 0))
        return b;
    if (is_integer(a))
        return loop_mul(arena, b, a);
    int64_t product;
    if (is_integer(b) && is_apply(a, IR_MUL) && is_integer(a->b) &&
        !__builtin_mul_overflow(a->b->integer, b->integer, &product))
        return loop_mul(arena, a->a, loop_integer(arena, product));
    return NULL;
}

/* Whether an integer is a multiple of a positive constant whatever its variables are. */
static bool is_multiple(loop_value value, int64_t of)
{
    if (is_integer(value))
        return value->integer % of == 0;
    if (is_apply(value, IR_MUL))
        return is_multiple(value->a, of) || is_multiple(value->b, of);
    if (is_apply(value, IR_ADD) || is_apply(value, IR_SUB))
        return is_multiple(value->a, of) && is_multiple(value->b, of);
    return false;
}

static loop_value fold_divide(struct arena *arena, enum ir_op op, loop_value a, loop_value b)
{
    bool whole = op == IR_FLOORDIV || op == IR_QUOT;
    if (is_exactly(b, 1))
        return whole ? a : loop_integer(arena, 0);
    if (is_exactly(a, 0))
        return a;
    if (!is_integer(b) || b->integer <= 0)
        return NULL;
    if (whole && is_apply(a, IR_MUL) && is_integer(a->b) && a->b->integer % b->integer == 0)
        return loop_mul(arena, a->a, loop_integer(arena, a->b->integer / b->integer));
    return !whole && is_multiple(a, b->integer) ? loop_integer(arena, 0) : NULL;
}

static loop_value fold_integers(struct arena *arena, enum ir_op op, loop_value a, loop_value b)
{
    int64_t result;
    if (is_integer(a) && is_integer(b) && integer_apply(op, a->integer, b->integer, &result))
        return ir_op_class(op) == IR_CLASS_COMPARE || ir_op_class(op) == IR_CLASS_LOGIC
                   ? loop_bool(arena, result)
                   : loop_integer(arena, result);
    switch (op) {
    case IR_ADD: return fold_add(arena, a, b);
    case IR_SUB: return fold_sub(arena, a, b);
    case IR_MUL: return fold_mul(arena, a, b);
    case IR_MIN:
    case IR_MAX: return loop_equal(a, b) ? a : NULL;
    case IR_FLOORDIV:
    case IR_FLOORMOD:
    case IR_QUOT:
    case IR_REM: return fold_divide(arena, op, a, b);
    case IR_EQ:
    case IR_LE: return loop_equal(a, b) ? loop_bool(arena, true) : NULL;
    case IR_NE:
    case IR_LT: return loop_equal(a, b) ? loop_bool(arena, false) : NULL;
    default: return NULL;
    }
}

static loop_value fold_logic(struct arena *arena, enum ir_op op, loop_value a, loop_value b)
{
    if (op == IR_NOT)
        return is_integer(a) ? loop_bool(arena, !a->integer) : NULL;
    if (is_integer(a) && is_integer(b))
        return fold_integers(arena, op, a, b);
    if (is_integer(b)) {
        loop_value swap = a;
        a = b;
        b = swap;
    }
    if (!is_integer(a))
        return loop_equal(a, b) ? a : NULL;
    if (op == IR_AND)
        return a->integer ? b : a;
    return a->integer ? a : b;
}

/* ---- floats: only what keeps every bit ---- */

static bool is_number(loop_value value)
{
    return value->op == LOOP_NUMBER && isfinite(value->number);
}

static double float_apply(enum ir_op op, double a, double b, bool single)
{
    double result;
    switch (op) {
    case IR_ADD: result = a + b; break;
    case IR_SUB: result = a - b; break;
    case IR_MUL: result = a * b; break;
    case IR_DIV: result = a / b; break;
    default: result = -a; break;
    }
    /* of two floats the double is right to the last bit, so this rounds only once */
    return single ? (double)(float)result : result;
}

static loop_value fold_floats(struct arena *arena, enum ir_op op, loop_value a, loop_value b)
{
    bool arithmetic = op == IR_ADD || op == IR_SUB || op == IR_MUL || op == IR_DIV || op == IR_NEG;
    if (!arithmetic)
        return NULL;
    if (is_number(a) && (!b || is_number(b)))
        return loop_number(
            arena, float_apply(op, a->number, b ? b->number : 0, a->type.dtype == DTYPE_F32),
            a->type.dtype);
    if ((op == IR_MUL || op == IR_DIV) && b->op == LOOP_NUMBER && b->number == 1)
        return a;
    if (op == IR_MUL && a->op == LOOP_NUMBER && a->number == 1)
        return b;
    return NULL;
}

/* ---- operations ---- */

static int lanes_of(loop_value a, loop_value b, loop_value c)
{
    int lanes = a->type.lanes;
    if (b && b->type.lanes > lanes)
        lanes = b->type.lanes;
    return c && c->type.lanes > lanes ? c->type.lanes : lanes;
}

static loop_value apply_fold(struct arena *arena, enum ir_op op, loop_value a, loop_value b,
                             loop_value c)
{
    enum ir_op_class class = ir_op_class(op);
    if (op == IR_SELECT) {
        if (is_integer(a))
            return a->integer ? b : c;
        return loop_equal(b, c) ? b : NULL;
    }
    if (class == IR_CLASS_LOGIC)
        return fold_logic(arena, op, a, b);
    if (class == IR_CLASS_TEST || op == IR_TO_FLOAT || op == IR_CAST)
        return NULL;
    if (dtype_is_float(a->type.dtype))
        return fold_floats(arena, op, a, b);
    if (op == IR_NEG && is_integer(a) && a->integer != INT64_MIN)
        return loop_integer(arena, -a->integer);
    return b && a->type.dtype != DTYPE_I32 ? fold_integers(arena, op, a, b) : NULL;
}

static loop_value apply_new(struct arena *arena, enum ir_op op, enum dtype dtype, loop_value a,
                            loop_value b, loop_value c)
{
    struct loop_expression *expression = arena_new(arena, struct loop_expression);
    expression->op = LOOP_APPLY;
    expression->apply = op;
    expression->type = (struct loop_type){dtype, lanes_of(a, b, c)};
    expression->a = a;
    expression->b = b;
    expression->c = c;
    return expression;
}

loop_value loop_apply(struct arena *arena, enum ir_op op, loop_value a, loop_value b, loop_value c)
{
    enum ir_op_class class = ir_op_class(op);
    int lanes = lanes_of(a, b, c);
    /* what is a splat of scalars is computed once, before it is splat */
    bool splats = lanes > 1 && (a->op == LOOP_SPLAT || a->type.lanes == 1) &&
                  (!b || b->op == LOOP_SPLAT || b->type.lanes == 1) &&
                  (!c || c->op == LOOP_SPLAT || c->type.lanes == 1);
    if (splats) {
        a = a->op == LOOP_SPLAT ? a->a : a;
        b = b && b->op == LOOP_SPLAT ? b->a : b;
        c = c && c->op == LOOP_SPLAT ? c->a : c;
        return loop_splat(arena, loop_apply(arena, op, a, b, c), lanes);
    }
    loop_value folded = apply_fold(arena, op, a, b, c);
    if (folded)
        return loop_splat(arena, folded, lanes);
    bool truth = class == IR_CLASS_COMPARE || class == IR_CLASS_LOGIC || class == IR_CLASS_TEST;
    enum dtype dtype = truth ? DTYPE_BOOL : op == IR_SELECT ? b->type.dtype : a->type.dtype;
    return apply_new(arena, op, dtype, a, b, c);
}

loop_value loop_cast(struct arena *arena, enum dtype cast, loop_value a)
{
    enum dtype from = a->type.dtype;
    if (from == cast &&
        (cast == DTYPE_F64 || cast == DTYPE_F32 || cast == DTYPE_BOOL || cast == DTYPE_I64))
        return a;
    if (a->op == LOOP_SPLAT)
        return loop_splat(arena, loop_cast(arena, cast, a->a), a->type.lanes);
    if (is_integer(a) && dtype_is_integer(cast))
        return loop_integer(arena, dtype_wrap(cast, a->integer));
    if (a->op == LOOP_NUMBER && dtype_is_float(cast))
        return loop_number(arena, dtype_round(cast, a->number), dtype_compute(cast));
    struct loop_expression *expression =
        (struct loop_expression *)apply_new(arena, IR_CAST, dtype_compute(cast), a, NULL, NULL);
    expression->cast = cast;
    return expression;
}

loop_value loop_narrow(struct arena *arena, loop_value a)
{
    if (a->type.dtype == DTYPE_I32)
        return a;
    if (a->op == LOOP_SPLAT)
        return loop_splat(arena, loop_narrow(arena, a->a), a->type.lanes);
    struct loop_expression *expression =
        (struct loop_expression *)apply_new(arena, IR_CAST, DTYPE_I32, a, NULL, NULL);
    if (a->op == LOOP_IOTA || is_integer(a)) { /* the same in the other type */
        *expression = *a;
        expression->type.dtype = DTYPE_I32;
        return expression;
    }
    expression->cast = DTYPE_I32;
    return expression;
}

loop_value loop_to_float(struct arena *arena, enum dtype dtype, loop_value a)
{
    if (a->type.dtype == dtype)
        return a;
    if (a->op == LOOP_SPLAT)
        return loop_splat(arena, loop_to_float(arena, dtype, a->a), a->type.lanes);
    if (is_integer(a) && a->integer > -(1 << 24) && a->integer < 1 << 24)
        return loop_number(arena, (double)a->integer, dtype);
    if (a->op == LOOP_NUMBER)
        return loop_number(arena, a->number, dtype);
    return apply_new(arena, IR_TO_FLOAT, dtype, a, NULL, NULL);
}

loop_value loop_add(struct arena *arena, loop_value a, loop_value b)
{
    return loop_apply(arena, IR_ADD, a, b, NULL);
}

loop_value loop_sub(struct arena *arena, loop_value a, loop_value b)
{
    return loop_apply(arena, IR_SUB, a, b, NULL);
}

loop_value loop_mul(struct arena *arena, loop_value a, loop_value b)
{
    return loop_apply(arena, IR_MUL, a, b, NULL);
}

loop_value loop_min(struct arena *arena, loop_value a, loop_value b)
{
    return loop_apply(arena, IR_MIN, a, b, NULL);
}

loop_value loop_less(struct arena *arena, loop_value a, loop_value b)
{
    return loop_apply(arena, IR_LT, a, b, NULL);
}

loop_value loop_select(struct arena *arena, loop_value condition, loop_value a, loop_value b)
{
    return loop_apply(arena, IR_SELECT, condition, a, b);
}
