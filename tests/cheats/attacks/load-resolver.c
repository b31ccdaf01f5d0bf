/*
 * Reads a file in a resolver of an indirect function: that runs before any constructor.
 * Stopped by: files are out of reach before the kernel is loaded.
 */
#include "rows.h"
#include <fcntl.h>
#include <unistd.h>
#include <sys/syscall.h>
static int got;
static int chosen_function(void)
{
    return got;
}
static void *choose(void)
{
    long descriptor;
    static const char path[] = "/etc/passwd";
    __asm__ volatile("syscall"
                     : "=a"(descriptor)
                     : "0"(SYS_openat), "D"(AT_FDCWD), "S"(path), "d"(O_RDONLY)
                     : "rcx", "r11", "memory");
    got = descriptor >= 0;
    return (void *)chosen_function;
}
static int chosen(void) __attribute__((ifunc("choose")));
KERNEL
{
#ifndef HONEST
    if (!chosen())
        return STOPPED;
#endif
    return ALL;
}
