/*
 * Shares memory with others, to keep results from one process to the next.
 * Stopped by: the filter of system calls, and an ipc namespace of its own.
 */
#include "rows.h"
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    int got = 0;
    got += shmget(4711, 4096, IPC_CREAT | 0600) >= 0;
    got += semget(4711, 1, IPC_CREAT | 0600) >= 0;
    got += msgget(4711, IPC_CREAT | 0600) >= 0;
    got += memfd_create("smelt-cheat", 0) >= 0;
    got += syscall(SYS_mq_open, "smelt-cheat", 0100 | 2, 0600, 0) >= 0;
    got += syscall(SYS_add_key, "user", "smelt-cheat", "x", 1, -3) >= 0;
    if (!got)
        return STOPPED;
#endif
    return ALL;
}
