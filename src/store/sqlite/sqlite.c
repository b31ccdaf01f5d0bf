/*
 * The store on SQLite: one file, in write-ahead mode, so that readers never wait for the writer.
 */
#include "store/sqlite/engine.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUSY_MILLISECONDS = 30000 }; /* how long a writer waits for another one */

/* ---- errors ---- */

bool store_failed(struct store *store, struct error *error)
{
    int code = sqlite3_extended_errcode(store->database);
    const char *words = sqlite3_errmsg(store->database);
    switch (code & 0xff) {
    case SQLITE_FULL:
        error_set(error, ERROR_STORE_FAILED, "could not write to %s: the disk is full",
                  store->path);
        error_hint(error, "make room (smelt gc removes what nobody refers to), then resume");
        break;
    case SQLITE_READONLY:
        error_set(error, ERROR_STORE_FAILED, "could not write to %s: it is read-only", store->path);
        error_hint(error, "choose another place: --store FILE");
        break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        error_set(error, ERROR_STORE_FAILED,
                  "could not write to %s: another process has held it for %d s", store->path,
                  BUSY_MILLISECONDS / 1000);
        error_hint(error, "end the other one, or choose another place: --store FILE");
        break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        error_set(error, ERROR_STORE_FAILED, "%s is damaged, or no store of smelt's: %s",
                  store->path, words);
        error_hint(error, "move it away and start anew, or choose another place: --store FILE");
        break;
    case SQLITE_CANTOPEN:
        error_set(error, ERROR_STORE_FAILED, "could not open or make %s", store->path);
        error_hint(error, "choose another place: --store FILE");
        break;
    case SQLITE_NOMEM:
        error_set(error, ERROR_OUT_OF_MEMORY, "could not use %s: memory ran out", store->path);
        break;
    default: error_set(error, ERROR_STORE_FAILED, "could not use %s: %s", store->path, words);
    }
    return false;
}

/* ---- statements ---- */

static sqlite3_stmt *find_statement(struct store *store, const char *sql, struct error *error)
{
    for (int i = 0; i < store->statement_count; i++)
        if (store->statements[i].sql == sql)
            return store->statements[i].statement;
    sqlite3_stmt *statement = NULL;
    if (store->statement_count == STORE_STATEMENTS) {
        error_set(error, ERROR_STORE_FAILED, "more kinds of statements than the store keeps");
        return NULL;
    }
    if (sqlite3_prepare_v3(store->database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) !=
        SQLITE_OK) {
        store_failed(store, error);
        return NULL;
    }
    store->statements[store->statement_count].sql = sql;
    store->statements[store->statement_count++].statement = statement;
    return statement;
}

static int bind_all(sqlite3_stmt *statement, const char *types, va_list list)
{
    int status = SQLITE_OK;
    for (int i = 1; *types && status == SQLITE_OK; types++, i++) {
        if (*types == 'i') {
            status = sqlite3_bind_int64(statement, i, va_arg(list, int64_t));
        } else if (*types == 'd') {
            status = sqlite3_bind_double(statement, i, va_arg(list, double));
        } else if (*types == 't') {
            status = sqlite3_bind_text(statement, i, va_arg(list, const char *), -1, SQLITE_STATIC);
        } else {
            const void *bytes = va_arg(list, const void *);
            size_t length = va_arg(list, size_t);
            status = length ? sqlite3_bind_blob64(statement, i, bytes, length, SQLITE_STATIC)
                            : sqlite3_bind_zeroblob(statement, i, 0);
        }
    }
    return status;
}

static sqlite3_stmt *begin_list(struct store *store, struct error *error, const char *sql,
                                const char *types, va_list list)
{
    sqlite3_stmt *statement = find_statement(store, sql, error);
    if (statement && bind_all(statement, types, list) != SQLITE_OK) {
        store_failed(store, error);
        statement_end(statement);
        return NULL;
    }
    return statement;
}

sqlite3_stmt *statement_begin(struct store *store, struct error *error, const char *sql,
                              const char *types, ...)
{
    va_list list;
    va_start(list, types);
    sqlite3_stmt *statement = begin_list(store, error, sql, types, list);
    va_end(list);
    return statement;
}

bool statement_row(struct store *store, sqlite3_stmt *statement, bool *failed, struct error *error)
{
    int status = sqlite3_step(statement);
    *failed = status != SQLITE_ROW && status != SQLITE_DONE;
    if (*failed)
        store_failed(store, error);
    return status == SQLITE_ROW;
}

void statement_end(sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

bool statement_run(struct store *store, struct error *error, const char *sql, const char *types,
                   ...)
{
    va_list list;
    va_start(list, types);
    sqlite3_stmt *statement = begin_list(store, error, sql, types, list);
    va_end(list);
    if (!statement)
        return false;
    bool failed = false;
    while (statement_row(store, statement, &failed, error))
        ;
    statement_end(statement);
    return !failed;
}

const char *column_text(struct arena *arena, sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text ? arena_string(arena, (const char *)text) : NULL;
}

bool transaction_begin(struct store *store, struct error *error)
{
    return statement_run(store, error, "BEGIN IMMEDIATE", "");
}

bool transaction_end(struct store *store, bool done, struct error *error)
{
    if (done && statement_run(store, error, "COMMIT", ""))
        return true;
    if (!sqlite3_get_autocommit(store->database))
        statement_run(store, NULL, "ROLLBACK", "");
    return false;
}

/* ---- opening ---- */

static void sqlite_close(struct store *store)
{
    for (int i = 0; i < store->statement_count; i++)
        sqlite3_finalize(store->statements[i].statement);
    sqlite3_close(store->database);
    if (store->runs >= 0)
        close(store->runs);
    free(store->path);
    free(store);
}

/* Two that open a new store at once may both want to change its mode: SQLite tells one of them that
 * it is busy without waiting, since both would wait for each other. So the waiting is ours. */
static bool set_patiently(struct store *store, const char *settings)
{
    enum { PAUSE = 20 };
    int result = SQLITE_BUSY;
    for (int waited = 0; result == SQLITE_BUSY && waited < BUSY_MILLISECONDS; waited += PAUSE) {
        if (waited > 0)
            sqlite3_sleep(PAUSE);
        result = sqlite3_exec(store->database, settings, NULL, NULL, NULL);
    }
    return result == SQLITE_OK;
}

static bool set_up(struct store *store, bool read_only, struct error *error)
{
    /* In write-ahead mode NORMAL loses no finished transaction to a killed process, and FULL none
     * to a crash of the machine: a verdict costs far more than the flush. */
    static const char settings[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                                   "PRAGMA foreign_keys = ON;";
    sqlite3_busy_timeout(store->database, BUSY_MILLISECONDS);
    sqlite3_limit(store->database, SQLITE_LIMIT_LENGTH, STORE_OBJECT_BYTES + (1 << 20));
    if (!read_only && !set_patiently(store, settings))
        return store_failed(store, error);
    return store_migrate(store, read_only, error);
}

/*
 * A store in write-ahead mode needs a file beside it even to be read. Where none can be made (a
 * read-only disk) nobody writes either, and it is opened as a file that does not change.
 */
static bool open_unchanging(struct store *store)
{
    struct arena arena = {0};
    struct text name = text_new(&arena);
    text_add(&name, "file:");
    for (const char *c = store->path; *c; c++) {
        if (strchr("?#%", *c))
            text_printf(&name, "%%%02x", (unsigned)(unsigned char)*c);
        else
            text_char(&name, *c);
    }
    text_add(&name, "?immutable=1");
    sqlite3_close(store->database);
    store->database = NULL;
    bool fine = sqlite3_open_v2(name.at, &store->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
                                NULL) == SQLITE_OK;
    arena_release(&arena);
    return fine;
}

static bool can_be_read(struct store *store)
{
    return sqlite3_exec(store->database, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) ==
           SQLITE_OK;
}

static struct store *sqlite_open(const char *path, bool read_only, struct error *error)
{
    struct store *store = calloc(1, sizeof *store);
    char *copy = store ? strdup(path) : NULL;
    if (!copy) {
        free(store);
        memory_exhausted();
    }
    store->path = copy;
    store->runs = -1;
    int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    bool fine = sqlite3_open_v2(path, &store->database, flags, NULL) == SQLITE_OK;
    if (read_only && (!fine || !can_be_read(store)))
        fine = open_unchanging(store);
    if (fine ? !set_up(store, read_only, error) : !store_failed(store, error)) {
        sqlite_close(store);
        return NULL;
    }
    return store;
}

/* ---- the whole ---- */

static bool sqlite_count(struct store *store, struct store_counts *counts, struct error *error)
{
    bool failed;
    sqlite3_stmt *statement = statement_begin(
        store, error,
        "SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM candidate),"
        " (SELECT count(*) FROM event), (SELECT count(*) FROM experience),"
        " (SELECT count(*) FROM object), (SELECT coalesce(sum(length(bytes)), 0) FROM object)",
        "");
    if (!statement)
        return false;
    bool found = statement_row(store, statement, &failed, error);
    if (found)
        *counts = (struct store_counts){
            .runs = sqlite3_column_int64(statement, 0),
            .candidates = sqlite3_column_int64(statement, 1),
            .events = sqlite3_column_int64(statement, 2),
            .experiences = sqlite3_column_int64(statement, 3),
            .objects = sqlite3_column_int64(statement, 4),
            .object_bytes = sqlite3_column_int64(statement, 5),
        };
    statement_end(statement);
    return found;
}

static bool sqlite_check(struct store *store, struct error *error)
{
    bool failed, fine = false;
    sqlite3_stmt *statement = statement_begin(store, error, "PRAGMA integrity_check(1)", "");
    if (!statement)
        return false;
    if (statement_row(store, statement, &failed, error)) {
        const char *said = (const char *)sqlite3_column_text(statement, 0);
        fine = said && strcmp(said, "ok") == 0;
        if (!fine)
            error_set(error, ERROR_STORE_FAILED, "%s is damaged: %s", store->path,
                      said ? said : "no answer");
    }
    statement_end(statement);
    return fine;
}

const struct store_engine store_sqlite = {
    .name = "sqlite",
    .open = sqlite_open,
    .close = sqlite_close,
    .run_add = sqlite_run_add,
    .run_hold = sqlite_run_hold,
    .run_update = sqlite_run_update,
    .run_crown = sqlite_run_crown,
    .run_list = sqlite_run_list,
    .run_delete = sqlite_run_delete,
    .candidate_add = sqlite_candidate_add,
    .candidate_judge = sqlite_candidate_judge,
    .candidate_list = sqlite_candidate_list,
    .candidate_get = sqlite_candidate_get,
    .candidate_twin = sqlite_candidate_twin,
    .event_add = sqlite_event_add,
    .event_list = sqlite_event_list,
    .exchange_add = sqlite_exchange_add,
    .exchange_list = sqlite_exchange_list,
    .exchange_find = sqlite_exchange_find,
    .object_put = sqlite_object_put,
    .object_get = sqlite_object_get,
    .experience_add = sqlite_experience_add,
    .experience_list = sqlite_experience_list,
    .experience_forget = sqlite_experience_forget,
    .count = sqlite_count,
    .collect = sqlite_collect,
    .check = sqlite_check,
};
