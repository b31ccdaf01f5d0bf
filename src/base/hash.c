/*
 * The table hash takes eight bytes at a time through a multiply-and-fold, whose two halves mix
 * every input bit into every output bit. It is the same on all machines but promises nothing
 * against an adversary; names of stored things use SHA-256 (FIPS 180-4).
 */
#include "base/hash.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide;

#define HASH_ODD_1 UINT64_C(0x9e3779b97f4a7c15) /* the golden ratio */
#define HASH_ODD_2 UINT64_C(0xbb67ae8584caa73b) /* the square root of 3 */

static uint64_t fold(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_mix(uint64_t a, uint64_t b)
{
    /* The final fold spreads what a multiplication by a small number would leave bunched. */
    return fold(fold(a ^ HASH_ODD_1, HASH_ODD_2) + b, HASH_ODD_1);
}

static uint64_t load_little(const unsigned char *bytes, size_t length)
{
    uint64_t value = 0;
    if (length == 8) {
        memcpy(&value, bytes, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        value = __builtin_bswap64(value);
#endif
        return value;
    }
    for (size_t i = 0; i < length; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

uint64_t hash_bytes(const void *bytes, size_t length, uint64_t seed)
{
    const unsigned char *at = bytes;
    uint64_t state = hash_mix(seed, length);
    size_t left = length;
    for (; left >= 8; at += 8, left -= 8)
        state = fold(state ^ load_little(at, 8), HASH_ODD_1) + HASH_ODD_2;
    if (left)
        state = fold(state ^ load_little(at, left), HASH_ODD_1) + HASH_ODD_2;
    return fold(state ^ (state >> 32), HASH_ODD_1);
}

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int bits)
{
    return x >> bits | x << (32 - bits);
}

static void sha256_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    /* The letters are those of the standard. */
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        uint32_t choice = (e & f) ^ (~e & g);
        uint32_t t1 = h + s1 + choice + round_constants[i] + w[i];
        uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + s0 + majority;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void sha256_start(struct sha256 *sha)
{
    /* The first 32 bits of the fractional parts of the square roots of the first 8 primes. */
    *sha = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                     0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    sha->length += length;
    while (length) {
        if (sha->filled == 0 && length >= sizeof sha->block) {
            sha256_block(sha->state, at);
            at += sizeof sha->block, length -= sizeof sha->block;
            continue;
        }
        size_t room = sizeof sha->block - sha->filled;
        size_t taken = length < room ? length : room;
        memcpy(sha->block + sha->filled, at, taken);
        sha->filled += taken, at += taken, length -= taken;
        if (sha->filled == sizeof sha->block) {
            sha256_block(sha->state, sha->block);
            sha->filled = 0;
        }
    }
}

void sha256_finish(struct sha256 *sha, unsigned char digest[32])
{
    /* One bit, zeros up to eight bytes before the end of a block, then the length in bits. */
    static const unsigned char padding[64] = {0x80};
    unsigned char bits[8];
    for (int i = 0; i < 8; i++)
        bits[i] = (unsigned char)(sha->length * 8 >> (56 - 8 * i));
    sha256_add(sha, padding, sha->filled < 56 ? 56 - sha->filled : 120 - sha->filled);
    sha256_add(sha, bits, sizeof bits);
    for (int i = 0; i < 32; i++)
        digest[i] = (unsigned char)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hex(const void *bytes, size_t length, char hex[65])
{
    struct sha256 sha;
    unsigned char digest[32];
    sha256_start(&sha);
    sha256_add(&sha, bytes, length);
    sha256_finish(&sha, digest);
    for (int i = 0; i < 32; i++) {
        hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    hex[64] = '\0';
}
