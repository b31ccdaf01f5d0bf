/*
 * The skeleton attend: causal, windowed and unmasked attention under several plans, over random
 * sizes, empty ones among them, against the interpreter.
 */
#include <string.h>

#include "gen/gen.h"
#include "kernel_run.h"
#include "oracle_differ.h"
#include "skeleton/skeleton.h"
#include "test.h"

struct attend_case {
    const char *text;
    const char *decisions; /* "key value;" */
};

#define SIGNATURE                                                                             \
    "ir 1 part attention { size L size S size E size D input q f32[L, E] input k f32[S, E]\n" \
    "input v f32[S, D] output y f32[L, D] temporary s ~f32[L, S] temporary m ~f32[L]\n"       \
    "temporary z ~f32[L] temporary o ~f32[L, D] signature (q, k, v) -> (y)\n"                 \
    "reduce sum over l < L, t < S | e < E { %0 = index l %1 = index t %2 = index e\n"         \
    "%3 = read q [%0, %2] proved %4 = read k [%1, %2] proved %5 = mul f32 %3, %4\n"           \
    "s [%0, %1] <- %5 }\n"

#define WEIGHT                                                                  \
    "%3 = read s [%0, %1] proved %4 = read m [%0] proved %5 = float f32 -inf\n" \
    "%6 = eq %3, %5 %7 = sub f32 %3, %4 %8 = exp f32 %7 %9 = float f32 0\n"     \
    "%10 = select f32 %6, %9, %8\n"

#define ATTENTION(if, seen)                                                                         \
    SIGNATURE                                                                                       \
    "reduce max over l < L | t < S " if " { %0 = index l %1 = index t " seen "\n"                   \
                                        "%3 = read s [%0, %1] proved m [%0] <- %3 }\n"              \
                                        "reduce sum over l < L | t < S " if " { %0 = index l "      \
                                                                            "%1 = index "           \
                                                                            "t " seen "\n" WEIGHT   \
                                                                            "z [%0] <- %10 "        \
                                                                            "}\n"                   \
                                                                            "reduce sum over "      \
                                                                            "l < L, d < D | "       \
                                                                            "t < S " if " { "       \
                                                                                        "%0 "       \
                                                                                        "= "        \
                                                                                        "inde"      \
                                                                                        "x l "      \
                                                                                        "%1 "       \
                                                                                        "= "        \
                                                                                        "inde"      \
                                                                                        "x "        \
                                                                                        "t"         \
                                                                                        " " seen    \
                                                                                        "\n" WEIGHT \
                                                                                        "%11 "      \
                                                                                        "= "        \
                                                                                        "inde"      \
                                                                                        "x d "      \
                                                                                        "%12 "      \
                                                                                        "= "        \
                                                                                        "read"      \
                                                                                        " v "       \
                                                                                        "[%1,"      \
                                                                                        " %"        \
                                                                                        "11] "      \
                                                                                        "prov"      \
                                                                                        "ed\n"      \
                                                                                        "%13 "      \
                                                                                        "= "        \
                                                                                        "mul "      \
                                                                                        "f32 "      \
                                                                                        "%10,"      \
                                                                                        " %"        \
                                                                                        "12 "       \
                                                                                        "o "        \
                                                                                        "[%0,"      \
                                                                                        " %"        \
                                                                                        "11] "      \
                                                                                        "<- "       \
                                                                                        "%13 "      \
                                                                                        "}\n"       \
                                                                                        "map "      \
                                                                                        "over"      \
                                                                                        " l "       \
                                                                                        "< "        \
                                                                                        "L, "       \
                                                                                        "d < "      \
                                                                                        "D { "      \
                                                                                        "%0 "       \
                                                                                        "= "        \
                                                                                        "inde"      \
                                                                                        "x l "      \
                                                                                        "%1 "       \
                                                                                        "= "        \
                                                                                        "inde"      \
                                                                                        "x d "      \
                                                                                        "%2 "       \
                                                                                        "= "        \
                                                                                        "read"      \
                                                                                        " o "       \
                                                                                        "[%0,"      \
                                                                                        " %1]"      \
                                                                                        " pro"      \
                                                                                        "ved"       \
                                                                                        "\n"        \
                                                                                        "%3 "       \
                                                                                        "= "        \
                                                                                        "read"      \
                                                                                        " z "       \
                                                                                        "[%0]"      \
                                                                                        " pro"      \
                                                                                        "ved "      \
                                                                                        "%4 "       \
                                                                                        "= "        \
                                                                                        "floa"      \
                                                                                        "t "        \
                                                                                        "f32 "      \
                                                                                        "0 "        \
                                                                                        "%5 "       \
                                                                                        "= "        \
                                                                                        "eq "       \
                                                                                        "%3, "      \
                                                                                        "%4 "       \
                                                                                        "%6 "       \
                                                                                        "= "        \
                                                                                        "fdiv"      \
                                                                                        " f32"      \
                                                                                        " %2,"      \
                                                                                        " %"        \
                                                                                        "3\n"       \
                                                                                        "%7 "       \
                                                                                        "= "        \
                                                                                        "sele"      \
                                                                                        "ct "       \
                                                                                        "f32 "      \
                                                                                        "%5, "      \
                                                                                        "%4, "      \
                                                                                        "%6 "       \
                                                                                        "y "        \
                                                                                        "[%0,"      \
                                                                                        " %1]"      \
                                                                                        " <- "      \
                                                                                        "%7 "       \
                                                                                        "} }"

static const struct attend_case CASES[] = {
    {ATTENTION("", "%2 = int 0"), ""},
    {ATTENTION("", "%2 = int 0"), "block.q 32;block.k 16;tile.k 3;tile.d 5;threads 1;"},
    {ATTENTION("if %2", "%2 = le %1, %0"), ""},
    {ATTENTION("if %2", "%2 = lt %1, %0"), "block.q 16;block.k 32;tile.k 4;tile.d 1;threads 4;"},
    {ATTENTION("if %2", "%2 = lt %0, %1"), "block.q 16;block.k 16;tile.k 2;tile.d 7;threads 2;"},
};

static void set_all(struct arena *arena, struct plan_group *group, const char *decisions)
{
    char *at = arena_string(arena, decisions);
    for (char *end; (end = strchr(at, ';')); at = end + 1) {
        char *space = strchr(at, ' ');
        *space = *end = '\0';
        plan_set(arena, group, at, space + 1);
    }
}

static struct text make(struct arena *arena, const struct ir_program *program,
                        const struct attend_case *c)
{
    static const struct skeleton_target target = {.name = "avx512",
                                                  .vector_bytes = 64,
                                                  .registers = 32,
                                                  .masks = true,
                                                  .l1 = 1 << 15,
                                                  .l2 = 1 << 20,
                                                  .l3 = 1 << 24,
                                                  .threads = 2,
                                                  .fma = 1e11,
                                                  .memory = 1e10,
                                                  .l2_rate = 1e11};
    static const int stages[] = {0, 1, 2, 3, 4};
    int64_t sizes[4] = {96, 96, 96, 96};
    double scalars[1] = {0};
    struct error error = {0};
    struct ir_binding *binding = ir_bind(arena, program, sizes, scalars, &error);
    struct skeleton_program *planned = skeleton_program_new(arena, program, binding, &target);
    struct plan_group group = {
        .name = "attention", .stages = stages, .stage_count = 5, .skeleton = "attend"};
    struct plan plan = {.target = "cpu", .machine = "avx512", .groups = &group, .group_count = 1};
    set_all(arena, &group, c->decisions);
    if (!skeleton_check(planned, &plan, &error))
        test_fail(__FILE__, __LINE__, "%s: %s", c->decisions, error.message);
    struct loop_kernel *loops = skeleton_lower(planned, &plan);
    if (!loop_check(loops, &error))
        test_fail(__FILE__, __LINE__, "%s: %s", c->decisions, error.message);
    struct text text = text_new(arena);
    gen_loop_c(&text, loops, &(struct gen_head){0});
    return text;
}

static void check_case(const struct attend_case *c)
{
    struct arena *arena = differ_arena();
    const struct ir_program *program = differ_parse(c->text);
    struct random random = random_new(7, 11);
    struct library *library;
    struct errors errors = errors_new(arena);
    struct text text = make(arena, program, c);
    struct source source = {"kernel.c", text.at, text.length};
    const struct kernel *kernel = kernel_parse(arena, &source, ir_root(program), &errors);
    CHECK(kernel != NULL);
    kernel_run_what = c->decisions;
    kernel_function *function = kernel_run_compile(arena, &text, false, &library);
    for (int round = 0; round < 8; round++) {
        int64_t sizes[4];
        double scalars[1] = {0};
        struct array inputs[4];
        struct error error = {0};
        for (int i = 0; i < 4; i++)
            sizes[i] = round == 0 ? 48 : (int64_t)random_below(&random, i < 2 ? 150 : 40);
        struct ir_binding *binding = ir_bind(arena, program, sizes, scalars, &error);
        CHECK(binding && oracle_draw(arena, NULL, binding, random_u64(&random), inputs, &error));
        kernel_run_check(arena, binding, inputs, function, kernel, 1024);
    }
}

TEST(attend_whole)
{
    check_case(&CASES[0]);
    check_case(&CASES[1]);
}

TEST(attend_masked)
{
    for (size_t i = 2; i < sizeof CASES / sizeof *CASES; i++)
        check_case(&CASES[i]);
}
