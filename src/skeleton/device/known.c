/*
 * Sizes that are known while code is written: a function may have a version of its own for the
 * sizes at hand, with constants where other versions divide and compare.
 */
#include "skeleton/device/device.h"

static void add_symbols(const struct skeleton_group *group, const struct ir_size *size, bool *found)
{
    if (!size || size->op == IR_SIZE_CONSTANT)
        return;
    if (size->op != IR_SIZE_SYMBOL) {
        add_symbols(group, size->a, found);
        add_symbols(group, size->b, found);
        return;
    }
    const struct ir_size *definition = group->part->symbols[size->symbol].definition;
    for (int i = 0; i < group->fix_count; i++)
        if (group->fixes[i].symbol == size->symbol)
            return;
    if (definition)
        add_symbols(group, definition, found);
    else
        found[size->symbol] = true;
}

const struct skeleton_group *device_known(struct arena *arena, const struct skeleton_group *group,
                                          const struct ir_size *const *sizes, int count,
                                          loop_value *condition)
{
    const struct ir_part *part = group->part;
    struct skeleton_group *known = arena_new(arena, struct skeleton_group);
    size_t most = (size_t)(group->fix_count + part->symbol_count) + 1;
    bool *found = arena_array(arena, most, sizeof *found);
    struct plan_fix *fixes = arena_array(arena, most, sizeof *fixes);
    *known = *group;
    *condition = NULL;
    for (int i = 0; i < count; i++)
        add_symbols(group, sizes[i], found);
    for (int i = 0; i < group->fix_count; i++)
        fixes[i] = group->fixes[i];
    for (int i = 0; i < part->symbol_count; i++) {
        if (!found[i])
            continue;
        int64_t value = group->binding->sizes[i];
        loop_value size = loop_size(arena, part, ir_size_symbol(arena, i));
        loop_value same = loop_apply(arena, IR_EQ, size, loop_integer(arena, value), NULL);
        *condition = device_and(arena, *condition, same);
        fixes[known->fix_count++] = (struct plan_fix){.symbol = i, .value = value};
    }
    known->fixes = fixes;
    return known;
}
