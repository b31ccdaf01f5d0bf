/*
 * The element types: names, sizes, and conversions that are exact in the sense of IEEE 754. A value
 * goes from double to its type in one rounding; nothing passes through a type in between.
 */
#include "ir/dtype.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum kind { KIND_FLOAT, KIND_INTEGER, KIND_BOOL };

static const struct {
    const char *name;
    enum kind kind;
    size_t bytes;
    enum dtype compute;
} TYPES[DTYPE_COUNT] = {
    [DTYPE_F64] = {"f64", KIND_FLOAT, 8, DTYPE_F64},
    [DTYPE_F32] = {"f32", KIND_FLOAT, 4, DTYPE_F32},
    [DTYPE_F16] = {"f16", KIND_FLOAT, 2, DTYPE_F32},
    [DTYPE_BF16] = {"bf16", KIND_FLOAT, 2, DTYPE_F32},
    [DTYPE_F8E4] = {"f8e4", KIND_FLOAT, 1, DTYPE_F32},
    [DTYPE_F8E5] = {"f8e5", KIND_FLOAT, 1, DTYPE_F32},
    [DTYPE_I64] = {"i64", KIND_INTEGER, 8, DTYPE_I64},
    [DTYPE_I32] = {"i32", KIND_INTEGER, 4, DTYPE_I64},
    [DTYPE_U32] = {"u32", KIND_INTEGER, 4, DTYPE_I64},
    [DTYPE_I16] = {"i16", KIND_INTEGER, 2, DTYPE_I64},
    [DTYPE_I8] = {"i8", KIND_INTEGER, 1, DTYPE_I64},
    [DTYPE_U8] = {"u8", KIND_INTEGER, 1, DTYPE_I64},
    [DTYPE_BOOL] = {"bool", KIND_BOOL, 1, DTYPE_BOOL},
};

/* A float type narrower than f32: sign, exponent, then `fraction` bits. */
struct format {
    int fraction;           /* stored bits of the fraction */
    int lowest, highest;    /* exponents of the least and the greatest normal value */
    double greatest;        /* the greatest finite value */
    bool infinities;        /* false: what overflows is NaN, and only the all-ones pattern is NaN */
    unsigned infinity_bits; /* the exponent field all ones */
    unsigned nan_bits;      /* the NaN that is written */
    unsigned sign_bit;
};

static const struct format FORMATS[DTYPE_COUNT] = {
    [DTYPE_F16] = {10, -14, 15, 65504.0, true, 0x7c00, 0x7e00, 0x8000},
    [DTYPE_BF16] = {7, -126, 127, 0x1.fep127, true, 0x7f80, 0x7fc0, 0x8000},
    [DTYPE_F8E4] = {3, -6, 8, 448.0, false, 0x78, 0x7f, 0x80},
    [DTYPE_F8E5] = {2, -14, 15, 57344.0, true, 0x7c, 0x7e, 0x80},
};

const char *dtype_name(enum dtype dtype)
{
    return TYPES[dtype].name;
}

bool dtype_parse(const char *name, enum dtype *dtype)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(TYPES[i].name, name) == 0) {
            *dtype = (enum dtype)i;
            return true;
        }
    }
    return false;
}

size_t dtype_bytes(enum dtype dtype)
{
    return TYPES[dtype].bytes;
}

bool dtype_is_float(enum dtype dtype)
{
    return TYPES[dtype].kind == KIND_FLOAT;
}

bool dtype_is_integer(enum dtype dtype)
{
    return TYPES[dtype].kind == KIND_INTEGER;
}

enum dtype dtype_compute(enum dtype dtype)
{
    return TYPES[dtype].compute;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 2^exponent, for a normal double. */
static double power_of_two(int exponent)
{
    return double_of((uint64_t)(exponent + 1023) << 52);
}

static double format_round(const struct format *format, double value)
{
    int exponent = (int)(bits_of(value) >> 52 & 0x7ff) - 1023;

    if (exponent > format->highest) { /* also infinities and NaN */
        if (isnan(value) || !format->infinities)
            return NAN;
        return copysign(INFINITY, value);
    }
    if (exponent < format->lowest)
        exponent = format->lowest;
    /*
     * Adding 1.5 * 2^52 units in the last place of the narrow type pushes everything below that
     * unit out of the double, and the hardware rounds it away to nearest, ties to even.
     */
    double push = 1.5 * power_of_two(exponent - format->fraction + 52);
    double rounded = copysign((fabs(value) + push) - push, value);

    if (fabs(rounded) > format->greatest)
        return format->infinities ? copysign(INFINITY, value) : NAN;
    return rounded;
}

double dtype_round(enum dtype dtype, double value)
{
    if (dtype == DTYPE_F32)
        return (float)value;
    if (FORMATS[dtype].fraction == 0)
        return value;
    return format_round(&FORMATS[dtype], value);
}

static unsigned format_encode(const struct format *format, double value)
{
    double rounded = format_round(format, value);
    unsigned sign = signbit(rounded) ? format->sign_bit : 0;

    if (isnan(rounded))
        return format->nan_bits;
    if (isinf(rounded))
        return sign | format->infinity_bits;
    /* In units of the least subnormal a subnormal is its own bits; a normal one has its exponent.
     */
    double size = fabs(rounded);
    int exponent = (int)(bits_of(size) >> 52) - 1023;
    unsigned field = 0;

    if (exponent >= format->lowest)
        field = (unsigned)(exponent - format->lowest);
    else
        exponent = format->lowest;
    unsigned significand = (unsigned)(size * power_of_two(format->fraction - exponent));
    return sign | ((field << format->fraction) + significand);
}

static double format_decode(const struct format *format, unsigned bits)
{
    unsigned size = bits & (format->sign_bit - 1);
    unsigned fraction = size & ((1u << format->fraction) - 1);
    unsigned field = size >> format->fraction;
    double value;

    if (format->infinities ? size > format->infinity_bits : size == format->nan_bits)
        return NAN;
    if (format->infinities && size == format->infinity_bits)
        value = INFINITY;
    else if (field == 0)
        value = fraction * power_of_two(format->lowest - format->fraction);
    else
        value = (fraction + (double)(1u << format->fraction)) *
                power_of_two((int)field - 1 + format->lowest - format->fraction);
    return bits & format->sign_bit ? -value : value;
}

int64_t dtype_wrap(enum dtype dtype, int64_t value)
{
    switch (dtype) {
    case DTYPE_I32: return (int32_t)(uint32_t)value;
    case DTYPE_U32: return (uint32_t)value;
    case DTYPE_I16: return (int16_t)(uint16_t)value;
    case DTYPE_I8: return (int8_t)(uint8_t)value;
    case DTYPE_U8: return (uint8_t)value;
    case DTYPE_BOOL: return value != 0;
    default: return value;
    }
}

int64_t dtype_truncate(enum dtype dtype, double value)
{
    int64_t low = INT64_MIN, high = INT64_MAX;

    switch (dtype) {
    case DTYPE_I32: low = INT32_MIN, high = INT32_MAX; break;
    case DTYPE_U32: low = 0, high = UINT32_MAX; break;
    case DTYPE_I16: low = INT16_MIN, high = INT16_MAX; break;
    case DTYPE_I8: low = INT8_MIN, high = INT8_MAX; break;
    case DTYPE_U8: low = 0, high = UINT8_MAX; break;
    case DTYPE_BOOL: return value != 0;
    default: break;
    }
    if (isnan(value))
        return 0;
    /* (double)INT64_MAX is 2^63, which does not fit, so >= is right for every type. */
    if (value >= (double)high)
        return high;
    if (value <= (double)low)
        return low;
    return (int64_t)value;
}

double dtype_load_float(enum dtype dtype, const void *at)
{
    double number;
    float single;
    uint16_t half;
    uint8_t byte;

    switch (dtype) {
    case DTYPE_F64: memcpy(&number, at, sizeof number); return number;
    case DTYPE_F32: memcpy(&single, at, sizeof single); return single;
    case DTYPE_F16:
    case DTYPE_BF16: memcpy(&half, at, sizeof half); return format_decode(&FORMATS[dtype], half);
    default: memcpy(&byte, at, sizeof byte); return format_decode(&FORMATS[dtype], byte);
    }
}

void dtype_store_float(enum dtype dtype, void *at, double value)
{
    float single;
    uint16_t half;
    uint8_t byte;

    switch (dtype) {
    case DTYPE_F64: memcpy(at, &value, sizeof value); return;
    case DTYPE_F32:
        single = (float)value;
        memcpy(at, &single, sizeof single);
        return;
    case DTYPE_F16:
    case DTYPE_BF16:
        half = (uint16_t)format_encode(&FORMATS[dtype], value);
        memcpy(at, &half, sizeof half);
        return;
    default:
        byte = (uint8_t)format_encode(&FORMATS[dtype], value);
        memcpy(at, &byte, sizeof byte);
        return;
    }
}

void dtype_load_floats(enum dtype dtype, const void *from, int64_t count, double *to)
{
    const char *at = from;
    size_t width = dtype_bytes(dtype);
    for (int64_t i = 0; i < count && dtype == DTYPE_F32; i++) {
        float single;
        memcpy(&single, at + (size_t)i * sizeof single, sizeof single);
        to[i] = single;
    }
    for (int64_t i = 0; i < count && dtype != DTYPE_F32; i++)
        to[i] = dtype_load_float(dtype, at + (size_t)i * width);
}

void dtype_store_floats(enum dtype dtype, const double *from, int64_t count, void *to)
{
    char *at = to;
    size_t width = dtype_bytes(dtype);
    for (int64_t i = 0; i < count && dtype == DTYPE_F32; i++) {
        float single = (float)from[i];
        memcpy(at + (size_t)i * sizeof single, &single, sizeof single);
    }
    for (int64_t i = 0; i < count && dtype != DTYPE_F32; i++)
        dtype_store_float(dtype, at + (size_t)i * width, from[i]);
}

int64_t dtype_load_integer(enum dtype dtype, const void *at)
{
    int64_t wide = 0;
    uint32_t word = 0;
    uint16_t half = 0;
    uint8_t byte = 0;

    switch (dtype_bytes(dtype)) {
    case 8: memcpy(&wide, at, sizeof wide); return wide;
    case 4: memcpy(&word, at, sizeof word); return dtype_wrap(dtype, word);
    case 2: memcpy(&half, at, sizeof half); return dtype_wrap(dtype, half);
    default: memcpy(&byte, at, sizeof byte); return dtype_wrap(dtype, byte);
    }
}

void dtype_store_integer(enum dtype dtype, void *at, int64_t value)
{
    int64_t wide = dtype_wrap(dtype, value);
    uint32_t word = (uint32_t)wide;
    uint16_t half = (uint16_t)wide;
    uint8_t byte = (uint8_t)wide;

    switch (dtype_bytes(dtype)) {
    case 8: memcpy(at, &wide, sizeof wide); return;
    case 4: memcpy(at, &word, sizeof word); return;
    case 2: memcpy(at, &half, sizeof half); return;
    default: memcpy(at, &byte, sizeof byte); return;
    }
}
