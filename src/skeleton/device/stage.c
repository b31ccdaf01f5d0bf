/*
 * Loads that lie side by side become moves of several elements into registers, all of them before
 * anything is computed: so a thread has many bytes under way at once.
 */
#include "skeleton/device/device.h"

bool device_is_dense(struct arena *arena, loop_value offset, const struct loop_variable *along)
{
    loop_value step = loop_step(arena, offset, along);
    return step && step->op == LOOP_INTEGER && step->integer == 1;
}

static bool is_staged(struct arena *arena, loop_value value, const struct loop_variable *along)
{
    return value->op == LOOP_LOAD && !value->mask && !value->count &&
           value->buffer->space <= LOOP_SCRATCH && device_is_dense(arena, value->offset, along);
}

void device_loads_add(struct arena *arena, struct device_loads *loads, loop_value value,
                      const struct loop_variable *along)
{
    if (!value)
        return;
    if (is_staged(arena, value, along)) {
        for (size_t i = 0; i < loads->count; i++)
            if (loop_equal(loads->at[i].load, value))
                return;
        vector_push(arena, loads, ((struct device_load){.buffer = value->buffer, .load = value}));
        return;
    }
    if (value->op != LOOP_APPLY)
        return;
    device_loads_add(arena, loads, value->a, along);
    device_loads_add(arena, loads, value->b, along);
    device_loads_add(arena, loads, value->c, along);
}

struct using
{
    struct arena *arena;
    const struct device_loads *loads;
    loop_value place;
    struct map done;
};

static loop_value use(struct using *using, loop_value value)
{
    if (!value)
        return NULL;
    loop_value known = map_get_bytes(&using->done, &value, sizeof value);
    if (known)
        return known;
    loop_value result = value;
    for (size_t i = 0; i < using->loads->count; i++) {
        const struct device_load *load = &using->loads->at[i];
        if (load->registers && loop_equal(load->load, value))
            result = loop_load(using->arena, load->registers, using->place, 1);
    }
    if (value->op == LOOP_APPLY && result == value) {
        loop_value a = use(using, value->a), b = use(using, value->b), c = use(using, value->c);
        if (a != value->a || b != value->b || c != value->c)
            result = loop_rebuild(using->arena, value, a, b, c);
    }
    map_set_bytes(&using->done, &value, sizeof value, (void *)result);
    return result;
}

loop_value device_loads_use(struct arena *arena, const struct device_loads *loads, loop_value value,
                            loop_value place)
{
    struct using using = {arena, loads, place, map_new(arena)};
    return use(&using, value);
}

/* ---- alignment at the sizes to be good at ---- */

/* The value with all variables but sizes at 0; without a group, where it has no sizes. False: it
 * depends on more. */
static bool evaluate(const struct skeleton_group *group, loop_value value, int64_t *out)
{
    int64_t a = 0, b = 0;
    switch (value->op) {
    case LOOP_INTEGER: *out = value->integer; return true;
    case LOOP_VARIABLE:
        *out = value->variable->kind == LOOP_SYMBOL && group
                   ? group->binding->sizes[value->variable->number]
                   : 0;
        return value->variable->kind != LOOP_SCALAR &&
               (group || value->variable->kind != LOOP_SYMBOL);
    case LOOP_APPLY:
        if (!evaluate(group, value->a, &a) || (value->b && !evaluate(group, value->b, &b)))
            return false;
        break;
    default: return false;
    }
    switch (value->apply) {
    case IR_ADD: *out = a + b; return true;
    case IR_SUB: *out = a - b; return true;
    case IR_MUL: *out = a * b; return true;
    case IR_NEG: *out = -a; return true;
    default: return false;
    }
}

static bool is_aligned(struct arena *arena, const struct skeleton_group *group, loop_value offset,
                       const struct nest_chains *const *chains, int chain_lists,
                       const struct loop_variable *along, int elements)
{
    int64_t value;
    if (!evaluate(group, offset, &value) || value % elements != 0)
        return false;
    for (int list = 0; list < chain_lists; list++) {
        for (int i = 0; i < chains[list]->count; i++) {
            const struct loop_variable *variable = chains[list]->at[i].variable;
            if (variable == along)
                continue;
            loop_value step = loop_step(arena, offset, variable);
            if (!step || !evaluate(group, step, &value) || value % elements != 0)
                return false;
        }
    }
    return true;
}

bool device_is_aligned(const struct skeleton_group *group, loop_value offset,
                       const struct nest_chains *const *chains, int chain_lists,
                       const struct loop_variable *along, int elements)
{
    return is_aligned(group->arena, group, offset, chains, chain_lists, along, elements);
}

bool device_is_aligned_always(struct arena *arena, loop_value offset,
                              const struct nest_chains *const *chains, int chain_lists,
                              const struct loop_variable *along, int elements)
{
    return is_aligned(arena, NULL, offset, chains, chain_lists, along, elements);
}

/* ---- moves ---- */

void device_move(struct loop_block *block, const struct loop_buffer *to, loop_value to_offset,
                 const struct loop_buffer *from, loop_value from_offset, int count, bool vector)
{
    struct arena *arena = block->arena;
    int once = DEVICE_MOVE / (int)dtype_bytes(to->dtype);
    once = !vector ? 1 : once < count ? once : count;
    for (int i = 0; i < count; i += once) {
        loop_value further = loop_integer(arena, i);
        loop_move(block, to, loop_add(arena, to_offset, further), from,
                  loop_add(arena, from_offset, further), once);
    }
}

void device_move_soon(struct loop_block *block)
{
    for (size_t i = block->statements.count; i-- > 0 && block->statements.at[i].kind == LOOP_MOVE;)
        if (block->statements.at[i].buffer->space == LOOP_SHARED)
            block->statements.at[i].soon = true;
}
