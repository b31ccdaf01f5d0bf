/*
 * Runs and their events.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "store/sqlite/engine.h"

bool sqlite_run_add(struct store *store, struct run *run, struct error *error)
{
    bool added = statement_run(
        store, error,
        "INSERT INTO run (task, text, structure, target, signature, settings, seed, state,"
        " started, ended, best, seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        "ttttttitddid", run->task, run->text, run->structure, run->target, run->signature,
        run->settings, (int64_t)run->seed, run_state_name(run->state), run->started, run->ended,
        run->best, run->seconds);
    if (added)
        run->id = sqlite3_last_insert_rowid(store->database);
    return added;
}

/*
 * A byte per run of a file beside the store is locked: the system lets go of it when the process
 * ends, however it does. Where there is no such file (a disk that is full), nobody is kept out.
 */
bool sqlite_run_hold(struct store *store, int64_t run, struct error *error)
{
    char path[4096];
    const char *file = sqlite3_db_filename(store->database, "main");
    bool kept = file && *file; /* else it is in memory, and this process's alone */
    int length = kept ? snprintf(path, sizeof path, "%s-runs", file) : 0;
    if (kept && store->runs < 0 && length < (int)sizeof path)
        store->runs = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = run, .l_len = 1};
    if (store->runs < 0 || fcntl(store->runs, F_SETLK, &lock) == 0 ||
        (errno != EACCES && errno != EAGAIN))
        return true;
    error_set(error, ERROR_STORE_BUSY, "run %lld is being searched by another smelt",
              (long long)run);
    error_hint(error, "wait until it ends, or stop it: Ctrl-C there ends it cleanly");
    return false;
}

bool sqlite_run_update(struct store *store, const struct run *run, struct error *error)
{
    return statement_run(
        store, error, "UPDATE run SET state = ?, ended = ?, best = ?, seconds = ? WHERE id = ?",
        "tdidi", run_state_name(run->state), run->ended, run->best, run->seconds, run->id);
}

bool sqlite_run_crown(struct store *store, int64_t run, int64_t before, int64_t best,
                      double seconds, bool *done, struct error *error)
{
    bool fine = statement_run(
        store, error, "UPDATE run SET best = ?, seconds = seconds + ? WHERE id = ? AND best = ?",
        "idii", best, seconds, run, before);
    *done = fine && sqlite3_changes(store->database) > 0;
    return fine;
}

bool sqlite_run_list(struct store *store, struct arena *arena, struct store_runs *runs,
                     struct error *error)
{
    bool failed = false;
    sqlite3_stmt *statement = statement_begin(
        store, error,
        "SELECT id, task, text, structure, target, signature, settings, seed, state, started,"
        " ended, best, seconds, (SELECT count(*) FROM candidate WHERE run = run.id AND judged)"
        " FROM run ORDER BY id DESC LIMIT ?",
        "i", (int64_t)STORE_LIST_MOST);
    if (!statement)
        return false;
    while (statement_row(store, statement, &failed, error)) {
        struct run run = {
            .id = sqlite3_column_int64(statement, 0),
            .task = column_text(arena, statement, 1),
            .text = column_text(arena, statement, 2),
            .structure = column_text(arena, statement, 3),
            .target = column_text(arena, statement, 4),
            .signature = column_text(arena, statement, 5),
            .settings = column_text(arena, statement, 6),
            .seed = (uint64_t)sqlite3_column_int64(statement, 7),
            .started = sqlite3_column_double(statement, 9),
            .ended = sqlite3_column_double(statement, 10),
            .best = sqlite3_column_int64(statement, 11),
            .seconds = sqlite3_column_double(statement, 12),
            .judged = sqlite3_column_int64(statement, 13),
        };
        const char *state = column_text(arena, statement, 8);
        if (!state || !run_state_parse(state, &run.state))
            run.state = RUN_FAILED;
        vector_push(arena, runs, run);
    }
    statement_end(statement);
    return !failed;
}

bool sqlite_run_delete(struct store *store, int64_t run, struct error *error)
{
    if (!statement_run(store, error, "DELETE FROM run WHERE id = ?", "i", run))
        return false;
    if (sqlite3_changes(store->database) > 0)
        return true;
    return error_set(error, ERROR_STORE_NOT_FOUND, "there is no run %lld", (long long)run);
}

bool sqlite_event_add(struct store *store, int64_t run, const char *kind, const char *text,
                      struct error *error)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return statement_run(store, error,
                         "INSERT INTO event (run, time, kind, text) VALUES (?, ?, ?, ?)", "idtt",
                         run, (double)now.tv_sec + (double)now.tv_nsec / 1e9, kind, text);
}

bool sqlite_event_list(struct store *store, struct arena *arena, int64_t run,
                       struct store_events *events, struct error *error)
{
    bool failed = false;
    sqlite3_stmt *statement = statement_begin(
        store, error, "SELECT time, kind, text FROM event WHERE run = ? ORDER BY id LIMIT ?", "ii",
        run, (int64_t)STORE_LIST_MOST);
    if (!statement)
        return false;
    while (statement_row(store, statement, &failed, error)) {
        struct store_event event = {.time = sqlite3_column_double(statement, 0),
                                    .kind = column_text(arena, statement, 1),
                                    .text = column_text(arena, statement, 2)};
        vector_push(arena, events, event);
    }
    statement_end(statement);
    return !failed;
}
