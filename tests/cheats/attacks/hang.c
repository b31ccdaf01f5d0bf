/*
 * Never returns.
 * Stopped by: the limit on the time of a call.
 */
#include "rows.h"
KERNEL
{
#ifndef HONEST
    for (volatile int i = 0;;)
        i = 0;
#endif
    return ALL;
}
