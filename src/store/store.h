/*
 * Where nothing learned is lost: runs, their candidates and events, experience, and objects
 * (kernels, plans, verdicts, logs) named by the SHA-256 of their bytes.
 *
 * Every call that changes something is a transaction of its own: when it has returned true, the
 * change survives `kill -9` and a crash of the machine. Several processes may use one store at a
 * time; a writer that finds another one at work waits for it.
 *
 * An engine is one table of functions; `sqlite` is the one there is. What they give back lives in
 * the arena of the call.
 */
#ifndef SMELT_STORE_STORE_H
#define SMELT_STORE_STORE_H

#include "base/base.h"
#include "record/search.h"

enum {
    STORE_OBJECT_BYTES = 64 << 20, /* the largest object */
    STORE_LIST_MOST = 1 << 20,     /* rows of one answer */
};

struct store; /* open; used by one thread */

enum candidate_order { CANDIDATES_BY_NUMBER, CANDIDATES_BY_FITNESS };

struct candidate_query {
    int64_t run;
    int64_t after;  /* only those with a greater id; 0: all */
    int64_t parent; /* only children of this one; 0: all */
    bool judged_only;
    enum candidate_order order; /* by fitness: best first */
    int64_t most;               /* 0: STORE_LIST_MOST */
};

struct experience_query { /* NULL: any; "row" is also every structure "row:..." */
    const char *structure, *dtype, *target, *diagnosis, *action;
    int64_t most; /* 0: STORE_LIST_MOST */
};

struct store_event {
    double time; /* seconds since 1970 */
    const char *kind, *text;
};

struct store_candidates VECTOR(struct candidate);
struct store_runs VECTOR(struct run);
struct store_experiences VECTOR(struct experience);
struct store_events VECTOR(struct store_event);
struct store_exchanges VECTOR(struct exchange);

struct store_counts {
    int64_t runs, candidates, events, experiences, objects, object_bytes;
};

struct store_engine {
    const char *name;
    /* Opens what `path` names, made when missing unless `read_only`. */
    struct store *(*open)(const char *path, bool read_only, struct error *error);
    void (*close)(struct store *store);

    /* Fills in run->id. */
    bool (*run_add)(struct store *store, struct run *run, struct error *error);
    /* Says that this process searches the run, until it ends or closes the store. False: another
     * one does. */
    bool (*run_hold)(struct store *store, int64_t run, struct error *error);
    /* State, ended, best, seconds. */
    bool (*run_update)(struct store *store, const struct run *run, struct error *error);
    /* Whoever is not the run's search says which is the best now, and how long that took; nothing
     * else is touched. Only where the best still is `before`; *done: whether it was. */
    bool (*run_crown)(struct store *store, int64_t run, int64_t before, int64_t best,
                      double seconds, bool *done, struct error *error);
    /* Newest first. */
    bool (*run_list)(struct store *store, struct arena *arena, struct store_runs *runs,
                     struct error *error);
    bool (*run_delete)(struct store *store, int64_t run, struct error *error);

    /* A candidate as proposed; fills in candidate->id. */
    bool (*candidate_add)(struct store *store, struct candidate *candidate, struct error *error);
    /* The same candidate, judged. */
    bool (*candidate_judge)(struct store *store, const struct candidate *candidate,
                            struct error *error);
    bool (*candidate_list)(struct store *store, struct arena *arena,
                           const struct candidate_query *query, struct store_candidates *list,
                           struct error *error);
    /* By id; STORE_NOT_FOUND when there is none. */
    bool (*candidate_get)(struct store *store, struct arena *arena, int64_t id,
                          struct candidate *candidate, struct error *error);
    /* The first judged candidate of the run with this plan (or source, where it has no plan) or
     * this binary (hashes; either may be NULL); id 0: none. */
    bool (*candidate_twin)(struct store *store, struct arena *arena, int64_t run, const char *plan,
                           const char *binary, struct candidate *candidate, struct error *error);

    bool (*event_add)(struct store *store, int64_t run, const char *kind, const char *text,
                      struct error *error);
    bool (*event_list)(struct store *store, struct arena *arena, int64_t run,
                       struct store_events *events, struct error *error);

    /* Fills in exchange->id. */
    bool (*exchange_add)(struct store *store, struct exchange *exchange, struct error *error);
    /* Of a run, in their order. */
    bool (*exchange_list)(struct store *store, struct arena *arena, int64_t run,
                          struct store_exchanges *list, struct error *error);
    /* The newest one without a fault that has this request, of another run than `besides`; id 0:
     * none. */
    bool (*exchange_find)(struct store *store, struct arena *arena, const char *request,
                          int64_t besides, struct exchange *exchange, struct error *error);

    /* `hash` has room for 65. Putting what is there already is no work. */
    bool (*object_put)(struct store *store, const void *bytes, size_t length, char *hash,
                       struct error *error);
    /* With a NUL after the end. */
    char *(*object_get)(struct store *store, struct arena *arena, const char *hash, size_t *length,
                        struct error *error);

    /* Adds the counts to the entry with the same key, all of them or none. */
    bool (*experience_add)(struct store *store, const struct experience *entries, size_t count,
                           struct error *error);
    bool (*experience_list)(struct store *store, struct arena *arena,
                            const struct experience_query *query, struct store_experiences *list,
                            struct error *error);
    bool (*experience_forget)(struct store *store, const struct experience_query *query,
                              int64_t *forgotten, struct error *error);

    bool (*count)(struct store *store, struct store_counts *counts, struct error *error);
    /* Objects nobody refers to are removed, and the room they took is given back. */
    bool (*collect)(struct store *store, int64_t *objects, int64_t *bytes, struct error *error);
    /* Whether everything is as it was written. */
    bool (*check)(struct store *store, struct error *error);
};

extern const struct store_engine store_sqlite;

#endif
