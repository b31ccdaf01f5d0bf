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

enum { POINTS = 24 }; /* per output, the first and the last among them */

struct refresh_state {
    int draw;
    int64_t turn[CELL_MAX_TENSORS]; /* per input: element 0 of the draw stands here */
};

void refresh_begin(struct refresh *refresh)
{
    const struct ir_part *part = refresh->binding->part;
    unsigned fixed = IR_PROPERTY_SORTED | IR_PROPERTY_TRIANGULAR | IR_PROPERTY_OFFSETS;
    struct arena *arena = &refresh->arena;
    refresh->slots = arena_array(arena, (size_t)refresh->worker->slots, sizeof *refresh->slots);
    refresh->may_turn = arena_array(arena, (size_t)part->input_count + 1, sizeof(bool));
    refresh->encoded = arena_array(arena, (size_t)refresh->draw_count, sizeof *refresh->encoded);
    for (int i = 0; i < part->input_count; i++) {
        unsigned properties = part->tensors[part->inputs[i]].properties;
        if (refresh->inputs)
            properties |= refresh->inputs[i].properties;
        refresh->may_turn[i] = !(properties & fixed);
        for (int d = 0; d < refresh->draw_count; d++) {
            const struct array *array = &refresh->draws[d].inputs[i];
            size_t bytes = (size_t)array->count * dtype_bytes(array->dtype);
            refresh->encoded[d][i] = arena_alloc(arena, bytes + 1);
            array_encode(array, refresh->encoded[d][i]);
        }
    }
}

void refresh_slot(struct refresh *refresh, int slot)
{
    const struct ir_part *part = refresh->binding->part;
    struct worker *worker = refresh->worker;
    struct refresh_state *state = &refresh->slots[slot];
    state->draw = (int)random_below(refresh->random, (uint64_t)refresh->draw_count);
    for (int i = 0; i < part->input_count; i++) {
        const struct array *array = &refresh->draws[state->draw].inputs[i];
        const struct cell_region *region = &worker->control->regions[slot][i];
        const char *from = refresh->encoded[state->draw][i];
        char *to = worker->inputs + region->offset + region->data;
        size_t width = dtype_bytes(array->dtype), bytes = (size_t)array->count * width;
        state->turn[i] = refresh->may_turn[i]
                             ? (int64_t)random_below(refresh->random, (uint64_t)array->count)
                             : 0;
        size_t split = (size_t)state->turn[i] * width;
        memcpy(to + split, from, bytes - split);
        memcpy(to, from + (bytes - split), split);
    }
    int rubbish = (int)random_below(refresh->random, 255) + 1;
    const void *outputs[CELL_MAX_TENSORS];
    worker_output_pointers(worker, slot, outputs);
    for (int o = 0; o < part->output_count; o++)
        memset((void *)outputs[o], rubbish, worker_tensor_bytes(worker, part->outputs[o]));
}

/* The inputs of a slot as the oracle wants them. */
static struct array *turned_inputs(struct refresh *refresh, struct arena *arena, int slot)
{
    const struct ir_part *part = refresh->binding->part;
    const struct refresh_state *state = &refresh->slots[slot];
    struct array *inputs = arena_array(arena, (size_t)part->input_count + 1, sizeof *inputs);
    for (int i = 0; i < part->input_count; i++) {
        const struct array *array = &refresh->draws[state->draw].inputs[i];
        inputs[i] = *array;
        array_alloc(arena, &inputs[i]);
        for (int64_t k = 0; k < array->count; k++) {
            int64_t at = (k + state->turn[i]) % array->count;
            if (array->floats)
                inputs[i].floats[at] = array->floats[k];
            else
                inputs[i].integers[at] = array->integers[k];
        }
    }
    return inputs;
}

/* Elsewhere the accuracy is judged; here, that the work was done at all and in the same way. */
static double loosest_limit(const struct draw *draw, int output)
{
    double loosest = 0;
    for (int64_t i = 0; draw->limits[output] && i < draw->expected[output].count; i++)
        loosest = fmax(loosest, draw->limits[output][i]);
    return 2 * loosest;
}

static bool point_is_right(const struct refresh *refresh, struct oracle_points *points, int output,
                           int64_t element, const void *bytes, double limit, struct error *fault)
{
    const struct ir_part *part = refresh->binding->part;
    const struct array *shape = &refresh->draws[0].expected[output];
    enum dtype dtype = part->tensors[part->outputs[output]].dtype;
    int64_t index[IR_MAX_RANK], rest = element;
    for (int d = shape->rank; d-- > 0; rest /= shape->dims[d])
        index[d] = rest % shape->dims[d];
    struct ir_value value;
    if (!oracle_point(points, output, index, &value, fault))
        return false;
    const char *at = (const char *)bytes + (size_t)element * dtype_bytes(dtype);
    if (!dtype_is_float(dtype))
        return dtype_load_integer(dtype, at) == value.integer;
    double got = dtype_load_float(dtype, at);
    return got == dtype_round(dtype, value.number) || (isnan(got) && isnan(value.number)) ||
           fabs(got - value.number) <= limit;
}

static bool compare(struct refresh *refresh, struct arena *arena, int slot, struct error *fault)
{
    const struct ir_part *part = refresh->binding->part;
    struct oracle_options options = {.exact_outputs = true};
    struct oracle_points *points = oracle_points_open(
        arena, refresh->binding, turned_inputs(refresh, arena, slot), &options, fault);
    if (!points)
        return false;
    const void *outputs[CELL_MAX_TENSORS];
    worker_output_pointers(refresh->worker, slot, outputs);
    for (int o = 0; o < part->output_count; o++) {
        const struct draw *draw = &refresh->draws[refresh->slots[slot].draw];
        int64_t total = draw->expected[o].count;
        double limit = loosest_limit(draw, o);
        for (int p = 0; p < POINTS && total > 0; p++) {
            int64_t element = p == 0   ? 0
                              : p == 1 ? total - 1
                                       : (int64_t)random_below(refresh->random, (uint64_t)total);
            if (!point_is_right(refresh, points, o, element, outputs[o], limit, fault))
                return false;
        }
    }
    return true;
}

bool refresh_compare(struct refresh *refresh, int slot, struct error *fault)
{
    struct arena arena = {0};
    *fault = (struct error){0};
    bool right = compare(refresh, &arena, slot, fault);
    arena_release(&arena);
    return right;
}

void refresh_end(struct refresh *refresh)
{
    arena_release(&refresh->arena);
}
