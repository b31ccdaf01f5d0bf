/*
 * Leaves a far too large message without an end, and wild addresses, to break who reads the report.
 * Stopped by: the report is copied and believed in nothing.
 */
#include "rows.h"
#include "inside.h"
KERNEL
{
#ifndef HONEST
    if (!look_inside())
        return STOPPED;
    memset(found_report, 0xff, sizeof *found_report);
    found_report->state = CELL_FAULT;
    found_report->signal = 11;
    _exit(0);
#endif
    return ALL;
}
