/*
 * One operation of ops.def as C. Its arguments are written by emit_node.
 */
#include "gen/c/emit.h"

#include <string.h>

/* f(a), f(a, b): the arguments need no parentheses. */
static struct expression call(struct emitter *emitter, const char *function,
                              const struct ir_node *node)
{
    if (ir_op_arguments(node->op) == 1)
        return emit_format(emitter, BINDS_ATOM, "%s(%s)", function, emit_text(emitter, node->a));
    return emit_format(emitter, BINDS_ATOM, "%s(%s, %s)", function, emit_text(emitter, node->a),
                       emit_text(emitter, node->b));
}

static struct expression binary(struct emitter *emitter, const char *operator,
                                const struct ir_node * node, enum binding_power binds)
{
    return emit_binary(emitter, emit_node(emitter, node->a), operator, emit_node(emitter, node->b),
                       binds);
}

/* a & b, a | b, a ^ b: always in parentheses when inside something else. */
static struct expression bits(struct emitter *emitter, const char *operator,
                              const struct ir_node * node)
{
    struct expression a = emit_node(emitter, node->a);
    struct expression b = emit_node(emitter, node->b);
    return emit_format(emitter, BINDS_CHOICE, "%s%s %s %s", a.narrow ? "(int64_t)" : "",
                       emit_within(emitter, a, BINDS_UNARY), operator,
                       emit_within(emitter, b, BINDS_UNARY));
}

static struct expression unary(struct emitter *emitter, const char *operator, int argument)
{
    struct expression a = emit_node(emitter, argument);
    return emit_format(emitter, BINDS_UNARY, "%s%s%s", operator, a.narrow ? "(int64_t)" : "",
                       emit_within(emitter, a, BINDS_ATOM));
}

static struct expression leaf(struct emitter *emitter, const struct ir_node *node)
{
    switch (node->op) {
    case IR_FLOAT: {
        const char *text = emit_number(emitter, node->number, node->type);
        return (struct expression){text, *text == '-' ? BINDS_UNARY : BINDS_ATOM, false};
    }
    case IR_SIZE: return emit_size(emitter, node->size);
    case IR_SCALAR: return (struct expression){emitter->scalars[node->scalar], BINDS_ATOM, false};
    case IR_INDEX: return (struct expression){emitter->indices[node->index], BINDS_ATOM, false};
    case IR_PARAM: return (struct expression){emitter->params[node->param], BINDS_ATOM, false};
    default: return emit_integer(emitter, node->op == IR_BOOL ? node->integer != 0 : node->integer);
    }
}

static const char *integer_limits(enum dtype type)
{
    switch (type) {
    case DTYPE_I32: return "INT32_MIN, INT32_MAX";
    case DTYPE_U32: return "0, UINT32_MAX";
    case DTYPE_I16: return "INT16_MIN, INT16_MAX";
    case DTYPE_I8: return "INT8_MIN, INT8_MAX";
    case DTYPE_U8: return "0, UINT8_MAX";
    default: return "INT64_MIN, INT64_MAX";
    }
}

static struct expression convert(struct emitter *emitter, const char *type, struct expression a)
{
    return emit_format(emitter, BINDS_UNARY, "(%s)%s", type, emit_within(emitter, a, BINDS_UNARY));
}

/* An integer becomes a float by way of double. */
static struct expression cast_to_float(struct emitter *emitter, const struct ir_node *node,
                                       struct expression a, enum dtype from)
{
    const char *type = emit_type(emitter, node->type);
    if (emitter->form == GEN_REFERENCE && emit_rounding(node->cast))
        return emit_format(emitter, BINDS_ATOM, "%s(%s)", emit_rounding(node->cast), a.text);
    if (!dtype_is_float(from)) {
        a = convert(emitter, "double", a);
        from = DTYPE_F64;
    }
    if (emit_is_coded(emitter, node->cast)) {
        const char *kept = emit_keep(emitter, node->cast, a.text, from);
        return emit_load(emitter, node->cast, kept);
    }
    if (node->cast == DTYPE_F32 && emitter->wide)
        type = "float"; /* rounds, though it goes on as double */
    return strcmp(type, emit_type(emitter, from)) == 0 ? a : convert(emitter, type, a);
}

static struct expression cast(struct emitter *emitter, const struct ir_node *node)
{
    enum dtype from = emitter->nodes->at[node->a].type;
    struct expression a = emit_node(emitter, node->a);
    if (node->cast == DTYPE_BOOL) {
        if (from == DTYPE_BOOL)
            return a;
        struct expression zero = {emit_zero(emitter, from), BINDS_ATOM, false};
        return emit_binary(emitter, a, "!=", zero, BINDS_COMPARE);
    }
    if (dtype_is_float(node->cast))
        return cast_to_float(emitter, node, a, from);
    if (dtype_is_float(from))
        return emit_format(emitter, BINDS_ATOM, "truncate_to(%s, %s)", a.text,
                           integer_limits(node->cast));
    const char *wrapping = emit_wrapping(node->cast);
    return emit_format(emitter, BINDS_UNARY, "(int64_t)%s%s%s%s", wrapping ? "(" : "",
                       wrapping ? wrapping : "", wrapping ? ")" : "",
                       emit_within(emitter, a, BINDS_UNARY));
}

static struct expression select_one(struct emitter *emitter, const struct ir_node *node)
{
    struct expression condition = emit_node(emitter, node->a);
    struct expression yes = emit_node(emitter, node->b);
    struct expression no = emit_node(emitter, node->c);
    struct expression result = emit_format(
        emitter, BINDS_CHOICE, "%s ? %s : %s", emit_within(emitter, condition, BINDS_OR),
        emit_within(emitter, yes, BINDS_OR), emit_within(emitter, no, BINDS_OR));
    result.narrow = yes.narrow && no.narrow;
    return result;
}

/* What the operation of this kind is in the prelude: "double_max", "int_max". */
static const char *of_kind(struct emitter *emitter, const struct ir_node *node, const char *name)
{
    return arena_printf(emitter->arena, "%s_%s", emit_kind(emitter, node->type), name);
}

/* libm's name; in the reference a builtin that is exact. */
static const char *of_libm(struct emitter *emitter, const struct ir_node *node, const char *name,
                           bool exact)
{
    if (emitter->form == GEN_REFERENCE)
        return exact ? arena_printf(emitter->arena, "__builtin_%s", name) : name;
    bool single = strcmp(emit_type(emitter, node->type), "float") == 0;
    bool suffixes = !emitter->dialect || emitter->dialect->suffixes;
    return arena_printf(emitter->arena, "%s%s", name, single && suffixes ? "f" : "");
}

/* What C has no operator for. */
static const char *function_of(struct emitter *emitter, const struct ir_node *node)
{
    switch (node->op) {
    case IR_ABS:
        return dtype_is_float(node->type) ? of_libm(emitter, node, "fabs", true) : "int_abs";
    case IR_SIGN: return of_kind(emitter, node, "sign");
    case IR_MIN: return of_kind(emitter, node, "min");
    case IR_MAX: return of_kind(emitter, node, "max");
    case IR_FLOORDIV: return "floor_div";
    case IR_FLOORMOD: return "floor_mod";
    case IR_QUOT: return "quotient";
    case IR_REM: return "remainder_of";
    case IR_SHL: return "shift_left";
    case IR_SHR: return "shift_right";
    case IR_ISNAN: return "is_nan";
    case IR_ISINF: return "is_inf";
    case IR_ISFINITE: return "is_finite";
    case IR_SQRT: return of_libm(emitter, node, "sqrt", true);
    case IR_FLOOR: return of_libm(emitter, node, "floor", true);
    case IR_CEIL: return of_libm(emitter, node, "ceil", true);
    case IR_TRUNC: return of_libm(emitter, node, "trunc", true);
    case IR_ROUND: return of_libm(emitter, node, "rint", true);
    case IR_COPYSIGN: return of_kind(emitter, node, "copysign");
    default: return of_libm(emitter, node, ir_op_name(node->op), false);
    }
}

/* A plain kernel is compiled without -fwrapv: what may overflow is left to functions that wrap. */
static bool may_overflow(struct emitter *emitter, const struct ir_node *node)
{
    return emitter->form == GEN_PLAIN && !dtype_is_float(node->type) &&
           emitter->plans[node - emitter->nodes->at].bits > 63;
}

static struct expression arithmetic(struct emitter *emitter, const struct ir_node *node,
                                    const char *operator, const char * name,
                                    enum binding_power binds)
{
    if (may_overflow(emitter, node))
        return call(emitter, arena_printf(emitter->arena, "int_%s", name), node);
    return node->op == IR_NEG ? unary(emitter, operator, node->a)
                              : binary(emitter, operator, node, binds);
}

struct expression emit_operation(struct emitter *emitter, const struct ir_node *node)
{
    struct expression a;
    switch (node->op) {
    case IR_INT:
    case IR_FLOAT:
    case IR_BOOL:
    case IR_SIZE:
    case IR_SCALAR:
    case IR_INDEX:
    case IR_PARAM: return leaf(emitter, node);
    case IR_TO_FLOAT:
        a = emit_node(emitter, node->a);
        if (dtype_is_float(emitter->nodes->at[node->a].type) &&
            strcmp(emit_type(emitter, emitter->nodes->at[node->a].type),
                   emit_type(emitter, node->type)) == 0)
            return a;
        return convert(emitter, emit_type(emitter, node->type), a);
    case IR_CAST: return cast(emitter, node);
    case IR_SELECT: return select_one(emitter, node);
    case IR_ADD: return arithmetic(emitter, node, "+", "add", BINDS_SUM);
    case IR_SUB: return arithmetic(emitter, node, "-", "sub", BINDS_SUM);
    case IR_MUL: return arithmetic(emitter, node, "*", "mul", BINDS_PRODUCT);
    case IR_NEG: return arithmetic(emitter, node, "-", "neg", BINDS_UNARY);
    case IR_DIV: return binary(emitter, "/", node, BINDS_PRODUCT);
    case IR_BITNOT: return unary(emitter, "~", node->a);
    case IR_BITAND: return bits(emitter, "&", node);
    case IR_BITOR: return bits(emitter, "|", node);
    case IR_BITXOR: return bits(emitter, "^", node);
    case IR_EQ: return binary(emitter, "==", node, BINDS_COMPARE);
    case IR_NE: return binary(emitter, "!=", node, BINDS_COMPARE);
    case IR_LT: return binary(emitter, "<", node, BINDS_COMPARE);
    case IR_LE: return binary(emitter, "<=", node, BINDS_COMPARE);
    case IR_AND: return binary(emitter, "&&", node, BINDS_AND);
    case IR_OR: return binary(emitter, "||", node, BINDS_OR);
    case IR_NOT:
        a = emit_node(emitter, node->a);
        a = emit_format(emitter, BINDS_UNARY, "!%s", emit_within(emitter, a, BINDS_ATOM));
        a.narrow = true;
        return a;
    default: return call(emitter, function_of(emitter, node), node);
    }
}
