/*
 * Expressions: values, indices and sizes share one grammar, loosest binding first:
 *
 *     c ? a : b    or    and    not    == != < <= > >=    + -    * / % /! div mod    -a    ^
 */
#include <stdio.h>
#include <string.h>

#include "lang/parse.h"

static struct ast_expression *expression_new(struct parser *parser, enum ast_kind kind,
                                             struct place place)
{
    struct ast_expression *expression = arena_new(parser->arena, struct ast_expression);
    expression->kind = kind;
    expression->place = place;
    expression->name = "";
    expression->height = 1;
    parser_count(parser);
    return expression;
}

/* Hangs `child` below `parent`, keeping account of the height. */
static struct ast_expression *expression_hang(struct parser *parser, struct ast_expression *parent,
                                              struct ast_expression *child)
{
    if (child->height >= parent->height)
        parent->height = child->height + 1;
    if (parent->height > AST_HEIGHT_MAXIMUM) {
        struct error *error = parser_fault(parser, ERROR_TOO_DEEP, parser->token.place,
                                           "this expression has more than %d operators in a row",
                                           AST_HEIGHT_MAXIMUM - 1);
        error_hint(error, "compute it in several statements, or as a reduction");
        parent->height = 1; /* said once; the tree is thrown away */
    }
    return child;
}

static struct ast_expression *expression_binary(struct parser *parser, enum ast_operator operator,
                                                struct ast_expression * a, struct ast_expression *b)
{
    struct ast_expression *binary =
        expression_new(parser, AST_BINARY, place_join(a->place, b->place));
    binary->operator= operator;
    binary->a = expression_hang(parser, binary, a);
    binary->b = expression_hang(parser, binary, b);
    return binary;
}

static struct ast_expression *parse_unary(struct parser *parser);

/* ---- primaries ---- */

/* index {"," index}: a value or *b. The caller reads the brackets. */
void parse_indices(struct parser *parser, struct ast_expressions *indices, const char *of)
{
    if (parser_at(parser, "]") || parser_at(parser, "else"))
        return;
    do {
        struct ast_expression *index;
        if (parser_at(parser, "*")) {
            struct place start = parser->token.place;
            parser_advance(parser);
            struct ast_name name = parser_name(parser, "the name of a group of indices after '*'");
            index = expression_new(parser, AST_GROUP, parser_since(parser, start));
            index->name = name.name;
        } else if (parser_at(parser, ":")) {
            struct error *error = parser_fault_expected(parser, "an index of %s", of);
            error_hint(error, "there are no slices: name the index, as in y[i] = %.40s[i]", of);
            return;
        } else {
            index = parse_expression(parser);
        }
        vector_push(parser->arena, indices, index);
    } while (parser_accept(parser, ","));
}

static void fault_else(struct parser *parser)
{
    struct error *error = parser_fault(parser, ERROR_MISPLACED_ELSE, parser->token.place,
                                       "'else' stands only at the end of the brackets of a read");
    error_hint(error, "a read outside its tensor: `x[i - 1 else 0]`; a choice: `c ? a : b`");
}

/* "[" indices ["else" expr] "]" of a read; the indices go to list, the else to a. */
static void parse_read_bracket(struct parser *parser, struct ast_expression *read)
{
    struct place open = parser->token.place;
    parser_advance(parser);
    read->list = (struct ast_expressions){0};
    parse_indices(parser, &read->list, read->name);
    if (parser_accept(parser, "else"))
        read->a = expression_hang(parser, read, parse_expression(parser));
    parser_close(parser, "]", open, "after the indices of %s", read->name);
    for (size_t i = 0; i < read->list.count; i++)
        expression_hang(parser, read, read->list.at[i]);
}

static bool parser_at_application(const struct parser *parser, const char *bracket)
{
    return parser_at(parser, bracket) && !parser->token.line_start;
}

static struct ast_expression *parse_read(struct parser *parser, struct ast_name name)
{
    struct ast_expression *read = expression_new(parser, AST_READ, name.place);
    read->name = name.name;
    read->name_place = name.place;
    parse_read_bracket(parser, read);
    if (parser_at_application(parser, "[")) {
        struct place first = parser_since(parser, name.place);
        if (read->a) {
            struct error *error = parser_fault(parser, ERROR_MISPLACED_ELSE, read->a->place,
                                               "'else' belongs in the last brackets of a read");
            error_hint(error, "write %.60s[k][... else 0]", read->name);
        } else if (read->list.count != 1 || read->list.at[0]->kind == AST_GROUP) {
            struct error *error =
                parser_fault(parser, ERROR_EXPECTED, first,
                             "expected one index in the first brackets of %s", read->name);
            error_hint(error, "x[i, j] reads a tensor; xs[k][i, j] reads element k of a list");
        }
        read->element = read->list.count ? read->list.at[0] : NULL;
        parse_read_bracket(parser, read);
    }
    if (parser_at_application(parser, "[")) {
        struct error *error = parser_fault(parser, ERROR_EXPECTED, parser->token.place,
                                           "%s has a third pair of brackets", read->name);
        error_hint(error, "indices stand in one pair, separated by commas: x[i, j, k]");
    }
    read->place = parser_since(parser, name.place);
    return read;
}

/* ";" NAME "=" expr {"," NAME "=" expr} */
static void parse_named(struct parser *parser, struct ast_expression *call)
{
    do {
        struct ast_name name = parser_name(parser, "the name of a parameter");
        struct ast_named named = {.name = name.name, .place = name.place};
        parser_expect(parser, "=", "after parameter %s of %s", name.name, call->name);
        named.value = expression_hang(parser, call, parse_expression(parser));
        vector_push(parser->arena, &call->named, named);
    } while (parser_accept(parser, ","));
}

static struct ast_expression *parse_call(struct parser *parser, struct ast_name name)
{
    struct ast_expression *call = expression_new(parser, AST_CALL, name.place);
    struct place open = parser->token.place;
    call->name = name.name;
    call->name_place = name.place;
    parser_advance(parser);
    bool more = !parser_at(parser, ")") && !parser_at(parser, ";");
    while (more && !parser->panicking) {
        if (parser->token.kind == TOKEN_NAME && parser_next_is(parser, "=")) {
            struct error *error = parser_fault(parser, ERROR_EXPECTED, parser->token.place,
                                               "named parameters stand after a semicolon");
            error_hint(error, "write `%.60s(...; %.60s=...)`", name.name, parser->stuck.text);
            break;
        }
        struct ast_expression *argument = parse_expression(parser);
        vector_push(parser->arena, &call->list, expression_hang(parser, call, argument));
        more = parser_accept(parser, ",");
    }
    if (parser_accept(parser, ";"))
        parse_named(parser, call);
    parser_close(parser, ")", open, "after the arguments of %s", name.name);
    call->place = parser_since(parser, name.place);
    return call;
}

/* "(" expr ")", or a tuple where one may stand */
static struct ast_expression *parse_parentheses(struct parser *parser)
{
    struct place open = parser->token.place;
    bool tuple_allowed = parser->tuple_at == open.offset;
    parser->tuple_at = SIZE_MAX;
    parser_advance(parser);
    struct ast_expression *inner = parse_expression(parser);
    if (!parser_at(parser, ",")) {
        parser_close(parser, ")", open, "to close the parenthesis");
        inner->parenthesised = true;
        inner->place = parser_since(parser, open);
        return inner;
    }
    struct ast_expression *tuple = expression_new(parser, AST_TUPLE, open);
    if (!tuple_allowed) {
        struct error *error = parser_fault(parser, ERROR_MISPLACED_TUPLE, parser->token.place,
                                           "a tuple stands only as the whole right side");
        error_hint(error, "write it like `(m[i], k[i]) argmax= (x[i, j], j)`");
    }
    vector_push(parser->arena, &tuple->list, expression_hang(parser, tuple, inner));
    while (parser_accept(parser, ",")) {
        struct ast_expression *member = parse_expression(parser);
        vector_push(parser->arena, &tuple->list, expression_hang(parser, tuple, member));
    }
    parser_close(parser, ")", open, "after the members of the tuple");
    tuple->place = parser_since(parser, open);
    return tuple;
}

static struct ast_expression *parse_list(struct parser *parser)
{
    struct place open = parser->token.place;
    struct ast_expression *list = expression_new(parser, AST_LIST, open);
    parser_advance(parser);
    bool more = !parser_at(parser, "]");
    while (more && !parser->panicking) {
        struct ast_expression *member = parse_expression(parser);
        vector_push(parser->arena, &list->list, expression_hang(parser, list, member));
        more = parser_accept(parser, ",");
    }
    parser_close(parser, "]", open, "after the members of the list");
    list->place = parser_since(parser, open);
    return list;
}

static struct ast_expression *parse_number(struct parser *parser)
{
    const struct token *token = &parser->token;
    bool is_float = token->kind == TOKEN_FLOAT;
    struct ast_expression *number =
        expression_new(parser, is_float ? AST_FLOAT : AST_INTEGER, token->place);
    number->integer = token->integer;
    number->number = is_float ? token->number : (double)token->integer;
    number->spelling = arena_copy(parser->arena, token->place.source->text + token->place.offset,
                                  token->place.length);
    parser_advance(parser);
    return number;
}

/* Nothing here starts a value. */
static void fault_value(struct parser *parser)
{
    const struct token token = parser->token;
    const char *found = parser_found(parser);
    struct error *error;
    if (token.kind == TOKEN_KEYWORD && !token.line_start && strcmp(token.text, "else") == 0) {
        fault_else(parser);
    } else if (token.kind == TOKEN_KEYWORD && !token.line_start) {
        error = parser_fault(parser, ERROR_RESERVED_NAME, token.place,
                             "%s is a word of the language, expected a value", found);
        if (strcmp(token.text, "if") == 0)
            error_hint(error, "a choice between values is written `c ? a : b`");
        else
            error_hint(error, "a tensor or index needs another name, such as %s_", token.text);
    } else if (token.kind == TOKEN_STRING) {
        parser_fault_expected(parser, "a value");
    } else if (parser_at(parser, "*")) {
        error = parser_fault_expected(parser, "a value");
        error_hint(error, "a group like *b stands only between the brackets of a tensor");
    } else if (parser_at(parser, "+")) {
        error = parser_fault_expected(parser, "a value");
        error_hint(error, "there is no unary plus: leave it out");
    } else if (parser_at(parser, "=")) {
        error = parser_fault_expected(parser, "a value");
        error_hint(error, "equality is written `==`");
    } else {
        parser_fault_expected(parser, "a value");
    }
}

static struct ast_expression *parse_primary(struct parser *parser)
{
    struct place start = parser->token.place;
    if (parser->token.kind == TOKEN_INTEGER || parser->token.kind == TOKEN_FLOAT)
        return parse_number(parser);
    if (parser_at(parser, "("))
        return parse_parentheses(parser);
    if (parser_at(parser, "["))
        return parse_list(parser);
    if (parser_at(parser, "true") || parser_at(parser, "false")) {
        struct ast_expression *literal = expression_new(parser, AST_BOOL, start);
        literal->integer = parser_at(parser, "true");
        parser_advance(parser);
        return literal;
    }
    if (parser->token.kind == TOKEN_NAME) {
        struct ast_name name = {parser->token.text, start};
        parser_advance(parser);
        if (parser_at_application(parser, "("))
            return parse_call(parser, name);
        if (parser_at_application(parser, "["))
            return parse_read(parser, name);
        struct ast_expression *expression = expression_new(parser, AST_NAME, start);
        expression->name = name.name;
        expression->name_place = start;
        return expression;
    }
    if (!parser->panicking)
        fault_value(parser);
    return expression_new(parser, AST_NAME, start);
}

/* ---- operators, tightest first ---- */

static struct ast_expression *parse_power(struct parser *parser)
{
    struct ast_expression *base = parse_primary(parser);
    if (!parser_accept(parser, "^") || !parser_enter(parser))
        return base;
    struct ast_expression *power = expression_binary(parser, AST_POWER, base, parse_unary(parser));
    parser_leave(parser);
    return power;
}

static struct ast_expression *expression_unary(struct parser *parser, enum ast_operator operator,
                                               struct ast_expression * (*operand)(struct parser *))
{
    struct place start = parser->token.place;
    if (!parser_enter(parser))
        return expression_new(parser, AST_NAME, start);
    struct ast_expression *unary = expression_new(parser, AST_UNARY, start);
    unary->operator= operator;
    parser_advance(parser);
    unary->a = expression_hang(parser, unary, operand(parser));
    unary->place = parser_since(parser, start);
    parser_leave(parser);
    return unary;
}

static struct ast_expression *parse_unary(struct parser *parser)
{
    if (parser_at(parser, "-"))
        return expression_unary(parser, AST_NEGATE, parse_unary);
    return parse_power(parser);
}

struct operator_sign {
    const char *text;
    enum ast_operator operator;
};

static bool parse_operator(struct parser *parser, const struct operator_sign *signs,
                           enum ast_operator *operator)
{
    for (; signs->text; signs++) {
        if (parser_accept(parser, signs->text)) {
            *operator= signs->operator;
            return true;
        }
    }
    return false;
}

static struct ast_expression *parse_product(struct parser *parser)
{
    static const struct operator_sign signs[] = {
        {"*", AST_MULTIPLY},      {"/", AST_DIVIDE},         {"%", AST_REMAINDER},
        {"/!", AST_DIVIDE_EXACT}, {"div", AST_FLOOR_DIVIDE}, {"mod", AST_MODULO},
        {NULL, AST_MULTIPLY},
    };
    enum ast_operator operator;
    struct ast_expression *product = parse_unary(parser);
    while (parse_operator(parser, signs, &operator))
        product = expression_binary(parser, operator, product, parse_unary(parser));
    return product;
}

struct ast_expression *parse_sum(struct parser *parser)
{
    static const struct operator_sign signs[] = {
        {"+", AST_ADD}, {"-", AST_SUBTRACT}, {NULL, AST_ADD}};
    enum ast_operator operator;
    struct ast_expression *sum = parse_product(parser);
    while (parse_operator(parser, signs, &operator))
        sum = expression_binary(parser, operator, sum, parse_product(parser));
    return sum;
}

/* a < b < c: reads on, so that the hint can show what to write. */
static void fault_chain(struct parser *parser, struct ast_expression *compare,
                        enum ast_operator operator, struct ast_expression * c)
{
    if (parser->panicking)
        return;
    struct text first = text_new(parser->arena), second = text_new(parser->arena);
    struct ast_expression *again = expression_binary(parser, operator, compare->b, c);
    ast_print_expression(&first, compare);
    ast_print_expression(&second, again);
    struct error *error =
        parser_fault(parser, ERROR_CHAINED_COMPARISON, place_join(compare->place, c->place),
                     "comparisons cannot be chained");
    if (first.length + second.length < 200)
        error_hint(error, "write `%s and %s`", first.at, second.at);
    else
        error_hint(error, "join two comparisons with `and`");
}

static struct ast_expression *parse_compare(struct parser *parser)
{
    static const struct operator_sign signs[] = {
        {"==", AST_EQUAL},  {"!=", AST_UNEQUAL},       {"<", AST_LESS},   {"<=", AST_LESS_EQUAL},
        {">", AST_GREATER}, {">=", AST_GREATER_EQUAL}, {NULL, AST_EQUAL},
    };
    enum ast_operator operator;
    struct ast_expression *compare = parse_sum(parser);
    if (parse_operator(parser, signs, &operator))
        compare = expression_binary(parser, operator, compare, parse_sum(parser));
    else
        return compare;
    if (parse_operator(parser, signs, &operator))
        fault_chain(parser, compare, operator, parse_sum(parser));
    return compare;
}

static struct ast_expression *parse_not(struct parser *parser)
{
    if (parser_at(parser, "not"))
        return expression_unary(parser, AST_NOT, parse_not);
    return parse_compare(parser);
}

static struct ast_expression *parse_and(struct parser *parser)
{
    struct ast_expression *all = parse_not(parser);
    while (parser_accept(parser, "and"))
        all = expression_binary(parser, AST_AND, all, parse_not(parser));
    return all;
}

static struct ast_expression *parse_or(struct parser *parser)
{
    struct ast_expression *any = parse_and(parser);
    while (parser_accept(parser, "or"))
        any = expression_binary(parser, AST_OR, any, parse_and(parser));
    return any;
}

/* c ? a : b */
static struct ast_expression *parse_conditional(struct parser *parser)
{
    struct ast_expression *condition = parse_or(parser);
    if (!parser_accept(parser, "?"))
        return condition;
    struct ast_expression *choice = expression_new(parser, AST_CONDITIONAL, condition->place);
    choice->a = expression_hang(parser, choice, condition);
    choice->b = expression_hang(parser, choice, parse_expression(parser));
    parser_expect(parser, ":", "between the two values of a choice");
    choice->c = expression_hang(parser, choice, parse_expression(parser));
    choice->place = parser_since(parser, condition->place);
    return choice;
}

struct ast_expression *parse_expression(struct parser *parser)
{
    if (!parser_enter(parser))
        return expression_new(parser, AST_NAME, parser->token.place);
    struct ast_expression *expression = parse_conditional(parser);
    parser_leave(parser);
    return expression;
}

/* The right side of a definition, the result and the unit of a monoid. */
struct ast_expression *parse_tuple(struct parser *parser)
{
    struct place start = parser->token.place;
    parser->tuple_at = parser_at(parser, "(") ? start.offset : SIZE_MAX;
    struct ast_expression *value = parse_expression(parser);
    parser->tuple_at = SIZE_MAX;
    /* the leftmost leaf of a larger expression may be the tuple: (a, b) + c */
    struct ast_expression *left = value;
    while (left->kind == AST_BINARY || left->kind == AST_CONDITIONAL)
        left = left->a;
    if (left->kind == AST_TUPLE && left != value) {
        struct error *error = parser_fault(parser, ERROR_MISPLACED_TUPLE, left->place,
                                           "a tuple stands only as the whole right side");
        error_hint(error, "compute inside it: `(a + 1, b)`");
    }
    return value;
}
