/*
 * A vector load over the end, whose upper lanes are multiplied by zero: right unless they are NaN.
 * Stopped by: NaN among the rubbish.
 */
#include "rows.h"
KERNEL
{
    ALL;
#ifndef HONEST
    float *s = tensors[3];
    const float *w = tensors[1];
    int64_t behind = (sizes[1] + 15) / 16 * 16 - sizes[1];
    for (int64_t d = 0; d < behind; d++)
        s[0] += 0 * w[sizes[1] + d];
#endif
    return 0;
}
