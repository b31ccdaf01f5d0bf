/*
 * Loops of the row skeleton: one pass along a row, lanes along it; or all passes with lanes across
 * rows that lie side by side.
 */
#include <string.h>

#include "skeleton/row.h"

/* ---- values ---- */

static struct row_stage *stage_of(struct row_lowering *lowering, int tensor, int *component)
{
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        for (int k = 0; k < stage->stage->write_count; k++) {
            *component = k;
            if (stage->stage->writes[k].tensor == tensor)
                return stage;
        }
    }
    return NULL;
}

loop_value row_resolve(void *context, struct skeleton_values *values, int tensor,
                       const loop_value *at)
{
    (void)at;
    struct row_lowering *lowering = context;
    int component;
    struct row_stage *stage = stage_of(lowering, tensor, &component);
    if (!stage)
        return NULL;
    if (stage->kind == ROW_REDUCE || stage->kind == ROW_TOTAL)
        return component ? stage->result_places[lowering->vector]
                         : stage->results[lowering->vector];
    return skeleton_round(values, tensor,
                          skeleton_value(values, stage->stage, stage->stage->writes[0].value));
}

/* What a stage combines or stores at the present point. */
loop_value row_element(struct row_lowering *lowering, struct row_stage *stage)
{
    struct skeleton_values *values = &lowering->values;
    const struct ir_stage *ir = stage->stage;
    loop_value value = skeleton_value(values, ir, ir->writes[0].value);
    if (stage->kind == ROW_MAP || stage->kind == ROW_VALUE || stage->kind == ROW_FINAL)
        return skeleton_round(values, ir->writes[0].tensor, value);
    if (ir->predicate == IR_NONE)
        return value;
    loop_value counts = skeleton_value(values, ir, ir->predicate);
    return loop_select(lowering->arena, counts, value,
                       loop_unit(lowering->arena, ir->monoid->kind, value->type));
}

loop_value row_offset(struct row_lowering *lowering, const struct ir_stage *ir, int write)
{
    loop_value at[IR_MAX_RANK];
    int tensor = ir->writes[write].tensor;
    for (int d = 0; d < lowering->group->part->tensors[tensor].rank; d++)
        at[d] = skeleton_value(&lowering->values, ir, ir->writes[write].at[d]);
    return skeleton_offset(&lowering->values, tensor, at);
}

loop_value row_number(struct row_lowering *lowering)
{
    struct arena *arena = lowering->arena;
    loop_value number = loop_integer(arena, 0);
    for (int i = 0; i < lowering->left.count; i++) {
        const struct nest_chain *chain = &lowering->left.at[i];
        number = loop_mul(arena, number, skeleton_size(&lowering->values, chain->extent));
        for (int k = 0; k < lowering->group->part->index_count; k++) {
            if (lowering->row.nest.axis_of[k] == chain->axes[chain->count - 1]) {
                number = loop_add(arena, number, lowering->values.indices[k]);
                break;
            }
        }
    }
    return number;
}

bool row_in_pass(const struct row_stage *stage, int pass)
{
    return stage->pass == pass && stage->kind != ROW_VALUE && stage->kind != ROW_FINAL;
}

/* ---- what is kept from one pass for the next ---- */

static loop_value replace(struct arena *arena, loop_value value, loop_value part, loop_value by,
                          struct map *done)
{
    if (!value)
        return NULL;
    loop_value known = map_get_bytes(done, &value, sizeof value);
    if (known)
        return known;
    loop_value result = value;
    if (loop_equal(value, part)) {
        result = by;
    } else if (value->op == LOOP_APPLY) {
        loop_value a = replace(arena, value->a, part, by, done);
        loop_value b = replace(arena, value->b, part, by, done);
        loop_value c = replace(arena, value->c, part, by, done);
        if (a != value->a || b != value->b || c != value->c)
            result = loop_rebuild(arena, value, a, b, c);
    }
    map_set_bytes(done, &value, sizeof value, (void *)result);
    return result;
}

static loop_value use_kept(struct row_lowering *lowering, int pass, loop_value value)
{
    if (!lowering->kept || !lowering->kept_value || pass <= lowering->kept_pass)
        return value;
    struct arena *arena = lowering->arena;
    const struct nest_chain *inner = &lowering->reduced.at[lowering->reduced.count - 1];
    loop_value by = loop_load(arena, lowering->kept, loop_of(arena, inner->variable), 1);
    struct map done = map_new(arena);
    return replace(arena, value, lowering->kept_value, by, &done);
}

loop_value row_divide(struct row_lowering *lowering, loop_value value)
{
    const struct nest_chain *inner = &lowering->reduced.at[lowering->reduced.count - 1];
    return lowering->reciprocal ? skeleton_reciprocal(lowering->arena, value, inner->variable)
                                : value;
}

/* ---- one pass ---- */

struct pass_item { /* something done for every element */
    struct row_stage *stage;
    loop_value value, offset; /* offset: of a store, else NULL */
    const struct loop_buffer *buffer;
    bool far; /* how far a decay has come: its stage's sum is exact where that is not too far */
};

struct pass_items VECTOR(struct pass_item);

static struct pass_items pass_collect(struct row_lowering *lowering, int pass)
{
    struct pass_items items = {0};
    struct arena *arena = lowering->arena;
    const struct nest_chain *inner = &lowering->reduced.at[lowering->reduced.count - 1];
    lowering->values.memo = NULL;
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        int tensor = stage->stage->writes[0].tensor;
        if (!row_in_pass(stage, pass) ||
            (stage->kind == ROW_MAP && !lowering->group->needed[tensor]))
            continue;
        struct pass_item item = {stage, row_element(lowering, stage), NULL, NULL, false};
        loop_value given = item.value, below = row_quick_decay(lowering, given);
        if (below && stage->kind == ROW_REDUCE) {
            item.value = loop_decay(arena, below);
            if (row_decay_is_whole(lowering))
                stage->far = NULL;
            else
                vector_push(arena, &items, (struct pass_item){stage, below, NULL, NULL, true});
        } else {
            stage->far = NULL;
        }
        bool keeps = stage->kind == ROW_REDUCE && lowering->kept && pass == lowering->kept_pass;
        if (keeps && !lowering->kept_value && loop_mentions(item.value, inner->variable)) {
            lowering->kept_value = given;
            vector_push(arena, &items,
                        (struct pass_item){stage, item.value, loop_of(arena, inner->variable),
                                           lowering->kept, false});
        }
        if (pass == 1 && lowering->rows_ahead > 0)
            soon_collect(arena, item.value, inner->variable, &lowering->soon);
        item.value = use_kept(lowering, pass, item.value);
        item.value = row_divide(lowering, item.value);
        if (stage->kind == ROW_MAP) {
            item.offset = row_offset(lowering, stage->stage, 0);
            item.buffer = skeleton_buffer(&lowering->values, tensor);
        }
        vector_push(arena, &items, item);
    }
    return items;
}

/*
 * What the first pass will load of a row further on, fetched line after line: each pass of this row
 * fetches a share of it, so that memory is at work all the time. `at` is where the loop of the pass
 * is, which takes lanes * unroll elements at a time.
 */
static void fetch_ahead(struct row_lowering *lowering, struct loop_block *block, loop_value at,
                        int pass)
{
    enum { LINE_BYTES = 64 };
    struct arena *arena = lowering->arena;
    const struct nest_chain *inner = &lowering->reduced.at[lowering->reduced.count - 1];
    loop_value length = skeleton_size(&lowering->values, inner->extent);
    for (size_t i = 0; i < lowering->soon.count && lowering->row_counter; i++) {
        loop_value load = lowering->soon.at[i];
        if (!loop_mentions(load->offset, lowering->row_counter))
            continue;
        int64_t line = LINE_BYTES / (int64_t)dtype_bytes(load->buffer->dtype);
        int64_t lines = (int64_t)lowering->lanes * lowering->unroll / line;
        struct row_share share = row_fetch_share(lowering, pass, lines > 0 ? (int)lines : 1);
        loop_value all = loop_integer(arena, lines > 0 ? lines : 1);
        loop_value first = loop_mul(arena, loop_apply(arena, IR_QUOT, length, all, NULL),
                                    loop_integer(arena, share.before));
        first = loop_add(arena, first,
                         loop_mul(arena, loop_apply(arena, IR_QUOT, at, all, NULL),
                                  loop_integer(arena, share.lines)));
        loop_value row = loop_add(arena, loop_of(arena, lowering->row_counter),
                                  loop_integer(arena, lowering->rows_ahead));
        if (share.lines > 0)
            loop_note(block,
                      arena_printf(arena, "%d of %lld lines of the row %d further on", share.lines,
                                   (long long)all->integer, lowering->rows_ahead));
        for (int k = 0; k < share.lines; k++) {
            loop_value place = loop_add(arena, first, loop_integer(arena, k * line));
            loop_value offset = loop_substitute(arena, load->offset, inner->variable, place);
            loop_prefetch(block, load->buffer,
                          loop_substitute(arena, offset, lowering->row_counter, row));
        }
    }
}

static void far_note(struct row_lowering *lowering, struct loop_block *block,
                     const struct row_stage *stage, loop_value below, loop_value live)
{
    struct arena *arena = lowering->arena;
    loop_value old = loop_of(arena, stage->far);
    loop_value far = loop_farther(arena, old, below);
    loop_set(block, stage->far, live ? loop_select(arena, live, far, old) : far);
}

/* The items for the `vector`th `lanes` elements from `first` on. */
static void pass_body(struct row_lowering *lowering, struct loop_block *block,
                      const struct pass_items *items, int vector, int lanes, loop_value first,
                      loop_value count)
{
    struct arena *arena = lowering->arena;
    const struct nest_chain *inner = &lowering->reduced.at[lowering->reduced.count - 1];
    loop_value from = loop_add(arena, first, loop_integer(arena, (int64_t)vector * lanes));
    const struct skeleton_lanes along = {inner->variable, lanes, from, count};
    loop_value *wide = arena_array(arena, items->count + 1, sizeof *wide);
    for (size_t i = 0; i < items->count; i++)
        wide[i] = items->at[i].value;
    skeleton_widen(block, &along, wide, (int)items->count);
    loop_value live = count ? nest_live(arena, lanes, count) : NULL;
    for (size_t i = 0; i < items->count; i++) {
        const struct pass_item *item = &items->at[i];
        if (item->far) {
            far_note(lowering, block, item->stage, wide[i], live);
            continue;
        }
        if (!item->buffer) {
            loop_value number = loop_apply(arena, IR_QUOT, first, loop_integer(arena, lanes), NULL);
            loop_value parts[2] = {wide[i], loop_narrow(arena, number)};
            /* an accumulator has all its lanes also where the rest is done one by one */
            row_sums_add(lowering, block, item->stage, vector, parts, live);
            continue;
        }
        loop_value step = loop_step(arena, item->offset, inner->variable);
        bool dense = step && step->op == LOOP_INTEGER && step->integer == 1;
        loop_value offset = item->offset;
        if (!dense)
            offset =
                loop_splat(arena, loop_widen(arena, offset, inner->variable, lanes, NULL), lanes);
        offset = loop_substitute(arena, offset, inner->variable, from);
        struct loop_statement *store =
            loop_store(block, item->buffer, offset, loop_splat(arena, wide[i], lanes));
        store->count = dense ? count : NULL;
        store->mask = dense ? NULL : live;
        store->streaming = lowering->streaming && dense && !count && lanes > 1 &&
                           item->buffer->space == LOOP_TENSOR;
    }
}

/* Whether whole vectors and what is left of one are gone over by one loop, each with a mask: half
 * of the code, for rows that are rare. */
static bool in_one_loop(const struct row_lowering *lowering)
{
    return lowering->brief && lowering->masks && lowering->unroll == 1 && lowering->lanes > 1 &&
           lowering->reduced.count == 1;
}

/* A loop over from..to, in pieces where sums are long; what the row after this one needs is fetched
 * meanwhile. */
static struct loop_block *open_loop(struct row_lowering *lowering, struct loop_block *block,
                                    const struct pass_items *items, loop_value from, loop_value to,
                                    loop_value *at)
{
    struct arena *arena = lowering->arena;
    const struct nest_chain *inner = &lowering->reduced.at[lowering->reduced.count - 1];
    struct loop_block *aside, *body = row_long_pieces(lowering, block, &from, &to, &aside);
    if (aside)
        row_long_aside(lowering, aside, lowering->unroll);
    struct loop_variable *counter;
    body = loop_for(body, LOOP_SERIAL, inner->variable->name, from, to,
                    loop_integer(arena, lowering->lanes * lowering->unroll), &counter);
    *at = loop_of(arena, counter);
    if (items->count > 0 && lowering->rows_ahead > 0)
        fetch_ahead(lowering, body, *at, items->at[0].stage->pass);
    return body;
}

static void pass_inner(struct row_lowering *lowering, struct loop_block *block,
                       const struct pass_items *items, loop_value from, loop_value to)
{
    struct arena *arena = lowering->arena;
    const struct nest_chain *inner = &lowering->reduced.at[lowering->reduced.count - 1];
    int step = lowering->lanes * lowering->unroll;
    bool once = in_one_loop(lowering);
    loop_value lanes = loop_integer(arena, lowering->lanes), whole = to, at;
    if (!once) {
        loop_value length = loop_sub(arena, to, from);
        loop_value rest = loop_apply(arena, IR_REM, length, loop_integer(arena, step), NULL);
        whole = loop_of(arena, loop_let(block, "whole", loop_sub(arena, to, rest)));
    }
    struct loop_block *body = open_loop(lowering, block, items, from, whole, &at);
    loop_value most = once ? loop_min(arena, loop_sub(arena, to, at), lanes) : NULL;
    for (int i = 0; i < lowering->unroll; i++)
        pass_body(lowering, body, items, i, lowering->lanes, at, most);
    if (once || step == 1 || lowering->streaming) /* streaming is for rows of whole vectors */
        return;
    struct loop_block *aside = NULL;
    if (lowering->reduced.count > 1) /* rows of rests alone are long, too */
        aside = row_long_check(lowering, block, loop_integer(arena, step));
    if (aside)
        row_long_aside(lowering, aside, lowering->unroll);
    struct loop_variable *counter;
    body = loop_for(block, LOOP_SERIAL, inner->variable->name, whole, to, lanes, &counter);
    loop_note_loop(block, "what is left of a whole vector");
    loop_value count = loop_sub(arena, to, loop_of(arena, counter));
    if (lowering->unroll > 1)
        count = loop_min(arena, count, lanes);
    pass_body(lowering, body, items, 0, lowering->lanes, loop_of(arena, counter),
              lowering->lanes == 1 ? NULL : count);
}

/* Twice, when rows of finite values can do with less; once, when they are taken to be of that kind
 * or it does not matter. */
static void pass_versions(struct row_lowering *lowering, struct loop_block *block,
                          const struct pass_items *items, loop_value from, loop_value to)
{
    struct arena *arena = lowering->arena;
    const struct nest_chain *inner = &lowering->reduced.at[lowering->reduced.count - 1];
    loop_value *values = arena_array(arena, items->count + 1, sizeof *values);
    for (size_t i = 0; i < items->count; i++)
        values[i] = items->at[i].value;
    loop_value finite = row_finite(arena, inner->variable, values, (int)items->count);
    if (finite && (lowering->quick || !lowering->brief)) {
        struct pass_items less = {0};
        for (size_t i = 0; i < items->count; i++) {
            struct pass_item item = items->at[i];
            item.value = values[i];
            vector_push(arena, &less, item);
        }
        pass_inner(lowering, lowering->quick ? block : loop_if(block, finite), &less, from, to);
        if (lowering->quick)
            return;
        block = loop_else(block);
    }
    pass_inner(lowering, block, items, from, to);
}

void row_pass_along(struct row_lowering *lowering, struct loop_block *block, int pass,
                    loop_value from, loop_value to)
{
    struct arena *arena = lowering->arena;
    row_long_pass(lowering, block, pass, (int64_t)lowering->lanes * lowering->unroll, false);
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        if (row_in_pass(stage, pass) && stage->kind != ROW_MAP)
            row_sums_open(lowering, block, stage, lowering->unroll, lowering->lanes);
    }
    const struct nest_chain *inner = &lowering->reduced.at[lowering->reduced.count - 1];
    struct loop_block *body = block;
    for (int i = 0; i + 1 < lowering->reduced.count; i++) {
        const struct nest_chain *chain = &lowering->reduced.at[i];
        struct loop_variable *counter;
        body = loop_for(body, LOOP_SERIAL, chain->variable->name, loop_integer(arena, 0),
                        skeleton_size(&lowering->values, chain->extent), NULL, &counter);
        nest_bind(&lowering->row.nest, &lowering->values, chain, loop_of(arena, counter));
    }
    if (!to) {
        from = loop_integer(arena, 0);
        to = skeleton_size(&lowering->values, inner->extent);
        body = loop_if(body, loop_less(arena, from, to));
    }
    nest_bind(&lowering->row.nest, &lowering->values, inner, loop_of(arena, inner->variable));
    struct pass_items items = pass_collect(lowering, pass);
    loop_value *values = arena_array(arena, 2 * items.count + 1, sizeof *values);
    for (size_t i = 0; i < items.count; i++) {
        values[2 * i] = items.at[i].value;
        values[2 * i + 1] = items.at[i].offset;
    }
    const struct loop_variable *variables[] = {inner->variable};
    skeleton_hoist(body, variables, 1, values, (int)(2 * items.count));
    for (size_t i = 0; i < items.count; i++) {
        items.at[i].value = values[2 * i];
        items.at[i].offset = values[2 * i + 1];
    }
    pass_versions(lowering, body, &items, from, to);
}

/* ---- row values ---- */

void row_stage_finish(struct row_lowering *lowering, struct loop_block *block,
                      struct row_stage *stage, int vectors)
{
    struct arena *arena = lowering->arena;
    const struct ir_write *writes = stage->stage->writes;
    loop_value results[2] = {NULL, NULL};
    row_sums_fold(lowering, block, stage, vectors, results);
    for (int i = 0; i < stage->stage->write_count; i++) {
        const char *name = lowering->group->part->tensors[writes[i].tensor].name;
        loop_value value = skeleton_round(&lowering->values, writes[i].tensor, results[i]);
        stage->found[i] = loop_let(block, name, value);
        *(i ? &stage->result_places[0] : &stage->results[0]) = loop_of(arena, stage->found[i]);
    }
}

void row_pass(struct row_lowering *lowering, struct loop_block *block, int pass)
{
    row_pass_along(lowering, block, pass, NULL, NULL);
    lowering->values.memo = NULL;
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        if (row_in_pass(stage, pass) && stage->kind != ROW_MAP)
            row_stage_finish(lowering, block, stage, lowering->unroll);
    }
}

/* Something stored once per row. */
struct row_result {
    const struct loop_buffer *buffer;
    loop_value offset, value;
};

struct row_results VECTOR(struct row_result);

/* What is stored of a row, or of the present one of several vectors of rows. */
static struct row_results collect_results(struct row_lowering *lowering)
{
    struct row_results results = {0};
    struct arena *arena = lowering->arena;
    struct skeleton_values *values = &lowering->values;
    values->memo = NULL;
    for (int i = 0; i < lowering->row.stage_count; i++) {
        struct row_stage *stage = &lowering->row.stages[i];
        const struct ir_stage *ir = stage->stage;
        loop_value found[] = {stage->results[lowering->vector],
                              stage->result_places[lowering->vector]};
        for (int k = 0; stage->kind == ROW_REDUCE && k < ir->write_count; k++) {
            if (lowering->group->needed[ir->writes[k].tensor])
                vector_push(arena, &results,
                            (struct row_result){skeleton_buffer(values, ir->writes[k].tensor),
                                                row_offset(lowering, ir, k), found[k]});
        }
        if (stage->kind == ROW_VALUE && lowering->group->needed[ir->writes[0].tensor])
            vector_push(arena, &results,
                        (struct row_result){skeleton_buffer(values, ir->writes[0].tensor),
                                            row_offset(lowering, ir, 0),
                                            row_element(lowering, stage)});
        if (stage->kind == ROW_TOTAL)
            vector_push(
                arena, &results,
                (struct row_result){stage->partial[0], row_number(lowering),
                                    stage->elements ? found[0] : row_element(lowering, stage)});
    }
    return results;
}

/* Of one row. What several results are made of is computed once. */
static void store_results(struct loop_block *block, const struct row_results *results)
{
    loop_value *shared = arena_array(block->arena, results->count + 1, sizeof *shared);
    for (size_t i = 0; i < results->count; i++)
        shared[i] = results->at[i].value;
    skeleton_share(block, shared, (int)results->count);
    for (size_t i = 0; i < results->count; i++)
        loop_store(block, results->at[i].buffer, results->at[i].offset, shared[i]);
}

/* Of a vector of rows side by side. */
static void store_result_across(struct row_lowering *lowering, struct loop_block *block,
                                const struct row_result *result, const struct nest_chain *across,
                                loop_value from, loop_value count)
{
    struct arena *arena = lowering->arena;
    int lanes = lowering->lanes;
    const struct skeleton_lanes side = {across->variable, lanes, from, count};
    loop_value value = result->value, offset = result->offset;
    skeleton_widen(block, &side, &value, 1);
    loop_value step = loop_step(arena, offset, across->variable);
    bool dense = step && step->op == LOOP_INTEGER && step->integer == 1;
    if (!dense)
        offset = loop_splat(arena, loop_widen(arena, offset, across->variable, lanes, NULL), lanes);
    offset = loop_substitute(arena, offset, across->variable, from);
    struct loop_statement *store =
        loop_store(block, result->buffer, offset, loop_splat(arena, value, lanes));
    store->count = dense ? count : NULL;
    if (!dense && count)
        store->mask = nest_live(arena, lanes, count);
}

void row_store_values(struct row_lowering *lowering, struct loop_block *block, int vectors,
                      const struct nest_chain *across, loop_value from, loop_value count)
{
    struct arena *arena = lowering->arena;
    for (lowering->vector = 0; lowering->vector < vectors; lowering->vector++) {
        struct row_results results = collect_results(lowering);
        if (!across) {
            store_results(block, &results);
            continue;
        }
        int64_t before = (int64_t)lowering->vector * lowering->lanes;
        loop_value at = loop_add(arena, from, loop_integer(arena, before));
        for (size_t i = 0; i < results.count; i++)
            store_result_across(lowering, block, &results.at[i], across, at, count);
    }
    lowering->vector = 0;
}
