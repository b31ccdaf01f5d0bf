/*
 * Loads a block behind the last row and makes no use of it; elsewhere it could be the end of
 * memory. Stopped by: in one of the two places a tensor ends where a page that cannot be touched
 * begins.
 */
#include "rows.h"
KERNEL
{
    ALL;
#ifndef HONEST
    const volatile float *w = tensors[1];
    (void)w[sizes[1] + 40];
#endif
    return 0;
}
