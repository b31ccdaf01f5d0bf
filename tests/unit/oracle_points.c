/*
 * Single points are what the interpreter says of the whole, bit for bit: for every program, with
 * much memory and with little, rounded and exact.
 */
#include <stdio.h>
#include <string.h>

#include "oracle_program.h"

static void place_of(const struct array *array, int64_t element, int64_t *at)
{
    for (int d = array->rank - 1; d >= 0; d--) {
        at[d] = element % array->dims[d];
        element /= array->dims[d];
    }
}

static void check_element(struct oracle_points *points, const struct array *array, int output,
                          int64_t element)
{
    int64_t at[IR_MAX_RANK];
    struct error error = {0};
    struct ir_value value;
    place_of(array, element, at);
    if (!oracle_point(points, output, at, &value, &error))
        test_fail(__FILE__, __LINE__, "%s element %lld: %s", array->name, (long long)element,
                  error.message);
    bool same = array->floats ? double_same(value.number, array->floats[element])
                              : value.integer == array->integers[element];
    if (!same)
        test_fail(__FILE__, __LINE__, "%s element %lld is %.17g or %lld, not %.17g or %lld",
                  array->name, (long long)element, value.number, (long long)value.integer,
                  array->floats ? array->floats[element] : 0,
                  array->floats ? 0 : (long long)array->integers[element]);
}

/* All elements of all outputs, the last ones first so that little is known when they are asked for.
 */
static void check_all(struct evaluation *e, bool exact, int64_t memory)
{
    struct error error = {0};
    struct oracle_options options = {.exact_outputs = exact, .memory = memory};
    struct oracle_points *points =
        oracle_points_open(&e->arena, e->binding, e->inputs, &options, &error);
    if (!points)
        test_fail(__FILE__, __LINE__, "opening: %s", error.message);
    for (int i = e->binding->part->output_count - 1; i >= 0; i--)
        for (int64_t k = e->outputs[i].count - 1; k >= 0; k--)
            check_element(points, &e->outputs[i], i, k);
}

TEST(points_equal_the_interpreter)
{
    for (const struct oracle_program *p = ORACLE_PROGRAMS; p->name; p++) {
        for (int exact = 0; exact < 2; exact++) {
            struct evaluation e;
            evaluation_open(&e, p->text, p->sizes);
            evaluation_draw(&e, 7);
            evaluation_run(&e, exact);
            check_all(&e, exact, 0);
            evaluation_close(&e);
        }
    }
}

/* So little memory that hardly anything can be kept between points. */
TEST(points_with_little_memory)
{
    static const struct {
        const char *name;
        int64_t sizes[4], memory;
    } cases[] = {
        {"softmax", {40, 30}, 12000},
        {"convolution", {6, 5, 20, 4}, 12000},
        {"calls", {20, 12}, 60000},
        {"scans", {12, 40}, 20000},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct oracle_program *p = ORACLE_PROGRAMS;
        while (strcmp(p->name, cases[c].name) != 0)
            p++;
        int64_t sizes[10] = {0};
        memcpy(sizes, cases[c].sizes, sizeof cases[c].sizes);
        struct evaluation e;
        evaluation_open(&e, p->text, sizes);
        evaluation_draw(&e, 5);
        evaluation_run(&e, false);
        check_all(&e, false, cases[c].memory);
        evaluation_close(&e);
    }
}

TEST(points_refuse_too_much_memory)
{
    struct evaluation e;
    struct error error = {0};
    const struct oracle_program *p = ORACLE_PROGRAMS;
    while (strcmp(p->name, "loops") != 0)
        p++;
    evaluation_open(&e, p->text, SIZES(50, 3000));
    evaluation_draw(&e, 5);
    struct oracle_options options = {.memory = 100000};
    struct oracle_points *points =
        oracle_points_open(&e.arena, e.binding, e.inputs, &options, &error);
    CHECK(points != NULL);
    int64_t at[2] = {3, 4};
    struct ir_value value;
    for (int again = 0; again < 2; again++) {
        CHECK(!oracle_point(points, 0, at, &value, &error));
        CHECK_INT(error.code, ERROR_OUT_OF_MEMORY);
    }
    evaluation_close(&e);
}

TEST(points_refuse_what_is_no_element)
{
    struct evaluation e;
    struct error error = {0};
    evaluation_open(&e, ORACLE_PROGRAMS[0].text, SIZES(2, 3));
    struct oracle_points *points = oracle_points_open(&e.arena, e.binding, e.inputs, NULL, &error);
    struct ir_value value;
    CHECK(points && !oracle_point(points, 0, (int64_t[]){0, 3}, &value, &error));
    CHECK_STR(error.message, "y[0, 3] is no element: y has the shape [2, 3]");
    evaluation_close(&e);
}

/* ---- long chains ---- */

/* t[i] is made from t[i-1] at two places, so without a memory a point would take 2^links steps. */
static const char *chain_text(struct arena *arena, int links)
{
    struct text text = text_new(arena);
    text_printf(&text, "ir 1\npart chain {\n    size N\n    input t0 f64[N]\n");
    for (int i = 1; i < links; i++)
        text_printf(&text, "    temporary t%d f32[N]\n", i);
    text_printf(&text, "    output t%d f32[N]\n    signature (t0) -> (t%d)\n", links, links);
    for (int i = 1; i <= links; i++)
        text_printf(&text,
                    "    map over n < N {\n        %%0 = index n\n        %%1 = size N - 1\n"
                    "        %%2 = sub i64 %%1, %%0\n        %%3 = read t%d [%%0] proved\n"
                    "        %%4 = read t%d [%%2]\n        %%5 = %s f64 %%3, %%4\n"
                    "        %%6 = sin f64 %%5\n        t%d [%%0] <- %%6\n    }\n",
                    i - 1, i - 1, i % 2 ? "sub" : "add", i);
    text_add(&text, "}\n");
    return text.at;
}

TEST(points_of_a_long_chain)
{
    struct arena arena = {0};
    struct evaluation e;
    evaluation_open(&e, chain_text(&arena, 2000), SIZES(5));
    evaluation_draw(&e, 2);
    evaluation_run(&e, false);
    check_all(&e, false, 0);
    evaluation_close(&e);
    arena_release(&arena);
}

/* Too large to be kept in arrays: single elements are put aside where the chain is too deep. */
TEST(points_of_a_long_wide_chain)
{
    struct arena arena = {0};
    struct evaluation e;
    struct error error = {0};
    evaluation_open(&e, chain_text(&arena, 1000), SIZES(100000));
    evaluation_draw(&e, 2);
    struct oracle_options options = {.memory = 16 << 20};
    struct oracle_points *points =
        oracle_points_open(&e.arena, e.binding, e.inputs, &options, &error);
    struct ir_value value, mirror;
    CHECK(points && oracle_point(points, 0, (int64_t[]){12345}, &value, &error));
    evaluation_close(&e);
    /* The chain never leaves a place and its mirror image, so two elements say the same. */
    double ends[2];
    evaluation_open(&e, chain_text(&arena, 1000), SIZES(100000));
    evaluation_draw(&e, 2);
    ends[0] = e.inputs[0].floats[12345];
    ends[1] = e.inputs[0].floats[100000 - 1 - 12345];
    evaluation_close(&e);
    evaluation_open(&e, chain_text(&arena, 1000), SIZES(2));
    evaluation_set(&e, 0, ends);
    evaluation_run(&e, false);
    mirror.number = e.outputs[0].floats[0];
    CHECK(double_same(value.number, mirror.number));
    evaluation_close(&e);
    arena_release(&arena);
}

/* Part k calls part k-1. */
static const char *nest_text(struct arena *arena, int parts)
{
    struct text text = text_new(arena);
    text_add(&text, "ir 1\npart p0 {\n    size N\n    input x f32[N]\n    output y f32[N]\n"
                    "    signature (x) -> (y)\n    map over n < N {\n        %0 = index n\n"
                    "        %1 = read x [%0] proved\n        %2 = sin f32 %1\n"
                    "        y [%0] <- %2\n    }\n}\n");
    for (int i = 1; i < parts; i++)
        text_printf(&text,
                    "part p%d {\n    size N\n    input x f32[N]\n    output y f32[N]\n"
                    "    temporary t f32[N]\n    signature (x) -> (y)\n"
                    "    call p%d (x) -> (t) sizes(N = N) scalars() {\n    }\n"
                    "    map over n < N {\n        %%0 = index n\n"
                    "        %%1 = read t [%%0] proved\n        %%2 = float f32 1.5\n"
                    "        %%3 = mul f32 %%1, %%2\n        y [%%0] <- %%3\n    }\n}\n",
                    i, i - 1);
    return text.at;
}

TEST(points_of_nested_calls)
{
    struct arena arena = {0};
    struct evaluation e;
    evaluation_open(&e, nest_text(&arena, 900), SIZES(3));
    evaluation_draw(&e, 2);
    evaluation_run(&e, false);
    check_all(&e, false, 0);
    evaluation_close(&e);
    struct error error = {0};
    evaluation_open(&e, nest_text(&arena, 1100), SIZES(3));
    CHECK(!oracle_interpret(&e.arena, e.binding, e.inputs, e.outputs, NULL, &error));
    CHECK_INT(error.code, ERROR_ORACLE_DEPTH);
    evaluation_close(&e);
    arena_release(&arena);
}

/* A point of a product of matrices takes one row and one column: fast, however large they are. */
TEST(points_of_a_large_product)
{
    struct evaluation e;
    struct error error = {0};
    const struct oracle_program *p = ORACLE_PROGRAMS;
    while (strcmp(p->name, "calls") != 0)
        p++;
    evaluation_open(&e, p->text, SIZES(1500, 1500));
    evaluation_draw(&e, 4);
    struct oracle_points *points = oracle_points_open(&e.arena, e.binding, e.inputs, NULL, &error);
    struct ir_value value;
    CHECK(points && oracle_point(points, 0, (int64_t[]){1499, 700}, &value, &error));
    double sum = 0;
    for (int k = 0; k < 1500; k++)
        sum += e.inputs[0].floats[1499 * 1500 + k] * e.inputs[1].floats[k * 1500 + 700];
    double t = dtype_round(DTYPE_F16, sum);
    CHECK_DOUBLE(value.number, dtype_round(DTYPE_F16, t < 0 ? t * 0.3 : t));
    evaluation_close(&e);
}

/* ---- left sides ---- */

/* One map of a six-element tensor, bound without the checks that ask for plain left sides. */
static void check_left_side(const char *nodes, const char *place)
{
    struct evaluation e = {0};
    struct error error = {0};
    char text[900];
    snprintf(text, sizeof text,
             "ir 1\npart p {\n    input x f32[6]\n    output y f32[6]\n    signature (x) -> (y)\n"
             "    map over i < 3, j < 2 {\n        %%0 = index i\n        %%1 = index j\n"
             "        %%2 = int 2\n        %%3 = int 3\n        %%4 = int 5\n"
             "        %%5 = mul i64 %%0, %%2\n        %%6 = add i64 %%5, %%1\n"
             "        %%7 = read x [%%6]\n%s        y [%s] <- %%7\n    }\n}\n",
             nodes, place);
    struct source source = {"test.ir", text, strlen(text)};
    e.program = ir_parse(&e.arena, &source, &error);
    if (!e.program)
        test_fail(__FILE__, __LINE__, "%s", error.message);
    struct ir_binding binding = {.part = ir_root(e.program), .sizes = (int64_t[1]){0}};
    struct array input = {.name = "x", .dtype = DTYPE_F32, .rank = 1, .dims = {6}, .count = 6};
    struct array output;
    array_alloc(&e.arena, &input);
    for (int i = 0; i < 6; i++)
        input.floats[i] = i + 0.5;
    e.binding = &binding;
    e.inputs = &input;
    e.outputs = &output;
    evaluation_run(&e, false);
    for (int i = 0; i < 6; i++)
        CHECK(output.floats[i] != 0);
    check_all(&e, false, 0);
    evaluation_close(&e);
}

TEST(points_of_every_left_side)
{
    check_left_side("", "%6");                              /* 2i + j */
    check_left_side("        %8 = sub i64 %4, %6\n", "%8"); /* 5 - 2i - j */
    check_left_side("        %8 = mul i64 %1, %3\n"         /* 3j + i */
                    "        %9 = add i64 %8, %0\n",
                    "%9");
    check_left_side("        %8 = sub i64 %5, %1\n        %9 = int 1\n" /* 2i - j + 1 */
                    "        %10 = add i64 %8, %9\n",
                    "%10");
    check_left_side("        %8 = bitxor %6, %4\n        %9 = int 6\n" /* not affine: whole */
                    "        %10 = mod %8, %9\n        %11 = add i64 %6, %3\n"
                    "        %12 = mod %11, %9\n",
                    "%12");
}

/* Each allocation fails once: an error, or the right value, and nothing is lost. */
TEST(points_survive_lack_of_memory)
{
    const struct oracle_program *p = ORACLE_PROGRAMS;
    while (strcmp(p->name, "loops") != 0)
        p++;
    struct evaluation e;
    evaluation_open(&e, p->text, p->sizes);
    evaluation_draw(&e, 3);
    evaluation_run(&e, false);
    int64_t at[2] = {4, 1};
    bool done = false;
    for (long n = 1; n < 3000 && !done; n++) {
        struct arena arena = {0};
        struct error error = {0};
        struct ir_value value;
        /* The points themselves are the caller's allocation. */
        arena_alloc(&arena, 1);
        memory_fail_at(n);
        struct oracle_points *points =
            oracle_points_open(&arena, e.binding, e.inputs, NULL, &error);
        done = points && oracle_point(points, 2, at, &value, &error);
        memory_fail_at(0);
        if (done)
            CHECK(double_same(value.number, e.outputs[2].floats[4 * 3 + 1]));
        else
            CHECK_INT(error.code, ERROR_OUT_OF_MEMORY);
        arena_release(&arena);
    }
    CHECK(done);
    evaluation_close(&e);
}
