/*
 * Commands that use the store: opening it, and what a word such as a run's number means.
 */
#ifndef SMELT_CMD_STORED_H
#define SMELT_CMD_STORED_H

#include "cmd/command.h"
#include "record/tally.h"
#include "store/store.h"

/* A row of the option table of every command that uses the store. */
#define OPTION_STORE                                                                         \
    {                                                                                        \
        .name = "store", .argument = "FILE",                                                 \
        .help = "where runs are kept (SMELT_STORE, else store.db below XDG_DATA_HOME/smelt " \
                "or ~/.local/share/smelt)"                                                   \
    }

struct stored {
    struct invocation *invocation;
    const struct store_engine *engine;
    struct store *store;
    const char *path; /* of the store */
};

/* --store, SMELT_STORE or the default. False: errors were added. `create`: made when missing. */
bool stored_open(struct stored *stored, struct invocation *invocation, bool create);
void stored_close(struct stored *stored);
/* The run of this number, or the newest one of a task of this name; "last": the newest of all. */
bool stored_run(struct stored *stored, const char *word, struct run *run);
/* A candidate by number; of a run: its best. */
bool stored_candidate(struct stored *stored, const char *word, struct candidate *candidate);
/* Who found what in a run. False: errors were added. */
bool stored_tally(struct stored *stored, const struct run *run, struct tally *tally);
/* The text of an object; NULL: errors were added. */
char *stored_object(struct stored *stored, const char *hash);
/* Adds an error to the invocation's; always false. */
bool stored_fail(struct stored *stored, const struct error *error);

#endif
