/*
 * A growing array of any type, in an arena:
 *
 *     struct names VECTOR(const char *);
 *     struct names names = {0};
 *     vector_push(arena, &names, "x");
 *     for (size_t i = 0; i < names.count; i++) use(names.at[i]);
 */
#ifndef SMELT_BASE_VECTOR_H
#define SMELT_BASE_VECTOR_H

#include <stddef.h>

#include "base/arena.h"

#define VECTOR(type)            \
    {                           \
        type *at;               \
        size_t count, capacity; \
    }

/* Room for one more at the end, zeroed; evaluates to a pointer to it. */
#define vector_add(arena, vector)                                                               \
    ((vector)->at = vector_reserve((arena), (vector)->at, (vector)->count, &(vector)->capacity, \
                                   sizeof *(vector)->at),                                       \
     &(vector)->at[(vector)->count++])

/*
 * Appends a value. The value is worked out before room is made, so it may come from a function that
 * pushes onto the same vector.
 */
#define vector_push(arena, vector, ...)                          \
    do {                                                         \
        __typeof__(*(vector)->at) vector_value_ = (__VA_ARGS__); \
        *vector_add((arena), (vector)) = vector_value_;          \
    } while (0)

/* The array, moved if it was full. Used by the macros. */
void *vector_reserve(struct arena *arena, void *at, size_t count, size_t *capacity, size_t size);

#endif
