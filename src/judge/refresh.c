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
#include <string.h>

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

/* The array and its first elements once more, as the oracle sees it and as a kernel does. */
static void extend(struct arena *arena, const struct array *array, int64_t more, struct array *out,
                   char **encoded)
{
    *out = *array;
    out->count += more;
    array_alloc(arena, out);
    size_t whole = (size_t)array->count, rest = (size_t)more;
    if (out->floats) {
        memcpy(out->floats, array->floats, whole * sizeof *out->floats);
        memcpy(out->floats + whole, array->floats, rest * sizeof *out->floats);
    } else {
        memcpy(out->integers, array->integers, whole * sizeof *out->integers);
        memcpy(out->integers + whole, array->integers, rest * sizeof *out->integers);
    }
    *encoded = arena_alloc(arena, (whole + rest) * dtype_bytes(array->dtype) + 1);
    array_encode(out, *encoded);
    out->count = array->count;
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
                                  .inputs = arena_array(arena, count, sizeof *pool->inputs),
                                  .limits = arena_array(arena, count, sizeof *pool->limits)};
    for (int i = 0; i < part->input_count; i++) {
        int64_t elements = draws[0].inputs[i].count;
        unsigned properties = part->tensors[part->inputs[i]].properties;
        properties |= inputs ? inputs[i].properties : 0;
        bool turns = elements > 1 && !(properties & fixed);
        pool->turns[i] = !turns ? 1 : elements < MOST_TURNS ? elements : MOST_TURNS;
        for (int d = 0; d < draw_count; d++)
            extend(arena, &draws[d].inputs[i], pool->turns[i] - 1, &pool->inputs[d][i],
                   &pool->encoded[d][i]);
    }
    for (int d = 0; d < draw_count; d++)
        for (int o = 0; o < part->output_count; o++)
            pool->limits[d][o] = loosest_limit(&draws[d], o);
    return pool;
}

/* ---- writing ---- */

void refresh_begin(struct arena *arena, struct refresh *refresh)
{
    refresh->slots = arena_array(arena, (size_t)refresh->worker->slots, sizeof *refresh->slots);
}

void refresh_slot(struct refresh *refresh, int slot)
{
    const struct refresh_pool *pool = refresh->pool;
    const struct ir_part *part = pool->binding->part;
    struct worker *worker = refresh->worker;
    struct refresh_state *state = &refresh->slots[slot];
    state->draw = (int)random_below(refresh->random, (uint64_t)pool->draw_count);
    for (int i = 0; i < part->input_count; i++) {
        const struct array *array = &pool->inputs[state->draw][i];
        const struct cell_region *region = worker_region(worker, slot, i);
        size_t width = dtype_bytes(array->dtype);
        state->turn[i] = (int64_t)random_below(refresh->random, (uint64_t)pool->turns[i]);
        memcpy(worker->inputs + region->offset + region->data,
               pool->encoded[state->draw][i] + (size_t)state->turn[i] * width,
               (size_t)array->count * width);
    }
    state->rubbish = (unsigned char)(RUBBISH_LOW + random_below(refresh->random, RUBBISH_KINDS));
    const void *outputs[CELL_MAX_TENSORS];
    worker_output_pointers(worker, slot, outputs);
    for (int o = 0; o < part->output_count; o++)
        memset((void *)outputs[o], state->rubbish, worker_tensor_bytes(worker, part->outputs[o]));
}

void refresh_wipe(struct refresh *refresh)
{
    struct worker *worker = refresh->worker;
    const struct ir_part *part = refresh->pool->binding->part;
    int rubbish = (int)random_below(refresh->random, RUBBISH_KINDS);
    size_t end = 0;
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
    struct oracle_points *points; /* opened when first needed */
    const void *outputs[CELL_MAX_TENSORS];
    struct error *fault;
};

static struct looking look_at(struct refresh *refresh, int slot, struct error *fault)
{
    struct looking looking = {.refresh = refresh, .slot = slot, .fault = fault};
    *fault = (struct error){0};
    worker_output_pointers(refresh->worker, slot, looking.outputs);
    return looking;
}

/* The oracle over the inputs the slot was given. */
static bool open_points(struct looking *looking)
{
    const struct refresh_pool *pool = looking->refresh->pool;
    const struct refresh_state *state = &looking->refresh->slots[looking->slot];
    const struct ir_part *part = pool->binding->part;
    struct oracle_options options = {.exact_outputs = true, .memory = pool->memory};
    struct array *inputs =
        arena_array(&looking->arena, (size_t)part->input_count + 1, sizeof *inputs);
    for (int i = 0; i < part->input_count; i++) {
        inputs[i] = pool->inputs[state->draw][i];
        if (inputs[i].floats)
            inputs[i].floats += state->turn[i];
        else
            inputs[i].integers += state->turn[i];
    }
    looking->points =
        oracle_points_open(&looking->arena, pool->binding, inputs, &options, looking->fault);
    return looking->points != NULL;
}

static bool point_is_right(struct looking *looking, int output, int64_t element)
{
    const struct refresh_pool *pool = looking->refresh->pool;
    const struct array *shape = &pool->draws[0].expected[output];
    const struct ir_part *part = pool->binding->part;
    enum dtype dtype = part->tensors[part->outputs[output]].dtype;
    double limit = pool->limits[looking->refresh->slots[looking->slot].draw][output];
    int64_t index[IR_MAX_RANK], rest = element;
    for (int d = shape->rank; d-- > 0; rest /= shape->dims[d])
        index[d] = rest % shape->dims[d];
    struct ir_value value;
    if ((!looking->points && !open_points(looking)) ||
        !oracle_point(looking->points, output, index, &value, looking->fault))
        return false;
    const char *at = (const char *)looking->outputs[output] + (size_t)element * dtype_bytes(dtype);
    if (!dtype_is_float(dtype))
        return dtype_load_integer(dtype, at) == value.integer;
    double got = dtype_load_float(dtype, at);
    return got == dtype_round(dtype, value.number) || (isnan(got) && isnan(value.number)) ||
           fabs(got - value.number) <= limit;
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

bool refresh_written(struct refresh *refresh, int slot, struct error *fault)
{
    const struct ir_part *part = refresh->pool->binding->part;
    struct looking looking = look_at(refresh, slot, fault);
    bool right = true;
    for (int o = 0; right && o < part->output_count; o++) {
        int64_t total = refresh->pool->draws[0].expected[o].count;
        for (int g = 0; right && g < GLANCES && total > 0; g++) {
            int64_t element = (int64_t)random_below(refresh->random, (uint64_t)total);
            right = !is_untouched(&looking, o, element) || point_is_right(&looking, o, element);
        }
    }
    arena_release(&looking.arena);
    return right;
}

bool refresh_compare(struct refresh *refresh, int slot, int points, struct error *fault)
{
    const struct ir_part *part = refresh->pool->binding->part;
    struct looking looking = look_at(refresh, slot, fault);
    bool right = true;
    for (int o = 0; right && o < part->output_count; o++) {
        int64_t total = refresh->pool->draws[0].expected[o].count;
        for (int p = 0; right && p < points && total > 0; p++) {
            bool edges = points > 2;
            int64_t element = p == 0 && edges ? 0
                              : p == 1 && edges
                                  ? total - 1
                                  : (int64_t)random_below(refresh->random, (uint64_t)total);
            right = point_is_right(&looking, o, element);
        }
    }
    arena_release(&looking.arena);
    return right;
}
