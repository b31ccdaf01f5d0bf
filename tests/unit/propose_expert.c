/*
 * Experts: whatever they propose for whatever program is legal, is no copy, and comes best first.
 */
#include <string.h>

#include "diagnose/diagnose.h"
#include "oracle_differ.h"
#include "oracle_program.h"
#include "propose/propose.h"
#include "test.h"

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
    CHECK(binding != NULL);
    *target = skeleton_target_new(&machine, &rates);
    return skeleton_program_new(arena, read, binding, target);
}

static int ask(const struct proposer *expert, const struct propose_view *view)
{
    struct proposal proposals[8];
    const struct skeleton_program *program = view->program;
    int count = expert->propose(view, proposals, 8);
    char parent[65];
    CHECK(count >= 0 && count <= 8);
    plan_hash(view->parent, program->graph, parent);
    for (int i = 0; i < count; i++) {
        struct error error = {0};
        char hash[65], other[65];
        CHECK(skeleton_check(program, proposals[i].plan, &error));
        plan_hash(proposals[i].plan, program->graph, hash);
        CHECK(strcmp(hash, parent) != 0);
        CHECK(proposals[i].promise > 0);
        CHECK(i == 0 || proposals[i].promise <= proposals[i - 1].promise);
        CHECK(proposals[i].why[0] != 0);
        if (strcmp(proposals[i].action, "nothing") == 0)
            test_fail(__FILE__, __LINE__, "%s says nothing of what it changed", expert->name);
        for (int k = 0; k < i; k++) {
            plan_hash(proposals[k].plan, program->graph, other);
            CHECK(strcmp(hash, other) != 0);
        }
    }
    return count;
}

TEST(experts_propose_legal_plans)
{
    int total = 0;
    for (const struct oracle_program *at = ORACLE_PROGRAMS; at->name; at++) {
        const struct skeleton_program *program = prepare(at);
        struct plan *plans[2];
        int seeds = skeleton_seeds(program, plans, 2);
        struct random random = random_new(7, 1);
        for (int class = 0; class < DIAGNOSIS_COUNT; class += 4) {
            struct diagnosis diagnosis = {.class = (enum diagnosis_class) class};
            struct propose_view view = {.program = program,
                                        .parent = plans[0],
                                        .mate = seeds > 1 ? plans[1] : NULL,
                                        .diagnosis = &diagnosis,
                                        .random = &random};
            for (int i = 0; experts[i]; i++)
                total += ask(experts[i], &view);
        }
    }
    CHECK(total > 20);
}

/* Several changes, each of them what the diagnosis speaks for. */
TEST(remedy_follows_a_diagnosis_in_all_it_says)
{
    const struct proposer *remedy = expert_find("remedy");
    int total = 0;
    for (const struct oracle_program *at = ORACLE_PROGRAMS; at->name; at++) {
        const struct skeleton_program *program = prepare(at);
        struct plan *plan;
        struct proposal proposals[PROPOSE_MOST];
        struct random random = random_new(7, 1);
        struct diagnosis waits = {.class = DIAGNOSIS_LATENCY, .pattern = "", .text = ""};
        if (skeleton_seeds(program, &plan, 1) < 1)
            continue;
        struct propose_view view = {
            .program = program, .parent = plan, .diagnosis = &waits, .random = &random};
        int count = remedy->propose(&view, proposals, PROPOSE_MOST);
        for (int i = 0; i < count; i++) {
            CHECK(strstr(proposals[i].key, "; ") != NULL);
            CHECK(diagnose_advice(&waits, proposals[i].key) > 0);
        }
        total += count;
        view.diagnosis = NULL;
        CHECK_INT(remedy->propose(&view, proposals, PROPOSE_MOST), 0);
    }
    CHECK(total > 0);
    CHECK_INT(remedy->concern(DIAGNOSIS_NONE), 0);
}

/* For every diagnosis somebody feels responsible. */
TEST(experts_answer_every_diagnosis)
{
    for (int class = 0; class < DIAGNOSIS_COUNT; class ++) {
        int most = 0;
        for (int i = 0; experts[i]; i++) {
            int concern = experts[i]->concern((enum diagnosis_class) class);
            most = concern > most ? concern : most;
        }
        CHECK(most >= (class == DIAGNOSIS_NONE ? 1 : 2));
        CHECK(expert_find("memory") != NULL);
        CHECK(expert_find("nobody") == NULL);
    }
}
