/*
 * The schema, as the steps that lead to it. A store remembers how many it has seen
 * (user_version); opening it runs those that are missing, each in a transaction. A step that was
 * released is never changed: a new one is added.
 */
#include "store/sqlite/engine.h"

static const char *const steps[] = {
    "CREATE TABLE object (hash TEXT PRIMARY KEY, bytes BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE run ("
    "    id INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL, text TEXT, structure TEXT,"
    "    target TEXT NOT NULL, signature TEXT, settings TEXT, seed INTEGER NOT NULL,"
    "    state TEXT NOT NULL, started REAL NOT NULL, ended REAL NOT NULL, best INTEGER NOT NULL,"
    "    seconds REAL NOT NULL);"
    "CREATE INDEX run_by_task ON run (task);"
    "CREATE TABLE candidate ("
    "    id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "    run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,"
    "    parent INTEGER NOT NULL, other_parent INTEGER NOT NULL, proposer TEXT NOT NULL,"
    "    action TEXT, why TEXT, island INTEGER NOT NULL, plan TEXT, kernel TEXT NOT NULL,"
    "    binary TEXT, proposed REAL NOT NULL, judged INTEGER NOT NULL, outcome TEXT,"
    "    fitness REAL NOT NULL, microseconds REAL, floor REAL, verdict TEXT, diagnosis TEXT,"
    "    note TEXT);"
    "CREATE INDEX candidate_by_fitness ON candidate (run, fitness DESC);"
    "CREATE INDEX candidate_by_plan ON candidate (run, plan);"
    "CREATE INDEX candidate_by_binary ON candidate (run, binary);"
    "CREATE INDEX candidate_by_parent ON candidate (parent);"
    "CREATE TABLE event ("
    "    id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,"
    "    time REAL NOT NULL, kind TEXT NOT NULL, text TEXT);"
    "CREATE INDEX event_by_run ON event (run);"
    "CREATE TABLE experience ("
    "    structure TEXT NOT NULL, shape TEXT NOT NULL, dtype TEXT NOT NULL, target TEXT NOT NULL,"
    "    signature TEXT NOT NULL, diagnosis TEXT NOT NULL, action TEXT NOT NULL,"
    "    tries INTEGER NOT NULL, wins INTEGER NOT NULL, losses INTEGER NOT NULL,"
    "    infeasible INTEGER NOT NULL, log_gain REAL NOT NULL,"
    "    PRIMARY KEY (structure, target, dtype, shape, signature, diagnosis, action))"
    "    WITHOUT ROWID;",
    /* what a proposal was said to bring and what it cost */
    "ALTER TABLE candidate ADD COLUMN expected REAL NOT NULL DEFAULT 0;"
    "ALTER TABLE candidate ADD COLUMN cost REAL NOT NULL DEFAULT 0;"
    "ALTER TABLE candidate ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;",
    /* questions to language models and their replies */
    "CREATE TABLE exchange ("
    "    id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,"
    "    time REAL NOT NULL, model TEXT NOT NULL, request TEXT NOT NULL, text TEXT NOT NULL,"
    "    message TEXT NOT NULL, read INTEGER NOT NULL, written INTEGER NOT NULL,"
    "    cost REAL NOT NULL, seconds REAL NOT NULL);"
    "CREATE INDEX exchange_by_run ON exchange (run);"
    "CREATE INDEX exchange_by_request ON exchange (request);",
    /* when verdicts came */
    "ALTER TABLE candidate ADD COLUMN settled REAL NOT NULL DEFAULT 0;",
};

enum { STEPS = sizeof steps / sizeof steps[0] };

static bool read_version(struct store *store, int *version, struct error *error)
{
    bool failed;
    sqlite3_stmt *statement = statement_begin(store, error, "PRAGMA user_version", "");
    if (!statement)
        return false;
    bool found = statement_row(store, statement, &failed, error);
    if (found)
        *version = sqlite3_column_int(statement, 0);
    statement_end(statement);
    return found;
}

static bool run_step(struct store *store, int number, struct error *error)
{
    char pragma[40];
    sqlite3_snprintf(sizeof pragma, pragma, "PRAGMA user_version = %d", number + 1);
    return sqlite3_exec(store->database, steps[number], NULL, NULL, NULL) == SQLITE_OK &&
                   sqlite3_exec(store->database, pragma, NULL, NULL, NULL) == SQLITE_OK
               ? true
               : store_failed(store, error);
}

bool store_migrate(struct store *store, bool read_only, struct error *error)
{
    int version = 0;
    if (!read_version(store, &version, error))
        return false;
    if (version > STEPS) {
        error_set(error, ERROR_STORE_VERSION, "%s was written by a newer smelt", store->path);
        error_hint(error, "use that one, or another place: --store FILE");
        return false;
    }
    if (version == STEPS)
        return true;
    if (read_only) {
        error_set(error, ERROR_STORE_VERSION, "%s was written by an older smelt%s", store->path,
                  version ? "" : ", or is empty");
        error_hint(error, "open it once for writing, which brings it up to date");
        return false;
    }
    if (!transaction_begin(store, error))
        return false;
    /* Another process may have done it while we waited for the lock. */
    bool done = read_version(store, &version, error);
    while (done && version < STEPS)
        done = run_step(store, version++, error);
    return transaction_end(store, done, error);
}
