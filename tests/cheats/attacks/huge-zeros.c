/*
 * Sixteen gigabytes of zeros that are reserved when the object is loaded.
 * Stopped by: the limit on the cell's memory.
 */
#include "rows.h"
#ifndef HONEST
volatile char big[1ull << 34];
#endif
KERNEL
{
#ifndef HONEST
    if (sizes[0] < 0)
        return big[sizes[1]];
#endif
    return ALL;
}
