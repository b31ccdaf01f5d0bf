/*
 * The parser: what it reads, what it says about what it cannot read, and that it survives anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ast_dump.h"
#include "test.h"

struct parsed {
    struct arena arena;
    struct map names;
    struct source source;
    struct errors errors;
    struct ast_file *file;
};

static void parse_bytes(struct parsed *parsed, const char *text, size_t length)
{
    memset(parsed, 0, sizeof *parsed);
    parsed->names = map_new(&parsed->arena);
    parsed->errors = errors_new(&parsed->arena);
    parsed->source = (struct source){"input.op", text, length};
    parsed->file = ast_parse(&parsed->arena, &parsed->names, &parsed->source, &parsed->errors);
}

static void parse(struct parsed *parsed, const char *text)
{
    parse_bytes(parsed, text, strlen(text));
}

static void parse_clean(struct parsed *parsed, const char *text)
{
    parse(parsed, text);
    if (parsed->errors.list.count)
        test_fail(__FILE__, __LINE__, "unexpected error: %s", parsed->errors.list.at[0].message);
}

/* The value of `fn f() = TEXT` in the dump's notation must equal that of the other. */
static void check_same(const char *a, const char *b)
{
    struct parsed one, two;
    struct text first, second;
    char text[400];
    snprintf(text, sizeof text, "fn f() = %s", a);
    parse_clean(&one, text);
    snprintf(text, sizeof text, "fn f() = %s", b);
    parse_clean(&two, text);
    first = text_new(&one.arena);
    second = text_new(&two.arena);
    dump_file(&first, one.file);
    dump_file(&second, two.file);
    CHECK_STR(first.at, second.at);
    arena_release(&one.arena);
    arena_release(&two.arena);
}

/* Exactly these codes, in this order; 0 ends. */
static void check_errors(const char *text, const enum error_code *codes)
{
    struct parsed parsed;
    parse(&parsed, text);
    size_t count = 0;
    while (codes[count])
        count++;
    for (size_t i = 0; i < parsed.errors.list.count; i++) {
        const struct error *error = &parsed.errors.list.at[i];
        if (i >= count || error->code != codes[i])
            test_fail(__FILE__, __LINE__, "in <%s>: error %zu is %s: %s", text, i + 1,
                      error_name(error->code), error->message);
    }
    CHECK_INT(parsed.errors.list.count, count);
    arena_release(&parsed.arena);
}

#define ERRORS(text, ...) check_errors(text, (const enum error_code[]){__VA_ARGS__, ERROR_NONE})

TEST(lang_parse_binding)
{
    check_same("a + b * c", "a + (b * c)");
    check_same("a - b - c", "(a - b) - c");
    check_same("a / b * c div d mod e", "((((a / b) * c) div d) mod e)");
    check_same("-a ^ b", "-(a ^ b)");
    check_same("a ^ b ^ c", "a ^ (b ^ c)");
    check_same("a ^ -b ^ c", "a ^ (-(b ^ c))");
    check_same("--a", "-(-a)");
    check_same("a -- b", "a - (-b)");
    check_same("a < b + c and not d == e or f", "((a < (b + c)) and (not (d == e))) or f");
    check_same("a ? b : c ? d : e", "a ? b : (c ? d : e)");
    check_same("a or b ? c < d : e", "(a or b) ? (c < d) : e");
    check_same("x[a*b+c, *b else d ? 1 : 2]", "x[((a*b)+c), *b else (d ? 1 : 2)]");
}

TEST(lang_parse_numbers)
{
    struct parsed parsed;
    parse_clean(&parsed, "fn f() = g(1_000_000, 0x1F, 9223372036854775807, 0.5, 1e-5, 2.5E+3)");
    struct ast_expressions *list = &parsed.file->items.at[0]->fn.value->list;
    CHECK_INT(list->at[0]->integer, 1000000);
    CHECK_STR(list->at[0]->spelling, "1_000_000");
    CHECK_INT(list->at[1]->integer, 31);
    CHECK_INT(list->at[2]->integer, INT64_MAX);
    CHECK_DOUBLE(list->at[3]->number, 0.5);
    CHECK_DOUBLE(list->at[4]->number, 1e-5);
    CHECK_DOUBLE(list->at[5]->number, 2500);
    arena_release(&parsed.arena);
}

TEST(lang_parse_statement_forms)
{
    struct parsed parsed;
    parse_clean(&parsed, "op f(x: T[N]) -> (y: T[N]) {\n"
                         "  (a[i], k[i]) argmax= (x[i, j], j) over j < M, *b < *B if j > 0\n"
                         "  y[n] scan and= x[n] rev excl along n; scatter y[i[e]] += x[e] from z\n"
                         "  loop t < N rev with h = h0, c[i] = 0 { next h = h } -> hn, cn\n"
                         "  each k in xs { y[k] = xs[k][0] }\n"
                         "}\n");
    const struct ast_statements *body = &parsed.file->items.at[0]->op.body;
    CHECK_INT(body->count, 5);
    const struct ast_statement *s = &body->at[0];
    CHECK(s->is_tuple && s->targets.count == 2 && s->value->kind == AST_TUPLE);
    CHECK_STR(s->reducer, "argmax");
    CHECK_INT(s->over.count, 2);
    CHECK(s->over.at[1].is_group && s->over.at[1].high->kind == AST_GROUP);
    CHECK(s->condition != NULL);
    s = &body->at[1];
    CHECK(s->is_scan && s->reverse && s->exclusive);
    CHECK_STR(s->reducer, "and");
    CHECK_STR(s->along.name, "n");
    s = &body->at[2];
    CHECK(s->is_scatter);
    CHECK_STR(s->from.name, "z");
    s = &body->at[3];
    CHECK(s->kind == AST_LOOP && s->reverse && s->inits.count == 2 && s->finals.count == 2);
    CHECK(s->body.count == 1 && s->body.at[0].is_next);
    s = &body->at[4];
    CHECK(s->kind == AST_EACH && s->body.at[0].value->element != NULL);
    arena_release(&parsed.arena);
}

/* Names are pointers: equal spelling, equal pointer, also for the reducers. */
TEST(lang_parse_interns_names)
{
    struct parsed parsed;
    parse_clean(&parsed, "monoid max(a; b) = a unit b\n"
                         "op f(x: T[N]) -> (y: T[N]) { y[i] max= x[i] }\n");
    const struct ast_statement *s = &parsed.file->items.at[1]->op.body.at[0];
    CHECK(s->reducer == parsed.file->items.at[0]->monoid.name.name);
    CHECK(s->targets.at[0].name == parsed.file->items.at[1]->op.outputs.at[0].names.at[0].name);
    arena_release(&parsed.arena);
}

/* Brackets apply to a name only on its own line. */
TEST(lang_parse_application_on_the_line)
{
    struct parsed parsed;
    parse_clean(&parsed, "op f(x: T[N]) -> (y: T[N]) {\n    y = x\n    (a, b) m= (1, 2)\n}\n");
    CHECK_INT(parsed.file->items.at[0]->op.body.count, 2);
    arena_release(&parsed.arena);
}

TEST(lang_parse_descriptions)
{
    struct parsed parsed;
    parse_clean(&parsed, "# not this\n\n#  One.\r\n#\n# Two.\nop f(x: T[N]) -> (y: T[N]) {}\n"
                         "fn g(x) = x # nor this\nop h(x: T[N]) -> (y: T[N]) {}\n");
    CHECK_STR(parsed.file->items.at[0]->op.description, "One. Two.");
    CHECK(parsed.file->items.at[2]->op.description == NULL);
    CHECK_INT(parsed.file->comments.count, 5);
    CHECK(parsed.file->comments.at[1].blank_before && parsed.file->comments.at[1].own_line);
    CHECK(!parsed.file->comments.at[4].own_line);
    arena_release(&parsed.arena);
}

/* The words of task lines are ordinary names elsewhere. */
TEST(lang_parse_task_words_are_free)
{
    struct parsed parsed;
    parse_clean(&parsed, "op input(time: T[case]) -> (of: T[case]) { of[sizes] = time[sizes] }\n"
                         "task dtype of input\n"
                         "    input time ~ normal(0, 1) const\n"
                         "    case case=3, time=4 time\n"
                         "    accuracy f32\n"
                         "    deterministic\n");
    const struct ast_task *task = &parsed.file->items.at[1]->task;
    CHECK_INT(task->lines.count, 4);
    CHECK_INT(task->lines.at[0].draws.count, 2);
    CHECK(task->lines.at[1].timed && task->lines.at[1].named.count == 2);
    CHECK(!task->lines.at[2].deterministic);
    arena_release(&parsed.arena);
}

/* Several errors per run, one per faulty statement, none made up. */
TEST(lang_parse_goes_on)
{
    ERRORS("op f(x: T[N]) -> (y: T[N]) {\n"
           "    y[i] = x[i\n"
           "    z[i] = 12ab\n"
           "    w[i] = x[i]\n"
           "    for (i = 0; i < 3; i++) {\n"
           "        v = 3;\n"
           "    }\n"
           "    u = a < b < c\n"
           "}\n"
           "op g(x: T[N]) (y: T[N]) { y = ) }\n"
           "op h(x: T[N]) -> (y: T[N]) { y = ) }\n",
           ERROR_EXPECTED, ERROR_BAD_NUMBER, ERROR_BAD_STATEMENT, ERROR_CHAINED_COMPARISON,
           ERROR_MISSING_ARROW, ERROR_EXPECTED);
}

/* The pieces that are right are in the tree, also behind faulty ones. */
TEST(lang_parse_keeps_what_is_right)
{
    struct parsed parsed;
    parse(&parsed, "op f(x: T[N]) -> (y: T[N]) {\n    a = )\n    y = x\n}\nfn g(x) = x\n");
    CHECK_INT(parsed.errors.list.count, 1);
    CHECK_INT(parsed.file->items.count, 2);
    CHECK_INT(parsed.file->items.at[0]->op.body.count, 1);
    arena_release(&parsed.arena);
}

TEST(lang_parse_braces_are_missed_once)
{
    ERRORS("op f(x: T[N]) -> (y: T[N]) {\n    y = x\n\nop g(x: T[N]) -> (y: T[N]) { y = x }\n}\n",
           ERROR_UNMATCHED_BRACKET);
    ERRORS("op f(x: T[N]) -> (y: T[N]) {\n loop t < 3 with a = 0 {\n", ERROR_UNMATCHED_BRACKET);
    ERRORS("op f(x: T[N]) -> (y: T[N]) { y = x }\n}\n", ERROR_UNMATCHED_BRACKET);
}

TEST(lang_parse_refuses_what_is_no_text)
{
    struct parsed parsed;
    parse_bytes(&parsed, "fn f() = 1\0", 11);
    CHECK_INT(parsed.errors.list.at[0].code, ERROR_BAD_CHARACTER);
    arena_release(&parsed.arena);
    static const char *const bad[] = {"# \xff", "# \xc0\xaf", "# \xed\xa0\x80",
                                      "# \xf4\x90\x80\x80", "# \xe2\x82"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ERRORS(bad[i], ERROR_INVALID_UTF8);
    ERRORS("# fine: \xe2\x82\xac\nfn f() = 1 \xe2\x82\xac 2", ERROR_BAD_CHARACTER);
    parse_clean(&parsed, "\xef\xbb\xbf"
                         "fn f() = 1\r\n");
    CHECK_INT(parsed.file->items.count, 1);
    arena_release(&parsed.arena);
}

/* `text` repeated until it fills about `size` bytes, after a beginning. */
static char *repeated(const char *before, const char *text, size_t size)
{
    size_t length = strlen(text), start = strlen(before);
    char *all = malloc(start + size + length + 1);
    memcpy(all, before, start);
    size_t at = start;
    while (at < start + size) {
        memcpy(all + at, text, length);
        at += length;
    }
    all[at] = 0;
    return all;
}

/* Hostile input: one error with a hint, quickly, and no deep stack. */
TEST(lang_parse_survives_size)
{
    static const struct {
        const char *before, *text;
        enum error_code code;
    } cases[] = {
        {"", "(", ERROR_EXPECTED},
        {"fn f() = ", "(", ERROR_TOO_DEEP},
        {"fn f() = ", "x[", ERROR_TOO_DEEP},
        {"fn f() = ", "f(", ERROR_TOO_DEEP},
        {"fn f() = ", "- ", ERROR_TOO_DEEP},
        {"fn f() = ", "not ", ERROR_TOO_DEEP},
        {"fn f() = ", "a^", ERROR_TOO_DEEP},
        {"fn f() = ", "a+", ERROR_TOO_DEEP},
        {"fn f() = ", "a?", ERROR_TOO_DEEP},
        {"fn f() = ", "a?b:", ERROR_TOO_DEEP},
        {"fn f() = ", "[", ERROR_TOO_DEEP},
        {"op f(x: T[N]) -> (y: T[N]) {", "loop t < 3 with a = b {", ERROR_TOO_DEEP},
        {"op f(x: T[N]) -> (y: T[N]) {", "each a in b {", ERROR_TOO_DEEP},
        {"op f(x: T[N]) -> (y: T[N]) {", "{", ERROR_EXPECTED},
        {"fn ", "a", ERROR_NAME_TOO_LONG},
        {"fn f() = ", "1", ERROR_BAD_NUMBER},
        {"fn f() = \"", "1", ERROR_UNFINISHED_STRING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = repeated(cases[i].before, cases[i].text, 1000000);
        ERRORS(text, cases[i].code);
        free(text);
    }
}

TEST(lang_parse_depth_is_enough)
{
    struct parsed parsed;
    char *text = repeated("fn f() = ", "(", 190);
    char *all = malloc(1000);
    snprintf(all, 1000, "%s1%.190s", text,
             "))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))"
             "))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))"
             "))))))))))))))))))))))))))))))))))))))))))");
    parse_clean(&parsed, all);
    arena_release(&parsed.arena);
    free(text);
    free(all);
}

TEST(lang_parse_size_maximum)
{
    size_t length = ((size_t)64 << 20) + 1;
    char *text = malloc(length + 1);
    struct parsed parsed;
    memset(text, ' ', length);
    text[length] = 0;
    parse_bytes(&parsed, text, length);
    CHECK_INT(parsed.errors.list.at[0].code, ERROR_TOO_LARGE);
    arena_release(&parsed.arena);
    free(text);
}

/* The hint shows what to write, with the reader's own words. */
TEST(lang_parse_hints)
{
    struct parsed parsed;
    parse(&parsed, "fn f(a) = 0 <= a + 1 < N");
    CHECK_STR(parsed.errors.list.at[0].hint, "write `0 <= a + 1 and a + 1 < N`");
    arena_release(&parsed.arena);
    parse(&parsed, "opp f(x: T[N]) -> (y: T[N]) { }");
    CHECK_STR(parsed.errors.list.at[0].hint, "did you mean 'op'?");
    arena_release(&parsed.arena);
    parse(&parsed, "op f(x: T[N]) -> (y: T[N]) {\n y = conv(x, pad=1)\n}");
    CHECK_STR(parsed.errors.list.at[0].hint, "write `conv(...; pad=...)`");
    arena_release(&parsed.arena);
}
