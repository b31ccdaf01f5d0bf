/*
 * Where the nodes of a stage are evaluated: at the shallowest depth of the nest that knows their
 * arguments, and only if somebody wants them.
 */
#include <limits.h>
#include <string.h>

#include "gen/c/emit.h"

enum { INSIDE_LENGTH = 60 }; /* longer expressions get a name, for the reader and for brackets */

void emit_arguments(const struct ir_node *node, const struct ir_part *part,
                    void (*visit)(void *context, int argument), void *context)
{
    if (node->op == IR_READ) {
        for (int i = 0; i < part->tensors[node->read.tensor].rank; i++) {
            visit(context, node->read.at[i]);
            if (node->read.checked) /* compared with the bounds, too */
                visit(context, node->read.at[i]);
        }
        if (node->read.guard != IR_NONE)
            visit(context, node->read.guard);
        if (node->read.otherwise != IR_NONE)
            visit(context, node->read.otherwise);
        return;
    }
    int count = ir_op_arguments(node->op);
    if (count > 0)
        visit(context, node->a);
    if (count > 1)
        visit(context, node->b);
    if (count > 2)
        visit(context, node->c);
}

void emit_place_start(struct emitter *emitter, const struct ir_nodes *nodes, int most_loops)
{
    emitter->nodes = nodes;
    emitter->plans = arena_array(emitter->arena, (size_t)nodes->count + 1, sizeof *emitter->plans);
    for (int i = 0; i < nodes->count; i++)
        emitter->plans[i].limit = INT_MAX;
    emitter->loops = arena_array(emitter->arena, (size_t)most_loops + 1, sizeof *emitter->loops);
    emitter->loop_count = 0;
    emitter->expand = emitter->lanes_from = INT_MAX;
    emitter->predicate = IR_NONE;
    emitter->predicate_at = 0;
}

void emit_place_loop(struct emitter *emitter, int index, bool reverse)
{
    emitter->loops[emitter->loop_count++] = (struct loop_plan){index, reverse};
    emitter->indices[index] = emit_name(&emitter->names, emitter->part->indices[index].name);
}

void emit_place_use(struct emitter *emitter, int node, int depth, int count)
{
    if (node == IR_NONE)
        return;
    struct node_plan *plan = &emitter->plans[node];
    plan->uses += count;
    plan->used_at = depth;
    if (depth < plan->limit)
        plan->limit = depth;
}

int emit_place_depth(const struct emitter *emitter, int index)
{
    for (int i = 0; i < emitter->loop_count; i++) {
        if (emitter->loops[i].index == index)
            return i + 1;
    }
    return 0;
}

struct placing { /* a node whose arguments are visited */
    struct emitter *emitter;
    struct node_plan *plan;
};

static void visit_want(void *context, int argument)
{
    struct placing *placing = context;
    struct node_plan *plan = &placing->emitter->plans[argument];
    plan->uses++;
    if (placing->plan->limit < plan->limit)
        plan->limit = placing->plan->limit;
}

static void visit_depth(void *context, int argument)
{
    struct placing *placing = context;
    const struct node_plan *plan = &placing->emitter->plans[argument];
    if (plan->depth > placing->plan->depth)
        placing->plan->depth = plan->depth;
    placing->plan->data |= plan->data;
}

static void visit_used_at(void *context, int argument)
{
    struct placing *placing = context;
    placing->emitter->plans[argument].used_at = placing->plan->depth;
}

static int most_bits(int a, int b)
{
    return a > b ? a : b;
}

static int type_bits(enum dtype type)
{
    switch (type) {
    case DTYPE_I32: return 31;
    case DTYPE_U32: return 32;
    case DTYPE_I16: return 15;
    case DTYPE_I8: return 7;
    case DTYPE_U8: return 8;
    case DTYPE_BOOL: return 1;
    default: return 64;
    }
}

static int number_bits(int64_t value)
{
    int bits = 0;
    for (uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value; size; size >>= 1)
        bits++;
    return bits;
}

/*
 * How large an integer may be, as a power of two; an index or size counts as 2^30, so that products
 * of two are written as products, and what is longer wraps properly. Above 63: anything.
 */
static int node_bits(const struct emitter *emitter, const struct ir_node *node)
{
    int count = ir_op_arguments(node->op);
    int a = count > 0 ? emitter->plans[node->a].bits : 0;
    int b = count > 1 ? emitter->plans[node->b].bits : 0;
    switch (node->op) {
    case IR_INT:
    case IR_BOOL: return number_bits(node->integer);
    case IR_SIZE:
    case IR_INDEX: return 30;
    case IR_READ:
        return most_bits(
            type_bits(emitter->part->tensors[node->read.tensor].dtype),
            node->read.otherwise == IR_NONE ? 0 : emitter->plans[node->read.otherwise].bits);
    case IR_CAST: return type_bits(node->cast);
    case IR_SELECT: return most_bits(b, emitter->plans[node->c].bits);
    case IR_ADD:
    case IR_SUB: return most_bits(a, b) + 1;
    case IR_MUL: return a + b;
    case IR_NEG:
    case IR_ABS:
    case IR_FLOORDIV:
    case IR_QUOT:
    case IR_SHR: return most_bits(a, 1);
    case IR_SIGN: return 1;
    case IR_FLOORMOD:
    case IR_REM: return b;
    case IR_MIN:
    case IR_MAX:
    case IR_BITAND:
    case IR_BITOR:
    case IR_BITXOR: return most_bits(a, b);
    default: return 64;
    }
}

/* A range may be empty at some points only, so a read stays inside it. */
static int depth_inside_ranges(const struct emitter *emitter, const struct node_plan *plan)
{
    int depth = plan->depth;
    for (int i = plan->depth; i < plan->limit && i < emitter->loop_count; i++) {
        if (!emitter->part->indices[emitter->loops[i].index].extent)
            depth = i + 1;
    }
    return depth;
}

void emit_place_finish(struct emitter *emitter)
{
    for (int i = 0; i < emitter->loop_count; i++) {
        const struct ir_index *index = &emitter->part->indices[emitter->loops[i].index];
        if (!index->extent) {
            emit_place_use(emitter, index->low, i, 2); /* twice: a loop's condition wants a name */
            emit_place_use(emitter, index->high, i, 2);
        }
    }
    for (int i = emitter->nodes->count - 1; i >= 0; i--) {
        struct placing placing = {emitter, &emitter->plans[i]};
        if (placing.plan->uses > 0)
            emit_arguments(&emitter->nodes->at[i], emitter->part, visit_want, &placing);
    }
    for (int i = 0; i < emitter->nodes->count; i++) {
        const struct ir_node *node = &emitter->nodes->at[i];
        struct placing placing = {emitter, &emitter->plans[i]};
        if (placing.plan->uses == 0)
            continue;
        placing.plan->bits = node_bits(emitter, node);
        if (placing.plan->bits > 64)
            placing.plan->bits = 64;
        if (node->op == IR_INDEX)
            placing.plan->depth = emit_place_depth(emitter, node->index);
        emit_arguments(node, emitter->part, visit_depth, &placing);
        if (node->op == IR_READ) {
            placing.plan->depth = depth_inside_ranges(emitter, placing.plan);
            placing.plan->data = true;
        }
        emit_arguments(node, emitter->part, visit_used_at, &placing);
    }
}

static bool is_leaf(const struct ir_node *node)
{
    return ir_op_arguments(node->op) == 0;
}

static bool is_word(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
           strlen(text);
}

/* "x_4" for a read of x, "exp_4" for an operation. */
static const char *node_name(struct emitter *emitter, int number)
{
    const struct ir_node *node = &emitter->nodes->at[number];
    const char *base =
        node->op == IR_READ ? emitter->tensors[node->read.tensor].name : ir_op_name(node->op);
    return emit_name(&emitter->names, arena_printf(emitter->arena, "%s_%d", base, number));
}

void emit_place_write(struct emitter *emitter, int depth)
{
    for (int i = 0; i < emitter->nodes->count; i++) {
        struct node_plan *plan = &emitter->plans[i];
        if (plan->uses == 0 || plan->depth != depth || is_leaf(&emitter->nodes->at[i]))
            continue;
        struct expression whole = emit_node(emitter, i);
        bool once = plan->uses == 1 && plan->used_at == depth;
        if (is_word(whole.text) || (once && strlen(whole.text) <= INSIDE_LENGTH)) {
            plan->inside = whole;
            continue;
        }
        const char *name = node_name(emitter, i);
        emit_line(emitter, "const %s %s = %s;", emit_type(emitter, emitter->nodes->at[i].type),
                  name, whole.text);
        plan->name = name;
    }
}

bool emit_place_has(const struct emitter *emitter, int depth)
{
    for (int i = 0; i < emitter->nodes->count; i++) {
        if (emitter->plans[i].uses > 0 && emitter->plans[i].depth == depth &&
            !is_leaf(&emitter->nodes->at[i]))
            return true;
    }
    return false;
}
