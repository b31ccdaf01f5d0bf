/*
 * Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3) and the
 * draws made from it.
 *
 * "The same on any machine" holds for the normal draw too: its logarithm and sine are worked out
 * here from additions, products and quotients, whose results IEEE 754 fixes, rather than taken from
 * a libm that may round differently elsewhere.
 */
#include "base/random.h"

#include <math.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

__extension__ typedef unsigned __int128 wide;

struct random random_new(uint64_t seed, uint64_t stream)
{
    return (struct random){.seed = seed, .stream = stream};
}

void random_bits(uint64_t seed, uint64_t stream, uint64_t counter, uint32_t out[4])
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t x[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), (uint32_t)stream,
                     (uint32_t)(stream >> 32)};
    for (int round = 0; round < 10; round++) {
        uint64_t first = (uint64_t)x[0] * 0xd2511f53;
        uint64_t second = (uint64_t)x[2] * 0xcd9e8d57;
        uint32_t next[4] = {(uint32_t)(second >> 32) ^ x[1] ^ key[0], (uint32_t)second,
                            (uint32_t)(first >> 32) ^ x[3] ^ key[1], (uint32_t)first};
        for (int i = 0; i < 4; i++)
            x[i] = next[i];
        key[0] += 0x9e3779b9;
        key[1] += 0xbb67ae85;
    }
    for (int i = 0; i < 4; i++)
        out[i] = x[i];
}

static uint64_t join(const uint32_t words[2])
{
    return words[0] | (uint64_t)words[1] << 32;
}

uint64_t random_u64(struct random *random)
{
    uint32_t words[4];
    random_bits(random->seed, random->stream, random->counter++, words);
    return join(words);
}

double random_uniform(struct random *random)
{
    return (double)(random_u64(random) >> 11) * 0x1p-53;
}

/* log(x) for finite x > 0, by the series of atanh. */
static double plain_log(double x)
{
    int exponent;
    double mantissa = frexp(x, &exponent);
    if (mantissa < 0.70710678118654752) {
        mantissa *= 2;
        exponent--;
    }
    double s = (mantissa - 1) / (mantissa + 1);
    double square = s * s, sum = 0;
    for (int i = 25; i >= 1; i -= 2)
        sum = sum * square + 1.0 / i;
    return 2 * s * sum + exponent * 0.69314718055994531;
}

/* sin(quarters * pi / 2) for quarters in [-1, 1], by its Taylor series. */
static double plain_sine(double quarters)
{
    double angle = quarters * 1.5707963267948966;
    double square = angle * angle, sum = 1;
    for (int i = 22; i >= 2; i -= 2)
        sum = 1 - sum * square / (i * (i + 1));
    return angle * sum;
}

double random_normal(struct random *random)
{
    uint32_t words[4];
    random_bits(random->seed, random->stream, random->counter++, words);
    /* Box and Muller: a radius from (0, 1], so that its logarithm exists, and an angle. */
    double radius = (double)((join(words) >> 11) + 1) * 0x1p-53;
    double quarters = (double)(join(words + 2) >> 11) * 0x1p-51; /* [0, 4) */
    if (quarters > 1 && quarters < 3)
        quarters = 2 - quarters;
    else if (quarters >= 3)
        quarters -= 4;
    return sqrt(-2 * plain_log(radius)) * plain_sine(quarters);
}

uint64_t random_below(struct random *random, uint64_t bound)
{
    uint64_t counter = random->counter++;
    if (bound == 0)
        return 0;
    /*
     * The high half of a product with the bound is fair once the few low halves that come up once
     * too often are thrown away. A thrown-away draw is repeated under another key, not with the
     * next counter, so that every draw costs exactly one.
     */
    uint64_t unfair = -bound % bound;
    for (uint64_t key = random->seed;; key += UINT64_C(0x9e3779b97f4a7c15)) {
        uint32_t words[4];
        random_bits(key, random->stream, counter, words);
        for (int half = 0; half < 2; half++) {
            wide product = (wide)join(words + 2 * half) * bound;
            if ((uint64_t)product >= unfair)
                return (uint64_t)(product >> 64);
        }
    }
}
