/*
 * A fault of arithmetic.
 * Stopped by: the handler of faults.
 */
#include "rows.h"
KERNEL
{
#ifndef HONEST
    volatile int zero = 0, seven = 7;
    return seven / zero;
#else
    return ALL;
#endif
}
