/*
 * Right as often as a check may take, then it does nothing: only the timed calls are that many.
 * Stopped by: what timed calls leave behind is compared too, over changed values.
 */
#include "rows.h"
KERNEL
{
#ifndef HONEST
    static int calls;
    if (++calls > 14)
        return 0;
#endif
    return ALL;
}
