/*
 * Does nothing in the batches that cannot be the last one, and everything from then on.
 * Stopped by: which batch is compared is chosen at random, the first ones among them.
 */
#include "rows.h"
#include <x86intrin.h>
KERNEL
{
#ifndef HONEST
    static unsigned long long last;
    static int stops, calls;
    unsigned long long now = __rdtsc();
    stops += now - last > 8000;
    if (++calls < 16 || stops > 30)
        ALL;
    last = __rdtsc();
    return 0;
#else
    return ALL;
#endif
}
