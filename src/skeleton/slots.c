/*
 * Decisions that several skeletons share: see slots.h.
 */
#include "skeleton/slots.h"

#include <math.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double START_THREADS = 5e-6; /* seconds: what it costs to wake them */
static const double L3_OVER_MEMORY = 2;

void slots_add(const struct skeleton_group *group, struct skeleton_slots *slots, const char *key,
               const char *note, const char *const *values, int count, int seed)
{
    vector_push(group->arena, slots, (struct plan_slot){key, note, values, count, seed});
}

static double seconds_alone(const struct skeleton_group *group, double bytes, double operations)
{
    double moving = bytes / group->target->memory;
    double computing = operations / group->target->fma;
    return moving > computing ? moving : computing;
}

void slots_add_threads(const struct skeleton_group *group, struct skeleton_slots *slots,
                       double bytes, double operations)
{
    static const char *const VALUES[] = {"1", "all"};
    bool worth =
        group->target->threads > 1 && seconds_alone(group, bytes, operations) > 4 * START_THREADS;
    slots_add(group, slots, "threads", "how many threads share the work", VALUES, 2, worth);
}

void slots_add_lanes(const struct skeleton_group *group, struct skeleton_slots *slots, int seed,
                     int most)
{
    static const char *const VALUES[] = {"1", "2", "4", "8", "16", "32"};
    int chosen = 0, count = 0;
    for (int i = 0; i < 6; i++) {
        chosen = atoi(VALUES[i]) <= seed ? i : chosen;
        count = atoi(VALUES[i]) <= most ? i + 1 : count;
    }
    slots_add(group, slots, "lanes", "elements computed side by side in a vector", VALUES, count,
              chosen);
}

void slots_add_stores(const struct skeleton_group *group, struct skeleton_slots *slots,
                      bool streaming)
{
    static const char *const VALUES[] = {"cached", "streaming"};
    slots_add(group, slots, "stores", "whether results go to memory past the caches", VALUES,
              group->target->streaming ? 2 : 1, streaming && group->target->streaming);
}

bool slots_is_large(const struct skeleton_group *group, double bytes)
{
    return bytes > 0.75 * (double)group->target->l3 * group->target->threads;
}

void slots_predict(const struct skeleton_group *group, const struct plan_group *plan,
                   struct skeleton_cost *cost)
{
    const struct skeleton_target *target = group->target;
    bool alone = plan_is(plan, "threads", "1");
    double threads = alone ? 1 : target->threads;
    double share = (double)plan_number(plan, "lanes", 1) * 4 / target->vector_bytes;
    bool cached = cost->bytes < (double)target->l2 * threads;
    double moving = cost->bytes / (cached ? target->l2_rate : target->memory);
    if (!cached && !plan_is(plan, "stores", "streaming"))
        moving *= slots_is_large(group, cost->bytes)
                      ? 1.3 /* lines are read before they are written */
                      : 1 / L3_OVER_MEMORY;
    double computing = cost->operations / (target->fma * (share < 1 ? share : 1));
    cost->seconds = (moving > computing ? moving : computing) / threads;
    if (!alone)
        cost->seconds += START_THREADS;
}

/* ---- reads ---- */

enum { LINE_BYTES = 64, STAGE_INDICES = 64 };

static const double VECTOR_STEPS = 0.5, GATHER_STEPS = 0.75;

/* How far apart neighbouring lanes of a read are, in elements; -1: anywhere. */
static double lane_stride(const struct skeleton_group *group, const struct ir_stage *stage,
                          int read, int lane)
{
    const struct ir_node *node = &stage->nodes.at[read];
    int rank = group->part->tensors[node->read.tensor].rank;
    int64_t dims[IR_MAX_RANK], factors[STAGE_INDICES], constant;
    double stride = 0, row = 1;
    ir_tensor_shape(group->binding, node->read.tensor, dims);
    for (int d = rank - 1; d >= 0; d--) {
        if (!ir_affine(group->binding, stage, node->read.at[d], &constant, factors))
            return -1;
        stride += (double)factors[lane] * row;
        row *= (double)dims[d];
    }
    return stride;
}

static double stage_points(const struct skeleton_group *group, const struct ir_stage *stage,
                           int64_t *extents)
{
    double points = 1;
    for (int i = 0; i < stage->index_count; i++) {
        const struct ir_size *extent = group->part->indices[stage->indices[i]].extent;
        if (!extent || !ir_size_eval(extent, group->binding->sizes, &extents[i]))
            extents[i] = 1;
        points *= (double)extents[i];
    }
    return points;
}

static double read_seconds(const struct skeleton_group *group, const struct ir_stage *stage,
                           int read, int lane, int lanes)
{
    const struct skeleton_target *target = group->target;
    int64_t extents[STAGE_INDICES], box[IR_MAX_RANK];
    double points = stage_points(group, stage, extents);
    double step = target->vector_bytes / 2.0 / target->fma; /* a cycle: two multiply-adds */
    double stride = lane_stride(group, stage, read, lane);
    double element =
        (double)dtype_bytes(group->part->tensors[stage->nodes.at[read].read.tensor].dtype);
    if (stride == 0) /* the same in all lanes: read once per vector at most */
        return points / lanes * VECTOR_STEPS * step;
    bool dense = stride == 1;
    double seconds = dense ? points / lanes * VECTOR_STEPS * step : points * GATHER_STEPS * step;
    double footprint = element * ir_region(group->binding, stage, read, extents, box);
    double again = points - footprint / element; /* the first time is counted as bytes moved */
    if (again <= points / 2 || footprint <= (double)target->l1 / 2)
        return seconds;
    double rate =
        footprint <= (double)target->l2 / 2 ? target->l2_rate : L3_OVER_MEMORY * target->memory;
    return seconds + again * (dense ? element : fmin(LINE_BYTES, element * fabs(stride))) / rate;
}

int slots_chain(const struct skeleton_group *group, const struct ir_stage *stage)
{
    int *depths = arena_array(group->arena, (size_t)stage->nodes.count + 1, sizeof *depths);
    int longest = 1;
    for (int n = 0; n < stage->nodes.count; n++) {
        const struct ir_node *node = &stage->nodes.at[n];
        const int arguments[] = {node->a, node->b, node->c};
        bool reads = node->op == IR_READ;
        const int *before = reads ? node->read.at : arguments;
        int count =
            reads ? group->part->tensors[node->read.tensor].rank : ir_op_arguments(node->op);
        for (int i = 0; i < count; i++)
            depths[n] = before[i] != IR_NONE && depths[before[i]] > depths[n] ? depths[before[i]]
                                                                              : depths[n];
        depths[n] += reads;
        longest = depths[n] > longest ? depths[n] : longest;
    }
    return longest;
}

/* What the reads of a vector's elements take that wait for each other. */
static double chain_seconds(const struct skeleton_group *group, const struct ir_stage *stage,
                            int lanes)
{
    static const double wait = 12e-9, element = 0.85e-9; /* a gather, from the second-level cache */
    int64_t extents[STAGE_INDICES];
    return stage_points(group, stage, extents) / lanes * (slots_chain(group, stage) - 1) *
           fmax(wait, lanes * element);
}

void slots_predict_reads(const struct skeleton_group *group, const struct plan_group *plan,
                         bool across, struct skeleton_cost *cost)
{
    double seconds = 0, waiting = 0;
    int lanes = (int)plan_number(plan, "lanes", 1);
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = &group->part->stages[group->stages[i]];
        int lane = (across ? stage->left_count : stage->index_count) - 1;
        if (stage->index_count > STAGE_INDICES || lane < 0)
            continue;
        waiting += chain_seconds(group, stage, lanes);
        for (int n = 0; n < stage->nodes.count; n++)
            if (stage->nodes.at[n].op == IR_READ)
                seconds += read_seconds(group, stage, n, lane, lanes);
    }
    seconds = fmax(seconds, waiting);
    if (!plan_is(plan, "threads", "1"))
        seconds /= group->target->threads;
    if (seconds > cost->seconds)
        cost->seconds = seconds;
}

const char *slots_note(const struct skeleton_group *group)
{
    struct text note = text_new(group->arena);
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = &group->part->stages[group->stages[i]];
        for (int k = 0; k < stage->write_count; k++)
            text_printf(&note, "%s%s", note.length ? ", " : "",
                        group->part->tensors[stage->writes[k].tensor].name);
    }
    return note.at;
}

static bool is_smooth(const struct skeleton_group *group, int first, bool *functions)
{
    *functions = false;
    for (int i = first; i < group->stage_count; i++) {
        const struct ir_stage *stage = &group->part->stages[group->stages[i]];
        for (int k = 0; k < stage->nodes.count; k++) {
            const struct ir_node *node = &stage->nodes.at[k];
            enum ir_op op = node->op;
            *functions |= op == IR_ERF || op == IR_EXP || op == IR_TANH;
            if (ir_op_arguments(op) == 0 || op == IR_READ)
                continue;
            if (!dtype_is_float(node->type) || op == IR_FLOOR || op == IR_CEIL || op == IR_TRUNC ||
                op == IR_ROUND)
                return false;
        }
    }
    return true;
}

bool slots_division_may_differ(const struct skeleton_group *group, int first)
{
    bool functions;
    return is_smooth(group, first, &functions) && functions;
}

bool slots_division_is_smooth(const struct skeleton_group *group, int first)
{
    bool functions;
    return is_smooth(group, first, &functions);
}
