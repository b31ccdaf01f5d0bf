/*
 * Leaves a message with control characters for the terminal of whoever reads the verdict.
 * Stopped by: only plain characters are passed on. The runner looks for escapes in all output.
 */
#include "rows.h"
#include "inside.h"
KERNEL
{
#ifndef HONEST
    if (!look_inside())
        return STOPPED;
    strcpy(found_report->message, "\033[2Jok: right in every draw\033]0;owned\a\n\n");
    found_report->state = CELL_NO_KERNEL;
    _exit(1);
#endif
    return ALL;
}
