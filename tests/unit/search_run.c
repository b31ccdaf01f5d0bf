/*
 * The search with a judge that is a function of the plan: it repeats itself, finds better plans
 * than its seeds, keeps everything, and goes on where it was.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oracle_differ.h"
#include "search/judging.h"
#include "search/search.h"
#include "test.h"

static const char softmax[] = "ir 1\n"
                              "part softmax {\n"
                              "    size N\n"
                              "    size D\n"
                              "    input x f32[N, D]\n"
                              "    output y f32[N, D]\n"
                              "    temporary m ~f32[N]\n"
                              "    temporary s ~f32[N]\n"
                              "    signature (x) -> (y)\n"
                              "    reduce max over n < N | d < D {\n"
                              "        %0 = index n\n"
                              "        %1 = index d\n"
                              "        %2 = read x [%0, %1] proved\n"
                              "        m [%0] <- %2\n"
                              "    }\n"
                              "    reduce sum over n < N | d < D {\n"
                              "        %0 = index n\n"
                              "        %1 = index d\n"
                              "        %2 = read x [%0, %1] proved\n"
                              "        %3 = read m [%0] proved\n"
                              "        %4 = sub f32 %2, %3\n"
                              "        %5 = exp f32 %4\n"
                              "        s [%0] <- %5\n"
                              "    }\n"
                              "    map over n < N, d < D {\n"
                              "        %0 = index n\n"
                              "        %1 = index d\n"
                              "        %2 = read x [%0, %1] proved\n"
                              "        %3 = read m [%0] proved\n"
                              "        %4 = sub f32 %2, %3\n"
                              "        %5 = exp f32 %4\n"
                              "        %6 = read s [%0] proved\n"
                              "        %7 = fdiv f32 %5, %6\n"
                              "        y [%0, %1] <- %7\n"
                              "    }\n"
                              "}\n";

static struct skeleton_program *prepare(struct arena *arena)
{
    static struct skeleton_target target;
    struct machine machine = {.threads = 2, .sets = 1 << MACHINE_AVX2};
    struct rates rates = {0};
    struct error error = {0};
    static const int64_t sizes[] = {4096, 1024};
    static const double scalars[1];
    const struct ir_program *program = differ_parse(softmax);
    struct ir_binding *binding = ir_bind(arena, program, sizes, scalars, &error);
    CHECK(binding != NULL);
    target = skeleton_target_new(&machine, &rates);
    return skeleton_program_new(arena, program, binding, &target);
}

/* Fitness from the plan's text; every seventh plan is wrong. */
static bool judge(void *context, struct arena *arena, const struct source *const *kernels,
                  struct plan *const *plans, int count, bool finalists,
                  struct search_judgement *judgements, struct error *error)
{
    const struct skeleton_program *program = context;
    (void)kernels, (void)finalists, (void)error;
    for (int i = 0; i < count; i++) {
        char hash[65];
        struct verdict *verdict = arena_new(arena, struct verdict);
        if (plans[i])
            plan_hash(plans[i], program->graph, hash);
        else
            sha256_hex(kernels[i]->text, kernels[i]->length, hash);
        unsigned long number = strtoul((char[]){hash[0], hash[1], hash[2], hash[3], 0}, NULL, 16);
        verdict->outcome = number % 7 == 0 ? OUTCOME_WRONG : OUTCOME_OK;
        judgements[i] = (struct search_judgement){
            .verdict = verdict,
            .fitness = verdict->outcome == OUTCOME_OK ? 1 + (double)number / 65536 : 0,
            .microseconds = 100};
        if (!plans[i] && strstr(kernels[i]->text, "fast"))
            judgements[i].fitness = 5;
        if (!plans[i])
            verdict->outcome = judgements[i].fitness > 0 ? OUTCOME_OK : OUTCOME_WRONG;
    }
    return true;
}

/* ---- judges with a quirk ---- */

static struct search *current; /* the search that is running */
static int judgings, fail_at;  /* batches judged; the one that fails, 0: none */

static bool judge_or_fail(void *context, struct arena *arena, const struct source *const *kernels,
                          struct plan *const *plans, int count, bool finalists,
                          struct search_judgement *judgements, struct error *error)
{
    if (++judgings == fail_at)
        return error_set(error, ERROR_TOOL_FAILED, "as asked");
    return judge(context, arena, kernels, plans, count, finalists, judgements, error);
}

/* Plans whose hashes begin alike give the same binary. */
static bool judge_twins(void *context, struct arena *arena, const struct source *const *kernels,
                        struct plan *const *plans, int count, bool finalists,
                        struct search_judgement *judgements, struct error *error)
{
    const struct skeleton_program *program = context;
    if (!judge(context, arena, kernels, plans, count, finalists, judgements, error))
        return false;
    for (int i = 0; i < count && !finalists; i++) {
        char hash[65];
        plan_hash(plans[i], program->graph, hash);
        judgements[i].binary = arena_copy(arena, hash, 1);
        judgements[i].twin = map_get(&current->by_binary, judgements[i].binary);
        for (int k = 0; k < i && !judgements[i].twin && !judgements[i].same_as; k++)
            if (!judgements[k].twin && strcmp(judgements[k].binary, judgements[i].binary) == 0)
                judgements[i].same_as = k + 1;
    }
    return true;
}

/* Later on, plans look three times as fast as they are, until they are measured with care. */
static bool judge_luckily(void *context, struct arena *arena, const struct source *const *kernels,
                          struct plan *const *plans, int count, bool finalists,
                          struct search_judgement *judgements, struct error *error)
{
    if (!judge(context, arena, kernels, plans, count, finalists, judgements, error))
        return false;
    for (int i = 0; i < count && !finalists && current->judged >= 12; i++)
        judgements[i].fitness *= 3;
    return true;
}

/* Against each other, the second finalist wins, whatever the baseline says. */
static bool judge_pairs(void *context, struct arena *arena, const struct source *const *kernels,
                        struct plan *const *plans, int count, bool finalists,
                        struct search_judgement *judgements, struct error *error)
{
    if (!judge(context, arena, kernels, plans, count, finalists, judgements, error))
        return false;
    for (int i = 0; i < count && finalists; i++) {
        double *against = arena_array(arena, (size_t)count, sizeof *against);
        for (int k = 0; k < count; k++)
            against[k] = k == i ? NAN : i == 1 ? 1.1 : k == 1 ? 1 / 1.1 : 1;
        judgements[i].against = against;
    }
    return true;
}

/* Against each other, all are so many times as fast as the best first plan, and equal otherwise. */
static double above_first;

static bool judge_close(void *context, struct arena *arena, const struct source *const *kernels,
                        struct plan *const *plans, int count, bool finalists,
                        struct search_judgement *judgements, struct error *error)
{
    if (!judge(context, arena, kernels, plans, count, finalists, judgements, error))
        return false;
    const struct plan *first = current->first ? current->first->plan : NULL;
    for (int i = 0; i < count && finalists; i++) {
        double *against = arena_array(arena, (size_t)count, sizeof *against);
        for (int k = 0; k < count; k++)
            against[k] = k == i              ? NAN
                         : plans[k] == first ? above_first
                         : plans[i] == first ? 1 / above_first
                                             : 1;
        judgements[i].against = against;
    }
    return true;
}

static bool (*judge_now)(void *context, struct arena *arena, const struct source *const *kernels,
                         struct plan *const *plans, int count, bool finalists,
                         struct search_judgement *judgements, struct error *error) = judge;

/* ---- a judge that is told what comes ---- */

static void (*announce_now)(void *context, const struct source *const *kernels, int count);
static char announced[2][65]; /* the batch after the one that was announced before it */
static int announcements, expected, unexpected;

static void hash_batch(const struct source *const *kernels, int count, char hash[65])
{
    struct arena arena = {0};
    struct text all = text_new(&arena);
    for (int i = 0; i < count; i++)
        text_add(&all, kernels[i]->text);
    sha256_hex(all.at, all.length, hash);
    arena_release(&arena);
}

static void announce(void *context, const struct source *const *kernels, int count)
{
    (void)context;
    announcements = count > 0 ? announcements + 1 : 0;
    memcpy(announced[0], announced[1], sizeof *announced);
    hash_batch(kernels, count, announced[1]);
}

static bool judge_announced(void *context, struct arena *arena, const struct source *const *kernels,
                            struct plan *const *plans, int count, bool finalists,
                            struct search_judgement *judgements, struct error *error)
{
    char hash[65];
    hash_batch(kernels, count, hash);
    if (strcmp(hash, announced[0]) == 0 || strcmp(hash, announced[1]) == 0)
        expected++;
    else if (count > 1 && !finalists)
        unexpected++;
    return judge(context, arena, kernels, plans, count, finalists, judgements, error);
}

static double fake_time;
static const struct run *going_on; /* the run as the store has it, or NULL */

static double fake_clock(void)
{
    return fake_time += 0.01;
}

struct trace {
    struct text text;
    int stop_after;
    int calls;
};

static bool follow(void *context, const struct search_progress *progress)
{
    struct trace *trace = context;
    if (progress->last)
        text_printf(&trace->text, "%lld %.6f %s\n", (long long)progress->judged,
                    progress->best ? progress->best->record.fitness : 0, progress->last->hash);
    return trace->stop_after == 0 || ++trace->calls < trace->stop_after;
}

static struct search *run(struct arena *arena, const char *policy, int64_t evaluations,
                          struct store *store, int64_t id, struct trace *trace)
{
    struct error error = {0};
    struct search *search = arena_new(arena, struct search);
    struct search_options *options = arena_new(arena, struct search_options);
    struct skeleton_program *program = prepare(arena);
    trace->text = text_new(arena);
    *options = (struct search_options){.policy = search_policy_find(policy),
                                       .budget = {.evaluations = evaluations},
                                       .seed = 42,
                                       .judge = {judge_now, program, announce_now},
                                       .progress = follow,
                                       .context = trace,
                                       .clock = fake_clock};
    *search = (struct search){
        .arena = arena,
        .options = options,
        .engine = store ? &store_sqlite : NULL,
        .store = store,
        .program = program,
        .threads = 1,
        .run = going_on ? *going_on : (struct run){.id = id, .task = "softmax", .target = "cpu"}};
    fake_time = 0;
    current = search;
    enum search_end end = search_run(search, &error);
    if (!fail_at) {
        CHECK_STR(error.message, "");
        CHECK(end != SEARCH_FAILED);
    }
    return search;
}

TEST(search_announces_what_it_judges_next)
{
    static const char *const names[] = {"islands", "mcts", "greedy", "random"};
    announce_now = announce;
    judge_now = judge_announced;
    for (int i = 0; i < 4; i++) {
        struct arena first = {0}, second = {0};
        struct trace one = {0}, two = {0};
        expected = unexpected = 0;
        struct search *search = run(&first, names[i], 60, NULL, 0, &one);
        CHECK_INT(search->judged, 60);
        CHECK_INT(unexpected, 2);    /* first plans, and the batch at which looking ahead begins */
        CHECK(expected >= 12);       /* of four each */
        CHECK_INT(announcements, 0); /* at the end nothing is to come */
        for (size_t n = 0; n < search->nodes.count; n++)
            CHECK(search->nodes.at[n]->record.judged);
        run(&second, names[i], 60, NULL, 0, &two);
        CHECK_STR(one.text.at, two.text.at);
        arena_release(&first);
        arena_release(&second);
        /* stopped on the way: what was made ahead is forgotten */
        struct arena third = {0};
        struct trace three = {.stop_after = 5};
        search = run(&third, names[i], 60, NULL, 0, &three);
        CHECK(search->judged < 60);
        CHECK_INT(announcements, 0);
        for (size_t n = 0; n < search->nodes.count; n++)
            CHECK(search->nodes.at[n]->record.judged);
        arena_release(&third);
    }
    announce_now = NULL;
    judge_now = judge;
}

TEST(search_repeats_itself_and_gets_better)
{
    static const char *const names[] = {"islands", "mcts", "greedy", "random"};
    for (int i = 0; i < 4; i++) {
        struct arena first = {0}, second = {0};
        struct trace one = {0}, two = {0};
        struct search *search = run(&first, names[i], 60, NULL, 0, &one);
        run(&second, names[i], 60, NULL, 0, &two);
        CHECK_STR(one.text.at, two.text.at);
        double seed = 0;
        for (size_t n = 0; n < search->nodes.count; n++)
            if (!search->nodes.at[n]->parent)
                seed = fmax(seed, search->nodes.at[n]->record.fitness);
        CHECK_INT(search->judged, 60); /* nobody runs dry */
        CHECK(search->best != NULL);
        CHECK(search->best->record.fitness >= seed);
        arena_release(&first);
        arena_release(&second);
    }
}

/* Stopped, opened again: what was judged is there and is not judged again. */
TEST(search_goes_on_where_it_was)
{
    char folder[] = "/tmp/smelt-search-XXXXXX", path[64], command[96];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/store.db", folder);
    struct arena arena = {0};
    struct error error = {0};
    struct trace trace = {.stop_after = 4};
    struct store *store = store_sqlite.open(path, false, &error);
    CHECK(store != NULL);
    struct search *search = run(&arena, "islands", 40, store, 0, &trace);
    int64_t before = search->judged, id = search->run.id;
    CHECK_INT(search->run.state, RUN_STOPPED);
    CHECK(before > 0 && before < 40);
    trace = (struct trace){0};
    search = run(&arena, "islands", 40, store, id, &trace);
    CHECK(search->judged >= before);
    struct store_candidates list = {0};
    struct candidate_query query = {.run = id};
    CHECK(store_sqlite.candidate_list(store, &arena, &query, &list, &error));
    CHECK_INT(list.count, search->judged);
    for (size_t i = 0; i < list.count; i++) {
        CHECK(list.at[i].judged);
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(list.at[i].plan, list.at[k].plan) != 0);
    }
    struct store_runs runs = {0};
    CHECK(store_sqlite.run_list(store, &arena, &runs, &error));
    CHECK_INT(runs.count, 1);
    CHECK_INT(runs.at[0].best, search->best->record.id);
    CHECK(store_sqlite.check(store, &error));
    store_sqlite.close(store);
    arena_release(&arena);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
}

TEST(search_judges_each_binary_once)
{
    struct arena arena = {0};
    struct trace trace = {0};
    judge_now = judge_twins;
    struct search *search = run(&arena, "islands", 60, NULL, 0, &trace);
    judge_now = judge;
    CHECK(search->twins > 0);
    CHECK(search->judged - search->twins <= 16);
    int64_t said = 0;
    for (size_t i = 0; i < search->nodes.count; i++)
        said += strncmp(search->nodes.at[i]->diagnosis.text, "the same binary as", 18) == 0;
    CHECK(said <= search->twins && said >= search->twins - 3); /* finalists are judged after all */
    arena_release(&arena);
}

/* The judge breaks down in the middle of a batch: what it had in hand is judged at the next
 * sitting, first of all, and nothing twice. */
TEST(search_goes_on_with_what_was_in_flight)
{
    char folder[] = "/tmp/smelt-search-XXXXXX", path[64], command[96];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/store.db", folder);
    struct arena arena = {0};
    struct error error = {0};
    struct trace trace = {0};
    struct store *store = store_sqlite.open(path, false, &error);
    CHECK(store != NULL);
    judge_now = judge_or_fail;
    judgings = 0;
    fail_at = 3;
    struct search *search = run(&arena, "greedy", 40, store, 0, &trace);
    CHECK_INT(search->run.state, RUN_FAILED);
    struct store_candidates list = {0};
    struct candidate_query query = {.run = search->run.id};
    CHECK(store_sqlite.candidate_list(store, &arena, &query, &list, &error));
    int64_t open = 0, count = (int64_t)list.count;
    for (size_t i = 0; i < list.count; i++)
        open += !list.at[i].judged;
    CHECK(open > 0);
    fail_at = 0;
    trace = (struct trace){0};
    search = run(&arena, "greedy", count, store, search->run.id, &trace);
    judge_now = judge;
    list = (struct store_candidates){0};
    CHECK(store_sqlite.candidate_list(store, &arena, &query, &list, &error));
    CHECK_INT(list.count, count);
    for (size_t i = 0; i < list.count; i++)
        CHECK(list.at[i].judged);
    store_sqlite.close(store);
    arena_release(&arena);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
}

TEST(search_believes_no_leap)
{
    struct arena arena = {0};
    struct trace trace = {0};
    judge_now = judge_luckily;
    struct search *search = run(&arena, "islands", 60, NULL, 0, &trace);
    judge_now = judge;
    CHECK(search->repeats > 0);
    CHECK(search->best->record.fitness <= 2);
    arena_release(&arena);
}

TEST(search_ranks_finalists_in_pairs)
{
    struct arena arena = {0};
    struct trace trace = {0};
    judge_now = judge_pairs;
    struct search *search = run(&arena, "greedy", 40, NULL, 0, &trace);
    judge_now = judge;
    int better = 0;
    for (size_t i = 0; i < search->nodes.count; i++)
        better += search->nodes.at[i]->record.fitness > search->best->record.fitness;
    CHECK_INT(better, 1);
    arena_release(&arena);
}

/* ---- from outside ---- */

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
    struct skeleton_program *program = prepare(arena);
    *options = (struct search_options){.policy = search_policy_find(policy),
                                       .budget = {.evaluations = 40},
                                       .seed = 42,
                                       .judge = {judge, program},
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
    fake_time = 0;
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
    char folder[] = "/tmp/smelt-search-XXXXXX", path[64], command[96];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/store.db", folder);
    struct arena arena = {0};
    struct error error = {0};
    struct store *store = store_sqlite.open(path, false, &error);
    CHECK(store != NULL);
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
    store_sqlite.close(store);
    arena_release(&arena);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
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
            .run = current->run.id, .proposer = "agent:other", .island = -1, .kernel = hash};
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
    struct search_options options = *current->options;
    struct search search = {.arena = &arena,
                            .options = &options,
                            .engine = &store_sqlite,
                            .store = store,
                            .program = current->program,
                            .threads = 1,
                            .run = current->run};
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
                         struct plan *const *plans, int count, bool finalists,
                         struct search_judgement *judgements, struct error *error)
{
    static bool inside;
    for (int i = 0; i < count && !finalists; i++)
        other.judged += strcmp(kernels[i]->text, others) == 0;
    if (!inside) {
        other.batches++;
        bool now = other.slow    ? other.batches == 2 || other.batches == 4
                   : other.final ? finalists && !other.made.id
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
    return judge(context, arena, kernels, plans, count, finalists, judgements, error);
}

/* A search hears of what others put into its run meanwhile, and ends with it when it is the best:
 * submitted in the middle, with a verdict that takes its time, or when all but the end is over. */
TEST(search_hears_of_others)
{
    char folder[] = "/tmp/smelt-search-XXXXXX", path[64], command[96];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/store.db", folder);
    struct arena arena = {0};
    struct error error = {0};
    struct store *store = store_sqlite.open(path, false, &error);
    CHECK(store != NULL);
    judge_now = judge_beside;
    for (int i = 0; i < 3; i++) {
        struct trace trace = {0};
        struct store_runs runs = {0};
        struct store_candidates list = {0};
        other = (struct other){.path = path, .slow = i == 1, .final = i == 2};
        struct search *search = run(&arena, "islands", 40, store, 0, &trace);
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
    judge_now = judge;
    store_sqlite.close(store);
    arena_release(&arena);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
}

TEST(search_keeps_a_first_plan_that_is_as_good)
{
    static const struct {
        double above;
        bool keeps;
    } tries[] = {{0.98, true}, {1.005, true}, {1.02, false}};
    judge_now = judge_close;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct arena arena = {0};
        struct trace trace = {0};
        above_first = tries[i].above;
        struct search *search = run(&arena, "islands", 40, NULL, 0, &trace);
        CHECK(search->first != NULL && search->first->parent == NULL);
        CHECK_INT(search->best == search->first, tries[i].keeps);
        arena_release(&arena);
    }
    judge_now = judge;
}

/* Whoever won an earlier sitting is among the finalists of the next, however lucky others were. */
TEST(search_keeps_its_champion)
{
    char folder[] = "/tmp/smelt-search-XXXXXX", path[64], command[96];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/store.db", folder);
    struct arena arena = {0};
    struct error error = {0};
    struct trace trace = {0};
    struct store *store = store_sqlite.open(path, false, &error);
    CHECK(store != NULL);
    judge_now = judge_pairs; /* the second finalist wins: not the one with the best number */
    struct search *search = run(&arena, "islands", 30, store, 0, &trace);
    char champion[65];
    memcpy(champion, search->best->hash, sizeof champion);
    struct store_runs runs = {0};
    CHECK(store_sqlite.run_list(store, &arena, &runs, &error));
    CHECK_INT(runs.count, 1);
    struct run kept = runs.at[0];
    CHECK_INT(kept.best, search->best->record.id);
    judge_now = judge_close;
    above_first = search->best == search->first ? 1 : 1.02;
    trace = (struct trace){0};
    going_on = &kept;
    search = run(&arena, "islands", 50, store, kept.id, &trace);
    going_on = NULL;
    judge_now = judge;
    CHECK(search->judged > 30);
    CHECK(search->champion != NULL);
    CHECK_STR(search->champion->hash, champion);
    CHECK_STR(search->best->hash, champion);
    store_sqlite.close(store);
    arena_release(&arena);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
}

TEST(search_asks_for_baselines_by_their_names)
{
    static const char *const names[] = {"plain", "openblas", "command:./x (fast)", NULL};
    CHECK_STR(judging_asked_name(names, "openblas (OPENBLAS_CORETYPE=Zen)"), "openblas");
    CHECK_STR(judging_asked_name(names, "plain"), "plain");
    CHECK_STR(judging_asked_name(names, "command:./x (fast)"), "command:./x (fast)");
    CHECK(judging_asked_name(names, "onednn") == NULL);
    CHECK(judging_asked_name(names, "openblas2") == NULL);
}
