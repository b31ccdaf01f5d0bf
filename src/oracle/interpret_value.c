/*
 * What every node computes, and how monoids combine: the plain meaning of ops.def, one operation at
 * a time, in double and int64.
 */
#include <math.h>

#include "oracle/interpret.h"

static double float_maximum(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == b) /* only zeros differ in sign: the positive one is greater */
        return signbit(a) ? b : a;
    return a > b ? a : b;
}

static double float_minimum(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double float_sign(double a)
{
    if (isnan(a))
        return NAN;
    return a > 0 ? 1.0 : a < 0 ? -1.0 : 0.0;
}

/* The sign of a NaN is an accident of the machine, so it must not show. */
static double float_copysign(double a, double b)
{
    return copysign(a, isnan(b) ? 1.0 : b);
}

static double float_operate(enum ir_op op, double a, double b)
{
    switch (op) {
    case IR_ADD: return a + b;
    case IR_SUB: return a - b;
    case IR_MUL: return a * b;
    case IR_NEG: return -a;
    case IR_ABS: return fabs(a);
    case IR_SIGN: return float_sign(a);
    case IR_MIN: return float_minimum(a, b);
    case IR_MAX: return float_maximum(a, b);
    case IR_DIV: return a / b;
    case IR_POW: return pow(a, b);
    case IR_EXP: return exp(a);
    case IR_EXP2: return exp2(a);
    case IR_EXPM1: return expm1(a);
    case IR_LOG: return log(a);
    case IR_LOG2: return log2(a);
    case IR_LOG10: return log10(a);
    case IR_LOG1P: return log1p(a);
    case IR_SQRT: return sqrt(a);
    case IR_CBRT: return cbrt(a);
    case IR_SIN: return sin(a);
    case IR_COS: return cos(a);
    case IR_TAN: return tan(a);
    case IR_ASIN: return asin(a);
    case IR_ACOS: return acos(a);
    case IR_ATAN: return atan(a);
    case IR_ATAN2: return atan2(a, b);
    case IR_SINH: return sinh(a);
    case IR_COSH: return cosh(a);
    case IR_TANH: return tanh(a);
    case IR_ASINH: return asinh(a);
    case IR_ACOSH: return acosh(a);
    case IR_ATANH: return atanh(a);
    case IR_ERF: return erf(a);
    case IR_ERFC: return erfc(a);
    case IR_LGAMMA: return lgamma(a);
    case IR_TGAMMA: return tgamma(a);
    case IR_FLOOR: return floor(a);
    case IR_CEIL: return ceil(a);
    case IR_TRUNC: return trunc(a);
    case IR_ROUND: return rint(a);
    case IR_FMOD: return fmod(a, b);
    case IR_HYPOT: return hypot(a, b);
    case IR_COPYSIGN: return float_copysign(a, b);
    default: return NAN;
    }
}

/* Integers wrap, so sums and products go by way of the unsigned type. */
static int64_t integer_wrap(uint64_t value)
{
    return (int64_t)value;
}

/* Toward zero. */
static int64_t integer_quotient(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return integer_wrap(0 - (uint64_t)a);
    return a / b;
}

static int64_t integer_remainder(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t integer_floor_quotient(int64_t a, int64_t b)
{
    int64_t quotient = integer_quotient(a, b);
    return integer_remainder(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static int64_t integer_floor_remainder(int64_t a, int64_t b)
{
    int64_t remainder = integer_remainder(a, b);
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

static int64_t integer_shift_right(int64_t a, int64_t count)
{
    int places = (int)(count & 63);
    uint64_t shifted = (uint64_t)a >> places;
    if (a < 0 && places > 0)
        shifted |= ~(UINT64_MAX >> places);
    return integer_wrap(shifted);
}

static int64_t integer_operate(enum ir_op op, int64_t a, int64_t b)
{
    switch (op) {
    case IR_ADD: return integer_wrap((uint64_t)a + (uint64_t)b);
    case IR_SUB: return integer_wrap((uint64_t)a - (uint64_t)b);
    case IR_MUL: return integer_wrap((uint64_t)a * (uint64_t)b);
    case IR_NEG: return integer_wrap(0 - (uint64_t)a);
    case IR_ABS: return a < 0 ? integer_wrap(0 - (uint64_t)a) : a;
    case IR_SIGN: return (a > 0) - (a < 0);
    case IR_MIN: return a < b ? a : b;
    case IR_MAX: return a > b ? a : b;
    case IR_FLOORDIV: return integer_floor_quotient(a, b);
    case IR_FLOORMOD: return integer_floor_remainder(a, b);
    case IR_QUOT: return integer_quotient(a, b);
    case IR_REM: return integer_remainder(a, b);
    case IR_BITAND: return a & b;
    case IR_BITOR: return a | b;
    case IR_BITXOR: return a ^ b;
    case IR_BITNOT: return ~a;
    case IR_SHL: return integer_wrap((uint64_t)a << (b & 63));
    case IR_SHR: return integer_shift_right(a, b);
    case IR_AND: return a != 0 && b != 0;
    case IR_OR: return a != 0 || b != 0;
    case IR_NOT: return a == 0;
    default: return 0;
    }
}

static bool float_compare(enum ir_op op, double a, double b)
{
    switch (op) {
    case IR_EQ: return a == b;
    case IR_NE: return a != b;
    case IR_LT: return a < b;
    default: return a <= b;
    }
}

static bool integer_compare(enum ir_op op, int64_t a, int64_t b)
{
    switch (op) {
    case IR_EQ: return a == b;
    case IR_NE: return a != b;
    case IR_LT: return a < b;
    default: return a <= b;
    }
}

static bool float_test(enum ir_op op, double a)
{
    switch (op) {
    case IR_ISNAN: return isnan(a);
    case IR_ISINF: return isinf(a);
    default: return isfinite(a);
    }
}

static struct ir_value value_cast(struct ir_value value, bool from_float, enum dtype to)
{
    struct ir_value result = {0};
    if (to == DTYPE_BOOL)
        result.integer = from_float ? value.number != 0 : value.integer != 0;
    else if (dtype_is_float(to))
        result.number = dtype_round(to, from_float ? value.number : (double)value.integer);
    else
        result.integer =
            from_float ? dtype_truncate(to, value.number) : dtype_wrap(to, value.integer);
    return result;
}

static bool read_fails(struct frame *frame, const struct ir_node *node, const struct slab *slab,
                       const struct ir_value *values)
{
    struct error *error = frame->run->error;
    int64_t at[IR_MAX_RANK];
    char found[SHAPE_TEXT], shape[SHAPE_TEXT];
    for (int d = 0; d < slab->tensor->rank; d++)
        at[d] = values[node->read.at[d]].integer;
    shape_print(found, at, slab->tensor->rank);
    shape_print(shape, slab->dims, slab->tensor->rank);
    error_at(error, ERROR_ORACLE_BOUNDS, node->place, "%s%s is read, but %s has the shape %s",
             slab->tensor->name, found, slab->tensor->name, shape);
    error_hint(error,
               "say what it is outside, as in %s[... else 0], or promise the range of the index, "
               "as in `ids: i64[N] index(V)`",
               slab->tensor->name);
    return false;
}

static bool read_evaluate(struct frame *frame, const struct ir_node *node,
                          const struct ir_value *values, struct ir_value *result)
{
    struct slab *slab = frame->slabs[node->read.tensor];
    bool wanted = node->read.guard == IR_NONE || values[node->read.guard].integer != 0;
    bool inside = true;
    int64_t element = 0;
    for (int d = 0; wanted && inside && d < slab->tensor->rank; d++) {
        int64_t at = values[node->read.at[d]].integer;
        inside = at >= 0 && at < slab->dims[d];
        if (inside)
            element = element * slab->dims[d] + at;
    }
    if (wanted && !inside && !node->read.checked)
        return read_fails(frame, node, slab, values);
    if (wanted && inside)
        return slab_read(frame->run, slab, element, result);
    *result = node->read.otherwise == IR_NONE ? (struct ir_value){0} : values[node->read.otherwise];
    return true;
}

static bool size_evaluate(struct frame *frame, const struct ir_node *node, struct ir_value *result)
{
    if (ir_size_eval(node->size, frame->binding.sizes, &result->integer))
        return true;
    return error_at(frame->run->error, ERROR_ORACLE_PROGRAM, node->place,
                    "a size here overflows or divides by zero");
}

static void leaf_or_choice(struct frame *frame, const struct ir_nodes *nodes,
                           const struct ir_node *node, struct ir_value *values,
                           const struct ir_value *params, struct ir_value *result)
{
    switch (node->op) {
    case IR_INT: result->integer = node->integer; break;
    case IR_FLOAT: result->number = node->number; break;
    case IR_BOOL: result->integer = node->integer != 0; break;
    case IR_SCALAR:
        result->number = frame->binding.scalars[node->scalar];
        result->integer = result->number != 0; /* of use when it is a bool */
        break;
    case IR_INDEX: result->integer = frame->index[node->index]; break;
    case IR_PARAM: *result = params[node->param]; break;
    case IR_TO_FLOAT:
        result->number = dtype_is_float(nodes->at[node->a].type) ? values[node->a].number
                                                                 : (double)values[node->a].integer;
        break;
    case IR_CAST:
        *result = value_cast(values[node->a], dtype_is_float(nodes->at[node->a].type), node->cast);
        break;
    default: /* SELECT */ *result = values[values[node->a].integer != 0 ? node->b : node->c]; break;
    }
}

bool node_evaluate(struct frame *frame, const struct ir_nodes *nodes, int i,
                   struct ir_value *values, const struct ir_value *params)
{
    const struct ir_node *node = &nodes->at[i];
    struct ir_value *result = &values[i];
    switch (node->op) {
    case IR_READ: return read_evaluate(frame, node, values, result);
    case IR_SIZE: return size_evaluate(frame, node, result);
    case IR_INT:
    case IR_FLOAT:
    case IR_BOOL:
    case IR_SCALAR:
    case IR_INDEX:
    case IR_PARAM:
    case IR_TO_FLOAT:
    case IR_CAST:
    case IR_SELECT: leaf_or_choice(frame, nodes, node, values, params, result); return true;
    case IR_EQ:
    case IR_NE:
    case IR_LT:
    case IR_LE:
        result->integer =
            dtype_is_float(nodes->at[node->a].type)
                ? float_compare(node->op, values[node->a].number, values[node->b].number)
                : integer_compare(node->op, values[node->a].integer, values[node->b].integer);
        return true;
    case IR_ISNAN:
    case IR_ISINF:
    case IR_ISFINITE: result->integer = float_test(node->op, values[node->a].number); return true;
    default: break;
    }
    const struct ir_value *b = node->b == IR_NONE ? &values[node->a] : &values[node->b];
    if (dtype_is_float(node->type))
        result->number = float_operate(node->op, values[node->a].number, b->number);
    else
        result->integer = integer_operate(node->op, values[node->a].integer, b->integer);
    return true;
}

/* ---- monoids ---- */

static bool nodes_evaluate_all(struct frame *frame, const struct ir_nodes *nodes,
                               struct ir_value *values, const struct ir_value *params)
{
    for (int i = 0; i < nodes->count; i++)
        if (!node_evaluate(frame, nodes, i, values, params))
            return false;
    return true;
}

bool monoid_unit(struct frame *frame, const struct ir_monoid *monoid, struct ir_value *scratch,
                 struct ir_value *unit)
{
    static const struct ir_value least = {-INFINITY, INT64_MIN}, greatest = {INFINITY, INT64_MAX};
    switch (monoid->kind) {
    case IR_SUM:
    case IR_ANY: unit[0] = (struct ir_value){0.0, 0}; return true;
    case IR_PRODUCT:
    case IR_ALL: unit[0] = (struct ir_value){1.0, 1}; return true;
    case IR_MAXIMUM: unit[0] = least; return true;
    case IR_MINIMUM: unit[0] = greatest; return true;
    case IR_ARGMAX:
    case IR_TOPK:
    case IR_ARGMIN:
    case IR_BOTTOMK:
        unit[0] = monoid->kind == IR_ARGMAX || monoid->kind == IR_TOPK ? least : greatest;
        unit[1] = (struct ir_value){-1.0, -1};
        return true;
    case IR_USER: break;
    }
    /* Units are constants among the same nodes: what the parameters are does not matter. */
    for (int i = 0; i < 2 * monoid->width; i++)
        unit[i] = (struct ir_value){0};
    if (!nodes_evaluate_all(frame, &monoid->nodes, scratch, unit))
        return false;
    for (int i = 0; i < monoid->width; i++)
        unit[i] = scratch[monoid->units[i]];
    return true;
}

bool ranks_before(const struct ir_value a[2], const struct ir_value b[2], bool is_float,
                  bool greatest)
{
    if (is_float) {
        bool a_nan = isnan(a[0].number), b_nan = isnan(b[0].number);
        if (a_nan != b_nan)
            return a_nan;
        if (!a_nan && a[0].number != b[0].number)
            return greatest ? a[0].number > b[0].number : a[0].number < b[0].number;
    } else if (a[0].integer != b[0].integer) {
        return greatest ? a[0].integer > b[0].integer : a[0].integer < b[0].integer;
    }
    return a[1].integer < b[1].integer;
}

static void arg_combine(struct ir_value *left, const struct ir_value *right, bool is_float,
                        bool greatest)
{
    bool take = left[1].integer == -1 ||
                (right[1].integer != -1 && ranks_before(right, left, is_float, greatest));
    if (take) {
        left[0] = right[0];
        left[1] = right[1];
    }
}

bool monoid_combine(struct frame *frame, const struct ir_monoid *monoid, const bool *is_float,
                    struct ir_value *scratch, struct ir_value *left)
{
    static const enum ir_op operation[] = {
        [IR_SUM] = IR_ADD,     [IR_PRODUCT] = IR_MUL, [IR_MAXIMUM] = IR_MAX,
        [IR_MINIMUM] = IR_MIN, [IR_ALL] = IR_AND,     [IR_ANY] = IR_OR,
    };
    const struct ir_value *right = left + monoid->width;
    switch (monoid->kind) {
    case IR_SUM:
    case IR_PRODUCT:
    case IR_MAXIMUM:
    case IR_MINIMUM:
    case IR_ALL:
    case IR_ANY:
        if (is_float[0])
            left->number = float_operate(operation[monoid->kind], left->number, right->number);
        else
            left->integer = integer_operate(operation[monoid->kind], left->integer, right->integer);
        return true;
    case IR_ARGMAX:
    case IR_TOPK: arg_combine(left, right, is_float[0], true); return true;
    case IR_ARGMIN:
    case IR_BOTTOMK: arg_combine(left, right, is_float[0], false); return true;
    case IR_USER: break;
    }
    if (!nodes_evaluate_all(frame, &monoid->nodes, scratch, left))
        return false;
    for (int i = 0; i < monoid->width; i++)
        left[i] = scratch[monoid->results[i]];
    return true;
}
