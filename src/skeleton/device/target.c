/*
 * Devices that are known by name, so that kernels can be planned where there is none; and a device
 * of any kind, for what its driver does not tell.
 */
#include <string.h>

#include "skeleton/skeleton.h"

static const struct skeleton_device DEVICES[] = {
    {.language = "cuda",
     .architecture =
         "sm_90a", /* H200: bandwidth and launches as measured, the rest as NVIDIA says */
     .warp = 32,
     .block_threads = 1024,
     .cluster = 16,
     .shared = 227 << 10,
     .unit_shared = 228 << 10,
     .unit_threads = 2048,
     .unit_registers = 65536,
     .units = 132,
     .cache = 50 << 20,
     .bandwidth = 4.3e12,
     .compute = 60e12,
     .launch = 2.5e-6},
    {.language = "cuda",
     .architecture = "sm_80", /* A100 */
     .warp = 32,
     .block_threads = 1024,
     .shared = 163 << 10,
     .unit_shared = 164 << 10,
     .unit_threads = 2048,
     .unit_registers = 65536,
     .units = 108,
     .cache = 40 << 20,
     .bandwidth = 1.4e12,
     .compute = 19e12,
     .launch = 3e-6},
    {.language = "opencl",
     .architecture = "",
     .warp = 1,
     .block_threads = 256,
     .shared = 32 << 10,
     .unit_shared = 64 << 10,
     .unit_threads = 1024,
     .units = 8,
     .cache = 4 << 20,
     .bandwidth = 20e9,
     .compute = 200e9,
     .launch = 20e-6},
};

bool skeleton_device_named(struct skeleton_device *device, const char *language,
                           const char *architecture)
{
    bool any = !architecture || !*architecture;
    for (size_t i = 0; i < sizeof DEVICES / sizeof *DEVICES; i++) {
        if (strcmp(DEVICES[i].language, language) != 0 ||
            (!any && strcmp(DEVICES[i].architecture, architecture) != 0))
            continue;
        *device = DEVICES[i];
        return true;
    }
    return false;
}

struct skeleton_target skeleton_target_device(const struct skeleton_device *device)
{
    return (struct skeleton_target){
        .name = *device->architecture ? device->architecture : "any",
        .device = device,
        .vector_bytes = 16,
        .registers = 255,
        .masks = true,
        .l1 = device->shared,
        .l2 = device->cache,
        .l3 = device->cache,
        .threads = 1,
        .fma = device->compute,
        .memory = device->bandwidth,
        .l2_rate = 2 * device->bandwidth,
    };
}
