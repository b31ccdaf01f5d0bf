/*
 * Two hashes: a fast one for tables, and SHA-256 for names of stored things.
 */
#ifndef SMELT_BASE_HASH_H
#define SMELT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t length, uint64_t seed);
uint64_t hash_mix(uint64_t a, uint64_t b); /* combines two hashes, order matters */

struct sha256 {
    uint32_t state[8];
    uint64_t length;
    unsigned char block[64];
    size_t filled;
};

void sha256_start(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t length);
void sha256_finish(struct sha256 *sha, unsigned char digest[32]);
/* The digest as 64 lower-case hexadecimal characters and a NUL. */
void sha256_hex(const void *bytes, size_t length, char hex[65]);

#endif
