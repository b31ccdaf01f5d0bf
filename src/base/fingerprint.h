/*
 * A set that remembers its members by 64-bit fingerprints alone: for things that are stored
 * elsewhere and only have to be known again. A member takes 8 bytes, three times that at most with
 * the room there is for others; tables that became too small stay in the arena, which adds as much
 * again.
 *
 * Two different things may have one fingerprint: among n members a stranger is taken for one of
 * them once in 2^64 / n, that is in 10^14 questions when there are 100,000.
 */
#ifndef SMELT_BASE_FINGERPRINT_H
#define SMELT_BASE_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct fingerprints {
    struct arena *arena;
    uint64_t *slots; /* 0: free */
    size_t count, slot_count;
};

struct fingerprints fingerprints_new(struct arena *arena);
/* False: it surely is no member. */
bool fingerprints_have(const struct fingerprints *set, const char *member);
/* False: it was one already. */
bool fingerprints_add(struct fingerprints *set, const char *member);

#endif
