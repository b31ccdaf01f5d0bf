/*
 * The parser's frame: reading tokens, reporting faults, getting going again, and the items of a
 * file. Expressions, statements and ops, and tasks have their own files; each function there is
 * named after the rule of the grammar it reads.
 */
#include "lang/parse.h"

#include <stdio.h>
#include <string.h>

static const char *const item_words[] = {"include", "fn", "monoid", "op", "task"};
enum { ITEM_WORDS = sizeof item_words / sizeof *item_words };

/* ---- tokens ---- */

static bool token_is(const struct token *token, const char *text)
{
    return (token->kind == TOKEN_SIGN || token->kind == TOKEN_KEYWORD) &&
           strcmp(token->text, text) == 0;
}

bool parser_at(const struct parser *parser, const char *text)
{
    return token_is(&parser->token, text);
}

bool parser_at_word(const struct parser *parser, const char *text)
{
    return parser->token.kind == TOKEN_NAME && strcmp(parser->token.text, text) == 0;
}

bool parser_next_is(const struct parser *parser, const char *text)
{
    return parser->token.kind != TOKEN_END && token_is(&parser->next, text);
}

bool parser_at_end(const struct parser *parser)
{
    return parser->token.kind == TOKEN_END;
}

bool parser_at_item(const struct parser *parser)
{
    for (size_t i = 0; i < ITEM_WORDS; i++)
        if (parser_at(parser, item_words[i]))
            return true;
    return false;
}

/* The next token without a look at whether it is a bad one. */
static void parser_step(struct parser *parser)
{
    parser->last = parser->token.place;
    parser->token = parser->next;
    parser->next = lexer_next(&parser->lexer);
    if (parser->token.line_start) {
        const char *text = parser->token.place.source->text;
        size_t start = parser->token.place.offset;
        while (start > 0 && (text[start - 1] == ' ' || text[start - 1] == '\t'))
            start--;
        parser->indent = parser->token.place.offset - start;
    }
}

static void parser_fault_token(struct parser *parser)
{
    const struct token_fault *fault = parser->token.fault;
    struct error *error;
    if (fault->quote)
        error = parser_fault(parser, fault->code, parser->token.place, "%s %s",
                             parser_found(parser), fault->message);
    else
        error = parser_fault(parser, fault->code, parser->token.place, "%s", fault->message);
    if (*fault->hint)
        error_hint(error, "%s", fault->hint);
}

void parser_advance(struct parser *parser)
{
    if (parser->panicking)
        return;
    parser_step(parser);
    if (parser->token.kind == TOKEN_BAD)
        parser_fault_token(parser);
}

bool parser_accept(struct parser *parser, const char *text)
{
    if (!parser_at(parser, text))
        return false;
    parser_advance(parser);
    return true;
}

struct place parser_since(const struct parser *parser, struct place first)
{
    return parser->last.source ? place_join(first, parser->last) : first;
}

struct place parser_gap(const struct parser *parser)
{
    bool apart = parser->token.line_start || parser->token.kind == TOKEN_END;
    if (!apart || !parser->last.source)
        return parser->token.place;
    return (struct place){parser->last.source, parser->last.offset + parser->last.length, 0};
}

const char *parser_found(struct parser *parser)
{
    const struct token *token = &parser->token;
    if (token->kind == TOKEN_END)
        return "the end of the file";
    const char *text = token->place.source->text + token->place.offset;
    int length = token->place.length > 40 ? 40 : (int)token->place.length;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--; /* not in the middle of a character */
    const char *more = (size_t)length < token->place.length ? "..." : "";
    return arena_printf(parser->arena, "'%.*s%s'", length, text, more);
}

/* ---- faults ---- */

static struct error *parser_report(struct parser *parser, enum error_code code, struct place place,
                                   const char *format, va_list arguments)
{
    char message[sizeof((struct error *)0)->message];
    if (parser->panicking)
        return &parser->unheard;
    vsnprintf(message, sizeof message, format, arguments);
    struct error *error = errors_add(parser->errors, code, place, "%s", message);
    parser->panicking = true;
    parser->stuck = parser->token;
    parser->token.kind = TOKEN_END;
    return error;
}

struct error *parser_fault(struct parser *parser, enum error_code code, struct place place,
                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct error *error = parser_report(parser, code, place, format, arguments);
    va_end(arguments);
    return error;
}

/* What stands where something else was expected, as the detail of the error. */
static void error_found(struct error *error, const struct token *token, const char *found)
{
    if (token->kind == TOKEN_END)
        error_detail(error, "the file ends here");
    else if (token->line_start)
        error_detail(error, "found %s on the next line", found);
    else
        error_detail(error, "found %s", found);
}

struct error *parser_fault_expected(struct parser *parser, const char *format, ...)
{
    va_list arguments;
    if (parser->panicking)
        return &parser->unheard;
    struct token token = parser->token;
    const char *found = parser_found(parser);
    enum error_code code = token.kind == TOKEN_END ? ERROR_UNEXPECTED_END : ERROR_EXPECTED;
    char what[300];
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    struct error *error = parser_fault(parser, code, parser_gap(parser), "expected %s", what);
    error_found(error, &token, found);
    return error;
}

void parser_expect(struct parser *parser, const char *text, const char *format, ...)
{
    va_list arguments;
    char where[200];
    if (parser->panicking || parser_accept(parser, text))
        return;
    va_start(arguments, format);
    vsnprintf(where, sizeof where, format, arguments);
    va_end(arguments);
    parser_fault_expected(parser, "'%s' %s", text, where);
}

void parser_close(struct parser *parser, const char *text, struct place open, const char *format,
                  ...)
{
    va_list arguments;
    char where[200];
    if (parser->panicking || parser_accept(parser, text))
        return;
    va_start(arguments, format);
    vsnprintf(where, sizeof where, format, arguments);
    va_end(arguments);
    struct token token = parser->token;
    const char *found = parser_found(parser);
    struct error *error;
    if (parser_at(parser, ")") || parser_at(parser, "]") || parser_at(parser, "}")) {
        error = parser_fault(parser, ERROR_UNMATCHED_BRACKET, parser_gap(parser),
                             "expected '%s' %s", text, where);
        error_found(error, &token, found);
    } else {
        bool list = strncmp(where, "after", 5) == 0; /* and not "to close" */
        error = parser_fault_expected(parser, "%s'%s' %s", list ? "',' or " : "", text, where);
    }
    error_note(error, open, "opened here");
}

static void fault_reserved(struct parser *parser, const char *what)
{
    const char *word = parser->token.text;
    struct error *error =
        parser_fault(parser, ERROR_RESERVED_NAME, parser->token.place,
                     "'%s' is a word of the language, it cannot be %s", word, what);
    error_hint(error, "choose another name, such as %s_", word);
}

struct ast_name parser_name(struct parser *parser, const char *what)
{
    struct ast_name name = {"", parser->token.place};
    if (parser->token.kind == TOKEN_NAME) {
        name.name = parser->token.text;
        parser_advance(parser);
    } else if (parser->token.kind == TOKEN_KEYWORD && !parser->token.line_start) {
        fault_reserved(parser, what);
    } else {
        parser_fault_expected(parser, "%s", what);
    }
    return name;
}

bool parser_enter(struct parser *parser)
{
    if (parser->depth < AST_NESTING_MAXIMUM) {
        parser->depth++;
        return true;
    }
    struct error *error =
        parser_fault(parser, ERROR_TOO_DEEP, parser->token.place,
                     "this is nested more than %d levels deep", AST_NESTING_MAXIMUM);
    error_hint(error, "give inner pieces a name of their own");
    return false;
}

void parser_leave(struct parser *parser)
{
    parser->depth--;
}

void parser_count(struct parser *parser)
{
    if (++parser->nodes <= AST_NODE_MAXIMUM)
        return;
    struct error *error = parser_fault(parser, ERROR_TOO_LARGE, parser->token.place,
                                       "this file has more than a million values and statements");
    error_hint(error, "split the file and `include` the pieces");
    /* nothing after this point is read: the lexer is at its end */
    parser->lexer.at = parser->lexer.source->length;
    parser->stuck.kind = parser->next.kind = TOKEN_END;
}

/* ---- getting going again ---- */

static void parser_calm(struct parser *parser)
{
    if (parser->panicking)
        parser->token = parser->stuck;
    parser->panicking = false;
}

void parser_recover_statement(struct parser *parser, size_t start, size_t indent)
{
    size_t braces = 0;
    parser_calm(parser);
    for (; !parser_at_end(parser); parser_step(parser)) {
        const struct token *token = &parser->token;
        bool progress = token->place.offset > start;
        if (progress && token->line_start && parser_at_item(parser))
            return;
        if (progress && braces == 0 && token->line_start && parser->indent <= indent &&
            (token->kind == TOKEN_NAME || token->kind == TOKEN_KEYWORD || parser_at(parser, "(")))
            return;
        if (parser_at(parser, "{")) {
            braces++;
        } else if (parser_at(parser, "}")) {
            if (braces == 0)
                return;
            braces--;
        }
    }
    parser->unclosed = true; /* a fault swallowed the rest of the file: not worth a second one */
}

void parser_recover_line(struct parser *parser, size_t start)
{
    parser_calm(parser);
    for (; !parser_at_end(parser); parser_step(parser))
        if (parser->token.line_start && parser->token.place.offset > start &&
            (parser->token.kind == TOKEN_NAME || parser->token.kind == TOKEN_KEYWORD))
            return;
}

void parser_recover_item(struct parser *parser, size_t start)
{
    long braces = 0;
    parser_calm(parser);
    for (; !parser_at_end(parser); parser_step(parser)) {
        const struct token *token = &parser->token;
        /* two names at the left margin: an item too, its word misspelt */
        bool misspelt = braces <= 0 && parser->indent == 0 && token->kind == TOKEN_NAME &&
                        parser->next.kind == TOKEN_NAME && !parser->next.line_start;
        if (token->line_start && token->place.offset > start &&
            (misspelt || parser_at_item(parser)))
            return;
        braces += parser_at(parser, "{") ? 1 : parser_at(parser, "}") ? -1 : 0;
    }
}

/* ---- items ---- */

void parse_names(struct parser *parser, struct ast_names *names, const char *what)
{
    do {
        struct ast_name name = parser_name(parser, what);
        vector_push(parser->arena, names, name);
        parser_count(parser);
    } while (parser_accept(parser, ","));
}

static void parse_include(struct parser *parser, struct ast_include *include)
{
    parser_advance(parser);
    include->path = "";
    include->place = parser->token.place;
    if (parser->token.kind == TOKEN_STRING) {
        include->path = lexer_string(parser->arena, &parser->token);
        parser_advance(parser);
    } else {
        struct error *error =
            parser_fault_expected(parser, "the name of a file in quotes after 'include'");
        error_hint(error, "write it like `include \"nn.op\"`");
    }
}

static void parse_fn(struct parser *parser, struct ast_fn *fn)
{
    struct place start = parser->token.place;
    parser_advance(parser);
    fn->name = parser_name(parser, "a name for the fn");
    struct place open = parser->token.place;
    parser_expect(parser, "(", "after the name of fn %s", fn->name.name);
    if (!parser_at(parser, ")"))
        parse_names(parser, &fn->parameters, "the name of a parameter");
    if (parser_at(parser, ":")) {
        struct error *error =
            parser_fault_expected(parser, "',' or ')' after a parameter of fn %s", fn->name.name);
        error_hint(error, "the parameters of a fn have no types: write only their names");
    }
    parser_close(parser, ")", open, "after the parameters of fn %s", fn->name.name);
    if (parser_at(parser, "{") || parser_at(parser, "->")) {
        struct error *error =
            parser_fault_expected(parser, "'=' after the parameters of fn %s", fn->name.name);
        error_hint(error,
                   "a fn is one expression: `fn square(x) = x * x`; for tensors write an op");
    }
    parser_expect(parser, "=", "after the parameters of fn %s", fn->name.name);
    fn->value = parse_expression(parser);
    fn->place = parser_since(parser, start);
}

/* A tuple's members, or the one value. */
static struct ast_expressions parse_components(struct parser *parser)
{
    struct ast_expression *tuple = parse_tuple(parser);
    if (tuple->kind == AST_TUPLE)
        return tuple->list;
    struct ast_expressions one = {0};
    vector_push(parser->arena, &one, tuple);
    return one;
}

static void parse_monoid(struct parser *parser, struct ast_monoid *monoid)
{
    struct place start = parser->token.place;
    parser_advance(parser);
    monoid->name = parser_name(parser, "a name for the monoid");
    const char *name = monoid->name.name;
    struct place open = parser->token.place;
    parser_expect(parser, "(", "after the name of monoid %s", name);
    parse_names(parser, &monoid->left, "the name of a component");
    if (parser_at(parser, ")")) {
        struct error *error = parser_fault_expected(
            parser, "';' between the left and the right components of monoid %s", name);
        error_hint(error, "write it like `monoid both(a; b) = a and b unit true`");
    }
    parser_expect(parser, ";", "between the left and the right components of monoid %s", name);
    parse_names(parser, &monoid->right, "the name of a component");
    parser_close(parser, ")", open, "after the components of monoid %s", name);
    parser_expect(parser, "=", "after the components of monoid %s", name);
    monoid->results = parse_components(parser);
    if (!parser_at(parser, "unit") && !parser->panicking) {
        struct error *error = parser_fault_expected(parser, "'unit' after the result of %s", name);
        error_hint(error, "the unit is what changes nothing: 0 for a sum, -inf for a maximum");
    }
    parser_accept(parser, "unit");
    monoid->units = parse_components(parser);
    monoid->ordered = parser_accept(parser, "ordered");
    monoid->place = parser_since(parser, start);
}

/* One line break and spaces: the next line is right below. */
static bool is_next_line(const struct source *source, size_t from, size_t to)
{
    int breaks = 0;
    for (size_t i = from; i < to; i++) {
        if (source->text[i] == '\n')
            breaks++;
        else if (!strchr(" \t\r", source->text[i]))
            return false;
    }
    return breaks == 1;
}

/* The comment lines right above, joined. The lexer is one token ahead at most: it has seen them. */
static const char *description_above(struct parser *parser, size_t offset)
{
    const struct source *source = parser->lexer.source;
    const struct ast_comments *comments = parser->lexer.comments;
    size_t end = comments->count;
    while (end > 0 && comments->at[end - 1].place.offset > offset)
        end--;
    size_t first = end;
    while (first > 0 && comments->at[first - 1].own_line) {
        struct place place = comments->at[first - 1].place;
        if (!is_next_line(source, place.offset + place.length, offset))
            break;
        offset = place.offset;
        first--;
    }
    if (first == end)
        return NULL;
    struct text text = text_new(parser->arena);
    for (size_t i = first; i < end; i++) {
        const char *from = source->text + comments->at[i].place.offset;
        const char *stop = from + comments->at[i].place.length;
        while (from < stop && (*from == '#' || *from == ' ' || *from == '\t'))
            from++;
        if (from == stop)
            continue;
        if (text.length > 0)
            text_char(&text, ' ');
        text_add_bytes(&text, from, (size_t)(stop - from));
    }
    return text.length > 0 ? text.at : NULL;
}

/* Something that starts no item: guess what was meant. */
static void fault_item(struct parser *parser)
{
    static const struct {
        const char *word, *hint;
    } habits[] = {
        {"def", "an operator starts with `op`, a function of numbers with `fn`"},
        {"func", "an operator starts with `op`, a function of numbers with `fn`"},
        {"function", "an operator starts with `op`, a function of numbers with `fn`"},
        {"kernel", "an operator starts with `op`"},
        {"void", "an operator starts with `op`: `op scale(x: T[N]) -> (y: T[N]) { ... }`"},
        {"import", "write `include \"file.op\"`"},
        {"use", "write `include \"file.op\"`"},
    };
    static const char *const line_words[] = {"dtype",         "input", "accuracy", "cache",
                                             "deterministic", "sizes", "case",     "baseline"};
    struct token token = parser->token;
    const char *found = parser_found(parser);
    bool named =
        token.kind == TOKEN_NAME && !token_is(&parser->next, "=") && !token_is(&parser->next, "[");
    struct error *error;
    if (token_is(&token, "}") || token_is(&token, ")") || token_is(&token, "]")) {
        parser_fault(parser, ERROR_UNMATCHED_BRACKET, token.place, "this %s closes nothing", found);
        return;
    }
    for (size_t i = 0; named && i < sizeof line_words / sizeof *line_words; i++) {
        if (strcmp(token.text, line_words[i]) != 0)
            continue;
        error = parser_fault(parser, ERROR_STATEMENT_OUTSIDE_OP, token.place,
                             "this %s line belongs to no task", found);
        error_hint(error, "put it below a line like `task name of op`");
        return;
    }
    if (named || token.kind == TOKEN_INTEGER || token.kind == TOKEN_FLOAT ||
        token.kind == TOKEN_STRING || token.kind == TOKEN_SIGN) {
        error = parser_fault(parser, ERROR_EXPECTED, token.place,
                             "expected include, fn, monoid, op or task");
        error_detail(error, "found %s", found);
        const char *nearest = named ? spelling_nearest(token.text, item_words, ITEM_WORDS) : NULL;
        for (size_t i = 0; named && i < sizeof habits / sizeof *habits; i++)
            if (strcmp(token.text, habits[i].word) == 0)
                error_hint(error, "%s", habits[i].hint), nearest = NULL;
        if (nearest)
            error_hint(error, "did you mean '%s'?", nearest);
        else if (!error->hint[0])
            error_hint(error, "a file holds ops: op name(x: f32[N]) -> (y: f32[N]) { ... }");
        return;
    }
    error = parser_fault(parser, ERROR_STATEMENT_OUTSIDE_OP, token.place,
                         "a statement cannot stand outside an op");
    error_hint(error, "put it between the braces of an op: `op name(...) -> (...) { ... }`");
}

static void parse_item(struct parser *parser, struct ast_item *item)
{
    struct place start = parser->token.place;
    if (parser_at(parser, "include")) {
        item->kind = AST_ITEM_INCLUDE;
        parse_include(parser, &item->include);
    } else if (parser_at(parser, "fn")) {
        item->kind = AST_ITEM_FN;
        parse_fn(parser, &item->fn);
    } else if (parser_at(parser, "monoid")) {
        item->kind = AST_ITEM_MONOID;
        parse_monoid(parser, &item->monoid);
    } else if (parser_at(parser, "op")) {
        item->kind = AST_ITEM_OP;
        const char *description = description_above(parser, start.offset);
        parse_op(parser, &item->op);
        item->op.description = description;
    } else if (parser_at(parser, "task")) {
        item->kind = AST_ITEM_TASK;
        parse_task(parser, &item->task);
    } else {
        fault_item(parser);
    }
    item->place = parser_since(parser, start);
}

/* After a one-line item: what would belong to it, had it been complete. */
static void parse_item_end(struct parser *parser, const struct ast_item *item)
{
    bool one_line = item->kind == AST_ITEM_FN || item->kind == AST_ITEM_MONOID ||
                    item->kind == AST_ITEM_INCLUDE;
    if (!one_line || parser->panicking || parser_at_end(parser) || parser->token.line_start ||
        parser_at_item(parser) || parser_at(parser, ";"))
        return;
    const char *kind = item_words[item->kind == AST_ITEM_FN       ? 1
                                  : item->kind == AST_ITEM_MONOID ? 2
                                                                  : 0];
    if (parser_at(parser, ")") || parser_at(parser, "]"))
        parser_fault(parser, ERROR_UNMATCHED_BRACKET, parser->token.place, "this %s closes nothing",
                     parser_found(parser));
    else
        parser_fault_expected(parser, "the end of the %s", kind);
}

static void parse_file(struct parser *parser, struct ast_file *file)
{
    if (parser->token.kind == TOKEN_BAD)
        parser_fault_token(parser);
    while (parser->panicking || !parser_at_end(parser)) {
        size_t start = parser->panicking ? parser->stuck.place.offset : parser->token.place.offset;
        if (parser_accept(parser, ";"))
            continue;
        if (parser->unclosed && parser_at(parser, "}")) {
            parser->unclosed = false; /* the one that was missed earlier */
            parser_advance(parser);
            continue;
        }
        struct ast_item *item = arena_new(parser->arena, struct ast_item);
        if (!parser->panicking)
            parse_item(parser, item);
        parse_item_end(parser, item);
        if (parser->panicking)
            parser_recover_item(parser, start);
        else
            vector_push(parser->arena, &file->items, item);
    }
}

struct ast_file *ast_parse(struct arena *arena, struct map *names, const struct source *source,
                           struct errors *errors)
{
    struct ast_file *file = arena_new(arena, struct ast_file);
    file->source = source;
    if (!lexer_is_text(source, errors))
        return file;
    struct parser parser = {.arena = arena, .errors = errors, .tuple_at = SIZE_MAX};
    parser.lexer = lexer_new(arena, names, source, &file->comments);
    parser.next = lexer_next(&parser.lexer);
    parser_step(&parser);
    parser.last = (struct place){0};
    parse_file(&parser, file);
    return file;
}
