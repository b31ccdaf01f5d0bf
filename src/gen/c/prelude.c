/*
 * What every generated file begins with: the operations of ops.def that C lacks, and exact rounding
 * to the narrow types. It is text, compiled together with the program, and shares nothing with
 * src/ir.
 *
 * Bits must come out as the interpreter's, so nothing here depends on the optimiser: only
 * operations that IEEE defines to the last bit, and calls of libm that -fno-builtin keeps as calls.
 */
#include "gen/c/emit.h"

#include <stddef.h>

const char emit_prelude_head[] =
    "#include <math.h>\n"
    "#include <stdint.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "\n"
    "#if __FLT_EVAL_METHOD__ != 0\n"
    "#error \"arithmetic wider than double would round twice\"\n"
    "#endif\n"
    "\n"
    "enum { DONE, NO_MEMORY, OUTSIDE }; /* what a part returns */\n"
    "enum { LANES_NEAR = 64, LANES_FAR = 8 }; /* elements that are summed side by side */\n"
    "\n"
    "/*\n"
    " * A part only calls its stages, which do the work. With thousands of them, optimising it "
    "would take\n"
    " * compilers minutes for nothing.\n"
    " */\n"
    "#ifdef __clang__\n"
    "#define PART static __attribute__((noinline, optnone))\n"
    "#else\n"
    "#define PART static __attribute__((noinline, optimize(\"O0\")))\n"
    "#endif\n"
    "#define STAGE static __attribute__((noinline))\n"
    "\n"
    "__attribute__((malloc)) static void *tensor_alloc(int64_t count, int *status)\n"
    "{\n"
    "    void *memory = NULL;\n"
    "    if (count >= 0 && count < INT64_MAX / 16)\n"
    "        memory = calloc(count > 0 ? (size_t)count : 1, 8);\n"
    "    if (!memory)\n"
    "        *status = NO_MEMORY;\n"
    "    return memory;\n"
    "}\n"
    "\n";

const char emit_prelude_integers[] =
    "/* Integers: every operation has a result; overflow wraps (-fwrapv). */\n"
    "static inline int64_t floor_div(int64_t a, int64_t b)\n"
    "{\n"
    "    if (b == 0)\n"
    "        return 0;\n"
    "    if (b == -1)\n"
    "        return -a;\n"
    "    return a / b - (a % b != 0 && (a < 0) != (b < 0));\n"
    "}\n"
    "static inline int64_t floor_mod(int64_t a, int64_t b)\n"
    "{\n"
    "    if (b == 0 || b == -1)\n"
    "        return 0;\n"
    "    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);\n"
    "}\n"
    "static inline int64_t quotient(int64_t a, int64_t b)\n"
    "{\n"
    "    return b == 0 ? 0 : b == -1 ? -a : a / b;\n"
    "}\n"
    "static inline int64_t remainder_of(int64_t a, int64_t b)\n"
    "{\n"
    "    return b == 0 || b == -1 ? 0 : a % b;\n"
    "}\n"
    "static inline int64_t shift_left(int64_t a, int64_t count)\n"
    "{\n"
    "    return (int64_t)((uint64_t)a << (count & 63));\n"
    "}\n"
    "static inline int64_t shift_right(int64_t a, int64_t count)\n"
    "{\n"
    "    return a >> (count & 63);\n"
    "}\n"
    "static inline int64_t int_abs(int64_t a) { return a < 0 ? -a : a; }\n"
    "static inline int64_t int_sign(int64_t a) { return (a > 0) - (a < 0); }\n"
    "static inline int64_t int_min(int64_t a, int64_t b) { return b < a ? b : a; }\n"
    "static inline int64_t int_max(int64_t a, int64_t b) { return b > a ? b : a; }\n"
    "\n";

const char emit_prelude_floats[] =
    "/* Floats: NaN is passed on, -0 is below +0, and the sign of a NaN counts as +. */\n"
    "static inline int is_nan(double a) { return a != a; }\n"
    "static inline int is_inf(double a) { return __builtin_fabs(a) == INFINITY; }\n"
    "static inline int is_finite(double a) { return __builtin_fabs(a) < INFINITY; }\n"
    "static inline double float_sign(double a)\n"
    "{\n"
    "    return a != a ? a : (double)((a > 0) - (a < 0));\n"
    "}\n"
    "static inline double float_copysign(double a, double b)\n"
    "{\n"
    "    return b != b ? __builtin_fabs(a) : __builtin_copysign(a, b);\n"
    "}\n"
    "static inline double float_max(double a, double b)\n"
    "{\n"
    "    if (a != a || b != b)\n"
    "        return NAN;\n"
    "    return a > b || (a == b && !__builtin_signbit(a)) ? a : b;\n"
    "}\n"
    "static inline double float_min(double a, double b)\n"
    "{\n"
    "    if (a != a || b != b)\n"
    "        return NAN;\n"
    "    return a < b || (a == b && __builtin_signbit(a)) ? a : b;\n"
    "}\n"
    "static inline int64_t truncate_to(double a, int64_t least, int64_t greatest)\n"
    "{\n"
    "    if (a != a)\n"
    "        return 0;\n"
    "    if (a >= (double)greatest)\n"
    "        return greatest;\n"
    "    return a <= (double)least ? least : (int64_t)a;\n"
    "}\n"
    "\n";

const char emit_prelude_rounding[] =
    "union bits {\n"
    "    double number;\n"
    "    uint64_t word;\n"
    "};\n"
    "\n"
    "/*\n"
    " * The nearest value with `digits` binary digits, ties to even; below 2^least the spacing no\n"
    " * longer shrinks, above `greatest` the result is `beyond`.\n"
    " */\n"
    "static inline double round_to(double a, int digits, int least, double greatest, double "
    "beyond)\n"
    "{\n"
    "    const union bits bits = {.number = a};\n"
    "    const int exponent = (int)(bits.word >> 52 & 2047) - 1023;\n"
    "    if (exponent == 1024) /* infinite or NaN */\n"
    "        return a != a ? a : a > 0 ? beyond : -beyond;\n"
    "    /* a is whole * 2^(exponent - 52); a subnormal double is far below anything kept */\n"
    "    const uint64_t whole = (bits.word & ((uint64_t)1 << 52) - 1) | (uint64_t)1 << 52;\n"
    "    const int dropped = 53 - digits + (exponent < least ? least - exponent : 0);\n"
    "    if (dropped > 53)\n"
    "        return __builtin_copysign(0.0, a);\n"
    "    const uint64_t rest = whole & ((uint64_t)1 << dropped) - 1;\n"
    "    const uint64_t half = (uint64_t)1 << (dropped - 1);\n"
    "    uint64_t kept = whole >> dropped;\n"
    "    kept += rest > half || (rest == half && (kept & 1));\n"
    "    const union bits unit = {.word = (uint64_t)(exponent - 52 + dropped + 1023) << 52};\n"
    "    const double size = (double)(int64_t)kept * unit.number;\n"
    "    return __builtin_copysign(size > greatest ? beyond : size, a);\n"
    "}\n"
    "static inline double round_f32(double a) { return (double)(float)a; }\n"
    "static inline double round_f16(double a)\n"
    "{\n"
    "    return round_to(a, 11, -14, 65504.0, INFINITY);\n"
    "}\n"
    "static inline double round_bf16(double a)\n"
    "{\n"
    "    return round_to(a, 8, -126, 0x1.fep127, INFINITY);\n"
    "}\n"
    "static inline double round_f8e4(double a) { return round_to(a, 4, -6, 448.0, NAN); }\n"
    "static inline double round_f8e5(double a) { return round_to(a, 3, -14, 57344.0, INFINITY); }\n"
    "\n";

const char emit_prelude_orders[] =
    "/*\n"
    " * Whether (a, i) stands before (b, j): better value first, then the lower index. Index -1 "
    "marks\n"
    " * the unit, which stands last; NaN stands first.\n"
    " */\n"
    "#define FLOAT_ORDER(name, better)                                              \\\n"
    "    static inline int name(double a, int64_t i, double b, int64_t j)           \\\n"
    "    {                                                                          \\\n"
    "        if (i == -1 || j == -1)                                                \\\n"
    "            return i != -1;                                                    \\\n"
    "        if (a != a || b != b)                                                  \\\n"
    "            return a != a && (b == b || i < j);                                \\\n"
    "        return a better b || (a == b && i < j);                                \\\n"
    "    }\n"
    "#define INT_ORDER(name, better)                                                \\\n"
    "    static inline int name(int64_t a, int64_t i, int64_t b, int64_t j)         \\\n"
    "    {                                                                          \\\n"
    "        if (i == -1 || j == -1)                                                \\\n"
    "            return i != -1;                                                    \\\n"
    "        return a better b || (a == b && i < j);                                \\\n"
    "    }\n"
    "FLOAT_ORDER(float_argmax_before, >)\n"
    "FLOAT_ORDER(float_argmin_before, <)\n"
    "INT_ORDER(int_argmax_before, >)\n"
    "INT_ORDER(int_argmin_before, <)\n"
    "\n"
    "/* Puts (a, i) where it belongs in the ordered list of `count`, if anywhere; the last drops "
    "out. */\n"
    "#define INSERT(name, type, before)                                             \\\n"
    "    static inline void name(type *values, int64_t *places, int64_t count, type a, int64_t i) "
    "\\\n"
    "    {                                                                          \\\n"
    "        if (count <= 0 || !before(a, i, values[count - 1], places[count - 1])) \\\n"
    "            return;                                                            \\\n"
    "        int64_t k = count - 1;                                                 \\\n"
    "        for (; k > 0 && before(a, i, values[k - 1], places[k - 1]); k--) {     \\\n"
    "            values[k] = values[k - 1];                                         \\\n"
    "            places[k] = places[k - 1];                                         \\\n"
    "        }                                                                      \\\n"
    "        values[k] = a;                                                         \\\n"
    "        places[k] = i;                                                         \\\n"
    "    }\n"
    "INSERT(float_topk, double, float_argmax_before)\n"
    "INSERT(float_bottomk, double, float_argmin_before)\n"
    "INSERT(int_topk, int64_t, int_argmax_before)\n"
    "INSERT(int_bottomk, int64_t, int_argmin_before)\n";

const char *const emit_prelude[] = {
    emit_prelude_head,     emit_prelude_integers, emit_prelude_floats,
    emit_prelude_rounding, emit_prelude_orders,   NULL,
};

/* What a name of the program must not be: C's words, libm's and the C library's, and the above. */
const char *const emit_reserved[] = {
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "asm",
    "typeof",
    "linux",
    "unix",
    "i386",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "logb",
    "sqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "lgamma",
    "tgamma",
    "floor",
    "ceil",
    "trunc",
    "round",
    "rint",
    "fmod",
    "hypot",
    "pow",
    "fabs",
    "copysign",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "INFINITY",
    "NAN",
    "HUGE_VAL",
    "NULL",
    "INT64_MIN",
    "INT64_MAX",
    "INT32_MIN",
    "INT32_MAX",
    "UINT32_MAX",
    "INT16_MIN",
    "INT16_MAX",
    "INT8_MIN",
    "INT8_MAX",
    "UINT8_MAX",
    "memcpy",
    "calloc",
    "free",
    "int8_t",
    "uint8_t",
    "int16_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "size_t",
    "DONE",
    "NO_MEMORY",
    "OUTSIDE",
    "STAGE",
    "PART",
    "LANES_NEAR",
    "LANES_FAR",
    "tensor_alloc",
    "floor_div",
    "floor_mod",
    "quotient",
    "remainder_of",
    "shift_left",
    "shift_right",
    "int_abs",
    "int_sign",
    "int_min",
    "int_max",
    "is_nan",
    "is_inf",
    "is_finite",
    "float_sign",
    "float_copysign",
    "float_max",
    "float_min",
    "truncate_to",
    "bits",
    "round_to",
    "round_f32",
    "round_f16",
    "round_bf16",
    "round_f8e4",
    "round_f8e5",
    "FLOAT_ORDER",
    "INT_ORDER",
    "INSERT",
    "float_argmax_before",
    "float_argmin_before",
    "int_argmax_before",
    "int_argmin_before",
    "float_topk",
    "float_bottomk",
    "int_topk",
    "int_bottomk",
    "status",
    "exact",
    "finish",
    "next",
    "rank",
    "sizes",
    "scalars",
    "inputs",
    "outputs",
    "smelt_oracle",
    "main",
    NULL,
};
