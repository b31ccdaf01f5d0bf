/*
 * Private to src/store/sqlite: an open database, and how its statements are run.
 */
#ifndef SMELT_STORE_SQLITE_ENGINE_H
#define SMELT_STORE_SQLITE_ENGINE_H

#include <sqlite3.h>

#include "store/store.h"

enum { STORE_STATEMENTS = 64 }; /* different statements, all prepared once and kept */

struct store {
    sqlite3 *database;
    char *path;
    int runs; /* the file of run_hold; -1: not opened */
    struct {
        const char *sql; /* the literal itself: its address is its name */
        sqlite3_stmt *statement;
    } statements[STORE_STATEMENTS];
    int statement_count;
};

/*
 * A statement with its parameters bound: i int64_t, d double, t text (NULL: null), b bytes and
 * size_t. NULL with the error set when it cannot be prepared. Give it back with statement_end.
 */
sqlite3_stmt *statement_begin(struct store *store, struct error *error, const char *sql,
                              const char *types, ...);
/* One row more? *failed says whether the answer is an error rather than an end. */
bool statement_row(struct store *store, sqlite3_stmt *statement, bool *failed, struct error *error);
void statement_end(sqlite3_stmt *statement);
/* Begins, runs to the end, and gives back. */
bool statement_run(struct store *store, struct error *error, const char *sql, const char *types,
                   ...);
/* A column as text in the arena; NULL when it is null. */
const char *column_text(struct arena *arena, sqlite3_stmt *statement, int column);

/* Several statements as one: all or nothing. Ends by commit when `done`, else by rollback. */
bool transaction_begin(struct store *store, struct error *error);
bool transaction_end(struct store *store, bool done, struct error *error);

/* What the database said, as an error that tells what to do. Always false. */
bool store_failed(struct store *store, struct error *error);

/* Brings an older store up to date; refuses a newer one. */
bool store_migrate(struct store *store, bool read_only, struct error *error);

/* The functions of the table, by file. */
bool sqlite_run_add(struct store *store, struct run *run, struct error *error);
bool sqlite_run_hold(struct store *store, int64_t run, struct error *error);
bool sqlite_run_update(struct store *store, const struct run *run, struct error *error);
bool sqlite_run_crown(struct store *store, int64_t run, int64_t before, int64_t best,
                      double seconds, bool *done, struct error *error);
bool sqlite_run_list(struct store *store, struct arena *arena, struct store_runs *runs,
                     struct error *error);
bool sqlite_run_delete(struct store *store, int64_t run, struct error *error);
bool sqlite_event_add(struct store *store, int64_t run, const char *kind, const char *text,
                      struct error *error);
bool sqlite_event_list(struct store *store, struct arena *arena, int64_t run,
                       struct store_events *events, struct error *error);
bool sqlite_exchange_add(struct store *store, struct exchange *exchange, struct error *error);
bool sqlite_exchange_list(struct store *store, struct arena *arena, int64_t run,
                          struct store_exchanges *list, struct error *error);
bool sqlite_exchange_find(struct store *store, struct arena *arena, const char *request,
                          int64_t besides, struct exchange *exchange, struct error *error);
bool sqlite_candidate_add(struct store *store, struct candidate *candidate, struct error *error);
bool sqlite_candidate_judge(struct store *store, const struct candidate *candidate,
                            struct error *error);
bool sqlite_candidate_list(struct store *store, struct arena *arena,
                           const struct candidate_query *query, struct store_candidates *list,
                           struct error *error);
bool sqlite_candidate_get(struct store *store, struct arena *arena, int64_t id,
                          struct candidate *candidate, struct error *error);
bool sqlite_candidate_twin(struct store *store, struct arena *arena, int64_t run, const char *plan,
                           const char *binary, struct candidate *candidate, struct error *error);
bool sqlite_object_put(struct store *store, const void *bytes, size_t length, char *hash,
                       struct error *error);
char *sqlite_object_get(struct store *store, struct arena *arena, const char *hash, size_t *length,
                        struct error *error);
bool sqlite_collect(struct store *store, int64_t *objects, int64_t *bytes, struct error *error);
bool sqlite_experience_add(struct store *store, const struct experience *entries, size_t count,
                           struct error *error);
bool sqlite_experience_list(struct store *store, struct arena *arena,
                            const struct experience_query *query, struct store_experiences *list,
                            struct error *error);
bool sqlite_experience_forget(struct store *store, const struct experience_query *query,
                              int64_t *forgotten, struct error *error);

#endif
