/*
 * Keeps results by the addresses of the tensors.
 * Stopped by: new values at addresses seen before, and rubbish in the outputs.
 */
#include "rows.h"
KERNEL
{
#ifndef HONEST
    static const void *seen[64];
    static int count;
    for (int i = 0; i < count; i++)
        if (seen[i] == tensors[0])
            return 0;
    if (count < 64)
        seen[count++] = tensors[0];
#endif
    return ALL;
}
