/*
 * Returns zeros, which are close to small results.
 * Stopped by: limits are relative to what the result is sensitive to.
 */
#include "rows.h"
#include <string.h>
KERNEL
{
#ifndef HONEST
    memset(tensors[2], 0, sizes[0] * sizes[1] * 4);
    memset(tensors[3], 0, sizes[0] * 4);
    return 0;
#else
    return ALL;
#endif
}
