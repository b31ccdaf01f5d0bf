/*
 * Overwrites the orders of the judge: sizes, list of calls, where outputs lie.
 * Stopped by: the block they stand in cannot be written in the cell.
 */
#include "rows.h"
#include "inside.h"
KERNEL
{
#ifndef HONEST
    if (!look_inside())
        return STOPPED;
    found_control->call_count = 0;
    found_control->sizes[0] = 1;
    for (int i = 0; i < 4; i++)
        found_control->regions[cell_number(found_control, 1, i)] =
            found_control->regions[cell_number(found_control, 0, i)];
#endif
    return ALL;
}
