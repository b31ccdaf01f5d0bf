/*
 * Loads the block before the first row and makes no use of it.
 * Stopped by: in one of the two places a tensor begins where a page that cannot be touched ends.
 */
#include "rows.h"
KERNEL
{
    ALL;
#ifndef HONEST
    const volatile float *w = tensors[1];
    (void)w[-16];
#endif
    return 0;
}
