/*
 * Pieces: functions of mathematics on doubles, roots, and libm's, lane by lane, for what has no
 * text of its own.
 */
#include "gen/c/vector.h"

#include <stddef.h>

#define FLOATS "f32 f64"

#define BY_LANE(name)                            \
    {                                            \
        name, FLOATS, 0,                         \
            "INLINE $V $V_" name "($V a)\n"      \
            "{\n"                                \
            "    for (int i = 0; i < $N; i++)\n" \
            "        a[i] = " name "$@(a[i]);\n" \
            "    return a;\n"                    \
            "}\n"                                \
    }
#define BY_LANE_2(name)                                \
    {                                                  \
        name, FLOATS, 0,                               \
            "INLINE $V $V_" name "($V a, $V b)\n"      \
            "{\n"                                      \
            "    for (int i = 0; i < $N; i++)\n"       \
            "        a[i] = " name "$@(a[i], b[i]);\n" \
            "    return a;\n"                          \
            "}\n"                                      \
    }

const struct vector_piece vector_libm[] = {
    /* ---- doubles ---- */
    {"scale", "f64", 0,
     "/* a * 2^n for whole n within 2000 of 0, in two steps. */\n"
     "INLINE $V $V_scale($V a, $V n)\n"
     "{\n"
     "    const $I whole = __builtin_convertvector(n, $I), half = whole >> 1;\n"
     "    return a * ($V)((half + 1023) << 52) * ($V)((whole - half + 1023) << 52);\n"
     "}\n"},
    {"exp", "f64", 0,
     "/* e^a = 2^n e^r, |r| <= ln(2) / 2. */\n"
     "INLINE $V $V_exp($V a)\n"
     "{\n"
     "    a = $V_at_most($V_at_least(a, -746.0), 710.0); /* beyond, the result is 0 or infinite "
     "*/\n"
     "    const $V n = (a * 1.4426950408889634 + 0x1.8p52) - 0x1.8p52;\n"
     "    const $V r = a - n * 0x1.62e42feep-1 - n * 0x1.a39ef35793c76p-33; /* ln(2) in two parts "
     "*/\n"
     "    $V p = r * (1.0 / 479001600) + 1.0 / 39916800;\n"
     "    p = p * r + 1.0 / 3628800;\n"
     "    p = p * r + 1.0 / 362880;\n"
     "    p = p * r + 1.0 / 40320;\n"
     "    p = p * r + 1.0 / 5040;\n"
     "    p = p * r + 1.0 / 720;\n"
     "    p = p * r + 1.0 / 120;\n"
     "    p = p * r + 1.0 / 24;\n"
     "    p = p * r + 1.0 / 6;\n"
     "    p = p * r + 0.5;\n"
     "    p = (p * r) * r + r + 1.0;\n"
     "    return $V_scale(p, n);\n"
     "}\n"},
    {"log_finish", "f64", 0,
     "/* The logarithm where a is a positive number; -inf at 0, NaN below, others stay. */\n"
     "INLINE $V $V_log_finish($V a, $V result)\n"
     "{\n"
     "    const $I plain = (a > 0) & (a < INFINITY), zero = a == 0, below = a < 0;\n"
     "    const $I other = (zero & ($I)$V_splat(-INFINITY)) | (below & ($I)$V_splat(NAN)) |\n"
     "                     (~(zero | below) & ($I)a);\n"
     "    return ($V)((plain & ($I)result) | (~plain & other));\n"
     "}\n"},
    {"log", "f64", 0,
     "INLINE $V $V_log($V a)\n"
     "{\n"
     "    const $I tiny = a < 0x1p-1022;\n"
     "    const $V scaled = ($V)((tiny & ($I)(a * 0x1p54)) | (~tiny & ($I)a));\n"
     "    const $I bits = ($I)scaled - 0x3fe6a09e667f3bcd; /* sqrt(1/2) */\n"
     "    const $V e = __builtin_convertvector((bits >> 52) - (tiny & 54), $V);\n"
     "    const $V f = ($V)((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;\n"
     "    const $V s = f / (f + 2.0), z = s * s, square = 0.5 * f * f;\n"
     "    $V p = z * (2.0 / 21) + 2.0 / 19;\n"
     "    p = p * z + 2.0 / 17;\n"
     "    p = p * z + 2.0 / 15;\n"
     "    p = p * z + 2.0 / 13;\n"
     "    p = p * z + 2.0 / 11;\n"
     "    p = p * z + 2.0 / 9;\n"
     "    p = p * z + 2.0 / 7;\n"
     "    p = p * z + 2.0 / 5;\n"
     "    p = p * z + 2.0 / 3;\n"
     "    /* log(1 + f) = f - (f^2 / 2 - s (f^2 / 2 + z p)) */\n"
     "    const $V low = s * (square + z * p) + e * 0x1.a39ef35793c76p-33;\n"
     "    const $V result = (f - (square - low)) + e * 0x1.62e42feep-1;\n"
     "    return $V_log_finish(a, result);\n"
     "}\n"},
    /* ---- roots ---- */
    {"sqrt", "f32", 64,
     "INLINE $V $V_sqrt($V a)\n"
     "{\n"
     "#if defined __AVX512F__ && !defined __clang__\n"
     "    return __builtin_ia32_sqrtps512_mask(a, a, -1, 4);\n"
     "#elif defined __AVX512F__\n"
     "    return __builtin_ia32_sqrtps512(a, 4);\n"
     "#else\n"
     "    for (int i = 0; i < $N; i++)\n"
     "        a[i] = sqrt$@(a[i]);\n"
     "    return a;\n"
     "#endif\n"
     "}\n"},
    {"sqrt", "f64", 64,
     "INLINE $V $V_sqrt($V a)\n"
     "{\n"
     "#if defined __AVX512F__ && !defined __clang__\n"
     "    return __builtin_ia32_sqrtpd512_mask(a, a, -1, 4);\n"
     "#elif defined __AVX512F__\n"
     "    return __builtin_ia32_sqrtpd512(a, 4);\n"
     "#else\n"
     "    for (int i = 0; i < $N; i++)\n"
     "        a[i] = sqrt$@(a[i]);\n"
     "    return a;\n"
     "#endif\n"
     "}\n"},
    {"sqrt", "f32", 32,
     "INLINE $V $V_sqrt($V a)\n"
     "{\n"
     "#ifdef __AVX__\n"
     "    return __builtin_ia32_sqrtps256(a);\n"
     "#else\n"
     "    for (int i = 0; i < $N; i++)\n"
     "        a[i] = sqrt$@(a[i]);\n"
     "    return a;\n"
     "#endif\n"
     "}\n"},
    {"sqrt", "f64", 32,
     "INLINE $V $V_sqrt($V a)\n"
     "{\n"
     "#ifdef __AVX__\n"
     "    return __builtin_ia32_sqrtpd256(a);\n"
     "#else\n"
     "    for (int i = 0; i < $N; i++)\n"
     "        a[i] = sqrt$@(a[i]);\n"
     "    return a;\n"
     "#endif\n"
     "}\n"},
    {"sqrt", "f32", 128,
     "INLINE $V $V_sqrt($V a)\n"
     "{\n"
     "    return $V_join($H_sqrt($V_low(a)), $H_sqrt($V_high(a)));\n"
     "}\n"},
    {"sqrt", "f64", 128,
     "INLINE $V $V_sqrt($V a)\n"
     "{\n"
     "    return $V_join($H_sqrt($V_low(a)), $H_sqrt($V_high(a)));\n"
     "}\n"},
    /* ---- the rest: libm, lane by lane ---- */
    BY_LANE("sqrt"),
    BY_LANE("exp"),
    BY_LANE("exp2"),
    BY_LANE("expm1"),
    BY_LANE("log"),
    BY_LANE("log2"),
    BY_LANE("log10"),
    BY_LANE("log1p"),
    BY_LANE("cbrt"),
    BY_LANE("sin"),
    BY_LANE("cos"),
    BY_LANE("tan"),
    BY_LANE("asin"),
    BY_LANE("acos"),
    BY_LANE("atan"),
    BY_LANE("sinh"),
    BY_LANE("cosh"),
    BY_LANE("tanh"),
    BY_LANE("asinh"),
    BY_LANE("acosh"),
    BY_LANE("atanh"),
    BY_LANE("erf"),
    BY_LANE("erfc"),
    BY_LANE("lgamma"),
    BY_LANE("tgamma"),
    BY_LANE_2("pow"),
    BY_LANE_2("atan2"),
    BY_LANE_2("fmod"),
    BY_LANE_2("hypot"),
    {NULL, NULL, 0, NULL},
};
