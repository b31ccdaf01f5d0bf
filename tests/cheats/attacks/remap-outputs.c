/*
 * Puts private pages in place of the outputs: fast to write, never seen by anybody.
 * Stopped by: the judge reads the file, not the cell's pages.
 */
#include "rows.h"
#include <sys/mman.h>
KERNEL
{
#ifndef HONEST
    for (int i = 2; i < 4; i++) {
        void *page = (void *)((uintptr_t)tensors[i] & ~4095ull);
        mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
#endif
    return ALL;
}
