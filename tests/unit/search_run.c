/*
 * The search with a judge that is a function of the plan: it repeats itself, finds better plans
 * than its seeds, keeps everything, and goes on where it was.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "search/judging.h"
#include "search_fake.h"
#include "test.h"

/* ---- judges with a quirk ---- */

static int judgings; /* batches judged */

static bool judge_or_fail(void *context, struct arena *arena, const struct source *const *kernels,
                          struct plan *const *plans, int count, enum search_care care,
                          struct search_judgement *judgements, struct error *error)
{
    if (++judgings == fake_fail_at)
        return error_set(error, ERROR_TOOL_FAILED, "as asked");
    return fake_judge(context, arena, kernels, plans, count, care, judgements, error);
}

/* Later on, plans look three times as fast as they are, until they are measured with care. */
static bool judge_luckily(void *context, struct arena *arena, const struct source *const *kernels,
                          struct plan *const *plans, int count, enum search_care care,
                          struct search_judgement *judgements, struct error *error)
{
    if (!fake_judge(context, arena, kernels, plans, count, care, judgements, error))
        return false;
    for (int i = 0; i < count && care == SEARCH_CARE_USUAL && fake_current->judged >= 12; i++)
        judgements[i].fitness *= 3;
    return true;
}

/* Against each other, the second finalist wins, whatever the baseline says. */
static bool judge_pairs(void *context, struct arena *arena, const struct source *const *kernels,
                        struct plan *const *plans, int count, enum search_care care,
                        struct search_judgement *judgements, struct error *error)
{
    if (!fake_judge(context, arena, kernels, plans, count, care, judgements, error))
        return false;
    for (int i = 0; i < count && care != SEARCH_CARE_USUAL; i++) {
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
                        struct plan *const *plans, int count, enum search_care care,
                        struct search_judgement *judgements, struct error *error)
{
    if (!fake_judge(context, arena, kernels, plans, count, care, judgements, error))
        return false;
    const struct plan *first = fake_current->first ? fake_current->first->plan : NULL;
    for (int i = 0; i < count && care != SEARCH_CARE_USUAL; i++) {
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

/* Checked whole, the finalists of the first few contests are all wrong. */
static int wrong_finals, finals;

static bool judge_wrong_in_the_end(void *context, struct arena *arena,
                                   const struct source *const *kernels, struct plan *const *plans,
                                   int count, enum search_care care,
                                   struct search_judgement *judgements, struct error *error)
{
    if (!fake_judge(context, arena, kernels, plans, count, care, judgements, error))
        return false;
    for (int i = 0; i < count && care == SEARCH_CARE_FINAL && finals < wrong_finals; i++) {
        judgements[i].verdict->outcome = OUTCOME_WRONG;
        judgements[i].fitness = 0;
    }
    finals += care == SEARCH_CARE_FINAL;
    return true;
}

/* ---- a judge that is told what comes ---- */

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
                            struct plan *const *plans, int count, enum search_care care,
                            struct search_judgement *judgements, struct error *error)
{
    char hash[65];
    hash_batch(kernels, count, hash);
    if (strcmp(hash, announced[0]) == 0 || strcmp(hash, announced[1]) == 0)
        expected++;
    else if (count > 1 && care == SEARCH_CARE_USUAL)
        unexpected++;
    return fake_judge(context, arena, kernels, plans, count, care, judgements, error);
}

TEST(search_repeats_itself_and_gets_better)
{
    static const char *const names[] = {"islands", "mcts", "greedy", "random"};
    for (int i = 0; i < 4; i++) {
        struct arena first = {0}, second = {0};
        struct fake_trace one = {0}, two = {0};
        struct search *search = fake_run(&first, names[i], 60, NULL, 0, &one);
        fake_run(&second, names[i], 60, NULL, 0, &two);
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

/* What is hoped of several changes is tried at once; each of them alone comes, too. */
TEST(search_combines_changes)
{
    struct arena arena = {0};
    struct fake_trace trace = {0};
    struct search *search = fake_run(&arena, "islands", 100, NULL, 0, &trace);
    int several = 0, single = 0;
    for (size_t n = 0; n < search->nodes.count; n++) {
        const struct search_node *node = search->nodes.at[n];
        const char *key = node->key ? node->key : "";
        int changes = key[0] != 0;
        for (const char *at = key; (at = strstr(at, "; ")); at += 2)
            changes++;
        bool combined = node->record.why && strncmp(node->record.why, "several changes", 15) == 0;
        CHECK(!combined || changes >= 2);
        several += combined;
        single += changes == 1;
    }
    CHECK(several > 5);
    CHECK(single > 5);
    arena_release(&arena);
}

TEST(search_announces_what_it_judges_next)
{
    static const char *const names[] = {"islands", "mcts", "greedy", "random"};
    fake_announce_now = announce;
    fake_judge_now = judge_announced;
    for (int i = 0; i < 4; i++) {
        struct arena first = {0}, second = {0};
        struct fake_trace one = {0}, two = {0};
        expected = unexpected = 0;
        struct search *search = fake_run(&first, names[i], 60, NULL, 0, &one);
        CHECK_INT(search->judged, 60);
        CHECK_INT(unexpected, 2);    /* first plans, and the batch at which looking ahead begins */
        CHECK(expected >= 12);       /* of four each */
        CHECK_INT(announcements, 0); /* at the end nothing is to come */
        for (size_t n = 0; n < search->nodes.count; n++)
            CHECK(search->nodes.at[n]->record.judged);
        fake_run(&second, names[i], 60, NULL, 0, &two);
        CHECK_STR(one.text.at, two.text.at);
        arena_release(&first);
        arena_release(&second);
        /* stopped on the way: what was made ahead is forgotten */
        struct arena third = {0};
        struct fake_trace three = {.stop_after = 5};
        search = fake_run(&third, names[i], 60, NULL, 0, &three);
        CHECK(search->judged < 60);
        CHECK_INT(announcements, 0);
        for (size_t n = 0; n < search->nodes.count; n++)
            CHECK(search->nodes.at[n]->record.judged);
        arena_release(&third);
    }
    fake_announce_now = NULL;
    fake_judge_now = fake_judge;
}

/* Stopped, opened again: what was judged is there and is not judged again. */
TEST(search_goes_on_where_it_was)
{
    struct fake_store file = fake_store_open();
    struct store *store = file.store;
    struct arena arena = {0};
    struct error error = {0};
    struct fake_trace trace = {.stop_after = 4};
    struct search *search = fake_run(&arena, "islands", 40, store, 0, &trace);
    int64_t before = search->judged, id = search->run.id;
    CHECK_INT(search->run.state, RUN_STOPPED);
    CHECK(before > 0 && before < 40);
    trace = (struct fake_trace){0};
    search = fake_run(&arena, "islands", 40, store, id, &trace);
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
    arena_release(&arena);
    fake_store_close(&file);
}

static void check_same_beliefs(struct search *one, struct search *other)
{
    int steps = 0;
    for (size_t n = 0; n < one->nodes.count; n++) {
        const struct search_node *node = one->nodes.at[n];
        const struct search_node *again = search_find(other, node->record.id);
        if (!node->key)
            continue;
        CHECK(again && again->key);
        if (!again || !again->key)
            continue;
        CHECK_STR(again->key, node->key);
        CHECK(again->promise == node->promise);
        const char *class = diagnosis_name(node->parent->diagnosis.class);
        struct belief_step step = {.class = class, .action = node->key, .promise = 2, .advice = 1};
        struct belief before = belief_guess(&one->beliefs, &step);
        struct belief after = belief_guess(&other->beliefs, &step);
        CHECK(before.mean == after.mean && before.variance == after.variance);
        steps++;
    }
    CHECK(steps > 10);
}

/* A run that goes on knows what it knew: of experts, of decisions, and whom to go on from. */
TEST(search_knows_what_it_knew)
{
    static const char *const names[] = {"islands", "mcts", "greedy"};
    for (int i = 0; i < 3; i++) {
        struct arena arena = {0};
        struct fake_store file = fake_store_open();
        struct fake_trace first = {.stop_after = 14}, second = {.stop_after = 1};
        struct search *cut = fake_run(&arena, names[i], 80, file.store, 0, &first);
        CHECK(cut->judged > 40 && cut->judged < 80);
        struct search *again = fake_run(&arena, names[i], 80, file.store, cut->run.id, &second);
        CHECK_INT(again->judged, cut->judged); /* it was stopped before it did anything */
        check_same_beliefs(cut, again);
        for (int class = 0; class < DIAGNOSIS_COUNT; class ++)
            for (int arm = 0; arm < SEARCH_ARMS; arm++) {
                CHECK(cut->arms[class][arm].tries == again->arms[class][arm].tries);
                CHECK(cut->arms[class][arm].gain == again->arms[class][arm].gain);
            }
        for (int k = 0; k < SEARCH_ISLANDS; k++) {
            const struct search_nodes *old = &cut->islands[k].population;
            const struct search_nodes *new = &again->islands[k].population;
            CHECK_INT(new->count, old->count);
            CHECK_INT(again->islands[k].stale, cut->islands[k].stale);
            for (size_t n = 0; n < old->count && n < new->count; n++)
                CHECK_INT(new->at[n]->record.id, old->at[n]->record.id);
        }
        arena_release(&arena);
        fake_store_close(&file);
    }
}

TEST(search_judges_each_binary_once)
{
    struct arena arena = {0};
    struct fake_trace trace = {0};
    fake_judge_now = fake_judge_twins;
    fake_digits = 1;
    struct search *search = fake_run(&arena, "islands", 60, NULL, 0, &trace);
    fake_judge_now = fake_judge;
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
    struct fake_store file = fake_store_open();
    struct store *store = file.store;
    struct arena arena = {0};
    struct error error = {0};
    struct fake_trace trace = {0};
    fake_judge_now = judge_or_fail;
    judgings = 0;
    fake_fail_at = 3;
    struct search *search = fake_run(&arena, "greedy", 40, store, 0, &trace);
    CHECK_INT(search->run.state, RUN_FAILED);
    struct store_candidates list = {0};
    struct candidate_query query = {.run = search->run.id};
    CHECK(store_sqlite.candidate_list(store, &arena, &query, &list, &error));
    int64_t open = 0, count = (int64_t)list.count;
    for (size_t i = 0; i < list.count; i++)
        open += !list.at[i].judged;
    CHECK(open > 0);
    fake_fail_at = 0;
    trace = (struct fake_trace){0};
    search = fake_run(&arena, "greedy", count, store, search->run.id, &trace);
    fake_judge_now = fake_judge;
    list = (struct store_candidates){0};
    CHECK(store_sqlite.candidate_list(store, &arena, &query, &list, &error));
    CHECK_INT(list.count, count);
    for (size_t i = 0; i < list.count; i++)
        CHECK(list.at[i].judged);
    arena_release(&arena);
    fake_store_close(&file);
}

TEST(search_believes_no_leap)
{
    struct arena arena = {0};
    struct fake_trace trace = {0};
    fake_judge_now = judge_luckily;
    struct search *search = fake_run(&arena, "islands", 60, NULL, 0, &trace);
    fake_judge_now = fake_judge;
    CHECK(search->repeats > 0);
    CHECK(search->best->record.fitness <= 2);
    arena_release(&arena);
}

TEST(search_ranks_finalists_in_pairs)
{
    struct arena arena = {0};
    struct fake_trace trace = {0};
    fake_judge_now = judge_pairs;
    struct search *search = fake_run(&arena, "greedy", 40, NULL, 0, &trace);
    fake_judge_now = fake_judge;
    int better = 0;
    for (size_t i = 0; i < search->nodes.count; i++)
        better += search->nodes.at[i]->record.fitness > search->best->record.fitness;
    CHECK_INT(better, 1);
    arena_release(&arena);
}

/* Candidates are looked at briefly; what comes back was right when it was looked at with care. */
TEST(search_hands_back_what_is_right_in_the_end)
{
    enum { ALL = 1000 };
    static const int tries[] = {0, 2, ALL};
    fake_judge_now = judge_wrong_in_the_end;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct arena arena = {0};
        struct fake_trace trace = {0};
        wrong_finals = tries[i];
        finals = 0;
        struct search *search = fake_run(&arena, "greedy", 40, NULL, 0, &trace);
        CHECK_INT(search->best != NULL, tries[i] < ALL);
        CHECK(tries[i] < ALL ? finals == tries[i] + 1 : finals > 2);
        for (size_t n = 0; n < search->nodes.count && tries[i] == ALL; n++)
            CHECK(search->nodes.at[n]->record.fitness <= 0);
        arena_release(&arena);
    }
    fake_judge_now = fake_judge;
}

TEST(search_keeps_a_first_plan_that_is_as_good)
{
    static const struct {
        double above;
        bool keeps;
    } tries[] = {{0.98, true}, {1.005, true}, {1.02, false}};
    fake_judge_now = judge_close;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct arena arena = {0};
        struct fake_trace trace = {0};
        above_first = tries[i].above;
        struct search *search = fake_run(&arena, "islands", 40, NULL, 0, &trace);
        CHECK(search->first != NULL && search->first->parent == NULL);
        CHECK_INT(search->best == search->first, tries[i].keeps);
        arena_release(&arena);
    }
    fake_judge_now = fake_judge;
}

/* However long ago the first plans were judged, and in whichever sitting: nothing slower comes
 * back. */
TEST(search_is_never_slower_than_its_best_first_plan)
{
    enum { LIVE = 24, LONG = 120 };
    struct arena arena = {0};
    struct fake_store file = fake_store_open();
    struct fake_trace first = {.stop_after = 20}, second = {0};
    fake_judge_now = judge_close;
    above_first = 0.98;
    fake_live = LIVE;
    struct search *search = fake_run(&arena, "islands", LONG, file.store, 0, &first);
    CHECK(search->judged > 2 * LIVE && search->judged < LONG);
    int64_t number = search->first->record.id;
    search = fake_run(&arena, "islands", LONG, file.store, search->run.id, &second);
    CHECK_INT(search->judged, LONG);
    CHECK_INT(search->first->record.id, number);
    CHECK(search->best == search->first);
    CHECK_INT(search->run.best, number);
    fake_live = 0;
    fake_judge_now = fake_judge;
    arena_release(&arena);
    fake_store_close(&file);
}

/* Whoever won an earlier sitting is among the finalists of the next, however lucky others were. */
TEST(search_keeps_its_champion)
{
    struct fake_store file = fake_store_open();
    struct store *store = file.store;
    struct arena arena = {0};
    struct error error = {0};
    struct fake_trace trace = {0};
    fake_judge_now = judge_pairs; /* the second finalist wins: not the one with the best number */
    struct search *search = fake_run(&arena, "islands", 30, store, 0, &trace);
    char champion[65];
    memcpy(champion, search->best->hash, sizeof champion);
    struct store_runs runs = {0};
    CHECK(store_sqlite.run_list(store, &arena, &runs, &error));
    CHECK_INT(runs.count, 1);
    struct run kept = runs.at[0];
    CHECK_INT(kept.best, search->best->record.id);
    fake_judge_now = judge_close;
    above_first = search->best == search->first ? 1 : 1.02;
    trace = (struct fake_trace){0};
    fake_going_on = &kept;
    search = fake_run(&arena, "islands", 50, store, kept.id, &trace);
    fake_going_on = NULL;
    fake_judge_now = fake_judge;
    CHECK(search->judged > 30);
    CHECK(search->champion != NULL);
    CHECK_STR(search->champion->hash, champion);
    CHECK_STR(search->best->hash, champion);
    arena_release(&arena);
    fake_store_close(&file);
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

/* ---- who is asked ---- */

/* Of a kernel that is right and slow everybody is heard, one after the other. */
TEST(search_experts_take_turns)
{
    struct search_options options = {0};
    struct search search = {.options = &options, .random = random_new(1, 2)};
    struct search_node node = {.diagnosis = {.class = DIAGNOSIS_MEMORY}};
    bool heard[SEARCH_ARMS] = {false};
    int count = 0;
    bandit_begin_round(&search);
    for (int i = 0; i < 6; i++) {
        int expert = bandit_choose(&search, &node);
        bandit_note_asked(&search, &node, expert);
        CHECK(!heard[expert]);
        heard[expert] = true;
    }
    for (int i = 0; experts[i]; i++)
        if (strcmp(experts[i]->name, "instruction") == 0 ||
            strcmp(experts[i]->name, "latency") == 0)
            count += heard[i];
    CHECK_INT(count, 2);
}

/* Of one that does not compile only those are who can repair it. */
TEST(search_asks_who_can_repair)
{
    struct search_options options = {0};
    struct search search = {.options = &options, .random = random_new(1, 2)};
    struct search_node node = {.diagnosis = {.class = DIAGNOSIS_COMPILE}};
    bandit_begin_round(&search);
    for (int i = 0; i < 6; i++) {
        int expert = bandit_choose(&search, &node);
        bandit_note_asked(&search, &node, expert);
        CHECK(experts[expert]->concern(DIAGNOSIS_COMPILE) > 0);
    }
}
