/*
 * Aborts.
 * Stopped by: a cell that ends has failed.
 */
#include "rows.h"
#include <stdlib.h>
KERNEL
{
#ifndef HONEST
    abort();
#endif
    return ALL;
}
