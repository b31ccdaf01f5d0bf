/*
 * The table of targets.
 */
#include "target/target.h"

#include <string.h>

/* Kernels in C are compiled by cc and called: see src/judge and runtime/cell.c. */
const struct target target_cpu = {
    .name = "cpu", .title = "C", .source = "kernel.c", .object = "kernel.so"};

const struct target *const targets[] = {&target_cpu, &target_opencl, &target_cuda, NULL};

const struct target *target_find(const char *name)
{
    for (const struct target *const *target = targets; *target; target++)
        if (strcmp((*target)->name, name) == 0)
            return *target;
    return NULL;
}
