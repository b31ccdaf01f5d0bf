/*
 * Room for the elements of an array.
 */
#include "record/array.h"

void array_alloc(struct arena *arena, struct array *array)
{
    /* One element at least, so that an empty array has its pointer too. */
    size_t count = array->count > 0 ? (size_t)array->count : 1;

    array->floats = NULL;
    array->integers = NULL;
    if (dtype_is_float(array->dtype))
        array->floats = arena_array(arena, count, sizeof *array->floats);
    else
        array->integers = arena_array(arena, count, sizeof *array->integers);
}
