/*
 * Writes one element before an output.
 * Stopped by: a page that cannot be touched, or what lies beside the outputs must be as it was.
 */
#include "rows.h"
KERNEL
{
#ifndef HONEST
    float *s = tensors[3];
    s[-1] = 1;
#endif
    return ALL;
}
