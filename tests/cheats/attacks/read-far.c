/*
 * Reads a row too many, far behind the end.
 * Stopped by: pages that cannot be touched behind every tensor.
 */
#include "rows.h"
KERNEL
{
    ALL;
#ifndef HONEST
    volatile float sink = 0;
    const float *w = tensors[1];
    for (int64_t d = 0; d < 4096; d++)
        sink += w[sizes[1] + d];
#endif
    return 0;
}
