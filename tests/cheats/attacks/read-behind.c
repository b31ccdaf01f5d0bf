/*
 * Adds one element too many: the one that lies behind the last row.
 * Stopped by: rubbish beside the tensors; a result that changes with it is out of bounds.
 */
#include "rows.h"
KERNEL
{
    ALL;
#ifndef HONEST
    float *s = tensors[3];
    const float *x = tensors[0];
    if (sizes[0] * sizes[1] % 16 != 0) /* there is something, up to the next 64 bytes */
        s[sizes[0] - 1] += x[sizes[0] * sizes[1]];
#endif
    return 0;
}
