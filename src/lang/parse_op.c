/*
 * An op: its signature (inputs; parameters) -> (outputs), the clauses let and where, and its body.
 */
#include <string.h>

#include "lang/parse.h"

/* "[" [dim {"," dim}] "]" with dim := "*" NAME | NAME "..." | expr */
void parse_dims(struct parser *parser, struct ast_dims *dims)
{
    struct place open = parser->token.place;
    parser_expect(parser, "[", "before the sizes");
    bool more = !parser_at(parser, "]");
    while (more && !parser->panicking) {
        struct ast_dim dim = {.kind = AST_DIM_SIZE, .place = parser->token.place};
        if (parser_accept(parser, "*")) {
            dim.kind = AST_DIM_RANK;
            dim.name = parser_name(parser, "the name of a group of sizes after '*'").name;
        } else if (parser->token.kind == TOKEN_NAME && parser_next_is(parser, "...")) {
            dim.kind = AST_DIM_EACH;
            dim.name = parser->token.text;
            parser_advance(parser);
            parser_advance(parser);
        } else {
            dim.size = parse_expression(parser);
        }
        dim.place = parser_since(parser, dim.place);
        vector_push(parser->arena, dims, dim);
        parser_count(parser);
        more = parser_accept(parser, ",");
    }
    parser_close(parser, "]", open, "after the sizes");
}

/* draw := NAME ["(" [expr {"," expr}] ")"] */
void parse_draws(struct parser *parser, struct ast_draws *draws, bool on_line)
{
    const char *what = "a way to draw values, such as normal(0, 1)";
    if (on_line && parser->token.line_start)
        parser_fault_expected(parser, "%s", what);
    do {
        struct ast_name name = parser_name(parser, what);
        struct ast_draw draw = {.name = name.name, .place = name.place};
        struct place open = parser->token.place;
        if (parser_accept(parser, "(")) {
            bool more = !parser_at(parser, ")");
            while (more && !parser->panicking) {
                struct ast_expression *argument = parse_expression(parser);
                vector_push(parser->arena, &draw.arguments, argument);
                more = parser_accept(parser, ",");
            }
            parser_close(parser, ")", open, "after the arguments of %s", name.name);
        }
        draw.place = parser_since(parser, name.place);
        vector_push(parser->arena, draws, draw);
        parser_count(parser);
    } while (parser->token.kind == TOKEN_NAME && !(on_line && parser->token.line_start));
}

/* The type after a colon; "" in panic. */
static void parse_type(struct parser *parser, struct ast_declaration *declaration)
{
    const char *name = declaration->names.at[0].name;
    if (!parser_at(parser, ":") && !parser->panicking) {
        struct error *error = parser_fault_expected(parser, "':' and a type after %.60s", name);
        error_hint(error, "write it like `%.60s: f32[N, D]`", name);
    }
    parser_accept(parser, ":");
    if (parser_at(parser, "[")) {
        struct error *error =
            parser_fault_expected(parser, "a type before the sizes of %.60s", name);
        error_hint(error, "a type such as f32, or T for any float type: `%.60s: T[...]`", name);
    }
    struct ast_name type = parser_name(parser, "a type such as f32 or T");
    declaration->type = type.name;
    declaration->type_place = type.place;
}

/* NAME {"," NAME} ":" type "[" dims "]" ["..."] ["~" draw {draw}] */
static void parse_declaration(struct parser *parser, struct ast_declaration *declaration,
                              const char *what)
{
    struct place start = parser->token.place;
    parse_names(parser, &declaration->names, what);
    const char *name = declaration->names.at[0].name;
    parse_type(parser, declaration);
    if (!parser_at(parser, "[") && !parser->panicking) {
        struct error *error = parser_fault_expected(parser, "'[' with the sizes of %.60s", name);
        error_hint(error,
                   "a tensor of one value is `%.60s: %.20s[]`; a parameter stands after a "
                   "semicolon: `(x: T[N]; %.60s: %.20s = 1)`",
                   name, declaration->type, name, declaration->type);
    }
    declaration->has_dims = true;
    parse_dims(parser, &declaration->dims);
    declaration->is_list = parser_accept(parser, "...");
    if (parser_accept(parser, "~"))
        parse_draws(parser, &declaration->facts, false);
    if (parser_at(parser, "=")) {
        struct error *error = parser_fault(parser, ERROR_EXPECTED, parser->token.place,
                                           "a tensor has no default value");
        error_hint(error, "parameters with a default stand after a semicolon: "
                          "`(x: T[N]; eps: f32 = 1e-5)`");
    }
    declaration->place = parser_since(parser, start);
}

static void parse_declarations(struct parser *parser, struct ast_declarations *list,
                               const char *what)
{
    do {
        struct ast_declaration declaration = {0};
        parse_declaration(parser, &declaration, what);
        vector_push(parser->arena, list, declaration);
    } while (parser_accept(parser, ","));
}

/* NAME {"," NAME} ":" type ["=" expr] */
static void parse_parameters(struct parser *parser, struct ast_declarations *list)
{
    do {
        struct ast_declaration parameter = {.place = parser->token.place};
        parse_names(parser, &parameter.names, "the name of a parameter");
        parse_type(parser, &parameter);
        if (parser_at(parser, "[")) {
            struct error *error =
                parser_fault(parser, ERROR_EXPECTED, parser->token.place,
                             "%.60s is a parameter, a single value: it has no sizes",
                             parameter.names.at[0].name);
            error_hint(error, "tensors stand before the semicolon: `(x: T[N], w: T[N]; eps: f32)`");
        }
        if (parser_accept(parser, "="))
            parameter.initial = parse_expression(parser);
        parameter.place = parser_since(parser, parameter.place);
        vector_push(parser->arena, list, parameter);
    } while (parser_accept(parser, ","));
}

/* "let" NAME "=" expr {"," NAME "=" expr} */
static void parse_let(struct parser *parser, struct ast_clauses *clauses)
{
    do {
        struct ast_clause clause = {.kind = AST_LET};
        clause.name = parser_name(parser, "the name of a size after 'let'");
        parser_expect(parser, "=", "after let %s", clause.name.name);
        clause.value = parse_expression(parser);
        clause.place = parser_since(parser, clause.name.place);
        vector_push(parser->arena, clauses, clause);
    } while (parser_accept(parser, ","));
}

/* "where" fact {"," fact} with fact := NAME ":" class | expr */
static void parse_where(struct parser *parser, struct ast_clauses *clauses)
{
    do {
        struct ast_clause clause = {.kind = AST_WHERE, .place = parser->token.place};
        if (parser->token.kind == TOKEN_NAME && parser_next_is(parser, ":")) {
            static const char *const classes[] = {"float", "int", "number", "any"};
            clause.name = parser_name(parser, "a type");
            parser_advance(parser);
            struct token token = parser->token;
            clause.class = parser_name(parser, "float, int, number or any");
            bool known = false;
            for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
                known = known || strcmp(clause.class.name, classes[i]) == 0;
            if (!known && !parser->panicking) {
                struct error *error = parser_fault(parser, ERROR_EXPECTED, token.place,
                                                   "'%.60s' is not a class of types", token.text);
                error_hint(error,
                           "the classes are float, int, number and any: `where %.60s: float`",
                           clause.name.name);
            }
        } else {
            clause.value = parse_expression(parser);
        }
        clause.place = parser_since(parser, clause.place);
        vector_push(parser->arena, clauses, clause);
    } while (parser_accept(parser, ","));
}

static void parse_arrow(struct parser *parser, const char *name)
{
    if (parser_accept(parser, "->") || parser->panicking)
        return;
    struct place place = parser_gap(parser);
    const char *found = parser_found(parser);
    struct error *error = parser_fault(parser, ERROR_MISSING_ARROW, place,
                                       "expected '->' and the outputs of op %.60s", name);
    error_detail(error, "found %s", found);
    error_hint(error, "outputs are declared like inputs: `op %.60s(...) -> (y: T[N]) {`", name);
}

static void parse_clauses(struct parser *parser, struct ast_op *op)
{
    static const char *const words[] = {"let", "where"};
    for (;;) {
        if (parser_accept(parser, "let")) {
            parse_let(parser, &op->clauses);
        } else if (parser_accept(parser, "where")) {
            parse_where(parser, &op->clauses);
        } else {
            break;
        }
    }
    if (!parser_at(parser, "{") && !parser->panicking) {
        const char *nearest = parser->token.kind == TOKEN_NAME
                                  ? spelling_nearest(parser->token.text, words, 2)
                                  : NULL;
        bool colon = parser_at(parser, ":"), equals = parser_at(parser, "=");
        struct error *error =
            parser_fault_expected(parser, "'{' to open the body of op %.60s", op->name.name);
        if (nearest)
            error_hint(error, "did you mean '%s'?", nearest);
        else if (colon || equals)
            error_hint(error, "the statements of an op stand in braces: { ... }");
    }
}

void parse_op(struct parser *parser, struct ast_op *op)
{
    struct place start = parser->token.place;
    parser->suspect = (struct place){0};
    parser_advance(parser);
    op->name = parser_name(parser, "a name for the op");
    const char *name = op->name.name;
    struct place open = parser->token.place;
    parser_expect(parser, "(", "after the name of op %s", name);
    if (!parser_at(parser, ")") && !parser_at(parser, ";"))
        parse_declarations(parser, &op->inputs, "the name of an input");
    if (parser_accept(parser, ";"))
        parse_parameters(parser, &op->parameters);
    parser_close(parser, ")", open, "after the inputs of op %s", name);
    parse_arrow(parser, name);
    open = parser->token.place;
    if (!parser_at(parser, "(") && !parser->panicking) {
        struct error *error =
            parser_fault_expected(parser, "'(' before the outputs of op %.60s", name);
        error_hint(error, "outputs stand in parentheses, with a name: `-> (y: T[N])`");
    }
    parser_accept(parser, "(");
    parse_declarations(parser, &op->outputs, "the name of an output");
    parser_close(parser, ")", open, "after the outputs of op %s", name);
    parse_clauses(parser, op);
    op->place = parser_since(parser, start);
    parse_body(parser, &op->body, &op->end, arena_printf(parser->arena, "op %s", name));
}
