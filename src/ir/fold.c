/*
 * Folding: the value of nodes that need no tensor and no index, such as the arguments of a call and
 * the bodies of monoids. Not the oracle: that one evaluates stages and shares nothing with this.
 *
 * Floats are double whatever the node's type says; only a cast rounds.
 */
#include <math.h>
#include <stdlib.h>

#include "ir/ops.h"

static int64_t floor_quotient(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

static int64_t floor_remainder(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return 0;
    int64_t remainder = a % b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

static int64_t fold_integer(enum ir_op op, int64_t a, int64_t b)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    int shift = (int)(ub & 63);

    switch (op) {
    case IR_ADD: return (int64_t)(ua + ub);
    case IR_SUB: return (int64_t)(ua - ub);
    case IR_MUL: return (int64_t)(ua * ub);
    case IR_NEG: return (int64_t)(0 - ua);
    case IR_ABS: return a < 0 ? (int64_t)(0 - ua) : a;
    case IR_SIGN: return (a > 0) - (a < 0);
    case IR_MIN: return a < b ? a : b;
    case IR_MAX: return a > b ? a : b;
    case IR_FLOORDIV: return floor_quotient(a, b);
    case IR_FLOORMOD: return floor_remainder(a, b);
    case IR_QUOT: return b == 0 ? 0 : b == -1 ? (int64_t)(0 - ua) : a / b;
    case IR_REM: return b == 0 || b == -1 ? 0 : a % b;
    case IR_BITAND: return a & b;
    case IR_BITOR: return a | b;
    case IR_BITXOR: return a ^ b;
    case IR_BITNOT: return ~a;
    case IR_SHL: return (int64_t)(ua << shift);
    case IR_SHR: return a >> shift;
    default: abort();
    }
}

/* min and max: NaN wins, and -0 is below +0. */
static double fold_extreme(double a, double b, bool least)
{
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == b)
        return (signbit(a) != 0) == least ? a : b;
    return (a < b) == least ? a : b;
}

static double fold_sign(double a)
{
    if (isnan(a))
        return a;
    return (a > 0) - (a < 0);
}

static double fold_arithmetic(enum ir_op op, double a, double b)
{
    switch (op) {
    case IR_ADD: return a + b;
    case IR_SUB: return a - b;
    case IR_MUL: return a * b;
    case IR_NEG: return -a;
    case IR_ABS: return fabs(a);
    case IR_SIGN: return fold_sign(a);
    case IR_MIN: return fold_extreme(a, b, true);
    case IR_MAX: return fold_extreme(a, b, false);
    default: abort();
    }
}

static double fold_float(enum ir_op op, double a, double b)
{
    switch (op) {
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
    case IR_COPYSIGN: return copysign(a, isnan(b) ? 1 : b);
    default: abort();
    }
}

static bool fold_compare(enum ir_op op, bool floats, struct ir_value a, struct ir_value b)
{
    switch (op) {
    case IR_EQ: return floats ? a.number == b.number : a.integer == b.integer;
    case IR_NE: return floats ? a.number != b.number : a.integer != b.integer;
    case IR_LT: return floats ? a.number < b.number : a.integer < b.integer;
    case IR_LE: return floats ? a.number <= b.number : a.integer <= b.integer;
    default: abort();
    }
}

static bool fold_logic(enum ir_op op, bool a, bool b)
{
    switch (op) {
    case IR_AND: return a && b;
    case IR_OR: return a || b;
    case IR_NOT: return !a;
    default: abort();
    }
}

static bool fold_test(enum ir_op op, double a)
{
    switch (op) {
    case IR_ISNAN: return isnan(a);
    case IR_ISINF: return isinf(a);
    case IR_ISFINITE: return isfinite(a);
    default: abort();
    }
}

static struct ir_value fold_cast(enum dtype to, bool from_float, struct ir_value a)
{
    struct ir_value value = {0};

    if (dtype_is_float(to))
        value.number = dtype_round(to, from_float ? a.number : (double)a.integer);
    else
        value.integer = from_float ? dtype_truncate(to, a.number) : dtype_wrap(to, a.integer);
    return value;
}

static struct ir_value fold_scalar(const struct ir_node *node, const struct ir_binding *binding)
{
    double number = binding->scalars[node->scalar];

    if (node->type == DTYPE_BOOL)
        return (struct ir_value){.integer = number != 0};
    return (struct ir_value){.number = number};
}

/* Operations of no class: leaves, conversions, choice. */
static struct ir_value fold_other(const struct ir_nodes *nodes, const struct ir_node *node,
                                  const struct ir_binding *binding, const struct ir_value *params,
                                  const struct ir_value *values)
{
    struct ir_value value = {0};

    switch (node->op) {
    case IR_INT:
    case IR_BOOL: value.integer = node->integer; return value;
    case IR_FLOAT: value.number = node->number; return value;
    case IR_SIZE:
        /* Total like every node: a size that has no value was refused by ir_bind. */
        if (!ir_size_eval(node->size, binding ? binding->sizes : NULL, &value.integer))
            value.integer = 0;
        return value;
    case IR_SCALAR: return fold_scalar(node, binding);
    case IR_PARAM: return params[node->param];
    case IR_TO_FLOAT:
        if (dtype_is_float(nodes->at[node->a].type))
            return values[node->a];
        value.number = (double)values[node->a].integer;
        return value;
    case IR_CAST:
        return fold_cast(node->cast, dtype_is_float(nodes->at[node->a].type), values[node->a]);
    case IR_SELECT: return values[node->a].integer ? values[node->b] : values[node->c];
    default: abort(); /* reads and indices have no value without a place */
    }
}

static struct ir_value fold_node(const struct ir_nodes *nodes, const struct ir_node *node,
                                 const struct ir_binding *binding, const struct ir_value *params,
                                 const struct ir_value *values)
{
    struct ir_value a = {0}, b = {0}, value = {0};
    bool floats = false;

    if (node->a != IR_NONE && ir_op_arguments(node->op) >= 1) {
        a = values[node->a];
        floats = dtype_is_float(nodes->at[node->a].type);
    }
    if (node->b != IR_NONE && ir_op_arguments(node->op) >= 2)
        b = values[node->b];
    switch (ir_op_class(node->op)) {
    case IR_CLASS_FLOAT: value.number = fold_float(node->op, a.number, b.number); break;
    case IR_CLASS_ARITH:
        if (floats)
            value.number = fold_arithmetic(node->op, a.number, b.number);
        else
            value.integer = fold_integer(node->op, a.integer, b.integer);
        break;
    case IR_CLASS_INTEGER: value.integer = fold_integer(node->op, a.integer, b.integer); break;
    case IR_CLASS_COMPARE: value.integer = fold_compare(node->op, floats, a, b); break;
    case IR_CLASS_LOGIC: value.integer = fold_logic(node->op, a.integer, b.integer); break;
    case IR_CLASS_TEST: value.integer = fold_test(node->op, a.number); break;
    case IR_CLASS_OTHER: return fold_other(nodes, node, binding, params, values);
    }
    return value;
}

struct ir_value ir_fold_node(const struct ir_nodes *nodes, int node,
                             const struct ir_binding *binding, const struct ir_value *values)
{
    return fold_node(nodes, &nodes->at[node], binding, NULL, values);
}

void ir_fold(const struct ir_nodes *nodes, const struct ir_binding *binding,
             const struct ir_value *params, struct ir_value *values)
{
    for (int i = 0; i < nodes->count; i++)
        values[i] = fold_node(nodes, &nodes->at[i], binding, params, values);
}
