/*
 * The manifest of a kernel: what is read, what is printed, and what a person is told about every
 * kind of fault.
 */
#include <string.h>

#include "kernel/kernel.h"
#include "test.h"

static const char SOFTMAX[] =
    "ir 1 part softmax { type T f32 size B.0 of B[0] size D parameter pad = 0 let P = D + 2*pad\n"
    "family B 1 input x f32[B.0, D] output y f32[B.0, D] signature (x) -> (y)\n"
    "map over b < B.0, d < D { %0 = index b %1 = index d %2 = read x [%0, %1]\n"
    "    y [%0, %1] <- %2 } }";

static struct arena arena;

static const struct ir_part *part_of(const char *text)
{
    struct source *source = arena_new(&arena, struct source);
    struct error error = {0};
    *source = (struct source){"test.ir", text, strlen(text)};
    const struct ir_program *program = ir_parse(&arena, source, &error);
    if (!program)
        test_fail(__FILE__, __LINE__, "%s", error.message);
    return ir_root(program);
}

static struct kernel *parse(const char *text, struct errors *errors)
{
    struct source *source = arena_new(&arena, struct source);
    *source = (struct source){"k.c", text, strlen(text)};
    *errors = errors_new(&arena);
    return kernel_parse(&arena, source, part_of(SOFTMAX), errors);
}

static struct kernel *parse_well(const char *text)
{
    struct errors errors;
    struct kernel *kernel = parse(text, &errors);
    if (!kernel)
        test_fail(__FILE__, __LINE__, "%s", errors.list.at[0].message);
    CHECK_INT(errors.list.count, 0);
    return kernel;
}

/* The first fault of a kernel: its code, and the text it is pinned to. */
static void check_fault(const char *text, enum error_code code, const char *at, const char *hint)
{
    struct errors errors;
    CHECK(parse(text, &errors) == NULL);
    CHECK(errors.list.count > 0);
    const struct error *error = &errors.list.at[0];
    if (error->code != code)
        test_fail(__FILE__, __LINE__, "%s: %s", text, error->message);
    if (at)
        CHECK_STR(arena_copy(&arena, error->place.source->text + error->place.offset,
                             error->place.length),
                  at);
    if (!strstr(error->hint, hint))
        test_fail(__FILE__, __LINE__, "hint is '%s', not '%s'", error->hint, hint);
}

#define HEAD "// smelt kernel 1\n// op softmax T=f32 B=1\n// target cpu\n"

TEST(manifest_says_everything)
{
    struct kernel *kernel = parse_well(HEAD "// holds D % 4 == 0, D<=8192, B[0] >= 1, pad > -1\n"
                                            "// scratch 4*(D + 1)*min(B.0, 8)\n"
                                            "// threads 2\n\n// other words\nint kernel;\n");
    CHECK(kernel->has_manifest);
    CHECK_STR(kernel->op, "softmax");
    CHECK_STR(kernel->instance, "T=f32 B=1");
    CHECK_STR(kernel->target, "cpu");
    CHECK_INT(kernel->holds_count, 4);
    CHECK_INT(kernel->threads, 2);
    const struct ir_fact *which = NULL;
    CHECK(kernel_holds(kernel, (int64_t[]){1, 8, 0, 8}, &which));
    CHECK(!kernel_holds(kernel, (int64_t[]){1, 10, 0, 10}, &which));
    CHECK(which == &kernel->holds[0]);
    CHECK(!kernel_holds(kernel, (int64_t[]){0, 8, 0, 8}, &which));
    CHECK(which == &kernel->holds[2]);
    CHECK(!kernel_holds(kernel, (int64_t[]){1, 8, -1, 6}, NULL));
    CHECK_INT(kernel_scratch(kernel, (int64_t[]){3, 9, 0, 9}), 120);
    CHECK_INT(kernel_scratch(kernel, (int64_t[]){100, 9, 0, 9}), 320);
}

TEST(manifest_prints_as_it_was_read)
{
    static const char TEXT[] = HEAD "// holds D % 4 == 0, D <= 8192, 0 < B.0\n"
                                    "// scratch 64*((4*D + 63)/64) + -2*(P - (D - 1))\n"
                                    "// threads 1\n";
    struct kernel *kernel = parse_well(TEXT);
    struct text out = text_new(&arena);
    kernel_print_manifest(&out, kernel, part_of(SOFTMAX));
    CHECK_STR(out.at, TEXT);
}

/* Most kernels people have lying about say nothing: they hold for everything. */
TEST(manifest_may_be_missing)
{
    struct kernel *kernel = parse_well("/* mine */\nint kernel(void);\n");
    CHECK(!kernel->has_manifest);
    CHECK_STR(kernel->op, "softmax");
    CHECK_STR(kernel->instance, "T=f32 B=1");
    CHECK_INT(kernel_scratch(kernel, (int64_t[]){1, 1, 0, 1}), 0);
    CHECK(kernel_holds(kernel, (int64_t[]){1, 1, 0, 1}, NULL));
    parse_well("");
}

TEST(manifest_may_have_blanks_and_other_line_ends)
{
    struct kernel *kernel = parse_well("\n  \n// smelt kernel 1\r\n//op softmax B=1   T=f32\r\n"
                                       "//\ttarget cpu\r\n// holds D%4==0\r\n");
    CHECK_INT(kernel->holds_count, 1);
    CHECK_STR(kernel->instance, "T=f32 B=1");
}

TEST(manifest_faults_in_lines)
{
    check_fault("// smelt kernel 2\n", ERROR_MANIFEST_VERSION, "2", "version 1");
    check_fault(HEAD "// hodls D > 1\n", ERROR_MANIFEST_LINE, "hodls", "'holds'");
    check_fault(HEAD "// A fast one.\n", ERROR_MANIFEST_LINE, "A", "empty line");
    check_fault(HEAD "// scratch\n", ERROR_MANIFEST_LINE, "scratch", "scratch 4*D");
    check_fault(HEAD "// threads 0\n", ERROR_MANIFEST_LINE, "0", "from 1");
    check_fault(HEAD "// threads two\n", ERROR_MANIFEST_LINE, "two", "from 1");
    check_fault(HEAD "// threads 99999999999999\n", ERROR_MANIFEST_LINE, NULL, "from 1");
    check_fault(HEAD "// target cpu\n", ERROR_MANIFEST_REPEATED, "target", "one line");
    check_fault("// smelt kernel 1\n// op softmax T=f32 B=1\n", ERROR_MANIFEST_MISSING, NULL,
                "// target cpu");
    check_fault("// smelt kernel 1\n// target cpu\nint x;\n", ERROR_MANIFEST_MISSING, NULL,
                "// op softmax");
    check_fault("// mine\n" HEAD, ERROR_MANIFEST_PLACE, "// smelt kernel 1", "to the top");
    check_fault(HEAD "\n" HEAD, ERROR_MANIFEST_PLACE, "// smelt kernel 1", "to the top");
}

/* A text is not cut short at a zero byte, nor waited for. */
TEST(manifest_faults_of_zero_bytes)
{
    static const char TEXT[] = "// smelt kernel 1\n// op softmax \0\n// target cpu\0gpu\n";
    struct source source = {"k.c", TEXT, sizeof TEXT - 1};
    struct errors errors = errors_new(&arena);
    CHECK(!kernel_parse(&arena, &source, part_of(SOFTMAX), &errors));
    CHECK_INT(errors.list.count, 3);
    CHECK_INT(errors.list.at[0].code, ERROR_MANIFEST_LINE);
    CHECK_INT(errors.list.at[1].place.offset, sizeof TEXT - 6);
    CHECK_STR(errors.list.at[2].message, "the manifest has no line 'op' and no line 'target'");
}

TEST(manifest_faults_in_what_it_is_for)
{
    check_fault("// smelt kernel 1\n// op relu\n// target cpu\n", ERROR_MANIFEST_OP, "relu",
                "its own op");
    check_fault("// smelt kernel 1\n// op softmax T=f16 B=1\n// target cpu\n",
                ERROR_MANIFEST_INSTANCE, "T=f16", "// op softmax T=f32 B=1");
    check_fault("// smelt kernel 1\n// op softmax\n// target cpu\n", ERROR_MANIFEST_INSTANCE, NULL,
                "// op softmax T=f32 B=1");
    check_fault("// smelt kernel 1\n// op softmax T=f32 T=f32\n// target cpu\n",
                ERROR_MANIFEST_INSTANCE, "T=f32", "B=1");
    check_fault("// smelt kernel 1\n// op softmax T=f32 B=11\n// target cpu\n",
                ERROR_MANIFEST_INSTANCE, "B=11", "B=1");
    check_fault("// smelt kernel 1\n// op softmax T=f32 B=1\n// target gpu\n",
                ERROR_MANIFEST_TARGET, "gpu", "cpu");
}

TEST(manifest_faults_in_expressions)
{
    check_fault(HEAD "// holds E == 2\n", ERROR_MANIFEST_SYMBOL, "E", "B.0, D, pad, P");
    check_fault(HEAD "// holds padd == 2\n", ERROR_MANIFEST_SYMBOL, "padd", "'pad'");
    check_fault(HEAD "// holds B[1] == 2\n", ERROR_MANIFEST_SYMBOL, "B[1]", "B.0");
    check_fault(HEAD "// holds D\n", ERROR_MANIFEST_EXPRESSION, NULL, "sizes are made of");
    check_fault(HEAD "// holds D = 4\n", ERROR_MANIFEST_EXPRESSION, "=", "");
    check_fault(HEAD "// holds D == 4,\n", ERROR_MANIFEST_EXPRESSION, NULL, "");
    check_fault(HEAD "// holds D == 4 and D == 5\n", ERROR_MANIFEST_EXPRESSION, "a", "");
    check_fault(HEAD "// scratch 4*(D\n", ERROR_MANIFEST_EXPRESSION, NULL, "");
    check_fault(HEAD "// scratch 4 D\n", ERROR_MANIFEST_EXPRESSION, "D", "");
    check_fault(HEAD "// scratch 4.5*D\n", ERROR_MANIFEST_EXPRESSION, ".", "");
    check_fault(HEAD "// scratch 99999999999999999999\n", ERROR_MANIFEST_EXPRESSION, NULL, "");
    check_fault(HEAD "// scratch min(D)\n", ERROR_MANIFEST_EXPRESSION, ")", "");
    check_fault(HEAD "// scratch D\xc3\xa4\n", ERROR_MANIFEST_EXPRESSION, "\xc3\xa4", "");
}

TEST(manifest_faults_are_all_told)
{
    struct errors errors;
    CHECK(!parse("// smelt kernel 1\n// op relu\n// target gpu\n// holds E == 1\n// scratch (\n",
                 &errors));
    CHECK_INT(errors.list.count, 4);
}

TEST(manifest_limits)
{
    struct text deep = text_new(&arena), many = text_new(&arena);
    text_add(&deep, HEAD "// scratch ");
    text_repeat(&deep, '(', 100000);
    check_fault(deep.at, ERROR_MANIFEST_LIMIT, NULL, "");
    text_truncate(&deep, sizeof HEAD - 1);
    text_add(&deep, "// scratch ");
    text_repeat(&deep, '-', 100000);
    check_fault(deep.at, ERROR_MANIFEST_LIMIT, NULL, "");
    text_add(&many, HEAD "// holds D == 1");
    for (int i = 0; i < KERNEL_MAX_FACTS; i++)
        text_add(&many, ", D == 1");
    check_fault(many.at, ERROR_MANIFEST_LIMIT, NULL, "");
    static struct source large = {"k.c", "", (size_t)KERNEL_MAX_BYTES + 1};
    struct errors errors = errors_new(&arena);
    CHECK(!kernel_parse(&arena, &large, part_of(SOFTMAX), &errors));
    CHECK_INT(errors.list.at[0].code, ERROR_MANIFEST_LIMIT);
}

/* Sizes for which an expression has no value are refused, never called. */
TEST(manifest_expressions_without_a_value)
{
    struct kernel *kernel = parse_well(HEAD "// holds 8 % D == 0\n// scratch D*D*D - 9\n");
    CHECK(!kernel_holds(kernel, (int64_t[]){1, 0, 0, 0}, NULL));
    CHECK(kernel_holds(kernel, (int64_t[]){1, 4, 0, 4}, NULL));
    CHECK_INT(kernel_scratch(kernel, (int64_t[]){1, 4000000, 0, 4000000}), -1);
    CHECK_INT(kernel_scratch(kernel, (int64_t[]){1, 2, 0, 2}), -1);
    CHECK_INT(kernel_scratch(kernel, (int64_t[]){1, 3, 0, 3}), 18);
}

TEST(manifest_of_lists)
{
    struct text out = text_new(&arena);
    kernel_print_instance(
        &out, part_of("ir 1 part two { size N input xs.0 f32[N] input xs.1 f32[N] input z f32[N]\n"
                      "output y f32[N] signature (xs.0, xs.1, z) -> (y)\n"
                      "map over n < N { %0 = index n %1 = read xs.0 [%0] y [%0] <- %1 } }"));
    CHECK_STR(out.at, "xs=2");
}
