/*
 * Objects: bytes named by their hash. What refers to an object holds its name; nothing else does.
 */
#include <string.h>

#include "store/sqlite/engine.h"

bool sqlite_object_put(struct store *store, const void *bytes, size_t length, char *hash,
                       struct error *error)
{
    if (length > STORE_OBJECT_BYTES)
        return error_set(error, ERROR_STORE_FAILED, "%zu bytes are more than the store keeps (%d)",
                         length, STORE_OBJECT_BYTES);
    sha256_hex(bytes, length, hash);
    return statement_run(store, error, "INSERT OR IGNORE INTO object (hash, bytes) VALUES (?, ?)",
                         "tb", hash, bytes, length);
}

char *sqlite_object_get(struct store *store, struct arena *arena, const char *hash, size_t *length,
                        struct error *error)
{
    bool failed = false;
    char *bytes = NULL;
    sqlite3_stmt *statement =
        statement_begin(store, error, "SELECT bytes FROM object WHERE hash = ?", "t", hash);
    if (!statement)
        return NULL;
    if (statement_row(store, statement, &failed, error)) {
        const void *found = sqlite3_column_blob(statement, 0);
        size_t size = (size_t)sqlite3_column_bytes(statement, 0);
        char said[65];
        sha256_hex(found ? found : "", size, said);
        if (strcmp(said, hash) == 0) {
            bytes = arena_copy(arena, found ? found : "", size);
            if (length)
                *length = size;
        } else {
            error_set(error, ERROR_STORE_FAILED, "object %.12s of %s is damaged", hash,
                      store->path);
        }
    } else if (!failed) {
        error_set(error, ERROR_STORE_NOT_FOUND, "there is no object %.12s in %s", hash,
                  store->path);
    }
    statement_end(statement);
    return bytes;
}

static bool count_objects(struct store *store, int64_t *objects, int64_t *bytes,
                          struct error *error)
{
    bool failed = false;
    sqlite3_stmt *statement = statement_begin(
        store, error, "SELECT count(*), coalesce(sum(length(bytes)), 0) FROM object", "");
    if (!statement)
        return false;
    if (statement_row(store, statement, &failed, error)) {
        *objects = sqlite3_column_int64(statement, 0);
        *bytes = sqlite3_column_int64(statement, 1);
    }
    statement_end(statement);
    return !failed;
}

bool sqlite_collect(struct store *store, int64_t *objects, int64_t *bytes, struct error *error)
{
    int64_t kept = 0, kept_bytes = 0;
    if (!transaction_begin(store, error))
        return false;
    bool done =
        count_objects(store, objects, bytes, error) &&
        statement_run(store, error,
                      "DELETE FROM object WHERE hash NOT IN ("
                      " SELECT text FROM run WHERE text IS NOT NULL"
                      " UNION SELECT kernel FROM candidate"
                      " UNION SELECT plan FROM candidate WHERE plan IS NOT NULL"
                      " UNION SELECT verdict FROM candidate WHERE verdict IS NOT NULL"
                      " UNION SELECT text FROM exchange"
                      " UNION SELECT substr(action, 6) FROM experience WHERE action LIKE 'plan %')",
                      "") &&
        count_objects(store, &kept, &kept_bytes, error);
    if (!transaction_end(store, done, error))
        return false;
    *objects -= kept;
    *bytes -= kept_bytes;
    return statement_run(store, error, "VACUUM", "");
}
