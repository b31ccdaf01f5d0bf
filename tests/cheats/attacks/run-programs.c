/*
 * Becomes another program.
 * Stopped by: the filter of system calls.
 */
#include "rows.h"
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    char *const arguments[] = {"true", 0};
    execve("/bin/true", arguments, 0);
    syscall(SYS_execveat, -100, "/usr/bin/true", arguments, 0, 0);
    return system("true") == 0 ? ALL : STOPPED;
#else
    return ALL;
#endif
}
