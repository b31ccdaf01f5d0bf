/*
 * Inputs: drawn within everything that is said about them, the same from run to run; and given ones
 * refused, with the element named, when they break a promise.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_program.h"

/* A part with one input and nothing to do but copy it. */
static void open_input(struct evaluation *e, const char *type, const char *shape,
                       const char *property, const int64_t *sizes)
{
    char text[600];
    snprintf(
        text, sizeof text,
        "ir 1\npart p {\n    size N\n    size M\n    input x %s[%s] %s\n    input s f32[N, M]\n"
        "    output y f32[]\n    signature (x, s) -> (y)\n    map {\n"
        "        %%0 = float f32 0.0\n        y [] <- %%0\n    }\n}\n",
        type, shape, property);
    evaluation_open(e, text, sizes);
}

static struct task_input plain(enum draw_kind draw, double a, double b)
{
    return (struct task_input){.draw = draw, .a = a, .b = b, .low = -INFINITY, .high = INFINITY};
}

static bool draw_as(struct evaluation *e, struct task_input input, uint64_t seed,
                    struct error *error)
{
    struct task_input inputs[2] = {input, plain(DRAW_DEFAULT, 0, 0)};
    struct task_case task_case = {.inputs = inputs};
    inputs[0].tensor = e->binding->part->inputs[0];
    inputs[1].tensor = e->binding->part->inputs[1];
    return oracle_draw(&e->arena, &task_case, e->binding, seed, e->inputs, error);
}

static void must_draw(struct evaluation *e, struct task_input input)
{
    struct error error = {0};
    if (!draw_as(e, input, 11, &error))
        test_fail(__FILE__, __LINE__, "%s", error.message);
}

TEST(draw_normal)
{
    struct evaluation e;
    open_input(&e, "f32", "N, M", "", SIZES(100, 100));
    must_draw(&e, plain(DRAW_NORMAL, 5, 2));
    double sum = 0, squares = 0;
    for (int i = 0; i < 10000; i++) {
        double v = e.inputs[0].floats[i];
        CHECK(v == (double)(float)v);
        sum += v;
        squares += (v - 5) * (v - 5);
    }
    CHECK(fabs(sum / 10000 - 5) < 0.1);
    CHECK(fabs(squares / 10000 - 4) < 0.2);
    evaluation_close(&e);
}

/* The same seed gives the same values; another seed, or another input, gives others. */
TEST(draw_repeats)
{
    struct evaluation e, f;
    struct error error;
    open_input(&e, "f32", "N, M", "", SIZES(3, 4));
    open_input(&f, "f32", "N, M", "", SIZES(3, 4));
    CHECK(draw_as(&e, plain(DRAW_DEFAULT, 0, 0), 1, &error));
    CHECK(draw_as(&f, plain(DRAW_DEFAULT, 0, 0), 1, &error));
    CHECK(memcmp(e.inputs[0].floats, f.inputs[0].floats, 12 * sizeof(double)) == 0);
    CHECK(memcmp(e.inputs[0].floats, e.inputs[1].floats, 12 * sizeof(double)) != 0);
    CHECK(draw_as(&f, plain(DRAW_DEFAULT, 0, 0), 2, &error));
    CHECK(memcmp(e.inputs[0].floats, f.inputs[0].floats, 12 * sizeof(double)) != 0);
    evaluation_close(&e);
    evaluation_close(&f);
}

TEST(draw_integers)
{
    static const struct {
        const char *type;
        int64_t low, high;
    } cases[] = {{"i64", -8, 8}, {"i8", -8, 8}, {"u8", 0, 8}, {"u32", 0, 8}, {"bool", 0, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct evaluation e;
        bool low = false, high = false;
        open_input(&e, cases[c].type, "N, M", "", SIZES(40, 50));
        must_draw(&e, plain(DRAW_DEFAULT, 0, 0));
        for (int i = 0; i < 2000; i++) {
            int64_t v = e.inputs[0].integers[i];
            CHECK(v >= cases[c].low && v <= cases[c].high);
            low |= v == cases[c].low;
            high |= v == cases[c].high;
        }
        CHECK(low && high);
        evaluation_close(&e);
    }
}

TEST(draw_integers_in_a_range)
{
    struct evaluation e;
    struct task_input input = plain(DRAW_UNIFORM, 3, 5);
    open_input(&e, "i32", "N, M", "", SIZES(10, 50));
    must_draw(&e, input);
    for (int i = 0; i < 500; i++)
        CHECK(e.inputs[0].integers[i] >= 3 && e.inputs[0].integers[i] <= 5);
    input = plain(DRAW_DEFAULT, 0, 0);
    input.low = 100;
    input.low_open = true;
    must_draw(&e, input);
    for (int i = 0; i < 500; i++)
        CHECK(e.inputs[0].integers[i] > 100 && e.inputs[0].integers[i] < 200);
    input = plain(DRAW_NORMAL, 0, 1e30);
    must_draw(&e, input);
    for (int i = 0; i < 500; i++)
        CHECK(llabs(e.inputs[0].integers[i]) < 2147483649);
    evaluation_close(&e);
    struct error error = {0};
    open_input(&e, "u8", "N, M", "", SIZES(10, 50));
    input = plain(DRAW_DEFAULT, 0, 0);
    input.low = 256;
    CHECK(!draw_as(&e, input, 1, &error));
    CHECK_INT(error.code, ERROR_BAD_DRAW);
    evaluation_close(&e);
}

static void check_range(const char *type, struct task_input input)
{
    struct evaluation e;
    open_input(&e, type, "N, M", "", SIZES(10, 100));
    must_draw(&e, input);
    for (int i = 0; i < 1000; i++) {
        double v = e.inputs[0].floats[i];
        CHECK(isfinite(v));
        CHECK(input.low_open ? v > input.low : v >= input.low);
        CHECK(input.high_open ? v < input.high : v <= input.high);
        CHECK(v == dtype_round(e.inputs[0].dtype, v));
    }
    evaluation_close(&e);
}

TEST(draw_floats_in_a_range)
{
    static const char *const types[] = {"f64", "f32", "f16", "bf16", "f8e4", "f8e5"};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        struct task_input input = plain(DRAW_DEFAULT, 0, 0);
        input.low = 0;
        input.low_open = true;
        check_range(types[t], input); /* in (0, inf) */
        input.low = 100;
        check_range(types[t], input); /* where a normal draw never comes */
        input.low = -INFINITY;
        input.high = -100;
        check_range(types[t], input);
        input.low = 0;
        input.high = 1;
        input.high_open = true;
        check_range(types[t], input); /* rounding must not reach the open end */
        input = plain(DRAW_UNIFORM, 0, 1e9);
        check_range(types[t], input); /* what overflows the type is drawn again */
        input.low = input.high = 2;
        check_range(types[t], input); /* one value only */
    }
    struct evaluation e;
    struct error error = {0};
    struct task_input input = plain(DRAW_DEFAULT, 0, 0);
    input.low = 1e6;
    open_input(&e, "f16", "N, M", "", SIZES(1, 1));
    CHECK(!draw_as(&e, input, 1, &error));
    CHECK_INT(error.code, ERROR_BAD_DRAW);
    input.low = 1;
    input.high = 1 + 0x1p-12;
    input.low_open = true;
    CHECK(!draw_as(&e, input, 1, &error));
    evaluation_close(&e);
}

TEST(draw_indices)
{
    struct evaluation e;
    struct error error = {0};
    open_input(&e, "i32", "N", "index(M)", SIZES(500, 7));
    must_draw(&e, plain(DRAW_DEFAULT, 0, 0));
    CHECK(oracle_admit(e.binding, e.inputs, &error));
    int seen = 0;
    for (int i = 0; i < 500; i++)
        seen |= 1 << e.inputs[0].integers[i];
    CHECK_INT(seen, 127);
    evaluation_close(&e);
    open_input(&e, "i32", "N", "index(M)", SIZES(5, 0));
    CHECK(!draw_as(&e, plain(DRAW_DEFAULT, 0, 0), 1, &error));
    evaluation_close(&e);
    open_input(&e, "i32", "N", "index(M)", SIZES(0, 0));
    must_draw(&e, plain(DRAW_DEFAULT, 0, 0));
    evaluation_close(&e);
}

TEST(draw_offsets)
{
    struct evaluation e;
    struct error error = {0};
    bool empty = false, full = false;
    open_input(&e, "i64", "N + 1", "offsets(M)", SIZES(50, 400));
    must_draw(&e, plain(DRAW_DEFAULT, 0, 0));
    CHECK(oracle_admit(e.binding, e.inputs, &error));
    for (int i = 0; i < 50; i++) {
        int64_t length = e.inputs[0].integers[i + 1] - e.inputs[0].integers[i];
        empty |= length == 0;
        full |= length > 0;
    }
    CHECK(empty && full);
    CHECK_INT(e.inputs[0].integers[0], 0);
    CHECK_INT(e.inputs[0].integers[50], 400);
    evaluation_close(&e);
    open_input(&e, "i64", "N + 1", "offsets(M)", SIZES(0, 4));
    CHECK(!draw_as(&e, plain(DRAW_DEFAULT, 0, 0), 1, &error));
    evaluation_close(&e);
    open_input(&e, "i64", "N + 1", "offsets(M)", SIZES(0, 0));
    must_draw(&e, plain(DRAW_DEFAULT, 0, 0));
    evaluation_close(&e);
}

TEST(draw_sorted_and_triangular)
{
    struct evaluation e;
    struct error error = {0};
    open_input(&e, "f32", "N, M", "sorted", SIZES(5, 20));
    must_draw(&e, plain(DRAW_DEFAULT, 0, 0));
    CHECK(oracle_admit(e.binding, e.inputs, &error));
    CHECK(e.inputs[0].floats[0] < e.inputs[0].floats[19]);
    evaluation_close(&e);
    open_input(&e, "f32", "N, M, M", "triangular", SIZES(2, 3));
    must_draw(&e, plain(DRAW_DEFAULT, 0, 0));
    CHECK(oracle_admit(e.binding, e.inputs, &error));
    const double *x = e.inputs[0].floats + 9;
    CHECK(x[1] == 0 && x[2] == 0 && x[5] == 0 && x[0] != 0 && x[3] != 0 && x[8] != 0);
    evaluation_close(&e);
}

/* ---- admission ---- */

static void check_refused(struct evaluation *e, const char *message)
{
    struct error error = {0};
    CHECK(!oracle_admit(e->binding, e->inputs, &error));
    CHECK_INT(error.code, ERROR_ARRAY_MISMATCH);
    CHECK_STR(error.message, message);
    CHECK(error.hint[0] != '\0');
    evaluation_close(e);
}

TEST(admit_names_what_is_wrong)
{
    struct evaluation e;
    open_input(&e, "i32", "N, 2", "index(M)", SIZES(2, 3));
    SET(&e, 0, 0, 1, 2, 3);
    check_refused(&e, "input x[1, 1] is 3, but an index into 3 must be in 0..2");
    open_input(&e, "i32", "N", "index(M)", SIZES(2, 3));
    SET(&e, 0, 0, -1);
    check_refused(&e, "input x[1] is -1, but an index into 3 must be in 0..2");
    open_input(&e, "i32", "N", "offsets(M)", SIZES(3, 3));
    SET(&e, 0, 1, 1, 3);
    check_refused(&e, "input x[0] is 1, but the first offset must be 0");
    open_input(&e, "i32", "N", "offsets(M)", SIZES(3, 3));
    SET(&e, 0, 0, 4, 3);
    check_refused(&e, "input x[2] is 3, but it must not be less than the one before it");
    open_input(&e, "i32", "N", "offsets(M)", SIZES(3, 3));
    SET(&e, 0, 0, 2, 2);
    check_refused(&e, "input x[2] is 2, but the last offset must be 3");
    open_input(&e, "f32", "N, M", "sorted", SIZES(2, 2));
    SET(&e, 0, 5, 6, 2, 1.5);
    check_refused(&e, "input x[1, 1] is 1.5, but it must not be less than the one before it");
    open_input(&e, "f32", "N, M", "triangular", SIZES(2, 2));
    SET(&e, 0, 5, NAN, 2, 1.5);
    check_refused(&e, "input x[0, 1] is nan, but above the diagonal all must be zero");
    open_input(&e, "f32", "N, M", "", SIZES(2, 2));
    e.inputs[0].dtype = DTYPE_F64;
    check_refused(&e, "input 'x' is f64, not f32");
    open_input(&e, "f32", "N, M", "", SIZES(2, 3));
    e.inputs[0].dims[0] = 3;
    e.inputs[0].dims[1] = 2;
    check_refused(&e, "input 'x' has the shape [3, 2], not [2, 3]");
}
