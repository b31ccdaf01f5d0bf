/*
 * Rows of a page each, normalised: their sum, the sum of squares of what is left, then all of it
 * written past the caches. Between rows a processor waits for sums and asks memory for nothing,
 * unless it is told what comes: whether that helps differs from one to the next, and no manual
 * says. Two loops that differ in nothing else are compared, so the compiler may write them, unlike
 * those of traffic.c. Memory is in small pages, as kernels have it, and holds ones.
 */
#include <sys/mman.h>

#include "machine/private.h"
#include "os/clock.h"

enum { ROW_FLOATS = 1024, ROWS_AHEAD = 3, SAMPLE_ROWS = 1024, SAMPLES_LEAST = 6 };

typedef void rows_walk(float *to, const float *from, int64_t rows);

#if defined(__x86_64__)

/* A function by itself, whatever the flags are. */
#define APART(set) \
    __attribute__((noinline, target(set), no_sanitize("address"), no_sanitize("undefined")))

/* All lanes of a sum in each of them. */
#define FOLD_8(v)                                               \
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3); \
    v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5); \
    v += __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6)
#define FOLD_16(v)                                                                            \
    v += __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7); \
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11); \
    v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13); \
    v += __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)

/* Of four vectors a pass goes over, so many sixteenths of the row to come. */
#define FETCH(told, parts)                                    \
    for (int part = 0; (told) && part < (parts); part += 4) { \
        __builtin_prefetch(ahead);                            \
        ahead += 16;                                          \
    }

#define WALK(name, set, lanes, told)                                                           \
    APART(set) static void name(float *to, const float *from, int64_t rows)                    \
    {                                                                                          \
        typedef float wide __attribute__((vector_size(4 * lanes)));                            \
        for (; rows > 0; rows--, from += ROW_FLOATS, to += ROW_FLOATS) {                       \
            const wide *x = (const wide *)(const void *)from;                                  \
            const float *ahead = from + (int64_t)ROWS_AHEAD * ROW_FLOATS;                      \
            wide *y = (wide *)(void *)to, a = {0}, b = {0}, c = {0}, d = {0};                  \
            for (int i = 0; i < ROW_FLOATS / lanes; i += 4) {                                  \
                FETCH(told, lanes / 4)                                                         \
                a += x[i], b += x[i + 1], c += x[i + 2], d += x[i + 3];                        \
            }                                                                                  \
            wide mean = a + b + (c + d);                                                       \
            FOLD_##lanes(mean);                                                                \
            mean /= ROW_FLOATS;                                                                \
            a = b = c = d = (wide){0};                                                         \
            for (int i = 0; i < ROW_FLOATS / lanes; i += 4) {                                  \
                FETCH(told, lanes / 4)                                                         \
                const wide e = x[i] - mean, f = x[i + 1] - mean;                               \
                const wide g = x[i + 2] - mean, h = x[i + 3] - mean;                           \
                a += e * e, b += f * f, c += g * g, d += h * h;                                \
            }                                                                                  \
            wide scale = a + b + (c + d) + 1;                                                  \
            FOLD_##lanes(scale);                                                               \
            scale = 1 / scale;                                                                 \
            for (int i = 0; i < ROW_FLOATS / lanes; i++) {                                     \
                if (i % 4 == 0)                                                                \
                    FETCH(told, lanes / 2)                                                     \
                __asm__ volatile("vmovntps %1, %0" : "=m"(y[i]) : "v"((x[i] - mean) * scale)); \
            }                                                                                  \
        }                                                                                      \
        __asm__ volatile("sfence" ::: "memory");                                               \
    }

WALK(rows_8, "avx2,fma", 8, false)
WALK(rows_ahead_8, "avx2,fma", 8, true)
WALK(rows_16, "avx512f", 16, false)
WALK(rows_ahead_16, "avx512f", 16, true)

static rows_walk *walk_of(const struct machine *machine, bool told)
{
    if (machine_has(machine, MACHINE_AVX512F))
        return told ? rows_ahead_16 : rows_16;
    if (machine_has(machine, MACHINE_AVX2))
        return told ? rows_ahead_8 : rows_8;
    return NULL;
}

#else

static rows_walk *walk_of(const struct machine *machine, bool told)
{
    (void)machine, (void)told;
    return NULL;
}

#endif

/* Rates are the best of many samples, one of each in turn. One thread shows best whether it waits:
 * two may already have all that memory gives. */
bool probe_rows(const struct machine *machine, const struct probe_budget *budget,
                struct rates *rates)
{
    const int64_t row_bytes = ROW_FLOATS * sizeof(float);
    size_t bytes = probe_memory_bytes(machine, 1);
    int64_t half = (int64_t)bytes / row_bytes / 2, samples = half / SAMPLE_ROWS;
    if (!walk_of(machine, false) || samples < 2)
        return true;
    float *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    madvise(at, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes / sizeof *at; i++)
        at[i] = 1;
    double end = clock_seconds() + budget->memory;
    int64_t least = samples + SAMPLES_LEAST; /* a first round is not counted */
    for (int64_t sample = 0; sample < least || clock_seconds() < end; sample++) {
        bool told = sample % 2 != 0;
        float *from = at + sample % samples * SAMPLE_ROWS * ROW_FLOATS;
        double start = clock_seconds();
        walk_of(machine, told)(from + half * ROW_FLOATS, from, SAMPLE_ROWS);
        double seconds = clock_seconds() - start;
        double rate = 2.0 * (double)(SAMPLE_ROWS * row_bytes) / seconds;
        double *best =
            &rates
                 ->bandwidth[MACHINE_ONE][MACHINE_MEMORY][told ? MACHINE_ROWS_AHEAD : MACHINE_ROWS];
        if (seconds > 0 && sample >= samples && rate > *best)
            *best = rate;
    }
    munmap(at, bytes);
    return true;
}
