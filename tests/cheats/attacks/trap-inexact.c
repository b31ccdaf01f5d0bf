/*
 * Turns on traps for inexact results, which whoever computes next would run into.
 * Stopped by: nobody computes in this process but the kernel, and arithmetic is reset before a
 * call.
 */
#include "rows.h"
#include <fenv.h>
KERNEL
{
#ifndef HONEST
    feenableexcept(FE_INEXACT);
#endif
    return ALL;
}
