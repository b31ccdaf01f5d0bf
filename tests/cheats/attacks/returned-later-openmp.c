/*
 * The same with OpenMP's own threads: one of them is kept busy with a region that never ends.
 * Stopped by: all threads stop with the call.
 */
#include "rows.h"
#include <pthread.h>
#include <time.h>
#ifndef HONEST
static void *const *volatile posted;
static int64_t posted_sizes[2];
static void *region(void *unused)
{
#pragma omp parallel num_threads(2)
    for (;;) {
        struct timespec pause = {0, 400000};
        nanosleep(&pause, 0);
#pragma omp critical
        if (posted) {
            rows(posted, posted_sizes, 0, posted_sizes[0]);
            posted = 0;
        }
    }
    return unused;
}
#endif
KERNEL
{
#ifndef HONEST
    static pthread_t thread;
    if (!thread && pthread_create(&thread, 0, region, 0) != 0)
        return STOPPED;
    posted_sizes[0] = sizes[0];
    posted_sizes[1] = sizes[1];
    posted = tensors;
    return 0;
#else
    return ALL;
#endif
}
