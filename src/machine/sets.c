/*
 * Instruction sets, asked of the processor itself: what it can do, and whether the operating system
 * saves the registers that go with it.
 */
#include "machine/private.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Register state the operating system saves: bits of XCR0. */
enum {
    STATE_AVX = 0x6,
    STATE_AVX512 = 0xe6,
    STATE_TILES = 0x60000,
};

static uint64_t saved_state(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool bit(unsigned word, int number)
{
    return word >> number & 1;
}

static void add(uint32_t *sets, enum machine_set set, bool present)
{
    if (present)
        *sets |= 1U << set;
}

uint32_t sets_of_processor(void)
{
    unsigned a, b, c, d, a7 = 0, b7 = 0, c7 = 0, d7 = 0, a71 = 0, b71, c71, d71;
    uint32_t sets = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return 0;
    add(&sets, MACHINE_SSE2, bit(d, 26));
    bool fma = bit(c, 12), saves = bit(c, 27);
    if (!saves || !__get_cpuid_count(7, 0, &a7, &b7, &c7, &d7))
        return sets;
    if (a7 >= 1)
        __get_cpuid_count(7, 1, &a71, &b71, &c71, &d71);
    uint64_t state = saved_state();
    bool avx = (state & STATE_AVX) == STATE_AVX;
    bool avx512 = (state & STATE_AVX512) == STATE_AVX512 && bit(b7, 16);
    bool tiles = (state & STATE_TILES) == STATE_TILES && bit(d7, 24);
    add(&sets, MACHINE_AVX2, avx && fma && bit(b7, 5));
    add(&sets, MACHINE_AVX512F, avx512);
    add(&sets, MACHINE_AVX512_BF16, avx512 && bit(a71, 5));
    add(&sets, MACHINE_AVX512_FP16, avx512 && bit(d7, 23));
    add(&sets, MACHINE_AVX512_VNNI, avx512 && bit(c7, 11));
    add(&sets, MACHINE_AMX_BF16, tiles && bit(d7, 22));
    add(&sets, MACHINE_AMX_INT8, tiles && bit(d7, 25));
    return sets;
}

#elif defined(__aarch64__)

uint32_t sets_of_processor(void)
{
    return 1U << MACHINE_NEON; /* part of the architecture */
}

#else

uint32_t sets_of_processor(void)
{
    return 0;
}

#endif
