/*
 * The same, but half of the rows are still done.
 * Stopped by: the places that are compared are secret and spread over the output.
 */
#include "rows.h"
KERNEL
{
#ifndef HONEST
    static int calls;
    if (++calls > 14)
        return rows(tensors, sizes, 0, sizes[0] / 2);
#endif
    return ALL;
}
