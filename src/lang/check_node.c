/*
 * Nodes of one statement: made once each, converted, stored.
 */
#include <string.h>

#include "lang/check.h"

void stage_builder_init(struct stage_builder *stage, struct builder *builder)
{
    *stage = (struct stage_builder){.builder = builder, .guard = IR_NONE};
    stage->known = map_new(builder->arena);
    stage->fn_values = map_new(builder->arena);
    stage->hoisted = map_new(builder->arena);
}

/* What makes two nodes the same, without padding. */
struct node_identity {
    int32_t op, type, a, b, c, extra;
    int64_t payload;
    int32_t at[IR_MAX_RANK + 4];
};

static size_t node_identify(const struct builder *builder, const struct ir_node *node,
                            struct node_identity *identity)
{
    memset(identity, 0, sizeof *identity);
    identity->op = (int32_t)node->op;
    identity->type = (int32_t)node->type;
    identity->a = node->a;
    identity->b = node->b;
    identity->c = node->c;
    switch (node->op) {
    case IR_INT:
    case IR_BOOL: identity->payload = node->integer; break;
    case IR_FLOAT: memcpy(&identity->payload, &node->number, sizeof node->number); break;
    case IR_SIZE:
        identity->extra = node->size->op == IR_SIZE_SYMBOL;
        identity->payload = identity->extra ? node->size->symbol : (int64_t)(intptr_t)node->size;
        break;
    case IR_SCALAR: identity->payload = node->scalar; break;
    case IR_INDEX: identity->payload = node->index; break;
    case IR_PARAM: identity->payload = node->param; break;
    case IR_CAST: identity->payload = (int64_t)node->cast; break;
    case IR_READ: {
        int rank = builder->tensors.at[node->read.tensor].rank;
        identity->payload = node->read.tensor;
        for (int d = 0; d < rank; d++)
            identity->at[d] = node->read.at[d];
        identity->at[rank] = node->read.guard;
        identity->at[rank + 1] = node->read.otherwise;
        identity->at[rank + 2] = node->read.checked;
        break;
    }
    default: break;
    }
    return sizeof *identity;
}

void stage_too_large(struct stage_builder *stage, struct place place)
{
    if (!stage->too_large)
        error_hint(builder_error(stage->builder, ERROR_TOO_MANY, place,
                                 "this statement has more than %d operations once its fns are "
                                 "written out",
                                 CHECK_MAX_NODES),
                   "compute parts of it into tensors of their own");
    stage->too_large = true;
}

int stage_node(struct stage_builder *stage, struct ir_node node)
{
    struct builder *builder = stage->builder;
    struct node_identity identity;
    size_t length = node_identify(builder, &node, &identity);
    void *found = map_get_bytes(&stage->known, &identity, length);
    if (found)
        return (int)((intptr_t)found - 1);
    if (stage->nodes.count >= CHECK_MAX_NODES) {
        stage_too_large(stage, node.place);
        return IR_NONE;
    }
    vector_push(builder->arena, &stage->nodes, node);
    stage->view = (struct ir_nodes){stage->nodes.at, (int)stage->nodes.count};
    map_set_bytes(&stage->known, &identity, length, (void *)(intptr_t)stage->nodes.count);
    return (int)stage->nodes.count - 1;
}

int stage_leaf(struct stage_builder *stage, struct ir_node node, struct place place)
{
    node.a = node.b = node.c = IR_NONE;
    node.place = place;
    return stage_node(stage, node);
}

int stage_integer(struct stage_builder *stage, int64_t value)
{
    return stage_leaf(stage, (struct ir_node){.op = IR_INT, .type = DTYPE_I64, .integer = value},
                      (struct place){0});
}

int stage_index(struct stage_builder *stage, int index, struct place place)
{
    return stage_leaf(stage, (struct ir_node){.op = IR_INDEX, .type = DTYPE_I64, .index = index},
                      place);
}

int stage_size(struct stage_builder *stage, const struct ir_size *size)
{
    if (size->op == IR_SIZE_CONSTANT)
        return stage_integer(stage, size->value);
    return stage_leaf(stage, (struct ir_node){.op = IR_SIZE, .type = DTYPE_I64, .size = size},
                      (struct place){0});
}

int stage_unary(struct stage_builder *stage, enum ir_op op, enum dtype type, int a)
{
    if (a == IR_NONE)
        return IR_NONE;
    return stage_node(stage,
                      (struct ir_node){.op = op, .type = type, .a = a, .b = IR_NONE, .c = IR_NONE});
}

int stage_binary(struct stage_builder *stage, enum ir_op op, enum dtype type, int a, int b)
{
    if (a == IR_NONE || b == IR_NONE)
        return IR_NONE;
    return stage_node(stage,
                      (struct ir_node){.op = op, .type = type, .a = a, .b = b, .c = IR_NONE});
}

enum dtype stage_type(const struct stage_builder *stage, int node)
{
    return stage->nodes.at[node].type;
}

int stage_convert(struct stage_builder *stage, int node, enum dtype type)
{
    if (node == IR_NONE || stage_type(stage, node) == type)
        return node;
    const struct ir_node *from = &stage->nodes.at[node];
    if (from->op == IR_INT || from->op == IR_FLOAT) /* 2 * x needs no conversion at run time */
        return stage_leaf(
            stage,
            (struct ir_node){.op = IR_FLOAT,
                             .type = type,
                             .number = from->op == IR_INT ? (double)from->integer : from->number},
            (struct place){0});
    return stage_unary(stage, IR_TO_FLOAT, type, node);
}

int stage_store(struct stage_builder *stage, int node, enum dtype dtype, struct place place,
                const char *target)
{
    if (node == IR_NONE)
        return IR_NONE;
    enum dtype type = stage_type(stage, node), wanted = dtype_compute(dtype);
    if (type == wanted)
        return node;
    if (dtype_is_float(wanted)) {
        if (type == DTYPE_I64)
            return stage_convert(stage, node, wanted);
        if (dtype_is_float(type)) /* f64 computed, f32 stored: the store rounds */
            return node;
    }
    struct error *error = builder_error(stage->builder, ERROR_TYPE_MISMATCH, place,
                                        "'%s' holds %s, this is %s", target, dtype_name(dtype),
                                        type == DTYPE_BOOL  ? "a truth value"
                                        : type == DTYPE_I64 ? "an integer"
                                                            : "a number with a fraction");
    if (wanted == DTYPE_BOOL)
        error_hint(error, "compare it with something: ... != 0");
    else if (type == DTYPE_BOOL)
        error_hint(error, "say what true and false are worth: ... ? 1 : 0");
    else
        error_hint(error, "say how it is rounded: %s(...) cuts off, %s(round(...)) rounds",
                   dtype_name(dtype), dtype_name(dtype));
    return IR_NONE;
}
