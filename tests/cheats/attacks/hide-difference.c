/*
 * Differs from call to call where the task wants none of that, and then makes the result of the
 * call before equal to its own. Stopped by: the bytes of a result are taken down before the next
 * call.
 */
#include "rows.h"
#include "inside.h"
KERNEL
{
    ALL;
#ifndef HONEST
    static int calls;
    float *s = tensors[3];
    if (look_inside()) {
        s[0] *= ++calls % 2 ? 1 : 1 + 0x1p-23f;
        for (int slot = 0; slot < found_control->slot_count; slot++)
            if (found_slot(slot) != tensors)
                memcpy(found_slot(slot)[3], s, sizes[0] * 4);
    }
#endif
    return 0;
}
