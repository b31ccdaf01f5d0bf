/*
 * Says that it cannot do the call, without a manifest that says so.
 * Stopped by: it counts as failure.
 */
#include "rows.h"
KERNEL
{
#ifndef HONEST
    return 1;
#else
    return ALL;
#endif
}
