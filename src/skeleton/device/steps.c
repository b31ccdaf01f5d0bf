/*
 * Stages of a block of threads, one after the other: see steps.h.
 */
#include "skeleton/device/steps.h"

enum { SUMMED = 16 }; /* floats that go up one after the other: errors of long sums stay small */

static loop_value number(const struct steps *s, int64_t value)
{
    return loop_integer(s->arena, value);
}

static enum dtype value_type(const struct ir_stage *stage)
{
    return stage->nodes.at[stage->writes[0].value].type;
}

/* Truth values are not exchanged: every thread has a result of its own. */
static bool is_shared(const struct ir_stage *stage, int threads, int width)
{
    return stage->kind == IR_REDUCE && width < threads && value_type(stage) != DTYPE_BOOL;
}

int64_t steps_shared(const struct skeleton_device *device, const struct ir_stage *const *stages,
                     int count, int threads, int width)
{
    bool taken[DTYPE_COUNT] = {false};
    int64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        enum dtype dtype = value_type(stages[i]);
        if (!is_shared(stages[i], threads, width) || taken[dtype] ||
            (device->warp > 1 && threads <= device->warp))
            continue;
        taken[dtype] = true;
        bytes += threads * (int64_t)dtype_bytes(dtype);
    }
    return bytes;
}

void steps_open(struct steps *s, struct loop_kernel *kernel, struct loop_block *block,
                const struct ir_stage *const *stages, int count)
{
    s->arena = kernel->arena;
    s->team = (struct device_team){.device = s->group->target->device,
                                   .top = block,
                                   .threads = s->threads,
                                   .stride = s->along ? 1 : s->width,
                                   .width = s->threads / s->width};
    for (int i = 0; i < count; i++)
        if (is_shared(stages[i], s->threads, s->width))
            device_combine_prepare(&s->team, stages[i]->monoid->kind, value_type(stages[i]));
    s->values = (struct skeleton_values){.group = s->group, .kernel = kernel};
    s->values.indices =
        arena_array(s->arena, (size_t)s->group->part->index_count + 1, sizeof(loop_value));
    s->thread = device_name(block, "thread", loop_thread_number(s->arena, 0));
}

/* ---- points ---- */

struct span { /* indices of the stage, counted through */
    int indices[STEPS_INDICES], dimensions;
    loop_value low[STEPS_INDICES], length[STEPS_INDICES];
    loop_value count;
};

static struct span open_span(struct steps *s, struct loop_block *block, int from, int to, int own)
{
    struct arena *arena = s->arena;
    struct span span = {.count = number(s, 1)};
    for (int i = from; i < to; i++) {
        if (s->stage->indices[i] == own)
            continue;
        int at = span.dimensions++;
        span.indices[at] = s->stage->indices[i];
        const struct ir_index *index = &s->group->part->indices[span.indices[at]];
        span.low[at] = number(s, 0);
        if (index->extent) {
            span.length[at] = skeleton_size(&s->values, index->extent);
        } else {
            span.low[at] =
                device_name(block, "low", skeleton_value(&s->values, s->stage, index->low));
            loop_value high = skeleton_value(&s->values, s->stage, index->high);
            loop_value length = loop_sub(arena, high, span.low[at]);
            length = loop_apply(arena, IR_MAX, length, number(s, 0), NULL);
            span.length[at] = device_name(block, "length", length);
        }
        span.count = loop_mul(arena, span.count, span.length[at]);
    }
    span.count = device_name(block, "count", span.count);
    return span;
}

/* The indices of point number `at` of the span. */
static void open_point(struct steps *s, struct loop_block *block, const struct span *span,
                       loop_value at)
{
    struct arena *arena = s->arena;
    for (int i = span->dimensions - 1; i >= 0; i--) {
        loop_value own = at;
        if (i > 0) {
            loop_value rest = device_quotient(arena, at, span->length[i]);
            rest = device_name(block, "rest", rest);
            own = loop_sub(arena, at, loop_mul(arena, rest, span->length[i]));
            at = rest;
        }
        own = loop_add(arena, span->low[i], own);
        const char *name = s->group->part->indices[span->indices[i]].name;
        s->values.indices[span->indices[i]] = device_name(block, name, own);
    }
    s->values.memo = NULL;
}

static void put_result(struct steps *s, struct loop_block *block, loop_value value)
{
    const struct ir_write *write = &s->stage->writes[0];
    loop_value at[IR_MAX_RANK];
    for (int d = 0; d < s->group->part->tensors[write->tensor].rank; d++)
        at[d] = skeleton_value(&s->values, s->stage, write->at[d]);
    loop_store(block, skeleton_buffer(&s->values, write->tensor),
               skeleton_offset(&s->values, write->tensor, at),
               skeleton_round(&s->values, write->tensor, value));
}

struct loop_block *steps_points(struct steps *s, struct loop_block *block, loop_value count,
                                loop_value *at)
{
    struct loop_variable *counter;
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "point", s->thread, count, number(s, s->threads), &counter);
    *at = loop_of(s->arena, counter);
    return body;
}

static void lower_map(struct steps *s, struct loop_block *block, int own)
{
    loop_value at;
    struct span span = open_span(s, block, 0, s->stage->index_count, own);
    struct loop_block *body = steps_points(s, block, span.count, &at);
    open_point(s, body, &span, at);
    put_result(s, body, skeleton_value(&s->values, s->stage, s->stage->writes[0].value));
}

/* ---- reductions ---- */

/* The terms from `from` on that are this thread's, `step` apart, combined into `sum`. */
static void add_terms(struct steps *s, struct loop_block *block, const struct span *terms,
                      loop_value from, loop_value to, int64_t step, struct loop_variable *sum)
{
    const struct ir_stage *stage = s->stage;
    struct loop_variable *counter;
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "term", from, to, number(s, step), &counter);
    open_point(s, body, terms, loop_of(s->arena, counter));
    if (stage->predicate != IR_NONE)
        body = loop_if(body, skeleton_value(&s->values, stage, stage->predicate));
    s->values.memo = NULL;
    loop_value value = skeleton_value(&s->values, stage, stage->writes[0].value);
    loop_set(body, sum, loop_combine(s->arena, stage->monoid->kind, loop_of(s->arena, sum), value));
}

/* All terms that are this thread's: number `own` of each `rows`. */
static void add_all(struct steps *s, struct loop_block *block, const struct span *terms,
                    loop_value own, int rows, struct loop_variable *sum)
{
    struct arena *arena = s->arena;
    struct loop_variable *counter;
    if (s->stage->monoid->kind != IR_SUM || !dtype_is_float(sum->type.dtype)) {
        add_terms(s, block, terms, own, terms->count, rows, sum);
        return;
    }
    int64_t step = (int64_t)rows * SUMMED;
    struct loop_block *some =
        loop_for(block, LOOP_SERIAL, "from", own, terms->count, number(s, step), &counter);
    struct loop_variable *part = loop_let(some, "part", loop_unit(arena, IR_SUM, sum->type));
    loop_value to = loop_add(arena, loop_of(arena, counter), number(s, step));
    to = device_name(some, "to", loop_min(arena, to, terms->count));
    add_terms(s, some, terms, loop_of(arena, counter), to, rows, part);
    loop_set(some, sum, loop_add(arena, loop_of(arena, sum), loop_of(arena, part)));
}

static void lower_reduction(struct steps *s, struct loop_block *block, int own_index)
{
    struct arena *arena = s->arena;
    const struct ir_stage *stage = s->stage;
    enum ir_monoid_kind monoid = stage->monoid->kind;
    int width = is_shared(stage, s->threads, s->width) ? s->width : s->threads;
    int rows = s->threads / width;
    struct loop_variable *counter;
    struct span results = open_span(s, block, 0, stage->left_count, own_index);
    struct span terms = open_span(s, block, stage->left_count, stage->index_count, own_index);
    /* which result of those side by side a thread has, and which of its terms */
    loop_value by = number(s, s->along ? rows : width);
    loop_value inner = device_remainder(arena, s->thread, by);
    loop_value outer = device_quotient(arena, s->thread, by);
    loop_value lane = device_name(block, "lane", s->along ? outer : inner);
    loop_value own = device_name(block, "own", s->along ? inner : outer);
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "first", number(s, 0), results.count,
                                       number(s, width), &counter);
    loop_value at = device_name(body, "result", loop_add(arena, loop_of(arena, counter), lane));
    loop_value inside = device_name(body, "inside", loop_less(arena, at, results.count));
    loop_value last = loop_sub(arena, results.count, number(s, 1));
    open_point(s, body, &results, device_name(body, "at", loop_min(arena, at, last)));
    struct loop_type type = {value_type(stage), 1};
    struct loop_variable *sum = loop_let(body, "sum", loop_unit(arena, monoid, type));
    add_all(s, body, &terms, own, rows, sum);
    if (rows > 1)
        device_combine(&s->team, body, monoid, sum, NULL);
    loop_value first = loop_apply(arena, IR_EQ, own, number(s, 0), NULL);
    s->values.memo = NULL;
    put_result(s, loop_if(body, device_and(arena, inside, first)), loop_of(arena, sum));
}

void steps_stage(struct steps *s, struct loop_block *block, const struct ir_stage *stage, int own)
{
    s->stage = stage;
    s->values.memo = NULL;
    if (stage->kind == IR_MAP)
        lower_map(s, block, own);
    else
        lower_reduction(s, block, own);
}
