/*
 * jagged, the loops: segment by segment the stages of the group, one index of each in lanes.
 */
#include "skeleton/jagged.h"
#include "skeleton/lanes.h"
#include "skeleton/nest.h"
#include "skeleton/slots.h"

struct jagged_code {
    const struct skeleton_group *group;
    const struct ir_stage *stage; /* that is being written */
    struct arena *arena;
    struct skeleton_values values;
    int lanes, unroll, ahead, lane; /* lane: place of the index that runs in lanes */
    struct loop_variable *variable; /* stands for it */
    loop_value offset;              /* of what is written; of a map with the value */
    loop_value value;
    struct loop_variable *sums[JAGGED_VECTORS];
    loop_value ahead_to; /* the last row of the range that is open; NULL: none */
    const struct loop_variable *row;
};

static void index_bounds(struct jagged_code *code, struct loop_block *block, int index,
                         loop_value *from, loop_value *to)
{
    const struct ir_index *info = &code->group->part->indices[index];
    *from = loop_integer(code->arena, 0);
    if (info->extent) {
        *to = skeleton_size(&code->values, info->extent);
        return;
    }
    *from = skeleton_value(&code->values, code->stage, info->low);
    *to = skeleton_value(&code->values, code->stage, info->high);
    *from = loop_of(code->arena, loop_let(block, "low", *from));
    *to = loop_of(code->arena, loop_let(block, "high", *to));
}

/* Loops over the indices at first..end-1 of the stage, but for the one in lanes. */
static struct loop_block *open_indices(struct jagged_code *code, struct loop_block *block,
                                       int first, int end)
{
    for (int i = first; i < end; i++) {
        int index = code->stage->indices[i];
        struct loop_variable *counter;
        loop_value from, to;
        if (i == code->lane && code->lane > 0)
            continue;
        index_bounds(code, block, index, &from, &to);
        block = loop_for(block, LOOP_SERIAL, code->group->part->indices[index].name, from, to, NULL,
                         &counter);
        code->values.indices[index] = loop_of(code->arena, counter);
        if (!code->group->part->indices[index].extent) {
            code->row = counter;
            code->ahead_to = loop_sub(code->arena, to, loop_integer(code->arena, 1));
        }
    }
    return block;
}

/* The value at the present indices; what is left out is the unit. */
static loop_value stage_value(struct jagged_code *code)
{
    const struct ir_stage *stage = code->stage;
    loop_value value = skeleton_value(&code->values, stage, stage->writes[0].value);
    if (stage->predicate == IR_NONE)
        return value;
    loop_value wanted = skeleton_value(&code->values, stage, stage->predicate);
    return loop_select(code->arena, wanted, value,
                       loop_unit(code->arena, stage->monoid->kind, value->type));
}

static loop_value stage_offset(struct jagged_code *code)
{
    const struct ir_write *write = &code->stage->writes[0];
    loop_value at[IR_MAX_RANK];
    for (int d = 0; d < code->group->part->tensors[write->tensor].rank; d++)
        at[d] = skeleton_value(&code->values, code->stage, write->at[d]);
    return skeleton_offset(&code->values, write->tensor, at);
}

static void store(struct jagged_code *code, struct loop_block *block, loop_value value,
                  const struct skeleton_lanes *lanes)
{
    int tensor = code->stage->writes[0].tensor;
    value = skeleton_round(&code->values, tensor, value);
    lanes_store(block, skeleton_buffer(&code->values, tensor), code->offset, value, lanes);
}

/* ---- maps ---- */

static void map_vectors(void *context, struct loop_block *block, const struct skeleton_lanes *lanes,
                        int vectors)
{
    struct jagged_code *code = context;
    for (int i = 0; i < vectors; i++) {
        struct skeleton_lanes along = *lanes;
        along.from = loop_add(code->arena, lanes->from,
                              loop_integer(code->arena, (int64_t)i * lanes->lanes));
        loop_value value = code->value;
        skeleton_widen(block, &along, &value, 1);
        store(code, block, value, &along);
    }
}

static void lower_map(struct jagged_code *code, struct loop_block *block)
{
    const struct ir_stage *stage = code->stage;
    loop_value from = loop_integer(code->arena, 0), to = loop_integer(code->arena, 1);
    block = open_indices(code, block, 1, stage->index_count);
    if (code->lane > 0) {
        index_bounds(code, block, stage->indices[code->lane], &from, &to);
        code->values.indices[stage->indices[code->lane]] = loop_of(code->arena, code->variable);
    }
    code->offset = stage_offset(code);
    code->value = stage_value(code);
    const struct loop_variable *variable = code->variable;
    if (code->lane > 0)
        block = loop_if(block, loop_less(code->arena, from, to)); /* before anything is read */
    skeleton_hoist(block, &variable, 1, &code->value, 1);
    struct skeleton_lanes lanes = {variable, code->lane > 0 ? code->lanes : 1, from, NULL};
    lanes_loop(block, &lanes, to, 1, map_vectors, code);
}

/* ---- reductions whose result is dense in the lanes ---- */

struct prefetching {
    struct jagged_code *code;
    struct loop_block *block;
    const struct skeleton_lanes *lanes;
    int vectors;
};

static bool reads_data(loop_value value)
{
    if (!value)
        return false;
    return value->op == LOOP_LOAD || value->op == LOOP_GATHER || reads_data(value->a) ||
           reads_data(value->b) || reads_data(value->c);
}

/* Rows that data chooses: asked for some rows before they are read. */
static void prefetch(const struct prefetching *at, loop_value value, int depth)
{
    struct jagged_code *code = at->code;
    struct arena *arena = code->arena;
    if (!value || depth > 64)
        return;
    if (value->op == LOOP_LOAD && reads_data(value->offset) &&
        loop_mentions(value->offset, code->row)) {
        loop_value later =
            loop_add(arena, loop_of(arena, code->row), loop_integer(arena, code->ahead));
        later = loop_min(arena, later, code->ahead_to);
        loop_value offset = loop_substitute(arena, value->offset, code->row, later);
        offset = loop_substitute(arena, offset, code->variable, at->lanes->from);
        offset = loop_of(arena, loop_let(at->block, "soon", offset));
        for (int i = 0; i < at->vectors; i++)
            loop_prefetch(
                at->block, value->buffer,
                loop_add(arena, offset, loop_integer(arena, (int64_t)i * at->lanes->lanes)));
        return;
    }
    prefetch(at, value->a, depth + 1);
    prefetch(at, value->b, depth + 1);
    prefetch(at, value->c, depth + 1);
}

/*
 * Sums of floats are summed up by eights, those by eights, and so on: the error of a long segment
 * is then nearly that of a sum in pairs.
 */
enum { LEVELS = 4 };
static const int64_t LEVEL_ROWS[LEVELS] = {4096, 512, 64, 8};

struct levels {
    struct loop_variable *sums[LEVELS + 1][JAGGED_VECTORS];
    struct loop_block *blocks[LEVELS + 1];
    int depth;
};

/* The loop over the last reduced index, with the sums of every level begun. */
static struct loop_block *open_levels(struct jagged_code *code, struct loop_block *block,
                                      struct levels *levels, int vectors, loop_value unit)
{
    struct arena *arena = code->arena;
    int index = code->stage->indices[code->stage->index_count - 1];
    loop_value from, to;
    struct loop_variable *counter;
    index_bounds(code, block, index, &from, &to);
    code->ahead_to = loop_sub(arena, to, loop_integer(arena, 1));
    for (int level = 0; level < levels->depth; level++) {
        loop_value step = loop_integer(arena, LEVEL_ROWS[level]);
        block = loop_for(block, LOOP_SERIAL, "from", from, to, step, &counter);
        from = loop_of(arena, counter);
        to = loop_min(arena, loop_add(arena, from, step), to);
        to = loop_of(arena, loop_let(block, "to", to));
        for (int i = 0; i < vectors; i++)
            levels->sums[level + 1][i] = loop_let(block, "part", unit);
        levels->blocks[level + 1] = block;
    }
    block = loop_for(block, LOOP_SERIAL, code->group->part->indices[index].name, from, to, NULL,
                     &counter);
    code->values.indices[index] = loop_of(arena, counter);
    code->row = counter;
    return block;
}

static void reduce_vectors(void *context, struct loop_block *block,
                           const struct skeleton_lanes *lanes, int vectors)
{
    struct jagged_code *code = context;
    const struct ir_stage *stage = code->stage;
    struct arena *arena = code->arena;
    enum ir_monoid_kind monoid = stage->monoid->kind;
    struct loop_type type = {stage->nodes.at[stage->writes[0].value].type, lanes->lanes};
    loop_value unit = loop_unit(arena, monoid, type);
    bool rounds = monoid == IR_SUM && dtype_is_float(type.dtype);
    struct levels levels = {.depth = rounds ? LEVELS : 0};
    for (int i = 0; i < vectors; i++)
        levels.sums[0][i] = loop_let(block, "sum", unit);
    struct loop_block *body = open_indices(code, block, stage->left_count, stage->index_count - 1);
    body = open_levels(code, body, &levels, vectors, unit);
    code->values.memo = NULL;
    loop_value value = stage_value(code);
    const struct loop_variable *variable = code->variable;
    struct prefetching soon = {code, body, lanes, vectors};
    if (code->ahead)
        prefetch(&soon, value, 0);
    skeleton_hoist(body, &variable, 1, &value, 1);
    for (int i = 0; i < vectors; i++) {
        struct skeleton_lanes along = *lanes;
        struct loop_variable *sum = levels.sums[levels.depth][i];
        along.from = loop_add(arena, lanes->from, loop_integer(arena, (int64_t)i * lanes->lanes));
        loop_value wide = value;
        skeleton_widen(body, &along, &wide, 1);
        loop_set(body, sum, loop_combine(arena, monoid, loop_of(arena, sum), wide));
    }
    for (int level = levels.depth; level > 0; level--) {
        for (int i = 0; i < vectors; i++) {
            struct loop_variable *sum = levels.sums[level - 1][i];
            loop_value part = loop_of(arena, levels.sums[level][i]);
            loop_set(levels.blocks[level], sum,
                     loop_combine(arena, monoid, loop_of(arena, sum), part));
        }
    }
    for (int i = 0; i < vectors; i++) {
        struct skeleton_lanes along = *lanes;
        along.from = loop_add(arena, lanes->from, loop_integer(arena, (int64_t)i * lanes->lanes));
        store(code, block, loop_of(arena, levels.sums[0][i]), &along);
    }
}

static void lower_across(struct jagged_code *code, struct loop_block *block)
{
    const struct ir_stage *stage = code->stage;
    loop_value from = loop_integer(code->arena, 0), to = loop_integer(code->arena, 1);
    block = open_indices(code, block, 1, stage->left_count);
    int index = stage->indices[code->lane];
    index_bounds(code, block, index, &from, &to);
    code->values.indices[index] = loop_of(code->arena, code->variable);
    code->offset = stage_offset(code);
    struct skeleton_lanes lanes = {code->variable, code->lanes, from, NULL};
    lanes_loop(block, &lanes, to, code->unroll, reduce_vectors, code);
}

/* ---- reductions in lanes ---- */

static void fold_vectors(void *context, struct loop_block *block,
                         const struct skeleton_lanes *lanes, int vectors)
{
    struct jagged_code *code = context;
    struct arena *arena = code->arena;
    enum ir_monoid_kind monoid = code->stage->monoid->kind;
    for (int i = 0; i < vectors; i++) {
        struct skeleton_lanes along = *lanes;
        along.from = loop_add(arena, lanes->from, loop_integer(arena, (int64_t)i * lanes->lanes));
        loop_value wide = code->value;
        skeleton_widen(block, &along, &wide, 1);
        wide = loop_splat(arena, wide, lanes->lanes);
        if (lanes->count)
            wide = loop_select(arena, nest_live(arena, lanes->lanes, lanes->count), wide,
                               loop_unit(arena, monoid, wide->type));
        loop_set(block, code->sums[i],
                 loop_combine(arena, monoid, loop_of(arena, code->sums[i]), wide));
    }
}

static void lower_along(struct jagged_code *code, struct loop_block *block)
{
    const struct ir_stage *stage = code->stage;
    struct arena *arena = code->arena;
    enum ir_monoid_kind monoid = stage->monoid->kind;
    struct loop_type type = {stage->nodes.at[stage->writes[0].value].type, code->lanes};
    int unroll = code->unroll < 4 ? code->unroll : 4; /* segments are short */
    loop_value from, to;
    block = open_indices(code, block, 1, stage->left_count);
    code->offset = stage_offset(code);
    for (int i = 0; i < unroll; i++)
        code->sums[i] = loop_let(block, "sum", loop_unit(arena, monoid, type));
    struct loop_block *body = open_indices(code, block, stage->left_count, stage->index_count);
    int index = stage->indices[code->lane];
    index_bounds(code, body, index, &from, &to);
    code->values.indices[index] = loop_of(arena, code->variable);
    code->values.memo = NULL;
    code->value = stage_value(code);
    body = loop_if(body, loop_less(arena, from, to));
    const struct loop_variable *variable = code->variable;
    skeleton_hoist(body, &variable, 1, &code->value, 1);
    struct skeleton_lanes lanes = {variable, code->lanes, from, NULL};
    lanes_loop(body, &lanes, to, unroll, fold_vectors, code);
    loop_value sum = loop_of(arena, code->sums[0]);
    for (int i = 1; i < unroll; i++)
        sum = loop_combine(arena, monoid, sum, loop_of(arena, code->sums[i]));
    struct skeleton_lanes one = {code->variable, 1, loop_integer(arena, 0), NULL};
    store(code, block, loop_fold(arena, monoid, sum), &one);
}

/* ---- the whole ---- */

static void lower_stage(struct jagged_code *code, struct loop_block *block,
                        const struct ir_stage *stage)
{
    code->stage = stage;
    code->lane = jagged_lane(code->group, stage);
    code->values.memo = NULL;
    code->variable =
        lanes_variable(code->arena, code->group->part->indices[stage->indices[code->lane]].name);
    if (stage->kind == IR_MAP)
        lower_map(code, block);
    else if (code->lane < stage->left_count)
        lower_across(code, block);
    else
        lower_along(code, block);
}

void jagged_lower(const struct skeleton_group *group, const struct plan_group *plan,
                  struct loop_kernel *kernel)
{
    struct arena *arena = kernel->arena;
    struct jagged_code code = {.group = group, .arena = arena};
    bool alone = plan_is(plan, "threads", "1");
    code.lanes = (int)plan_number(plan, "lanes", 1);
    code.unroll = (int)plan_number(plan, "unroll", 1);
    code.ahead = plan_is(plan, "ahead", "no") ? 0 : (int)plan_number(plan, "ahead", 8);
    code.values = (struct skeleton_values){.group = group, .kernel = kernel};
    code.values.indices =
        arena_array(arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    struct loop_block *block = loop_function(kernel, plan->name, slots_note(group));
    const struct ir_index *segments = &group->part->indices[jagged_stage(group, 0)->indices[0]];
    loop_value count = skeleton_size(&code.values, segments->extent), zero = loop_integer(arena, 0);
    loop_value from = zero, to = count;
    struct loop_variable *counter;
    if (!alone) {
        loop_value chunk = loop_integer(arena, plan_number(plan, "chunk", 16));
        struct loop_block *body =
            loop_for(block, LOOP_PARALLEL, "first", zero, count, chunk, &counter);
        loop_note_loop(block, "segments a thread takes at a time");
        block->statements.at[block->statements.count - 1].dynamic = true;
        from = loop_of(arena, counter);
        to = loop_min(arena, loop_add(arena, from, chunk), count);
        block = body;
    }
    block = loop_for(block, LOOP_SERIAL, segments->name, from, to, NULL, &counter);
    for (int i = 0; i < group->stage_count; i++) {
        code.values.indices[jagged_stage(group, i)->indices[0]] = loop_of(arena, counter);
        lower_stage(&code, block, jagged_stage(group, i));
    }
}
