/*
 * Starts threads without end.
 * Stopped by: the judge counts them while it waits.
 */
#include "rows.h"
#include <pthread.h>
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
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    for (;;)
        if (pthread_create(&thread, &small, stay, 0) != 0)
            usleep(1000);
#endif
    return ALL;
}
