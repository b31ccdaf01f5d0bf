/*
 * Expressions of loops as C.
 */
#include "gen/c/loop.h"

#include <string.h>

#include "ir/ops.h"

static struct arena *arena_of(struct printer *printer)
{
    return printer->emitter->arena;
}

/* ---- types ---- */

const char *print_type(struct printer *printer, struct loop_type type)
{
    enum dtype dtype = type.dtype;
    if (type.lanes == 1)
        return dtype == DTYPE_I32 ? "int32_t" : emit_type(printer->emitter, dtype);
    return arena_printf(arena_of(printer), "%sx%d", dtype == DTYPE_BOOL ? "i32" : dtype_name(dtype),
                        type.lanes);
}

const char *print_raw_type(struct printer *printer, enum dtype dtype, int lanes)
{
    const char *name = dtype_name(dtype);
    if (dtype == DTYPE_F16 || dtype == DTYPE_BF16)
        name = "u16";
    if (dtype == DTYPE_F8E4 || dtype == DTYPE_F8E5 || dtype == DTYPE_BOOL)
        name = "u8";
    return arena_printf(arena_of(printer), "%sx%d", name, lanes);
}

/* Whether elements are in registers as they are in memory. */
static bool is_raw(enum dtype dtype)
{
    return dtype == DTYPE_F32 || dtype == DTYPE_F64 || dtype == DTYPE_I64;
}

loop_value print_resolve(struct printer *printer, loop_value value)
{
    return printer->copies && value ? loop_replace(arena_of(printer), value, &printer->numbers)
                                    : value;
}

/* ---- arguments ---- */

static const char *text_of(struct printer *printer, loop_value value)
{
    return print_value(printer, value).text;
}

/* As an argument of a function for vectors: a scalar is splat. */
static const char *wide_text(struct printer *printer, loop_value value, int lanes)
{
    return text_of(printer, loop_splat(arena_of(printer), value, lanes));
}

static struct expression call_1(struct printer *printer, struct loop_type type, const char *name,
                                const char *a)
{
    return emit_format(printer->emitter, BINDS_ATOM, "%s_%s(%s)", print_type(printer, type), name,
                       a);
}

static struct expression call_2(struct printer *printer, struct loop_type type, const char *name,
                                const char *a, const char *b)
{
    return emit_format(printer->emitter, BINDS_ATOM, "%s_%s(%s, %s)", print_type(printer, type),
                       name, a, b);
}

/* Whether an integer comes from data: then it may be any, and sums of it may overflow. */
static bool is_data(loop_value value)
{
    if (!value)
        return false;
    if (value->op == LOOP_LOAD || value->op == LOOP_GATHER)
        return !dtype_is_float(value->type.dtype);
    if (value->op == LOOP_APPLY && value->apply == IR_CAST && !dtype_is_float(value->type.dtype))
        return true;
    return is_data(value->a) || is_data(value->b) || is_data(value->c);
}

/* ---- scalars: written like nodes of the IR ---- */

static struct expression scalar_apply(struct printer *printer, loop_value value)
{
    struct emitter *emitter = printer->emitter;
    loop_value arguments[3] = {value->a, value->b, value->c};
    struct ir_node nodes[4] = {{0}};
    struct node_plan plans[4] = {{0}};
    for (int i = 0; i < 3; i++) {
        if (!arguments[i])
            continue;
        nodes[i].op = IR_SCALAR;
        nodes[i].type = arguments[i]->type.dtype;
        plans[i].inside = print_value(printer, arguments[i]);
        if (nodes[i].type == DTYPE_I32)
            plans[i].inside.narrow = true;
    }
    nodes[3] =
        (struct ir_node){.op = value->apply, .type = value->type.dtype, .a = 0, .b = 1, .c = 2};
    nodes[3].cast = value->cast;
    plans[3].bits = is_data(value) ? 64 : 0;
    struct ir_nodes list = {nodes, 4};
    emitter->nodes = &list;
    emitter->plans = plans;
    emitter->expand = 1;
    if (value->type.dtype == DTYPE_I32 && value->apply == IR_CAST)
        return emit_format(emitter, BINDS_UNARY, "(int32_t)%s",
                           emit_within(emitter, plans[0].inside, BINDS_UNARY));
    return emit_operation(emitter, &nodes[3]);
}

/* ---- operations on vectors ---- */

static const char *operator_of(enum ir_op op, enum binding_power *binds)
{
    *binds = BINDS_SUM;
    switch (op) {
    case IR_ADD: return "+";
    case IR_SUB: return "-";
    default: break;
    }
    *binds = BINDS_PRODUCT;
    switch (op) {
    case IR_MUL: return "*";
    case IR_DIV: return "/";
    default: break;
    }
    *binds = BINDS_COMPARE;
    switch (op) {
    case IR_EQ: return "==";
    case IR_NE: return "!=";
    case IR_LT: return "<";
    case IR_LE: return "<=";
    default: break;
    }
    *binds = BINDS_CHOICE;
    switch (op) {
    case IR_BITAND:
    case IR_AND: return "&";
    case IR_BITOR:
    case IR_OR: return "|";
    case IR_BITXOR: return "^";
    default: return NULL;
    }
}

/* An operand of an operator: scalars may stand beside vectors, if of the same type. */
static struct expression operand(struct printer *printer, loop_value value)
{
    bool scalar = value->type.lanes == 1;
    loop_value single = value->op == LOOP_SPLAT ? value->a : value;
    bool truth = value->type.dtype == DTYPE_BOOL;
    if (!scalar && value->op == LOOP_SPLAT && !truth)
        return print_value(printer, single);
    return print_value(printer, value);
}

static struct expression vector_operator(struct printer *printer, loop_value value,
                                         const char *operator, enum binding_power binds)
{
    struct emitter *emitter = printer->emitter;
    struct arena *arena = emitter->arena;
    int lanes = value->type.lanes;
    bool truth = value->a->type.dtype == DTYPE_BOOL;
    loop_value a = truth ? loop_splat(arena, value->a, lanes) : value->a;
    loop_value b = truth ? loop_splat(arena, value->b, lanes) : value->b;
    bool beside = a->op == LOOP_SPLAT || a->type.lanes == 1; /* then b is no splat */
    struct expression left = operand(printer, a), right;
    right = beside ? print_value(printer, loop_splat(arena, b, lanes)) : operand(printer, b);
    if (binds == BINDS_CHOICE) /* bit operators: nobody remembers their order */
        return emit_format(emitter, BINDS_CHOICE, "%s %s %s",
                           emit_within(emitter, left, BINDS_UNARY), operator,
                           emit_within(emitter, right, BINDS_UNARY));
    left.narrow = right.narrow = false;
    struct expression result = emit_binary(emitter, left, operator, right, binds);
    result.narrow = false;
    bool wide = value->a->type.dtype == DTYPE_F64 || value->a->type.dtype == DTYPE_I64;
    if (binds == BINDS_COMPARE && wide)
        return call_1(printer, value->type, "from_i64", result.text);
    return result;
}

static struct expression vector_test(struct printer *printer, loop_value value)
{
    struct emitter *emitter = printer->emitter;
    struct loop_type of = value->a->type;
    const char *a = text_of(printer, value->a);
    struct expression result;
    if (value->apply == IR_ISNAN) {
        a = emit_within(emitter, print_value(printer, value->a), BINDS_SUM);
        result = emit_format(emitter, BINDS_COMPARE, "%s != %s", a, a);
    } else {
        result = emit_format(emitter, BINDS_COMPARE, "%s_abs(%s) %s INFINITY",
                             print_type(printer, of), a, value->apply == IR_ISINF ? "==" : "<");
    }
    return of.dtype == DTYPE_F64 ? call_1(printer, value->type, "from_i64", result.text) : result;
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

/* The value of raw elements. */
static struct expression from_raw(struct printer *printer, struct loop_type type, enum dtype dtype,
                                  const char *raw)
{
    if (is_raw(dtype))
        return (struct expression){raw, BINDS_ATOM, false};
    return call_1(printer, type, arena_printf(arena_of(printer), "from_%s", dtype_name(dtype)),
                  raw);
}

const char *print_kept(struct printer *printer, enum dtype dtype, loop_value value)
{
    struct arena *arena = arena_of(printer);
    enum dtype from = value->type.dtype;
    const char *text = text_of(printer, value);
    const char *raw = print_raw_type(printer, dtype, value->type.lanes);
    if (value->type.lanes == 1)
        return emit_keep(printer->emitter, dtype, text, from);
    if (dtype == DTYPE_BOOL)
        return arena_printf(arena, "%s_from_truth(%s)", raw, text);
    if (is_raw(dtype) && from == dtype)
        return text;
    if (emit_is_coded(printer->emitter, dtype))
        return arena_printf(arena, "%s_to_%s(%s)", print_type(printer, value->type),
                            dtype_name(dtype), text);
    return arena_printf(arena, "%s_from_%s(%s)", raw, dtype_name(from), text);
}

static struct expression vector_cast(struct printer *printer, loop_value value)
{
    struct arena *arena = arena_of(printer);
    struct loop_type type = value->type, from = value->a->type;
    enum dtype cast = value->cast;
    const char *a = text_of(printer, value->a);
    if (type.dtype == DTYPE_I32 || (value->apply == IR_TO_FLOAT && from.dtype != DTYPE_BOOL))
        return call_1(printer, type, arena_printf(arena, "from_%s", dtype_name(from.dtype)), a);
    if (cast == DTYPE_BOOL)
        return print_value(
            printer, loop_apply(arena, IR_NE, value->a, loop_number(arena, 0, from.dtype), NULL));
    if (from.dtype == DTYPE_BOOL)
        return call_1(printer, type, "from_truth", a);
    if (dtype_is_float(from.dtype) && !dtype_is_float(cast))
        return emit_format(printer->emitter, BINDS_ATOM, "%s_truncate(%s, %s)%s",
                           print_type(printer, from), a, integer_limits(cast), "");
    if (dtype_is_float(cast) && !dtype_is_float(from.dtype)) { /* by way of double */
        value = loop_to_float(arena, DTYPE_F64, value->a);
        return print_value(printer, loop_cast(arena, cast, value));
    }
    if (cast == DTYPE_F32 || cast == DTYPE_F64)
        return call_1(printer, type, arena_printf(arena, "from_%s", dtype_name(from.dtype)), a);
    return from_raw(printer, type, cast, print_kept(printer, cast, value->a));
}

static bool is_bound(loop_value value, bool zero)
{
    loop_value single = value->op == LOOP_SPLAT ? value->a : value;
    return single->op == LOOP_NUMBER && single->number == single->number &&
           (zero || single->number != 0);
}

/* The greater of a value and a number is simpler than that of two values. */
static bool vector_bound(struct printer *printer, loop_value value, struct expression *result)
{
    bool most = value->apply == IR_MAX;
    loop_value a = value->a, b = value->b;
    if ((value->apply != IR_MAX && value->apply != IR_MIN) || !dtype_is_float(value->type.dtype))
        return false;
    if (is_bound(a, most)) {
        loop_value swap = a;
        a = b;
        b = swap;
    }
    loop_value bound = b->op == LOOP_SPLAT ? b->a : b;
    if (!is_bound(b, most) || (bound->number == 0 && 1 / bound->number < 0))
        return false;
    *result = call_2(printer, value->type, most ? "at_least" : "at_most",
                     wide_text(printer, a, value->type.lanes), text_of(printer, bound));
    return true;
}

/* a < b ? b : a, and the less likewise, are instructions of their own. */
static bool vector_beyond(struct printer *printer, loop_value value, struct expression *result)
{
    loop_value condition = value->a;
    if (!dtype_is_float(value->type.dtype) || condition->op != LOOP_APPLY ||
        condition->apply != IR_LT || condition->a->type.dtype != value->type.dtype)
        return false;
    bool greater = loop_equal(value->b, condition->b) && loop_equal(value->c, condition->a);
    bool lesser = loop_equal(value->b, condition->a) && loop_equal(value->c, condition->b);
    if (!greater && !lesser)
        return false;
    *result = call_2(printer, value->type, greater ? "greater" : "lesser",
                     wide_text(printer, value->b, value->type.lanes),
                     wide_text(printer, value->c, value->type.lanes));
    return true;
}

static struct expression vector_select(struct printer *printer, loop_value value)
{
    int lanes = value->type.lanes;
    struct expression beyond;
    if (value->a->type.lanes == 1) { /* one condition for all lanes: a choice of C */
        struct emitter *emitter = printer->emitter;
        struct expression condition = print_value(printer, value->a);
        return emit_format(
            emitter, BINDS_CHOICE, "%s ? %s : %s", emit_within(emitter, condition, BINDS_OR),
            wide_text(printer, value->b, lanes), wide_text(printer, value->c, lanes));
    }
    if (vector_beyond(printer, value, &beyond))
        return beyond;
    return emit_format(printer->emitter, BINDS_ATOM, "%s_select(%s, %s, %s)",
                       print_type(printer, value->type), text_of(printer, value->a),
                       wide_text(printer, value->b, lanes), wide_text(printer, value->c, lanes));
}

static struct expression vector_apply(struct printer *printer, loop_value value)
{
    struct emitter *emitter = printer->emitter;
    enum binding_power binds;
    const char *operator= operator_of(value->apply, &binds);
    bool wraps = value->type.dtype == DTYPE_I64 && is_data(value);
    struct expression result;
    if (value->apply == IR_SELECT)
        return vector_select(printer, value);
    if (value->apply == IR_CAST || value->apply == IR_TO_FLOAT)
        return vector_cast(printer, value);
    if (ir_op_class(value->apply) == IR_CLASS_TEST)
        return vector_test(printer, value);
    if (operator&& !(wraps && (binds == BINDS_SUM || binds == BINDS_PRODUCT)))
        return vector_operator(printer, value, operator, binds);
    if (vector_bound(printer, value, &result))
        return result;
    const char *a = wide_text(printer, value->a, value->type.lanes);
    if (value->apply == IR_NEG && !wraps)
        return emit_format(emitter, BINDS_UNARY, "-%s",
                           emit_within(emitter, print_value(printer, value->a), BINDS_ATOM));
    if (value->apply == IR_NOT || value->apply == IR_BITNOT)
        return emit_format(emitter, BINDS_UNARY, "~%s",
                           emit_within(emitter, print_value(printer, value->a), BINDS_ATOM));
    if (ir_op_arguments(value->apply) == 1)
        return call_1(printer, value->type, ir_op_name(value->apply), a);
    return call_2(printer, value->type, ir_op_name(value->apply), a,
                  wide_text(printer, value->b, value->type.lanes));
}

/* ---- memory ---- */

const char *print_element(struct printer *printer, const struct loop_buffer *buffer,
                          loop_value offset)
{
    const char **parts = map_get_bytes(&printer->parts, &buffer, sizeof buffer);
    if (!parts || offset->op != LOOP_INTEGER)
        return NULL;
    return parts[offset->integer];
}

const char *print_address(struct printer *printer, const struct loop_buffer *buffer,
                          loop_value offset)
{
    const char *name = map_get_bytes(&printer->names, &buffer, sizeof buffer);
    if (offset->op == LOOP_INTEGER && offset->integer == 0)
        return name;
    return arena_printf(arena_of(printer), "&%s[%s]", name, text_of(printer, offset));
}

static struct expression scalar_load(struct printer *printer, loop_value load)
{
    struct emitter *emitter = printer->emitter;
    const char *element = print_element(printer, load->buffer, load->offset);
    const char *name = map_get_bytes(&printer->names, &load->buffer, sizeof load->buffer);
    if (!element)
        element = arena_printf(emitter->arena, "%s[%s]", name, text_of(printer, load->offset));
    struct expression value = emit_load(emitter, load->buffer->dtype, element);
    loop_value mask = load->mask;
    if (load->count) {
        loop_value some = loop_less(emitter->arena, loop_integer(emitter->arena, 0), load->count);
        mask = mask ? loop_apply(emitter->arena, IR_AND, some, mask, NULL) : some;
    }
    if (!mask)
        return value;
    struct expression condition = print_value(printer, mask);
    const char *otherwise =
        load->otherwise ? emit_within(emitter, print_value(printer, load->otherwise), BINDS_OR)
                        : emit_zero(emitter, load->type.dtype);
    struct expression choice = emit_format(emitter, BINDS_CHOICE, "%s ? %s : %s",
                                           emit_within(emitter, condition, BINDS_OR),
                                           emit_within(emitter, value, BINDS_OR), otherwise);
    choice.narrow = value.narrow;
    return choice;
}

/* The mask of a load, its count included; NULL: none. */
static const char *mask_text(struct printer *printer, loop_value load)
{
    struct arena *arena = arena_of(printer);
    const char *first = load->count ? arena_printf(arena, "i32x%d_first(%s)", load->type.lanes,
                                                   text_of(printer, load->count))
                                    : NULL;
    if (!load->mask)
        return first;
    const char *mask = wide_text(printer, load->mask, load->type.lanes);
    return first ? arena_printf(arena, "(%s) & %s", mask, first) : mask;
}

/* What all lanes' places have in common is part of the address: `places` is left without it. */
static loop_value gather_base(loop_value *places)
{
    loop_value sum = *places;
    if (sum->op != LOOP_APPLY || sum->apply != IR_ADD || !sum->a || !sum->b)
        return NULL;
    loop_value a = sum->a->op == LOOP_SPLAT ? sum->a->a : sum->a;
    loop_value b = sum->b->op == LOOP_SPLAT ? sum->b->a : sum->b;
    if ((a->type.lanes == 1) == (b->type.lanes == 1))
        return NULL;
    *places = a->type.lanes == 1 ? b : a;
    return a->type.lanes == 1 ? a : b;
}

static struct expression vector_load(struct printer *printer, loop_value load)
{
    struct arena *arena = arena_of(printer);
    const struct loop_buffer *buffer = load->buffer;
    if (buffer->lanes > 1) { /* a vector on the stack */
        const char *element = print_element(printer, buffer, load->offset);
        const char *name = map_get_bytes(&printer->names, &buffer, sizeof buffer);
        if (element)
            return (struct expression){element, BINDS_ATOM, false};
        return emit_format(printer->emitter, BINDS_ATOM, "%s[%s]", name,
                           text_of(printer, load->offset));
    }
    const char *raw = print_raw_type(printer, buffer->dtype, load->type.lanes);
    const char *mask = mask_text(printer, load), *read;
    if (load->op == LOOP_GATHER) {
        const char *name = map_get_bytes(&printer->names, &buffer, sizeof buffer);
        loop_value places = load->offset, base = gather_base(&places);
        const char *offset = text_of(printer, places);
        if (base)
            name = print_address(printer, buffer, base);
        read = mask ? arena_printf(arena, "%s_gather_masked(%s, %s, %s)", raw, name, offset, mask)
                    : arena_printf(arena, "%s_gather(%s, %s)", raw, name, offset);
    } else {
        const char *at = print_address(printer, buffer, load->offset);
        if (buffer->dtype == DTYPE_BOOL)
            at = arena_printf(arena, "(const uint8_t *)%s%s", at[0] == '&' ? "" : "", at);
        if (load->count && !load->mask)
            read =
                arena_printf(arena, "%s_read_part(%s, %s)", raw, at, text_of(printer, load->count));
        else if (mask)
            read = arena_printf(arena, "%s_read_masked(%s, %s)", raw, at, mask);
        else
            read = arena_printf(arena, "%s_read(%s)", raw, at);
    }
    struct expression value = from_raw(printer, load->type, buffer->dtype, read);
    if (!mask || !load->otherwise)
        return value;
    return emit_format(printer->emitter, BINDS_ATOM, "%s_select(%s, %s, %s)",
                       print_type(printer, load->type), mask, value.text,
                       wide_text(printer, load->otherwise, load->type.lanes));
}

/* ---- the rest ---- */

static struct expression variable(struct printer *printer, loop_value value)
{
    const struct loop_variable *of = value->variable;
    const char *name;
    if (of->kind == LOOP_SYMBOL)
        name = printer->symbols[of->number];
    else if (of->kind == LOOP_SCALAR)
        name = printer->scalars[of->number];
    else if (of->kind == LOOP_BLOCK || of->kind == LOOP_THREAD)
        return (struct expression){print_number(printer, of), BINDS_UNARY, false};
    else
        name = map_get_bytes(&printer->names, &of, sizeof of);
    return (struct expression){name ? name : of->name, BINDS_ATOM, false};
}

static struct expression splat(struct printer *printer, loop_value value)
{
    const char *a = text_of(printer, value->a);
    if (value->type.dtype == DTYPE_BOOL) {
        struct expression inner = print_value(printer, value->a);
        if (value->a->op == LOOP_INTEGER)
            return emit_format(printer->emitter, BINDS_ATOM, "i32x%d_splat(%d)", value->type.lanes,
                               value->a->integer ? -1 : 0);
        return emit_format(printer->emitter, BINDS_ATOM, "i32x%d_splat(-%s)", value->type.lanes,
                           emit_within(printer->emitter, inner, BINDS_ATOM));
    }
    return call_1(printer, value->type, "splat", a);
}

static struct expression fold(struct printer *printer, loop_value value)
{
    static const char *const NAMES[] = {
        [IR_SUM] = "sum",         [IR_PRODUCT] = "product", [IR_MAXIMUM] = "maximum",
        [IR_MINIMUM] = "minimum", [IR_ALL] = "all",         [IR_ANY] = "any",
    };
    struct expression result =
        call_1(printer, value->a->type, NAMES[value->monoid], text_of(printer, value->a));
    if (value->type.dtype == DTYPE_BOOL)
        return emit_format(printer->emitter, BINDS_COMPARE, "%s != 0", result.text);
    return result;
}

/* ---- words ---- */

static struct expression words_load(struct printer *printer, loop_value value)
{
    const char *at = print_address(printer, value->buffer, value->offset);
    if (value->type.lanes == 1)
        return emit_format(printer->emitter, BINDS_ATOM, "i32x16_word(%s)", at);
    return emit_format(printer->emitter, BINDS_ATOM, "%s_words(%s)",
                       print_type(printer, value->type), at);
}

static struct expression near(struct printer *printer, loop_value value)
{
    return call_1(printer, value->type, "near_bf16", text_of(printer, value->a));
}

static struct expression pair(struct printer *printer, loop_value value)
{
    return call_2(printer, value->a->type, "pair", text_of(printer, value->a),
                  text_of(printer, value->b));
}

static struct expression dot(struct printer *printer, loop_value value)
{
    return emit_format(
        printer->emitter, BINDS_ATOM, "%s_dot_%s(%s, %s, %s)", print_type(printer, value->type),
        value->words == LOOP_BF16_BF16 ? "bf16" : "u8_i8", text_of(printer, value->c),
        text_of(printer, value->a), text_of(printer, value->b));
}

struct expression print_value(struct printer *printer, loop_value value)
{
    bool scalar = value->type.lanes == 1;
    switch (value->op) {
    case LOOP_INTEGER: return emit_integer(printer->emitter, value->integer);
    case LOOP_NUMBER: {
        const char *text = emit_number(printer->emitter, value->number, value->type.dtype);
        return (struct expression){text, *text == '-' ? BINDS_UNARY : BINDS_ATOM, false};
    }
    case LOOP_VARIABLE: return variable(printer, value);
    case LOOP_APPLY: return scalar ? scalar_apply(printer, value) : vector_apply(printer, value);
    case LOOP_LOAD:
    case LOOP_GATHER: return scalar ? scalar_load(printer, value) : vector_load(printer, value);
    case LOOP_SPLAT: return splat(printer, value);
    case LOOP_IOTA:
        return emit_format(printer->emitter, BINDS_ATOM, "%s_iota()",
                           print_type(printer, value->type));
    case LOOP_FOLD: return fold(printer, value);
    case LOOP_SHUFFLE: return print_shuffle(printer, value);
    case LOOP_WORDS: return words_load(printer, value);
    case LOOP_NEAR: return near(printer, value);
    case LOOP_PAIR: return pair(printer, value);
    case LOOP_DOT: return dot(printer, value);
    case LOOP_DECAY: return call_1(printer, value->type, "decay", text_of(printer, value->a));
    case LOOP_FARTHER:
        return call_2(printer, value->type, "farther", text_of(printer, value->a),
                      text_of(printer, value->b));
    case LOOP_EXCHANGE: return print_exchange(printer, value);
    }
    return emit_integer(printer->emitter, 0);
}
