/*
 * Makes the inputs writable first.
 * Stopped by: the file they lie in is sealed against it.
 */
#include "rows.h"
#include <string.h>
#include <sys/mman.h>
KERNEL
{
#ifndef HONEST
    void *page = (void *)((uintptr_t)tensors[0] & ~4095ull);
    if (mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0)
        return STOPPED;
    memset(tensors[0], 0, 4);
#endif
    return ALL;
}
