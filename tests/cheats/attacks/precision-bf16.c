/*
 * Rounds inputs to bf16.
 * Stopped by: limits of the class, made from how much a unit of it matters.
 */
#include "rows.h"
#include <string.h>
static float lower(float value)
{
#ifndef HONEST
    uint32_t bits;
    memcpy(&bits, &value, 4);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
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
        float sum = 0;
        for (int64_t d = 0; d < D; d++)
            sum += lower(x[n * D + d]) * lower(w[d]);
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = lower(x[n * D + d]) * lower(w[d]) + sum;
    }
    return 0;
}
