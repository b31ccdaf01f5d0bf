/*
 * Open addressing over a power of two of slots, at most two thirds of them in use: a fingerprint is
 * in the first free slot from where its low bits point. Nothing is ever removed.
 */
#include "base/fingerprint.h"

#include <string.h>

#include "base/hash.h"

enum { FIRST_SLOTS = 64 };

/* 0 stands for a free slot. */
static uint64_t print_of(const char *member)
{
    uint64_t print = hash_bytes(member, strlen(member), 0x5eed);
    return print ? print : 1;
}

/* Where it is, or would be. */
static uint64_t *slot_of(const struct fingerprints *set, uint64_t print)
{
    size_t at = (size_t)print & (set->slot_count - 1);
    while (set->slots[at] && set->slots[at] != print)
        at = (at + 1) & (set->slot_count - 1);
    return &set->slots[at];
}

static void grow(struct fingerprints *set)
{
    struct fingerprints larger = *set;
    larger.slot_count = set->slot_count ? 2 * set->slot_count : FIRST_SLOTS;
    larger.slots = arena_array(set->arena, larger.slot_count, sizeof *larger.slots);
    for (size_t i = 0; i < set->slot_count; i++)
        if (set->slots[i])
            *slot_of(&larger, set->slots[i]) = set->slots[i];
    *set = larger;
}

struct fingerprints fingerprints_new(struct arena *arena)
{
    return (struct fingerprints){.arena = arena};
}

bool fingerprints_have(const struct fingerprints *set, const char *member)
{
    return set->count > 0 && *slot_of(set, print_of(member)) != 0;
}

bool fingerprints_add(struct fingerprints *set, const char *member)
{
    uint64_t print = print_of(member);
    if (3 * (set->count + 1) > 2 * set->slot_count)
        grow(set);
    uint64_t *slot = slot_of(set, print);
    bool added = *slot == 0;
    *slot = print;
    set->count += added;
    return added;
}
