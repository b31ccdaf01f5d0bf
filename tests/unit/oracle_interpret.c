/*
 * The interpreter against values worked out by hand: every operation, every kind of stage, and the
 * corners where languages differ (NaN, signed zeros, wrapping, empty tensors, rounding).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle/interpret.h"
#include "oracle_program.h"

static const struct oracle_program *program_named(const char *name)
{
    const struct oracle_program *program = ORACLE_PROGRAMS;
    while (program->name && strcmp(program->name, name) != 0)
        program++;
    if (!program->name)
        test_fail(__FILE__, __LINE__, "no program '%s'", name);
    return program;
}

static void open_named(struct evaluation *e, const char *name, const int64_t *sizes)
{
    const struct oracle_program *program = program_named(name);
    evaluation_open(e, program->text, sizes ? sizes : program->sizes);
}

/* ---- operations ---- */

/* y = op(a, b, c) on one element of each type given; "to" is the type of y. */
static void open_operation(struct evaluation *e, const char *line, const char *from, const char *to)
{
    char text[1000];
    snprintf(text, sizeof text,
             "ir 1\npart p {\n    input a %s[]\n    input b %s[]\n    output y %s[]\n"
             "    signature (a, b) -> (y)\n    map {\n        %%0 = read a [] proved\n"
             "        %%1 = read b [] proved\n        %%2 = %s\n        y [] <- %%2\n    }\n}\n",
             from, from, to, line);
    evaluation_open(e, text, SIZES(0));
}

static double operate(const char *line, const char *from, const char *to, double a, double b)
{
    struct evaluation e;
    open_operation(&e, line, from, to);
    SET(&e, 0, a);
    SET(&e, 1, b);
    evaluation_run(&e, false);
    double y = e.outputs[0].floats ? e.outputs[0].floats[0] : (double)e.outputs[0].integers[0];
    evaluation_close(&e);
    return y;
}

static void check_operation(int line, const char *operation, const char *from, const char *to,
                            double a, double b, double expected)
{
    double found = operate(operation, from, to, a, b);
    if (!double_same(found, expected))
        test_fail(__FILE__, line, "%s of %.17g, %.17g is %.17g, not %.17g", operation, a, b, found,
                  expected);
}

#define FLOATS(operation, a, b, expected) \
    check_operation(__LINE__, operation " f64 %0, %1", "f64", "f64", a, b, expected)
#define FLOAT(operation, a, expected) \
    check_operation(__LINE__, operation " f64 %0", "f64", "f64", a, 0, expected)
#define INTEGERS(operation, a, b, expected) \
    check_operation(__LINE__, operation " %0, %1", "i64", "i64", a, b, expected)
#define TRUTH(operation, from, a, b, expected) \
    check_operation(__LINE__, operation, from, "bool", a, b, expected)

TEST(interpret_float_operations)
{
    FLOATS("add", 0.1, 0.2, 0.1 + 0.2);
    FLOATS("sub", 1, INFINITY, -INFINITY);
    FLOATS("mul", 0, INFINITY, NAN);
    FLOATS("fdiv", -1, 0, -INFINITY);
    FLOATS("pow", 2, -1074, 0x1p-1074);
    FLOATS("pow", NAN, 0, 1);
    FLOATS("fmod", -7, 3, -1);
    FLOATS("hypot", 3, 4, 5);
    FLOATS("copysign", 2, -0.0, -2);
    FLOATS("copysign", -2, -NAN, 2);
    FLOATS("atan2", 0, -1, atan2(0, -1));
    FLOATS("min", 0.0, -0.0, -0.0);
    FLOATS("min", -0.0, 0.0, -0.0);
    FLOATS("max", -0.0, 0.0, 0.0);
    FLOATS("max", 0.0, -0.0, 0.0);
    FLOATS("max", NAN, 1, NAN);
    FLOATS("min", 1, NAN, NAN);
    FLOATS("max", -INFINITY, 3, 3);
    FLOAT("neg", 0.0, -0.0);
    FLOAT("abs", -0.0, 0.0);
    FLOAT("sign", -0.0, 0.0);
    FLOAT("sign", -3, -1);
    FLOAT("sign", NAN, NAN);
    FLOAT("round", 2.5, 2);
    FLOAT("round", -0.4, -0.0);
    FLOAT("floor", -1.5, -2);
    FLOAT("ceil", -1.5, -1);
    FLOAT("trunc", -1.5, -1);
    FLOAT("sqrt", -1, NAN);
    FLOAT("log", 0, -INFINITY);
    FLOAT("lgamma", 0.5, lgamma(0.5));
}

TEST(interpret_float_functions)
{
    static const struct {
        const char *line;
        double (*function)(double);
    } functions[] = {
        {"exp f64 %0", exp},     {"exp2 f64 %0", exp2},     {"expm1 f64 %0", expm1},
        {"log f64 %0", log},     {"log2 f64 %0", log2},     {"log10 f64 %0", log10},
        {"log1p f64 %0", log1p}, {"sqrt f64 %0", sqrt},     {"cbrt f64 %0", cbrt},
        {"sin f64 %0", sin},     {"cos f64 %0", cos},       {"tan f64 %0", tan},
        {"asin f64 %0", asin},   {"acos f64 %0", acos},     {"atan f64 %0", atan},
        {"sinh f64 %0", sinh},   {"cosh f64 %0", cosh},     {"tanh f64 %0", tanh},
        {"asinh f64 %0", asinh}, {"acosh f64 %0", acosh},   {"atanh f64 %0", atanh},
        {"erf f64 %0", erf},     {"erfc f64 %0", erfc},     {"lgamma f64 %0", lgamma},
        {"floor f64 %0", floor}, {"tgamma f64 %0", tgamma}, {"trunc f64 %0", trunc},
        {"ceil f64 %0", ceil},   {"round f64 %0", rint},    {"abs f64 %0", fabs},
    };
    static const double at[] = {0.7, -1.3, 2.5, 1e300, -0.0, INFINITY, NAN};
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        for (size_t i = 0; i < sizeof at / sizeof *at; i++)
            check_operation(__LINE__, functions[f].line, "f64", "f64", at[i], 0,
                            functions[f].function(at[i]));
}

/* Doubles cannot hold these, so they are set and compared as they are. */
static int64_t operate_exactly(const char *line, int64_t a, int64_t b)
{
    struct evaluation e;
    open_operation(&e, line, "i64", "i64");
    e.inputs[0].integers[0] = a;
    e.inputs[1].integers[0] = b;
    evaluation_run(&e, false);
    int64_t y = e.outputs[0].integers[0];
    evaluation_close(&e);
    return y;
}

TEST(interpret_integer_operations)
{
    INTEGERS("div", -7, 2, -4);
    INTEGERS("div", 7, -2, -4);
    INTEGERS("div", 7, 0, 0);
    INTEGERS("mod", -7, 2, 1);
    INTEGERS("mod", 7, -2, -1);
    INTEGERS("mod", 7, 0, 0);
    INTEGERS("quot", -7, 2, -3);
    INTEGERS("rem", -7, 2, -1);
    INTEGERS("rem", 7, 0, 0);
    INTEGERS("bitand", 12, 10, 8);
    INTEGERS("bitor", 12, 10, 14);
    INTEGERS("bitxor", 12, 10, 6);
    INTEGERS("shl", 3, 65, 6);
    INTEGERS("shr", -5, 1, -3);
    INTEGERS("shr", -5, 64, -5);
    CHECK_INT(operate_exactly("add i64 %0, %1", INT64_MAX, 1), INT64_MIN);
    CHECK_INT(operate_exactly("sub i64 %0, %1", INT64_MIN, 1), INT64_MAX);
    CHECK_INT(operate_exactly("mul i64 %0, %1", INT64_MAX, 2), -2);
    CHECK_INT(operate_exactly("neg i64 %0", INT64_MIN, 0), INT64_MIN);
    CHECK_INT(operate_exactly("abs i64 %0", INT64_MIN, 0), INT64_MIN);
    CHECK_INT(operate_exactly("sign i64 %0", INT64_MIN, 0), -1);
    CHECK_INT(operate_exactly("div %0, %1", INT64_MIN, -1), INT64_MIN);
    CHECK_INT(operate_exactly("quot %0, %1", INT64_MIN, -1), INT64_MIN);
    CHECK_INT(operate_exactly("mod %0, %1", INT64_MIN, -1), 0);
    CHECK_INT(operate_exactly("rem %0, %1", INT64_MIN, -1), 0);
    CHECK_INT(operate_exactly("bitnot %0", 0, 0), -1);
    CHECK_INT(operate_exactly("shl %0, %1", 1, 63), INT64_MIN);
    CHECK_INT(operate_exactly("min i64 %0, %1", INT64_MIN, 3), INT64_MIN);
    CHECK_INT(operate_exactly("max i64 %0, %1", INT64_MIN, 3), 3);
}

TEST(interpret_comparisons_and_logic)
{
    TRUTH("eq %0, %1", "f64", 0.0, -0.0, 1);
    TRUTH("eq %0, %1", "f64", NAN, NAN, 0);
    TRUTH("ne %0, %1", "f64", NAN, NAN, 1);
    TRUTH("lt %0, %1", "f64", 1, NAN, 0);
    TRUTH("le %0, %1", "i64", 3, 3, 1);
    TRUTH("lt %0, %1", "i64", -3, 3, 1);
    TRUTH("eq %0, %1", "bool", 1, 0, 0);
    TRUTH("and %0, %1", "bool", 1, 0, 0);
    TRUTH("or %0, %1", "bool", 1, 0, 1);
    TRUTH("not %0", "bool", 1, 0, 0);
    TRUTH("isnan %0", "f64", NAN, 0, 1);
    TRUTH("isinf %0", "f64", -INFINITY, 0, 1);
    TRUTH("isfinite %0", "f64", INFINITY, 0, 0);
}

TEST(interpret_casts)
{
    check_operation(__LINE__, "cast f16 %0", "f64", "f64", 65520, 0, INFINITY);
    check_operation(__LINE__, "cast f16 %0", "f64", "f64", 1.00048828125, 0, 1.0);
    check_operation(__LINE__, "cast bf16 %0", "f64", "f64", 1.01, 0, 1.0078125);
    check_operation(__LINE__, "cast f8e4 %0", "f64", "f64", 1000, 0, NAN);
    check_operation(__LINE__, "cast f8e5 %0", "f64", "f64", 1e9, 0, INFINITY);
    check_operation(__LINE__, "cast f32 %0", "f64", "f64", 0.1, 0, (double)0.1f);
    check_operation(__LINE__, "cast f32 %0", "i64", "f64", 16777217, 0, 16777216);
    check_operation(__LINE__, "cast i8 %0", "f64", "i64", 300.9, 0, 127);
    check_operation(__LINE__, "cast u8 %0", "f64", "i64", -3.5, 0, 0);
    check_operation(__LINE__, "cast i64 %0", "f64", "i64", NAN, 0, 0);
    check_operation(__LINE__, "cast i8 %0", "i64", "i64", 200, 0, -56);
    check_operation(__LINE__, "cast u32 %0", "i64", "i64", -1, 0, 4294967295.0);
    check_operation(__LINE__, "cast bool %0", "f64", "bool", 0.25, 0, 1);
    check_operation(__LINE__, "cast bool %0", "f64", "bool", -0.0, 0, 0);
    check_operation(__LINE__, "cast bool %0", "f64", "bool", NAN, 0, 1);
    check_operation(__LINE__, "cast bool %0", "i64", "bool", 256, 0, 1);
    check_operation(__LINE__, "cast i64 %0", "bool", "i64", 1, 0, 1);
    check_operation(__LINE__, "cast f32 %0", "bool", "f64", 1, 0, 1);
    check_operation(__LINE__, "to_float f64 %0", "i64", "f64", -3, 0, -3);
    /* Nothing but a store or a cast rounds: f32 is only what the type is called. */
    check_operation(__LINE__, "mul f32 %0, %1", "f64", "f64", 0.1, 0.1, 0.1 * 0.1);
}

TEST(interpret_stores_round_and_wrap)
{
    check_operation(__LINE__, "add f64 %0, %1", "f64", "f16", 1, 0x1p-11, 1);
    check_operation(__LINE__, "add f64 %0, %1", "f64", "f8e4", 400, 60, 448);
    check_operation(__LINE__, "add f64 %0, %1", "f64", "bf16", 256, 1, 256);
    check_operation(__LINE__, "add i64 %0, %1", "i64", "i8", 100, 100, -56);
    check_operation(__LINE__, "add i64 %0, %1", "i64", "u8", 0, -1, 255);
    check_operation(__LINE__, "add i64 %0, %1", "i64", "i32", 2147483647, 1, -2147483648.0);
}

/* ---- stages ---- */

TEST(interpret_softmax)
{
    struct evaluation e;
    open_named(&e, "softmax", SIZES(3, 2));
    SET(&e, 0, 1, 1, 0, INFINITY, NAN, 3);
    evaluation_run(&e, false);
    EXPECT(&e, 0, 0.5, 0.5, NAN, NAN, NAN, NAN);
    evaluation_close(&e);
    open_named(&e, "softmax", SIZES(2, 0));
    evaluation_run(&e, false);
    CHECK_INT(e.outputs[0].count, 0);
    evaluation_close(&e);
}

/* A sum starts at +0 and goes from left to right. */
TEST(interpret_sums_in_order)
{
    static const char text[] = "ir 1\npart p {\n    size N\n    input x f64[N]\n"
                               "    output y f64[]\n    output z f64[]\n    output u i64[]\n"
                               "    output v f64[]\n    signature (x) -> (y, z, u, v)\n"
                               "    reduce sum over | n < N {\n        %0 = index n\n"
                               "        %1 = read x [%0] proved\n        y [] <- %1\n    }\n"
                               "    reduce product over | n < N {\n        %0 = index n\n"
                               "        %1 = read x [%0] proved\n        z [] <- %1\n    }\n"
                               "    reduce min over | n < N {\n        %0 = index n\n"
                               "        u [] <- %0\n    }\n"
                               "    reduce min over | n < N {\n        %0 = index n\n"
                               "        %1 = read x [%0] proved\n        v [] <- %1\n    }\n}\n";
    struct evaluation e;
    evaluation_open(&e, text, SIZES(4));
    SET(&e, 0, 1e16, 1, -1e16, 1);
    evaluation_run(&e, false);
    EXPECT(&e, 0, 1);
    evaluation_close(&e);
    evaluation_open(&e, text, SIZES(1));
    SET(&e, 0, -0.0);
    evaluation_run(&e, false);
    EXPECT(&e, 0, 0.0);
    EXPECT(&e, 1, -0.0);
    EXPECT(&e, 3, -0.0);
    evaluation_close(&e);
    evaluation_open(&e, text, SIZES(0));
    evaluation_run(&e, false);
    EXPECT(&e, 0, 0.0);
    EXPECT(&e, 1, 1.0);
    CHECK_INT(e.outputs[2].integers[0], INT64_MAX);
    EXPECT(&e, 3, INFINITY);
    evaluation_close(&e);
}

TEST(interpret_convolution)
{
    struct evaluation e;
    open_named(&e, "convolution", SIZES(1, 1, 3, 3));
    SET(&e, 0, 1, 2, 3);
    SET(&e, 1, 1, 2, 4);
    evaluation_run(&e, false);
    /* Outside x is 0.25; t is stored as bf16, y as f16. */
    double t[3] = {0.25 + 2 + 8, 1 + 4 + 12, 2 + 6 + 1}, y[3];
    for (int i = 0; i < 3; i++) {
        double rounded = dtype_round(DTYPE_BF16, t[i]);
        y[i] = dtype_round(DTYPE_F16, tanh(rounded) + rounded);
    }
    EXPECT(&e, 0, y[0], y[1], y[2]);
    evaluation_close(&e);
}

TEST(interpret_slices)
{
    struct evaluation e;
    open_named(&e, "slices", SIZES(2, 1));
    SET(&e, 0, 1, 8);
    SET(&e, 1, 448);
    evaluation_run(&e, false);
    EXPECT(&e, 0, 1, 8, 448, 2.75, NAN);
    EXPECT(&e, 1, (double)(1 / 3.0f), dtype_round(DTYPE_F32, 8 / 3.0),
           dtype_round(DTYPE_F32, 448 / 3.0), dtype_round(DTYPE_F32, 2.75 / 3), NAN);
    evaluation_close(&e);
    /* Asked for exactly, y keeps what was computed, but z still sees y as it is stored. */
    open_named(&e, "slices", SIZES(2, 1));
    SET(&e, 0, 1, 8);
    SET(&e, 1, 448);
    evaluation_run(&e, true);
    EXPECT(&e, 0, 1.0625, 8.5, 448, exp(1), exp(8));
    EXPECT(&e, 1, 1 / 3.0, 8 / 3.0, 448 / 3.0, 2.75 / 3, NAN);
    evaluation_close(&e);
}

TEST(interpret_scans)
{
    struct evaluation e;
    open_named(&e, "scans", SIZES(1, 4));
    SET(&e, 0, 1, 2, 3, 4);
    evaluation_run(&e, false);
    EXPECT(&e, 0, 1, 3, 6, 10);
    EXPECT(&e, 1, 4, 4, 4, -INFINITY);
    EXPECT(&e, 2, 1, 2, 6, 24);
    EXPECT(&e, 3, 1, 1 * 2 + 3, 5 * 3 + 6, 21 * 4 + 10);
    evaluation_close(&e);
    open_named(&e, "scans", SIZES(2, 2));
    SET(&e, 0, 1, NAN, 3, 4);
    evaluation_run(&e, false);
    EXPECT(&e, 0, 1, NAN, 4, NAN);
    EXPECT(&e, 1, 3, 4, -INFINITY, -INFINITY);
    evaluation_close(&e);
}

TEST(interpret_scatters)
{
    struct evaluation e;
    open_named(&e, "scatters", SIZES(5, 3));
    SET(&e, 0, 1, 0x1p-11, 0x1p-11, -1, 7);
    SET(&e, 1, 0, 0, 0, 0, 2);
    SET(&e, 2, 10, 0.5, -7);
    evaluation_run(&e, false);
    /* -1 is left out by the condition; rounding happens once, at the end. */
    EXPECT(&e, 0, dtype_round(DTYPE_F16, 11 + 0x1p-10), 0.5, 0);
    EXPECT(&e, 1, 1, -INFINITY, 7);
    EXPECT(&e, 2, -112, 0, 100);
    EXPECT(&e, 3, 1, -INFINITY, 7);
    evaluation_close(&e);
}

TEST(interpret_rankings)
{
    struct evaluation e;
    open_named(&e, "rankings", SIZES(2, 4, 3));
    SET(&e, 0, 1, NAN, 1, NAN, 0.0, -0.0, 5, 5);
    evaluation_run(&e, false);
    EXPECT(&e, 0, NAN, NAN, 1, 5, 5, 0.0);
    EXPECT(&e, 1, 1, 3, 0, 2, 3, 0);
    EXPECT(&e, 2, 1, 1, INFINITY, 0.0, -0.0, INFINITY);
    EXPECT(&e, 3, 0, 2, -1, 0, 1, -1);
    EXPECT(&e, 4, NAN, 5);
    EXPECT(&e, 5, 1, 2);
    EXPECT(&e, 6, NAN, 0.0);
    EXPECT(&e, 7, 1, 0);
    evaluation_close(&e);
    open_named(&e, "rankings of few", SIZES(1, 1, 3));
    SET(&e, 0, -INFINITY);
    evaluation_run(&e, false);
    EXPECT(&e, 0, -INFINITY, -INFINITY, -INFINITY);
    EXPECT(&e, 1, 0, -1, -1);
    EXPECT(&e, 5, 0);
    evaluation_close(&e);
    open_named(&e, "rankings of none", NULL);
    evaluation_run(&e, false);
    EXPECT(&e, 1, -1, -1, -1, -1);
    EXPECT(&e, 4, -INFINITY, -INFINITY);
    EXPECT(&e, 7, -1, -1);
    evaluation_close(&e);
}

/* Many more elements than ranks, so that the list is cut back again and again. */
TEST(interpret_long_ranking)
{
    struct evaluation e;
    open_named(&e, "rankings", SIZES(1, 1000, 3));
    for (int i = 0; i < 1000; i++)
        e.inputs[0].floats[i] = (double)(i * 37 % 500);
    evaluation_run(&e, false);
    EXPECT(&e, 0, 499, 499, 498);
    EXPECT(&e, 1, 27, 527, 54);
    evaluation_close(&e);
}

TEST(interpret_jagged)
{
    struct evaluation e;
    open_named(&e, "jagged", SIZES(4, 5));
    SET(&e, 0, 0, 0, 2, 2, 5);
    SET(&e, 1, 7, 7, 1, 1, 1);
    evaluation_run(&e, false);
    double third = dtype_round(DTYPE_F32, 1 / 3.0);
    EXPECT(&e, 0, 0.5, 0.5, third, third, third);
    evaluation_close(&e);
}

TEST(interpret_loops)
{
    struct evaluation e;
    open_named(&e, "loops", SIZES(3, 1));
    SET(&e, 0, 1, 2, 3);
    evaluation_run(&e, false);
    double h = dtype_round(DTYPE_BF16, 0.1), y[3];
    for (int t = 0; t < 3; t++) {
        double half = dtype_round(DTYPE_F16, (t + 1) * 0.3);
        double next = tanh(half + h);
        y[t] = dtype_round(DTYPE_F32, next - h);
        h = dtype_round(DTYPE_BF16, next);
    }
    EXPECT(&e, 0, y[0], y[1], y[2]);
    EXPECT(&e, 1, h);
    /* p, q = q, p + q - x[t] with t = 2, 1, 0: p is 1, 0, -2 */
    EXPECT(&e, 2, -2, 0, 1);
    evaluation_close(&e);
}

TEST(interpret_calls)
{
    struct evaluation e;
    open_named(&e, "calls", SIZES(1, 2));
    SET(&e, 0, 1, 2);
    SET(&e, 1, 3, -1, 0.5, -1);
    evaluation_run(&e, false);
    double t0 = 4, t1 = dtype_round(DTYPE_F16, -3 * 0.3);
    EXPECT(&e, 0, t0, t1);
    EXPECT(&e, 2, 4);
    EXPECT(&e, 1, dtype_round(DTYPE_F16, 12 + t1 * 0.5), dtype_round(DTYPE_F16, -4 - t1));
    EXPECT(&e, 3, 4);
    evaluation_close(&e);
    /* What a called part writes is rounded by that part, exact or not. */
    open_named(&e, "calls", SIZES(1, 2));
    SET(&e, 0, 1, 2);
    SET(&e, 1, 3, -1, 0.5, -1);
    evaluation_run(&e, true);
    EXPECT(&e, 0, t0, t1);
    evaluation_close(&e);
}

TEST(interpret_gather)
{
    struct evaluation e;
    open_named(&e, "gather", SIZES(2, 2, 1));
    SET(&e, 0, 1, 0);
    SET(&e, 1, 3, 0.5);
    SET(&e, 2, 1, 0);
    evaluation_run(&e, false);
    EXPECT(&e, 0, 0.5, -2);
    EXPECT(&e, 1, 0);
    EXPECT(&e, 2, 1);
    evaluation_close(&e);
    open_named(&e, "gather of nothing", NULL);
    evaluation_run(&e, false);
    EXPECT(&e, 1, 1);
    EXPECT(&e, 2, 0);
    evaluation_close(&e);
}

/* ---- all programs ---- */

TEST(interpret_all_programs)
{
    for (const struct oracle_program *p = ORACLE_PROGRAMS; p->name; p++) {
        struct evaluation e;
        evaluation_open(&e, p->text, p->sizes);
        evaluation_draw(&e, 1);
        evaluation_run(&e, false);
        evaluation_run(&e, true);
        evaluation_close(&e);
    }
}

/* ---- when it cannot be ---- */

TEST(interpret_refuses_a_broken_promise)
{
    struct evaluation e;
    struct error error = {0};
    open_named(&e, "gather", SIZES(2, 2, 1));
    SET(&e, 0, 1, 5);
    SET(&e, 2, 1, 1);
    CHECK(!oracle_interpret(&e.arena, e.binding, e.inputs, e.outputs, NULL, &error));
    CHECK_INT(error.code, ERROR_ORACLE_BOUNDS);
    CHECK_STR(error.message, "table[5, 0] is read, but table has the shape [2, 1]");
    CHECK(error.hint[0] != '\0');
    /* When the read is not wanted, it is no fault. */
    SET(&e, 2, 1, 0);
    evaluation_run(&e, false);
    evaluation_close(&e);
    open_named(&e, "scatters", SIZES(1, 3));
    SET(&e, 1, -1);
    CHECK(!oracle_interpret(&e.arena, e.binding, e.inputs, e.outputs, NULL, &error));
    CHECK_INT(error.code, ERROR_ORACLE_BOUNDS);
    CHECK_STR(error.message, "y[-1] is written, but y has the shape [3]");
    evaluation_close(&e);
}

TEST(interpret_refuses_other_shapes)
{
    struct evaluation e;
    struct error error = {0};
    open_named(&e, "softmax", NULL);
    e.inputs[0].dims[1] = 6;
    CHECK(!oracle_interpret(&e.arena, e.binding, e.inputs, e.outputs, NULL, &error));
    CHECK_INT(error.code, ERROR_ARRAY_MISMATCH);
    evaluation_close(&e);
}

TEST(interpret_refuses_too_much_memory)
{
    struct evaluation e;
    struct error error = {0};
    struct oracle_options options = {.memory = 1000};
    open_named(&e, "softmax", NULL);
    CHECK(!oracle_interpret(&e.arena, e.binding, e.inputs, e.outputs, &options, &error));
    CHECK_INT(error.code, ERROR_OUT_OF_MEMORY);
    CHECK(strstr(error.message, "1000 bytes may be used"));
    CHECK(strstr(error.hint, "smaller"));
    evaluation_close(&e);
}

TEST(interpret_memory_estimates)
{
    for (const struct oracle_program *p = ORACLE_PROGRAMS; p->name; p++) {
        struct evaluation e;
        evaluation_open(&e, p->text, p->sizes);
        int64_t bytes = 0, estimate = oracle_memory(e.binding);
        for (int i = 0; i < e.binding->part->input_count; i++)
            bytes += e.inputs[i].count * 8;
        CHECK(estimate >= bytes);
        CHECK(estimate < bytes + 100000);
        evaluation_close(&e);
    }
    CHECK(oracle_memory_available() > 0);
}

/* A temporary is there only from its first use to its last. */
TEST(interpret_gives_memory_back)
{
    enum { LINKS = 40, LENGTH = 10000 };
    struct arena arena = {0};
    struct text text = text_new(&arena);
    text_printf(&text, "ir 1\npart p {\n    size N\n    input t0 f64[N]\n");
    for (int i = 1; i < LINKS; i++)
        text_printf(&text, "    temporary t%d ~f64[N]\n", i);
    text_printf(&text, "    output t%d f64[N]\n    signature (t0) -> (t%d)\n", LINKS, LINKS);
    for (int i = 1; i <= LINKS; i++)
        text_printf(&text,
                    "    map over n < N {\n        %%0 = index n\n"
                    "        %%1 = read t%d [%%0] proved\n        t%d [%%0] <- %%1\n    }\n",
                    i - 1, i);
    text_add(&text, "}\n");
    struct evaluation e;
    evaluation_open(&e, text.at, SIZES(LENGTH));
    CHECK(oracle_memory(e.binding) < 8 * LENGTH * 4 + 200000);
    evaluation_run(&e, false);
    evaluation_close(&e);
    arena_release(&arena);
}

static void open_root_alone(struct evaluation *e, int64_t n)
{
    static const char text[] = "ir 1\npart p {\n    size N\n    size M\n    input x f32[N, M]\n"
                               "    output y f32[]\n    signature (x) -> (y)\n"
                               "    reduce sum over | i < N, j < M {\n        %0 = index i\n"
                               "        %1 = index j\n        %2 = read x [%0, %1] proved\n"
                               "        y [] <- %2\n    }\n}\n";
    evaluation_open(e, text, SIZES(2, 2));
    int64_t *sizes = (int64_t *)e->binding->sizes;
    sizes[0] = sizes[1] = n;
}

TEST(interpret_memory_overflows)
{
    struct evaluation e;
    struct error error = {0};
    open_root_alone(&e, INT64_C(1) << 31);
    CHECK_INT(oracle_memory(e.binding), -1);
    CHECK(!oracle_interpret(&e.arena, e.binding, e.inputs, e.outputs, NULL, &error));
    CHECK_INT(error.code, ERROR_OUT_OF_MEMORY);
    CHECK(strstr(error.message, "more than 8 EiB"));
    evaluation_close(&e);
}

/* Each allocation fails once: an error comes back, nothing is lost, and the next try works. */
TEST(interpret_survives_lack_of_memory)
{
    struct evaluation e;
    struct error error = {0};
    open_named(&e, "loops", NULL);
    evaluation_draw(&e, 3);
    for (long n = 1; n < 5000; n += n < 60 ? 1 : 41) {
        struct arena arena = {0};
        memory_fail_at(n);
        bool done = oracle_interpret(&arena, e.binding, e.inputs, e.outputs, NULL, &error);
        memory_fail_at(0);
        if (!done)
            CHECK_INT(error.code, ERROR_OUT_OF_MEMORY);
        arena_release(&arena);
        if (done)
            break;
    }
    evaluation_run(&e, false);
    evaluation_close(&e);
}
