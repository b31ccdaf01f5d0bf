/*
 * Searches replayed on tables. Each is a search as `smelt run` does it, with a judge that answers
 * from the table; it ends when 95 % of the table's best is reached or nothing is left to try.
 */
#include <string.h>

#include "cmd/ablate.h"

static const double good_enough = 0.95;
enum { LESSON_SEED = 4711, LESSON = 100 /* evaluations of a search that is learned from */ };

const struct ablate_arm ablate_arms[ABLATE_ARMS + 1] = {
    {"islands", "islands", true, ABLATE_NOTHING},
    {"no diagnosis", "islands", false, ABLATE_NOTHING},
    {"experience", "islands", true, ABLATE_ALL},
    {"of other ops", "islands", true, ABLATE_STRANGERS},
    {"greedy", "greedy", true, ABLATE_NOTHING},
    {"mcts", "mcts", true, ABLATE_NOTHING},
    {"random", "random", true, ABLATE_NOTHING},
    {0},
};

static double no_clock(void)
{
    return 0;
}

static struct know situation(struct arena *arena, const struct ablate_case *one,
                             struct store *store)
{
    return (struct know){.arena = arena,
                         .engine = &store_sqlite,
                         .store = store,
                         .structure = one->structure,
                         .shape = one->shape,
                         .dtype = one->dtype,
                         .target = "cpu",
                         .signature = one->table->machine};
}

/* ---- learning ---- */

/*
 * A plan of the slower half that is right, by the seed: the same for all arms. It has the groups
 * and skeletons of the best, since the way from others may lead through plans no table has.
 */
static const char *poor_start(const struct ablate_case *one, uint64_t seed)
{
    const struct table *table = one->table;
    struct random random = random_new(seed, 0x900d);
    const struct table_row *best = &table->rows.at[0];
    for (size_t i = 0; i < table->rows.count; i++)
        best = table->rows.at[i].fitness > best->fitness ? &table->rows.at[i] : best;
    for (int tries = 0; tries < 1000; tries++) {
        size_t number = (size_t)random_below(&random, table->rows.count), faster = 0, right = 0;
        const struct table_row *row = &table->rows.at[number];
        if (row->fitness <= 0 || !plan_kinds_equal(row->bound, best->bound))
            continue;
        for (size_t i = 0; i < table->rows.count; i++) {
            bool counts = table->rows.at[i].fitness > 0 &&
                          plan_kinds_equal(table->rows.at[i].bound, best->bound);
            faster += counts && table->rows.at[i].fitness > row->fitness;
            right += counts;
        }
        if (2 * faster >= right)
            return row->plan;
    }
    return NULL;
}

/* One whole search, and what it learned in a store of its own. */
static bool learn_case(struct ablate_case *one, struct error *error)
{
    struct arena arena = {0};
    struct store *store = store_sqlite.open(":memory:", false, error);
    if (!store)
        return false;
    one->lessons = store;
    struct know know = situation(&arena, one, store);
    struct search_options options = {.policy = search_policy_find("islands"),
                                     .budget = {.evaluations = LESSON},
                                     .seed = LESSON_SEED,
                                     .no_kernels = true,
                                     .judge = {table_judge, one->table},
                                     .allows = table_allows,
                                     .propose = table_propose,
                                     .replay = one->table,
                                     .know = &know,
                                     .clock = no_clock};
    struct search search = {.arena = &arena,
                            .options = &options,
                            .engine = &store_sqlite,
                            .store = store,
                            .program = one->program,
                            .threads = one->table->target.threads,
                            .run = {.task = one->name,
                                    .structure = one->structure,
                                    .target = "cpu",
                                    .signature = one->table->machine,
                                    .settings = ""}};
    bool fine = search_run(&search, error) != SEARCH_FAILED;
    arena_release(&arena);
    return fine;
}

/* Entries, and the plans that won. */
static bool copy_lessons(struct arena *arena, struct store *from, struct store *to,
                         struct error *error)
{
    struct store_experiences list = {0};
    struct experience_query query = {.target = "cpu"};
    if (!store_sqlite.experience_list(from, arena, &query, &list, error))
        return false;
    for (size_t i = 0; i < list.count; i++) {
        char hash[65];
        if (strncmp(list.at[i].action, "plan ", 5) != 0)
            continue;
        const char *text = store_sqlite.object_get(from, arena, list.at[i].action + 5, NULL, error);
        if (!text || !store_sqlite.object_put(to, text, strlen(text), hash, error))
            return false;
    }
    return store_sqlite.experience_add(to, list.at, (int)list.count, error);
}

/* What is known on a table from those that teach, itself left out, or all of its structure. */
static bool learn_others(struct ablate *ablate, struct ablate_case *one,
                         enum ablate_experience which, struct error *error)
{
    struct store *store = store_sqlite.open(":memory:", false, error);
    one->known[which] = store;
    bool fine = store != NULL;
    for (int i = 0; i < ablate->all && fine; i++) {
        const struct ablate_case *other = &ablate->cases[i];
        bool same = strcmp(other->structure, one->structure) == 0;
        struct arena arena = {0};
        if (other != one && other->lessons && (which == ABLATE_ALL || !same))
            fine = copy_lessons(&arena, other->lessons, store, error);
        arena_release(&arena);
    }
    return fine;
}

/* ---- replaying ---- */

/* The place of the first candidate that is good enough; 0: none is. */
static int first_good(const struct search *search, double goal)
{
    for (size_t i = 0; i < search->nodes.count; i++)
        if (search->nodes.at[i]->record.judged && search->nodes.at[i]->record.fitness >= goal)
            return (int)i + 1;
    return 0;
}

static bool replay(const struct ablate *ablate, const struct ablate_case *one,
                   const struct ablate_arm *arm, uint64_t seed, int *needed, struct error *error)
{
    struct arena arena = {0};
    struct know know = situation(&arena, one, one->known[arm->experience]);
    know.frozen = true;
    struct search_options options = {
        .policy = search_policy_find(arm->policy),
        .budget = {.evaluations = (int64_t)one->table->rows.count,
                   .fitness = good_enough * one->table->best},
        .seed = seed,
        .no_diagnosis = !arm->diagnosis,
        .start = ablate->poor_start ? poor_start(one, seed) : NULL,
        .no_kernels = true,
        .judge = {table_judge, one->table},
        .allows = table_allows,
        .propose = table_propose,
        .nearest = table_nearest,
        .replay = one->table,
        .know = arm->experience ? &know : NULL,
        .clock = no_clock,
    };
    struct search search = {.arena = &arena,
                            .options = &options,
                            .program = one->program,
                            .threads = one->table->target.threads,
                            .run = {.task = one->name, .target = "cpu"}};
    bool fine = search_run(&search, error) != SEARCH_FAILED;
    *needed = first_good(&search, options.budget.fitness);
    arena_release(&arena);
    return fine;
}

static bool replay_case(struct ablate *ablate, struct ablate_case *one, struct error *error)
{
    bool fine = true;
    for (int a = 0; a < ABLATE_ARMS && fine; a++) {
        enum ablate_experience which = ablate_arms[a].experience;
        if (ablate->left_out[a])
            continue;
        if (which != ABLATE_NOTHING && !one->known[which])
            fine = learn_others(ablate, one, which, error);
        one->needed[a] =
            arena_array(ablate->invocation->arena, (size_t)ablate->seeds, sizeof *one->needed[a]);
        for (int s = 0; s < ablate->seeds && fine; s++) {
            int *needed = &one->needed[a][s];
            fine = replay(ablate, one, &ablate_arms[a], (uint64_t)s + 1, needed, error);
            one->reached[a] += *needed > 0;
            if (*needed == 0)
                *needed = (int)one->table->by_hash.count;
        }
    }
    for (int i = 0; i <= ABLATE_STRANGERS; i++) {
        if (one->known[i])
            store_sqlite.close(one->known[i]);
        one->known[i] = NULL;
    }
    return fine;
}

bool ablate_replay(struct ablate *ablate, struct error *error)
{
    bool fine = true, learned = false;
    for (int a = 0; a < ABLATE_ARMS; a++)
        learned |= !ablate->left_out[a] && ablate_arms[a].experience != ABLATE_NOTHING;
    for (int c = 0; c < ablate->all && fine && learned; c++)
        fine = !ablate->cases[c].teaches || learn_case(&ablate->cases[c], error);
    for (int c = 0; c < ablate->count && fine; c++)
        fine = replay_case(ablate, &ablate->cases[c], error);
    for (int c = 0; c < ablate->all; c++)
        if (ablate->cases[c].lessons)
            store_sqlite.close(ablate->cases[c].lessons);
    return fine;
}
