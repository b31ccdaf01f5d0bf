/*
 * Arranges to be continued while it should stand still: by a timer that carries the signal, or by a
 * thread that sends it.
 * Stopped by: the filter of system calls.
 */
#include "rows.h"
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    struct itimerval soon = {.it_value = {0, 1000}};
    timer_t timer;
    int got = 0;
    got += syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) == 0;
    got += syscall(SYS_setitimer, ITIMER_REAL, &soon, 0) == 0;
    got += syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0) >= 0;
    got += syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGCONT) == 0;
    got += kill(getpid(), SIGCONT) == 0;
    if (!got)
        return STOPPED;
#endif
    return ALL;
}
