/*
 * Statements on whole tensors: y = relu(t) + u, elementwise over equal shapes, and copies.
 */
#include <string.h>

#include "lang/check.h"

static bool in_library(struct lang *lang, const struct ast_op *op)
{
    const struct lang_file *owner = lang_owner(lang, op);
    const struct lang_file *library = lang_library(lang, NULL);
    for (size_t i = 0; library && i < library->includes.count; i++)
        if (library->includes.at[i] == owner)
            return true;
    return false;
}

/* sum(B) of sizes is a size, whatever the library calls sum. */
static bool is_of_sizes(struct builder *builder, const struct ast_expression *call)
{
    struct entity *entity = call->list.count >= 1 && call->list.at[0]->kind == AST_NAME
                                ? builder_find(builder, call->list.at[0]->name)
                                : NULL;
    return entity && (entity->kind == ENTITY_RANK || entity->kind == ENTITY_EACH);
}

static bool is_op_call(struct builder *builder, const struct ast_expression *expression)
{
    enum dtype dtype;
    if (expression->kind != AST_CALL || dtype_parse(expression->name, &dtype) ||
        is_of_sizes(builder, expression))
        return false;
    struct lang_file *file = builder->file;
    const struct ast_op *op = lang_find_op(builder->lang, file, expression->name);
    if (!op || expression->named.count)
        return op != NULL;
    /* exp, relu: the library has both a function and an op, and only the function never rounds */
    bool is_function =
        check_is_builtin(expression->name) || lang_find_fn(builder->lang, file, expression->name);
    return !is_function || !in_library(builder->lang, op);
}

/* ---- elementwise ---- */

/* Runs the op calls inside an expression first. False with an error reported. */
static bool hoist_calls(struct stage_builder *stage, const struct ast_expression *expression)
{
    if (!expression)
        return true;
    if (is_op_call(stage->builder, expression)) {
        int tensor = check_tensor_argument(stage->builder, expression);
        if (tensor < 0)
            return false;
        map_set_bytes(&stage->hoisted, &expression, sizeof expression,
                      (void *)(intptr_t)(tensor + 1));
        return true;
    }
    bool good = true;
    for (size_t i = 0; i < expression->list.count && expression->kind != AST_READ; i++)
        good &= hoist_calls(stage, expression->list.at[i]);
    return good && hoist_calls(stage, expression->a) && hoist_calls(stage, expression->b) &&
           hoist_calls(stage, expression->c);
}

/* The first whole tensor in an expression: its shape is the statement's. -1 when there is none. */
static int first_tensor(struct stage_builder *stage, const struct ast_expression *expression)
{
    if (!expression)
        return -1;
    void *hoisted = map_get_bytes(&stage->hoisted, &expression, sizeof expression);
    if (hoisted)
        return (int)((intptr_t)hoisted - 1);
    struct entity *entity =
        expression->kind == AST_NAME ? builder_find(stage->builder, expression->name) : NULL;
    if (entity && entity->kind == ENTITY_TENSOR)
        return entity->number;
    int found = -1;
    for (size_t i = 0; found < 0 && i < expression->list.count && expression->kind != AST_READ; i++)
        found = first_tensor(stage, expression->list.at[i]);
    if (found < 0)
        found = first_tensor(stage, expression->a);
    if (found < 0)
        found = first_tensor(stage, expression->b);
    return found < 0 ? first_tensor(stage, expression->c) : found;
}

/* The first name that nothing defines, or NULL. */
static const struct ast_expression *unknown_name(struct builder *builder,
                                                 const struct ast_expression *expression)
{
    if (!expression)
        return NULL;
    if (expression->kind == AST_NAME && !builder_find(builder, expression->name) &&
        !check_is_constant(expression->name))
        return expression;
    const struct ast_expression *found = NULL;
    for (size_t i = 0; !found && i < expression->list.count && expression->kind != AST_READ; i++)
        found = unknown_name(builder, expression->list.at[i]);
    if (!found)
        found = unknown_name(builder, expression->a);
    if (!found)
        found = unknown_name(builder, expression->b);
    return found ? found : unknown_name(builder, expression->c);
}

/* One index per dimension, all of them on the left. */
static void open_domain(struct stage_builder *stage, const struct ir_tensor *shape,
                        struct ir_stage *result)
{
    struct builder *builder = stage->builder;
    int *indices = arena_array(builder->arena, (size_t)shape->rank + 1, sizeof *indices);
    int *nodes = arena_array(builder->arena, (size_t)shape->rank + 1, sizeof *nodes);
    for (int d = 0; d < shape->rank; d++) {
        vector_push(builder->arena, &builder->indices,
                    (struct ir_index){arena_printf(builder->arena, "i%d", d), shape->dims[d],
                                      IR_NONE, IR_NONE});
        indices[d] = (int)builder->indices.count - 1;
        nodes[d] = stage_node(stage, (struct ir_node){.op = IR_INDEX,
                                                      .type = DTYPE_I64,
                                                      .a = IR_NONE,
                                                      .b = IR_NONE,
                                                      .c = IR_NONE,
                                                      .index = indices[d]});
    }
    builder_sync(builder);
    for (int d = 0; d < shape->rank; d++)
        prover_enter_index(builder->prover, &builder->part, &stage->view, indices[d]);
    stage->whole = true;
    stage->whole_indices = nodes;
    stage->whole_rank = shape->rank;
    result->indices = indices;
    result->index_count = result->left_count = shape->rank;
}

/* Defines `to` (or a new temporary when -1) by an expression. Returns the tensor or -1. */
static int whole_map(struct builder *builder, const struct ast_expression *expression, int to,
                     struct place place)
{
    struct stage_builder stage;
    stage_builder_init(&stage, builder);
    if (!hoist_calls(&stage, expression))
        return -1;
    int shape = first_tensor(&stage, expression);
    const struct ast_expression *unknown = shape < 0 ? unknown_name(builder, expression) : NULL;
    if (unknown) {
        check_tensor(builder, unknown->name, unknown->place, NULL);
        return -1;
    }
    if (shape < 0 && to < 0) {
        struct error *error = builder_error(builder, ERROR_SHAPE_UNKNOWN, expression->place,
                                            "no tensor here says which shape this has");
        error_hint(error, "write the indices: t[i] = ... over i < N; a single value is t[] = ...");
        return -1;
    }
    if (shape < 0 || (to >= 0 && builder->tensors.at[to].rank == builder->tensors.at[shape].rank))
        shape = to >= 0 ? to : shape;
    struct prover_mark mark = prover_mark(builder->prover);
    struct ir_stage result = {.kind = IR_MAP,
                              .place = place,
                              .predicate = IR_NONE,
                              .from = IR_NONE,
                              .along = IR_NONE,
                              .write_count = 1};
    const struct ir_tensor like = builder->tensors.at[shape];
    stage.whole_like = shape;
    open_domain(&stage, &like, &result);
    int value = check_value(&stage, expression);
    prover_return(builder->prover, mark);
    if (value == IR_NONE)
        return -1;
    if (to >= 0 && like.rank != builder->tensors.at[to].rank) {
        struct text must = text_new(builder->arena), is = text_new(builder->arena);
        builder_print_shape(builder, &must, to);
        builder_print_shape(builder, &is, shape);
        struct error *error = builder_error(builder, ERROR_SHAPE_MISMATCH, expression->place,
                                            "%s has the shape %s, this has %s",
                                            builder_tensor_name(builder, to), must.at, is.at);
        error_hint(error, "nothing is broadcast silently: write the indices out");
        return -1;
    }
    if (to < 0)
        to = builder_temporary(builder, NULL, stage_type(&stage, value), false, like.rank,
                               like.dims, place);
    else if (!builder->tensors.at[to].declared && builder->infos.at[to].definitions == 0 &&
             !builder->infos.at[to].is_next)
        builder->tensors.at[to].dtype = stage_type(&stage, value);
    const struct ir_tensor *target = &builder->tensors.at[to];
    value = stage_store(&stage, value, target->dtype, expression->place, target->name);
    if (value == IR_NONE)
        return -1;
    struct ir_write *write = arena_new(builder->arena, struct ir_write);
    *write = (struct ir_write){to, stage.whole_indices, value};
    result.writes = write;
    result.nodes = stage.view;
    builder_stage(builder, &result);
    builder->infos.at[to].definitions++;
    return to;
}

void check_copy(struct builder *builder, int to, int from, struct place place)
{
    const struct ir_tensor *source = &builder->tensors.at[from];
    struct ast_expression name = {.kind = AST_NAME, .place = place, .name = source->name};
    struct entity *entity = builder_add(builder, ENTITY_TENSOR, source->name, place, from);
    entity->used = true;
    struct ast_expression *kept = arena_new(builder->arena, struct ast_expression);
    *kept = name;
    whole_map(builder, kept, to, place);
    builder_drop(builder, source->name);
}

/* ---- arguments ---- */

int check_tensor_argument(struct builder *builder, const struct ast_expression *expression)
{
    struct entity *entity = expression->kind == AST_READ || expression->kind == AST_NAME
                                ? builder_find(builder, expression->name)
                                : NULL;
    if (expression->kind == AST_READ && entity && entity->kind == ENTITY_LIST &&
        !expression->element && expression->list.count == 1)
        return check_tensor(builder, expression->name, expression->name_place,
                            expression->list.at[0]);
    if (expression->kind == AST_NAME &&
        (!entity || entity->kind == ENTITY_TENSOR || entity->kind == ENTITY_LIST)) {
        int tensor = check_tensor(builder, expression->name, expression->place, NULL);
        if (tensor < 0)
            return -1;
        return check_readable(builder, tensor, expression->place) ? tensor : -1;
    }
    if (is_op_call(builder, expression)) {
        int result = -1, wanted = -1;
        return check_call(builder, expression, &wanted, &result, 1) ? result : -1;
    }
    return whole_map(builder, expression, -1, expression->place);
}

/* ---- the statement ---- */

static void adopt_fresh(struct builder *builder, const struct ast_target *target, int tensor,
                        bool is_component)
{
    struct ir_tensor *entry = &builder->tensors.at[tensor];
    entry->name = target->name;
    entry->place = target->name_place;
    builder->infos.at[tensor].defined = target->place;
    builder->infos.at[tensor].depth = builder->loop_depth;
    struct entity *entity =
        builder_add(builder, ENTITY_TENSOR, target->name, target->name_place, tensor);
    entity->used = is_component; /* one that is not wanted cannot be left out */
}

/* A tensor without indices inside a loop is defined again in every iteration. */
static bool defined_once(struct builder *builder, int tensor, const struct ast_target *target)
{
    if (tensor < 0 || builder->infos.at[tensor].is_next ||
        builder->infos.at[tensor].depth >= builder->loop_depth)
        return true;
    struct error *error =
        builder_error(builder, ERROR_NOT_ONE_TO_ONE, target->place,
                      "'%s' would be defined again in every iteration of the loop", target->name);
    error_hint(error, "index it by the loop's index, or carry it as a state");
    return false;
}

void check_whole(struct builder *builder, const struct ast_statement *statement)
{
    int wanted[CHECK_MAX_WIDTH] = {0}, results[CHECK_MAX_WIDTH];
    bool fresh[CHECK_MAX_WIDTH];
    size_t count = statement->targets.count;
    if (count > CHECK_MAX_WIDTH || statement->over.count || statement->condition) {
        struct error *error = builder_error(
            builder, count > CHECK_MAX_WIDTH ? ERROR_TOO_MANY : ERROR_BAD_RANGE, statement->place,
            count > CHECK_MAX_WIDTH ? "more than 8 tensors on the left"
                                    : "a statement on whole tensors has no 'over' and no 'if'");
        error_hint(error, "write the indices: %s[...] = ...", statement->targets.at[0].name);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct ast_target *target = &statement->targets.at[i];
        wanted[i] = check_define(builder, target, statement->is_next, &fresh[i]);
        if ((wanted[i] < 0 && !fresh[i]) || !defined_once(builder, wanted[i], target))
            return;
    }
    if (is_op_call(builder, statement->value)) {
        if (!check_call(builder, statement->value, wanted, results, (int)count))
            return;
    } else if (count > 1) {
        struct error *error = builder_error(builder, ERROR_TUPLE_WIDTH, statement->value->place,
                                            "several results come only from an op");
        error_hint(error, "write one statement for each");
        return;
    } else if ((results[0] = whole_map(builder, statement->value, wanted[0], statement->place)) <
               0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct ast_target *target = &statement->targets.at[i];
        if (fresh[i])
            adopt_fresh(builder, target, results[i], count > 1);
        else if (!builder->infos.at[wanted[i]].defined.source)
            builder->infos.at[wanted[i]].defined = target->place;
    }
}
