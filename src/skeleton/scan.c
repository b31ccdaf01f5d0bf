/*
 * Scans along one axis. Where that axis is dense in memory, a vector of it is scanned in the
 * register in steps of 1, 2, 4, ... lanes, and what the vectors before it add up to is carried
 * along; else lanes run across lines that lie side by side, their carries on the stack.
 */
#include <stdlib.h>

#include "skeleton/scan.h"
#include "skeleton/slots.h"
#include "skeleton/soon.h"

bool scan_fits(const struct skeleton_group *group, struct nest *nest,
               struct skeleton_reason *why_not)
{
    const struct ir_stage *stage = &group->part->stages[group->stages[0]];
    if (group->stage_count != 1 || stage->kind != IR_SCAN) {
        nest_refuse(why_not, "not one scan");
        return false;
    }
    if (stage->monoid->kind > IR_ANY) {
        nest_refuse(why_not, "%s is more than one vector can hold", stage->monoid->name);
        return false;
    }
    return nest_init(nest, group, why_not);
}

static bool scan_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct nest nest;
    return scan_fits(group, &nest, why_not);
}

/* The line chain in which the result is dense. */
static int chain_across(const struct scan_shape *shape)
{
    const struct ir_stage *stage = shape->stage;
    int rank = shape->nest.group->part->tensors[stage->writes[0].tensor].rank;
    const struct ir_node *last = rank ? &stage->nodes.at[stage->writes[0].at[rank - 1]] : NULL;
    if (!last || last->op != IR_INDEX || last->index == stage->along)
        return -1;
    for (int i = 0; i < shape->lines.count; i++) {
        const struct nest_chain *chain = &shape->lines.at[i];
        if (chain->axes[chain->count - 1] == shape->nest.axis_of[last->index])
            return i;
    }
    return -1;
}

struct scan_shape scan_shape_of(const struct skeleton_group *group, struct arena *arena)
{
    struct scan_shape shape = {.line_count = 1};
    struct skeleton_reason ignored;
    scan_fits(group, &shape.nest, &ignored);
    shape.stage = nest_stage(&shape.nest, 0);
    struct nest_axes lines = {.count = 0}, axis = {.count = 1};
    axis.at[0] = shape.nest.axis_of[shape.stage->along];
    for (int i = 0; i < shape.stage->index_count; i++) {
        int other = shape.nest.axis_of[shape.stage->indices[i]];
        if (other != axis.at[0])
            lines.at[lines.count++] = other;
    }
    shape.lines = nest_chain(&shape.nest, arena, &lines);
    shape.axis = nest_chain(&shape.nest, arena, &axis).at[0];
    shape.across = chain_across(&shape);
    shape.length = nest_extent(&shape.nest, &shape.axis);
    for (int i = 0; i < shape.lines.count; i++)
        shape.line_count *= nest_extent(&shape.nest, &shape.lines.at[i]);
    return shape;
}

/* ---- decisions ---- */

static const char *const COLUMNS[] = {"64", "256", "512", "1024", "2048", "4096"};

static void scan_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    struct scan_shape shape = scan_shape_of(group, group->arena);
    int lanes = group->target->vector_bytes / nest_value_bytes(&shape.nest);
    double bytes = nest_bytes(&shape.nest);
    bool across = shape.across >= 0;
    int64_t extent = across ? nest_extent(&shape.nest, &shape.lines.at[shape.across]) : 0;
    int columns = 5;
    while (columns > 0 && atoll(COLUMNS[columns]) * group->target->threads > extent)
        columns--;
    slots_add_threads(group, slots, bytes, nest_operations(&shape.nest, shape.stage));
    slots_add_lanes(group, slots, shape.length < 4 && !across ? 1 : lanes, SLOTS_LANES);
    slots_add(group, slots, "columns", "lines side by side that one thread scans", COLUMNS,
              across ? 6 : 1, columns * across);
    slots_add_stores(group, slots,
                     (across ? extent : shape.length) % lanes == 0 && slots_is_large(group, bytes));
}

static bool scan_legal(const struct skeleton_group *group, const struct plan_group *plan,
                       struct skeleton_reason *why_not)
{
    if (plan_number(plan, "columns", 64) % plan_number(plan, "lanes", 1) != 0) {
        nest_refuse(why_not, "columns are no multiple of lanes");
        return false;
    }
    return scan_match(group, why_not);
}

static struct skeleton_cost scan_predict(const struct skeleton_group *group,
                                         const struct plan_group *plan)
{
    struct scan_shape shape = scan_shape_of(group, group->arena);
    struct skeleton_cost cost = {.bytes = nest_bytes(&shape.nest),
                                 .operations = 8 * nest_operations(&shape.nest, shape.stage)};
    cost.stack = plan_number(plan, "columns", 0) * nest_value_bytes(&shape.nest);
    cost.vectors = 6;
    slots_predict(group, plan, &cost);
    if (!plan_is(plan, "threads", "1") && shape.line_count < group->target->threads)
        cost.seconds *= group->target->threads;
    return cost;
}

/* ---- loops ---- */

/* Lines are stepped along so many at a time where results go past the caches, with AVX-512: 21.7 ms
 * for 33 of 16384 x 4096, one thread of a Zen 4; 2 take 25.5, 8 take 29.5. */
enum { SCAN_STEPS = 4 };

struct scan_lowering {
    int steps;    /* at a time, across lines */
    bool fetches; /* what the next step reads, when it is one at a time */
    struct scan_shape shape;
    struct skeleton_values values;
    struct arena *arena;
    int lanes;
    bool streaming;
    enum loop_kind kind;
    enum ir_monoid_kind monoid;
    struct loop_type type;
    /* lines side by side in blocks narrower than memory: the block's place in the next line is
     * fetched, since prefetchers do not go there; NULL: they are as wide */
    const struct loop_variable *along;
};

/* The loops over lines, all but `except`. Lines that are scanned from their ends on are taken from
 * the last one on, too, so that all of memory is gone through in one direction. */
static struct loop_block *scan_lines(struct scan_lowering *lowering, struct loop_block *block,
                                     int except)
{
    struct arena *arena = lowering->arena;
    for (int i = 0; i < lowering->shape.lines.count; i++) {
        const struct nest_chain *chain = &lowering->shape.lines.at[i];
        if (i == except)
            continue;
        struct loop_variable *counter;
        loop_value extent = skeleton_size(&lowering->values, chain->extent);
        block = loop_for(block, lowering->kind, chain->variable->name, loop_integer(arena, 0),
                         extent, NULL, &counter);
        loop_value line = loop_of(arena, counter);
        if (lowering->shape.stage->reverse && except < 0)
            line = loop_sub(arena, loop_sub(arena, extent, loop_integer(arena, 1)), line);
        nest_bind(&lowering->shape.nest, &lowering->values, chain, line);
    }
    return block;
}

static void scan_element(struct scan_lowering *lowering, loop_value *value, loop_value *offset)
{
    const struct ir_stage *stage = lowering->shape.stage;
    const struct ir_write *write = stage->writes;
    loop_value at[IR_MAX_RANK];
    lowering->values.memo = NULL;
    *value = skeleton_value(&lowering->values, stage, write->value);
    for (int d = 0; d < lowering->values.group->part->tensors[write->tensor].rank; d++)
        at[d] = skeleton_value(&lowering->values, stage, write->at[d]);
    *offset = skeleton_offset(&lowering->values, write->tensor, at);
}

/* Lanes moved up by some (down when the scan is reversed), units coming in. */
static loop_value scan_shift(const struct scan_lowering *lowering, loop_value vector, int by)
{
    int pattern[LOOP_MAX_LANES], lanes = lowering->lanes;
    for (int i = 0; i < lanes; i++) {
        int from = lowering->shape.stage->reverse ? i + by : i - by;
        pattern[i] = from >= 0 && from < lanes ? from : lanes + i;
    }
    loop_value unit = loop_unit(lowering->arena, lowering->monoid,
                                (struct loop_type){lowering->type.dtype, lanes});
    return loop_shuffle(lowering->arena, vector, unit, pattern, lanes);
}

/* Whether sums are scanned in halves of 16 bytes first: AVX2 moves lanes within those at once, and
 * no others. */
static bool scan_halves(const struct scan_lowering *lowering)
{
    return lowering->monoid == IR_SUM && lowering->type.dtype == DTYPE_F32 &&
           lowering->lanes == 8 && !lowering->values.group->target->masks;
}

/* Lanes moved within their half, or the end of the first half to all of the other. */
static loop_value scan_shift_half(const struct scan_lowering *lowering, loop_value vector, int by)
{
    enum { LANES = 8, HALF = 4 };
    bool reverse = lowering->shape.stage->reverse;
    int pattern[LANES];
    for (int i = 0; i < LANES; i++) {
        int from = reverse ? i + by : i - by;
        if (by == HALF)
            from = reverse ? i < HALF ? HALF : LANES : i < HALF ? LANES : HALF - 1;
        bool inside = from >= 0 && from < LANES && (by == HALF || from / HALF == i / HALF);
        pattern[i] = inside ? from : LANES + i;
    }
    loop_value unit =
        loop_unit(lowering->arena, IR_SUM, (struct loop_type){lowering->type.dtype, LANES});
    return loop_shuffle(lowering->arena, vector, unit, pattern, LANES);
}

/* Results in the lanes of a variable, stored where `offset` says. */
static void scan_store(struct scan_lowering *lowering, struct loop_block *block,
                       const struct skeleton_lanes *lanes, loop_value offset, loop_value out)
{
    struct arena *arena = lowering->arena;
    int tensor = lowering->shape.stage->writes[0].tensor, width = lanes->lanes;
    loop_value step = loop_step(arena, offset, lanes->variable);
    bool dense = step && step->op == LOOP_INTEGER && step->integer == 1;
    if (!dense)
        offset = loop_splat(arena, loop_widen(arena, offset, lanes->variable, width, NULL), width);
    offset = loop_substitute(arena, offset, lanes->variable, lanes->from);
    out = skeleton_round(&lowering->values, tensor, out);
    struct loop_statement *store =
        loop_store(block, skeleton_buffer(&lowering->values, tensor), offset, out);
    store->count = dense ? lanes->count : NULL;
    if (!dense && lanes->count)
        store->mask = nest_live(arena, width, lanes->count);
    store->streaming = lowering->streaming && dense && !lanes->count && width > 1;
}

/* One vector: scanned in the register, joined to what came before, stored. */
static void scan_vector(struct scan_lowering *lowering, struct loop_block *block,
                        struct loop_variable *carry, loop_value value, loop_value offset,
                        loop_value from, loop_value count)
{
    struct arena *arena = lowering->arena;
    const struct ir_stage *stage = lowering->shape.stage;
    int lanes = lowering->lanes;
    const struct skeleton_lanes along = {lowering->shape.axis.variable, lanes, from, count};
    skeleton_widen(block, &along, &value, 1);
    value = loop_splat(arena, value, lanes);
    if (count)
        value = loop_select(arena, nest_live(arena, lanes, count), value,
                            loop_unit(arena, lowering->monoid, value->type));
    struct loop_variable *part = loop_let(block, "part", value);
    for (int by = 1; by < lanes; by *= 2) {
        loop_value moved = (scan_halves(lowering) ? scan_shift_half
                                                  : scan_shift)(lowering, loop_of(arena, part), by);
        loop_set(block, part, loop_combine(arena, lowering->monoid, moved, loop_of(arena, part)));
    }
    loop_value whole = loop_of(arena, part);
    loop_value out = stage->exclusive && lanes > 1 ? scan_shift(lowering, whole, 1) : whole;
    out = stage->exclusive && lanes == 1
              ? loop_of(arena, carry)
              : loop_combine(arena, lowering->monoid, loop_of(arena, carry), out);
    scan_store(lowering, block, &along, offset, out);
    int pattern[LOOP_MAX_LANES];
    for (int i = 0; i < lanes; i++)
        pattern[i] = stage->reverse ? 0 : lanes - 1;
    loop_value last = lanes > 1 ? loop_shuffle(arena, whole, whole, pattern, lanes) : whole;
    loop_set(block, carry, loop_combine(arena, lowering->monoid, loop_of(arena, carry), last));
}

static void scan_along(struct scan_lowering *lowering, struct loop_block *block)
{
    struct arena *arena = lowering->arena;
    const struct nest_chain *axis = &lowering->shape.axis;
    int lanes = lowering->lanes;
    bool reverse = lowering->shape.stage->reverse;
    block = scan_lines(lowering, block, -1);
    loop_value extent = skeleton_size(&lowering->values, axis->extent);
    block = loop_if(block, loop_less(arena, loop_integer(arena, 0), extent));
    nest_bind(&lowering->shape.nest, &lowering->values, axis, loop_of(arena, axis->variable));
    loop_value value, offset;
    scan_element(lowering, &value, &offset);
    const struct loop_variable *variables[] = {axis->variable};
    skeleton_hoist(block, variables, 1, &value, 1);
    struct loop_type type = {lowering->type.dtype, lanes};
    struct loop_variable *carry =
        loop_let(block, "carry", loop_unit(arena, lowering->monoid, type));
    loop_value rest = loop_apply(arena, IR_REM, extent, loop_integer(arena, lanes), NULL);
    loop_value whole = loop_of(arena, loop_let(block, "whole", loop_sub(arena, extent, rest)));
    struct loop_variable *counter;
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, axis->variable->name, loop_integer(arena, 0), whole,
                 loop_integer(arena, lanes), &counter);
    loop_value from = loop_of(arena, counter);
    if (reverse)
        from = loop_sub(arena, loop_sub(arena, extent, loop_integer(arena, lanes)), from);
    if (lowering->streaming && (reverse || !lowering->values.group->target->masks)) {
        struct soon_loads loads = {0};
        soon_collect(arena, value, axis->variable, &loads);
        soon_fetch(body, &loads, axis->variable, from, reverse ? -SOON_ELEMENTS : SOON_ELEMENTS);
    }
    scan_vector(lowering, body, carry, value, offset, from, NULL);
    if (lanes == 1 || lowering->streaming) /* streaming is for lines of whole vectors */
        return;
    struct loop_block *tail = loop_if(block, loop_less(arena, whole, extent));
    scan_vector(lowering, tail, carry, value, offset, reverse ? loop_integer(arena, 0) : whole,
                loop_sub(arena, extent, whole));
}

static void fetch_next(struct scan_lowering *lowering, struct loop_block *block, loop_value value,
                       loop_value from)
{
    struct arena *arena = lowering->arena;
    const struct nest_chain *chain = &lowering->shape.lines.at[lowering->shape.across];
    struct soon_loads loads = {0};
    soon_collect(arena, value, chain->variable, &loads);
    loop_value next = loop_add(arena, loop_of(arena, lowering->along), loop_integer(arena, 1));
    for (size_t i = 0; i < loads.count; i++) {
        loop_value offset = loop_substitute(arena, loads.at[i]->offset, chain->variable, from);
        if (loop_mentions(offset, lowering->along))
            loop_prefetch(block, loads.at[i]->buffer,
                          loop_substitute(arena, offset, lowering->along, next));
    }
}

/* Some steps along all lines of a block: each carry from the stack and back. */
static void scan_steps(struct scan_lowering *lowering, struct loop_block *block,
                       const struct loop_buffer *carries, const loop_value *values,
                       const loop_value *offsets, loop_value from, loop_value place,
                       loop_value count)
{
    struct arena *arena = lowering->arena;
    const struct ir_stage *stage = lowering->shape.stage;
    const struct nest_chain *chain = &lowering->shape.lines.at[lowering->shape.across];
    int lanes = lowering->lanes;
    const struct skeleton_lanes side = {chain->variable, lanes, from, count};
    struct loop_type type = {lowering->type.dtype, lanes};
    loop_value wide[SCAN_STEPS];
    for (int k = 0; k < lowering->steps; k++)
        wide[k] = values[k];
    if (lowering->along && !count)
        fetch_next(lowering, block, values[0], from);
    skeleton_widen(block, &side, wide, lowering->steps);
    loop_value before =
        loop_of(arena, loop_let(block, "before",
                                loop_load_part(arena, carries, place, lanes, count,
                                               loop_unit(arena, lowering->monoid, type))));
    for (int k = 0; k < lowering->steps; k++) {
        loop_value after = loop_combine(arena, lowering->monoid, before, wide[k]);
        after = loop_of(arena, loop_let(block, "after", after));
        if (k + 1 == lowering->steps)
            loop_store(block, carries, place, after)->count = count;
        scan_store(lowering, block, &side, offsets[k], stage->exclusive ? before : after);
        before = after;
    }
}

/* from .. to in whole vectors, then the rest: calls back with place and count. */
static void scan_columns(struct scan_lowering *lowering, struct loop_block *block,
                         const struct loop_buffer *carries, const loop_value *values,
                         const loop_value *offsets, loop_value from, loop_value width)
{
    struct arena *arena = lowering->arena;
    struct loop_value_lanes {
        loop_value from, to;
    } parts[2];
    loop_value lanes = loop_integer(arena, lowering->lanes);
    loop_value rest = loop_apply(arena, IR_REM, width, lanes, NULL);
    parts[0] = (struct loop_value_lanes){loop_integer(arena, 0), loop_sub(arena, width, rest)};
    parts[1] = (struct loop_value_lanes){parts[0].to, width};
    /* streaming is for lines of whole vectors */
    for (int i = 0; i < (lowering->lanes > 1 && !lowering->streaming ? 2 : 1); i++) {
        struct loop_variable *counter;
        struct loop_block *body =
            loop_for(block, LOOP_SERIAL, "column", parts[i].from, parts[i].to, lanes, &counter);
        loop_value place = loop_of(arena, counter);
        loop_value count = i ? loop_sub(arena, width, place) : NULL;
        if (values) {
            scan_steps(lowering, body, carries, values, offsets, loop_add(arena, from, place),
                       place, count);
            continue;
        }
        struct loop_type type = {lowering->type.dtype, lowering->lanes};
        loop_store(body, carries, place, loop_unit(arena, lowering->monoid, type))->count = count;
    }
}

/* The lines of a block from `first` to `last` along them, so many steps at a time. */
static void scan_down(struct scan_lowering *lowering, struct loop_block *block,
                      const struct loop_buffer *carries, loop_value first, loop_value last,
                      loop_value from, loop_value width)
{
    struct arena *arena = lowering->arena;
    struct scan_shape *shape = &lowering->shape;
    const struct nest_chain *chain = &shape->lines.at[shape->across];
    loop_value length = skeleton_size(&lowering->values, shape->axis.extent);
    loop_value values[SCAN_STEPS], offsets[SCAN_STEPS];
    struct loop_variable *counter;
    block = loop_for(block, LOOP_SERIAL, shape->axis.variable->name, first, last,
                     loop_integer(arena, lowering->steps), &counter);
    for (int k = 0; k < lowering->steps; k++) {
        loop_value at = loop_add(arena, loop_of(arena, counter), loop_integer(arena, k));
        if (shape->stage->reverse)
            at = loop_sub(arena, loop_sub(arena, length, loop_integer(arena, 1)), at);
        nest_bind(&shape->nest, &lowering->values, &shape->axis, at);
        nest_bind(&shape->nest, &lowering->values, chain, loop_of(arena, chain->variable));
        lowering->values.memo = NULL;
        scan_element(lowering, &values[k], &offsets[k]);
    }
    lowering->along = lowering->fetches && lowering->steps == 1 ? counter : NULL;
    const struct loop_variable *variables[] = {chain->variable};
    skeleton_hoist(block, variables, 1, values, lowering->steps);
    scan_columns(lowering, block, carries, values, offsets, from, width);
}

static void scan_across(struct scan_lowering *lowering, struct loop_block *block, int64_t columns)
{
    struct arena *arena = lowering->arena;
    struct scan_shape *shape = &lowering->shape;
    const struct nest_chain *chain = &shape->lines.at[shape->across];
    block = scan_lines(lowering, block, shape->across);
    loop_value extent = skeleton_size(&lowering->values, chain->extent);
    loop_value first = loop_integer(arena, 0);
    loop_value length = skeleton_size(&lowering->values, shape->axis.extent);
    struct loop_variable *counter;
    struct loop_block *body = loop_for(block, lowering->kind, "from", loop_integer(arena, 0),
                                       extent, loop_integer(arena, columns), &counter);
    loop_note_loop(block, "lines side by side");
    block = body;
    loop_value from = loop_of(arena, counter);
    loop_value width = loop_min(arena, loop_sub(arena, extent, from), loop_integer(arena, columns));
    width = loop_of(arena, loop_let(block, "width", width));
    const struct loop_buffer *carries =
        loop_stack(block, "carry", lowering->type.dtype, 1, columns);
    lowering->fetches = nest_extent(&shape->nest, chain) > columns;
    scan_columns(lowering, block, carries, NULL, NULL, from, width);
    if (lowering->streaming && lowering->values.group->target->masks) {
        lowering->steps = SCAN_STEPS;
        loop_value rest = loop_apply(arena, IR_REM, length, loop_integer(arena, SCAN_STEPS), NULL);
        loop_value whole = loop_of(arena, loop_let(block, "whole", loop_sub(arena, length, rest)));
        scan_down(lowering, block, carries, first, whole, from, width);
        first = whole;
    }
    lowering->steps = 1;
    scan_down(lowering, block, carries, first, length, from, width);
}

static void scan_lower(const struct skeleton_group *group, const struct plan_group *plan,
                       struct loop_kernel *kernel)
{
    struct arena *arena = kernel->arena;
    struct scan_lowering lowering = {.shape = scan_shape_of(group, arena), .arena = arena};
    const struct ir_stage *stage = lowering.shape.stage;
    lowering.lanes = (int)plan_number(plan, "lanes", 1);
    lowering.kind = plan_is(plan, "threads", "1") ? LOOP_SERIAL : LOOP_PARALLEL;
    lowering.monoid = stage->monoid->kind;
    lowering.type = (struct loop_type){stage->nodes.at[stage->writes[0].value].type, 1};
    lowering.values = (struct skeleton_values){.group = group, .kernel = kernel};
    lowering.values.indices =
        arena_array(arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    struct loop_block *block = loop_function(kernel, plan->name, slots_note(group));
    bool across = lowering.shape.across >= 0;
    int64_t columns = plan_number(plan, "columns", 64);
    if (plan_is(plan, "stores", "streaming")) {
        const struct nest_chain *dense =
            across ? &lowering.shape.lines.at[lowering.shape.across] : &lowering.shape.axis;
        loop_value extent = skeleton_size(&lowering.values, dense->extent);
        loop_value rest =
            loop_apply(arena, IR_REM, extent, loop_integer(arena, lowering.lanes), NULL);
        struct loop_block *whole =
            loop_if(block, loop_apply(arena, IR_EQ, rest, loop_integer(arena, 0), NULL));
        lowering.streaming = true;
        if (across)
            scan_across(&lowering, whole, columns);
        else
            scan_along(&lowering, whole);
        lowering.streaming = false;
        block = loop_else(block);
    }
    if (across)
        scan_across(&lowering, block, columns);
    else
        scan_along(&lowering, block);
}

const struct skeleton skeleton_scan = {
    .name = "scan",
    .note = "a scan along one axis",
    .match = scan_match,
    .open = scan_open,
    .legal = scan_legal,
    .predict = scan_predict,
    .lower = scan_lower,
};
