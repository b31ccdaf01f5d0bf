/*
 * Never finishes being loaded.
 * Stopped by: the limit on the time for loading.
 */
#include "rows.h"
#ifndef HONEST
__attribute__((constructor)) static void spin(void)
{
    for (volatile int i = 0;;)
        i = 0;
}
#endif
KERNEL
{
    return ALL;
}
