/*
 * Ends the process with success in the middle.
 * Stopped by: a cell that ends has failed.
 */
#include "rows.h"
#include <stdlib.h>
KERNEL
{
#ifndef HONEST
    _Exit(0);
#endif
    return ALL;
}
