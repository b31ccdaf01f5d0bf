/*
 * Rewrites: the program that was and the one that is give the same values, but for rounding, at
 * random sizes, empty ones among them; the rewritten one reads back from its text; its kernel is
 * right. And the stages are those that were promised.
 */
#include "ir/rewrite.h"

#include <math.h>
#include <string.h>

#include "gen/gen.h"
#include "kernel_run.h"
#include "oracle_differ.h"
#include "oracle_program.h"
#include "skeleton/skeleton.h"
#include "test.h"

struct rewrite_case {
    struct plan_rewrite rewrite;
    const char *names; /* of the stages after it */
    const char *text;
};

#define PRODUCT(a, b) "%3 = read " a " proved %4 = read " b " proved %5 = mul f32 %3, %4\n"

static const struct rewrite_case CASES[] = {
    {{.name = "reassociate", .stage = "z"},
     "z.first z",
     "ir 1 part xxty { size N size D size K input x f32[N, D] input y f32[N, K]\n"
     "output z f32[N, K] temporary t ~f32[N, N] signature (x, y) -> (z)\n"
     "reduce sum over n < N, m < N | d < D { %0 = index n %1 = index m %2 = index d\n" PRODUCT(
         "x [%0, %2]",
         "x [%1, %2]") "t [%0, %1] <- %5 }\n"
                       "reduce sum over n < N, k < K | m < N { %0 = index n %1 = index k %2 = "
                       "index m\n" PRODUCT("t [%0, %2]", "y [%2, %1]") "z [%0, %1] <- %5 } }"},
    {{.name = "hoist", .stage = "s"},
     "s.sum s",
     "ir 1 part scores { size L size S size E input q f32[L, E] input k f32[S, E]\n"
     "output s f32[L, S] signature (q, k) -> (s)\n"
     "reduce sum over l < L, t < S | e < E { %0 = index l %1 = index t %2 = index e\n" PRODUCT(
         "q [%0, %2]", "k [%1, %2]") "%6 = size E %7 = to_float f32 %6 %8 = sqrt f32 %7\n"
                                     "%9 = fdiv f32 %5, %8 %10 = neg f32 %9 s [%0, %1] <- %10 } }"},
    {{.name = "factor", .stage = "b"},
     "a y z",
     "ir 1 part twice { size N size D input x f32[N, D] output y f32[N] output z f32[N]\n"
     "temporary a ~f32[N] temporary b ~f32[N] signature (x) -> (y, z)\n"
     "reduce max over n < N | d < D { %0 = index n %1 = index d %2 = read x [%0, %1] proved\n"
     "a [%0] <- %2 }\n"
     "map over n < N { %0 = index n %1 = read a [%0] proved %2 = exp f32 %1 y [%0] <- %2 }\n"
     "reduce max over i < N | j < D { %0 = index i %1 = index j %2 = read x [%0, %1] proved\n"
     "b [%0] <- %2 }\n"
     "map over n < N { %0 = index n %1 = read b [%0] proved z [%0] <- %1 } }"},
    {{.name = "search", .stage = "y", .number = 3},
     "y.from y.rest y",
     "ir 1 part buckets { size N size F size K input x f32[N, F] input w f32[F, K] sorted\n"
     "output y i64[N, F] signature (x, w) -> (y)\n"
     "reduce sum over n < N, f < F | k < K if %5 { %0 = index n %1 = index f %2 = index k\n"
     "%3 = read w [%1, %2] proved %4 = read x [%0, %1] proved %5 = lt %3, %4 %6 = int 1\n"
     "y [%0, %1] <- %6 } }"},
    {{.name = "search", .stage = "p", .number = 2},
     "p.from p.rest p",
     "ir 1 part places { size N size K size R input x i64[N] input w i64[K] sorted\n"
     "output p i64[N] signature (x, w) -> (p)\n"
     "reduce min over n < N | k < K if %4 { %0 = index n %1 = index k %2 = read w [%1] proved\n"
     "%3 = read x [%0] proved %4 = eq %2, %3 p [%0] <- %1 } }"},
    {{.name = "search", .stage = "y", .number = 6},
     "y.from y.rest y",
     "ir 1 part either { size N size K parameter R input x f32[N] input w f32[K] sorted\n"
     "output y i64[N] signature (x, w) -> (y)\n"
     "reduce sum over n < N | k < K if %10 { %0 = index n %1 = index k %2 = read w [%1] proved\n"
     "%3 = read x [%0] proved %4 = lt %2, %3 %5 = eq %2, %3 %6 = size R %7 = int 3\n"
     "%8 = lt %6, %7 %9 = and %8, %5 %10 = or %4, %9 %11 = int 1 y [%0] <- %11 } }"},
    {{.name = "phases", .stage = "y"},
     "y.phases y",
     "ir 1 part up { size N size C size K input x f32[C, N] input w f32[C, K, 6]\n"
     "output y f32[K, 3*N + 5] signature (x, w) -> (y)\n"
     "reduce sum over k < K, p < 3*N + 5 | c < C, r < 6 { %0 = index k %1 = index p\n"
     "%2 = index c %3 = index r %4 = int 2 %5 = add i64 %1, %4 %6 = sub i64 %5, %3\n"
     "%7 = int 3 %8 = mod %6, %7 %9 = int 0 %10 = eq %8, %9 %11 = div %6, %7\n"
     "%12 = float f32 0 %13 = read x [%2, %11] guard %10 else %12 checked\n"
     "%14 = read w [%2, %0, %3] proved %15 = mul f32 %13, %14 y [%0, %1] <- %15 } }"},
    {{.name = "moments", .stage = "q"},
     "q.sum q.squares q",
     "ir 1 part spread { size N size D size K input x f32[N, D, K] input m f32[N]\n"
     "output q f32[N] signature (x, m) -> (q)\n"
     "reduce sum over n < N | d < D, k < K { %0 = index n %1 = index d %2 = index k\n"
     "%3 = read x [%0, %1, %2] proved %4 = read m [%0] proved %5 = sub f32 %4, %3\n"
     "%6 = mul f32 %5, %5 q [%0] <- %6 } }"},
    /* terms in a map of their own, a condition, and rows that are summed up in turn */
    {{.name = "lift", .stage = "y"},
     "y.sum y",
     "ir 1 part losses { size N size C input x f32[N, C] input m f32[N] input z f32[N]\n"
     "output y f32[] temporary l ~f32[N, C] signature (x, m, z) -> (y)\n"
     "map over n < N, c < C { %0 = index n %1 = index c %2 = read x [%0, %1] proved\n"
     "%3 = read m [%0] proved %4 = sub f32 %2, %3 %5 = read z [%0] proved %6 = exp f32 %5\n"
     "%7 = sub f32 %4, %6 l [%0, %1] <- %7 }\n"
     "reduce sum over | n < N, c < C if %8 { %0 = index n %1 = index c\n"
     "%2 = read l [%0, %1] proved %3 = size C %4 = to_float f32 %3 %5 = fdiv f32 %2, %4\n"
     "%6 = read z [%0] proved %7 = float f32 0 %8 = lt %7, %6 y [] <- %5 } }"},
    /* what leaves is the first side; one value per row is left, under a condition */
    {{.name = "lift", .stage = "y"},
     "y.sum y",
     "ir 1 part away { size N size C size K input x f32[N, C, K] input m f32[N] input z f32[N]\n"
     "output y f32[N] signature (x, m, z) -> (y)\n"
     "reduce sum over n < N | c < C, k < K if %8 { %0 = index n %1 = index c %2 = index k\n"
     "%3 = read x [%0, %1, %2] proved %4 = read m [%0] proved %5 = add f32 %3, %4\n"
     "%6 = read z [%0] proved %7 = float f32 0 %8 = lt %7, %6 %9 = sub f32 %6, %5\n"
     "%10 = mul f32 %4, %9 %11 = neg f32 %10 y [%0] <- %11 } }"},
};

/* What values may be off by: moments leaves an f32 where the op as written does not round. */
static double nearness(const char *rewrite)
{
    return strcmp(rewrite, "moments") == 0 ? 1e-6 : 1e-9;
}

static bool is_near(double a, double b, double near)
{
    return differ_same(a, b) || fabs(a - b) <= near * fmax(1, fmax(fabs(a), fabs(b)));
}

static const char *print(const struct ir_program *program)
{
    struct text text = text_new(differ_arena());
    ir_print(&text, program);
    return text.at;
}

/* Both through the interpreter, on values drawn for the first. */
static void compare(const struct ir_program *old, const struct ir_program *new,
                    const int64_t *sizes, uint64_t seed, double near)
{
    struct arena *arena = differ_arena();
    struct error error = {0};
    struct oracle_options options = {0};
    const struct ir_part *part = ir_root(old);
    double *scalars = arena_array(arena, (size_t)part->scalar_count + 1, sizeof *scalars);
    struct array *inputs = arena_array(arena, (size_t)part->input_count + 1, sizeof *inputs);
    struct array *expected = arena_array(arena, (size_t)part->output_count + 1, sizeof *expected);
    struct array *found = arena_array(arena, (size_t)part->output_count + 1, sizeof *found);
    struct ir_binding *binding = ir_bind(arena, old, sizes, scalars, &error);
    if (!binding || !oracle_draw(arena, NULL, binding, seed, inputs, &error))
        return; /* there is nothing at these sizes */
    struct ir_binding *again = ir_bind(arena, new, sizes, scalars, &error);
    if (!again || !oracle_interpret(arena, binding, inputs, expected, &options, &error) ||
        !oracle_interpret(arena, again, inputs, found, &options, &error))
        test_fail(__FILE__, __LINE__, "%s: %s\n%s", error.message, error.detail, print(new));
    for (int o = 0; o < part->output_count; o++) {
        CHECK_INT(found[o].count, expected[o].count);
        for (int64_t i = 0; i < found[o].count; i++) {
            if (found[o].floats ? !is_near(found[o].floats[i], expected[o].floats[i], near)
                                : found[o].integers[i] != expected[o].integers[i])
                test_fail(__FILE__, __LINE__, "output %s differs at %lld\n%s", found[o].name,
                          (long long)i, print(new));
        }
    }
}

static const struct ir_program *read_back(const struct ir_program *program)
{
    const char *text = print(program);
    const struct ir_program *again = differ_parse(text);
    CHECK_STR(print(again), text);
    return again;
}

static const struct ir_graph *rewritten(const struct rewrite_case *c)
{
    struct arena *arena = differ_arena();
    struct error error = {0};
    const struct ir_graph *graph =
        ir_graph_new(arena, ir_root(ir_flatten(arena, differ_parse(c->text))));
    graph = plan_rewrite(arena, graph, &c->rewrite, &error);
    if (!graph)
        test_fail(__FILE__, __LINE__, "%s", error.message);
    return graph;
}

static struct ir_program *program_of(const struct ir_graph *graph)
{
    struct ir_program *program = arena_new(differ_arena(), struct ir_program);
    const struct ir_part **parts = arena_array(differ_arena(), 1, sizeof *parts);
    parts[0] = graph->part;
    *program = (struct ir_program){parts, 1};
    return program;
}

TEST(rewrites_compute_the_same)
{
    struct random random = random_new(5, 3);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct ir_graph *graph = rewritten(&CASES[i]);
        struct text names = text_new(differ_arena());
        for (int s = 0; s < graph->part->stage_count; s++)
            text_printf(&names, "%s%s", s ? " " : "", graph->names[s]);
        CHECK_STR(names.at, CASES[i].names);
        const struct ir_program *new = read_back(program_of(graph));
        for (int round = 0; round < 40; round++) {
            int64_t sizes[3];
            for (int k = 0; k < 3; k++)
                sizes[k] = (int64_t)random_below(&random, 1 + (uint64_t)round);
            compare(differ_parse(CASES[i].text), new, sizes, random_u64(&random),
                    nearness(CASES[i].rewrite.name));
        }
    }
}

/* Whether what the rewrite relies on is so at these sizes, which may lack those that follow. */
static bool holds_at(const struct ir_program *program, const int64_t *sizes)
{
    struct error error = {0};
    struct ir_binding *binding = ir_bind(differ_arena(), program, sizes, NULL, &error);
    const struct ir_part *part = ir_root(program);
    int64_t value;
    for (int i = 0; binding && i < part->zero_count; i++) {
        if (!ir_size_eval(part->zeros[i], binding->sizes, &value) || value != 0)
            return false;
    }
    return true;
}

TEST(rewrites_of_real_programs_compute_the_same)
{
    for (const struct oracle_program *at = ORACLE_PROGRAMS; at->name; at++) {
        struct arena *arena = differ_arena();
        const struct ir_program *program = differ_parse(at->text);
        const struct ir_graph *graph = ir_graph_new(arena, ir_root(ir_flatten(arena, program)));
        for (int s = 0; s < graph->part->stage_count; s++) {
            for (int r = 0; ir_rewrites[r]; r++) {
                struct ir_reason why_not = {""};
                int64_t number = ir_rewrites[r]->number ? ir_rewrites[r]->least : 0;
                if (!ir_rewrites[r]->match(graph, s, &why_not)) {
                    CHECK(why_not.text[0] != 0);
                    continue;
                }
                if (!holds_at(ir_rewrites[r]->apply(arena, graph, s, number), at->sizes))
                    continue;
                compare(program, read_back(ir_rewrites[r]->apply(arena, graph, s, number)),
                        at->sizes, (uint64_t)(s * 16 + r), nearness(ir_rewrites[r]->name));
            }
        }
    }
}

TEST(reassociated_twice_is_as_it_was)
{
    struct arena *arena = differ_arena();
    struct error error = {0};
    const struct ir_graph *once = rewritten(&CASES[0]);
    const struct ir_graph *twice = plan_rewrite(arena, once, &CASES[0].rewrite, &error);
    CHECK(twice != NULL);
    int64_t sizes[] = {8, 2, 4};
    double first = ir_operations(ir_bind(arena, differ_parse(CASES[0].text), sizes, NULL, &error));
    double other = ir_operations(ir_bind(arena, program_of(once), sizes, NULL, &error));
    double back = ir_operations(ir_bind(arena, program_of(twice), sizes, NULL, &error));
    CHECK(other < first);
    CHECK(back == first);
}

/* ---- kernels ---- */

static struct text make_kernel(const struct ir_program *program, const struct rewrite_case *c)
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
    static const int64_t sizes[] = {96, 96, 96};
    struct arena *arena = differ_arena();
    struct error error = {0};
    struct ir_binding *binding = ir_bind(arena, program, sizes, NULL, &error);
    const struct skeleton_program *planned = skeleton_program_new(arena, program, binding, &target);
    planned = skeleton_rewrite(planned, &c->rewrite, 1, &error);
    struct plan *plan = planned ? skeleton_seed(planned) : NULL;
    CHECK(plan != NULL);
    struct text text = text_new(arena);
    gen_loop_c(&text, skeleton_lower(planned, plan), &(struct gen_head){0});
    return text;
}

TEST(kernels_of_rewritten_programs_are_right)
{
    struct arena *arena = differ_arena();
    struct random random = random_new(9, 1);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct ir_program *program = differ_parse(CASES[i].text);
        struct errors errors = errors_new(arena);
        struct library *library;
        struct text text = make_kernel(program, &CASES[i]);
        struct source source = {"kernel.c", text.at, text.length};
        const struct kernel *kernel = kernel_parse(arena, &source, ir_root(program), &errors);
        CHECK(kernel != NULL);
        kernel_run_what = CASES[i].rewrite.name;
        kernel_function *function = kernel_run_compile(arena, &text, false, &library);
        for (int round = 0; round < 12; round++) {
            int64_t sizes[3];
            struct array inputs[3];
            struct error error = {0};
            for (int k = 0; k < 3; k++)
                sizes[k] = round == 0 ? 64 : (int64_t)random_below(&random, 70);
            struct ir_binding *binding = ir_bind(arena, program, sizes, NULL, &error);
            CHECK(binding &&
                  oracle_draw(arena, NULL, binding, random_u64(&random), inputs, &error));
            kernel_run_check(arena, binding, inputs, function, kernel, 64);
        }
    }
}
