/*
 * Statements, each sent to what checks its kind; declarations and `each`; what a fault leaves
 * behind.
 */
#include "lang/check_definition.h"

/* ---- one fault, one message ---- */

void check_poison(struct builder *builder, const struct ast_statement *statement)
{
    for (size_t i = 0; i < statement->targets.count; i++) {
        const struct ast_target *target = &statement->targets.at[i];
        struct entity *entity = builder_find(builder, target->name);
        bool is_tensor = entity && (entity->kind == ENTITY_TENSOR || entity->kind == ENTITY_LIST);
        if (!is_tensor ||
            (entity->kind == ENTITY_TENSOR && builder->infos.at[entity->number].closed))
            builder_add(builder, ENTITY_FAILED, target->name, target->name_place, 0);
        else if (entity->kind == ENTITY_TENSOR &&
                 builder->tensors.at[entity->number].role != IR_TENSOR_INPUT)
            builder->infos.at[entity->number].definitions++;
        bool is_state = entity && entity->kind == ENTITY_TENSOR && builder->loop;
        for (size_t c = 0; is_state && c < builder->loop->carries.count; c++)
            if (builder->loop->carries.at[c].state == entity->number)
                builder->infos.at[builder->loop->carries.at[c].next].definitions++;
    }
}

bool check_is_poisoned(struct builder *builder, const struct ast_expression *expression)
{
    if (!expression)
        return false;
    bool named = expression->kind == AST_NAME || expression->kind == AST_READ;
    struct entity *entity = named ? builder_find(builder, expression->name) : NULL;
    if (entity && entity->kind == ENTITY_FAILED)
        return true;
    for (size_t i = 0; i < expression->list.count; i++)
        if (check_is_poisoned(builder, expression->list.at[i]))
            return true;
    return check_is_poisoned(builder, expression->a) || check_is_poisoned(builder, expression->b) ||
           check_is_poisoned(builder, expression->c);
}

static bool statement_is_poisoned(struct builder *builder, const struct ast_statement *statement)
{
    bool poisoned = check_is_poisoned(builder, statement->value) ||
                    check_is_poisoned(builder, statement->condition);
    for (size_t i = 0; i < statement->over.count; i++)
        poisoned |= check_is_poisoned(builder, statement->over.at[i].low) ||
                    check_is_poisoned(builder, statement->over.at[i].high);
    for (size_t i = 0; i < statement->targets.count; i++) {
        struct entity *entity = builder_find(builder, statement->targets.at[i].name);
        poisoned |= entity && entity->kind == ENTITY_FAILED;
    }
    return poisoned;
}

/* ---- declarations, each, and the list of statements ---- */

static void declare(struct builder *builder, const struct ast_declaration *declaration)
{
    for (size_t i = 0; i < declaration->names.count; i++) {
        const struct ast_name *name = &declaration->names.at[i];
        struct entity *entity = builder_find(builder, name->name);
        bool closed =
            entity && entity->kind == ENTITY_TENSOR && builder->infos.at[entity->number].closed;
        if (entity && !closed) {
            struct error *error = builder_error(builder, ERROR_DUPLICATE_NAME, name->place,
                                                "'%s' is defined already", name->name);
            error_note(error, entity->place, "first defined here");
            continue;
        }
        struct entity *failed = builder_add(builder, ENTITY_FAILED, name->name, name->place, 0);
        failed->used = true;
        struct ir_tensor tensor = {.name = name->name,
                                   .role = IR_TENSOR_TEMPORARY,
                                   .dtype = DTYPE_F32,
                                   .declared = declaration->type != NULL,
                                   .place = name->place};
        struct tensor_info info = {.depth = builder->loop_depth};
        if (declaration->type &&
            !check_type(builder, declaration->type, declaration->type_place, &tensor.dtype))
            continue;
        if (!check_dims(builder, &declaration->dims, 0, &tensor, &info))
            continue;
        int number = builder_tensor(builder, tensor, info);
        builder_drop(builder, name->name);
        builder_add(builder, ENTITY_TENSOR, name->name, name->place, number);
    }
}

static void each(struct builder *builder, const struct ast_statement *statement)
{
    struct entity *list = builder_find(builder, statement->list.name);
    bool counted = list && (list->kind == ENTITY_LIST || list->kind == ENTITY_EACH ||
                            list->kind == ENTITY_RANK);
    if (!counted) {
        struct error *error = builder_error(builder, ERROR_BAD_LIST, statement->list.place,
                                            "'%s' is no list", statement->list.name);
        error_hint(error, "`each` runs over a list input, declared as xs: T[N]...");
        return;
    }
    list->used = true;
    for (int k = 0; k < list->count; k++) {
        size_t before = builder->errors->said;
        struct entity *entity =
            builder_add(builder, ENTITY_STATIC, statement->index.name, statement->index.place, k);
        entity->used = true;
        check_statements(builder, &statement->body);
        builder_drop(builder, statement->index.name);
        if (builder->errors->said > before)
            return; /* the other members would say the same again */
    }
}

void check_statement(struct builder *builder, const struct ast_statement *statement)
{
    switch (statement->kind) {
    case AST_DECLARE: declare(builder, &statement->declaration); break;
    case AST_LOOP: check_loop(builder, statement); break;
    case AST_EACH: each(builder, statement); break;
    case AST_DEFINE: {
        size_t before = builder->errors->said;
        builder->statement = statement;
        if (statement_is_poisoned(builder, statement)) {
            check_poison(builder, statement);
            break;
        }
        bool indexed = statement->reducer || statement->is_scatter || statement->is_scan;
        for (size_t i = 0; i < statement->targets.count; i++)
            indexed |= statement->targets.at[i].has_indices;
        if (indexed)
            check_definition(builder, statement);
        else
            check_whole(builder, statement);
        if (builder->errors->said > before)
            check_poison(builder, statement);
        break;
    }
    }
}

void check_statements(struct builder *builder, const struct ast_statements *statements)
{
    for (size_t i = 0; i < statements->count; i++)
        check_statement(builder, &statements->at[i]);
}
