/*
 * Takes the sum for what it is on average: zero.
 * Stopped by: every element is compared.
 */
#include "rows.h"
KERNEL
{
#ifndef HONEST
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    for (int64_t n = 0; n < sizes[0]; n++) {
        s[n] = 0;
        for (int64_t d = 0; d < sizes[1]; d++)
            y[n * sizes[1] + d] = x[n * sizes[1] + d] * w[d];
    }
    return 0;
#else
    return ALL;
#endif
}
