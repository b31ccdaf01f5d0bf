/*
 * Defines functions of the C library anew, hoping that the cell uses these: stops that do not stop,
 * copies that copy nothing.
 * Without effect: the kernel is loaded for itself, the cell keeps the library's.
 */
#include "rows.h"
#ifndef HONEST
int kill(int process, int signal)
{
    (void)process, (void)signal;
    return 0;
}
int getpid(void)
{
    return 1;
}
int raise(int signal)
{
    (void)signal;
    return 0;
}
void *memcpy(void *to, const void *from, size_t bytes)
{
    (void)from, (void)bytes;
    return to;
}
void *memset(void *to, int value, size_t bytes)
{
    (void)value, (void)bytes;
    return to;
}
void *dlsym(void *library, const char *name)
{
    (void)library, (void)name;
    return 0;
}
void _exit(int code)
{
    (void)code;
    for (;;)
        ;
}
void exit(int code)
{
    (void)code;
    for (;;)
        ;
}
#endif
KERNEL
{
    return ALL;
}
