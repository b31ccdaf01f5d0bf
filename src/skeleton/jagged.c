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

#include "skeleton/jagged.h"
#include "skeleton/lanes.h"
#include "skeleton/nest.h"
#include "skeleton/slots.h"

/* ---- what fits ---- */

const struct ir_stage *jagged_stage(const struct skeleton_group *group, int number)
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
    const struct ir_stage *first = jagged_stage(group, 0);
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

bool jagged_fits(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    bool ranges = false;
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = jagged_stage(group, i);
        if (!stage_fits(group, stage, why_not))
            return false;
        ranges |= has_range(group, stage);
        if (group->stage_count > 1 && reads_through_inlined(group, stage->writes[0].tensor)) {
            nest_refuse(why_not, "what a stage defines is read by an inlined one");
            return false;
        }
        for (int k = 0; k < i; k++) {
            if (!reads_own_segment(group, jagged_stage(group, k), stage)) {
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

int jagged_lane(const struct skeleton_group *group, const struct ir_stage *stage)
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

/* A tensor that an earlier stage or node read or wrote is in the cache by now. */
static bool met_before(const struct skeleton_group *group, int number, int node)
{
    int tensor = jagged_stage(group, number)->nodes.at[node].read.tensor;
    for (int i = 0; i <= number; i++) {
        const struct ir_stage *stage = jagged_stage(group, i);
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

struct jagged_work jagged_work_of(const struct skeleton_group *group)
{
    struct jagged_work work = {.element = 8};
    work.segments =
        (double)nest_size(group, group->part->indices[jagged_stage(group, 0)->indices[0]].extent);
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = jagged_stage(group, i);
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
        int lane = jagged_lane(group, stage);
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
        const struct ir_nodes *nodes = &jagged_stage(group, i)->nodes;
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
    struct jagged_work work = jagged_work_of(group);
    int lanes = group->target->vector_bytes / work.element, unroll = 0, chunk = 0;
    while (unroll < 4 && 2 * atoi(UNROLLS[unroll]) * lanes <= work.inner)
        unroll++;
    while (chunk < 4 && atoi(CHUNKS[chunk + 1]) * 16.0 * group->target->threads <= work.segments)
        chunk++;
    slots_add_threads(group, slots, work.bytes, work.operations);
    slots_add_lanes(group, slots, work.inner * 4 <= lanes ? 1 : lanes, SLOTS_LANES);
    slots_add(group, slots, "unroll", "vectors that are reduced side by side", UNROLLS, 5, unroll);
    slots_add(group, slots, "chunk", "segments a thread takes at a time", CHUNKS, 5, chunk);
    slots_add(group, slots, "ahead", "rows that data chooses are fetched so many rows before",
              AHEAD, 4, gathers(group) ? 2 : 0);
}

static bool jagged_legal(const struct skeleton_group *group, const struct plan_group *plan,
                         struct skeleton_reason *why_not)
{
    (void)plan;
    return jagged_fits(group, why_not);
}

static struct skeleton_cost jagged_predict(const struct skeleton_group *group,
                                           const struct plan_group *plan)
{
    enum { SEGMENT_STEPS = 40 }; /* instructions a segment costs beside its elements */
    struct jagged_work work = jagged_work_of(group);
    struct skeleton_cost cost = {.bytes = work.bytes, .operations = 2 * work.operations};
    double threads = plan_is(plan, "threads", "1") ? 1 : group->target->threads;
    cost.vectors = (int)plan_number(plan, "unroll", 1) + 4;
    slots_predict(group, plan, &cost);
    cost.seconds += work.segments * group->stage_count * SEGMENT_STEPS *
                    group->target->vector_bytes / 2 / group->target->fma / threads;
    return cost;
}

const struct skeleton skeleton_jagged = {
    .name = "jagged",
    .note = "segments whose lengths come from data, stage by stage while they are in cache",
    .match = jagged_fits,
    .open = jagged_open,
    .legal = jagged_legal,
    .predict = jagged_predict,
    .lower = jagged_lower,
};
