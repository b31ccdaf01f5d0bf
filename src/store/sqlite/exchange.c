/*
 * Questions to language models and their replies.
 */
#include <time.h>

#include "store/sqlite/engine.h"

#define COLUMNS "id, run, model, request, text, message, read, written, cost, seconds"

bool sqlite_exchange_add(struct store *store, struct exchange *exchange, struct error *error)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    bool added = statement_run(
        store, error,
        "INSERT INTO exchange (run, time, model, request, text, message, read, written, cost,"
        " seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        "idttttiidd", exchange->run, (double)now.tv_sec, exchange->model, exchange->request,
        exchange->text, exchange->message, exchange->read, exchange->written, exchange->cost,
        exchange->seconds);
    if (added)
        exchange->id = sqlite3_last_insert_rowid(store->database);
    return added;
}

static struct exchange read_exchange(struct arena *arena, sqlite3_stmt *statement)
{
    return (struct exchange){.id = sqlite3_column_int64(statement, 0),
                             .run = sqlite3_column_int64(statement, 1),
                             .model = column_text(arena, statement, 2),
                             .request = column_text(arena, statement, 3),
                             .text = column_text(arena, statement, 4),
                             .message = column_text(arena, statement, 5),
                             .read = sqlite3_column_int64(statement, 6),
                             .written = sqlite3_column_int64(statement, 7),
                             .cost = sqlite3_column_double(statement, 8),
                             .seconds = sqlite3_column_double(statement, 9)};
}

bool sqlite_exchange_list(struct store *store, struct arena *arena, int64_t run,
                          struct store_exchanges *list, struct error *error)
{
    bool failed = false;
    sqlite3_stmt *statement = statement_begin(
        store, error, "SELECT " COLUMNS " FROM exchange WHERE run = ? ORDER BY id LIMIT ?", "ii",
        run, (int64_t)STORE_LIST_MOST);
    if (!statement)
        return false;
    while (statement_row(store, statement, &failed, error))
        vector_push(arena, list, read_exchange(arena, statement));
    statement_end(statement);
    return !failed;
}

bool sqlite_exchange_find(struct store *store, struct arena *arena, const char *request,
                          int64_t besides, struct exchange *exchange, struct error *error)
{
    bool failed = false;
    sqlite3_stmt *statement =
        statement_begin(store, error,
                        "SELECT " COLUMNS " FROM exchange WHERE request = ? AND run <> ? AND"
                        " message = '' ORDER BY id DESC LIMIT 1",
                        "ti", request, besides);
    *exchange = (struct exchange){0};
    if (!statement)
        return false;
    if (statement_row(store, statement, &failed, error))
        *exchange = read_exchange(arena, statement);
    statement_end(statement);
    return !failed;
}
