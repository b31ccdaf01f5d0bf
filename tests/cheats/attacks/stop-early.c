/*
 * Stops in the middle of a call.
 * Stopped by: a stop counts only in the right state.
 */
#include "rows.h"
#include <signal.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    kill(getpid(), SIGSTOP);
#endif
    return ALL;
}
