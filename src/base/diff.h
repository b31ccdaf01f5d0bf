/*
 * What differs between two texts, line by line.
 */
#ifndef SMELT_BASE_DIFF_H
#define SMELT_BASE_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/vector.h"

enum {
    DIFF_LINES_MOST = 100000, /* of one text; what comes after is left out */
    DIFF_STEPS_MOST = 4000,   /* beyond so many changes the rest is replaced whole */
};

enum diff_kind { DIFF_SAME, DIFF_REMOVED, DIFF_ADDED };

struct diff_line {
    enum diff_kind kind;
    const char *text; /* in the text it is from; not terminated */
    size_t length;
    int before, after; /* its number in each text, from 1; 0 where it is not */
};

struct diff_lines VECTOR(struct diff_line);

/* All lines of both, in order. Lines point into the texts. */
struct diff_lines diff_texts(struct arena *arena, const char *before, const char *after);
/* Whether anything differs. */
bool diff_any(const struct diff_lines *lines);
/* As `diff -u` prints it, with so many lines around each change; nothing when nothing differs. */
void diff_print(struct text *out, const struct diff_lines *lines, const char *before,
                const char *after, int around);

#endif
