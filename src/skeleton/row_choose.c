/*
 * What is open about rows: which way lanes lie, how much is read at once, kept and shared; what is
 * legal, what to begin with, and what it will cost.
 */
#include <math.h>
#include <stdlib.h>

#include "skeleton/row.h"
#include "skeleton/slots.h"

static int chain_with(const struct nest_chains *chains, int axis)
{
    for (int i = 0; i < chains->count; i++) {
        const struct nest_chain *chain = &chains->at[i];
        if (chain->axes[chain->count - 1] == axis)
            return i;
    }
    return -1;
}

/* Whether it changes along a row. */
static bool is_along(const struct row_shape *shape, const struct nest_access *access)
{
    int rank = shape->row.nest.group->part->tensors[access->tensor].rank;
    bool along = false;
    for (int d = 0; d < rank; d++)
        along |= access->axes[d] >= 0 && chain_with(&shape->reduced, access->axes[d]) >= 0;
    return along;
}

static int64_t access_elements(const struct row_shape *shape, const struct nest_access *access)
{
    return ir_tensor_shape(shape->row.nest.group->binding, access->tensor, NULL);
}

/*
 * Where rows lie: dense along the last reduced chain, or side by side along a left one. Where the
 * rest comes from memory, what is small beside it is in a cache, and has no say.
 */
static void shape_direction(struct row_shape *shape)
{
    enum { SMALL = 8 }; /* times less than the largest */
    const struct ir_part *part = shape->row.nest.group->part;
    const struct nest_accesses *accesses = &shape->row.nest.accesses;
    bool far = false;
    int64_t largest = shape->row.nest.group->target->l2 / nest_value_bytes(&shape->row.nest);
    for (size_t i = 0; i < accesses->count; i++) {
        int64_t elements = access_elements(shape, &accesses->at[i]);
        if (!is_along(shape, &accesses->at[i]) || elements <= largest)
            continue;
        largest = elements;
        far = shape->left.count == 1; /* else results would lie apart */
    }
    shape->across = -1;
    for (size_t i = 0; i < accesses->count; i++) {
        const struct nest_access *access = &accesses->at[i];
        if (!is_along(shape, access) || (far && access_elements(shape, access) < largest / SMALL))
            continue;
        int last = access->axes[part->tensors[access->tensor].rank - 1];
        if (last >= 0 && chain_with(&shape->reduced, last) == shape->reduced.count - 1) {
            shape->across = -1;
            return;
        }
        if (last >= 0 && chain_with(&shape->left, last) >= 0)
            shape->across = chain_with(&shape->left, last);
    }
}

int row_functions(const struct ir_stage *stage)
{
    int count = 0;
    for (int i = 0; i < stage->nodes.count; i++) {
        enum ir_op op = stage->nodes.at[i].op;
        count += op >= IR_EXP && op <= IR_TGAMMA && op != IR_SQRT;
    }
    return count;
}

struct row_shape row_shape_of(const struct skeleton_group *group)
{
    struct row_shape shape = {.rows = 1, .length = 1};
    struct skeleton_reason ignored;
    row_group_init(&shape.row, group, &ignored);
    shape.left = nest_chain(&shape.row.nest, group->arena, &shape.row.left);
    shape.reduced = nest_chain(&shape.row.nest, group->arena, &shape.row.reduced);
    for (int i = 0; i < shape.left.count; i++)
        shape.rows *= nest_extent(&shape.row.nest, &shape.left.at[i]);
    for (int i = 0; i < shape.reduced.count; i++) {
        shape.inner = nest_extent(&shape.row.nest, &shape.reduced.at[i]);
        shape.length *= shape.inner;
    }
    shape_direction(&shape);
    shape.bytes = nest_bytes(&shape.row.nest);
    for (int i = 0; i < group->stage_count; i++) {
        const struct row_stage *stage = &shape.row.stages[i];
        shape.operations += nest_operations(&shape.row.nest, stage->stage);
        shape.stores |= stage->kind == ROW_MAP && group->needed[stage->stage->writes[0].tensor];
        shape.heavy |=
            stage->kind == ROW_REDUCE && stage->pass > 1 && row_functions(stage->stage) > 0;
    }
    return shape;
}

static const char *const COLUMNS[] = {"no", "256", "512", "1024", "2048"};
static const char *const NO_YES[] = {"no", "yes"};
static const char *const SIDES[] = {"along", "across"};
static const char *const UNROLLS[] = {"1", "2", "4", "8"};
static const char *const KEEPS[] = {"no", "4096", "16384", "65536", "262144"};
static const char *const DIVISIONS[] = {"exact", "reciprocal"};

static int unroll_seed(const struct row_shape *shape, int lanes, bool across)
{
    int64_t vectors = across ? nest_extent(&shape->row.nest, &shape->left.at[shape->across]) / lanes
                             : shape->inner / lanes;
    int most = !across ? 2 : shape->row.stage_count > 2 ? 1 : 2; /* as a power of two */
    while (most > 0 && vectors < 1 << most)
        most--;
    return most;
}

static int keep_seed(const struct row_shape *shape)
{
    if (!shape->heavy || !shape->stores || shape->across >= 0 || shape->reduced.count > 1)
        return 0;
    for (int i = 1; i < 5; i++) {
        if (shape->length <= atoi(KEEPS[i]))
            return i;
    }
    return 0;
}

/* Whether accumulators may be in memory: one pass of simple reductions. */
static bool columns_fit(const struct row_shape *shape)
{
    bool fits = shape->across >= 0 && shape->row.pass_count == 1;
    for (int i = 0; i < shape->row.stage_count; i++) {
        const struct row_stage *stage = &shape->row.stages[i];
        fits &= stage->kind == ROW_VALUE ||
                (stage->kind == ROW_REDUCE && stage->stage->monoid->width == 1);
    }
    return fits;
}

/* Whether threads had better share the terms of sums down the columns: then each reads memory in
 * one stream. */
static bool columns_split(const struct row_shape *shape)
{
    const struct skeleton_group *group = shape->row.nest.group;
    return columns_fit(shape) && shape->left.count == 1 && group->target->threads > 1 &&
           shape->length >= 1024 && shape->bytes > 0.5 * (double)group->target->l3;
}

static int columns_seed(const struct row_shape *shape)
{
    const struct skeleton_group *group = shape->row.nest.group;
    if (!columns_fit(shape) || shape->bytes < (double)group->target->l2)
        return 0;
    int64_t extent = nest_extent(&shape->row.nest, &shape->left.at[shape->across]);
    int64_t share =
        shape->rows / extent > 1 || columns_split(shape) ? extent : extent / group->target->threads;
    int seed = 0;
    while (seed < 4 && atoll(COLUMNS[seed + 1]) <= share)
        seed++;
    return seed;
}

/* Whether an extreme is looked for with its place. */
static bool has_places(const struct row_shape *shape)
{
    bool places = false;
    for (int i = 0; i < shape->row.stage_count; i++) {
        const struct row_stage *stage = &shape->row.stages[i];
        places |= stage->kind == ROW_REDUCE && row_is_indexed(stage);
    }
    return places;
}

/*
 * Whether half a vector had better be read at a time: a Zen 4 gets 34 GB/s from memory by these
 * and 26 by whole ones (a sum of 67 MB in pages of 4 KiB). For rows that are only read, with
 * nothing but additions and the like to do; where whole vectors compute faster, with no more than
 * one of these for each (sums down columns by halves are 1.08 times as slow on a Zen 5).
 */
static bool reads_by_halves(const struct row_shape *shape)
{
    enum { LEAST_BYTES = 2048 }; /* that lie side by side */
    const struct skeleton_target *target = shape->row.nest.group->target;
    bool busy = has_places(shape) || columns_seed(shape) > 0;
    bool light = !shape->stores && !(busy && target->full_bytes == target->vector_bytes);
    for (int i = 0; i < shape->row.stage_count; i++)
        light &= row_functions(shape->row.stages[i].stage) == 0;
    int64_t side = shape->across < 0
                       ? shape->inner
                       : nest_extent(&shape->row.nest, &shape->left.at[shape->across]);
    return light && target->masks && shape->bytes > (double)target->l3 &&
           side * nest_value_bytes(&shape->row.nest) >= LEAST_BYTES;
}

/*
 * Whether rows had better be fetched ahead: they come from memory, and stay in the cache until they
 * are gone over. Some machines follow rows of half a page and a page by themselves, and are slower
 * when told (a Zen 4: layer norm and softmax in rows of 256 to 8192); the probe finds out.
 */
static bool prefetch_seed(const struct row_shape *shape)
{
    enum { PAGE_BYTES = 4096 };
    const struct skeleton_target *target = shape->row.nest.group->target;
    int64_t row_bytes = shape->length * nest_value_bytes(&shape->row.nest);
    bool followed = target->follows && row_bytes >= PAGE_BYTES / 2 && row_bytes <= PAGE_BYTES;
    if (!has_places(shape) && (shape->row.pass_count == 1 || reads_by_halves(shape)))
        return false; /* folding an extreme with its place takes as long as another pass */
    return shape->bytes > 0.5 * (double)target->l3 && 8 * shape->length < target->l2 && !followed;
}

void row_choose_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    struct row_shape shape = row_shape_of(group);
    int most = group->target->vector_bytes / nest_value_bytes(&shape.row.nest);
    int lanes = reads_by_halves(&shape) ? most / 2 : most;
    bool across = shape.across >= 0;
    int64_t extent =
        across ? nest_extent(&shape.row.nest, &shape.left.at[shape.across]) : shape.inner;
    while (lanes > 1 && extent <= lanes / 2)
        lanes /= 2;
    bool totals = false;
    for (int i = 0; i < shape.row.stage_count; i++)
        totals |= shape.row.stages[i].kind >= ROW_TOTAL;
    bool can_split =
        across ? columns_fit(&shape) && shape.left.count == 1 : shape.reduced.count == 1 && !totals;
    bool split =
        can_split && (across ? columns_split(&shape)
                             : shape.rows < 2 * group->target->threads &&
                                   shape.length >= 4 * ROW_CHUNK && group->target->threads > 1);
    int unroll = unroll_seed(&shape, lanes, across);
    bool whole = shape.inner % ((int64_t)lanes << unroll) == 0;
    bool prefetches = !across && shape.reduced.count == 1;
    slots_add_threads(group, slots, shape.bytes, shape.operations);
    slots_add(group, slots, "side", "lanes along a row, or across rows side by side", SIDES,
              across ? 2 : 1, across);
    /* Wider vectors the compiler takes apart, in ten times the time: kernels were 2 to 13 times
     * slower in every table of bench/. */
    slots_add_lanes(group, slots, lanes, most);
    slots_add(group, slots, "unroll", "vectors of independent accumulators", UNROLLS, 4, unroll);
    slots_add(group, slots, "columns", "accumulators in memory for so many rows side by side",
              COLUMNS, columns_fit(&shape) ? 5 : 1, columns_seed(&shape));
    slots_add(group, slots, "split", "threads share each row, pass by pass", NO_YES,
              can_split ? 2 : 1, split);
    slots_add(group, slots, "keep", "up to how many elements are kept from pass to pass", KEEPS,
              !across && shape.reduced.count == 1 ? 5 : 1, split ? 0 : keep_seed(&shape));
    slots_add(group, slots, "divide", "by a row's value, or times its reciprocal", DIVISIONS, 2,
              shape.heavy);
    slots_add(group, slots, "prefetch",
              "rows are fetched ahead, evenly over the passes of those before", NO_YES,
              prefetches ? 2 : 1, prefetches && prefetch_seed(&shape));
    slots_add_stores(group, slots,
                     shape.stores && whole && !across && !split &&
                         slots_is_large(group, shape.bytes));
}

bool row_choose_legal(const struct skeleton_group *group, const struct plan_group *plan,
                      struct skeleton_reason *why_not)
{
    struct row_shape shape = row_shape_of(group);
    int64_t lanes = plan_number(plan, "lanes", 1), unroll = plan_number(plan, "unroll", 1);
    bool across = plan_is(plan, "side", "across"), split = plan_is(plan, "split", "yes");
    bool streaming = plan_is(plan, "stores", "streaming"), keeps = !plan_is(plan, "keep", "no");
    if (unroll > ROW_MAX_UNROLL)
        nest_refuse(why_not, "unroll is at most %d", ROW_MAX_UNROLL);
    else if (across && shape.across < 0)
        nest_refuse(why_not, "rows do not lie side by side");
    else if (plan_number(plan, "columns", 0) > 0 && (!across || !columns_fit(&shape)))
        nest_refuse(why_not, "accumulators in memory are for one pass across rows");
    else if (split && across && (plan_number(plan, "columns", 0) == 0 || shape.left.count != 1))
        nest_refuse(why_not, "rows side by side are shared by threads with columns only");
    else if (split && !across && shape.reduced.count != 1)
        nest_refuse(why_not, "only rows dense in memory can be shared by threads");
    else if (split && !across && ROW_CHUNK % (lanes * unroll) != 0)
        nest_refuse(why_not, "a chunk of %d is no multiple of lanes * unroll", ROW_CHUNK);
    else if ((keeps || streaming) && (across || split))
        nest_refuse(why_not, "elements are kept, and stores streamed, along whole rows only");
    else if (plan_is(plan, "prefetch", "yes") && (across || split || shape.reduced.count != 1))
        nest_refuse(why_not, "rows are fetched ahead when they are dense in memory only");
    else if (keeps && shape.reduced.count != 1)
        nest_refuse(why_not, "elements are kept of rows that are dense in memory only");
    else
        return row_group_init(&(struct row_group){0}, group, why_not);
    return false;
}

/* What rows take however little they read: the lanes of each are folded; or, across, additions wait
 * for each other, term by term, after what it takes to begin with a vector of rows. */
static double waiting(const struct skeleton_group *group, const struct plan_group *plan,
                      const struct row_shape *shape)
{
    static const double fold = 4e-9, addition = 1e-9, begin = 1e-9; /* seconds */
    double rows = (double)shape->rows, lanes = (double)plan_number(plan, "lanes", 1);
    double seconds = rows * fold;
    if (plan_is(plan, "side", "across")) {
        double side = (double)nest_extent(&shape->row.nest, &shape->left.at[shape->across]);
        double vectors = rows / fmax(side, 1) * ceil(side / lanes);
        seconds = plan_is(plan, "columns", "no")
                      ? vectors * ((double)shape->length * addition + begin)
                      : 0;
    }
    return plan_is(plan, "threads", "1") ? seconds : seconds / group->target->threads;
}

/*
 * Rows side by side have their results in a buffer first: cleared, read and written once more, and
 * for every term read and written in the first-level cache, which has twice the rate of the second.
 */
static double buffering(const struct skeleton_group *group, const struct plan_group *plan,
                        const struct row_shape *shape)
{
    static const double passes = 2.5; /* at the rate of the second-level cache */
    if (!plan_is(plan, "side", "across") || plan_is(plan, "columns", "no") ||
        group->target->l2_rate <= 0)
        return 0;
    double bytes = 4 * (double)shape->rows * (passes + (double)shape->length);
    double seconds = bytes / group->target->l2_rate;
    return plan_is(plan, "threads", "1") ? seconds : seconds / group->target->threads;
}

/* Conditions and choices among integers, which the floor counts as nothing: a cycle each, and two
 * for what becomes of them. */
static double deciding(const struct skeleton_group *group, const struct plan_group *plan,
                       const struct row_shape *shape)
{
    const struct skeleton_target *target = group->target;
    double cycle = target->vector_bytes / 2.0 / target->fma, steps = 0;
    for (int i = 0; i < shape->row.stage_count; i++) {
        const struct ir_stage *stage = shape->row.stages[i].stage;
        bool counts =
            stage->kind == IR_REDUCE && stage->nodes.at[stage->writes[0].value].type == DTYPE_I64;
        steps += counts ? 2 : 0;
        for (int n = 0; counts && n < stage->nodes.count; n++)
            steps += ir_op_arguments(stage->nodes.at[n].op) > 0;
    }
    double vectors = (double)(shape->rows * shape->length) / (double)plan_number(plan, "lanes", 1);
    return vectors * steps * cycle / (plan_is(plan, "threads", "1") ? 1 : target->threads);
}

/* What is read more than once, by passes or by other rows: from the first-level cache, which has
 * twice the rate of the second. */
static double rereading(const struct skeleton_group *group, const struct plan_group *plan,
                        const struct row_shape *shape)
{
    const struct nest_accesses *accesses = &shape->row.nest.accesses;
    double bytes = 0, elements = (double)shape->rows * (double)shape->length;
    bool *seen = arena_array(group->arena, (size_t)group->part->tensor_count + 1, sizeof *seen);
    if (plan_is(plan, "side", "across") || group->target->l2_rate <= 0)
        return 0;
    for (size_t i = 0; i < accesses->count; i++) {
        const struct nest_access *access = &accesses->at[i];
        if (!is_along(shape, access) || nest_definer(&shape->row.nest, access->tensor))
            continue;
        enum dtype dtype = group->part->tensors[access->tensor].dtype;
        bytes += elements * (double)dtype_bytes(dtype);
        if (!seen[access->tensor])
            bytes -= ir_moved_bytes(group->binding, access->tensor);
        seen[access->tensor] = true;
    }
    double seconds = fmax(bytes, 0) / (2 * group->target->l2_rate);
    return plan_is(plan, "threads", "1") ? seconds : seconds / group->target->threads;
}

struct skeleton_cost row_choose_predict(const struct skeleton_group *group,
                                        const struct plan_group *plan)
{
    struct row_shape shape = row_shape_of(group);
    struct skeleton_cost cost = {.bytes = shape.bytes, .operations = shape.operations};
    double row_bytes = 8.0 * (double)shape.length;
    if (row_bytes > (double)group->target->l2) /* each pass reads it again */
        cost.bytes += shape.bytes / 2 * (shape.row.pass_count - 1);
    cost.stack = plan_number(plan, "keep", 0) * 4;
    cost.vectors = (int)plan_number(plan, "unroll", 1) * 3;
    slots_predict(group, plan, &cost);
    slots_predict_reads(group, plan, plan_is(plan, "side", "across"), &cost);
    if (!plan_is(plan, "threads", "1") && !plan_is(plan, "split", "yes") &&
        shape.rows < group->target->threads)
        cost.seconds *= group->target->threads;
    double waits = waiting(group, plan, &shape);
    bool across = plan_is(plan, "side", "across");
    cost.seconds = across ? fmax(cost.seconds, waits) : cost.seconds + waits;
    cost.seconds += buffering(group, plan, &shape) + deciding(group, plan, &shape) +
                    rereading(group, plan, &shape);
    return cost;
}
