/*
 * Pieces: functions of mathematics. What has no text of its own here is libm's, lane by lane.
 */
#include "gen/c/vector.h"

#include <stddef.h>

#define FLOATS "f32 f64"

#define BY_LANE(name)                              \
    {                                              \
        name, FLOATS, 0,                           \
            "static inline $V $V_" name "($V a)\n" \
            "{\n"                                  \
            "    for (int i = 0; i < $N; i++)\n"   \
            "        a[i] = " name "$@(a[i]);\n"   \
            "    return a;\n"                      \
            "}\n"                                  \
    }
#define BY_LANE_2(name)                                  \
    {                                                    \
        name, FLOATS, 0,                                 \
            "static inline $V $V_" name "($V a, $V b)\n" \
            "{\n"                                        \
            "    for (int i = 0; i < $N; i++)\n"         \
            "        a[i] = " name "$@(a[i], b[i]);\n"   \
            "    return a;\n"                            \
            "}\n"                                        \
    }

const struct vector_piece vector_math[] = {
    /* ---- the rest: libm, lane by lane ---- */
    BY_LANE("sqrt"),    BY_LANE("exp"),        BY_LANE("exp2"),    BY_LANE("expm1"),
    BY_LANE("log"),     BY_LANE("log2"),       BY_LANE("log10"),   BY_LANE("log1p"),
    BY_LANE("cbrt"),    BY_LANE("sin"),        BY_LANE("cos"),     BY_LANE("tan"),
    BY_LANE("asin"),    BY_LANE("acos"),       BY_LANE("atan"),    BY_LANE("sinh"),
    BY_LANE("cosh"),    BY_LANE("tanh"),       BY_LANE("asinh"),   BY_LANE("acosh"),
    BY_LANE("atanh"),   BY_LANE("erf"),        BY_LANE("erfc"),    BY_LANE("lgamma"),
    BY_LANE("tgamma"),  BY_LANE_2("pow"),      BY_LANE_2("atan2"), BY_LANE_2("fmod"),
    BY_LANE_2("hypot"), {NULL, NULL, 0, NULL},
};
