/*
 * The compiled backward slice is what the interpreter says of the whole, bit for bit: for every
 * program that has one, with much memory and with little, rounded and exact, on inputs in their own
 * types; and moved inputs are moved alike in both forms.
 */
#include <stdlib.h>
#include <string.h>

#include "oracle_differ.h"
#include "oracle_program.h"

/* Inputs in their own types. */
static struct array *raw_inputs(struct evaluation *e)
{
    const struct ir_part *part = e->binding->part;
    struct array *raw = arena_array(&e->arena, (size_t)part->input_count + 1, sizeof *raw);
    for (int i = 0; i < part->input_count; i++) {
        size_t bytes = (size_t)e->inputs[i].count * dtype_bytes(e->inputs[i].dtype);
        char *room = arena_alloc(&e->arena, bytes + 1);
        array_encode(&e->inputs[i], room);
        raw[i] = e->inputs[i];
        raw[i].floats = NULL;
        raw[i].integers = NULL;
        raw[i].raw = room;
    }
    return raw;
}

/* Every element of every output, the last ones first. */
static struct oracle_place *all_places(struct evaluation *e, int64_t *count)
{
    *count = 0;
    for (int o = 0; o < e->binding->part->output_count; o++)
        *count += e->outputs[o].count;
    struct oracle_place *places = arena_array(&e->arena, (size_t)*count + 1, sizeof *places);
    int64_t n = 0;
    for (int o = e->binding->part->output_count - 1; o >= 0; o--)
        for (int64_t k = e->outputs[o].count - 1; k >= 0; k--)
            places[n++] = (struct oracle_place){o, k};
    return places;
}

static bool value_same(const struct evaluation *e, struct oracle_place place, struct ir_value a,
                       struct ir_value b)
{
    return e->outputs[place.output].floats ? double_same(a.number, b.number)
                                           : a.integer == b.integer;
}

static void check(struct evaluation *e, const struct oracle_slice *slice, const char *name,
                  bool exact, int64_t memory)
{
    struct oracle_options options = {.exact_outputs = exact, .memory = memory};
    struct error error = {0};
    int64_t count;
    const struct oracle_place *places = all_places(e, &count);
    struct ir_value *values = arena_array(&e->arena, (size_t)count + 1, sizeof *values);
    if (!oracle_sample(slice, e->binding, raw_inputs(e), places, count, values, &options, &error))
        test_fail(__FILE__, __LINE__, "%s: %s", name, error.message);
    for (int64_t i = 0; i < count; i++) {
        const struct array *array = &e->outputs[places[i].output];
        struct ir_value whole = {0};
        if (array->floats)
            whole.number = array->floats[places[i].element];
        else
            whole.integer = array->integers[places[i].element];
        if (!value_same(e, places[i], values[i], whole))
            test_fail(__FILE__, __LINE__, "%s: %s element %lld is %.17g or %lld, not %.17g or %lld",
                      name, array->name, (long long)places[i].element, values[i].number,
                      (long long)values[i].integer, whole.number, (long long)whole.integer);
    }
}

TEST(slices_equal_the_interpreter)
{
    differ_cache();
    int found = 0;
    for (const struct oracle_program *p = ORACLE_PROGRAMS; p->name; p++) {
        struct evaluation e;
        struct error error = {0};
        evaluation_open(&e, p->text, p->sizes);
        evaluation_draw(&e, 7);
        struct oracle_slice *slice = oracle_slice_compile(&e.arena, e.program, false, &error);
        if (!slice && error.code != ERROR_NONE)
            test_fail(__FILE__, __LINE__, "%s: %s %s", p->name, error.message, error.detail);
        found += slice != NULL;
        for (int exact = 0; exact < 2; exact++) {
            evaluation_run(&e, exact);
            check(&e, slice, p->name, exact, 0);
            if (slice)
                check(&e, slice, p->name, exact, 200000);
        }
        oracle_slice_close(slice);
        evaluation_close(&e);
    }
    CHECK(found >= 12);
}

TEST(moved_inputs_are_moved_alike)
{
    differ_cache();
    for (const struct oracle_program *p = ORACLE_PROGRAMS; p->name; p++) {
        struct evaluation e;
        struct error error = {0};
        evaluation_open(&e, p->text, p->sizes);
        evaluation_draw(&e, 7);
        evaluation_run(&e, true);
        struct oracle_slice *slice = oracle_slice_compile(&e.arena, e.program, false, &error);
        struct oracle_options options = {
            .exact_outputs = true, .disturbance = 0x1p-12, .disturbance_seed = 99};
        int64_t count;
        const struct oracle_place *places = all_places(&e, &count);
        struct ir_value *a = arena_array(&e.arena, (size_t)count + 1, sizeof *a);
        struct ir_value *b = arena_array(&e.arena, (size_t)count + 1, sizeof *b);
        struct array *raw = raw_inputs(&e);
        CHECK(oracle_sample(slice, e.binding, raw, places, count, a, &options, &error));
        CHECK(oracle_sample(NULL, e.binding, raw, places, count, b, &options, &error));
        for (int64_t i = 0; i < count; i++)
            if (!value_same(&e, places[i], a[i], b[i]))
                test_fail(__FILE__, __LINE__, "%s: %.17g is not %.17g", p->name, a[i].number,
                          b[i].number);
        oracle_slice_close(slice);
        evaluation_close(&e);
    }
}
