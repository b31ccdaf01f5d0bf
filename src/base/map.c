/*
 * Open addressing with linear probing over entry numbers; the entries themselves lie in order of
 * insertion. Nothing is ever removed, so there are no tombstones.
 *
 * Growing happens before anything is changed: a map whose growth ran out of memory is as it was.
 */
#include "base/map.h"

#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/memory.h"

struct map map_new(struct arena *arena)
{
    return (struct map){.arena = arena};
}

static struct map_entry *map_find(const struct map *map, const void *key, size_t length,
                                  uint64_t hash)
{
    if (!map->slot_count)
        return NULL;
    size_t mask = map->slot_count - 1;
    for (size_t slot = hash & mask; map->slots[slot]; slot = (slot + 1) & mask) {
        struct map_entry *entry = &map->entries[map->slots[slot] - 1];
        if (entry->hash == hash && entry->length == length &&
            (length == 0 || memcmp(entry->key, key, length) == 0))
            return entry;
    }
    return NULL;
}

static void slot_fill(uint32_t *slots, size_t slot_count, uint64_t hash, uint32_t number)
{
    size_t mask = slot_count - 1;
    size_t slot = hash & mask;
    while (slots[slot])
        slot = (slot + 1) & mask;
    slots[slot] = number;
}

/* Keeps the slots at most half full: linear probing stays short. */
static void map_grow(struct map *map)
{
    if (map->count < map->capacity)
        return;
    if (map->capacity > UINT32_MAX / 4)
        memory_exhausted();
    size_t capacity = map->capacity ? map->capacity * 2 : 8;
    struct map_entry *entries = arena_array(map->arena, capacity, sizeof *entries);
    uint32_t *slots = arena_array(map->arena, capacity * 2, sizeof *slots);
    if (map->count)
        memcpy(entries, map->entries, map->count * sizeof *entries);
    for (size_t i = 0; i < map->count; i++)
        slot_fill(slots, capacity * 2, entries[i].hash, (uint32_t)(i + 1));
    map->entries = entries;
    map->capacity = capacity;
    map->slots = slots;
    map->slot_count = capacity * 2;
}

static struct map_entry *map_enter(struct map *map, const void *key, size_t length)
{
    uint64_t hash = hash_bytes(key, length, 0);
    struct map_entry *entry = map_find(map, key, length, hash);
    if (entry)
        return entry;
    map_grow(map);
    const char *copy = arena_copy(map->arena, key, length);
    entry = &map->entries[map->count++];
    *entry = (struct map_entry){.key = copy, .length = length, .hash = hash};
    slot_fill(map->slots, map->slot_count, hash, (uint32_t)map->count);
    return entry;
}

void *map_get_bytes(const struct map *map, const void *key, size_t length)
{
    struct map_entry *entry = map_find(map, key, length, hash_bytes(key, length, 0));
    return entry ? entry->value : NULL;
}

void *map_get(const struct map *map, const char *key)
{
    return map_get_bytes(map, key, strlen(key));
}

void *map_set_bytes(struct map *map, const void *key, size_t length, void *value)
{
    struct map_entry *entry = map_enter(map, key, length);
    void *old = entry->value;
    entry->value = value;
    return old;
}

void *map_set(struct map *map, const char *key, void *value)
{
    return map_set_bytes(map, key, strlen(key), value);
}

bool map_has(const struct map *map, const char *key)
{
    size_t length = strlen(key);
    return map_find(map, key, length, hash_bytes(key, length, 0)) != NULL;
}

const char *map_intern(struct map *map, const char *text, size_t length)
{
    return map_enter(map, text, length)->key;
}

enum { SPELLING_LONGEST = 64 }; /* longer names are not compared: nobody mistypes them by hand */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * Damerau-Levenshtein distance: letters added, dropped, replaced, and neighbours swapped. A row of
 * the table needs the two rows before it, so three rows take turns.
 */
static size_t spelling_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][SPELLING_LONGEST + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(row[j], least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *spelling_nearest(const char *name, const char *const *candidates, size_t count)
{
    size_t length = strlen(name);
    if (length == 0 || length > SPELLING_LONGEST)
        return NULL;
    size_t bound = length / 3 > 1 ? length / 3 : 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = candidates[i] ? strlen(candidates[i]) : 0;
        if (other == 0 || other > SPELLING_LONGEST)
            continue;
        size_t distance = spelling_distance(name, length, candidates[i], other);
        if (distance >= (length > other ? length : other)) /* nothing in common */
            distance = strcasecmp(name, candidates[i]) == 0 ? 0 : bound + 1;
        /* Among equals the first one listed stays. */
        if (distance < bound || (distance == bound && !nearest)) {
            bound = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}
