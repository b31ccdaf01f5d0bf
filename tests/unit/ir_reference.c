/*
 * References for devices: the program in double precision gives what the oracle gives, with long
 * reductions whole and in pieces; and its inputs move as far as they are asked to.
 */
#include <math.h>
#include <string.h>

#include "oracle_program.h"
#include "test.h"

/* The program at the sizes of another binding, whose symbols it shares. */
static struct array *interpret(struct arena *arena, const struct ir_program *program,
                               const struct ir_binding *like, const struct array *inputs,
                               double disturbance, double seed)
{
    struct error error = {0};
    struct oracle_options options = {0}; /* outputs of a reference are f64 as they are */
    const struct ir_part *part = ir_root(program);
    double scalars[16] = {0};
    for (int i = 0; i < like->part->scalar_count; i++)
        scalars[i] = like->scalars[i];
    if (part->scalar_count > like->part->scalar_count) {
        scalars[part->scalar_count - 2] = disturbance;
        scalars[part->scalar_count - 1] = seed;
    }
    struct ir_binding binding = {.part = part, .sizes = like->sizes, .scalars = scalars};
    struct array *outputs = arena_array(arena, (size_t)part->output_count + 1, sizeof *outputs);
    if (!oracle_interpret(arena, &binding, inputs, outputs, &options, &error))
        test_fail(__FILE__, __LINE__, "%s: %s", error.message, error.detail);
    return outputs;
}

static void compare(const char *what, const struct array *outputs, const struct array *expected,
                    int count, double unit)
{
    for (int o = 0; o < count; o++) {
        CHECK_INT(outputs[o].count, expected[o].count);
        for (int64_t i = 0; i < outputs[o].count; i++) {
            double got = outputs[o].floats ? outputs[o].floats[i] : 0;
            double wanted = outputs[o].floats ? expected[o].floats[i] : 0;
            bool close = outputs[o].floats ? double_same(got, wanted) ||
                                                 fabs(got - wanted) <= unit * (1 + fabs(wanted))
                                           : outputs[o].integers[i] == expected[o].integers[i];
            if (!close)
                test_fail(__FILE__, __LINE__, "%s: output %d is %.17g at %lld, not %.17g", what, o,
                          got, (long long)i, wanted);
        }
    }
}

/* Sizes at which every reduction is long, and what it gives few. */
static struct ir_program *in_pieces(struct arena *arena, const struct ir_program *program)
{
    int64_t sizes[32];
    for (int i = 0; i < 32; i++)
        sizes[i] = 4096;
    return ir_spread(arena, program, sizes);
}

TEST(references_give_what_the_oracle_gives)
{
    int made = 0, cut = 0;
    for (const struct oracle_program *p = ORACLE_PROGRAMS; p->name; p++) {
        struct evaluation e;
        struct ir_reference reference;
        evaluation_open(&e, p->text, p->sizes);
        evaluation_draw(&e, 7);
        evaluation_run(&e, false);
        int outputs = e.binding->part->output_count;
        struct ir_program *plain = in_pieces(&e.arena, ir_flatten(&e.arena, e.program));
        compare(p->name, interpret(&e.arena, plain, e.binding, e.inputs, 0, 0), e.outputs, outputs,
                1e-6);
        evaluation_run(&e, true);
        if (ir_reference(&e.arena, e.program, &reference)) {
            struct ir_program *spread = in_pieces(&e.arena, reference.program);
            struct array *whole = interpret(&e.arena, reference.program, e.binding, e.inputs, 0, 5);
            compare(p->name, whole, e.outputs, outputs, 1e-12);
            compare(p->name, interpret(&e.arena, spread, e.binding, e.inputs, 0, 5), whole, outputs,
                    1e-12);
            made++;
            cut += ir_root(spread)->stage_count > ir_root(reference.program)->stage_count;
        }
        evaluation_close(&e);
    }
    CHECK(made > 10);
    CHECK(cut > 3);
}

TEST(inputs_of_references_move)
{
    static const char text[] = "ir 1 part copy { size N input x f32[N] output y f32[N]\n"
                               "signature (x) -> (y) map over n < N { %0 = index n\n"
                               "%1 = read x [%0] proved y [%0] <- %1 } }";
    struct evaluation e;
    struct ir_reference reference;
    evaluation_open(&e, text, SIZES(1000));
    evaluation_draw(&e, 1);
    CHECK(ir_reference(&e.arena, e.program, &reference));
    struct array *first = interpret(&e.arena, reference.program, e.binding, e.inputs, 1e-3, 1);
    struct array *other = interpret(&e.arena, reference.program, e.binding, e.inputs, 1e-3, 2);
    int up = 0, same = 0;
    for (int i = 0; i < 1000; i++) {
        double x = e.inputs[0].floats[i], by = x != 0 ? first->floats[i] / x - 1 : 1e-3;
        CHECK(fabs(by) > 0.49e-3 && fabs(by) < 1.51e-3);
        up += by > 0;
        same += first->floats[i] == other->floats[i];
    }
    CHECK(up > 400 && up < 600);
    CHECK(same < 10);
    evaluation_close(&e);
}
