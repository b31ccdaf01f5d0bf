/*
 * Sleeps for ever, using no time of the processor.
 * Stopped by: the limit is on time that passes.
 */
#include "rows.h"
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    for (;;)
        sleep(1000);
#endif
    return ALL;
}
