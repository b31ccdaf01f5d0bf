/*
 * The one function behind the vector macros.
 */
#include "base/vector.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"

void *vector_reserve(struct arena *arena, void *at, size_t count, size_t *capacity, size_t size)
{
    if (count >= *capacity) {
        if (*capacity > SIZE_MAX / 2)
            memory_exhausted();
        /* Vectors of large things are mostly short. */
        size_t grown_capacity = *capacity ? *capacity * 2 : size > 64 ? 2 : 8;
        void *grown = arena_array(arena, grown_capacity, size);
        if (count)
            memcpy(grown, at, count * size);
        /* Only now: if the line above gave up, the vector is as it was. */
        *capacity = grown_capacity;
        return grown;
    }
    /* The slot may hold what was popped earlier. */
    memset((char *)at + count * size, 0, size);
    return at;
}
