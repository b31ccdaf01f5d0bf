/*
 * Reads the element before the first.
 * Stopped by: a page that cannot be touched lies right before, or rubbish does.
 */
#include "rows.h"
KERNEL
{
    ALL;
#ifndef HONEST
    float *s = tensors[3];
    const float *x = tensors[0];
    s[0] += x[-1];
#endif
    return 0;
}
