/*
 * Pieces of the one style that fit on a line if lines were long enough: expressions, declarations,
 * the parts of a statement, the lines of a task; and the breaking of lines that are too long.
 */
#include <inttypes.h>
#include <string.h>

#include "lang/format.h"

static void text_break(struct text *out)
{
    text_char(out, FORMAT_BREAK);
}

static void text_comma(struct text *out)
{
    text_char(out, ',');
    text_break(out);
}

/* ---- expressions ---- */

/* How tightly things bind, as in the grammar. */
enum binding {
    BINDS_CONDITIONAL,
    BINDS_OR,
    BINDS_AND,
    BINDS_NOT,
    BINDS_COMPARE,
    BINDS_SUM,
    BINDS_PRODUCT,
    BINDS_UNARY,
    BINDS_POWER,
    BINDS_PRIMARY,
};

static const struct {
    const char *text;
    enum binding binding, left, right; /* its own; the least its operands may have bare */
} operators[] = {
    [AST_NEGATE] = {"-", BINDS_UNARY, BINDS_UNARY, BINDS_UNARY},
    [AST_NOT] = {"not ", BINDS_NOT, BINDS_NOT, BINDS_NOT},
    [AST_ADD] = {"+", BINDS_SUM, BINDS_SUM, BINDS_PRODUCT},
    [AST_SUBTRACT] = {"-", BINDS_SUM, BINDS_SUM, BINDS_PRODUCT},
    [AST_MULTIPLY] = {"*", BINDS_PRODUCT, BINDS_PRODUCT, BINDS_UNARY},
    [AST_DIVIDE] = {"/", BINDS_PRODUCT, BINDS_PRODUCT, BINDS_UNARY},
    [AST_REMAINDER] = {"%", BINDS_PRODUCT, BINDS_PRODUCT, BINDS_UNARY},
    [AST_DIVIDE_EXACT] = {"/!", BINDS_PRODUCT, BINDS_PRODUCT, BINDS_UNARY},
    [AST_FLOOR_DIVIDE] = {"div", BINDS_PRODUCT, BINDS_PRODUCT, BINDS_UNARY},
    [AST_MODULO] = {"mod", BINDS_PRODUCT, BINDS_PRODUCT, BINDS_UNARY},
    [AST_POWER] = {"^", BINDS_POWER, BINDS_PRIMARY, BINDS_UNARY},
    [AST_EQUAL] = {"==", BINDS_COMPARE, BINDS_SUM, BINDS_SUM},
    [AST_UNEQUAL] = {"!=", BINDS_COMPARE, BINDS_SUM, BINDS_SUM},
    [AST_LESS] = {"<", BINDS_COMPARE, BINDS_SUM, BINDS_SUM},
    [AST_LESS_EQUAL] = {"<=", BINDS_COMPARE, BINDS_SUM, BINDS_SUM},
    [AST_GREATER] = {">", BINDS_COMPARE, BINDS_SUM, BINDS_SUM},
    [AST_GREATER_EQUAL] = {">=", BINDS_COMPARE, BINDS_SUM, BINDS_SUM},
    [AST_AND] = {"and", BINDS_AND, BINDS_AND, BINDS_NOT},
    [AST_OR] = {"or", BINDS_OR, BINDS_OR, BINDS_AND},
};

static enum binding binding_of(const struct ast_expression *expression)
{
    if (expression->kind == AST_CONDITIONAL)
        return BINDS_CONDITIONAL;
    if (expression->kind == AST_UNARY || expression->kind == AST_BINARY)
        return operators[expression->operator].binding;
    return BINDS_PRIMARY;
}

static bool is_tight(enum ast_operator operator, enum format_style style)
{
    if (operator== AST_POWER)
        return true;
    return style == FORMAT_SIZE &&
           (operator== AST_MULTIPLY || operator== AST_DIVIDE || operator== AST_REMAINDER ||
            operator== AST_DIVIDE_EXACT);
}

static void print(struct text *out, const struct ast_expression *e, enum binding least,
                  enum format_style style);

static void print_list(struct text *out, const struct ast_expressions *list,
                       enum format_style style)
{
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            text_comma(out);
        print(out, list->at[i], BINDS_CONDITIONAL, style);
    }
}

static void print_operand(struct text *out, const struct ast_expression *e, enum binding least,
                          enum ast_operator operator, enum format_style style)
{
    /* a and b or c: parentheses are not needed, but who wrote them wants them */
    bool kept = operator== AST_OR && e->kind == AST_BINARY && e->operator== AST_AND &&
                e->parenthesised;
    print(out, e, kept ? BINDS_PRIMARY : least, style);
}

static void print_binary(struct text *out, const struct ast_expression *e, enum format_style style)
{
    bool tight = is_tight(e->operator, style);
    print_operand(out, e->a, operators[e->operator].left, e->operator, style);
    if (!tight)
        text_char(out, ' ');
    text_add(out, operators[e->operator].text);
    if (!tight)
        text_break(out);
    print_operand(out, e->b, operators[e->operator].right, e->operator, style);
}

static void print_read(struct text *out, const struct ast_expression *e)
{
    text_add(out, e->name);
    if (e->element) {
        text_char(out, '[');
        print(out, e->element, BINDS_CONDITIONAL, FORMAT_SIZE);
        text_char(out, ']');
    }
    text_char(out, '[');
    print_list(out, &e->list, FORMAT_SIZE);
    if (e->a) {
        text_add(out, e->list.count ? " else " : "else ");
        print(out, e->a, BINDS_CONDITIONAL, FORMAT_VALUE);
    }
    text_char(out, ']');
}

static void print_number(struct text *out, const struct ast_expression *e)
{
    if (e->spelling)
        text_add(out, e->spelling);
    else if (e->kind == AST_INTEGER)
        text_printf(out, "%" PRId64, e->integer);
    else
        text_double(out, e->number);
}

static void print_call(struct text *out, const struct ast_expression *e, enum format_style style)
{
    text_add(out, e->name);
    text_char(out, '(');
    print_list(out, &e->list, style);
    if (e->named.count) {
        text_char(out, ';');
        text_break(out);
        format_named(out, &e->named);
    }
    text_char(out, ')');
}

static void print_bare(struct text *out, const struct ast_expression *e, enum format_style style)
{
    switch (e->kind) {
    case AST_INTEGER:
    case AST_FLOAT: print_number(out, e); break;
    case AST_BOOL: text_add(out, e->integer ? "true" : "false"); break;
    case AST_NAME: text_add(out, e->name); break;
    case AST_GROUP: text_printf(out, "*%s", e->name); break;
    case AST_READ: print_read(out, e); break;
    case AST_CALL: print_call(out, e, style); break;
    case AST_UNARY:
        text_add(out, operators[e->operator].text);
        print(out, e->a, operators[e->operator].right, style);
        break;
    case AST_BINARY: print_binary(out, e, style); break;
    case AST_CONDITIONAL:
        print(out, e->a, BINDS_OR, style);
        text_add(out, " ?");
        text_break(out);
        print(out, e->b, BINDS_CONDITIONAL, style);
        text_add(out, " :");
        text_break(out);
        print(out, e->c, BINDS_CONDITIONAL, style);
        break;
    case AST_TUPLE:
    case AST_LIST:
        text_char(out, e->kind == AST_TUPLE ? '(' : '[');
        print_list(out, &e->list, style);
        text_char(out, e->kind == AST_TUPLE ? ')' : ']');
        break;
    }
}

static void print(struct text *out, const struct ast_expression *e, enum binding least,
                  enum format_style style)
{
    bool parentheses = binding_of(e) < least;
    if (parentheses)
        text_char(out, '(');
    print_bare(out, e, style);
    if (parentheses)
        text_char(out, ')');
}

void format_expression(struct text *out, const struct ast_expression *expression,
                       enum format_style style)
{
    print(out, expression, BINDS_CONDITIONAL, style);
}

void format_bound(struct text *out, const struct ast_expression *expression)
{
    print(out, expression, BINDS_SUM, FORMAT_SIZE);
}

void format_range(struct text *out, const struct ast_expression *low,
                  const struct ast_expression *high)
{
    bool tight = low->kind != AST_BINARY && high->kind != AST_BINARY;
    format_bound(out, low);
    text_add(out, tight ? ".." : " .. ");
    format_bound(out, high);
}

/* ---- declarations ---- */

void format_names(struct text *out, const struct ast_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        if (i > 0)
            text_comma(out);
        text_add(out, names->at[i].name);
    }
}

void format_named(struct text *out, const struct ast_named_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            text_comma(out);
        text_printf(out, "%s=", list->at[i].name);
        print(out, list->at[i].value, BINDS_CONDITIONAL, FORMAT_SIZE);
    }
}

void format_string(struct text *out, const char *string)
{
    text_char(out, '"');
    for (; *string; string++) {
        if (*string == '\n')
            text_add(out, "\\n");
        else if (*string == '\t')
            text_add(out, "\\t");
        else if (*string == '"' || *string == '\\')
            text_printf(out, "\\%c", *string);
        else
            text_char(out, *string);
    }
    text_char(out, '"');
}

void format_dims(struct text *out, const struct ast_dims *dims)
{
    text_char(out, '[');
    for (size_t i = 0; i < dims->count; i++) {
        const struct ast_dim *dim = &dims->at[i];
        if (i > 0)
            text_comma(out);
        if (dim->kind == AST_DIM_RANK)
            text_printf(out, "*%s", dim->name);
        else if (dim->kind == AST_DIM_EACH)
            text_printf(out, "%s...", dim->name);
        else
            print(out, dim->size, BINDS_CONDITIONAL, FORMAT_SIZE);
    }
    text_char(out, ']');
}

void format_draws(struct text *out, const struct ast_draws *draws)
{
    text_add(out, " ~");
    for (size_t i = 0; i < draws->count; i++) {
        text_printf(out, " %s", draws->at[i].name);
        if (draws->at[i].arguments.count) {
            text_char(out, '(');
            print_list(out, &draws->at[i].arguments, FORMAT_SIZE);
            text_char(out, ')');
        }
    }
}

void format_declarations(struct text *out, const struct ast_declarations *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct ast_declaration *declaration = &list->at[i];
        if (i > 0)
            text_comma(out);
        for (size_t j = 0; j < declaration->names.count; j++) /* never broken among the names */
            text_printf(out, "%s%s", j > 0 ? ", " : "", declaration->names.at[j].name);
        text_add(out, ": ");
        if (declaration->type)
            text_add(out, declaration->type);
        if (declaration->has_dims)
            format_dims(out, &declaration->dims);
        if (declaration->is_list)
            text_add(out, "...");
        if (declaration->facts.count)
            format_draws(out, &declaration->facts);
        if (declaration->initial) {
            text_add(out, " = ");
            print(out, declaration->initial, BINDS_CONDITIONAL, FORMAT_SIZE);
        }
    }
}

void format_inputs(struct text *out, const struct ast_op *op)
{
    text_printf(out, "%s(", op->name.name);
    format_declarations(out, &op->inputs);
    if (op->parameters.count) {
        text_char(out, ';');
        text_break(out);
        format_declarations(out, &op->parameters);
    }
    text_char(out, ')');
}

void format_outputs(struct text *out, const struct ast_op *op)
{
    text_char(out, '(');
    format_declarations(out, &op->outputs);
    text_char(out, ')');
}

void format_components(struct text *out, const struct ast_expressions *list)
{
    if (list->count != 1)
        text_char(out, '(');
    print_list(out, list, FORMAT_VALUE);
    if (list->count != 1)
        text_char(out, ')');
}

/* ---- the parts of a definition ---- */

void format_left_side(struct text *out, const struct ast_statement *define)
{
    text_add(out, define->is_next ? "next " : define->is_scatter ? "scatter " : "");
    if (define->is_tuple)
        text_char(out, '(');
    for (size_t i = 0; i < define->targets.count; i++) {
        const struct ast_target *target = &define->targets.at[i];
        if (i > 0)
            text_comma(out);
        text_add(out, target->name);
        if (target->has_indices) {
            text_char(out, '[');
            print_list(out, &target->indices, FORMAT_SIZE);
            text_char(out, ']');
        }
    }
    if (define->is_tuple)
        text_char(out, ')');
}

void format_operator(struct text *out, const struct ast_statement *define)
{
    text_printf(out, "%s%s=", define->is_scan ? "scan " : "",
                define->reducer ? define->reducer : "");
}

static void print_domain(struct text *out, const struct ast_domain *domain)
{
    if (domain->is_group) {
        text_printf(out, "*%s < *%s", domain->name, domain->high->name);
    } else if (domain->low) {
        text_printf(out, "%s in ", domain->name);
        format_range(out, domain->low, domain->high);
    } else {
        text_printf(out, "%s < ", domain->name);
        format_bound(out, domain->high);
    }
}

void format_right_side(struct text *out, const struct ast_statement *define)
{
    print(out, define->value, BINDS_CONDITIONAL, FORMAT_VALUE);
    for (size_t i = 0; i < define->over.count; i++) {
        if (i > 0)
            text_comma(out);
        else
            text_printf(out, "%cover ", FORMAT_BREAK);
        print_domain(out, &define->over.at[i]);
    }
    if (define->condition) {
        text_printf(out, "%cif ", FORMAT_BREAK);
        print(out, define->condition, BINDS_CONDITIONAL, FORMAT_VALUE);
    }
    if (define->along.name)
        text_printf(out, "%calong %s", FORMAT_BREAK, define->along.name);
    if (define->reverse)
        text_printf(out, "%crev", FORMAT_BREAK);
    if (define->exclusive)
        text_printf(out, "%cexcl", FORMAT_BREAK);
    if (define->from.name)
        text_printf(out, "%cfrom %s", FORMAT_BREAK, define->from.name);
}

/* ---- the lines of a task ---- */

static void print_input(struct text *out, const struct ast_line *line)
{
    text_printf(out, "input %s", line->name.name);
    if (line->draws.count)
        format_draws(out, &line->draws);
    if (!line->has_interval)
        return;
    text_add(out, line->low_open ? " in (" : " in [");
    print(out, line->low, BINDS_CONDITIONAL, FORMAT_SIZE);
    text_comma(out);
    print(out, line->high, BINDS_CONDITIONAL, FORMAT_SIZE);
    text_char(out, line->high_open ? ')' : ']');
}

void format_line(struct text *out, const struct ast_line *line)
{
    switch (line->kind) {
    case AST_LINE_DTYPE:
        text_add(out, "dtype ");
        format_named(out, &line->named);
        break;
    case AST_LINE_INPUT: print_input(out, line); break;
    case AST_LINE_ACCURACY:
        text_printf(out, "accuracy %s%s", line->name.name,
                    line->deterministic ? " deterministic" : "");
        break;
    case AST_LINE_CACHE: text_printf(out, "cache %s", line->name.name); break;
    case AST_LINE_DETERMINISTIC: text_add(out, "deterministic"); break;
    case AST_LINE_SIZES:
        text_add(out, "sizes ");
        for (size_t i = 0; i < line->ranges.count; i++) {
            if (i > 0)
                text_comma(out);
            text_printf(out, "%s in ", line->ranges.at[i].name.name);
            format_range(out, line->ranges.at[i].low, line->ranges.at[i].high);
        }
        break;
    case AST_LINE_CASE:
        text_add(out, line->named.count ? "case " : "case");
        format_named(out, &line->named);
        if (line->timed)
            text_add(out, " time");
        break;
    case AST_LINE_BASELINE:
        text_printf(out, "baseline %s", line->name.name);
        if (line->text) {
            text_char(out, ' ');
            format_string(out, line->text);
        }
        break;
    }
}

/* ---- long lines ---- */

size_t format_width(const char *piece)
{
    size_t width = 0;
    for (; *piece; piece++)
        width += ((unsigned char)*piece & 0xc0) != 0x80;
    return width;
}

/*
 * Where to break a line that has `room` columns: as far out of brackets as possible, then as far
 * right, in the right half of the line; else wherever it fits; else at the first chance. NULL when
 * there is none.
 */
static const char *fill_break(const char *piece, size_t room)
{
    const char *best = NULL, *fits = NULL;
    int depth = 0, best_depth = 0;
    size_t column = 0;
    for (const char *at = piece; *at; at++) {
        if (*at == FORMAT_BREAK) {
            if (column > room)
                return best ? best : fits ? fits : at;
            fits = at;
            if (column * 2 > room && (!best || depth <= best_depth)) {
                best = at;
                best_depth = depth;
            }
        }
        depth += strchr("([", *at) ? 1 : strchr(")]", *at) ? -1 : 0;
        column += ((unsigned char)*at & 0xc0) != 0x80;
    }
    return best ? best : fits;
}

static void fill_add(struct text *out, const char *from, const char *to)
{
    for (; from < to; from++)
        text_char(out, *from == FORMAT_BREAK ? ' ' : *from);
}

void format_fill(struct text *out, const char *piece, int indent, int continuation)
{
    text_repeat(out, ' ', indent);
    size_t width = format_width(piece), used = (size_t)indent;
    while (used + width > FORMAT_WIDTH) {
        const char *at = fill_break(piece, used < FORMAT_WIDTH ? FORMAT_WIDTH - used : 0);
        if (!at)
            break;
        fill_add(out, piece, at);
        text_char(out, '\n');
        text_repeat(out, ' ', indent + continuation);
        for (; piece <= at; piece++)
            width -= ((unsigned char)*piece & 0xc0) != 0x80;
        used = (size_t)(indent + continuation);
    }
    fill_add(out, piece, piece + strlen(piece));
}

/* ---- for messages ---- */

static void text_unbreak(struct text *out, size_t from)
{
    for (size_t i = from; i < out->length; i++)
        if (out->at[i] == FORMAT_BREAK)
            out->at[i] = ' ';
}

void ast_print_expression(struct text *out, const struct ast_expression *expression)
{
    size_t from = out->length;
    format_expression(out, expression, FORMAT_VALUE);
    text_unbreak(out, from);
}

void ast_print_signature(struct text *out, const struct ast_op *op)
{
    size_t from = out->length;
    format_inputs(out, op);
    text_add(out, " -> ");
    format_outputs(out, op);
    text_unbreak(out, from);
}
