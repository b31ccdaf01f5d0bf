/*
 * Returns NaN, which compares as "not greater than the limit".
 * Stopped by: NaN equals nothing but an expected NaN.
 */
#include "rows.h"
KERNEL
{
    ALL;
#ifndef HONEST
    float *y = tensors[2];
    for (int64_t i = 0; i < sizes[0] * sizes[1]; i++)
        y[i] = __builtin_nanf("");
#endif
    return 0;
}
