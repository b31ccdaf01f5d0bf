/*
 * Plans of real programs: seeds are legal, change keeps them so, and every one of them reads back.
 */
#include <string.h>

#include "oracle_differ.h"
#include "oracle_program.h"
#include "skeleton/skeleton.h"
#include "test.h"

enum { STEPS = 60, MOST_SEEDS = 8 };

static const struct skeleton_program *prepare(const struct oracle_program *program)
{
    struct arena *arena = differ_arena();
    struct machine machine = {.threads = 2, .sets = 1 << MACHINE_AVX2};
    struct rates rates = {0};
    struct error error = {0};
    struct skeleton_target *target = arena_new(arena, struct skeleton_target);
    const struct ir_program *read = differ_parse(program->text);
    size_t scalars = (size_t)ir_root(read)->scalar_count;
    struct ir_binding *binding = ir_bind(arena, read, program->sizes,
                                         arena_array(arena, scalars + 1, sizeof(double)), &error);
    if (!binding)
        test_fail(__FILE__, __LINE__, "%s: %s", program->name, error.message);
    *target = skeleton_target_new(&machine, &rates);
    return skeleton_program_new(arena, read, binding, target);
}

/* Legal, and the same after it was printed and read. */
static void check_plan(const struct skeleton_program *program, const struct plan *plan)
{
    struct arena *arena = differ_arena();
    struct text text = text_new(arena);
    struct error error = {0};
    char hash[65], again_hash[65];
    plan_print(&text, plan, program->graph);
    struct source source = {"test.plan", text.at, text.length};
    struct errors errors = errors_new(arena);
    struct plan *again = plan_parse(arena, &source, program->graph, &errors);
    if (!again)
        test_fail(__FILE__, __LINE__, "%s\n%s", errors.list.at[0].message, text.at);
    if (!skeleton_check(program, again, &error))
        test_fail(__FILE__, __LINE__, "%s\n%s", error.message, text.at);
    plan_hash(plan, program->graph, hash);
    plan_hash(again, program->graph, again_hash);
    CHECK_STR(hash, again_hash);
    CHECK(skeleton_predict(program, again).seconds >= 0);
}

TEST(plan_seeds_and_their_neighbours_are_legal)
{
    for (const struct oracle_program *at = ORACLE_PROGRAMS; at->name; at++) {
        const struct skeleton_program *program = prepare(at);
        struct plan *plans[MOST_SEEDS];
        int count = skeleton_seeds(program, plans, MOST_SEEDS);
        CHECK(count >= 1);
        struct plan_space space = skeleton_space(program, plans[0]);
        struct random random = random_new(3, 5);
        struct plan *plan = plans[0];
        for (int i = 0; i < count; i++) {
            check_plan(program, plans[i]);
            double better = i ? skeleton_predict(program, plans[i - 1]).seconds : 0;
            CHECK(skeleton_predict(program, plans[i]).seconds >= better);
        }
        for (int i = 0; i < STEPS; i++) {
            struct plan *next = plan_mutate(&space, &random, plan);
            if (!next)
                break;
            check_plan(program, next);
            struct plan *child = plan_cross(&space, &random, next, plans[0]);
            if (child)
                check_plan(program, child);
            plan = next;
        }
    }
}

/* A plan that was edited badly is refused with a reason a person can act on. */
TEST(plan_illegal_ones_have_reasons)
{
    static const struct {
        const char *text, *reason;
    } ILLEGAL[] = {
        {"plan gpu avx2\ngroup a = m s y skeleton plain\n", "no target 'gpu'"},
        {"plan cpu avx9\ngroup a = m s y skeleton plain\n", "no machine 'avx9'"},
        {"plan cpu avx512\ngroup a = m s y skeleton plain\n", "this is avx2"},
        {"plan cpu avx2\ngroup a = m s y skeleton spiral\n", "no skeleton 'spiral'"},
        {"plan cpu avx2\ngroup a = m s y skeleton plain\n tiles 3\n", "nothing called 'tiles'"},
        {"plan cpu avx2\ninline m\ngroup a = s y skeleton plain\n", "only maps"},
        {"plan cpu avx2\ninline y\ngroup a = m s skeleton plain\n", "an output"},
        {"plan cpu avx2\ngroup a = s skeleton plain\ngroup b = m y skeleton plain\n",
         "'s' reads what 'm' defines"},
    };
    const struct skeleton_program *program = prepare(&ORACLE_PROGRAMS[0]);
    for (size_t i = 0; i < sizeof ILLEGAL / sizeof *ILLEGAL; i++) {
        struct source source = {"test.plan", ILLEGAL[i].text, strlen(ILLEGAL[i].text)};
        struct errors errors = errors_new(differ_arena());
        struct error error = {0};
        struct plan *plan = plan_parse(differ_arena(), &source, program->graph, &errors);
        CHECK(plan != NULL);
        CHECK(!skeleton_check(program, plan, &error));
        if (!strstr(error.message, ILLEGAL[i].reason))
            test_fail(__FILE__, __LINE__, "%s: %s", ILLEGAL[i].text, error.message);
        CHECK(error.place.source != NULL);
    }
}
