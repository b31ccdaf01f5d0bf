/*
 * Flat programs against what they were made from.
 */
#include "flat_check.h"

#include <string.h>

#include "oracle_differ.h"
#include "test.h"

static const char *print(const struct ir_program *program)
{
    struct text text = text_new(differ_arena());
    ir_print(&text, program);
    return text.at;
}

/* Read back from its text. */
static const struct ir_program *read_back(const struct ir_program *program)
{
    const char *text = print(program);
    const struct ir_program *again = differ_parse(text);
    CHECK_STR(print(again), text);
    return again;
}

static void check_same(const struct ir_binding *binding, const struct ir_program *other,
                       const struct array *inputs, const struct array *expected)
{
    struct arena *arena = differ_arena();
    struct error error = {0};
    struct oracle_options options = {0};
    int count = binding->part->output_count;
    struct array *outputs = arena_array(arena, (size_t)count + 1, sizeof *outputs);
    struct ir_binding *bound = ir_bind(arena, other, binding->sizes, binding->scalars, &error);
    if (!bound || !oracle_interpret(arena, bound, inputs, outputs, &options, &error))
        test_fail(__FILE__, __LINE__, "%s: %s\n%s", error.message, error.detail, print(other));
    for (int o = 0; o < count; o++) {
        CHECK_INT(outputs[o].count, expected[o].count);
        CHECK_INT(outputs[o].dtype, expected[o].dtype);
        for (int64_t i = 0; i < outputs[o].count; i++) {
            if (outputs[o].floats ? !differ_same(outputs[o].floats[i], expected[o].floats[i])
                                  : outputs[o].integers[i] != expected[o].integers[i])
                test_fail(__FILE__, __LINE__, "output %s differs at %lld\n%s", outputs[o].name,
                          (long long)i, print(other));
        }
    }
}

/* The group of stages from .. to-1, with what it would be asked for. */
static struct ir_extract take(const struct ir_graph *graph, int from, int to)
{
    const struct ir_part *part = graph->part;
    struct arena *arena = differ_arena();
    bool *chosen = arena_array(arena, (size_t)part->stage_count + 1, sizeof *chosen);
    bool *needed = arena_array(arena, (size_t)part->tensor_count + 1, sizeof *needed);
    for (int i = from; i < to; i++)
        chosen[i] = true;
    for (int t = 0; t < part->tensor_count; t++) {
        needed[t] = part->tensors[t].role == IR_TENSOR_OUTPUT;
        for (int i = 0; i < graph->readers[t].count; i++)
            needed[t] |= !chosen[graph->readers[t].at[i]];
    }
    return ir_extract(arena, graph, "group", chosen, needed);
}

/* Whether a tensor that loops carry, or that has several writers, is on both sides. */
static bool torn(const struct ir_graph *graph, int at)
{
    for (int t = 0; t < graph->part->tensor_count; t++) {
        const struct ir_numbers *writers = &graph->writers[t];
        if (writers->count > 1 && writers->at[0] < at && writers->at[writers->count - 1] >= at)
            return true;
    }
    return false;
}

void flat_check(const struct ir_program *program, const struct ir_binding *binding,
                const struct array *inputs)
{
    struct arena *arena = differ_arena();
    struct error error = {0};
    struct oracle_options options = {0};
    struct array *expected =
        arena_array(arena, (size_t)binding->part->output_count + 1, sizeof *expected);
    if (!oracle_interpret(arena, binding, inputs, expected, &options, &error))
        test_fail(__FILE__, __LINE__, "%s: %s", error.message, error.detail);
    const struct ir_program *flat = ir_flatten(arena, program);
    CHECK_INT(flat->part_count, 1);
    check_same(binding, flat, inputs, expected);
    check_same(binding, read_back(flat), inputs, expected);

    struct ir_graph *graph = ir_graph_new(arena, ir_root(flat));
    int stages = ir_root(flat)->stage_count;
    struct ir_extract whole = take(graph, 0, stages);
    if (whole.tensor_count == binding->part->input_count + binding->part->output_count)
        check_same(binding, read_back(whole.program), inputs, expected);
    for (int i = 1; i < stages && stages < 40; i++) {
        if (torn(graph, i))
            continue;
        read_back(take(graph, 0, i).program);
        read_back(take(graph, i, stages).program);
    }
}
