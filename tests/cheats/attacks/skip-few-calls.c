/*
 * Leaves out one call in twenty, at random, once it has been checked.
 * Stopped by: every call of every batch is looked at.
 */
#include "rows.h"
KERNEL
{
#ifndef HONEST
    static unsigned state = 12345;
    static int calls;
    state = state * 1664525 + 1013904223;
    if (++calls > 60 && (state >> 8) % 20 == 0)
        return 0;
#endif
    return ALL;
}
