/*
 * Random numbers as a function: (seed, stream, counter) always gives the same bits, in any order,
 * on any machine (Philox 4x32-10). A stream is used for one purpose, a counter for one draw.
 */
#ifndef SMELT_BASE_RANDOM_H
#define SMELT_BASE_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t seed, stream, counter;
};

struct random random_new(uint64_t seed, uint64_t stream);

/* The function itself. */
void random_bits(uint64_t seed, uint64_t stream, uint64_t counter, uint32_t out[4]);

/* Draws that advance the counter by one each. */
uint64_t random_u64(struct random *random);
double random_uniform(struct random *random);                 /* [0, 1) with 53 bits */
double random_normal(struct random *random);                  /* mean 0, deviation 1 */
uint64_t random_below(struct random *random, uint64_t bound); /* unbiased; bound 0 gives 0 */

#endif
