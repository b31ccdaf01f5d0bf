/*
 * Every operation of ops.def, every conversion and every rounding in the compiled form, on the
 * values where implementations go wrong.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ops.h"
#include "oracle_differ.h"
#include "test.h"

static const double FLOATS[] = {
    0.0,       -0.0,         1.0,    -1.0,        0.5,         -0.5,        1.5,
    2.5,       -2.5,         3.0,    -7.0,        1e-5,        0x1p-1074,   -0x1p-1074,
    0x1p-1022, 1e300,        -1e300, INFINITY,    -INFINITY,   NAN,         0.1,
    170.5,     709.8,        -745.2, 0x1p52,      0x1p53 + 2,  0x1p63,      -0x1p63,
    0x1p62,    2147483647.5, -129.0, 65519.99999, 0.999999999, 1.000000001, 4294967295.0,
};
static const int64_t INTEGERS[] = {
    0,         1,         -1,    2,         -2,        3,          7,         -7,
    63,        64,        65,    -64,       127,       128,        -129,      255,
    256,       32768,     65535, INT32_MAX, INT32_MIN, UINT32_MAX, 1LL << 53, (1LL << 53) + 1,
    INT64_MAX, INT64_MIN,
};
enum {
    FLOAT_COUNT = sizeof FLOATS / sizeof FLOATS[0],
    INTEGER_COUNT = sizeof INTEGERS / sizeof INTEGERS[0],
};

struct program {
    struct text outputs, names, maps;
    int count;
};

/* One output and the map that writes it: `nodes` compute %9 from %1 and %2. */
static void add_output(struct program *program, const char *type, const char *first,
                       const char *second, const char *nodes)
{
    int number = program->count++;
    text_printf(&program->outputs, "output o%d %s[N]\n", number, type);
    text_printf(&program->names, "%so%d", number ? ", " : "", number);
    text_printf(&program->maps,
                "map over n < N { %%0 = index n %%1 = read %s [%%0] %%2 = read %s [%%0]\n"
                "    %s o%d [%%0] <- %%3 }\n",
                first, second, nodes, number);
}

static struct program program_new(void)
{
    return (struct program){text_new(differ_arena()), text_new(differ_arena()),
                            text_new(differ_arena()), 0};
}

static const char *program_text(const struct program *program, const char *inputs,
                                const char *input_names)
{
    return arena_printf(differ_arena(), "ir 1 part ops { size N %s %s signature (%s) -> (%s) %s }",
                        inputs, program->outputs.at, input_names, program->names.at,
                        program->maps.at);
}

/* Binds N, lets `fill` set the inputs, compares both forms. */
static void check_with(const char *text, int64_t count, void (*fill)(struct array *inputs))
{
    struct error error = {0};
    const struct ir_program *program = differ_parse(text);
    struct oracle_code *code = differ_compile(program);
    struct ir_binding *binding = ir_bind(differ_arena(), program, &count, NULL, &error);
    if (!binding)
        test_fail(__FILE__, __LINE__, "%s", error.message);
    struct array *inputs = differ_draw(binding, 1);
    fill(inputs);
    differ_check(code, binding, inputs);
    oracle_close(code);
}

static void fill_pairs(struct array *inputs)
{
    for (int64_t i = 0; i < inputs[0].count; i++) {
        inputs[0].floats[i] = FLOATS[i / FLOAT_COUNT];
        inputs[1].floats[i] = FLOATS[i % FLOAT_COUNT];
    }
}

TEST(compiled_operations_on_floats)
{
    struct program program = program_new();
    for (int op = 0; op < IR_OP_COUNT; op++) {
        enum ir_op_class class = ir_op_class((enum ir_op)op);
        int arguments = ir_op_arguments((enum ir_op)op);
        bool typed = class == IR_CLASS_FLOAT || class == IR_CLASS_ARITH;
        if (!typed && class != IR_CLASS_COMPARE && class != IR_CLASS_TEST)
            continue;
        add_output(&program, typed ? "f64" : "bool", "x", "y",
                   arena_printf(differ_arena(), "%%3 = %s %s %%1%s", ir_op_name((enum ir_op)op),
                                typed ? "f64" : "", arguments == 2 ? ", %2" : ""));
    }
    CHECK(program.count > 40);
    check_with(program_text(&program, "input x f64[N] input y f64[N]", "x, y"),
               (int64_t)FLOAT_COUNT * FLOAT_COUNT, fill_pairs);
}

static void fill_integer_pairs(struct array *inputs)
{
    for (int64_t i = 0; i < inputs[0].count; i++) {
        inputs[0].integers[i] = INTEGERS[i / INTEGER_COUNT];
        inputs[1].integers[i] = INTEGERS[i % INTEGER_COUNT];
    }
}

TEST(compiled_operations_on_integers)
{
    struct program program = program_new();
    for (int op = 0; op < IR_OP_COUNT; op++) {
        enum ir_op_class class = ir_op_class((enum ir_op)op);
        int arguments = ir_op_arguments((enum ir_op)op);
        if (class != IR_CLASS_INTEGER && class != IR_CLASS_ARITH && class != IR_CLASS_COMPARE)
            continue;
        add_output(&program, class == IR_CLASS_COMPARE ? "bool" : "i64", "x", "y",
                   arena_printf(differ_arena(), "%%3 = %s %s %%1%s", ir_op_name((enum ir_op)op),
                                class == IR_CLASS_ARITH ? "i64" : "",
                                arguments == 2 ? ", %2" : ""));
    }
    CHECK(program.count > 18);
    check_with(program_text(&program, "input x i64[N] input y i64[N]", "x, y"),
               (int64_t)INTEGER_COUNT * INTEGER_COUNT, fill_integer_pairs);
}

static void fill_truths(struct array *inputs)
{
    for (int64_t i = 0; i < inputs[0].count; i++) {
        inputs[0].integers[i] = i & 1;
        inputs[1].integers[i] = i >> 1 & 1;
    }
}

TEST(compiled_operations_on_truth_values)
{
    static const char *const NODES[] = {
        "%3 = and %1, %2", "%3 = or %1, %2", "%3 = not %1",    "%3 = eq %1, %2",
        "%3 = ne %1, %2",  "%3 = lt %1, %2", "%3 = le %1, %2", "%3 = select bool %1, %2, %1",
    };
    struct program program = program_new();
    for (size_t i = 0; i < sizeof NODES / sizeof NODES[0]; i++)
        add_output(&program, "bool", "x", "y", NODES[i]);
    check_with(program_text(&program, "input x bool[N] input y bool[N]", "x, y"), 4, fill_truths);
}

static void fill_casts(struct array *inputs)
{
    for (int64_t i = 0; i < inputs[0].count; i++) {
        inputs[0].floats[i] = FLOATS[i % FLOAT_COUNT];
        inputs[1].integers[i] = INTEGERS[i % INTEGER_COUNT];
        inputs[2].integers[i] = i & 1;
    }
}

/* From floats, integers and truth values to every type: by cast, and by storing to it. */
TEST(compiled_conversions)
{
    static const char *const FROM[] = {"x", "i", "p"};
    struct program program = program_new();
    for (int type = 0; type < DTYPE_COUNT; type++) {
        const char *name = dtype_name((enum dtype)type);
        const char *wide = dtype_name(dtype_compute((enum dtype)type));
        for (int from = 0; from < 3; from++)
            add_output(&program, wide, FROM[from], "i",
                       arena_printf(differ_arena(), "%%3 = cast %s %%1", name));
        bool floats = dtype_is_float((enum dtype)type);
        if (type != DTYPE_BOOL)
            add_output(&program, name, floats ? "x" : "i", "i",
                       floats ? "%3 = abs f64 %1" : "%3 = neg i64 %1");
    }
    add_output(&program, "f64", "i", "i", "%3 = to_float f64 %1");
    check_with(program_text(&program, "input x f64[N] input i i64[N] input p bool[N]", "x, i, p"),
               FLOAT_COUNT * 2, fill_casts);
}

/* ---- rounding: all values of the narrow types, the middles between them, and their neighbours
 * ---- */

static const enum dtype NARROW[] = {DTYPE_F16, DTYPE_BF16, DTYPE_F8E4, DTYPE_F8E5, DTYPE_F32};
enum { NARROW_COUNT = sizeof NARROW / sizeof NARROW[0] };

struct doubles VECTOR(double);
static struct doubles critical;

static void add_around(double value)
{
    const double all[] = {value, nextafter(value, INFINITY), nextafter(value, -INFINITY)};
    for (int i = 0; i < 3; i++) {
        vector_push(differ_arena(), &critical, all[i]);
        vector_push(differ_arena(), &critical, -all[i]);
    }
}

/* The positive values of a type in order are its bit patterns in order. */
static void add_type(enum dtype type)
{
    int bits = 8 * (int)dtype_bytes(type) - 1;
    double before = 0;
    for (uint32_t pattern = 0; pattern < 1u << bits; pattern++) {
        uint16_t half = (uint16_t)pattern;
        uint8_t byte = (uint8_t)pattern;
        double value =
            dtype_load_float(type, bits == 15 ? (const void *)&half : (const void *)&byte);
        if (!isfinite(value))
            continue;
        add_around(value);
        add_around(before + (value - before) / 2);
        before = value;
    }
    /* where overflow begins: half a step above the greatest */
    double greatest = before, step = ldexp(1, ilogb(greatest) - (type == DTYPE_F16    ? 10
                                                                 : type == DTYPE_BF16 ? 7
                                                                 : type == DTYPE_F8E4 ? 3
                                                                                      : 2));
    add_around(greatest + step / 2);
    add_around(greatest + step);
    add_around(greatest * 16);
}

static void fill_critical(struct array *inputs)
{
    memcpy(inputs[0].floats, critical.at, critical.count * sizeof *critical.at);
}

TEST(compiled_rounding_is_exact)
{
    struct random random = random_new(3, 3);
    struct error error = {0};
    for (int t = 0; t < NARROW_COUNT - 1; t++)
        add_type(NARROW[t]);
    for (int i = 0; i < 20000; i++)
        add_around(ldexp(random_uniform(&random) + 0.5, (int)random_below(&random, 2100) - 1074));
    for (int i = 0; i < FLOAT_COUNT; i++)
        add_around(FLOATS[i]);

    struct program program = program_new();
    for (int t = 0; t < NARROW_COUNT; t++)
        add_output(&program, "f64", "x", "x",
                   arena_printf(differ_arena(), "%%3 = cast %s %%1", dtype_name(NARROW[t])));
    const struct ir_program *parsed = differ_parse(program_text(&program, "input x f64[N]", "x"));
    struct oracle_code *code = differ_compile(parsed);
    int64_t count = (int64_t)critical.count;
    struct ir_binding *binding = ir_bind(differ_arena(), parsed, &count, NULL, &error);
    CHECK(binding != NULL);
    struct array *inputs = differ_draw(binding, 1);
    struct array outputs[NARROW_COUNT];
    fill_critical(inputs);
    CHECK(oracle_run(differ_arena(), code, binding, inputs, outputs, NULL, &error));
    for (int t = 0; t < NARROW_COUNT; t++) {
        for (int64_t i = 0; i < count; i++) {
            double expected = dtype_round(NARROW[t], critical.at[i]);
            if (!differ_same(outputs[t].floats[i], expected))
                test_fail(__FILE__, __LINE__, "%s of %a: compiled %a, dtype.c %a",
                          dtype_name(NARROW[t]), critical.at[i], outputs[t].floats[i], expected);
        }
    }
    oracle_close(code);
}
