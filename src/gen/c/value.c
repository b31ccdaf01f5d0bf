/*
 * Values as C text: numbers, sizes, offsets, nodes; and the notation that goes into comments.
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "gen/c/emit.h"

struct expression emit_format(struct emitter *emitter, enum binding_power binds, const char *format,
                              ...)
{
    struct text text = text_new(emitter->arena);
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&text, format, arguments);
    va_end(arguments);
    return (struct expression){.text = text.at, .binds = binds};
}

const char *emit_within(struct emitter *emitter, struct expression inner, enum binding_power least)
{
    return inner.binds >= least ? inner.text : arena_printf(emitter->arena, "(%s)", inner.text);
}

/* The shortest decimal that reads back the same, and of the right type in C. */
const char *emit_number(struct emitter *emitter, double value, enum dtype type)
{
    bool single = strcmp(emit_type(emitter, type), "float") == 0;
    if (single && (isinf((float)value) || (float)value == 0)) /* a literal like that is warned of */
        value = (double)(float)value;
    if (isnan(value))
        return "NAN";
    if (isinf(value))
        return value > 0 ? "INFINITY" : "-INFINITY";
    struct text text = text_new(emitter->arena);
    text_double(&text, value);
    if (!strpbrk(text.at, ".eE"))
        text_add(&text, ".0");
    if (single)
        text_char(&text, 'f');
    return text.at;
}

struct expression emit_integer(struct emitter *emitter, int64_t value)
{
    if (value == INT64_MIN)
        return (struct expression){"INT64_MIN", BINDS_ATOM, false};
    struct expression literal =
        emit_format(emitter, value < 0 ? BINDS_UNARY : BINDS_ATOM, "%lld", (long long)value);
    literal.narrow = value >= INT32_MIN && value <= INT32_MAX;
    return literal;
}

/* Left-associative. Two operands of type int would be computed in int: the first is widened. */
struct expression emit_binary(struct emitter *emitter, struct expression a, const char *operator,
                              struct expression b, enum binding_power binds)
{
    bool compares = binds <= BINDS_COMPARE;
    const char *widen = a.narrow && b.narrow && !compares ? "(int64_t)" : "";
    const char *left = emit_within(emitter, a, *widen ? BINDS_UNARY : compares ? binds + 1 : binds);
    if (binds == BINDS_OR || binds == BINDS_AND)
        left = emit_within(emitter, a, a.binds == binds ? binds : BINDS_COMPARE);
    enum binding_power right = binds == BINDS_OR || binds == BINDS_AND ? BINDS_COMPARE : binds + 1;
    struct expression result = emit_format(emitter, binds, "%s%s %s %s", widen, left, operator,
                                           emit_within(emitter, b, right));
    result.narrow = compares;
    return result;
}

/* ---- sizes ---- */

static struct expression size_call(struct emitter *emitter, const char *function,
                                   const struct ir_size *size)
{
    return emit_format(emitter, BINDS_ATOM, "%s(%s, %s)", function,
                       emit_size(emitter, size->a).text, emit_size(emitter, size->b).text);
}

static struct expression size_binary(struct emitter *emitter, const char *operator,
                                     const struct ir_size * size, enum binding_power binds)
{
    return emit_binary(emitter, emit_size(emitter, size->a), operator, emit_size(emitter, size->b),
                       binds);
}

struct expression emit_size(struct emitter *emitter, const struct ir_size *size)
{
    switch (size->op) {
    case IR_SIZE_CONSTANT: return emit_integer(emitter, size->value);
    case IR_SIZE_SYMBOL:
        return (struct expression){emitter->symbols[size->symbol], BINDS_ATOM, false};
    case IR_SIZE_ADD: return size_binary(emitter, "+", size, BINDS_SUM);
    case IR_SIZE_SUB: return size_binary(emitter, "-", size, BINDS_SUM);
    case IR_SIZE_MUL: return size_binary(emitter, "*", size, BINDS_PRODUCT);
    case IR_SIZE_DIV: return size_call(emitter, "floor_div", size);
    case IR_SIZE_MOD: return size_call(emitter, "floor_mod", size);
    case IR_SIZE_MIN: return size_call(emitter, "int_min", size);
    case IR_SIZE_MAX: return size_call(emitter, "int_max", size);
    }
    return emit_integer(emitter, 0);
}

const char *emit_count(struct emitter *emitter, int tensor)
{
    const struct tensor_plan *plan = &emitter->tensors[tensor];
    int rank = emitter->part->tensors[tensor].rank;
    if (rank == 0)
        return "1";
    struct text text = text_new(emitter->arena);
    for (int i = 0; i < rank; i++)
        text_printf(&text, "%s%s", i ? " * " : "", plan->dims[i]);
    /* all dimensions may be literals, of type int */
    bool narrow = rank > 1 && plan->dims[0][0] <= '9';
    return narrow ? arena_printf(emitter->arena, "(int64_t)%s", text.at) : text.at;
}

/* ---- nodes ---- */

const char *emit_text(struct emitter *emitter, int node)
{
    return emit_node(emitter, node).text;
}

struct expression emit_offset(struct emitter *emitter, int tensor, const int *at, int count)
{
    const struct tensor_plan *plan = &emitter->tensors[tensor];
    struct expression offset = emit_integer(emitter, 0);
    for (int i = 0; i < count; i++) {
        struct expression index = emit_node(emitter, at[i]);
        struct expression extent = {plan->dims[i], BINDS_ATOM, plan->dims[i][0] <= '9'};
        bool zero = strcmp(offset.text, "0") == 0;
        if (!zero && strcmp(extent.text, "1") != 0) {
            struct expression row = {emit_within(emitter, offset, BINDS_UNARY), BINDS_UNARY,
                                     offset.narrow};
            offset = emit_binary(emitter, row, "*", extent, BINDS_PRODUCT);
        }
        if (zero)
            offset = index;
        else if (strcmp(index.text, "0") != 0)
            offset = emit_binary(emitter, offset, "+", index, BINDS_SUM);
    }
    return offset;
}

static void add_condition(struct text *conditions, const char *condition)
{
    text_printf(conditions, "%s%s", conditions->length ? " && " : "", condition);
}

/* Under which circumstances the read happens; empty: always. */
static const char *read_conditions(struct emitter *emitter, int number)
{
    const struct ir_node *node = &emitter->nodes->at[number];
    const struct node_plan *plan = &emitter->plans[number];
    const struct ir_tensor *tensor = &emitter->part->tensors[node->read.tensor];
    struct text conditions = text_new(emitter->arena);
    for (int depth = plan->depth; depth < plan->limit && depth < emitter->loop_count; depth++) {
        const struct ir_index *index = &emitter->part->indices[emitter->loops[depth].index];
        if (depth == emitter->loop_count - 1 && plan->depth > emitter->lanes_from)
            continue;
        if (index->extent->op == IR_SIZE_CONSTANT && index->extent->value > 0)
            continue;
        struct expression extent = emit_size(emitter, index->extent);
        add_condition(&conditions, arena_printf(emitter->arena, "%s > 0",
                                                emit_within(emitter, extent, BINDS_SUM)));
    }
    if (node->read.guard != IR_NONE)
        add_condition(&conditions,
                      emit_within(emitter, emit_node(emitter, node->read.guard), BINDS_COMPARE));
    for (int i = 0; node->read.checked && i < tensor->rank; i++) {
        struct expression index = emit_node(emitter, node->read.at[i]);
        add_condition(&conditions, arena_printf(emitter->arena, "(uint64_t)%s < (uint64_t)%s",
                                                emit_within(emitter, index, BINDS_UNARY),
                                                emitter->tensors[node->read.tensor].dims[i]));
    }
    return conditions.at;
}

static struct expression emit_read(struct emitter *emitter, int number)
{
    const struct ir_node *node = &emitter->nodes->at[number];
    const struct ir_tensor *tensor = &emitter->part->tensors[node->read.tensor];
    struct expression offset = emit_offset(emitter, node->read.tensor, node->read.at, tensor->rank);
    const char *place = arena_printf(emitter->arena, "%s[%s]",
                                     emitter->tensors[node->read.tensor].reader, offset.text);
    struct expression element = emitter->points
                                    ? emit_fetch(emitter, node->read.tensor, offset.text)
                                    : emit_load(emitter, tensor->dtype, place);
    const char *conditions = read_conditions(emitter, number);
    if (!*conditions)
        return element;
    struct expression otherwise = {emit_zero(emitter, tensor->dtype), BINDS_ATOM, true};
    if (node->read.otherwise != IR_NONE)
        otherwise = emit_node(emitter, node->read.otherwise);
    struct expression choice = emit_format(emitter, BINDS_CHOICE, "%s ? %s : %s", conditions,
                                           element.text, emit_within(emitter, otherwise, BINDS_OR));
    choice.narrow = element.narrow && otherwise.narrow;
    return choice;
}

struct expression emit_node(struct emitter *emitter, int number)
{
    const struct ir_node *node = &emitter->nodes->at[number];
    const struct node_plan *plan = &emitter->plans[number];
    if (plan->depth < emitter->expand) {
        if (plan->name)
            return (struct expression){plan->name, BINDS_ATOM, false};
        if (plan->inside.text)
            return plan->inside;
    }
    if (node->op == IR_READ)
        return emit_read(emitter, number);
    return emit_operation(emitter, node);
}

/* ---- notation ---- */

enum { NOTATION_NODES = 40, NOTATION_LENGTH = 90 }; /* a comment is one line */

/* `inside` another operator: then in parentheses. */
static void notation_node(struct emitter *emitter, struct text *out, int number, bool inside,
                          int *budget);

static void notation_list(struct emitter *emitter, struct text *out, const int *at, int count,
                          int *budget)
{
    text_char(out, '[');
    for (int i = 0; i < count; i++) {
        text_add(out, i ? ", " : "");
        notation_node(emitter, out, at[i], false, budget);
    }
    text_char(out, ']');
}

static const char *infix_of(enum ir_op op)
{
    switch (op) {
    case IR_ADD: return "+";
    case IR_SUB: return "-";
    case IR_MUL: return "*";
    case IR_DIV: return "/";
    case IR_EQ: return "==";
    case IR_NE: return "!=";
    case IR_LT: return "<";
    case IR_LE: return "<=";
    default: return NULL;
    }
}

static void notation_node(struct emitter *emitter, struct text *out, int number, bool inside,
                          int *budget)
{
    const struct ir_node *node = &emitter->nodes->at[number];
    if (--*budget < 0) {
        text_add(out, "...");
        return;
    }
    if (node->op == IR_READ) {
        text_add(out, emitter->tensors[node->read.tensor].name);
        notation_list(emitter, out, node->read.at, emitter->part->tensors[node->read.tensor].rank,
                      budget);
        return;
    }
    int arguments = ir_op_arguments(node->op);
    const char *infix = infix_of(node->op);
    if (arguments == 0) {
        text_add(out, emit_operation(emitter, node).text);
    } else if (infix) {
        text_add(out, inside ? "(" : "");
        notation_node(emitter, out, node->a, true, budget);
        text_printf(out, " %s ", infix);
        notation_node(emitter, out, node->b, true, budget);
        text_add(out, inside ? ")" : "");
    } else {
        text_printf(out, "%s(",
                    node->op == IR_CAST ? dtype_name(node->cast) : ir_op_name(node->op));
        notation_node(emitter, out, node->a, false, budget);
        for (int i = 1; i < arguments; i++) {
            text_add(out, ", ");
            notation_node(emitter, out, i == 1 ? node->b : node->c, false, budget);
        }
        text_char(out, ')');
    }
}

static void notation_indices(struct emitter *emitter, struct text *out,
                             const struct ir_stage *stage)
{
    for (int i = 0; i < stage->index_count; i++) {
        const struct ir_index *index = &emitter->part->indices[stage->indices[i]];
        bool reduced = stage->kind == IR_REDUCE && i == stage->left_count;
        text_add(out, i == 0 ? " over " : reduced ? " | " : ", ");
        if (i == 0 && reduced)
            text_add(out, "| ");
        text_add(out, emitter->indices[stage->indices[i]]);
        if (index->extent)
            text_printf(out, " < %s", emit_size(emitter, index->extent).text);
        else
            text_add(out, " in a range");
    }
}

const char *emit_notation(struct emitter *emitter, const struct ir_stage *stage)
{
    static const char *const SYMBOLS[] = {
        [IR_SUM] = "+=",           [IR_PRODUCT] = "*=",     [IR_MAXIMUM] = "max=",
        [IR_MINIMUM] = "min=",     [IR_ALL] = "and=",       [IR_ANY] = "or=",
        [IR_ARGMAX] = "argmax=",   [IR_ARGMIN] = "argmin=", [IR_TOPK] = "topk=",
        [IR_BOTTOMK] = "bottomk=",
    };
    struct text out = text_new(emitter->arena);
    if (stage->kind == IR_SCAN)
        text_add(&out, "scan ");
    if (stage->kind == IR_SCATTER)
        text_add(&out, "scatter ");
    int budget = NOTATION_NODES;
    for (int i = 0; i < stage->write_count; i++) {
        const struct ir_write *write = &stage->writes[i];
        int rank = emitter->part->tensors[write->tensor].rank;
        bool ranked = stage->kind == IR_REDUCE &&
                      (stage->monoid->kind == IR_TOPK || stage->monoid->kind == IR_BOTTOMK);
        text_printf(&out, "%s%s", i ? ", " : "", emitter->tensors[write->tensor].name);
        notation_list(emitter, &out, write->at, rank - ranked, &budget);
    }
    const struct ir_monoid *monoid = stage->kind == IR_MAP || stage->assign ? NULL : stage->monoid;
    if (!monoid)
        text_add(&out, " = ");
    else if (monoid->kind == IR_USER)
        text_printf(
            &out, " %s= ", (const char *)map_get_bytes(&emitter->monoids, &monoid, sizeof monoid));
    else
        text_printf(&out, " %s ", SYMBOLS[monoid->kind]);
    for (int i = 0; i < stage->write_count; i++) {
        text_add(&out, i ? ", " : "");
        notation_node(emitter, &out, stage->writes[i].value, false, &budget);
    }
    if (out.length > NOTATION_LENGTH) {
        text_truncate(&out, NOTATION_LENGTH);
        text_add(&out, "...");
    }
    notation_indices(emitter, &out, stage);
    return out.at;
}
