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

/* Whether something is read from memory at a place that the row decides. */
static bool is_chosen(loop_value value, const struct loop_variable *row)
{
    if (!value || !loop_mentions(value, row))
        return false;
    if (value->op == LOOP_LOAD || value->op == LOOP_GATHER)
        return true;
    return is_chosen(value->a, row) || is_chosen(value->b, row) || is_chosen(value->c, row);
}

void soon_collect_chosen(struct arena *arena, loop_value value,
                         const struct loop_variable *variable, const struct loop_variable *row,
                         struct soon_loads *loads)
{
    struct soon_loads all = {0};
    soon_collect(arena, value, variable, &all);
    for (size_t i = 0; i < all.count; i++) {
        if (is_chosen(all.at[i]->offset, row))
            vector_push(arena, loads, all.at[i]);
    }
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
