/*
 * moments: squares of distances from a value of the row become sums that do not wait for it.
 *
 *     s[b] += x[b, d]
 *     q[b] += (x[b, d] - s[b] / D)^2
 *
 * reads x twice, the second time when the mean is known. Once is enough for
 *
 *     q.sum[b]     += f64(x[b, d])
 *     q.squares[b] += f64(x[b, d])^2
 *     q[b]          = q.squares[b] - 2 * m * q.sum[b] + D * m^2          # m = s[b] / D
 *
 * because the squares of f32 are exact in f64 and so nearly are their sums: what the differences
 * lose is 2^-53 of D * m^2, less than the 2^-24 of m that the distances lose by. Hence it is for
 * what is computed in f32 only. A sum of squares is never below 0, and that of nothing is 0.
 */
#include "ir/rewriting.h"

struct distance {
    int element, middle; /* nodes: of each term, and of the whole sum */
};

/* What the stage squares the differences of. False: it does not. */
static bool find_distance(const struct ir_part *part, const struct ir_stage *stage,
                          struct distance *distance, struct ir_reason *why_not)
{
    int from = stage->left_count, to = stage->index_count;
    const struct ir_node *square = &stage->nodes.at[stage->writes[0].value];
    const struct ir_node *difference = square->op == IR_MUL ? &stage->nodes.at[square->a] : square;
    if (square->op != IR_MUL || square->a != square->b || difference->op != IR_SUB)
        return rewriting_refuse(why_not, "it sums no squares of differences");
    bool turned = rewriting_depends(part, stage, difference->b, from, to);
    *distance = (struct distance){turned ? difference->b : difference->a,
                                  turned ? difference->a : difference->b};
    if (rewriting_depends(part, stage, distance->middle, from, to) ||
        !rewriting_depends(part, stage, distance->element, from, to))
        return rewriting_refuse(why_not, "no side of the difference is the same for a whole sum");
    return difference->type == DTYPE_F32 ||
           rewriting_refuse(why_not, "only squares of f32 are exact in a wider type");
}

static bool match(const struct ir_graph *graph, int number, struct ir_reason *why_not)
{
    const struct ir_part *part = graph->part;
    const struct ir_stage *stage = &part->stages[number];
    struct distance distance;
    if (stage->kind != IR_REDUCE || stage->monoid->kind != IR_SUM || stage->predicate != IR_NONE)
        return rewriting_refuse(why_not, "it is no sum over all of its domain");
    if (!rewriting_is_boxed(part, stage) || !rewriting_is_plain(part, stage))
        return rewriting_refuse(why_not, "it sums over ranges, or writes a slice");
    return find_distance(part, stage, &distance, why_not);
}

static int widen(struct rewriting_stage *stage, int value)
{
    return rewriting_node(stage, IR_TO_FLOAT, DTYPE_F64, value, IR_NONE, IR_NONE);
}

static int wide(struct rewriting_stage *stage, enum ir_op op, int a, int b)
{
    return rewriting_node(stage, op, DTYPE_F64, a, b, IR_NONE);
}

/* The sum of what distances are taken from, or of its squares; the tensor it is written to. */
static int add_sum(struct rewriting *rewriting, const struct ir_stage *old, int element,
                   bool squares)
{
    const struct ir_tensor *tensor = &rewriting->old->tensors[old->writes[0].tensor];
    struct rewriting_stage sum = rewriting_stage_new(rewriting, old);
    struct rewriting_source source = rewriting_source_new(rewriting, old);
    int at[IR_MAX_RANK];
    for (int i = 0; i < old->index_count; i++) {
        int node = rewriting_index(&sum, old->indices[i], i < old->left_count);
        source.indices[old->indices[i]] = node;
        if (i < old->left_count)
            at[i] = node;
    }
    int to = rewriting_tensor(rewriting, tensor->name, squares ? "squares" : "sum", DTYPE_F64,
                              old->indices, tensor->rank);
    int value = widen(&sum, rewriting_copy(&sum, &source, element));
    if (squares)
        value = wide(&sum, IR_MUL, value, value);
    rewriting_finish(&sum, old->monoid, IR_NONE, to, at, value);
    return to;
}

/* What the stage gave, from both sums. */
static void add_map(struct rewriting *rewriting, const struct ir_stage *old, int middle, int sum,
                    int squares)
{
    struct rewriting_stage map = rewriting_stage_new(rewriting, old);
    struct rewriting_source source = rewriting_source_new(rewriting, old);
    int at[IR_MAX_RANK];
    for (int i = 0; i < old->left_count; i++)
        source.indices[old->indices[i]] = at[i] = rewriting_index(&map, old->indices[i], true);
    middle = widen(&map, rewriting_copy(&map, &source, middle));
    int points = widen(&map, rewriting_size(&map, rewriting_points(rewriting, old)));
    int first = rewriting_read(&map, sum, at, IR_NONE);
    int second = rewriting_read(&map, squares, at, IR_NONE);
    /* points * middle - 2 * first, times middle: fewer roundings than three terms */
    int twice = wide(&map, IR_ADD, first, first);
    int more = wide(&map, IR_SUB, wide(&map, IR_MUL, points, middle), twice);
    int value = wide(&map, IR_ADD, second, wide(&map, IR_MUL, more, middle));
    int zero = rewriting_node(&map, IR_FLOAT, DTYPE_F64, IR_NONE, IR_NONE, IR_NONE);
    value = rewriting_unless_empty(&map, old, wide(&map, IR_MAX, value, zero), DTYPE_F64);
    value = rewriting_cast(&map, DTYPE_F32, value);
    rewriting_finish(&map, NULL, IR_NONE, old->writes[0].tensor, at, value);
}

static struct ir_program *apply(struct arena *arena, const struct ir_graph *graph, int number,
                                int64_t unused)
{
    const struct ir_part *part = graph->part;
    const struct ir_stage *old = &part->stages[number];
    struct rewriting rewriting = rewriting_new(arena, part);
    struct distance distance;
    struct ir_reason ignored;
    (void)unused;
    find_distance(part, old, &distance, &ignored);
    rewriting_keep(&rewriting, 0, number);
    int sum = add_sum(&rewriting, old, distance.element, false);
    int squares = add_sum(&rewriting, old, distance.element, true);
    add_map(&rewriting, old, distance.middle, sum, squares);
    rewriting_keep(&rewriting, number + 1, part->stage_count);
    return rewriting_end(&rewriting);
}

const struct ir_rewrite rewrite_moments = {
    .name = "moments",
    .note = "squares of distances from a mean are summed without waiting for it, in f64",
    .match = match,
    .apply = apply,
};
