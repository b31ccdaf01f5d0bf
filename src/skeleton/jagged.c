/*
 * jagged: stages over segments whose lengths come from data: sums, means and softmax of segments,
 * bags of embeddings, rows given to or taken from segments.
 *
 *     for segments                                               <- threads, some at a time
 *         for each stage of the group
 *             for its other indices, ranges among them; one runs in lanes
 *
 * What one stage leaves for the next is in the first-level cache. Lanes run along the index that
 * the result is dense in; a stage without one reduces the range itself in lanes. Segments are dealt
 * out as threads become free, so that long ones do not keep the others waiting.
 */
#include <math.h>
#include <stdlib.h>

#include "skeleton/lanes.h"
#include "skeleton/nest.h"
#include "skeleton/slots.h"

enum { JAGGED_VECTORS = 16 };

/* ---- what fits ---- */

static const struct ir_stage *stage_of(const struct skeleton_group *group, int number)
{
    return &group->part->stages[group->stages[number]];
}

static bool is_range(const struct skeleton_group *group, int index)
{
    return group->part->indices[index].extent == NULL;
}

static bool has_range(const struct skeleton_group *group, const struct ir_stage *stage)
{
    for (int i = 0; i < stage->index_count; i++) {
        if (is_range(group, stage->indices[i]))
            return true;
    }
    return false;
}

static bool stage_fits(const struct skeleton_group *group, const struct ir_stage *stage,
                       struct skeleton_reason *why_not)
{
    const struct ir_stage *first = stage_of(group, 0);
    if (stage->kind != IR_MAP && stage->kind != IR_REDUCE) {
        nest_refuse(why_not, "a stage is neither map nor reduction");
        return false;
    }
    if (stage->kind == IR_REDUCE && stage->monoid->kind > IR_ANY) {
        nest_refuse(why_not, "a reduction is of pairs, or keeps several");
        return false;
    }
    bool segments = stage->index_count > 0 && !is_range(group, stage->indices[0]) &&
                    !is_range(group, first->indices[0]) &&
                    (stage->kind == IR_MAP || stage->left_count > 0);
    if (!segments || !skeleton_sizes_equal(group->part->indices[stage->indices[0]].extent,
                                           group->part->indices[first->indices[0]].extent)) {
        nest_refuse(why_not, "the stages do not all begin with the segments");
        return false;
    }
    return true;
}

/* The dimension that a stage writes at the segment; -1: none. */
static int segment_dimension(const struct skeleton_group *group, const struct ir_stage *stage)
{
    const struct ir_write *write = &stage->writes[0];
    for (int d = 0; d < group->part->tensors[write->tensor].rank; d++) {
        const struct ir_node *node = &stage->nodes.at[write->at[d]];
        if (node->op == IR_INDEX && node->index == stage->indices[0])
            return d;
    }
    return -1;
}

/* What the group itself defines is read at the same segment alone. */
static bool reads_own_segment(const struct skeleton_group *group, const struct ir_stage *writer,
                              const struct ir_stage *reader)
{
    int dimension = segment_dimension(group, writer);
    for (int i = 0; i < reader->nodes.count; i++) {
        const struct ir_node *node = &reader->nodes.at[i];
        if (node->op != IR_READ || node->read.tensor != writer->writes[0].tensor)
            continue;
        const struct ir_node *at =
            dimension < 0 ? NULL : &reader->nodes.at[node->read.at[dimension]];
        if (!at || at->op != IR_INDEX || at->index != reader->indices[0])
            return false;
    }
    return true;
}

static bool reads_through_inlined(const struct skeleton_group *group, int tensor)
{
    const struct ir_numbers *readers = &group->graph->readers[tensor];
    for (int i = 0; i < readers->count; i++) {
        if (group->inlined[readers->at[i]])
            return true;
    }
    return false;
}

static bool jagged_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    bool ranges = false;
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = stage_of(group, i);
        if (!stage_fits(group, stage, why_not))
            return false;
        ranges |= has_range(group, stage);
        if (group->stage_count > 1 && reads_through_inlined(group, stage->writes[0].tensor)) {
            nest_refuse(why_not, "what a stage defines is read by an inlined one");
            return false;
        }
        for (int k = 0; k < i; k++) {
            if (!reads_own_segment(group, stage_of(group, k), stage)) {
                nest_refuse(why_not, "a stage reads other segments of what the group defines");
                return false;
            }
        }
    }
    if (!ranges)
        nest_refuse(why_not, "no index runs over a range that depends on data");
    return ranges;
}

/* ---- which index runs in lanes ---- */

/* Whether a range behind place `place` of the stage's indices depends on the index there. */
static bool bounds_depend(const struct skeleton_group *group, const struct ir_stage *stage,
                          int place)
{
    for (int i = place + 1; i < stage->index_count; i++) {
        const struct ir_index *index = &group->part->indices[stage->indices[i]];
        if (!index->extent &&
            (lanes_uses(group->part, &stage->nodes, index->low, stage->indices[place]) ||
             lanes_uses(group->part, &stage->nodes, index->high, stage->indices[place])))
            return true;
    }
    return false;
}

/* Its place among the stage's indices; 0: none. A reduced one is summed up in lanes. */
static int lane_place(const struct skeleton_group *group, const struct ir_stage *stage)
{
    const struct ir_write *write = &stage->writes[0];
    int rank = group->part->tensors[write->tensor].rank;
    int left = stage->kind == IR_MAP ? stage->index_count : stage->left_count;
    for (int i = left - 1; i > 0 && rank > 0; i--) {
        const struct ir_node *last = &stage->nodes.at[write->at[rank - 1]];
        if (last->op == IR_INDEX && last->index == stage->indices[i] &&
            !bounds_depend(group, stage, i))
            return i;
    }
    return stage->index_count - 1;
}

/* ---- decisions ---- */

struct jagged_work {
    double bytes, operations, segments, inner; /* inner: the widest index in lanes */
    int element;
};

/* A tensor that an earlier stage or node read or wrote is in the cache by now. */
static bool met_before(const struct skeleton_group *group, int number, int node)
{
    int tensor = stage_of(group, number)->nodes.at[node].read.tensor;
    for (int i = 0; i <= number; i++) {
        const struct ir_stage *stage = stage_of(group, i);
        int count = i == number ? node : stage->nodes.count;
        if (i < number && stage->writes[0].tensor == tensor)
            return true;
        for (int n = 0; n < count; n++) {
            if (stage->nodes.at[n].op == IR_READ && stage->nodes.at[n].read.tensor == tensor)
                return true;
        }
    }
    return false;
}

static struct jagged_work work_of(const struct skeleton_group *group)
{
    struct jagged_work work = {.element = 8};
    work.segments =
        (double)nest_size(group, group->part->indices[stage_of(group, 0)->indices[0]].extent);
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = stage_of(group, i);
        struct ir_work of = ir_stage_work(group->binding, stage);
        work.operations += of.operations + of.points;
        if (group->needed[stage->writes[0].tensor])
            work.bytes += of.write_bytes;
        for (int n = 0; n < stage->nodes.count; n++) {
            const struct ir_node *node = &stage->nodes.at[n];
            if (node->op != IR_READ)
                continue;
            if (met_before(group, i, n))
                continue;
            double element = (double)dtype_bytes(group->part->tensors[node->read.tensor].dtype);
            double whole =
                element * (double)ir_tensor_shape(group->binding, node->read.tensor, NULL);
            work.bytes += fmin(whole, of.points * element);
        }
        if (stage->nodes.at[stage->writes[0].value].type == DTYPE_F32)
            work.element = 4;
        int lane = lane_place(group, stage);
        const struct ir_size *extent = group->part->indices[stage->indices[lane]].extent;
        double size = lane == 0 ? 1 : extent ? (double)nest_size(group, extent) : 64;
        work.inner = fmax(work.inner, size);
    }
    return work;
}

static const char *const UNROLLS[] = {"1", "2", "4", "8", "16"};
static const char *const CHUNKS[] = {"1", "4", "16", "64", "256"};
static const char *const AHEAD[] = {"no", "4", "8", "16"};

static bool gathers(const struct skeleton_group *group)
{
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_nodes *nodes = &stage_of(group, i)->nodes;
        for (int n = 0; n < nodes->count; n++) {
            const struct ir_node *node = &nodes->at[n];
            int rank = node->op == IR_READ ? group->part->tensors[node->read.tensor].rank : 0;
            for (int d = 0; d < rank; d++) {
                if (nodes->at[node->read.at[d]].op == IR_READ)
                    return true;
            }
        }
    }
    return false;
}

static void jagged_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    struct jagged_work work = work_of(group);
    int lanes = group->target->vector_bytes / work.element, unroll = 0, chunk = 0;
    while (unroll < 4 && 2 * atoi(UNROLLS[unroll]) * lanes <= work.inner)
        unroll++;
    while (chunk < 4 && atoi(CHUNKS[chunk + 1]) * 16.0 * group->target->threads <= work.segments)
        chunk++;
    slots_add_threads(group, slots, work.bytes, work.operations);
    slots_add_lanes(group, slots, work.inner * 4 <= lanes ? 1 : lanes);
    slots_add(group, slots, "unroll", "vectors that are reduced side by side", UNROLLS, 5, unroll);
    slots_add(group, slots, "chunk", "segments a thread takes at a time", CHUNKS, 5, chunk);
    slots_add(group, slots, "ahead", "rows that data chooses are fetched so many rows before",
              AHEAD, 4, gathers(group) ? 2 : 0);
}

static bool jagged_legal(const struct skeleton_group *group, const struct plan_group *plan,
                         struct skeleton_reason *why_not)
{
    (void)plan;
    return jagged_match(group, why_not);
}

static struct skeleton_cost jagged_predict(const struct skeleton_group *group,
                                           const struct plan_group *plan)
{
    enum { SEGMENT_STEPS = 40 }; /* instructions a segment costs beside its elements */
    struct jagged_work work = work_of(group);
    struct skeleton_cost cost = {.bytes = work.bytes, .operations = 2 * work.operations};
    double threads = plan_is(plan, "threads", "1") ? 1 : group->target->threads;
    cost.vectors = (int)plan_number(plan, "unroll", 1) + 4;
    slots_predict(group, plan, &cost);
    cost.seconds += work.segments * group->stage_count * SEGMENT_STEPS *
                    group->target->vector_bytes / 2 / group->target->fma / threads;
    return cost;
}

/* ---- loops ---- */

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
        if (is_range(code->group, index)) {
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

/* Rows that data chooses: those of some rows later are asked for now. */
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
enum { LEVELS = 2 };
static const int64_t LEVEL_ROWS[LEVELS] = {64, 8};

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
    code->lane = lane_place(code->group, stage);
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

static void jagged_lower(const struct skeleton_group *group, const struct plan_group *plan,
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
    const struct ir_index *segments = &group->part->indices[stage_of(group, 0)->indices[0]];
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
        code.values.indices[stage_of(group, i)->indices[0]] = loop_of(arena, counter);
        lower_stage(&code, block, stage_of(group, i));
    }
}

const struct skeleton skeleton_jagged = {
    .name = "jagged",
    .note = "segments whose lengths come from data, stage by stage while they are in cache",
    .match = jagged_match,
    .open = jagged_open,
    .legal = jagged_legal,
    .predict = jagged_predict,
    .lower = jagged_lower,
};
