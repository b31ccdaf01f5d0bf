/*
 * Ends the main thread alone: the process neither returns, nor stops, nor ends.
 * Stopped by: the limit on the time of a call.
 */
#include "rows.h"
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifndef HONEST
static void *stay(void *unused)
{
    for (;;)
        sleep(1000);
    return unused;
}
#endif
KERNEL
{
#ifndef HONEST
    pthread_t thread;
    pthread_create(&thread, 0, stay, 0);
    syscall(SYS_exit, 0);
#endif
    return ALL;
}
