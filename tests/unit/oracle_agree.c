/*
 * Three ways to one value: the interpreter, the compiled form and single points give the same bits
 * for every program of oracle_programs.c, over random shapes and with hard values (NaN, infinities,
 * zeros of both signs) among the inputs.
 */
#include "oracle_differ.h"
#include "oracle_program.h"

TEST(agree_interpreter_and_compiled)
{
    for (const struct oracle_program *p = ORACLE_PROGRAMS; p->name; p++)
        if (p == ORACLE_PROGRAMS || p->text != p[-1].text)
            differ(p->text, 8, 7);
}

static void check_points(const struct ir_binding *binding, const struct array *inputs, bool exact)
{
    struct arena *arena = differ_arena();
    const struct ir_part *part = binding->part;
    struct array *outputs = arena_array(arena, (size_t)part->output_count, sizeof *outputs);
    struct oracle_options options = {.exact_outputs = exact};
    struct error error = {0};
    if (!oracle_interpret(arena, binding, inputs, outputs, &options, &error))
        test_fail(__FILE__, __LINE__, "%s: %s", part->name, error.message);
    struct oracle_points *points = oracle_points_open(arena, binding, inputs, &options, &error);
    if (!points)
        test_fail(__FILE__, __LINE__, "%s: %s", part->name, error.message);
    for (int i = 0; i < part->output_count; i++) {
        const struct array *array = &outputs[i];
        for (int64_t e = 0; e < array->count; e++) {
            int64_t at[IR_MAX_RANK], rest = e;
            struct ir_value value;
            for (int d = array->rank - 1; d >= 0; d--) {
                at[d] = rest % array->dims[d];
                rest /= array->dims[d];
            }
            if (!oracle_point(points, i, at, &value, &error))
                test_fail(__FILE__, __LINE__, "%s.%s: %s", part->name, array->name, error.message);
            CHECK(array->floats ? differ_same(value.number, array->floats[e])
                                : value.integer == array->integers[e]);
        }
    }
}

TEST(agree_points_over_random_shapes)
{
    struct random random = random_new(2024, 1);
    for (const struct oracle_program *p = ORACLE_PROGRAMS; p->name; p++) {
        const struct ir_program *program = differ_parse(p->text);
        for (int round = 0; round < 6; round++) {
            struct error error = {0};
            int64_t sizes[8];
            double scalars[8] = {0};
            for (int i = 0; i < 8; i++)
                sizes[i] = (int64_t)random_below(&random, 7);
            struct ir_binding *binding = ir_bind(differ_arena(), program, sizes, scalars, &error);
            struct array *inputs = binding ? differ_draw(binding, random_u64(&random)) : NULL;
            if (!inputs)
                continue;
            check_points(binding, inputs, false);
            check_points(binding, inputs, true);
        }
    }
}
