/*
 * The skeletons map, row and scan: stages along and across memory, under several plans and over
 * random sizes, empty and odd ones among them, against the interpreter.
 */
#include <math.h>
#include <string.h>

#include "gen/gen.h"
#include "kernel_run.h"
#include "oracle_differ.h"
#include "skeleton/skeleton.h"
#include "test.h"

struct rows_case {
    const char *skeleton, *text;
    int64_t largest;
    const char *decisions; /* "key value;" */
};

#define BIASED                                                                      \
    "ir 1 part biased { size B size N size D input x f32[B, N, D] input b f32[N]\n" \
    "output y f32[B, N, D] output z bf16[B, N, D] signature (x, b) -> (y, z)\n"     \
    "map over i < B, n < N, d < D { %0 = index i %1 = index n %2 = index d\n"       \
    "%3 = read x [%0, %1, %2] proved %4 = read b [%1] proved %5 = add f32 %3, %4\n" \
    "y [%0, %1, %2] <- %5 }\n"                                                      \
    "map over i < B, n < N, d < D { %0 = index i %1 = index n %2 = index d\n"       \
    "%3 = read y [%0, %1, %2] proved %4 = exp f32 %3 z [%0, %1, %2] <- %4 } }"

#define TURNED                                                                                \
    "ir 1 part turned { size N size D input x f32[N, D] output y f32[D, N] signature (x) -> " \
    "(y)\nmap over d < D, n < N { %0 = index d %1 = index n %2 = read x [%1, %0] proved\n"    \
    "y [%0, %1] <- %2 } }"

/* Neighbours by integer division: the same places in every line. */
#define SPREAD                                                                                \
    "ir 1 part spread { size N size D input x f32[N, D] output y f32[N, D] signature (x) -> " \
    "(y)\nmap over n < N, d < D { %0 = index n %1 = index d %2 = int 3 %3 = div %1, %2\n"     \
    "%4 = mod %1, %2 %5 = to_float f32 %4 %6 = read x [%0, %3] proved\n"                      \
    "%7 = read x [%0, %1] proved %8 = mul f32 %5, %6 %9 = add f32 %8, %7\n"                   \
    "y [%0, %1] <- %9 } }"

#define SOFTMAX(dims, at)                                                                     \
    "ir 1 part softmax { size N size D input x f32[" dims "] output y f32[" dims "]\n"        \
    "temporary m ~f32[N] temporary s ~f32[N] signature (x) -> (y)\n"                          \
    "reduce max over n < N | d < D { %0 = index n %1 = index d %2 = read x [" at "] proved\n" \
    "m [%0] <- %2 }\n"                                                                        \
    "reduce sum over n < N | d < D { %0 = index n %1 = index d %2 = read x [" at "] proved\n" \
    "%3 = read m [%0] proved %4 = sub f32 %2, %3 %5 = exp f32 %4 s [%0] <- %5 }\n"            \
    "map over n < N, d < D { %0 = index n %1 = index d %2 = read x [" at "] proved\n"         \
    "%3 = read m [%0] proved %4 = sub f32 %2, %3 %5 = exp f32 %4 %6 = read s [%0] proved\n"   \
    "%7 = fdiv f32 %5, %6 y [" at "] <- %7 } }"

#define GUARDED                                                                               \
    "ir 1 part guarded { size N size D input x f32[N, D] output s f32[N]\n"                   \
    "temporary m ~f32[N] signature (x) -> (s)\n"                                              \
    "reduce max over n < N | d < D { %0 = index n %1 = index d %2 = read x [%0, %1] proved\n" \
    "m [%0] <- %2 }\n"                                                                        \
    "reduce sum over n < N | d < D { %0 = index n %1 = index d %2 = read x [%0, %1] proved\n" \
    "%3 = read m [%0] proved %4 = eq %2, %3 %5 = sub f32 %2, %3 %6 = exp f32 %5\n"            \
    "%7 = float f32 1 %8 = select f32 %4, %7, %6 s [%0] <- %8 } }"

#define ARGMAX(dims, at)                                                                      \
    "ir 1 part best { size N size D input x f32[" dims "] output v f32[N] output i i64[N]\n"  \
    "signature (x) -> (v, i)\nreduce argmax over n < N | d < D { %0 = index n %1 = index d\n" \
    "%2 = read x [" at "] proved v [%0] <- %2 i [%0] <- %1 } }"

#define SUM                                                                                   \
    "ir 1 part down { size N size D input x f32[D, N] output y f32[N] signature (x) -> (y)\n" \
    "reduce sum over n < N | d < D { %0 = index n %1 = index d %2 = read x [%1, %0] proved\n" \
    "y [%0] <- %2 } }"

#define TOTAL                                                                                  \
    "ir 1 part total { size N size D input x f32[N, D] output y f32[] temporary m ~f32[N]\n"   \
    "temporary t ~f32[] signature (x) -> (y)\n"                                                \
    "reduce max over n < N | d < D { %0 = index n %1 = index d %2 = read x [%0, %1] proved\n"  \
    "m [%0] <- %2 }\n"                                                                         \
    "reduce sum over | n < N, d < D { %0 = index n %1 = index d %2 = read x [%0, %1] proved\n" \
    "%3 = read m [%0] proved %4 = sub f32 %2, %3 t [] <- %4 }\n"                               \
    "map { %0 = read t [] proved %1 = float f32 2 %2 = fdiv f32 %0, %1 y [] <- %2 } }"

#define SCAN(at, how)                                                                            \
    "ir 1 part line { size N size D input x f32[N, D] output y f32[N, D] signature (x) -> (y)\n" \
    "scan sum over n < N, d < D along " at " " how " { %0 = index n %1 = index d\n"              \
    "%2 = read x [%0, %1] proved y [%0, %1] <- %2 } }"

static const struct rows_case CASES[] = {
    {"map", BIASED, 40, ""},
    {"map", BIASED, 40, "threads 1;lanes 8;unroll 4;stores streaming;"},
    {"map", TURNED, 40, ""},
    {"map", TURNED, 40, "turn no;chunk 8192;"},
    {"map", TURNED, 600, "turn 1;lanes 16;chunk 256;stores streaming;"},
    {"map", TURNED, 600, "turn 2;lanes 8;chunk 256;stores streaming;"},
    {"map", TURNED, 40, "threads 1;turn 4;lanes 4;"},
    {"map", SPREAD, 60, ""},
    {"map", SPREAD, 60, "lines 16;unroll 2;stores streaming;"},
    {"map", SPREAD, 60, "threads 1;lanes 8;lines 4;"},
    {"map", BIASED, 40, "lines 64;"},
    {"row", GUARDED, 150, ""},
    {"row", GUARDED, 150, "lanes 8;unroll 4;"},
    {"row", SOFTMAX("N, D", "%0, %1"), 150, ""},
    {"row", SOFTMAX("N, D", "%0, %1"), 150,
     "lanes 8;unroll 1;keep 4096;divide reciprocal;prefetch yes;stores streaming;"},
    {"row", SOFTMAX("N, D", "%0, %1"), 150, "lanes 4;unroll 2;keep 4096;"},
    {"row", SOFTMAX("N, D", "%0, %1"), 150, "threads all;split yes;keep no;prefetch no;"},
    {"row", SOFTMAX("D, N", "%1, %0"), 100, "side across;lanes 16;unroll 2;"},
    {"row", ARGMAX("N, D", "%0, %1"), 100, ""},
    {"row", ARGMAX("N, D", "%0, %1"), 100, "split yes;unroll 2;"},
    {"row", ARGMAX("D, N", "%1, %0"), 60, "side across;"},
    {"row", TOTAL, 80, ""},
    {"row", SUM, 600, "side across;columns 256;"},
    {"row", SUM, 600, "threads all;side across;columns 256;split yes;"},
    {"row", SUM, 600, "side across;columns 2048;"},
    {"row", SUM, 600, "threads all;side across;columns 2048;split yes;"},
    {"scan", SCAN("d", ""), 80, ""},
    {"scan", SCAN("d", "reverse exclusive"), 80, "lanes 16;stores streaming;"},
    {"scan", SCAN("n", "exclusive"), 80, "columns 64;"},
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

/* Plans with few lanes are for a machine without masks, where exponentials are others. */
static struct text make(struct arena *arena, const struct ir_program *program,
                        const struct rows_case *c)
{
    struct skeleton_target target = {.name = "avx512",
                                     .vector_bytes = 64,
                                     .registers = 32,
                                     .masks = !strstr(c->decisions, "lanes 8;") &&
                                              !strstr(c->decisions, "lanes 4;"),
                                     .streaming = true,
                                     .l1 = 1 << 15,
                                     .l2 = 1 << 20,
                                     .l3 = 1 << 24,
                                     .threads = 2,
                                     .fma = 1e11,
                                     .memory = 1e10,
                                     .l2_rate = 1e11};
    int64_t sizes[4] = {96, 96, 96, 96};
    double scalars[1] = {0};
    struct error error = {0};
    struct ir_binding *binding = ir_bind(arena, program, sizes, scalars, &error);
    struct skeleton_program *planned = skeleton_program_new(arena, program, binding, &target);
    int count = planned->part->stage_count, *stages = arena_array(arena, 8, sizeof *stages);
    for (int i = 0; i < count; i++)
        stages[i] = i;
    struct plan_group group = {
        .name = "rows", .stages = stages, .stage_count = count, .skeleton = c->skeleton};
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

/* Rows with what is no ordinary number among others: each has its way round. */
static void spoil(struct array *array, struct random *random)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, -1e30, -100, 100};
    for (int64_t i = 0; i < array->count; i++) {
        if (random_below(random, 199) == 0)
            array->floats[i] = odd[random_below(random, 8)];
    }
}

static void check_case(const struct rows_case *c)
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
    for (int round = 0; round < 12; round++) {
        int64_t sizes[4];
        double scalars[1] = {0};
        struct array inputs[4];
        struct error error = {0};
        for (int i = 0; i < 4; i++)
            sizes[i] = round == 0 ? 64 : (int64_t)random_below(&random, (uint64_t)c->largest);
        struct ir_binding *binding = ir_bind(arena, program, sizes, scalars, &error);
        CHECK(binding && oracle_draw(arena, NULL, binding, random_u64(&random), inputs, &error));
        if (round >= 8 && strcmp(c->skeleton, "row") == 0)
            spoil(&inputs[0], &random);
        kernel_run_check(arena, binding, inputs, function, kernel, 64);
    }
}

static void check_skeleton(const char *skeleton, size_t half)
{
    for (size_t i = half; i < sizeof CASES / sizeof *CASES; i += 2) {
        if (strcmp(CASES[i].skeleton, skeleton) == 0)
            check_case(&CASES[i]);
    }
}

TEST(rows_maps)
{
    check_skeleton("map", 0);
    check_skeleton("map", 1);
}

TEST(rows_reduced)
{
    check_skeleton("row", 0);
}

TEST(rows_reduced_2)
{
    check_skeleton("row", 1);
}

TEST(rows_scanned)
{
    check_skeleton("scan", 0);
    check_skeleton("scan", 1);
}
