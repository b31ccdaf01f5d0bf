/*
 * seq on devices: recurrences whose rows have nothing to do with each other, such as those of a
 * batch.
 *
 *     a block of threads: one row
 *         what the states begin with
 *         for steps of the loop
 *             the stages of a step, one after the other; all threads meet in between
 *             the states as the next step has them
 *
 * One launch whatever the number of steps. A row is an index that stands in one dimension of all
 * tensors of the loop, everywhere the same; a loop that has none is one block's.
 */
#include <math.h>
#include <stdio.h>

#include "skeleton/device/steps.h"
#include "skeleton/slots.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)

enum { SEQ_STAGES = 64, UNKNOWN = -1 };

struct rows {
    const struct skeleton_group *group;
    const struct ir_stage *loop;
    const struct ir_stage *stages[SEQ_STAGES]; /* what is before the loop, then those of a step */
    int before, count;
    bool *inside;                 /* per tensor: a stage defines it, or it is a state */
    int *dimension;               /* per tensor of them: where the row stands; UNKNOWN */
    int index[SEQ_STAGES];        /* per stage: the row; IR_NONE: not known, or there are no rows */
    const struct ir_size *extent; /* NULL: there are no rows */
};

/* ---- what fits ---- */

static bool stage_fits(const struct rows *rows, const struct ir_stage *stage)
{
    if (stage->kind != IR_MAP && stage->kind != IR_REDUCE)
        return false;
    if (stage->kind == IR_REDUCE && stage->monoid->kind > IR_ANY)
        return false;
    for (int i = 0; i < stage->index_count; i++)
        if (!rows->group->part->indices[stage->indices[i]].extent)
            return false;
    return stage->index_count <= STEPS_INDICES;
}

static bool is_state(const struct ir_stage *loop, int tensor)
{
    for (int i = 0; i < loop->carry_count; i++)
        if (loop->carries[i].state == tensor)
            return true;
    return false;
}

static bool find_stages(const struct skeleton_group *group, struct rows *rows,
                        struct skeleton_reason *why_not)
{
    const struct ir_part *part = group->part;
    const struct ir_stage *loop = &part->stages[group->stages[group->stage_count - 1]];
    *rows = (struct rows){.group = group, .loop = loop, .before = group->stage_count - 1};
    if (loop->kind != IR_LOOP)
        return REFUSE(why_not, "the last stage is no loop");
    if (rows->before + loop->body_count > SEQ_STAGES)
        return REFUSE(why_not, "more than %d stages", SEQ_STAGES);
    for (int i = 0; i < rows->before; i++)
        rows->stages[rows->count++] = &part->stages[group->stages[i]];
    for (int i = 0; i < loop->body_count; i++)
        rows->stages[rows->count++] = &loop->body[i];
    rows->inside = arena_array(group->arena, (size_t)part->tensor_count + 1, sizeof(bool));
    rows->dimension = arena_array(group->arena, (size_t)part->tensor_count + 1, sizeof(int));
    for (int i = 0; i < rows->count; i++) {
        if (!stage_fits(rows, rows->stages[i]))
            return REFUSE(why_not, "a stage is neither map nor reduction of single values");
        rows->inside[rows->stages[i]->writes[0].tensor] = true;
    }
    for (int i = 0; i < loop->carry_count; i++) {
        rows->inside[loop->carries[i].state] = true;
        if (loop->carries[i].next != loop->carries[i].state &&
            is_state(loop, loop->carries[i].next))
            return REFUSE(why_not, "a state becomes what another one was");
    }
    return true;
}

/* ---- rows ---- */

/* A place of a tensor, whose row stands in a known dimension or not: the stage's row or the
 * tensor's dimension becomes known. False: they differ. */
static bool agree(struct rows *rows, int stage, int tensor, const int *at, bool *changed)
{
    const struct ir_nodes *nodes = &rows->stages[stage]->nodes;
    int *dimension = &rows->dimension[tensor], *index = &rows->index[stage];
    int rank = rows->group->part->tensors[tensor].rank;
    if (*dimension != UNKNOWN) {
        const struct ir_node *node = &nodes->at[at[*dimension]];
        if (node->op != IR_INDEX || node->index == rows->loop->loop_index)
            return false;
        *changed |= *index == IR_NONE;
        *index = *index == IR_NONE ? node->index : *index;
        return *index == node->index;
    }
    for (int d = 0; d < rank && *index != IR_NONE; d++) {
        if (nodes->at[at[d]].op != IR_INDEX || nodes->at[at[d]].index != *index)
            continue;
        *dimension = d;
        *changed = true;
        return true;
    }
    return *index == IR_NONE;
}

static bool agree_once(struct rows *rows, bool *changed)
{
    const struct ir_stage *loop = rows->loop;
    for (int i = 0; i < rows->count; i++) {
        const struct ir_stage *stage = rows->stages[i];
        if (!agree(rows, i, stage->writes[0].tensor, stage->writes[0].at, changed))
            return false;
        for (int n = 0; n < stage->nodes.count; n++) {
            const struct ir_node *node = &stage->nodes.at[n];
            if (node->op == IR_READ && rows->inside[node->read.tensor] &&
                !agree(rows, i, node->read.tensor, node->read.at, changed))
                return false;
        }
    }
    for (int i = 0; i < loop->carry_count; i++) {
        int *state = &rows->dimension[loop->carries[i].state];
        int *next = &rows->dimension[loop->carries[i].next];
        *changed |= *state != *next;
        *state = *state == UNKNOWN ? *next : *state;
        *next = *next == UNKNOWN ? *state : *next;
        if (*state != *next)
            return false;
    }
    return true;
}

/* Whether the row can stand in this dimension of the first state. */
static bool try_rows(struct rows *rows, int dimension)
{
    const struct ir_part *part = rows->group->part;
    bool changed = true;
    for (int i = 0; i < part->tensor_count; i++)
        rows->dimension[i] = UNKNOWN;
    for (int i = 0; i < rows->count; i++)
        rows->index[i] = IR_NONE;
    int state = rows->loop->carries[0].state;
    rows->dimension[state] = dimension;
    rows->extent = part->tensors[state].dims[dimension];
    while (changed) {
        changed = false;
        if (!agree_once(rows, &changed))
            return false;
    }
    for (int i = 0; i < rows->count; i++) {
        const struct ir_stage *stage = rows->stages[i];
        bool left = false;
        int most = stage->kind == IR_MAP ? stage->index_count : stage->left_count;
        for (int k = 0; k < most; k++)
            left |= stage->indices[k] == rows->index[i];
        if (!left || !skeleton_sizes_equal(part->indices[rows->index[i]].extent, rows->extent))
            return false;
    }
    return true;
}

static bool find_rows(const struct skeleton_group *group, struct rows *rows,
                      struct skeleton_reason *why_not)
{
    if (!find_stages(group, rows, why_not))
        return false;
    const struct ir_stage *loop = rows->loop;
    int rank = loop->carry_count ? group->part->tensors[loop->carries[0].state].rank : 0;
    for (int d = 0; d < rank; d++)
        if (try_rows(rows, d))
            return true;
    rows->extent = NULL;
    for (int i = 0; i < rows->count; i++)
        rows->index[i] = IR_NONE;
    for (int i = 0; i < group->part->tensor_count; i++)
        rows->dimension[i] = UNKNOWN;
    return true;
}

static bool seq_device_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct rows rows;
    return find_stages(group, &rows, why_not);
}

/* ---- decisions ---- */

static const char *const SIDES[] = {"across", "along"};

struct sides {
    double results, terms, bytes; /* of one row; what it reads of the largest tensor */
    bool along;                   /* that tensor is dense in the terms */
};

static double extent_of(const struct rows *rows, int index)
{
    return (double)nest_size(rows->group, rows->group->part->indices[index].extent);
}

static struct sides sides_of(const struct rows *rows, int number)
{
    const struct ir_part *part = rows->group->part;
    const struct ir_stage *stage = rows->stages[number];
    struct sides sides = {1, 1, 0, false};
    for (int i = 0; i < stage->index_count; i++) {
        bool term = stage->kind == IR_REDUCE && i >= stage->left_count;
        if (stage->indices[i] != rows->index[number])
            *(term ? &sides.terms : &sides.results) *= extent_of(rows, stage->indices[i]);
    }
    for (int n = 0; n < stage->nodes.count; n++) {
        const struct ir_node *node = &stage->nodes.at[n];
        int rank = node->op == IR_READ ? part->tensors[node->read.tensor].rank : 0;
        if (rank == 0)
            continue;
        double elements = 1;
        for (int d = 0; d < rank; d++)
            elements *= (double)nest_size(rows->group, part->tensors[node->read.tensor].dims[d]);
        double bytes = fmin(elements, sides.results * sides.terms) *
                       (double)dtype_bytes(part->tensors[node->read.tensor].dtype);
        if (bytes <= sides.bytes)
            continue;
        const struct ir_node *last = &stage->nodes.at[node->read.at[rank - 1]];
        sides.bytes = bytes;
        sides.along = false;
        for (int i = stage->left_count; i < stage->index_count && stage->kind == IR_REDUCE; i++)
            sides.along |= last->op == IR_INDEX && last->index == stage->indices[i];
    }
    return sides;
}

static int64_t power_up_to(double value, int64_t most)
{
    int64_t power = 1;
    while ((double)power < value && power < most)
        power *= 2;
    return power;
}

static void seq_device_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    struct rows rows;
    struct skeleton_reason ignored;
    if (!find_rows(group, &rows, &ignored))
        return;
    int64_t most = group->target->device->block_threads, threads = 32, width = 1;
    double largest = -1;
    bool along = false;
    for (int i = 0; i < rows.count; i++) {
        struct sides sides = sides_of(&rows, i);
        int64_t wanted = power_up_to(sides.results * fmin(sides.terms, 32), most);
        threads = wanted > threads ? wanted : threads;
        if (rows.stages[i]->kind != IR_REDUCE || sides.bytes <= largest)
            continue;
        largest = sides.bytes;
        along = sides.along;
        width = along ? -1 : power_up_to(sides.results, most);
    }
    if (width < 0) /* as many neighbours as exchange values, with a term each */
        width = threads > 32 ? threads / 32 : 1;
    if (width > threads || group->target->device->warp == 1) /* meeting costs more than it saves */
        width = threads;
    slots_add(group, slots, "side", "neighbouring threads have neighbouring results, or terms",
              SIDES, 2, along);
    device_slot(group, slots, "threads", "of a block, which has one row", 32, most, threads);
    device_slot(group, slots, "width", "results of a reduction side by side", 1, most, width);
}

static bool seq_device_legal(const struct skeleton_group *group, const struct plan_group *plan,
                             struct skeleton_reason *why_not)
{
    if (!seq_device_match(group, why_not))
        return false;
    if (plan_number(plan, "width", 1) > plan_number(plan, "threads", 32))
        return REFUSE(why_not, "a block has fewer threads than the width");
    return true;
}

static struct skeleton_cost seq_device_predict(const struct skeleton_group *group,
                                               const struct plan_group *plan)
{
    /* seconds: a turn of a loop, threads that meet; how much faster caches are than memory */
    static const double TURN = 0.1e-6, MEETING = 0.5e-6, CACHE_OVER_MEMORY = 2.5;
    struct rows rows;
    struct skeleton_reason ignored;
    struct skeleton_cost cost = {.vectors = 40};
    if (!find_rows(group, &rows, &ignored))
        return cost;
    const struct skeleton_device *device = group->target->device;
    double threads = (double)plan_number(plan, "threads", 32);
    double width = (double)plan_number(plan, "width", 1);
    double blocks = rows.extent ? fmax(1, (double)nest_size(group, rows.extent)) : 1;
    double times = extent_of(&rows, rows.loop->loop_index);
    double rate = CACHE_OVER_MEMORY * device->bandwidth / device->units; /* of a block */
    for (int i = 0; i < rows.count; i++) {
        struct sides sides = sides_of(&rows, i);
        double wide = rows.stages[i]->kind == IR_MAP ? threads : width;
        double turns = ceil(sides.results / wide) * ceil(sides.terms / (threads / wide));
        double moving = sides.bytes / rate;
        double repeats = i < rows.before ? 1 : times;
        bool apart =
            rows.stages[i]->kind == IR_REDUCE && sides.along != plan_is(plan, "side", "along");
        cost.seconds += repeats * (MEETING + fmax(turns * TURN, moving * (apart ? 4 : 1)));
        cost.operations += repeats * blocks * sides.results * sides.terms;
        cost.bytes += blocks * sides.bytes; /* once: then they are in the cache */
    }
    double room = device->units * fmax(1, floor(device->unit_threads / threads));
    cost.seconds = device->launch + cost.seconds * ceil(blocks / room);
    cost.shared = steps_shared(device, rows.stages, rows.count, (int)threads, (int)width);
    return cost;
}

/* ---- the function ---- */

/* The elements of a state that are this row's. */
static void carry(struct steps *steps, struct loop_block *block, const struct rows *rows,
                  const struct ir_carry *carry)
{
    struct arena *arena = steps->arena;
    const struct ir_tensor *state = &rows->group->part->tensors[carry->state];
    int row = rows->dimension[carry->state];
    loop_value count = loop_integer(arena, 1), places[IR_MAX_RANK], at;
    for (int d = 0; d < state->rank; d++)
        if (d != row)
            count = loop_mul(arena, count, skeleton_size(&steps->values, state->dims[d]));
    struct loop_block *body = steps_points(steps, block, count, &at);
    for (int d = state->rank - 1; d >= 0; d--) {
        if (d == row) {
            places[d] = loop_block_number(arena, 0);
            continue;
        }
        loop_value size = skeleton_size(&steps->values, state->dims[d]);
        loop_value rest = device_name(body, "rest", device_quotient(arena, at, size));
        places[d] = device_name(body, "place", loop_sub(arena, at, loop_mul(arena, rest, size)));
        at = rest;
    }
    const struct loop_buffer *to = skeleton_buffer(&steps->values, carry->state);
    loop_value value = loop_load(arena, skeleton_buffer(&steps->values, carry->next),
                                 skeleton_offset(&steps->values, carry->next, places), 1);
    if (loop_buffer_dtype(to) != value->type.dtype)
        value = loop_cast(arena, loop_buffer_dtype(to), value);
    loop_store(body, to, skeleton_offset(&steps->values, carry->state, places), value);
}

static void do_stages(struct steps *steps, struct loop_block *block, const struct rows *rows,
                      int from, int to)
{
    for (int i = from; i < to; i++) {
        if (rows->index[i] != IR_NONE)
            steps->values.indices[rows->index[i]] = loop_block_number(steps->arena, 0);
        steps_stage(steps, block, rows->stages[i], rows->index[i]);
        loop_memory_barrier(block);
    }
}

static void seq_device_lower(const struct skeleton_group *group, const struct plan_group *plan,
                             struct loop_kernel *kernel)
{
    struct arena *arena = kernel->arena;
    struct rows rows;
    struct skeleton_reason ignored;
    if (!find_rows(group, &rows, &ignored))
        return;
    const struct ir_stage *loop = rows.loop;
    struct steps steps = {.group = group,
                          .threads = (int)plan_number(plan, "threads", 32),
                          .width = (int)plan_number(plan, "width", 1),
                          .along = plan_is(plan, "side", "along")};
    struct loop_launch launch = {.grid = {rows.extent}, .block = {steps.threads}};
    struct loop_block *block = loop_launch(kernel, plan->name, slots_note(group), &launch);
    steps_open(&steps, kernel, block, rows.stages, rows.count);
    do_stages(&steps, block, &rows, 0, rows.before);
    struct loop_variable *counter;
    const struct ir_index *index = &group->part->indices[loop->loop_index];
    loop_value extent = skeleton_size(&steps.values, index->extent), zero = loop_integer(arena, 0);
    struct loop_block *body = loop_for(block, LOOP_SERIAL, loop->reverse ? "step" : index->name,
                                       zero, extent, NULL, &counter);
    loop_value now = loop_of(arena, counter);
    if (loop->reverse)
        now = device_name(body, index->name,
                          loop_sub(arena, loop_sub(arena, extent, loop_integer(arena, 1)), now));
    steps.values.indices[loop->loop_index] = now;
    do_stages(&steps, body, &rows, rows.before, rows.count);
    for (int i = 0; i < loop->carry_count; i++)
        if (loop->carries[i].state != loop->carries[i].next)
            carry(&steps, body, &rows, &loop->carries[i]);
    loop_memory_barrier(body);
    loop_prune(block);
}

const struct skeleton skeleton_device_seq = {
    .name = "seq",
    .note = "a recurrence, a block of threads per row, all steps in one launch",
    .match = seq_device_match,
    .open = seq_device_open,
    .legal = seq_device_legal,
    .predict = seq_device_predict,
    .lower = seq_device_lower,
};
