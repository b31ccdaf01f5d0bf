/*
 * Skeletons for recurrences, segments and scatters: ops of the library under several plans, over
 * random sizes, empty ones among them, against the interpreter.
 */
#include <string.h>

#include "gen/gen.h"
#include "kernel_run.h"
#include "lang/lang.h"
#include "lib_vectors.h"
#include "oracle_differ.h"
#include "skeleton/skeleton.h"
#include "test.h"

static const struct skeleton_target AVX512 = {.name = "avx512",
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

static void set_all(struct arena *arena, struct plan_group *group, const char *decisions)
{
    char *at = arena_string(arena, decisions);
    for (char *end; (end = strchr(at, ';')); at = end + 1) {
        char *space = strchr(at, ' ');
        *space = *end = '\0';
        plan_set(arena, group, at, space + 1);
    }
}

/* The first task of tasks/aten/NAME.op, as it is at the type named at the end of its name. */
static const struct task *load_task(struct arena *arena, const char *name, const char *type)
{
    struct errors errors = errors_new(arena);
    struct lang *lang = lang_new(arena, arena_printf(arena, "%s/lib", repository_root()));
    const char *path = arena_printf(arena, "%s/tasks/aten/%s.op", repository_root(), name);
    struct lang_file *file = lang_load(lang, path, &errors);
    for (size_t i = 0; file && i < lang_task_count(file); i++) {
        const struct task *task = lang_task(lang, file, lang_task_ast(file, i), &errors);
        if (task && strstr(task->name, type))
            return task;
    }
    test_fail(__FILE__, __LINE__, "%s has no task at %s", path, type);
}

/* The first seed plan with these decisions in all groups of the skeleton, which it must have. */
static struct text make(struct arena *arena, const struct ir_program *program,
                        const struct ir_binding *binding, const char *skeleton,
                        const char *decisions)
{
    struct error error = {0};
    struct skeleton_program *planned = skeleton_program_new(arena, program, binding, &AVX512);
    struct plan *plans[8];
    int count = skeleton_seeds(planned, plans, 8), found = 0;
    struct plan *plan = NULL;
    for (int i = 0; i < count && !found; i++) {
        plan = plans[i];
        for (int g = 0; g < plan->group_count; g++) {
            if (strcmp(plan->groups[g].skeleton, skeleton) != 0)
                continue;
            set_all(arena, &plan->groups[g], decisions);
            found++;
        }
    }
    if (!found)
        test_fail(__FILE__, __LINE__, "no seed has skeleton %s", skeleton);
    if (!skeleton_check(planned, plan, &error))
        test_fail(__FILE__, __LINE__, "%s: %s", decisions, error.message);
    struct loop_kernel *loops = skeleton_lower(planned, plan);
    if (!loop_check(loops, &error))
        test_fail(__FILE__, __LINE__, "%s: %s", decisions, error.message);
    struct text text = text_new(arena);
    gen_loop_c(&text, loops, &(struct gen_head){0});
    return text;
}

/* Errors grow from step to step: there are few of them. `first`: one more than the most that the
 * first size may be. */
static void check_sized(uint64_t first, int case_number, const char *name, const char *type,
                        const char *skeleton, const char *decisions, double slack)
{
    struct arena *arena = differ_arena();
    const struct task *task = load_task(arena, name, type);
    const struct ir_program *program = task->cases[case_number].program;
    int64_t *large = arena_array(arena, (size_t)ir_root(program)->symbol_count + 1, sizeof *large);
    struct error error = {0};
    for (int i = 0; i < ir_root(program)->symbol_count; i++)
        large[i] = i ? 48 : 4096; /* what a plan is made for: small ones would be plain */
    struct ir_binding *timed =
        ir_bind(arena, program, large, task->cases[case_number].scalars, &error);
    CHECK(timed != NULL);
    struct text text = make(arena, program, timed, skeleton, decisions);
    struct source source = {"kernel.c", text.at, text.length};
    struct errors errors = errors_new(arena);
    struct library *library;
    const struct kernel *kernel = kernel_parse(arena, &source, ir_root(program), &errors);
    CHECK(kernel != NULL);
    kernel_run_what = arena_printf(arena, "%s %s", name, decisions);
    kernel_function *function = kernel_run_compile(arena, &text, false, &library);
    struct random random = random_new(5, 17);
    for (int round = 0, done = 0; round < 60 && done < 8; round++) {
        int64_t *sizes =
            arena_array(arena, (size_t)ir_root(program)->symbol_count + 1, sizeof *sizes);
        struct array inputs[16];
        for (int i = 0; i < ir_root(program)->symbol_count; i++)
            sizes[i] = round < 2 ? 17 + 3 * i : (int64_t)random_below(&random, 40);
        sizes[0] %= (int64_t)first;
        struct ir_binding *binding =
            ir_bind(arena, program, sizes, task->cases[case_number].scalars, &error);
        if (!binding || !oracle_draw(arena, NULL, binding, random_u64(&random), inputs, &error))
            continue;
        kernel_run_check(arena, binding, inputs, function, kernel, slack);
        done++;
    }
}

TEST(seq_as_seeded)
{
    check_sized(4, 0, "lstm", "_f32", "seq", "", 4096);
    check_sized(4, 0, "gru", "_f64", "seq", "", 4096);
}

TEST(seq_threads_take_columns)
{
    check_sized(4, 0, "gru", "_f32", "seq", "tile.m 3;block.k 64;parallel columns;", 4096);
    check_sized(4, 0, "lstm", "_bf16", "seq", "tile.m 6;block.k 64;parallel columns;", 1 << 18);
}

TEST(seq_threads_take_rows)
{
    check_sized(4, 0, "lstm_bidirectional", "_f32", "seq", "tile.m 5;block.k 64;parallel rows;",
                4096);
    check_sized(4, 0, "rnn_tanh", "_f32", "seq", "tile.m 14;block.k 128;parallel rows;", 4096);
}

TEST(jagged_across_and_along)
{
    check_sized(1000, 1, "jagged_softmax", "_f32", "jagged", "threads 1;unroll 2;", 64);
    check_sized(1000, 0, "jagged_softmax", "_f32", "jagged", "chunk 4;unroll 4;", 64);
    check_sized(1000, 0, "jagged_mean", "_f64", "jagged", "lanes 4;", 64);
}

TEST(jagged_rows_chosen)
{
    check_sized(1000, 0, "embedding_bag_mean", "_bf16", "jagged", "ahead 4;unroll 1;", 1 << 18);
    check_sized(1000, 0, "jagged_cumsum", "_i32_u32", "jagged", "lanes 16;", 0);
}

TEST(scatter_shared)
{
    check_sized(1000, 0, "index_add", "_f32", "scatter", "parallel range;lanes 16;", 64);
    check_sized(1000, 0, "scatter_add", "_bf16", "scatter", "parallel places;lanes 16;", 1 << 18);
    check_sized(1000, 0, "scatter_amax", "_i8_u8", "scatter", "parallel none;lanes 8;", 0);
}

TEST(scatter_copied)
{
    check_sized(1000, 0, "bincount", "", "scatter", "parallel copies;lanes 1;", 0);
    check_sized(1000, 0, "index_put_accumulate", "_f32", "scatter", "parallel copies;lanes 16;",
                64);
}
