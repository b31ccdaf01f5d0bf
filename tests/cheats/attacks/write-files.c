/*
 * Writes, makes and removes files.
 * Stopped by: landlock and the filter of system calls.
 */
#include "rows.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    int got = 0;
    got += open("/tmp/smelt-cheat", O_WRONLY | O_CREAT, 0600) >= 0;
    got += open("smelt-cheat", O_RDWR | O_CREAT, 0600) >= 0;
    got += open("/tmp", O_RDWR | O_TMPFILE, 0600) >= 0;
    got += open("/dev/shm/smelt-cheat", O_RDWR | O_CREAT, 0600) >= 0;
    got += mkdir("/tmp/smelt-cheat-folder", 0700) == 0;
    got += symlink("/etc/passwd", "/tmp/smelt-cheat-link") == 0;
    got += unlink("/tmp/smelt-timing.lock") == 0;
    got += rename("/tmp/smelt-timing.lock", "/tmp/smelt-cheat") == 0;
    got += chmod("/tmp", 0777) == 0;
    got += truncate("/tmp/smelt-timing.lock", 0) == 0;
    got += syscall(SYS_mknod, "/tmp/smelt-cheat-pipe", S_IFIFO | 0600, 0) == 0;
    if (!got)
        return STOPPED;
#endif
    return ALL;
}
