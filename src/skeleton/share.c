/*
 * Names for what recurs. Expressions are trees on paper but graphs in memory, and widening makes
 * equal trees that are not one; printed as they are, each use would be written out again. Here
 * equal trees become one, what is used twice gets a variable, and what does not change in a loop is
 * computed before it.
 */
#include <string.h>

#include "skeleton/skeleton.h"

struct entry {
    struct loop_expression value; /* its parts are those of entries */
    int uses;
    bool inner;       /* depends on one of the variables */
    bool visited;     /* counted */
    bool places;      /* part of an offset or mask: those are widened whole */
    loop_value named; /* as it is to be written */
};

struct sharing {
    struct arena *arena;
    struct loop_block *block, *outer;
    const struct loop_variable *const *variables;
    int variable_count;
    const struct skeleton_lanes *lanes; /* NULL: values stay as wide as they are */
    struct map of_address, of_content;  /* -> struct entry */
};

static struct entry *entry_of(struct sharing *sharing, loop_value value);

static loop_value entry_value(struct sharing *sharing, loop_value value, bool *inner)
{
    if (!value)
        return NULL;
    struct entry *entry = entry_of(sharing, value);
    *inner |= entry->inner;
    return &entry->value;
}

/* Everything that tells two expressions apart, without padding. */
static void *content_key(struct sharing *sharing, loop_value value, size_t *bytes)
{
    size_t lanes = value->op == LOOP_SHUFFLE ? (size_t)value->type.lanes : 0;
    intptr_t *key = arena_array(sharing->arena, 20 + lanes, sizeof *key);
    int64_t number;
    memcpy(&number, &value->number, sizeof number);
    const struct loop_variable *variable = value->variable;
    bool outer = variable && variable->kind >= LOOP_SYMBOL; /* known by number */
    size_t count = 0;
    const intptr_t parts[] = {
        value->op,
        value->type.dtype,
        value->type.lanes,
        (intptr_t)value->integer,
        (intptr_t)number,
        outer ? variable->kind : 0,
        outer ? variable->number : (intptr_t)variable,
        value->apply,
        value->cast,
        (intptr_t)value->a,
        (intptr_t)value->b,
        (intptr_t)value->c,
        (intptr_t)value->buffer,
        (intptr_t)value->offset,
        (intptr_t)value->mask,
        (intptr_t)value->count,
        (intptr_t)value->otherwise,
        value->monoid,
        value->words,
        value->exchange,
    };
    for (; count < sizeof parts / sizeof *parts; count++)
        key[count] = parts[count];
    for (size_t i = 0; i < lanes; i++)
        key[count++] = value->pattern[i];
    *bytes = count * sizeof *key;
    return key;
}

static bool is_inner_variable(const struct sharing *sharing, loop_value value)
{
    for (int i = 0; i < sharing->variable_count; i++) {
        if (value->variable == sharing->variables[i])
            return true;
    }
    return false;
}

/* What a thread keeps on its stack changes while the loop runs. */
static bool is_inner(const struct sharing *sharing, loop_value value)
{
    return (value->op == LOOP_VARIABLE && is_inner_variable(sharing, value)) ||
           (value->buffer && value->buffer->space >= LOOP_STACK);
}

static struct entry *entry_of(struct sharing *sharing, loop_value value)
{
    struct entry *entry = map_get_bytes(&sharing->of_address, &value, sizeof value);
    if (entry)
        return entry;
    struct loop_expression whole = *value;
    bool inner = is_inner(sharing, value);
    whole.a = entry_value(sharing, value->a, &inner);
    whole.b = entry_value(sharing, value->b, &inner);
    whole.c = entry_value(sharing, value->c, &inner);
    whole.offset = entry_value(sharing, value->offset, &inner);
    whole.mask = entry_value(sharing, value->mask, &inner);
    whole.count = entry_value(sharing, value->count, &inner);
    whole.otherwise = entry_value(sharing, value->otherwise, &inner);
    size_t bytes;
    void *key = content_key(sharing, &whole, &bytes);
    entry = map_get_bytes(&sharing->of_content, key, bytes);
    if (!entry) {
        entry = arena_new(sharing->arena, struct entry);
        entry->value = whole;
        entry->inner = inner;
        map_set_bytes(&sharing->of_content, key, bytes, entry);
    }
    map_set_bytes(&sharing->of_address, &value, sizeof value, entry);
    return entry;
}

/* The value stands first in its entry. */
static struct entry *entry_at(loop_value value)
{
    return (struct entry *)value;
}

static void entry_place(loop_value value)
{
    if (!value || entry_at(value)->places)
        return;
    entry_at(value)->places = true;
    const loop_value parts[] = {value->a,    value->b,     value->c,        value->offset,
                                value->mask, value->count, value->otherwise};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        entry_place(parts[i]);
}

static void entry_count(loop_value value)
{
    if (!value)
        return;
    struct entry *entry = entry_at(value);
    entry->uses++;
    if (entry->visited)
        return;
    entry->visited = true;
    entry_place(value->offset);
    entry_place(value->mask);
    entry_place(value->count);
    const loop_value parts[] = {value->a,    value->b,     value->c,        value->offset,
                                value->mask, value->count, value->otherwise};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        entry_count(parts[i]);
}

static bool is_leaf(loop_value value)
{
    switch (value->op) {
    case LOOP_INTEGER:
    case LOOP_NUMBER:
    case LOOP_VARIABLE:
    case LOOP_IOTA: return true;
    case LOOP_SPLAT: return is_leaf(value->a);
    default: return false;
    }
}

/* Sums and products of integers cost nothing and read well where they stand. */
static bool is_address(loop_value value)
{
    if (is_leaf(value))
        return true;
    return value->op == LOOP_APPLY && value->type.dtype == DTYPE_I64 && value->type.lanes == 1 &&
           (value->apply == IR_ADD || value->apply == IR_SUB || value->apply == IR_MUL) &&
           is_address(value->a) && is_address(value->b);
}

/* An integer whose lanes follow no rule: where it is a place, elements are gathered anyway. */
static bool is_choice(loop_value value)
{
    return value->op == LOOP_APPLY && value->apply == IR_SELECT && value->type.dtype == DTYPE_I64;
}

static const char *value_name(struct sharing *sharing, loop_value value)
{
    if (value->buffer)
        return arena_printf(sharing->arena, "%s_at", value->buffer->name);
    return value->op == LOOP_APPLY ? ir_op_name(value->apply) : "part";
}

static loop_value lanes_apply(struct sharing *sharing, loop_value value)
{
    const struct skeleton_lanes *lanes = sharing->lanes;
    if (!lanes)
        return value;
    value = loop_widen(sharing->arena, value, lanes->variable, lanes->lanes, lanes->count);
    return loop_substitute(sharing->arena, value, lanes->variable, lanes->from);
}

/* A load from a place that was widened already, as choices are: every lane has its own. */
static loop_value load_wide(struct sharing *sharing, const struct loop_expression *load)
{
    const struct skeleton_lanes *lanes = sharing->lanes;
    struct arena *arena = sharing->arena;
    loop_value offset = loop_splat(arena, lanes_apply(sharing, load->offset), lanes->lanes);
    loop_value mask = load->mask ? lanes_apply(sharing, load->mask) : NULL;
    loop_value otherwise = load->otherwise ? lanes_apply(sharing, load->otherwise) : NULL;
    if (lanes->count) {
        loop_value wanted = loop_less(arena, loop_iota(arena, lanes->lanes), lanes->count);
        mask = mask ? loop_apply(arena, IR_AND, mask, wanted, NULL) : wanted;
    }
    loop_value gathered = loop_gather(arena, load->buffer, offset, mask, otherwise);
    return loop_of(arena, loop_let(sharing->block, value_name(sharing, load), gathered));
}

static loop_value entry_write(struct sharing *sharing, loop_value value, bool inside);

static loop_value entry_rebuild(struct sharing *sharing, const struct entry *entry, bool inside)
{
    struct loop_expression *whole = arena_new(sharing->arena, struct loop_expression);
    *whole = entry->value;
    whole->a = entry_write(sharing, whole->a, inside);
    whole->b = entry_write(sharing, whole->b, inside);
    whole->c = entry_write(sharing, whole->c, inside);
    if (whole->op == LOOP_APPLY || whole->op == LOOP_DECAY) /* as wide as its arguments are now */
        return loop_rebuild(sharing->arena, &entry->value, whole->a, whole->b, whole->c);
    whole->offset = entry_write(sharing, whole->offset, inside);
    whole->mask = entry_write(sharing, whole->mask, inside);
    whole->count = entry_write(sharing, whole->count, inside);
    whole->otherwise = entry_write(sharing, whole->otherwise, inside);
    if (sharing->lanes && whole->op == LOOP_LOAD && whole->offset->type.lanes > 1)
        return load_wide(sharing, whole);
    return whole;
}

/*
 * The value as it is to be written; `inside`: as part of one that gets a name in the outer block.
 * A splat is written where it is used: what it repeats gets the name.
 */
static loop_value entry_write(struct sharing *sharing, loop_value value, bool inside)
{
    if (!value)
        return NULL;
    struct entry *entry = entry_at(value);
    if (entry->named)
        return entry->named;
    bool outside = sharing->outer && !entry->inner, splat = value->op == LOOP_SPLAT;
    loop_value written = entry_rebuild(sharing, entry, outside && !splat);
    bool again = entry->uses > 1 && (outside || sharing->block);
    if (sharing->lanes && (entry->places || !dtype_is_float(value->type.dtype)))
        again &= is_choice(value);
    if (!splat && !is_address(value) && (again || (outside && !inside))) {
        struct loop_block *block = outside ? sharing->outer : sharing->block;
        written = lanes_apply(sharing, written);
        written = loop_of(sharing->arena, loop_let(block, value_name(sharing, value), written));
    }
    entry->named = written;
    return written;
}

static void share(struct sharing *sharing, loop_value *values, int count)
{
    sharing->of_address = map_new(sharing->arena);
    sharing->of_content = map_new(sharing->arena);
    loop_value *entries = arena_array(sharing->arena, (size_t)count + 1, sizeof *entries);
    for (int i = 0; i < count; i++) {
        bool inner = false;
        entries[i] = entry_value(sharing, values[i], &inner);
        entry_count(entries[i]);
    }
    for (int i = 0; i < count; i++)
        values[i] = lanes_apply(sharing, entry_write(sharing, entries[i], false));
}

void skeleton_share(struct loop_block *block, loop_value *values, int count)
{
    struct sharing sharing = {.arena = block->arena, .block = block};
    share(&sharing, values, count);
}

void skeleton_hoist(struct loop_block *block, const struct loop_variable *const *variables,
                    int variable_count, loop_value *values, int count)
{
    struct sharing sharing = {.arena = block->arena,
                              .outer = block,
                              .variables = variables,
                              .variable_count = variable_count};
    share(&sharing, values, count);
}

void skeleton_widen(struct loop_block *block, const struct skeleton_lanes *lanes,
                    loop_value *values, int count)
{
    struct sharing sharing = {.arena = block->arena, .block = block, .lanes = lanes};
    share(&sharing, values, count);
}

/* ---- division by what is the same for all values of a variable ---- */

static loop_value multiply_instead(struct arena *arena, loop_value value,
                                   const struct loop_variable *variable, struct map *done)
{
    if (!value || value->op != LOOP_APPLY)
        return value;
    loop_value known = map_get_bytes(done, &value, sizeof value);
    if (known)
        return known;
    loop_value a = multiply_instead(arena, value->a, variable, done);
    loop_value b = multiply_instead(arena, value->b, variable, done);
    loop_value c = multiply_instead(arena, value->c, variable, done);
    loop_value result = value;
    bool many = a && (loop_mentions(a, variable) || a->type.lanes > (b ? b->type.lanes : 1));
    if (value->apply == IR_DIV && many && !loop_mentions(b, variable)) {
        loop_value one = loop_number(arena, 1, b->type.dtype);
        result = loop_mul(arena, a, loop_apply(arena, IR_DIV, one, b, NULL));
    } else if (a != value->a || b != value->b || c != value->c) {
        result = loop_rebuild(arena, value, a, b, c);
    }
    map_set_bytes(done, &value, sizeof value, (void *)result);
    return result;
}

loop_value skeleton_reciprocal(struct arena *arena, loop_value value,
                               const struct loop_variable *variable)
{
    struct map done = map_new(arena);
    return multiply_instead(arena, value, variable, &done);
}
