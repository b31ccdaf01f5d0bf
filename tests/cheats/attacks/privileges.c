/*
 * Asks for rights: other users, namespaces, mounts, devices of the kernel.
 * Stopped by: the filter of system calls; all capabilities are gone too.
 */
#include "rows.h"
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    int got = 0;
    got += setuid(0) == 0;
    got += unshare(CLONE_NEWUSER) == 0;
    got += unshare(CLONE_NEWNS) == 0;
    got += mount("none", "/tmp", "tmpfs", 0, 0) == 0;
    got += chroot("/") == 0;
    got += syscall(SYS_bpf, 0, 0, 0) >= 0;
    got += syscall(SYS_userfaultfd, 0) >= 0;
    got += syscall(SYS_perf_event_open, 0, 0, -1, -1, 0) >= 0;
    got += syscall(SYS_io_uring_setup, 8, 0) >= 0;
    got += syscall(SYS_personality, 0x0040000) >= 0;
    got += syscall(SYS_seccomp, 1, 0, 0) == 0;
    got += syscall(SYS_landlock_create_ruleset, 0, 0, 1) >= 0;
    if (!got)
        return STOPPED;
#endif
    return ALL;
}
