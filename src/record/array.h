/*
 * A tensor with values, as the oracle sees it: every element widened to double or int64, already
 * rounded to its type. And its form on disk.
 */
#ifndef SMELT_RECORD_ARRAY_H
#define SMELT_RECORD_ARRAY_H

#include "base/base.h"
#include "ir/ir.h"

struct array {
    const char *name;
    enum dtype dtype;
    int rank;
    int64_t dims[IR_MAX_RANK];
    int64_t count;     /* product of dims */
    double *floats;    /* float types; else NULL */
    int64_t *integers; /* integer types and bool; else NULL */
    const void *raw;   /* instead of both: elements in their own type. Points only (oracle.h) */
};

/* Room for all elements, zeroed, in the arena. */
void array_alloc(struct arena *arena, struct array *array);
/* All elements in their own type, one after the other: what a kernel reads. */
void array_encode(const struct array *array, char *out);
/* What was encoded so; room for it is in the arena. */
void array_decode(struct arena *arena, struct array *array, const char *from);

/*
 * NumPy's .npy, versions 1 to 3, C or Fortran order, either byte order; written whole or not at
 * all. A header is at most 64 KiB, and the file exactly as long as its shape says. bf16, f8e4 and
 * f8e5, which NumPy lacks, are written as raw bytes ('<V2', '|V1') and need `wanted` to be read
 * back. Any float file may be read as any float type (it is rounded), any integer file as any
 * integer type it fits; else ARRAY_MISMATCH. npy_read fills in everything but the array's name.
 */
bool npy_write(const char *path, const struct array *array, struct error *error);
bool npy_read(struct arena *arena, const char *path, enum dtype wanted, struct array *array,
              struct error *error);

#endif
