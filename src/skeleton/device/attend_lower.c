/*
 * attend on devices, the loops. See attend.h for the whole.
 */
#include <math.h>

#include "skeleton/attend_code.h"
#include "skeleton/device/attend.h"
#include "skeleton/device/device.h"

struct streams {
    struct attend_code code; /* axes, values, sizes */
    struct streams_decisions d;
    struct arena *arena;
    int quad; /* elements of shared memory that are read at once */
    loop_value thread;
    loop_value row, column; /* of threads */
    loop_value channel_first;
    const struct loop_buffer *queries, *keys, *values, *weights, *shrinks, *parts;
    const struct loop_buffer *scores, *sums; /* of a thread */
    struct loop_variable *top, *total;       /* of the query this thread weighs */
};

static loop_value number(const struct streams *s, int64_t value)
{
    return loop_integer(s->arena, value);
}

/* ---- places ---- */

/* Element i of a thread in quads: neighbouring threads have neighbouring quads. */
static loop_value spread(const struct streams *s, loop_value i, int count, loop_value place,
                         int places)
{
    struct arena *arena = s->arena;
    int quad = count < s->quad ? count : s->quad;
    loop_value at = loop_mul(arena, place, number(s, quad));
    loop_value far = loop_mul(arena, device_quotient(arena, i, number(s, quad)),
                              number(s, (int64_t)quad * places));
    return loop_add(arena, loop_add(arena, far, at), device_remainder(arena, i, number(s, quad)));
}

static void read_spread(struct streams *s, struct loop_block *block, const struct loop_buffer *to,
                        const struct loop_buffer *from, loop_value line, int count,
                        loop_value place, int places)
{
    int quad = count < s->quad ? count : s->quad;
    for (int i = 0; i < count; i += quad)
        loop_move(block, to, number(s, i), from,
                  loop_add(s->arena, line, spread(s, number(s, i), count, place, places)), quad);
}

/* ---- bringing elements to shared memory ---- */

/* Lines of `wide` elements, neighbouring threads along a line: `put` stores one. */
static void bring(struct streams *s, struct loop_block *block, int lines, int wide,
                  void (*put)(struct streams *s, struct loop_block *block, loop_value line,
                              loop_value at, loop_value first),
                  loop_value first)
{
    struct arena *arena = s->arena;
    int all = lines * wide, turns = (all + s->d.threads - 1) / s->d.threads;
    struct loop_variable *turn;
    block = loop_for(block, LOOP_UNROLL, "turn", number(s, 0), number(s, turns), NULL, &turn);
    loop_value which = loop_mul(arena, loop_of(arena, turn), number(s, s->d.threads));
    which = device_name(block, "which", loop_add(arena, which, s->thread));
    if (all % s->d.threads)
        block = loop_if(block, loop_less(arena, which, number(s, all)));
    loop_value line = device_name(block, "line", device_quotient(arena, which, number(s, wide)));
    loop_value at = device_name(block, "at", device_remainder(arena, which, number(s, wide)));
    put(s, block, line, at, first);
}

/* A factor at the axes that are open, zero where `there` is false. */
static loop_value factor(struct streams *s, const struct attend_stage *stage,
                         const struct attend_factor *of, loop_value there)
{
    struct attend_code *code = &s->code;
    open_stage(code, stage);
    code->values.guard = there;
    loop_value value = attend_product(&code->values, code->attend, stage->stage, of);
    code->values.guard = NULL;
    return loop_select(s->arena, there, value, loop_unit(s->arena, IR_SUM, value->type));
}

static loop_value inside(struct streams *s, loop_value at, loop_value size)
{
    return loop_min(s->arena, at, loop_sub(s->arena, size, number(s, 1)));
}

static int stride_of(const struct streams *s, int wide)
{
    return wide + s->quad;
}

static void put_turned(struct streams *s, struct loop_block *block, const struct attend_factor *of,
                       const struct loop_buffer *to, int stride, loop_value line, loop_value at,
                       loop_value feature)
{
    struct attend_code *code = &s->code;
    loop_value there = loop_less(s->arena, feature, code->features);
    code->at[code->attend->feature] = feature;
    loop_value place = loop_add(s->arena, loop_mul(s->arena, at, number(s, stride)), line);
    loop_store(block, to, place, factor(s, &code->attend->score, of, there));
}

static void put_query(struct streams *s, struct loop_block *block, loop_value line, loop_value at,
                      loop_value first)
{
    struct attend_code *code = &s->code;
    loop_value query = inside(s, loop_add(s->arena, code->first, line), code->queries);
    code->at[code->attend->query] = device_name(block, "query", query);
    put_turned(s, block, &code->attend->queries, s->queries, stride_of(s, s->d.block_q), line, at,
               device_name(block, "feature", loop_add(s->arena, first, at)));
}

/* `code->at[key]` is the first key of the block meanwhile. */
static void put_key(struct streams *s, struct loop_block *block, loop_value line, loop_value at,
                    loop_value first)
{
    struct attend_code *code = &s->code;
    int axis = code->attend->key;
    loop_value start = code->at[axis];
    loop_value key = inside(s, loop_add(s->arena, start, line), code->keys);
    code->at[axis] = device_name(block, "key", key);
    put_turned(s, block, &code->attend->keys, s->keys, stride_of(s, s->d.block_k), line, at,
               device_name(block, "feature", loop_add(s->arena, first, at)));
    code->at[axis] = start;
}

static void put_value(struct streams *s, struct loop_block *block, loop_value line, loop_value at,
                      loop_value first)
{
    struct attend_code *code = &s->code;
    const struct attend *attend = code->attend;
    loop_value start = code->at[attend->key];
    loop_value key = loop_add(s->arena, loop_add(s->arena, start, first), line);
    key = device_name(block, "key", key);
    loop_value channel = loop_add(s->arena, s->channel_first, at);
    channel = device_name(block, "channel", channel);
    loop_value there = device_and(s->arena, loop_less(s->arena, key, code->keys),
                                  loop_less(s->arena, channel, code->channels));
    code->at[attend->key] = key;
    code->at[attend->channel] = channel;
    loop_value place = loop_add(s->arena, loop_mul(s->arena, line, number(s, s->d.tile_d)), at);
    loop_store(block, s->values, place, factor(s, &attend->mix, &attend->values, there));
    code->at[attend->key] = start;
}

/* ---- products ---- */

/* sums[i][j] += a[i] * b[j], both read from lines of shared memory. */
static void multiply(struct streams *s, struct loop_block *block, const struct loop_buffer *sums,
                     const struct loop_buffer *left, loop_value left_line,
                     const struct loop_buffer *right, loop_value right_line, int wide)
{
    struct arena *arena = s->arena;
    enum dtype dtype = s->code.attend->dtype;
    struct loop_variable *i, *j;
    const struct loop_buffer *a = loop_stack(block, "a", dtype, 1, s->d.thread_q);
    const struct loop_buffer *b = loop_stack(block, "b", dtype, 1, wide);
    read_spread(s, block, a, left, left_line, s->d.thread_q, s->row, s->d.rows);
    read_spread(s, block, b, right, right_line, wide, s->column, s->d.columns);
    block = loop_for(block, LOOP_UNROLL, "i", number(s, 0), number(s, s->d.thread_q), NULL, &i);
    block = loop_for(block, LOOP_UNROLL, "j", number(s, 0), number(s, wide), NULL, &j);
    loop_value at =
        loop_add(arena, loop_mul(arena, loop_of(arena, i), number(s, wide)), loop_of(arena, j));
    loop_value product = loop_mul(arena, loop_load(arena, a, loop_of(arena, i), 1),
                                  loop_load(arena, b, loop_of(arena, j), 1));
    loop_store(block, sums, at, loop_add(arena, loop_load(arena, sums, at, 1), product));
}

static void clear(struct streams *s, struct loop_block *block, const struct loop_buffer *sums)
{
    struct loop_variable *i;
    block = loop_for(block, LOOP_UNROLL, "i", number(s, 0), number(s, sums->elements), NULL, &i);
    loop_store(block, sums, loop_of(s->arena, i), loop_number(s->arena, 0, s->code.attend->dtype));
}

static void score_keys(struct streams *s, struct loop_block *block)
{
    struct arena *arena = s->arena;
    const struct streams_decisions *d = &s->d;
    struct loop_variable *from, *step;
    loop_note(block, "scores");
    clear(s, block, s->scores);
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "features_from", number(s, 0),
                                       s->code.features, number(s, d->tile_e), &from);
    loop_barrier(body);
    bring(s, body, d->block_q, d->tile_e, put_query, loop_of(arena, from));
    bring(s, body, d->block_k, d->tile_e, put_key, loop_of(arena, from));
    loop_barrier(body);
    body = loop_for(body, LOOP_UNROLL, "step", number(s, 0), number(s, d->tile_e), NULL, &step);
    loop_value line = loop_of(arena, step);
    multiply(s, body, s->scores, s->queries,
             loop_mul(arena, line, number(s, stride_of(s, d->block_q))), s->keys,
             loop_mul(arena, line, number(s, stride_of(s, d->block_k))), d->thread_k);
}

static void sum_values(struct streams *s, struct loop_block *block)
{
    struct arena *arena = s->arena;
    const struct streams_decisions *d = &s->d;
    struct loop_variable *i, *j, *from, *step;
    loop_note(block, "weights times values");
    struct loop_block *body =
        loop_for(block, LOOP_UNROLL, "i", number(s, 0), number(s, d->thread_q), NULL, &i);
    loop_value row = spread(s, loop_of(arena, i), d->thread_q, s->row, d->rows);
    loop_value shrink =
        loop_of(arena, loop_let(body, "shrink", loop_load(arena, s->shrinks, row, 1)));
    body = loop_for(body, LOOP_UNROLL, "j", number(s, 0), number(s, d->thread_d), NULL, &j);
    loop_value at = loop_add(arena, loop_mul(arena, loop_of(arena, i), number(s, d->thread_d)),
                             loop_of(arena, j));
    loop_store(body, s->sums, at, loop_mul(arena, loop_load(arena, s->sums, at, 1), shrink));
    body = loop_for(block, LOOP_SERIAL, "values_from", number(s, 0), number(s, d->block_k),
                    number(s, d->tile_e), &from);
    loop_barrier(body);
    bring(s, body, d->tile_e, d->tile_d, put_value, loop_of(arena, from));
    loop_barrier(body);
    body = loop_for(body, LOOP_UNROLL, "step", number(s, 0), number(s, d->tile_e), NULL, &step);
    loop_value key = loop_add(arena, loop_of(arena, from), loop_of(arena, step));
    multiply(s, body, s->sums, s->weights, loop_mul(arena, key, number(s, d->block_q)), s->values,
             loop_mul(arena, loop_of(arena, step), number(s, d->tile_d)), d->thread_d);
}

/* ---- from scores to weights ---- */

/* A thread's scores go to weights[key][query], as they are. */
static void keep_scores(struct streams *s, struct loop_block *block)
{
    struct arena *arena = s->arena;
    const struct streams_decisions *d = &s->d;
    struct loop_variable *i, *j;
    block = loop_for(block, LOOP_UNROLL, "j", number(s, 0), number(s, d->thread_k), NULL, &j);
    loop_value column = spread(s, loop_of(arena, j), d->thread_k, s->column, d->columns);
    block = loop_for(block, LOOP_UNROLL, "i", number(s, 0), number(s, d->thread_q), NULL, &i);
    loop_value row = spread(s, loop_of(arena, i), d->thread_q, s->row, d->rows);
    loop_value at = loop_add(arena, loop_mul(arena, loop_of(arena, i), number(s, d->thread_k)),
                             loop_of(arena, j));
    loop_value place = loop_add(arena, loop_mul(arena, column, number(s, d->block_q)), row);
    loop_store(block, s->weights, place, loop_load(arena, s->scores, at, 1));
}

/* The maps and masks of one score: of key `number` of the block, which ends before `end`. -inf: it
 * is not seen. The query is open. */
static loop_value map_score(struct streams *s, struct loop_block *block, loop_value score,
                            loop_value at, loop_value end)
{
    struct attend_code *code = &s->code;
    struct arena *arena = s->arena;
    const struct attend *attend = code->attend;
    const struct ir_stage *stage = attend->top.stage;
    loop_value start = code->at[attend->key];
    loop_value key = device_name(block, "place", loop_add(arena, start, at));
    code->at[attend->key] = device_name(block, "inside", inside(s, key, code->keys));
    code->score = loop_of(arena, loop_let(block, "score", score));
    open_stage(code, &attend->top);
    loop_value value = skeleton_value(&code->values, stage, stage->writes[0].value);
    loop_value seen = loop_less(arena, key, end);
    if (stage->predicate != IR_NONE)
        seen = device_and(arena, seen, skeleton_value(&code->values, stage, stage->predicate));
    code->score = NULL;
    code->at[attend->key] = start;
    value = loop_select(arena, seen, value, loop_number(arena, -INFINITY, attend->dtype));
    return loop_of(arena, loop_let(block, "mapped", value));
}

/* All parts of the threads of a query combined, from parts[part][query]. */
static loop_value combine_parts(struct streams *s, struct loop_block *block, const char *name,
                                enum ir_monoid_kind monoid, loop_value start, loop_value query,
                                int side)
{
    struct arena *arena = s->arena;
    int parts = s->d.threads / s->d.block_q;
    loop_value value = start;
    for (int i = 0; i < parts; i++) {
        loop_value place = number(s, (int64_t)side * s->d.threads + (int64_t)i * s->d.block_q);
        value = loop_combine(arena, monoid, value,
                             loop_load(arena, s->parts, loop_add(arena, place, query), 1));
        value = loop_of(arena, loop_let(block, name, value));
    }
    return value;
}

/* Threads share the keys of each query: the greatest score, weights below it, their sum. */
static void weigh(struct streams *s, struct loop_block *block, loop_value end)
{
    struct arena *arena = s->arena;
    const struct streams_decisions *d = &s->d;
    enum dtype dtype = s->code.attend->dtype;
    int parts = d->threads / d->block_q;
    struct loop_variable *key;
    loop_value wide = number(s, d->block_q), zero = loop_number(arena, 0, dtype);
    loop_value query = device_name(block, "mine", device_remainder(arena, s->thread, wide));
    loop_value part = device_name(block, "part", device_quotient(arena, s->thread, wide));
    loop_value first = loop_mul(arena, part, wide), here;
    here = inside(s, loop_add(arena, s->code.first, query), s->code.queries);
    s->code.at[s->code.attend->query] = device_name(block, "query", here);
    loop_note(block, "weights");
    struct loop_variable *greatest =
        loop_let(block, "greatest", loop_number(arena, -INFINITY, dtype));
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "key", part, number(s, d->block_k), number(s, parts), &key);
    loop_value place = loop_add(arena, loop_mul(arena, loop_of(arena, key), wide), query);
    loop_value score = loop_load(arena, s->weights, place, 1);
    score = map_score(s, body, score, loop_of(arena, key), end);
    loop_store(body, s->weights, place, score);
    loop_set(body, greatest, loop_combine(arena, IR_MAXIMUM, loop_of(arena, greatest), score));
    loop_store(block, s->parts, loop_add(arena, first, query), loop_of(arena, greatest));
    loop_barrier(block);
    loop_value top = combine_parts(s, block, "top", IR_MAXIMUM, loop_of(arena, s->top), query, 0);
    /* as long as all is masked, anything finite will do: the weights are zero */
    loop_value least = loop_number(arena, -INFINITY, dtype);
    loop_value below = loop_select(arena, loop_apply(arena, IR_EQ, top, least, NULL), zero, top);
    below = loop_of(arena, loop_let(block, "below", below));
    loop_value change = loop_sub(arena, loop_of(arena, s->top), below);
    loop_value shrink =
        loop_of(arena, loop_let(block, "shrink", loop_apply(arena, IR_EXP, change, NULL, NULL)));
    loop_set(block, s->top, top);
    struct loop_variable *sum = loop_let(block, "sum", zero);
    body = loop_for(block, LOOP_SERIAL, "key", part, number(s, d->block_k), number(s, parts), &key);
    place = loop_add(arena, loop_mul(arena, loop_of(arena, key), wide), query);
    loop_value weight = loop_sub(arena, loop_load(arena, s->weights, place, 1), below);
    weight = loop_apply(arena, IR_EXP, weight, NULL, NULL);
    weight = loop_of(arena, loop_let(body, "weight", weight));
    loop_store(body, s->weights, place, weight);
    loop_set(body, sum, loop_add(arena, loop_of(arena, sum), weight));
    loop_value second = loop_add(arena, number(s, d->threads), first);
    loop_store(block, s->parts, loop_add(arena, second, query), loop_of(arena, sum));
    loop_store(loop_if(block, loop_apply(arena, IR_EQ, part, number(s, 0), NULL)), s->shrinks,
               query, shrink);
    loop_barrier(block);
    loop_value before = loop_mul(arena, loop_of(arena, s->total), shrink);
    loop_set(block, s->total, combine_parts(s, block, "all", IR_SUM, before, query, 1));
}

/* ---- keys ---- */

static struct attend_span seen_keys(struct streams *s, struct loop_block *block)
{
    struct attend_code *code = &s->code;
    const struct attend *attend = code->attend;
    struct arena *arena = s->arena;
    const struct ir_stage *stage = attend->top.stage;
    loop_value predicate = NULL;
    if (stage->predicate != IR_NONE) {
        code->at[attend->query] = axis_variable(code, attend->query);
        code->at[attend->key] = axis_variable(code, attend->key);
        open_stage(code, &attend->top);
        predicate = skeleton_value(&code->values, stage, stage->predicate);
    }
    loop_value last =
        inside(s, loop_add(arena, code->first, number(s, s->d.block_q - 1)), code->queries);
    struct attend_span span = attend_span(arena, attend, predicate, code->first, last, code->keys);
    span.from = device_name(block, "seen_from", span.from);
    span.to = device_name(block, "seen_to", span.to);
    return span;
}

static void lower_keys(struct streams *s, struct loop_block *block)
{
    struct attend_code *code = &s->code;
    struct arena *arena = s->arena;
    struct loop_variable *from;
    struct attend_span span = seen_keys(s, block);
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "keys_from", span.from, span.to,
                                       number(s, s->d.block_k), &from);
    loop_note_loop(block, arena_printf(arena, "block.k %d", s->d.block_k));
    code->at[code->attend->key] = loop_of(arena, from);
    score_keys(s, body);
    keep_scores(s, body);
    loop_barrier(body);
    weigh(s, body, span.to);
    sum_values(s, body);
}

/* ---- what is written ---- */

static void store_stage(struct streams *s, struct loop_block *block,
                        const struct attend_stage *stage, loop_value given)
{
    struct attend_code *code = &s->code;
    int tensor = attend_tensor(stage);
    if (!code->attend->group.needed[tensor])
        return;
    open_stage(code, stage);
    loop_value value =
        given ? given : skeleton_value(&code->values, stage->stage, stage->stage->writes[0].value);
    loop_store(block, skeleton_buffer(&code->values, tensor),
               attend_written_place(code, stage->stage),
               skeleton_round(&code->values, tensor, value));
}

/* The top and total of each query for all threads, where weights were. */
static void share_totals(struct streams *s, struct loop_block *block)
{
    struct arena *arena = s->arena;
    loop_value wide = number(s, s->d.block_q);
    loop_barrier(block);
    struct loop_block *body = loop_if(block, loop_less(arena, s->thread, wide));
    loop_store(body, s->weights, s->thread, loop_of(arena, s->top));
    loop_store(body, s->weights, loop_add(arena, wide, s->thread), loop_of(arena, s->total));
    loop_barrier(block);
}

static void finish(struct streams *s, struct loop_block *block)
{
    struct attend_code *code = &s->code;
    const struct attend *attend = code->attend;
    struct arena *arena = s->arena;
    const struct streams_decisions *d = &s->d;
    struct loop_variable *i, *j;
    share_totals(s, block);
    block = loop_for(block, LOOP_UNROLL, "i", number(s, 0), number(s, d->thread_q), NULL, &i);
    loop_value row = spread(s, loop_of(arena, i), d->thread_q, s->row, d->rows);
    row = device_name(block, "row", row);
    loop_value query = device_name(block, "query", loop_add(arena, code->first, row));
    block = loop_if(block, loop_less(arena, query, code->queries));
    code->at[attend->query] = query;
    code->top = device_name(block, "top", loop_load(arena, s->weights, row, 1));
    loop_value total = loop_load(arena, s->weights, loop_add(arena, number(s, d->block_q), row), 1);
    code->total = device_name(block, "total", attend_unguarded(code, code->top, total));
    if (attend->group.needed[attend_tensor(&attend->top)] ||
        attend->group.needed[attend_tensor(&attend->total)]) { /* one thread of each query */
        loop_value one = loop_add(arena, s->channel_first, s->column);
        struct loop_block *once = loop_if(block, loop_apply(arena, IR_EQ, one, number(s, 0), NULL));
        store_stage(s, once, &attend->top, code->top);
        store_stage(s, once, &attend->total, code->total);
    }
    block = loop_for(block, LOOP_UNROLL, "j", number(s, 0), number(s, d->thread_d), NULL, &j);
    loop_value channel = spread(s, loop_of(arena, j), d->thread_d, s->column, d->columns);
    channel = device_name(block, "channel", loop_add(arena, s->channel_first, channel));
    block = loop_if(block, loop_less(arena, channel, code->channels));
    code->at[attend->channel] = channel;
    loop_value at = loop_add(arena, loop_mul(arena, loop_of(arena, i), number(s, d->thread_d)),
                             loop_of(arena, j));
    code->mix = device_name(block, "mix",
                            attend_unguarded(code, code->top, loop_load(arena, s->sums, at, 1)));
    store_stage(s, block, &attend->mix, code->mix);
    for (int n = 0; n < attend->after_count; n++)
        store_stage(s, block, &attend->after[n], NULL);
    code->top = code->total = code->mix = NULL;
}

/* ---- the whole ---- */

static void open_shared(struct streams *s, struct loop_block *block)
{
    const struct streams_decisions *d = &s->d;
    enum dtype dtype = s->code.attend->dtype;
    int64_t lines = d->tile_e;
    s->queries = loop_shared(block, "queries_part", dtype, lines * stride_of(s, d->block_q));
    s->keys = loop_shared(block, "keys_part", dtype, lines * stride_of(s, d->block_k));
    s->values = loop_shared(block, "values_part", dtype, lines * d->tile_d);
    s->weights = loop_shared(block, "weights", dtype, (int64_t)d->block_k * d->block_q);
    s->shrinks = loop_shared(block, "shrinks", dtype, d->block_q);
    s->parts = loop_shared(block, "parts", dtype, 2L * d->threads);
}

static struct loop_launch launch_of(const struct streams *s)
{
    struct arena *arena = s->arena;
    const struct attend *attend = s->code.attend;
    const struct ir_size *blocks = ir_size_make(
        arena, IR_SIZE_MUL, device_blocks(arena, attend->extents[attend->query], s->d.block_q),
        device_blocks(arena, attend->extents[attend->channel], s->d.tile_d));
    for (int i = 0; i < attend->key; i++) {
        if (i != attend->query && i != attend->channel)
            blocks = ir_size_make(arena, IR_SIZE_MUL, blocks, attend->extents[i]);
    }
    return (struct loop_launch){
        .grid = {blocks}, .block = {s->d.threads}, .minimum_blocks = s->d.resident};
}

/* Later queries see more keys where they see not all: they come first. */
static void open_block(struct streams *s, struct loop_block *block)
{
    struct attend_code *code = &s->code;
    const struct attend *attend = code->attend;
    struct arena *arena = s->arena;
    loop_value wide = skeleton_size(
        &code->values, device_blocks(arena, attend->extents[attend->channel], s->d.tile_d));
    loop_value high = skeleton_size(
        &code->values, device_blocks(arena, attend->extents[attend->query], s->d.block_q));
    wide = device_name(block, "channel_blocks", wide);
    high = device_name(block, "query_blocks", high);
    loop_value at = loop_block_number(arena, 0);
    loop_value channel = device_name(block, "channel_block", device_remainder(arena, at, wide));
    at = device_name(block, "rest", device_quotient(arena, at, wide));
    loop_value query = device_name(block, "query_block", device_remainder(arena, at, high));
    loop_value batch = device_name(block, "batch", device_quotient(arena, at, high));
    query = loop_sub(arena, loop_sub(arena, high, number(s, 1)), query);
    code->first = device_name(block, "first", loop_mul(arena, query, number(s, s->d.block_q)));
    s->channel_first =
        device_name(block, "channel_first", loop_mul(arena, channel, number(s, s->d.tile_d)));
    attend_open_batch(code, block, batch);
    s->thread = device_name(block, "thread", loop_thread_number(arena, 0));
    loop_value columns = number(s, s->d.columns);
    s->row = device_name(block, "row_at", device_quotient(arena, s->thread, columns));
    s->column = device_name(block, "column_at", device_remainder(arena, s->thread, columns));
}

static void open_sizes(struct streams *s, struct loop_block *block)
{
    struct attend_code *code = &s->code;
    const struct attend *attend = code->attend;
    struct {
        loop_value *size;
        const char *name;
        int axis;
    } sizes[] = {{&code->queries, "queries", attend->query},
                 {&code->keys, "keys", attend->key},
                 {&code->channels, "channels", attend->channel},
                 {&code->features, "features", attend->feature}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        *sizes[i].size = device_name(block, sizes[i].name,
                                     skeleton_size(&code->values, attend->extents[sizes[i].axis]));
}

void streams_lower(const struct skeleton_group *group, const struct plan_group *plan,
                   struct loop_kernel *kernel)
{
    struct attend attend;
    struct skeleton_reason why_not;
    struct arena *arena = kernel->arena;
    if (!attend_classify(group, &attend, &why_not))
        return;
    struct streams s = {.arena = arena, .d = streams_decide(plan)};
    s.quad = DEVICE_MOVE / attend.element;
    s.code = (struct attend_code){.attend = &attend, .arena = arena, .kernel = kernel};
    s.code.values = (struct skeleton_values){.group = &attend.group, .kernel = kernel};
    s.code.values.resolve = attend_resolve;
    s.code.values.context = &s.code;
    s.code.values.indices =
        arena_array(arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    struct loop_launch launch = launch_of(&s);
    struct loop_block *block = loop_launch(
        kernel, plan->name, "attention, a block of queries against blocks of keys", &launch);
    open_shared(&s, block);
    open_sizes(&s, block);
    open_block(&s, block);
    s.scores = loop_stack(block, "scores", attend.dtype, 1, (int64_t)s.d.thread_q * s.d.thread_k);
    s.sums = loop_stack(block, "sums", attend.dtype, 1, (int64_t)s.d.thread_q * s.d.thread_d);
    clear(&s, block, s.sums);
    s.top = loop_let(block, "top", loop_number(arena, -INFINITY, attend.dtype));
    s.total = loop_let(block, "total", loop_number(arena, 0, attend.dtype));
    lower_keys(&s, block);
    finish(&s, block);
    loop_prune(block);
}
