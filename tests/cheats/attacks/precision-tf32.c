/*
 * Rounds inputs to the 11 bits of TF32, in sums so long that rounding averages out.
 * Stopped by: limits of the class, and the draw with few non-zeros.
 */
#include "rows.h"
#include <string.h>
static float lower(float value)
{
#ifndef HONEST
    uint32_t bits;
    memcpy(&bits, &value, 4);
    bits = (bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000;
    memcpy(&value, &bits, 4);
#endif
    return value;
}
KERNEL
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (int64_t n = 0; n < sizes[0]; n++) {
        double sum = 0;
        for (int64_t d = 0; d < D; d++)
            sum += (double)lower(x[n * D + d]) * lower(w[d]);
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + sum;
    }
    return 0;
}
