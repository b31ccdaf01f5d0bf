/*
 * Plain kernels, as smelt writes them: compiled without a warning by gcc and by clang, run with no
 * more memory than their manifest asks for, and near the interpreter's values. Every op of the
 * library at its default types and at others it admits, and a program for every construct.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gen/gen.h"
#include "kernel_run.h"
#include "lang/lang.h"
#include "lib_vectors.h"
#include "oracle_differ.h"
#include "oracle_program.h"
#include "test.h"

struct plain { /* a compiled plain kernel */
    struct kernel *kernel;
    kernel_function *function;
    struct library *library;
};

static struct plain plain_make(struct arena *arena, const struct ir_program *program, bool quick)
{
    struct plain plain;
    struct text text = text_new(arena);
    struct errors errors = errors_new(arena);
    gen_plain_c(&text, program, GEN_PLAIN);
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){"plain.c", text.at, text.length};
    plain.kernel = kernel_parse(arena, source, ir_root(program), &errors);
    if (!plain.kernel)
        kernel_run_complain("its manifest", errors.list.at[0].message);
    CHECK(plain.kernel->has_manifest);
    plain.function = kernel_run_compile(arena, &text, quick, &plain.library);
    return plain;
}

/* ---- programs for every construct ---- */

TEST(plain_programs)
{
    struct arena *arena = differ_arena();
    struct random random = random_new(7, 7);
    struct plain plain = {0};
    for (const struct oracle_program *p = ORACLE_PROGRAMS; p->name; p++) {
        struct evaluation e;
        kernel_run_what = p->name;
        evaluation_open(&e, p->text, p->sizes);
        if (p == ORACLE_PROGRAMS || p->text != p[-1].text)
            plain = plain_make(arena, e.program, false);
        evaluation_draw(&e, random_u64(&random));
        kernel_run_check(arena, e.binding, e.inputs, plain.function, plain.kernel, 64);
        evaluation_close(&e);
    }
}

/* Over random shapes, empty ones among them. */
static void check_text(const char *name, const char *text, int rounds, int64_t largest)
{
    struct arena *arena = differ_arena();
    const struct ir_program *program = differ_parse(text);
    struct random random = random_new(11, 3);
    int bound = 0;
    kernel_run_what = name;
    struct plain plain = plain_make(arena, program, false);
    for (int round = 0; round < rounds; round++) {
        const struct ir_part *part = ir_root(program);
        struct error error = {0};
        int64_t sizes[16] = {0};
        double scalars[16] = {0};
        struct array inputs[16];
        CHECK(part->symbol_count <= 16 && part->scalar_count <= 16 && part->input_count <= 16);
        for (int i = 0; i < 16; i++)
            sizes[i] = (int64_t)random_below(&random, (uint64_t)largest + 1);
        struct ir_binding *binding = ir_bind(arena, program, sizes, scalars, &error);
        if (!binding || !oracle_draw(arena, NULL, binding, random_u64(&random), inputs, &error))
            continue;
        kernel_run_check(arena, binding, inputs, plain.function, plain.kernel, 64);
        bound++;
    }
    CHECK(bound > 0);
}

TEST(plain_sums_side_by_side)
{
    check_text("product",
               "ir 1 part product { size M size N size K input a f32[M, K] input b f32[K, N]\n"
               "input w f64[N, K] output y f32[M, N] output z bf16[M, N] output t f64[N]\n"
               "signature (a, b, w) -> (y, z, t)\n"
               "reduce sum over m < M, n < N | k < K { %0 = index m %1 = index n %2 = index k\n"
               "    %3 = read a [%0, %2] %4 = read b [%2, %1] %5 = mul f32 %3, %4\n"
               "    y [%0, %1] <- %5 }\n"
               "reduce sum over m < M, n < N | k < K if %4 { %0 = index m %1 = index n\n"
               "    %2 = index k %3 = read b [%2, %1] %4 = le %1, %2 z [%0, %1] <- %3 }\n"
               "reduce sum over n < N | k < K { %0 = index n %1 = index k %2 = read w [%0, %1]\n"
               "    t [%0] <- %2 } }",
               24, 70);
}

/* Accumulators are wider than what they end in. */
TEST(plain_scatter_and_ranks_in_narrow_types)
{
    check_text("narrow",
               "ir 1 part narrow { size N size M size K input x f16[N, M] input i i32[N] index(M)\n"
               "input y0 f16[M] output y f16[M] output z i8[M] output w u8[M] output v bf16[N, K]\n"
               "output p i16[N, K] signature (x, i, y0) -> (y, z, w, v, p)\n"
               "scatter sum over n < N, m < M from y0 { %0 = index n %1 = index m\n"
               "    %2 = read i [%0] %3 = read x [%0, %1] y [%2] <- %3 }\n"
               "scatter sum over n < N, m < M { %0 = index n %1 = index m\n"
               "    %2 = read i [%0] %3 = int 100 z [%2] <- %3 }\n"
               "scatter assign over n < N { %0 = index n %1 = read i [%0] %2 = int 300\n"
               "    %3 = add i64 %0, %2 w [%1] <- %3 }\n"
               "reduce topk over n < N | m < M { %0 = index n %1 = index m %2 = read x [%0, %1]\n"
               "    v [%0] <- %2 p [%0] <- %1 } }",
               24, 6);
}

/* ---- the library ---- */

static void check_op(struct lang *lang, struct lang_file *library, const struct ast_op *op,
                     const char *type, bool quick)
{
    struct arena arena = {0};
    struct settings settings = kernel_run_settings(&arena, op);
    struct errors errors = errors_new(&arena);
    struct error error = {0};
    char name[100];
    snprintf(name, sizeof name, "%s %s", op->name.name, type ? type : "");
    kernel_run_what = name;
    if (type)
        vector_push(&arena, &settings, type);
    struct task *task =
        lang_task_from_settings(lang, library, op, settings.at, settings.count, &errors);
    if (!task)
        kernel_run_complain("no task", errors.list.count ? errors.list.at[0].message : "");
    const struct task_case *task_case = &task->cases[0];
    struct ir_binding *binding =
        ir_bind(&arena, task_case->program, task_case->sizes, task_case->scalars, &error);
    if (!binding)
        kernel_run_complain(error.message, error.detail);
    struct plain plain = plain_make(&arena, task_case->program, quick);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct array inputs[64];
        CHECK(binding->part->input_count <= 64);
        if (!oracle_draw(&arena, task_case, binding, seed, inputs, &error))
            kernel_run_complain(error.message, error.detail);
        kernel_run_check(&arena, binding, inputs, plain.function, plain.kernel, 256);
    }
    library_close(plain.library);
    arena_release(&arena);
}

/*
 * One in SHARDS of the ops, so that tests run side by side. Every op at its default types and at
 * one other; one in EIGHTH also as the judge compiles it, and by clang.
 */
enum { SHARDS = 16, EIGHTH = 8 };

static void check_library(size_t shard)
{
    static const enum dtype OTHERS[] = {DTYPE_F64, DTYPE_F16, DTYPE_BF16, DTYPE_I32};
    enum { OTHER_COUNT = sizeof OTHERS / sizeof *OTHERS };
    struct arena arena = {0};
    struct errors errors = errors_new(&arena);
    struct lang *lang = lang_new(&arena, arena_printf(&arena, "%s/lib", repository_root()));
    struct lang_file *library = lang_library(lang, &errors);
    CHECK(library != NULL);
    for (size_t i = shard; i < lang_op_count(library); i += SHARDS) {
        const struct ast_op *op = lang_op(library, i);
        struct lang_types types = lang_types(&arena, op);
        check_op(lang, library, op, NULL, i / SHARDS % EIGHTH != shard % EIGHTH);
        for (size_t t = 0; types.count && t < OTHER_COUNT; t++) {
            enum dtype other = OTHERS[(i / SHARDS + t) % OTHER_COUNT];
            if (!types.at[0].admits[other])
                continue;
            check_op(lang, library, op,
                     arena_printf(&arena, "%s=%s", types.at[0].name, dtype_name(other)), true);
            break;
        }
    }
    arena_release(&arena);
}

#define SHARD(number)              \
    TEST(plain_library_##number)   \
    {                              \
        check_library((number)-1); \
    }
SHARD(1)
SHARD(2)
SHARD(3)
SHARD(4)
SHARD(5)
SHARD(6)
SHARD(7)
SHARD(8)
SHARD(9)
SHARD(10)
SHARD(11)
SHARD(12)
SHARD(13)
SHARD(14)
SHARD(15)
SHARD(16)

/* ---- conversions ---- */

/* A value to all float types and back: exactly what src/ir/dtype.c says, to the last bit. */
static void check_conversions(const char *text, const struct array *values)
{
    struct arena *arena = differ_arena();
    const struct ir_program *program = differ_parse(text);
    struct error error = {0};
    int64_t sizes[1] = {values->count};
    struct plain plain = plain_make(arena, program, false);
    struct ir_binding *binding = ir_bind(arena, program, sizes, NULL, &error);
    CHECK(binding != NULL);
    kernel_run_check(arena, binding, values, plain.function, plain.kernel, 0);
}

static double hard_value(struct random *random, enum dtype type, int64_t i)
{
    static const double EDGES[] = {0x1p-24,  0x1p-25, 0x1.000002p-25, 0x1p-14,  0x1.ffcp-15,
                                   65504,    65519,   65520,          65519.99, 448,
                                   464,      463.9,   57344,          61440,    61439,
                                   0x1p-6,   0x1p-9,  0x1p-10,        0x1p-16,  0x1p-17,
                                   0x1p-133, 1e-45,   1e38,           3.4e38,   INFINITY,
                                   NAN,      0.0,     1.0009765625};
    enum { COUNT = sizeof EDGES / sizeof *EDGES };
    if (i < 2 * COUNT)
        return dtype_round(type, i % 2 ? -EDGES[i / 2] : EDGES[i / 2]);
    int exponent = (int)random_below(random, 300) - 150;
    double value = ldexp(1 + random_uniform(random), i % 3 ? exponent / 6 : exponent);
    if (i % 5 == 0) /* half-way between neighbours of few digits */
        value = ldexp(1 + (double)random_below(random, 4096) / 4096, exponent / 8);
    return dtype_round(type, i % 2 ? -value : value);
}

TEST(plain_conversions_are_exact)
{
    static const char *const TYPES[] = {"f64", "f32"};
    struct arena *arena = differ_arena();
    struct random random = random_new(5, 5);
    for (int t = 0; t < 2; t++) {
        struct array values = {.name = "x", .dtype = t ? DTYPE_F32 : DTYPE_F64, .rank = 1};
        struct text text = text_new(arena), stages = text_new(arena), list = text_new(arena);
        static const char *const NARROW[] = {"f32", "f16", "bf16", "f8e4", "f8e5"};
        kernel_run_what = TYPES[t];
        values.count = values.dims[0] = 20000;
        array_alloc(arena, &values);
        for (int64_t i = 0; i < values.count; i++)
            values.floats[i] = hard_value(&random, values.dtype, i);
        text_printf(&text, "ir 1 part convert { size N input x %s[N]\n", TYPES[t]);
        for (size_t n = 0; n < sizeof NARROW / sizeof *NARROW; n++) {
            text_printf(&text, "output y%zu %s[N] output z%zu %s[N]\n", n, NARROW[n], n, TYPES[t]);
            text_printf(&list, "%sy%zu, z%zu", n ? ", " : "", n, n);
            text_printf(
                &stages,
                "map over n < N { %%0 = index n %%1 = read x [%%0] y%zu [%%0] <- %%1 }\n"
                "map over n < N { %%0 = index n %%1 = read y%zu [%%0] z%zu [%%0] <- %%1 }\n",
                n, n, n);
        }
        text_printf(&text, "signature (x) -> (%s)\n%s}", list.at, stages.at);
        check_conversions(text.at, &values);
    }
}
