/*
 * Writes one element behind an output.
 * Stopped by: what lies beside the outputs must be as it was.
 */
#include "rows.h"
KERNEL
{
#ifndef HONEST
    float *s = tensors[3];
    s[sizes[0]] = 1;
#endif
    return ALL;
}
