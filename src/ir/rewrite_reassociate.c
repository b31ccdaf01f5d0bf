/*
 * reassociate: a sum of products that reads another one is summed in the other order.
 *
 *     t[n, m] += x[n, d] * x[m, d]          u[d, k] += x[m, d] * y[m, k]
 *     z[n, k] += t[n, m] * y[m, k]    <->   z[n, k] += x[n, d] * u[d, k]
 *
 * The stage named is the second. All factors of both are multiplied under both sums; the indices of
 * the second sum are then summed first, over the factors that have them. Done twice, it is the
 * first form again.
 */
#include "ir/rewriting.h"

struct chain { /* z sums over products of t, which sums over products */
    const struct ir_stage *outer, *inner;
    int inner_number, tensor, read; /* the stage of t, t, the node of z that reads it */
    struct rewriting_product of_outer, of_inner;
};

static bool is_product(const struct ir_part *part, const struct ir_stage *stage,
                       struct rewriting_product *product, struct ir_reason *why_not)
{
    if (stage->kind != IR_REDUCE || stage->monoid->kind != IR_SUM || stage->predicate != IR_NONE)
        return rewriting_refuse(why_not, "it is no sum over all of its domain");
    if (!rewriting_is_boxed(part, stage) || !rewriting_is_plain(part, stage))
        return rewriting_refuse(why_not, "it sums over ranges, or writes a slice");
    if (!rewriting_factors(stage, stage->writes[0].value, product) || product->negative)
        return rewriting_refuse(why_not, "it sums no plain product");
    for (int i = 0; i < product->count; i++) {
        if (product->factors[i].divides)
            return rewriting_refuse(why_not, "its product is divided: hoist that first");
    }
    return true;
}

/* Whether the tensor is the stage's alone and never rounded to less than what it computes in. */
static bool is_free(const struct ir_graph *graph, int tensor)
{
    const struct ir_tensor *of = &graph->part->tensors[tensor];
    return of->role == IR_TENSOR_TEMPORARY && graph->writers[tensor].count == 1 &&
           graph->readers[tensor].count == 1 &&
           (!of->declared || dtype_compute(of->dtype) == of->dtype);
}

static bool find_inner(const struct ir_graph *graph, int number, struct chain *chain)
{
    for (int i = 0; i < chain->of_outer.count; i++) {
        int node = chain->of_outer.factors[i].node, reads = 0;
        const struct ir_node *read = &chain->outer->nodes.at[node];
        if (read->op != IR_READ || read->read.guard != IR_NONE || read->read.checked ||
            !is_free(graph, read->read.tensor))
            continue;
        for (int n = 0; n < chain->outer->nodes.count; n++)
            reads += chain->outer->nodes.at[n].op == IR_READ &&
                     chain->outer->nodes.at[n].read.tensor == read->read.tensor;
        int writer = graph->writers[read->read.tensor].at[0];
        if (reads != 1 || writer >= number || graph->part->stages[writer].kind != IR_REDUCE)
            continue;
        chain->tensor = read->read.tensor;
        chain->read = node;
        chain->inner_number = writer;
        chain->inner = &graph->part->stages[writer];
        return true;
    }
    return false;
}

static bool is_summed(const struct ir_part *part, const struct ir_stage *stage, int node)
{
    return rewriting_depends(part, stage, node, stage->left_count, stage->index_count);
}

/* Whether a factor of the inner sum has, where it is read, an index that the outer one sums. */
static bool inner_is_summed(const struct ir_part *part, const struct chain *chain, int node)
{
    const int *at = chain->outer->nodes.at[chain->read].read.at;
    for (int i = 0; i < chain->inner->left_count; i++) {
        if (rewriting_depends(part, chain->inner, node, i, i + 1) &&
            is_summed(part, chain->outer, at[i]))
            return true;
    }
    return false;
}

static bool find_chain(const struct ir_graph *graph, int number, struct chain *chain,
                       struct ir_reason *why_not)
{
    const struct ir_part *part = graph->part;
    *chain = (struct chain){.outer = &part->stages[number]};
    if (!is_product(part, chain->outer, &chain->of_outer, why_not))
        return false;
    if (!find_inner(graph, number, chain))
        return rewriting_refuse(why_not, "it reads no sum of products that nobody else reads");
    if (!is_product(part, chain->inner, &chain->of_inner, why_not))
        return false;
    int value = chain->inner->writes[0].value, rest = 0, first = 0;
    int rank = chain->outer->left_count + chain->inner->index_count - chain->inner->left_count;
    if (chain->inner->nodes.at[value].type != chain->outer->nodes.at[chain->read].type)
        return rewriting_refuse(why_not, "the two sums compute in different types");
    for (int i = 0; i < chain->of_outer.count; i++) {
        int node = chain->of_outer.factors[i].node;
        bool summed = is_summed(part, chain->outer, node);
        first += node != chain->read && summed;
        rest += node != chain->read && !summed;
    }
    for (int i = 0; i < chain->of_inner.count; i++) {
        bool summed = inner_is_summed(part, chain, chain->of_inner.factors[i].node);
        first += summed;
        rest += !summed;
    }
    if (first < 2 || rest == 0)
        return rewriting_refuse(why_not, "no factor would be left for the second sum");
    if (rank > IR_MAX_RANK)
        return rewriting_refuse(why_not, "what is between would have too many dimensions");
    return true;
}

static bool match(const struct ir_graph *graph, int number, struct ir_reason *why_not)
{
    struct chain chain;
    return find_chain(graph, number, &chain, why_not);
}

/* Both stages as they are seen from one new one: indices of the outer, and the inner's sums. */
struct both {
    struct rewriting_source outer, inner;
};

static struct both both_new(struct rewriting *rewriting, const struct chain *chain)
{
    return (struct both){rewriting_source_new(rewriting, chain->outer),
                         rewriting_source_new(rewriting, chain->inner)};
}

/* Whether all the outer's indices that the node has are open here. */
static bool is_open(const struct ir_part *part, const struct both *both, const struct chain *chain,
                    int node)
{
    for (int i = 0; i < chain->outer->index_count; i++) {
        if (both->outer.indices[chain->outer->indices[i]] == IR_NONE &&
            rewriting_depends(part, chain->outer, node, i, i + 1))
            return false;
    }
    return true;
}

/* Once the outer indices have nodes: the inner left ones are where t is read, if that is here. */
static void join(struct rewriting_stage *stage, struct both *both, const struct chain *chain)
{
    const int *at = chain->outer->nodes.at[chain->read].read.at;
    for (int i = 0; i < chain->inner->left_count; i++) {
        if (is_open(stage->rewriting->old, both, chain, at[i]))
            both->inner.indices[chain->inner->indices[i]] =
                rewriting_copy(stage, &both->outer, at[i]);
    }
}

/* The product of the factors that are summed first, or of the others, times `value`. */
static int multiply(struct rewriting_stage *stage, struct both *both, const struct chain *chain,
                    bool first, int value)
{
    const struct ir_part *part = stage->rewriting->old;
    enum dtype type = chain->inner->nodes.at[chain->inner->writes[0].value].type;
    for (int side = 0; side < 2; side++) {
        const struct rewriting_product *product = side ? &chain->of_inner : &chain->of_outer;
        for (int i = 0; i < product->count; i++) {
            int node = product->factors[i].node;
            bool summed =
                side ? inner_is_summed(part, chain, node) : is_summed(part, chain->outer, node);
            if ((!side && node == chain->read) || summed != first)
                continue;
            int copy = rewriting_copy(stage, side ? &both->inner : &both->outer, node);
            value =
                value == IR_NONE ? copy : rewriting_node(stage, IR_MUL, type, value, copy, IR_NONE);
        }
    }
    return value;
}

/* Whether a factor that is summed first has this index: of the outer's left, or the inner's sum. */
static bool first_has(const struct ir_part *part, const struct chain *chain, bool inner, int index)
{
    const int *at = chain->outer->nodes.at[chain->read].read.at;
    for (int i = 0; !inner && i < chain->of_outer.count; i++) {
        int node = chain->of_outer.factors[i].node;
        if (node != chain->read && is_summed(part, chain->outer, node) &&
            rewriting_depends(part, chain->outer, node, index, index + 1))
            return true;
    }
    for (int i = 0; i < chain->of_inner.count; i++) {
        int node = chain->of_inner.factors[i].node;
        if (!inner_is_summed(part, chain, node))
            continue;
        if (inner && rewriting_depends(part, chain->inner, node, index, index + 1))
            return true;
        for (int k = 0; !inner && k < chain->inner->left_count; k++) {
            if (rewriting_depends(part, chain->inner, node, k, k + 1) &&
                rewriting_depends(part, chain->outer, at[k], index, index + 1))
                return true;
        }
    }
    return false;
}

struct kept { /* an index that stays in what is summed first: its number in the part, whose */
    int index;
    bool inner;
};

static int list_kept(const struct ir_part *part, const struct chain *chain, struct kept *kept)
{
    int count = 0;
    for (int i = 0; i < chain->outer->left_count; i++) {
        if (first_has(part, chain, false, i))
            kept[count++] = (struct kept){chain->outer->indices[i], false};
    }
    for (int i = chain->inner->left_count; i < chain->inner->index_count; i++) {
        if (first_has(part, chain, true, i))
            kept[count++] = (struct kept){chain->inner->indices[i], true};
    }
    return count;
}

static int *node_of(struct both *both, struct kept kept)
{
    return &(kept.inner ? &both->inner : &both->outer)->indices[kept.index];
}

/* Sums over the indices of the outer sum; the tensor it makes. */
static int add_first(struct rewriting *rewriting, const struct chain *chain,
                     const struct kept *kept, int count)
{
    const struct ir_stage *outer = chain->outer;
    struct rewriting_stage stage = rewriting_stage_new(rewriting, chain->inner);
    struct both both = both_new(rewriting, chain);
    int at[IR_MAX_RANK], indices[IR_MAX_RANK];
    for (int i = 0; i < count; i++) {
        indices[i] = kept[i].index;
        *node_of(&both, kept[i]) = at[i] = rewriting_index(&stage, kept[i].index, true);
    }
    for (int i = outer->left_count; i < outer->index_count; i++)
        both.outer.indices[outer->indices[i]] = rewriting_index(&stage, outer->indices[i], false);
    join(&stage, &both, chain);
    int value = multiply(&stage, &both, chain, true, IR_NONE);
    const struct ir_tensor *tensor = &rewriting->old->tensors[outer->writes[0].tensor];
    int first = rewriting_tensor(rewriting, tensor->name, "first", stage.nodes.at[value].type,
                                 indices, count);
    rewriting_finish(&stage, outer->monoid, IR_NONE, first, at, value);
    return first;
}

/* Sums over the indices of the inner sum. */
static void add_second(struct rewriting *rewriting, const struct chain *chain,
                       const struct kept *kept, int count, int first)
{
    const struct ir_stage *outer = chain->outer, *inner = chain->inner;
    struct rewriting_stage stage = rewriting_stage_new(rewriting, outer);
    struct both both = both_new(rewriting, chain);
    int at[IR_MAX_RANK], places[IR_MAX_RANK];
    for (int i = 0; i < outer->left_count; i++)
        both.outer.indices[outer->indices[i]] = at[i] =
            rewriting_index(&stage, outer->indices[i], true);
    for (int i = inner->left_count; i < inner->index_count; i++)
        both.inner.indices[inner->indices[i]] = rewriting_index(&stage, inner->indices[i], false);
    join(&stage, &both, chain);
    for (int i = 0; i < count; i++)
        places[i] = *node_of(&both, kept[i]);
    int value = rewriting_read(&stage, first, places, IR_NONE);
    value = multiply(&stage, &both, chain, false, value);
    rewriting_finish(&stage, outer->monoid, IR_NONE, outer->writes[0].tensor, at, value);
}

static struct ir_program *apply(struct arena *arena, const struct ir_graph *graph, int number,
                                int64_t unused)
{
    struct rewriting rewriting = rewriting_new(arena, graph->part);
    struct ir_reason why_not;
    struct chain chain;
    struct kept kept[IR_MAX_RANK];
    (void)unused;
    find_chain(graph, number, &chain, &why_not);
    int count = list_kept(graph->part, &chain, kept);
    rewriting_keep(&rewriting, 0, chain.inner_number);
    rewriting_keep(&rewriting, chain.inner_number + 1, number);
    int first = add_first(&rewriting, &chain, kept, count);
    add_second(&rewriting, &chain, kept, count, first);
    rewriting_keep(&rewriting, number + 1, graph->part->stage_count);
    return rewriting_end(&rewriting);
}

const struct ir_rewrite rewrite_reassociate = {
    .name = "reassociate",
    .note = "a sum of products that reads another one is summed in the other order",
    .match = match,
    .apply = apply,
};
