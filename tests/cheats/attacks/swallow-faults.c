/*
 * Handles its own faults and goes on as if nothing had happened.
 * Stopped by: what it then leaves out is missing in the outputs.
 */
#include "rows.h"
#include <setjmp.h>
#include <signal.h>
#ifndef HONEST
static sigjmp_buf back;
static void again(int signal)
{
    siglongjmp(back, signal);
}
#endif
KERNEL
{
#ifndef HONEST
    signal(SIGSEGV, again);
    if (sigsetjmp(back, 1) == 0)
        rows(tensors, sizes, -3000000, sizes[0]);
    return 0;
#else
    return ALL;
#endif
}
