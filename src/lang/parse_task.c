/*
 * A task: its head and one rule per kind of line. The words that start a line are reserved only
 * there.
 */
#include <string.h>

#include "lang/parse.h"

static void parse_range(struct parser *parser, struct ast_range *range)
{
    range->name = parser_name(parser, "the name of a size");
    const char *name = range->name.name;
    if (!parser_at(parser, "in") && !parser->panicking) {
        struct error *error = parser_fault_expected(parser, "'in' after size %.60s", name);
        error_hint(error, "write `sizes %.60s in 1..4096`", name);
    }
    parser_accept(parser, "in");
    range->low = parse_sum(parser);
    parser_expect(parser, "..", "after the smallest %s", name);
    range->high = parse_sum(parser);
}

static void parse_sizes(struct parser *parser, struct ast_line *line)
{
    do {
        struct ast_range range = {0};
        parse_range(parser, &range);
        vector_push(parser->arena, &line->ranges, range);
    } while (parser_accept(parser, ","));
}

static void parse_dtype(struct parser *parser, struct ast_line *line)
{
    do {
        struct ast_name name = parser_name(parser, "the name of a type after 'dtype'");
        struct ast_named named = {.name = name.name, .place = name.place};
        if (!parser_at(parser, "=") && !parser->panicking) {
            struct error *error =
                parser_fault_expected(parser, "'=' and a type after %.60s", name.name);
            error_hint(error, "write it like `dtype T=f32`");
        }
        parser_accept(parser, "=");
        struct ast_name type = parser_name(parser, "a type such as f32");
        named.value = arena_new(parser->arena, struct ast_expression);
        *named.value = (struct ast_expression){.kind = AST_NAME,
                                               .name = type.name,
                                               .place = type.place,
                                               .name_place = type.place,
                                               .height = 1};
        vector_push(parser->arena, &line->named, named);
        parser_count(parser);
    } while (parser_accept(parser, ","));
}

/* "in" ("("|"[") expr "," expr (")"|"]") */
static void parse_interval(struct parser *parser, struct ast_line *line)
{
    struct place open = parser->token.place;
    line->has_interval = true;
    line->low_open = parser_at(parser, "(");
    if (!parser_accept(parser, "(") && !parser_accept(parser, "[") && !parser->panicking) {
        struct error *error = parser_fault_expected(parser, "'(' or '[' to open the interval");
        error_hint(error, "write it like `in [0, 1)`: a bracket includes the end, a parenthesis "
                          "leaves it out");
    }
    line->low = parse_expression(parser);
    parser_expect(parser, ",", "between the ends of the interval");
    line->high = parse_expression(parser);
    line->high_open = parser_at(parser, ")");
    if (!parser_accept(parser, ")") && !parser_accept(parser, "]") && !parser->panicking)
        error_note(parser_fault_expected(parser, "')' or ']' to close the interval"), open,
                   "opened here");
}

static void parse_input(struct parser *parser, struct ast_line *line)
{
    line->name = parser_name(parser, "the name of an input");
    const char *name = line->name.name;
    bool drawn = parser_accept(parser, "~");
    if (drawn)
        parse_draws(parser, &line->draws, true);
    if (parser_accept(parser, "in"))
        parse_interval(parser, line);
    else if (!drawn && !parser->panicking) {
        struct error *error = parser_fault_expected(parser, "'~' or 'in' after input %.60s", name);
        error_hint(error, "write `input %.60s ~ normal(0, 1)` or `input %.60s in (0, inf)`", name,
                   name);
    }
}

static void parse_accuracy(struct parser *parser, struct ast_line *line)
{
    line->name = parser_name(parser, "a class of accuracy such as f32");
    if (parser_at_word(parser, "deterministic") && !parser->token.line_start) {
        line->deterministic = true;
        parser_advance(parser);
    }
}

static void parse_cache(struct parser *parser, struct ast_line *line)
{
    if (!parser_at_word(parser, "cold") && !parser_at_word(parser, "warm")) {
        error_hint(parser_fault_expected(parser, "cold or warm"),
                   "`cache cold`: a timed call finds none of its tensors in the caches");
        return;
    }
    line->name = parser_name(parser, "cold or warm");
}

static void parse_case(struct parser *parser, struct ast_line *line)
{
    bool more = parser->token.kind == TOKEN_NAME && !parser->token.line_start &&
                !(parser_at_word(parser, "time") && !parser_next_is(parser, "="));
    while (more && !parser->panicking) {
        struct ast_name name = parser_name(parser, "the name of a size or parameter");
        struct ast_named named = {.name = name.name, .place = name.place};
        if (!parser_at(parser, "=") && !parser->panicking) {
            struct error *error =
                parser_fault_expected(parser, "'=' and a value after %.60s", name.name);
            error_hint(error, "write it like `case B=[32], D=1024`");
        }
        parser_accept(parser, "=");
        named.value = parse_expression(parser);
        vector_push(parser->arena, &line->named, named);
        more = parser_accept(parser, ",");
    }
    if (parser_at_word(parser, "time") && !parser->token.line_start) {
        line->timed = true;
        parser_advance(parser);
    } else if (parser->token.kind == TOKEN_NAME && !parser->token.line_start) {
        static const char *const words[] = {"time"};
        const char *nearest = spelling_nearest(parser->token.text, words, 1);
        bool value = parser_next_is(parser, "=");
        struct error *error = parser_fault_expected(parser, "',' or 'time' or the end of the case");
        if (nearest)
            error_hint(error, "did you mean '%s'?", nearest);
        else if (value)
            error_hint(error, "sizes are separated by commas: `case B=[32], D=1024`");
    }
}

static void parse_baseline(struct parser *parser, struct ast_line *line)
{
    line->name = parser_name(parser, "the name of a baseline, such as plain or torch");
    if (parser->token.kind == TOKEN_STRING) {
        line->text = lexer_string(parser->arena, &parser->token);
        parser_advance(parser);
    }
}

static void parse_deterministic(struct parser *parser, struct ast_line *line)
{
    (void)parser;
    line->deterministic = true;
}

static const struct line_rule {
    const char *word;
    enum ast_line_kind kind;
    void (*parse)(struct parser *parser, struct ast_line *line);
} line_rules[] = {
    {"dtype", AST_LINE_DTYPE, parse_dtype},
    {"input", AST_LINE_INPUT, parse_input},
    {"accuracy", AST_LINE_ACCURACY, parse_accuracy},
    {"cache", AST_LINE_CACHE, parse_cache},
    {"deterministic", AST_LINE_DETERMINISTIC, parse_deterministic},
    {"sizes", AST_LINE_SIZES, parse_sizes},
    {"case", AST_LINE_CASE, parse_case},
    {"baseline", AST_LINE_BASELINE, parse_baseline},
};
enum { LINE_RULES = sizeof line_rules / sizeof *line_rules };

static void fault_line(struct parser *parser)
{
    const char *words[LINE_RULES];
    for (size_t i = 0; i < LINE_RULES; i++)
        words[i] = line_rules[i].word;
    bool name = parser->token.kind == TOKEN_NAME;
    bool time = parser_at_word(parser, "time");
    const char *nearest = name ? spelling_nearest(parser->token.text, words, LINE_RULES) : NULL;
    const char *found = parser_found(parser);
    struct error *error;
    if (!parser->token.line_start) {
        parser_fault_expected(parser, "the end of the line");
        return;
    }
    error = parser_fault(parser, ERROR_UNKNOWN_LINE, parser->token.place,
                         "%s does not start a line of a task", found);
    if (time)
        error_hint(error, "`time` ends a case: `case D=1024 time`");
    else if (nearest)
        error_hint(error, "did you mean '%s'?", nearest);
    else
        error_hint(error, "lines start with dtype, input, accuracy, cache, deterministic, sizes, "
                          "case or baseline");
}

static void parse_line(struct parser *parser, struct ast_line *line)
{
    line->place = parser->token.place;
    for (size_t i = 0; i < LINE_RULES; i++) {
        if (!parser_at_word(parser, line_rules[i].word))
            continue;
        line->kind = line_rules[i].kind;
        parser_advance(parser);
        line_rules[i].parse(parser, line);
        line->place = parser_since(parser, line->place);
        parser_count(parser);
        return;
    }
    fault_line(parser);
}

void parse_task(struct parser *parser, struct ast_task *task)
{
    struct place start = parser->token.place;
    parser_advance(parser);
    task->name = parser_name(parser, "a name for the task");
    if (!parser_at_word(parser, "of") && !parser->panicking) {
        struct error *error = parser_fault_expected(
            parser, "'of' and the name of an op after task %.60s", task->name.name);
        error_hint(error, "write `task %.60s of softmax`", task->name.name);
    }
    if (parser_at_word(parser, "of"))
        parser_advance(parser);
    task->op = parser_name(parser, "the name of an op");
    task->place = parser_since(parser, start);
    if (parser_at(parser, "{")) {
        struct error *error = parser_fault_expected(parser, "the lines of the task");
        error_hint(error, "a task has no braces: it ends where the next item starts");
    }
    if (parser->panicking)
        return;
    while (!parser_at_end(parser) && !parser_at_item(parser)) {
        if (parser_accept(parser, ";"))
            continue;
        size_t first = parser->token.place.offset;
        struct ast_line line = {0};
        parse_line(parser, &line);
        if (parser->panicking)
            parser_recover_line(parser, first);
        else
            vector_push(parser->arena, &task->lines, line);
    }
}
