/*
 * Folders for the time of one judgement: of the judge, and of whoever runs tools as it does.
 */
#ifndef SMELT_JUDGE_FOLDER_H
#define SMELT_JUDGE_FOLDER_H

#include "base/base.h"

struct folder {
    const char *path; /* NULL: none */
    int lock;         /* held while it is in use: what is not locked is left over */
};

/* Makes one, 0700, below $TMPDIR or /tmp. The first time it removes what dead judges left there. */
bool folder_make(struct arena *arena, struct folder *folder, struct error *error);
/* Removes it and what is in it. Safe to call twice. */
void folder_remove(struct folder *folder);

#endif
