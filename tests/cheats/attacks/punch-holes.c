/*
 * Gives the pages of the outputs back to the system after writing them.
 * Stopped by: the judge then reads zeros, which are wrong, and is not harmed.
 */
#include "rows.h"
#include <sys/mman.h>
KERNEL
{
    ALL;
#ifndef HONEST
    madvise((void *)((uintptr_t)tensors[2] & ~4095ull), 4096, MADV_REMOVE);
    madvise((void *)((uintptr_t)tensors[0] & ~4095ull), 4096, MADV_REMOVE);
#endif
    return 0;
}
