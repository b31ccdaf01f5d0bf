/*
 * Takes memory until there is none.
 * Stopped by: the limit on the cell's memory.
 */
#include "rows.h"
#include <stdlib.h>
#include <string.h>
KERNEL
{
#ifndef HONEST
    for (;;) {
        volatile char *more = malloc(64 << 20);
        more[0] = 1; /* no look at the answer */
        more[32 << 20] = 1;
    }
#endif
    return ALL;
}
