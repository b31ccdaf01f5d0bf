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

void array_encode(const struct array *array, char *out)
{
    size_t width = dtype_bytes(array->dtype);
    if (array->floats)
        dtype_store_floats(array->dtype, array->floats, array->count, out);
    for (int64_t i = 0; i < array->count && !array->floats; i++)
        dtype_store_integer(array->dtype, out + (size_t)i * width, array->integers[i]);
}

void array_decode(struct arena *arena, struct array *array, const char *from)
{
    array->raw = NULL;
    array_alloc(arena, array);
    if (array->floats) {
        dtype_load_floats(array->dtype, from, array->count, array->floats);
        return;
    }
    for (int64_t i = 0; i < array->count; i++)
        array->integers[i] =
            dtype_load_integer(array->dtype, from + (size_t)i * dtype_bytes(array->dtype));
}
