/*
 * Leaves a process behind that lives on when the cell is gone.
 * Stopped by: the filter of system calls: threads only.
 */
#include "rows.h"
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    long child = syscall(SYS_clone, CLONE_PARENT | 17, 0, 0, 0, 0);
    if (child < 0)
        child = fork();
    if (child == 0) {
        setsid();
        for (;;)
            pause();
    }
    if (child < 0)
        return STOPPED;
#endif
    return ALL;
}
