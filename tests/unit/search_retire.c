/*
 * Runs longer than what is kept in memory: candidates that retire are known again, found again, and
 * nothing about the run repeats, resumes or ends differently for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search_fake.h"
#include "test.h"

enum { LIVE = 24, LONG = 120 };

static struct store *open_store(void)
{
    struct error error = {0};
    struct store *store = store_sqlite.open(":memory:", false, &error);
    CHECK(store != NULL);
    return store;
}

static struct store_candidates list_all(struct arena *arena, struct store *store, int64_t run)
{
    struct store_candidates list = {0};
    struct candidate_query query = {.run = run};
    struct error error = {0};
    CHECK(store_sqlite.candidate_list(store, arena, &query, &list, &error));
    return list;
}

/* All are judged, no plan twice, and the best of them is the run's. */
static void check_whole(struct arena *arena, const struct search *search, struct store *store)
{
    struct store_candidates list = list_all(arena, store, search->run.id);
    struct map plans = map_new(arena);
    double best = 0;
    CHECK_INT(list.count, search->judged);
    for (size_t i = 0; i < list.count; i++) {
        CHECK(list.at[i].judged);
        CHECK(map_set(&plans, list.at[i].plan, search->best) == NULL);
        best = list.at[i].fitness > best ? list.at[i].fitness : best;
    }
    CHECK(search->best && search->best->record.fitness == best);
    CHECK(search->nodes.count < LONG * 2 / 3); /* populations and first plans stay */
    for (size_t i = 0; i < search->nodes.count; i++) {
        const struct search_node *node = search->nodes.at[i], *parent = node->parent;
        CHECK(search_find(search, node->record.id) == node);
        CHECK(!parent || search_find(search, parent->record.id) == parent);
    }
}

TEST(search_retires_candidates_and_repeats_itself)
{
    static const char *const names[] = {"islands", "mcts"};
    fake_live = LIVE;
    for (int i = 0; i < 2; i++) {
        struct arena first = {0}, second = {0};
        struct fake_trace one = {0}, two = {0};
        struct store *store = open_store(), *other = open_store();
        struct search *search = fake_run(&first, names[i], LONG, store, 0, &one);
        CHECK_INT(search->judged, LONG);
        check_whole(&first, search, store);
        fake_run(&second, names[i], LONG, other, 0, &two);
        CHECK_STR(one.text.at, two.text.at);
        arena_release(&first);
        arena_release(&second);
        store_sqlite.close(store);
        store_sqlite.close(other);
    }
    fake_live = 0;
}

/* Stopped on the way and gone on with: the same as another that was, and nothing twice. */
TEST(search_goes_on_after_many_retired)
{
    struct arena arena = {0};
    struct fake_trace traces[2] = {0};
    fake_live = LIVE;
    for (int i = 0; i < 2; i++) {
        struct fake_trace trace = {.stop_after = 22};
        struct store *store = open_store();
        struct search *search = fake_run(&arena, "islands", LONG, store, 0, &trace);
        CHECK(search->judged > 2 * LIVE && search->judged < LONG);
        search = fake_run(&arena, "islands", LONG, store, search->run.id, &traces[i]);
        CHECK_INT(search->judged, LONG);
        check_whole(&arena, search, store);
        store_sqlite.close(store);
    }
    CHECK_STR(traces[0].text.at, traces[1].text.at);
    fake_live = 0;
    arena_release(&arena);
}

/* The first that was judged with a binary is found, long after it retired. */
TEST(search_finds_twins_that_retired)
{
    struct arena arena = {0};
    struct fake_trace trace = {0};
    struct store *store = open_store();
    fake_live = LIVE;
    fake_judge_now = fake_judge_twins;
    fake_digits = 2;
    struct search *search = fake_run(&arena, "islands", LONG, store, 0, &trace);
    fake_judge_now = fake_judge;
    fake_live = 0;
    struct store_candidates list = list_all(&arena, store, search->run.id);
    struct map first = map_new(&arena);
    int far = 0;
    for (size_t i = 0; i < list.count; i++) {
        long long number = 0;
        struct candidate *before = map_get(&first, list.at[i].binary);
        if (!before) {
            map_set(&first, list.at[i].binary, &list.at[i]);
            continue;
        }
        if (sscanf(list.at[i].note, "the same binary as candidate %lld:", &number) != 1)
            continue; /* a finalist, measured itself after all */
        CHECK_INT(number, before->id);
        CHECK(!strstr(list.at[i].note + 8, "the same binary"));
        CHECK(list.at[i].fitness == before->fitness || before->id == search->best->record.id ||
              !search_find(search, before->id));
        far += &list.at[i] - before > LIVE;
    }
    CHECK(search->twins > 0);
    CHECK(far > 0);
    arena_release(&arena);
    store_sqlite.close(store);
}

/* By number, by plan and by source, as somebody who submits does. */
TEST(search_recalls_who_retired)
{
    struct arena arena = {0};
    struct error error = {0};
    struct fake_trace trace = {0};
    struct store *store = open_store();
    fake_live = LIVE;
    struct search *search = fake_run(&arena, "islands", LONG, store, 0, &trace);
    struct store_candidates list = list_all(&arena, store, search->run.id);
    const struct candidate *gone = NULL;
    for (size_t i = 0; i < list.count && !gone; i++)
        if (!search_find(search, list.at[i].id))
            gone = &list.at[i];
    CHECK(gone != NULL);
    if (gone) {
        size_t before = search->nodes.count;
        const char *plan = store_sqlite.object_get(store, &arena, gone->plan, NULL, &error);
        struct search_offer offers[2] = {
            {.plan = plan, .proposer = "agent:x", .island = -1},
            {.source = "a kernel, fast", .proposer = "agent:x", .island = -1}};
        struct search_node *nodes[2] = {NULL, NULL};
        int64_t judged = search->judged;
        CHECK(search_submit(search, offers, 2, nodes, &error));
        CHECK_INT(search->judged, judged + 1);
        CHECK(nodes[0] && nodes[0]->record.id == gone->id && nodes[0]->plan);
        CHECK(nodes[0] == search_recall(search, gone->id));
        CHECK(nodes[0]->record.fitness == gone->fitness);
        CHECK_STR(nodes[0]->record.proposer, gone->proposer);
        CHECK(search_recall(search, 1000000) == NULL);
        CHECK_INT(search->nodes.count, before + 2);
    }
    fake_live = 0;
    arena_release(&arena);
    store_sqlite.close(store);
}
