/*
 * scatter on devices: values combined into places that data chooses.
 *
 *     the target as it begins
 *     all points                                              <- in one of three ways, see WAYS
 *     the target rounded, where it is kept narrower than it is combined
 *
 * A launch each. Atomics combine in any order; the other ways keep to that of the op.
 */
#include <math.h>
#include <string.h>

#include "skeleton/device/device.h"
#include "skeleton/nest.h"
#include "skeleton/scatter.h"
#include "skeleton/slots.h"

/*
 * atomic  a thread per point, whoever else is at its place
 * places  a thread per place of the indices that are places of the target themselves; it goes over
 *         all others one by one, so no two threads write the same element
 * last    where one value stays: a thread per point leaves its number, the greatest remains; in a
 *         launch more those whose number it is store their values
 */
enum way { ATOMIC, PLACES, LAST, WAY_COUNT };
static const char *const WAYS[] = {"atomic", "places", "last"};

enum { ELEMENTS = 4 }; /* of a thread, where all of the target is gone over */

static bool scatter_device_match(const struct skeleton_group *group,
                                 struct skeleton_reason *why_not)
{
    struct scatter scatter;
    return scatter_fits(group, &scatter, why_not);
}

/* ---- decisions ---- */

static bool may_be(const struct scatter *scatter, enum way way, struct skeleton_reason *why_not)
{
    bool assign = scatter->stage->assign;
    if (way == ATOMIC && assign)
        nest_refuse(why_not, "the last value stays: what is atomic does not know which that is");
    else if (way == LAST && !assign)
        nest_refuse(why_not, "values are combined: none of them is the last");
    else
        return true;
    return false;
}

static enum way way_of(const struct plan_group *plan)
{
    enum way way = ATOMIC;
    while (way + 1 < WAY_COUNT && !plan_is(plan, "parallel", WAYS[way]))
        way++;
    return way;
}

struct scatter_work {
    double points, target, apart; /* elements; apart: threads of `places` */
};

static struct scatter_work work_of(const struct scatter *scatter)
{
    const struct skeleton_group *group = scatter->group;
    struct scatter_work work = {.apart = 1};
    work.points = ir_stage_work(group->binding, scatter->stage).points;
    work.target = (double)ir_tensor_shape(group->binding, scatter->tensor, NULL);
    for (int i = 0; i < scatter->stage->index_count; i++)
        if (scatter->apart[i])
            work.apart *=
                (double)nest_size(group, group->part->indices[scatter->stage->indices[i]].extent);
    return work;
}

static double seconds_of(const struct scatter *scatter, enum way way)
{
    /* an element of a chain: its place, what is there, a store; on a GPU that is mostly waiting */
    static const double WAITING = 0.8e-6, STEP = 10e-9;
    enum { MOVED = 3 }; /* times the bytes of a value: it, the target read and written */
    const struct skeleton_device *device = scatter->group->target->device;
    struct scatter_work work = work_of(scatter);
    double bytes = (double)dtype_bytes(scatter->dtype);
    double whole = (scatter->direct ? 2 : 4) * work.target * bytes / device->bandwidth;
    double moving = work.points * (MOVED * bytes + 8) / device->bandwidth;
    double threads = (double)device->units * (device->warp > 1 ? device->unit_threads : 1);
    double step = device->warp > 1 ? WAITING : STEP;
    double own = way == PLACES ? fmax(1, work.apart) : fmax(1, work.points);
    double chain = step * work.points / fmin(own, threads);
    double launches = scatter->direct ? 2 : 3;
    if (way == LAST) {
        launches++;
        moving *= 2;
        whole *= 2;
        chain *= 2;
    }
    return launches * device->launch + whole + fmax(moving, chain);
}

static void scatter_device_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    struct scatter scatter;
    struct skeleton_reason ignored;
    if (!scatter_fits(group, &scatter, &ignored))
        return;
    enum way seed = PLACES;
    for (enum way way = ATOMIC; way < WAY_COUNT; way++) /* what keeps the order, if it is as fast */
        if (may_be(&scatter, way, &ignored) &&
            seconds_of(&scatter, way) < 0.8 * seconds_of(&scatter, seed))
            seed = way;
    slots_add(group, slots, "parallel",
              "a thread per point, with atomics; or per place that is no one else's; or where the "
              "last value stays, per point, twice",
              WAYS, WAY_COUNT, (int)seed);
    device_slot(group, slots, "threads", "of a block", 32, group->target->device->block_threads,
                256);
}

static bool scatter_device_legal(const struct skeleton_group *group, const struct plan_group *plan,
                                 struct skeleton_reason *why_not)
{
    struct scatter scatter;
    return scatter_fits(group, &scatter, why_not) && may_be(&scatter, way_of(plan), why_not);
}

static struct skeleton_cost scatter_device_predict(const struct skeleton_group *group,
                                                   const struct plan_group *plan)
{
    struct scatter scatter;
    struct skeleton_reason ignored;
    struct skeleton_cost cost = {.vectors = 32};
    if (!scatter_fits(group, &scatter, &ignored))
        return cost;
    struct scatter_work work = work_of(&scatter);
    double bytes = (double)dtype_bytes(scatter.dtype);
    cost.operations = work.points;
    cost.bytes = (2 * work.target + work.points) * bytes;
    cost.seconds = seconds_of(&scatter, way_of(plan));
    cost.scratch = way_of(plan) == LAST ? (int64_t)work.target * 8
                   : scatter.direct     ? 0
                                        : (int64_t)(work.target * bytes);
    return cost;
}

/* ---- the launches ---- */

struct scattering {
    const struct scatter *scatter;
    struct skeleton_values values;
    struct arena *arena;
    int threads;
    const char *name;                   /* of the group */
    const struct loop_buffer *target;   /* what is combined */
    const struct loop_buffer *greatest; /* LAST: number of the last point, by element */
};

static loop_value number(const struct scattering *s, int64_t value)
{
    return loop_integer(s->arena, value);
}

static const struct ir_size *extent_of(const struct scattering *s, int place)
{
    int index = s->scatter->stage->indices[place];
    return s->scatter->group->part->indices[index].extent;
}

static const struct ir_size *target_elements(const struct scattering *s)
{
    const struct ir_tensor *tensor = &s->scatter->group->part->tensors[s->scatter->tensor];
    const struct ir_size *count = ir_size_constant(s->arena, 1);
    for (int d = 0; d < tensor->rank; d++)
        count = ir_size_make(s->arena, IR_SIZE_MUL, count, tensor->dims[d]);
    return count;
}

/* A function whose threads are counted through, `each` times; the body of one, and its number. */
static struct loop_block *open_threads(struct scattering *s, const char *what, const char *note,
                                       const struct ir_size *count, int each, loop_value *at)
{
    struct arena *arena = s->arena;
    struct loop_launch launch = {.grid = {device_blocks(arena, count, (int64_t)s->threads * each)},
                                 .block = {s->threads}};
    const char *name = *what ? arena_printf(arena, "%s_%s", s->name, what) : s->name;
    struct loop_block *block = loop_launch(s->values.kernel, name, note, &launch);
    loop_value first = loop_add(
        arena, loop_mul(arena, loop_block_number(arena, 0), number(s, (int64_t)s->threads * each)),
        loop_thread_number(arena, 0));
    first = device_name(block, each > 1 ? "first" : "point", first);
    *at = first;
    if (each > 1) {
        struct loop_variable *turn;
        block = loop_for(block, LOOP_UNROLL, "turn", number(s, 0), number(s, each), NULL, &turn);
        *at = loop_add(arena, first, loop_mul(arena, loop_of(arena, turn), number(s, s->threads)));
        *at = device_name(block, "element", *at);
    }
    return loop_if(block, loop_less(arena, *at, skeleton_size(&s->values, count)));
}

/* The target as it begins: what the op names, or units; and nobody was there. */
static void begin_target(struct scattering *s)
{
    loop_value at;
    const struct ir_stage *stage = s->scatter->stage;
    struct loop_block *block =
        open_threads(s, "begin", "the target as it begins", target_elements(s), ELEMENTS, &at);
    loop_value value = scatter_unit(s->scatter, s->arena, 1);
    if (stage->from != IR_NONE)
        value = loop_load(s->arena, skeleton_buffer(&s->values, stage->from), at, 1);
    if (loop_buffer_dtype(s->target) != value->type.dtype)
        value = loop_cast(s->arena, loop_buffer_dtype(s->target), value);
    loop_store(block, s->target, at, value);
    if (s->greatest)
        loop_store(block, s->greatest, at, number(s, -1));
}

static void finish_target(struct scattering *s, const struct loop_buffer *out)
{
    loop_value at;
    struct loop_block *block =
        open_threads(s, "finish", "rounded once", target_elements(s), ELEMENTS, &at);
    loop_value value = loop_load(s->arena, s->target, at, 1);
    if (loop_buffer_dtype(out) != value->type.dtype)
        value = loop_cast(s->arena, loop_buffer_dtype(out), value);
    loop_store(block, out, at, value);
}

/* A thread per value of the indices, of those that are apart only or of all; the one that is the
 * last place of the target runs fastest, so that neighbours write side by side. */
static struct loop_block *open_points(struct scattering *s, const char *what, const char *note,
                                      bool apart)
{
    struct arena *arena = s->arena;
    const struct ir_stage *stage = s->scatter->stage;
    const struct ir_size *count = ir_size_constant(arena, 1);
    int order[SCATTER_INDICES], places = 0;
    for (int i = 0; i < stage->index_count; i++)
        if (i != s->scatter->lane && (!apart || s->scatter->apart[i]))
            order[places++] = i;
    if (s->scatter->lane >= 0)
        order[places++] = s->scatter->lane;
    for (int i = 0; i < places; i++)
        count = ir_size_make(arena, IR_SIZE_MUL, count, extent_of(s, order[i]));
    loop_value at;
    struct loop_block *block = open_threads(s, what, note, count, 1, &at);
    for (int i = places - 1; i >= 0; i--) {
        loop_value *index = &s->values.indices[stage->indices[order[i]]];
        if (i == 0) {
            *index = at;
            break;
        }
        loop_value extent = skeleton_size(&s->values, extent_of(s, order[i]));
        loop_value rest = device_name(block, "rest", device_quotient(arena, at, extent));
        loop_value own = loop_sub(arena, at, loop_mul(arena, rest, extent));
        *index = device_name(block, s->scatter->group->part->indices[stage->indices[order[i]]].name,
                             own);
        at = rest;
    }
    return block;
}

/* Where the point goes; the block in which it counts. */
static struct loop_block *open_place(struct scattering *s, struct loop_block *block,
                                     loop_value *offset)
{
    loop_value condition;
    *offset = scatter_place(s->scatter, &s->values, NULL, NULL, &condition);
    if (condition)
        block = loop_if(block, condition);
    *offset = device_name(block, "to", *offset);
    return block;
}

static void combine_atomically(struct scattering *s)
{
    struct loop_block *block =
        open_points(s, "", "every point, whoever else is at its place", false);
    loop_value offset;
    block = open_place(s, block, &offset);
    loop_value value = scatter_value(s->scatter, &s->values, NULL);
    enum ir_monoid_kind monoid = s->scatter->stage->monoid->kind;
    if (monoid == IR_ANY) /* nobody puts anything else there */
        loop_store(loop_if(block, value), s->target, offset, loop_bool(s->arena, true));
    else if (monoid == IR_ALL)
        loop_store(loop_if(block, loop_apply(s->arena, IR_NOT, value, NULL, NULL)), s->target,
                   offset, loop_bool(s->arena, false));
    else
        loop_atomic(block, monoid, s->target, offset, value);
}

static void combine_in_order(struct scattering *s)
{
    const struct ir_stage *stage = s->scatter->stage;
    struct loop_block *block = open_points(s, "", "no two threads write the same element", true);
    for (int i = 0; i < stage->index_count; i++) {
        struct loop_variable *counter;
        if (s->scatter->apart[i])
            continue;
        block =
            loop_for(block, LOOP_SERIAL, s->scatter->group->part->indices[stage->indices[i]].name,
                     number(s, 0), skeleton_size(&s->values, extent_of(s, i)), NULL, &counter);
        s->values.indices[stage->indices[i]] = loop_of(s->arena, counter);
    }
    loop_value offset;
    block = open_place(s, block, &offset);
    loop_value value = scatter_value(s->scatter, &s->values, NULL);
    if (!stage->assign)
        value = loop_combine(s->arena, stage->monoid->kind,
                             loop_load(s->arena, s->target, offset, 1), value);
    loop_store(block, s->target, offset, value);
}

/* The number of the point in the order of the op. */
static loop_value point_number(struct scattering *s, struct loop_block *block)
{
    const struct ir_stage *stage = s->scatter->stage;
    loop_value all = number(s, 0);
    for (int i = 0; i < stage->index_count; i++)
        all =
            loop_add(s->arena, loop_mul(s->arena, all, skeleton_size(&s->values, extent_of(s, i))),
                     s->values.indices[stage->indices[i]]);
    return device_name(block, "own", all);
}

static void keep_last(struct scattering *s)
{
    loop_value offset;
    struct loop_block *block = open_points(s, "last", "who is the last at each place", false);
    block = open_place(s, block, &offset);
    loop_atomic(block, IR_MAXIMUM, s->greatest, offset, point_number(s, block));
    block = open_points(s, "", "those that were the last", false);
    block = open_place(s, block, &offset);
    loop_value is_last = loop_apply(s->arena, IR_EQ, loop_load(s->arena, s->greatest, offset, 1),
                                    point_number(s, block), NULL);
    block = loop_if(block, is_last);
    loop_store(block, s->target, offset, scatter_value(s->scatter, &s->values, NULL));
}

static void scatter_device_lower(const struct skeleton_group *group, const struct plan_group *plan,
                                 struct loop_kernel *kernel)
{
    struct scatter scatter;
    struct skeleton_reason ignored;
    struct arena *arena = kernel->arena;
    scatter_fits(group, &scatter, &ignored);
    struct scattering s = {.scatter = &scatter,
                           .arena = arena,
                           .threads = (int)plan_number(plan, "threads", 256),
                           .name = plan->name};
    enum way way = way_of(plan);
    const char *name = group->part->tensors[scatter.tensor].name;
    s.values = (struct skeleton_values){.group = group, .kernel = kernel};
    s.values.indices = arena_array(arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    const struct loop_buffer *out = skeleton_buffer(&s.values, scatter.tensor);
    s.target = scatter.direct ? out
                              : loop_scratch(kernel, arena_printf(arena, "%s_so_far", name),
                                             scatter.dtype, target_elements(&s));
    if (way == LAST)
        s.greatest = loop_scratch(kernel, arena_printf(arena, "%s_last", name), DTYPE_I64,
                                  target_elements(&s));
    begin_target(&s);
    if (way == ATOMIC)
        combine_atomically(&s);
    else if (way == PLACES)
        combine_in_order(&s);
    else
        keep_last(&s);
    if (!scatter.direct)
        finish_target(&s, out);
}

const struct skeleton skeleton_device_scatter = {
    .name = "scatter",
    .note = "values combined into places that data chooses",
    .match = scatter_device_match,
    .open = scatter_device_open,
    .legal = scatter_device_legal,
    .predict = scatter_device_predict,
    .lower = scatter_device_lower,
};
