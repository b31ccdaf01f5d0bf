/*
 * Memory traffic as fast as it goes: walks over a buffer that read, write or copy all of it.
 *
 * Which way is fastest differs from processor to processor and from level to level, often by half;
 * several are tried and the best counts. As in arithmetic.c the instructions are written out.
 * Buffers are aligned to 64 bytes, and their length is a multiple of TRAFFIC_UNIT.
 */
#include <string.h>

#include "machine/private.h"

#if defined(__x86_64__)

#define REGISTERS "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "memory"

/* One instruction for each of eight neighbouring vectors. LOAD and STORE: the order of operands. */
#define LOAD(move, r, at, base) move " " at "(%" base "), %%" r "\n\t"
#define STORE(move, r, at, base) move " %%" r ", " at "(%" base ")\n\t"
/* clang-format off */
#define EIGHT_16(DO, move, base) \
    DO(move, "xmm0", "0", base) DO(move, "xmm1", "16", base) \
    DO(move, "xmm2", "32", base) DO(move, "xmm3", "48", base) \
    DO(move, "xmm4", "64", base) DO(move, "xmm5", "80", base) \
    DO(move, "xmm6", "96", base) DO(move, "xmm7", "112", base)
#define EIGHT_32(DO, move, base) \
    DO(move, "ymm0", "0", base) DO(move, "ymm1", "32", base) \
    DO(move, "ymm2", "64", base) DO(move, "ymm3", "96", base) \
    DO(move, "ymm4", "128", base) DO(move, "ymm5", "160", base) \
    DO(move, "ymm6", "192", base) DO(move, "ymm7", "224", base)
#define EIGHT_64(DO, move, base) \
    DO(move, "zmm0", "0", base) DO(move, "zmm1", "64", base) \
    DO(move, "zmm2", "128", base) DO(move, "zmm3", "192", base) \
    DO(move, "zmm4", "256", base) DO(move, "zmm5", "320", base) \
    DO(move, "zmm6", "384", base) DO(move, "zmm7", "448", base)
/* clang-format on */

/* After wide registers the narrow ones are slow until told otherwise; after streaming, a fence. */
#define AFTER_16(fence) __asm__ volatile(fence ::: "memory")
#define AFTER_32(fence) __asm__ volatile("vzeroupper\n\t" fence ::: REGISTERS)
#define AFTER_64(fence) AFTER_32(fence)

#define WALK_READ(name, width, load)                                                      \
    static uint64_t name(char *to, const char *from, size_t bytes)                        \
    {                                                                                     \
        (void)to;                                                                         \
        for (size_t at = 0; at < bytes; at += 8 * width)                                  \
            __asm__ volatile(EIGHT_##width(LOAD, load, "0")::"r"(from + at) : REGISTERS); \
        AFTER_##width("");                                                                \
        return 0;                                                                         \
    }

/* Four places at once, a quarter apart: more requests on their way to memory. */
#define WALK_READ_APART(name, width, load)                                                 \
    static uint64_t name(char *to, const char *from, size_t bytes)                         \
    {                                                                                      \
        size_t quarter = bytes / 4;                                                        \
        (void)to;                                                                          \
        for (size_t at = 0; at < quarter; at += 8 * width)                                 \
            __asm__ volatile(EIGHT_##width(LOAD, load, "0") EIGHT_##width(LOAD, load, "1") \
                                 EIGHT_##width(LOAD, load, "2")                            \
                                     EIGHT_##width(LOAD, load, "3")::"r"(from + at),       \
                             "r"(from + at + quarter), "r"(from + at + 2 * quarter),       \
                             "r"(from + at + 3 * quarter)                                  \
                             : REGISTERS);                                                 \
        AFTER_##width("");                                                                 \
        return 0;                                                                          \
    }

#define WALK_WRITE(name, width, store, fence)                                             \
    static uint64_t name(char *to, const char *from, size_t bytes)                        \
    {                                                                                     \
        (void)from;                                                                       \
        for (size_t at = 0; at < bytes; at += 8 * width)                                  \
            __asm__ volatile(EIGHT_##width(STORE, store, "0")::"r"(to + at) : REGISTERS); \
        AFTER_##width(fence);                                                             \
        return 0;                                                                         \
    }

#define WALK_COPY(name, width, load, store, fence)                               \
    static uint64_t name(char *to, const char *from, size_t bytes)               \
    {                                                                            \
        for (size_t at = 0; at < bytes; at += 8 * width)                         \
            __asm__ volatile(EIGHT_##width(LOAD, load, "1")                      \
                                 EIGHT_##width(STORE, store, "0")::"r"(to + at), \
                             "r"(from + at)                                      \
                             : REGISTERS);                                       \
        AFTER_##width(fence);                                                    \
        return 0;                                                                \
    }

WALK_READ(read_16, 16, "movaps")
WALK_READ(read_32, 32, "vmovaps")
WALK_READ(read_64, 64, "vmovaps")
WALK_READ_APART(read_apart_16, 16, "movaps")
WALK_READ_APART(read_apart_32, 32, "vmovaps")
WALK_WRITE(write_16, 16, "movaps", "")
WALK_WRITE(write_32, 32, "vmovaps", "")
WALK_WRITE(write_64, 64, "vmovaps", "")
WALK_COPY(copy_16, 16, "movaps", "movaps", "")
WALK_COPY(copy_32, 32, "vmovaps", "vmovaps", "")
WALK_COPY(copy_64, 64, "vmovaps", "vmovaps", "")
WALK_WRITE(stream_write_16, 16, "movntps", "sfence")
WALK_WRITE(stream_write_32, 32, "vmovntps", "sfence")
WALK_WRITE(stream_write_64, 64, "vmovntps", "sfence")
WALK_COPY(stream_copy_16, 16, "movaps", "movntps", "sfence")
WALK_COPY(stream_copy_32, 32, "vmovaps", "vmovntps", "sfence")
WALK_COPY(stream_copy_64, 64, "vmovaps", "vmovntps", "sfence")

/* The string instructions know ways of their own, without reading what will be overwritten. */
static uint64_t write_string(char *to, const char *from, size_t bytes)
{
    (void)from;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0) : "memory");
    return 0;
}

static uint64_t copy_string(char *to, const char *from, size_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
    return 0;
}

const struct traffic traffic_variants[] = {
    {MACHINE_READ, MACHINE_SSE2, read_16},
    {MACHINE_READ, MACHINE_AVX2, read_32},
    {MACHINE_READ, MACHINE_AVX512F, read_64},
    {MACHINE_READ, MACHINE_SSE2, read_apart_16},
    {MACHINE_READ, MACHINE_AVX2, read_apart_32},
    {MACHINE_WRITE, MACHINE_SSE2, write_16},
    {MACHINE_WRITE, MACHINE_AVX2, write_32},
    {MACHINE_WRITE, MACHINE_AVX512F, write_64},
    {MACHINE_WRITE, -1, write_string},
    {MACHINE_COPY, MACHINE_SSE2, copy_16},
    {MACHINE_COPY, MACHINE_AVX2, copy_32},
    {MACHINE_COPY, MACHINE_AVX512F, copy_64},
    {MACHINE_COPY, -1, copy_string},
    {MACHINE_STREAM_WRITE, MACHINE_SSE2, stream_write_16},
    {MACHINE_STREAM_WRITE, MACHINE_AVX2, stream_write_32},
    {MACHINE_STREAM_WRITE, MACHINE_AVX512F, stream_write_64},
    {MACHINE_STREAM_COPY, MACHINE_SSE2, stream_copy_16},
    {MACHINE_STREAM_COPY, MACHINE_AVX2, stream_copy_32},
    {MACHINE_STREAM_COPY, MACHINE_AVX512F, stream_copy_64},
    {0},
};

#else

typedef uint64_t pair __attribute__((vector_size(16)));

static uint64_t read_plain(char *to, const char *from, size_t bytes)
{
    const pair *at = (const pair *)(const void *)from;
    pair a = {0}, b = {0}, c = {0}, d = {0};
    (void)to;
    for (size_t i = 0; i < bytes / sizeof *at; i += 4) {
        a ^= at[i];
        b ^= at[i + 1];
        c ^= at[i + 2];
        d ^= at[i + 3];
    }
    a ^= b ^ c ^ d;
    return a[0] ^ a[1];
}

static uint64_t write_plain(char *to, const char *from, size_t bytes)
{
    (void)from;
    memset(to, 0, bytes);
    return 0;
}

static uint64_t copy_plain(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return 0;
}

const struct traffic traffic_variants[] = {
    {MACHINE_READ, -1, read_plain},
    {MACHINE_WRITE, -1, write_plain},
    {MACHINE_COPY, -1, copy_plain},
    {0},
};

#endif
