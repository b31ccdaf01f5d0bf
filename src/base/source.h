/*
 * A piece of source text with a name, and places in it.
 */
#ifndef SMELT_BASE_SOURCE_H
#define SMELT_BASE_SOURCE_H

#include <stddef.h>

struct source {
    const char *name; /* as a person would type it: "lib/nn.op" */
    const char *text; /* NUL-terminated */
    size_t length;
};

/* A stretch of a source. An all-zero place is nowhere. */
struct place {
    const struct source *source;
    size_t offset, length;
};

struct line_column {
    size_t line, column; /* from 1; column counts UTF-8 characters */
    size_t start, end;   /* offsets of the line, without its newline */
};

struct line_column source_locate(const struct source *source, size_t offset);
/* From the start of a to the end of b. */
struct place place_join(struct place a, struct place b);

#endif
