/*
 * Pieces: words that hold several operands, and their dot products. What one instruction of the
 * machine does is written out beside it, so that such kernels are right wherever they are compiled.
 */
#include "gen/c/vector.h"

#include <stddef.h>

/* The builtins' types for a vector of bf16 changed twice: shorts, words, then the type itself. */
#define DOT_BF16_TYPE                                                  \
    "#if defined __clang__ ? __clang_major__ >= 16 : __GNUC__ >= 13\n" \
    "    typedef __bf16 operands __attribute__((vector_size($Z)));\n"  \
    "#elif defined __clang__\n"                                        \
    "    typedef int operands __attribute__((vector_size($Z)));\n"     \
    "#else\n"                                                          \
    "    typedef short operands __attribute__((vector_size($Z)));\n"   \
    "#endif\n"

#define DOT_BF16_PLAIN                                                  \
    "    sum += ($V)(($U)a & 0xffff0000) * ($V)(($U)b & 0xffff0000);\n" \
    "    sum += ($V)(($U)a << 16) * ($V)(($U)b << 16);\n"               \
    "    return sum;\n"

#define DOT_I8_PLAIN                                                                      \
    "    $U result = ($U)sum;\n"                                                          \
    "    for (int i = 0; i < 32; i += 8)\n"                                               \
    "        result += ($U)((($V)(($U)b << (24 - i)) >> 24) * ($V)(($U)a >> i & 255));\n" \
    "    return ($V)result;\n"

/*
 * Tiles. gcc has no builtins for them, and its own header says the same in assembly. The name can
 * be taken by something else before the file begins: a model, where the machine has no tiles.
 */
#define TILE_INSTRUCTION(name, parameters, instruction)                          \
    {                                                                            \
        name, "i32", 64,                                                         \
            "#ifndef $V_" name "\n"                                              \
            "#define $V_" name parameters " __asm__ volatile(" instruction ")\n" \
            "#endif\n"                                                           \
    }
#define TILE_DOT(words, instruction)                   \
    TILE_INSTRUCTION("tile_dot_" words, "(sum, a, b)", \
                     "\"" instruction                  \
                     " %%tmm\" #b \", %%tmm\" #a \", %%tmm\" #sum : : : \"memory\"")

const struct vector_piece vector_words[] = {
    TILE_INSTRUCTION("tile_configure", "(shape)", "\"ldtilecfg %0\" : : \"m\"(*(shape))"),
    {"tile_begin", "i32", 64,
     "/* Eight tiles of 16 rows of 64 bytes. */\n"
     "INLINE void $V_tile_begin(void)\n"
     "{\n"
     "    static const struct {\n"
     "        uint8_t palette, start, reserved[14];\n"
     "        uint16_t bytes[16];\n"
     "        uint8_t rows[16];\n"
     "    } shape __attribute__((aligned(64))) = {\n"
     "        1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};\n"
     "    $V_tile_configure(&shape);\n"
     "}\n"},
    TILE_INSTRUCTION("tile_end", "()", "\"tilerelease\" : : : \"memory\""),
    TILE_INSTRUCTION("tile_zero", "(tile)", "\"tilezero %%tmm\" #tile : : : \"memory\""),
    TILE_INSTRUCTION("tile_load", "(tile, at, stride)",
                     "\"tileloadd (%0,%1,1), %%tmm\" #tile : \\\n"
                     "        : \"r\"(at), \"r\"((int64_t)(stride)) : \"memory\""),
    TILE_INSTRUCTION("tile_load_once", "(tile, at, stride)",
                     "\"tileloaddt1 (%0,%1,1), %%tmm\" #tile : \\\n"
                     "        : \"r\"(at), \"r\"((int64_t)(stride)) : \"memory\""),
    TILE_INSTRUCTION("tile_store", "(tile, at, stride)",
                     "\"tilestored %%tmm\" #tile \", (%0,%1,1)\" : \\\n"
                     "        : \"r\"(at), \"r\"((int64_t)(stride)) : \"memory\""),
    TILE_DOT("bf16", "tdpbf16ps"),
    TILE_DOT("i8_i8", "tdpbssd"),
    TILE_DOT("i8_u8", "tdpbsud"),
    TILE_DOT("u8_i8", "tdpbusd"),
    TILE_DOT("u8_u8", "tdpbuud"),
    {"word", "i32", 0,
     "/* Four bytes, whatever they are. */\n"
     "INLINE int32_t $V_word(const void *at)\n"
     "{\n"
     "    typedef int32_t word __attribute__((aligned(1), may_alias));\n"
     "    return *(const word *)at;\n"
     "}\n"},
    {"words", "i32", 0,
     "INLINE $V $V_words(const void *at)\n"
     "{\n"
     "    typedef int32_t near __attribute__((vector_size($Z), aligned(1), may_alias));\n"
     "    return ($V)*(const near *)at;\n"
     "}\n"},
    {"write_words", "i32", 0,
     "INLINE void $V_write_words(void *at, $V value)\n"
     "{\n"
     "    typedef int32_t near __attribute__((vector_size($Z), aligned(1), may_alias));\n"
     "    *(near *)at = (near)value;\n"
     "}\n"},
    {"near_bf16", "f32", 0,
     "/* The nearest number of bf16. */\n"
     "INLINE $V $V_near_bf16($V a) { return ($V)((($U)a + 0x8000) & 0xffff0000); }\n"},
    {"pair", "f32", 0,
     "/* Two bf16 in a word, the first in the lower half. */\n"
     "INLINE $M $V_pair($V low, $V high)\n"
     "{\n"
     "    return ($M)(($U)low >> 16 | (($U)high & 0xffff0000));\n"
     "}\n"},
    {"dot_bf16", "f32", 64,
     "/* Products of pairs of bf16, added to the sum. */\n"
     "INLINE $V $V_dot_bf16($V sum, $M a, $M b)\n"
     "{\n"
     "#ifdef __AVX512BF16__\n" DOT_BF16_TYPE "#ifdef __clang__\n"
     "    return __builtin_ia32_dpbf16ps_512(sum, (operands)a, (operands)b);\n"
     "#else\n"
     "    return __builtin_ia32_dpbf16ps_v16sf(sum, (operands)a, (operands)b);\n"
     "#endif\n"
     "#else\n" DOT_BF16_PLAIN "#endif\n"
     "}\n"},
    {"dot_bf16", "f32", 0,
     "/* Products of pairs of bf16, added to the sum. */\n"
     "INLINE $V $V_dot_bf16($V sum, $M a, $M b)\n"
     "{\n" DOT_BF16_PLAIN "}\n"},
    {"dot_u8_i8", "i32", 64,
     "/* Products of four u8 by four i8, added to the sum. */\n"
     "INLINE $V $V_dot_u8_i8($V sum, $V a, $V b)\n"
     "{\n"
     "#ifdef __AVX512VNNI__\n"
     "    typedef int words __attribute__((vector_size($Z)));\n"
     "#ifdef __clang__\n"
     "    return ($V)__builtin_ia32_vpdpbusd512((words)sum, (words)a, (words)b);\n"
     "#else\n"
     "    return ($V)__builtin_ia32_vpdpbusd_v16si((words)sum, (words)a, (words)b);\n"
     "#endif\n"
     "#else\n" DOT_I8_PLAIN "#endif\n"
     "}\n"},
    {"dot_u8_i8", "i32", 0,
     "/* Products of four u8 by four i8, added to the sum. */\n"
     "INLINE $V $V_dot_u8_i8($V sum, $V a, $V b)\n"
     "{\n" DOT_I8_PLAIN "}\n"},
    {NULL, NULL, 0, NULL},
};
