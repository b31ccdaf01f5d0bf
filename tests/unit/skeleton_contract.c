/*
 * The contract skeleton: products in every layout, with factors computed and maps after them, under
 * many plans and over random sizes, against the interpreter. And the window skeleton, which shares
 * what follows the reduction.
 */
#include <stdlib.h>
#include <string.h>

#include "gen/gen.h"
#include "kernel_run.h"
#include "oracle_differ.h"
#include "skeleton/skeleton.h"
#include "test.h"

struct contract_case {
    const char *name, *text;
    const char *fixes; /* "R=3 S=3" */
    int64_t largest;
};

#define PRODUCT(a_dims, a_at, b_dims, b_at)                                                \
    "ir 1 part product { size M size N size K input a f32[" a_dims "] input b f32[" b_dims \
    "]\noutput y f32[M, N] signature (a, b) -> (y)\n"                                      \
    "reduce sum over m < M, n < N | k < K { %0 = index m %1 = index n %2 = index k\n"      \
    "%3 = read a [" a_at "] proved %4 = read b [" b_at "] proved %5 = mul f32 %3, %4\n"    \
    "y [%0, %1] <- %5 } }"

static const struct contract_case CASES[] = {
    {"nn", PRODUCT("M, K", "%0, %2", "K, N", "%2, %1"), NULL, 70},
    {"nt", PRODUCT("M, K", "%0, %2", "N, K", "%1, %2"), NULL, 70},
    {"tn", PRODUCT("K, M", "%2, %0", "K, N", "%2, %1"), NULL, 70},
    {"tt", PRODUCT("K, M", "%2, %0", "N, K", "%1, %2"), NULL, 70},
    {"batch, scaled, in f64",
     "ir 1 part batch { size B size M size N size K input a f64[B, M, K] input b f64[B, K, N]\n"
     "output y f64[B, M, N] signature (a, b) -> (y)\n"
     "reduce sum over i < B, m < M, n < N | k < K { %0 = index i %1 = index m %2 = index n\n"
     "%3 = index k %4 = read a [%0, %1, %3] proved %5 = read b [%0, %3, %2] proved\n"
     "%6 = mul f64 %4, %5 %7 = float f64 3 %8 = fdiv f64 %6, %7 y [%0, %1, %2] <- %8 } }",
     NULL, 40},
    {"bf16, bias and rectifier after it",
     "ir 1 part linear { size M size N size K input a bf16[M, K] input w bf16[N, K]\n"
     "input b f32[N] output y bf16[M, N] temporary t ~f32[M, N] signature (a, w, b) -> (y)\n"
     "reduce sum over m < M, n < N | k < K { %0 = index m %1 = index n %2 = index k\n"
     "%3 = read a [%0, %2] proved %4 = read w [%1, %2] proved %5 = mul f32 %3, %4\n"
     "t [%0, %1] <- %5 }\n"
     "map over m < M, n < N { %0 = index m %1 = index n %2 = read t [%0, %1] proved\n"
     "%3 = read b [%1] proved %4 = add f32 %2, %3 %5 = float f32 0 %6 = max f32 %4, %5\n"
     "y [%0, %1] <- %6 } }",
     NULL, 70},
    {"convolution with padding",
     "ir 1 part conv { size N size C size H size W size O size R size S\n"
     "input x f32[N, C, H, W] input w f32[O, C, R, S] output y f32[N, O, H, W]\n"
     "signature (x, w) -> (y)\n"
     "reduce sum over n < N, o < O, p < H, q < W | c < C, r < R, s < S { %0 = index n\n"
     "%1 = index o %2 = index p %3 = index q %4 = index c %5 = index r %6 = index s\n"
     "%7 = int 1 %8 = add i64 %2, %5 %9 = sub i64 %8, %7 %10 = add i64 %3, %6\n"
     "%11 = sub i64 %10, %7 %12 = float f32 0 %13 = read x [%0, %4, %9, %11] else %12 checked "
     "proved\n"
     "%14 = read w [%1, %4, %5, %6] proved %15 = mul f32 %13, %14\n"
     "y [%0, %1, %2, %3] <- %15 } }",
     "R=3 S=3", 9},
    {"convolution of stride 2, added to",
     "ir 1 part conv { size N size C size H size W size O size P size Q size R size S\n"
     "input x f32[N, C, H, W] input w f32[O, C, R, S] input z f32[N, O, P, Q]\n"
     "temporary t ~f32[N, O, P, Q] output y f32[N, O, P, Q] signature (x, w, z) -> (y)\n"
     "reduce sum over n < N, o < O, p < P, q < Q | c < C, r < R, s < S { %0 = index n\n"
     "%1 = index o %2 = index p %3 = index q %4 = index c %5 = index r %6 = index s\n"
     "%7 = int 2 %8 = mul i64 %2, %7 %9 = add i64 %8, %5 %10 = mul i64 %3, %7\n"
     "%11 = add i64 %10, %6 %12 = float f32 0 %13 = read x [%0, %4, %9, %11] else %12 checked "
     "proved\n"
     "%14 = read w [%1, %4, %5, %6] proved %15 = mul f32 %13, %14\n"
     "t [%0, %1, %2, %3] <- %15 }\n"
     "map over n < N, o < O, p < P, q < Q { %0 = index n %1 = index o %2 = index p %3 = index q\n"
     "%4 = read t [%0, %1, %2, %3] proved %5 = read z [%0, %1, %2, %3] proved\n"
     "%6 = add f32 %4, %5 y [%0, %1, %2, %3] <- %6 } }",
     "R=3 S=3", 9},
    {"few columns, rows in lanes",
     "ir 1 part few { size M size K input a f32[K, M] input b f32[K, 2] output y f32[M, 2]\n"
     "signature (a, b) -> (y)\n"
     "reduce sum over m < M, n < 2 | k < K { %0 = index m %1 = index n %2 = index k\n"
     "%3 = read a [%2, %0] proved %4 = read b [%2, %1] proved %5 = mul f32 %3, %4\n"
     "y [%0, %1] <- %5 } }",
     NULL, 100},
    {"matrix and vector",
     "ir 1 part mv { size M size K input a f32[M, K] input x f32[K] output y f32[M]\n"
     "signature (a, x) -> (y)\n"
     "reduce sum over m < M | k < K { %0 = index m %1 = index k %2 = read a [%0, %1] proved\n"
     "%3 = read x [%1] proved %4 = mul f32 %2, %3 y [%0] <- %4 } }",
     NULL, 100},
};

#define WINDOW(stride, monoid, outside, value)                                                    \
    "ir 1 part window { size N size C size H size W size P size Q size R size S\n"                \
    "input x f32[N, C, H, W] input w f32[C, R, S] input b f32[C] temporary t ~f32[N, C, P, Q]\n"  \
    "output y f32[N, C, P, Q] signature (x, w, b) -> (y)\n"                                       \
    "reduce " monoid " over n < N, c < C, p < P, q < Q | r < R, s < S { %0 = index n\n"           \
    "%1 = index c %2 = index p %3 = index q %4 = index r %5 = index s %6 = int 1\n"               \
    "%7 = int " stride " %8 = mul i64 %2, %7 %9 = add i64 %8, %4 %10 = sub i64 %9, %6\n"          \
    "%11 = mul i64 %3, %7 %12 = add i64 %11, %5 %13 = sub i64 %12, %6 %14 = float f32 " outside   \
    "\n%15 = read x [%0, %1, %10, %13] else %14 checked proved\n"                                 \
    "%16 = read w [%1, %4, %5] proved %17 = mul f32 %15, %16\n"                                   \
    "t [%0, %1, %2, %3] <- " value " }\n"                                                         \
    "map over n < N, c < C, p < P, q < Q { %0 = index n %1 = index c %2 = index p %3 = index q\n" \
    "%4 = read t [%0, %1, %2, %3] proved %5 = read b [%1] proved %6 = add f32 %4, %5\n"           \
    "y [%0, %1, %2, %3] <- %6 } }"

static const struct contract_case WINDOWS[] = {
    {"depthwise convolution", WINDOW("1", "sum", "0", "%17"), "R=3 S=3", 20},
    {"depthwise convolution of stride 2", WINDOW("2", "sum", "0", "%17"), "R=3 S=3", 40},
    {"depthwise convolution of stride 3", WINDOW("3", "sum", "0", "%17"), "R=2 S=5", 20},
    {"greatest of a window, of stride 2", WINDOW("2", "max", "-1000", "%15"), "R=3 S=3", 20},
};

/* Long enough for panels that lie inside. */
#define LINE(stride)                                                                             \
    "ir 1 part lines { size N size C size W size O size Q size S\n"                              \
    "input x f32[N, C, W] input w f32[O, C, S] output y f32[N, O, Q] signature (x, w) -> (y)\n"  \
    "reduce sum over n < N, o < O, q < Q | c < C, s < S { %0 = index n %1 = index o %2 = index " \
    "q\n"                                                                                        \
    "%3 = index c %4 = index s %5 = int " stride " %6 = mul i64 %2, %5 %7 = add i64 %6, %4\n"    \
    "%8 = int 2 %9 = sub i64 %7, %8 %10 = float f32 0\n"                                         \
    "%11 = read x [%0, %3, %9] else %10 checked proved %12 = read w [%1, %3, %4] proved\n"       \
    "%13 = mul f32 %11, %12 y [%0, %1, %2] <- %13 } }"

static const struct contract_case LINES[] = {
    {"convolution of lines", LINE("1"), "S=5", 40},
    {"convolution of lines, of stride 2", LINE("2"), "S=5", 40},
};

static const char *const PLANS[] = {
    "", /* as seeded */
    "tile.m 6;tile.n 64;block.m 16;block.n 64;block.k 16;pack.a no;pack.b yes;",
    "tile.m 3;tile.n 16;block.m 16;block.n 32;block.k 32;pack.a yes;pack.b no;split.m 2;",
    "tile.m 14;tile.n 32;block.n 64;block.k 16;parallel columns;pack.a yes;pack.b yes;",
    "tile.m 4;tile.n 48;block.n 64;block.k 16;merge yes;pack.b yes;",
    "lanes columns;tile.m 5;tile.n 32;block.m 16;block.n 32;block.k 16;pack.a yes;pack.b yes;"
    "parallel shares;split.m 2;split.n 3;split.k 2;",
    "lanes rows;tile.m 4;tile.n 16;block.k 32;pack.a no;pack.b yes;parallel shares;split.n 2;",
    "lanes terms;tile.m 3;tile.n 4;block.k 32;pack.a no;pack.b no;parallel shares;split.k 3;",
    "lanes terms;tile.m 2;tile.n 5;block.n 32;block.k 16;pack.a yes;pack.b yes;parallel shares;"
    "split.m 2;split.n 1;split.k 1;",
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

static int read_fixes(struct arena *arena, const struct ir_part *part, const char *text,
                      struct plan_fix *fixes)
{
    int count = 0;
    char *word, *rest = text ? arena_string(arena, text) : NULL;
    while (rest && (word = strtok_r(rest, " ", &rest))) {
        char *equals = strchr(word, '=');
        *equals = '\0';
        for (int i = 0; i < part->symbol_count; i++) {
            if (strcmp(part->symbols[i].name, word) == 0)
                fixes[count++] = (struct plan_fix){i, atoll(equals + 1)};
        }
    }
    return count;
}

static void draw_sizes(struct random *random, const struct ir_part *part, int64_t largest,
                       const struct plan *plan, int64_t *sizes)
{
    for (int i = 0; i < part->symbol_count; i++)
        sizes[i] = (int64_t)random_below(random, (uint64_t)largest + 1);
    for (int i = 0; i < plan->fix_count; i++)
        sizes[plan->fixes[i].symbol] = plan->fixes[i].value;
}

/* The kernel of one plan; NULL: the plan is not legal. */
static kernel_function *make(struct arena *arena, const struct ir_program *program,
                             const struct contract_case *c, const char *name, const char *decisions,
                             struct plan *plan, const struct kernel **kernel,
                             struct library **library)
{
    struct skeleton_target target = {
        .name = "avx512", .vector_bytes = 64, .registers = 32, .l2 = 1 << 20, .threads = 2};
    struct error error = {0};
    struct plan_fix *fixes = arena_array(arena, 8, sizeof *fixes);
    int64_t sizes[16];
    double scalars[1] = {0};
    plan->fixes = fixes;
    plan->fix_count = read_fixes(arena, ir_root(program), c->fixes, fixes);
    for (int i = 0; i < 16; i++)
        sizes[i] = 50;
    for (int i = 0; i < plan->fix_count; i++)
        sizes[fixes[i].symbol] = fixes[i].value;
    struct ir_binding *binding = ir_bind(arena, program, sizes, scalars, &error);
    CHECK(binding != NULL);
    struct skeleton_program *planned = skeleton_program_new(arena, program, binding, &target);
    int *stages = arena_array(arena, 4, sizeof *stages);
    for (int i = 0; i < planned->part->stage_count; i++)
        stages[i] = i;
    struct plan_group *group = arena_new(arena, struct plan_group);
    *group = (struct plan_group){.name = "product", .stages = stages, .skeleton = name};
    group->stage_count = planned->part->stage_count;
    plan->groups = group;
    plan->group_count = 1;
    struct skeleton_group seen = skeleton_group_of(planned, plan, 0);
    struct skeleton_reason why = {{0}};
    const struct skeleton *skeleton = skeleton_find(NULL, name);
    if (!skeleton->match(&seen, &why))
        test_fail(__FILE__, __LINE__, "%s: %s", c->name, why.text);
    if (skeleton->seeds)
        CHECK_INT(skeleton->seeds(&seen, group, 1), 1);
    set_all(arena, group, decisions);
    if (!skeleton->legal(&seen, group, &why))
        return NULL;
    struct loop_kernel *loops = skeleton_lower(planned, plan);
    if (!loop_check(loops, &error))
        test_fail(__FILE__, __LINE__, "%s: %s", c->name, error.message);
    struct text text = text_new(arena);
    gen_loop_c(&text, loops, &(struct gen_head){0});
    struct errors errors = errors_new(arena);
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){"kernel.c", text.at, text.length};
    *kernel = kernel_parse(arena, source, ir_root(program), &errors);
    CHECK(*kernel != NULL);
    return kernel_run_compile(arena, &text, false, library);
}

static void check_case(const struct contract_case *c, const char *skeleton, const char *decisions)
{
    struct arena *arena = differ_arena();
    const struct ir_program *program = differ_parse(c->text);
    struct random random = random_new(3, 5);
    struct plan plan = {.target = "cpu", .machine = "avx512"};
    const struct kernel *kernel;
    struct library *library;
    kernel_run_what = c->name;
    kernel_function *function =
        make(arena, program, c, skeleton, decisions, &plan, &kernel, &library);
    for (int round = 0; function && round < 12; round++) {
        int64_t sizes[16];
        double scalars[1] = {0};
        struct array inputs[4];
        struct error error = {0};
        draw_sizes(&random, ir_root(program), c->largest, &plan, sizes);
        struct ir_binding *binding = ir_bind(arena, program, sizes, scalars, &error);
        CHECK(binding && oracle_draw(arena, NULL, binding, random_u64(&random), inputs, &error));
        kernel_run_check(arena, binding, inputs, function, kernel, 64);
    }
}

/* Half of the cases: each kernel is compiled twice, by gcc and by clang. */
static void check_plan(int plan, size_t half)
{
    for (size_t i = half; i < sizeof CASES / sizeof *CASES; i += 2)
        check_case(&CASES[i], "contract", PLANS[plan]);
}

TEST(contract_as_seeded)
{
    check_plan(0, 0);
}
TEST(contract_as_seeded_2)
{
    check_plan(0, 1);
}
TEST(contract_rows_unpacked)
{
    check_plan(1, 0);
}
TEST(contract_rows_unpacked_2)
{
    check_plan(1, 1);
}
TEST(contract_columns_unpacked)
{
    check_plan(2, 0);
}
TEST(contract_columns_unpacked_2)
{
    check_plan(2, 1);
}
TEST(contract_threads_take_columns)
{
    check_plan(3, 0);
}
TEST(contract_threads_take_columns_2)
{
    check_plan(3, 1);
}

TEST(contract_lines_in_lanes_together)
{
    check_plan(4, 0);
    check_plan(4, 1);
}

TEST(contract_shares_of_rows_columns_terms)
{
    check_plan(5, 0);
}
TEST(contract_shares_of_rows_columns_terms_2)
{
    check_plan(5, 1);
}
TEST(contract_rows_in_lanes)
{
    check_plan(6, 0);
    check_plan(6, 1);
}
TEST(contract_terms_in_lanes)
{
    check_plan(7, 0);
    check_plan(7, 1);
}
TEST(contract_terms_in_lanes_packed)
{
    check_plan(8, 0);
    check_plan(8, 1);
}

TEST(contract_columns_inside)
{
    check_case(&LINES[0], "contract",
               "tile.m 4;tile.n 16;block.n 64;block.k 16;pack.a yes;pack.b yes;merge no;");
    check_case(&LINES[1], "contract",
               "tile.m 4;tile.n 16;block.n 32;block.k 32;pack.a yes;pack.b yes;merge no;"
               "parallel columns;");
}

TEST(contract_rows_in_squares)
{
    for (int i = 0; i < 3; i++) /* nn, nt; tn: rows are neighbours */
        check_case(&CASES[i], "contract",
                   "lanes columns;tile.m 12;tile.n 16;block.m 16;block.n 32;block.k 16;pack.a yes;"
                   "pack.b yes;parallel shares;split.m 2;split.n 2;split.k 1;");
}

TEST(window_in_vectors)
{
    for (size_t i = 0; i < sizeof WINDOWS / sizeof *WINDOWS; i++)
        check_case(&WINDOWS[i], "window", "threads all;lanes 16;");
}

TEST(window_scalar_and_wide)
{
    for (size_t i = 0; i < sizeof WINDOWS / sizeof *WINDOWS; i++)
        check_case(&WINDOWS[i], "window", i % 2 ? "threads 1;lanes 1;" : "threads 1;lanes 32;");
}

TEST(window_inside)
{
    for (size_t i = 0; i < sizeof WINDOWS / sizeof *WINDOWS; i++)
        check_case(&WINDOWS[i], "window", "threads 1;lanes 4;");
}

/* A product of these sizes on a machine with vectors of 32 bytes, and the seed for it. */
static struct skeleton_program *seed(int64_t rows, int64_t columns, int64_t terms, int threads,
                                     struct plan **plan)
{
    struct arena *arena = differ_arena();
    const struct ir_program *program = differ_parse(CASES[0].text);
    struct skeleton_target *target = arena_new(arena, struct skeleton_target);
    *target = (struct skeleton_target){.name = "avx2",
                                       .vector_bytes = 32,
                                       .registers = 16,
                                       .l1 = 32 << 10,
                                       .l2 = 512 << 10,
                                       .threads = threads};
    const int64_t sizes[] = {rows, columns, terms};
    double scalars[1] = {0};
    struct error error = {0};
    struct ir_binding *binding = ir_bind(arena, program, sizes, scalars, &error);
    CHECK(binding != NULL);
    struct skeleton_program *made = skeleton_program_new(arena, program, binding, target);
    CHECK_INT(skeleton_seeds(made, plan, 1), 1);
    CHECK(strcmp((*plan)->groups[0].skeleton, "contract") == 0);
    return made;
}

static const char *seeded(int64_t rows, int64_t columns, int64_t terms, const char *key)
{
    struct plan *plan;
    seed(rows, columns, terms, 1, &plan);
    return plan_get(&plan->groups[0], key);
}

TEST(contract_seeds_of_avx2)
{
    /* a block of rows that meet in the second-level cache is copied, a small one is read in place
     */
    CHECK_STR(seeded(2048, 2048, 2048, "pack.a"), "yes");
    CHECK_STR(seeded(300, 96, 2048, "pack.a"), "yes");
    CHECK_STR(seeded(300, 96, 2000, "pack.a"), "no");
    CHECK_STR(seeded(96, 96, 64, "pack.a"), "no");
    /* a panel of columns stays in the first-level cache */
    CHECK_STR(seeded(2048, 2048, 2048, "block.k"), "256");
    CHECK_STR(seeded(2048, 2048, 700, "block.k"), "768");
    /* sums that hardly fill the wait for an addition */
    CHECK_STR(seeded(64, 4096, 256, "tile.m"), "6");
}

/* A thread that has many shares does them one after the other. */
TEST(contract_more_shares_than_threads_are_not_cheaper)
{
    static const char *const keys[] = {"split.m", "split.n", "split.k"};
    struct plan *first;
    struct skeleton_program *program = seed(1024, 1024, 1024, 2, &first);
    double seconds = skeleton_predict(program, first).seconds;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct plan *plan = plan_copy(differ_arena(), first);
        plan_set(differ_arena(), &plan->groups[0], keys[i], "64");
        CHECK(skeleton_predict(program, plan).seconds > 0.95 * seconds);
    }
}
