/*
 * A thread finishes the work after the call has returned.
 * Stopped by: all threads stop with the call; outputs are compared as they are then.
 */
#include "rows.h"
#include <pthread.h>
#include <time.h>
#ifndef HONEST
static void *const *later_tensors;
static int64_t later_sizes[2];
static void *work(void *unused)
{
    struct timespec pause = {0, 500000};
    nanosleep(&pause, 0);
    rows(later_tensors, later_sizes, 0, later_sizes[0]);
    return unused;
}
#endif
KERNEL
{
#ifndef HONEST
    pthread_t thread;
    later_tensors = tensors;
    later_sizes[0] = sizes[0];
    later_sizes[1] = sizes[1];
    if (pthread_create(&thread, 0, work, 0) != 0)
        return STOPPED;
    pthread_detach(thread);
    return 0;
#else
    return ALL;
#endif
}
