/*
 * jagged on devices: stages over segments whose lengths come from data.
 *
 *     a block of threads: one segment
 *         for each stage of the group
 *             map: its points shared out to all threads
 *             reduction: `width` results side by side, the terms of each shared out to the other
 *             threads, who combine what they have
 *             all threads meet: what the stage left is there for the next
 *
 * What a stage of the group leaves for the next one comes back from the caches. A long segment
 * keeps its block busy while others take the next ones.
 */
#include <math.h>

#include "skeleton/device/steps.h"
#include "skeleton/jagged.h"
#include "skeleton/lanes.h"
#include "skeleton/slots.h"

/* ---- what fits ---- */

/* At most one range, and where it lies is the same for all threads of a segment. */
static bool ranges_fit(const struct skeleton_group *group, const struct ir_stage *stage,
                       struct skeleton_reason *why_not)
{
    int ranges = 0;
    for (int i = 0; i < stage->index_count; i++) {
        const struct ir_index *index = &group->part->indices[stage->indices[i]];
        if (index->extent)
            continue;
        ranges++;
        for (int k = 1; k < stage->index_count; k++)
            if (lanes_uses(group->part, &stage->nodes, index->low, stage->indices[k]) ||
                lanes_uses(group->part, &stage->nodes, index->high, stage->indices[k]))
                ranges = STEPS_INDICES;
    }
    if (ranges <= 1 && stage->index_count <= STEPS_INDICES)
        return true;
    nest_refuse(why_not, "a stage has more than one range, or one that is not the segment's");
    return false;
}

static bool jagged_device_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    if (!jagged_fits(group, why_not))
        return false;
    for (int i = 0; i < group->stage_count; i++)
        if (!ranges_fit(group, jagged_stage(group, i), why_not))
            return false;
    return true;
}

/* ---- decisions ---- */

static int64_t power_up_to(double value, int64_t most)
{
    int64_t power = 1;
    while ((double)power < value && power < most)
        power *= 2;
    return power;
}

/* Results of a reduction side by side, and terms of each; of a map all points are results. */
static void sides_of(const struct skeleton_group *group, const struct ir_stage *stage,
                     double segments, double *results, double *terms)
{
    double points = ir_stage_work(group->binding, stage).points / fmax(1, segments);
    *results = points;
    *terms = 1;
    if (stage->kind == IR_MAP)
        return;
    *results = 1;
    for (int i = 1; i < stage->left_count; i++) {
        const struct ir_size *extent = group->part->indices[stage->indices[i]].extent;
        *results *= extent ? (double)nest_size(group, extent) : 1;
    }
    *terms = fmax(1, points / fmax(1, *results));
}

static void jagged_device_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    struct jagged_work work = jagged_work_of(group);
    int64_t most = group->target->device->block_threads;
    int64_t seed = most < 256 ? most : 256, threads = 32, width = 1;
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = jagged_stage(group, i);
        double results, terms;
        sides_of(group, stage, work.segments, &results, &terms);
        int64_t wide = power_up_to(results, seed);
        int64_t wanted = wide * power_up_to(terms / 2, seed / wide);
        threads = wanted > threads ? wanted : threads;
        width = stage->kind == IR_REDUCE && wide > width ? wide : width;
    }
    if (group->target->device->warp == 1) /* meeting costs more than it saves */
        width = threads;
    device_slot(group, slots, "threads", "of a block, which has one segment", 32, most, threads);
    device_slot(group, slots, "width", "results of a reduction side by side", 1, most, width);
}

static bool jagged_device_legal(const struct skeleton_group *group, const struct plan_group *plan,
                                struct skeleton_reason *why_not)
{
    if (!jagged_device_match(group, why_not))
        return false;
    if (plan_number(plan, "width", 1) > plan_number(plan, "threads", 32)) {
        nest_refuse(why_not, "a block has fewer threads than the width");
        return false;
    }
    return true;
}

static struct skeleton_cost jagged_device_predict(const struct skeleton_group *group,
                                                  const struct plan_group *plan)
{
    /* instructions: of an element besides its own; of a thread that meets the others */
    enum { STEPS = 12, MEETING = 60 };
    struct jagged_work work = jagged_work_of(group);
    double threads = (double)plan_number(plan, "threads", 32);
    double width = (double)plan_number(plan, "width", 1), chain = 0;
    struct device_launch launch = {.blocks = work.segments,
                                   .threads = (int)threads,
                                   .registers = 40,
                                   .bytes = work.bytes,
                                   .unique = work.bytes,
                                   .in_flight = 8};
    launch.operations = work.segments * group->stage_count * threads * MEETING;
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = jagged_stage(group, i);
        double results, terms;
        sides_of(group, stage, work.segments, &results, &terms);
        double wide = stage->kind == IR_MAP ? threads : width, rows = threads / wide;
        double turns = ceil(results / wide) * ceil(terms / rows);
        launch.operations += work.segments * turns * threads * STEPS;
        chain += turns;
    }
    const struct ir_stage **stages =
        arena_array(group->arena, (size_t)group->stage_count + 1, sizeof(struct ir_stage *));
    for (int i = 0; i < group->stage_count; i++)
        stages[i] = jagged_stage(group, i);
    int64_t shared =
        steps_shared(group->target->device, stages, group->stage_count, (int)threads, (int)width);
    struct skeleton_cost cost = {.bytes = work.bytes,
                                 .operations = work.operations,
                                 .vectors = (int)launch.registers,
                                 .shared = shared};
    /* a segment is waited for turn by turn, as many at once as there is room for */
    double room = device_resident(group->target->device, &launch) * group->target->device->units;
    double waiting = group->target->device->warp > 1 ? 0.1e-6 : 0;
    cost.seconds =
        fmax(device_seconds(group->target->device, &launch),
             group->target->device->launch + chain * waiting * fmax(1, work.segments / room));
    return cost;
}

static void jagged_device_lower(const struct skeleton_group *group, const struct plan_group *plan,
                                struct loop_kernel *kernel)
{
    struct arena *arena = kernel->arena;
    const struct ir_stage **stages =
        arena_array(arena, (size_t)group->stage_count + 1, sizeof(struct ir_stage *));
    for (int i = 0; i < group->stage_count; i++)
        stages[i] = jagged_stage(group, i);
    struct steps steps = {.group = group,
                          .threads = (int)plan_number(plan, "threads", 32),
                          .width = (int)plan_number(plan, "width", 1)};
    struct loop_launch launch = {.grid = {group->part->indices[stages[0]->indices[0]].extent},
                                 .block = {steps.threads}};
    struct loop_block *block = loop_launch(kernel, plan->name, slots_note(group), &launch);
    steps_open(&steps, kernel, block, stages, group->stage_count);
    for (int i = 0; i < group->stage_count; i++) {
        steps.values.indices[stages[i]->indices[0]] = loop_block_number(arena, 0);
        steps_stage(&steps, block, stages[i], stages[i]->indices[0]);
        if (i + 1 < group->stage_count)
            loop_memory_barrier(block);
    }
    loop_prune(block);
}

const struct skeleton skeleton_device_jagged = {
    .name = "jagged",
    .note = "segments whose lengths come from data, a block of threads each",
    .match = jagged_device_match,
    .open = jagged_device_open,
    .legal = jagged_device_legal,
    .predict = jagged_device_predict,
    .lower = jagged_device_lower,
};
