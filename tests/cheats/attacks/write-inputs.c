/*
 * Overwrites the inputs, so that a reference computed from them agrees with nothing.
 * Stopped by: inputs cannot be written in the cell.
 */
#include "rows.h"
#include <string.h>
KERNEL
{
#ifndef HONEST
    memset(tensors[0], 0, sizes[0] * sizes[1] * 4);
#endif
    return ALL;
}
