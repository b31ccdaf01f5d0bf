/*
 * The types of tensor elements: their names, sizes, and exact rounding.
 */
#ifndef SMELT_IR_DTYPE_H
#define SMELT_IR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype {
    DTYPE_F64,
    DTYPE_F32,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_F8E4, /* e4m3, no infinities, largest 448; beyond it NaN */
    DTYPE_F8E5, /* e5m2, with infinities */
    DTYPE_I64,
    DTYPE_I32,
    DTYPE_U32,
    DTYPE_I16,
    DTYPE_I8,
    DTYPE_U8,
    DTYPE_BOOL,
    DTYPE_COUNT
};

const char *dtype_name(enum dtype dtype); /* "f32" */
bool dtype_parse(const char *name, enum dtype *dtype);
size_t dtype_bytes(enum dtype dtype);
bool dtype_is_float(enum dtype dtype);
bool dtype_is_integer(enum dtype dtype); /* bool is neither */
/* What values of this type compute in: f64, f32, i64 or bool. */
enum dtype dtype_compute(enum dtype dtype);

/* Nearest value of a float type, ties to even, straight from double (no double rounding). */
double dtype_round(enum dtype dtype, double value);
/* Integer types: two's complement wrap. To bool, here and below: whether it is not zero (NaN is
 * not). */
int64_t dtype_wrap(enum dtype dtype, int64_t value);
/* Float to integer: truncate, saturate at the type's limits, NaN gives 0. */
int64_t dtype_truncate(enum dtype dtype, double value);

/* One element from and to memory in this machine's byte order. Float types use the double... */
double dtype_load_float(enum dtype dtype, const void *at);
void dtype_store_float(enum dtype dtype, void *at, double value); /* rounds */
/* The same for many in a row. */
void dtype_load_floats(enum dtype dtype, const void *from, int64_t count, double *to);
void dtype_store_floats(enum dtype dtype, const double *from, int64_t count, void *to);
/* ...integer types and bool the integer. */
int64_t dtype_load_integer(enum dtype dtype, const void *at);
void dtype_store_integer(enum dtype dtype, void *at, int64_t value); /* wraps */

#endif
