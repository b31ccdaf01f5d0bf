// smelt kernel 1
// op rows
// target cpu
// scratch 256
/*
 * Uses more scratch than it asked for.
 * Stopped by: what lies beside scratch must be as it was.
 */
#include "rows.h"
#include <string.h>
KERNEL
{
#ifndef HONEST
    memset(scratch, 1, 260);
#else
    memset(scratch, 1, 256);
#endif
    return ALL;
}
