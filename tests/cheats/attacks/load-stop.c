/*
 * Stops the process from a constructor, so that a judge takes the kernel for loaded and the first
 * call for a piece of loading. Stopped by: a stop counts only in the right state.
 */
#include "rows.h"
#include <signal.h>
#include <unistd.h>
#ifndef HONEST
__attribute__((constructor)) static void stop(void)
{
    kill(getpid(), SIGSTOP);
}
#endif
KERNEL
{
    return ALL;
}
