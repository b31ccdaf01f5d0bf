/* Fuzzes the reader of .npy files: every input is read as every type. */
#include "record/npy.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int dtype = 0; dtype < DTYPE_COUNT && size > 0; dtype++) {
        struct arena arena = {0};
        struct array array = {0};
        struct error error = {0};
        FILE *stream = fmemopen((void *)data, size, "rb");
        if (!stream)
            __builtin_trap();
        bool good = npy_read_stream(&arena, stream, (int64_t)size, "input", (enum dtype)dtype,
                                    &array, &error);
        /* Refused with a reason, or every element there and within its type. */
        if (!good && !error.message[0])
            __builtin_trap();
        for (int64_t i = 0; good && i < array.count; i++) {
            if (array.integers && dtype_wrap(array.dtype, array.integers[i]) != array.integers[i])
                __builtin_trap();
            if (array.floats && array.floats[i] == array.floats[i] &&
                dtype_round(array.dtype, array.floats[i]) != array.floats[i])
                __builtin_trap();
        }
        fclose(stream);
        arena_release(&arena);
    }
    return 0;
}
