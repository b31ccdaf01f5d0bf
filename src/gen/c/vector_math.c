/*
 * Pieces: functions of mathematics. What has no text of its own here is libm's, lane by lane.
 *
 * No branches but for values hardly anybody has. Arguments are reduced to a small range, where a
 * polynomial (fitted by the exchange algorithm, relative error below 2^-26) does the rest. They are
 * right at zeros, infinities, NaN and subnormal numbers; docs/math.md says how far off they are at
 * most, over all floats.
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

/* e^r = 1 + r + p r^2 for |r| <= ln(2) / 2. */
#define EXP_SERIES                                     \
    "    $V p = r * 0.00019789951f + 0.0013944757f;\n" \
    "    p = p * r + 0.0083334986f;\n"                 \
    "    p = p * r + 0.041666295f;\n"                  \
    "    p = p * r + 0.16666666f;\n"                   \
    "    p = p * r + 0.5f;\n"
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
    "    const $V r = a - n * 0.693359375f + n * 2.12194440e-4f;\n" EXP_SERIES                    \
    "    p = (p * r) * r + r + 1.0f;\n"                                                           \
    "    return $V_scale(p, n);\n"

#define ERF                                                                        \
    "    const $I sign = ($I)a & ($I)$V_splat(-0.0f);\n"                           \
    "    const $V size = ($V)(($I)a ^ sign), z = a * a;\n"                         \
    "    $V p = z * 7.853788e-05f + -0.00080101745f;\n"                            \
    "    p = p * z + 0.005188326f;\n"                                              \
    "    p = p * z + -0.026853811f;\n"                                             \
    "    p = p * z + 0.112835854f;\n"                                              \
    "    p = p * z + -0.37612626f;\n"                                              \
    "    p = p * z + 0.12837917f;\n"                                               \
    "    const $V small = size + size * p;\n"                                      \
    "    const $V t = $V_at_most(size, 4.0f); /* beyond, the result is 1 */\n"     \
    "    $V q = t * -2.1697584e-05f + 0.00044147234f;\n"                           \
    "    q = q * t + -0.0042052832f;\n"                                            \
    "    q = q * t + 0.025210336f;\n"                                              \
    "    q = q * t + -0.10842209f;\n"                                              \
    "    q = q * t + -0.6332164f;\n"                                               \
    "    q = q * t + -1.1295803f;\n"                                               \
    "    q = q * t + 0.00018846763f;\n"                                            \
    "    const $V large = 1.0f - $V_exp(q); /* q is the logarithm of erfc(t) */\n" \
    "    const $I near = size < 1.0f;\n"                                           \
    "    return ($V)((near & ($I)small) | (~near & ($I)large) | sign);\n"

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
    {"exp", "f32", 64,
     "#ifdef __AVX512F__\n"
     "/* e^a = 2^n 2^(k/16) e^r, |r| <= ln(2) / 32. */\n"
     "INLINE $V $V_exp($V a)\n"
     "{\n"
     "    const float magic = 786432.0f; /* 1.5 * 2^19: adding it rounds to 16ths */\n"
     "    const $V roots = {\n"
     "        1.0f, 1.04427373f, 1.09050775f, 1.13878858f,\n"
     "        1.18920708f, 1.24185777f, 1.29683959f, 1.35425556f,\n"
     "        1.41421354f, 1.47682619f, 1.54221082f, 1.61049032f,\n"
     "        1.68179286f, 1.75625217f, 1.8340081f, 1.91520655f};\n"
     "    a = $V_at_most($V_at_least(a, -104.0f), 89.0f); /* beyond, the result is 0 or infinite "
     "*/\n"
     "    const $V shifted = a * 1.44269504f + magic, n = shifted - magic;\n"
     "    const $V r = a - n * 0.693359375f + n * 2.12194440e-4f;\n"
     "    const $V p = ((r * 0.16666667f + 0.5f) * r) * r + r;\n"
     "    const $V root = $V_lookup(roots, ($I)shifted);\n"
     "    return __builtin_ia32_scalefps512_mask(root * p + root, n, a, -1, 4);\n"
     "}\n"
     "#else\n"
     "/* e^a = 2^n e^r, |r| <= ln(2) / 2. */\n"
     "INLINE $V $V_exp($V a)\n"
     "{\n" EXP "}\n"
     "#endif\n"},
    {"exp", "f32", 0,
     "/* e^a = 2^n e^r, |r| <= ln(2) / 2. */\n"
     "INLINE $V $V_exp($V a)\n"
     "{\n" EXP "}\n"},
    {"exp_sum", "f32", 0,
     "/* e^(a + b) for small b, as if the sum were exact. */\n"
     "INLINE $V $V_exp_sum($V a, $V b)\n"
     "{\n"
     "    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */\n"
     "    a = $V_at_most($V_at_least(a, -104.0f), 89.0f); /* beyond, the result is 0 or infinite "
     "*/\n"
     "    const $V n = (a * 1.44269504f + magic) - magic;\n"
     "    const $V r = a - n * 0.693359375f + n * 2.12194440e-4f + b;\n" EXP_SERIES
     "    p = (p * r) * r + r + 1.0f;\n"
     "    return $V_scale(p, n);\n"
     "}\n"},
    {"exp2", "f32", 0,
     "INLINE $V $V_exp2($V a)\n"
     "{\n"
     "    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */\n"
     "    a = $V_at_most($V_at_least(a, -151.0f), 129.0f);\n"
     "    const $V n = (a + magic) - magic;\n"
     "    const $V r = (a - n) * 0.6931472f;\n" EXP_SERIES "    p = (p * r) * r + r + 1.0f;\n"
     "    return $V_scale(p, n);\n"
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
     "/* Around each quarter up to 15/4 a polynomial of its own; beyond 3.95 the result is 1. */\n"
     "INLINE $V $V_erf($V a)\n"
     "{\n"
     "    const float magic = 3145728.0f; /* 1.5 * 2^21: adding it rounds to quarters */\n"
     "    const $V c0 = {\n"
     "        0.0f, 0.276326388f, 0.520499885f, 0.711155653f,\n"
     "        0.842700779f, 0.92290014f, 0.966105163f, 0.986671686f,\n"
     "        0.995322287f, 0.998537302f, 0.999593019f, 0.999899387f,\n"
     "        0.999977887f, 0.999995708f, 0.999999285f, 0.999999881f};\n"
     "    const $V c1 = {\n"
     "        1.12837923f, 1.06001413f, 0.87878257f, 0.642931044f,\n"
     "        0.415107489f, 0.236521125f, 0.118930288f, 0.0527749956f,\n"
     "        0.0206669848f, 0.00714231888f, 0.00217828434f, 0.00058627734f,\n"
     "        0.000139253098f, 2.91890465e-05f, 5.39943403e-06f, 8.81082201e-07f};\n"
     "    const $V c2 = {\n"
     "        1.9884024e-07f, -0.264997959f, -0.439384401f, -0.482194602f,\n"
     "        -0.415108114f, -0.295654327f, -0.178398103f, -0.0923574865f,\n"
     "        -0.0413340405f, -0.0160698202f, -0.00544532482f, -0.00161203311f,\n"
     "        -0.000417656731f, -9.48276574e-05f, -1.88871418e-05f, -3.30360376e-06f};\n"
     "    const $V c3 = {\n"
     "        -0.376138568f, -0.309168547f, -0.146464497f, 0.0267862584f,\n"
     "        0.138367072f, 0.16753529f, 0.138752654f, 0.0901581198f,\n"
     "        0.0482234322f, 0.0217246469f, 0.00835001562f, 0.00276029971f,\n"
     "        0.000789046579f, 0.000195786139f, 4.22874182e-05f, 8.04781666e-06f};\n"
     "    const $V c4 = {\n"
     "        0.00024570321f, 0.126031846f, 0.181907251f, 0.150056079f,\n"
     "        0.0692910552f, -0.00566091388f, -0.0441454314f, -0.0478911661f,\n"
     "        -0.0344335176f, -0.0191512574f, -0.00868806615f, -0.00329711824f,\n"
     "        -0.00106180692f, -0.000292799436f, -6.95600102e-05f, -1.42139988e-05f};\n"
     "    const $V c5 = {\n"
     "        0.11113558f, 0.0796741471f, 0.00744938292f, -0.0528109111f,\n"
     "        -0.0688290372f, -0.047095418f, -0.0149771003f, 0.00648227567f,\n"
     "        0.0130096246f, 0.0106417621f, 0.00612999778f, 0.00277096895f,\n"
     "        0.00102573633f, 0.000317804894f, 8.34909079e-05f, 1.50242267e-05f};\n"
     "    const $I sign = ($I)a & ($I)$V_splat(-0.0f);\n"
     "    const $V size = $V_at_most(($V)(($I)a ^ sign), 3.95f);\n"
     "    const $V shifted = $V_at_most(size, 3.75f) + magic, t = size - (shifted - magic);\n"
     "    const $I place = ($I)shifted;\n"
     "    $V p = $V_lookup(c5, place) * t + $V_lookup(c4, place);\n"
     "    p = p * t + $V_lookup(c3, place);\n"
     "    p = p * t + $V_lookup(c2, place);\n"
     "    p = p * t + $V_lookup(c1, place);\n"
     "    p = p * t + $V_lookup(c0, place);\n"
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
