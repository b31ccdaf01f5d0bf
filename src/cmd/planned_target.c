/*
 * What --target means to a plan: this machine, less than it has, the device at hand, or one that is
 * known by name. A driver is asked in a process of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/planned.h"
#include "judge/device.h"

static struct skeleton_target this_machine(struct arena *arena)
{
    struct machine machine;
    struct rates rates;
    device_rates(arena, NULL, &machine, &rates);
    return skeleton_target_new(&machine, &rates);
}

static int64_t told(struct arena *arena, const char *said, const char *name, int64_t otherwise)
{
    int64_t value = strtoll(device_fact(arena, said, name), NULL, 10);
    return value > 0 ? value : otherwise;
}

/* A row of the table, with what the device at hand says of itself. */
static void describe(struct arena *arena, const char *said, struct skeleton_device *device)
{
    struct skeleton_device known;
    const char *architecture = device_fact(arena, said, "architecture");
    if (skeleton_device_named(&known, device->language, architecture)) {
        *device = known;
    } else {
        device->architecture = arena_string(arena, architecture);
        device->cluster = 0; /* not told: there may be none */
    }
    device->block_threads = (int)told(arena, said, "threads", device->block_threads);
    if (device->block_threads > 1024)
        device->block_threads = 1024;
    device->shared = told(arena, said, "shared", device->shared);
    device->unit_shared =
        device->unit_shared > device->shared ? device->unit_shared : device->shared;
    device->units = (int)told(arena, said, "units", device->units);
    device->cache = told(arena, said, "cache", device->cache);
}

/* What `smelt probe` measured on it, where it ran and the model was not fitted to that device. */
static void take_rates(struct arena *arena, struct skeleton_device *device)
{
    struct machine machine;
    struct rates rates;
    struct skeleton_device row;
    bool fitted = *device->architecture &&
                  skeleton_device_named(&row, device->language, device->architecture);
    if (fitted)
        return;
    device_rates(arena, target_find(device->language), &machine, &rates);
    double copy = rates.bandwidth[MACHINE_ONE][MACHINE_MEMORY][MACHINE_COPY];
    double compute = rates.compute[MACHINE_ONE][MACHINE_UNIT_DEVICE][MACHINE_F32];
    device->bandwidth = copy > 0 ? copy : device->bandwidth;
    device->compute = compute > 0 ? compute : device->compute;
    device->launch = rates.call > 0 ? rates.call : device->launch;
}

static bool choose_device(struct arena *arena, const char *name, struct skeleton_target *target)
{
    size_t length = strcspn(name, ":");
    const char *language = arena_copy(arena, name, length);
    const char *architecture = name[length] ? name + length + 1 : NULL;
    struct skeleton_device *device = arena_new(arena, struct skeleton_device);
    if (!skeleton_device_named(device, language, architecture))
        return false;
    struct error ignored = {0};
    const char *said =
        architecture ? NULL : device_describe(arena, target_find(language), &ignored);
    if (said) {
        describe(arena, said, device);
        take_rates(arena, device);
    }
    *target = skeleton_target_device(device);
    return true;
}

/* NULL: the processor. */
static const struct target *target_of(const char *language)
{
    return strcmp(language, "cpu") == 0 ? NULL : target_find(language);
}

void planned_machine(struct arena *arena, const char *language, struct machine *machine,
                     struct rates *rates)
{
    device_rates(arena, target_of(language), machine, rates);
}

bool planned_measure(struct arena *arena, const char *language, const struct machine *machine,
                     struct rates *rates, struct error *error)
{
    const struct target *target = target_of(language);
    return target ? device_probe(arena, target, true, rates, error)
                  : machine_probe(machine, &(struct machine_probe){.quick = true}, rates, error);
}

bool planned_target(struct arena *arena, const char *name, struct skeleton_target *target,
                    struct error *error)
{
    *target = this_machine(arena);
    if (!name || strcmp(name, "cpu") == 0)
        return true;
    if (strncmp(name, "cpu:", 4) == 0 && skeleton_target_limit(target, name + 4))
        return true;
    if (choose_device(arena, name, target))
        return true;
    error_set(error, ERROR_USAGE, "there is no target '%s'", name);
    error_hint(error,
               "cpu, cpu:amx, cpu:avx512, cpu:avx2, cpu:portable, opencl, cuda, cuda:sm_90a or "
               "cuda:sm_80");
    return false;
}

bool planned_target_is_there(struct arena *arena, const struct skeleton_target *target,
                             struct error *error)
{
    return !target->device || device_describe(arena, target_find(target->device->language), error);
}
