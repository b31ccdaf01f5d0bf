/*
 * Pieces: vectors to and from memory. Elements are taken as they are; what they mean is for
 * vector_values.c.
 */
#include "gen/c/vector.h"

#include <stddef.h>

/* Of which some lanes only are read or written: at most 64 bytes by one instruction of AVX-512. */
#define WORDS "    typedef $w words __attribute__((vector_size($Z)));\n"

#define READ_PART_OR(narrow)                                                                   \
    "/* The first `count` lanes; the others are 0, and nothing is read there. */\n"            \
    "INLINE $V $V_read_part(const $E *at, int64_t count)\n"                                    \
    "{\n"                                                                                      \
    "#ifdef HAS_MASKS\n" WORDS                                                                 \
    "    return ($V)__builtin_ia32_loaddqu$k$b_mask((const void *)at, (words){0},\n"           \
    "                                               $M_first_bits(count));\n" narrow "#else\n" \
    "    $V result = {0};\n"                                                                   \
    "    for (int i = 0; i < $N && i < count; i++)\n"                                          \
    "        result[i] = at[i];\n"                                                             \
    "    return result;\n"                                                                     \
    "#endif\n"                                                                                 \
    "}\n"

/* gcc would store the lower half of a register by vextract, which faults at lanes left out. */
#define IN_A_REGISTER "    __asm__(\"\" : \"+v\"(value)); /* no half of a wider one */\n"

#define WRITE_PART_OR(narrow)                                         \
    "/* The first `count` lanes only. */\n"                           \
    "INLINE void $V_write_part($E *at, $V value, int64_t count)\n"    \
    "{\n"                                                             \
    "#ifdef HAS_MASKS\n" WORDS IN_A_REGISTER                          \
    "    __builtin_ia32_storedqu$k$b_mask((void *)at, (words)value, " \
    "$M_first_bits(count)"                                            \
    ");\n" narrow "#else\n"                                           \
    "    for (int i = 0; i < $N && i < count; i++)\n"                 \
    "        at[i] = value[i];\n"                                     \
    "#endif\n"                                                        \
    "}\n"

#define READ_MASKED_OR(narrow)                                                               \
    "/* The lanes where the mask is true; the others are 0, and nothing is read there. */\n" \
    "INLINE $V $V_read_masked(const $E *at, $M mask)\n"                                      \
    "{\n"                                                                                    \
    "#ifdef HAS_MASKS\n" WORDS                                                               \
    "    return ($V)__builtin_ia32_loaddqu$k$b_mask((const void *)at, (words){0},\n"         \
    "                                               $M_bits(mask));\n" narrow "#else\n"      \
    "    $V result = {0};\n"                                                                 \
    "    for (int i = 0; i < $N; i++)\n"                                                     \
    "        result[i] = mask[i] ? at[i] : 0;\n"                                             \
    "    return result;\n"                                                                   \
    "#endif\n"                                                                               \
    "}\n"

#define WRITE_MASKED_OR(narrow)                                                               \
    "/* The lanes where the mask is true only. */\n"                                          \
    "INLINE void $V_write_masked($E *at, $V value, $M mask)\n"                                \
    "{\n"                                                                                     \
    "#ifdef HAS_MASKS\n" WORDS IN_A_REGISTER                                                  \
    "    __builtin_ia32_storedqu$k$b_mask((void *)at, (words)value, $M_bits(mask));\n" narrow \
    "#else\n"                                                                                 \
    "    for (int i = 0; i < $N; i++) {\n"                                                    \
    "        if (mask[i])\n"                                                                  \
    "            at[i] = value[i];\n"                                                         \
    "    }\n"                                                                                 \
    "#endif\n"                                                                                \
    "}\n"

/* AVX2 has it for lanes of 4 and 8 bytes, with a mask that is a vector. */
#define FIRST_4 "$M_first(count)"
#define FIRST_8 "__builtin_convertvector($M_first(count), $I)"
#define MASK_8 "__builtin_convertvector(mask, $I)"
#define NARROW "#elif defined __AVX2__\n" WORDS
#define LOAD_256(letter, mask) \
    NARROW                     \
    "    return ($V)__builtin_ia32_maskload" letter "256((const words *)at, (words)" mask ");\n"
#define STORE_256(letter, mask)                                                  \
    NARROW "    __builtin_ia32_maskstore" letter "256((words *)at, (words)" mask \
           ", (words)value);"                                                    \
           "\n"

/* AMD's take a masked store for a dozen cycles of microcode: halves of halves are sooner there. */
#define STORE_PART_256(rest)              \
    "#elif defined __AVX2__\n"            \
    "    if (count >= $N) {\n"            \
    "        $V_write(at, value);\n"      \
    "        return;\n"                   \
    "    }\n"                             \
    "    $H half = $V_low(value);\n"      \
    "    if (count & $N / 2) {\n"         \
    "        $H_write(at, half);\n"       \
    "        half = $V_high(value);\n"    \
    "        at += $N / 2;\n"             \
    "    }\n" rest "    if (count & 1)\n" \
    "        *at = half[0];\n"
#define STORE_REST_4                                                    \
    "    if (count & 2) {\n"                                            \
    "        __builtin_memcpy(at, &half, 2 * sizeof *at);\n"            \
    "        half = __builtin_shufflevector(half, half, 2, 3, 2, 3);\n" \
    "        at += 2;\n"                                                \
    "    }\n"
#define STORE_REST_8 ""

#define PARTS_256(types, letter, first, mask, rest)                         \
    {"read_part", types, 32, READ_PART_OR(LOAD_256(letter, first))},        \
        {"write_part", types, 32, WRITE_PART_OR(STORE_PART_256(rest))},     \
        {"read_masked", types, 32, READ_MASKED_OR(LOAD_256(letter, mask))}, \
    {                                                                       \
        "write_masked", types, 32, WRITE_MASKED_OR(STORE_256(letter, mask)) \
    }
#define READ_PART READ_PART_OR("")
#define WRITE_PART WRITE_PART_OR("")
#define READ_MASKED READ_MASKED_OR("")
#define WRITE_MASKED WRITE_MASKED_OR("")

/* Vectors wider than any register go by halves... */
#define HALVES                                                                                \
    {"read_part", "", 128,                                                                    \
     "INLINE $V $V_read_part(const $E *at, int64_t count)\n"                                  \
     "{\n"                                                                                    \
     "    const int64_t rest = count > $N / 2 ? count - $N / 2 : 0;\n"                        \
     "    return $V_join($H_read_part(at, count - rest), $H_read_part(at + $N / 2, rest));\n" \
     "}\n"},                                                                                  \
        {"write_part", "", 128,                                                               \
         "INLINE void $V_write_part($E *at, $V value, int64_t count)\n"                       \
         "{\n"                                                                                \
         "    const int64_t rest = count > $N / 2 ? count - $N / 2 : 0;\n"                    \
         "    $H_write_part(at, $V_low(value), count - rest);\n"                              \
         "    $H_write_part(at + $N / 2, $V_high(value), rest);\n"                            \
         "}\n"},

/* ...and what has no instruction, lane by lane. */
#define PLAIN_READ_PART                                     \
    "INLINE $V $V_read_part(const $E *at, int64_t count)\n" \
    "{\n"                                                   \
    "    $V result = {0};\n"                                \
    "    for (int i = 0; i < $N && i < count; i++)\n"       \
    "        result[i] = at[i];\n"                          \
    "    return result;\n"                                  \
    "}\n"

/* gcc takes loads for cheap enough to repeat them, beyond what the machine can load. */
#define HOLD(bytes, condition, constraint)                                       \
    {                                                                            \
        "hold", "", bytes,                                                       \
            "/* In a register from here on, not loaded again for each use. */\n" \
            "INLINE $V $V_hold($V a)\n"                                          \
            "{\n"                                                                \
            "#if " condition "\n"                                                \
            "    __asm__(\"\" : \"+" constraint "\"(a));\n"                      \
            "#endif\n"                                                           \
            "    return a;\n"                                                    \
            "}\n"                                                                \
    }

const struct vector_piece vector_memory[] = {
    HOLD(64, "defined __AVX512F__", "v"),
    HOLD(32, "defined __AVX__", "x"),
    HOLD(16, "defined __SSE2__", "x"),
    {"hold", "", 0, "INLINE $V $V_hold($V a) { return a; }\n"},
    {"iota", "", 0, "INLINE $V $V_iota(void)\n{\n    return ($V){$[iota]};\n}\n"},
    {"first", "i32", 0,
     "/* Whether a lane is among the first `count`. */\n"
     "INLINE $V $V_first(int64_t count) { return $V_iota() < (int32_t)count; }\n"},
    {"low", "", 0,
     "INLINE $H $V_low($V a)\n{\n    return __builtin_shufflevector(a, a, $[low]);\n}\n"},
    {"high", "", 0,
     "INLINE $H $V_high($V a)\n{\n    return __builtin_shufflevector(a, a, $[high]);\n}\n"},
    {"join", "", 0,
     "INLINE $V $V_join($H low, $H high)\n"
     "{\n"
     "    return __builtin_shufflevector(low, high, $[iota]);\n"
     "}\n"},
    {"bits", "i32", 64,
     "/* One bit per lane. */\n"
     "#ifdef HAS_MASKS\n"
     "INLINE uint16_t $V_bits($V mask) { return __builtin_ia32_cvtd2mask512(mask); }\n"
     "#endif\n"},
    {"bits", "i32", 32,
     "#ifdef HAS_MASKS\n"
     "INLINE uint8_t $V_bits($V mask) { return __builtin_ia32_cvtd2mask256(mask); }\n"
     "#endif\n"},
    {"bits", "i32", 16,
     "#ifdef HAS_MASKS\n"
     "INLINE uint8_t $V_bits($V mask) { return __builtin_ia32_cvtd2mask128(mask); }\n"
     "#endif\n"},
    {"bits", "i32", 8,
     "#ifdef HAS_MASKS\n"
     "INLINE uint8_t $V_bits($V mask) { return (mask[0] & 1) | (mask[1] & 2); }\n"
     "#endif\n"},
    {"bits", "i32", 0,
     "#ifdef HAS_MASKS\n"
     "INLINE uint64_t $V_bits($V mask)\n"
     "{\n"
     "    return $H_bits($V_low(mask)) | (uint64_t)$H_bits($V_high(mask)) << $N / 2;\n"
     "}\n"
     "#endif\n"},
    {"first_bits", "i32", 0,
     "#ifdef HAS_MASKS\n"
     "/* Bits for the first `count` of $N lanes. */\n"
     "INLINE uint64_t $V_first_bits(int64_t count)\n"
     "{\n"
     "    return count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;\n"
     "}\n"
     "#endif\n"},
    {"read", "", 0,
     "INLINE $V $V_read(const $E *at)\n"
     "{\n"
     "    typedef $E near __attribute__((vector_size($Z), aligned($B), may_alias));\n"
     "    return ($V)*(const near *)at;\n"
     "}\n"},
    {"write", "", 0,
     "INLINE void $V_write($E *at, $V value)\n"
     "{\n"
     "    typedef $E near __attribute__((vector_size($Z), aligned($B), may_alias));\n"
     "    *(near *)at = (near)value;\n"
     "}\n"},
    PARTS_256("f32 i32 u32", "d", FIRST_4, "mask", STORE_REST_4),
    PARTS_256("f64 i64 u64", "q", FIRST_8, MASK_8, STORE_REST_8),
    {"read_part", "", 64, READ_PART},
    {"read_part", "", 32, READ_PART},
    {"read_part", "", 16, READ_PART},
    {"write_part", "", 64, WRITE_PART},
    {"write_part", "", 32, WRITE_PART},
    {"write_part", "", 16, WRITE_PART},
    HALVES{"read_part", "", 0, PLAIN_READ_PART},
    {"write_part", "", 0,
     "INLINE void $V_write_part($E *at, $V value, int64_t count)\n"
     "{\n"
     "    for (int i = 0; i < $N && i < count; i++)\n"
     "        at[i] = value[i];\n"
     "}\n"},
    {"read_masked", "", 64, READ_MASKED},
    {"read_masked", "", 32, READ_MASKED},
    {"read_masked", "", 16, READ_MASKED},
    {"read_masked", "", 0,
     "INLINE $V $V_read_masked(const $E *at, $M mask)\n"
     "{\n"
     "    $V result = {0};\n"
     "    for (int i = 0; i < $N; i++)\n"
     "        result[i] = mask[i] ? at[i] : 0;\n"
     "    return result;\n"
     "}\n"},
    {"write_masked", "", 64, WRITE_MASKED},
    {"write_masked", "", 32, WRITE_MASKED},
    {"write_masked", "", 16, WRITE_MASKED},
    {"write_masked", "", 0,
     "INLINE void $V_write_masked($E *at, $V value, $M mask)\n"
     "{\n"
     "    for (int i = 0; i < $N; i++) {\n"
     "        if (mask[i])\n"
     "            at[i] = value[i];\n"
     "    }\n"
     "}\n"},
    {"gather", "", 0,
     "INLINE $V $V_gather(const $E *from, $L at)\n"
     "{\n"
     "    $V result;\n"
     "    for (int i = 0; i < $N; i++)\n"
     "        result[i] = from[at[i]];\n"
     "    return result;\n"
     "}\n"},
    {"gather_masked", "", 0,
     "INLINE $V $V_gather_masked(const $E *from, $L at, $M mask)\n"
     "{\n"
     "    $V result = {0};\n"
     "    for (int i = 0; i < $N; i++)\n"
     "        result[i] = mask[i] ? from[at[i]] : 0;\n"
     "    return result;\n"
     "}\n"},
    {"scatter", "", 0,
     "INLINE void $V_scatter($E *to, $L at, $V value)\n"
     "{\n"
     "    for (int i = 0; i < $N; i++)\n"
     "        to[at[i]] = value[i];\n"
     "}\n"},
    {"scatter_part", "", 0,
     "INLINE void $V_scatter_part($E *to, $L at, $V value, int64_t count)\n"
     "{\n"
     "    for (int i = 0; i < $N && i < count; i++)\n"
     "        to[at[i]] = value[i];\n"
     "}\n"},
    {"scatter_masked", "", 0,
     "INLINE void $V_scatter_masked($E *to, $L at, $V value, $M mask)\n"
     "{\n"
     "    for (int i = 0; i < $N; i++) {\n"
     "        if (mask[i])\n"
     "            to[at[i]] = value[i];\n"
     "    }\n"
     "}\n"},
    {"stream", "", 64,
     "/* Past the caches, where the machine can and the address allows it. */\n"
     "INLINE void $V_stream($E *at, $V value)\n"
     "{\n"
     "#ifdef __AVX512F__\n"
     "    typedef long long words __attribute__((vector_size($Z)));\n"
     "    if (((uintptr_t)at & 63) == 0)\n"
     "#ifdef __clang__\n"
     "        __builtin_nontemporal_store((words)value, (words *)at);\n"
     "#else\n"
     "        __builtin_ia32_movntdq512((words *)at, (words)value);\n"
     "#endif\n"
     "    else\n"
     "#endif\n"
     "        $V_write(at, value);\n"
     "}\n"},
    {"stream", "", 32,
     "/* Past the caches, where the machine can and the address allows it. */\n"
     "INLINE void $V_stream($E *at, $V value)\n"
     "{\n"
     "#ifdef __AVX__\n"
     "    typedef long long words __attribute__((vector_size($Z)));\n"
     "    if (((uintptr_t)at & 31) == 0)\n"
     "#ifdef __clang__\n"
     "        __builtin_nontemporal_store((words)value, (words *)at);\n"
     "#else\n"
     "        __builtin_ia32_movntdq256((words *)at, (words)value);\n"
     "#endif\n"
     "    else\n"
     "#endif\n"
     "        $V_write(at, value);\n"
     "}\n"},
    {"stream", "", 0, "INLINE void $V_stream($E *at, $V value) { $V_write(at, value); }\n"},
    {NULL, NULL, 0, NULL},
};
