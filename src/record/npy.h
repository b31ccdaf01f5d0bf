/*
 * The .npy format, for npy.c, npy_header.c and the fuzzer.
 */
#ifndef SMELT_RECORD_NPY_H
#define SMELT_RECORD_NPY_H

#include <stdio.h>

#include "record/array.h"

enum { NPY_HEADER = 64 << 10 }; /* the longest header that is read, in bytes */

struct npy_header {
    char kind;    /* f, i, u, b or V, as NumPy names them */
    int bytes;    /* of an element: 1, 2, 4 or 8 */
    bool big;     /* high byte first */
    bool fortran; /* the first index runs fastest */
    int rank;
    int64_t dims[IR_MAX_RANK];
    int64_t count;
};

/* The dictionary at the head of the file, as Python writes it. `name` is for errors. */
bool npy_header_parse(const char *text, size_t length, const char *name, struct npy_header *header,
                      struct error *error);

/* npy_read from an open stream of `size` bytes, which stays the caller's. */
bool npy_read_stream(struct arena *arena, FILE *stream, int64_t size, const char *name,
                     enum dtype wanted, struct array *array, struct error *error);

#endif
