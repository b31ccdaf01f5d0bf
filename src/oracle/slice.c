/*
 * Elements of outputs by the compiled backward slice (src/gen/c/points.c), or by the interpreter's
 * points where there is none.
 */
#include <string.h>

#include "gen/gen.h"
#include "oracle/object.h"
#include "oracle/points.h"

typedef int slice_function(const int64_t *sizes, const double *scalars, const void *const *inputs,
                           int64_t count, const int *which, const int64_t *places, void *values,
                           int exact, double unit, uint64_t seed, int64_t memory);

struct oracle_slice {
    struct library *library;
    slice_function *run;
};

/* What the generated code returns: see src/gen/c/points_runtime.c. */
enum slice_status { SLICE_DONE, SLICE_NO_MEMORY, SLICE_TOO_DEEP, SLICE_NO_WAY_BACK };

bool oracle_slice_exists(struct arena *arena, const struct ir_program *program)
{
    struct text source = text_new(arena);
    return gen_points_c(&source, program, GEN_REFERENCE);
}

struct oracle_slice *oracle_slice_compile(struct arena *arena, const struct ir_program *program,
                                          bool plain, struct error *error)
{
    struct text source = text_new(arena);
    if (!gen_points_c(&source, program, plain ? GEN_PLAIN : GEN_REFERENCE))
        return NULL;
    void *symbol;
    struct library *library = object_open(arena, &source, "smelt_points", &symbol, error);
    if (!library)
        return NULL;
    struct oracle_slice *slice = arena_new(arena, struct oracle_slice);
    slice->library = library;
    memcpy(&slice->run, &symbol, sizeof symbol); /* ISO C has no cast from data to function */
    return slice;
}

void oracle_slice_close(struct oracle_slice *slice)
{
    if (!slice)
        return;
    library_close(slice->library);
    slice->library = NULL;
    slice->run = NULL;
}

static bool sample_interpreted(struct arena *arena, const struct ir_binding *binding,
                               const struct array *inputs, const struct oracle_place *places,
                               int64_t count, struct ir_value *values,
                               const struct oracle_options *options, struct error *error)
{
    struct oracle_points *points = oracle_points_open(arena, binding, inputs, options, error);
    for (int64_t i = 0; points && i < count; i++) {
        const struct slab *slab = points->root->slabs[binding->part->outputs[places[i].output]];
        int64_t at[IR_MAX_RANK], rest = places[i].element;
        for (int d = slab->tensor->rank; d-- > 0; rest /= slab->dims[d])
            at[d] = rest % slab->dims[d];
        if (!oracle_point(points, places[i].output, at, &values[i], error))
            return false;
    }
    return points != NULL;
}

static enum slice_status sample_compiled(struct arena *arena, const struct oracle_slice *slice,
                                         const struct ir_binding *binding,
                                         const struct array *inputs,
                                         const struct oracle_place *places, int64_t count,
                                         struct ir_value *values,
                                         const struct oracle_options *options)
{
    const struct ir_part *part = binding->part;
    int64_t memory = options && options->memory > 0 ? options->memory : oracle_memory_available();
    const void **raw = arena_array(arena, (size_t)part->input_count + 1, sizeof *raw);
    int *which = arena_array(arena, (size_t)count + 1, sizeof *which);
    int64_t *elements = arena_array(arena, (size_t)count + 1, sizeof *elements);
    double *found = arena_array(arena, (size_t)count + 1, sizeof *found);
    for (int i = 0; i < part->input_count; i++)
        raw[i] = inputs[i].raw;
    for (int64_t i = 0; i < count; i++) {
        which[i] = places[i].output;
        elements[i] = places[i].element;
    }
    int status = slice->run(binding->sizes, binding->scalars, raw, count, which, elements, found,
                            options && options->exact_outputs, options ? options->disturbance : 0,
                            options ? options->disturbance_seed : 0, memory);
    for (int64_t i = 0; status == SLICE_DONE && i < count; i++) {
        values[i] = (struct ir_value){0};
        if (dtype_is_float(part->tensors[part->outputs[places[i].output]].dtype))
            values[i].number = found[i];
        else
            memcpy(&values[i].integer, &found[i], sizeof found[i]);
    }
    return (enum slice_status)status;
}

bool oracle_sample(const struct oracle_slice *slice, const struct ir_binding *binding,
                   const struct array *inputs, const struct oracle_place *places, int64_t count,
                   struct ir_value *values, const struct oracle_options *options,
                   struct error *error)
{
    struct arena arena = {0};
    enum slice_status status = SLICE_NO_WAY_BACK;
    if (slice)
        status = sample_compiled(&arena, slice, binding, inputs, places, count, values, options);
    bool done = status == SLICE_DONE;
    if (!done)
        done = sample_interpreted(&arena, binding, inputs, places, count, values, options, error);
    arena_release(&arena);
    return done;
}
