/*
 * Plans that were good elsewhere: at other sizes, on another machine, for an op with other names.
 */
#include <string.h>

#include "know/know.h"
#include "search_fake.h"
#include "skeleton/skeleton.h"
#include "test.h"

enum { SEEDS = 6 };

static struct plan *adapt(const struct skeleton_program *program, const char *text)
{
    struct plan *seeds[SEEDS];
    struct error error = {0};
    int count = skeleton_seeds(program, seeds, SEEDS);
    struct plan *plan = skeleton_adapt(program, text, seeds, count);
    CHECK(!plan || skeleton_check(program, plan, &error));
    return plan;
}

TEST(adapt_takes_over_what_is_legal)
{
    struct arena arena = {0};
    const struct skeleton_program *program = fake_prepare_sized(&arena, 300, 77);
    struct plan *plan = adapt(program, "plan cpu avx2\n"
                                       "group y = m s y  skeleton row\n"
                                       "    threads 1\n    lanes 4\n    unroll 2\n");
    CHECK(plan != NULL);
    CHECK_INT(plan->group_count, 1);
    CHECK_STR(plan_get(&plan->groups[0], "lanes"), "4");
    CHECK_STR(plan_get(&plan->groups[0], "unroll"), "2");
    arena_release(&arena);
}

/* A value that is none, a decision there is none of, another machine: the rest still counts. */
TEST(adapt_leaves_out_what_cannot_be)
{
    struct arena arena = {0};
    const struct skeleton_program *program = fake_prepare(&arena);
    struct plan *plan = adapt(program, "plan cpu avx512\n"
                                       "group y = m s y  skeleton row\n"
                                       "    lanes 4\n    unroll 3\n    wheels 4\n");
    CHECK(plan != NULL);
    CHECK_STR(plan->machine, "avx2");
    CHECK_STR(plan_get(&plan->groups[0], "lanes"), "4");
    CHECK(plan_get(&plan->groups[0], "wheels") == NULL);
    arena_release(&arena);
}

TEST(adapt_knows_groups_by_their_skeletons)
{
    struct arena arena = {0};
    const struct skeleton_program *program = fake_prepare(&arena);
    struct plan *plan = adapt(program, "plan cpu avx2\n"
                                       "group rows = top total out  skeleton row # all of it\n"
                                       "    lanes 4\n");
    CHECK(plan != NULL);
    CHECK_STR(plan->groups[0].skeleton, "row");
    CHECK_STR(plan_get(&plan->groups[0], "lanes"), "4");
    CHECK(adapt(program, "plan cpu avx2\ngroup a = b  skeleton attend\n") == NULL);
    CHECK(adapt(program, "") == NULL);
    CHECK(adapt(program, "group\ngroup skeleton\n lanes\n# nothing\n") == NULL);
    arena_release(&arena);
}

/* ---- through a search ---- */

static struct know situation(struct arena *arena, struct store *store, const char *shape)
{
    return (struct know){.arena = arena,
                         .engine = &store_sqlite,
                         .store = store,
                         .structure = "row:softmax",
                         .shape = shape,
                         .dtype = "f32",
                         .target = "cpu",
                         .signature = "here"};
}

static void win(struct know *know, const char *structure, const char *shape, const char *text)
{
    struct error error = {0};
    char hash[65];
    struct know elsewhere = *know;
    elsewhere.structure = structure;
    elsewhere.shape = shape;
    CHECK(store_sqlite.object_put(know->store, text, strlen(text), hash, &error));
    CHECK(know_winner(&elsewhere, hash, 2, &error));
}

#define PLAN(lanes) \
    "plan cpu avx2\ngroup y = m s y  skeleton row\n    threads 1\n    lanes " lanes "\n"

TEST(know_has_the_nearest_plans_first)
{
    struct arena arena = {0};
    struct error error = {0};
    struct store *store = store_sqlite.open(":memory:", false, &error);
    struct know know = situation(&arena, store, "1e6");
    struct know_plan plans[4];
    win(&know, "row:other", "1e6", PLAN("1"));
    win(&know, "row:softmax", "1e3", PLAN("2"));
    win(&know, "row:softmax", "1e5", PLAN("4"));
    win(&know, "map:none", "1e6", PLAN("8"));
    CHECK_INT(know_plans(&know, plans, 4), 3);
    CHECK_STR(plans[0].text, PLAN("4"));
    CHECK_STR(plans[1].text, PLAN("2"));
    CHECK_STR(plans[2].text, PLAN("1"));
    CHECK(plans[0].same && plans[1].same && !plans[2].same);
    store_sqlite.close(store);
    arena_release(&arena);
}

/* What won at another size is the first candidate; what won for another op comes after the seeds.
 */
TEST(search_begins_with_what_won_elsewhere)
{
    struct arena arena = {0};
    struct error error = {0};
    struct store *store = store_sqlite.open(":memory:", false, &error);
    struct know know = situation(&arena, store, "1e6");
    struct skeleton_program *program = fake_prepare(&arena);
    win(&know, "row:softmax", "1e5", PLAN("2"));
    win(&know, "row:other", "1e6", "plan cpu avx2\ngroup a = b c d  skeleton row\n    lanes 1\n");
    struct search_options options = {.policy = search_policy_find("islands"),
                                     .budget = {.evaluations = 8},
                                     .seed = 1,
                                     .judge = {fake_judge, program},
                                     .know = &know,
                                     .clock = fake_clock};
    struct search search = {.arena = &arena,
                            .options = &options,
                            .program = program,
                            .threads = 1,
                            .run = {.task = "softmax", .target = "cpu"}};
    CHECK(search_run(&search, &error) != SEARCH_FAILED);
    const struct search_node *first = search.nodes.at[0], *last = NULL;
    CHECK_STR(first->record.proposer, "experience");
    CHECK_STR(plan_get(&first->plan->groups[0], "lanes"), "2");
    CHECK_STR(search.nodes.at[1]->record.proposer, "seed");
    for (size_t i = 0; i < search.nodes.count; i++)
        if (strcmp(search.nodes.at[i]->record.proposer, "experience") == 0)
            last = search.nodes.at[i];
    CHECK(last != first);
    CHECK_STR(plan_get(&last->plan->groups[0], "lanes"), "1");
    store_sqlite.close(store);
    arena_release(&arena);
}
