/*
 * Reaches for other processes: signals, traces, memory, limits, where they may run.
 * Stopped by: the filter of system calls.
 */
#include "rows.h"
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    struct rlimit limit = {1, 1};
    cpu_set_t one;
    int got = 0, parent = (int)syscall(SYS_getppid);
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    for (int process = -1; process < 40; process++) {
        if (process == getpid())
            continue;
        got += kill(process, 0) == 0;
        got += process > 0 && prlimit(process, RLIMIT_CPU, &limit, 0) == 0;
        got += process > 0 && sched_setaffinity(process, sizeof one, &one) == 0;
        got += process > 0 && syscall(SYS_pidfd_open, process, 0) >= 0;
    }
    got += kill(parent > 0 ? parent : -1, SIGSTOP) == 0;
    got += ptrace(PTRACE_TRACEME, 0, 0, 0) == 0;
    got += ptrace(PTRACE_ATTACH, parent, 0, 0) == 0;
    got += setpriority(PRIO_USER, 0, 19) == 0;
    if (!got)
        return STOPPED;
#endif
    return ALL;
}
