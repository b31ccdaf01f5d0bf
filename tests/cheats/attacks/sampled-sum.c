/*
 * Estimates sums from half of their terms.
 * Stopped by: every element is compared, over draws whose terms are unlike each other.
 */
#include "rows.h"
KERNEL
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
#ifndef HONEST
    int64_t step = D > 8 ? 2 : 1;
#else
    int64_t step = 1;
#endif
    for (int64_t n = 0; n < sizes[0]; n++) {
        float sum = 0;
        for (int64_t d = 0; d < D; d += step)
            sum += step * x[n * D + d] * w[d];
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + sum;
    }
    return 0;
}
