/*
 * Writes nothing at all, hoping for outputs that still hold an answer.
 * Stopped by: outputs are filled with rubbish before each call.
 */
#include "rows.h"
KERNEL
{
#ifndef HONEST
    return 0;
#else
    return ALL;
#endif
}
