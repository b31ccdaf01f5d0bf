/*
 * A run as one HTML page: the best kernel and how it was found, what was tried, what came of it,
 * where it stands against the machine, how to repeat it.
 *
 * The page needs nothing but itself: no script, no network, no font, pictures are SVG in the text,
 * and a policy in its head forbids the browser to load anything. Whatever came from outside
 * (names, comments, compiler output) is escaped.
 */
#ifndef SMELT_REPORT_REPORT_H
#define SMELT_REPORT_REPORT_H

#include "base/base.h"
#include "machine/machine.h"
#include "store/store.h"

struct report_subject {
    const struct store_engine *engine;
    struct store *store;
    struct run run;
    const struct machine *machine; /* the one in front of us */
    const struct rates *rates;     /* of it; all 0: not measured */
    const char *program;           /* who writes this: "smelt 0.1.0" */
};

/* Reads the store, writes the page. The arena holds what both need. */
bool report_write(struct arena *arena, const struct report_subject *subject, struct text *page,
                  struct error *error);

#endif
