/*
 * Once it has been checked it writes, in one call of twenty, what the call before gave; never in the first of a batch.
 * Stopped by: calls chosen when a batch is over are compared with the reference.
 */
#include "rows.h"
#include "batch.h"
#include <string.h>
KERNEL
{
#ifndef HONEST
    static unsigned state = 12345;
    static void *before[2];
    static int calls;
    size_t sums = (size_t)sizes[0] * sizeof(float), all = sums * (size_t)sizes[1];
    state = state * 1664525 + 1013904223;
    if (++calls > 60 && (state >> 8) % 20 == 0 && before[0] != tensors[2] &&
        inside_batch()) {
        memcpy(tensors[2], before[0], all);
        memcpy(tensors[3], before[1], sums);
        return returned();
    }
    before[0] = tensors[2];
    before[1] = tensors[3];
    ALL;
    return returned();
#endif
    return ALL;
}
