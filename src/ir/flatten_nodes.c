/*
 * The nodes of a stage in the flat part: scalars of a callee become what the caller computes for
 * them, sizes become sizes of the root, and in a wide part every float becomes f64.
 */
#include "ir/flatten.h"

int flat_ranked(const struct ir_monoid *monoid)
{
    return monoid && (monoid->kind == IR_TOPK || monoid->kind == IR_BOTTOMK);
}

struct node_copy {
    struct flat *flat;
    const struct flat_scope *scope;
    struct flat_node_list out;
    int *map;     /* per node of the old list */
    int *scalars; /* per scalar of the part: its node, or IR_NONE */
    bool wide;
};

static int push(struct node_copy *copy, struct ir_node node)
{
    vector_push(copy->flat->arena, &copy->out, node);
    return (int)copy->out.count - 1;
}

static int mapped(const struct node_copy *copy, int node)
{
    return node == IR_NONE ? IR_NONE : copy->map[node];
}

/* Nodes that are in terms of the root already, put in as they are. */
static int insert(struct node_copy *copy, const struct flat_scalar *scalar)
{
    int first = (int)copy->out.count;
    for (int i = 0; i <= scalar->result; i++) {
        struct ir_node node = scalar->nodes.at[i];
        node.a = node.a == IR_NONE ? IR_NONE : node.a + first;
        node.b = node.b == IR_NONE ? IR_NONE : node.b + first;
        node.c = node.c == IR_NONE ? IR_NONE : node.c + first;
        push(copy, node);
    }
    return first + scalar->result;
}

static int copy_scalar(struct node_copy *copy, const struct ir_node *node)
{
    if (!copy->scope->call) {
        struct ir_node same = *node;
        if (copy->wide && same.type == DTYPE_F32)
            same.type = DTYPE_F64;
        return push(copy, same);
    }
    int *known = &copy->scalars[node->scalar];
    if (*known == IR_NONE)
        *known = insert(copy, &copy->scope->scalars[node->scalar]);
    return *known;
}

static struct ir_node copy_read(struct node_copy *copy, const struct ir_node *node)
{
    struct ir_node read = *node;
    int rank = copy->scope->part->tensors[node->read.tensor].rank;
    int *at = arena_array(copy->flat->arena, (size_t)rank + 1, sizeof *at);
    for (int i = 0; i < rank; i++)
        at[i] = mapped(copy, node->read.at[i]);
    read.read.tensor = copy->scope->tensors[node->read.tensor];
    read.read.at = at;
    read.read.guard = mapped(copy, node->read.guard);
    read.read.otherwise = mapped(copy, node->read.otherwise);
    if (dtype_is_float(read.type))
        read.type = dtype_compute(copy->flat->tensors.at[read.read.tensor].dtype);
    return read;
}

/* What is f32 because of what it was read or cast from, as f64. */
static int widened(struct node_copy *copy, int node)
{
    const struct ir_node *narrow = &copy->out.at[node];
    if (!copy->wide || narrow->type != DTYPE_F32)
        return node;
    return push(copy, (struct ir_node){.op = IR_TO_FLOAT,
                                       .type = DTYPE_F64,
                                       .a = node,
                                       .b = IR_NONE,
                                       .c = IR_NONE,
                                       .place = narrow->place});
}

static int copy_node(struct node_copy *copy, const struct ir_node *node)
{
    if (node->op == IR_SCALAR)
        return copy_scalar(copy, node);
    if (node->op == IR_READ)
        return widened(copy, push(copy, copy_read(copy, node)));
    struct ir_node same = *node;
    same.a = mapped(copy, node->a);
    same.b = mapped(copy, node->b);
    same.c = mapped(copy, node->c);
    if (node->op == IR_SIZE)
        same.size = flat_size(copy->flat, copy->scope, node->size);
    if (node->op == IR_INDEX)
        same.index += copy->scope->first_index;
    if (node->op == IR_CAST)
        return widened(copy, push(copy, same));
    if (copy->wide && same.type == DTYPE_F32)
        same.type = DTYPE_F64;
    if (node->op == IR_TO_FLOAT && copy->out.at[same.a].type == same.type)
        return same.a;
    return push(copy, same);
}

static int *copy_nodes(struct node_copy *copy, const struct ir_nodes *nodes)
{
    int scalars = copy->scope->part->scalar_count;
    copy->map = arena_array(copy->flat->arena, (size_t)nodes->count + 1, sizeof *copy->map);
    copy->scalars = arena_array(copy->flat->arena, (size_t)scalars + 1, sizeof *copy->scalars);
    for (int i = 0; i < scalars; i++)
        copy->scalars[i] = IR_NONE;
    for (int i = 0; i < nodes->count; i++)
        copy->map[i] = copy_node(copy, &nodes->at[i]);
    return copy->map;
}

void flat_scalars(struct flat *flat, struct flat_scope *scope)
{
    int count = scope->part->scalar_count;
    struct node_copy copy = {.flat = flat, .scope = scope->caller, .wide = flat->wide};
    int *map = copy_nodes(&copy, &scope->call->nodes);
    scope->scalars = arena_array(flat->arena, (size_t)count + 1, sizeof *scope->scalars);
    for (int i = 0; i < count; i++)
        scope->scalars[i] = (struct flat_scalar){.nodes = {copy.out.at, (int)copy.out.count},
                                                 .result = map[scope->call->scalars[i]]};
}

int *flat_nodes(struct flat *flat, const struct flat_scope *scope, const struct ir_stage *stage,
                struct ir_nodes *out)
{
    /* a user's monoid says itself what it computes in */
    bool user = stage->monoid && stage->monoid->kind == IR_USER;
    struct node_copy copy = {.flat = flat, .scope = scope, .wide = flat->wide && !user};
    int *map = copy_nodes(&copy, &stage->nodes);
    *out = (struct ir_nodes){copy.out.at, (int)copy.out.count};
    return map;
}
