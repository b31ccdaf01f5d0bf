/*
 * What a stage's domain, guards and inputs let one conclude about its indices, and whether reads
 * stay inside their tensors.
 */
#include "ir/prove.h"

void prover_enter_index(struct prover *prover, const struct ir_part *part,
                        const struct ir_nodes *nodes, int index)
{
    const struct ir_index *entry = &part->indices[index];
    const struct poly *variable = prover_index(prover, index);
    const struct poly *one = poly_constant(prover, 1);
    const struct poly *high;
    if (entry->extent) {
        prover_assume(prover, variable);
        high = prover_size(prover, entry->extent);
    } else {
        const struct poly *low = prover_node(prover, part, nodes, entry->low);
        prover_assume(prover, poly_subtract(prover, variable, low));
        if (prover_shows(prover, low))
            prover_assume(prover, variable);
        high = prover_node(prover, part, nodes, entry->high);
    }
    prover_assume(prover, poly_subtract(prover, poly_subtract(prover, high, variable), one));
}

void prover_enter_stage(struct prover *prover, const struct ir_part *part,
                        const struct ir_stage *stage)
{
    for (int i = 0; i < stage->index_count; i++)
        prover_enter_index(prover, part, &stage->nodes, stage->indices[i]);
}

/* A value out of an integer tensor: unknown, but for what the input promises. */
static const struct poly *read_value(struct prover *prover, const struct ir_part *part,
                                     const struct ir_nodes *nodes, int node)
{
    const struct ir_node *read = &nodes->at[node];
    const struct ir_tensor *tensor = &part->tensors[read->read.tensor];
    const struct poly *value = prover_opaque(prover, node);
    bool promised = tensor->properties & (IR_PROPERTY_INDEX | IR_PROPERTY_OFFSETS);
    if (!promised || read->read.checked || read->read.otherwise != IR_NONE)
        return value;
    const struct poly *bound = prover_size(prover, tensor->bound);
    if (tensor->properties & IR_PROPERTY_INDEX)
        bound = poly_subtract(prover, bound, poly_constant(prover, 1));
    prover_assume(prover, value);
    prover_assume(prover, poly_subtract(prover, bound, value));
    return value;
}

/* Nodes share arguments, so a walk over them as a tree may be endless: `budget` ends it. */
enum { NODE_BUDGET = 1000 };

static const struct poly *node_value(struct prover *prover, const struct ir_part *part,
                                     const struct ir_nodes *nodes, int number, int *budget)
{
    const struct ir_node *node = &nodes->at[number];
    const struct poly *a = NULL, *b = NULL;
    if (node->type != DTYPE_I64 || (*budget)-- <= 0)
        return NULL;
    bool binary = node->op == IR_ADD || node->op == IR_SUB || node->op == IR_MUL ||
                  node->op == IR_FLOORDIV || node->op == IR_FLOORMOD || node->op == IR_MIN ||
                  node->op == IR_MAX;
    if (binary || node->op == IR_NEG || node->op == IR_ABS)
        a = node_value(prover, part, nodes, node->a, budget);
    if (binary)
        b = node_value(prover, part, nodes, node->b, budget);
    switch (node->op) {
    case IR_INT: return poly_constant(prover, node->integer);
    case IR_SIZE: return prover_size(prover, node->size);
    case IR_INDEX: return prover_index(prover, node->index);
    case IR_READ: return read_value(prover, part, nodes, number);
    case IR_NEG: return poly_subtract(prover, poly_constant(prover, 0), a);
    case IR_ADD: return poly_add(prover, a, b);
    case IR_SUB: return poly_subtract(prover, a, b);
    case IR_MUL: return poly_multiply(prover, a, b);
    case IR_FLOORDIV: a = prover_divide(prover, a, b); break;
    case IR_FLOORMOD:
        a = poly_subtract(prover, a, poly_multiply(prover, prover_divide(prover, a, b), b));
        break;
    case IR_MIN: a = prover_least(prover, a, b); break;
    case IR_MAX: a = prover_greatest(prover, a, b); break;
    case IR_ABS: /* the greater of a and -a */
        b = poly_subtract(prover, poly_constant(prover, 0), a);
        a = prover_greatest(prover, a, b);
        break;
    default: break;
    }
    return a ? a : prover_opaque(prover, number);
}

const struct poly *prover_node(struct prover *prover, const struct ir_part *part,
                               const struct ir_nodes *nodes, int number)
{
    int budget = NODE_BUDGET;
    return node_value(prover, part, nodes, number, &budget);
}

static void assume_comparison(struct prover *prover, const struct ir_part *part,
                              const struct ir_nodes *nodes, const struct ir_node *node, bool holds)
{
    const struct poly *a = prover_node(prover, part, nodes, node->a);
    const struct poly *b = prover_node(prover, part, nodes, node->b);
    switch (node->op) {
    case IR_EQ:
        prover_assume_relation(prover, holds ? IR_RELATION_EQ : IR_RELATION_NE, a, b);
        break;
    case IR_NE:
        prover_assume_relation(prover, holds ? IR_RELATION_NE : IR_RELATION_EQ, a, b);
        break;
    case IR_LT:
        prover_assume_relation(prover, holds ? IR_RELATION_LT : IR_RELATION_LE, holds ? a : b,
                               holds ? b : a);
        break;
    default:
        prover_assume_relation(prover, holds ? IR_RELATION_LE : IR_RELATION_LT, holds ? a : b,
                               holds ? b : a);
        break;
    }
}

static void node_assume(struct prover *prover, const struct ir_part *part,
                        const struct ir_nodes *nodes, int number, bool holds, int *budget)
{
    const struct ir_node *node = &nodes->at[number];
    if ((*budget)-- <= 0)
        return;
    switch (node->op) {
    case IR_NOT: node_assume(prover, part, nodes, node->a, !holds, budget); break;
    case IR_AND:
    case IR_OR: /* a true `and` and a false `or` say something of both sides */
        if (holds == (node->op == IR_AND)) {
            node_assume(prover, part, nodes, node->a, holds, budget);
            node_assume(prover, part, nodes, node->b, holds, budget);
        }
        break;
    case IR_EQ:
    case IR_NE:
    case IR_LT:
    case IR_LE:
        if (nodes->at[node->a].type == DTYPE_I64)
            assume_comparison(prover, part, nodes, node, holds);
        break;
    default: break;
    }
}

void prover_assume_node(struct prover *prover, const struct ir_part *part,
                        const struct ir_nodes *nodes, int number, bool holds)
{
    int budget = NODE_BUDGET;
    node_assume(prover, part, nodes, number, holds, &budget);
}

static bool same_size(const struct ir_size *a, const struct ir_size *b)
{
    return a == b ||
           (a && b && a->op == IR_SIZE_SYMBOL && b->op == IR_SIZE_SYMBOL && a->symbol == b->symbol);
}

bool prover_shows_within(struct prover *prover, const struct ir_part *part,
                         const struct ir_nodes *nodes, int number, const struct ir_size *extent)
{
    const struct ir_node *node = &nodes->at[number];
    if (node->op == IR_INDEX && same_size(part->indices[node->index].extent, extent))
        return true; /* the common case, without a search */
    const struct poly *at = prover_node(prover, part, nodes, number);
    const struct poly *last =
        poly_subtract(prover, prover_size(prover, extent), poly_constant(prover, 1));
    return prover_shows(prover, at) && prover_shows(prover, poly_subtract(prover, last, at));
}

bool prover_shows_read(struct prover *prover, const struct ir_part *part,
                       const struct ir_nodes *nodes, int number, int dim)
{
    const struct ir_node *read = &nodes->at[number];
    const struct ir_size *extent = part->tensors[read->read.tensor].dims[dim];
    struct prover_mark mark = prover_mark(prover);
    if (read->read.guard != IR_NONE)
        prover_assume_node(prover, part, nodes, read->read.guard, true);
    bool shown = prover_shows_within(prover, part, nodes, read->read.at[dim], extent);
    prover_return(prover, mark);
    return shown;
}
