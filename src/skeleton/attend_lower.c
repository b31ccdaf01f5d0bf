/*
 * attend, the loops. A block of queries stands in lanes; keys are taken block by block, so that
 * scores are in a cache when they become weights, and the sums so far are scaled down whenever a
 * greater score comes up.
 */
#include <math.h>

#include "skeleton/attend_code.h"

static loop_value vector(struct attend_code *code, const struct loop_buffer *buffer, loop_value at)
{
    return loop_load(code->arena, buffer, at, code->plan.lanes);
}

loop_value attend_resolve(void *context, struct skeleton_values *values, int tensor,
                          const loop_value *at)
{
    struct attend_code *code = context;
    const struct attend *attend = code->attend;
    (void)values, (void)at;
    if (tensor == attend_tensor(&attend->score))
        return code->score;
    if (tensor == attend_tensor(&attend->top))
        return code->top;
    if (tensor == attend_tensor(&attend->total))
        return code->total;
    return tensor == attend_tensor(&attend->mix) ? code->mix : NULL;
}

static struct skeleton_lanes query_lanes(struct attend_code *code, int number)
{
    loop_value from = loop_add(code->arena, code->first, integer(code, number * code->plan.lanes));
    return (struct skeleton_lanes){&code->attend->variables[code->attend->query], code->plan.lanes,
                                   from, code->counts[number]};
}

/* ---- queries ---- */

static void turn_queries(struct attend_code *code, struct loop_block *block)
{
    const struct attend *attend = code->attend;
    struct arena *arena = code->arena;
    struct loop_variable *feature;
    int width = code->plan.vectors * code->plan.lanes;
    loop_note(block, "the queries of the block, feature by feature");
    struct loop_block *body = loop_for(block, LOOP_SERIAL, attend->variables[attend->feature].name,
                                       integer(code, 0), code->features, NULL, &feature);
    code->at[attend->feature] = loop_of(arena, feature);
    code->at[attend->query] = axis_variable(code, attend->query);
    open_stage(code, &attend->score);
    loop_value product =
        attend_product(&code->values, attend, attend->score.stage, &attend->queries);
    for (int i = 0; i < code->plan.vectors; i++) {
        struct skeleton_lanes lanes = query_lanes(code, i);
        loop_value value = product,
                   place = loop_mul(arena, code->at[attend->feature], integer(code, width));
        skeleton_widen(body, &lanes, &value, 1);
        place = loop_add(arena, loop_add(arena, code->turned_from, place),
                         integer(code, i * code->plan.lanes));
        loop_store(body, code->turned, place, loop_splat(arena, value, code->plan.lanes));
    }
}

/* ---- tiles: rows x vectors of sums in registers ---- */

enum tile_kind { TILE_SCORES, TILE_SUMS };

struct tile {
    enum tile_kind kind;
    int rows;
    loop_value first;       /* scores: the first key, counted in the block; sums: channel */
    loop_value block_first; /* the first key of the block */
    loop_value terms;
    loop_value shrink[ATTEND_MAX_VECTORS]; /* sums */
};

static void tile_terms(struct attend_code *code, struct loop_block *block, const struct tile *tile,
                       const struct loop_buffer *sums)
{
    const struct attend *attend = code->attend;
    struct arena *arena = code->arena;
    int vectors = code->plan.vectors, lanes = code->plan.lanes;
    bool scores = tile->kind == TILE_SCORES;
    struct loop_variable *term;
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, attend->variables[scores ? attend->feature : attend->key].name,
                 integer(code, 0), tile->terms, NULL, &term);
    loop_value number = loop_of(arena, term), columns[ATTEND_MAX_VECTORS];
    for (int i = 0; i < vectors; i++) {
        loop_value place =
            loop_mul(arena, number, integer(code, scores ? vectors * lanes : vectors));
        if (scores)
            place = loop_add(arena, code->turned_from, place);
        place = loop_add(arena, place, integer(code, scores ? i * lanes : i));
        loop_value column = vector(code, scores ? code->turned : code->weights, place);
        columns[i] = loop_of(arena, loop_hold(body, scores ? "query" : "weight", column));
    }
    for (int i = 0; i < tile->rows; i++) {
        loop_value row = loop_add(arena, tile->first, integer(code, i));
        if (scores) {
            code->at[attend->feature] = number;
            code->at[attend->key] = loop_add(arena, tile->block_first, row);
        } else {
            code->at[attend->channel] = row;
            code->at[attend->key] = loop_add(arena, tile->block_first, number);
        }
        const struct attend_stage *stage = scores ? &attend->score : &attend->mix;
        open_stage(code, stage);
        row = attend_product(&code->values, attend, stage->stage,
                             scores ? &attend->keys : &attend->values);
        row = named(code, body, scores ? "key" : "value", row);
        for (int j = 0; j < vectors; j++) {
            loop_value place = integer(code, i * vectors + j);
            loop_store(
                body, sums, place,
                loop_add(arena, vector(code, sums, place), loop_mul(arena, row, columns[j])));
        }
    }
}

static void tile_store(struct attend_code *code, struct loop_block *block, const struct tile *tile,
                       const struct loop_buffer *sums)
{
    struct arena *arena = code->arena;
    int vectors = code->plan.vectors, lanes = code->plan.lanes;
    for (int i = 0; i < tile->rows; i++) {
        loop_value row = loop_add(arena, tile->first, integer(code, i));
        for (int j = 0; j < vectors; j++) {
            loop_value sum = vector(code, sums, integer(code, i * vectors + j));
            if (tile->kind == TILE_SCORES) {
                loop_value place = loop_mul(arena, row, integer(code, vectors));
                loop_store(block, code->weights, loop_add(arena, place, integer(code, j)), sum);
                continue;
            }
            loop_value place = loop_mul(arena, row, integer(code, vectors * lanes));
            place =
                loop_add(arena, loop_add(arena, code->sums_from, place), integer(code, j * lanes));
            loop_value before = loop_mul(arena, vector(code, code->sums, place), tile->shrink[j]);
            loop_store(block, code->sums, place, loop_add(arena, before, sum));
        }
    }
}

static void tile_lower(struct attend_code *code, struct loop_block *block, const struct tile *tile)
{
    struct arena *arena = code->arena;
    int count = tile->rows * code->plan.vectors;
    const struct loop_buffer *sums =
        loop_stack(block, "sums", code->attend->dtype, code->plan.lanes, count);
    loop_value zero = loop_number(arena, 0, code->attend->dtype);
    for (int i = 0; i < count; i++)
        loop_store(block, sums, integer(code, i), loop_splat(arena, zero, code->plan.lanes));
    tile_terms(code, block, tile, sums);
    tile_store(code, block, tile, sums);
}

/* Tiles of `rows`, and what is left one by one. */
static void tiles_lower(struct attend_code *code, struct loop_block *block, struct tile tile,
                        int rows, loop_value end, const char *name)
{
    struct arena *arena = code->arena;
    struct loop_variable *at;
    loop_value step = integer(code, rows);
    loop_value whole = loop_mul(arena, loop_apply(arena, IR_FLOORDIV, end, step, NULL), step);
    whole = named(code, block, "whole", whole);
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, name, integer(code, 0), whole, step, &at);
    tile.rows = rows;
    tile.first = loop_of(arena, at);
    tile_lower(code, body, &tile);
    if (rows == 1)
        return;
    body = loop_for(block, LOOP_SERIAL, name, whole, end, NULL, &at);
    tile.rows = 1;
    tile.first = loop_of(arena, at);
    tile_lower(code, body, &tile);
}

/* ---- from scores to weights ---- */

static loop_value weight_place(struct attend_code *code, loop_value key, int number)
{
    loop_value place = loop_mul(code->arena, key, integer(code, code->plan.vectors));
    return loop_add(code->arena, place, integer(code, number));
}

/* The maps of the scores, what the predicate leaves out, and the greatest so far. */
static void map_scores(struct attend_code *code, struct loop_block *block, loop_value first,
                       loop_value count, struct loop_variable **greatest)
{
    const struct attend *attend = code->attend;
    const struct ir_stage *stage = attend->top.stage;
    struct arena *arena = code->arena;
    struct loop_variable *number;
    struct loop_block *body = loop_for(block, LOOP_SERIAL, attend->variables[attend->key].name,
                                       integer(code, 0), count, NULL, &number);
    loop_value key = named(code, body, "key", loop_add(arena, first, loop_of(arena, number)));
    for (int i = 0; i < code->plan.vectors; i++) {
        struct skeleton_lanes lanes = query_lanes(code, i);
        loop_value place = weight_place(code, loop_of(arena, number), i), values[2];
        code->score = named(code, body, "score", vector(code, code->weights, place));
        code->at[attend->key] = key;
        code->at[attend->query] = axis_variable(code, attend->query);
        open_stage(code, &attend->top);
        values[0] = skeleton_value(&code->values, stage, stage->writes[0].value);
        values[1] = stage->predicate == IR_NONE
                        ? loop_bool(arena, true)
                        : skeleton_value(&code->values, stage, stage->predicate);
        skeleton_widen(body, &lanes, values, 2);
        loop_value nothing = loop_number(arena, -INFINITY, attend->dtype);
        loop_value score = loop_splat(arena, values[0], code->plan.lanes);
        if (stage->predicate != IR_NONE) {
            loop_value seen = loop_splat(arena, values[1], code->plan.lanes);
            score = loop_select(arena, seen, score, loop_splat(arena, nothing, code->plan.lanes));
        }
        if (score->op != LOOP_VARIABLE || score->variable != code->score->variable) {
            score = named(code, body, "score", score);
            loop_store(body, code->weights, place, score);
        }
        loop_set(body, greatest[i],
                 loop_combine(arena, IR_MAXIMUM, loop_of(arena, greatest[i]), score));
    }
    code->score = NULL;
}

/* Weights below the new top; what the sums so far shrink by goes to `shrink`. */
static void weigh(struct attend_code *code, struct loop_block *block, loop_value count,
                  struct loop_variable **greatest, loop_value *shrink)
{
    struct arena *arena = code->arena;
    enum dtype dtype = code->attend->dtype;
    int lanes = code->plan.lanes, vectors = code->plan.vectors;
    struct loop_variable *number, *parts[ATTEND_MAX_VECTORS];
    loop_value below[ATTEND_MAX_VECTORS];
    loop_value zero = loop_splat(arena, loop_number(arena, 0, dtype), lanes);
    loop_value least = loop_splat(arena, loop_number(arena, -INFINITY, dtype), lanes);
    for (int i = 0; i < vectors; i++) {
        loop_value top = loop_of(arena, greatest[i]);
        /* as long as all is masked, anything finite will do: the weights are zero */
        loop_value none = loop_apply(arena, IR_EQ, top, least, NULL);
        below[i] = named(code, block, "below", loop_select(arena, none, zero, top));
        loop_value change = loop_sub(arena, loop_of(arena, code->tops[i]), below[i]);
        shrink[i] = named(code, block, "shrink", loop_apply(arena, IR_EXP, change, NULL, NULL));
        loop_set(block, code->tops[i], top);
        parts[i] = loop_let(block, "part", zero);
    }
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "key", integer(code, 0), count, NULL, &number);
    for (int i = 0; i < vectors; i++) {
        loop_value place = weight_place(code, loop_of(arena, number), i);
        loop_value weight = loop_sub(arena, vector(code, code->weights, place), below[i]);
        weight = named(code, body, "weight", loop_apply(arena, IR_EXP, weight, NULL, NULL));
        loop_store(body, code->weights, place, weight);
        loop_set(body, parts[i], loop_add(arena, loop_of(arena, parts[i]), weight));
    }
    for (int i = 0; i < vectors; i++) {
        loop_value before = loop_mul(arena, loop_of(arena, code->totals[i]), shrink[i]);
        loop_set(block, code->totals[i], loop_add(arena, before, loop_of(arena, parts[i])));
    }
}

static void lower_keys(struct attend_code *code, struct loop_block *block, struct attend_span span)
{
    struct arena *arena = code->arena;
    struct loop_variable *from, *greatest[ATTEND_MAX_VECTORS];
    loop_value step = integer(code, code->plan.block_k);
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "keys_from", span.from, span.to, step, &from);
    loop_note_loop(block, arena_printf(arena, "block.k %d", code->plan.block_k));
    loop_value first = loop_of(arena, from);
    loop_value count = loop_min(arena, step, loop_sub(arena, span.to, first));
    count = named(code, body, "keys", count);
    loop_note(body, "scores");
    struct tile scores = {.kind = TILE_SCORES, .block_first = first, .terms = code->features};
    tiles_lower(code, body, scores, code->plan.tile_k, count, "key");
    for (int i = 0; i < code->plan.vectors; i++)
        greatest[i] = loop_let(body, "greatest", loop_of(arena, code->tops[i]));
    map_scores(code, body, first, count, greatest);
    loop_note(body, "weights");
    struct tile sums = {.kind = TILE_SUMS, .block_first = first, .terms = count};
    weigh(code, body, count, greatest, sums.shrink);
    loop_note(body, "weights times values");
    tiles_lower(code, body, sums, code->plan.tile_d, code->channels, "channel");
}

/* ---- a block of queries ---- */

static void start_sums(struct attend_code *code, struct loop_block *block)
{
    struct arena *arena = code->arena;
    enum dtype dtype = code->attend->dtype;
    int lanes = code->plan.lanes, vectors = code->plan.vectors;
    struct loop_variable *channel;
    loop_value zero = loop_splat(arena, loop_number(arena, 0, dtype), lanes);
    loop_value least = loop_splat(arena, loop_number(arena, -INFINITY, dtype), lanes);
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "channel", integer(code, 0), code->channels, NULL, &channel);
    for (int i = 0; i < vectors; i++) {
        loop_value place = loop_mul(arena, loop_of(arena, channel), integer(code, vectors * lanes));
        place = loop_add(arena, loop_add(arena, code->sums_from, place), integer(code, i * lanes));
        loop_store(body, code->sums, place, zero);
    }
    for (int i = 0; i < vectors; i++) {
        code->tops[i] = loop_let(block, "top", least);
        code->totals[i] = loop_let(block, "total", zero);
    }
    code->weights =
        loop_stack(block, "weights", dtype, lanes, (int64_t)code->plan.block_k * vectors);
}

/* The keys that one of the queries can see. */
static struct attend_span seen_keys(struct attend_code *code, struct loop_block *block)
{
    const struct attend *attend = code->attend;
    struct arena *arena = code->arena;
    int width = code->plan.vectors * code->plan.lanes;
    loop_value predicate = NULL, one = integer(code, 1);
    if (attend->top.stage->predicate != IR_NONE) {
        code->at[attend->query] = axis_variable(code, attend->query);
        code->at[attend->key] = axis_variable(code, attend->key);
        open_stage(code, &attend->top);
        predicate = skeleton_value(&code->values, attend->top.stage, attend->top.stage->predicate);
    }
    loop_value last = loop_add(arena, code->first, integer(code, width - 1));
    last = loop_min(arena, last, loop_sub(arena, code->queries, one));
    struct attend_span span = attend_span(arena, attend, predicate, code->first, last, code->keys);
    if (predicate) {
        span.from = named(code, block, "seen_from", span.from);
        span.to = named(code, block, "seen_to", span.to);
    }
    return span;
}

static void lower_queries(struct attend_code *code, struct loop_block *block)
{
    struct arena *arena = code->arena;
    int lanes = code->plan.lanes;
    for (int i = 0; i < code->plan.vectors; i++) {
        loop_value count =
            loop_sub(arena, code->queries, loop_add(arena, code->first, integer(code, i * lanes)));
        count = loop_min(arena, count, integer(code, lanes));
        count = loop_apply(arena, IR_MAX, count, integer(code, 0), NULL);
        code->counts[i] = named(code, block, "count", count);
    }
    turn_queries(code, block);
    start_sums(code, block);
    lower_keys(code, block, seen_keys(code, block));
    attend_finish(code, block);
}

/* ---- the whole ---- */

void attend_open_batch(struct attend_code *code, struct loop_block *block, loop_value number)
{
    const struct attend *attend = code->attend;
    struct arena *arena = code->arena;
    int open = 0;
    for (int i = 0; i < attend->key; i++)
        open += i != attend->query && i != attend->channel;
    for (int i = attend->key - 1; i >= 0; i--) {
        if (i == attend->query || i == attend->channel)
            continue;
        loop_value extent = skeleton_size(&code->values, attend->extents[i]), digit = number;
        if (--open > 0) {
            digit = named(code, block, attend->variables[i].name,
                          loop_apply(arena, IR_FLOORMOD, number, extent, NULL));
            number =
                named(code, block, "rest", loop_apply(arena, IR_FLOORDIV, number, extent, NULL));
        }
        code->at[i] = digit;
    }
}

static loop_value batch_size(struct attend_code *code)
{
    const struct attend *attend = code->attend;
    loop_value size = integer(code, 1);
    for (int i = 0; i < attend->key; i++) {
        if (i != attend->query && i != attend->channel)
            size = loop_mul(code->arena, size, skeleton_size(&code->values, attend->extents[i]));
    }
    return size;
}

static const struct loop_buffer *worker_scratch(struct attend_code *code, const char *name,
                                                int axis)
{
    struct arena *arena = code->arena;
    int64_t width = (int64_t)code->plan.vectors * code->plan.lanes * code->plan.threads;
    return loop_scratch(code->kernel, name, code->attend->dtype,
                        ir_size_make(arena, IR_SIZE_MUL, code->attend->extents[axis],
                                     ir_size_constant(arena, width)));
}

/* Blocks of queries go to the workers in turn, forth and back: where later ones see more keys, all
 * have about the same to do. */
static void lower_workers(struct attend_code *code, struct loop_block *block)
{
    struct arena *arena = code->arena;
    int width = code->plan.vectors * code->plan.lanes;
    struct loop_variable *worker, *round;
    loop_value workers = integer(code, code->plan.threads), one = integer(code, 1);
    loop_value wide = integer(code, width);
    loop_value blocks = loop_add(arena, code->queries, integer(code, width - 1));
    blocks = named(code, block, "blocks", loop_apply(arena, IR_FLOORDIV, blocks, wide, NULL));
    loop_value items = named(code, block, "items", loop_mul(arena, batch_size(code), blocks));
    loop_value rounds = loop_add(arena, items, integer(code, code->plan.threads - 1));
    rounds = loop_apply(arena, IR_FLOORDIV, rounds, workers, NULL);
    struct loop_block *body =
        loop_for(block, LOOP_PARALLEL, "worker", integer(code, 0), workers, NULL, &worker);
    loop_note_loop(block, arena_printf(arena, "threads %d", code->plan.threads));
    loop_value number = loop_of(arena, worker);
    loop_value piece = loop_mul(arena, number, wide);
    code->turned_from = named(code, body, "turned_from", loop_mul(arena, piece, code->features));
    code->sums_from = named(code, body, "sums_from", loop_mul(arena, piece, code->channels));
    body = loop_for(body, LOOP_SERIAL, "round", integer(code, 0), rounds, NULL, &round);
    loop_value odd = loop_apply(arena, IR_FLOORMOD, loop_of(arena, round), integer(code, 2), NULL);
    loop_value back = loop_sub(arena, loop_sub(arena, workers, one), number);
    odd = loop_apply(arena, IR_EQ, odd, one, NULL);
    loop_value item = loop_mul(arena, loop_of(arena, round), workers);
    if (code->plan.threads > 1)
        item = loop_add(arena, item, loop_select(arena, odd, back, number));
    item = named(code, body, "item", item);
    body = loop_if(body, loop_less(arena, item, items));
    loop_value block_number = loop_apply(arena, IR_FLOORMOD, item, blocks, NULL);
    code->first = named(code, body, "first", loop_mul(arena, block_number, wide));
    attend_open_batch(
        code, body, named(code, body, "batch", loop_apply(arena, IR_FLOORDIV, item, blocks, NULL)));
    lower_queries(code, body);
}

void attend_lower(const struct skeleton_group *group, const struct plan_group *plan,
                  struct loop_kernel *kernel)
{
    struct attend attend;
    struct skeleton_reason why_not;
    struct arena *arena = kernel->arena;
    if (!attend_classify(group, &attend, &why_not))
        return;
    struct attend_code code = {.attend = &attend, .arena = arena, .kernel = kernel};
    code.plan = attend_decide(&attend, plan);
    code.values = (struct skeleton_values){.group = &attend.group, .kernel = kernel};
    code.values.resolve = attend_resolve;
    code.values.context = &code;
    code.values.indices =
        arena_array(arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    struct loop_block *block =
        loop_function(kernel, plan->name, "attention, a block of queries against blocks of keys");
    code.queries =
        named(&code, block, "queries", skeleton_size(&code.values, attend.extents[attend.query]));
    code.keys =
        named(&code, block, "keys", skeleton_size(&code.values, attend.extents[attend.key]));
    code.channels = named(&code, block, "channels",
                          skeleton_size(&code.values, attend.extents[attend.channel]));
    code.features = named(&code, block, "features",
                          skeleton_size(&code.values, attend.extents[attend.feature]));
    code.turned = worker_scratch(&code, "turned", attend.feature);
    code.sums = worker_scratch(&code, "mixed", attend.channel);
    lower_workers(&code, block);
    loop_prune(block);
}
