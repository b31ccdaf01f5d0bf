/*
 * The functions of the row skeleton for devices: see row.h for how a row is gone over.
 */
#include <string.h>

#include "skeleton/device/row.h"
#include "skeleton/slots.h"

/* ---- the thread ---- */

static struct loop_launch launch_of(const struct device_row *row, int split)
{
    struct arena *arena = row->arena;
    struct loop_launch launch = {.block = {row->threads}};
    const struct ir_size *blocks;
    if (row->is_across) {
        blocks = device_blocks(arena, row->left.at[row->across].extent,
                               (int64_t)row->team * row->elements);
        blocks = ir_size_make(arena, IR_SIZE_MUL,
                              device_row_product(arena, &row->left, row->across), blocks);
    } else {
        blocks = device_blocks(arena, device_row_product(arena, &row->left, -1),
                               row->threads / row->team);
    }
    int64_t shares = (int64_t)split * row->cluster;
    launch.grid[0] = shares > 1
                         ? ir_size_make(arena, IR_SIZE_MUL, blocks, ir_size_constant(arena, shares))
                         : blocks;
    launch.cluster = row->cluster > 1 ? row->cluster : 0;
    launch.minimum_blocks = row->resident;
    return launch;
}

static void open_along(struct device_row *row, loop_value block_number)
{
    struct arena *arena = row->arena;
    struct loop_block *top = row->top;
    loop_value thread = loop_thread_number(arena, 0), team = device_row_integer(row, row->team);
    int rows = row->threads / row->team;
    loop_value own = block_number;
    row->lane = device_name(top, "lane", device_remainder(arena, thread, team));
    if (row->cluster > 1) {
        loop_value blocks = device_row_integer(row, row->cluster);
        loop_value own_block = device_remainder(arena, block_number, blocks);
        row->lane =
            device_name(top, "lane", loop_add(arena, loop_mul(arena, own_block, team), row->lane));
        own = device_quotient(arena, block_number, blocks);
    }
    if (rows > 1) {
        loop_value count = device_row_count(row, &row->left, -1);
        own = loop_add(arena, loop_mul(arena, block_number, device_row_integer(row, rows)),
                       device_quotient(arena, thread, team));
        own = device_name(top, "own", own);
        row->inside = device_name(top, "inside", loop_less(arena, own, count));
        own = loop_min(arena, own, loop_sub(arena, count, device_row_integer(row, 1)));
    }
    row->row_number = device_name(top, "row", own);
    device_row_unfold(row, top, &row->places, &row->left, -1, row->row_number);
    row->element = device_row_integer(row, 0);
}

static void open_across(struct device_row *row, loop_value block_number)
{
    struct arena *arena = row->arena;
    struct loop_block *top = row->top;
    const struct nest_chain *lane = device_row_lane(row);
    loop_value thread = loop_thread_number(arena, 0), team = device_row_integer(row, row->team);
    loop_value extent = skeleton_size(&row->values, lane->extent);
    int64_t tile = (int64_t)row->team * row->elements;
    loop_value pieces =
        device_quotient(arena, loop_add(arena, extent, device_row_integer(row, tile - 1)),
                        device_row_integer(row, tile));
    pieces = device_name(top, "pieces", pieces);
    loop_value other = device_name(top, "outer", device_quotient(arena, block_number, pieces));
    loop_value piece = loop_sub(arena, block_number, loop_mul(arena, other, pieces));
    loop_value column =
        loop_add(arena, loop_mul(arena, piece, team), device_remainder(arena, thread, team));
    row->lane = device_name(top, "lane", device_quotient(arena, thread, team));
    row->column =
        device_name(top, "column", loop_mul(arena, column, device_row_integer(row, row->elements)));
    row->row_number =
        device_name(top, "row", loop_add(arena, loop_mul(arena, other, extent), row->column));
    device_row_unfold(row, top, &row->places, &row->left, row->across, other);
}

/* The variable that stands for which of its rows a thread means. */
static struct loop_variable *element_variable(struct arena *arena)
{
    struct loop_variable *variable = arena_new(arena, struct loop_variable);
    *variable = (struct loop_variable){"element", LOOP_COUNTER, {DTYPE_I64, 1}, IR_NONE};
    return variable;
}

/* Launch and shared memory of a function. */
static void begin(struct device_row *row, const char *name, int split)
{
    struct loop_launch launch = launch_of(row, split);
    row->body = loop_launch(row->kernel, name, slots_note(row->group), &launch);
    row->combining = (struct device_team){.device = row->group->target->device,
                                          .top = row->body,
                                          .threads = row->threads,
                                          .cluster = row->cluster};
    row->combining.stride = row->is_across ? row->team : 1;
    row->combining.width = row->is_across ? row->threads / row->team : row->team;
    for (int i = 0; i < row->row.stage_count; i++) {
        const struct ir_stage *ir = row->row.stages[i].stage;
        if (row->row.stages[i].kind == ROW_REDUCE)
            device_combine_prepare(&row->combining, ir->monoid->kind,
                                   ir->nodes.at[ir->writes[0].value].type);
    }
    if (row->cluster > 1)
        loop_cluster_arrive(row->body);
}

/* Shared memory for what does not go into registers. */
static void begin_stash(struct device_row *row)
{
    row->stashed = NULL;
    if (row->stash)
        row->stashed = loop_shared(row->body, "stash", row->kept_dtype,
                                   (int64_t)row->threads * row->stash * row->elements);
}

/* Which row is this thread's, in the block of statements that follow. */
static void open_thread(struct device_row *row, struct loop_block *top, int split)
{
    struct arena *arena = row->arena;
    row->top = top;
    row->kept = (struct device_loads){0};
    row->places = map_new(arena);
    row->inside = row->part = NULL;
    row->which = element_variable(arena);
    row->combining.meetings = 0;
    row->stride = row->combining.width * row->cluster;
    for (int i = 0; i < row->row.stage_count; i++)
        row->stages[i].computed = NULL;
    loop_value block_number = loop_block_number(arena, 0);
    if (split > 1) {
        loop_value shares = device_row_integer(row, split);
        row->part = device_name(top, "part", device_remainder(arena, block_number, shares));
        block_number =
            device_name(top, "whole_block", device_quotient(arena, block_number, shares));
    }
    if (row->is_across)
        open_across(row, block_number);
    else
        open_along(row, block_number);
}

/* ---- sums ---- */

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
        loop_store(row->top, own->sums, device_row_integer(row, e), unit.value);
        if (own->places)
            loop_store(row->top, own->places, device_row_integer(row, e), unit.place);
    }
}

/* What the team has, in every thread of it; rounded when it is final. */
static void join_sums(struct device_row *row, int stage, bool final)
{
    struct arena *arena = row->arena;
    struct device_row_stage *own = &row->stages[stage];
    const struct ir_stage *ir = row->row.stages[stage].stage;
    for (int e = 0; e < device_row_sums(row); e++) {
        loop_value at = device_row_integer(row, e);
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
    loop_value rows = device_row_count(row, &row->left, -1);
    return loop_add(arena, loop_mul(arena, part, rows), loop_add(arena, row->row_number, element));
}

static loop_value in_columns(struct device_row *row, loop_value element)
{
    if (!row->is_across)
        return row->inside;
    return loop_less(row->arena, loop_add(row->arena, row->column, element),
                     device_row_extent(row));
}

static void leave_sums(struct device_row *row, int stage)
{
    struct arena *arena = row->arena;
    struct device_row_stage *own = &row->stages[stage];
    struct loop_block *first =
        loop_if(row->top, loop_apply(arena, IR_EQ, row->lane, device_row_integer(row, 0), NULL));
    for (int e = 0; e < device_row_sums(row); e++) {
        loop_value at = device_row_integer(row, e), place = partial_place(row, row->part, at);
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
        loop_for(row->top, LOOP_SERIAL, "part", row->lane, device_row_integer(row, row->split),
                 device_row_integer(row, row->combining.width), &counter);
    for (int e = 0; e < device_row_sums(row); e++) {
        loop_value at = device_row_integer(row, e),
                   place = partial_place(row, loop_of(arena, counter), at);
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

/* Values of rows that someone else reads, by the first thread of each team. */
static void store_values(struct device_row *row)
{
    struct arena *arena = row->arena;
    struct skeleton_values *values = &row->values;
    struct loop_block *first = NULL;
    for (int e = 0; e < device_row_sums(row); e++) {
        struct map places = map_new(arena);
        row->element = device_row_integer(row, e);
        values->memo = NULL;
        device_row_copy_places(&places, &row->places);
        if (row->is_across)
            device_row_place(&places, device_row_lane(row),
                             loop_add(arena, row->column, row->element));
        for (int i = 0; i < row->row.stage_count; i++) {
            const struct ir_stage *ir = row->row.stages[i].stage;
            for (int w = 0; row->row.stages[i].kind != ROW_MAP && w < ir->write_count; w++) {
                int tensor = ir->writes[w].tensor;
                loop_value at[IR_MAX_RANK];
                if (!row->group->needed[tensor])
                    continue;
                if (!first)
                    first = loop_if(row->top, loop_apply(arena, IR_EQ, row->lane,
                                                         device_row_integer(row, 0), NULL));
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

/* ---- versions ---- */

/* The row with all sizes fixed that say where elements of a row lie, and the condition under which
 * they are those; NULL: always. */
static loop_value fix_sizes(const struct device_row *row, struct device_row *fixed)
{
    const struct ir_size *sizes[2 * NEST_MAX_AXES];
    struct skeleton_reason ignored = {""};
    loop_value condition;
    int count = 0;
    for (int i = 0; i < row->reduced.count; i++)
        sizes[count++] = row->reduced.at[i].extent;
    for (int i = 0; i < row->left.count; i++)
        if (i > 0 || (row->is_across && row->across == 0))
            sizes[count++] = row->left.at[i].extent;
    const struct skeleton_group *known =
        device_known(row->arena, row->group, sizes, count, &condition);
    device_row_init(fixed, known, row->kernel, &ignored);
    device_row_decide(fixed, row->plan);
    fixed->across = row->across;
    fixed->body = row->body;
    fixed->stashed = row->stashed;
    fixed->combining = row->combining;
    for (int i = 0; i < row->row.stage_count; i++) {
        fixed->stages[i].partial = row->stages[i].partial;
        fixed->stages[i].partial_places = row->stages[i].partial_places;
    }
    return condition;
}

/* A function, for the sizes at hand and for all others if so decided; `write` writes it, for a pass
 * or a whole row. */
static void write_versions(struct device_row *row, const char *name, int split, int pass,
                           void (*write)(struct device_row *row, int pass))
{
    begin(row, name, split);
    begin_stash(row);
    loop_value condition = NULL;
    if (row->is_known) {
        struct device_row fixed;
        condition = fix_sizes(row, &fixed);
        open_thread(&fixed, condition ? loop_if(row->body, condition) : row->body, split);
        write(&fixed, pass);
    }
    if (!row->is_known || condition) {
        struct device_row other = *row;
        other.values.context = &other;
        if (row->is_known) /* few registers, whatever the sizes */
            other.keep = other.stash = 0, other.unroll = 1;
        open_thread(&other, condition ? loop_else(row->body) : row->body, split);
        write(&other, pass);
    }
    loop_prune(row->body);
}

static void open_pass(struct device_row *row, int pass)
{
    for (int i = 0; i < row->row.stage_count; i++)
        if (device_row_sums_in(row, i, pass))
            open_sums(row, i);
    device_row_walk(row, pass);
}

/* What blocks that share a row do in one pass; beyond the last: values of rows are stored. */
static void write_share(struct device_row *row, int pass)
{
    for (int i = 0; i < row->row.stage_count; i++)
        if (row->row.stages[i].kind == ROW_REDUCE && row->row.stages[i].pass < pass)
            take_sums(row, i);
    if (pass > row->row.pass_count) {
        store_values(row);
        return;
    }
    open_pass(row, pass);
    for (int i = 0; i < row->row.stage_count; i++) {
        if (!device_row_sums_in(row, i, pass))
            continue;
        join_sums(row, i, false);
        leave_sums(row, i);
    }
}

static void write_rows(struct device_row *row, int pass)
{
    for (pass = 1; pass <= row->row.pass_count; pass++) {
        open_pass(row, pass);
        for (int i = 0; i < row->row.stage_count; i++)
            if (device_row_sums_in(row, i, pass))
                join_sums(row, i, true);
    }
    store_values(row);
}

static void lower_split(struct device_row *row)
{
    struct arena *arena = row->arena;
    const struct ir_size *count =
        ir_size_make(arena, IR_SIZE_MUL, device_row_product(arena, &row->left, -1),
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
        write_versions(row,
                       last ? row->plan->name : arena_printf(arena, "%s_%d", row->plan->name, pass),
                       last ? 1 : row->split, pass, write_share);
    }
}

void device_row_lower(const struct skeleton_group *group, const struct plan_group *plan,
                      struct loop_kernel *kernel)
{
    struct device_row row;
    struct skeleton_reason ignored = {""};
    device_row_init(&row, group, kernel, &ignored);
    device_row_decide(&row, plan);
    if (row.split > 1)
        lower_split(&row);
    else
        write_versions(&row, plan->name, 1, 0, write_rows);
}
