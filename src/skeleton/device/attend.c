/*
 * attend on devices: attention without its matrix of scores. The loops are in attend_lower.c.
 */
#include <math.h>
#include <stdio.h>

#include "skeleton/device/attend.h"
#include "skeleton/device/device.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)

static bool attend_device_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct attend attend;
    return attend_classify(group, &attend, why_not);
}

/* ---- what is open ---- */

static void attend_device_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    device_slot(group, slots, "block.q", "queries of a block", 8, 128, 64);
    device_slot(group, slots, "block.k", "keys whose weights are kept at a time", 16, 128, 64);
    device_slot(group, slots, "thread.q", "queries of a thread", 1, 16, 8);
    device_slot(group, slots, "thread.k", "keys of a thread", 1, 8, 4);
    device_slot(group, slots, "tile.d", "channels of a block", 16, 256, 64);
    device_slot(group, slots, "tile.e", "features, or values, in shared memory at a time", 4, 32,
                16);
    device_slot(group, slots, "resident", "blocks a multiprocessor should hold at once", 1, 4, 2);
}

struct streams_decisions streams_decide(const struct plan_group *plan)
{
    struct streams_decisions d = {
        .block_q = (int)plan_number(plan, "block.q", 64),
        .block_k = (int)plan_number(plan, "block.k", 64),
        .thread_q = (int)plan_number(plan, "thread.q", 8),
        .thread_k = (int)plan_number(plan, "thread.k", 4),
        .tile_d = (int)plan_number(plan, "tile.d", 64),
        .tile_e = (int)plan_number(plan, "tile.e", 16),
        .resident = (int)plan_number(plan, "resident", 1),
    };
    d.rows = d.block_q / d.thread_q;
    d.columns = d.block_k / d.thread_k;
    d.threads = d.rows * d.columns;
    d.thread_d = d.columns ? d.tile_d / d.columns : 0;
    return d;
}

/* ---- legality ---- */

/* Exact; see open_shared in attend_lower.c. */
static int64_t shared_bytes(const struct attend *attend, const struct streams_decisions *d)
{
    int pad = 16 / attend->element;
    int64_t chunk = (int64_t)d->tile_e * (d->block_q + pad + d->block_k + pad);
    int64_t values = (int64_t)d->tile_e * d->tile_d;
    int64_t weights = (int64_t)d->block_k * d->block_q;
    return (chunk + values + weights + d->block_q + 2 * d->threads) * attend->element;
}

static int registers_of(const struct attend *attend, const struct streams_decisions *d)
{
    enum { PLACES = 48 };
    int words = attend->element / 4;
    return (d->thread_q * (d->thread_k + d->thread_d) + d->thread_q +
            (d->thread_k > d->thread_d ? d->thread_k : d->thread_d)) *
               words +
           PLACES;
}

static bool attend_device_legal(const struct skeleton_group *group, const struct plan_group *plan,
                                struct skeleton_reason *why_not)
{
    const struct skeleton_device *device = group->target->device;
    struct attend attend;
    if (!attend_classify(group, &attend, why_not))
        return false;
    struct streams_decisions d = streams_decide(plan);
    if (d.rows < 1 || d.columns < 1 || d.thread_d < 1)
        return REFUSE(why_not, "%d threads of a row are more than the %d channels or keys",
                      d.columns, d.tile_d);
    if (d.threads > device->block_threads)
        return REFUSE(why_not, "%d threads are more than the %d a block may have", d.threads,
                      device->block_threads);
    if (d.threads < d.block_q || d.threads < 32)
        return REFUSE(why_not, "%d threads are less than a warp, or than the %d queries", d.threads,
                      d.block_q);
    int64_t shared = shared_bytes(&attend, &d);
    if (shared > DEVICE_STATIC_SHARED || shared > device->shared)
        return REFUSE(why_not, "%lld bytes of shared memory are more than the %lld of a block",
                      (long long)shared, (long long)fmin(DEVICE_STATIC_SHARED, device->shared));
    int registers = registers_of(&attend, &d);
    enum { MOST_REGISTERS = 255 };
    if (registers > MOST_REGISTERS)
        return REFUSE(why_not, "sums of a thread need about %d registers, there are %d", registers,
                      MOST_REGISTERS);
    if (d.resident > 1 && device->unit_registers > 0 &&
        (int64_t)registers * d.threads * d.resident > device->unit_registers)
        return REFUSE(why_not, "%d blocks of %d threads need more registers than there are",
                      d.resident, d.threads);
    return true;
}

/* ---- cost ---- */

static double axis_size(const struct attend *attend, int axis)
{
    int64_t size = 1;
    if (attend->group.binding)
        ir_size_eval(attend->extents[axis], attend->group.binding->sizes, &size);
    return size > 0 ? (double)size : 1;
}

static struct skeleton_cost attend_device_predict(const struct skeleton_group *group,
                                                  const struct plan_group *plan)
{
    /* instructions besides a multiply-add: of a weight, of an element that is brought; and what a
     * barrier costs, in instructions of a thread */
    enum { WEIGHT = 30, BROUGHT = 12, BARRIER = 60 };
    struct attend attend;
    struct skeleton_reason why_not;
    struct skeleton_cost cost = {0};
    if (!attend_classify(group, &attend, &why_not))
        return cost;
    const struct skeleton_device *device = group->target->device;
    struct streams_decisions d = streams_decide(plan);
    double queries = axis_size(&attend, attend.query), keys = axis_size(&attend, attend.key);
    double channels = axis_size(&attend, attend.channel);
    double features = axis_size(&attend, attend.feature), batch = 1;
    for (int i = 0; i < attend.key; i++) {
        if (i != attend.query && i != attend.channel)
            batch *= axis_size(&attend, i);
    }
    double seen =
        attend.top.stage->predicate == IR_NONE ? keys : fmin(keys, keys / 2 + d.block_q / 2.0);
    double turns = ceil(seen / d.block_k), chunks = ceil(features / d.tile_e);
    double scores = chunks * d.tile_e * (d.thread_q * d.thread_k + 0.8 * (d.thread_q + d.thread_k));
    double sums = d.block_k * (d.thread_q * d.thread_d + 0.8 * (d.thread_q + d.thread_d));
    double brought = (chunks * d.tile_e * (d.block_q + d.block_k) + (double)d.block_k * d.tile_d) /
                     d.threads * BROUGHT;
    double weights = (double)d.block_q * d.block_k / d.threads * WEIGHT;
    double waits = (2 * chunks + 2.0 * d.block_k / d.tile_e + 4) * BARRIER;
    double work = turns * (scores + sums + brought + weights + waits); /* of a thread */
    struct device_launch launch = {
        .blocks = batch * ceil(queries / d.block_q) * ceil(channels / d.tile_d),
        .threads = d.threads,
        .registers = registers_of(&attend, &d),
        .shared = (double)shared_bytes(&attend, &d),
    };
    double here = fmin(device_resident(device, &launch), ceil(launch.blocks / device->units));
    double waves = ceil(launch.blocks / (here * device->units));
    double warps = here * d.threads / 32;
    double rate = device->compute / 2 / device->units * warps / (warps + 4) * 4 / attend.element;
    cost.bytes = batch * attend.element * (queries + keys) * (features + channels);
    cost.operations = 2 * batch * queries * seen * (features + channels);
    cost.seconds = device->launch +
                   fmax(waves * here * d.threads * work / rate, cost.bytes / device->bandwidth);
    cost.vectors = registers_of(&attend, &d);
    cost.shared = shared_bytes(&attend, &d);
    return cost;
}

/* ---- what to try first ---- */

extern const struct skeleton skeleton_device_attend;

/* Shapes by falling size; the channels of a block are those there are, up to what fits. */
static const struct {
    int block_q, block_k, thread_q, thread_k;
} SHAPES[] = {
    {64, 64, 8, 4}, {64, 32, 8, 2}, {32, 64, 4, 4}, {32, 32, 4, 2}, {16, 64, 2, 4}, {16, 32, 2, 2},
};

static bool seed(const struct skeleton_group *group, struct plan_group *plan, size_t shape,
                 int channels, int resident)
{
    struct skeleton_reason why_not;
    const struct {
        const char *key;
        int value;
    } numbers[] = {
        {"block.q", SHAPES[shape].block_q},
        {"block.k", SHAPES[shape].block_k},
        {"thread.q", SHAPES[shape].thread_q},
        {"thread.k", SHAPES[shape].thread_k},
        {"tile.d", channels},
        {"tile.e", 16},
        {"resident", resident},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        plan_set(group->arena, plan, numbers[i].key,
                 arena_printf(group->arena, "%d", numbers[i].value));
    return skeleton_device_attend.legal(group, plan, &why_not);
}

static int attend_device_seeds(const struct skeleton_group *group, struct plan_group *plans,
                               int most)
{
    struct attend attend;
    struct skeleton_reason why_not;
    int count = 0, channels = 16;
    if (!attend_classify(group, &attend, &why_not))
        return 0;
    while (channels < 256 && channels < axis_size(&attend, attend.channel))
        channels *= 2;
    /* how much a thread can keep in registers is not known of every device */
    size_t first = group->target->device->unit_registers > 0 ? 0 : 2;
    for (size_t shape = first; shape < sizeof SHAPES / sizeof *SHAPES && count < most; shape++) {
        for (int wide = channels; wide >= 16; wide /= 2) {
            if (seed(group, &plans[count], shape, wide, 2) ||
                seed(group, &plans[count], shape, wide, 1)) {
                count++;
                break;
            }
        }
    }
    return count;
}

const struct skeleton skeleton_device_attend = {
    .name = "attend",
    .note = "attention in one pass over the keys: scores, softmax and the weighted sum",
    .match = attend_device_match,
    .open = attend_device_open,
    .legal = attend_device_legal,
    .predict = attend_device_predict,
    .seeds = attend_device_seeds,
    .lower = streams_lower,
};
