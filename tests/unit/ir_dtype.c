/* Element types: every bit pattern, every midpoint, every threshold of the narrow floats. */
#include "ir/dtype.h"

#include <math.h>
#include <string.h>

#include "test.h"

static double load_bits(enum dtype dtype, unsigned bits)
{
    uint16_t half = (uint16_t)bits;
    uint8_t byte = (uint8_t)bits;

    return dtype_load_float(dtype, dtype_bytes(dtype) == 2 ? (void *)&half : (void *)&byte);
}

static unsigned store_bits(enum dtype dtype, double value)
{
    uint16_t half = 0;
    uint8_t byte = 0;

    dtype_store_float(dtype, dtype_bytes(dtype) == 2 ? (void *)&half : (void *)&byte, value);
    return dtype_bytes(dtype) == 2 ? half : byte;
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static unsigned sign_of(enum dtype dtype)
{
    return dtype_bytes(dtype) == 2 ? 0x8000 : 0x80;
}

/* What is read from memory is written back unchanged, NaN apart (all NaNs are alike). */
static void check_patterns(enum dtype dtype)
{
    for (unsigned bits = 0; bits < 2 * sign_of(dtype); bits++) {
        double value = load_bits(dtype, bits);
        CHECK(same(dtype_round(dtype, value), value));
        if (isnan(value))
            CHECK(isnan(load_bits(dtype, store_bits(dtype, value))));
        else
            CHECK_INT(store_bits(dtype, value), bits);
    }
}

/* Between two neighbours the nearer one is taken, and the even one from the middle. */
static void check_midpoints(enum dtype dtype)
{
    unsigned sign = sign_of(dtype);

    for (unsigned bits = 0; bits + 1 < sign; bits++) {
        double low = load_bits(dtype, bits), high = load_bits(dtype, bits + 1);
        if (!isfinite(low) || !isfinite(high))
            break;
        double middle = (low + high) / 2, even = bits % 2 == 0 ? low : high;
        CHECK(low < middle && middle < high);
        CHECK(same(dtype_round(dtype, middle), even));
        CHECK(same(dtype_round(dtype, -middle), -even));
        CHECK(same(dtype_round(dtype, nextafter(middle, INFINITY)), high));
        CHECK(same(dtype_round(dtype, nextafter(middle, 0)), low));
        CHECK(same(dtype_round(dtype, -nextafter(middle, 0)), -low));
        CHECK_INT(store_bits(dtype, -nextafter(middle, INFINITY)), sign | (bits + 1));
        CHECK_INT(store_bits(dtype, middle), bits % 2 == 0 ? bits : bits + 1);
    }
}

/* `limit` is the least size that does not round to the greatest value. */
static void check_overflow(enum dtype dtype, double greatest, double limit, bool limit_is_over)
{
    double over = dtype == DTYPE_F8E4 ? NAN : INFINITY;

    CHECK(same(dtype_round(dtype, greatest), greatest));
    CHECK(same(dtype_round(dtype, nextafter(limit, 0)), greatest));
    CHECK(same(dtype_round(dtype, limit), limit_is_over ? over : greatest));
    CHECK(same(dtype_round(dtype, -limit), limit_is_over ? -over : -greatest));
    CHECK(same(dtype_round(dtype, nextafter(limit, INFINITY)), over));
    CHECK(same(dtype_round(dtype, 1e300), over));
    CHECK(same(dtype_round(dtype, -INFINITY), -over));
    CHECK(isnan(dtype_round(dtype, NAN)));
    CHECK(isnan(dtype_round(dtype, -NAN)));
    CHECK(isnan(load_bits(dtype, store_bits(dtype, NAN))));
    CHECK(same(load_bits(dtype, store_bits(dtype, -1e300)), -over));
}

TEST(dtype_every_pattern_returns)
{
    check_patterns(DTYPE_F16);
    check_patterns(DTYPE_BF16);
    check_patterns(DTYPE_F8E4);
    check_patterns(DTYPE_F8E5);
}

TEST(dtype_every_midpoint_goes_to_even)
{
    check_midpoints(DTYPE_F16);
    check_midpoints(DTYPE_BF16);
    check_midpoints(DTYPE_F8E4);
    check_midpoints(DTYPE_F8E5);
}

TEST(dtype_overflow_thresholds)
{
    check_overflow(DTYPE_F16, 65504, 65520, true);
    check_overflow(DTYPE_BF16, 0x1.fep127, 0x1.ffp127, true);
    check_overflow(DTYPE_F8E4, 448, 464, false);
    check_overflow(DTYPE_F8E5, 57344, 61440, true);
}

/* Known values, so that the loops above cannot all be wrong in the same way. */
TEST(dtype_known_values)
{
    CHECK(load_bits(DTYPE_F16, 0x3c00) == 1);
    CHECK(load_bits(DTYPE_F16, 0x0001) == 0x1p-24);
    CHECK(load_bits(DTYPE_F16, 0x7bff) == 65504);
    CHECK(load_bits(DTYPE_F16, 0xfc00) == -INFINITY);
    CHECK(load_bits(DTYPE_BF16, 0x4049) == 3.140625);
    CHECK(load_bits(DTYPE_BF16, 0x0001) == 0x1p-133);
    CHECK(load_bits(DTYPE_F8E4, 0x7e) == 448);
    CHECK(load_bits(DTYPE_F8E4, 0x78) == 256);
    CHECK(load_bits(DTYPE_F8E4, 0x01) == 0x1p-9);
    CHECK(isnan(load_bits(DTYPE_F8E4, 0xff)));
    CHECK(load_bits(DTYPE_F8E5, 0x7b) == 57344);
    CHECK(load_bits(DTYPE_F8E5, 0x01) == 0x1p-16);
    CHECK(load_bits(DTYPE_F8E5, 0x7c) == INFINITY);
    CHECK(isnan(load_bits(DTYPE_F8E5, 0x7d)));
    CHECK_INT(store_bits(DTYPE_F16, 1.0 / 3), 0x3555);
    CHECK_INT(store_bits(DTYPE_BF16, 1.0 / 3), 0x3eab);
    CHECK_INT(store_bits(DTYPE_F16, -0.0), 0x8000);
}

/* Through f32 this would first round up to a tie and then to even: off by one unit. */
TEST(dtype_rounds_once)
{
    double value = 1 + 0x1p-11 + 0x1p-40;

    CHECK(dtype_round(DTYPE_F16, value) == 1 + 0x1p-10);
    CHECK((double)(float)value == 1 + 0x1p-11);
}

TEST(dtype_tiny_values_keep_their_sign)
{
    for (int dtype = DTYPE_F32; dtype <= DTYPE_F8E5; dtype++) {
        CHECK(same(dtype_round((enum dtype)dtype, -4.9e-324), -0.0));
        CHECK(same(dtype_round((enum dtype)dtype, 4.9e-324), 0.0));
        CHECK(same(dtype_round((enum dtype)dtype, -0.0), -0.0));
    }
}

TEST(dtype_f32_and_f64)
{
    CHECK(same(dtype_round(DTYPE_F64, 0.1), 0.1));
    CHECK(same(dtype_round(DTYPE_F32, 0.1), (double)0.1f));
    CHECK(same(dtype_round(DTYPE_F32, 0x1.ffffffp127), INFINITY));
    CHECK(same(dtype_round(DTYPE_F32, nextafter(0x1.ffffffp127, 0)), 0x1.fffffep127));
    CHECK(same(dtype_round(DTYPE_F32, 0x1p-150), 0.0));
    CHECK(same(dtype_round(DTYPE_F32, nextafter(0x1p-150, 1)), 0x1p-149));
    float single = 0;
    dtype_store_float(DTYPE_F32, &single, 0.1);
    CHECK(single == 0.1f && dtype_load_float(DTYPE_F32, &single) == (double)0.1f);
}

TEST(dtype_integers_wrap)
{
    CHECK_INT(dtype_wrap(DTYPE_I8, 128), -128);
    CHECK_INT(dtype_wrap(DTYPE_U8, -1), 255);
    CHECK_INT(dtype_wrap(DTYPE_I16, 0x18000), -32768);
    CHECK_INT(dtype_wrap(DTYPE_I32, INT64_C(1) << 31), INT32_MIN);
    CHECK_INT(dtype_wrap(DTYPE_U32, -1), UINT32_MAX);
    CHECK_INT(dtype_wrap(DTYPE_I64, INT64_MIN), INT64_MIN);
    CHECK_INT(dtype_wrap(DTYPE_BOOL, 256), 1);
}

TEST(dtype_truncate_saturates)
{
    CHECK_INT(dtype_truncate(DTYPE_I32, -2.9), -2);
    CHECK_INT(dtype_truncate(DTYPE_I32, 1e10), INT32_MAX);
    CHECK_INT(dtype_truncate(DTYPE_I32, -1e10), INT32_MIN);
    CHECK_INT(dtype_truncate(DTYPE_U8, -0.5), 0);
    CHECK_INT(dtype_truncate(DTYPE_U8, 255.9), 255);
    CHECK_INT(dtype_truncate(DTYPE_U32, 4294967295.0), UINT32_MAX);
    CHECK_INT(dtype_truncate(DTYPE_I64, 0x1p63), INT64_MAX);
    CHECK_INT(dtype_truncate(DTYPE_I64, -0x1p63), INT64_MIN);
    CHECK_INT(dtype_truncate(DTYPE_I64, -INFINITY), INT64_MIN);
    CHECK_INT(dtype_truncate(DTYPE_I64, NAN), 0);
    CHECK_INT(dtype_truncate(DTYPE_BOOL, 0.5), 1);
}

TEST(dtype_integers_in_memory)
{
    static const int64_t samples[] = {0,     1,      -1,         127,       -128,     255,
                                      32767, -32768, 0x7fffffff, INT64_MIN, INT64_MAX};

    for (int dtype = DTYPE_I64; dtype <= DTYPE_BOOL; dtype++) {
        for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
            unsigned char memory[9] = {0};
            dtype_store_integer((enum dtype)dtype, memory + 1, samples[i]); /* unaligned */
            CHECK_INT(dtype_load_integer((enum dtype)dtype, memory + 1),
                      dtype_wrap((enum dtype)dtype, samples[i]));
        }
    }
}

TEST(dtype_names)
{
    enum dtype found = DTYPE_COUNT;

    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        CHECK(dtype_parse(dtype_name((enum dtype)dtype), &found));
        CHECK_INT(found, dtype);
        CHECK_INT(dtype_is_float((enum dtype)dtype), dtype <= DTYPE_F8E5);
        CHECK_INT(dtype_is_integer((enum dtype)dtype), dtype > DTYPE_F8E5 && dtype < DTYPE_BOOL);
    }
    CHECK(!dtype_parse("f31", &found));
    CHECK(!dtype_parse("", &found));
    CHECK_INT(dtype_compute(DTYPE_F8E4), DTYPE_F32);
    CHECK_INT(dtype_compute(DTYPE_U8), DTYPE_I64);
}

TEST(dtype_many_are_as_one)
{
    static const double values[] = {0.1, -0.0, 1e30, INFINITY, -3.3e-5, NAN, 448, 7};
    enum { COUNT = sizeof values / sizeof *values };
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        char many[COUNT * 8], one[COUNT * 8];
        double back[COUNT];
        if (!dtype_is_float((enum dtype)dtype))
            continue;
        size_t width = dtype_bytes((enum dtype)dtype);
        dtype_store_floats((enum dtype)dtype, values, COUNT, many);
        dtype_load_floats((enum dtype)dtype, many, COUNT, back);
        for (int i = 0; i < COUNT; i++) {
            dtype_store_float((enum dtype)dtype, one + (size_t)i * width, values[i]);
            CHECK(same(back[i], dtype_load_float((enum dtype)dtype, one + (size_t)i * width)));
        }
        CHECK(memcmp(many, one, COUNT * width) == 0);
    }
}
