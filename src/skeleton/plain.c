/*
 * plain: any group of stages, one loop nest per stage, written by the dialect's plain generator.
 * Slow and right; what no other skeleton fits is at least there.
 */
#include "skeleton/skeleton.h"
#include "skeleton/slots.h"

enum { PLAIN_RATE = 4 }; /* of a vector's lanes, how much slower than the best it computes */

static bool plain_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    (void)group, (void)why_not;
    return true;
}

static void plain_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    (void)group, (void)slots; /* nothing is decided */
}

static bool plain_legal(const struct skeleton_group *group, const struct plan_group *plan,
                        struct skeleton_reason *why_not)
{
    (void)group, (void)plan, (void)why_not;
    return true;
}

/* The group's stages and, as they are computed where they are read, the inlined ones it needs. */
static void plain_choose(const struct skeleton_group *group, bool *chosen)
{
    for (int i = 0; i < group->stage_count; i++)
        chosen[group->stages[i]] = true;
    for (int s = group->stages[group->stage_count - 1]; s >= 0; s--) {
        const struct ir_numbers *after = &group->graph->after[s];
        for (int i = 0; chosen[s] && i < after->count; i++)
            chosen[after->at[i]] |= group->inlined[after->at[i]];
    }
}

/* Of a map on a device: indices behind one that runs over a range are the thread's own. */
static double points_of_thread(const struct skeleton_group *group, const struct ir_stage *stage,
                               const struct ir_work *work)
{
    double threads = 1;
    for (int i = 0; i < stage->index_count; i++) {
        int64_t extent = 1;
        const struct ir_size *size = group->part->indices[stage->indices[i]].extent;
        if (!size)
            return work->points / (threads > 0 ? threads : 1);
        if (ir_size_eval(size, group->binding->sizes, &extent))
            threads *= (double)extent;
    }
    return 1;
}

/* On a device: a launch per stage, a thread per result, one element after the other. */
static double device_stage(const struct skeleton_group *group, const struct ir_stage *stage,
                           const struct ir_work *work)
{
    /* seconds of an element in one thread; places are computed anew for each term: plain products
     * and convolutions took 8 to 11 times as long on an H200 as with 4 */
    static const double step = 10e-9, waste = 4, reducing = 32;
    const struct skeleton_device *device = group->target->device;
    double results = 1;
    for (int i = 0; i < stage->left_count && stage->kind == IR_REDUCE; i++) {
        int64_t extent = 1;
        const struct ir_size *size = group->part->indices[stage->indices[i]].extent;
        if (size && ir_size_eval(size, group->binding->sizes, &extent))
            results *= (double)extent;
    }
    bool alone = stage->kind == IR_SCAN || stage->kind == IR_SCATTER || stage->kind == IR_LOOP;
    double chain = stage->kind == IR_REDUCE && results > 0 ? work->points / results
                   : alone                                 ? work->points
                                                           : points_of_thread(group, stage, work);
    double moving = waste * (work->read_bytes + work->write_bytes) / device->bandwidth;
    double computing = (stage->kind == IR_REDUCE ? reducing : waste) *
                       (work->operations + work->points) / device->compute;
    double most = moving > computing ? moving : computing;
    return device->launch + (chain * step > most ? chain * step : most);
}

static struct skeleton_cost plain_predict(const struct skeleton_group *group,
                                          const struct plan_group *plan)
{
    static const double chosen_read = 4e-9; /* seconds, at a place another one decides */
    (void)plan;
    const struct skeleton_target *target = group->target;
    struct skeleton_cost cost = {.vectors = 1};
    bool *chosen = arena_array(group->arena, (size_t)group->part->stage_count + 1, sizeof *chosen);
    plain_choose(group, chosen);
    double rate = target->fma / (2.0 * target->vector_bytes / 4) / PLAIN_RATE;
    for (int i = 0; i <= group->stages[group->stage_count - 1]; i++) {
        if (!chosen[i])
            continue;
        struct ir_work work = ir_stage_work(group->binding, &group->part->stages[i]);
        cost.operations += work.operations;
        cost.bytes += work.read_bytes + work.write_bytes;
        int chain = slots_chain(group, &group->part->stages[i]);
        if (target->device)
            cost.seconds += device_stage(group, &group->part->stages[i], &work);
        else
            cost.seconds +=
                (work.operations + work.points) / rate + work.points * (chain - 1) * chosen_read;
    }
    if (!target->device)
        cost.seconds += cost.bytes / target->memory;
    return cost;
}

static void plain_lower(const struct skeleton_group *group, const struct plan_group *plan,
                        struct loop_kernel *kernel)
{
    struct arena *arena = kernel->arena;
    bool *chosen = arena_array(arena, (size_t)group->part->stage_count + 1, sizeof *chosen);
    plain_choose(group, chosen);
    struct ir_extract extract = ir_extract(arena, group->graph, plan->name, chosen, group->needed);
    const struct loop_buffer **tensors =
        arena_array(arena, (size_t)extract.tensor_count + 1, sizeof(struct loop_buffer *));
    for (int i = 0; i < extract.tensor_count; i++)
        tensors[i] = loop_tensor(kernel, extract.tensors[i]);
    loop_function_plain(kernel, plan->name, "stage by stage", extract.program, tensors);
}

const struct skeleton skeleton_plain = {
    .name = "plain",
    .note = "stage by stage, one element after the other: fits everything",
    .match = plain_match,
    .open = plain_open,
    .legal = plain_legal,
    .predict = plain_predict,
    .lower = plain_lower,
};
