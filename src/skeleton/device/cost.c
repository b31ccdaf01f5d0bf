/*
 * What a launch costs: bytes by transaction over a bandwidth that takes enough bytes under way to
 * reach, operations, waves of blocks, and the launch itself. A model to rank plans by, not a clock.
 */
#include <math.h>
#include <string.h>

#include "skeleton/device/device.h"

/* Bytes under way on a multiprocessor for full bandwidth; how much faster the last cache is. */
static const double FULL_FLIGHT = 40e3, CACHE_OVER_MEMORY = 2.5;
enum { OPENCL_RESIDENT = 4, MOST_BLOCKS = 32, REGISTER_STEP = 8 };

double device_resident(const struct skeleton_device *device, const struct device_launch *launch)
{
    double blocks = fmin(MOST_BLOCKS, floor((double)device->unit_threads / launch->threads));
    if (device->unit_registers == 0)
        return OPENCL_RESIDENT;
    double registers = ceil(launch->registers / REGISTER_STEP) * REGISTER_STEP;
    blocks = fmin(blocks, floor(device->unit_registers / (registers * launch->threads)));
    if (launch->shared > 0)
        blocks = fmin(blocks, floor((double)device->unit_shared / (launch->shared + 1024)));
    return fmax(blocks, 1);
}

double device_seconds(const struct skeleton_device *device, const struct device_launch *launch)
{
    double resident = device_resident(device, launch);
    double places = resident * device->units;
    double waves = launch->blocks / places;
    double whole = waves <= 0 ? 1 : ceil(waves) / waves; /* what the last wave leaves idle */
    if (waves > 4) /* blocks end at different times: the tail fills up */
        whole = 1 + (whole - 1) / 2;
    if (waves <= 1) /* not all multiprocessors have one */
        whole = fmax(1, device->units / fmax(launch->blocks, 1));
    double flight = resident * launch->threads * launch->in_flight / FULL_FLIGHT;
    double cached = launch->unique < (double)device->cache / 2 ? CACHE_OVER_MEMORY : 1;
    double moving = launch->bytes / (device->bandwidth * cached * fmin(1, flight));
    moving = fmax(moving, launch->fetched / (device->bandwidth * CACHE_OVER_MEMORY));
    double computing = launch->operations / device->compute;
    return device->launch + fmax(moving, computing) * whole;
}

/* Whether an access before this one is to the same places. */
static bool is_again(const struct nest *nest, size_t number)
{
    const struct nest_access *access = &nest->accesses.at[number];
    for (size_t i = 0; i < number; i++) {
        const struct nest_access *other = &nest->accesses.at[i];
        if (other->tensor == access->tensor &&
            memcmp(other->axes, access->axes, sizeof access->axes) == 0)
            return true;
    }
    return false;
}

double device_bytes(const struct nest *nest, const struct nest_chain *lane, double points)
{
    const struct skeleton_group *group = nest->group;
    double bytes = 0;
    for (size_t i = 0; i < nest->accesses.count; i++) {
        const struct nest_access *access = &nest->accesses.at[i];
        const struct ir_tensor *tensor = &group->part->tensors[access->tensor];
        bool internal = nest_definer(nest, access->tensor) && !group->needed[access->tensor];
        if (internal || is_again(nest, i))
            continue;
        double each = (double)dtype_bytes(tensor->dtype), elements = 1;
        bool dense = tensor->rank == 0, bare = true;
        for (int d = 0; d < tensor->rank; d++) {
            elements *= (double)nest_size(group, tensor->dims[d]);
            bare &= access->axes[d] >= 0;
        }
        int last = tensor->rank ? access->axes[tensor->rank - 1] : -1;
        for (int k = 0; lane && k < lane->count; k++)
            dense |= last == lane->axes[k];
        bool along = dense;
        for (int d = 0; d < tensor->rank; d++)
            for (int k = 0; lane && k < lane->count; k++)
                along |= access->axes[d] == lane->axes[k];
        if (dense || !along) /* side by side, or the same for all: each element comes once */
            bytes += each * (bare ? elements : fmin(elements, points));
        else /* apart: a transaction for each, unless a cache keeps what is around */
            bytes += elements * each < (double)group->target->device->cache / 2
                         ? 2 * each * elements
                         : DEVICE_TRANSACTION * points;
    }
    return bytes;
}
