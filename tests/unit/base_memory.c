/* Memory: how running out of it shows, and that every structure survives it. */
#include "base/base.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static void take_one(void *context)
{
    *(void **)context = memory_alloc(100);
}

/* A user sees "out of memory" reported, not a crash. */
TEST(memory_try_reports_failure)
{
    void *got = NULL;
    memory_fail_at(1);
    CHECK(!memory_try(take_one, &got));
    CHECK(got == NULL);
    CHECK(memory_try(take_one, &got));
    CHECK(got != NULL);
    for (int i = 0; i < 100; i++)
        CHECK_INT(((char *)got)[i], 0);
    memory_free(got);
}

static void nest(void *context)
{
    bool *inner = context;
    void *got = NULL;
    memory_fail_at(1);
    *inner = memory_try(take_one, &got);
    memory_exhausted();
}

/* A failure inside one step is seen by that step, the next one by the step around it. */
TEST(memory_try_nests)
{
    bool inner = true;
    CHECK(!memory_try(nest, &inner));
    CHECK(!inner);
}

static void resize_much(void *context)
{
    *(void **)context = memory_resize(*(void **)context, (size_t)-1 / 2);
}

/* Asking for more than exists fails like any other failure, and what was held stays held. */
TEST(memory_resize_failure_keeps_old)
{
    char *piece = memory_resize(NULL, 4);
    strcpy(piece, "abc");
    void *held = piece;
    memory_fail_at(1);
    CHECK(!memory_try(resize_much, &held));
    CHECK(held == piece);
    CHECK_STR(piece, "abc");
    piece = memory_resize(piece, 4000);
    CHECK_STR(piece, "abc");
    memory_free(memory_resize(piece, 0));
}

TEST(memory_count_counts)
{
    long before = memory_count();
    memory_free(memory_alloc(1));
    memory_free(memory_alloc(0));
    CHECK_INT(memory_count() - before, 2);
    memory_fail_at(5);
    memory_fail_at(0);
    for (int i = 0; i < 10; i++)
        memory_free(memory_alloc(1)); /* would abort if the failure were still due */
}

/* Outside any try the process ends at once rather than going on with nothing. */
TEST(memory_without_try_aborts)
{
    pid_t child = fork();
    if (child == 0) {
        memory_fail_at(1);
        memory_alloc(1);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* ---- every structure's workload with each of its allocations failing in turn ---- */

struct workload {
    struct arena arena;
    struct text text;
    struct map map;
    struct fingerprints prints;
    struct arena inner; /* inside the other one */
    struct numbers VECTOR(int) numbers;
    struct errors errors;
    struct json json;
};

static void workload_run(void *context)
{
    struct workload *load = context;
    static const struct source source = {"x.op", "a = b\n", 6};
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "name%d", i);
        vector_push(&load->arena, &load->numbers, i);
        map_set(&load->map, name, load);
        map_intern(&load->map, name, strlen(name));
        fingerprints_add(&load->prints, name);
        if (i % 50 == 0)
            arena_release(&load->inner);
        arena_printf(&load->inner, "%s %d", name, i);
        text_printf(&load->text, "%s=%d ", name, i);
        errors_add(&load->errors, ERROR_USAGE, (struct place){&source, (size_t)i % 6, 1}, "%s",
                   name);
    }
    load->json = json_new(&load->text, 2);
    json_array(&load->json, NULL);
    for (int i = 0; i < 300; i++)
        json_string(&load->json, NULL, arena_printf(&load->arena, "item %d", i));
    json_end(&load->json);
    error_render(&load->text, &load->errors.list.at[0], true);
    double values[5] = {3, 1, 2, 5, 4};
    statistics_median(values, 5);
    statistics_bootstrap_ratio(values, 5, values, 5, 0.9, 50, 1);
}

static void workload_attach(struct workload *load)
{
    load->text = text_new(&load->arena);
    load->map = map_new(&load->arena);
    load->prints = fingerprints_new(&load->arena);
    load->inner = arena_inside(&load->arena);
    load->errors = errors_new(&load->arena);
}

/* What is in the structures is whole: nothing half-inserted, nothing lost. */
static void workload_check(struct workload *load)
{
    CHECK_INT(strlen(load->text.at), load->text.length);
    for (size_t i = 0; i < load->map.count; i++)
        CHECK(map_has(&load->map, load->map.entries[i].key));
    CHECK(load->prints.count <= load->map.count);
    for (size_t i = 0; i < load->prints.count; i++)
        CHECK(fingerprints_have(&load->prints, load->map.entries[i].key));
    for (size_t i = 0; i < load->numbers.count; i++)
        CHECK_INT(load->numbers.at[i], (long long)i);
    CHECK(load->errors.list.count <= 6);
}

/* The run that fails as told, then a second one on what the first left behind. */
static bool workload_survives(long fail_at, size_t limit)
{
    struct workload load = {0};
    workload_attach(&load);
    load.arena.limit = limit;
    memory_fail_at(fail_at);
    bool done = memory_try(workload_run, &load);
    memory_fail_at(0);
    CHECK(!limit || load.arena.used <= limit);
    workload_check(&load);
    if (!done) {
        load.numbers.count = 0;
        load.arena.limit = 0;
        CHECK(memory_try(workload_run, &load));
        workload_check(&load);
    }
    CHECK_INT(load.map.count, 300);
    CHECK_INT(load.numbers.count, 300);
    arena_release(&load.arena);
    return done;
}

/*
 * Whichever allocation fails, the user gets an error; what was built stays usable and can be
 * released. The leak checker of the sanitised build watches the second half.
 */
TEST(memory_every_failure_is_survived)
{
    long n = 1;
    while (!workload_survives(n, 0))
        n++;
    CHECK(n > 5);
}

/* The same by limit, which fails at each piece of an arena and not only at each block. */
TEST(memory_arena_limit_is_survived)
{
    size_t limit = 16;
    while (!workload_survives(0, limit))
        limit += 304;
    CHECK(limit > 50000 && limit < 1 << 20);
}
