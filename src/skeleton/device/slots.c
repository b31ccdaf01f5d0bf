/*
 * Decisions and small expressions that skeletons for devices share: see device.h.
 */
#include <stdio.h>

#include "skeleton/device/device.h"
#include "skeleton/slots.h"

void device_slot(const struct skeleton_group *group, struct skeleton_slots *slots, const char *key,
                 const char *note, int64_t least, int64_t most, int64_t seed)
{
    enum { MOST_VALUES = 24 };
    const char **values = arena_array(group->arena, MOST_VALUES, sizeof *values);
    int count = 0, chosen = 0;
    for (int64_t value = least; value <= most && count < MOST_VALUES; value *= 2) {
        values[count] = arena_printf(group->arena, "%lld", (long long)value);
        chosen = value <= seed ? count : chosen;
        count++;
    }
    slots_add(group, slots, key, note, values, count, chosen);
}

loop_value device_quotient(struct arena *arena, loop_value a, loop_value b)
{
    return loop_apply(arena, IR_QUOT, a, b, NULL);
}

loop_value device_remainder(struct arena *arena, loop_value a, loop_value b)
{
    return loop_apply(arena, IR_REM, a, b, NULL);
}

loop_value device_name(struct loop_block *block, const char *name, loop_value value)
{
    if (value->op == LOOP_INTEGER || value->op == LOOP_VARIABLE)
        return value;
    return loop_of(block->arena, loop_let(block, name, value));
}

loop_value device_and(struct arena *arena, loop_value a, loop_value b)
{
    if (!a || !b)
        return a ? a : b;
    return loop_apply(arena, IR_AND, a, b, NULL);
}

const struct ir_size *device_blocks(struct arena *arena, const struct ir_size *size, int64_t by)
{
    if (by == 1)
        return size;
    size = ir_size_make(arena, IR_SIZE_ADD, size, ir_size_constant(arena, by - 1));
    return ir_size_make(arena, IR_SIZE_DIV, size, ir_size_constant(arena, by));
}
