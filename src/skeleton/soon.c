/*
 * Which loads of a value are worth fetching ahead: see soon.h.
 */
#include "skeleton/soon.h"

struct search {
    struct arena *arena;
    const struct loop_variable *variable;
    struct soon_loads *loads;
    struct map seen;
};

static void add_load(struct search *search, loop_value load)
{
    loop_value step = loop_step(search->arena, load->offset, search->variable);
    if (load->buffer->space != LOOP_TENSOR || !step || step->op != LOOP_INTEGER ||
        step->integer != 1)
        return;
    for (size_t i = 0; i < search->loads->count; i++) {
        loop_value other = search->loads->at[i];
        if (other->buffer == load->buffer && loop_equal(other->offset, load->offset))
            return;
    }
    vector_push(search->arena, search->loads, load);
}

static void visit(struct search *search, loop_value value)
{
    if (!value || map_get_bytes(&search->seen, &value, sizeof value))
        return;
    map_set_bytes(&search->seen, &value, sizeof value, search);
    if (value->op == LOOP_LOAD)
        add_load(search, value);
    visit(search, value->a);
    visit(search, value->b);
    visit(search, value->c);
}

void soon_collect(struct arena *arena, loop_value value, const struct loop_variable *variable,
                  struct soon_loads *loads)
{
    struct search search = {arena, variable, loads, map_new(arena)};
    visit(&search, value);
}

void soon_fetch(struct loop_block *block, const struct soon_loads *loads,
                const struct loop_variable *variable, loop_value from, int64_t further)
{
    struct arena *arena = block->arena;
    for (size_t i = 0; i < loads->count; i++) {
        loop_value offset = loop_substitute(arena, loads->at[i]->offset, variable, from);
        loop_prefetch(block, loads->at[i]->buffer,
                      loop_add(arena, offset, loop_integer(arena, further)));
    }
}
