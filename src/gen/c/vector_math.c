/*
 * Pieces: functions of mathematics on floats. Those of doubles, roots and what libm does lane by
 * lane are in vector_libm.c.
 *
 * No branches but for values hardly anybody has. Arguments are reduced to a small range, where a
 * polynomial (fitted by the exchange algorithm, relative error below 2^-26) does the rest. They are
 * right at zeros, infinities, NaN and subnormal numbers; docs/math.md says how far off they are at
 * most, over all floats.
 */
#include "gen/c/vector.h"

#include <stddef.h>

/* e^r = 1 + r + p r^2 for |r| <= ln(2) / 2. */
#define EXP_SERIES                                      \
    "    $V p = r * 0.00138145406f + 0.00836874731f;\n" \
    "    p = p * r + 0.0416683927f;\n"                  \
    "    p = p * r + 0.166665196f;\n"                   \
    "    p = p * r + 0.49999994f;\n"
#define EXP_END "    p = (p * r + 1.0f) * r + 1.0f;\n"
/* log(1 + f) = f - f^2 / 2 + p f^3. */
#define LOG_SERIES                                 \
    "    $V p = f * 0.069160566f + -0.1179024f;\n" \
    "    p = p * f + 0.118728995f;\n"              \
    "    p = p * f + -0.12384276f;\n"              \
    "    p = p * f + 0.1421866f;\n"                \
    "    p = p * f + -0.16669254f;\n"              \
    "    p = p * f + 0.20002227f;\n"               \
    "    p = p * f + -0.24999987f;\n"              \
    "    p = p * f + 0.3333331f;\n"

/* What works without a way to look numbers up in a register. */
#define EXP                                                                                       \
    "    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */\n" \
    "    a = $V_at_most($V_at_least(a, -104.0f), 89.0f); /* beyond, the result is 0 or infinite " \
    "*/\n"                                                                                        \
    "    const $V n = (a * 1.44269504f + magic) - magic;\n"                                       \
    "    const $V r = a - n * 0.693359375f + n * 2.12194440e-4f;\n" EXP_SERIES EXP_END            \
    "    return $V_scale(p, n);\n"

/* erf(x) / x, even and smooth, as a number that it comes near to and a quotient that vanishes
 * there: where the result is nearly 1, what is lost in the quotient is lost in little. */
#define ERF                                                                               \
    "    const $V x = $V_at_most($V_at_least(a, -3.93f), 3.93f); /* beyond, it is 1 */\n" \
    "    const $V z = x * x;\n"                                                           \
    "    $V p = z * -7.59193472e-06f + -1.05683239e-05f;\n"                               \
    "    $V q = z * 3.80034944e-05f + 0.0011651665f;\n"                                   \
    "    p = p * z + -2.23222378e-05f;\n"                                                 \
    "    q = q * z + 0.0149971126f;\n"                                                    \
    "    p = p * z + 0.0238258503f;\n"                                                    \
    "    q = q * z + 0.114256084f;\n"                                                     \
    "    p = p * z + 0.0634201989f;\n"                                                    \
    "    q = q * z + 0.502407551f;\n"                                                     \
    "    p = p * z + 0.874879122f;\n"                                                     \
    "    q = q * z + 1.0f;\n"                                                             \
    "    return x * (p / q) + x * 0.253500015f;\n"

const struct vector_piece vector_math[] = {
    /* ---- powers ---- */
    {"scale", "f32", 64,
     "/* a * 2^n for whole n within 300 of 0. */\n"
     "INLINE $V $V_scale($V a, $V n)\n"
     "{\n"
     "#ifdef __AVX512F__\n"
     "    return __builtin_ia32_scalefps512_mask(a, n, a, -1, 4);\n"
     "#else\n"
     "    const $I whole = __builtin_convertvector(n, $I), half = whole >> 1;\n"
     "    return a * ($V)((half + 127) << 23) * ($V)((whole - half + 127) << 23);\n"
     "#endif\n"
     "}\n"},
    {"scale", "f32", 0,
     "/* a * 2^n for whole n within 250 of 0, in two steps. */\n"
     "INLINE $V $V_scale($V a, $V n)\n"
     "{\n"
     "    const $I whole = __builtin_convertvector(n, $I), half = whole >> 1;\n"
     "    return a * ($V)((half + 127) << 23) * ($V)((whole - half + 127) << 23);\n"
     "}\n"},
    {"lookup", "f32", 64,
     "/* The number that the last 4 bits of each lane's `place` say. */\n"
     "#ifdef __AVX512F__\n"
     "INLINE $V $V_lookup($V numbers, $I place)\n"
     "{\n"
     "#ifdef __clang__\n"
     "    return __builtin_ia32_permvarsf512(numbers, place);\n"
     "#else\n"
     "    return __builtin_ia32_permvarsf512_mask(numbers, place, numbers, -1);\n"
     "#endif\n"
     "}\n"
     "#endif\n"},
    {"lookup_2", "f32", 64,
     "/* The number that the last 5 bits of each lane's `place` say, of 32. */\n"
     "#ifdef __AVX512F__\n"
     "INLINE $V $V_lookup_2($V low, $V high, $I place)\n"
     "{\n"
     "#ifdef __clang__\n"
     "    return __builtin_ia32_vpermi2varps512(low, place, high);\n"
     "#else\n"
     "    return __builtin_ia32_vpermt2varps512_mask(place, low, high, -1);\n"
     "#endif\n"
     "}\n"
     "#endif\n"},
    {"fours", "f32", 32,
     "/* The same four numbers in both halves, as lookup wants them. */\n"
     "INLINE $V $V_fours($E a, $E b, $E c, $E d) { return ($V){a, b, c, d, a, b, c, d}; }\n"},
    {"lookup", "f32", 32,
     "/* The number that the last 2 bits of each lane's `place` say, of the four in each half. */\n"
     "#ifdef __AVX__\n"
     "INLINE $V $V_lookup($V numbers, $I place)\n"
     "{\n"
     "    return __builtin_ia32_vpermilvarps256(numbers, place);\n"
     "}\n"
     "#endif\n"},
    {"exp", "f32", 64,
     "#ifdef HAS_MASKS\n"
     "/* e^a = 2^n 2^(k/16) e^r, |r| <= ln(2) / 32. Where a is so large that r is nonsense, n "
     "alone\n"
     "   makes the result 0, infinite or NaN. */\n"
     "INLINE $V $V_exp($V a)\n"
     "{\n"
     "    const float magic = 786432.0f; /* 1.5 * 2^19: adding it rounds to 16ths */\n"
     "    const $V roots = {\n"
     "        1.0f, 1.04427373f, 1.09050775f, 1.13878858f,\n"
     "        1.18920708f, 1.24185777f, 1.29683959f, 1.35425556f,\n"
     "        1.41421354f, 1.47682619f, 1.54221082f, 1.61049032f,\n"
     "        1.68179286f, 1.75625217f, 1.8340081f, 1.91520655f};\n"
     "    const $V shifted = a * 1.44269504f + magic, n = shifted - magic;\n"
     "    const $V rest = a - n * 0.693359375f + n * 2.12194440e-4f;\n"
     "    const $V r = __builtin_ia32_rangeps512_mask(rest, $V_splat(0.03f), 2, rest, -1, 4);\n"
     "    const $V p = ((r * 0.16666667f + 0.5f) * r) * r + r;\n"
     "    const $V root = $V_lookup(roots, ($I)shifted);\n"
     "    return __builtin_ia32_scalefps512_mask(root * p + root, n, a, -1, 4);\n"
     "}\n"
     "#else\n"
     "/* e^a = 2^n e^r, |r| <= ln(2) / 2. */\n"
     "INLINE $V $V_exp($V a)\n"
     "{\n" EXP "}\n"
     "#endif\n"},
    /* Inlined at every use it would be a fifth of what the compiler has to do. */
    {"exp_far", "f32", 32,
     "#ifdef __AVX__\n"
     "static __attribute__((noinline, cold, unused)) $V $V_exp_far($V a)\n"
     "#else\n"
     "INLINE $V $V_exp_far($V a)\n"
     "#endif\n"
     "{\n" EXP "}\n"},
    {"exp", "f32", 32,
     "/* e^a = 2^n 2^(k/4) e^r, |r| <= ln(2) / 8, where no result is 0, infinite or subnormal. The "
     "number\n"
     "   that k looks up becomes 2^n 2^(k/4) when 4 n + k is added to its exponent, two bits "
     "lower. "
     "*/\n"
     "INLINE $V $V_exp($V a)\n"
     "{\n"
     "#ifdef __AVX2__\n"
     "    const float magic = 3145728.0f; /* 1.5 * 2^21: adding it rounds to quarters */\n"
     "    const $V roots = $V_fours(1.0f, 0x1.f06fep-1f, 0x1.ea09e6p-1f, 0x1.ee89fap-1f);\n"
     "    const $V shifted = a * 1.44269504f + magic, n = shifted - magic;\n"
     "    const $V r = a - n * 0.693359375f + n * 2.12194440e-4f;\n"
     "    $V p = r * 0.0416684635f + 0.166720688f;\n"
     "    p = (p * r + 0.5f) * r + 1.0f;\n"
     "    const $I near = ($V)(($I)a & 0x7fffffff) <= 87.0f;\n"
     "    const $I root = ($I)$V_lookup(roots, ($I)shifted);\n"
     "    const $V power = ($V)(root + (($I)shifted << 21));\n"
     "    if (__builtin_expect(__builtin_ia32_movmskps256(($V)near) == 255, 1))\n"
     "        return power * (p * r) + power;\n"
     "#endif\n"
     "    return $V_exp_far(a);\n"
     "}\n"},
    {"exp", "f32", 0,
     "/* e^a = 2^n e^r, |r| <= ln(2) / 2. */\n"
     "INLINE $V $V_exp($V a)\n"
     "{\n" EXP "}\n"},
    {"decay", "f32", 64,
     "#ifdef HAS_MASKS\n"
     "/* e^-a = 2^n 2^(k/32) 2^f, |f| <= 1/64, for a from 0 on; where a is so large that f is "
     "nonsense\n"
     "   the result is 0, infinite or NaN. The product with log2(e) is not rounded before n is "
     "taken off. */\n"
     "INLINE $V $V_decay($V a)\n"
     "{\n"
     "    const float magic = 393216.0f; /* 1.5 * 2^18: adding it rounds to 32nds */\n"
     "    const $V low = {\n"
     "        1.0f, 1.02189715f, 1.04427378f, 1.06714046f,\n"
     "        1.0905077f, 1.11438674f, 1.1387886f, 1.1637249f,\n"
     "        1.1892071f, 1.2152474f, 1.2418578f, 1.269051f,\n"
     "        1.2968396f, 1.32523664f, 1.3542555f, 1.38391f};\n"
     "    const $V high = {\n"
     "        1.41421356f, 1.4451808f, 1.47682615f, 1.5091644f,\n"
     "        1.5422108f, 1.57598085f, 1.6104903f, 1.6457555f,\n"
     "        1.6817928f, 1.7186193f, 1.7562522f, 1.7947091f,\n"
     "        1.8340081f, 1.87416763f, 1.9152066f, 1.9571441f};\n"
     "    const $V shifted = magic - a * 1.44269504f, n = shifted - magic;\n"
     "    const $V f = -(a * 1.44269504f) - n;\n"
     "    const $V p = f * 0.240226761f + 0.693157315f;\n"
     "    const $V root = $V_lookup_2(low, high, ($I)shifted);\n"
     "    return __builtin_ia32_scalefps512_mask(root * (f * p) + root, n, a, -1, 4);\n"
     "}\n"
     "#else\n"
     "INLINE $V $V_decay($V a) { return $V_exp(-a); }\n"
     "#endif\n"},
    {"decay", "f32", 0,
     "/* e^-a = 2^n 2^f, |f| <= 1/2, for a between 0 and 87. The product with log2(e) is not "
     "rounded "
     "before\n"
     "   n is taken off; what log2(e) itself is rounded by is less than what a is. */\n"
     "INLINE $V $V_decay($V a)\n"
     "{\n"
     "    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */\n"
     "    const $V shifted = magic - a * 1.44269504f;\n"
     "    const $V f = (magic - shifted) - a * 1.44269504f;\n"
     "    $V p = f * 0.00132647273f + 0.00967151299f;\n"
     "    p = p * f + 0.0555073358f;\n"
     "    p = p * f + 0.240222424f;\n"
     "    p = p * f + 0.693147004f;\n"
     "    p = p * f + 1.0f;\n"
     "    return ($V)(($I)p + (($I)shifted << 23));\n"
     "}\n"},
    {"farther", "f32", 32,
     "/* Of bits the greater number: NaN and what is below 0 go before numbers. */\n"
     "INLINE $V $V_farther($V a, $V b)\n"
     "{\n"
     "#ifdef __AVX2__\n"
     "    return ($V)__builtin_ia32_pmaxud256(($I)a, ($I)b);\n"
     "#else\n"
     "    const $I first = ($I)(($U)a > ($U)b);\n"
     "    return ($V)((first & ($I)a) | (~first & ($I)b));\n"
     "#endif\n"
     "}\n"},
    {"farther", "f32", 0,
     "/* Of bits the greater number: NaN and what is below 0 go before numbers. */\n"
     "INLINE $V $V_farther($V a, $V b)\n"
     "{\n"
     "    const $I first = ($I)(($U)a > ($U)b);\n"
     "    return ($V)((first & ($I)a) | (~first & ($I)b));\n"
     "}\n"},
    {"exp_sum", "f32", 0,
     "/* e^(a + b) for small b, as if the sum were exact. */\n"
     "INLINE $V $V_exp_sum($V a, $V b)\n"
     "{\n"
     "    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */\n"
     "    a = $V_at_most($V_at_least(a, -104.0f), 89.0f); /* beyond, the result is 0 or infinite "
     "*/\n"
     "    const $V n = (a * 1.44269504f + magic) - magic;\n"
     "    const $V r = a - n * 0.693359375f + n * 2.12194440e-4f + b;\n" EXP_SERIES EXP_END
     "    return $V_scale(p, n);\n"
     "}\n"},
    {"exp2", "f32", 0,
     "INLINE $V $V_exp2($V a)\n"
     "{\n"
     "    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */\n"
     "    a = $V_at_most($V_at_least(a, -151.0f), 129.0f);\n"
     "    const $V n = (a + magic) - magic;\n"
     "    const $V r = (a - n) * 0.6931472f;\n" EXP_SERIES EXP_END "    return $V_scale(p, n);\n"
     "}\n"},
    {"expm1", "f32", 0,
     "/* e^a - 1, of which nothing is lost where a is small. */\n"
     "INLINE $V $V_expm1($V a)\n"
     "{\n"
     "    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */\n"
     "    const $I sign = ($I)a & ($I)$V_splat(-0.0f);\n"
     "    a = $V_at_most($V_at_least(a, -20.0f), 89.0f);\n"
     "    const $V n = (a * 1.44269504f + magic) - magic;\n"
     "    const $V r = a - n * 0.693359375f + n * 2.12194440e-4f;\n" EXP_SERIES
     "    p = (p * r) * r + r;\n"
     "    /* 2^n (p + 1) - 1, in halves: 2^n may be more than there is */\n"
     "    const $V half = ($V)((__builtin_convertvector(n, $I) + 126) << 23);\n"
     "    const $V result = ((half - 0.5f) + half * p) * 2.0f;\n"
     "    const $I near = n == 0; /* then there is nothing to take away */\n"
     "    return ($V)((near & ($I)p) | (~near & ($I)result) | sign);\n"
     "}\n"},
    /* ---- logarithms: a = 2^e (1 + f), 1 + f between sqrt(1/2) and sqrt(2) ---- */
    {"log_finish", "f32", 0,
     "/* The logarithm where a is a positive number; -inf at 0, NaN below, others stay. */\n"
     "INLINE $V $V_log_finish($V a, $V result)\n"
     "{\n"
     "    const $I plain = (a > 0) & (a < INFINITY), zero = a == 0, below = a < 0;\n"
     "    const $I other = (zero & ($I)$V_splat(-INFINITY)) | (below & ($I)$V_splat(NAN)) |\n"
     "                     (~(zero | below) & ($I)a);\n"
     "    return ($V)((plain & ($I)result) | (~plain & other));\n"
     "}\n"},
    {"log", "f32", 0,
     "INLINE $V $V_log($V a)\n"
     "{\n"
     "    const $I tiny = a < 0x1p-126f;\n"
     "    const $V scaled = ($V)((tiny & ($I)(a * 0x1p23f)) | (~tiny & ($I)a));\n"
     "    const $I bits = ($I)scaled - 0x3f3504f3; /* sqrt(1/2) */\n"
     "    const $V e = __builtin_convertvector((bits >> 23) - (tiny & 23), $V);\n"
     "    const $V f = ($V)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;\n" LOG_SERIES
     "    const $V y = p * (f * f * f) - 0.5f * (f * f);\n"
     "    const $V result = (f + (y - e * 2.12194440e-4f)) + e * 0.693359375f;\n"
     "    return $V_log_finish(a, result);\n"
     "}\n"},
    {"log2", "f32", 0,
     "INLINE $V $V_log2($V a)\n"
     "{\n"
     "    const $I tiny = a < 0x1p-126f;\n"
     "    const $V scaled = ($V)((tiny & ($I)(a * 0x1p23f)) | (~tiny & ($I)a));\n"
     "    const $I bits = ($I)scaled - 0x3f3504f3; /* sqrt(1/2) */\n"
     "    const $V e = __builtin_convertvector((bits >> 23) - (tiny & 23), $V);\n"
     "    const $V f = ($V)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;\n" LOG_SERIES
     "    const $V y = p * (f * f * f) - 0.5f * (f * f);\n"
     "    const $V result = (((y * 0.44269504f + f * 0.44269504f) + y) + f) + e;\n"
     "    return $V_log_finish(a, result);\n"
     "}\n"},
    {"log10", "f32", 0,
     "INLINE $V $V_log10($V a)\n"
     "{\n"
     "    const $I tiny = a < 0x1p-126f;\n"
     "    const $V scaled = ($V)((tiny & ($I)(a * 0x1p23f)) | (~tiny & ($I)a));\n"
     "    const $I bits = ($I)scaled - 0x3f3504f3; /* sqrt(1/2) */\n"
     "    const $V e = __builtin_convertvector((bits >> 23) - (tiny & 23), $V);\n"
     "    const $V f = ($V)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;\n" LOG_SERIES
     "    const $V y = p * (f * f * f) - 0.5f * (f * f);\n"
     "    const $V low = (f + y) * 7.00731903e-4f + e * 2.48745664e-4f;\n"
     "    const $V result = (((low + y * 0.43359375f) + f * 0.43359375f)) + e * 0.30078125f;\n"
     "    return $V_log_finish(a, result);\n"
     "}\n"},
    {"log1p", "f32", 0,
     "/* log(1 + a), of which nothing is lost where a is small. */\n"
     "INLINE $V $V_log1p($V a)\n"
     "{\n"
     "    const $V u = a + 1.0f, back = u - 1.0f;\n"
     "    const $V lost = (1.0f - (u - back)) + (a - back); /* u + lost is exactly a + 1 */\n"
     "    const $I bits = ($I)u - 0x3f3504f3;             /* sqrt(1/2) */\n"
     "    const $V e = __builtin_convertvector(bits >> 23, $V);\n"
     "    const $V f = ($V)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;\n" LOG_SERIES
     "    const $V y = p * (f * f * f) - 0.5f * (f * f) + lost / u;\n"
     "    const $V result = (f + (y - e * 2.12194440e-4f)) + e * 0.693359375f;\n"
     "    const $I sign = ($I)a & ($I)$V_splat(-0.0f);\n"
     "    return ($V)(($I)$V_log_finish(u, result) | sign);\n"
     "}\n"},
    /* ---- hyperbolic ---- */
    {"tanh", "f32", 0,
     "INLINE $V $V_tanh($V a)\n"
     "{\n"
     "    const $I sign = ($I)a & ($I)$V_splat(-0.0f);\n"
     "    const $V size = ($V)(($I)a ^ sign), z = a * a;\n"
     "    $V p = z * -0.005667166f + 0.020606402f;\n"
     "    p = p * z + -0.053730097f;\n"
     "    p = p * z + 0.13331333f;\n"
     "    p = p * z + -0.33333278f;\n"
     "    const $V small = size + size * (z * p);\n"
     "    const $V large = 1.0f - 2.0f / ($V_exp(size + size) + 1.0f);\n"
     "    const $I near = size < 0.625f;\n"
     "    return ($V)((near & ($I)small) | (~near & ($I)large) | sign);\n"
     "}\n"},
    {"sinh", "f32", 0,
     "INLINE $V $V_sinh($V a)\n"
     "{\n"
     "    const $I sign = ($I)a & ($I)$V_splat(-0.0f);\n"
     "    const $V size = ($V)(($I)a ^ sign), z = a * a;\n"
     "    $V p = z * 2.8169513e-06f + 0.0001983616f;\n"
     "    p = p * z + 0.00833335f;\n"
     "    p = p * z + 0.16666667f;\n"
     "    const $V small = size + size * (z * p);\n"
     "    /* half of e^size: the whole may be more than there is */\n"
     "    const $V half = $V_exp_sum(size - 0.693359375f, $V_splat(2.12194440e-4f));\n"
     "    const $V large = half - 0.25f / half;\n"
     "    const $I near = size < 1.0f;\n"
     "    return ($V)((near & ($I)small) | (~near & ($I)large) | sign);\n"
     "}\n"},
    {"cosh", "f32", 0,
     "INLINE $V $V_cosh($V a)\n"
     "{\n"
     "    const $V half = $V_exp_sum($V_abs(a) - 0.693359375f, $V_splat(2.12194440e-4f));\n"
     "    return half + 0.25f / half;\n"
     "}\n"},
    /* ---- error function ---- */
    {"erf", "f32", 64,
     "#ifdef __AVX512F__\n"
     "/* Around each eighth up to 31/8 a polynomial of its own; beyond, the result is 1. */\n"
     "INLINE $V $V_erf($V a)\n"
     "{\n"
     "    const float magic = 1572864.0f; /* 1.5 * 2^20: adding it rounds to eighths */\n"
     "    const $V low0 = {\n"
     "        0.0f, 0.1403162f, 0.2763264f, 0.4041169f,\n"
     "        0.5204999f, 0.6232409f, 0.71115565f, 0.7840751f,\n"
     "        0.8427008f, 0.8883882f, 0.92290014f, 0.94817007f,\n"
     "        0.96610516f, 0.97844374f, 0.9866717f, 0.99199003f};\n"
     "    const $V high0 = {\n"
     "        0.9953223f, 0.997346f, 0.9985373f, 0.99921703f,\n"
     "        0.999593f, 0.9997946f, 0.9998994f, 0.99995214f,\n"
     "        0.9999779f, 0.9999901f, 0.9999957f, 0.9999982f,\n"
     "        0.9999993f, 0.9999997f, 0.9999999f, 0.99999994f};\n"
     "    const $V low1 = {\n"
     "        1.1283791f, 1.1108848f, 1.0600138f, 0.98035276f,\n"
     "        0.8787826f, 0.76349956f, 0.6429311f, 0.52474505f,\n"
     "        0.4151075f, 0.31827396f, 0.23652112f, 0.17035978f,\n"
     "        0.11893029f, 0.08047226f, 0.052774996f, 0.033545826f};\n"
     "    const $V high1 = {\n"
     "        0.020666985f, 0.01234082f, 0.0071423193f, 0.0040064775f,\n"
     "        0.002178284f, 0.001147875f, 0.0005862772f, 0.00029022826f,\n"
     "        0.00013925128f, 6.475868e-05f, 2.9188443e-05f, 1.2751425e-05f,\n"
     "        5.399268e-06f, 2.2158445e-06f, 8.8139666e-07f, 5.2e-07f};\n"
     "    const $V low2 = {\n"
     "        2.1479356e-05f, -0.13885604f, -0.26500008f, -0.36761436f,\n"
     "        -0.43940425f, -0.47719568f, -0.4822318f, -0.45918426f,\n"
     "        -0.41509154f, -0.35803694f, -0.29566923f, -0.23423557f,\n"
     "        -0.17842755f, -0.1307847f, -0.092385836f, -0.0628432f};\n"
     "    const $V high2 = {\n"
     "        -0.041377146f, -0.026249751f, -0.016106647f, -0.009458701f,\n"
     "        -0.0053885514f, -0.0029692464f, -0.0016307633f, -0.0008189875f,\n"
     "        -0.00037142952f, -0.00020709739f, -0.00011769652f, -9.8170516e-05f,\n"
     "        -7.545572e-05f, -2.1764497e-06f, 7.830728e-06f, 0.0f};\n"
     "    const $V low3 = {\n"
     "        -0.37733483f, -0.35822403f, -0.30878732f, -0.23472883f,\n"
     "        -0.14644928f, -0.055760447f, 0.026642876f, 0.09274257f,\n"
     "        0.13815588f, 0.16227351f, 0.16739953f, 0.15784556f,\n"
     "        0.13872106f, 0.114835165f, 0.09017038f, 0.06746593f};\n"
     "    const $V high3 = {\n"
     "        0.04824959f, 0.033063427f, 0.021745972f, 0.013747416f,\n"
     "        0.00836233f, 0.004898883f, 0.0027659002f, 0.0015059545f,\n"
     "        0.00079298473f, 0.0004011711f, 0.00019702826f, 9.322498e-05f,\n"
     "        4.261766e-05f, 1.8828761e-05f, 8.041731e-06f, 0.0f};\n"
     "    const $V low4 = {\n"
     "        0.021368079f, 0.067291066f, 0.12599012f, 0.16238798f,\n"
     "        0.18588403f, 0.1781076f, 0.15807897f, 0.11936165f,\n"
     "        0.06603095f, 0.023607949f, -0.0022890747f, -0.032291196f,\n"
     "        -0.036737844f, -0.045297306f, -0.040712275f, -0.056031168f};\n"
     "    const $V high4 = {\n"
     "        -0.023805032f, -0.020215362f, -0.010107662f, -0.027378608f,\n"
     "        -0.02305439f, -0.016520103f, 0.0013792356f, -0.0057741506f,\n"
     "        -0.012883849f, 0.000630865f, 0.005546962f, 0.013948079f,\n"
     "        0.0143866f, -0.0015279831f, -0.0028600008f, 0.0f};\n"
     "    const $I sign = ($I)a & ($I)$V_splat(-0.0f);\n"
     "    const $V size = $V_at_most(($V)(($I)a ^ sign), 3.93749976f);\n"
     "    const $V shifted = size + magic, t = size - (shifted - magic);\n"
     "    const $I place = ($I)shifted;\n"
     "    $V p = $V_lookup_2(low4, high4, place) * t + $V_lookup_2(low3, high3, place);\n"
     "    p = p * t + $V_lookup_2(low2, high2, place);\n"
     "    p = p * t + $V_lookup_2(low1, high1, place);\n"
     "    p = p * t + $V_lookup_2(low0, high0, place);\n"
     "    return ($V)(($I)p | sign);\n"
     "}\n"
     "#else\n"
     "INLINE $V $V_erf($V a)\n"
     "{\n" ERF "}\n"
     "#endif\n"},
    {"erf", "f32", 0,
     "INLINE $V $V_erf($V a)\n"
     "{\n" ERF "}\n"},
    {"erfc", "f32", 0,
     "INLINE $V $V_erfc($V a)\n"
     "{\n"
     "    const $V size = $V_at_most($V_abs(a), 10.1f);\n"
     "    const $V t = (size - 2.0f) / (size + 2.0f);\n"
     "    $V p = t * 7.927389e-05f + 0.00016906777f;\n"
     "    p = p * t + -0.00040077866f;\n"
     "    p = p * t + -0.0014204826f;\n"
     "    p = p * t + 0.0012528145f;\n"
     "    p = p * t + 0.008708991f;\n"
     "    p = p * t + -0.008030909f;\n"
     "    p = p * t + -0.05421781f;\n"
     "    p = p * t + 0.16405104f;\n"
     "    p = p * t + -0.16603053f;\n"
     "    p = p * t + -0.09276382f;\n"
     "    p = p * t + 1.2769784f;\n"
     "    /* e^(-size^2), the square in two parts: that of the upper bits is exact */\n"
     "    const $V high = ($V)(($I)size & ~0xfff);\n"
     "    const $V power = $V_exp_sum(-high * high, (high - size) * (high + size));\n"
     "    const $I below = a < 0;\n"
     "    const $V result = power * (p / (1.0f + 2.0f * size));\n"
     "    const $V both = ($V)((below & ($I)(2.0f - result)) | (~below & ($I)result));\n"
     "    /* near 0 the way round erf is the better one */\n"
     "    const $V z = a * a;\n"
     "    $V q = z * -0.00080101745f + 0.005188326f;\n"
     "    q = q * z + -0.026853811f;\n"
     "    q = q * z + 0.112835854f;\n"
     "    q = q * z + -0.37612626f;\n"
     "    q = q * z + 0.12837917f;\n"
     "    const $I near = size < 0.5f;\n"
     "    return ($V)((near & ($I)(1.0f - (a + a * q))) | (~near & ($I)both));\n"
     "}\n"},
    /* ---- circular: reduced in double precision; far out by libm ---- */
    {"sin", "f32", 0,
     "INLINE $V $V_sin($V a)\n"
     "{\n"
     "    const $D wide = __builtin_convertvector(a, $D);\n"
     "    const $D n = (wide * 0.63661977236758138 + 0x1.8p52) - 0x1.8p52;\n"
     "    const $D rest = wide - n * 0x1.921fb544p0 - n * 6.077100506506192e-11; /* pi / 2 */\n"
     "    const $V r = __builtin_convertvector(rest, $V), z = r * r;\n"
     "    const $I quadrant = __builtin_convertvector(n, $I);\n"
     "    $V p = z * 2.7180465e-06f + -0.00019839304f;\n"
     "    p = p * z + 0.008333329f;\n"
     "    p = p * z + -0.16666667f;\n"
     "    $V q = z * 2.4432413e-05f + -0.0013887309f;\n"
     "    q = q * z + 0.041666646f;\n"
     "    const $V sine = ($V)(($I)(r + r * (z * p)) | (($I)r & ($I)$V_splat(-0.0f)));\n"
     "    const $V cosine = (1.0f - 0.5f * z) + (z * z) * q;\n"
     "    const $I odd = -(quadrant & 1), negative = (quadrant & 2) << 30;\n"
     "    $V result = ($V)(((odd & ($I)cosine) | (~odd & ($I)sine)) ^ negative);\n"
     "    const $I far = $V_abs(a) >= 0x1p20f;\n"
     "    if ($I_any(far)) {\n"
     "        for (int i = 0; i < $N; i++)\n"
     "            result[i] = far[i] ? sinf(a[i]) : result[i];\n"
     "    }\n"
     "    return result;\n"
     "}\n"},
    {"cos", "f32", 0,
     "INLINE $V $V_cos($V a)\n"
     "{\n"
     "    const $D wide = __builtin_convertvector(a, $D);\n"
     "    const $D n = (wide * 0.63661977236758138 + 0x1.8p52) - 0x1.8p52;\n"
     "    const $D rest = wide - n * 0x1.921fb544p0 - n * 6.077100506506192e-11; /* pi / 2 */\n"
     "    const $V r = __builtin_convertvector(rest, $V), z = r * r;\n"
     "    const $I quadrant = __builtin_convertvector(n, $I) + 1;\n"
     "    $V p = z * 2.7180465e-06f + -0.00019839304f;\n"
     "    p = p * z + 0.008333329f;\n"
     "    p = p * z + -0.16666667f;\n"
     "    $V q = z * 2.4432413e-05f + -0.0013887309f;\n"
     "    q = q * z + 0.041666646f;\n"
     "    const $V sine = ($V)(($I)(r + r * (z * p)) | (($I)r & ($I)$V_splat(-0.0f)));\n"
     "    const $V cosine = (1.0f - 0.5f * z) + (z * z) * q;\n"
     "    const $I odd = -(quadrant & 1), negative = (quadrant & 2) << 30;\n"
     "    $V result = ($V)(((odd & ($I)cosine) | (~odd & ($I)sine)) ^ negative);\n"
     "    const $I far = $V_abs(a) >= 0x1p20f;\n"
     "    if ($I_any(far)) {\n"
     "        for (int i = 0; i < $N; i++)\n"
     "            result[i] = far[i] ? cosf(a[i]) : result[i];\n"
     "    }\n"
     "    return result;\n"
     "}\n"},
    /* ---- any power ---- */
    {"pow", "f32", 0,
     "/* In double precision; zeros, infinities and roots of negative numbers by libm. */\n"
     "INLINE $V $V_pow($V a, $V b)\n"
     "{\n"
     "    const $V size = $V_abs(a), whole = $V_trunc(b), half = b * 0.5f;\n"
     "    const $I integer = whole == b, odd = integer & ($V_trunc(half) != half);\n"
     "    const $I plain = (size > 0) & (size < INFINITY) & ($V_abs(b) < INFINITY) & ((a > 0) | "
     "integer);\n"
     "    const $D wide = __builtin_convertvector(size, $D);\n"
     "    /* size = 2^e (1 + f); log(1 + f) by s = f / (2 + f) */\n"
     "    const $L bits = ($L)wide - 0x3fe6a09e667f3bcd; /* sqrt(1/2) */\n"
     "    const $D e = __builtin_convertvector(bits >> 52, $D);\n"
     "    const $D f = ($D)((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;\n"
     "    const $D s = f / (f + 2.0), z = s * s;\n"
     "    $D p = z * (2.0 / 15) + 2.0 / 13;\n"
     "    p = p * z + 2.0 / 11;\n"
     "    p = p * z + 2.0 / 9;\n"
     "    p = p * z + 2.0 / 7;\n"
     "    p = p * z + 2.0 / 5;\n"
     "    p = p * z + 2.0 / 3;\n"
     "    p = p * z + 2.0;\n"
     "    $D t = (e + s * p * 1.4426950408889634) * __builtin_convertvector(b, $D);\n"
     "    t = $D_at_most($D_at_least(t, -160.0), 130.0);\n"
     "    const $D n = (t + 0x1.8p52) - 0x1.8p52, r = (t - n) * 0.6931471805599453;\n"
     "    $D q = r * (1.0 / 40320) + 1.0 / 5040;\n"
     "    q = q * r + 1.0 / 720;\n"
     "    q = q * r + 1.0 / 120;\n"
     "    q = q * r + 1.0 / 24;\n"
     "    q = q * r + 1.0 / 6;\n"
     "    q = q * r + 0.5;\n"
     "    q = q * r + 1.0;\n"
     "    q = q * r + 1.0;\n"
     "    const $D power = q * ($D)((__builtin_convertvector(n, $L) + 1023) << 52);\n"
     "    const $I sign = odd & (a < 0) & ($I)$V_splat(-0.0f);\n"
     "    $V result = ($V)(($I)__builtin_convertvector(power, $V) | sign);\n"
     "    if (!$I_all(plain)) {\n"
     "        for (int i = 0; i < $N; i++)\n"
     "            result[i] = plain[i] ? result[i] : powf(a[i], b[i]);\n"
     "    }\n"
     "    return result;\n"
     "}\n"},
    {NULL, NULL, 0, NULL},
};
