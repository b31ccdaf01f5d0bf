/*
 * A thread that stays looks for the answers in memory while they are compared.
 * Stopped by: it stands still, and they are in another process that cannot be looked into.
 */
#include "rows.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#ifndef HONEST
static volatile int got;
static void *spy(void *unused)
{
    char path[64], buffer[64];
    for (int process = 1; process < 64; process++) {
        snprintf(path, sizeof path, "/proc/%d/mem", process);
        got += open(path, O_RDONLY) >= 0;
        struct iovec own = {buffer, 64}, other = {(void *)0x400000, 64};
        got += syscall(SYS_process_vm_readv, process, &own, 1, &other, 1, 0) > 0;
    }
    snprintf(path, sizeof path, "/proc/%d/maps", (int)syscall(SYS_getppid));
    got += open(path, O_RDONLY) >= 0;
    return unused;
}
#endif
KERNEL
{
#ifndef HONEST
    pthread_t thread;
    if (pthread_create(&thread, 0, spy, 0) == 0)
        pthread_join(thread, 0);
    if (!got)
        return STOPPED;
#endif
    return ALL;
}
