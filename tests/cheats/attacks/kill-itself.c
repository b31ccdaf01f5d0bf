/*
 * Kills itself as the system would for want of memory, which is not the kernel's fault.
 * Stopped by: the filter of system calls.
 */
#include "rows.h"
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    kill(getpid(), SIGKILL);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGKILL);
    return STOPPED;
#else
    return ALL;
#endif
}
