/*
 * A hash map from byte strings to pointers, in an arena, remembering the order of insertion.
 * Keys are copied. Also the home of interning, which makes equal names equal pointers.
 */
#ifndef SMELT_BASE_MAP_H
#define SMELT_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct map_entry {
    const char *key; /* NUL-terminated copy */
    size_t length;
    uint64_t hash;
    void *value;
};

struct map {
    struct arena *arena;
    struct map_entry *entries; /* in order of insertion: iterate over these */
    size_t count, capacity;
    uint32_t *slots; /* entry number + 1, or 0 */
    size_t slot_count;
};

struct map map_new(struct arena *arena);
/* NULL when absent. */
void *map_get(const struct map *map, const char *key);
void *map_get_bytes(const struct map *map, const void *key, size_t length);
/* Sets, replacing; the old value or NULL is returned. */
void *map_set(struct map *map, const char *key, void *value);
void *map_set_bytes(struct map *map, const void *key, size_t length, void *value);
bool map_has(const struct map *map, const char *key);
/* The one copy of this string held by the map. */
const char *map_intern(struct map *map, const char *text, size_t length);

/* The candidate nearest to `name` in spelling, or NULL when none is near enough to suggest. */
const char *spelling_nearest(const char *name, const char *const *candidates, size_t count);

#endif
