/* Errors as a person sees them, and places in a source. */
#include "base/error.h"

#include <errno.h>
#include <string.h>

#include "test.h"

static struct arena arena;

static const char *render(const struct error *error, bool colour)
{
    struct text text = text_new(&arena);
    error_render(&text, error, colour);
    return text.at;
}

static struct source source_of(const char *text)
{
    return (struct source){"nn.op", text, strlen(text)};
}

TEST(source_locates)
{
    struct source source = source_of("ab\n\xc3\xa9"
                                     "cd\r\n\xff\xfe"
                                     "x");
    struct line_column at = source_locate(&source, 0);
    CHECK(at.line == 1 && at.column == 1 && at.start == 0 && at.end == 2);
    at = source_locate(&source, 2); /* the newline belongs to its line */
    CHECK(at.line == 1 && at.column == 3);
    at = source_locate(&source, 5); /* after one character of two bytes */
    CHECK(at.line == 2 && at.column == 2 && at.start == 3 && at.end == 7);
    at = source_locate(&source, 4); /* in the middle of that character */
    CHECK(at.line == 2 && at.column == 1);
    at = source_locate(&source, 11); /* bad bytes count one each */
    CHECK(at.line == 3 && at.column == 3);
    at = source_locate(&source, 1000);
    CHECK(at.line == 3 && at.column == 4 && at.end == 12);
    source = source_of("");
    at = source_locate(&source, 0);
    CHECK(at.line == 1 && at.column == 1 && at.start == 0 && at.end == 0);
    source = source_of("x\n");
    at = source_locate(&source, 2);
    CHECK(at.line == 2 && at.column == 1 && at.start == 2 && at.end == 2);
}

TEST(place_joins)
{
    struct source source = source_of("abcdef");
    struct place a = {&source, 1, 2}, b = {&source, 4, 1}, nowhere = {0};
    struct place both = place_join(a, b);
    CHECK(both.offset == 1 && both.length == 4);
    CHECK(place_join(nowhere, b).offset == 4);
    CHECK(place_join(a, nowhere).length == 2);
    CHECK(place_join(b, a).offset == 4 && place_join(b, a).length == 1);
}

TEST(error_shows_line_and_caret)
{
    struct source source = source_of("op f {\n\n  y[m, n] = a[m, qq]\n}\n");
    struct error error;
    CHECK(
        !error_at(&error, ERROR_USAGE, (struct place){&source, 25, 2}, "unknown index '%s'", "qq"));
    error_detail(&error, "only m, n and k\nare known");
    error_note(&error, (struct place){&source, 3, 1}, "in this op");
    error_hint(&error, "did you mean '%c'?", 'k');
    CHECK_STR(render(&error, false), "nn.op:3:18: error: unknown index 'qq' [usage]\n"
                                     "      y[m, n] = a[m, qq]\n"
                                     "                     ^~\n"
                                     "    only m, n and k\n"
                                     "    are known\n"
                                     "nn.op:1:4: note: in this op\n"
                                     "    op f {\n"
                                     "       ^\n"
                                     "hint: did you mean 'k'?\n");
    arena_release(&arena);
}

TEST(error_without_place)
{
    struct error error;
    error_set(&error, ERROR_OUT_OF_MEMORY, "no room for %d bytes", 12);
    CHECK_STR(render(&error, false), "error: no room for 12 bytes [out-of-memory]\n");
    CHECK_STR(render(&error, true),
              "\033[1;31merror: \033[0mno room for 12 bytes [out-of-memory]\n");
    arena_release(&arena);
}

/* Tabs, foreign letters, wide letters: the caret stands under what is meant. */
TEST(error_caret_stays_under_the_place)
{
    struct error error;
    struct source source = source_of("\ta\tbc");
    error_at(&error, ERROR_USAGE, (struct place){&source, 3, 2}, "m");
    CHECK_STR(render(&error, false), "nn.op:1:4: error: m [usage]\n"
                                     "        a   bc\n"
                                     "            ^~\n");
    source = source_of("\xc3\xa9 x");
    error_at(&error, ERROR_USAGE, (struct place){&source, 3, 1}, "m");
    CHECK_STR(render(&error, false), "nn.op:1:3: error: m [usage]\n"
                                     "    \xc3\xa9 x\n"
                                     "      ^\n");
    source = source_of("\xe4\xb8\xad x"); /* takes two columns of a terminal */
    error_at(&error, ERROR_USAGE, (struct place){&source, 4, 1}, "m");
    CHECK_STR(render(&error, false), "nn.op:1:3: error: m [usage]\n"
                                     "    \xe4\xb8\xad x\n"
                                     "       ^\n");
    arena_release(&arena);
}

/* A hostile file cannot steer the terminal through its error messages. */
TEST(error_shows_harmful_bytes_as_question_marks)
{
    struct error error;
    struct source source = source_of("a\033[2Jb\xff\xe2\x80\xae x\x7f");
    error_at(&error, ERROR_USAGE, (struct place){&source, 11, 2}, "stray '\033' \xff");
    CHECK_STR(render(&error, false), "nn.op:1:10: error: stray '?' ? [usage]\n"
                                     "    a?[2Jb?? x?\n"
                                     "             ^~\n");
    arena_release(&arena);
}

TEST(error_caret_is_clipped)
{
    struct error error;
    struct source source = source_of("ab cd\nnext");
    const char *expected_line = "    ab cd\n";
    struct {
        struct place place;
        const char *caret;
    } cases[] = {
        {{&source, 3, 100}, "       ^~\n"}, /* ends with its line */
        {{&source, 5, 0}, "         ^\n"},  /* at the end of the line */
        {{&source, 0, 0}, "    ^\n"},       /* of no length */
        {{&source, 0, (size_t)-1}, "    ^~~~~\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        error_at(&error, ERROR_USAGE, cases[i].place, "m");
        const char *shown = strchr(render(&error, false), '\n') + 1;
        CHECK(strncmp(shown, expected_line, strlen(expected_line)) == 0);
        CHECK_STR(shown + strlen(expected_line), cases[i].caret);
    }
    error_at(&error, ERROR_USAGE, (struct place){&source, 5000, 3}, "m");
    CHECK_STR(render(&error, false), "nn.op:2:5: error: m [usage]\n    next\n        ^\n");
    source = source_of("");
    error_at(&error, ERROR_USAGE, (struct place){&source, 0, 1}, "m");
    CHECK_STR(render(&error, false), "nn.op:1:1: error: m [usage]\n    \n    ^\n");
    arena_release(&arena);
}

/* Of a generated line of a thousand characters only the part around the caret is shown. */
TEST(error_long_lines_are_windowed)
{
    static char line[1001];
    for (int i = 0; i < 1000; i++)
        line[i] = (char)('a' + i % 26);
    struct source source = source_of(line);
    static const size_t offsets[] = {0, 30, 500, 990, 1000};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        struct error error;
        error_at(&error, ERROR_USAGE, (struct place){&source, offsets[i], 400}, "m");
        const char *shown = strchr(render(&error, false), '\n') + 1;
        const char *caret = strchr(shown, '\n') + 1;
        CHECK(caret - shown <= 4 + 160 + 6 + 1);
        CHECK(strlen(caret) <= 4 + 160 + 6 + 1);
        size_t column = strspn(caret, " ");
        if (offsets[i] < 1000)
            CHECK_INT(shown[column], line[offsets[i]]);
        else
            CHECK_INT(shown[column], '\n');
        CHECK((strncmp(shown, "    ...", 7) == 0) == (offsets[i] > 60));
        CHECK((strncmp(caret - 4, "...\n", 4) == 0) == (offsets[i] < 900));
    }
    arena_release(&arena);
}

/* What is too long is cut visibly and never in the middle of a character. */
TEST(error_long_messages_are_cut)
{
    struct error error;
    char text[1000];
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 3);
    for (int shift = 0; shift < 4; shift++) {
        error_set(&error, ERROR_USAGE, "%.*s%s", shift, "abc", text);
        size_t length = strlen(error.message);
        CHECK(length < sizeof error.message && length > sizeof error.message - 6);
        CHECK_STR(error.message + length - 3, "...");
        for (size_t i = 0; i < length;) {
            size_t step = text_utf8(error.message + i, length - i);
            CHECK(step > 0);
            i += step;
        }
    }
}

TEST(error_system_says_why)
{
    struct error error;
    errno = ENOENT;
    CHECK(!error_system(&error, ERROR_CANNOT_READ, "could not open %s", "x.npy"));
    CHECK_STR(error.message, "could not open x.npy: No such file or directory");
    CHECK_INT(errno, ENOENT);
    /* Callers that do not care pass NULL. */
    CHECK(!error_system(NULL, ERROR_CANNOT_READ, "x"));
    CHECK(!error_set(NULL, ERROR_CANNOT_READ, "x"));
    CHECK(!error_at(NULL, ERROR_CANNOT_READ, (struct place){0}, "x"));
    error_detail(NULL, "x");
    error_hint(NULL, "x");
    error_note(NULL, (struct place){0}, "x");
}

TEST(error_wraps_itself)
{
    struct error error;
    error_set(&error, ERROR_CANNOT_READ, "no such file");
    error_hint(&error, "old");
    error_set(&error, ERROR_USAGE, "task x: %s", error.message);
    CHECK_STR(error.message, "task x: no such file");
    CHECK_STR(error.hint, "");
}

/* Names are what scripts and the documentation refer to. */
TEST(error_codes_have_names)
{
    CHECK_STR(error_name(ERROR_OUT_OF_MEMORY), "out-of-memory");
    CHECK_STR(error_name(ERROR_BAD_ARRAY_FILE), "bad-array-file");
    CHECK_STR(error_name((enum error_code)99999), "unknown");
    CHECK_INT(error_exit(ERROR_USAGE), EXIT_USAGE);
    CHECK_INT(error_exit(ERROR_CANNOT_READ), EXIT_ENVIRONMENT);
    CHECK_INT(error_exit(ERROR_NONE), EXIT_YES);
    static const enum error_code all[] = {
#define ERROR_CODE(name, number, exit, text) ERROR_##name,
#include "base/errors.def"
#undef ERROR_CODE
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const char *name = error_name(all[i]);
        CHECK_INT(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(name));
        CHECK(error_summary(all[i])[0] != '\0');
        CHECK(error_exit(all[i]) != EXIT_YES);
    }
}

/* One slip is reported once, many are reported up to a readable number. */
TEST(errors_collects)
{
    struct source source = source_of("abcdefghijklmnopqrstuvwxyz");
    struct errors errors = errors_new(&arena);
    struct error *first = errors_add(&errors, ERROR_USAGE, (struct place){&source, 0, 1}, "one");
    error_hint(first, "kept");
    error_hint(errors_add(&errors, ERROR_USAGE, (struct place){&source, 0, 1}, "again"), "lost");
    CHECK_INT(errors.list.count, 1);
    CHECK_STR(errors.list.at[0].message, "one");
    CHECK_STR(errors.list.at[0].hint, "kept");
    errors_add(&errors, ERROR_CANNOT_READ, (struct place){&source, 0, 1}, "another code");
    CHECK_INT(errors.list.count, 2);
    for (size_t i = 0; i < 26; i++)
        error_hint(errors_add(&errors, ERROR_USAGE, (struct place){&source, i, 1}, "m"), "h");
    CHECK_INT(errors.list.count, ERRORS_MAXIMUM);
    CHECK_INT(errors.dropped, 7);
    CHECK(first == &errors.list.at[0]);

    struct errors placeless = errors_new(&arena);
    struct error error;
    error_set(&error, ERROR_USAGE, "a");
    errors_take(&placeless, &error);
    errors_take(&placeless, &error);
    error_set(&error, ERROR_USAGE, "b");
    errors_take(&placeless, &error);
    CHECK_INT(placeless.list.count, 2);
    arena_release(&arena);
}
