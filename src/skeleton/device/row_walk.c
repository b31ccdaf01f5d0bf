/*
 * How the row skeleton for devices goes over a row: steps of vectors, first all loads, then all
 * that is computed; which are kept in registers; which need no guards. See row.h.
 */
#include "skeleton/device/row.h"
#include "skeleton/slots.h"

/* ---- sizes ---- */

const struct ir_size *device_row_product(struct arena *arena, const struct nest_chains *chains,
                                         int except)
{
    const struct ir_size *size = ir_size_constant(arena, 1);
    for (int i = 0; i < chains->count; i++)
        if (i != except)
            size = ir_size_make(arena, IR_SIZE_MUL, size, chains->at[i].extent);
    return size;
}

loop_value device_row_count(struct device_row *row, const struct nest_chains *chains, int except)
{
    return skeleton_size(&row->values, device_row_product(row->arena, chains, except));
}

loop_value device_row_integer(struct device_row *row, int64_t value)
{
    return loop_integer(row->arena, value);
}

void device_row_place(struct map *places, const struct nest_chain *chain, loop_value value)
{
    map_set_bytes(places, &chain->variable, sizeof chain->variable, (void *)value);
}

void device_row_unfold(struct device_row *row, struct loop_block *block, struct map *places,
                       const struct nest_chains *chains, int except, loop_value rest)
{
    int first = except == 0 ? 1 : 0;
    for (int i = chains->count - 1; i >= 0; i--) {
        const struct nest_chain *chain = &chains->at[i];
        if (i == except)
            continue;
        if (i == first) {
            device_row_place(places, chain, rest);
            return;
        }
        loop_value extent = skeleton_size(&row->values, chain->extent);
        loop_value outer = device_name(block, "rest", device_quotient(row->arena, rest, extent));
        loop_value own = loop_sub(row->arena, rest, loop_mul(row->arena, outer, extent));
        device_row_place(places, chain, device_name(block, chain->variable->name, own));
        rest = outer;
    }
}

/* ---- steps ---- */

struct step {
    struct map places;
    loop_value from;  /* along the lane chain */
    loop_value some;  /* whether there is such a step */
    loop_value whole; /* and its vector is whole and aligned; NULL: always */
    bool partial;     /* there may be steps that are not whole */
};

loop_value device_row_extent(struct device_row *row)
{
    return skeleton_size(&row->values, device_row_lane(row)->extent);
}

/* Vectors of a row; across: its elements. */
static loop_value step_count(struct device_row *row)
{
    struct arena *arena = row->arena;
    if (row->is_across)
        return device_row_count(row, &row->reduced, -1);
    loop_value vectors = device_row_extent(row);
    if (row->elements > 1)
        vectors = device_quotient(
            arena, loop_add(arena, vectors, device_row_integer(row, row->elements - 1)),
            device_row_integer(row, row->elements));
    return row->reduced.count == 1
               ? vectors
               : loop_mul(arena, device_row_count(row, &row->reduced, row->reduced.count - 1),
                          vectors);
}

/* What is known of a size while the function is written; -1: nothing. */
static int64_t constant(loop_value value)
{
    return value->op == LOOP_INTEGER ? value->integer : -1;
}

static int64_t known_steps(struct device_row *row)
{
    int64_t extent = constant(device_row_extent(row)), count = 1;
    for (int i = 0; i < row->reduced.count - !row->is_across; i++) {
        int64_t each = constant(skeleton_size(&row->values, row->reduced.at[i].extent));
        if (each < 0)
            return -1;
        count *= each;
    }
    if (row->is_across)
        return count;
    return extent < 0 ? -1 : count * ((extent + row->elements - 1) / row->elements);
}

/* Whether all vectors there are have all their elements. */
static bool vectors_are_whole(struct device_row *row)
{
    int64_t extent = constant(device_row_extent(row));
    int64_t tile = (int64_t)row->elements * (row->is_across ? row->team : 1);
    return extent > 0 && extent % tile == 0;
}

/* How many steps every thread has, with all elements. */
static int64_t sure_steps(struct device_row *row)
{
    int64_t steps = known_steps(row);
    bool whole = vectors_are_whole(row);
    if (steps < 0 || (!whole && (row->is_across || row->reduced.count > 1)))
        return 0;
    return (steps - !whole) / ((int64_t)row->stride * row->split);
}

void device_row_copy_places(struct map *to, const struct map *from)
{
    for (size_t i = 0; i < from->count; i++)
        map_set_bytes(to, from->entries[i].key, from->entries[i].length, from->entries[i].value);
}

struct walk { /* what is done at each step of a pass */
    struct device_loads *loads;
    int pass;
    bool aligned_stores[ROW_MAX_STAGES];
    bool keeps;   /* these steps stay in registers: what was computed from them, too */
    bool stashed; /* they stay in shared memory */
};

/* Where element `element` of a step of this thread is in the stash. */
static loop_value stash_place(struct device_row *row, loop_value item, loop_value element)
{
    struct arena *arena = row->arena;
    loop_value number = loop_sub(arena, item, device_row_integer(row, row->keep));
    number = loop_mul(arena, number, device_row_integer(row, row->threads));
    number = loop_add(arena, number, loop_thread_number(arena, 0));
    return loop_add(arena, loop_mul(arena, number, device_row_integer(row, row->elements)),
                    element);
}

static bool is_stashed(const struct device_row *row, const struct walk *walk, loop_value load)
{
    return walk->stashed && row->kept.count && loop_equal(row->kept.at[0].load, load);
}

static bool stores_in(const struct device_row *row, const struct walk *walk, int stage)
{
    return row->row.stages[stage].kind == ROW_MAP &&
           row_in_pass(&row->row.stages[stage], walk->pass) && row->stages[stage].offset &&
           row->group->needed[row->row.stages[stage].stage->writes[0].tensor];
}

/* Whether a place is a multiple of the vector's length in any case. */
static bool is_aligned_always(struct device_row *row, loop_value offset)
{
    const struct nest_chains *lists[] = {&row->left, &row->reduced};
    return device_is_aligned_always(row->arena, offset, lists, 2, device_row_lane(row)->variable,
                                    row->elements);
}

static loop_value step_aligned(struct device_row *row, const struct walk *walk,
                               const struct step *step)
{
    struct arena *arena = row->arena;
    loop_value bits = NULL;
    size_t loads = walk->loads->count, count = loads + (size_t)row->row.stage_count;
    for (size_t i = 0; i < count && row->elements > 1; i++) {
        int stage = (int)(i - loads);
        bool vector = i < loads ? walk->loads->at[i].vector
                                : stores_in(row, walk, stage) && walk->aligned_stores[stage];
        if (!vector)
            continue;
        loop_value offset = i < loads ? walk->loads->at[i].load->offset : row->stages[stage].offset;
        if (is_aligned_always(row, offset))
            continue;
        offset = loop_replace(arena, offset, &step->places);
        if (!bits || !loop_equal(bits, offset)) /* often all are the same */
            bits = bits ? loop_apply(arena, IR_BITOR, bits, offset, NULL) : offset;
    }
    if (!bits)
        return NULL;
    bits = loop_apply(arena, IR_BITAND, bits, device_row_integer(row, row->elements - 1), NULL);
    return loop_apply(arena, IR_EQ, bits, device_row_integer(row, 0), NULL);
}

/* Where a step is: `at` vectors into the row, or elements of rows side by side. */
static void step_place(struct device_row *row, struct loop_block *block, struct step *step,
                       loop_value at)
{
    struct arena *arena = row->arena;
    int inner = row->reduced.count - 1;
    device_row_copy_places(&step->places, &row->places);
    if (row->is_across) {
        device_row_unfold(row, block, &step->places, &row->reduced, -1, at);
        step->from = row->column;
    } else {
        loop_value vector = at, elements = device_row_integer(row, row->elements);
        if (row->reduced.count > 1) {
            loop_value extent = device_row_extent(row);
            loop_value up = loop_add(arena, extent, device_row_integer(row, row->elements - 1));
            loop_value vectors =
                device_name(block, "vectors", device_quotient(arena, up, elements));
            loop_value outer = device_name(block, "outer", device_quotient(arena, at, vectors));
            vector = loop_sub(arena, at, loop_mul(arena, outer, vectors));
            device_row_unfold(row, block, &step->places, &row->reduced, inner, outer);
        }
        step->from = device_name(block, row->reduced.at[inner].variable->name,
                                 loop_mul(arena, vector, elements));
    }
    device_row_place(&step->places, device_row_lane(row), step->from);
}

static struct step step_at(struct device_row *row, const struct walk *walk,
                           struct loop_block *block, loop_value at, bool sure)
{
    struct arena *arena = row->arena;
    struct step step = {.places = map_new(arena)};
    at = device_name(block, "at", at);
    step_place(row, block, &step, at);
    step.some = loop_less(arena, at, step_count(row));
    loop_value aligned = step_aligned(row, walk, &step), whole = NULL;
    step.partial = aligned || (!sure && !vectors_are_whole(row));
    if (!sure) {
        loop_value end = loop_add(arena, step.from, device_row_integer(row, row->elements));
        if (!vectors_are_whole(row))
            whole = loop_apply(arena, IR_LE, end, device_row_extent(row), NULL);
        if (!whole || row->is_across || row->reduced.count > 1)
            whole = device_and(arena, step.some, whole);
    }
    step.whole = device_and(arena, whole, aligned);
    if (step.whole)
        step.whole = device_name(block, "whole", step.whole);
    return step;
}

static void load_step(struct device_row *row, const struct walk *walk, struct loop_block *block,
                      const struct step *step, loop_value item, const bool *wanted)
{
    struct arena *arena = row->arena;
    struct loop_block *whole = step->whole ? loop_if(block, step->whole) : block, *rest = NULL,
                      *some = NULL;
    struct loop_variable *counter;
    struct map places = map_new(arena);
    loop_value first = loop_mul(arena, item, device_row_integer(row, row->elements)), at = NULL;
    for (size_t i = 0; i < walk->loads->count; i++) {
        const struct device_load *load = &walk->loads->at[i];
        if (!wanted[i])
            continue;
        bool stashed = is_stashed(row, walk, load->load);
        const struct loop_buffer *to = stashed ? row->stashed : load->registers;
        device_move(whole, to, stashed ? stash_place(row, item, device_row_integer(row, 0)) : first,
                    load->buffer, loop_replace(arena, load->load->offset, &step->places),
                    row->elements, load->vector);
        if (stashed)
            device_move_soon(whole);
        if (row->elements == 1 || !step->partial)
            continue;
        if (!rest) {
            rest = loop_else(block);
            some = loop_if(rest, step->some);
            some = loop_for(some, LOOP_UNROLL, "element", device_row_integer(row, 0),
                            device_row_integer(row, row->elements), NULL, &counter);
            loop_value place = loop_add(arena, step->from, loop_of(arena, counter));
            some = loop_if(some, loop_less(arena, place, device_row_extent(row)));
            device_row_copy_places(&places, &step->places);
            device_row_place(&places, device_row_lane(row), place);
            at = loop_add(arena, first, loop_of(arena, counter));
        }
        loop_move(some, to, stashed ? stash_place(row, item, loop_of(arena, counter)) : at,
                  load->buffer, loop_replace(arena, load->load->offset, &places), 1);
        if (stashed)
            device_move_soon(some);
    }
}

/* ---- elements ---- */

bool device_row_sums_in(const struct device_row *row, int stage, int pass)
{
    return row->row.stages[stage].kind == ROW_REDUCE && row->row.stages[stage].pass == pass;
}

/* The value of a stage, with registers where they have what it needs. */
static loop_value value_here(struct device_row *row, const struct walk *walk, int stage,
                             loop_value register_place, loop_value in_stash)
{
    struct device_loads computed = {0};
    for (int i = 0; i < row->row.stage_count && walk->keeps; i++) {
        struct device_row_stage *own = &row->stages[i];
        if (own->computed && row->row.stages[i].pass < walk->pass)
            vector_push(
                row->arena, &computed,
                ((struct device_load){.load = own->computed_value, .registers = own->computed}));
    }
    loop_value value = row->stages[stage].value;
    if (walk->stashed) {
        vector_push(row->arena, &computed, row->kept.at[0]);
        computed.at[0].registers = row->stashed;
        return device_loads_use(row->arena, walk->loads,
                                device_loads_use(row->arena, &computed, value, in_stash),
                                register_place);
    }
    if (computed.count)
        value = device_loads_use(row->arena, &computed, value, register_place);
    return device_loads_use(row->arena, walk->loads, value, register_place);
}

/* A sum goes on. */
static void add_element(struct device_row *row, const struct walk *walk, struct loop_block *block,
                        int stage, const loop_value *values, loop_value sum,
                        loop_value register_place)
{
    struct arena *arena = row->arena;
    struct device_row_stage *own = &row->stages[stage];
    enum ir_monoid_kind monoid = row->row.stages[stage].stage->monoid->kind;
    loop_value value = values[0];
    if (own->place) {
        struct loop_variable *best = loop_let(block, "best", loop_load(arena, own->sums, sum, 1));
        struct loop_variable *place =
            loop_let(block, "best_place", loop_load(arena, own->places, sum, 1));
        device_combine_one(block, monoid, best, place, (struct device_pair){value, values[1]});
        loop_store(block, own->sums, sum, loop_of(arena, best));
        loop_store(block, own->places, sum, loop_of(arena, place));
        return;
    }
    if (own->computed && walk->keeps) {
        value = device_name(block, "computed", value);
        loop_store(block, own->computed, register_place, value);
    }
    loop_value old = loop_load(arena, own->sums, sum, 1);
    loop_store(block, own->sums, sum, loop_combine(arena, monoid, old, value));
}

/* One element: sums go on, results are stored. `made`: where vectors of results are gathered. */
static void do_element(struct device_row *row, const struct walk *walk, struct loop_block *block,
                       const struct map *places, loop_value item, loop_value element,
                       const struct loop_buffer *const *made)
{
    struct arena *arena = row->arena;
    int count = row->row.stage_count;
    loop_value *values = arena_array(arena, 3 * (size_t)count, sizeof *values);
    int *stages = arena_array(arena, (size_t)count, sizeof *stages), used = 0, total = 0;
    loop_value register_place =
        loop_add(arena, loop_mul(arena, item, device_row_integer(row, row->elements)), element);
    loop_value in_stash = walk->stashed ? stash_place(row, item, element) : NULL;
    for (int i = 0; i < count; i++) {
        struct device_row_stage *own = &row->stages[i];
        bool map = stores_in(row, walk, i);
        if (!map && !device_row_sums_in(row, i, walk->pass))
            continue;
        loop_value value = value_here(row, walk, i, register_place, in_stash);
        values[total++] = loop_replace(arena, value, places);
        if (map || own->place)
            values[total++] = loop_replace(arena, map ? own->offset : own->place, places);
        stages[used++] = i;
    }
    skeleton_share(block, values, total);
    loop_value sum = row->is_across ? element : device_row_integer(row, 0);
    for (int k = 0, at = 0; k < used; k++) {
        struct device_row_stage *own = &row->stages[stages[k]];
        if (row->row.stages[stages[k]].kind != ROW_MAP) {
            add_element(row, walk, block, stages[k], &values[at], sum, register_place);
            at += 1 + (own->place != NULL);
            continue;
        }
        loop_value value = values[at++], offset = values[at++];
        bool vector = made[stages[k]] != NULL;
        struct loop_statement *store = loop_store(block, vector ? made[stages[k]] : own->buffer,
                                                  vector ? element : offset, value);
        store->mask = vector ? NULL : row->inside;
    }
}

static void do_step(struct device_row *row, const struct walk *walk, struct loop_block *block,
                    const struct step *step, loop_value item, bool whole)
{
    struct arena *arena = row->arena;
    const struct loop_buffer **made =
        arena_array(arena, (size_t)row->row.stage_count, sizeof *made);
    struct loop_block *body = block;
    struct map places = map_new(arena);
    loop_value element = device_row_integer(row, 0),
               elements = device_row_integer(row, row->elements);
    bool several = row->elements > 1;
    for (int i = 0; i < row->row.stage_count && whole && several; i++)
        if (stores_in(row, walk, i) && walk->aligned_stores[i])
            made[i] = loop_stack(block, arena_printf(arena, "%s_here", row->stages[i].buffer->name),
                                 row->stages[i].buffer->dtype, 1, row->elements);
    if (several) {
        struct loop_variable *counter;
        body = loop_for(block, LOOP_UNROLL, "element", element, elements, NULL, &counter);
        element = loop_of(arena, counter);
    }
    loop_value place = loop_add(arena, step->from, element);
    if (!whole)
        body = loop_if(body, loop_less(arena, place, device_row_extent(row)));
    device_row_copy_places(&places, &step->places);
    device_row_place(&places, device_row_lane(row), place);
    map_set_bytes(&places, &row->which, sizeof row->which, (void *)element);
    do_element(row, walk, body, &places, item, element, made);
    for (int i = 0; i < row->row.stage_count; i++) {
        if (!made[i])
            continue;
        struct loop_block *guarded = row->inside ? loop_if(block, row->inside) : block;
        device_move(guarded, row->stages[i].buffer,
                    loop_replace(arena, row->stages[i].offset, &step->places), made[i],
                    device_row_integer(row, 0), row->elements, true);
    }
}

/* ---- walks ---- */

struct items { /* steps of a thread that are done together, by number */
    int64_t from, to;
    bool sure; /* every thread has them, whole */
};

/* Steps that lie `stride` apart: loads, or all that is computed. */
static void do_steps(struct device_row *row, const struct walk *walk, struct loop_block *block,
                     loop_value first, loop_value stride, struct items items, const bool *wanted)
{
    struct arena *arena = row->arena;
    struct loop_variable *counter;
    struct loop_block *body = block;
    loop_value item = device_row_integer(row, items.from);
    if (items.from >= items.to)
        return;
    if (items.to - items.from > 1) {
        /* what is in shared memory needs no numbers of registers */
        enum loop_kind kind = walk->stashed && !wanted ? LOOP_SERIAL : LOOP_UNROLL;
        body =
            loop_for(block, kind, "item", item, device_row_integer(row, items.to), NULL, &counter);
        item = loop_of(arena, counter);
    } else {
        body = loop_if(block, loop_bool(arena, true)); /* a scope for its names */
    }
    loop_value at = loop_add(arena, first, loop_mul(arena, item, stride));
    struct step step = step_at(row, walk, body, at, items.sure);
    if (wanted) {
        load_step(row, walk, body, &step, item, wanted);
        return;
    }
    do_step(row, walk, step.whole ? loop_if(body, step.whole) : body, &step, item, true);
    if (row->elements > 1 && step.partial)
        do_step(row, walk, loop_if(loop_else(body), step.some), &step, item, false);
}

static bool any_of(const struct walk *walk, const bool *wanted)
{
    bool any = false;
    for (size_t i = 0; i < walk->loads->count; i++)
        any |= wanted[i];
    return any;
}

/* The first steps, which stay in registers: first all loads, then all that is computed. Those that
 * every thread has need no guards; where something is only read for this pass, as weights are, some
 * steps are done at a time. */
static void walk_kept(struct device_row *row, struct walk *walk, loop_value first,
                      loop_value stride, const bool *wanted)
{
    int64_t sure = sure_steps(row), all = known_steps(row), keep = row->keep + row->stash;
    int64_t width = (int64_t)row->stride * row->split;
    bool any = any_of(walk, wanted), last = walk->pass > 1 && walk->pass == row->row.pass_count;
    if (all >= 0 && (all + width - 1) / width < keep)
        keep = (all + width - 1) / width;
    int64_t together = any && last && row->unroll < keep ? row->unroll : keep;
    for (int64_t from = 0; from < keep; from += together) {
        int64_t to = from + together < keep ? from + together : keep;
        for (int computing = !any; computing < 2; computing++) {
            struct items items = {.from = from};
            for (; items.from < to; items.from = items.to) {
                items.sure = items.from < sure;
                items.to = items.sure && sure < to ? sure : to;
                walk->stashed = items.from >= row->keep;
                walk->keeps = !walk->stashed;
                if (!walk->stashed && row->keep < items.to)
                    items.to = row->keep;
                if (walk->stashed && computing && any && walk->pass == 1 && items.from == row->keep)
                    loop_wait(row->top);
                do_steps(row, walk, row->top, first, stride, items, computing ? NULL : wanted);
            }
        }
    }
    walk->keeps = walk->stashed = false;
}

/* Whether a value takes more than a few instructions. */
static bool is_costly(loop_value value)
{
    if (!value || value->op != LOOP_APPLY)
        return false;
    switch (value->apply) {
    case IR_EXP:
    case IR_LOG:
    case IR_TANH:
    case IR_ERF:
    case IR_POW:
    case IR_SIN:
    case IR_COS: return true;
    default: return is_costly(value->a) || is_costly(value->b) || is_costly(value->c);
    }
}

/* Whether the next pass has the value as part of one of its own. */
static bool is_used_next(struct device_row *row, loop_value value, int pass)
{
    struct device_loads ignored = {0}, sought = {0};
    struct device_load one = {.load = value};
    one.registers = loop_stack(loop_block_new(row->arena), "sought", DTYPE_F32, 1, 1);
    vector_push(row->arena, &sought, one);
    bool used = false;
    if (pass == row->row.pass_count)
        return false;
    device_row_collect(row, pass + 1, &ignored);
    for (int i = 0; i < row->row.stage_count; i++) {
        loop_value other = row->stages[i].value;
        if (other && row_in_pass(&row->row.stages[i], pass + 1))
            used |=
                device_loads_use(row->arena, &sought, other, device_row_integer(row, 0)) != other;
    }
    return used;
}

/* Registers for what this pass computes, when the next one wants it. */
static void keep_computed(struct device_row *row, int pass)
{
    for (int i = 0; i < row->row.stage_count; i++) {
        struct device_row_stage *own = &row->stages[i];
        if (!device_row_sums_in(row, i, pass) || own->place || !is_costly(own->value) ||
            !is_used_next(row, own->value, pass))
            continue;
        own->computed_value = own->value;
        own->computed = loop_stack(row->top, "kept", own->value->type.dtype, 1,
                                   (int64_t)row->keep * row->elements);
    }
}

/* Registers for the loads of a pass from pass to pass; `wanted`: those that are not there yet. */
static void keep_loads(struct device_row *row, struct device_loads *loads, bool *wanted)
{
    struct arena *arena = row->arena;
    for (size_t i = 0; i < loads->count; i++) {
        for (size_t k = 0; k < row->kept.count; k++)
            if (loop_equal(row->kept.at[k].load, loads->at[i].load))
                loads->at[i].registers = row->kept.at[k].registers;
        wanted[i] = !loads->at[i].registers;
        if (!wanted[i])
            continue;
        loads->at[i].registers = loop_stack(
            row->top, arena_printf(arena, "%s_kept", loads->at[i].buffer->name),
            loads->at[i].buffer->dtype, 1, (int64_t)(row->keep + row->stash) * row->elements);
        vector_push(arena, &row->kept, loads->at[i]);
    }
}

/* Steps from number `from` of each thread on, up to those at `end`, some at a time. */
static void stream(struct device_row *row, struct walk *walk, loop_value first, int64_t from,
                   loop_value end, bool sure)
{
    struct arena *arena = row->arena;
    int64_t width = (int64_t)row->stride * row->split;
    struct loop_variable *counter;
    struct device_loads *loads = walk->loads;
    bool *wanted = arena_array(arena, loads->count + 1, sizeof *wanted);
    struct loop_block *body =
        loop_for(row->top, LOOP_SERIAL, "step",
                 loop_add(arena, first, device_row_integer(row, from * width)), end,
                 device_row_integer(row, width * row->unroll), &counter);
    for (size_t i = 0; i < loads->count; i++) {
        wanted[i] = true;
        loads->at[i].registers =
            loop_stack(body, arena_printf(arena, "%s_here", loads->at[i].buffer->name),
                       loads->at[i].buffer->dtype, 1, (int64_t)row->unroll * row->elements);
    }
    struct items items = {.to = row->unroll, .sure = sure};
    loop_value at = loop_of(arena, counter), stride = device_row_integer(row, width);
    if (any_of(walk, wanted))
        do_steps(row, walk, body, at, stride, items, wanted);
    do_steps(row, walk, body, at, stride, items, NULL);
}

void device_row_walk(struct device_row *row, int pass)
{
    struct arena *arena = row->arena;
    struct device_loads loads = {0};
    struct walk walk = {.loads = &loads, .pass = pass};
    if (row->is_across)
        row->element = loop_of(arena, row->which);
    device_row_collect(row, pass, &loads);
    device_row_align(row, &loads);
    for (int i = 0; i < row->row.stage_count; i++)
        if (stores_in(row, &walk, i))
            walk.aligned_stores[i] = device_row_store_aligned(row, &row->stages[i]);
    bool *wanted = arena_array(arena, loads.count + 1, sizeof *wanted);
    int64_t width = (int64_t)row->stride * row->split, steps = known_steps(row);
    loop_value first = row->lane, stride = device_row_integer(row, width);
    if (row->part)
        first = loop_add(arena, loop_mul(arena, row->part, device_row_integer(row, row->stride)),
                         first);
    if (row->keep + row->stash) {
        keep_loads(row, &loads, wanted);
        keep_computed(row, pass);
        walk_kept(row, &walk, first, stride, wanted);
    }
    int64_t kept = row->keep + row->stash, done = kept;
    int64_t sure = (sure_steps(row) - kept) / row->unroll * row->unroll;
    if (sure > 0) {
        done += sure;
        stream(row, &walk, first, kept, device_row_integer(row, done * width), true);
    }
    if (steps < 0 || steps > done * width)
        stream(row, &walk, first, done, step_count(row), false);
}
