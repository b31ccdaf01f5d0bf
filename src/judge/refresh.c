/*
 * Fresh values for every timed call.
 *
 * A kernel that is timed must not be able to make use of what it did before. So before each batch
 * the inputs of every slot are written anew: a draw, turned by a random number of elements, so that
 * each value stands elsewhere and what is promised about values stays true. All outputs are filled
 * with rubbish: nothing in them tells which elements will be looked at, and those are chosen only
 * when the batch is over.
 */
#include "judge/refresh.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"

enum {
    MOST_TURNS = 1 << 18,
    GLANCES = 4,     /* elements per output looked at in every slot of every batch */
    RUBBISH_LOW = 2, /* 0 and 1 are results, in a type of one byte */
    RUBBISH_KINDS = 253,
};

struct refresh_state {
    int draw;
    unsigned char rubbish;
    int64_t turn[CELL_MAX_TENSORS]; /* per input: where the window begins */
};

/* ---- the pool ---- */

/* Elsewhere the accuracy is judged; here, that the work was done at all and in the same way. */
static double loosest_limit(const struct draw *draw, int output)
{
    double loosest = 0;
    for (int64_t i = 0; draw->limits[output] && i < draw->expected[output].count; i++)
        loosest = fmax(loosest, draw->limits[output][i]);
    return 2 * loosest;
}

static double largest_value(const struct draw *draw, int output)
{
    const struct array *expected = &draw->expected[output];
    double largest = 0;
    for (int64_t i = 0; expected->floats && i < expected->count; i++)
        if (isfinite(expected->floats[i]))
            largest = fmax(largest, fabs(expected->floats[i]));
    return largest;
}

/* The array and its first elements once more, as a kernel sees it. */
static char *extend(struct arena *arena, const struct array *array, int64_t more)
{
    size_t width = dtype_bytes(array->dtype), whole = (size_t)array->count * width;
    char *encoded = arena_alloc(arena, whole + (size_t)more * width + 1);
    array_encode(array, encoded);
    memcpy(encoded + whole, encoded, (size_t)more * width);
    return encoded;
}

struct refresh_pool *refresh_pool_make(struct arena *arena, const struct ir_binding *binding,
                                       const struct draw *draws, int draw_count,
                                       const struct task_input *inputs)
{
    const unsigned fixed = IR_PROPERTY_SORTED | IR_PROPERTY_TRIANGULAR | IR_PROPERTY_OFFSETS;
    const struct ir_part *part = binding->part;
    struct refresh_pool *pool = arena_new(arena, struct refresh_pool);
    size_t count = (size_t)draw_count;
    *pool = (struct refresh_pool){.binding = binding,
                                  .draws = draws,
                                  .draw_count = draw_count,
                                  .memory = oracle_memory_available() / 2,
                                  .encoded = arena_array(arena, count, sizeof *pool->encoded),
                                  .limits = arena_array(arena, count, sizeof *pool->limits),
                                  .largest = arena_array(arena, count, sizeof *pool->largest)};
    for (int i = 0; i < part->input_count; i++) {
        int64_t elements = draws[0].inputs[i].count;
        unsigned properties = part->tensors[part->inputs[i]].properties;
        properties |= inputs ? inputs[i].properties : 0;
        bool turns = elements > 1 && !(properties & fixed);
        pool->turns[i] = !turns ? 1 : elements < MOST_TURNS ? elements : MOST_TURNS;
        for (int d = 0; d < draw_count; d++)
            pool->encoded[d][i] = extend(arena, &draws[d].inputs[i], pool->turns[i] - 1);
    }
    for (int d = 0; d < draw_count; d++)
        for (int o = 0; o < part->output_count; o++) {
            pool->limits[d][o] = loosest_limit(&draws[d], o);
            pool->largest[d][o] = largest_value(&draws[d], o);
        }
    return pool;
}

/* Tensors without values, for their shapes. */
static struct array *shapes_of(struct arena *arena, const struct ir_binding *binding,
                               const int *tensors, int count)
{
    struct array *arrays = arena_array(arena, (size_t)count + 1, sizeof *arrays);
    for (int i = 0; i < count; i++)
        arrays[i] = sample_shape(binding, tensors[i]);
    return arrays;
}

struct refresh_pool *refresh_pool_draw(struct arena *arena, const struct ir_binding *binding,
                                       const struct sampling *sampling, uint64_t seed,
                                       struct error *error)
{
    enum { POINTS = 48, BRIEF_POINTS = 16 };
    struct drawn_recipe recipe = {.draw_count = TIMING_DRAWS, .turns = true, .seed = seed};
    const struct ir_part *part = binding->part;
    struct refresh_pool *pool = arena_new(arena, struct refresh_pool);
    struct draw *draws = arena_array(arena, TIMING_DRAWS, sizeof *draws);
    *pool =
        (struct refresh_pool){.binding = binding,
                              .draws = draws,
                              .draw_count = TIMING_DRAWS,
                              .sampling = sampling,
                              .memory = sampling->memory,
                              .limits = arena_array(arena, TIMING_DRAWS, sizeof *pool->limits),
                              .largest = arena_array(arena, TIMING_DRAWS, sizeof *pool->largest)};
    pool->drawn = drawn_make(arena, sampling->task_case, binding, &recipe, error);
    struct random random = random_new(seed, 77);
    for (int d = 0; pool->drawn && d < TIMING_DRAWS; d++) {
        struct arena scratch = {0};
        struct sample_expected sample;
        double start = clock_seconds();
        draws[d] =
            (struct draw){.name = "normal",
                          .inputs = shapes_of(arena, binding, part->inputs, part->input_count),
                          .expected = shapes_of(arena, binding, part->outputs, part->output_count)};
        bool good = sample_expect(sampling, binding, pool->drawn, d,
                                  sampling->brief ? BRIEF_POINTS : POINTS, &scratch, &random,
                                  &sample, error);
        for (int o = 0; good && o < part->output_count; o++) {
            pool->limits[d][o] = loosest_limit(&sample.draw, o);
            pool->largest[d][o] = largest_value(&sample.draw, o);
        }
        pool->point_seconds = clock_seconds() - start;
        arena_release(&scratch);
        if (good)
            continue;
        drawn_close(pool->drawn);
        return NULL;
    }
    return pool->drawn ? pool : NULL;
}

/* ---- writing ---- */

void refresh_begin(struct arena *arena, struct refresh *refresh)
{
    refresh->slots = arena_array(arena, (size_t)refresh->worker->slots, sizeof *refresh->slots);
}

/* Where the values of an input begin. */
static const char *window_of(const struct refresh_pool *pool, const struct refresh_state *state,
                             int input)
{
    if (pool->drawn)
        return pool->drawn->views[state->draw][input] + state->turn[input] * DRAWN_TURN;
    size_t width = dtype_bytes(pool->draws[state->draw].inputs[input].dtype);
    return pool->encoded[state->draw][input] + (size_t)state->turn[input] * width;
}

void refresh_slot(struct refresh *refresh, int slot)
{
    const struct refresh_pool *pool = refresh->pool;
    const struct ir_part *part = pool->binding->part;
    struct worker *worker = refresh->worker;
    struct refresh_state *state = &refresh->slots[slot];
    state->draw = (int)random_below(refresh->random, (uint64_t)pool->draw_count);
    state->rubbish = (unsigned char)(RUBBISH_LOW + random_below(refresh->random, RUBBISH_KINDS));
    const int64_t *turns = pool->drawn ? pool->drawn->turns : pool->turns;
    for (int i = 0; i < part->input_count; i++)
        state->turn[i] = (int64_t)random_below(refresh->random, (uint64_t)turns[i]);
    if (worker->drawn) {
        worker_draw(worker, slot, pool->drawn, state->draw, state->turn, state->rubbish,
                    state->rubbish);
        return;
    }
    for (int i = 0; i < part->input_count; i++) {
        const struct cell_region *region = worker_region(worker, slot, i);
        memcpy(worker->inputs + region->offset + region->data, window_of(pool, state, i),
               worker_tensor_bytes(worker, part->inputs[i]));
    }
    const void *outputs[CELL_MAX_TENSORS];
    worker_output_pointers(worker, slot, outputs);
    for (int o = 0; o < part->output_count; o++)
        memset((void *)outputs[o], state->rubbish, worker_tensor_bytes(worker, part->outputs[o]));
}

void refresh_first(const struct refresh_pool *pool, struct worker *buffers, struct random *random)
{
    struct arena arena = {0};
    struct refresh refresh = {.pool = pool, .worker = buffers, .random = random};
    refresh_begin(&arena, &refresh);
    for (int slot = 0; slot < buffers->slots; slot++)
        refresh_slot(&refresh, slot);
    arena_release(&arena);
}

void refresh_wipe(struct refresh *refresh)
{
    struct worker *worker = refresh->worker;
    const struct ir_part *part = refresh->pool->binding->part;
    int rubbish = (int)random_below(refresh->random, RUBBISH_KINDS);
    size_t end = 0;
    if (worker->drawn)
        return; /* refresh_slot does it */
    for (int slot = 0; slot < worker->slots; slot++)
        for (int o = 0; o < part->output_count; o++) {
            const struct cell_region *region = worker_region(worker, slot, part->input_count + o);
            size_t start = region->offset + region->data;
            memset(worker->outputs + end, rubbish, start - end);
            end = start + worker_tensor_bytes(worker, part->outputs[o]);
        }
    memset(worker->outputs + end, rubbish, worker->output_bytes - end);
}

/* ---- comparing ---- */

struct looking {
    struct refresh *refresh;
    struct arena arena;
    int slot;
    const void *outputs[CELL_MAX_TENSORS];
    struct error *fault;
};

/* Whether an element is what it should be, given what that is. */
static bool is_close(const struct looking *looking, int output, int64_t element,
                     const struct ir_value *value)
{
    const struct refresh_pool *pool = looking->refresh->pool;
    const struct ir_part *part = pool->binding->part;
    enum dtype dtype = part->tensors[part->outputs[output]].dtype;
    int draw = looking->refresh->slots[looking->slot].draw;
    double limit = pool->limits[draw][output], largest = pool->largest[draw][output];
    const char *at = (const char *)looking->outputs[output] + (size_t)element * dtype_bytes(dtype);
    if (!dtype_is_float(dtype))
        return dtype_load_integer(dtype, at) == value->integer;
    double got = dtype_load_float(dtype, at);
    if (largest > 0 && fabs(value->number) > largest) /* a draw is looked at here and there only */
        limit *= fabs(value->number) / largest;
    return got == dtype_round(dtype, value->number) || (isnan(got) && isnan(value->number)) ||
           fabs(got - value->number) <= limit;
}

/* Whether the bytes of an element are what they were filled with. */
static bool is_untouched(const struct looking *looking, int output, int64_t element)
{
    const struct ir_part *part = looking->refresh->pool->binding->part;
    size_t width = dtype_bytes(part->tensors[part->outputs[output]].dtype);
    const unsigned char *at =
        (const unsigned char *)looking->outputs[output] + (size_t)element * width;
    for (size_t b = 0; b < width; b++)
        if (at[b] != looking->refresh->slots[looking->slot].rubbish)
            return false;
    return true;
}

/* Some elements of each output, chosen now, and fetched where a device has them. */
static int64_t choose_places(struct looking *looking, int points, bool edges,
                             struct oracle_place *places)
{
    struct refresh *refresh = looking->refresh;
    int64_t count = 0;
    for (int o = 0; o < refresh->pool->binding->part->output_count; o++) {
        int64_t total = refresh->pool->draws[0].expected[o].count;
        for (int p = 0; p < points && total > 0; p++)
            places[count++] = (struct oracle_place){
                o, p == 0 && edges   ? 0
                   : p == 1 && edges ? total - 1
                                     : (int64_t)random_below(refresh->random, (uint64_t)total)};
    }
    if (!refresh->worker->drawn || worker_fetch(refresh->worker, looking->slot, places, count))
        return count;
    error_set(looking->fault, ERROR_TOOL_FAILED, "%.150s", refresh->worker->result->message);
    return -1;
}

/* A recurrence has no slice, and an element of it takes as much as all: compiled code is quicker at
 * all of them than the interpreter at one. */
static bool evaluate_whole(struct looking *looking, struct array *inputs,
                           const struct oracle_place *places, int64_t count,
                           struct ir_value *values, const struct oracle_options *options)
{
    const struct refresh_pool *pool = looking->refresh->pool;
    const struct ir_part *part = pool->binding->part;
    struct array *outputs =
        arena_array(&looking->arena, (size_t)part->output_count + 1, sizeof *outputs);
    for (int i = 0; i < part->input_count; i++)
        array_decode(&looking->arena, &inputs[i], inputs[i].raw);
    if (!oracle_run(&looking->arena, pool->whole, pool->binding, inputs, outputs, options,
                    looking->fault))
        return false;
    for (int64_t p = 0; p < count; p++) {
        const struct array *output = &outputs[places[p].output];
        values[p] = (struct ir_value){0};
        if (output->floats)
            values[p].number = output->floats[places[p].element];
        else
            values[p].integer = output->integers[places[p].element];
    }
    return true;
}

/* The oracle over the inputs the slot was given. */
static bool evaluate(struct looking *looking, const struct oracle_place *places, int64_t count,
                     struct ir_value *values)
{
    const struct refresh_pool *pool = looking->refresh->pool;
    const struct refresh_state *state = &looking->refresh->slots[looking->slot];
    if (pool->drawn)
        return sample_values(pool->sampling, pool->binding, pool->drawn, state->draw, state->turn,
                             places, count, values, looking->fault);
    const struct ir_part *part = pool->binding->part;
    struct oracle_options options = {.exact_outputs = true, .memory = pool->memory};
    struct array *inputs =
        arena_array(&looking->arena, (size_t)part->input_count + 1, sizeof *inputs);
    for (int i = 0; i < part->input_count; i++) {
        inputs[i] = pool->draws[state->draw].inputs[i];
        inputs[i].floats = NULL;
        inputs[i].integers = NULL;
        inputs[i].raw = window_of(pool, state, i);
    }
    if (pool->whole)
        return evaluate_whole(looking, inputs, places, count, values, &options);
    return oracle_sample(pool->slice, pool->binding, inputs, places, count, values, &options,
                         looking->fault);
}

static bool places_are_right(struct looking *looking, const struct oracle_place *places,
                             int64_t count)
{
    struct ir_value *values = arena_array(&looking->arena, (size_t)count + 1, sizeof *values);
    if (!evaluate(looking, places, count, values))
        return false;
    for (int64_t p = 0; p < count; p++)
        if (!is_close(looking, places[p].output, places[p].element, &values[p]))
            return false;
    return true;
}

/* Whether elements chosen now are right; without `compare`, those that are as they were before. */
static bool look(struct refresh *refresh, int slot, int points, bool compare, struct error *fault)
{
    struct looking looking = {.refresh = refresh, .slot = slot, .fault = fault};
    size_t outputs = (size_t)refresh->pool->binding->part->output_count;
    *fault = (struct error){0};
    worker_output_pointers(refresh->worker, slot, looking.outputs);
    struct oracle_place *places =
        arena_array(&looking.arena, outputs * (size_t)points + 1, sizeof *places);
    int64_t count = choose_places(&looking, points, compare && points > 2, places), kept = 0;
    for (int64_t p = 0; p < count; p++)
        if (compare || is_untouched(&looking, places[p].output, places[p].element))
            places[kept++] = places[p];
    bool right = count >= 0 && (kept == 0 || places_are_right(&looking, places, kept));
    arena_release(&looking.arena);
    return right;
}

bool refresh_written(struct refresh *refresh, int slot, struct error *fault)
{
    return look(refresh, slot, GLANCES, false, fault);
}

bool refresh_compare(struct refresh *refresh, int slot, int points, struct error *fault)
{
    return look(refresh, slot, points, true, fault);
}
