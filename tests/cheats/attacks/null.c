/*
 * Writes where nothing is.
 * Stopped by: the handler of faults.
 */
#include "rows.h"
KERNEL
{
#ifndef HONEST
    *(volatile int *)(sizes[0] & 0) = 1;
#endif
    return ALL;
}
