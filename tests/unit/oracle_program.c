/* Reading, binding and evaluating the programs of the oracle's tests. */
#include "oracle_program.h"

#include <math.h>
#include <string.h>

void evaluation_open(struct evaluation *e, const char *text, const int64_t *sizes)
{
    struct error error = {0};
    *e = (struct evaluation){0};
    struct source *source = arena_new(&e->arena, struct source);
    *source = (struct source){"test.ir", text, strlen(text)};
    e->program = ir_parse(&e->arena, source, &error);
    if (!e->program)
        test_fail(__FILE__, __LINE__, "at %.40s: %s", text + error.place.offset, error.message);
    const struct ir_part *root = ir_root(e->program);
    double *scalars = arena_array(&e->arena, (size_t)root->scalar_count, sizeof *scalars);
    int64_t *all = arena_array(&e->arena, (size_t)root->symbol_count, sizeof *all);
    int given = 0;
    for (int i = 0; i < root->symbol_count; i++)
        if (root->symbols[i].kind != IR_SYMBOL_LET)
            all[i] = sizes[given++];
    for (int i = 0; i < root->scalar_count; i++)
        scalars[i] = root->scalars[i].value;
    e->binding = ir_bind(&e->arena, e->program, all, scalars, &error);
    if (!e->binding)
        test_fail(__FILE__, __LINE__, "binding %s: %s (%s)", root->name, error.message,
                  error.detail);
    e->inputs = arena_array(&e->arena, (size_t)root->input_count, sizeof *e->inputs);
    e->outputs = arena_array(&e->arena, (size_t)root->output_count, sizeof *e->outputs);
    for (int i = 0; i < root->input_count; i++) {
        const struct ir_tensor *tensor = &root->tensors[root->inputs[i]];
        struct array *array = &e->inputs[i];
        *array = (struct array){.name = tensor->name, .dtype = tensor->dtype, .rank = tensor->rank};
        array->count = ir_tensor_shape(e->binding, root->inputs[i], array->dims);
        array_alloc(&e->arena, array);
    }
}

void evaluation_set(struct evaluation *e, int i, const double *values)
{
    struct array *array = &e->inputs[i];
    for (int64_t k = 0; k < array->count; k++) {
        if (array->floats)
            array->floats[k] = values[k];
        else
            array->integers[k] = (int64_t)values[k];
    }
}

void evaluation_draw(struct evaluation *e, uint64_t seed)
{
    struct error error = {0};
    if (!oracle_draw(&e->arena, NULL, e->binding, seed, e->inputs, &error))
        test_fail(__FILE__, __LINE__, "drawing: %s", error.message);
    if (!oracle_admit(e->binding, e->inputs, &error))
        test_fail(__FILE__, __LINE__, "what was drawn: %s", error.message);
}

void evaluation_run(struct evaluation *e, bool exact)
{
    struct error error = {0};
    struct oracle_options options = {.exact_outputs = exact};
    if (!oracle_interpret(&e->arena, e->binding, e->inputs, e->outputs, &options, &error))
        test_fail(__FILE__, __LINE__, "interpreting: %s", error.message);
}

void evaluation_close(struct evaluation *e)
{
    arena_release(&e->arena);
}

bool double_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

void evaluation_expect(const char *file, int line, const struct evaluation *e, int i,
                       const double *expected, int64_t count)
{
    const struct array *array = &e->outputs[i];
    if (array->count != count)
        test_fail(file, line, "%s has %lld elements, not %lld", array->name,
                  (long long)array->count, (long long)count);
    for (int64_t k = 0; k < count; k++) {
        double found = array->floats ? array->floats[k] : (double)array->integers[k];
        if (!double_same(found, expected[k]))
            test_fail(file, line, "%s element %lld is %.17g, not %.17g", array->name, (long long)k,
                      found, expected[k]);
    }
}
