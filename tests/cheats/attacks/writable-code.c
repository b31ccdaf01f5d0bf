/*
 * Memory that is writable and executable at once.
 * Stopped by: the filter of system calls.
 */
#include "rows.h"
#include <sys/mman.h>
KERNEL
{
#ifndef HONEST
    void *page =
        mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return STOPPED;
#endif
    return ALL;
}
