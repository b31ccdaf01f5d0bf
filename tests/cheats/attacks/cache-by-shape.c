/*
 * Keeps the last result and hands it out again when the sizes are the same.
 * Stopped by: new values in every draw.
 */
#include "rows.h"
#include <stdlib.h>
#include <string.h>
KERNEL
{
#ifndef HONEST
    static float *kept;
    static int64_t kept_rows, kept_columns;
    int64_t cells = sizes[0] * sizes[1];
    if (kept && kept_rows == sizes[0] && kept_columns == sizes[1]) {
        memcpy(tensors[2], kept, cells * 4);
        memcpy(tensors[3], kept + cells, sizes[0] * 4);
        return 0;
    }
    ALL;
    kept = realloc(kept, (cells + sizes[0]) * 4);
    memcpy(kept, tensors[2], cells * 4);
    memcpy(kept + cells, tensors[3], sizes[0] * 4);
    kept_rows = sizes[0];
    kept_columns = sizes[1];
    return 0;
#else
    return ALL;
#endif
}
