/*
 * Lifts its own limits, or moves to processors it was not given.
 * Stopped by: the filter of system calls.
 */
#include "rows.h"
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY}, half = {1 << 20, 1 << 20};
    cpu_set_t every;
    int got = 0;
    __builtin_memset(&every, 0xff, sizeof every);
    got += setrlimit(RLIMIT_AS, &all) == 0;
    got += setrlimit(RLIMIT_STACK, &half) == 0;
    got += sched_setaffinity(0, sizeof every, &every) == 0;
    got += prctl(PR_SET_DUMPABLE, 1) == 0;
    got += nice(-5) != -1;
    got += syscall(SYS_sched_setscheduler, 0, SCHED_BATCH, &(struct sched_param){0}) == 0;
    if (!got)
        return STOPPED;
#endif
    return ALL;
}
