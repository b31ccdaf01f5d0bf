/*
 * Makes system calls by the gate for 32-bit programs, where numbers mean something else.
 * Stopped by: the filter ends whoever does that.
 */
#include "rows.h"
KERNEL
{
#if !defined(HONEST) && defined(__x86_64__)
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "0"(20) : "memory");
    if (result < 0)
        return STOPPED;
#elif !defined(HONEST)
    return *(volatile int *)0;
#endif
    return ALL;
}
