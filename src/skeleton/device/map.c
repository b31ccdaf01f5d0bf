/*
 * Maps over the same domain on a device: each thread computes `items` vectors of elements, loaded
 * before anything is computed. Threads run along the index the first result is dense in, `width` of
 * them, and the others of a block over the indices outside it.
 */
#include <math.h>
#include <string.h>

#include "skeleton/device/device.h"
#include "skeleton/map.h"
#include "skeleton/slots.h"

struct device_map {
    const struct skeleton_group *group;
    struct arena *arena;
    struct nest nest;
    struct nest_chains chains;
    int lane; /* the chain threads run along, or -1: there is one element */
    struct skeleton_values values;
    int store_count;
    loop_value *offsets, *stored;
    const struct loop_buffer **buffers;
    bool *vector; /* per store: its place is a multiple of the vector's length */
    struct device_loads loads;
    /* decided */
    int threads, width, items, elements;
    int resident;
    bool is_known;
};

static bool map_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct nest nest;
    struct nest_axes axes;
    return map_fits(group, &nest, &axes, why_not);
}

/* ---- what is stored ---- */

/* What the group itself defines is its value at the same point. */
static loop_value map_resolve(void *context, struct skeleton_values *values, int tensor,
                              const loop_value *at)
{
    (void)at;
    const struct device_map *map = context;
    const struct ir_stage *stage = nest_definer(&map->nest, tensor);
    if (!stage)
        return NULL;
    return skeleton_round(values, tensor, skeleton_value(values, stage, stage->writes[0].value));
}

static void map_collect(struct device_map *map)
{
    const struct skeleton_group *group = map->group;
    struct skeleton_values *values = &map->values;
    size_t most = (size_t)group->stage_count + 1;
    map->offsets = arena_array(map->arena, most, sizeof *map->offsets);
    map->stored = arena_array(map->arena, most, sizeof *map->stored);
    map->buffers = arena_array(map->arena, most, sizeof *map->buffers);
    map->vector = arena_array(map->arena, most, sizeof *map->vector);
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = nest_stage(&map->nest, i);
        int tensor = stage->writes[0].tensor;
        if (!group->needed[tensor])
            continue;
        loop_value at[IR_MAX_RANK];
        for (int d = 0; d < group->part->tensors[tensor].rank; d++)
            at[d] = skeleton_value(values, stage, stage->writes[0].at[d]);
        int number = map->store_count++;
        map->buffers[number] = skeleton_buffer(values, tensor);
        map->offsets[number] = skeleton_offset(values, tensor, at);
        map->stored[number] =
            skeleton_round(values, tensor, skeleton_value(values, stage, stage->writes[0].value));
    }
    map->lane = map->chains.count - 1;
    for (int i = map->chains.count - 1; i >= 0 && map->store_count > 0; i--) {
        if (device_is_dense(map->arena, map->offsets[0], map->chains.at[i].variable)) {
            map->lane = i;
            break;
        }
    }
}

/* The group at a kernel; for predictions a kernel of no consequence. */
static void map_init(struct device_map *map, const struct skeleton_group *group,
                     struct loop_kernel *kernel)
{
    struct nest_axes axes;
    struct skeleton_reason ignored;
    *map = (struct device_map){.group = group, .arena = kernel->arena};
    map_fits(group, &map->nest, &axes, &ignored);
    map->chains = nest_chain(&map->nest, map->arena, &axes);
    map->values = (struct skeleton_values){
        .group = group, .kernel = kernel, .resolve = map_resolve, .context = map};
    map->values.indices =
        arena_array(map->arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    nest_bind_all(&map->nest, &map->values, &map->chains);
    map_collect(map);
    for (int i = 0; map->lane >= 0 && i < map->store_count; i++)
        device_loads_add(map->arena, &map->loads, map->stored[i],
                         map->chains.at[map->lane].variable);
}

/* Which accesses can be moved as vectors. */
static void map_align(struct device_map *map)
{
    const struct nest_chains *lists[] = {&map->chains};
    const struct loop_variable *along = map->chains.at[map->lane].variable;
    for (int i = 0; i < map->store_count; i++)
        map->vector[i] =
            device_is_dense(map->arena, map->offsets[i], along) &&
            device_is_aligned(map->group, map->offsets[i], lists, 1, along, map->elements);
    for (size_t i = 0; i < map->loads.count; i++)
        map->loads.at[i].vector = device_is_aligned(map->group, map->loads.at[i].load->offset,
                                                    lists, 1, along, map->elements);
}

/* ---- decisions ---- */

struct map_extents {
    int64_t inner, outer;    /* elements along the lane chain, and how many such */
    int smallest;            /* bytes of an element */
    int row_bytes, my_bytes; /* of a point in all loads: the same for all rows, or each its own */
    int aligned;             /* accesses that vectors of the seed's length fit */
};

/* Whether rows differ in what is loaded: the vectors of a thread are in rows of their own. */
static bool is_of_row(const struct device_map *map, const struct device_load *load)
{
    bool differs = map->chains.count <= 1;
    for (int i = 0; i < map->chains.count; i++)
        differs |= i != map->lane && loop_mentions(load->load->offset, map->chains.at[i].variable);
    return differs;
}

static struct map_extents map_extents_of(const struct device_map *map)
{
    struct map_extents extents = {.inner = 1, .outer = 1, .smallest = 8};
    for (int i = 0; i < map->chains.count; i++) {
        int64_t extent = nest_extent(&map->nest, &map->chains.at[i]);
        if (i == map->lane)
            extents.inner = extent;
        else
            extents.outer *= extent;
    }
    for (int i = 0; i < map->store_count; i++) {
        int bytes = (int)dtype_bytes(map->buffers[i]->dtype);
        extents.smallest = bytes < extents.smallest ? bytes : extents.smallest;
    }
    for (size_t i = 0; i < map->loads.count; i++) {
        int bytes = (int)dtype_bytes(map->loads.at[i].buffer->dtype);
        extents.smallest = bytes < extents.smallest ? bytes : extents.smallest;
        *(is_of_row(map, &map->loads.at[i]) ? &extents.my_bytes : &extents.row_bytes) += bytes;
    }
    return extents;
}

static int vector_seed(struct device_map *map, const struct map_extents *extents)
{
    for (int elements = 16 / extents->smallest; elements > 1; elements /= 2) {
        int fit = 0, misfit = 0;
        map->elements = elements > 8 ? 8 : elements;
        if (map->lane < 0 || extents->inner < map->elements)
            continue;
        map_align(map);
        for (int i = 0; i < map->store_count; i++)
            *(map->vector[i] ? &fit : &misfit) += 1;
        for (size_t i = 0; i < map->loads.count; i++)
            *(map->loads.at[i].vector ? &fit : &misfit) += 1;
        if (fit > misfit)
            return map->elements;
    }
    return 1;
}

static const char *const DIVISIONS[] = {"exact", "reciprocal"};
static const char *const LENGTHS[] = {"any", "known"};

/* Blocks of 256 threads that leave each enough registers to find out where it is. */
enum { MAP_RESIDENT = 4, MAP_OTHER_REGISTERS = 26, MAP_MOST_REGISTERS = 200 };

static double map_registers(const struct device_map *map)
{
    double bytes = 0;
    for (size_t i = 0; i < map->loads.count; i++)
        bytes += (double)dtype_bytes(map->loads.at[i].buffer->dtype) * map->elements * map->items;
    for (int i = 0; i < map->store_count; i++)
        bytes += (double)dtype_bytes(map->buffers[i]->dtype) * map->elements;
    return MAP_OTHER_REGISTERS + bytes / 4;
}

static void map_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    const struct skeleton_device *device = group->target->device;
    struct device_map map;
    map_init(&map, group, loop_kernel_new(group->arena, group->part));
    struct map_extents extents = map_extents_of(&map);
    int elements = vector_seed(&map, &extents);
    int64_t threads = device->block_threads < 256 ? device->block_threads : 256, width = threads;
    while (map.chains.count > 1 && width > 8 && width * elements / 2 >= extents.inner)
        width /= 2;
    /* 64 bytes under way per thread, but enough blocks for all multiprocessors */
    int64_t items = extents.my_bytes ? 64 / ((int64_t)elements * extents.my_bytes) : 2;
    int64_t all = extents.inner * extents.outer / elements / threads;
    items = items < 1 ? 1 : items > 8 ? 8 : items;
    while (items > 1 && all / items < 8 * (int64_t)device->units)
        items /= 2;
    map.elements = elements;
    for (map.items = (int)items; map.items > 1 && device->unit_registers; map.items /= 2)
        if (map_registers(&map) * (double)threads * MAP_RESIDENT <= device->unit_registers)
            break;
    items = map.items;
    items = device->warp == 1 ? 1 : items; /* a device that is a processor */
    device_slot(group, slots, "threads", "of a block", 32, device->block_threads, threads);
    device_slot(group, slots, "width", "threads side by side along the inner index",
                map.chains.count > 1 ? 1 : threads,
                map.chains.count > 1 ? device->block_threads : threads, width);
    device_slot(group, slots, "vector", "elements a thread loads and stores at once", 1,
                map.lane < 0 ? 1 : 16, elements);
    device_slot(group, slots, "items", "vectors of a thread", 1, 16, items);
    if (device->unit_registers)
        device_slot(group, slots, "resident", "blocks a multiprocessor should hold", 1, 16,
                    map.chains.count > 1 ? MAP_RESIDENT : 1);
    if (map.chains.count > 1)
        slots_add(group, slots, "length", "a version for the sizes at hand besides that for any",
                  LENGTHS, 2, device->warp > 1);
    slots_add(group, slots, "divide", "by what is the same everywhere, or times its reciprocal",
              DIVISIONS, 2, slots_division_may_differ(group, 0));
}

static void map_decide(struct device_map *map, const struct plan_group *plan)
{
    map->threads = (int)plan_number(plan, "threads", 256);
    map->width =
        map->chains.count > 1 ? (int)plan_number(plan, "width", map->threads) : map->threads;
    map->elements = (int)plan_number(plan, "vector", 1);
    map->items = (int)plan_number(plan, "items", 1);
    map->resident = (int)plan_number(plan, "resident", 1);
    map->is_known = map->chains.count > 1 && plan_is(plan, "length", "known");
}

static bool map_legal(const struct skeleton_group *group, const struct plan_group *plan,
                      struct skeleton_reason *why_not)
{
    struct device_map map;
    if (!map_match(group, why_not))
        return false;
    map_init(&map, group, loop_kernel_new(group->arena, group->part));
    map_decide(&map, plan);
    const struct skeleton_device *device = group->target->device;
    double most = MAP_MOST_REGISTERS;
    if (device->unit_registers && map.resident > 1)
        most = fmin(most, (double)device->unit_registers / (map.threads * map.resident));
    if (map.width > map.threads)
        nest_refuse(why_not, "a block has fewer threads than the width");
    else if (map.resident > 1 && map.threads * map.resident > device->unit_threads)
        nest_refuse(why_not, "a multiprocessor has no more than %d threads", device->unit_threads);
    else if (map_registers(&map) > most)
        nest_refuse(why_not, "what a thread keeps would take %.0f registers", map_registers(&map));
    else
        return true;
    return false;
}

static struct skeleton_cost map_predict(const struct skeleton_group *group,
                                        const struct plan_group *plan)
{
    struct device_map map;
    map_init(&map, group, loop_kernel_new(group->arena, group->part));
    map_decide(&map, plan);
    struct map_extents extents = map_extents_of(&map);
    struct skeleton_cost cost = {0};
    double points = (double)extents.inner * (double)extents.outer;
    double across = (double)map.threads / map.width; /* rows of a block */
    double pieces =
        (double)((extents.inner + map.width * map.elements - 1) / (map.width * map.elements));
    struct device_launch launch = {.threads = map.threads, .registers = map_registers(&map)};
    bool flat = map.chains.count <= 1;
    launch.blocks = flat ? points / (map.threads * map.elements * map.items)
                         : pieces * (double)extents.outer / (across * map.items);
    launch.blocks = launch.blocks < 1 ? 1 : launch.blocks;
    launch.bytes = device_bytes(&map.nest, map.lane < 0 ? NULL : &map.chains.at[map.lane], points);
    launch.unique = nest_bytes(&map.nest);
    launch.in_flight = (double)map.elements *
                       fmax(map.items * extents.my_bytes + extents.row_bytes, 4 * map.items);
    for (int i = 0; i < group->stage_count; i++)
        cost.operations += nest_operations(&map.nest, nest_stage(&map.nest, i));
    /* threads that have no element, and the work of each besides the elements' own */
    double guards = map.is_known ? 2 + 12.0 / map.elements : 4 + 24.0 / map.elements;
    double idle =
        flat ? 1 : pieces * map.width * map.elements / (double)(extents.inner ? extents.inner : 1);
    launch.operations = (cost.operations + points * guards) * idle;
    cost.bytes = launch.bytes;
    cost.vectors = (int)launch.registers;
    cost.seconds = device_seconds(group->target->device, &launch);
    return cost;
}

/* ---- what a thread does ---- */

struct map_point {     /* where the present vector is */
    struct map places; /* variables of chains -> values */
    loop_value from;   /* along the lane chain */
    loop_value inside; /* the indices outside it exist; NULL: always */
    loop_value whole;  /* and the vector is whole and aligned */
    bool partial;      /* there may be vectors that are not */
};

static void point_set(struct map_point *point, const struct nest_chain *chain, loop_value value)
{
    map_set_bytes(&point->places, &chain->variable, sizeof chain->variable, (void *)value);
}

/* The number of a row as the indices outside the lane chain, innermost last. */
static void point_rows(struct device_map *map, struct loop_block *block, struct map_point *point,
                       loop_value row)
{
    struct arena *arena = map->arena;
    int first = map->lane == 0 ? 1 : 0;
    for (int i = map->chains.count - 1; i >= 0; i--) {
        const struct nest_chain *chain = &map->chains.at[i];
        if (i == map->lane)
            continue;
        if (i == first) {
            point_set(point, chain, row);
            return;
        }
        loop_value extent = skeleton_size(&map->values, chain->extent);
        loop_value rest = device_name(block, "rest", device_quotient(arena, row, extent));
        loop_value own = loop_sub(arena, row, loop_mul(arena, rest, extent));
        point_set(point, chain, device_name(block, chain->variable->name, own));
        row = rest;
    }
}

/* Whether the vectors that are moved at once begin at multiples of their length. */
static loop_value point_aligned(struct device_map *map, const struct map_point *point)
{
    struct arena *arena = map->arena;
    loop_value bits = NULL;
    const struct nest_chains *lists[] = {&map->chains};
    const struct loop_variable *along = map->chains.at[map->lane].variable;
    size_t count = (size_t)map->store_count + map->loads.count;
    for (size_t i = 0; i < count && map->elements > 1; i++) {
        bool store = i < (size_t)map->store_count;
        const struct device_load *load = &map->loads.at[store ? 0 : i - (size_t)map->store_count];
        if (store ? !map->vector[i] : !load->vector)
            continue;
        loop_value offset = store ? map->offsets[i] : load->load->offset;
        if (device_is_aligned_always(arena, offset, lists, 1, along, map->elements))
            continue;
        offset = loop_replace(arena, offset, &point->places);
        if (!bits || !loop_equal(bits, offset)) /* often all are the same */
            bits = bits ? loop_apply(arena, IR_BITOR, bits, offset, NULL) : offset;
    }
    if (!bits)
        return NULL;
    bits = loop_apply(arena, IR_BITAND, bits, loop_integer(arena, map->elements - 1), NULL);
    return loop_apply(arena, IR_EQ, bits, loop_integer(arena, 0), NULL);
}

/* Where vector number `item` of this thread is. */
static struct map_point map_point_of(struct device_map *map, struct loop_block *block,
                                     loop_value item)
{
    struct arena *arena = map->arena;
    const struct nest_chain *lane = &map->chains.at[map->lane];
    struct map_point point = {.places = map_new(arena)};
    loop_value extent = skeleton_size(&map->values, lane->extent), from;
    loop_value number = loop_block_number(arena, 0), thread = loop_thread_number(arena, 0);
    if (map->chains.count == 1) {
        from = loop_add(arena, loop_mul(arena, number, loop_integer(arena, map->items)), item);
        from = loop_add(arena, loop_mul(arena, from, loop_integer(arena, map->threads)), thread);
    } else {
        loop_value tile = loop_integer(arena, (int64_t)map->width * map->elements);
        loop_value pieces = device_quotient(
            arena,
            loop_add(arena, extent, loop_integer(arena, (int64_t)map->width * map->elements - 1)),
            tile);
        pieces = device_name(block, "pieces", pieces);
        loop_value rows = device_name(block, "rows", device_quotient(arena, number, pieces));
        loop_value piece = loop_sub(arena, number, loop_mul(arena, rows, pieces));
        loop_value width = loop_integer(arena, map->width);
        loop_value row =
            loop_add(arena, loop_mul(arena, rows, loop_integer(arena, map->items)), item);
        row = loop_mul(arena, row, loop_integer(arena, map->threads / map->width));
        row =
            device_name(block, "row", loop_add(arena, row, device_quotient(arena, thread, width)));
        loop_value count = loop_integer(arena, 1);
        for (int i = 0; i < map->chains.count; i++)
            if (i != map->lane)
                count =
                    loop_mul(arena, count, skeleton_size(&map->values, map->chains.at[i].extent));
        point.inside = loop_less(arena, row, count);
        point_rows(map, block, &point, row);
        from =
            loop_add(arena, loop_mul(arena, piece, width), device_remainder(arena, thread, width));
    }
    point.from = device_name(block, lane->variable->name,
                             loop_mul(arena, from, loop_integer(arena, map->elements)));
    point_set(&point, lane, point.from);
    loop_value end = loop_add(arena, point.from, loop_integer(arena, map->elements));
    loop_value whole = loop_apply(arena, IR_LE, end, extent, NULL);
    loop_value aligned = point_aligned(map, &point);
    bool even = extent->op == LOOP_INTEGER && extent->integer % map->elements == 0;
    point.partial = map->elements > 1 && (aligned || !even);
    point.whole = device_and(arena, point.inside, device_and(arena, whole, aligned));
    point.whole = device_name(block, "whole", point.whole);
    return point;
}

static struct loop_block *item_loop(struct device_map *map, struct loop_block *block,
                                    loop_value *item)
{
    struct arena *arena = map->arena;
    struct loop_variable *counter;
    if (map->items == 1) {
        *item = loop_integer(arena, 0);
        return block;
    }
    block = loop_for(block, LOOP_UNROLL, "item", loop_integer(arena, 0),
                     loop_integer(arena, map->items), NULL, &counter);
    *item = loop_of(arena, counter);
    return block;
}

static void map_load(struct device_map *map, struct loop_block *block)
{
    struct arena *arena = map->arena;
    loop_value item;
    for (size_t i = 0; i < map->loads.count; i++)
        map->loads.at[i].registers =
            loop_stack(block, arena_printf(arena, "%s_here", map->loads.at[i].buffer->name),
                       map->loads.at[i].buffer->dtype, 1, (int64_t)map->items * map->elements);
    if (map->loads.count == 0)
        return;
    block = item_loop(map, block, &item);
    struct map_point point = map_point_of(map, block, item);
    struct loop_block *body = loop_if(block, point.whole);
    for (size_t i = 0; i < map->loads.count; i++) {
        const struct device_load *load = &map->loads.at[i];
        device_move(body, load->registers,
                    loop_mul(arena, item, loop_integer(arena, map->elements)), load->buffer,
                    loop_replace(arena, load->load->offset, &point.places), map->elements,
                    load->vector);
    }
}

/* A vector of results, from registers where values were loaded. */
static void map_whole(struct device_map *map, struct loop_block *block, struct map_point *point,
                      loop_value item)
{
    struct arena *arena = map->arena;
    const struct nest_chain *lane = &map->chains.at[map->lane];
    const struct loop_buffer **made =
        arena_array(arena, (size_t)map->store_count + 1, sizeof *made);
    loop_value *values = arena_array(arena, 2 * (size_t)map->store_count + 1, sizeof *values);
    struct loop_block *body = block;
    loop_value element = loop_integer(arena, 0);
    for (int i = 0; i < map->store_count && map->elements > 1; i++)
        if (map->vector[i])
            made[i] = loop_stack(block, arena_printf(arena, "%s_here", map->buffers[i]->name),
                                 map->buffers[i]->dtype, 1, map->elements);
    if (map->elements > 1) {
        struct loop_variable *counter;
        body = loop_for(block, LOOP_UNROLL, "element", element, loop_integer(arena, map->elements),
                        NULL, &counter);
        element = loop_of(arena, counter);
    }
    loop_value place =
        loop_add(arena, loop_mul(arena, item, loop_integer(arena, map->elements)), element);
    point_set(point, lane, loop_add(arena, point->from, element));
    for (int i = 0; i < map->store_count; i++) {
        values[2 * i] = loop_replace(
            arena, device_loads_use(arena, &map->loads, map->stored[i], place), &point->places);
        values[2 * i + 1] =
            made[i] ? element : loop_replace(arena, map->offsets[i], &point->places);
    }
    skeleton_share(body, values, 2 * map->store_count);
    for (int i = 0; i < map->store_count; i++)
        loop_store(body, made[i] ? made[i] : map->buffers[i], values[2 * i + 1], values[2 * i]);
    point_set(point, lane, point->from);
    for (int i = 0; i < map->store_count; i++)
        if (made[i])
            device_move(block, map->buffers[i],
                        loop_replace(arena, map->offsets[i], &point->places), made[i],
                        loop_integer(arena, 0), map->elements, true);
}

/* What is left of a vector, or one that is not aligned: element by element. */
static void map_rest(struct device_map *map, struct loop_block *block, struct map_point *point)
{
    struct arena *arena = map->arena;
    const struct nest_chain *lane = &map->chains.at[map->lane];
    loop_value *values = arena_array(arena, 2 * (size_t)map->store_count + 1, sizeof *values);
    loop_value extent = skeleton_size(&map->values, lane->extent);
    loop_value end = loop_add(arena, point->from, loop_integer(arena, map->elements));
    struct loop_variable *counter;
    if (point->inside)
        block = loop_if(block, point->inside);
    block = loop_for(block, LOOP_SERIAL, lane->variable->name, point->from,
                     loop_min(arena, end, extent), NULL, &counter);
    point_set(point, lane, loop_of(arena, counter));
    for (int i = 0; i < map->store_count; i++) {
        values[2 * i] = loop_replace(arena, map->stored[i], &point->places);
        values[2 * i + 1] = loop_replace(arena, map->offsets[i], &point->places);
    }
    skeleton_share(block, values, 2 * map->store_count);
    for (int i = 0; i < map->store_count; i++)
        loop_store(block, map->buffers[i], values[2 * i + 1], values[2 * i]);
}

static struct loop_launch map_launch(const struct device_map *map)
{
    struct arena *arena = map->arena;
    struct loop_launch launch = {.block = {map->threads}, .minimum_blocks = map->resident};
    const struct ir_size *extent = map->chains.at[map->lane].extent;
    if (map->chains.count == 1) {
        launch.grid[0] =
            device_blocks(arena, extent, (int64_t)map->threads * map->elements * map->items);
        return launch;
    }
    const struct ir_size *rows = ir_size_constant(arena, 1);
    for (int i = 0; i < map->chains.count; i++)
        if (i != map->lane)
            rows = ir_size_make(arena, IR_SIZE_MUL, rows, map->chains.at[i].extent);
    rows = device_blocks(arena, rows, (int64_t)map->threads / map->width * map->items);
    extent = device_blocks(arena, extent, (int64_t)map->width * map->elements);
    launch.grid[0] = ir_size_make(arena, IR_SIZE_MUL, extent, rows);
    return launch;
}

/* What a thread does. */
static void map_write(struct device_map *map, const struct plan_group *plan,
                      struct loop_block *block)
{
    const struct loop_variable *along = map->chains.at[map->lane].variable;
    loop_value item;
    map_align(map);
    for (int i = 0; i < map->store_count && plan_is(plan, "divide", "reciprocal"); i++)
        map->stored[i] = skeleton_reciprocal(map->arena, map->stored[i], along);
    map_load(map, block);
    block = item_loop(map, block, &item);
    struct map_point point = map_point_of(map, block, item);
    map_whole(map, loop_if(block, point.whole), &point, item);
    if (point.partial)
        map_rest(map, loop_else(block), &point);
}

/* The map with all sizes fixed that say where an element is, and the condition for it. */
static loop_value map_fix(const struct device_map *map, struct loop_kernel *kernel,
                          struct device_map *fixed)
{
    const struct ir_size *sizes[NEST_MAX_AXES];
    loop_value condition;
    int count = 0;
    for (int i = 0; i < map->chains.count; i++)
        if (i > 0 || map->lane == 0)
            sizes[count++] = map->chains.at[i].extent;
    map_init(fixed, device_known(map->arena, map->group, sizes, count, &condition), kernel);
    return condition;
}

static void map_lower(const struct skeleton_group *group, const struct plan_group *plan,
                      struct loop_kernel *kernel)
{
    struct device_map map;
    map_init(&map, group, kernel);
    map_decide(&map, plan);
    if (map.lane < 0) { /* one element */
        struct loop_launch one = {.block = {1}};
        struct loop_block *block = loop_launch(kernel, plan->name, slots_note(group), &one);
        skeleton_share(block, map.stored, map.store_count);
        for (int i = 0; i < map.store_count; i++)
            loop_store(block, map.buffers[i], map.offsets[i], map.stored[i]);
        return;
    }
    struct loop_launch launch = map_launch(&map);
    struct loop_block *top = loop_launch(kernel, plan->name, slots_note(group), &launch);
    struct loop_block *block = top;
    if (map.is_known) {
        struct device_map fixed;
        loop_value condition = map_fix(&map, kernel, &fixed);
        map_decide(&fixed, plan);
        fixed.lane = map.lane;
        map_write(&fixed, plan, condition ? loop_if(top, condition) : top);
        block = condition ? loop_else(top) : NULL;
    }
    if (block)
        map_write(&map, plan, block);
    loop_prune(top);
}

const struct skeleton skeleton_device_map = {
    .name = "map",
    .note = "maps over one domain, a few vectors of elements per thread",
    .match = map_match,
    .open = map_open,
    .legal = map_legal,
    .predict = map_predict,
    .lower = map_lower,
};
