/*
 * Reads files of the host.
 * Stopped by: landlock: no file is within reach but the kernel's own.
 */
#include "rows.h"
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    static const char *const paths[] = {"/etc/passwd",
                                        "/etc/hostname",
                                        "/proc/self/maps",
                                        "/proc/self/mem",
                                        "/proc/self/environ",
                                        "/proc/1/environ",
                                        "/proc/1/maps",
                                        "/proc/cpuinfo",
                                        "/sys/kernel/notes",
                                        "/usr/include/stdio.h",
                                        "/dev/zero",
                                        "/dev/tty",
                                        "/",
                                        "/tmp",
                                        "/root",
                                        "/usr/lib",
                                        "."};
    int got = 0;
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++)
        got += open(paths[i], O_RDONLY) >= 0;
    if (!got)
        return STOPPED;
#endif
    return ALL;
}
