/*
 * The same, after making the block writable.
 * Stopped by: the seal on it.
 */
#include "rows.h"
#include "inside.h"
#include <sys/mman.h>
KERNEL
{
#ifndef HONEST
    if (!look_inside() || mprotect(found_control, 4096, PROT_READ | PROT_WRITE) != 0)
        return STOPPED;
    found_control->call_count = 0;
#endif
    return ALL;
}
