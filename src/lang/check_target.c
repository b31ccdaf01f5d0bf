/*
 * The left sides of statements: whose definition it is, shapes that follow, writes in bounds.
 */
#include <string.h>

#include "lang/check_definition.h"

/* ---- whose definition this is ---- */

static int define_next(struct builder *builder, const struct ast_target *target,
                       struct entity *entity)
{
    for (size_t i = 0; builder->loop && entity && i < builder->loop->carries.count; i++) {
        const struct ir_carry *carry = &builder->loop->carries.at[i];
        if (entity->kind != ENTITY_TENSOR || carry->state != entity->number)
            continue;
        if (builder->infos.at[carry->next].definitions > 0 && !target->has_indices) {
            builder_error(builder, ERROR_DEFINED_TWICE, target->place,
                          "the next '%s' is defined twice", target->name);
            return -1;
        }
        return carry->next;
    }
    struct error *error = builder_error(builder, ERROR_MISPLACED_NEXT, target->place,
                                        "no loop here carries '%s'", target->name);
    error_hint(error, "start it at the loop: loop t < T with %s = ... { ... }", target->name);
    return -1;
}

int check_define(struct builder *builder, const struct ast_target *target, bool is_next,
                 bool *fresh)
{
    struct entity *entity = builder_find(builder, target->name);
    *fresh = false;
    if (is_next)
        return define_next(builder, target, entity);
    if (!entity || (entity->kind == ENTITY_TENSOR && builder->infos.at[entity->number].closed)) {
        *fresh = true;
        return -1;
    }
    struct error *error;
    if (entity->kind != ENTITY_TENSOR) {
        error = builder_error(builder, ERROR_DUPLICATE_NAME, target->name_place,
                              "'%s' is taken and cannot be a tensor", target->name);
        error_note(error, entity->place, "defined here");
        return -1;
    }
    const struct ir_tensor *tensor = &builder->tensors.at[entity->number];
    struct tensor_info *info = &builder->infos.at[entity->number];
    if (tensor->role == IR_TENSOR_INPUT) {
        error = builder_error(builder, ERROR_INPUT_WRITTEN, target->name_place,
                              "'%s' is an input and cannot be defined", target->name);
        error_hint(error, "choose another name for the result");
        return -1;
    }
    if (tensor->role == IR_TENSOR_STATE) {
        error = builder_error(builder, ERROR_DEFINED_TWICE, target->name_place,
                              "'%s' is carried by the loop", target->name);
        error_hint(error, "its new value is written: next %s = ...", target->name);
        return -1;
    }
    bool again = info->definitions > 0;
    if (again && (info->read.source || !target->has_indices || !info->has_shape)) {
        error = builder_error(builder, ERROR_DEFINED_TWICE, target->name_place,
                              info->read.source ? "'%s' is defined further after it was read"
                                                : "'%s' is defined a second time",
                              target->name);
        error_note(error, info->read.source ? info->read : info->defined,
                   info->read.source ? "read here" : "first defined here");
        return -1;
    }
    entity->used = entity->used || tensor->role == IR_TENSOR_OUTPUT;
    return entity->number;
}

/* How many of the loops around are indexed on the left, counted from the innermost. */
static int loops_on_left(struct builder *builder, const struct ast_target *target)
{
    int count = 0;
    for (struct loop_scope *loop = builder->loop; loop; loop = loop->outer) {
        bool used = false;
        for (size_t i = 0; i < target->indices.count; i++)
            used |= check_mentions(target->indices.at[i], builder->indices.at[loop->index].name);
        if (!used)
            break;
        count++;
    }
    return count;
}

/* Enters the definition into the books. False with an error reported. */
static bool record_definition(struct builder *builder, int tensor, const struct ast_target *target)
{
    struct tensor_info *info = &builder->infos.at[tensor];
    int depth = info->is_next ? builder->loop_depth : info->depth;
    int indexed = loops_on_left(builder, target);
    if (builder->loop_depth - indexed > depth) {
        struct error *error = builder_error(
            builder, ERROR_NOT_ONE_TO_ONE, target->place,
            "'%s' would be defined again in every iteration of the loop", target->name);
        error_hint(error, "index it by the loop's index, or carry it as a state");
        return false;
    }
    struct loop_scope *loop = builder->loop;
    for (int i = builder->loop_depth; i > depth + 1; i--)
        loop = loop->outer;
    if (builder->loop_depth > depth)
        info->pending = loop;
    info->definitions++;
    info->latest = target->place;
    if (!info->defined.source)
        info->defined = target->place;
    return true;
}

bool target_positions(struct definition *definition, size_t number, struct position *positions,
                      int *count)
{
    struct stage_builder *stage = &definition->stage;
    const struct ast_target *target = &definition->statement->targets.at[number];
    int tensor = definition->tensors[number];
    bool shaped = tensor >= 0 && stage->builder->infos.at[tensor].has_shape;
    return check_positions(stage, &target->indices,
                           shaped ? stage->builder->tensors.at[tensor].rank : -1,
                           shaped ? &stage->builder->infos.at[tensor] : NULL, target->name,
                           target->place, positions, count);
}

/* ---- shapes and writes ---- */

static bool fresh_shape(struct definition *definition, size_t number,
                        const struct position *positions, int count, const struct ir_size **dims)
{
    struct stage_builder *stage = &definition->stage;
    struct builder *builder = stage->builder;
    const struct ast_target *target = &definition->statement->targets.at[number];
    for (int d = 0; d < count; d++) {
        const struct ast_expression *expression = positions[d].expression;
        struct statement_index *index = stage_index_at(stage, &positions[d]);
        struct entity *entity = expression && expression->kind == AST_NAME && !index
                                    ? builder_find(builder, expression->name)
                                    : NULL;
        if (index && index->extent)
            dims[d] = index->extent;
        else if (entity && entity->kind == ENTITY_INDEX)
            dims[d] = builder->indices.at[entity->number].extent;
        else {
            struct error *error = builder_error(
                builder, ERROR_SHAPE_UNKNOWN, expression ? expression->place : target->place,
                "the shape of '%s' does not follow from this", target->name);
            error_hint(error, "declare it above: %s: f32[...], or without a type: %s: [...]",
                       target->name, target->name);
            return false;
        }
    }
    return true;
}

static int make_fresh(struct definition *definition, size_t number,
                      const struct position *positions, int count)
{
    struct builder *builder = definition->stage.builder;
    const struct ast_target *target = &definition->statement->targets.at[number];
    const struct ir_size **dims = arena_array(builder->arena, (size_t)count + 1, sizeof *dims);
    int *layout = arena_array(builder->arena, target->indices.count + 1, sizeof *layout);
    if (!fresh_shape(definition, number, positions, count, dims))
        return -1;
    enum dtype type = stage_type(&definition->stage, definition->values[number]);
    int tensor =
        builder_temporary(builder, target->name, type, false, count, dims, target->name_place);
    struct tensor_info *info = &builder->infos.at[tensor];
    for (size_t i = 0; i < target->indices.count; i++) {
        const struct ast_expression *index = target->indices.at[i];
        int members = 0;
        for (int d = 0; d < count; d++)
            members += positions[d].group && index->kind == AST_GROUP &&
                       strcmp(positions[d].group, index->name) == 0;
        layout[i] = index->kind == AST_GROUP ? (members ? members : -1) : 0;
    }
    info->layout = layout;
    info->layout_count = (int)target->indices.count;
    info->depth = builder->loop_depth - loops_on_left(builder, target);
    info->defined = (struct place){0};
    builder_add(builder, ENTITY_TENSOR, target->name, target->name_place, tensor);
    return tensor;
}

static bool write_is_inside(struct definition *definition, int tensor, int dim, int at,
                            const struct ast_target *target)
{
    struct stage_builder *stage = &definition->stage;
    struct builder *builder = stage->builder;
    struct prover_mark mark = prover_mark(builder->prover);
    if (definition->result.predicate != IR_NONE)
        prover_assume_node(builder->prover, &builder->part, &stage->view,
                           definition->result.predicate, true);
    bool shown = prover_shows_within(builder->prover, &builder->part, &stage->view, at,
                                     builder->tensors.at[tensor].dims[dim]);
    prover_return(builder->prover, mark);
    if (shown)
        return true;
    struct text extent = text_new(builder->arena), last = text_new(builder->arena);
    builder_print_size(builder, &extent, builder->tensors.at[tensor].dims[dim]);
    builder_print_last(builder, &last, builder->tensors.at[tensor].dims[dim]);
    if (!definition->statement->is_scatter) { /* the numbers of a case will tell */
        builder_doubt(builder, ERROR_WRITE_OUT_OF_BOUNDS, target->place,
                      arena_printf(builder->arena,
                                   "'%s' may be written out of bounds: index %d is not shown to be "
                                   "in 0 .. %s",
                                   target->name, dim + 1, last.at),
                      "add a fact (where ...), or a task with cases, for which it is then checked");
        return true;
    }
    struct error *error =
        builder_error(builder, ERROR_WRITE_OUT_OF_BOUNDS, target->place,
                      "'%s' may be written out of bounds: index %d is not shown to be in 0 .. %s",
                      target->name, dim + 1, last.at);
    error_hint(error,
               "declare the index tensor `~ index(%s)`, or leave points out: over ... if ...",
               extent.at);
    return false;
}

/* An undeclared shape takes its type from its first definition. */
static void adopt_type(struct definition *definition, size_t number)
{
    struct builder *builder = definition->stage.builder;
    int tensor = definition->tensors[number];
    if (tensor < 0 || definition->fresh[number])
        return;
    struct ir_tensor *entry = &builder->tensors.at[tensor];
    if (!entry->declared && builder->infos.at[tensor].definitions == 0 &&
        entry->role == IR_TENSOR_TEMPORARY && !builder->infos.at[tensor].is_next)
        entry->dtype = stage_type(&definition->stage, definition->values[number]);
}

bool target_write(struct definition *definition, size_t number, struct ir_write *write)
{
    struct stage_builder *stage = &definition->stage;
    struct builder *builder = stage->builder;
    const struct ast_target *target = &definition->statement->targets.at[number];
    struct position positions[IR_MAX_RANK];
    int count;
    adopt_type(definition, number);
    if (!target_positions(definition, number, positions, &count))
        return false;
    int tensor = definition->tensors[number];
    if (definition->fresh[number]) {
        tensor = make_fresh(definition, number, positions, count);
        if (tensor < 0)
            return false;
        definition->tensors[number] = tensor;
    }
    int *at = arena_array(builder->arena, (size_t)count + 1, sizeof *at);
    int written = definition->is_ranking ? count - 1 : count;
    for (int d = 0; d < written; d++) {
        at[d] = check_position(stage, &positions[d], (struct place){0});
        if (at[d] == IR_NONE || !write_is_inside(definition, tensor, d, at[d], target))
            return false;
    }
    const struct ir_tensor *entry = &builder->tensors.at[tensor];
    bool typed = entry->declared || !definition->fresh[number];
    int value = definition->values[number];
    if (typed) {
        struct place place = definition->statement->value->place;
        value = stage_store(stage, value, entry->dtype, place, target->name);
    }
    if (value == IR_NONE)
        return false;
    struct entity *entity = builder_find(builder, target->name);
    if (entity && definition->width > 1) /* often only one component is wanted */
        entity->used = true;
    *write = (struct ir_write){tensor, at, value};
    return record_definition(builder, tensor, target);
}
