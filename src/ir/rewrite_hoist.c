/*
 * hoist: factors made of sizes, scalars and constants alone leave the sum.
 *
 *     s[l, t] += q[l, e] * k[t, e] / sqrt(E)
 *
 * becomes a bare sum of products, which is a matrix product, and a map that divides once:
 *
 *     s.sum[l, t] += q[l, e] * k[t, e]
 *     s[l, t]      = s.sum[l, t] / sqrt(E)
 *
 * The sum of nothing is 0 before and after, whatever it would be divided by. Factors read from
 * tensors stay: they may be what keeps the terms in range, as the root of a mean square does.
 */
#include "ir/rewriting.h"

/* Made of sizes, scalars and constants alone. */
static bool is_dataless(const struct ir_stage *stage, int number)
{
    const struct ir_node *node = &stage->nodes.at[number];
    int arguments = ir_op_arguments(node->op);
    if (node->op == IR_READ || node->op == IR_INDEX)
        return false;
    return (arguments < 1 || is_dataless(stage, node->a)) &&
           (arguments < 2 || is_dataless(stage, node->b)) &&
           (arguments < 3 || is_dataless(stage, node->c));
}

static bool match(const struct ir_graph *graph, int number, struct ir_reason *why_not)
{
    const struct ir_part *part = graph->part;
    const struct ir_stage *stage = &part->stages[number];
    struct rewriting_product product;
    int inside = 0, divided = 0;
    if (stage->kind != IR_REDUCE || stage->monoid->kind != IR_SUM || stage->predicate != IR_NONE)
        return rewriting_refuse(why_not, "it is no sum over all of its domain");
    if (!rewriting_is_boxed(part, stage) || !rewriting_is_plain(part, stage))
        return rewriting_refuse(why_not, "it sums over ranges, or writes a slice");
    const struct ir_node *value = &stage->nodes.at[stage->writes[0].value];
    if (value->type != DTYPE_F32 && value->type != DTYPE_F64)
        return rewriting_refuse(why_not, "it sums integers, which do not round");
    if (!rewriting_factors(stage, stage->writes[0].value, &product))
        return rewriting_refuse(why_not, "its product has too many factors");
    for (int i = 0; i < product.count; i++) {
        bool outside = is_dataless(stage, product.factors[i].node);
        inside += !outside;
        divided += !outside && product.factors[i].divides;
    }
    if (inside == product.count && !product.negative)
        return rewriting_refuse(why_not, "no factor is made of sizes and constants alone");
    if (inside == 0 || divided == inside)
        return rewriting_refuse(why_not, "no factor would be left in the sum");
    return true;
}

/* The product of the factors inside or outside, times `value` unless that is IR_NONE. */
static int multiply(struct rewriting_stage *to, struct rewriting_source *source,
                    const struct rewriting_product *product, bool outside, int value)
{
    enum dtype type = source->from->nodes.at[source->from->writes[0].value].type;
    for (int divides = 0; divides < 2; divides++) {
        for (int i = 0; i < product->count; i++) {
            const struct rewriting_factor *factor = &product->factors[i];
            if (factor->divides != (divides != 0) ||
                is_dataless(source->from, factor->node) != outside)
                continue;
            int node = rewriting_copy(to, source, factor->node);
            value = value == IR_NONE
                        ? node
                        : rewriting_node(to, divides ? IR_DIV : IR_MUL, type, value, node, IR_NONE);
        }
    }
    return value;
}

static struct ir_program *apply(struct arena *arena, const struct ir_graph *graph, int number,
                                int64_t unused)
{
    const struct ir_part *part = graph->part;
    const struct ir_stage *old = &part->stages[number];
    const struct ir_tensor *tensor = &part->tensors[old->writes[0].tensor];
    enum dtype type = old->nodes.at[old->writes[0].value].type;
    struct rewriting rewriting = rewriting_new(arena, part);
    struct rewriting_product product;
    int at[IR_MAX_RANK];
    (void)unused;
    rewriting_factors(old, old->writes[0].value, &product);
    rewriting_keep(&rewriting, 0, number);

    struct rewriting_stage sum = rewriting_stage_new(&rewriting, old);
    struct rewriting_source source = rewriting_source_new(&rewriting, old);
    for (int i = 0; i < old->index_count; i++) {
        int node = rewriting_index(&sum, old->indices[i], i < old->left_count);
        source.indices[old->indices[i]] = node;
        if (i < old->left_count)
            at[i] = node;
    }
    int whole = rewriting_tensor(&rewriting, tensor->name, "sum", type, old->indices, tensor->rank);
    int value = multiply(&sum, &source, &product, false, IR_NONE);
    rewriting_finish(&sum, old->monoid, IR_NONE, whole, at, value);

    struct rewriting_stage map = rewriting_stage_new(&rewriting, old);
    source = rewriting_source_new(&rewriting, old);
    for (int i = 0; i < old->left_count; i++)
        source.indices[old->indices[i]] = at[i] = rewriting_index(&map, old->indices[i], true);
    value = rewriting_read(&map, whole, at, IR_NONE);
    value = multiply(&map, &source, &product, true, value);
    if (product.negative)
        value = rewriting_node(&map, IR_NEG, type, value, IR_NONE, IR_NONE);
    value = rewriting_unless_empty(&map, old, value, type);
    rewriting_finish(&map, NULL, IR_NONE, old->writes[0].tensor, at, value);
    rewriting_keep(&rewriting, number + 1, part->stage_count);
    return rewriting_end(&rewriting);
}

const struct ir_rewrite rewrite_hoist = {
    .name = "hoist",
    .note = "factors made of sizes, scalars and constants alone leave the sum",
    .match = match,
    .apply = apply,
};
