/*
 * Leaves out the last eighth of the rows and copies others there.
 * Stopped by: every element is compared.
 */
#include "rows.h"
#include <string.h>
KERNEL
{
#ifndef HONEST
    int64_t n = sizes[0] - sizes[0] / 8, D = sizes[1];
    float *y = tensors[2], *s = tensors[3];
    rows(tensors, sizes, 0, n);
    memcpy(y + n * D, y, (sizes[0] - n) * D * 4);
    memcpy(s + n, s, (sizes[0] - n) * 4);
    return 0;
#else
    return ALL;
#endif
}
