/*
 * The report of a run, as commands make it: `smelt report`, and `smelt run` at its end.
 */
#ifndef SMELT_CMD_REPORTED_H
#define SMELT_CMD_REPORTED_H

#include "cmd/stored.h"

bool reported_page(struct stored *stored, const struct run *run, struct text *page,
                   struct error *error);
/*
 * Writes it to `path`; NULL: to TASK-RUN.html below `reports`, beside the store. Gives back where
 * it is, in the invocation's arena; NULL: error.
 */
const char *reported_write(struct stored *stored, const struct run *run, const char *path,
                           const struct text *page, struct error *error);

#endif
