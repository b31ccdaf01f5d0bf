/*
 * Lets the outputs of all calls be the same pages, so that the work is done once.
 * Stopped by: the judge reads the file at the place of each call.
 */
#include "rows.h"
#include "inside.h"
#include <sys/mman.h>
KERNEL
{
#ifndef HONEST
    if (look_inside() && tensors != (void *const *)found_tensors)
        for (int i = 2; i < 4; i++)
            mremap((void *)found_report->mapped[i], 0, found_control->regions[i].bytes,
                   MREMAP_MAYMOVE | MREMAP_FIXED,
                   (void *)found_report->mapped[cell_number(found_control, 1, i)]);
#endif
    return ALL;
}
