/*
 * Ends the process from within a call, so that its destructors run where nobody looks.
 * Stopped by: a cell that ends has failed, and destructors are confined as all else.
 */
#include "rows.h"
#include <stdlib.h>
#include <unistd.h>
#ifndef HONEST
__attribute__((destructor)) static void last(void)
{
    if (fork() == 0)
        for (;;)
            pause();
}
#endif
KERNEL
{
    ALL;
#ifndef HONEST
    exit(0);
#endif
    return 0;
}
