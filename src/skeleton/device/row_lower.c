/*
 * The functions of the row skeleton for devices: see row.h for how a row is gone over.
 */
#include <string.h>

#include "skeleton/device/row.h"
#include "skeleton/slots.h"

/* ---- sizes ---- */

static const struct ir_size *product(struct arena *arena, const struct nest_chains *chains,
                                     int except)
{
    const struct ir_size *size = ir_size_constant(arena, 1);
    for (int i = 0; i < chains->count; i++)
        if (i != except)
            size = ir_size_make(arena, IR_SIZE_MUL, size, chains->at[i].extent);
    return size;
}

static loop_value count_of(struct device_row *row, const struct nest_chains *chains, int except)
{
    return skeleton_size(&row->values, product(row->arena, chains, except));
}

static loop_value number(struct device_row *row, int64_t value)
{
    return loop_integer(row->arena, value);
}

static void set_place(struct map *places, const struct nest_chain *chain, loop_value value)
{
    map_set_bytes(places, &chain->variable, sizeof chain->variable, (void *)value);
}

/* A number as the indices of chains, all but one, the last fastest. */
static void unfold(struct device_row *row, struct loop_block *block, struct map *places,
                   const struct nest_chains *chains, int except, loop_value rest)
{
    int first = except == 0 ? 1 : 0;
    for (int i = chains->count - 1; i >= 0; i--) {
        const struct nest_chain *chain = &chains->at[i];
        if (i == except)
            continue;
        if (i == first) {
            set_place(places, chain, rest);
            return;
        }
        loop_value extent = skeleton_size(&row->values, chain->extent);
        loop_value outer = device_name(block, "rest", device_quotient(row->arena, rest, extent));
        loop_value own = loop_sub(row->arena, rest, loop_mul(row->arena, outer, extent));
        set_place(places, chain, device_name(block, chain->variable->name, own));
        rest = outer;
    }
}

/* ---- the thread ---- */

static struct loop_launch launch_of(const struct device_row *row, int split)
{
    struct arena *arena = row->arena;
    struct loop_launch launch = {.block = {row->threads}};
    const struct ir_size *blocks;
    if (row->is_across) {
        blocks = device_blocks(arena, row->left.at[row->across].extent,
                               (int64_t)row->team * row->elements);
        blocks = ir_size_make(arena, IR_SIZE_MUL, product(arena, &row->left, row->across), blocks);
    } else {
        blocks = device_blocks(arena, product(arena, &row->left, -1), row->threads / row->team);
    }
    launch.grid[0] = split > 1
                         ? ir_size_make(arena, IR_SIZE_MUL, blocks, ir_size_constant(arena, split))
                         : blocks;
    return launch;
}

static void open_along(struct device_row *row, loop_value block_number)
{
    struct arena *arena = row->arena;
    struct loop_block *top = row->top;
    loop_value thread = loop_thread_number(arena, 0), team = number(row, row->team);
    int rows = row->threads / row->team;
    loop_value own = block_number;
    row->lane = device_name(top, "lane", device_remainder(arena, thread, team));
    if (rows > 1) {
        loop_value count = count_of(row, &row->left, -1);
        own = loop_add(arena, loop_mul(arena, block_number, number(row, rows)),
                       device_quotient(arena, thread, team));
        own = device_name(top, "own", own);
        row->inside = device_name(top, "inside", loop_less(arena, own, count));
        own = loop_min(arena, own, loop_sub(arena, count, number(row, 1)));
    }
    row->row_number = device_name(top, "row", own);
    unfold(row, top, &row->places, &row->left, -1, row->row_number);
    row->element = number(row, 0);
    row->combining.stride = 1;
    row->combining.width = row->team;
}

static void open_across(struct device_row *row, loop_value block_number)
{
    struct arena *arena = row->arena;
    struct loop_block *top = row->top;
    const struct nest_chain *lane = device_row_lane(row);
    loop_value thread = loop_thread_number(arena, 0), team = number(row, row->team);
    loop_value extent = skeleton_size(&row->values, lane->extent);
    int64_t tile = (int64_t)row->team * row->elements;
    loop_value pieces =
        device_quotient(arena, loop_add(arena, extent, number(row, tile - 1)), number(row, tile));
    pieces = device_name(top, "pieces", pieces);
    loop_value other = device_name(top, "outer", device_quotient(arena, block_number, pieces));
    loop_value piece = loop_sub(arena, block_number, loop_mul(arena, other, pieces));
    loop_value column =
        loop_add(arena, loop_mul(arena, piece, team), device_remainder(arena, thread, team));
    row->lane = device_name(top, "lane", device_quotient(arena, thread, team));
    row->column = device_name(top, "column", loop_mul(arena, column, number(row, row->elements)));
    row->row_number =
        device_name(top, "row", loop_add(arena, loop_mul(arena, other, extent), row->column));
    unfold(row, top, &row->places, &row->left, row->across, other);
    row->combining.stride = row->team;
    row->combining.width = row->threads / row->team;
}

/* The variable that stands for which of its rows a thread means. */
static struct loop_variable *element_variable(struct arena *arena)
{
    struct loop_variable *variable = arena_new(arena, struct loop_variable);
    *variable = (struct loop_variable){"element", LOOP_COUNTER, {DTYPE_I64, 1}, IR_NONE};
    return variable;
}

static void begin(struct device_row *row, const char *name, int split)
{
    struct arena *arena = row->arena;
    struct loop_launch launch = launch_of(row, split);
    row->top = loop_launch(row->kernel, name, slots_note(row->group), &launch);
    row->combining = (struct device_team){
        .device = row->group->target->device, .top = row->top, .threads = row->threads};
    row->kept = (struct device_loads){0};
    row->places = map_new(arena);
    row->inside = row->part = NULL;
    loop_value block_number = loop_block_number(arena, 0);
    if (split > 1) {
        loop_value shares = number(row, split);
        row->part = device_name(row->top, "part", device_remainder(arena, block_number, shares));
        block_number =
            device_name(row->top, "whole_block", device_quotient(arena, block_number, shares));
    }
    if (row->is_across)
        open_across(row, block_number);
    else
        open_along(row, block_number);
}

/* ---- steps ---- */

struct step {
    struct map places;
    loop_value from;  /* along the lane chain */
    loop_value some;  /* whether there is such a step */
    loop_value whole; /* and its vector is whole and aligned */
};

static loop_value lane_extent(struct device_row *row)
{
    return skeleton_size(&row->values, device_row_lane(row)->extent);
}

/* Vectors of a row; across: its elements. */
static loop_value step_count(struct device_row *row)
{
    struct arena *arena = row->arena;
    if (row->is_across)
        return count_of(row, &row->reduced, -1);
    loop_value vectors = lane_extent(row);
    if (row->elements > 1)
        vectors = device_quotient(arena, loop_add(arena, vectors, number(row, row->elements - 1)),
                                  number(row, row->elements));
    return row->reduced.count == 1
               ? vectors
               : loop_mul(arena, count_of(row, &row->reduced, row->reduced.count - 1), vectors);
}

static void copy_places(struct map *to, const struct map *from)
{
    for (size_t i = 0; i < from->count; i++)
        map_set_bytes(to, from->entries[i].key, from->entries[i].length, from->entries[i].value);
}

struct walk { /* what is done at each step of a pass */
    struct device_loads *loads;
    int pass;
    bool aligned_stores[ROW_MAX_STAGES];
    struct loop_variable *element;
};

static bool stores_in(const struct device_row *row, const struct walk *walk, int stage)
{
    return row->row.stages[stage].kind == ROW_MAP &&
           row_in_pass(&row->row.stages[stage], walk->pass) && row->stages[stage].offset &&
           row->group->needed[row->row.stages[stage].stage->writes[0].tensor];
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
        offset = loop_replace(arena, offset, &step->places);
        if (!bits || !loop_equal(bits, offset)) /* often all are the same */
            bits = bits ? loop_apply(arena, IR_BITOR, bits, offset, NULL) : offset;
    }
    if (!bits)
        return NULL;
    bits = loop_apply(arena, IR_BITAND, bits, number(row, row->elements - 1), NULL);
    return loop_apply(arena, IR_EQ, bits, number(row, 0), NULL);
}

static struct step step_at(struct device_row *row, const struct walk *walk,
                           struct loop_block *block, loop_value at)
{
    struct arena *arena = row->arena;
    struct step step = {.places = map_new(arena)};
    int inner = row->reduced.count - 1;
    copy_places(&step.places, &row->places);
    at = device_name(block, "at", at);
    step.some = loop_less(arena, at, step_count(row));
    if (row->is_across) {
        unfold(row, block, &step.places, &row->reduced, -1, at);
        step.from = row->column;
    } else {
        loop_value vector = at;
        if (row->reduced.count > 1) {
            loop_value extent = lane_extent(row);
            loop_value vectors = device_name(
                block, "vectors",
                device_quotient(arena, loop_add(arena, extent, number(row, row->elements - 1)),
                                number(row, row->elements)));
            loop_value outer = device_name(block, "outer", device_quotient(arena, at, vectors));
            vector = loop_sub(arena, at, loop_mul(arena, outer, vectors));
            unfold(row, block, &step.places, &row->reduced, inner, outer);
        }
        step.from = device_name(block, row->reduced.at[inner].variable->name,
                                loop_mul(arena, vector, number(row, row->elements)));
    }
    set_place(&step.places, device_row_lane(row), step.from);
    loop_value end = loop_add(arena, step.from, number(row, row->elements));
    loop_value whole = loop_apply(arena, IR_LE, end, lane_extent(row), NULL);
    if (row->is_across || row->reduced.count > 1)
        whole = device_and(arena, step.some, whole);
    step.whole =
        device_name(block, "whole", device_and(arena, whole, step_aligned(row, walk, &step)));
    return step;
}

static void load_step(struct device_row *row, const struct walk *walk, struct loop_block *block,
                      const struct step *step, loop_value item, const bool *wanted)
{
    struct arena *arena = row->arena;
    struct loop_block *whole = loop_if(block, step->whole), *rest = NULL, *some = NULL;
    struct loop_variable *counter;
    struct map places = map_new(arena);
    loop_value first = loop_mul(arena, item, number(row, row->elements)), at = NULL;
    for (size_t i = 0; i < walk->loads->count; i++) {
        const struct device_load *load = &walk->loads->at[i];
        if (!wanted[i])
            continue;
        device_move(whole, load->registers, first, load->buffer,
                    loop_replace(arena, load->load->offset, &step->places), row->elements,
                    load->vector);
        if (row->elements == 1)
            continue;
        if (!rest) {
            rest = loop_else(block);
            some = loop_if(rest, step->some);
            some = loop_for(some, LOOP_UNROLL, "element", number(row, 0),
                            number(row, row->elements), NULL, &counter);
            loop_value place = loop_add(arena, step->from, loop_of(arena, counter));
            some = loop_if(some, loop_less(arena, place, lane_extent(row)));
            copy_places(&places, &step->places);
            set_place(&places, device_row_lane(row), place);
            at = loop_add(arena, first, loop_of(arena, counter));
        }
        loop_move(some, load->registers, at, load->buffer,
                  loop_replace(arena, load->load->offset, &places), 1);
    }
}

/* One element: sums go on, results are stored. `made`: where vectors of results are gathered. */
static void do_element(struct device_row *row, const struct walk *walk, struct loop_block *block,
                       const struct map *places, loop_value register_place, loop_value element,
                       const struct loop_buffer *const *made)
{
    struct arena *arena = row->arena;
    int count = row->row.stage_count;
    loop_value *values = arena_array(arena, 3 * (size_t)count, sizeof *values);
    int *stages = arena_array(arena, (size_t)count, sizeof *stages), used = 0, total = 0;
    for (int i = 0; i < count; i++) {
        struct device_row_stage *own = &row->stages[i];
        bool map = stores_in(row, walk, i);
        bool reduce =
            row->row.stages[i].kind == ROW_REDUCE && row->row.stages[i].pass == walk->pass;
        if (!map && !reduce)
            continue;
        loop_value value = device_loads_use(arena, walk->loads, own->value, register_place);
        values[total++] = loop_replace(arena, value, places);
        if (map || own->place)
            values[total++] = loop_replace(arena, map ? own->offset : own->place, places);
        stages[used++] = i;
    }
    skeleton_share(block, values, total);
    loop_value sum = row->is_across ? element : number(row, 0);
    for (int k = 0, at = 0; k < used; k++) {
        struct device_row_stage *own = &row->stages[stages[k]];
        const struct ir_stage *ir = row->row.stages[stages[k]].stage;
        loop_value value = values[at++];
        if (row->row.stages[stages[k]].kind == ROW_MAP) {
            loop_value offset = values[at++];
            bool vector = made[stages[k]] != NULL;
            struct loop_statement *store = loop_store(block, vector ? made[stages[k]] : own->buffer,
                                                      vector ? element : offset, value);
            store->mask = vector ? NULL : row->inside;
        } else if (own->place) {
            struct loop_variable *best =
                loop_let(block, "best", loop_load(arena, own->sums, sum, 1));
            struct loop_variable *place =
                loop_let(block, "best_place", loop_load(arena, own->places, sum, 1));
            device_combine_one(block, ir->monoid->kind, best, place,
                               (struct device_pair){value, values[at++]});
            loop_store(block, own->sums, sum, loop_of(arena, best));
            loop_store(block, own->places, sum, loop_of(arena, place));
        } else {
            loop_value old = loop_load(arena, own->sums, sum, 1);
            loop_store(block, own->sums, sum, loop_combine(arena, ir->monoid->kind, old, value));
        }
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
    loop_value element = number(row, 0);
    bool several = row->elements > 1;
    for (int i = 0; i < row->row.stage_count && whole && several; i++)
        if (stores_in(row, walk, i) && walk->aligned_stores[i])
            made[i] = loop_stack(block, arena_printf(arena, "%s_here", row->stages[i].buffer->name),
                                 row->stages[i].buffer->dtype, 1, row->elements);
    if (several) {
        struct loop_variable *counter;
        body = loop_for(block, LOOP_UNROLL, "element", element, number(row, row->elements), NULL,
                        &counter);
        element = loop_of(arena, counter);
    }
    loop_value place = loop_add(arena, step->from, element);
    if (!whole)
        body = loop_if(body, loop_less(arena, place, lane_extent(row)));
    copy_places(&places, &step->places);
    set_place(&places, device_row_lane(row), place);
    map_set_bytes(&places, &walk->element, sizeof walk->element, (void *)element);
    do_element(row, walk, body, &places,
               loop_add(arena, loop_mul(arena, item, number(row, row->elements)), element), element,
               made);
    for (int i = 0; i < row->row.stage_count; i++) {
        if (!made[i])
            continue;
        struct loop_block *guarded = row->inside ? loop_if(block, row->inside) : block;
        device_move(guarded, row->stages[i].buffer,
                    loop_replace(arena, row->stages[i].offset, &step->places), made[i],
                    number(row, 0), row->elements, true);
    }
}

/* `count` steps, `stride` apart: first all loads, then all that is computed. */
static void do_steps(struct device_row *row, const struct walk *walk, struct loop_block *block,
                     loop_value first, loop_value stride, int count, const bool *wanted)
{
    struct arena *arena = row->arena;
    bool any = false;
    for (size_t i = 0; i < walk->loads->count; i++)
        any |= wanted[i];
    for (int phase = any ? 0 : 1; phase < 2; phase++) {
        struct loop_variable *counter;
        struct loop_block *body = block;
        loop_value item = number(row, 0);
        if (count > 1) {
            body = loop_for(block, LOOP_UNROLL, "item", item, number(row, count), NULL, &counter);
            item = loop_of(arena, counter);
        } else {
            body = loop_if(block, loop_bool(arena, true)); /* a scope for its names */
        }
        struct step step =
            step_at(row, walk, body, loop_add(arena, first, loop_mul(arena, item, stride)));
        if (phase == 0) {
            load_step(row, walk, body, &step, item, wanted);
            continue;
        }
        do_step(row, walk, loop_if(body, step.whole), &step, item, true);
        if (row->elements > 1)
            do_step(row, walk, loop_if(loop_else(body), step.some), &step, item, false);
    }
}

/* ---- sums ---- */

static bool is_sum(const struct device_row *row, int stage, int pass)
{
    return row->row.stages[stage].kind == ROW_REDUCE && row->row.stages[stage].pass == pass;
}

static void open_sums(struct device_row *row, int stage)
{
    struct device_row_stage *own = &row->stages[stage];
    const struct ir_stage *ir = row->row.stages[stage].stage;
    const struct ir_part *part = row->group->part;
    enum dtype dtype = ir->nodes.at[ir->writes[0].value].type;
    struct device_pair unit = device_unit(row->arena, ir->monoid->kind, dtype);
    int count = device_row_sums(row);
    own->sums = loop_stack(row->top, part->tensors[ir->writes[0].tensor].name, dtype, 1, count);
    own->places = NULL;
    if (device_is_indexed(ir->monoid->kind))
        own->places =
            loop_stack(row->top, part->tensors[ir->writes[1].tensor].name, DTYPE_I64, 1, count);
    for (int e = 0; e < count; e++) {
        loop_store(row->top, own->sums, number(row, e), unit.value);
        if (own->places)
            loop_store(row->top, own->places, number(row, e), unit.place);
    }
}

/* What the team has, in every thread of it; rounded when it is final. */
static void join_sums(struct device_row *row, int stage, bool final)
{
    struct arena *arena = row->arena;
    struct device_row_stage *own = &row->stages[stage];
    const struct ir_stage *ir = row->row.stages[stage].stage;
    for (int e = 0; e < device_row_sums(row); e++) {
        loop_value at = number(row, e);
        struct loop_variable *place = NULL;
        struct loop_variable *value =
            loop_let(row->top, "joined", loop_load(arena, own->sums, at, 1));
        if (own->places)
            place = loop_let(row->top, "joined_place", loop_load(arena, own->places, at, 1));
        device_combine(&row->combining, row->top, ir->monoid->kind, value, place);
        loop_value result = loop_of(arena, value);
        if (final)
            result = skeleton_round(&row->values, ir->writes[0].tensor, result);
        loop_store(row->top, own->sums, at, result);
        if (place)
            loop_store(row->top, own->places, at, loop_of(arena, place));
    }
}

/* Where the block's share of a sum is left. */
static loop_value partial_place(struct device_row *row, loop_value part, loop_value element)
{
    struct arena *arena = row->arena;
    loop_value rows = count_of(row, &row->left, -1);
    return loop_add(arena, loop_mul(arena, part, rows), loop_add(arena, row->row_number, element));
}

static loop_value in_columns(struct device_row *row, loop_value element)
{
    if (!row->is_across)
        return row->inside;
    return loop_less(row->arena, loop_add(row->arena, row->column, element), lane_extent(row));
}

static void leave_sums(struct device_row *row, int stage)
{
    struct arena *arena = row->arena;
    struct device_row_stage *own = &row->stages[stage];
    struct loop_block *first =
        loop_if(row->top, loop_apply(arena, IR_EQ, row->lane, number(row, 0), NULL));
    for (int e = 0; e < device_row_sums(row); e++) {
        loop_value at = number(row, e), place = partial_place(row, row->part, at);
        loop_store(first, own->partial, place, loop_load(arena, own->sums, at, 1))->mask =
            in_columns(row, at);
        if (own->places)
            loop_store(first, own->partial_places, place, loop_load(arena, own->places, at, 1))
                ->mask = in_columns(row, at);
    }
}

/* The sums of an earlier launch, from what its blocks left. */
static void take_sums(struct device_row *row, int stage)
{
    struct arena *arena = row->arena;
    struct device_row_stage *own = &row->stages[stage];
    const struct ir_stage *ir = row->row.stages[stage].stage;
    struct loop_variable *counter;
    open_sums(row, stage);
    struct loop_block *body =
        loop_for(row->top, LOOP_SERIAL, "part", row->lane, number(row, row->split),
                 number(row, row->combining.width), &counter);
    for (int e = 0; e < device_row_sums(row); e++) {
        loop_value at = number(row, e), place = partial_place(row, loop_of(arena, counter), at);
        loop_value exists = in_columns(row, at);
        struct loop_block *guarded = exists ? loop_if(body, exists) : body;
        struct loop_variable *value =
                                 loop_let(guarded, "value", loop_load(arena, own->sums, at, 1)),
                             *where = NULL;
        struct device_pair other = {.value = loop_load(arena, own->partial, place, 1)};
        if (own->places) {
            where = loop_let(guarded, "place", loop_load(arena, own->places, at, 1));
            other.place = loop_load(arena, own->partial_places, place, 1);
        }
        device_combine_one(guarded, ir->monoid->kind, value, where, other);
        loop_store(guarded, own->sums, at, loop_of(arena, value));
        if (where)
            loop_store(guarded, own->places, at, loop_of(arena, where));
    }
    join_sums(row, stage, true);
}

/* ---- passes ---- */

static void walk_pass(struct device_row *row, int pass)
{
    struct arena *arena = row->arena;
    struct device_loads loads = {0};
    struct walk walk = {.loads = &loads, .pass = pass, .element = element_variable(arena)};
    if (row->is_across)
        row->element = loop_of(arena, walk.element);
    device_row_collect(row, pass, &loads);
    device_row_align(row, &loads);
    for (int i = 0; i < row->row.stage_count; i++) {
        if (is_sum(row, i, pass))
            open_sums(row, i);
        if (stores_in(row, &walk, i))
            walk.aligned_stores[i] = device_row_store_aligned(row, &row->stages[i]);
    }
    bool *wanted = arena_array(arena, loads.count + 1, sizeof *wanted);
    loop_value first = row->lane, stride = number(row, row->combining.width);
    if (row->part) {
        first = loop_add(arena, loop_mul(arena, row->part, stride), row->lane);
        stride = number(row, (int64_t)row->split * row->combining.width);
    }
    for (size_t i = 0; i < loads.count && row->keep; i++) {
        for (size_t k = 0; k < row->kept.count; k++)
            if (loop_equal(row->kept.at[k].load, loads.at[i].load))
                loads.at[i].registers = row->kept.at[k].registers;
        wanted[i] = !loads.at[i].registers;
        if (!wanted[i])
            continue;
        loads.at[i].registers =
            loop_stack(row->top, arena_printf(arena, "%s_kept", loads.at[i].buffer->name),
                       loads.at[i].buffer->dtype, 1, (int64_t)row->keep * row->elements);
        vector_push(arena, &row->kept, loads.at[i]);
    }
    if (row->keep)
        do_steps(row, &walk, row->top, first, stride, row->keep, wanted);
    struct loop_variable *counter;
    struct loop_block *body =
        loop_for(row->top, LOOP_SERIAL, "step",
                 loop_add(arena, first, loop_mul(arena, stride, number(row, row->keep))),
                 step_count(row), loop_mul(arena, stride, number(row, row->unroll)), &counter);
    for (size_t i = 0; i < loads.count; i++) {
        wanted[i] = true;
        loads.at[i].registers =
            loop_stack(body, arena_printf(arena, "%s_here", loads.at[i].buffer->name),
                       loads.at[i].buffer->dtype, 1, (int64_t)row->unroll * row->elements);
    }
    do_steps(row, &walk, body, loop_of(arena, counter), stride, row->unroll, wanted);
}

/* Values of rows that someone else reads, by the first thread of each team. */
static void store_values(struct device_row *row)
{
    struct arena *arena = row->arena;
    struct skeleton_values *values = &row->values;
    struct loop_block *first = NULL;
    for (int e = 0; e < device_row_sums(row); e++) {
        struct map places = map_new(arena);
        row->element = number(row, e);
        values->memo = NULL;
        copy_places(&places, &row->places);
        if (row->is_across)
            set_place(&places, device_row_lane(row), loop_add(arena, row->column, row->element));
        for (int i = 0; i < row->row.stage_count; i++) {
            const struct ir_stage *ir = row->row.stages[i].stage;
            for (int w = 0; row->row.stages[i].kind != ROW_MAP && w < ir->write_count; w++) {
                int tensor = ir->writes[w].tensor;
                loop_value at[IR_MAX_RANK];
                if (!row->group->needed[tensor])
                    continue;
                if (!first)
                    first = loop_if(row->top,
                                    loop_apply(arena, IR_EQ, row->lane, number(row, 0), NULL));
                for (int d = 0; d < row->group->part->tensors[tensor].rank; d++)
                    at[d] = skeleton_value(values, ir, ir->writes[w].at[d]);
                loop_value offset = skeleton_offset(values, tensor, at);
                loop_value value =
                    row->row.stages[i].kind == ROW_REDUCE
                        ? loop_load(arena, w ? row->stages[i].places : row->stages[i].sums,
                                    row->element, 1)
                        : skeleton_round(values, tensor,
                                         skeleton_value(values, ir, ir->writes[w].value));
                loop_value exists = in_columns(row, row->element);
                struct loop_block *guarded = exists ? loop_if(first, exists) : first;
                loop_store(guarded, skeleton_buffer(values, tensor),
                           loop_replace(arena, offset, &places),
                           loop_replace(arena, value, &places));
            }
        }
    }
}

static bool has_values(const struct device_row *row)
{
    bool any = false;
    for (int i = 0; i < row->row.stage_count; i++)
        for (int w = 0; w < row->row.stages[i].stage->write_count; w++)
            any |= row->row.stages[i].kind != ROW_MAP &&
                   row->group->needed[row->row.stages[i].stage->writes[w].tensor];
    return any;
}

static void lower_split(struct device_row *row)
{
    struct arena *arena = row->arena;
    const struct ir_size *count = ir_size_make(arena, IR_SIZE_MUL, product(arena, &row->left, -1),
                                               ir_size_constant(arena, row->split));
    for (int i = 0; i < row->row.stage_count; i++) {
        const struct ir_stage *ir = row->row.stages[i].stage;
        if (row->row.stages[i].kind != ROW_REDUCE)
            continue;
        const char *name = row->group->part->tensors[ir->writes[0].tensor].name;
        row->stages[i].partial = loop_scratch(row->kernel, arena_printf(arena, "%s_parts", name),
                                              ir->nodes.at[ir->writes[0].value].type, count);
        if (device_is_indexed(ir->monoid->kind))
            row->stages[i].partial_places =
                loop_scratch(row->kernel, arena_printf(arena, "%s_places", name), DTYPE_I64, count);
    }
    for (int pass = 1; pass <= row->row.pass_count + has_values(row); pass++) {
        bool last = pass > row->row.pass_count;
        begin(row, last ? row->plan->name : arena_printf(arena, "%s_%d", row->plan->name, pass),
              last ? 1 : row->split);
        for (int i = 0; i < row->row.stage_count; i++)
            if (row->row.stages[i].kind == ROW_REDUCE && row->row.stages[i].pass < pass)
                take_sums(row, i);
        if (last) {
            store_values(row);
        } else {
            walk_pass(row, pass);
            for (int i = 0; i < row->row.stage_count; i++) {
                if (!is_sum(row, i, pass))
                    continue;
                join_sums(row, i, false);
                leave_sums(row, i);
            }
        }
        loop_prune(row->top);
    }
}

void device_row_lower(const struct skeleton_group *group, const struct plan_group *plan,
                      struct loop_kernel *kernel)
{
    struct device_row row;
    struct skeleton_reason ignored = {""};
    device_row_init(&row, group, kernel, &ignored);
    device_row_decide(&row, plan);
    if (row.split > 1) {
        lower_split(&row);
        return;
    }
    begin(&row, plan->name, 1);
    for (int pass = 1; pass <= row.row.pass_count; pass++) {
        walk_pass(&row, pass);
        for (int i = 0; i < row.row.stage_count; i++)
            if (is_sum(&row, i, pass))
                join_sums(&row, i, true);
    }
    store_values(&row);
    loop_prune(row.top);
}
