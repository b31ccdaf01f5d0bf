/*
 * jagged on devices: stages over segments whose lengths come from data.
 *
 *     a block of threads: one segment
 *         for each stage of the group
 *             map: its points shared out to all threads
 *             reduction: `width` results side by side, the terms of each shared out to the other
 *             threads, who combine what they have
 *             all threads meet: what the stage left is there for the next
 *
 * What a stage of the group leaves for the next one comes back from the caches. A long segment
 * keeps its block busy while others take the next ones.
 */
#include <math.h>

#include "skeleton/device/device.h"
#include "skeleton/jagged.h"
#include "skeleton/lanes.h"
#include "skeleton/slots.h"

enum { JAGGED_INDICES = 16, SUMMED = 16 }; /* SUMMED: floats that go up one after the other */

/* ---- what fits ---- */

/* At most one range, and where it lies is the same for all threads of a segment. */
static bool ranges_fit(const struct skeleton_group *group, const struct ir_stage *stage,
                       struct skeleton_reason *why_not)
{
    int ranges = 0;
    for (int i = 0; i < stage->index_count; i++) {
        const struct ir_index *index = &group->part->indices[stage->indices[i]];
        if (index->extent)
            continue;
        ranges++;
        for (int k = 1; k < stage->index_count; k++)
            if (lanes_uses(group->part, &stage->nodes, index->low, stage->indices[k]) ||
                lanes_uses(group->part, &stage->nodes, index->high, stage->indices[k]))
                ranges = JAGGED_INDICES;
    }
    if (ranges <= 1 && stage->index_count <= JAGGED_INDICES)
        return true;
    nest_refuse(why_not, "a stage has more than one range, or one that is not the segment's");
    return false;
}

static bool jagged_device_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    if (!jagged_fits(group, why_not))
        return false;
    for (int i = 0; i < group->stage_count; i++)
        if (!ranges_fit(group, jagged_stage(group, i), why_not))
            return false;
    return true;
}

/* ---- decisions ---- */

static int64_t power_up_to(double value, int64_t most)
{
    int64_t power = 1;
    while ((double)power < value && power < most)
        power *= 2;
    return power;
}

/* Results of a reduction side by side, and terms of each; of a map all points are results. */
static void sides_of(const struct skeleton_group *group, const struct ir_stage *stage,
                     double segments, double *results, double *terms)
{
    double points = ir_stage_work(group->binding, stage).points / fmax(1, segments);
    *results = points;
    *terms = 1;
    if (stage->kind == IR_MAP)
        return;
    *results = 1;
    for (int i = 1; i < stage->left_count; i++) {
        const struct ir_size *extent = group->part->indices[stage->indices[i]].extent;
        *results *= extent ? (double)nest_size(group, extent) : 1;
    }
    *terms = fmax(1, points / fmax(1, *results));
}

static void jagged_device_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    struct jagged_work work = jagged_work_of(group);
    int64_t most = group->target->device->block_threads;
    int64_t seed = most < 256 ? most : 256, threads = 32, width = 1;
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = jagged_stage(group, i);
        double results, terms;
        sides_of(group, stage, work.segments, &results, &terms);
        int64_t wide = power_up_to(results, seed);
        int64_t wanted = wide * power_up_to(terms / 2, seed / wide);
        threads = wanted > threads ? wanted : threads;
        width = stage->kind == IR_REDUCE && wide > width ? wide : width;
    }
    device_slot(group, slots, "threads", "of a block, which has one segment", 32, most, threads);
    device_slot(group, slots, "width", "results of a reduction side by side", 1, most, width);
}

static bool jagged_device_legal(const struct skeleton_group *group, const struct plan_group *plan,
                                struct skeleton_reason *why_not)
{
    if (!jagged_device_match(group, why_not))
        return false;
    if (plan_number(plan, "width", 1) > plan_number(plan, "threads", 32)) {
        nest_refuse(why_not, "a block has fewer threads than the width");
        return false;
    }
    return true;
}

static enum dtype value_type(const struct ir_stage *stage)
{
    return stage->nodes.at[stage->writes[0].value].type;
}

/* Bytes of shared memory in which threads combine what they have: once for each type. */
static int64_t shared_bytes(const struct skeleton_group *group, int threads, int width)
{
    bool taken[DTYPE_COUNT] = {false};
    int64_t bytes = 0;
    int warp = group->target->device->warp;
    for (int i = 0; i < group->stage_count && width < threads; i++) {
        const struct ir_stage *stage = jagged_stage(group, i);
        enum dtype dtype = value_type(stage);
        if (stage->kind != IR_REDUCE || dtype == DTYPE_BOOL || taken[dtype] ||
            (warp > 1 && threads <= warp))
            continue;
        taken[dtype] = true;
        bytes += threads * (int64_t)dtype_bytes(dtype);
    }
    return bytes;
}

static struct skeleton_cost jagged_device_predict(const struct skeleton_group *group,
                                                  const struct plan_group *plan)
{
    /* instructions: of an element besides its own; of a thread that meets the others */
    enum { STEPS = 12, MEETING = 60 };
    struct jagged_work work = jagged_work_of(group);
    double threads = (double)plan_number(plan, "threads", 32);
    double width = (double)plan_number(plan, "width", 1), chain = 0;
    struct device_launch launch = {.blocks = work.segments,
                                   .threads = (int)threads,
                                   .registers = 40,
                                   .bytes = work.bytes,
                                   .unique = work.bytes,
                                   .in_flight = 8};
    launch.operations = work.segments * group->stage_count * threads * MEETING;
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = jagged_stage(group, i);
        double results, terms;
        sides_of(group, stage, work.segments, &results, &terms);
        double wide = stage->kind == IR_MAP ? threads : width, rows = threads / wide;
        double turns = ceil(results / wide) * ceil(terms / rows);
        launch.operations += work.segments * turns * threads * STEPS;
        chain += turns;
    }
    struct skeleton_cost cost = {.bytes = work.bytes,
                                 .operations = work.operations,
                                 .vectors = (int)launch.registers,
                                 .shared = shared_bytes(group, (int)threads, (int)width)};
    /* a segment is waited for turn by turn, as many at once as there is room for */
    double room = device_resident(group->target->device, &launch) * group->target->device->units;
    double waiting = group->target->device->warp > 1 ? 0.1e-6 : 0;
    cost.seconds =
        fmax(device_seconds(group->target->device, &launch),
             group->target->device->launch + chain * waiting * fmax(1, work.segments / room));
    return cost;
}

/* ---- what a thread does ---- */

struct jagging {
    const struct skeleton_group *group;
    const struct ir_stage *stage; /* that is being written */
    struct arena *arena;
    struct skeleton_values values;
    int threads, width;
    struct device_team team; /* threads that share the terms of a result */
    loop_value thread;
};

static loop_value number(const struct jagging *j, int64_t value)
{
    return loop_integer(j->arena, value);
}

struct span { /* indices from..to-1 of the stage, counted through */
    int from, to;
    loop_value low[JAGGED_INDICES], length[JAGGED_INDICES];
    loop_value count;
};

static struct span open_span(struct jagging *j, struct loop_block *block, int from, int to)
{
    struct arena *arena = j->arena;
    struct span span = {.from = from, .to = to, .count = number(j, 1)};
    for (int i = from; i < to; i++) {
        const struct ir_index *index = &j->group->part->indices[j->stage->indices[i]];
        span.low[i] = number(j, 0);
        if (index->extent) {
            span.length[i] = skeleton_size(&j->values, index->extent);
        } else {
            span.low[i] =
                device_name(block, "low", skeleton_value(&j->values, j->stage, index->low));
            loop_value high = skeleton_value(&j->values, j->stage, index->high);
            loop_value length = loop_sub(arena, high, span.low[i]);
            length = loop_apply(arena, IR_MAX, length, number(j, 0), NULL);
            span.length[i] = device_name(block, "length", length);
        }
        span.count = loop_mul(arena, span.count, span.length[i]);
    }
    span.count = device_name(block, "count", span.count);
    return span;
}

/* The indices of point number `at` of the span. */
static void open_point(struct jagging *j, struct loop_block *block, const struct span *span,
                       loop_value at)
{
    struct arena *arena = j->arena;
    for (int i = span->to - 1; i >= span->from; i--) {
        loop_value own = at;
        if (i > span->from) {
            loop_value rest = device_quotient(arena, at, span->length[i]);
            rest = device_name(block, "rest", rest);
            own = loop_sub(arena, at, loop_mul(arena, rest, span->length[i]));
            at = rest;
        }
        own = loop_add(arena, span->low[i], own);
        const char *name = j->group->part->indices[j->stage->indices[i]].name;
        j->values.indices[j->stage->indices[i]] = device_name(block, name, own);
    }
    j->values.memo = NULL;
}

static void put_result(struct jagging *j, struct loop_block *block, loop_value value)
{
    const struct ir_write *write = &j->stage->writes[0];
    loop_value at[IR_MAX_RANK];
    for (int d = 0; d < j->group->part->tensors[write->tensor].rank; d++)
        at[d] = skeleton_value(&j->values, j->stage, write->at[d]);
    loop_store(block, skeleton_buffer(&j->values, write->tensor),
               skeleton_offset(&j->values, write->tensor, at),
               skeleton_round(&j->values, write->tensor, value));
}

static void lower_map(struct jagging *j, struct loop_block *block)
{
    struct loop_variable *counter;
    struct span span = open_span(j, block, 1, j->stage->index_count);
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "point", j->thread, span.count,
                                       number(j, j->threads), &counter);
    open_point(j, body, &span, loop_of(j->arena, counter));
    put_result(j, body, skeleton_value(&j->values, j->stage, j->stage->writes[0].value));
}

/* Truth values are not exchanged: every thread has a result of its own. */
static bool is_alone(const struct jagging *j)
{
    return j->team.width == 1 || value_type(j->stage) == DTYPE_BOOL;
}

/* The terms from `from` on that are this thread's, `step` apart, combined into `sum`. */
static void add_terms(struct jagging *j, struct loop_block *block, const struct span *terms,
                      loop_value from, loop_value to, int64_t step, struct loop_variable *sum)
{
    const struct ir_stage *stage = j->stage;
    struct loop_variable *counter;
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "term", from, to, number(j, step), &counter);
    open_point(j, body, terms, loop_of(j->arena, counter));
    if (stage->predicate != IR_NONE)
        body = loop_if(body, skeleton_value(&j->values, stage, stage->predicate));
    j->values.memo = NULL;
    loop_value value = skeleton_value(&j->values, stage, stage->writes[0].value);
    loop_set(body, sum, loop_combine(j->arena, stage->monoid->kind, loop_of(j->arena, sum), value));
}

static void lower_reduction(struct jagging *j, struct loop_block *block)
{
    struct arena *arena = j->arena;
    const struct ir_stage *stage = j->stage;
    enum ir_monoid_kind monoid = stage->monoid->kind;
    struct loop_type type = {value_type(stage), 1};
    loop_value unit = loop_unit(arena, monoid, type);
    int width = is_alone(j) ? j->threads : j->width, rows = j->threads / width;
    struct loop_variable *counter;
    struct span results = open_span(j, block, 1, stage->left_count);
    struct span terms = open_span(j, block, stage->left_count, stage->index_count);
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "first", number(j, 0), results.count,
                                       number(j, width), &counter);
    loop_value at = loop_add(arena, loop_of(arena, counter),
                             device_remainder(arena, j->thread, number(j, width)));
    at = device_name(body, "result", at);
    loop_value inside = device_name(body, "inside", loop_less(arena, at, results.count));
    loop_value last = loop_sub(arena, results.count, number(j, 1));
    open_point(j, body, &results, device_name(body, "at", loop_min(arena, at, last)));
    struct loop_variable *sum = loop_let(body, "sum", unit);
    loop_value own = device_quotient(arena, j->thread, number(j, width));
    own = device_name(body, "own", own);
    if (monoid == IR_SUM && dtype_is_float(type.dtype)) { /* so that errors stay small */
        int64_t step = (int64_t)rows * SUMMED;
        struct loop_block *some =
            loop_for(body, LOOP_SERIAL, "from", own, terms.count, number(j, step), &counter);
        struct loop_variable *part = loop_let(some, "part", unit);
        loop_value to = loop_add(arena, loop_of(arena, counter), number(j, step));
        to = device_name(some, "to", loop_min(arena, to, terms.count));
        add_terms(j, some, &terms, loop_of(arena, counter), to, rows, part);
        loop_set(some, sum, loop_add(arena, loop_of(arena, sum), loop_of(arena, part)));
    } else {
        add_terms(j, body, &terms, own, terms.count, rows, sum);
    }
    if (rows > 1)
        device_combine(&j->team, body, monoid, sum, NULL);
    loop_value first = loop_apply(arena, IR_EQ, own, number(j, 0), NULL);
    j->values.memo = NULL;
    put_result(j, loop_if(body, device_and(arena, inside, first)), loop_of(arena, sum));
}

static void jagged_device_lower(const struct skeleton_group *group, const struct plan_group *plan,
                                struct loop_kernel *kernel)
{
    struct arena *arena = kernel->arena;
    struct jagging j = {.group = group,
                        .arena = arena,
                        .threads = (int)plan_number(plan, "threads", 32),
                        .width = (int)plan_number(plan, "width", 1)};
    int segments = jagged_stage(group, 0)->indices[0];
    struct loop_launch launch = {.grid = {group->part->indices[segments].extent},
                                 .block = {j.threads}};
    struct loop_block *block = loop_launch(kernel, plan->name, slots_note(group), &launch);
    j.team = (struct device_team){.device = group->target->device,
                                  .top = block,
                                  .threads = j.threads,
                                  .stride = j.width,
                                  .width = j.threads / j.width};
    for (int i = 0; i < group->stage_count; i++) {
        j.stage = jagged_stage(group, i);
        if (j.stage->kind == IR_REDUCE && !is_alone(&j))
            device_combine_prepare(&j.team, j.stage->monoid->kind, value_type(j.stage));
    }
    j.values = (struct skeleton_values){.group = group, .kernel = kernel};
    j.values.indices = arena_array(arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    j.thread = device_name(block, "thread", loop_thread_number(arena, 0));
    loop_value segment = loop_block_number(arena, 0);
    for (int i = 0; i < group->stage_count; i++) {
        j.stage = jagged_stage(group, i);
        j.values.indices[j.stage->indices[0]] = segment;
        j.values.memo = NULL;
        if (j.stage->kind == IR_MAP)
            lower_map(&j, block);
        else
            lower_reduction(&j, block);
        if (i + 1 < group->stage_count)
            loop_memory_barrier(block);
    }
    loop_prune(block);
}

const struct skeleton skeleton_device_jagged = {
    .name = "jagged",
    .note = "segments whose lengths come from data, a block of threads each",
    .match = jagged_device_match,
    .open = jagged_device_open,
    .legal = jagged_device_legal,
    .predict = jagged_device_predict,
    .lower = jagged_device_lower,
};
