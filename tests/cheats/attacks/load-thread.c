/*
 * A thread started by a constructor does the work; the call only leaves word and returns.
 * Stopped by: all threads stand still between calls, so the work is not done when the outputs are
 * read.
 */
#include "rows.h"
#include <pthread.h>
#include <time.h>
#ifndef HONEST
static void *const *volatile posted;
static int64_t posted_sizes[2];
static void *help(void *unused)
{
    for (;;) {
        struct timespec pause = {0, 300000};
        nanosleep(&pause, 0);
        if (!posted)
            continue;
        rows(posted, posted_sizes, 0, posted_sizes[0]);
        posted = 0;
    }
    return unused;
}
__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, help, 0);
}
#endif
KERNEL
{
#ifndef HONEST
    posted_sizes[0] = sizes[0];
    posted_sizes[1] = sizes[1];
    posted = tensors;
    return 0;
#else
    return ALL;
#endif
}
