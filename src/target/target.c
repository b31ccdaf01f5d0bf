/*
 * The table of targets.
 */
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

/* Kernels in C are compiled by cc and called: see src/judge and runtime/cell.c. */
const struct target target_cpu = {
    .name = "cpu", .title = "C", .source = "kernel.c", .object = "kernel.so"};

const struct target *const targets[] = {&target_cpu, &target_opencl, &target_cuda, NULL};

bool target_handles_add(struct target_handles *handles, uintptr_t handle, struct error *error)
{
    enum { FIRST_ROOM = 64 };
    if (handles->count == handles->room) {
        size_t room = handles->room ? 2 * handles->room : FIRST_ROOM;
        uintptr_t *at = realloc(handles->at, room * sizeof *at);
        if (!at)
            return error_set(error, ERROR_OUT_OF_MEMORY, "no memory beside the device's");
        handles->at = at;
        handles->room = room;
    }
    handles->at[handles->count++] = handle;
    return true;
}

const struct target *target_find(const char *name)
{
    for (const struct target *const *target = targets; *target; target++)
        if (strcmp((*target)->name, name) == 0)
            return *target;
    return NULL;
}
