/*
 * Makes processes without end.
 * Stopped by: the filter of system calls: threads only.
 */
#include "rows.h"
#include <sys/syscall.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    if (fork() < 0 && syscall(SYS_clone, 17, 0, 0, 0, 0) < 0)
        return STOPPED;
    for (;;)
        fork();
#endif
    return ALL;
}
