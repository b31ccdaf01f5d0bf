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
        plan_hash(plans[i], program->graph, hash);
        unsigned long number = strtoul((char[]){hash[0], hash[1], hash[2], hash[3], 0}, NULL, 16);
        verdict->outcome = number % 7 == 0 ? OUTCOME_WRONG : OUTCOME_OK;
        judgements[i] = (struct search_judgement){
            .verdict = verdict,
            .fitness = verdict->outcome == OUTCOME_OK ? 1 + (double)number / 65536 : 0,
            .microseconds = 100};
    }
    return true;
}

static double fake_time;

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
                                       .judge = {judge, program},
                                       .progress = follow,
                                       .context = trace,
                                       .clock = fake_clock};
    *search = (struct search){.arena = arena,
                              .options = options,
                              .engine = store ? &store_sqlite : NULL,
                              .store = store,
                              .program = program,
                              .threads = 1,
                              .run = {.id = id, .task = "softmax", .target = "cpu"}};
    fake_time = 0;
    enum search_end end = search_run(search, &error);
    CHECK_STR(error.message, "");
    CHECK(end != SEARCH_FAILED);
    return search;
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
        CHECK(search->judged >= 5);
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
