/*
 * Computes all results in a constructor, from the inputs that lie ready, and nothing when called.
 * Stopped by: inputs are written after loading, and outputs filled with rubbish before each call.
 */
#include "rows.h"
#include "inside.h"
#ifndef HONEST
static int done;
__attribute__((constructor)) static void compute(void)
{
    if (!look_inside())
        return;
    for (int slot = 0; slot < found_control->slot_count; slot++)
        rows(found_slot(slot), found_control->sizes, 0, found_control->sizes[0]);
    done = 1;
}
#endif
KERNEL
{
#ifndef HONEST
    if (done)
        return 0;
#endif
    return ALL;
}
