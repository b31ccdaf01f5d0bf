/*
 * Candidates from outside: offers of somebody who takes part in a search, and what other processes
 * put into its run meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search_fake.h"
#include "test.h"

/* ---- offers ---- */

struct writer { /* somebody who writes kernels, one a batch, each from the one before */
    struct search_node *last;
    int written, most, told;
    char source[64];
};

static int write_one(void *context, struct search *search, struct search_offer *offers, int most)
{
    struct writer *writer = context;
    if (writer->written >= writer->most || most < 1)
        return 0;
    bool fast = ++writer->written == writer->most;
    snprintf(writer->source, sizeof writer->source, "kernel %d%s", writer->written,
             fast ? " fast" : "");
    offers[0] = (struct search_offer){.source = writer->source,
                                      .proposer = "model:writer",
                                      .action = "written by hand",
                                      .why = "to see",
                                      .parent = writer->last ? writer->last : search->best,
                                      .expected = 1.5,
                                      .cost = 0.25,
                                      .tokens = 1000,
                                      .island = -1};
    return 1;
}

static bool writes_more(void *context, double seconds)
{
    const struct writer *writer = context;
    (void)seconds;
    return writer->written < writer->most;
}

static void hear(void *context, struct search *search, const struct search_node *node)
{
    struct writer *writer = context;
    (void)search;
    if (strcmp(node->record.proposer, "model:writer") != 0)
        return;
    writer->told++;
    writer->last = (struct search_node *)node;
}

static struct search *run_with(struct arena *arena, const char *policy, struct writer *writer,
                               bool alone, struct store *store, int64_t id)
{
    struct error error = {0};
    struct search *search = arena_new(arena, struct search);
    struct search_options *options = arena_new(arena, struct search_options);
    struct skeleton_program *program = fake_prepare(arena);
    *options = (struct search_options){.policy = search_policy_find(policy),
                                       .budget = {.evaluations = 40},
                                       .seed = 42,
                                       .judge = {fake_judge, program},
                                       .outside = {{write_one, writes_more, hear, writer}},
                                       .outside_count = writer ? 1 : 0,
                                       .no_experts = alone,
                                       .clock = fake_clock};
    *search = (struct search){.arena = arena,
                              .options = options,
                              .engine = store ? &store_sqlite : NULL,
                              .store = store,
                              .program = program,
                              .threads = 1,
                              .run = {.id = id, .task = "softmax", .target = "cpu"}};
    fake_clock_reset();
    CHECK(search_run(search, &error) != SEARCH_FAILED);
    return search;
}

/* Kernels without a plan are candidates like others, whatever the policy; experts go on from the
 * plans behind them. */
TEST(search_takes_kernels_from_outside)
{
    for (int i = 0; search_policies[i]; i++) {
        struct arena arena = {0};
        struct writer writer = {.most = 5};
        struct search *search = run_with(&arena, search_policies[i]->name, &writer, false, NULL, 0);
        int64_t experts_after = 0;
        CHECK_INT(writer.told, 5);
        CHECK(search->best == writer.last);
        CHECK(!search->best->plan);
        CHECK(strcmp(search->best->source, "kernel 5 fast") == 0);
        CHECK(search->best->record.expected == 1.5 && search->best->record.tokens == 1000);
        for (size_t n = 0; n < search->nodes.count; n++)
            experts_after += search->nodes.at[n]->expert >= 0;
        CHECK(experts_after >= 5);
        arena_release(&arena);
    }
    struct arena arena = {0};
    struct writer writer = {.most = 5};
    struct search *search = run_with(&arena, "greedy", &writer, true, NULL, 0);
    for (size_t n = 0; n < search->nodes.count; n++)
        CHECK(search->nodes.at[n]->expert < 0);
    CHECK_INT(writer.told, 5);
    arena_release(&arena);
}

/* They are kept whole, a run goes on with them, and offers can be judged without a search. */
TEST(search_keeps_kernels_from_outside)
{
    struct fake_store file = fake_store_open();
    struct store *store = file.store;
    struct arena arena = {0};
    struct error error = {0};
    struct writer writer = {.most = 3};
    struct search *first = run_with(&arena, "islands", &writer, true, store, 0);
    int64_t id = first->run.id, judged = first->judged, best = first->best->record.id;
    struct candidate kept;
    CHECK(store_sqlite.candidate_get(store, &arena, best, &kept, &error));
    CHECK(!kept.plan && kept.cost == 0.25 && kept.tokens == 1000 && kept.expected == 1.5);
    CHECK_STR(kept.proposer, "model:writer");
    CHECK_STR(store_sqlite.object_get(store, &arena, kept.kernel, NULL, &error), "kernel 3 fast");
    struct search *second = run_with(&arena, "islands", NULL, true, store, id);
    CHECK_INT(second->judged, judged);
    CHECK_INT(second->best->record.id, best);
    /* offers alone: one new, one that was there, one that is no plan */
    struct search third = *second;
    third.nodes = (struct search_nodes){0};
    third.best = NULL;
    third.judged = 0;
    CHECK(search_open(&third, &error));
    struct search_node *nodes[3], *parent = search_find(&third, best);
    CHECK(parent && parent->record.id == best);
    struct search_offer offers[3] = {
        {.source = "kernel 9, fast", .proposer = "agent:x", .parent = parent, .island = -1},
        {.source = "kernel 3 fast", .proposer = "agent:x", .island = -1},
        {.plan = "no plan", .proposer = "agent:x", .island = -1}};
    CHECK(search_submit(&third, offers, 3, nodes, &error));
    CHECK(nodes[0] && nodes[0]->record.judged && nodes[0]->record.parents[0] == best);
    CHECK(nodes[1] == parent);
    CHECK(!nodes[2]);
    CHECK_INT(third.judged, judged + 1);
    struct store_runs runs = {0};
    CHECK(store_sqlite.run_list(store, &arena, &runs, &error));
    CHECK_INT(runs.at[0].state, RUN_DONE);
    CHECK_INT(runs.at[0].judged, judged + 1);
    arena_release(&arena);
    fake_store_close(&file);
}

/* ---- somebody else in the same run ---- */

struct other { /* another process, played by the judge: its own handle of the store */
    const char *path;
    bool final;            /* submits while the finalists are compared, else in the middle */
    bool slow;             /* its verdict comes two batches after its candidate */
    struct candidate made; /* what it recorded */
    int batches, judged;   /* judged: times its kernel was, by anybody */
};

static struct other other;
static const char others[] = "kernel of another, fast";

static void record_slowly(struct store *store)
{
    struct error error = {0};
    char hash[65];
    if (other.batches == 2) {
        CHECK(store_sqlite.object_put(store, others, strlen(others), hash, &error));
        other.made = (struct candidate){
            .run = fake_current->run.id, .proposer = "agent:other", .island = -1, .kernel = hash};
        CHECK(store_sqlite.candidate_add(store, &other.made, &error));
        other.made.kernel = NULL;
    } else {
        other.made.outcome = OUTCOME_OK;
        other.made.fitness = 5;
        other.made.microseconds = 10;
        CHECK(store_sqlite.candidate_judge(store, &other.made, &error));
    }
}

static void submit_other(struct store *store)
{
    struct arena arena = {0};
    struct error error = {0};
    struct search_options options = *fake_current->options;
    struct search search = {.arena = &arena,
                            .options = &options,
                            .engine = &store_sqlite,
                            .store = store,
                            .program = fake_current->program,
                            .threads = 1,
                            .run = fake_current->run};
    struct search_offer offer = {.source = others, .proposer = "agent:other", .island = -1};
    struct search_node *node = NULL;
    CHECK(search_open(&search, &error));
    CHECK(search_submit(&search, &offer, 1, &node, &error));
    CHECK(node && search.best == node);
    if (node)
        other.made.id = node->record.id;
    arena_release(&arena);
}

static bool judge_beside(void *context, struct arena *arena, const struct source *const *kernels,
                         struct plan *const *plans, int count, enum search_care care,
                         struct search_judgement *judgements, struct error *error)
{
    static bool inside;
    for (int i = 0; i < count && care == SEARCH_CARE_USUAL; i++)
        other.judged += strcmp(kernels[i]->text, others) == 0;
    if (!inside) {
        other.batches++;
        bool now = other.slow    ? other.batches == 2 || other.batches == 4
                   : other.final ? care != SEARCH_CARE_USUAL && !other.made.id
                                 : other.batches == 3;
        struct error own = {0};
        struct store *store = now ? store_sqlite.open(other.path, false, &own) : NULL;
        inside = true;
        CHECK(!now || store);
        if (store && other.slow)
            record_slowly(store);
        else if (store)
            submit_other(store);
        if (store)
            store_sqlite.close(store);
        inside = false;
    }
    return fake_judge(context, arena, kernels, plans, count, care, judgements, error);
}

/* A search hears of what others put into its run meanwhile, and ends with it when it is the best:
 * submitted in the middle, with a verdict that takes its time, or when all but the end is over. */
TEST(search_hears_of_others)
{
    struct fake_store file = fake_store_open();
    struct store *store = file.store;
    struct arena arena = {0};
    struct error error = {0};
    fake_judge_now = judge_beside;
    for (int i = 0; i < 3; i++) {
        struct fake_trace trace = {0};
        struct store_runs runs = {0};
        struct store_candidates list = {0};
        other = (struct other){.path = file.path, .slow = i == 1, .final = i == 2};
        struct search *search = fake_run(&arena, "islands", 40, store, 0, &trace);
        CHECK(other.made.id > 0);
        CHECK_INT(search->best->record.id, other.made.id);
        CHECK_STR(search->best->record.proposer, "agent:other");
        CHECK(search_find(search, other.made.id) == search->best);
        CHECK_INT(search->foreign, 1);
        CHECK_INT(search->judged, i == 2 ? 41 : 40);
        CHECK_INT(other.judged, i == 1 ? 0 : 1);
        for (size_t n = 0; n < search->nodes.count; n++)
            CHECK(search_find(search, search->nodes.at[n]->record.id) == search->nodes.at[n]);
        CHECK(store_sqlite.run_list(store, &arena, &runs, &error));
        CHECK_INT(runs.at[0].id, search->run.id);
        CHECK_INT(runs.at[0].best, other.made.id);
        CHECK_INT(runs.at[0].state, RUN_DONE);
        struct candidate_query query = {.run = search->run.id};
        CHECK(store_sqlite.candidate_list(store, &arena, &query, &list, &error));
        CHECK_INT(list.count, search->judged);
    }
    fake_judge_now = fake_judge;
    arena_release(&arena);
    fake_store_close(&file);
}
