/*
 * Finishes the work in a handler of the signal that continues it for the next call.
 * Stopped by: outputs are compared before it is continued.
 */
#include "rows.h"
#include <signal.h>
#ifndef HONEST
static void *const *later_tensors;
static int64_t later_sizes[2];
static void work(int signal)
{
    (void)signal;
    if (later_tensors)
        rows(later_tensors, later_sizes, 0, later_sizes[0]);
}
#endif
KERNEL
{
#ifndef HONEST
    signal(SIGCONT, work);
    later_tensors = tensors;
    later_sizes[0] = sizes[0];
    later_sizes[1] = sizes[1];
    return 0;
#else
    return ALL;
#endif
}
