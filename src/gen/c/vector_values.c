/*
 * Pieces: what is done with vectors in registers, functions of mathematics aside: choice, order,
 * rounding, conversions between types, all lanes to one value. The operations are those of
 * ir/ops.def, to the last bit: NaN is passed on, -0 is below +0.
 */
#include "gen/c/vector.h"

#include <stddef.h>

#define FLOATS "f32 f64"
#define NUMBERS "f32 f64 i32 i64"

/* A function that is applied lane by lane, by the prelude's or libm's for one value. */
#define BY_LANE(types, name, function)             \
    {                                              \
        name, types, 0,                            \
            "INLINE $V $V_" name "($V a)\n"        \
            "{\n"                                  \
            "    for (int i = 0; i < $N; i++)\n"   \
            "        a[i] = " function "(a[i]);\n" \
            "    return a;\n"                      \
            "}\n"                                  \
    }
#define BY_LANE_2(types, name, function)                 \
    {                                                    \
        name, types, 0,                                  \
            "INLINE $V $V_" name "($V a, $V b)\n"        \
            "{\n"                                        \
            "    for (int i = 0; i < $N; i++)\n"         \
            "        a[i] = " function "(a[i], b[i]);\n" \
            "    return a;\n"                            \
            "}\n"                                        \
    }

/* Elements of another type, by conversions that at most halve or double the bytes of a lane: more
 * at a time some compilers do lane by lane. */
#define CONVERT(types, name, from, steps)                                                  \
    {                                                                                      \
        name, types, 0, "INLINE $V $V_" name "(" from " a)\n{\n    return " steps ";\n}\n" \
    }
#define TO(type, inner) "__builtin_convertvector(" inner ", " type ")"

/* All lanes combined, half and half. */
#define FOLD(name, types, combine)                       \
    {                                                    \
        name, types, 0,                                  \
            "/* All lanes combined, half and half. */\n" \
            "INLINE $E $V_" name "($V a)\n"              \
            "{\n"                                        \
            "    const $H b = " combine ";\n"            \
            "    return $H_" name "(b);\n"               \
            "}\n"                                        \
    }
#define FOLD_TWO(name, types, bytes, result, combine)                                       \
    {                                                                                       \
        name, types, bytes, "INLINE " result " $V_" name "($V a) { return " combine "; }\n" \
    }
#define FOLDS(name, types, lanes, ends)                                                  \
    FOLD_TWO(name, "f32 i32", 8, "$E", ends), FOLD_TWO(name, "f64 i64", 16, "$E", ends), \
        FOLD(name, types, lanes)

#define SELECT(types, mask)                                           \
    {                                                                 \
        "select", types, 0,                                           \
            "INLINE $V $V_select($M which, $V yes, $V no)\n"          \
            "{\n"                                                     \
            "    const $I mask = " mask ";\n"                         \
            "    return ($V)((mask & ($I)yes) | (~mask & ($I)no));\n" \
            "}\n"                                                     \
    }

/* The greater (or less) of two: NaN is passed on, of two zeros -0 is the less. */
#define EXTREME(name, types, beyond, zeros)                                              \
    {                                                                                    \
        name, types, 0,                                                                  \
            "/* NaN is passed on, -0 is below +0. */\n"                                  \
            "INLINE $V $V_" name "($V a, $V b)\n"                                        \
            "{\n"                                                                        \
            "    const $I first = (a " beyond " b) | (a != a), same = a == b;\n"         \
            "    const $I other = (same & (($I)a " zeros " ($I)b)) | (~same & ($I)b);\n" \
            "    return ($V)((first & ($I)a) | (~first & other));\n"                     \
            "}\n"                                                                        \
    }
/* On AVX-512 three instructions; `control` says which of the two is wanted. */
#define EXTREME_512(name, type, single, bits, beyond, control)                                \
    {                                                                                         \
        name, type, 64,                                                                       \
            "/* NaN is passed on, -0 is below +0. */\n"                                       \
            "INLINE $V $V_" name "($V a, $V b)\n"                                             \
            "{\n"                                                                             \
            "#if defined HAS_MASKS && !defined __clang__\n"                                   \
            "    const $V one = __builtin_ia32_rangep" single "512_mask(a, b, " control       \
            ", a, -1, 4);\n"                                                                  \
            "    return __builtin_ia32_addp" single "512_mask(\n"                             \
            "        a, b, one, __builtin_ia32_cmpp" single "512_mask(a, b, 3, -1, 4), 4);\n" \
            "#else\n"                                                                         \
            "    const $I first = (a " beyond " b) | (a != a), same = a == b;\n"              \
            "    const $I other = (same & (($I)a " bits " ($I)b)) | (~same & ($I)b);\n"       \
            "    return ($V)((first & ($I)a) | (~first & other));\n"                          \
            "#endif\n"                                                                        \
            "}\n"                                                                             \
    }

/*
 * On AVX the instruction gives its second operand where there is a NaN or two zeros: asked both
 * ways, zeros are put right by their bits (`zeros`), NaN by `none`.
 */
#define EXTREME_256(name, type, single, beyond, zeros, none)                             \
    {                                                                                    \
        name, type, 32,                                                                  \
            "/* NaN is passed on, -0 is below +0. */\n"                                  \
            "INLINE $V $V_" name "($V a, $V b)\n"                                        \
            "{\n"                                                                        \
            "#ifdef __AVX__\n"                                                           \
            "    const $I one = ($I)__builtin_ia32_" name "p" single "256(a, b);\n"      \
            "    const $I two = ($I)__builtin_ia32_" name "p" single "256(b, a);\n"      \
            "    return ($V)((one " zeros " two)" none ");\n"                            \
            "#else\n"                                                                    \
            "    const $I first = (a " beyond " b) | (a != a), same = a == b;\n"         \
            "    const $I other = (same & (($I)a " zeros " ($I)b)) | (~same & ($I)b);\n" \
            "    return ($V)((first & ($I)a) | (~first & other));\n"                     \
            "#endif\n"                                                                   \
            "}\n"                                                                        \
    }
#define UNORDERED_256(single) " | ($I)__builtin_ia32_cmpp" single "256(a, b, 3)"

/* With a number, not NaN, and for `least` not 0: one comparison does. */
#define BOUND(name, comment, beyond)                                                         \
    {                                                                                        \
        name, FLOATS, 0,                                                                     \
            comment "INLINE $V $V_" name "($V a, $E bound)\n"                                \
                    "{\n"                                                                    \
                    "    const $I inside = ~(a " beyond " bound);\n"                         \
                    "    return ($V)((inside & ($I)a) | (~inside & ($I)$V_splat(bound)));\n" \
                    "}\n"                                                                    \
    }

/* One instruction of AVX-512, which gives its second operand when there is a NaN. */
#define BOUND_512(name, comment, beyond, type, single)                                       \
    {                                                                                        \
        name, type, 64,                                                                      \
            comment "INLINE $V $V_" name "($V a, $E bound)\n"                                \
                    "{\n"                                                                    \
                    "#if defined __AVX512F__ && !defined __clang__\n"                        \
                    "    return __builtin_ia32_" single                                      \
                    "512_mask($V_splat(bound), a, a, -1, 4);\n"                              \
                    "#else\n"                                                                \
                    "    const $I inside = ~(a " beyond " bound);\n"                         \
                    "    return ($V)((inside & ($I)a) | (~inside & ($I)$V_splat(bound)));\n" \
                    "#endif\n"                                                               \
                    "}\n"                                                                    \
    }
#define BOUND_256(name, comment, beyond, type, single)                                       \
    {                                                                                        \
        name, type, 32,                                                                      \
            comment "INLINE $V $V_" name "($V a, $E bound)\n"                                \
                    "{\n"                                                                    \
                    "#ifdef __AVX__\n"                                                       \
                    "    return __builtin_ia32_" single "256($V_splat(bound), a);\n"         \
                    "#else\n"                                                                \
                    "    const $I inside = ~(a " beyond " bound);\n"                         \
                    "    return ($V)((inside & ($I)a) | (~inside & ($I)$V_splat(bound)));\n" \
                    "#endif\n"                                                               \
                    "}\n"                                                                    \
    }
/* a if it is beyond b, else b: what the instruction does. */
#define BEYOND(name, beyond)                                         \
    {                                                                \
        name, FLOATS, 0,                                             \
            "INLINE $V $V_" name "($V a, $V b)\n"                    \
            "{\n"                                                    \
            "    const $I first = a " beyond " b;\n"                 \
            "    return ($V)((first & ($I)a) | (~first & ($I)b));\n" \
            "}\n"                                                    \
    }
#define BEYOND_512(name, beyond, type, single)                                \
    {                                                                         \
        name, type, 64,                                                       \
            "INLINE $V $V_" name "($V a, $V b)\n"                             \
            "{\n"                                                             \
            "#if defined __AVX512F__ && !defined __clang__\n"                 \
            "    return __builtin_ia32_" single "512_mask(a, b, a, -1, 4);\n" \
            "#else\n"                                                         \
            "    const $I first = a " beyond " b;\n"                          \
            "    return ($V)((first & ($I)a) | (~first & ($I)b));\n"          \
            "#endif\n"                                                        \
            "}\n"                                                             \
    }
#define BEYOND_256(name, beyond, type, single)                       \
    {                                                                \
        name, type, 32,                                              \
            "INLINE $V $V_" name "($V a, $V b)\n"                    \
            "{\n"                                                    \
            "#ifdef __AVX__\n"                                       \
            "    return __builtin_ia32_" single "256(a, b);\n"       \
            "#else\n"                                                \
            "    const $I first = a " beyond " b;\n"                 \
            "    return ($V)((first & ($I)a) | (~first & ($I)b));\n" \
            "#endif\n"                                               \
            "}\n"                                                    \
    }
#define AT_LEAST "/* The greater of a and a number; NaN stays. */\n"
#define AT_MOST "/* The less of a and a number that is not 0; NaN stays. */\n"

/* Whole numbers: beyond 2^23 (2^52) there are no others. */
#define WHOLE(name, comment, digits, body)                                         \
    comment "INLINE $V $V_" name "($V a)\n"                                        \
            "{\n"                                                                  \
            "    const $I sign = ($I)a & ($I)$V_splat(-0.0$@);\n"                  \
            "    const $V size = ($V)(($I)a ^ sign);\n"                            \
            "    const $I small = size < " digits ";\n" body                       \
            "    return ($V)((small & (($I)result | sign)) | (~small & ($I)a));\n" \
            "}\n"
/* One instruction of AVX-512; `portable` elsewhere. */
#define WHOLE_512(type, single, name, mode, portable)                                      \
    {                                                                                      \
        name, type, 64,                                                                    \
            "#ifdef __AVX512F__\n"                                                         \
            "INLINE $V $V_" name "($V a)\n"                                                \
            "{\n"                                                                          \
            "    return __builtin_ia32_rndscalep" single "_mask(a, " mode ", a, -1, 4);\n" \
            "}\n"                                                                          \
            "#else\n" portable "#endif\n"                                                  \
    }
#define DOWN_OR_UP(name, beyond, sign)                                                      \
    "INLINE $V $V_" name "($V a)\n"                                                         \
    "{\n"                                                                                   \
    "    const $V whole = $V_trunc(a);\n"                                                   \
    "    return ($V)(($I)(whole " sign " ($V)((whole " beyond " a) & ($I)$V_splat(1))) |\n" \
    "                (($I)a & ($I)$V_splat(-0.0$@)));\n"                                    \
    "}\n"
#define FROM_F16                                                                     \
    "    const $U bits = __builtin_convertvector(a, $U);\n"                          \
    "    /* exponents of float start so much lower; subnormals too */\n"             \
    "    const $V size = ($V)((bits & 0x7fff) << 13) * 0x1p112f;\n"                  \
    "    const $I beyond = (size >= 65536.0f) & 0x7f800000; /* infinite or NaN */\n" \
    "    return ($V)(($U)size | ($U)beyond | (bits & 0x8000) << 16);\n"
#define TO_F16                                                                         \
    "    const $U sign = ($U)a >> 16 & 0x8000, bits = ($U)a & 0x7fffffff;\n"           \
    "    const $V size = ($V)bits;\n"                                                  \
    "    const $U low = ($U)(size < 0x1p-14f), big = ($U)(size >= 65520.0f);\n"        \
    "    /* subnormal: the sum rounds to multiples of 2^-24 */\n"                      \
    "    const $U small = ($U)(size + 0.5f) - 0x3f000000, none = ($U)(a != a);\n"      \
    "    const $U normal = (bits + 0xfff + (bits >> 13 & 1) - 0x38000000) >> 13;\n"    \
    "    const $U finite = (low & small) | (~low & ~big & normal) | (big & 0x7c00);\n" \
    "    const $U result = sign | (~none & finite) | (none & 0x7e00);\n"               \
    "    return __builtin_convertvector(result, $W);\n"

/* Lanes of 32 bytes moved, zeros coming in: `fast` by AVX2, `plain` as a shuffle. */
#define MOVED(name, fast, plain)                                                           \
    {                                                                                      \
        name, "f32", 32,                                                                   \
            "INLINE $V $V_" name "($V a)\n"                                                \
            "{\n"                                                                          \
            "#if defined __AVX2__ && !defined __clang__\n"                                 \
            "    typedef long long words __attribute__((vector_size($Z), unused));\n" fast \
            "#else\n"                                                                      \
            "    return __builtin_shufflevector(a, $V_splat(0), " plain ");\n"             \
            "#endif\n"                                                                     \
            "}\n"                                                                          \
    }
#define MOVED_BITS(name, builtin, bits, plain) \
    MOVED(name, "    return ($V)__builtin_ia32_" builtin "((words)a, " bits ");\n", plain)
#define HALVES_SWAPPED(control) \
    "    const $V other = __builtin_ia32_vperm2f128_ps256(a, a, " control ");\n"

const struct vector_piece vector_values[] = {
    {"splat", "", 0, "INLINE $V $V_splat($E a)\n{\n    return ($V){$[a]};\n}\n"},
    {"select", "f32", 32,
     "INLINE $V $V_select($M which, $V yes, $V no)\n"
     "{\n"
     "#ifdef __AVX__\n"
     "    return __builtin_ia32_blendvps256(no, yes, ($V)which);\n"
     "#else\n"
     "    return ($V)((which & ($I)yes) | (~which & ($I)no));\n"
     "#endif\n"
     "}\n"},
    {"select", "i32", 32,
     "INLINE $V $V_select($M which, $V yes, $V no)\n"
     "{\n"
     "#ifdef __AVX__\n"
     "    typedef float lanes __attribute__((vector_size(32)));\n"
     "    return ($V)__builtin_ia32_blendvps256((lanes)no, (lanes)yes, (lanes)which);\n"
     "#else\n"
     "    return (which & yes) | (~which & no);\n"
     "#endif\n"
     "}\n"},
    SELECT("f32 i32 u32", "which"),
    SELECT("f64 i64 u64", TO("$I", "which")),
    /* ---- order ---- */
    {"abs", FLOATS, 0, "INLINE $V $V_abs($V a) { return ($V)(($I)a & ~($I)$V_splat(-0.0$@)); }\n"},
    {"abs", "i32 i64", 0, "INLINE $V $V_abs($V a) { return (a ^ (a < 0)) - (a < 0); }\n"},
    {"sign", FLOATS, 0,
     "/* -1, 0 or 1; NaN stays. */\n"
     "INLINE $V $V_sign($V a)\n"
     "{\n"
     "    const $I one = ((a > 0) & ($I)$V_splat(1)) | ((a < 0) & ($I)$V_splat(-1));\n"
     "    return ($V)(one | ((a != a) & ($I)a));\n"
     "}\n"},
    {"sign", "i32 i64", 0, "INLINE $V $V_sign($V a) { return (a < 0) - (a > 0); }\n"},
    {"copysign", FLOATS, 0,
     "/* The sign of a NaN counts as +. */\n"
     "INLINE $V $V_copysign($V a, $V b)\n"
     "{\n"
     "    const $I sign = ($I)$V_splat(-0.0$@);\n"
     "    return ($V)((($I)a & ~sign) | (($I)b & sign & (b == b)));\n"
     "}\n"},
    EXTREME_512("max", "f32", "s", "&", ">", "5"),
    EXTREME_512("max", "f64", "d", "&", ">", "5"),
    EXTREME_512("min", "f32", "s", "|", "<", "4"),
    EXTREME_512("min", "f64", "d", "|", "<", "4"),
    EXTREME_256("max", "f32", "s", ">", "&", UNORDERED_256("s")),
    EXTREME_256("max", "f64", "d", ">", "&", UNORDERED_256("d")),
    EXTREME_256("min", "f32", "s", "<", "|", ""),
    EXTREME_256("min", "f64", "d", "<", "|", ""),
    EXTREME("max", FLOATS, ">", "&"),
    EXTREME("min", FLOATS, "<", "|"),
    {"max", "i32 i64", 0,
     "INLINE $V $V_max($V a, $V b) { return (a & (a > b)) | (b & ~(a > b)); }\n"},
    {"min", "i32 i64", 0,
     "INLINE $V $V_min($V a, $V b) { return (a & (a < b)) | (b & ~(a < b)); }\n"},
    BOUND_512("at_least", AT_LEAST, "<=", "f32", "maxps"),
    BOUND_512("at_least", AT_LEAST, "<=", "f64", "maxpd"),
    BOUND_512("at_most", AT_MOST, ">=", "f32", "minps"),
    BOUND_512("at_most", AT_MOST, ">=", "f64", "minpd"),
    BOUND_256("at_least", AT_LEAST, "<=", "f32", "maxps"),
    BOUND_256("at_least", AT_LEAST, "<=", "f64", "maxpd"),
    BOUND_256("at_most", AT_MOST, ">=", "f32", "minps"),
    BOUND_256("at_most", AT_MOST, ">=", "f64", "minpd"),
    BOUND("at_least", AT_LEAST, "<="),
    BOUND("at_most", AT_MOST, ">="),
    BEYOND_512("greater", ">", "f32", "maxps"),
    BEYOND_512("greater", ">", "f64", "maxpd"),
    BEYOND_512("lesser", "<", "f32", "minps"),
    BEYOND_512("lesser", "<", "f64", "minpd"),
    BEYOND_256("greater", ">", "f32", "maxps"),
    BEYOND_256("greater", ">", "f64", "maxpd"),
    BEYOND_256("lesser", "<", "f32", "minps"),
    BEYOND_256("lesser", "<", "f64", "minpd"),
    BEYOND("greater", ">"),
    BEYOND("lesser", "<"),
    /* ---- integers ---- */
    {"add", "i64", 0, "INLINE $V $V_add($V a, $V b) { return ($V)(($U)a + ($U)b); }\n"},
    {"sub", "i64", 0, "INLINE $V $V_sub($V a, $V b) { return ($V)(($U)a - ($U)b); }\n"},
    {"mul", "i64", 0, "INLINE $V $V_mul($V a, $V b) { return ($V)(($U)a * ($U)b); }\n"},
    {"neg", "i64", 0, "INLINE $V $V_neg($V a) { return ($V)-($U)a; }\n"},
    {"shl", "i64", 0, "INLINE $V $V_shl($V a, $V b) { return ($V)(($U)a << (($U)b & 63)); }\n"},
    {"shr", "i64", 0, "INLINE $V $V_shr($V a, $V b) { return a >> (b & 63); }\n"},
    BY_LANE_2("i64", "div", "floor_div"),
    BY_LANE_2("i64", "mod", "floor_mod"),
    BY_LANE_2("i64", "quot", "quotient"),
    BY_LANE_2("i64", "rem", "remainder_of"),
/* ---- whole numbers ---- */
#define TRUNC                                        \
    "    const $V result = __builtin_convertvector(" \
    "__builtin_convertvector(($V)(small & ($I)size), $I), $V);\n"
#define ROUND(digits) "    const $V result = (size + " digits ") - " digits ";\n"
    WHOLE_512("f32", "s", "trunc", "11", WHOLE("trunc", "", "0x1p23f", TRUNC)),
    WHOLE_512("f64", "d", "trunc", "11", WHOLE("trunc", "", "0x1p52", TRUNC)),
    {"trunc", "f32", 0, WHOLE("trunc", "", "0x1p23f", TRUNC)},
    {"trunc", "f64", 0, WHOLE("trunc", "", "0x1p52", TRUNC)},
    WHOLE_512("f32", "s", "round", "8", WHOLE("round", "", "0x1p23f", ROUND("0x1p23f"))),
    WHOLE_512("f64", "d", "round", "8", WHOLE("round", "", "0x1p52", ROUND("0x1p52"))),
    {"round", "f32", 0, WHOLE("round", "/* Half to even. */\n", "0x1p23f", ROUND("0x1p23f"))},
    {"round", "f64", 0, WHOLE("round", "/* Half to even. */\n", "0x1p52", ROUND("0x1p52"))},
    {"floor", FLOATS, 0, DOWN_OR_UP("floor", ">", "-")},
    {"ceil", FLOATS, 0, DOWN_OR_UP("ceil", "<", "+")},
    /* ---- from one type to another ---- */
    CONVERT("f32", "from_f64", "$D", TO("$V", "a")),
    CONVERT("f64", "from_f32", "$F", TO("$V", "a")),
    CONVERT("f64", "from_i64", "$L", TO("$V", "a")),
    CONVERT("f32", "from_i64", "$L", TO("$V", "a")),
    CONVERT("f64", "from_i32", "$M", TO("$V", "a")),
    CONVERT("f32", "from_i32", "$M", TO("$V", "a")),
    CONVERT("i64", "from_i32", "$M", TO("$V", "a")),
    CONVERT("i32", "from_i64", "$L", TO("$V", "a")),
    CONVERT("i64", "from_u32", "$X", TO("$V", "a")),
    CONVERT("i64", "from_i16", "$S", TO("$V", TO("$M", "a"))),
    CONVERT("i64", "from_i8", "$Q", TO("$V", TO("$M", TO("$S", "a")))),
    CONVERT("i64", "from_u8", "$Y", TO("$V", TO("$M", TO("$W", "a")))),
    CONVERT("i32", "from_bool", "$Y", "(" TO("$V", TO("$W", "a")) ") != 0"),
    CONVERT("u8", "from_truth", "$M", TO("$V", TO("$W", "a")) " & 1"),
    CONVERT("i64", "from_truth", "$M", "-" TO("$V", "a")),
    CONVERT("f32", "from_truth", "$M", TO("$V", "-a")),
    CONVERT("f64", "from_truth", "$M", TO("$V", "-a")),
    CONVERT("u32", "from_i64", "$L", TO("$V", "a")),
    CONVERT("i16", "from_i64", "$L", TO("$V", TO("$M", "a"))),
    CONVERT("i8", "from_i64", "$L", TO("$V", TO("$S", TO("$M", "a")))),
    CONVERT("u8", "from_i64", "$L", TO("$V", TO("$W", TO("$M", "a")))),
    CONVERT("f32", "from_bf16", "$W", "($V)(" TO("$X", "a") " << 16)"),
    {"from_f16", "f32", 64,
     "INLINE $V $V_from_f16($W a)\n"
     "{\n"
     "#ifdef __AVX512F__\n"
     "    typedef short words __attribute__((vector_size(32)));\n"
     "    return __builtin_ia32_vcvtph2ps512_mask((words)a, ($V){0}, -1, 4);\n"
     "#else\n" FROM_F16 "#endif\n"
     "}\n"},
    {"from_f16", "f32", 0, "INLINE $V $V_from_f16($W a)\n{\n" FROM_F16 "}\n"},
    {"from_f8e5", "f32", 0,
     "INLINE $V $V_from_f8e5($Y a)\n"
     "{\n"
     "    return $V_from_f16(__builtin_convertvector(a, $W) << 8); /* with fewer digits */\n"
     "}\n"},
    {"from_f8e4", "f32", 0,
     "INLINE $V $V_from_f8e4($Y a)\n"
     "{\n"
     "    const $U bits = __builtin_convertvector(__builtin_convertvector(a, $W), $U);\n"
     "    const $V size = ($V)((bits & 0x7f) << 20) * 0x1p120f;\n"
     "    const $I none = ((bits & 0x7f) == 0x7f) & 0x7fc00000;\n"
     "    return ($V)(($U)size | ($U)none | (bits & 0x80) << 24);\n"
     "}\n"},
    {"to_bf16", "f32", 0,
     "/* To the nearest, ties to even. */\n"
     "INLINE $W $V_to_bf16($V a)\n"
     "{\n"
     "    const $U bits = ($U)a, none = ($U)(a != a);\n"
     "    const $U kept = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;\n"
     "    return __builtin_convertvector((kept & ~none) | (none & 0x7fc0), $W);\n"
     "}\n"},
    {"to_f16", "f32", 64,
     "/* To the nearest, ties to even. */\n"
     "INLINE $W $V_to_f16($V a)\n"
     "{\n"
     "#ifdef __AVX512F__\n"
     "    typedef short words __attribute__((vector_size(32)));\n"
     "    return ($W)__builtin_ia32_vcvtps2ph512_mask(a, 0, (words){0}, -1);\n"
     "#else\n" TO_F16 "#endif\n"
     "}\n"},
    {"to_f16", "f32", 0,
     "/* To the nearest, ties to even. */\nINLINE $W $V_to_f16($V a)\n{\n" TO_F16 "}\n"},
#define TO_CODED(types, name, result, function)       \
    {                                                 \
        name, types, 0,                               \
            "INLINE " result " $V_" name "($V a)\n"   \
            "{\n"                                     \
            "    " result " bits;\n"                  \
            "    for (int i = 0; i < $N; i++)\n"      \
            "        bits[i] = " function "(a[i]);\n" \
            "    return bits;\n"                      \
            "}\n"                                     \
    }
    TO_CODED(FLOATS, "to_f8e4", "$Y", "$E_to_f8e4"),
    TO_CODED(FLOATS, "to_f8e5", "$Y", "$E_to_f8e5"),
    TO_CODED("f64", "to_f16", "$W", "double_to_f16"),
    TO_CODED("f64", "to_bf16", "$W", "double_to_bf16"),
    {"truncate", FLOATS, 0,
     "/* Toward zero, within limits; NaN is 0. */\n"
     "INLINE $L $V_truncate($V a, int64_t least, int64_t greatest)\n"
     "{\n"
     "    $L result;\n"
     "    for (int i = 0; i < $N; i++)\n"
     "        result[i] = truncate_to(a[i], least, greatest);\n"
     "    return result;\n"
     "}\n"},
    /* ---- all lanes to one ---- */
    /* ---- lanes moved ---- */
    MOVED("up_1",
          HALVES_SWAPPED(
              "0x08") "    return ($V)__builtin_ia32_palignr256((words)a, (words)other, 96);\n",
          "8, 0, 1, 2, 3, 4, 5, 6"),
    MOVED("down_1",
          HALVES_SWAPPED(
              "0x81") "    return ($V)__builtin_ia32_palignr256((words)other, (words)a, 32);\n",
          "1, 2, 3, 4, 5, 6, 7, 8"),
    MOVED_BITS("halves_up_1", "pslldqi256", "32", "8, 0, 1, 2, 8, 4, 5, 6"),
    MOVED_BITS("halves_up_2", "pslldqi256", "64", "8, 8, 0, 1, 8, 8, 4, 5"),
    MOVED_BITS("halves_down_1", "psrldqi256", "32", "1, 2, 3, 8, 5, 6, 7, 8"),
    MOVED_BITS("halves_down_2", "psrldqi256", "64", "2, 3, 8, 8, 6, 7, 8, 8"),
    MOVED("third_to_high",
          HALVES_SWAPPED(
              "0x08") "    return __builtin_shufflevector(other, other, 3, 3, 3, 3, 7, 7, 7, 7);\n",
          "8, 8, 8, 8, 3, 3, 3, 3"),
    MOVED("fourth_to_low",
          HALVES_SWAPPED(
              "0x81") "    return __builtin_shufflevector(other, other, 0, 0, 0, 0, 4, 4, 4, 4);\n",
          "4, 4, 4, 4, 8, 8, 8, 8"),
    FOLDS("sum", NUMBERS, "$V_low(a) + $V_high(a)", "a[0] + a[1]"),
    FOLDS("product", NUMBERS, "$V_low(a) * $V_high(a)", "a[0] * a[1]"),
    FOLDS("all", "i32", "$V_low(a) & $V_high(a)", "a[0] & a[1]"),
    FOLDS("any", "i32", "$V_low(a) | $V_high(a)", "a[0] | a[1]"),
/* Every lane becomes the greatest: shorter vectors would be taken apart. */
#define FOLD_EXTREMES_256(name, function)                                                          \
    {                                                                                              \
        name, "f32", 32,                                                                           \
            "INLINE $E $V_" name "($V a)\n"                                                        \
            "{\n"                                                                                  \
            "    a = $V_" function "(a, __builtin_shufflevector(a, a, 4, 5, 6, 7, 0, 1, 2, 3));\n" \
            "    a = $V_" function "(a, __builtin_shufflevector(a, a, 2, 3, 0, 1, 6, 7, 4, 5));\n" \
            "    a = $V_" function "(a, __builtin_shufflevector(a, a, 1, 0, 3, 2, 5, 4, 7, 6));\n" \
            "    return a[0];\n"                                                                   \
            "}\n"                                                                                  \
    }
    FOLD_EXTREMES_256("maximum", "max"),
    FOLD_EXTREMES_256("minimum", "min"),
#define FOLD_EXTREMES(name, function)                                            \
    FOLD_TWO(name, "f32", 8, "$E", "float_" function "(a[0], a[1])"),            \
        FOLD_TWO(name, "f64", 16, "$E", "double_" function "(a[0], a[1])"),      \
        FOLD_TWO(name, "i32", 8, "$E", "(int32_t)int_" function "(a[0], a[1])"), \
        FOLD_TWO(name, "i64", 16, "$E", "int_" function "(a[0], a[1])"),         \
        FOLD(name, NUMBERS, "$H_" function "($V_low(a), $V_high(a))")
    FOLD_EXTREMES("maximum", "max"),
    FOLD_EXTREMES("minimum", "min"),
    {NULL, NULL, 0, NULL},
};
