/*
 * Sizes: integer expressions over the symbols of a part. Made, folded, evaluated, printed. What is
 * true of a size for all values of its symbols is another matter: see prove.c.
 */
#include "ir/ir.h"

static struct ir_size *size_new(struct arena *arena, enum ir_size_op op)
{
    struct ir_size *size = arena_new(arena, struct ir_size);
    size->op = op;
    return size;
}

struct ir_size *ir_size_constant(struct arena *arena, int64_t value)
{
    struct ir_size *size = size_new(arena, IR_SIZE_CONSTANT);
    size->value = value;
    return size;
}

struct ir_size *ir_size_symbol(struct arena *arena, int symbol)
{
    struct ir_size *size = size_new(arena, IR_SIZE_SYMBOL);
    size->symbol = symbol;
    return size;
}

static bool floor_divide(int64_t a, int64_t b, int64_t *quotient, int64_t *remainder)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    *quotient = a / b;
    *remainder = a % b;
    if (*remainder != 0 && (*remainder < 0) != (b < 0)) {
        *quotient -= 1;
        *remainder += b;
    }
    return true;
}

/* One operation on numbers; false when the result is none. */
static bool size_apply(enum ir_size_op op, int64_t a, int64_t b, int64_t *result)
{
    int64_t other;

    switch (op) {
    case IR_SIZE_ADD: return !__builtin_add_overflow(a, b, result);
    case IR_SIZE_SUB: return !__builtin_sub_overflow(a, b, result);
    case IR_SIZE_MUL: return !__builtin_mul_overflow(a, b, result);
    case IR_SIZE_DIV: return floor_divide(a, b, result, &other);
    case IR_SIZE_MOD:
        if (b == -1) { /* also for the least a, whose quotient overflows */
            *result = 0;
            return true;
        }
        return floor_divide(a, b, &other, result);
    case IR_SIZE_MIN: *result = a < b ? a : b; return true;
    case IR_SIZE_MAX: *result = a > b ? a : b; return true;
    default: return false;
    }
}

static bool is_constant(const struct ir_size *size, int64_t value)
{
    return size->op == IR_SIZE_CONSTANT && size->value == value;
}

static bool same_symbol(const struct ir_size *a, const struct ir_size *b)
{
    return a->op == IR_SIZE_SYMBOL && b->op == IR_SIZE_SYMBOL && a->symbol == b->symbol;
}

/*
 * What the operation comes to when that is plain from its operands, or NULL. Dropping an operand is
 * limited to symbols: an expression could divide by zero, and that must not be lost.
 */
static const struct ir_size *size_fold(struct arena *arena, enum ir_size_op op,
                                       const struct ir_size *a, const struct ir_size *b)
{
    int64_t value;

    if (a->op == IR_SIZE_CONSTANT && b->op == IR_SIZE_CONSTANT &&
        size_apply(op, a->value, b->value, &value))
        return ir_size_constant(arena, value);
    switch (op) {
    case IR_SIZE_ADD:
        if (is_constant(a, 0))
            return b;
        return is_constant(b, 0) ? a : NULL;
    case IR_SIZE_SUB:
        if (same_symbol(a, b))
            return ir_size_constant(arena, 0);
        return is_constant(b, 0) ? a : NULL;
    case IR_SIZE_MUL:
        if (is_constant(a, 1))
            return b;
        if (is_constant(a, 0) && b->op == IR_SIZE_SYMBOL)
            return a;
        if (is_constant(b, 0) && a->op == IR_SIZE_SYMBOL)
            return b;
        return is_constant(b, 1) ? a : NULL;
    case IR_SIZE_DIV: return is_constant(b, 1) ? a : NULL;
    case IR_SIZE_MOD:
        if (is_constant(b, 1) && a->op == IR_SIZE_SYMBOL)
            return ir_size_constant(arena, 0);
        return NULL;
    case IR_SIZE_MIN:
    case IR_SIZE_MAX: return same_symbol(a, b) ? a : NULL;
    default: return NULL;
    }
}

/* x + c1 + c2 becomes x + c, so that a chain of shifts reads as one. NULL when it is not that. */
static const struct ir_size *size_merge(struct arena *arena, enum ir_size_op op,
                                        const struct ir_size *a, const struct ir_size *b)
{
    int64_t inner, outer, sum;

    if ((op != IR_SIZE_ADD && op != IR_SIZE_SUB) || b->op != IR_SIZE_CONSTANT)
        return NULL;
    if ((a->op != IR_SIZE_ADD && a->op != IR_SIZE_SUB) || a->b->op != IR_SIZE_CONSTANT)
        return NULL;
    if (!size_apply(a->op, 0, a->b->value, &inner) || !size_apply(op, 0, b->value, &outer) ||
        __builtin_add_overflow(inner, outer, &sum))
        return NULL;
    return ir_size_make(arena, IR_SIZE_ADD, a->a, ir_size_constant(arena, sum));
}

const struct ir_size *ir_size_make(struct arena *arena, enum ir_size_op op, const struct ir_size *a,
                                   const struct ir_size *b)
{
    const struct ir_size *folded = size_fold(arena, op, a, b);

    if (!folded)
        folded = size_merge(arena, op, a, b);
    if (folded)
        return folded;
    if ((op == IR_SIZE_ADD || op == IR_SIZE_SUB) && b->op == IR_SIZE_CONSTANT && b->value < 0 &&
        b->value != INT64_MIN) { /* x + -1 reads x - 1 */
        op = op == IR_SIZE_ADD ? IR_SIZE_SUB : IR_SIZE_ADD;
        b = ir_size_constant(arena, -b->value);
    }
    struct ir_size *size = size_new(arena, op);
    size->a = a;
    size->b = b;
    return size;
}

bool ir_size_equal(const struct ir_size *a, const struct ir_size *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->op != b->op)
        return false;
    switch (a->op) {
    case IR_SIZE_CONSTANT: return a->value == b->value;
    case IR_SIZE_SYMBOL: return a->symbol == b->symbol;
    default: return ir_size_equal(a->a, b->a) && ir_size_equal(a->b, b->b);
    }
}

bool ir_size_eval(const struct ir_size *size, const int64_t *values, int64_t *result)
{
    int64_t a, b;

    if (size->op == IR_SIZE_CONSTANT) {
        *result = size->value;
        return true;
    }
    if (size->op == IR_SIZE_SYMBOL) {
        *result = values[size->symbol];
        return true;
    }
    return ir_size_eval(size->a, values, &a) && ir_size_eval(size->b, values, &b) &&
           size_apply(size->op, a, b, result);
}

/* How tightly the expression holds together when printed. */
static int size_level(const struct ir_size *size)
{
    switch (size->op) {
    case IR_SIZE_ADD:
    case IR_SIZE_SUB: return 1;
    case IR_SIZE_MUL:
    case IR_SIZE_DIV:
    case IR_SIZE_MOD: return 2;
    default: return 3;
    }
}

static void size_print_operand(struct text *out, const struct ir_size *size,
                               const struct ir_part *part, bool parentheses)
{
    if (parentheses)
        text_char(out, '(');
    ir_size_print(out, size, part);
    if (parentheses)
        text_char(out, ')');
}

void ir_size_print(struct text *out, const struct ir_size *size, const struct ir_part *part)
{
    static const char *const signs[] = {
        [IR_SIZE_ADD] = " + ", [IR_SIZE_SUB] = " - ", [IR_SIZE_MUL] = "*",
        [IR_SIZE_DIV] = "/",   [IR_SIZE_MOD] = " % ",
    };
    int level = size_level(size);

    if (size->op == IR_SIZE_CONSTANT) {
        text_printf(out, "%lld", (long long)size->value);
    } else if (size->op == IR_SIZE_SYMBOL) {
        text_add(out, part->symbols[size->symbol].name);
    } else if (size->op == IR_SIZE_MIN || size->op == IR_SIZE_MAX) {
        text_add(out, size->op == IR_SIZE_MIN ? "min(" : "max(");
        ir_size_print(out, size->a, part);
        text_add(out, ", ");
        ir_size_print(out, size->b, part);
        text_char(out, ')');
    } else {
        size_print_operand(out, size->a, part, size_level(size->a) < level);
        text_add(out, signs[size->op]);
        size_print_operand(out, size->b, part, size_level(size->b) <= level);
    }
}
