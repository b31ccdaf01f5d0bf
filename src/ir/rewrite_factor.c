/*
 * factor: a stage that computes what an earlier one did is left out; who reads it reads that.
 *
 *     v = var(x)            # sums x for its mean
 *     m = mean(x)           # and so does this: one sum is enough
 *
 * The same where a softmax and a logsumexp of one tensor both take its maximum and its sum of
 * exponentials.
 */
#include "ir/rewriting.h"

#include <string.h>

/* ---- stages that are the same, but for the numbers of their indices ---- */

static int position(const struct ir_stage *stage, int index)
{
    for (int i = 0; i < stage->index_count; i++) {
        if (stage->indices[i] == index)
            return i;
    }
    return IR_NONE;
}

static bool same_numbers(const int *a, const int *b, int count)
{
    return count == 0 || memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

static bool same_read(const struct ir_part *part, const struct ir_node *x, const struct ir_node *y)
{
    const struct ir_tensor *tensor = &part->tensors[x->read.tensor];
    return x->read.tensor == y->read.tensor && tensor->role != IR_TENSOR_STATE &&
           x->read.checked == y->read.checked && x->read.guard == y->read.guard &&
           x->read.otherwise == y->read.otherwise &&
           same_numbers(x->read.at, y->read.at, tensor->rank);
}

static bool same_node(const struct ir_part *part, const struct ir_stage *a,
                      const struct ir_stage *b, int number)
{
    const struct ir_node *x = &a->nodes.at[number], *y = &b->nodes.at[number];
    if (x->op != y->op || x->type != y->type)
        return false;
    switch (x->op) {
    case IR_INT:
    case IR_BOOL: return x->integer == y->integer;
    case IR_FLOAT: return memcmp(&x->number, &y->number, sizeof x->number) == 0;
    case IR_SIZE: return ir_size_equal(x->size, y->size);
    case IR_SCALAR: return x->scalar == y->scalar;
    case IR_INDEX: return position(a, x->index) == position(b, y->index);
    case IR_READ: return same_read(part, x, y);
    case IR_CAST:
        if (x->cast != y->cast)
            return false;
        break;
    default: break;
    }
    return x->a == y->a && x->b == y->b && x->c == y->c;
}

static bool same_write(const struct ir_part *part, const struct ir_write *x,
                       const struct ir_write *y, bool ranked)
{
    const struct ir_tensor *to = &part->tensors[x->tensor], *from = &part->tensors[y->tensor];
    if (to->rank != from->rank || to->dtype != from->dtype || to->declared != from->declared)
        return false;
    for (int d = 0; d < to->rank; d++) {
        if (!ir_size_equal(to->dims[d], from->dims[d]))
            return false;
    }
    return x->value == y->value && same_numbers(x->at, y->at, to->rank - ranked);
}

static bool same_kind(const struct ir_stage *a, const struct ir_stage *b)
{
    if (a->kind != b->kind || a->kind > IR_SCAN || a->write_count != b->write_count ||
        a->index_count != b->index_count || a->left_count != b->left_count ||
        a->nodes.count != b->nodes.count || a->predicate != b->predicate)
        return false;
    if (a->kind == IR_SCAN && (a->reverse != b->reverse || a->exclusive != b->exclusive ||
                               position(a, a->along) != position(b, b->along)))
        return false;
    return a->monoid == b->monoid ||
           (a->monoid->kind == b->monoid->kind && a->monoid->kind != IR_USER);
}

static bool same_stage(const struct ir_part *part, const struct ir_stage *a,
                       const struct ir_stage *b)
{
    if (!same_kind(a, b))
        return false;
    bool ranked = a->monoid && (a->monoid->kind == IR_TOPK || a->monoid->kind == IR_BOTTOMK);
    for (int i = 0; i < a->index_count; i++) {
        const struct ir_size *x = part->indices[a->indices[i]].extent;
        const struct ir_size *y = part->indices[b->indices[i]].extent;
        if (!x || !y || !ir_size_equal(x, y))
            return false;
    }
    for (int i = 0; i < a->nodes.count; i++) {
        if (!same_node(part, a, b, i))
            return false;
    }
    for (int i = 0; i < a->write_count; i++) {
        if (!same_write(part, &a->writes[i], &b->writes[i], ranked))
            return false;
    }
    return true;
}

/* ---- the rewrite ---- */

static bool is_alone(const struct ir_graph *graph, const struct ir_stage *stage)
{
    for (int i = 0; i < stage->write_count; i++) {
        if (graph->writers[stage->writes[i].tensor].count != 1)
            return false;
    }
    return true;
}

static int find_earlier(const struct ir_graph *graph, int number)
{
    const struct ir_part *part = graph->part;
    for (int i = 0; i < number; i++) {
        if (same_stage(part, &part->stages[i], &part->stages[number]) &&
            is_alone(graph, &part->stages[i]))
            return i;
    }
    return IR_NONE;
}

static bool match(const struct ir_graph *graph, int number, struct ir_reason *why_not)
{
    const struct ir_stage *stage = &graph->part->stages[number];
    if (stage->kind > IR_SCAN)
        return rewriting_refuse(why_not, "it is no map, reduction or scan");
    for (int i = 0; i < stage->write_count; i++) {
        if (graph->part->tensors[stage->writes[i].tensor].role != IR_TENSOR_TEMPORARY)
            return rewriting_refuse(why_not, "it writes an output, or what a loop carries");
    }
    if (!is_alone(graph, stage))
        return rewriting_refuse(why_not, "it writes a slice");
    if (find_earlier(graph, number) == IR_NONE)
        return rewriting_refuse(why_not, "no earlier stage computes the same");
    return true;
}

/* ---- readers ---- */

static bool reads_any(const struct ir_graph *graph, int stage, const int *instead)
{
    for (int i = 0; i < graph->reads[stage].count; i++) {
        int tensor = graph->reads[stage].at[i];
        if (instead[tensor] != tensor)
            return true;
    }
    return false;
}

static struct ir_program *apply(struct arena *arena, const struct ir_graph *graph, int number,
                                int64_t unused)
{
    const struct ir_part *part = graph->part;
    const struct ir_stage *later = &part->stages[number];
    const struct ir_stage *earlier = &part->stages[find_earlier(graph, number)];
    struct rewriting rewriting = rewriting_new(arena, part);
    int *instead = arena_array(arena, (size_t)part->tensor_count + 1, sizeof *instead);
    (void)unused;
    for (int t = 0; t < part->tensor_count; t++)
        instead[t] = t;
    for (int i = 0; i < later->write_count; i++)
        instead[later->writes[i].tensor] = earlier->writes[i].tensor;
    rewriting_keep(&rewriting, 0, number);
    for (int s = number + 1; s < part->stage_count; s++) {
        if (reads_any(graph, s, instead))
            vector_push(arena, &rewriting.stages,
                        rewriting_redirect(arena, &part->stages[s], instead));
        else
            rewriting_keep(&rewriting, s, s + 1);
    }
    return rewriting_end(&rewriting);
}

const struct ir_rewrite rewrite_factor = {
    .name = "factor",
    .note = "a stage that computes what an earlier one did is left out",
    .match = match,
    .apply = apply,
};
