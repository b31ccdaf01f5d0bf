/*
 * scatter: values combined into places that data chooses: index_add, scatter_add, gradients of
 * embeddings, counts.
 *
 *     the target as it begins
 *     for indices that are places of the target themselves       <- threads share these, or
 *         for all others, in order                               each takes a range of one place
 *             the innermost of the former in lanes: read, combine, write
 *
 * No two threads write the same element: either an index of the domain is a place of the target, so
 * that its values are apart, or each thread goes over everything and keeps to its own range of
 * places. Elements are combined in the order the op says either way. A target that rounds what is
 * not yet whole is kept wider meanwhile, and rounded at the end.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skeleton/nest.h"
#include "skeleton/scatter.h"
#include "skeleton/slots.h"

/* ---- what fits ---- */

static int written_dimension(const struct skeleton_group *group, const struct ir_stage *stage,
                             int index)
{
    const struct ir_write *write = &stage->writes[0];
    for (int d = 0; d < group->part->tensors[write->tensor].rank; d++) {
        const struct ir_node *node = &stage->nodes.at[write->at[d]];
        if (node->op == IR_INDEX && node->index == index)
            return d;
    }
    return -1;
}

bool scatter_fits(const struct skeleton_group *group, struct scatter *scatter,
                  struct skeleton_reason *why_not)
{
    const struct ir_part *part = group->part;
    const struct ir_stage *stage = &part->stages[group->stages[0]];
    *scatter = (struct scatter){group, stage, .lane = -1, .outer = -1, .chosen = -1};
    if (group->stage_count != 1 || stage->kind != IR_SCATTER || stage->write_count != 1) {
        nest_refuse(why_not, "it is not one scatter of one tensor");
        return false;
    }
    if (!stage->assign && stage->monoid->kind > IR_ANY) {
        nest_refuse(why_not, "what is combined are pairs, or kept several at a time");
        return false;
    }
    if (stage->index_count > SCATTER_INDICES) {
        nest_refuse(why_not, "more than %d indices", SCATTER_INDICES);
        return false;
    }
    scatter->tensor = stage->writes[0].tensor;
    int rank = part->tensors[scatter->tensor].rank;
    for (int i = 0; i < stage->index_count; i++) {
        if (!part->indices[stage->indices[i]].extent) {
            nest_refuse(why_not, "an index runs over a range that depends on data");
            return false;
        }
        int dimension = written_dimension(group, stage, stage->indices[i]);
        scatter->apart[i] = dimension >= 0;
        if (dimension >= 0 && dimension == rank - 1)
            scatter->lane = i;
    }
    for (int i = stage->index_count - 1; i >= 0; i--) {
        if (scatter->apart[i] && i != scatter->lane)
            scatter->outer = i;
    }
    for (int d = rank - 1; d >= 0; d--) {
        if (stage->nodes.at[stage->writes[0].at[d]].op != IR_INDEX)
            scatter->chosen = d;
    }
    enum dtype kept = part->tensors[scatter->tensor].dtype;
    scatter->dtype = stage->nodes.at[stage->writes[0].value].type;
    scatter->direct = stage->assign || kept == scatter->dtype;
    return true;
}

static bool scatter_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct scatter scatter;
    return scatter_fits(group, &scatter, why_not);
}

/* ---- decisions ---- */

static const char *const PARALLEL[] = {"none", "places", "range", "copies"};

static double extent_of(const struct scatter *scatter, int place)
{
    const struct skeleton_group *group = scatter->group;
    return (double)nest_size(group, group->part->indices[scatter->stage->indices[place]].extent);
}

struct scatter_work {
    double points, target, apart, inner; /* elements; apart: what threads may share; in lanes */
};

static struct scatter_work work_of(const struct scatter *scatter)
{
    struct scatter_work work = {.apart = 1, .inner = 1};
    work.points = ir_stage_work(scatter->group->binding, scatter->stage).points;
    work.target = (double)ir_tensor_shape(scatter->group->binding, scatter->tensor, NULL);
    for (int i = 0; i < scatter->stage->index_count; i++) {
        if (i == scatter->lane)
            work.inner = extent_of(scatter, i);
    }
    if (scatter->outer >= 0)
        work.apart = extent_of(scatter, scatter->outer);
    return work;
}

/* What begins and ends, and the points, shared by threads; with ranges each looks at all rows, with
 * copies each has a target of its own. */
static double seconds_of(const struct scatter *scatter, double lanes, double threads,
                         const char *parallel)
{
    bool range = strcmp(parallel, "range") == 0, copies = strcmp(parallel, "copies") == 0;
    const struct skeleton_target *target = scatter->group->target;
    struct scatter_work work = work_of(scatter);
    double cycle = target->vector_bytes / 2.0 / target->fma;
    double bytes = (double)dtype_bytes(scatter->dtype);
    double rate = work.target * bytes <= (double)target->l2 ? target->l2_rate : target->memory;
    double vectors = work.points / work.inner * ceil(work.inner / lanes);
    double moved = (2 * work.target + 3 * work.points) * bytes / rate;
    double rows = work.points / work.inner; /* each asks data for its place */
    double looked = rows * 4 * cycle;
    double more = range ? looked : copies ? 2 * work.target * bytes / rate : 0;
    return fmax(moved, vectors * 6 * cycle + looked) / threads + more;
}

/* The first index that threads with copies may share: none that runs in lanes; -1: there is none.
 */
int scatter_split(const struct scatter *scatter)
{
    for (int i = 0; i < scatter->stage->index_count; i++) {
        if (i != scatter->lane)
            return i;
    }
    return -1;
}

static bool may_be(const struct scatter *scatter, const char *parallel,
                   struct skeleton_reason *why_not)
{
    enum { COPIES_MOST = 1 << 28 }; /* bytes */
    const struct skeleton_group *group = scatter->group;
    if (strcmp(parallel, "places") == 0 && scatter->outer < 0) {
        nest_refuse(why_not, "no index but the one in lanes is a place of the target");
        return false;
    }
    if (strcmp(parallel, "range") == 0 && scatter->chosen < 0) {
        nest_refuse(why_not, "data chooses no place of the target");
        return false;
    }
    if (strcmp(parallel, "copies") != 0)
        return true;
    if (scatter->stage->assign || scatter_split(scatter) < 0) {
        nest_refuse(why_not, "the last value stays: copies would not know which that is");
        return false;
    }
    double bytes = work_of(scatter).target * (double)dtype_bytes(scatter->dtype);
    if (bytes * group->target->threads > COPIES_MOST) {
        nest_refuse(why_not, "copies of the target are more than %d bytes", COPIES_MOST);
        return false;
    }
    return true;
}

static void scatter_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    struct scatter scatter;
    struct skeleton_reason ignored;
    if (!scatter_fits(group, &scatter, &ignored))
        return;
    struct scatter_work work = work_of(&scatter);
    int lanes = group->target->vector_bytes / (int)dtype_bytes(scatter.dtype), seed = 0;
    if (scatter.lane < 0 || work.inner * 4 <= lanes)
        lanes = 1;
    double threads = group->target->threads, least = seconds_of(&scatter, lanes, 1, "none");
    for (int i = 1; i < 4 && threads > 1 && least > 2e-5; i++) {
        double seconds = seconds_of(&scatter, lanes, threads, PARALLEL[i]);
        if (!may_be(&scatter, PARALLEL[i], &ignored) || seconds > 0.8 * least)
            continue;
        least = seconds;
        seed = i;
    }
    if (seed > 1 && scatter.outer >= 0 && work.apart >= threads)
        seed = 1; /* the only way that does nothing twice */
    slots_add(group, slots, "parallel",
              "threads share an index that is a place of the target, or ranges of one that data "
              "chooses, or have copies of the target",
              PARALLEL, 4, seed);
    slots_add_lanes(group, slots, lanes, SLOTS_LANES);
}

static bool scatter_legal(const struct skeleton_group *group, const struct plan_group *plan,
                          struct skeleton_reason *why_not)
{
    struct scatter scatter;
    if (!scatter_fits(group, &scatter, why_not))
        return false;
    for (int i = 1; i < 4; i++) {
        if (plan_is(plan, "parallel", PARALLEL[i]) && !may_be(&scatter, PARALLEL[i], why_not))
            return false;
    }
    if (plan_number(plan, "lanes", 1) > 1 && scatter.lane < 0) {
        nest_refuse(why_not, "no index is the last place of the target: lanes might collide");
        return false;
    }
    return true;
}

static struct skeleton_cost scatter_predict(const struct skeleton_group *group,
                                            const struct plan_group *plan)
{
    struct scatter scatter;
    struct skeleton_reason ignored;
    struct skeleton_cost cost = {.vectors = 4};
    if (!scatter_fits(group, &scatter, &ignored))
        return cost;
    struct scatter_work work = work_of(&scatter);
    bool alone = plan_is(plan, "parallel", "none");
    double threads = alone ? 1 : group->target->threads;
    if (plan_is(plan, "parallel", "places"))
        threads = fmax(1, fmin(threads, work.apart));
    cost.operations = work.points;
    cost.bytes = (2 * work.target + work.points) * (double)dtype_bytes(scatter.dtype);
    cost.seconds = seconds_of(&scatter, (double)plan_number(plan, "lanes", 1), threads,
                              plan_get(plan, "parallel")) +
                   (alone ? 0 : 5e-6);
    cost.scratch = scatter.direct ? 0 : (int64_t)work.target * (int64_t)dtype_bytes(scatter.dtype);
    return cost;
}

const struct skeleton skeleton_scatter = {
    .name = "scatter",
    .note = "values combined into places that data chooses, without races",
    .match = scatter_match,
    .open = scatter_open,
    .legal = scatter_legal,
    .predict = scatter_predict,
    .lower = scatter_lower,
};
