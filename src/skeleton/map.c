/*
 * Maps over the same domain, computed together, element by element. Indices that are one in memory
 * everywhere become one loop; lanes run along the index the first result is dense in.
 */
#include <string.h>

#include "skeleton/map.h"
#include "skeleton/slots.h"
#include "skeleton/soon.h"

bool map_fits(const struct skeleton_group *group, struct nest *nest, struct nest_axes *axes,
              struct skeleton_reason *why_not)
{
    for (int i = 0; i < group->stage_count; i++) {
        if (group->part->stages[group->stages[i]].kind != IR_MAP) {
            nest_refuse(why_not, "not every stage is a map");
            return false;
        }
    }
    if (!nest_init(nest, group, why_not))
        return false;
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = nest_stage(nest, i);
        struct nest_axes own = nest_axes_of(nest, stage, 0, stage->index_count);
        if (i == 0)
            *axes = own;
        if (!nest_axes_same(axes, &own)) {
            nest_refuse(why_not, "the maps run over different domains");
            return false;
        }
    }
    return nest_reads_own(nest, why_not);
}

static bool map_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct nest nest;
    struct nest_axes axes;
    return map_fits(group, &nest, &axes, why_not);
}

static int lines_same(const struct skeleton_group *group);

/* ---- decisions ---- */

struct map_shape { /* of the group at the sizes it is to be good at */
    struct nest nest;
    struct nest_chains chains;
    int64_t inner, outer; /* iterations of the last chain, of the others together */
    int turn, lanes;      /* chains that squares can be turned over between, or -1 */
    double bytes, operations;
};

static struct map_shape map_shape_of(const struct skeleton_group *group)
{
    struct map_shape shape = {.outer = 1, .inner = 1};
    struct nest_axes axes;
    struct skeleton_reason ignored;
    map_fits(group, &shape.nest, &axes, &ignored);
    shape.chains = nest_chain(&shape.nest, group->arena, &axes);
    for (int i = 0; i < shape.chains.count; i++) {
        int64_t extent = nest_extent(&shape.nest, &shape.chains.at[i]);
        shape.outer *= i + 1 < shape.chains.count ? extent : 1;
        shape.inner = extent;
    }
    shape.turn = map_turn_chain(&shape.nest, &shape.chains, &shape.lanes);
    shape.bytes = nest_bytes(&shape.nest);
    for (int i = 0; i < group->stage_count; i++)
        shape.operations += nest_operations(&shape.nest, nest_stage(&shape.nest, i));
    return shape;
}

static const char *const UNROLLS[] = {"1", "2", "4", "8"};
static const char *const DIVISIONS[] = {"exact", "reciprocal"};
static const char *const CHUNKS[] = {"256",  "512",  "1024",  "2048",
                                     "4096", "8192", "16384", "65536"};
static const char *const SQUARES[] = {"no", "1", "2", "4"};
static const char *const LINES[] = {"1", "4", "16", "64"};

enum { DIVISION_STEPS = 12 }; /* of integers, for one lane: there is no instruction for vectors */

static bool is_dear(enum ir_op op)
{
    return op == IR_FLOORDIV || op == IR_FLOORMOD || op == IR_QUOT || op == IR_REM ||
           (op >= IR_EXP && op < IR_ERF) || op == IR_POW;
}

/* How many operations in the value take long, differ along a line and are the same in all lines. */
static int same_in(loop_value value, const struct loop_variable *lane,
                   const struct loop_variable *line, struct map *seen)
{
    if (!value || !loop_mentions(value, lane) || map_get_bytes(seen, &value, sizeof value))
        return 0;
    map_set_bytes(seen, &value, sizeof value, (void *)value);
    const loop_value parts[] = {value->a,    value->b,     value->c,        value->offset,
                                value->mask, value->count, value->otherwise};
    int same = value->op == LOOP_APPLY && is_dear(value->apply) && !loop_mentions(value, line);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        same += same_in(parts[i], lane, line, seen);
    return same;
}

/* Which of SQUARES. Both sides of a square are worth a vector at least half full; so many are side
 * by side as make a line of the cache in the first result. */
static int turn_seed(const struct map_shape *shape, int lanes)
{
    enum { LINE_BYTES = 64 };
    const struct skeleton_group *group = shape->nest.group;
    if (shape->turn < 0 || lanes < 2 ||
        2 * nest_extent(&shape->nest, &shape->chains.at[shape->turn]) <= lanes ||
        2 * nest_extent(&shape->nest, &shape->chains.at[shape->lanes]) <= lanes)
        return 0;
    int tensor = nest_stage(&shape->nest, group->stage_count - 1)->writes[0].tensor;
    int64_t bytes = (int64_t)dtype_bytes(group->part->tensors[tensor].dtype) * lanes;
    int64_t across = nest_extent(&shape->nest, &shape->chains.at[shape->lanes]);
    int seed = 1;
    while (seed < 3 && bytes < LINE_BYTES && across >= lanes * (2 << (seed - 1))) {
        bytes *= 2;
        seed++;
    }
    return seed;
}

/* Whether elements wait for reads that wait for each other: several vectors do so at once. */
static bool is_search(const struct map_shape *shape)
{
    enum { LEAST_STEPS = 4 };
    const struct skeleton_group *group = shape->nest.group;
    int chain = 1;
    for (int i = 0; i < group->stage_count; i++) {
        int own = slots_chain(group, nest_stage(&shape->nest, i));
        chain = own > chain ? own : chain;
    }
    return chain >= LEAST_STEPS;
}

static void map_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    struct map_shape shape = map_shape_of(group);
    int lanes = group->target->vector_bytes / nest_value_bytes(&shape.nest);
    slots_add_threads(group, slots, shape.bytes, shape.operations);
    lanes = shape.inner * 2 <= lanes ? 1 : lanes;
    int turn = turn_seed(&shape, lanes), several = is_search(&shape) ? 4 : 1;
    bool lines = lanes > 1 && !turn && shape.chains.count > 1 && lines_same(group) > 0;
    /* places of lines that are computed and gathered from: interpolations take half as long by half
     * vectors of AVX-512 and 64 lines as by whole ones and 16 */
    if (lines && group->target->masks)
        lanes /= 2;
    slots_add_lanes(group, slots, lanes * several, SLOTS_LANES);
    slots_add(group, slots, "turn",
              "squares side by side, read along one index, written along another", SQUARES,
              shape.turn >= 0 ? 4 : 1, turn);
    slots_add(group, slots, "unroll", "vectors per iteration", UNROLLS, 4, 0);
    slots_add(group, slots, "chunk", "elements a thread takes at a time", CHUNKS, 8, turn ? 1 : 5);
    slots_add(group, slots, "divide", "by what is the same everywhere, or times its reciprocal",
              DIVISIONS, 2, slots_division_may_differ(group, 0));
    slots_add(group, slots, "lines", "lines that share what is the same in all of them", LINES,
              shape.chains.count > 1 ? 4 : 1, lines ? 3 : 0);
    slots_add_stores(group, slots, slots_is_large(group, shape.bytes) && !lines);
}

static bool map_legal(const struct skeleton_group *group, const struct plan_group *plan,
                      struct skeleton_reason *why_not)
{
    int64_t lanes = plan_number(plan, "lanes", 1), unroll = plan_number(plan, "unroll", 1);
    if (plan_number(plan, "chunk", 8192) % (lanes * unroll) != 0) {
        nest_refuse(why_not, "a chunk is no multiple of lanes * unroll");
        return false;
    }
    if (plan_number(plan, "lines", 1) > 1) {
        if (map_shape_of(group).chains.count < 2)
            nest_refuse(why_not, "there is one line only");
        else if (plan_number(plan, "turn", 0) > 0)
            nest_refuse(why_not, "squares that are turned over have lines of their own");
        if (why_not->text[0])
            return false;
    }
    if (plan_number(plan, "turn", 0) > 0) {
        struct map_shape shape = map_shape_of(group);
        if (shape.turn < 0)
            nest_refuse(why_not, "nothing is read along another index than written");
        else if (lanes < 2 || lanes > MAP_MAX_TURN || unroll > 1)
            nest_refuse(why_not, "squares are turned over with 2 to %d lanes and unroll 1",
                        MAP_MAX_TURN);
        if (why_not->text[0])
            return false;
    }
    return map_match(group, why_not);
}

static struct skeleton_cost map_predict(const struct skeleton_group *group,
                                        const struct plan_group *plan)
{
    struct map_shape shape = map_shape_of(group);
    struct skeleton_cost cost = {.bytes = shape.bytes, .operations = shape.operations};
    cost.vectors = (int)plan_number(plan, "unroll", 1) * 4;
    slots_predict(group, plan, &cost);
    if (plan_number(plan, "turn", 0) == 0)
        slots_predict_reads(group, plan, false, &cost);
    double step = group->target->vector_bytes / 2.0 / group->target->fma;
    double divisions = lines_same(group) * DIVISION_STEPS * step * (double)shape.inner *
                       (double)shape.outer / (double)plan_number(plan, "lines", 1);
    cost.seconds += divisions / (plan_is(plan, "threads", "1") ? 1 : group->target->threads);
    return cost;
}

/* ---- loops ---- */

/* What the group itself defines is its value at the same point. */
static loop_value map_resolve(void *context, struct skeleton_values *values, int tensor,
                              const loop_value *at)
{
    (void)at;
    const struct map_lowering *lowering = context;
    const struct ir_stage *stage = nest_definer(&lowering->nest, tensor);
    if (!stage)
        return NULL;
    return skeleton_round(values, tensor, skeleton_value(values, stage, stage->writes[0].value));
}

static void map_collect(struct map_lowering *lowering)
{
    const struct skeleton_group *group = lowering->group;
    struct skeleton_values *values = &lowering->values;
    size_t most = (size_t)group->stage_count;
    lowering->store_count = 0;
    lowering->stored = arena_array(lowering->arena, 2 * most, sizeof *lowering->stored);
    lowering->buffers = arena_array(lowering->arena, most, sizeof *lowering->buffers);
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = nest_stage(&lowering->nest, i);
        int tensor = stage->writes[0].tensor;
        if (!group->needed[tensor])
            continue;
        loop_value at[IR_MAX_RANK];
        for (int d = 0; d < group->part->tensors[tensor].rank; d++)
            at[d] = skeleton_value(values, stage, stage->writes[0].at[d]);
        int number = lowering->store_count++;
        lowering->buffers[number] = skeleton_buffer(values, tensor);
        lowering->stored[2 * number] = skeleton_offset(values, tensor, at);
        lowering->stored[2 * number + 1] =
            skeleton_round(values, tensor, skeleton_value(values, stage, stage->writes[0].value));
    }
}

/* The chain along which the first result is dense, else the last. */
static int map_lane_chain(const struct map_lowering *lowering)
{
    for (int i = lowering->chains.count - 1; i >= 0 && lowering->store_count > 0; i--) {
        loop_value step =
            loop_step(lowering->arena, lowering->stored[0], lowering->chains.at[i].variable);
        if (step && step->op == LOOP_INTEGER && step->integer == 1)
            return i;
    }
    return lowering->chains.count - 1;
}

/*
 * The values of a vector for several lines: what is the same in all of them, as places that take
 * divisions, is computed before the loop over the lines, which is returned.
 */
static struct loop_block *map_lines(struct map_lowering *lowering, struct loop_block *block,
                                    const struct skeleton_lanes *along, loop_value *wide,
                                    loop_value *line)
{
    struct arena *arena = lowering->arena;
    const struct loop_variable *variable = lowering->chains.at[lowering->line_chain].variable;
    struct loop_variable *counter;
    for (int i = 0; i < lowering->store_count; i++) {
        wide[i] = loop_widen(arena, wide[i], along->variable, along->lanes, along->count);
        wide[i] = loop_substitute(arena, wide[i], along->variable, along->from);
    }
    skeleton_hoist(block, &variable, 1, wide, lowering->store_count);
    block = loop_for(block, LOOP_SERIAL, variable->name, lowering->line_from, lowering->line_to,
                     NULL, &counter);
    *line = loop_of(arena, counter);
    for (int i = 0; i < lowering->store_count; i++)
        wide[i] = loop_substitute(arena, wide[i], variable, *line);
    skeleton_share(block, wide, lowering->store_count);
    return block;
}

/* The stores of `lanes` elements from `from` on. */
static void map_body(struct map_lowering *lowering, struct loop_block *block, loop_value from,
                     int lanes, loop_value count)
{
    struct arena *arena = lowering->arena;
    const struct nest_chain *chain = &lowering->chains.at[lowering->lane_chain];
    const struct skeleton_lanes along = {chain->variable, lanes, from, count};
    int values = lowering->store_count;
    loop_value *wide = arena_array(arena, (size_t)values + 1, sizeof *wide), line = NULL;
    for (int i = 0; i < values; i++)
        wide[i] = lowering->stored[2 * i + 1];
    if (lowering->line_chain >= 0)
        block = map_lines(lowering, block, &along, wide, &line);
    else
        skeleton_widen(block, &along, wide, values);
    for (int i = 0; i < values; i++) {
        loop_value offset = lowering->stored[2 * i];
        if (line)
            offset = loop_substitute(arena, offset,
                                     lowering->chains.at[lowering->line_chain].variable, line);
        loop_value step = loop_step(arena, offset, chain->variable);
        bool dense = step && step->op == LOOP_INTEGER && step->integer == 1;
        if (!dense)
            offset =
                loop_splat(arena, loop_widen(arena, offset, chain->variable, lanes, NULL), lanes);
        offset = loop_substitute(arena, offset, chain->variable, from);
        struct loop_statement *store =
            loop_store(block, lowering->buffers[i], offset, loop_splat(arena, wide[i], lanes));
        store->count = dense ? count : NULL;
        if (!dense && count)
            store->mask = nest_live(arena, lanes, count);
        store->streaming = dense && lowering->streaming && !count && lanes > 1;
    }
}

/* What is read along the way, but for a single line that all share, is fetched ahead. */
static void map_fetch(struct map_lowering *lowering, struct loop_block *block, loop_value from)
{
    const struct loop_variable *variable = lowering->chains.at[lowering->lane_chain].variable;
    struct soon_loads all = {0}, loads = {0};
    for (int i = 0; i < lowering->store_count; i++)
        soon_collect(lowering->arena, lowering->stored[2 * i + 1], variable, &all);
    for (size_t i = 0; i < all.count; i++) {
        if (all.at[i]->offset->op != LOOP_VARIABLE || lowering->chains.count == 1)
            vector_push(lowering->arena, &loads, all.at[i]);
    }
    soon_fetch(block, &loads, variable, from, SOON_ELEMENTS);
}

/* Whether the tensor is larger than what comes from the second-level cache. */
static bool is_large(const struct skeleton_group *group, int tensor)
{
    double bytes = (double)ir_tensor_shape(group->binding, tensor, NULL) *
                   (double)dtype_bytes(group->part->tensors[tensor].dtype);
    return bytes > (double)group->target->l2;
}

/* Notes which rows that data chooses will be read some turns of the loop over `row` later. */
static void map_rows(struct map_lowering *lowering, struct loop_block *block,
                     const struct loop_variable *row, loop_value extent)
{
    struct arena *arena = lowering->arena;
    const struct loop_variable *along = lowering->chains.at[lowering->lane_chain].variable;
    loop_value later = loop_add(arena, loop_of(arena, row), loop_integer(arena, SOON_ROWS));
    struct soon_loads loads = {0};
    later = loop_min(arena, later, loop_sub(arena, extent, loop_integer(arena, 1)));
    for (int i = 0; i < lowering->store_count; i++)
        soon_collect_chosen(arena, lowering->stored[2 * i + 1], along, row, &loads);
    for (size_t i = 0; i < loads.count; i++) {
        const struct loop_buffer *buffer = loads.at[i]->buffer;
        if (!is_large(lowering->group, buffer->tensor))
            continue;
        loop_value from = loop_substitute(arena, loads.at[i]->offset, row, later);
        from = loop_substitute(arena, from, along, loop_integer(arena, 0));
        from = loop_of(arena, loop_let(block, "soon", from));
        vector_push(arena, &lowering->rows, ((struct map_row){buffer, from}));
    }
}

/* The inner loop over from..to: whole vectors, then the rest. */
static void map_along(struct map_lowering *lowering, struct loop_block *block, loop_value from,
                      loop_value to)
{
    struct arena *arena = lowering->arena;
    const char *name = lowering->chains.at[lowering->lane_chain].variable->name;
    int step = lowering->lanes * lowering->unroll;
    loop_value whole = loop_sub(
        arena, to,
        loop_apply(arena, IR_REM, loop_sub(arena, to, from), loop_integer(arena, step), NULL));
    whole = loop_of(arena, loop_let(block, "whole", whole));
    struct loop_variable *counter;
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, name, from, whole, loop_integer(arena, step), &counter);
    for (int i = 0; i < lowering->unroll; i++) {
        loop_value at =
            loop_add(arena, loop_of(arena, counter), loop_integer(arena, i * lowering->lanes));
        if (lowering->streaming && !lowering->masks && lowering->line_chain < 0)
            map_fetch(lowering, body, at);
        for (size_t k = 0; k < lowering->rows.count; k++)
            loop_prefetch(body, lowering->rows.at[k].buffer,
                          loop_add(arena, lowering->rows.at[k].from, at));
        map_body(lowering, body, at, lowering->lanes, NULL);
    }
    if (step == 1)
        return;
    int lanes = lowering->masks ? lowering->lanes : 1;
    body = loop_for(block, LOOP_SERIAL, name, whole, to, loop_integer(arena, lanes), &counter);
    loop_note_loop(block, "what is left of a whole vector");
    loop_value count = loop_sub(arena, to, loop_of(arena, counter));
    if (lowering->unroll > 1)
        count = loop_min(arena, count, loop_integer(arena, lanes));
    map_body(lowering, body, loop_of(arena, counter), lanes, lanes == 1 ? NULL : count);
}

/* The loop over blocks of lines. */
static struct loop_block *map_line_blocks(struct map_lowering *lowering, struct loop_block *block,
                                          enum loop_kind kind)
{
    struct arena *arena = lowering->arena;
    loop_value lines = loop_integer(arena, plan_number(lowering->plan, "lines", 1));
    loop_value extent =
        skeleton_size(&lowering->values, lowering->chains.at[lowering->line_chain].extent);
    struct loop_variable *counter;
    struct loop_block *body =
        loop_for(block, kind, "line", loop_integer(arena, 0), extent, lines, &counter);
    loop_note_loop(block, "lines that each vector is computed for at a time");
    lowering->line_from = loop_of(arena, counter);
    lowering->line_to = loop_min(arena, loop_add(arena, lowering->line_from, lines), extent);
    return body;
}

static void map_nest(struct map_lowering *lowering, struct loop_block *block)
{
    struct arena *arena = lowering->arena;
    enum loop_kind kind = plan_is(lowering->plan, "threads", "1") ? LOOP_SERIAL : LOOP_PARALLEL;
    int64_t chunk = plan_number(lowering->plan, "chunk", 8192);
    struct loop_variable *counter, *row = NULL;
    loop_value rows = NULL;
    for (int i = 0; i < lowering->chains.count; i++) {
        struct nest_chain *chain = &lowering->chains.at[i];
        if (i == lowering->lane_chain || i == lowering->turn_chain || i == lowering->line_chain)
            continue;
        rows = skeleton_size(&lowering->values, chain->extent);
        block =
            loop_for(block, kind, chain->variable->name, loop_integer(arena, 0), rows, NULL, &row);
        nest_bind(&lowering->nest, &lowering->values, chain, loop_of(arena, row));
    }
    lowering->values.memo = NULL;
    map_collect(lowering);
    if (lowering->lane_chain < 0) {
        skeleton_share(block, lowering->stored, 2 * lowering->store_count);
        for (int i = 0; i < lowering->store_count; i++)
            loop_store(block, lowering->buffers[i], lowering->stored[2 * i],
                       lowering->stored[2 * i + 1]);
        return;
    }
    if (lowering->line_chain >= 0)
        block = map_line_blocks(lowering, block, kind);
    struct nest_chain *chain = &lowering->chains.at[lowering->lane_chain];
    for (int i = 0; i < lowering->store_count && plan_is(lowering->plan, "divide", "reciprocal");
         i++)
        lowering->stored[2 * i + 1] =
            skeleton_reciprocal(arena, lowering->stored[2 * i + 1], chain->variable);
    if (lowering->turn_chain >= 0) {
        map_turn(lowering, block, kind);
        return;
    }
    loop_value extent = skeleton_size(&lowering->values, chain->extent), from, to = extent;
    from = loop_integer(arena, 0);
    if (kind == LOOP_PARALLEL) {
        struct loop_block *body = loop_for(block, kind, "from", loop_integer(arena, 0), extent,
                                           loop_integer(arena, chunk), &counter);
        loop_note_loop(block, "elements a thread takes at a time");
        block = body;
        from = loop_of(arena, counter);
        to = loop_min(arena, loop_add(arena, from, loop_integer(arena, chunk)), extent);
        to = loop_of(arena, loop_let(block, "to", to));
    } else {
        block = loop_if(block, loop_less(arena, from, extent));
    }
    if (row && lowering->line_chain < 0 && lowering->lanes > 1)
        map_rows(lowering, block, row, rows);
    const struct loop_variable *variables[] = {chain->variable, NULL};
    if (lowering->line_chain >= 0)
        variables[1] = lowering->chains.at[lowering->line_chain].variable;
    skeleton_hoist(block, variables, lowering->line_chain >= 0 ? 2 : 1, lowering->stored,
                   2 * lowering->store_count);
    map_along(lowering, block, from, to);
}

/* What is stored, with every chain open. */
static void map_begin(struct map_lowering *lowering, struct loop_kernel *kernel)
{
    const struct skeleton_group *group = lowering->group;
    struct nest_axes axes;
    struct skeleton_reason ignored;
    map_fits(group, &lowering->nest, &axes, &ignored);
    lowering->arena = kernel->arena;
    lowering->chains = nest_chain(&lowering->nest, kernel->arena, &axes);
    lowering->values = (struct skeleton_values){
        .group = group, .kernel = kernel, .resolve = map_resolve, .context = lowering};
    lowering->values.indices =
        arena_array(kernel->arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    nest_bind_all(&lowering->nest, &lowering->values, &lowering->chains);
    map_collect(lowering);
    lowering->lane_chain = map_lane_chain(lowering);
}

/* The chain beside the lanes whose lines are worked on together. */
static int map_line_chain(const struct map_lowering *lowering)
{
    int last = lowering->chains.count - 1;
    return lowering->lane_chain == last ? last - 1 : last;
}

/* As written out: what is inlined counts. */
static int lines_same(const struct skeleton_group *group)
{
    struct map_lowering lowering = {.group = group};
    map_begin(&lowering, loop_kernel_new(group->arena, group->part));
    int line = map_line_chain(&lowering), same = 0;
    struct map seen = map_new(group->arena);
    for (int i = 0; line >= 0 && i < 2 * lowering.store_count; i++)
        same += same_in(lowering.stored[i], lowering.chains.at[lowering.lane_chain].variable,
                        lowering.chains.at[line].variable, &seen);
    return same;
}

static void map_lower(const struct skeleton_group *group, const struct plan_group *plan,
                      struct loop_kernel *kernel)
{
    struct map_lowering lowering = {.group = group, .plan = plan};
    map_begin(&lowering, kernel);
    lowering.lanes = (int)plan_number(plan, "lanes", 1);
    lowering.unroll = (int)plan_number(plan, "unroll", 1);
    lowering.streaming = plan_is(plan, "stores", "streaming");
    lowering.masks = group->target->masks;
    lowering.turn_chain = -1;
    lowering.squares = (int)plan_number(plan, "turn", 0);
    if (lowering.squares > 0)
        lowering.turn_chain =
            map_turn_chain(&lowering.nest, &lowering.chains, &lowering.lane_chain);
    lowering.line_chain = -1;
    if (plan_number(plan, "lines", 1) > 1)
        lowering.line_chain = map_line_chain(&lowering);
    map_nest(&lowering, loop_function(kernel, plan->name, slots_note(group)));
}

const struct skeleton skeleton_map = {
    .name = "map",
    .note = "maps over one domain, element by element",
    .match = map_match,
    .open = map_open,
    .legal = map_legal,
    .predict = map_predict,
    .lower = map_lower,
};
