/*
 * What a generated file begins with: the operations of ops.def that C lacks, exact conversions of
 * the narrow types, sums in pairs. Of all these pieces a file has those it mentions. They are text,
 * compiled together with the program, and share nothing with src/ir.
 *
 * The reference's bits must come out as the interpreter's, so nothing here depends on the
 * optimiser: only operations that IEEE defines to the last bit, and calls of libm that -fno-builtin
 * keeps as calls. A plain kernel is compiled without -fwrapv: what may overflow is computed without
 * a sign.
 *
 * In a piece for REAL that word stands for float or double, and @ for what ends names of its
 * functions: fabs@. In one for devices $ stands in front of what lies in their memory.
 */
#include "gen/c/emit.h"

#include <stddef.h>
#include <string.h>

struct prelude_piece {
    const char *names; /* separated by blanks: a file that mentions one of them gets the piece */
    const char *text;
    enum { FOR_BOTH, FOR_REFERENCE, FOR_PLAIN } form;
};

#define ORDER(name, type, nan, better)                                                       \
    "/* Whether (a, i) stands before (b, j): better value first, then the lower index. */\n" \
    "/* Index -1 marks the unit, which stands last; NaN stands first. */\n"                  \
    "static inline int " name "(" type " a, int64_t i, " type " b, int64_t j)\n"             \
    "{\n"                                                                                    \
    "    if (i == -1 || j == -1)\n"                                                          \
    "        return i != -1;\n" nan "    return a " better " b || (a == b && i < j);\n"      \
    "}\n"

#define NAN_FIRST                 \
    "    if (a != a || b != b)\n" \
    "        return a != a && (b == b || i < j);\n"

#define INSERT(name, type, before)                                                                 \
    "/* Puts (a, i) where it belongs in the ordered list of `count`, if anywhere; the last drops " \
    "out. */\n"                                                                                    \
    "static inline void " name "($" type " *values, $int64_t *places, int64_t count, " type        \
    " a,\n"                                                                                        \
    "                              int64_t i)\n"                                                   \
    "{\n"                                                                                          \
    "    if (count <= 0 || !" before "(a, i, values[count - 1], places[count - 1]))\n"             \
    "        return;\n"                                                                            \
    "    int64_t k = count - 1;\n"                                                                 \
    "    for (; k > 0 && " before "(a, i, values[k - 1], places[k - 1]); k--) {\n"                 \
    "        values[k] = values[k - 1];\n"                                                         \
    "        places[k] = places[k - 1];\n"                                                         \
    "    }\n"                                                                                      \
    "    values[k] = a;\n"                                                                         \
    "    places[k] = i;\n"                                                                         \
    "}\n"

/* Of devices: tried again until nobody came between. */
#define ATOMIC(kind, type, bits, verb, combined)                                              \
    {                                                                                         \
        kind "_atomic_" verb,                                                                 \
            "static inline void " kind "_atomic_" verb "($" type " *place, " type " value)\n" \
            "{\n"                                                                             \
            "    union " kind "_word seen = {.number = *place}, before, after;\n"             \
            "    do {\n"                                                                      \
            "        before = seen;\n"                                                        \
            "        after.number = " combined ";\n"                                          \
            "        seen.word = compare_swap_" bits "(place, before.word, after.word);\n"    \
            "    } while (seen.word != before.word);\n"                                       \
            "}\n",                                                                            \
            FOR_PLAIN                                                                         \
    }

#define ATOMIC_WORD(kind, type, bits)    \
    {                                    \
        kind "_word",                    \
            "union " kind "_word {\n"    \
            "    " type " number;\n"     \
            "    uint" bits "_t word;\n" \
            "};\n",                      \
            FOR_PLAIN                    \
    }

#define ATOMICS(kind, type, bits, add, mul)                                 \
    ATOMIC_WORD(kind, type, bits), ATOMIC(kind, type, bits, "add", add),    \
        ATOMIC(kind, type, bits, "mul", mul),                               \
        ATOMIC(kind, type, bits, "max", kind "_max(before.number, value)"), \
        ATOMIC(kind, type, bits, "min", kind "_min(before.number, value)")

/* Names of vector registers from a number on. */
#define REGISTERS_20                                                                     \
    "\"xmm20\", \"xmm21\", \"xmm22\", \"xmm23\", \"xmm24\", \"xmm25\",\n"                \
    "                           \"xmm26\", \"xmm27\", \"xmm28\", \"xmm29\", \"xmm30\", " \
    "\"xmm31\""
#define REGISTERS_AND(a, b, c, d, rest)                                                       \
    "\"xmm" #a "\", \"xmm" #b "\", \"xmm" #c "\", \"xmm" #d "\",\n                          " \
    " " rest
#define REGISTERS_16 REGISTERS_AND(16, 17, 18, 19, REGISTERS_20)
#define REGISTERS_12 REGISTERS_AND(12, 13, 14, 15, REGISTERS_16)
#define REGISTERS_8 REGISTERS_AND(8, 9, 10, 11, REGISTERS_12)
#define REGISTERS_4 REGISTERS_AND(4, 5, 6, 7, REGISTERS_8)
#define REGISTERS_FROM(first, names)                                                          \
    {                                                                                         \
        "registers_from_" #first,                                                             \
            "/* Nothing is kept in vector registers from this one on: addresses stay out of " \
            "them. */\n"                                                                      \
            "static inline void registers_from_" #first "(void)\n"                            \
            "{\n"                                                                             \
            "#if defined __AVX512F__\n"                                                       \
            "    __asm__ volatile(\"\" ::: " names ");\n"                                     \
            "#endif\n"                                                                        \
            "}\n",                                                                            \
            FOR_BOTH                                                                          \
    }

static const struct prelude_piece PIECES[] = {
    {"DONE NO_MEMORY OUTSIDE", "enum { DONE, NO_MEMORY, OUTSIDE }; /* what a part returns */\n",
     FOR_REFERENCE},
    {"DONE OUTSIDE",
     "enum { DONE, OUTSIDE }; /* what a part returns; OUTSIDE: an index is no place in its tensor "
     "*/\n",
     FOR_PLAIN},
    {"LANES_NEAR LANES_FAR",
     "enum { LANES_NEAR = 64, LANES_FAR = 8 }; /* elements that are summed side by side */\n",
     FOR_REFERENCE},
    {"LANES_NEAR LANES_FAR",
     "enum { LANES_NEAR = 64, LANES_FAR = 16 }; /* elements that are summed side by side */\n",
     FOR_PLAIN},
    {"PART STAGE",
     "\n"
     "/*\n"
     " * A part only calls its stages, which do the work. With thousands of them, optimising it\n"
     " * would take compilers minutes for nothing.\n"
     " */\n"
     "#ifdef __clang__\n"
     "#define PART static __attribute__((noinline, optnone))\n"
     "#else\n"
     "#define PART static __attribute__((noinline, optimize(\"O0\")))\n"
     "#endif\n"
     "#define STAGE static __attribute__((noinline))\n",
     FOR_BOTH},
    {"tensor_alloc",
     "__attribute__((malloc)) static void *tensor_alloc(int64_t count, int *status)\n"
     "{\n"
     "    void *memory = NULL;\n"
     "    if (count >= 0 && count < INT64_MAX / 16)\n"
     "        memory = calloc(count > 0 ? (size_t)count : 1, 8);\n"
     "    if (!memory)\n"
     "        *status = NO_MEMORY;\n"
     "    return memory;\n"
     "}\n",
     FOR_REFERENCE},
    {"stream_end",
     "/* Stores past the caches are ordered before what follows. */\n"
     "static inline void stream_end(void)\n"
     "{\n"
     "#ifdef __SSE2__\n"
     "    __asm__ volatile(\"sfence\" ::: \"memory\");\n"
     "#endif\n"
     "}\n",
     FOR_BOTH},
    REGISTERS_FROM(4, REGISTERS_4),
    REGISTERS_FROM(8, REGISTERS_8),
    REGISTERS_FROM(12, REGISTERS_12),
    REGISTERS_FROM(16, REGISTERS_16),
    REGISTERS_FROM(20, REGISTERS_20),
    {"registers_clear",
     "/* What was kept in vector registers goes to memory: what follows needs all of them. */\n"
     "static inline void registers_clear(void)\n"
     "{\n"
     "#if defined __AVX512F__\n"
     "    __asm__ volatile(\"\" ::\n"
     "                         : \"xmm16\", \"xmm17\", \"xmm18\", \"xmm19\", \"xmm20\", "
     "\"xmm21\",\n"
     "                           \"xmm22\", \"xmm23\", \"xmm24\", \"xmm25\", \"xmm26\", "
     "\"xmm27\",\n"
     "                           \"xmm28\", \"xmm29\", \"xmm30\", \"xmm31\");\n"
     "#endif\n"
     "#if defined __AVX__\n"
     "    __asm__ volatile(\"\" ::\n"
     "                         : \"xmm0\", \"xmm1\", \"xmm2\", \"xmm3\", \"xmm4\", \"xmm5\", "
     "\"xmm6\",\n"
     "                           \"xmm7\", \"xmm8\", \"xmm9\", \"xmm10\", \"xmm11\", \"xmm12\", "
     "\"xmm13\",\n"
     "                           \"xmm14\", \"xmm15\");\n"
     "#endif\n"
     "}\n",
     FOR_BOTH},
    {"scratch_take",
     "/* The next piece of the scratch, on a boundary of 64 bytes. */\n"
     "static inline void *scratch_take(char **scratch, int64_t bytes)\n"
     "{\n"
     "    void *piece = *scratch;\n"
     "    *scratch += (bytes + 63) / 64 * 64;\n"
     "    return piece;\n"
     "}\n",
     FOR_BOTH},
    /* integers: every operation has a result, overflow wraps */
    {"int_add",
     "static inline int64_t int_add(int64_t a, int64_t b)\n"
     "{\n"
     "    return (int64_t)((uint64_t)a + (uint64_t)b);\n"
     "}\n",
     FOR_BOTH},
    {"int_sub",
     "static inline int64_t int_sub(int64_t a, int64_t b)\n"
     "{\n"
     "    return (int64_t)((uint64_t)a - (uint64_t)b);\n"
     "}\n",
     FOR_BOTH},
    {"int_mul",
     "static inline int64_t int_mul(int64_t a, int64_t b)\n"
     "{\n"
     "    return (int64_t)((uint64_t)a * (uint64_t)b);\n"
     "}\n",
     FOR_BOTH},
    {"int_neg", "static inline int64_t int_neg(int64_t a) { return (int64_t)(0 - (uint64_t)a); }\n",
     FOR_BOTH},
    {"floor_div",
     "static inline int64_t floor_div(int64_t a, int64_t b)\n"
     "{\n"
     "    if (b == 0)\n"
     "        return 0;\n"
     "    if (b == -1)\n"
     "        return int_neg(a);\n"
     "    return a / b - (a % b != 0 && (a < 0) != (b < 0));\n"
     "}\n",
     FOR_BOTH},
    {"floor_mod",
     "static inline int64_t floor_mod(int64_t a, int64_t b)\n"
     "{\n"
     "    if (b == 0 || b == -1)\n"
     "        return 0;\n"
     "    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);\n"
     "}\n",
     FOR_BOTH},
    {"quotient",
     "static inline int64_t quotient(int64_t a, int64_t b)\n"
     "{\n"
     "    return b == 0 ? 0 : b == -1 ? int_neg(a) : a / b;\n"
     "}\n",
     FOR_BOTH},
    {"remainder_of",
     "static inline int64_t remainder_of(int64_t a, int64_t b)\n"
     "{\n"
     "    return b == 0 || b == -1 ? 0 : a % b;\n"
     "}\n",
     FOR_BOTH},
    {"shift_left",
     "static inline int64_t shift_left(int64_t a, int64_t count)\n"
     "{\n"
     "    return (int64_t)((uint64_t)a << (count & 63));\n"
     "}\n",
     FOR_BOTH},
    {"shift_right",
     "static inline int64_t shift_right(int64_t a, int64_t count) { return a >> (count & 63); }\n",
     FOR_BOTH},
    {"int_abs", "static inline int64_t int_abs(int64_t a) { return a < 0 ? int_neg(a) : a; }\n",
     FOR_BOTH},
    {"int_sign", "static inline int64_t int_sign(int64_t a) { return (a > 0) - (a < 0); }\n",
     FOR_BOTH},
    {"int_min", "static inline int64_t int_min(int64_t a, int64_t b) { return b < a ? b : a; }\n",
     FOR_BOTH},
    {"int_max", "static inline int64_t int_max(int64_t a, int64_t b) { return b > a ? b : a; }\n",
     FOR_BOTH},
    /* floats: NaN is passed on, -0 is below +0, and the sign of a NaN counts as + */
    {"is_nan", "static inline int is_nan(double a) { return a != a; }\n", FOR_BOTH},
    {"is_inf", "static inline int is_inf(double a) { return __builtin_fabs(a) == INFINITY; }\n",
     FOR_BOTH},
    {"is_finite",
     "static inline int is_finite(double a) { return __builtin_fabs(a) < INFINITY; }\n", FOR_BOTH},
    {"REAL_sign",
     "static inline REAL REAL_sign(REAL a)\n"
     "{\n"
     "    return a != a ? a : (REAL)((a > 0) - (a < 0));\n"
     "}\n",
     FOR_BOTH},
    {"REAL_copysign",
     "/* The sign of a NaN counts as +. */\n"
     "static inline REAL REAL_copysign(REAL a, REAL b)\n"
     "{\n"
     "    return b != b ? __builtin_fabs@(a) : __builtin_copysign@(a, b);\n"
     "}\n",
     FOR_BOTH},
    {"REAL_max",
     "/* NaN is passed on, -0 is below +0. */\n"
     "static inline REAL REAL_max(REAL a, REAL b)\n"
     "{\n"
     "    if (a != a || b != b)\n"
     "        return NAN;\n"
     "    return a > b || (a == b && !__builtin_signbit(a)) ? a : b;\n"
     "}\n",
     FOR_BOTH},
    {"REAL_min",
     "/* NaN is passed on, -0 is below +0. */\n"
     "static inline REAL REAL_min(REAL a, REAL b)\n"
     "{\n"
     "    if (a != a || b != b)\n"
     "        return NAN;\n"
     "    return a < b || (a == b && __builtin_signbit(a)) ? a : b;\n"
     "}\n",
     FOR_BOTH},
    {"truncate_to",
     "static inline int64_t truncate_to(double a, int64_t least, int64_t greatest)\n"
     "{\n"
     "    if (a != a)\n"
     "        return 0;\n"
     "    if (a >= (double)greatest)\n"
     "        return greatest;\n"
     "    return a <= (double)least ? least : (int64_t)a;\n"
     "}\n",
     FOR_BOTH},
    {"round_to",
     "union double_bits {\n"
     "    double number;\n"
     "    uint64_t word;\n"
     "};\n"
     "\n"
     "/*\n"
     " * The nearest value with `digits` binary digits, ties to even; below 2^least the spacing "
     "no\n"
     " * longer shrinks, above `greatest` the result is `beyond`.\n"
     " */\n"
     "static inline double round_to(double a, int digits, int least, double greatest, double "
     "beyond)\n"
     "{\n"
     "    const union double_bits bits = {.number = a};\n"
     "    const int exponent = (int)(bits.word >> 52 & 2047) - 1023;\n"
     "    if (exponent == 1024) /* infinite or NaN */\n"
     "        return a != a ? a : a > 0 ? beyond : -beyond;\n"
     "    /* a is whole * 2^(exponent - 52); a subnormal double is far below anything kept */\n"
     "    const uint64_t whole = (bits.word & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;\n"
     "    const int dropped = 53 - digits + (exponent < least ? least - exponent : 0);\n"
     "    if (dropped > 53)\n"
     "        return __builtin_copysign(0.0, a);\n"
     "    const uint64_t rest = whole & (((uint64_t)1 << dropped) - 1);\n"
     "    const uint64_t middle = (uint64_t)1 << (dropped - 1);\n"
     "    uint64_t kept = whole >> dropped;\n"
     "    kept += rest > middle || (rest == middle && (kept & 1));\n"
     "    const union double_bits unit = {.word = (uint64_t)(exponent - 52 + dropped + 1023) << "
     "52};\n"
     "    const double size = (double)(int64_t)kept * unit.number;\n"
     "    return __builtin_copysign(size > greatest ? beyond : size, a);\n"
     "}\n",
     FOR_BOTH},
    {"round_f32", "static inline double round_f32(double a) { return (double)(float)a; }\n",
     FOR_BOTH},
    {"round_f16",
     "static inline double round_f16(double a)\n"
     "{\n"
     "    return round_to(a, 11, -14, 65504.0, INFINITY);\n"
     "}\n",
     FOR_BOTH},
    {"round_bf16",
     "static inline double round_bf16(double a)\n"
     "{\n"
     "    return round_to(a, 8, -126, 0x1.fep127, INFINITY);\n"
     "}\n",
     FOR_BOTH},
    {"round_f8e4",
     "static inline double round_f8e4(double a) { return round_to(a, 4, -6, 448.0, NAN); }\n",
     FOR_BOTH},
    {"round_f8e5",
     "static inline double round_f8e5(double a) { return round_to(a, 3, -14, 57344.0, INFINITY); "
     "}\n",
     FOR_BOTH},
    /* elements of float types that C lacks */
    {"float_bits",
     "union float_bits {\n"
     "    float number;\n"
     "    uint32_t word;\n"
     "};\n",
     FOR_BOTH},
    {"f16_to_float",
     "static inline float f16_to_float(uint16_t a)\n"
     "{\n"
     "    union float_bits bits = {.word = (uint32_t)(a & 0x7fff) << 13};\n"
     "    bits.number *= 0x1p112f; /* exponents of float start so much lower; subnormals too */\n"
     "    if (bits.number >= 65536.0f) /* infinite or NaN */\n"
     "        bits.word |= 0x7f800000;\n"
     "    bits.word |= (uint32_t)(a & 0x8000) << 16;\n"
     "    return bits.number;\n"
     "}\n",
     FOR_BOTH},
    {"bf16_to_float",
     "static inline float bf16_to_float(uint16_t a)\n"
     "{\n"
     "    const union float_bits bits = {.word = (uint32_t)a << 16};\n"
     "    return bits.number;\n"
     "}\n",
     FOR_BOTH},
    {"f8e4_to_float",
     "static inline float f8e4_to_float(uint8_t a)\n"
     "{\n"
     "    union float_bits bits = {.word = (uint32_t)(a & 0x7f) << 20};\n"
     "    bits.number = (a & 0x7f) == 0x7f ? NAN : bits.number * 0x1p120f;\n"
     "    bits.word |= (uint32_t)(a & 0x80) << 24;\n"
     "    return bits.number;\n"
     "}\n",
     FOR_BOTH},
    {"float_to_f16",
     "/* To the nearest, ties to even. */\n"
     "static inline uint16_t float_to_f16(float a)\n"
     "{\n"
     "    union float_bits bits = {.number = a};\n"
     "    const uint32_t sign = bits.word >> 16 & 0x8000;\n"
     "    bits.word &= 0x7fffffff;\n"
     "    if (bits.word > 0x7f800000)\n"
     "        return (uint16_t)(sign | 0x7e00); /* NaN */\n"
     "    if (bits.number >= 65520.0f)\n"
     "        return (uint16_t)(sign | 0x7c00); /* infinite */\n"
     "    if (bits.number < 0x1p-14f) { /* subnormal: the sum rounds to multiples of 2^-24 */\n"
     "        bits.number += 0.5f;\n"
     "        return (uint16_t)(sign | (bits.word - 0x3f000000));\n"
     "    }\n"
     "    bits.word += 0xfff + (bits.word >> 13 & 1);\n"
     "    return (uint16_t)(sign | (bits.word - 0x38000000) >> 13);\n"
     "}\n",
     FOR_BOTH},
    {"float_to_bf16",
     "/* To the nearest, ties to even. */\n"
     "static inline uint16_t float_to_bf16(float a)\n"
     "{\n"
     "    const union float_bits bits = {.number = a};\n"
     "    if (a != a)\n"
     "        return 0x7fc0;\n"
     "    return (uint16_t)((bits.word + 0x7fff + (bits.word >> 16 & 1)) >> 16);\n"
     "}\n",
     FOR_BOTH},
    {"f8e5_to_float",
     "static inline float f8e5_to_float(uint8_t a)\n"
     "{\n"
     "    return f16_to_float((uint16_t)(a << 8)); /* the same with fewer digits */\n"
     "}\n",
     FOR_BOTH},
    {"double_to_f16",
     "static inline uint16_t double_to_f16(double a) { return float_to_f16((float)round_f16(a)); "
     "}\n",
     FOR_BOTH},
    {"double_to_bf16",
     "static inline uint16_t double_to_bf16(double a)\n"
     "{\n"
     "    return float_to_bf16((float)round_bf16(a));\n"
     "}\n",
     FOR_BOTH},
    {"double_to_f8e4 float_to_f8e4",
     "static inline uint8_t double_to_f8e4(double a)\n"
     "{\n"
     "    union float_bits bits = {.number = (float)round_f8e4(a)};\n"
     "    const uint32_t sign = bits.word >> 24 & 0x80;\n"
     "    if (bits.number != bits.number)\n"
     "        return 0x7f;\n"
     "    bits.word &= 0x7fffffff;\n"
     "    bits.number *= 0x1p-120f; /* exact: exponents start so much lower */\n"
     "    return (uint8_t)(sign | bits.word >> 20);\n"
     "}\n",
     FOR_BOTH},
    {"float_to_f8e4",
     "static inline uint8_t float_to_f8e4(float a) { return double_to_f8e4(a); }\n", FOR_BOTH},
    {"double_to_f8e5 float_to_f8e5",
     "static inline uint8_t double_to_f8e5(double a)\n"
     "{\n"
     "    return (uint8_t)(float_to_f16((float)round_f8e5(a)) >> 8);\n"
     "}\n",
     FOR_BOTH},
    {"float_to_f8e5",
     "static inline uint8_t float_to_f8e5(float a) { return double_to_f8e5(a); }\n", FOR_BOTH},
    /* sums */
    {"SUM_LEVELS",
     "/*\n"
     " * Sums are added up in pairs, so that rounding errors grow with the logarithm of the "
     "number\n"
     " * of terms: level k holds the sum of 2^k terms, like a digit of the number of terms so "
     "far.\n"
     " */\n"
     "enum { SUM_LEVELS = 63 };\n",
     FOR_BOTH},
    {"REAL_sum_add",
     "static inline void REAL_sum_add(REAL *levels, REAL term, int64_t count)\n"
     "{\n"
     "    int level = 0;\n"
     "    for (; count & 1; count >>= 1)\n"
     "        term = levels[level++] + term;\n"
     "    levels[level] = term;\n"
     "}\n",
     FOR_BOTH},
    {"REAL_sum_finish",
     "static inline REAL REAL_sum_finish(REAL *levels, int64_t count)\n"
     "{\n"
     "    REAL sum = 0;\n"
     "    for (int level = 0; count > 0; count >>= 1, level++)\n"
     "        if (count & 1)\n"
     "            sum = levels[level] + sum;\n"
     "    return sum;\n"
     "}\n",
     FOR_BOTH},
    {"REAL_sums_add",
     "/* The same for several sums side by side. */\n"
     "static inline void REAL_sums_add(REAL *restrict levels, int lanes, REAL *restrict terms,\n"
     "        int64_t count)\n"
     "{\n"
     "    for (; count & 1; count >>= 1, levels += lanes)\n"
     "        for (int i = 0; i < lanes; i++)\n"
     "            terms[i] = levels[i] + terms[i];\n"
     "    for (int i = 0; i < lanes; i++)\n"
     "        levels[i] = terms[i];\n"
     "}\n",
     FOR_BOTH},
    {"REAL_sums_finish",
     "static inline void REAL_sums_finish(REAL *restrict levels, int lanes, REAL *restrict sums,\n"
     "        int64_t count)\n"
     "{\n"
     "    for (int i = 0; i < lanes; i++)\n"
     "        sums[i] = 0;\n"
     "    for (; count > 0; count >>= 1, levels += lanes)\n"
     "        for (int i = 0; (count & 1) && i < lanes; i++)\n"
     "            sums[i] = levels[i] + sums[i];\n"
     "}\n",
     FOR_BOTH},
    /* orders */
    {"REAL_argmax_before", ORDER("REAL_argmax_before", "REAL", NAN_FIRST, ">"), FOR_BOTH},
    {"REAL_argmin_before", ORDER("REAL_argmin_before", "REAL", NAN_FIRST, "<"), FOR_BOTH},
    {"int_argmax_before", ORDER("int_argmax_before", "int64_t", "", ">"), FOR_BOTH},
    {"int_argmin_before", ORDER("int_argmin_before", "int64_t", "", "<"), FOR_BOTH},
    {"REAL_topk", INSERT("REAL_topk", "REAL", "REAL_argmax_before"), FOR_BOTH},
    {"REAL_bottomk", INSERT("REAL_bottomk", "REAL", "REAL_argmin_before"), FOR_BOTH},
    {"int_topk", INSERT("int_topk", "int64_t", "int_argmax_before"), FOR_BOTH},
    {"int_bottomk", INSERT("int_bottomk", "int64_t", "int_argmin_before"), FOR_BOTH},
    ATOMICS("float", "float", "32", "before.number + value", "before.number * value"),
    ATOMICS("double", "double", "64", "before.number + value", "before.number * value"),
    ATOMICS("int", "int64_t", "64", "int_add(before.number, value)",
            "int_mul(before.number, value)"),
};

enum { PIECE_COUNT = sizeof PIECES / sizeof *PIECES };

static const char *const REALS[2] = {"float", "double"};

/* REAL and @ as one of the two; NULL when the text mentions neither and this is the second. */
static const char *instantiate(struct arena *arena, const struct dialect *dialect, const char *text,
                               int real)
{
    static const char start[] = "static inline";
    struct text out = text_new(arena);
    if (!strstr(text, "REAL") && real > 0)
        return NULL;
    for (const char *at = text; *at;) {
        if (*at == '$') {
            text_add(&out, dialect ? dialect->global : "");
            at++;
        } else if (dialect && strncmp(at, start, sizeof start - 1) == 0) {
            text_add(&out, dialect->inlined);
            at += sizeof start - 1;
        } else if (strncmp(at, "REAL", 4) == 0) {
            text_add(&out, REALS[real]);
            at += 4;
        } else if (*at == '@') {
            text_add(&out, real == 0 ? "f" : "");
            at++;
        } else {
            text_char(&out, *at++);
        }
    }
    return out.at;
}

static void add_words(struct arena *arena, struct map *words, const char *text)
{
    struct text all = text_new(arena);
    text_add(&all, text);
    struct map more = emit_words(arena, &all);
    for (size_t i = 0; i < more.count; i++)
        map_set_bytes(words, more.entries[i].key, more.entries[i].length, words);
}

static bool mentions(const struct map *words, const char *names)
{
    while (*names) {
        size_t length = strcspn(names, " ");
        if (map_get_bytes(words, names, length))
            return true;
        names += length + strspn(names + length, " ");
    }
    return false;
}

void emit_prelude_names(struct map *taken, void *mark)
{
    for (int i = 0; i < PIECE_COUNT; i++) {
        for (int real = 0; real < 2; real++) {
            const char *names = instantiate(taken->arena, NULL, PIECES[i].names, real);
            while (names && *names) {
                size_t length = strcspn(names, " ");
                map_set_bytes(taken, names, length, mark);
                names += length + strspn(names + length, " ");
            }
        }
    }
    map_set(taken, "double_bits", mark);
}

static const char REFERENCE_HEAD[] = "#include <math.h>\n"
                                     "#include <stdint.h>\n"
                                     "#include <stdlib.h>\n"
                                     "#include <string.h>\n"
                                     "\n"
                                     "#if __FLT_EVAL_METHOD__ != 0\n"
                                     "#error \"arithmetic wider than double would round twice\"\n"
                                     "#endif\n";

/* What a dialect has in place of a piece; NULL: it takes the piece. */
static const char *own_text(const struct dialect *dialect, const char *names)
{
    for (const char *const *piece = dialect ? dialect->pieces : NULL; piece && *piece; piece += 2)
        if (strcmp(piece[0], names) == 0)
            return piece[1];
    return NULL;
}

void emit_prelude(struct emitter *emitter, struct text *out, const struct text *text)
{
    struct arena *arena = emitter->arena;
    struct map words = emit_words(arena, text);
    const char *wanted[PIECE_COUNT][2] = {{NULL}};
    for (int i = PIECE_COUNT; i-- > 0;) {
        if (PIECES[i].form == (emitter->form == GEN_PLAIN ? FOR_REFERENCE : FOR_PLAIN))
            continue;
        for (int real = 0; real < 2; real++) {
            const char *names = instantiate(arena, NULL, PIECES[i].names, real);
            if (!names || !mentions(&words, names))
                continue;
            wanted[i][real] = own_text(emitter->dialect, names);
            if (!wanted[i][real])
                wanted[i][real] = instantiate(arena, emitter->dialect, PIECES[i].text, real);
            add_words(arena, &words, wanted[i][real]);
        }
    }
    if (emitter->dialect) {
        for (const char *const *line = emitter->dialect->lines; *line; line += 2)
            if (mentions(&words, line[0]))
                text_printf(out, "%s\n", line[1]);
    } else if (emitter->form == GEN_REFERENCE) {
        text_add(out, REFERENCE_HEAD);
    } else {
        text_add(out, "#include <math.h>\n");
        text_add(out, map_has(&words, "bool") ? "#include <stdbool.h>\n" : "");
        text_add(out, "#include <stdint.h>\n");
        text_add(out, map_has(&words, "memcpy") ? "#include <string.h>\n" : "");
    }
    for (int i = 0; i < PIECE_COUNT; i++) {
        for (int real = 0; real < 2; real++) {
            if (wanted[i][real])
                text_printf(out, "\n%s", wanted[i][real]);
        }
    }
}
