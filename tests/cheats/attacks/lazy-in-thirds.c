/*
 * Leaves out one call in three, at random.
 * Stopped by: every launch compares some calls, and there are many launches.
 */
#include "rows.h"
#include <x86intrin.h>
KERNEL
{
#ifndef HONEST
    static int calls;
    if (++calls > 14 && __rdtsc() / 64 % 3 == 0)
        return 0;
#endif
    return ALL;
}
