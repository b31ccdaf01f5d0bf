/*
 * The same, and the report says that all is ready.
 * Stopped by: the next stop comes in the wrong state; were that forged too, outputs would be
 * missing.
 */
#include "rows.h"
#include "inside.h"
#ifndef HONEST
__attribute__((constructor)) static void stop(void)
{
    if (look_inside())
        found_report->state = CELL_READY;
    kill(getpid(), SIGSTOP);
}
#endif
KERNEL
{
    return ALL;
}
