/*
 * Nodes of the IR as expressions of the low form. A tensor that is read is what the skeleton says
 * it is (`resolve`), or the expression of the stage that defines it (inlined), or a load.
 *
 * Inlining solves the places a map writes to for its indices: y[g*C + c] read at v has g = v / C
 * and c = v % C. What is read under a condition is loaded under that condition, however deep.
 */
#include <math.h>
#include <string.h>

#include "skeleton/skeleton.h"

static struct arena *arena_of(const struct skeleton_values *values)
{
    return values->kernel->arena;
}

/* ---- sizes ---- */

const struct ir_size *skeleton_size_fixed(const struct skeleton_group *group,
                                          const struct ir_size *size)
{
    if (size->op == IR_SIZE_CONSTANT)
        return size;
    if (size->op == IR_SIZE_SYMBOL) {
        for (int i = 0; i < group->fix_count; i++) {
            if (group->fixes[i].symbol == size->symbol)
                return ir_size_constant(group->arena, group->fixes[i].value);
        }
        const struct ir_size *definition = group->part->symbols[size->symbol].definition;
        if (!definition)
            return size;
        definition = skeleton_size_fixed(group, definition);
        return definition->op == IR_SIZE_CONSTANT ? definition : size;
    }
    return ir_size_make(group->arena, size->op, skeleton_size_fixed(group, size->a),
                        skeleton_size_fixed(group, size->b));
}

loop_value skeleton_size(struct skeleton_values *values, const struct ir_size *size)
{
    return loop_size(arena_of(values), values->group->part,
                     skeleton_size_fixed(values->group, size));
}

bool skeleton_sizes_equal(const struct ir_size *a, const struct ir_size *b)
{
    if (a->op != b->op)
        return false;
    if (a->op == IR_SIZE_CONSTANT)
        return a->value == b->value;
    if (a->op == IR_SIZE_SYMBOL)
        return a->symbol == b->symbol;
    return skeleton_sizes_equal(a->a, b->a) && skeleton_sizes_equal(a->b, b->b);
}

/* ---- memory ---- */

const struct loop_buffer *skeleton_buffer(struct skeleton_values *values, int tensor)
{
    return loop_tensor(values->kernel, tensor);
}

loop_value skeleton_offset(struct skeleton_values *values, int tensor, const loop_value *at)
{
    const struct ir_tensor *info = &values->group->part->tensors[tensor];
    struct arena *arena = arena_of(values);
    loop_value offset = loop_integer(arena, 0);
    for (int i = 0; i < info->rank; i++) {
        offset = loop_mul(arena, offset, skeleton_size(values, info->dims[i]));
        offset = loop_add(arena, offset, at[i]);
    }
    return offset;
}

/* ---- places solved for indices ---- */

struct solver {
    const struct ir_part *part;
    const struct ir_stage *stage;
    struct skeleton_values *values; /* NULL: only whether it can be done */
    bool *solved;                   /* per index of the part */
    loop_value condition;           /* NULL: none yet */
};

static bool node_has_index(const struct ir_nodes *nodes, int number)
{
    const struct ir_node *node = &nodes->at[number];
    if (node->op == IR_INDEX || node->op == IR_READ)
        return true;
    int count = ir_op_arguments(node->op);
    return (count > 0 && node_has_index(nodes, node->a)) ||
           (count > 1 && node_has_index(nodes, node->b)) ||
           (count > 2 && node_has_index(nodes, node->c));
}

static void solver_require(struct solver *solver, loop_value condition)
{
    struct arena *arena = arena_of(solver->values);
    solver->condition = solver->condition
                            ? loop_apply(arena, IR_AND, solver->condition, condition, NULL)
                            : condition;
}

static bool solve_index(struct solver *solver, int index, loop_value value)
{
    if (solver->solved[index] || !solver->part->indices[index].extent)
        return false;
    solver->solved[index] = true;
    if (solver->values) {
        struct arena *arena = arena_of(solver->values);
        loop_value extent = skeleton_size(solver->values, solver->part->indices[index].extent);
        solver->values->indices[index] = value;
        solver_require(solver, loop_apply(arena, IR_LE, loop_integer(arena, 0), value, NULL));
        solver_require(solver, loop_less(arena, value, extent));
    }
    return true;
}

static loop_value solver_apply(struct solver *solver, enum ir_op op, loop_value a, int node)
{
    if (!solver->values)
        return NULL;
    loop_value b = skeleton_value(solver->values, solver->stage, node);
    return loop_apply(arena_of(solver->values), op, a, b, NULL);
}

static bool size_of_node(struct solver *solver, int number, struct ir_size *constant,
                         const struct ir_size **size)
{
    const struct ir_node *node = &solver->stage->nodes.at[number];
    *constant = (struct ir_size){.op = IR_SIZE_CONSTANT, .value = node->integer};
    *size = node->op == IR_SIZE ? node->size : constant;
    return node->op == IR_SIZE || node->op == IR_INT;
}

static bool solve(struct solver *solver, int number, loop_value value);

/* g*C + c with c < C. */
static bool solve_digit(struct solver *solver, int high, int low, loop_value value)
{
    const struct ir_nodes *nodes = &solver->stage->nodes;
    const struct ir_node *digit = &nodes->at[low], *product = &nodes->at[high];
    if (digit->op != IR_INDEX || product->op != IR_MUL)
        return false;
    const struct ir_size *extent = solver->part->indices[digit->index].extent;
    for (int swap = 0; swap < 2 && extent; swap++) {
        int factor = swap ? product->a : product->b, rest = swap ? product->b : product->a;
        struct ir_size constant;
        const struct ir_size *size;
        if (!size_of_node(solver, factor, &constant, &size) || !skeleton_sizes_equal(size, extent))
            continue;
        return solve_index(solver, digit->index,
                           solver_apply(solver, IR_FLOORMOD, value, factor)) &&
               solve(solver, rest, solver_apply(solver, IR_FLOORDIV, value, factor));
    }
    return false;
}

static bool solve_sum(struct solver *solver, const struct ir_node *node, loop_value value)
{
    const struct ir_nodes *nodes = &solver->stage->nodes;
    if (!node_has_index(nodes, node->b))
        return solve(solver, node->a, solver_apply(solver, IR_SUB, value, node->b));
    if (!node_has_index(nodes, node->a))
        return solve(solver, node->b, solver_apply(solver, IR_SUB, value, node->a));
    return solve_digit(solver, node->a, node->b, value) ||
           solve_digit(solver, node->b, node->a, value);
}

static bool solve_product(struct solver *solver, const struct ir_node *node, loop_value value)
{
    const struct ir_nodes *nodes = &solver->stage->nodes;
    int factor = node_has_index(nodes, node->b) ? node->a : node->b;
    int rest = factor == node->b ? node->a : node->b;
    if (node_has_index(nodes, factor))
        return false;
    if (solver->values) {
        struct arena *arena = arena_of(solver->values);
        loop_value remainder = solver_apply(solver, IR_FLOORMOD, value, factor);
        solver_require(solver, loop_apply(arena, IR_EQ, remainder, loop_integer(arena, 0), NULL));
    }
    return solve(solver, rest, solver_apply(solver, IR_FLOORDIV, value, factor));
}

/* Indices such that the node has this value; what must hold is added to the condition. */
static bool solve(struct solver *solver, int number, loop_value value)
{
    const struct ir_nodes *nodes = &solver->stage->nodes;
    const struct ir_node *node = &nodes->at[number];
    if (node->op == IR_INDEX)
        return solve_index(solver, node->index, value);
    if (!node_has_index(nodes, number)) {
        if (solver->values)
            solver_require(solver, solver_apply(solver, IR_EQ, value, number));
        return true;
    }
    switch (node->op) {
    case IR_ADD: return solve_sum(solver, node, value);
    case IR_MUL: return solve_product(solver, node, value);
    case IR_SUB:
        if (!node_has_index(nodes, node->b))
            return solve(solver, node->a, solver_apply(solver, IR_ADD, value, node->b));
        if (node_has_index(nodes, node->a))
            return false;
        if (!solver->values)
            return solve(solver, node->b, NULL);
        return solve(solver, node->b,
                     loop_sub(arena_of(solver->values),
                              skeleton_value(solver->values, solver->stage, node->a), value));
    default: return false;
    }
}

static bool solve_write(struct solver *solver, const loop_value *at)
{
    const struct ir_write *write = &solver->stage->writes[0];
    int rank = solver->part->tensors[write->tensor].rank;
    for (int i = 0; i < rank; i++) {
        if (!solve(solver, write->at[i], at ? at[i] : NULL))
            return false;
    }
    for (int i = 0; i < solver->stage->index_count; i++) {
        if (!solver->solved[solver->stage->indices[i]])
            return false;
    }
    return true;
}

static bool stage_defines(const struct ir_stage *stage, int tensor)
{
    for (int i = 0; i < stage->write_count; i++) {
        if (stage->writes[i].tensor == tensor)
            return true;
    }
    return false;
}

bool skeleton_can_inline(const struct ir_part *part, int tensor)
{
    int found = 0;
    for (int i = 0; i < part->stage_count; i++) {
        const struct ir_stage *stage = &part->stages[i];
        if (stage->kind == IR_LOOP || !stage_defines(stage, tensor))
            continue;
        struct arena arena = {0};
        struct solver solver = {part, stage, NULL, NULL, NULL};
        solver.solved = arena_array(&arena, (size_t)part->index_count + 1, sizeof(bool));
        bool solved = stage->kind == IR_MAP && solve_write(&solver, NULL);
        arena_release(&arena);
        if (!solved)
            return false;
        found++;
    }
    return found > 0;
}

/* ---- inlining ---- */

loop_value skeleton_round(struct skeleton_values *values, int tensor, loop_value value)
{
    const struct ir_tensor *info = &values->group->part->tensors[tensor];
    enum dtype computed = dtype_compute(info->dtype);
    if (value->type.dtype != computed)
        return loop_cast(arena_of(values), info->dtype, value);
    if (!info->declared || computed == info->dtype)
        return value;
    return loop_cast(arena_of(values), info->dtype, value);
}

static loop_value both(struct skeleton_values *values, loop_value a, loop_value b)
{
    if (!a || !b)
        return a ? a : b;
    return loop_apply(arena_of(values), IR_AND, a, b, NULL);
}

/* What one inlined stage computes for the element; `others`: what it is outside that stage. */
static loop_value value_inline(struct skeleton_values *values, const struct ir_stage *stage,
                               const loop_value *at, loop_value others)
{
    struct arena *arena = arena_of(values);
    const struct ir_part *part = values->group->part;
    size_t bytes = (size_t)part->index_count * sizeof(loop_value);
    loop_value *saved = arena_alloc(arena, bytes + 1), guard = values->guard;
    memcpy(saved, values->indices, bytes);
    struct solver solver = {part, stage, values, NULL, NULL};
    solver.solved = arena_array(arena, (size_t)part->index_count + 1, sizeof(bool));
    solve_write(&solver, at);
    if (others)
        values->guard = both(values, guard, solver.condition);
    loop_value value = skeleton_round(values, stage->writes[0].tensor,
                                      skeleton_value(values, stage, stage->writes[0].value));
    memcpy(values->indices, saved, bytes);
    values->guard = guard;
    if (!others || !solver.condition)
        return value;
    return loop_select(arena, solver.condition, value, others);
}

static loop_value element_inlined(struct skeleton_values *values, int tensor, const loop_value *at)
{
    const struct skeleton_group *group = values->group;
    const struct ir_numbers *writers = &group->graph->writers[tensor];
    loop_value value = NULL;
    for (int i = 0; i < writers->count; i++) {
        const struct ir_stage *stage = &group->part->stages[writers->at[i]];
        if (group->inlined[writers->at[i]] && stage->kind == IR_MAP)
            value = value_inline(values, stage, at, value);
    }
    return value;
}

/* ---- elements ---- */

static struct map *memo_of(struct skeleton_values *values)
{
    if (!values->memo) {
        values->memo = arena_new(arena_of(values), struct map);
        *values->memo = map_new(arena_of(values));
    }
    return values->memo;
}

static loop_value element_load(struct skeleton_values *values, int tensor, const loop_value *at)
{
    struct arena *arena = arena_of(values);
    const struct loop_buffer *buffer = skeleton_buffer(values, tensor);
    loop_value offset = skeleton_offset(values, tensor, at);
    if (!values->guard)
        return loop_load(arena, buffer, offset, 1);
    return loop_load_masked(arena, buffer, offset, 1, values->guard, NULL);
}

loop_value skeleton_element(struct skeleton_values *values, int tensor, const loop_value *at)
{
    size_t rank = (size_t)values->group->part->tensors[tensor].rank;
    const void *key[IR_MAX_RANK + 2];
    key[0] = (const void *)(intptr_t)(2 * tensor + 1); /* odd: no address of a stage */
    key[1] = values->guard;
    memcpy(key + 2, at, rank * sizeof *at);
    loop_value value = map_get_bytes(memo_of(values), key, (rank + 2) * sizeof *key);
    if (value)
        return value;
    if (values->resolve)
        value = values->resolve(values->context, values, tensor, at);
    if (!value)
        value = element_inlined(values, tensor, at);
    if (!value)
        value = element_load(values, tensor, at);
    map_set_bytes(memo_of(values), key, (rank + 2) * sizeof *key, (void *)value);
    return value;
}

/* ---- nodes ---- */

struct frame { /* a stage at the present indices */
    const struct ir_stage *stage;
    loop_value *nodes;
};

static loop_value frame_node(struct skeleton_values *values, struct frame *frame, int number);

/*
 * Whether an index place cannot leave its dimension: i of extent D in D, or g*C + c with g of
 * extent G and c of extent C in G*C.
 */
static bool place_is_inside(const struct ir_part *part, const struct ir_nodes *nodes, int number,
                            const struct ir_size *dimension)
{
    const struct ir_node *node = &nodes->at[number];
    if (node->op == IR_INDEX)
        return part->indices[node->index].extent &&
               skeleton_sizes_equal(part->indices[node->index].extent, dimension);
    if (node->op != IR_ADD || dimension->op != IR_SIZE_MUL ||
        !place_is_inside(part, nodes, node->b, dimension->b))
        return false;
    const struct ir_node *outer = &nodes->at[node->a];
    return outer->op == IR_MUL && nodes->at[outer->b].op == IR_SIZE &&
           skeleton_sizes_equal(nodes->at[outer->b].size, dimension->b) &&
           place_is_inside(part, nodes, outer->a, dimension->a);
}

static loop_value frame_condition(struct skeleton_values *values, struct frame *frame,
                                  const struct ir_node *node, const loop_value *at)
{
    struct arena *arena = arena_of(values);
    const struct ir_tensor *tensor = &values->group->part->tensors[node->read.tensor];
    loop_value condition = NULL;
    if (node->read.guard != IR_NONE)
        condition = frame_node(values, frame, node->read.guard);
    for (int i = 0; node->read.checked && i < tensor->rank; i++) {
        if (place_is_inside(values->group->part, &frame->stage->nodes, node->read.at[i],
                            tensor->dims[i]))
            continue;
        loop_value zero = loop_integer(arena, 0), size = skeleton_size(values, tensor->dims[i]);
        condition = both(values, condition, loop_apply(arena, IR_LE, zero, at[i], NULL));
        condition = both(values, condition, loop_less(arena, at[i], size));
    }
    return condition;
}

static loop_value frame_read(struct skeleton_values *values, struct frame *frame,
                             const struct ir_node *node)
{
    struct arena *arena = arena_of(values);
    const struct ir_tensor *tensor = &values->group->part->tensors[node->read.tensor];
    loop_value at[IR_MAX_RANK];
    for (int i = 0; i < tensor->rank; i++)
        at[i] = frame_node(values, frame, node->read.at[i]);
    loop_value condition = frame_condition(values, frame, node, at);
    if (!condition)
        return skeleton_element(values, node->read.tensor, at);
    loop_value guard = values->guard;
    values->guard = both(values, guard, condition);
    loop_value element = skeleton_element(values, node->read.tensor, at);
    values->guard = guard;
    loop_value otherwise = node->read.otherwise == IR_NONE
                               ? loop_number(arena, 0, element->type.dtype)
                               : frame_node(values, frame, node->read.otherwise);
    bool zero =
        otherwise->op == LOOP_NUMBER && otherwise->number == 0 && !signbit(otherwise->number);
    if (zero && element->op == LOOP_LOAD && element->mask && !element->otherwise)
        return element; /* zero where it is not read, as it is */
    return loop_select(arena, condition, element, otherwise);
}

/* A parameter is kept in its own type, and computed with in the node's. */
static loop_value frame_scalar(struct skeleton_values *values, const struct ir_node *node)
{
    loop_value scalar = loop_scalar(arena_of(values), values->group->part, node->scalar);
    return dtype_is_float(node->type) ? loop_to_float(arena_of(values), node->type, scalar)
                                      : scalar;
}

static loop_value frame_make(struct skeleton_values *values, struct frame *frame, int number)
{
    struct arena *arena = arena_of(values);
    const struct ir_node *node = &frame->stage->nodes.at[number];
    int count = ir_op_arguments(node->op);
    loop_value a = count > 0 ? frame_node(values, frame, node->a) : NULL;
    loop_value b = count > 1 ? frame_node(values, frame, node->b) : NULL;
    loop_value c = count > 2 ? frame_node(values, frame, node->c) : NULL;
    switch (node->op) {
    case IR_INT: return loop_integer(arena, node->integer);
    case IR_BOOL: return loop_bool(arena, node->integer != 0);
    case IR_FLOAT: return loop_number(arena, node->number, node->type);
    case IR_SIZE: return skeleton_size(values, node->size);
    case IR_SCALAR: return frame_scalar(values, node);
    case IR_INDEX: return values->indices[node->index];
    case IR_READ: return frame_read(values, frame, node);
    case IR_TO_FLOAT: return loop_to_float(arena, node->type, a);
    case IR_CAST: return loop_cast(arena, node->cast, a);
    case IR_SELECT: return loop_select(arena, a, b, c);
    default: return loop_apply(arena, node->op, a, b, c);
    }
}

static loop_value frame_node(struct skeleton_values *values, struct frame *frame, int number)
{
    if (!frame->nodes[number])
        frame->nodes[number] = frame_make(values, frame, number);
    return frame->nodes[number];
}

/* The frame of this stage at these indices under this guard, made on first use. */
static loop_value *frame_nodes(struct skeleton_values *values, const struct ir_stage *stage)
{
    struct arena *arena = arena_of(values);
    size_t count = (size_t)stage->index_count + 2;
    const void **key = arena_array(arena, count, sizeof *key);
    key[0] = stage;
    key[1] = values->guard;
    for (int i = 0; i < stage->index_count; i++)
        key[i + 2] = values->indices[stage->indices[i]];
    loop_value *nodes = map_get_bytes(memo_of(values), key, count * sizeof *key);
    if (!nodes) {
        nodes = arena_array(arena, (size_t)stage->nodes.count + 1, sizeof *nodes);
        map_set_bytes(memo_of(values), key, count * sizeof *key, nodes);
    }
    return nodes;
}

loop_value skeleton_value(struct skeleton_values *values, const struct ir_stage *stage, int node)
{
    struct frame frame = {stage, frame_nodes(values, stage)};
    struct loop_block *block = values->block;
    values->block = NULL; /* names are for the whole, not for what is inlined in it */
    loop_value value = frame_node(values, &frame, node);
    values->block = block;
    if (block)
        skeleton_share(block, &value, 1);
    return value;
}
