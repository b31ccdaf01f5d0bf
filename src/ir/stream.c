/*
 * Reductions that read an earlier one over the same indices, and can yet run in the same pass:
 * sums of exponentials below a maximum, and second moments around a mean.
 */
#include "ir/ir.h"

enum { STREAM_INDICES = 32, UNMATCHED = -1 };

struct comparison { /* of values in two stages: the reduction that is read, and the one that reads
                     */
    const struct ir_stage *a, *b;
    int match[STREAM_INDICES]; /* per index of b: the position of the same one in a, or UNMATCHED */
};

static int position(const struct ir_stage *stage, int index)
{
    for (int i = 0; i < stage->index_count; i++) {
        if (stage->indices[i] == index)
            return i;
    }
    return UNMATCHED;
}

static bool same_index(const struct comparison *c, int a, int b)
{
    int at = position(c->b, b);
    if (at == UNMATCHED)
        return a == b; /* of a loop around both */
    return c->match[at] != UNMATCHED && c->a->indices[c->match[at]] == a;
}

static bool same(const struct comparison *c, const struct ir_part *part, int a, int b);

static bool same_read(const struct comparison *c, const struct ir_part *part,
                      const struct ir_node *x, const struct ir_node *y)
{
    if (x->read.tensor != y->read.tensor || x->read.checked != y->read.checked ||
        !same(c, part, x->read.guard, y->read.guard) ||
        !same(c, part, x->read.otherwise, y->read.otherwise))
        return false;
    for (int d = 0; d < part->tensors[x->read.tensor].rank; d++) {
        if (!same(c, part, x->read.at[d], y->read.at[d]))
            return false;
    }
    return true;
}

/* Whether node a of stage a is node b of stage b, said in other numbers. */
static bool same(const struct comparison *c, const struct ir_part *part, int a, int b)
{
    if (a == IR_NONE || b == IR_NONE)
        return a == b;
    const struct ir_node *x = &c->a->nodes.at[a], *y = &c->b->nodes.at[b];
    if (x->op != y->op || x->type != y->type)
        return false;
    switch (x->op) {
    case IR_INT:
    case IR_BOOL: return x->integer == y->integer;
    case IR_FLOAT: return x->number == y->number;
    case IR_SIZE: return ir_size_equal(x->size, y->size);
    case IR_SCALAR: return x->scalar == y->scalar;
    case IR_INDEX: return same_index(c, x->index, y->index);
    case IR_READ: return same_read(c, part, x, y);
    case IR_CAST:
        if (x->cast != y->cast)
            return false;
        break;
    default: break;
    }
    return same(c, part, x->a, y->a) && same(c, part, x->b, y->b) && same(c, part, x->c, y->c);
}

/*
 * Matches indices: left ones by where b reads what a wrote, reduced ones in order. False when the
 * two do not run over the same.
 */
static bool match_domains(struct comparison *c, const struct ir_part *part,
                          const struct ir_node *read)
{
    int reduced = c->a->index_count - c->a->left_count, most = c->b->index_count;
    const struct ir_write *write = &c->a->writes[0];
    if (most > STREAM_INDICES || most - c->b->left_count != reduced)
        return false;
    for (int i = 0; i < most; i++)
        c->match[i] = i < c->b->left_count ? UNMATCHED : c->a->left_count + i - c->b->left_count;
    for (int d = 0; d < part->tensors[write->tensor].rank; d++) {
        const struct ir_node *to = &c->a->nodes.at[write->at[d]];
        const struct ir_node *from = &c->b->nodes.at[read->read.at[d]];
        if (to->op != IR_INDEX || from->op != IR_INDEX)
            return false;
        int at = position(c->b, from->index);
        if (at != UNMATCHED)
            c->match[at] = position(c->a, to->index);
    }
    for (int i = 0; i < most; i++) {
        const struct ir_index *y = &part->indices[c->b->indices[i]];
        const struct ir_index *x =
            c->match[i] == UNMATCHED ? y : &part->indices[c->a->indices[c->match[i]]];
        if (!x->extent || !y->extent || !ir_size_equal(x->extent, y->extent))
            return false;
    }
    return same(c, part, c->a->predicate, c->b->predicate);
}

/* ---- what is looked for ---- */

static const struct ir_stage *reduction(const struct ir_graph *graph, int tensor,
                                        enum ir_monoid_kind kind, int *number)
{
    const struct ir_numbers *writers = &graph->writers[tensor];
    if (writers->count != 1)
        return NULL;
    const struct ir_stage *stage = &graph->part->stages[writers->at[0]];
    *number = writers->at[0];
    return stage->kind == IR_REDUCE && stage->monoid->kind == kind ? stage : NULL;
}

/* exp(e - m) or (e - mean): the node of e, and the read of what is taken off. */
static const struct ir_node *difference(const struct ir_stage *stage, int node, int *value)
{
    const struct ir_node *sub = &stage->nodes.at[node];
    if (sub->op != IR_SUB || stage->nodes.at[sub->b].op != IR_READ)
        return NULL;
    *value = sub->a;
    return &stage->nodes.at[sub->b];
}

static bool is_exp(const struct ir_graph *graph, const struct ir_stage *stage, int node,
                   int *earlier)
{
    int value;
    if (stage->nodes.at[node].op != IR_EXP)
        return false;
    const struct ir_node *read = difference(stage, stage->nodes.at[node].a, &value);
    struct comparison c = {.b = stage};
    c.a = read ? reduction(graph, read->read.tensor, IR_MAXIMUM, earlier) : NULL;
    return c.a && match_domains(&c, graph->part, read) &&
           same(&c, graph->part, c.a->writes[0].value, value);
}

/* The sum a mean is made from: itself, or a map that divides it. */
static const struct ir_stage *mean_sum(const struct ir_graph *graph, int tensor, int *earlier)
{
    const struct ir_stage *sum = reduction(graph, tensor, IR_SUM, earlier);
    if (sum || graph->writers[tensor].count != 1)
        return sum;
    const struct ir_stage *map = &graph->part->stages[graph->writers[tensor].at[0]];
    if (map->kind != IR_MAP)
        return NULL;
    const struct ir_node *value = &map->nodes.at[map->writes[0].value];
    if (value->op != IR_DIV && value->op != IR_MUL)
        return NULL;
    const struct ir_node *read = &map->nodes.at[value->a];
    return read->op == IR_READ ? reduction(graph, read->read.tensor, IR_SUM, earlier) : NULL;
}

static bool is_moment(const struct ir_graph *graph, const struct ir_stage *stage, int node,
                      int *earlier)
{
    const struct ir_node *square = &stage->nodes.at[node];
    int value;
    bool squares = square->op == IR_MUL && square->a == square->b;
    if (square->op == IR_POW) {
        const struct ir_node *power = &stage->nodes.at[square->b];
        squares = power->op == IR_FLOAT && power->number == 2;
    }
    const struct ir_node *read = squares ? difference(stage, square->a, &value) : NULL;
    struct comparison c = {.b = stage};
    c.a = read ? mean_sum(graph, read->read.tensor, earlier) : NULL;
    return c.a && match_domains(&c, graph->part, read) &&
           same(&c, graph->part, c.a->writes[0].value, value);
}

enum ir_stream ir_stream(const struct ir_graph *graph, int number, int *earlier)
{
    const struct ir_stage *stage = &graph->part->stages[number];
    if (stage->kind != IR_REDUCE || stage->monoid->kind != IR_SUM)
        return IR_STREAM_NONE;
    int value = stage->writes[0].value;
    const struct ir_node *node = &stage->nodes.at[value];
    if (is_moment(graph, stage, value, earlier))
        return IR_STREAM_MOMENT;
    if (is_exp(graph, stage, value, earlier) ||
        (node->op == IR_MUL &&
         (is_exp(graph, stage, node->a, earlier) || is_exp(graph, stage, node->b, earlier))))
        return IR_STREAM_EXP;
    return IR_STREAM_NONE;
}
