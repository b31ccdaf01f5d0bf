/*
 * One stage: visiting the points of its domain in order and writing what comes out.
 *
 * The domain is nested loops, outermost index first. A node is evaluated in the outermost loop it
 * may be: right after the innermost index it depends on got a value. Reads are the exception. That
 * a read stays in bounds may rest on the domain having a point at all, so before anything is read
 * every index with a fixed extent is known to have points, and no read stands outside a range
 * (which may be empty) unless the range itself needs it.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/interpret.h"

/* ---- making a walk ---- */

static int position_of(const struct walk *walk, int index)
{
    for (int p = 0; p < walk->count; p++)
        if (walk->order[p] == index)
            return p;
    return -1; /* of a loop around the stage */
}

/* A scan runs along its index innermost; else the order is the stage's. */
static void domain_order(struct walk *walk)
{
    const struct ir_stage *stage = walk->stage;
    int p = 0;
    for (int i = 0; i < stage->index_count; i++)
        if (stage->kind != IR_SCAN || stage->indices[i] != stage->along)
            walk->order[p++] = stage->indices[i];
    if (stage->kind == IR_SCAN)
        walk->order[p] = stage->along;
}

static bool domain_extents(struct walk *walk)
{
    const struct ir_part *part = walk->frame->binding.part;
    for (int p = 0; p < walk->count; p++) {
        const struct ir_index *index = &part->indices[walk->order[p]];
        walk->extent[p] = -1;
        if (!index->extent)
            continue;
        int64_t extent;
        if (!ir_size_eval(index->extent, walk->frame->binding.sizes, &extent))
            return error_at(walk->frame->run->error, ERROR_ORACLE_PROGRAM, walk->stage->place,
                            "the extent of index '%s' overflows or divides by zero", index->name);
        walk->extent[p] = extent < 0 ? 0 : extent;
        if (walk->extent[p] == 0) {
            walk->empty |= p < walk->left;
            walk->bare |= p >= walk->left;
        }
    }
    return true;
}

typedef void argument_visit(void *context, int argument);

static void node_arguments(const struct walk *walk, int i, argument_visit *visit, void *context)
{
    const struct ir_node *node = &walk->stage->nodes.at[i];
    if (node->op != IR_READ) {
        int arguments[] = {node->a, node->b, node->c};
        for (int k = 0; k < ir_op_arguments(node->op); k++)
            visit(context, arguments[k]);
        return;
    }
    int rank = walk->frame->binding.part->tensors[node->read.tensor].rank;
    for (int d = 0; d < rank; d++)
        visit(context, node->read.at[d]);
    if (node->read.guard != IR_NONE)
        visit(context, node->read.guard);
    if (node->read.otherwise != IR_NONE)
        visit(context, node->read.otherwise);
}

/* needed[i]: the first position whose bounds ask for node i; INT_MAX when none does. */
struct lowering {
    int *needed;
    bool *early;
    int from;
};

static void lower_needed(void *context, int argument)
{
    struct lowering *l = context;
    if (l->needed[l->from] < l->needed[argument])
        l->needed[argument] = l->needed[l->from];
    l->early[argument] |= l->early[l->from];
}

static void find_needed(struct walk *walk, int *needed)
{
    const struct ir_stage *stage = walk->stage;
    const struct ir_part *part = walk->frame->binding.part;
    for (int i = 0; i < stage->nodes.count; i++)
        needed[i] = INT_MAX;
    for (int p = walk->count - 1; p >= 0; p--) {
        const struct ir_index *index = &part->indices[walk->order[p]];
        if (index->extent)
            continue;
        needed[index->low] = needed[index->high] = p;
        walk->early[index->low] = walk->early[index->high] = true;
    }
    for (int w = 0; w < stage->write_count; w++) {
        int rank = part->tensors[stage->writes[w].tensor].rank - (walk->ranking != NULL);
        for (int d = 0; d < rank; d++)
            walk->early[stage->writes[w].at[d]] = true;
    }
    struct lowering l = {needed, walk->early, 0};
    for (l.from = stage->nodes.count - 1; l.from >= 0; l.from--)
        node_arguments(walk, l.from, lower_needed, &l);
}

struct levelling {
    const int *level;
    int highest;
};

static void raise_level(void *context, int argument)
{
    struct levelling *l = context;
    if (l->level[argument] > l->highest)
        l->highest = l->level[argument];
}

/* level[i]: how many positions must have a value before node i is evaluated. */
static void find_levels(struct walk *walk, const int *needed, int *level)
{
    const struct ir_nodes *nodes = &walk->stage->nodes;
    for (int i = 0; i < nodes->count; i++) {
        struct levelling l = {level, 0};
        node_arguments(walk, i, raise_level, &l);
        if (nodes->at[i].op == IR_INDEX)
            l.highest = position_of(walk, nodes->at[i].index) + 1;
        for (int p = l.highest; nodes->at[i].op == IR_READ && p < walk->count; p++)
            if (walk->extent[p] < 0 && p < needed[i])
                l.highest = p + 1;
        level[i] = l.highest;
    }
}

static bool ranges_are_ordered(struct walk *walk, const int *level)
{
    for (int p = 0; p < walk->count; p++) {
        const struct ir_index *index = &walk->frame->binding.part->indices[walk->order[p]];
        if (!index->extent && (level[index->low] > p || level[index->high] > p))
            return error_at(walk->frame->run->error, ERROR_ORACLE_PROGRAM, walk->stage->place,
                            "the range of index '%s' depends on an index inside it", index->name);
    }
    return true;
}

static bool order_nodes(struct walk *walk)
{
    struct pool *pool = &walk->frame->run->pool;
    int count = walk->stage->nodes.count;
    int *needed = pool_take(pool, count, sizeof *needed);
    int *level = pool_take(pool, count, sizeof *level);
    find_needed(walk, needed);
    find_levels(walk, needed, level);
    bool ordered = ranges_are_ordered(walk, level);
    for (int i = 0; i < count; i++)
        walk->starts[level[i] + 2]++;
    for (int n = 2; n < walk->count + 3; n++)
        walk->starts[n] += walk->starts[n - 1];
    /* starts[] is one place too far to the right until every node has been put in. */
    for (int i = 0; i < count; i++)
        walk->listed[walk->starts[level[i] + 1]++] = i;
    pool_give(pool, level);
    pool_give(pool, needed);
    return ordered;
}

/* ---- TOPK: everything seen, cut back to the best whenever twice as many have come together ----
 */

struct ranked {
    struct ir_value pair[2];
    int64_t arrival;
};

struct ranking {
    int64_t ranks, count, arrivals;
    bool is_float, greatest;
    struct ranked *at; /* room for 2 * ranks */
};

static int ranked_compare(const void *left, const void *right, void *context)
{
    const struct ranked *a = left, *b = right;
    const struct ranking *ranking = context;
    if (ranks_before(a->pair, b->pair, ranking->is_float, ranking->greatest))
        return -1;
    if (ranks_before(b->pair, a->pair, ranking->is_float, ranking->greatest))
        return 1;
    return (a->arrival > b->arrival) - (a->arrival < b->arrival);
}

static void ranking_cut(struct ranking *ranking)
{
    qsort_r(ranking->at, (size_t)ranking->count, sizeof *ranking->at, ranked_compare, ranking);
    if (ranking->count > ranking->ranks)
        ranking->count = ranking->ranks;
}

static void ranking_add(struct ranking *ranking, const struct ir_value *pair)
{
    if (ranking->ranks == 0 || pair[1].integer == -1)
        return;
    ranking->at[ranking->count++] =
        (struct ranked){.pair = {pair[0], pair[1]}, .arrival = ranking->arrivals++};
    if (ranking->count == 2 * ranking->ranks)
        ranking_cut(ranking);
}

static void ranking_open(struct walk *walk)
{
    const struct ir_stage *stage = walk->stage;
    if (stage->kind != IR_REDUCE ||
        (stage->monoid->kind != IR_TOPK && stage->monoid->kind != IR_BOTTOMK))
        return;
    struct pool *pool = walk->frame->pool;
    const struct slab *slab = walk->frame->slabs[stage->writes[0].tensor];
    walk->ranking = pool_take(pool, 1, sizeof *walk->ranking);
    walk->ranking->ranks = slab->dims[slab->tensor->rank - 1];
    walk->ranking->is_float = walk->is_float[0];
    walk->ranking->greatest = stage->monoid->kind == IR_TOPK;
    /* Without an element to write, the ranks may be any number. */
    if (slab->count == 0)
        walk->ranking->ranks = 0;
    walk->ranking->at = pool_take(pool, walk->ranking->ranks, 2 * sizeof *walk->ranking->at);
}

struct walk *walk_open(struct frame *frame, const struct ir_stage *stage)
{
    struct pool *pool = frame->pool;
    struct walk *walk = pool_take(pool, 1, sizeof *walk);
    int nodes = stage->nodes.count, width = stage->write_count;
    walk->frame = frame;
    walk->stage = stage;
    walk->count = stage->index_count;
    walk->left = stage->kind == IR_REDUCE ? stage->left_count : stage->index_count;
    walk->order = pool_take(pool, walk->count, sizeof *walk->order);
    walk->extent = pool_take(pool, walk->count, sizeof *walk->extent);
    walk->saved = pool_take(pool, walk->count, sizeof *walk->saved);
    walk->early = pool_take(pool, nodes, sizeof *walk->early);
    walk->listed = pool_take(pool, nodes, sizeof *walk->listed);
    walk->starts = pool_take(pool, walk->count + 3, sizeof *walk->starts);
    walk->values = pool_take(pool, nodes, sizeof *walk->values);
    walk->is_float = pool_take(pool, width, sizeof *walk->is_float);
    walk->accumulator = pool_take(pool, 2 * width, sizeof *walk->accumulator);
    if (stage->monoid)
        walk->scratch = pool_take(pool, stage->monoid->nodes.count, sizeof *walk->scratch);
    for (int w = 0; w < width; w++)
        walk->is_float[w] = dtype_is_float(stage->nodes.at[stage->writes[w].value].type);
    ranking_open(walk);
    domain_order(walk);
    return domain_extents(walk) && order_nodes(walk) ? walk : NULL;
}

/* ---- visiting points ---- */

/* Evaluates the nodes that depend on the first n positions and not on fewer. */
static bool walk_evaluate(struct walk *walk, int n)
{
    for (int k = walk->starts[n]; k < walk->starts[n + 1]; k++) {
        int i = walk->listed[k];
        if (walk->bare && !walk->early[i])
            continue;
        if (!node_evaluate(walk->frame, &walk->stage->nodes, i, walk->values, NULL))
            return false;
    }
    return true;
}

static void position_bounds(const struct walk *walk, int p, int64_t *low, int64_t *high)
{
    const struct ir_index *index = &walk->frame->binding.part->indices[walk->order[p]];
    *low = index->extent ? 0 : walk->values[index->low].integer;
    *high = index->extent ? walk->extent[p] : walk->values[index->high].integer;
}

static bool walk_step(struct walk *walk, int p, int64_t value)
{
    walk->frame->index[walk->order[p]] = value;
    return walk_evaluate(walk, p + 1);
}

typedef bool point_visit(struct walk *walk);

/* Visits every point of positions p .. end-1, in lexicographic order. */
static bool walk_points(struct walk *walk, int p, int end, point_visit *visit)
{
    if (p == end)
        return visit(walk);
    int64_t low, high;
    position_bounds(walk, p, &low, &high);
    for (int64_t i = low; i < high; i++)
        if (!walk_step(walk, p, i) || !walk_points(walk, p + 1, end, visit))
            return false;
    return true;
}

/* ---- writing ---- */

static bool write_fails(struct walk *walk, const struct ir_write *write, const struct slab *slab,
                        int rank)
{
    int64_t at[IR_MAX_RANK];
    char found[SHAPE_TEXT], shape[SHAPE_TEXT];
    for (int d = 0; d < rank; d++)
        at[d] = walk->values[write->at[d]].integer;
    shape_print(found, at, rank);
    shape_print(shape, slab->dims, slab->tensor->rank);
    struct error *error = walk->frame->run->error;
    error_at(error, ERROR_ORACLE_BOUNDS, walk->stage->place,
             "%s%s is written, but %s has the shape %s", slab->tensor->name, found,
             slab->tensor->name, shape);
    if (walk->stage->kind == IR_SCATTER)
        error_hint(error, "promise the range of the index, as in `ids: i64[N] index(V)`, or leave "
                          "such points out with `if`");
    return false;
}

/* The element that the first `rank` places of a write address. */
static bool write_element(struct walk *walk, const struct ir_write *write, int rank,
                          int64_t *element)
{
    const struct slab *slab = walk->frame->slabs[write->tensor];
    *element = 0;
    for (int d = 0; d < rank; d++) {
        int64_t at = walk->values[write->at[d]].integer;
        if (at < 0 || at >= slab->dims[d])
            return write_fails(walk, write, slab, rank);
        *element = *element * slab->dims[d] + at;
    }
    return true;
}

static bool write_value(struct walk *walk, const struct ir_write *write, struct ir_value value)
{
    struct slab *slab = walk->frame->slabs[write->tensor];
    int64_t element;
    if (!write_element(walk, write, slab->tensor->rank, &element))
        return false;
    slab_store(walk->frame->run, slab, element, value);
    return true;
}

static bool visit_map(struct walk *walk)
{
    for (int w = 0; w < walk->stage->write_count; w++) {
        const struct ir_write *write = &walk->stage->writes[w];
        if (!write_value(walk, write, walk->values[write->value]))
            return false;
    }
    return true;
}

/* ---- reductions ---- */

static bool point_is_left_out(const struct walk *walk)
{
    return walk->stage->predicate != IR_NONE && !walk->values[walk->stage->predicate].integer;
}

/* Puts the values of the point behind the accumulator and combines the two. */
static bool combine_point(struct walk *walk)
{
    const struct ir_stage *stage = walk->stage;
    struct ir_value *incoming = walk->accumulator + stage->write_count;
    for (int w = 0; w < stage->write_count; w++)
        incoming[w] = walk->values[stage->writes[w].value];
    return monoid_combine(walk->frame, stage->monoid, walk->is_float, walk->scratch,
                          walk->accumulator);
}

static bool visit_reduced(struct walk *walk)
{
    if (point_is_left_out(walk))
        return true;
    if (!walk->ranking)
        return combine_point(walk);
    const struct ir_write *writes = walk->stage->writes;
    struct ir_value pair[2] = {walk->values[writes[0].value], walk->values[writes[1].value]};
    ranking_add(walk->ranking, pair);
    return true;
}

static bool write_ranking(struct walk *walk)
{
    struct ranking *ranking = walk->ranking;
    ranking_cut(ranking);
    for (int w = 0; w < walk->stage->write_count; w++) {
        const struct ir_write *write = &walk->stage->writes[w];
        struct slab *slab = walk->frame->slabs[write->tensor];
        int64_t first;
        if (!write_element(walk, write, slab->tensor->rank - 1, &first))
            return false;
        for (int64_t k = 0; k < ranking->ranks; k++)
            slab_store(walk->frame->run, slab, first * ranking->ranks + k,
                       k < ranking->count ? ranking->at[k].pair[w] : walk->accumulator[w]);
    }
    return true;
}

static bool visit_left(struct walk *walk)
{
    const struct ir_stage *stage = walk->stage;
    if (walk->ranking)
        walk->ranking->count = walk->ranking->arrivals = 0;
    if (!monoid_unit(walk->frame, stage->monoid, walk->scratch, walk->accumulator))
        return false;
    if (!walk->bare && !walk_points(walk, walk->left, walk->count, visit_reduced))
        return false;
    if (walk->ranking)
        return write_ranking(walk);
    for (int w = 0; w < stage->write_count; w++)
        if (!write_value(walk, &stage->writes[w], walk->accumulator[w]))
            return false;
    return true;
}

/* ---- scans ---- */

static bool scan_point(struct walk *walk)
{
    const struct ir_stage *stage = walk->stage;
    if (!stage->exclusive && !combine_point(walk))
        return false;
    for (int w = 0; w < stage->write_count; w++)
        if (!write_value(walk, &stage->writes[w], walk->accumulator[w]))
            return false;
    return stage->exclusive ? combine_point(walk) : true;
}

/* All of the index it runs along, for one point of the others. */
static bool visit_line(struct walk *walk)
{
    int along = walk->count - 1;
    int64_t low, high;
    position_bounds(walk, along, &low, &high);
    if (!monoid_unit(walk->frame, walk->stage->monoid, walk->scratch, walk->accumulator))
        return false;
    for (int64_t i = low; i < high; i++) {
        int64_t at = walk->stage->reverse ? high - 1 - (i - low) : i;
        if (!walk_step(walk, along, at) || !scan_point(walk))
            return false;
    }
    return true;
}

/* ---- scatters: the slab itself is the accumulator, rounded at the end ---- */

static bool scatter_begin(struct walk *walk)
{
    const struct ir_stage *stage = walk->stage;
    struct run *run = walk->frame->run;
    if (stage->monoid) {
        if (!monoid_unit(walk->frame, stage->monoid, walk->scratch, walk->accumulator))
            return false;
    } else {
        memset(walk->accumulator, 0, (size_t)stage->write_count * sizeof *walk->accumulator);
    }
    for (int w = 0; w < stage->write_count; w++) {
        struct slab *slab = walk->frame->slabs[stage->writes[w].tensor];
        for (int64_t e = 0; e < slab->count; e++) {
            struct ir_value value = walk->accumulator[w];
            if (stage->from != IR_NONE &&
                !slab_read(run, walk->frame->slabs[stage->from], e, &value))
                return false;
            if (slab->is_float)
                slab->floats[e] = value.number;
            else
                slab->integers[e] = value.integer;
        }
    }
    return true;
}

static bool visit_scatter(struct walk *walk)
{
    const struct ir_stage *stage = walk->stage;
    if (point_is_left_out(walk))
        return true;
    for (int w = 0; w < stage->write_count; w++) {
        struct slab *slab = walk->frame->slabs[stage->writes[w].tensor];
        int64_t e;
        if (!write_element(walk, &stage->writes[w], slab->tensor->rank, &e))
            return false;
        walk->accumulator[w] = slab->is_float ? (struct ir_value){.number = slab->floats[e]}
                                              : (struct ir_value){.integer = slab->integers[e]};
        if (stage->assign)
            walk->accumulator[w] = walk->values[stage->writes[w].value];
    }
    if (!stage->assign && !combine_point(walk))
        return false;
    for (int w = 0; w < stage->write_count; w++) {
        struct slab *slab = walk->frame->slabs[stage->writes[w].tensor];
        int64_t e;
        write_element(walk, &stage->writes[w], slab->tensor->rank, &e);
        if (slab->is_float)
            slab->floats[e] = walk->accumulator[w].number;
        else
            slab->integers[e] = walk->accumulator[w].integer;
    }
    return true;
}

static void scatter_end(struct walk *walk)
{
    for (int w = 0; w < walk->stage->write_count; w++) {
        struct slab *slab = walk->frame->slabs[walk->stage->writes[w].tensor];
        for (int64_t e = 0; e < slab->count; e++)
            slab_store(walk->frame->run, slab, e,
                       slab->is_float ? (struct ir_value){.number = slab->floats[e]}
                                      : (struct ir_value){.integer = slab->integers[e]});
    }
}

static bool scatter_run(struct walk *walk)
{
    if (!scatter_begin(walk))
        return false;
    if (!walk->empty &&
        (!walk_evaluate(walk, 0) || !walk_points(walk, 0, walk->count, visit_scatter)))
        return false;
    scatter_end(walk);
    return true;
}

/* ---- the stage ---- */

bool walk_run(struct walk *walk)
{
    if (walk->stage->kind == IR_SCATTER)
        return scatter_run(walk);
    if (walk->empty)
        return true;
    if (!walk_evaluate(walk, 0))
        return false;
    switch (walk->stage->kind) {
    case IR_MAP: return walk_points(walk, 0, walk->count, visit_map);
    case IR_REDUCE: return walk_points(walk, 0, walk->left, visit_left);
    default: return walk_points(walk, 0, walk->count - 1, visit_line);
    }
}

bool walk_run_at(struct walk *walk)
{
    int set = walk->stage->kind == IR_SCAN ? walk->count - 1 : walk->left;
    for (int n = 0; n <= set; n++)
        if (!walk_evaluate(walk, n))
            return false;
    switch (walk->stage->kind) {
    case IR_MAP: return visit_map(walk);
    case IR_REDUCE: return visit_left(walk);
    default: return visit_line(walk);
    }
}
