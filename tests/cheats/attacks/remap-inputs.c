/*
 * Puts pages of zeros in place of the inputs.
 * Stopped by: what the cell sees is its own affair; the judge has the inputs it wrote.
 */
#include "rows.h"
#include <sys/mman.h>
KERNEL
{
#ifndef HONEST
    void *page = (void *)((uintptr_t)tensors[0] & ~4095ull);
    mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#endif
    return ALL;
}
