/*
 * Ends the process while it is loaded, with the code a judge uses for its own failures: those are
 * not counted against the kernel. Stopped by: the cell stops once before the kernel is loaded; what
 * ends it later is the kernel.
 */
#include "rows.h"
#include <unistd.h>
#ifndef HONEST
__attribute__((constructor)) static void leave(void)
{
    _exit(122);
}
#endif
KERNEL
{
    return ALL;
}
