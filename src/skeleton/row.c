/*
 * Stages that share their left indices and reduce over the same axes: softmax, normalisations,
 * sums and extremes along any axis, losses. A row is gone over in passes while it is in the cache;
 * or, when there are few rows, each pass is shared by all threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skeleton/row.h"
#include "skeleton/slots.h"

/* ---- sorting out ---- */

static bool monoid_fits(const struct row_group *row, const struct ir_stage *stage,
                        struct skeleton_reason *why_not)
{
    enum ir_monoid_kind kind = stage->monoid->kind;
    if (kind <= IR_ANY)
        return true;
    if (kind != IR_ARGMAX && kind != IR_ARGMIN) {
        nest_refuse(why_not, "no accumulators for %s", stage->monoid->name);
        return false;
    }
    const struct ir_node *place = &stage->nodes.at[stage->writes[1].value];
    if (place->op != IR_INDEX || row->reduced.count != 1 || stage->predicate != IR_NONE ||
        row->nest.axis_of[place->index] != row->reduced.at[0]) {
        nest_refuse(why_not, "%s of something else than the index", stage->monoid->name);
        return false;
    }
    return true;
}

static bool axes_join(const struct row_group *row, const struct nest_axes *axes)
{
    struct nest_axes both = row->left;
    for (int i = 0; i < row->reduced.count; i++)
        both.at[both.count++] = row->reduced.at[i];
    return nest_axes_same(&both, axes);
}

static bool stage_sort(struct row_group *row, struct row_stage *stage,
                       struct skeleton_reason *why_not)
{
    const struct ir_stage *ir = stage->stage;
    struct nest_axes all = nest_axes_of(&row->nest, ir, 0, ir->index_count);
    struct nest_axes left = nest_axes_of(&row->nest, ir, 0, ir->left_count);
    struct nest_axes reduced = nest_axes_of(&row->nest, ir, ir->left_count, ir->index_count);
    bool map = ir->kind == IR_MAP;
    if (map && nest_axes_same(&all, &row->left))
        stage->kind = ROW_VALUE;
    else if (map && axes_join(row, &all))
        stage->kind = ROW_MAP;
    else if (map && ir->index_count == 0)
        stage->kind = ROW_FINAL;
    else if (!map && nest_axes_same(&left, &row->left) && nest_axes_same(&reduced, &row->reduced))
        stage->kind = ROW_REDUCE;
    else if (!map && ir->left_count == 0 && ir->monoid->width == 1 &&
             (nest_axes_same(&all, &row->left) || axes_join(row, &all)))
        stage->kind = ROW_TOTAL;
    else {
        nest_refuse(why_not, "%s has other indices than the rows",
                    row->nest.group->part->tensors[ir->writes[0].tensor].name);
        return false;
    }
    stage->elements = stage->kind == ROW_TOTAL && !nest_axes_same(&all, &row->left);
    return map || monoid_fits(row, ir, why_not);
}

/* The pass after which everything a stage reads is known. */
static int stage_ready(const struct row_group *row, const struct ir_stage *ir, int depth);

static int tensor_ready(const struct row_group *row, int tensor, int depth)
{
    const struct skeleton_group *group = row->nest.group;
    for (int i = 0; i < row->stage_count; i++) {
        const struct row_stage *stage = &row->stages[i];
        for (int k = 0; k < stage->stage->write_count; k++) {
            if (stage->stage->writes[k].tensor != tensor)
                continue;
            return stage->kind == ROW_REDUCE ? stage->pass
                                             : stage_ready(row, stage->stage, depth + 1);
        }
    }
    const struct ir_numbers *writers = &group->graph->writers[tensor];
    int ready = 0;
    for (int i = 0; i < writers->count && depth < 64; i++) {
        const struct ir_stage *ir = &group->part->stages[writers->at[i]];
        if (!group->inlined[writers->at[i]] || ir->kind != IR_MAP)
            continue;
        int own = stage_ready(row, ir, depth + 1);
        ready = own > ready ? own : ready;
    }
    return ready;
}

static int stage_ready(const struct row_group *row, const struct ir_stage *ir, int depth)
{
    int ready = 0;
    for (int i = 0; i < ir->nodes.count; i++) {
        if (ir->nodes.at[i].op != IR_READ)
            continue;
        int own = tensor_ready(row, ir->nodes.at[i].read.tensor, depth);
        ready = own > ready ? own : ready;
    }
    return ready;
}

static bool passes_sort(struct row_group *row, struct skeleton_reason *why_not)
{
    for (int i = 0; i < row->stage_count; i++) {
        struct row_stage *stage = &row->stages[i];
        bool along = stage->kind == ROW_REDUCE || stage->kind == ROW_MAP || stage->elements;
        stage->pass = along ? stage_ready(row, stage->stage, 0) + 1 : 0;
        if (stage->pass > row->pass_count)
            row->pass_count = stage->pass;
        if (stage->kind == ROW_FINAL)
            continue;
        for (int k = 0; k < stage->stage->nodes.count; k++) { /* totals come after all rows */
            const struct ir_node *node = &stage->stage->nodes.at[k];
            for (int j = 0; node->op == IR_READ && j < row->stage_count; j++) {
                if (row->stages[j].kind >= ROW_TOTAL &&
                    row->stages[j].stage->writes[0].tensor == node->read.tensor) {
                    nest_refuse(why_not, "a row reads what is known after all rows");
                    return false;
                }
            }
        }
    }
    return true;
}

bool row_group_init(struct row_group *row, const struct skeleton_group *group,
                    struct skeleton_reason *why_not)
{
    *row = (struct row_group){.stage_count = group->stage_count};
    const struct ir_stage *first = NULL;
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = &group->part->stages[group->stages[i]];
        if (stage->kind != IR_MAP && stage->kind != IR_REDUCE) {
            nest_refuse(why_not, "a stage is neither map nor reduction");
            return false;
        }
        if (!first && stage->kind == IR_REDUCE)
            first = stage;
    }
    if (!first || first->index_count == first->left_count || group->stage_count > ROW_MAX_STAGES) {
        nest_refuse(why_not, !first ? "nothing is reduced" : "too many stages");
        return false;
    }
    if (!nest_init(&row->nest, group, why_not))
        return false;
    row->left = nest_axes_of(&row->nest, first, 0, first->left_count);
    row->reduced = nest_axes_of(&row->nest, first, first->left_count, first->index_count);
    for (int i = 0; i < group->stage_count; i++) {
        row->stages[i].stage = nest_stage(&row->nest, i);
        if (!stage_sort(row, &row->stages[i], why_not))
            return false;
    }
    return nest_reads_own(&row->nest, why_not) && passes_sort(row, why_not);
}

static bool row_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct row_group row;
    return row_group_init(&row, group, why_not);
}

/* ---- loops ---- */

struct loop_block *row_loops(struct row_lowering *lowering, struct loop_block *block,
                             const struct nest_chain *except)
{
    struct arena *arena = lowering->arena;
    for (int i = 0; i < lowering->left.count; i++) {
        const struct nest_chain *chain = &lowering->left.at[i];
        if (chain == except)
            continue;
        struct loop_variable *counter;
        block = loop_for(block, lowering->kind, chain->variable->name, loop_integer(arena, 0),
                         skeleton_size(&lowering->values, chain->extent), NULL, &counter);
        nest_bind(&lowering->row.nest, &lowering->values, chain, loop_of(arena, counter));
        lowering->row_counter = counter;
    }
    return block;
}

static void lower_along(struct row_lowering *lowering, struct loop_block *block)
{
    block = row_loops(lowering, block, NULL);
    lowering->soon = (struct soon_loads){0};
    if (lowering->kept_pass)
        lowering->kept =
            loop_stack(block, "kept", DTYPE_F32, 1, plan_number(lowering->plan, "keep", 4096));
    int quick = row_quick_passes(lowering);
    if (quick > 0)
        row_quick(lowering, block, quick);
    for (int pass = quick + 1; pass <= lowering->row.pass_count; pass++)
        row_pass(lowering, block, pass);
    row_store_values(lowering, block, 1, NULL, NULL, NULL);
}

static void lower_across(struct row_lowering *lowering, struct loop_block *block, int across)
{
    struct arena *arena = lowering->arena;
    const struct nest_chain *chain = &lowering->left.at[across];
    block = row_loops(lowering, block, chain);
    loop_value extent = skeleton_size(&lowering->values, chain->extent);
    int64_t step = (int64_t)lowering->lanes * lowering->unroll;
    struct loop_variable *counter;
    struct loop_block *body = loop_for(block, lowering->kind, "from", loop_integer(arena, 0),
                                       extent, loop_integer(arena, step), &counter);
    loop_note_loop(block, "rows side by side");
    block = body;
    loop_value from = loop_of(arena, counter),
               end = loop_add(arena, from, loop_integer(arena, step));
    struct loop_block *full = loop_if(block, loop_apply(arena, IR_LE, end, extent, NULL));
    row_across(lowering, full, chain, lowering->unroll, from, NULL);
    struct loop_block *rest = loop_else(block);
    rest = loop_for(rest, LOOP_SERIAL, chain->variable->name, from, extent,
                    loop_integer(arena, lowering->lanes), &counter);
    loop_value count = loop_sub(arena, extent, loop_of(arena, counter));
    count = loop_min(arena, count, loop_integer(arena, lowering->lanes));
    row_across(lowering, rest, chain, 1, loop_of(arena, counter),
               lowering->lanes == 1 ? NULL : count);
}

/* The pass whose reduction is worth keeping: the last but the first that computes functions. */
static int kept_pass(const struct row_lowering *lowering)
{
    for (int i = 0; i < lowering->row.stage_count; i++) {
        const struct row_stage *stage = &lowering->row.stages[i];
        const struct ir_stage *ir = stage->stage;
        bool f32 = ir->nodes.at[ir->writes[0].value].type == DTYPE_F32;
        if (stage->kind == ROW_REDUCE && stage->pass > 1 && f32 &&
            stage->pass < lowering->row.pass_count && ir->predicate == IR_NONE)
            return stage->pass;
    }
    return 0;
}

/* With what is decided for rows that are short and whole enough, and without for others. */
static void lower_rows(struct row_lowering *lowering, struct loop_block *block)
{
    struct arena *arena = lowering->arena;
    const struct plan_group *plan = lowering->plan;
    int64_t step = (int64_t)lowering->lanes * lowering->unroll;
    bool streaming = plan_is(plan, "stores", "streaming"), keeps = !plan_is(plan, "keep", "no");
    const struct nest_chain *inner = &lowering->reduced.at[lowering->reduced.count - 1];
    loop_value length = skeleton_size(&lowering->values, inner->extent);
    loop_value fits = loop_bool(arena, true);
    if (streaming) {
        loop_value rest = loop_apply(arena, IR_REM, length, loop_integer(arena, step), NULL);
        fits = loop_apply(arena, IR_EQ, rest, loop_integer(arena, 0), NULL);
    }
    if (keeps) {
        loop_value most = loop_integer(arena, plan_number(plan, "keep", 4096));
        fits = loop_apply(arena, IR_AND, fits, loop_apply(arena, IR_LE, length, most, NULL), NULL);
        lowering->longest = most->integer;
        lowering->kept_pass = kept_pass(lowering);
    }
    int64_t most;
    loop_value no_long_sums = row_is_short(lowering, step, &most);
    if (no_long_sums) {
        fits = loop_apply(arena, IR_AND, fits, no_long_sums, NULL);
        lowering->longest = most;
    }
    if (!streaming && !keeps && !no_long_sums) {
        lower_along(lowering, block);
        return;
    }
    lowering->streaming = streaming;
    struct loop_block *chosen = loop_if(block, fits);
    lower_along(lowering, chosen);
    lowering->streaming = false;
    lowering->longest = 0;
    lowering->kept_pass = 0;
    lowering->kept = NULL;
    lowering->kept_value = NULL;
    int functions = 0;
    for (int pass = 1; pass <= lowering->row.pass_count; pass++)
        functions += row_pass_functions(&lowering->row, pass);
    if (functions > 0) { /* what they are made of is long */
        lowering->brief = true;
        lowering->unroll = 1;
    }
    lower_along(lowering, loop_else(block));
}

typedef void lower_function(struct row_lowering *lowering, struct loop_block *block, int across);

/* Twice, where the rows planned for have no long sums but others may. */
static void lower_lengths(struct row_lowering *lowering, struct loop_block *block, int across,
                          lower_function *lower)
{
    int64_t most;
    loop_value fits = row_is_short(lowering, 1, &most);
    if (fits) {
        lowering->longest = most;
        lower(lowering, loop_if(block, fits), across);
        lowering->longest = 0;
        block = loop_else(block);
    }
    lower(lowering, block, across);
}

static void lower_columns(struct row_lowering *lowering, struct loop_block *block, int across)
{
    row_columns(lowering, block, &lowering->left.at[across],
                plan_number(lowering->plan, "columns", 0));
}

static void row_lower(const struct skeleton_group *group, const struct plan_group *plan,
                      struct loop_kernel *kernel)
{
    struct row_shape *shape = arena_new(group->arena, struct row_shape);
    struct row_lowering *lowering = arena_new(group->arena, struct row_lowering);
    *shape = row_shape_of(group);
    *lowering = (struct row_lowering){
        .group = group, .plan = plan, .kernel = kernel, .arena = kernel->arena};
    struct skeleton_reason ignored;
    row_group_init(&lowering->row, group, &ignored);
    lowering->left = nest_chain(&lowering->row.nest, kernel->arena, &lowering->row.left);
    lowering->reduced = nest_chain(&lowering->row.nest, kernel->arena, &lowering->row.reduced);
    lowering->lanes = (int)plan_number(plan, "lanes", 1);
    lowering->unroll = (int)plan_number(plan, "unroll", 1);
    lowering->masks = group->target->masks;
    lowering->reciprocal = plan_is(plan, "divide", "reciprocal");
    lowering->rows_ahead = plan_is(plan, "prefetch", "yes") ? row_ahead(shape) : 0;
    lowering->kind = plan_is(plan, "threads", "1") ? LOOP_SERIAL : LOOP_PARALLEL;
    lowering->values = (struct skeleton_values){
        .group = group, .kernel = kernel, .resolve = row_resolve, .context = lowering};
    lowering->values.indices =
        arena_array(kernel->arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    bool across = plan_is(plan, "side", "across"), split = plan_is(plan, "split", "yes");
    if (split && !across) {
        row_split(lowering);
        return;
    }
    row_totals_open(lowering);
    struct loop_block *block = loop_function(kernel, plan->name, slots_note(group));
    bool columns = plan_number(plan, "columns", 0) > 0;
    if (across && columns && split)
        row_columns_split(lowering, block, &lowering->left.at[shape->across],
                          plan_number(plan, "columns", 0));
    else if (across)
        lower_lengths(lowering, block, shape->across, columns ? lower_columns : lower_across);
    else
        lower_rows(lowering, block);
    loop_prune(block);
    row_totals_finish(lowering);
}

const struct skeleton skeleton_row = {
    .name = "row",
    .note = "stages that share rows and reduce along them, row by row",
    .match = row_match,
    .open = row_choose_open,
    .legal = row_choose_legal,
    .predict = row_choose_predict,
    .lower = row_lower,
};
