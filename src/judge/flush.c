/*
 * Emptying the caches of some memory. Where the processor can do so line by line, it does, for all
 * cores and whoever else has the memory mapped; elsewhere something larger than the last cache is
 * read, which drives everything else out.
 */
#include <stdlib.h>
#include <unistd.h>

#include "judge/seat.h"

enum { LINE = 64 };

#if defined(__x86_64__)

/* Every 64-bit x86 processor has it. */
void flush_memory(const void *memory, size_t bytes)
{
    const char *at = memory;
    for (size_t i = 0; i < bytes; i += LINE)
        __builtin_ia32_clflush(at + i);
    __builtin_ia32_mfence();
}

#elif defined(__aarch64__)

void flush_memory(const void *memory, size_t bytes)
{
    const char *at = memory;
    for (size_t i = 0; i < bytes; i += LINE)
        __asm__ volatile("dc civac, %0" : : "r"(at + i) : "memory");
    __asm__ volatile("dsb sy" : : : "memory");
}

#else

void flush_memory(const void *memory, size_t bytes)
{
    enum { LEAST = 64 << 20 };
    static volatile char *large;
    static size_t length;
    if (bytes == 0 || !memory)
        return;
    if (!large) {
        long last = sysconf(_SC_LEVEL3_CACHE_SIZE);
        length = last > LEAST / 4 ? 4 * (size_t)last : LEAST;
        large = calloc(length, 1);
    }
    for (size_t i = 0; large && i < length; i += LINE)
        large[i]++;
}

#endif
