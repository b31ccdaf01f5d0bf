/*
 * Candidates: proposed first, judged later. One that was never judged was in flight when its run
 * was killed.
 */
#include <string.h>

#include "store/sqlite/engine.h"

#define COLUMNS                                                                           \
    "id, run, parent, other_parent, proposer, action, why, island, plan, kernel, binary," \
    " proposed, judged, outcome, fitness, microseconds, floor, verdict, diagnosis, note," \
    " expected, cost, tokens, settled"

static struct candidate read_candidate(struct arena *arena, sqlite3_stmt *statement)
{
    struct candidate candidate = {
        .id = sqlite3_column_int64(statement, 0),
        .run = sqlite3_column_int64(statement, 1),
        .parents = {sqlite3_column_int64(statement, 2), sqlite3_column_int64(statement, 3)},
        .proposer = column_text(arena, statement, 4),
        .action = column_text(arena, statement, 5),
        .why = column_text(arena, statement, 6),
        .island = sqlite3_column_int(statement, 7),
        .plan = column_text(arena, statement, 8),
        .kernel = column_text(arena, statement, 9),
        .binary = column_text(arena, statement, 10),
        .proposed = sqlite3_column_double(statement, 11),
        .judged = sqlite3_column_int(statement, 12) != 0,
        .outcome = OUTCOME_JUDGE_FAULT,
        .fitness = sqlite3_column_double(statement, 14),
        .microseconds = sqlite3_column_double(statement, 15),
        .floor = sqlite3_column_double(statement, 16),
        .verdict = column_text(arena, statement, 17),
        .note = column_text(arena, statement, 19),
        .expected = sqlite3_column_double(statement, 20),
        .cost = sqlite3_column_double(statement, 21),
        .tokens = sqlite3_column_int64(statement, 22),
        .settled = sqlite3_column_double(statement, 23),
    };
    const char *outcome = (const char *)sqlite3_column_text(statement, 13);
    const char *diagnosis = (const char *)sqlite3_column_text(statement, 18);
    for (int i = 0; outcome && i < OUTCOME_COUNT; i++)
        if (strcmp(outcome_name((enum outcome)i), outcome) == 0)
            candidate.outcome = (enum outcome)i;
    if (diagnosis)
        diagnosis_parse(diagnosis, &candidate.diagnosis);
    return candidate;
}

bool sqlite_candidate_add(struct store *store, struct candidate *candidate, struct error *error)
{
    bool added = statement_run(
        store, error,
        "INSERT INTO candidate (run, parent, other_parent, proposer, action, why, island, plan,"
        " kernel, proposed, expected, cost, tokens, judged, fitness)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)",
        "iiitttittdddi", candidate->run, candidate->parents[0], candidate->parents[1],
        candidate->proposer, candidate->action, candidate->why, (int64_t)candidate->island,
        candidate->plan, candidate->kernel, candidate->proposed, candidate->expected,
        candidate->cost, candidate->tokens);
    if (added)
        candidate->id = sqlite3_last_insert_rowid(store->database);
    return added;
}

bool sqlite_candidate_judge(struct store *store, const struct candidate *candidate,
                            struct error *error)
{
    return statement_run(
        store, error,
        "UPDATE candidate SET judged = 1, binary = ?, outcome = ?, fitness = ?, microseconds = ?,"
        " floor = ?, verdict = ?, diagnosis = ?, note = ?, settled = ? WHERE id = ?",
        "ttdddtttdi", candidate->binary, outcome_name(candidate->outcome), candidate->fitness,
        candidate->microseconds, candidate->floor, candidate->verdict,
        diagnosis_name(candidate->diagnosis), candidate->note, candidate->settled, candidate->id);
}

bool sqlite_candidate_list(struct store *store, struct arena *arena,
                           const struct candidate_query *query, struct store_candidates *list,
                           struct error *error)
{
    static const char by_number[] =
        "SELECT " COLUMNS " FROM candidate WHERE run = ?1 AND id > ?2 AND (judged OR NOT ?4)"
        " ORDER BY id LIMIT ?5";
    static const char by_fitness[] =
        "SELECT " COLUMNS " FROM candidate WHERE run = ?1 AND id > ?2 AND (judged OR NOT ?4)"
        " ORDER BY fitness DESC, id LIMIT ?5";
    static const char children[] =
        "SELECT " COLUMNS " FROM candidate WHERE run = ?1 AND id > ?2 AND (judged OR NOT ?4)"
        " AND (parent = ?3 OR other_parent = ?3) ORDER BY id LIMIT ?5";
    bool failed = false;
    const char *sql = query->parent                           ? children
                      : query->order == CANDIDATES_BY_FITNESS ? by_fitness
                                                              : by_number;
    int64_t most = query->most > 0 && query->most < STORE_LIST_MOST ? query->most : STORE_LIST_MOST;
    sqlite3_stmt *statement = statement_begin(store, error, sql, "iiiii", query->run, query->after,
                                              query->parent, (int64_t)query->judged_only, most);
    if (!statement)
        return false;
    while (statement_row(store, statement, &failed, error))
        vector_push(arena, list, read_candidate(arena, statement));
    statement_end(statement);
    return !failed;
}

bool sqlite_candidate_get(struct store *store, struct arena *arena, int64_t id,
                          struct candidate *candidate, struct error *error)
{
    bool failed = false;
    sqlite3_stmt *statement =
        statement_begin(store, error, "SELECT " COLUMNS " FROM candidate WHERE id = ?", "i", id);
    if (!statement)
        return false;
    bool found = statement_row(store, statement, &failed, error);
    if (found)
        *candidate = read_candidate(arena, statement);
    statement_end(statement);
    if (!found && !failed)
        error_set(error, ERROR_STORE_NOT_FOUND, "there is no candidate %lld", (long long)id);
    return found;
}

bool sqlite_candidate_twin(struct store *store, struct arena *arena, int64_t run, const char *plan,
                           const char *binary, struct candidate *candidate, struct error *error)
{
    static const char by_plan[] =
        "SELECT " COLUMNS
        " FROM candidate WHERE run = ? AND plan = ? AND judged ORDER BY id LIMIT 1";
    static const char by_source[] =
        "SELECT " COLUMNS " FROM candidate WHERE run = ? AND plan IS NULL AND kernel = ? AND judged"
        " ORDER BY id LIMIT 1";
    static const char by_binary[] =
        "SELECT " COLUMNS " FROM candidate WHERE run = ? AND binary = ? AND judged"
        " ORDER BY id LIMIT 1";
    bool failed = false;
    *candidate = (struct candidate){0};
    const struct {
        const char *sql, *key;
    } ways[] = {{by_plan, plan}, {by_source, plan}, {by_binary, binary}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways && !failed && candidate->id == 0; i++) {
        if (!ways[i].key)
            continue;
        sqlite3_stmt *statement =
            statement_begin(store, error, ways[i].sql, "it", run, ways[i].key);
        if (!statement)
            return false;
        if (statement_row(store, statement, &failed, error))
            *candidate = read_candidate(arena, statement);
        statement_end(statement);
    }
    return !failed;
}
