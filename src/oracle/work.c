/*
 * How much work evaluating is, before it is begun: a case may be small in memory and still take
 * years.
 */
#include <string.h>

#include "oracle/interpret.h"

struct count {
    struct arena *arena;
    struct map known; /* part and sizes -> double: equal calls are looked at once */
    bool uncertain;
    int depth;
};

static double count_part(struct count *c, const struct ir_binding *binding);

static double count_extent(struct count *c, const struct ir_binding *binding,
                           const struct ir_size *size)
{
    int64_t extent = 0;
    if (!ir_size_eval(size, binding->sizes, &extent))
        c->uncertain = true;
    return extent > 0 ? (double)extent : 0;
}

/*
 * All points of a range, given those of the indices before it. Segments of offsets together have as
 * many rows as their bound says; what else depends on data is not known.
 */
static double count_range(struct count *c, const struct ir_binding *binding,
                          const struct ir_stage *stage, const struct ir_index *index, double before)
{
    const struct ir_node *low = &stage->nodes.at[index->low];
    const struct ir_node *high = &stage->nodes.at[index->high];
    if (low->op == IR_INT && high->op == IR_INT)
        return before *
               (high->integer > low->integer ? (double)high->integer - (double)low->integer : 0);
    if (high->op == IR_READ && low->op == IR_READ && low->read.tensor == high->read.tensor) {
        const struct ir_tensor *tensor = &binding->part->tensors[high->read.tensor];
        if (tensor->properties & IR_PROPERTY_OFFSETS) {
            double rows = count_extent(c, binding, tensor->bound);
            return before > rows ? before : rows;
        }
    }
    c->uncertain = true;
    return before;
}

static double count_points(struct count *c, const struct ir_binding *binding,
                           const struct ir_stage *stage)
{
    double points = 1;
    for (int i = 0; i < stage->index_count; i++) {
        const struct ir_index *index = &binding->part->indices[stage->indices[i]];
        points = index->extent ? points * count_extent(c, binding, index->extent)
                               : count_range(c, binding, stage, index, points);
    }
    return points;
}

static double count_stages(struct count *c, const struct ir_binding *binding,
                           const struct ir_stage *stages, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        const struct ir_stage *stage = &stages[i];
        if (stage->kind == IR_CALL) {
            const struct ir_binding *callee = ir_bind_call(c->arena, binding, stage);
            c->uncertain |= !callee;
            sum += callee ? count_part(c, callee) : 0;
        } else if (stage->kind == IR_LOOP) {
            const struct ir_index *index = &binding->part->indices[stage->loop_index];
            double turns = count_extent(c, binding, index->extent);
            double body = 1 + count_stages(c, binding, stage->body, stage->body_count);
            sum += turns * body;
        } else {
            sum += count_points(c, binding, stage) * (1.0 + stage->nodes.count);
        }
    }
    return sum;
}

static double count_part(struct count *c, const struct ir_binding *binding)
{
    const struct ir_part *part = binding->part;
    size_t length;
    const void *key = binding_key(c->arena, binding, &length);
    double *found = map_get_bytes(&c->known, key, length);
    if (found)
        return *found;
    if (++c->depth > ORACLE_MAX_CALL_DEPTH) { /* refused when it is evaluated */
        c->depth--;
        return 0;
    }
    double steps = 1 + count_stages(c, binding, part->stages, part->stage_count);
    c->depth--;
    found = arena_new(c->arena, double);
    *found = steps;
    map_set_bytes(&c->known, key, length, found);
    return steps;
}

struct counting {
    const struct ir_binding *binding;
    struct arena arena;
    double steps;
    bool uncertain;
};

static void counting_run(void *context)
{
    struct counting *counting = context;
    struct count c = {.arena = &counting->arena, .known = map_new(&counting->arena)};
    counting->steps = count_part(&c, counting->binding);
    counting->uncertain = c.uncertain;
}

double oracle_steps(const struct ir_binding *binding, bool *certain)
{
    struct counting counting = {.binding = binding};
    bool finished = memory_try(counting_run, &counting);
    arena_release(&counting.arena);
    if (!finished)
        memory_exhausted();
    if (certain)
        *certain = !counting.uncertain;
    return counting.steps;
}
