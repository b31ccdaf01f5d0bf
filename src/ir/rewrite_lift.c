/*
 * lift: what is added to every term alike leaves the sum, times the number of terms.
 *
 *     z[n]   += exp(x[n, c] - m[n])
 *     all[]  += (x[n, c] - m[n] - log(z[n])) / C
 *
 * goes over x once more when z is known. The sum of x - m need not wait for it:
 *
 *     all.sum[n] += x[n, c] - m[n]
 *     all[]      += (all.sum[n] - C * log(z[n])) / C
 *
 * Something must still be taken off each of the terms: a sum of x alone loses what x - m had left.
 * Terms may be in a map of their own that the sum reads. A sum of no terms stays 0.
 */
#include "ir/rewriting.h"

/* ---- the sum with its terms in it ---- */

/* The only write of the tensor, if that is a map whose values can stand where it is read. */
static const struct ir_stage *map_of(const struct ir_graph *graph, int tensor)
{
    const struct ir_part *part = graph->part;
    if (part->tensors[tensor].role != IR_TENSOR_TEMPORARY || part->tensors[tensor].declared ||
        graph->writers[tensor].count != 1)
        return NULL;
    const struct ir_stage *stage = &part->stages[graph->writers[tensor].at[0]];
    bool fits = stage->kind == IR_MAP && stage->write_count == 1 &&
                rewriting_is_boxed(part, stage) && rewriting_is_plain(part, stage);
    return fits ? stage : NULL;
}

/* Below products and quotients: the node that they are made of. */
static int find_core(const struct ir_part *part, const struct ir_stage *stage, int number)
{
    for (;;) {
        const struct ir_node *node = &stage->nodes.at[number];
        bool a = false;
        if (node->op == IR_NEG || node->op == IR_DIV)
            a = true;
        else if (node->op == IR_MUL)
            a = rewriting_depends(part, stage, node->a, stage->left_count, stage->index_count);
        else
            return number;
        number = a ? node->a : node->b;
    }
}

/* The read of such a map that the sum is made of, or IR_NONE. */
static int find_read(const struct ir_graph *graph, const struct ir_stage *stage)
{
    int number = find_core(graph->part, stage, stage->writes[0].value);
    const struct ir_node *node = &stage->nodes.at[number];
    if (node->op != IR_READ || node->read.checked || node->read.guard != IR_NONE)
        return IR_NONE;
    return map_of(graph, node->read.tensor) ? number : IR_NONE;
}

/* The part with the terms written into the sum; number of the stage stays. */
static const struct ir_part *with_terms(struct arena *arena, const struct ir_graph *graph,
                                        int number)
{
    const struct ir_part *part = graph->part;
    const struct ir_stage *old = &part->stages[number];
    int read = find_read(graph, old);
    if (read == IR_NONE)
        return part;
    const struct ir_node *node = &old->nodes.at[read];
    const struct ir_stage *map = map_of(graph, node->read.tensor);
    struct rewriting rewriting = rewriting_new(arena, part);
    rewriting_keep(&rewriting, 0, number);
    struct rewriting_stage sum = rewriting_stage_new(&rewriting, old);
    struct rewriting_source source = rewriting_source_new(&rewriting, old);
    struct rewriting_source terms = rewriting_source_new(&rewriting, map);
    int at[IR_MAX_RANK];
    for (int i = 0; i < old->index_count; i++) {
        int index = rewriting_index(&sum, old->indices[i], i < old->left_count);
        source.indices[old->indices[i]] = index;
        if (i < old->left_count)
            at[i] = index;
    }
    for (int i = 0; i < map->index_count; i++)
        terms.indices[map->indices[i]] = rewriting_copy(&sum, &source, node->read.at[i]);
    source.copied[read] = rewriting_copy(&sum, &terms, map->writes[0].value);
    int predicate = rewriting_copy(&sum, &source, old->predicate);
    int value = rewriting_copy(&sum, &source, old->writes[0].value);
    rewriting_finish(&sum, old->monoid, predicate, old->writes[0].tensor, at, value);
    rewriting_keep(&rewriting, number + 1, part->stage_count);
    return rewriting_end(&rewriting)->parts[0];
}

/* ---- what leaves it ---- */

struct lifted {
    int addition;            /* the node that is taken apart */
    bool first;              /* its first side leaves, not its second */
    bool inner[IR_MAX_RANK]; /* per reduced index: it does not depend on it */
};

static bool depends(const struct ir_part *part, const struct ir_stage *stage, int node,
                    const bool *inner)
{
    for (int i = stage->left_count; i < stage->index_count; i++) {
        if (inner[i - stage->left_count] && rewriting_depends(part, stage, node, i, i + 1))
            return true;
    }
    return false;
}

/* Whether one side is the same along indices along which the other, a difference or sum itself, is
 * not, and nothing above the addition depends on them. */
static bool side_leaves(const struct ir_part *part, const struct ir_stage *stage,
                        struct lifted *lifted)
{
    const struct ir_node *addition = &stage->nodes.at[lifted->addition];
    int leaves = lifted->first ? addition->a : addition->b;
    int stays = lifted->first ? addition->b : addition->a;
    enum ir_op op = stage->nodes.at[stays].op;
    bool any = false;
    if (op != IR_ADD && op != IR_SUB)
        return false;
    for (int i = stage->left_count; i < stage->index_count; i++) {
        bool *inner = &lifted->inner[i - stage->left_count];
        *inner = !rewriting_depends(part, stage, leaves, i, i + 1);
        any |= *inner;
    }
    if (!any || !depends(part, stage, stays, lifted->inner) ||
        (stage->predicate != IR_NONE && depends(part, stage, stage->predicate, lifted->inner)))
        return false;
    for (int number = stage->writes[0].value; number != lifted->addition;) {
        const struct ir_node *node = &stage->nodes.at[number];
        int next = find_core(part, stage, node->a) == lifted->addition ? node->a : node->b;
        int other = next == node->a ? node->b : node->a;
        if (node->op != IR_NEG && depends(part, stage, other, lifted->inner))
            return false;
        number = next;
    }
    return true;
}

static bool find_lifted(const struct ir_part *part, const struct ir_stage *stage,
                        struct lifted *lifted)
{
    lifted->addition = find_core(part, stage, stage->writes[0].value);
    enum ir_op op = stage->nodes.at[lifted->addition].op;
    if (op != IR_ADD && op != IR_SUB)
        return false;
    for (int first = 0; first < 2; first++) {
        lifted->first = first != 0;
        if (side_leaves(part, stage, lifted))
            return true;
    }
    return false;
}

static bool match(const struct ir_graph *graph, int number, struct ir_reason *why_not)
{
    const struct ir_part *part = graph->part;
    const struct ir_stage *stage = &part->stages[number];
    if (stage->kind != IR_REDUCE || stage->monoid->kind != IR_SUM)
        return rewriting_refuse(why_not, "it is no sum");
    if (!rewriting_is_boxed(part, stage) || !rewriting_is_plain(part, stage) ||
        stage->index_count > IR_MAX_RANK)
        return rewriting_refuse(why_not, "it sums over ranges or too many indices, or is a slice");
    enum dtype type = stage->nodes.at[stage->writes[0].value].type;
    if (type != DTYPE_F32 && type != DTYPE_F64)
        return rewriting_refuse(why_not, "it sums integers, which do not round");
    struct arena scratch = {0};
    struct lifted lifted;
    const struct ir_part *whole = with_terms(&scratch, graph, number);
    bool found = find_lifted(whole, &whole->stages[number], &lifted);
    arena_release(&scratch);
    return found ||
           rewriting_refuse(why_not, "no two things are added to its terms, one to all alike");
}

/* ---- the two sums ---- */

/* The map of terms that nobody else reads; `number` where there is none. */
static int find_unread(const struct ir_graph *graph, int number)
{
    const struct ir_stage *stage = &graph->part->stages[number];
    int read = find_read(graph, stage);
    if (read == IR_NONE)
        return number;
    int tensor = stage->nodes.at[read].read.tensor, reads = 0;
    for (int i = 0; i < stage->nodes.count; i++)
        reads += stage->nodes.at[i].op == IR_READ && stage->nodes.at[i].read.tensor == tensor;
    bool alone = reads == 1 && graph->readers[tensor].count == 1;
    return alone ? graph->writers[tensor].at[0] : number;
}

/* The indices that stay outside: left ones, and reduced ones that are not inner. */
static int outer_indices(const struct ir_stage *stage, const struct lifted *lifted, int *outer)
{
    int count = 0;
    for (int i = 0; i < stage->index_count; i++) {
        if (i < stage->left_count || !lifted->inner[i - stage->left_count])
            outer[count++] = stage->indices[i];
    }
    return count;
}

static int add_sum(struct rewriting *rewriting, const struct ir_stage *old,
                   const struct lifted *lifted, const int *outer, int outer_count)
{
    const struct ir_tensor *tensor = &rewriting->old->tensors[old->writes[0].tensor];
    const struct ir_node *addition = &old->nodes.at[lifted->addition];
    struct rewriting_stage sum = rewriting_stage_new(rewriting, old);
    struct rewriting_source source = rewriting_source_new(rewriting, old);
    int at[IR_MAX_RANK];
    for (int i = 0; i < outer_count; i++)
        source.indices[outer[i]] = at[i] = rewriting_index(&sum, outer[i], true);
    for (int i = old->left_count; i < old->index_count; i++) {
        if (lifted->inner[i - old->left_count])
            source.indices[old->indices[i]] = rewriting_index(&sum, old->indices[i], false);
    }
    int to = rewriting_tensor(rewriting, tensor->name, "sum", addition->type, outer, outer_count);
    int stays = lifted->first ? addition->b : addition->a;
    rewriting_finish(&sum, old->monoid, IR_NONE, to, at, rewriting_copy(&sum, &source, stays));
    return to;
}

/* Both sides of the addition again, of `count` terms. */
static int add_up(struct rewriting_stage *stage, struct rewriting_source *source,
                  const struct lifted *lifted, int sum, int count)
{
    const struct ir_node *addition = &source->from->nodes.at[lifted->addition];
    int leaves = rewriting_copy(stage, source, lifted->first ? addition->a : addition->b);
    int wide = rewriting_node(stage, IR_TO_FLOAT, addition->type, count, IR_NONE, IR_NONE);
    int times = rewriting_node(stage, IR_MUL, addition->type, wide, leaves, IR_NONE);
    return rewriting_node(stage, addition->op, addition->type, lifted->first ? times : sum,
                          lifted->first ? sum : times, IR_NONE);
}

/* The value, or 0 where the condition does not hold. */
static int value_if(struct rewriting_stage *stage, int condition, int value, enum dtype type)
{
    int zero = rewriting_node(stage, IR_FLOAT, type, IR_NONE, IR_NONE, IR_NONE);
    return rewriting_node(stage, IR_SELECT, type, condition, value, zero);
}

static struct ir_program *apply(struct arena *arena, const struct ir_graph *graph, int number,
                                int64_t unused)
{
    const struct ir_part *part = with_terms(arena, graph, number);
    const struct ir_stage *old = &part->stages[number];
    struct rewriting rewriting = rewriting_new(arena, part);
    struct lifted lifted;
    int outer[IR_MAX_RANK], at[IR_MAX_RANK];
    (void)unused;
    find_lifted(part, old, &lifted);
    int outer_count = outer_indices(old, &lifted, outer);
    int unread = find_unread(graph, number);
    rewriting_keep(&rewriting, 0, unread);
    rewriting_keep(&rewriting, unread + 1, number);
    int sum = add_sum(&rewriting, old, &lifted, outer, outer_count);

    struct rewriting_stage rest = rewriting_stage_new(&rewriting, old);
    struct rewriting_source source = rewriting_source_new(&rewriting, old);
    const struct ir_size *terms = ir_size_constant(arena, 1);
    for (int i = 0; i < outer_count; i++)
        source.indices[outer[i]] = at[i] = rewriting_index(&rest, outer[i], i < old->left_count);
    for (int i = old->left_count; i < old->index_count; i++) {
        if (lifted.inner[i - old->left_count])
            terms = ir_size_make(arena, IR_SIZE_MUL, terms, part->indices[old->indices[i]].extent);
    }
    int whole = rewriting_read(&rest, sum, at, IR_NONE), count = rewriting_size(&rest, terms);
    source.copied[lifted.addition] = add_up(&rest, &source, &lifted, whole, count);
    enum dtype type = old->nodes.at[old->writes[0].value].type;
    int value = rewriting_copy(&rest, &source, old->writes[0].value);
    int predicate = rewriting_copy(&rest, &source, old->predicate);
    int some = rewriting_node(&rest, IR_LT, DTYPE_BOOL, rewriting_int(&rest, 0), count, IR_NONE);
    value = value_if(&rest, some, value, type);
    bool reduces = outer_count > old->left_count;
    if (!reduces && predicate != IR_NONE) {
        value = value_if(&rest, predicate, value, type);
        predicate = IR_NONE;
    }
    rewriting_finish(&rest, reduces ? old->monoid : NULL, predicate, old->writes[0].tensor, at,
                     value);
    rewriting_keep(&rewriting, number + 1, part->stage_count);
    return rewriting_end(&rewriting);
}

const struct ir_rewrite rewrite_lift = {
    .name = "lift",
    .note = "what is added to every term alike leaves the sum, times the number of terms",
    .spares = true,
    .match = match,
    .apply = apply,
};
