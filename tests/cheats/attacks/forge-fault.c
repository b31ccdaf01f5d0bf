/*
 * Makes up a report and ends with the code of a judge's failure, which would not be counted.
 * Stopped by: whatever ends the cell once the kernel is loaded is the kernel's doing.
 */
#include "rows.h"
#include "inside.h"
KERNEL
{
#ifndef HONEST
    if (!look_inside())
        return STOPPED;
    found_report->state = CELL_STARTING;
    memset(found_report->message, 'A', sizeof found_report->message);
    _exit(123);
#endif
    return ALL;
}
