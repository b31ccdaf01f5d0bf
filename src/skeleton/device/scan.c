/*
 * scan on devices: running sums, products, extremes along one axis.
 *
 *     team of threads: one line, `items` elements of it per thread, side by side, at a time
 *         what a thread has, combined from its first element on
 *         what the threads before it have: exchanges within a warp, shared memory between warps
 *         all of it behind what the line had so far; stores; the line goes on
 *
 * Where the axis is not the innermost one a team is one thread, and neighbouring threads have
 * neighbouring lines.
 */
#include <math.h>
#include <stdlib.h>

#include "skeleton/device/device.h"
#include "skeleton/scan.h"
#include "skeleton/slots.h"

enum { MOST_ITEMS = 16, MOST_REGISTERS = 200 };

static bool scan_device_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct nest nest;
    return scan_fits(group, &nest, why_not);
}

/* ---- decisions ---- */

struct decided {
    int threads, team, items;
};

static struct decided decide(const struct plan_group *plan)
{
    return (struct decided){(int)plan_number(plan, "threads", 256),
                            (int)plan_number(plan, "team", 1), (int)plan_number(plan, "items", 4)};
}

static int64_t power_up_to(int64_t value, int64_t most)
{
    int64_t power = 1;
    while (power < value && power < most)
        power *= 2;
    return power;
}

static void scan_device_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    struct scan_shape shape = scan_shape_of(group, group->arena);
    int64_t most =
        group->target->device->block_threads < 1024 ? group->target->device->block_threads : 1024;
    device_slot(group, slots, "threads", "of a block", 32, most, 256);
    device_slot(group, slots, "team", "threads of a line", 1, shape.across >= 0 ? 1 : most,
                power_up_to((shape.length + 3) / 4, 256));
    device_slot(group, slots, "items", "elements of a thread at a time", 1, MOST_ITEMS, 4);
}

static double registers_of(const struct scan_shape *shape, const struct decided *decided)
{
    return 26 + decided->items * 1.5 * nest_value_bytes(&shape->nest) / 4;
}

static bool scan_device_legal(const struct skeleton_group *group, const struct plan_group *plan,
                              struct skeleton_reason *why_not)
{
    if (!scan_device_match(group, why_not))
        return false;
    struct scan_shape shape = scan_shape_of(group, group->arena);
    struct decided decided = decide(plan);
    if (decided.team > decided.threads)
        nest_refuse(why_not, "a block has fewer threads than a line has");
    else if (decided.team > 1 && shape.across >= 0)
        nest_refuse(why_not, "the axis is not the innermost one: a line is one thread's");
    else if (decided.threads > group->target->device->block_threads)
        nest_refuse(why_not, "%d threads are more than the %d a block may have", decided.threads,
                    group->target->device->block_threads);
    else if (registers_of(&shape, &decided) > MOST_REGISTERS)
        nest_refuse(why_not, "what a thread keeps would take %.0f registers",
                    registers_of(&shape, &decided));
    else
        return true;
    return false;
}

/* Threads of a warp can exchange values of the type. */
static bool exchanges(const struct skeleton_device *device, enum dtype dtype)
{
    return device->warp > 1 && dtype != DTYPE_BOOL;
}

static enum dtype value_type(const struct scan_shape *shape)
{
    return shape->stage->nodes.at[shape->stage->writes[0].value].type;
}

static int shared_elements(const struct skeleton_device *device, const struct decided *decided,
                           enum dtype dtype)
{
    if (decided->team == 1)
        return 0;
    if (!exchanges(device, dtype))
        return decided->threads;
    return decided->team > device->warp ? decided->threads / device->warp : 0;
}

static struct skeleton_cost scan_device_predict(const struct skeleton_group *group,
                                                const struct plan_group *plan)
{
    enum {
        STEPS = 6,
        MEETING = 60
    }; /* instructions of an element, of a thread that meets others */
    struct scan_shape shape = scan_shape_of(group, group->arena);
    const struct skeleton_device *device = group->target->device;
    struct decided decided = decide(plan);
    enum dtype dtype = value_type(&shape);
    double each = nest_value_bytes(&shape.nest), chunk = (double)decided.team * decided.items;
    double points = (double)shape.line_count * (double)shape.length;
    double idle = ceil((double)shape.length / chunk) * chunk / fmax(1, (double)shape.length);
    double meeting = decided.team == 1 ? 4
                     : exchanges(device, dtype)
                         ? MEETING
                         : MEETING * (1 + log2(decided.team)); /* barriers at every step */
    bool apart = decided.team == 1 && shape.across < 0; /* each thread in a line of its own */
    double bytes = nest_bytes(&shape.nest), pieces = decided.items * each / DEVICE_MOVE;
    /* threads have neighbouring elements: the more, the farther apart are the pieces that a warp
     * moves at once (on an H200, of f32: 2.1 ms with 4 items, 2.4 with 8, 3.1 with 16) */
    double scattered = shape.across < 0 && pieces > 1 ? 1 + 0.15 * (pieces - 1) : 1;
    if (apart)
        scattered = fmax(1, DEVICE_TRANSACTION / (decided.items * each));
    struct device_launch launch = {
        .blocks = ceil((double)shape.line_count * decided.team / decided.threads),
        .threads = decided.threads,
        .registers = registers_of(&shape, &decided),
        .shared = shared_elements(device, &decided, dtype) * (double)dtype_bytes(dtype),
        .bytes = bytes * scattered,
        .unique = bytes,
        .in_flight = 1.5 * decided.items * each, /* stores are under way while loads are */
        .operations = points * idle * (STEPS + meeting / decided.items)};
    struct skeleton_cost cost = {.bytes = launch.bytes,
                                 .operations = nest_operations(&shape.nest, shape.stage),
                                 .vectors = (int)launch.registers,
                                 .shared = (int64_t)launch.shared};
    /* lines that are long and few go on step by step, each waiting for the one before */
    double chunks = ceil((double)shape.length / chunk);
    cost.seconds = fmax(device_seconds(device, &launch), device->launch + chunks * 0.5e-6);
    return cost;
}

static int scan_device_seeds(const struct skeleton_group *group, struct plan_group *plans, int most)
{
    static const char *const ITEMS[] = {"4", "8", "16", "2"};
    static const char *const TEAMS[] = {"256", "128", "64", "32", "512", "1", "8"};
    struct skeleton_reason why_not;
    struct plan_group best = plans[0];
    double least = INFINITY;
    if (most < 1)
        return 0;
    for (size_t i = 0; i < sizeof ITEMS / sizeof *ITEMS; i++)
        for (size_t t = 0; t < sizeof TEAMS / sizeof *TEAMS; t++) {
            struct plan_group plan = plans[0];
            plan_set(group->arena, &plan, "threads", atoi(TEAMS[t]) > 256 ? TEAMS[t] : "256");
            plan_set(group->arena, &plan, "team", TEAMS[t]);
            plan_set(group->arena, &plan, "items", ITEMS[i]);
            if (!scan_device_legal(group, &plan, &why_not))
                continue;
            double seconds = scan_device_predict(group, &plan).seconds;
            if (seconds < 0.95 * least) { /* of what is about the same the first */
                least = seconds;
                best = plan;
            }
        }
    plans[0] = best;
    return isfinite(least) ? 1 : 0;
}

/* ---- what a thread does ---- */

struct scanning {
    struct scan_shape shape;
    struct skeleton_values values;
    struct arena *arena;
    const struct skeleton_device *device;
    struct decided decided;
    enum ir_monoid_kind monoid;
    enum dtype dtype;
    loop_value value, offset; /* of an element, in terms of the chains' variables */
    struct device_loads loads;
    const struct loop_buffer *shared, *target;
    loop_value lane, inside, extent;
    struct map places; /* variables of chains -> values */
};

static loop_value number(const struct scanning *s, int64_t value)
{
    return loop_integer(s->arena, value);
}

static loop_value unit(const struct scanning *s)
{
    return loop_unit(s->arena, s->monoid, (struct loop_type){s->dtype, 1});
}

static loop_value join(const struct scanning *s, loop_value first, loop_value second)
{
    return loop_combine(s->arena, s->monoid, first, second);
}

static void place(struct scanning *s, const struct nest_chain *chain, loop_value value)
{
    map_set_bytes(&s->places, &chain->variable, sizeof chain->variable, (void *)value);
}

/* The number of a line as indices: lines that lie side by side run fastest. */
static void open_line(struct scanning *s, struct loop_block *block, loop_value line)
{
    struct arena *arena = s->arena;
    const struct nest_chains *lines = &s->shape.lines;
    const struct nest_chain *order[NEST_MAX_AXES];
    int count = 0;
    for (int i = 0; i < lines->count; i++)
        if (i != s->shape.across)
            order[count++] = &lines->at[i];
    if (s->shape.across >= 0)
        order[count++] = &lines->at[s->shape.across];
    for (int i = count - 1; i >= 0; i--) {
        if (i == 0) {
            place(s, order[0], line);
            return;
        }
        loop_value extent = skeleton_size(&s->values, order[i]->extent);
        loop_value rest = device_name(block, "rest", device_quotient(arena, line, extent));
        loop_value own = loop_sub(arena, line, loop_mul(arena, rest, extent));
        place(s, order[i], device_name(block, order[i]->variable->name, own));
        line = rest;
    }
}

/* Where position `at` of the scan is along the axis. */
static void open_place(struct scanning *s, loop_value at)
{
    if (s->shape.stage->reverse)
        at = loop_sub(s->arena, loop_sub(s->arena, s->extent, number(s, 1)), at);
    place(s, &s->shape.axis, at);
}

static struct loop_block *each_item(struct scanning *s, struct loop_block *block, int from,
                                    loop_value *item)
{
    struct loop_variable *counter;
    struct loop_block *body = loop_for(block, LOOP_UNROLL, "item", number(s, from),
                                       number(s, s->decided.items), NULL, &counter);
    *item = loop_of(s->arena, counter);
    return body;
}

/* Whether all elements of the thread exist and can be moved as vectors; NULL: they never can. */
static loop_value whole(struct scanning *s, struct loop_block *block, loop_value first)
{
    struct arena *arena = s->arena;
    const struct loop_variable *axis = s->shape.axis.variable;
    if (s->shape.stage->reverse || s->shape.across >= 0 || s->decided.items < 2)
        return NULL;
    loop_value bits = device_is_dense(arena, s->offset, axis) ? s->offset : NULL;
    for (size_t i = 0; bits && i < s->loads.count; i++)
        if (!loop_equal(bits, s->loads.at[i].load->offset))
            bits = loop_apply(arena, IR_BITOR, bits, s->loads.at[i].load->offset, NULL);
    if (!bits)
        return NULL;
    place(s, &s->shape.axis, first);
    int once = DEVICE_MOVE / (int)dtype_bytes(s->target->dtype);
    for (size_t i = 0; i < s->loads.count; i++) {
        int other = DEVICE_MOVE / (int)dtype_bytes(s->loads.at[i].buffer->dtype);
        once = other > once ? other : once;
    }
    once = once < s->decided.items ? once : s->decided.items;
    bits = loop_replace(arena, bits, &s->places);
    bits = loop_apply(arena, IR_BITAND, bits, number(s, once - 1), NULL);
    loop_value end = loop_add(arena, first, number(s, s->decided.items));
    loop_value all = loop_apply(arena, IR_LE, end, s->extent, NULL);
    all = device_and(arena, all, loop_apply(arena, IR_EQ, bits, number(s, 0), NULL));
    return device_name(block, "whole", device_and(arena, s->inside, all));
}

/* The elements of this thread into `here`; units where there are none. */
static void take_items(struct scanning *s, struct loop_block *block, const struct loop_buffer *here,
                       loop_value first, loop_value vectors)
{
    struct arena *arena = s->arena;
    loop_value item;
    struct loop_block *rest = block;
    if (vectors) {
        struct loop_block *body = loop_if(block, vectors);
        place(s, &s->shape.axis, first);
        for (size_t i = 0; i < s->loads.count; i++) {
            struct device_load *load = &s->loads.at[i];
            load->registers = loop_stack(body, arena_printf(arena, "%s_here", load->buffer->name),
                                         load->buffer->dtype, 1, s->decided.items);
            device_move(body, load->registers, number(s, 0), load->buffer,
                        loop_replace(arena, load->load->offset, &s->places), s->decided.items,
                        true);
        }
        struct loop_block *each = each_item(s, body, 0, &item);
        place(s, &s->shape.axis, loop_add(arena, first, item));
        loop_store(
            each, here, item,
            loop_replace(arena, device_loads_use(arena, &s->loads, s->value, item), &s->places));
        rest = loop_else(block);
    }
    struct loop_block *each = each_item(s, rest, 0, &item);
    loop_value at = device_name(each, "at", loop_add(arena, first, item));
    loop_store(each, here, item, unit(s));
    struct loop_block *there =
        loop_if(each, device_and(arena, s->inside, loop_less(arena, at, s->extent)));
    open_place(s, at);
    loop_store(there, here, item, loop_replace(arena, s->value, &s->places));
}

/* What stands before this thread's elements, combined with what the line had so far. */
static void put_items(struct scanning *s, struct loop_block *block, const struct loop_buffer *here,
                      loop_value first, loop_value before, loop_value vectors)
{
    struct arena *arena = s->arena;
    const struct ir_stage *stage = s->shape.stage;
    int tensor = stage->writes[0].tensor;
    loop_value item;
    const struct loop_buffer *made =
        loop_stack(block, "made", s->target->dtype, 1, s->decided.items);
    struct loop_block *body = each_item(s, block, 0, &item);
    loop_value out = join(s, before, loop_load(arena, here, item, 1));
    if (stage->exclusive) { /* one element later */
        loop_value none = loop_apply(arena, IR_EQ, item, number(s, 0), NULL);
        loop_value last = loop_select(arena, none, item, loop_sub(arena, item, number(s, 1)));
        out = loop_select(arena, none, before, join(s, before, loop_load(arena, here, last, 1)));
    }
    loop_store(body, made, item, skeleton_round(&s->values, tensor, out));
    struct loop_block *rest = block;
    if (vectors) {
        place(s, &s->shape.axis, first);
        device_move(loop_if(block, vectors), s->target, loop_replace(arena, s->offset, &s->places),
                    made, number(s, 0), s->decided.items, true);
        rest = loop_else(block);
    }
    body = each_item(s, rest, 0, &item);
    loop_value at = device_name(body, "at", loop_add(arena, first, item));
    body = loop_if(body, device_and(arena, s->inside, loop_less(arena, at, s->extent)));
    open_place(s, at);
    loop_store(body, s->target, loop_replace(arena, s->offset, &s->places),
               loop_load(arena, made, item, 1));
}

/* ---- threads of a team ---- */

struct met {
    loop_value before, all; /* what the threads before this one have, and all of the team */
};

static loop_value at_least(const struct scanning *s, loop_value value, int64_t least)
{
    return loop_apply(s->arena, IR_LE, number(s, least), value, NULL);
}

/* Between warps: each leaves what it has, and everybody adds up those before its own. */
static struct met meet_warps(struct scanning *s, struct loop_block *block, loop_value own,
                             loop_value in_warp, loop_value before)
{
    struct arena *arena = s->arena;
    int warp = s->device->warp, warps = s->decided.team / warp;
    loop_value mine = device_name(
        block, "warp", device_quotient(arena, loop_thread_number(arena, 0), number(s, warp)));
    loop_store(loop_if(block, at_least(s, in_warp, warp - 1)), s->shared, mine, own);
    loop_barrier(block);
    loop_value of_team =
        device_name(block, "of_team", device_remainder(arena, mine, number(s, warps)));
    struct loop_variable *front = loop_let(block, "front", unit(s));
    struct loop_variable *all = loop_let(block, "all", unit(s)), *counter;
    struct loop_block *body =
        loop_for(block, LOOP_UNROLL, "other_warp", number(s, 0), number(s, warps), NULL, &counter);
    loop_value which = loop_of(arena, counter);
    loop_value at = loop_add(arena, loop_sub(arena, mine, of_team), which);
    loop_value theirs = device_name(body, "theirs", loop_load(arena, s->shared, at, 1));
    loop_set(body, front,
             loop_select(arena, loop_less(arena, which, of_team),
                         join(s, loop_of(arena, front), theirs), loop_of(arena, front)));
    loop_set(body, all, join(s, loop_of(arena, all), theirs));
    loop_barrier(block);
    return (struct met){join(s, loop_of(arena, front), before), loop_of(arena, all)};
}

static struct met meet_by_exchange(struct scanning *s, struct loop_block *block,
                                   struct loop_variable *own)
{
    struct arena *arena = s->arena;
    int warp = s->device->warp, width = s->decided.team < warp ? s->decided.team : warp;
    loop_value in_warp =
        device_name(block, "in_warp", device_remainder(arena, s->lane, number(s, width)));
    for (int step = 1; step < width; step *= 2) {
        loop_value other = device_name(
            block, "other",
            loop_exchange(arena, LOOP_EXCHANGE_UP, loop_of(arena, own), number(s, step), width));
        loop_set(block, own,
                 loop_select(arena, at_least(s, in_warp, step), join(s, other, loop_of(arena, own)),
                             loop_of(arena, own)));
    }
    loop_value last = device_name(
        block, "last",
        loop_exchange(arena, LOOP_EXCHANGE_UP, loop_of(arena, own), number(s, 1), width));
    loop_value before =
        device_name(block, "before", loop_select(arena, at_least(s, in_warp, 1), last, unit(s)));
    if (s->decided.team > warp)
        return meet_warps(s, block, loop_of(arena, own), in_warp, before);
    loop_value all =
        loop_exchange(arena, LOOP_EXCHANGE_FROM, loop_of(arena, own), number(s, width - 1), width);
    return (struct met){before, device_name(block, "all", all)};
}

/* Through shared memory: what the threads 1, 2, 4, ... before have is added. */
static struct met meet_by_memory(struct scanning *s, struct loop_block *block,
                                 struct loop_variable *own)
{
    struct arena *arena = s->arena;
    loop_value thread = loop_thread_number(arena, 0);
    struct loop_variable *counter;
    int bits = 0;
    while (1 << bits < s->decided.team)
        bits++;
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "bit", number(s, 0), number(s, bits), NULL, &counter);
    loop_value apart = device_name(
        body, "apart", loop_apply(arena, IR_SHL, number(s, 1), loop_of(arena, counter), NULL));
    loop_value has = device_name(body, "has", loop_apply(arena, IR_LE, apart, s->lane, NULL));
    loop_store(body, s->shared, thread, loop_of(arena, own));
    loop_barrier(body);
    loop_value from = loop_select(arena, has, loop_sub(arena, thread, apart), thread);
    loop_value other = device_name(body, "other", loop_load(arena, s->shared, from, 1));
    loop_barrier(body);
    loop_set(body, own,
             loop_select(arena, has, join(s, other, loop_of(arena, own)), loop_of(arena, own)));
    loop_store(block, s->shared, thread, loop_of(arena, own));
    loop_barrier(block);
    loop_value later = at_least(s, s->lane, 1);
    loop_value back = loop_select(arena, later, loop_sub(arena, thread, number(s, 1)), thread);
    loop_value last = device_name(block, "last", loop_load(arena, s->shared, back, 1));
    loop_value end =
        loop_add(arena, loop_sub(arena, thread, s->lane), number(s, s->decided.team - 1));
    struct met met = {.before =
                          device_name(block, "before", loop_select(arena, later, last, unit(s))),
                      .all = device_name(block, "all", loop_load(arena, s->shared, end, 1))};
    loop_barrier(block);
    return met;
}

/* ---- the function ---- */

static void scan_chunks(struct scanning *s, struct loop_block *block)
{
    struct arena *arena = s->arena;
    struct loop_variable *carry = loop_let(block, "carry", unit(s)), *counter;
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "chunk", number(s, 0), s->extent,
                 number(s, (int64_t)s->decided.team * s->decided.items), &counter);
    loop_value first = loop_add(arena, loop_of(arena, counter),
                                loop_mul(arena, s->lane, number(s, s->decided.items)));
    first = device_name(body, "first", first);
    loop_value vectors = whole(s, body, first), item;
    const struct loop_buffer *here = loop_stack(body, "here", s->dtype, 1, s->decided.items);
    take_items(s, body, here, first, vectors);
    struct loop_block *each = each_item(s, body, 1, &item);
    loop_value previous = loop_load(arena, here, loop_sub(arena, item, number(s, 1)), 1);
    loop_store(each, here, item, join(s, previous, loop_load(arena, here, item, 1)));
    loop_value total = loop_load(arena, here, number(s, s->decided.items - 1), 1);
    struct met met = {unit(s), total};
    if (s->decided.team > 1) {
        struct loop_variable *own = loop_let(body, "own", total);
        met = exchanges(s->device, s->dtype) ? meet_by_exchange(s, body, own)
                                             : meet_by_memory(s, body, own);
    }
    loop_value before = device_name(body, "so_far", join(s, loop_of(arena, carry), met.before));
    put_items(s, body, here, first, before, vectors);
    loop_set(body, carry, join(s, loop_of(arena, carry), met.all));
}

static void scan_device_lower(const struct skeleton_group *group, const struct plan_group *plan,
                              struct loop_kernel *kernel)
{
    struct arena *arena = kernel->arena;
    struct scanning s = {.shape = scan_shape_of(group, arena),
                         .arena = arena,
                         .device = group->target->device,
                         .decided = decide(plan),
                         .places = map_new(arena)};
    const struct ir_stage *stage = s.shape.stage;
    const struct ir_write *write = stage->writes;
    loop_value at[IR_MAX_RANK];
    s.monoid = stage->monoid->kind;
    s.dtype = value_type(&s.shape);
    s.values = (struct skeleton_values){.group = group, .kernel = kernel};
    s.values.indices = arena_array(arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    nest_bind_all(&s.shape.nest, &s.values, &s.shape.lines);
    nest_bind(&s.shape.nest, &s.values, &s.shape.axis, loop_of(arena, s.shape.axis.variable));
    s.value = skeleton_value(&s.values, stage, write->value);
    for (int d = 0; d < group->part->tensors[write->tensor].rank; d++)
        at[d] = skeleton_value(&s.values, stage, write->at[d]);
    s.offset = skeleton_offset(&s.values, write->tensor, at);
    s.target = skeleton_buffer(&s.values, write->tensor);
    device_loads_add(arena, &s.loads, s.value, s.shape.axis.variable);

    int lines = s.decided.threads / s.decided.team;
    const struct ir_size *count = ir_size_constant(arena, 1);
    for (int i = 0; i < s.shape.lines.count; i++)
        count = ir_size_make(arena, IR_SIZE_MUL, count, s.shape.lines.at[i].extent);
    struct loop_launch launch = {.grid = {device_blocks(arena, count, lines)},
                                 .block = {s.decided.threads}};
    struct loop_block *block = loop_launch(kernel, plan->name, slots_note(group), &launch);
    int shared = shared_elements(s.device, &s.decided, s.dtype);
    if (shared > 0)
        s.shared = loop_shared(block, "left", s.dtype, shared);
    loop_value thread = loop_thread_number(arena, 0), team = number(&s, s.decided.team);
    s.lane = device_name(block, "lane", device_remainder(arena, thread, team));
    loop_value line =
        loop_add(arena, loop_mul(arena, loop_block_number(arena, 0), number(&s, lines)),
                 device_quotient(arena, thread, team));
    line = device_name(block, "line", line);
    s.inside =
        device_name(block, "inside", loop_less(arena, line, skeleton_size(&s.values, count)));
    s.extent = skeleton_size(&s.values, s.shape.axis.extent);
    open_line(&s, block, line);
    scan_chunks(&s, block);
    loop_prune(block);
}

const struct skeleton skeleton_device_scan = {
    .name = "scan",
    .note = "a scan along one axis, by teams of threads",
    .match = scan_device_match,
    .open = scan_device_open,
    .legal = scan_device_legal,
    .predict = scan_device_predict,
    .seeds = scan_device_seeds,
    .lower = scan_device_lower,
};
