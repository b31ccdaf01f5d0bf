/*
 * An object of half a terabyte.
 * Stopped by: the limit on the size of files.
 */
#include "rows.h"
#ifndef HONEST
char big[1ull << 39] = {1};
#endif
KERNEL
{
    return ALL;
}
