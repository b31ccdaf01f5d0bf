/*
 * Instructions for small operands in the contract skeleton: products of bf16 and of bytes, and of
 * f32 in parts, under several plans and over random sizes, against the interpreter.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gen/gen.h"
#include "kernel_run.h"
#include "lib_vectors.h"
#include "oracle_differ.h"
#include "skeleton/skeleton.h"
#include "test.h"

#define PRODUCT(a, b, y, mul, a_dims, a_at, b_dims, b_at)                                      \
    "ir 1 part product { size M size N size K input a " a "[" a_dims "] input b " b "[" b_dims \
    "]\noutput y " y "[M, N] signature (a, b) -> (y)\n"                                        \
    "reduce sum over m < M, n < N | k < K { %0 = index m %1 = index n %2 = index k\n"          \
    "%3 = read a [" a_at "] proved %4 = read b [" b_at "] proved %5 = mul " mul " %3, %4\n"    \
    "y [%0, %1] <- %5 } }"
#define NN(a, b, y, mul) PRODUCT(a, b, y, mul, "M, K", "%0, %2", "K, N", "%2, %1")
#define NT(a, b, y, mul) PRODUCT(a, b, y, mul, "M, K", "%0, %2", "N, K", "%1, %2")
#define TN(a, b, y, mul) PRODUCT(a, b, y, mul, "K, M", "%2, %0", "K, N", "%2, %1")

enum { PLANNED = 50 }; /* the size kernels are planned for, unless a test says another */

struct atom_case {
    const char *name, *text;
    int64_t largest;
};

static const struct atom_case BF16[] = {
    {"bf16, nn", NN("bf16", "bf16", "f32", "f32"), 70},
    {"bf16, nt", NT("bf16", "bf16", "bf16", "f32"), 70},
    {"bf16 and f8, tn", TN("bf16", "f8e4", "f32", "f32"), 70},
    {"bf16, bias and rectifier after it",
     "ir 1 part linear { size M size N size K input a bf16[M, K] input w bf16[N, K]\n"
     "input b f32[N] output y bf16[M, N] temporary t ~f32[M, N] signature (a, w, b) -> (y)\n"
     "reduce sum over m < M, n < N | k < K { %0 = index m %1 = index n %2 = index k\n"
     "%3 = read a [%0, %2] proved %4 = read w [%1, %2] proved %5 = mul f32 %3, %4\n"
     "t [%0, %1] <- %5 }\n"
     "map over m < M, n < N { %0 = index m %1 = index n %2 = read t [%0, %1] proved\n"
     "%3 = read b [%1] proved %4 = add f32 %2, %3 %5 = float f32 0 %6 = max f32 %4, %5\n"
     "y [%0, %1] <- %6 } }",
     70},
    {"bf16, convolution with padding",
     "ir 1 part conv { size N size C size H size W size O size R size S\n"
     "input x bf16[N, C, H, W] input w bf16[O, C, R, S] output y f32[N, O, H, W]\n"
     "signature (x, w) -> (y)\n"
     "reduce sum over n < N, o < O, p < H, q < W | c < C, r < R, s < S { %0 = index n\n"
     "%1 = index o %2 = index p %3 = index q %4 = index c %5 = index r %6 = index s\n"
     "%7 = int 1 %8 = add i64 %2, %5 %9 = sub i64 %8, %7 %10 = add i64 %3, %6\n"
     "%11 = sub i64 %10, %7 %12 = float f32 0 %13 = read x [%0, %4, %9, %11] else %12 checked "
     "proved\n"
     "%14 = read w [%1, %4, %5, %6] proved %15 = mul f32 %13, %14\n"
     "y [%0, %1, %2, %3] <- %15 } }",
     6},
};

#define BATCH(type)                                                                          \
    "ir 1 part batch { size B size M size N size K input a " type "[B, M, K] input b " type  \
    "[B, K, N]\noutput y f32[B, M, N] signature (a, b) -> (y)\n"                             \
    "reduce sum over i < B, m < M, n < N | k < K { %0 = index i %1 = index m %2 = index n\n" \
    "%3 = index k %4 = read a [%0, %1, %3] proved %5 = read b [%0, %3, %2] proved\n"         \
    "%6 = mul f32 %4, %5 y [%0, %1, %2] <- %6 } }"

static const struct atom_case BATCHES[] = {
    {"batch of bf16", BATCH("bf16"), 30},
    {"batch of f32", BATCH("f32"), 30},
};

static const struct atom_case BYTES[] = {
    {"i8 by i8", NN("i8", "i8", "i32", "i64"), 70},
    {"i8 by u8", NT("i8", "u8", "i64", "i64"), 70},
    {"u8 by i8", TN("u8", "i8", "i32", "i64"), 70},
    {"u8 by u8", NN("u8", "u8", "i32", "i64"), 70},
};

static const struct atom_case WIDE[] = {
    {"f32, nn", NN("f32", "f32", "f32", "f32"), 70},
    {"f32, nt", NT("f32", "f32", "f32", "f32"), 70},
    {"f32, exponential and quotient",
     "ir 1 part product { size M size N size K input a f32[M, K] input b f32[K, N]\n"
     "output y f32[M, N] signature (a, b) -> (y)\n"
     "reduce sum over m < M, n < N | k < K { %0 = index m %1 = index n %2 = index k\n"
     "%3 = read a [%0, %2] proved %4 = read b [%2, %1] proved %5 = exp f32 %4\n"
     "%6 = mul f32 %3, %5 %7 = float f32 3 %8 = fdiv f32 %6, %7 y [%0, %1] <- %8 } }",
     70},
};

#define PARTS "precision bf16x6;lanes columns;parallel tiles;"
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void set_all(struct arena *arena, struct plan_group *group, const char *decisions)
{
    char *at = arena_string(arena, decisions);
    for (char *end; (end = strchr(at, ';')); at = end + 1) {
        char *space = strchr(at, ' ');
        *space = *end = '\0';
        plan_set(arena, group, at, space + 1);
    }
}

/* A machine that has everything, and so small a cache that sums of a few dozen terms go in pieces.
 */
static struct skeleton_target target_make(void)
{
    struct skeleton_target target = {.name = "avx512",
                                     .vector_bytes = 64,
                                     .registers = 32,
                                     .masks = true,
                                     .l1 = 4 << 10,
                                     .l2 = 1 << 20,
                                     .threads = 2,
                                     .fma = 150e9,
                                     .memory = 10e9};
    for (int i = 0; i < MACHINE_ATOM_COUNT; i++)
        target.atoms[i] = machine_atoms[i].typical;
    return target;
}

struct made { /* a kernel of one plan */
    struct arena *arena;
    const struct ir_program *program;
    struct skeleton_target target;
    struct skeleton_program *planned;
    struct plan plan;
    struct plan_group group;
    struct skeleton_group seen;
};

static void open_made(struct made *made, const char *text, int64_t size)
{
    int64_t sizes[16];
    double scalars[1] = {0};
    struct error error = {0};
    for (int i = 0; i < 16; i++)
        sizes[i] = size;
    made->arena = differ_arena();
    made->program = differ_parse(text);
    made->target = target_make();
    struct ir_binding *binding = ir_bind(made->arena, made->program, sizes, scalars, &error);
    CHECK(binding != NULL);
    made->planned = skeleton_program_new(made->arena, made->program, binding, &made->target);
    int count = made->planned->part->stage_count;
    int *stages = arena_array(made->arena, (size_t)count + 1, sizeof *stages);
    for (int i = 0; i < count; i++)
        stages[i] = i;
    made->group = (struct plan_group){.name = "product", .skeleton = "contract"};
    made->group.stages = stages;
    made->group.stage_count = count;
    made->plan = (struct plan){.target = "cpu", .machine = "avx512"};
    made->plan.groups = &made->group;
    made->plan.group_count = 1;
    made->seen = skeleton_group_of(made->planned, &made->plan, 0);
}

static void write_made(struct made *made, struct text *text)
{
    struct error error = {0};
    struct loop_kernel *loops = skeleton_lower(made->planned, &made->plan);
    if (!loop_check(loops, &error))
        test_fail(__FILE__, __LINE__, "%s: %s", kernel_run_what, error.message);
    gen_loop_c(text, loops, &(struct gen_head){0});
}

/* How tiles are run: not at all, by the model, or by the machine. */
enum running { COMPILED, MODELLED, RUN };

static void add_model(struct arena *arena, struct text *text)
{
    struct text all = text_new(arena);
    text_printf(&all, "#include \"%s/tests/unit/tile_model.h\"\n", repository_root());
    text_add_bytes(&all, text->at, text->length);
    *text = all;
}

/* The kernel of the seed for this size, with these decisions. */
static kernel_function *make_case(const struct atom_case *c, int64_t size, const char *decisions,
                                  enum running running, struct made *made,
                                  const struct kernel **kernel)
{
    struct skeleton_reason why = {{0}};
    struct library *library;
    kernel_run_what = c->name;
    open_made(made, c->text, size);
    const struct skeleton *skeleton = skeleton_find(NULL, "contract");
    if (!skeleton->match(&made->seen, &why))
        test_fail(__FILE__, __LINE__, "%s: %s", c->name, why.text);
    CHECK(skeleton->seeds(&made->seen, &made->group, 1) == 1);
    set_all(made->arena, &made->group, decisions);
    if (!skeleton->legal(&made->seen, &made->group, &why))
        test_fail(__FILE__, __LINE__, "%s: %s", c->name, why.text);
    struct text text = text_new(made->arena);
    write_made(made, &text);
    struct errors errors = errors_new(made->arena);
    struct source *source = arena_new(made->arena, struct source);
    *source = (struct source){"kernel.c", text.at, text.length};
    *kernel = kernel_parse(made->arena, source, ir_root(made->program), &errors);
    CHECK(*kernel != NULL);
    if (running == MODELLED)
        add_model(made->arena, &text);
    return kernel_run_compile(made->arena, &text, false, &library);
}

static struct ir_binding *draw_case(const struct made *made, const int64_t *sizes,
                                    struct random *random, struct array *inputs)
{
    double scalars[1] = {0};
    struct error error = {0};
    struct ir_binding *binding = ir_bind(made->arena, made->program, sizes, scalars, &error);
    CHECK(binding && oracle_draw(made->arena, NULL, binding, random_u64(random), inputs, &error));
    return binding;
}

/* `has`: words that the kernel must have, where this is what a test is about; or NULL. */
static void check_planned(const struct atom_case *c, int64_t size, const char *decisions,
                          enum running running, const char *has)
{
    struct made made;
    const struct kernel *kernel;
    struct random random = random_new(3, 5);
    kernel_function *function = make_case(c, size, decisions, running, &made, &kernel);
    CHECK(!has || strstr(kernel->source->text, has));
    for (int round = 0; running != COMPILED && round < 12; round++) {
        int64_t sizes[16];
        struct array inputs[4];
        for (int i = 0; i < 16; i++)
            sizes[i] = (int64_t)random_below(&random, (uint64_t)c->largest + 1);
        struct ir_binding *binding = draw_case(&made, sizes, &random, inputs);
        kernel_run_check(made.arena, binding, inputs, function, kernel, 64);
    }
}

static void check_case(const struct atom_case *c, const char *decisions, enum running running)
{
    check_planned(c, PLANNED, decisions, running, NULL);
}

static void check_all(const struct atom_case *cases, size_t count, const char *decisions,
                      enum running running)
{
    for (size_t i = 0; i < count; i++)
        check_case(&cases[i], decisions, running);
}

TEST(atoms_dot_bf16)
{
    check_all(BF16, COUNT(BF16), "atom dot;tile.m 5;tile.n 32;block.k 64;block.m 16;block.n 64;",
              RUN);
}

TEST(atoms_dot_bf16_threads_take_columns)
{
    check_all(BF16, COUNT(BF16), "atom dot;tile.m 6;block.n 64;block.k 16;parallel columns;", RUN);
}

TEST(atoms_dot_batch)
{
    check_case(&BATCHES[0], "atom dot;tile.m 6;parallel batch;", RUN);
    check_case(&BATCHES[1], PARTS "atom dot;parallel batch;tile.m 4;tile.n 32;", RUN);
}

TEST(atoms_dot_bytes)
{
    check_all(BYTES, COUNT(BYTES), "atom dot;block.k 64;tile.m 6;tile.n 48;", RUN);
    check_all(BYTES, 2, "atom dot;tile.m 6;parallel columns;block.n 64;block.k 128;", RUN);
}

TEST(atoms_dot_in_parts)
{
    check_all(WIDE, COUNT(WIDE), PARTS "atom dot;tile.m 4;tile.n 32;block.k 16;", RUN);
    check_all(WIDE, 2, PARTS "atom dot;tile.m 4;tile.n 32;parallel columns;block.n 64;", RUN);
}

/* ---- tiles: by the model everywhere, by the machine where it has them ---- */

#define SMALL_TILES "atom tile;tile.m 8;tile.n 16;block.k 16;block.m 16;block.n 64;"
#define LARGE_TILES "atom tile;tile.m 32;tile.n 48;parallel columns;block.n 64;block.k 64;"
#define PIECES "atom tile;tile.m 32;tile.n 32;parallel tiles;block.m 96;block.k 1024;"

TEST(atoms_tiles_bf16_modelled)
{
    check_all(BF16, 2, SMALL_TILES, MODELLED);
    check_all(BF16 + 2, 3, LARGE_TILES, MODELLED);
    check_case(&BATCHES[0], "atom tile;parallel batch;", MODELLED);
}

TEST(atoms_tiles_bytes_modelled)
{
    check_all(BYTES, 2, SMALL_TILES, MODELLED);
    check_all(BYTES + 2, 2, LARGE_TILES, MODELLED);
}

TEST(atoms_tiles_in_parts_modelled)
{
    check_case(&WIDE[0], PARTS SMALL_TILES, MODELLED);
    check_case(&WIDE[2], PARTS LARGE_TILES, MODELLED);
}

/* More terms than a panel of columns has in the first-level cache. */
TEST(atoms_tiles_in_pieces_modelled)
{
    for (int i = 0; i < 2; i++)
        check_planned(&BF16[i], PLANNED, PIECES, MODELLED, "piece_to");
    check_planned(&BYTES[2], PLANNED, PIECES, MODELLED, "piece_to");
}

/* Columns enough for panels that are packed side by side, and a last group that is not full. */
TEST(atoms_tiles_panels_beside_modelled)
{
    static const struct atom_case wide = {"bf16, wide", NN("bf16", "bf16", "f32", "f32"), 300};
    check_planned(&wide, 300, "atom tile;tile.m 8;tile.n 16;block.k 64;parallel none;", MODELLED,
                  "panel_to");
}

/* Each thread packs the rows of a block where it begins. */
TEST(atoms_tiles_rows_of_threads_modelled)
{
#define BLOCKS "atom tile;tile.m 8;tile.n 16;block.k 64;block.m 32;split.m 2;"
    check_case(&WIDE[0], PARTS BLOCKS "split.n 3;", MODELLED);
    check_case(&WIDE[1], PARTS BLOCKS "parallel none;", MODELLED);
    check_case(&BF16[0], "parallel tiles;" BLOCKS, MODELLED);
#undef BLOCKS
}

/* The instructions themselves: they assemble. */
TEST(atoms_tiles_compiled)
{
    check_case(&BF16[0], LARGE_TILES, COMPILED);
    check_all(BYTES, COUNT(BYTES), SMALL_TILES, COMPILED);
}

TEST(atoms_tiles_on_this_machine)
{
    enum { ASK_FOR_STATE = 0x1023, STATE_TILE_DATA = 18 };
    struct machine machine;
    machine_describe(&machine, "");
    if (!machine_has(&machine, MACHINE_AMX_BF16) || !machine_has(&machine, MACHINE_AMX_INT8) ||
        syscall(SYS_arch_prctl, ASK_FOR_STATE, STATE_TILE_DATA) != 0)
        SKIP("this machine has no AMX");
    check_all(BF16, COUNT(BF16), LARGE_TILES, RUN);
    check_all(BYTES, COUNT(BYTES), SMALL_TILES, RUN);
    check_all(WIDE, COUNT(WIDE), PARTS LARGE_TILES, RUN);
    check_all(BF16, COUNT(BF16), PIECES, RUN);
}

/* ---- what is refused, and what cannot be taken apart ---- */

TEST(atoms_precision_follows_accuracy)
{
    struct made made;
    struct skeleton_reason why = {{0}};
    const struct skeleton *skeleton = skeleton_find(NULL, "contract");
    open_made(&made, WIDE[0].text, 50);
    CHECK(skeleton->seeds(&made.seen, &made.group, 1) == 1);
    set_all(made.arena, &made.group, PARTS "tile.m 4;tile.n 32;precision bf16x3;");
    CHECK(!skeleton->legal(&made.seen, &made.group, &why));
    CHECK_STR(why.text, "precision bf16x3 keeps 16 bits, and the result must have 24");
    made.seen.accuracy = machine_class_bits("tf32");
    CHECK(skeleton->legal(&made.seen, &made.group, &why));
}

/* Seeds take tiles where they are fast enough, and whole factors where they are not. */
TEST(atoms_seeds_follow_rates)
{
    struct made made;
    const struct skeleton *skeleton = skeleton_find(NULL, "contract");
    open_made(&made, WIDE[0].text, 1024);
    CHECK(skeleton->seeds(&made.seen, &made.group, 1) == 1);
    CHECK_STR(plan_get(&made.group, "precision"), "bf16x6");
    made.target.atoms[MACHINE_BF16_TILE] = 0;
    made.group.decision_count = 0;
    CHECK(skeleton->seeds(&made.seen, &made.group, 1) == 1);
    CHECK_STR(plan_get(&made.group, "precision"), "whole");
    open_made(&made, BF16[0].text, 1024);
    CHECK(skeleton->seeds(&made.seen, &made.group, 1) == 1);
    CHECK_STR(plan_get(&made.group, "atom"), "tile");
}

/* Infinities, and numbers that bf16 rounds to one, come out as f32 has them. */
TEST(atoms_parts_of_what_is_not_finite)
{
    static const double VALUES[] = {INFINITY, -INFINITY, NAN, 0x1.ffffp127};
    static const int64_t SIZES[16] = {40, 50, 60};
    struct made made;
    const struct kernel *kernel;
    struct random random = random_new(7, 1);
    kernel_function *function = make_case(
        &WIDE[0], PLANNED, PARTS "atom dot;tile.m 4;tile.n 32;block.k 16;", RUN, &made, &kernel);
    for (int i = 0; i < 8; i++) {
        struct array inputs[4];
        struct ir_binding *binding = draw_case(&made, SIZES, &random, inputs);
        inputs[i % 2].floats[777 + i] = VALUES[i / 2];
        if (i / 2 == 3) /* its products must be finite, too */
            for (int64_t k = 0; k < inputs[1 - i % 2].count; k++)
                inputs[1 - i % 2].floats[k] *= 0x1p-20;
        kernel_run_check(made.arena, binding, inputs, function, kernel, 64);
    }
}

/* The greatest error of an element, in units of 2^-24 of what its products add up to. */
static double worst_error(const char *decisions, enum running running)
{
    enum { SIDE = 40, TERMS = 2048 };
    static const int64_t SIZES[16] = {SIDE, SIDE, TERMS};
    struct made made;
    const struct kernel *kernel;
    struct array inputs[4];
    struct random random = random_new(5, 9);
    kernel_function *function = make_case(&WIDE[0], PLANNED, decisions, running, &made, &kernel);
    struct ir_binding *binding = draw_case(&made, SIZES, &random, inputs);
    static float a[SIDE * TERMS], b[TERMS * SIDE], y[SIDE * SIDE];
    void *const tensors[] = {a, b, y};
    double worst = 0;
    for (int i = 0; i < SIDE * TERMS; i++) {
        a[i] = (float)inputs[0].floats[i];
        b[i] = (float)inputs[1].floats[i];
    }
    size_t bytes = (size_t)kernel_scratch(kernel, binding->sizes);
    unsigned char *scratch = arena_alloc(made.arena, bytes + 64);
    scratch += (64 - (uintptr_t)scratch % 64) % 64;
    CHECK_INT(function(tensors, binding->sizes, binding->scalars, scratch), 0);
    for (int i = 0; i < SIDE * SIDE; i++) {
        double sum = 0, size = 0;
        for (int k = 0; k < TERMS; k++) {
            double product = (double)a[i / SIDE * TERMS + k] * b[k * SIDE + i % SIDE];
            sum += product;
            size += fabs(product);
        }
        worst = fmax(worst, fabs(y[i] - sum) / size * 0x1p24);
    }
    return worst;
}

/* Six products of parts are about as accurate as one of f32: tiles sum in another order. */
TEST(atoms_parts_are_about_as_accurate_as_the_whole)
{
    double whole = worst_error("precision whole;lanes columns;parallel tiles;", RUN);
    double dot = worst_error(PARTS "atom dot;tile.m 4;tile.n 32;", RUN);
    double tile = worst_error(PARTS "atom tile;block.k 512;", MODELLED);
    double longest = worst_error(PARTS "atom tile;block.k 2048;", MODELLED);
    if (!(dot <= 1.5 * whole) || !(tile <= 1.5 * whole) || !(longest <= 1.5 * whole))
        test_fail(__FILE__, __LINE__,
                  "whole %.3f, by dot products %.3f, by tiles %.3f, in long blocks %.3f", whole,
                  dot, tile, longest);
}
