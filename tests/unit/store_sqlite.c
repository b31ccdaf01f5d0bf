/*
 * The store: what goes in comes out, survives a killed process, and is refused with a clear word
 * when the world does not permit it.
 */
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store.h"
#include "test.h"

static const struct store_engine *const engine = &store_sqlite;
static char path[] = "/tmp/smelt-store-XXXXXX";
static char file[64];

static void remove_folder(void)
{
    char name[80];
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", file, endings[i]);
        unlink(name);
    }
    rmdir(path);
}

static void make_folder(void)
{
    CHECK(mkdtemp(path) != NULL);
    snprintf(file, sizeof file, "%s/store.db", path);
    atexit(remove_folder);
}

static struct store *open_store(void)
{
    struct error error = {0};
    struct store *store = engine->open(file, false, &error);
    CHECK_STR(error.message, "");
    CHECK(store != NULL);
    return store;
}

static struct run new_run(struct store *store)
{
    struct error error = {0};
    struct run run = {.task = "softmax_rows",
                      .target = "cpu",
                      .seed = UINT64_MAX,
                      .settings = "--budget 60s",
                      .started = 1000};
    CHECK(engine->run_add(store, &run, &error));
    return run;
}

static struct candidate new_candidate(struct store *store, int64_t run, const char *source,
                                      double fitness)
{
    struct error error = {0};
    char hash[65];
    CHECK(engine->object_put(store, source, strlen(source), hash, &error));
    struct candidate candidate = {
        .run = run, .proposer = "seed", .kernel = hash, .action = "rows.lanes 8 -> 16"};
    CHECK(engine->candidate_add(store, &candidate, &error));
    candidate.outcome = fitness > 0 ? OUTCOME_OK : OUTCOME_WRONG;
    candidate.fitness = fitness;
    candidate.diagnosis = DIAGNOSIS_MEMORY;
    if (fitness >= 0)
        CHECK(engine->candidate_judge(store, &candidate, &error));
    return candidate;
}

TEST(store_keeps_runs_candidates_and_objects)
{
    struct arena arena = {0};
    struct error error = {0};
    make_folder();
    struct store *store = open_store();
    struct run run = new_run(store);
    struct candidate first = new_candidate(store, run.id, "int a;", 1.5);
    new_candidate(store, run.id, "int b;", 0);
    struct candidate best = new_candidate(store, run.id, "int c;", 2.5);
    new_candidate(store, run.id, "int d;", -1);
    run.best = best.id;
    run.state = RUN_DONE;
    CHECK(engine->run_update(store, &run, &error));
    bool done = true; /* somebody else's best stands */
    CHECK(engine->run_crown(store, run.id, first.id, first.id, 1, &done, &error));
    CHECK(!done);
    CHECK(engine->run_crown(store, run.id, best.id, best.id, 1, &done, &error));
    CHECK(done);
    CHECK(engine->event_add(store, run.id, "migration", "from 0 to 1", &error));
    engine->close(store);

    store = open_store();
    struct store_runs runs = {0};
    CHECK(engine->run_list(store, &arena, &runs, &error));
    CHECK_INT(runs.count, 1);
    CHECK_STR(runs.at[0].task, "softmax_rows");
    CHECK(runs.at[0].seed == UINT64_MAX);
    CHECK_INT(runs.at[0].state, RUN_DONE);
    CHECK_INT(runs.at[0].best, best.id);
    CHECK_INT(runs.at[0].judged, 3);
    struct store_candidates list = {0};
    struct candidate_query query = {
        .run = run.id, .judged_only = true, .order = CANDIDATES_BY_FITNESS};
    CHECK(engine->candidate_list(store, &arena, &query, &list, &error));
    CHECK_INT(list.count, 3);
    CHECK_INT(list.at[0].id, best.id);
    CHECK_INT(list.at[1].id, first.id);
    CHECK_INT(list.at[2].outcome, OUTCOME_WRONG);
    CHECK_INT(list.at[0].diagnosis, DIAGNOSIS_MEMORY);
    size_t length;
    CHECK_STR(engine->object_get(store, &arena, list.at[0].kernel, &length, &error), "int c;");
    CHECK_INT(length, 6);
    struct candidate twin;
    CHECK(engine->candidate_twin(store, &arena, run.id, "no such plan", NULL, &twin, &error));
    CHECK_INT(twin.id, 0);
    struct store_events events = {0};
    CHECK(engine->event_list(store, &arena, run.id, &events, &error));
    CHECK_INT(events.count, 1);
    CHECK_STR(events.at[0].text, "from 0 to 1");
    CHECK(engine->check(store, &error));
    engine->close(store);
    arena_release(&arena);
}

/* What a deleted run referred to goes; what others refer to stays. */
TEST(store_collects_what_nobody_needs)
{
    struct arena arena = {0};
    struct error error = {0};
    make_folder();
    struct store *store = open_store();
    struct run run = new_run(store), other = new_run(store);
    new_candidate(store, run.id, "int only_here;", 1);
    new_candidate(store, run.id, "int shared;", 1);
    struct candidate kept = new_candidate(store, other.id, "int shared;", 1);
    CHECK(engine->run_delete(store, run.id, &error));
    CHECK(!engine->run_delete(store, run.id, &error));
    CHECK_INT(error.code, ERROR_STORE_NOT_FOUND);
    int64_t objects, bytes;
    CHECK(engine->collect(store, &objects, &bytes, &error));
    CHECK_INT(objects, 1);
    CHECK_INT(bytes, 14);
    struct candidate found;
    CHECK(engine->candidate_get(store, &arena, kept.id, &found, &error));
    CHECK_STR(engine->object_get(store, &arena, found.kernel, NULL, &error), "int shared;");
    struct store_counts counts;
    CHECK(engine->count(store, &counts, &error));
    CHECK_INT(counts.candidates, 1);
    engine->close(store);
    arena_release(&arena);
}

TEST(store_adds_experience_up)
{
    struct arena arena = {0};
    struct error error = {0};
    make_folder();
    struct store *store = open_store();
    struct experience entry = {.structure = "row",
                               .shape = "1e6",
                               .dtype = "f32",
                               .target = "cpu",
                               .signature = "zen4",
                               .diagnosis = "memory",
                               .action = "rows.lanes 8 -> 16",
                               .tries = 1,
                               .wins = 1,
                               .log_gain = 0.5};
    struct experience two[2] = {entry, entry};
    two[1].action = "rows.keep none -> e";
    CHECK(engine->experience_add(store, &entry, 1, &error));
    CHECK(engine->experience_add(store, two, 2, &error));
    struct store_experiences list = {0};
    CHECK(engine->experience_list(store, &arena, &(struct experience_query){.structure = "row"},
                                  &list, &error));
    CHECK_INT(list.count, 2);
    CHECK_INT(list.at[1].tries, 2);
    CHECK_DOUBLE(list.at[1].log_gain, 1.0);
    int64_t forgotten;
    struct experience_query some = {.action = "rows.keep none -> e"};
    CHECK(engine->experience_forget(store, &some, &forgotten, &error));
    CHECK_INT(forgotten, 1);
    engine->close(store);
    arena_release(&arena);
}

/* A verdict that was reported as stored is there after kill -9. */
TEST(store_survives_being_killed)
{
    make_folder();
    struct store *store = open_store();
    struct run run = new_run(store);
    engine->close(store);
    for (int round = 0; round < 10; round++) {
        int said[2];
        CHECK(pipe(said) == 0);
        pid_t child = fork();
        if (child == 0) {
            store = open_store();
            for (;;) {
                struct candidate one = new_candidate(store, run.id, "int x;", 1);
                if (write(said[1], &one.id, sizeof one.id) < 0)
                    _exit(1);
            }
        }
        close(said[1]);
        usleep(10000 + 3000 * (unsigned)round);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        int64_t last = 0, id;
        while (read(said[0], &id, sizeof id) == (ssize_t)sizeof id)
            last = id;
        close(said[0]);
        struct arena arena = {0};
        struct error error = {0};
        struct candidate found = {0};
        store = open_store();
        CHECK(engine->check(store, &error));
        if (last) {
            CHECK(engine->candidate_get(store, &arena, last, &found, &error));
            CHECK(found.judged);
        }
        engine->close(store);
        arena_release(&arena);
    }
}

TEST(store_serves_two_writers)
{
    make_folder();
    struct store *store = open_store();
    struct run run = new_run(store);
    engine->close(store);
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            store = open_store();
            for (int k = 0; k < 50; k++)
                new_candidate(store, run.id, i ? "int a;" : "int b;", k);
            engine->close(store);
            _exit(0);
        }
    }
    for (int i = 0; i < 2; i++) {
        int status;
        waitpid(children[i], &status, 0);
        CHECK_INT(status, 0);
    }
    struct error error = {0};
    struct store_counts counts;
    store = open_store();
    CHECK(engine->count(store, &counts, &error));
    CHECK_INT(counts.candidates, 100);
    CHECK_INT(counts.objects, 2);
    engine->close(store);
}

static void change(const char *sql)
{
    sqlite3 *database;
    CHECK(sqlite3_open(file, &database) == SQLITE_OK);
    CHECK(sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(database);
}

TEST(store_refuses_what_it_cannot_use)
{
    struct error error = {0};
    struct arena arena = {0};
    make_folder();
    CHECK(!engine->open("/nowhere/at/all/store.db", false, &error));
    CHECK_INT(error.code, ERROR_STORE_FAILED);
    struct store *store = open_store();
    struct run run = new_run(store);
    struct candidate one = new_candidate(store, run.id, "int a;", 1);
    engine->close(store);

    store = engine->open(file, true, &error);
    CHECK(store != NULL);
    CHECK(!engine->run_add(store, &run, &error));
    CHECK(strstr(error.message, "read-only") != NULL);
    engine->close(store);

    change("UPDATE object SET bytes = 'int b;'");
    store = open_store();
    struct candidate found;
    CHECK(engine->candidate_get(store, &arena, one.id, &found, &error));
    CHECK(!engine->object_get(store, &arena, found.kernel, NULL, &error));
    CHECK(strstr(error.message, "damaged") != NULL);
    engine->close(store);

    change("PRAGMA user_version = 1000");
    CHECK(!engine->open(file, false, &error));
    CHECK_INT(error.code, ERROR_STORE_VERSION);
    CHECK(strstr(error.message, "newer") != NULL);

    FILE *stream = fopen(file, "w");
    fputs("this is no database at all, and long enough to be read as one: it must be refused....."
          "..................................................................................",
          stream);
    fclose(stream);
    CHECK(!engine->open(file, false, &error));
    CHECK(strstr(error.message, "no store") != NULL);
    arena_release(&arena);
}

/* A full disk costs the change at hand, and nothing that was there before. */
TEST(store_survives_a_full_disk)
{
    struct error error = {0};
    make_folder();
    struct store *store = open_store();
    struct run run = new_run(store);
    new_candidate(store, run.id, "int a;", 1);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, small = {300 << 10, RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    char *bytes = calloc(1, 1 << 20), hash[65];
    bool put = engine->object_put(store, bytes, 1 << 20, hash, &error);
    CHECK(!put);
    CHECK_INT(error.code, ERROR_STORE_FAILED);
    setrlimit(RLIMIT_FSIZE, &old);
    free(bytes);
    CHECK(engine->check(store, &error));
    struct store_counts counts;
    CHECK(engine->count(store, &counts, &error));
    CHECK_INT(counts.candidates, 1);
    CHECK_INT(counts.objects, 1);
    new_candidate(store, run.id, "int b;", 1);
    engine->close(store);
}
