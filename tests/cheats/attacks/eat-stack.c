/*
 * Calls itself without end.
 * Stopped by: the limit on stacks, and a handler of faults with a stack of its own.
 */
#include "rows.h"
#ifndef HONEST
__attribute__((noinline)) static int deeper(volatile int depth)
{
    volatile char room[4096];
    room[depth % 4096] = 1;
    return deeper(depth + 1) + room[0];
}
#endif
KERNEL
{
#ifndef HONEST
    if (deeper(0) == 7)
        return 1;
#endif
    return ALL;
}
