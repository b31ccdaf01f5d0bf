/*
 * The store, as commands see it.
 */
#include "cmd/stored.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/file.h"

bool stored_fail(struct stored *stored, const struct error *error)
{
    struct error copy = *error;
    errors_take(&stored->invocation->errors, &copy);
    return false;
}

static const char *store_path(struct stored *stored, struct error *error)
{
    const char *path = option_value(stored->invocation, "store");
    if (!path)
        path = getenv("SMELT_STORE");
    if (path && *path)
        return path;
    const char *folder = directory_data(stored->invocation->arena, NULL, error);
    return folder ? arena_printf(stored->invocation->arena, "%s/store.db", folder) : NULL;
}

bool stored_open(struct stored *stored, struct invocation *invocation, bool create)
{
    struct error error = {0};
    *stored = (struct stored){.invocation = invocation, .engine = &store_sqlite};
    const char *path = store_path(stored, &error);
    if (!path)
        return stored_fail(stored, &error);
    stored->path = path;
    if (!create && access(path, F_OK) != 0) {
        error_set(&error, ERROR_STORE_NOT_FOUND, "there is no store yet at %s", path);
        error_hint(&error, "smelt run TASK makes it; --store FILE names another one");
        return stored_fail(stored, &error);
    }
    stored->store = stored->engine->open(path, false, &error);
    if (!stored->store && !create && error.code == ERROR_STORE_FAILED) {
        struct error ignored; /* what cannot be written to can perhaps be read */
        stored->store = stored->engine->open(path, true, &ignored);
    }
    return stored->store ? true : stored_fail(stored, &error);
}

void stored_close(struct stored *stored)
{
    if (stored->store)
        stored->engine->close(stored->store);
    stored->store = NULL;
}

static bool read_number(const char *word, int64_t *number)
{
    char *end;
    *number = strtoll(word, &end, 10);
    return *word && *end == 0 && *number > 0;
}

bool stored_run(struct stored *stored, const char *word, struct run *run)
{
    struct store_runs runs = {0};
    struct error error = {0};
    int64_t number = 0;
    bool numbered = read_number(word, &number);
    if (!stored->engine->run_list(stored->store, stored->invocation->arena, &runs, &error))
        return stored_fail(stored, &error);
    for (size_t i = 0; i < runs.count; i++) {
        bool meant = numbered ? runs.at[i].id == number
                              : strcmp(word, "last") == 0 || strcmp(runs.at[i].task, word) == 0;
        if (!meant)
            continue;
        *run = runs.at[i];
        return true;
    }
    error_set(&error, ERROR_STORE_NOT_FOUND,
              numbered ? "there is no run %s" : "there is no run of a task '%s'", word);
    error_hint(&error, "smelt runs lists them");
    return stored_fail(stored, &error);
}

bool stored_candidate(struct stored *stored, const char *word, struct candidate *candidate)
{
    struct error error = {0};
    int64_t number;
    struct run run;
    if (read_number(word, &number))
        return stored->engine->candidate_get(stored->store, stored->invocation->arena, number,
                                             candidate, &error) ||
               stored_fail(stored, &error);
    if (!stored_run(stored, word, &run))
        return false;
    if (run.best == 0) {
        error_set(&error, ERROR_STORE_NOT_FOUND, "run %lld found nothing that is right",
                  (long long)run.id);
        error_hint(&error, "smelt show %lld says why", (long long)run.id);
        return stored_fail(stored, &error);
    }
    return stored->engine->candidate_get(stored->store, stored->invocation->arena, run.best,
                                         candidate, &error) ||
           stored_fail(stored, &error);
}

char *stored_object(struct stored *stored, const char *hash)
{
    struct error error = {0};
    char *text =
        stored->engine->object_get(stored->store, stored->invocation->arena, hash, NULL, &error);
    if (!text)
        stored_fail(stored, &error);
    return text;
}

bool stored_tally(struct stored *stored, const struct run *run, struct tally *tally)
{
    struct store_candidates list = {0};
    struct store_exchanges exchanges = {0};
    struct candidate_query query = {.run = run->id};
    struct error error = {0};
    struct arena *arena = stored->invocation->arena;
    if (!stored->engine->candidate_list(stored->store, arena, &query, &list, &error) ||
        !stored->engine->exchange_list(stored->store, arena, run->id, &exchanges, &error))
        return stored_fail(stored, &error);
    *tally = tally_of(arena, list.at, list.count, exchanges.at, exchanges.count, run->best);
    return true;
}
