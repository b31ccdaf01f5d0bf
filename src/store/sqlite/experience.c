/*
 * Experience: counts by situation and action.
 */
#include "store/sqlite/engine.h"

bool sqlite_experience_add(struct store *store, const struct experience *entries, size_t count,
                           struct error *error)
{
    static const char sql[] =
        "INSERT INTO experience (structure, shape, dtype, target, signature, diagnosis, action,"
        " tries, wins, losses, infeasible, log_gain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET tries = tries + excluded.tries, wins = wins + excluded.wins,"
        " losses = losses + excluded.losses, infeasible = infeasible + excluded.infeasible,"
        " log_gain = log_gain + excluded.log_gain";
    if (!transaction_begin(store, error))
        return false;
    bool done = true;
    for (size_t i = 0; i < count && done; i++) {
        const struct experience *entry = &entries[i];
        done = statement_run(store, error, sql, "tttttttiiiid", entry->structure, entry->shape,
                             entry->dtype, entry->target, entry->signature, entry->diagnosis,
                             entry->action, entry->tries, entry->wins, entry->losses,
                             entry->infeasible, entry->log_gain);
    }
    return transaction_end(store, done, error);
}

#define MATCHES                                                           \
    " WHERE (?1 IS NULL OR structure = ?1 OR structure LIKE ?1 || ':%')"  \
    " AND (?2 IS NULL OR dtype = ?2)"                                     \
    " AND (?3 IS NULL OR target = ?3) AND (?4 IS NULL OR diagnosis = ?4)" \
    " AND (?5 IS NULL OR action = ?5)"

bool sqlite_experience_list(struct store *store, struct arena *arena,
                            const struct experience_query *query, struct store_experiences *list,
                            struct error *error)
{
    bool failed = false;
    int64_t most = query->most > 0 && query->most < STORE_LIST_MOST ? query->most : STORE_LIST_MOST;
    sqlite3_stmt *statement = statement_begin(
        store, error,
        "SELECT structure, shape, dtype, target, signature, diagnosis, action, tries, wins,"
        " losses, infeasible, log_gain FROM experience" MATCHES
        " ORDER BY structure, target, dtype, shape, signature, diagnosis, action LIMIT ?6",
        "ttttti", query->structure, query->dtype, query->target, query->diagnosis, query->action,
        most);
    if (!statement)
        return false;
    while (statement_row(store, statement, &failed, error)) {
        struct experience entry = {
            .structure = column_text(arena, statement, 0),
            .shape = column_text(arena, statement, 1),
            .dtype = column_text(arena, statement, 2),
            .target = column_text(arena, statement, 3),
            .signature = column_text(arena, statement, 4),
            .diagnosis = column_text(arena, statement, 5),
            .action = column_text(arena, statement, 6),
            .tries = sqlite3_column_int64(statement, 7),
            .wins = sqlite3_column_int64(statement, 8),
            .losses = sqlite3_column_int64(statement, 9),
            .infeasible = sqlite3_column_int64(statement, 10),
            .log_gain = sqlite3_column_double(statement, 11),
        };
        vector_push(arena, list, entry);
    }
    statement_end(statement);
    return !failed;
}

bool sqlite_experience_forget(struct store *store, const struct experience_query *query,
                              int64_t *forgotten, struct error *error)
{
    if (!statement_run(store, error, "DELETE FROM experience" MATCHES, "ttttt", query->structure,
                       query->dtype, query->target, query->diagnosis, query->action))
        return false;
    *forgotten = sqlite3_changes64(store->database);
    return true;
}
