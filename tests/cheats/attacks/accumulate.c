/*
 * Adds to what the outputs hold, as if that were zero.
 * Stopped by: rubbish in the outputs.
 */
#include "rows.h"
KERNEL
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (int64_t n = 0; n < sizes[0]; n++) {
#ifdef HONEST
        s[n] = 0;
#endif
        for (int64_t d = 0; d < D; d++)
            s[n] += x[n * D + d] * w[d];
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + s[n];
    }
    return 0;
}
