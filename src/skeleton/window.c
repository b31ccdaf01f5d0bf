/*
 * window: a few neighbours of each element combined, with the maps after it: depthwise
 * convolutions, pooling, short filters. The window is written out, so its size must be known.
 *
 *     for everything else outside                                  <- threads
 *         for lines, for vectors of the innermost index that are inside
 *             the whole window, combined in a register; what follows; the store
 *         for vectors at the edges                                 (masks are made here)
 *             for lines: the same, of lanes that exist
 *
 * Lines near an edge have loops of their own, with all guards. What is read again for the next line
 * is in the first-level cache.
 */
#include <math.h>
#include <stdio.h>

#include "skeleton/slots.h"
#include "skeleton/window.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)

/* ---- what fits ---- */

/* A size that is known when code is written; 0: it is not, or it is none. */
static int64_t known_size(const struct skeleton_group *group, const struct ir_size *size)
{
    if (!size)
        return 0;
    if (size->op == IR_SIZE_CONSTANT)
        return size->value;
    for (int i = 0; i < group->fix_count && size->op == IR_SIZE_SYMBOL; i++) {
        if (group->fixes[i].symbol == size->symbol)
            return group->fixes[i].value;
    }
    return 0;
}

static bool node_has(const struct ir_part *part, const struct ir_nodes *nodes, int number,
                     const int *indices, int count)
{
    if (number == IR_NONE)
        return false;
    const struct ir_node *node = &nodes->at[number];
    for (int i = 0; i < count && node->op == IR_INDEX; i++) {
        if (node->index == indices[i])
            return true;
    }
    if (node->op == IR_READ) /* places of places are no windows */
        return false;
    const int arguments[] = {node->a, node->b, node->c};
    int used = ir_op_arguments(node->op);
    for (int i = 0; i < used; i++) {
        if (node_has(part, nodes, arguments[i], indices, count))
            return true;
    }
    return false;
}

bool window_slides(const struct ir_part *part, const struct ir_stage *stage)
{
    const int *reduced = stage->indices + stage->left_count;
    int reduced_count = stage->index_count - stage->left_count;
    for (int i = 0; i < stage->nodes.count; i++) {
        const struct ir_node *node = &stage->nodes.at[i];
        int rank = node->op == IR_READ ? part->tensors[node->read.tensor].rank : 0;
        for (int j = 0; j < rank; j++) {
            if (node_has(part, &stage->nodes, node->read.at[j], stage->indices,
                         stage->left_count) &&
                node_has(part, &stage->nodes, node->read.at[j], reduced, reduced_count))
                return true;
        }
    }
    return false;
}

/* Place `from_last` of what is written is an index of its own; or IR_NONE. */
static int written_index(const struct ir_part *part, const struct ir_stage *stage, int from_last)
{
    int rank = part->tensors[stage->writes[0].tensor].rank;
    if (rank <= from_last)
        return IR_NONE;
    const struct ir_node *place = &stage->nodes.at[stage->writes[0].at[rank - 1 - from_last]];
    return place->op == IR_INDEX ? place->index : IR_NONE;
}

static bool window_size(const struct skeleton_group *group, struct window *window,
                        struct skeleton_reason *why_not)
{
    const struct ir_stage *stage = window->stage;
    window->size = 1;
    for (int i = stage->left_count; i < stage->index_count; i++) {
        int64_t extent = known_size(group, group->part->indices[stage->indices[i]].extent);
        if (extent <= 0 || extent > WINDOW_MOST)
            return REFUSE(why_not, "the size of the window is not known, or large");
        window->extents[i - stage->left_count] = extent;
        window->size *= extent;
    }
    if (window->size > WINDOW_MOST)
        return REFUSE(why_not, "the window has more than %d elements", WINDOW_MOST);
    return true;
}

bool window_fits(const struct skeleton_group *group, struct window *window,
                 struct skeleton_reason *why_not)
{
    const struct ir_part *part = group->part;
    const struct ir_stage *stage = &part->stages[group->stages[0]];
    *window = (struct window){.stage = stage};
    window->sum = (struct contract){.group = group, .stage = stage};
    if (stage->kind != IR_REDUCE || stage->write_count != 1)
        return REFUSE(why_not, "the first stage is no reduction");
    enum ir_monoid_kind kind = stage->monoid->kind;
    if (kind != IR_SUM && kind != IR_MAXIMUM && kind != IR_MINIMUM)
        return REFUSE(why_not, "it is no sum, maximum or minimum");
    if (stage->predicate != IR_NONE || stage->index_count > WINDOW_INDICES)
        return REFUSE(why_not, "the reduction leaves elements out, or has too many indices");
    for (int i = 0; i < stage->index_count; i++) {
        if (!part->indices[stage->indices[i]].extent)
            return REFUSE(why_not, "an index runs over a range");
    }
    window->sum.tensor = stage->writes[0].tensor;
    window->sum.dtype = stage->nodes.at[stage->writes[0].value].type;
    window->lane = written_index(part, stage, 0);
    window->line = written_index(part, stage, 1);
    if (!dtype_is_float(window->sum.dtype) || window->lane == IR_NONE)
        return REFUSE(why_not, "what is reduced are no floats, or they are written nowhere near");
    window->sum.element = (int)dtype_bytes(window->sum.dtype);
    if (!window_slides(part, stage))
        return REFUSE(why_not, "nothing slides over what is read");
    return window_size(group, window, why_not) && contract_add_maps(&window->sum, why_not);
}

static bool window_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct window window;
    return window_fits(group, &window, why_not);
}

/* ---- decisions ---- */

static double index_size(const struct skeleton_group *group, int index)
{
    int64_t size = 1;
    if (group->binding)
        ir_size_eval(group->part->indices[index].extent, group->binding->sizes, &size);
    return size > 0 ? (double)size : 1;
}

double window_results(const struct skeleton_group *group, const struct ir_stage *stage)
{
    double count = 1;
    for (int i = 0; i < stage->left_count; i++)
        count *= index_size(group, stage->indices[i]);
    return count;
}

/* Half vectors where lines are full of them and not of whole ones: what is left of a line is
 * masked, and takes as long as several vectors (lines of 56 by 8 or 16: 1.07 to 1.2 times as fast).
 */
static int lanes_seed(const struct skeleton_group *group, const struct window *window)
{
    int lanes = group->target->vector_bytes / window->sum.element;
    int64_t along = (int64_t)index_size(group, window->lane);
    return lanes > 2 && along % lanes != 0 && along % (lanes / 2) == 0 ? lanes / 2 : lanes;
}

static void window_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    struct window window;
    struct skeleton_reason ignored;
    if (!window_fits(group, &window, &ignored))
        return;
    double count = window_results(group, window.stage);
    slots_add_threads(group, slots, count * 8, count * (double)window.size * 2);
    slots_add_lanes(group, slots, lanes_seed(group, &window), SLOTS_LANES);
}

static bool window_legal(const struct skeleton_group *group, const struct plan_group *plan,
                         struct skeleton_reason *why_not)
{
    (void)plan;
    return window_match(group, why_not);
}

/* A load and an addition per element of the window, and the vectors that are not full. */
static struct skeleton_cost window_predict(const struct skeleton_group *group,
                                           const struct plan_group *plan)
{
    struct window window;
    struct skeleton_reason ignored;
    struct skeleton_cost cost = {0};
    if (!window_fits(group, &window, &ignored))
        return cost;
    const struct skeleton_target *target = group->target;
    double lanes = (double)plan_number(plan, "lanes", 1),
           count = window_results(group, window.stage);
    double along = index_size(group, window.lane), threads = target->threads;
    double vectors = count / along * ceil(along / lanes);
    cost.operations = 2 * count * (double)window.size;
    cost.bytes = 2 * count * window.sum.element;
    double computing =
        vectors * (2.5 * (double)window.size + 8) * target->vector_bytes / 2.0 / target->fma;
    cost.seconds = fmax(computing, cost.bytes / target->memory);
    cost.seconds /= plan_is(plan, "threads", "1") ? 1 : threads;
    cost.vectors = 8;
    return cost;
}

/* ---- lines and lanes that need no guards ---- */

struct inside { /* values of `along` from..to-1 are such that these conditions hold */
    struct arena *arena;
    const struct loop_variable *along, *other;
    loop_value from, to;
};

static bool rises(loop_value step)
{
    return step && step->op == LOOP_INTEGER && step->integer > 0;
}

static bool stays(loop_value step)
{
    return step && step->op == LOOP_INTEGER && step->integer == 0;
}

/* The least or greatest of a bound and another, unless that is part of it: every read of a window
 * has the guards of its line and column. */
static loop_value narrowed(struct arena *arena, enum ir_op which, loop_value bound,
                           loop_value other)
{
    for (loop_value part = bound;; part = part->a) {
        bool joined = part->op == LOOP_APPLY && part->apply == which;
        if (loop_equal(joined ? part->b : part, other))
            return bound;
        if (!joined)
            return loop_apply(arena, which, bound, other, NULL);
    }
}

/* a < b or a <= b where one side goes up: true from some value on, or up to one. */
static bool solve(struct inside *inside, loop_value condition)
{
    struct arena *arena = inside->arena;
    bool strict = condition->apply == IR_LT;
    loop_value one = loop_integer(arena, 1), zero = loop_integer(arena, 0);
    loop_value left = loop_step(arena, condition->a, inside->along);
    loop_value right = loop_step(arena, condition->b, inside->along);
    loop_value a = loop_substitute(arena, condition->a, inside->along, zero);
    loop_value b = loop_substitute(arena, condition->b, inside->along, zero);
    if (rises(left) && stays(right)) { /* a + along * step < b */
        loop_value room = loop_sub(arena, b, a);
        room = strict ? loop_sub(arena, room, one) : room;
        room = loop_apply(arena, IR_FLOORDIV, room, left, NULL);
        inside->to = narrowed(arena, IR_MIN, inside->to, loop_add(arena, room, one));
        return true;
    }
    if (stays(left) && rises(right)) { /* a < b + along * step */
        loop_value room = loop_sub(arena, a, b);
        room = strict ? room : loop_sub(arena, room, one);
        room = loop_apply(arena, IR_FLOORDIV, room, right, NULL);
        inside->from = narrowed(arena, IR_MAX, inside->from, loop_add(arena, room, one));
        return true;
    }
    return false;
}

static bool is_guard(const struct inside *inside, loop_value value)
{
    return value->op == LOOP_APPLY && (value->apply == IR_LT || value->apply == IR_LE) &&
           value->a->type.dtype == DTYPE_I64 && loop_mentions(value, inside->along) &&
           !loop_mentions(value, inside->other);
}

/* The value as it is inside: conditions that hold there are left out, and narrow it. */
static loop_value without_guards(struct inside *inside, loop_value value)
{
    struct arena *arena = inside->arena;
    if (!value || !loop_mentions(value, inside->along))
        return value;
    if (is_guard(inside, value) && solve(inside, value))
        return loop_bool(arena, true);
    if (value->op == LOOP_LOAD && value->mask) {
        loop_value mask = without_guards(inside, value->mask);
        loop_value otherwise = without_guards(inside, value->otherwise);
        return loop_load_masked(arena, value->buffer, value->offset, 1, mask, otherwise);
    }
    if (value->op != LOOP_APPLY)
        return value;
    return loop_rebuild(arena, value, without_guards(inside, value->a),
                        without_guards(inside, value->b), without_guards(inside, value->c));
}

/* ---- loops ---- */

struct span { /* of lines, or of columns in whole vectors: from..to-1 of 0..end-1 are inside */
    loop_value from, to, end;
    loop_value step; /* NULL: 1 */
    bool guarded;    /* of lines: there are guards that others need */
};

struct window_code {
    const struct window *window;
    struct contract_code code;
    const struct loop_variable *line; /* stands for the line */
    int lanes;
    struct span lines, columns;
    loop_value forms[2][2]; /* of the window: lines, columns inside or not */
};

/* The window at the place that is open, as scalars. */
static loop_value window_value(struct window_code *lowering)
{
    const struct window *window = lowering->window;
    const struct ir_stage *stage = window->stage;
    struct skeleton_values *values = &lowering->code.values;
    loop_value whole = NULL;
    for (int64_t n = 0; n < window->size; n++) {
        int64_t rest = n;
        for (int i = stage->index_count - stage->left_count - 1; i >= 0; i--) {
            values->indices[stage->indices[stage->left_count + i]] =
                loop_integer(lowering->code.arena, rest % window->extents[i]);
            rest /= window->extents[i];
        }
        values->memo = NULL;
        loop_value value = skeleton_value(values, stage, stage->writes[0].value);
        whole =
            whole ? loop_combine(lowering->code.arena, stage->monoid->kind, whole, value) : value;
    }
    values->memo = NULL;
    return whole;
}

/* A loop over the places inside, or over those on both sides of them. */
static struct loop_block *span_loop(struct loop_block *block, const char *name,
                                    const struct span *span, bool inside, loop_value *place)
{
    struct arena *arena = block->arena;
    struct loop_variable *counter;
    if (inside) {
        block = loop_for(block, LOOP_SERIAL, name, span->from, span->to, span->step, &counter);
        *place = loop_of(arena, counter);
        return block;
    }
    loop_value gap = loop_sub(arena, span->to, span->from);
    block = loop_for(block, LOOP_SERIAL, "outer", loop_integer(arena, 0),
                     loop_sub(arena, span->end, gap), span->step, &counter);
    loop_value before = loop_less(arena, loop_of(arena, counter), span->from);
    loop_value after = loop_add(arena, loop_of(arena, counter), gap);
    after = loop_select(arena, before, loop_of(arena, counter), after);
    *place = loop_of(arena, loop_let(block, name, after));
    return block;
}

/* A vector of results, the lanes in place already. */
static void window_store(struct window_code *lowering, struct loop_block *block,
                         const struct skeleton_lanes *lanes, loop_value value, loop_value line)
{
    struct arena *arena = lowering->code.arena;
    int index = lowering->window->line;
    value = loop_substitute(arena, value, lowering->line, line);
    skeleton_share(block, &value, 1);
    value = loop_of(arena, loop_let(block, "whole", loop_splat(arena, value, lanes->lanes)));
    if (index != IR_NONE)
        lowering->code.values.indices[index] = line;
    contract_finish(&lowering->code, block, value, lanes);
    if (index != IR_NONE)
        lowering->code.values.indices[index] = loop_of(arena, lowering->line);
}

static loop_value window_widen(struct window_code *lowering, loop_value value,
                               const struct skeleton_lanes *lanes)
{
    struct arena *arena = lowering->code.arena;
    value = loop_widen(arena, value, lanes->variable, lanes->lanes, lanes->count);
    return loop_substitute(arena, value, lanes->variable, lanes->from);
}

/* Columns at the edges: vector by vector, so that which lanes are read is found out once for all
 * lines. */
static void window_edges(struct window_code *lowering, struct loop_block *block)
{
    struct arena *arena = lowering->code.arena;
    loop_value column, line, lanes = loop_integer(arena, lowering->lanes);
    struct loop_block *body = span_loop(block, "column", &lowering->columns, false, &column);
    loop_value count = loop_min(arena, loop_sub(arena, lowering->columns.end, column), lanes);
    count = loop_of(arena, loop_let(body, "count", count));
    struct skeleton_lanes along = {lowering->code.lane, lowering->lanes, column,
                                   lowering->lanes == 1 ? NULL : count};
    for (int inside = !lowering->lines.guarded; inside < 2; inside++) {
        loop_value value = window_widen(lowering, lowering->forms[inside][0], &along);
        skeleton_hoist(body, &lowering->line, 1, &value, 1);
        struct loop_block *lines = span_loop(body, "line", &lowering->lines, inside, &line);
        window_store(lowering, lines, &along, value, line);
    }
}

/* Columns inside: whole vectors, line by line as they lie in memory. */
static void window_middle(struct window_code *lowering, struct loop_block *block)
{
    loop_value column, line;
    for (int inside = !lowering->lines.guarded; inside < 2; inside++) {
        struct loop_block *lines = span_loop(block, "line", &lowering->lines, inside, &line);
        struct loop_block *body = span_loop(lines, "column", &lowering->columns, true, &column);
        struct skeleton_lanes along = {lowering->code.lane, lowering->lanes, column, NULL};
        loop_value value = window_widen(lowering, lowering->forms[inside][1], &along);
        window_store(lowering, body, &along, value, line);
    }
}

static loop_value whole_vectors(struct arena *arena, loop_value places, int64_t lanes)
{
    loop_value by = loop_integer(arena, lanes);
    return loop_mul(arena, loop_apply(arena, IR_FLOORDIV, places, by, NULL), by);
}

static void span_lines(struct window_code *lowering, struct loop_block *block, loop_value lines)
{
    struct arena *arena = lowering->code.arena;
    const struct loop_variable *lane = lowering->code.lane;
    struct inside inside = {arena, lowering->line, lane, loop_integer(arena, 0), lines};
    for (int i = 0; i < 2; i++) /* they are the same guards */
        lowering->forms[1][i] = without_guards(&inside, lowering->forms[0][i]);
    struct span *span = &lowering->lines;
    *span = (struct span){.end = lines};
    span->guarded = !loop_equal(lowering->forms[0][0], lowering->forms[1][0]);
    span->from = loop_of(arena, loop_let(block, "inside", loop_min(arena, inside.from, lines)));
    span->to = loop_apply(arena, IR_MAX, inside.to, span->from, NULL);
    span->to = loop_of(arena, loop_let(block, "outside", span->to));
}

static void span_columns(struct window_code *lowering, struct loop_block *block, loop_value columns)
{
    struct arena *arena = lowering->code.arena;
    loop_value zero = loop_integer(arena, 0), last = loop_integer(arena, lowering->lanes - 1);
    struct inside inside = {arena, lowering->code.lane, lowering->line, zero, columns};
    lowering->forms[0][1] = without_guards(&inside, lowering->forms[0][0]);
    struct span *span = &lowering->columns;
    *span = (struct span){.end = columns, .step = loop_integer(arena, lowering->lanes)};
    span->to = loop_apply(arena, IR_MAX, inside.to, zero, NULL);
    span->to = whole_vectors(arena, span->to, lowering->lanes);
    span->to = loop_of(arena, loop_let(block, "columns_to", span->to));
    span->from = whole_vectors(arena, loop_add(arena, inside.from, last), lowering->lanes);
    span->from = loop_min(arena, span->from, span->to);
    span->from = loop_of(arena, loop_let(block, "columns_from", span->from));
}

static void window_vectors(struct window_code *lowering, struct loop_block *block)
{
    const struct window *window = lowering->window;
    const struct ir_part *part = window->sum.group->part;
    struct skeleton_values *values = &lowering->code.values;
    const struct loop_variable *moving[] = {lowering->line, lowering->code.lane};
    lowering->forms[0][0] = window_value(lowering);
    skeleton_hoist(block, moving, 2, &lowering->forms[0][0], 1);
    span_columns(lowering, block, skeleton_size(values, part->indices[window->lane].extent));
    span_lines(lowering, block,
               window->line == IR_NONE ? loop_integer(lowering->code.arena, 1)
                                       : skeleton_size(values, part->indices[window->line].extent));
    window_middle(lowering, block);
    window_edges(lowering, block);
}

static void window_lower(const struct skeleton_group *group, const struct plan_group *plan,
                         struct loop_kernel *kernel)
{
    struct window window;
    struct skeleton_reason ignored;
    struct arena *arena = kernel->arena;
    if (!window_fits(group, &window, &ignored))
        return;
    struct window_code lowering = {.window = &window};
    lowering.code = (struct contract_code){.contract = &window.sum, .arena = arena};
    lowering.code.kernel = kernel;
    lowering.lanes = (int)plan_number(plan, "lanes", 1);
    struct loop_variable *variables = arena_array(arena, 2, sizeof *variables);
    variables[0] = (struct loop_variable){"lane", LOOP_COUNTER, {DTYPE_I64, 1}, 0};
    variables[1] = (struct loop_variable){"line", LOOP_COUNTER, {DTYPE_I64, 1}, 0};
    lowering.code.lane = &variables[0];
    lowering.line = &variables[1];
    struct skeleton_values *values = &lowering.code.values;
    *values = (struct skeleton_values){.group = group, .kernel = kernel};
    values->indices = arena_array(arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    struct loop_block *whole = loop_function(kernel, plan->name, slots_note(group));
    struct loop_block *block = whole;
    enum loop_kind kind = plan_is(plan, "threads", "1") ? LOOP_SERIAL : LOOP_PARALLEL;
    for (int i = 0; i < window.stage->left_count; i++) {
        int index = window.stage->indices[i];
        struct loop_variable *counter;
        if (index == window.lane || index == window.line) {
            values->indices[index] = loop_of(arena, &variables[index == window.line]);
            continue;
        }
        block = loop_for(block, kind, group->part->indices[index].name, loop_integer(arena, 0),
                         skeleton_size(values, group->part->indices[index].extent), NULL, &counter);
        values->indices[index] = loop_of(arena, counter);
    }
    window_vectors(&lowering, block);
    loop_prune(whole);
}

const struct skeleton skeleton_window = {
    .name = "window",
    .note = "few neighbours of each element combined: pooling, depthwise convolutions",
    .match = window_match,
    .open = window_open,
    .legal = window_legal,
    .predict = window_predict,
    .lower = window_lower,
};
