/*
 * Statements: declarations, definitions with their reductions, scans and modifiers, loop and each.
 */
#include <string.h>

#include "lang/parse.h"

/* ---- targets and operators ---- */

static void parse_target(struct parser *parser, struct ast_target *target)
{
    struct ast_name name = parser_name(parser, "the name of a tensor");
    target->name = name.name;
    target->name_place = name.place;
    if (parser_at(parser, "[") && !parser->token.line_start) {
        struct place open = parser->token.place;
        target->has_indices = true;
        parser_advance(parser);
        parse_indices(parser, &target->indices, name.name);
        if (parser_at(parser, "else")) {
            struct error *error =
                parser_fault(parser, ERROR_MISPLACED_ELSE, parser->token.place,
                             "'else' stands only in a read, not on the left side");
            error_hint(error, "a choice between values is `%.60s[...] = c ? a : b`", name.name);
        }
        parser_close(parser, "]", open, "after the indices of %s", name.name);
    }
    target->place = parser_since(parser, name.place);
}

static void parse_targets(struct parser *parser, struct ast_statement *statement)
{
    struct place open = parser->token.place;
    statement->is_tuple = parser_accept(parser, "(");
    do {
        struct ast_target target = {0};
        parse_target(parser, &target);
        vector_push(parser->arena, &statement->targets, target);
    } while (statement->is_tuple && parser_accept(parser, ","));
    if (statement->is_tuple)
        parser_close(parser, ")", open, "after the targets of the tuple");
}

/* Words by which people start statements elsewhere. */
static const char *habit_hint(const char *word)
{
    static const struct {
        const char *word, *hint;
    } habits[] = {
        {"for", "an index needs no loop: `y[i] = 2 * x[i]` holds for every i; a "
                "recurrence is a `loop`"},
        {"while", "a recurrence with a known number of steps is `loop t < T with h = h0 { ... }`"},
        {"return", "nothing is returned: define the outputs named after `->`"},
        {"def", "an op stands outside other ops; a function of numbers is `fn f(x) = ...`"},
        {"var", "leave it out: `t[i] = ...` makes t; a declaration is `t: f32[N]`"},
        {"const", "leave it out: `t[i] = ...` makes t; a declaration is `t: f32[N]`"},
        {"auto", "leave it out: `t[i] = ...` makes t; a declaration is `t: f32[N]`"},
        {"float", "leave it out: `t[i] = ...` makes t; a declaration is `t: f32[N]`"},
        {"double", "leave it out: `t[i] = ...` makes t; a declaration is `t: f64[N]`"},
        {"int", "leave it out: `t[i] = ...` makes t; a declaration is `t: i32[N]`"},
        {"print", "an op only computes; `smelt ref` shows the values of its outputs"},
        {"assert", "state what holds with `where` in the signature"},
        {"switch", "a choice between values is written `c ? a : b`"},
        {"pass", "leave it out"},
    };
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
        if (strcmp(word, habits[i].word) == 0)
            return habits[i].hint;
    return NULL;
}

static const char *const statement_words[] = {"next", "scatter", "loop", "each"};

/* No operator after the left side. `beside`: the statement began in the middle of a line. */
static void fault_operator(struct parser *parser, const struct ast_statement *statement,
                           bool beside)
{
    if (parser->panicking)
        return;
    const struct ast_target *target = &statement->targets.at[0];
    bool bare = statement->targets.count == 1 && !statement->is_tuple && !target->has_indices;
    const char *hint = bare ? habit_hint(target->name) : NULL;
    struct error *error;
    if (hint) {
        error = parser_fault(parser, ERROR_BAD_STATEMENT, target->place,
                             "there is no '%.60s' statement", target->name);
        error_hint(error, "%s", hint);
    } else if (parser_at(parser, "==")) {
        error = parser_fault(parser, ERROR_BAD_OPERATOR, parser->token.place,
                             "'==' compares, it does not define");
        error_hint(error, "write `=`");
    } else if (beside) {
        error = parser_fault(parser, ERROR_EXPECTED, target->place,
                             "expected an operator before '%.60s'", target->name);
        error_hint(error, "values side by side mean nothing: write `*` to multiply, or start a new "
                          "line for a new statement");
    } else if (parser->token.kind == TOKEN_NAME && !parser->token.line_start &&
               parser_next_is(parser, "=") &&
               parser->token.place.offset + parser->token.place.length !=
                   parser->next.place.offset) {
        const char *name = parser->token.text;
        error = parser_fault(parser, ERROR_BAD_OPERATOR, parser->token.place,
                             "there is a space inside the reduction '%.60s='", name);
        error_hint(error, "write `%.60s=` in one piece", name);
    } else {
        const char *nearest = bare ? spelling_nearest(target->name, statement_words, 4) : NULL;
        bool word = parser->token.kind == TOKEN_NAME && !parser->token.line_start;
        error = parser_fault_expected(parser, "an operator such as '=' or '+=' after %.60s",
                                      target->name);
        if (nearest && word)
            error_hint(error, "did you mean '%s'?", nearest);
        else if (bare && parser->stuck.kind == TOKEN_SIGN && strcmp(parser->stuck.text, "(") == 0)
            error_hint(error, "a call needs a left side: `y = %.60s(...)`", target->name);
    }
}

/* "=" | "+=" | "*=" | NAME "=" in one piece */
static void parse_operator(struct parser *parser, struct ast_statement *statement, bool beside)
{
    struct token token = parser->token;
    statement->operator_place = token.place;
    if (parser_accept(parser, "="))
        return;
    if (parser_accept(parser, "+=")) {
        statement->reducer = map_intern(parser->lexer.names, "+", 1);
    } else if (parser_accept(parser, "*=")) {
        statement->reducer = map_intern(parser->lexer.names, "*", 1);
    } else if ((token.kind == TOKEN_NAME || parser_at(parser, "and") || parser_at(parser, "or")) &&
               parser_next_is(parser, "=") &&
               token.place.offset + token.place.length == parser->next.place.offset) {
        statement->reducer = map_intern(parser->lexer.names, token.text, strlen(token.text));
        parser_advance(parser);
        parser_advance(parser);
        statement->operator_place = parser_since(parser, token.place);
    } else {
        fault_operator(parser, statement, beside);
    }
}

/* ---- modifiers ---- */

/* NAME "<" sum | NAME "in" sum ".." sum | "*" NAME "<" "*" NAME */
static void parse_domain(struct parser *parser, struct ast_domain *domain)
{
    struct place start = parser->token.place;
    domain->is_group = parser_accept(parser, "*");
    struct ast_name name = parser_name(parser, "an index after 'over'");
    domain->name = name.name;
    if (domain->is_group) {
        parser_expect(parser, "<", "after the group *%s", name.name);
        struct place group = parser->token.place;
        parser_expect(parser, "*", "before the sizes of the group *%s", name.name);
        domain->high = arena_new(parser->arena, struct ast_expression);
        domain->high->kind = AST_GROUP;
        domain->high->height = 1;
        domain->high->name = parser_name(parser, "the name of the group's sizes").name;
        domain->high->place = parser_since(parser, group);
    } else if (parser_accept(parser, "in")) {
        domain->low = parse_sum(parser);
        parser_expect(parser, "..", "after the lower bound of %s", name.name);
        domain->high = parse_sum(parser);
    } else if (parser_at(parser, "<=")) {
        struct error *error = parser_fault_expected(parser, "'<' after the index %.60s", name.name);
        error_hint(error, "the bound is the first one left out: write `%.60s < N + 1`", name.name);
    } else {
        if (!parser_at(parser, "<") && !parser->panicking) {
            struct error *error =
                parser_fault_expected(parser, "'<' or 'in' after the index %.60s", name.name);
            error_hint(error, "write `over %.60s < N` or `over %.60s in a .. b`", name.name,
                       name.name);
        }
        parser_accept(parser, "<");
        domain->high = parse_sum(parser);
    }
    domain->place = parser_since(parser, start);
    parser_count(parser);
}

/* A modifier said before: `seen` tells. */
static void refuse_twice(struct parser *parser, bool seen, const char *hint)
{
    if (!seen)
        return;
    const char *found = parser_found(parser);
    struct error *error = parser_fault(parser, ERROR_REPEATED_WORD, parser->token.place,
                                       "%s is said twice in one statement", found);
    error_hint(error, "%s", hint);
}

static bool parse_modifier(struct parser *parser, struct ast_statement *statement)
{
    if (parser_at(parser, "over")) {
        refuse_twice(parser, statement->over.count > 0,
                     "list the indices after one `over`: i < N, j < M");
        parser_advance(parser);
        do {
            struct ast_domain domain = {0};
            parse_domain(parser, &domain);
            vector_push(parser->arena, &statement->over, domain);
        } while (parser_accept(parser, ","));
    } else if (parser_at(parser, "if")) {
        refuse_twice(parser, statement->condition != NULL, "join the conditions with `and`");
        parser_advance(parser);
        statement->condition = parse_expression(parser);
    } else if (parser_at(parser, "rev")) {
        refuse_twice(parser, statement->reverse, "leave one out");
        statement->reverse = true;
        parser_advance(parser);
    } else if (parser_at(parser, "excl")) {
        refuse_twice(parser, statement->exclusive, "leave one out");
        statement->exclusive = true;
        parser_advance(parser);
    } else if (parser_at(parser, "along")) {
        refuse_twice(parser, statement->along.name != NULL, "a scan runs along one index");
        parser_advance(parser);
        statement->along = parser_name(parser, "an index after 'along'");
    } else if (parser_at(parser, "from")) {
        refuse_twice(parser, statement->from.name != NULL, "a scatter starts from one tensor");
        parser_advance(parser);
        statement->from = parser_name(parser, "a tensor after 'from'");
    } else {
        return false;
    }
    return true;
}

/* ---- statements ---- */

static void parse_define(struct parser *parser, struct ast_statement *statement)
{
    struct place start = parser->token.place;
    const char *text = parser->lexer.source->text;
    size_t before = parser->last.offset + parser->last.length;
    bool beside = !parser->token.line_start && before > 0 && !strchr(";{", text[before - 1]);
    statement->kind = AST_DEFINE;
    statement->is_next = parser_accept(parser, "next");
    if (!statement->is_next)
        statement->is_scatter = parser_accept(parser, "scatter");
    parse_targets(parser, statement);
    statement->is_scan = parser_accept(parser, "scan");
    parse_operator(parser, statement, beside);
    statement->value = parse_tuple(parser);
    while (parse_modifier(parser, statement))
        ;
    statement->place = parser_since(parser, start);
}

static void parse_declare(struct parser *parser, struct ast_statement *statement)
{
    struct ast_declaration *declaration = &statement->declaration;
    struct place start = parser->token.place;
    statement->kind = AST_DECLARE;
    parse_names(parser, &declaration->names, "the name of a tensor");
    const char *name = declaration->names.at[0].name;
    if (parser_at(parser, "=") || parser_at(parser, "+=")) {
        struct error *error = parser_fault_expected(parser, "':' after the declared names");
        error_hint(error,
                   "several tensors are defined at once in parentheses: `(a[i], b[i]) m= ...`");
    }
    parser_expect(parser, ":", "after the declared names");
    if (!parser_at(parser, "[")) {
        struct ast_name type = parser_name(parser, "a type such as f32, or '['");
        declaration->type = type.name;
        declaration->type_place = type.place;
    }
    if (!parser_at(parser, "[") && !parser->panicking) {
        struct error *error = parser_fault_expected(parser, "'[' with the sizes of %.60s", name);
        error_hint(error, "write it like `%.60s: f32[N, D]`; a single value is f32[]", name);
    }
    declaration->has_dims = true;
    parse_dims(parser, &declaration->dims);
    declaration->place = statement->place = parser_since(parser, start);
    if (parser_at(parser, "=")) {
        struct error *error =
            parser_fault_expected(parser, "the end of the declaration of %.60s", name);
        error_hint(error, "declare it on one line, define it on the next: `%.60s[...] = ...`",
                   name);
    }
}

static void parse_init(struct parser *parser, struct ast_statement *init)
{
    struct place start = parser->token.place;
    struct ast_target target = {0};
    init->kind = AST_DEFINE;
    parse_target(parser, &target);
    vector_push(parser->arena, &init->targets, target);
    init->operator_place = parser->token.place;
    parser_expect(parser, "=", "after %s: the value before the first step", target.name);
    init->value = parse_expression(parser);
    init->place = parser_since(parser, start);
    parser_count(parser);
}

/* "loop" NAME "<" expr ["rev"] "with" init {"," init} "{" ... "}" ["->" NAME {"," NAME}] */
static void parse_loop(struct parser *parser, struct ast_statement *statement)
{
    struct place start = parser->token.place;
    statement->kind = AST_LOOP;
    parser_advance(parser);
    statement->index = parser_name(parser, "the index of the loop");
    parser_expect(parser, "<", "after the index of the loop: `loop t < T with ...`");
    statement->high = parse_expression(parser);
    statement->reverse = parser_accept(parser, "rev");
    if (!parser_at(parser, "with") && !parser->panicking) {
        struct error *error = parser_fault_expected(parser, "'with' after the bound of the loop");
        error_hint(error,
                   "say what it carries from step to step: `loop t < T with h = h0 { ... }`");
    }
    parser_accept(parser, "with");
    do {
        struct ast_statement init = {0};
        parse_init(parser, &init);
        vector_push(parser->arena, &statement->inits, init);
    } while (parser_accept(parser, ","));
    statement->place = parser_since(parser, start);
    parse_body(parser, &statement->body, &statement->end, "the loop");
    if (parser_accept(parser, "->"))
        parse_names(parser, &statement->finals, "the name of a final value");
}

static void parse_each(struct parser *parser, struct ast_statement *statement)
{
    struct place start = parser->token.place;
    statement->kind = AST_EACH;
    parser_advance(parser);
    statement->index = parser_name(parser, "the index of 'each'");
    parser_expect(parser, "in", "after the index of 'each'");
    statement->list = parser_name(parser, "the name of a list");
    statement->place = parser_since(parser, start);
    parse_body(parser, &statement->body, &statement->end, "'each'");
}

/* A word that starts no statement. */
static void fault_statement(struct parser *parser)
{
    static const struct {
        const char *word, *message, *hint;
    } words[] = {
        {"if", "there is no 'if' statement",
         "a choice between values is `y[i] = c ? a : b`; part of a reduction is `s += x[i] if c`"},
        {"else", "there is no 'else' statement", "a choice between values is `y[i] = c ? a : b`"},
        {"let", "'let' belongs in the signature",
         "sizes are named before the brace: `op f(...) -> (...) let P = N/2 { ... }`"},
        {"where", "'where' belongs in the signature",
         "facts stand before the brace: `op f(...) -> (...) where N % 4 == 0 { ... }`"},
        {"over", "'over' follows a definition", "write it behind: `s += x[i] over i < N`"},
        {"with", "'with' follows the head of a loop", "write `loop t < T with h = h0 { ... }`"},
        {"in", "'in' starts no statement", "the elements of a list: `each k in xs { ... }`"},
        {"scan", "'scan' follows the left side", "write `y[i] scan += x[i]`"},
    };
    struct token token = parser->token;
    const char *found = parser_found(parser);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (parser_at(parser, words[i].word)) {
            struct error *error =
                parser_fault(parser, ERROR_BAD_STATEMENT, token.place, "%s", words[i].message);
            error_hint(error, "%s", words[i].hint);
            return;
        }
    }
    if (parser_at(parser, ")") || parser_at(parser, "]")) {
        parser_fault(parser, ERROR_UNMATCHED_BRACKET, token.place, "this %s closes nothing", found);
    } else if (token.kind == TOKEN_KEYWORD) {
        struct error *error =
            parser_fault(parser, ERROR_RESERVED_NAME, token.place,
                         "%s is a word of the language, it cannot name a tensor", found);
        error_hint(error, "choose another name, such as %s_", token.text);
    } else {
        struct error *error =
            parser_fault(parser, ERROR_EXPECTED, token.place, "expected a statement");
        error_detail(error, "found %s", found);
        error_hint(error, "a statement defines a tensor, like `y[i] = x[i] + 1`");
    }
}

/* What is left over behind a definition. */
static void parse_statement_end(struct parser *parser)
{
    const struct token token = parser->token;
    bool starts = token.kind == TOKEN_NAME || token.kind == TOKEN_END || token.line_start;
    static const char *const others[] = {"}", ";", "(", "next", "scatter", "loop", "each"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        starts = starts || parser_at(parser, others[i]);
    if (starts || parser->panicking || parser_at_item(parser))
        return;
    if (parser_at(parser, "else")) {
        struct error *error =
            parser_fault(parser, ERROR_MISPLACED_ELSE, token.place,
                         "'else' stands only at the end of the brackets of a read");
        error_hint(error, "a read outside its tensor: `x[i - 1 else 0]`; a choice: `c ? a : b`");
    } else if (parser_at(parser, ")") || parser_at(parser, "]")) {
        parser_fault(parser, ERROR_UNMATCHED_BRACKET, token.place, "this %s closes nothing",
                     parser_found(parser));
    } else {
        struct error *error =
            parser_fault_expected(parser, "an operator or the end of the statement");
        if (token.kind == TOKEN_SIGN && strcmp(token.text, "[") == 0)
            error_hint(error, "only a named tensor can be indexed: give the value a name first");
        else if (token.kind == TOKEN_SIGN && strcmp(token.text, "=") == 0)
            error_hint(error, "one definition per statement; equality is written `==`");
        else if (token.kind == TOKEN_SIGN && strcmp(token.text, ":") == 0)
            error_hint(error, "a choice is written `c ? a : b`");
    }
}

static void parse_statement(struct parser *parser, struct ast_statement *statement)
{
    bool is_name = parser->token.kind == TOKEN_NAME;
    parser_count(parser);
    if (parser_at(parser, "loop"))
        parse_loop(parser, statement);
    else if (parser_at(parser, "each"))
        parse_each(parser, statement);
    else if (is_name && (parser_next_is(parser, ",") || parser_next_is(parser, ":")))
        parse_declare(parser, statement);
    else if (is_name || parser_at(parser, "(") || parser_at(parser, "next") ||
             parser_at(parser, "scatter"))
        parse_define(parser, statement);
    else
        fault_statement(parser);
    parse_statement_end(parser);
}

/* Said once, and not where another fault was just found. */
static void fault_unclosed(struct parser *parser, struct place open, const char *what)
{
    struct token token = parser->token;
    if (parser->suspect.source) {
        open = parser->suspect;
        what = parser->suspect_what;
    }
    bool said = parser->unclosed ||
                (parser->stuck.place.source && parser->stuck.place.offset == token.place.offset);
    parser->unclosed = true;
    if (said)
        return;
    const char *found = parser_found(parser);
    struct error *error = parser_fault(parser, ERROR_UNMATCHED_BRACKET, parser_gap(parser),
                                       "expected '}' to close the body of %s", what);
    if (token.kind == TOKEN_END)
        error_detail(error, "the file ends here");
    else
        error_detail(error, "found %s", found);
    error_note(error, open, "opened here");
}

/* "{" { statement } "}". Faulty statements are left out. */
void parse_body(struct parser *parser, struct ast_statements *statements, struct place *end,
                const char *what)
{
    struct place open = parser->token.place;
    size_t line_indent = parser->indent;
    parser_expect(parser, "{", "to open the body of %s", what);
    if (parser->panicking || !parser_enter(parser))
        return;
    while (!parser_at(parser, "}") && !parser_at_end(parser) && !parser_at_item(parser)) {
        if (parser_accept(parser, ";"))
            continue;
        size_t start = parser->token.place.offset, indent = parser->indent;
        struct ast_statement statement = {0};
        parse_statement(parser, &statement);
        if (parser->panicking)
            parser_recover_statement(parser, start, indent);
        else
            vector_push(parser->arena, statements, statement);
    }
    parser_leave(parser);
    *end = parser->token.place;
    /* a } further left than the line of its { was meant for another: remembered, should one lack */
    if (parser_at(parser, "}") && parser->token.line_start && parser->indent < line_indent &&
        !parser->suspect.source) {
        parser->suspect = open;
        parser->suspect_what = what;
    }
    if (!parser_accept(parser, "}"))
        fault_unclosed(parser, open, what);
}
