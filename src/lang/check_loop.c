/*
 * Recurrences: loop t < T with h = h0 { ... next h = ... } -> hn
 */
#include "lang/check.h"

/* Makes the tensor that an init statement defined into a state, and gives it a successor. */
static bool add_state(struct builder *builder, struct loop_scope *loop,
                      const struct ast_statement *init)
{
    size_t before = builder->errors->said;
    builder->is_start = true;
    check_statement(builder, init);
    builder->is_start = false;
    const struct ast_target *target = &init->targets.at[0];
    struct entity *entity = builder_find(builder, target->name);
    if (builder->errors->said > before || !entity || entity->kind != ENTITY_TENSOR)
        return false;
    struct ir_tensor *state = &builder->tensors.at[entity->number];
    if (state->role != IR_TENSOR_TEMPORARY) {
        struct error *error =
            builder_error(builder, ERROR_BAD_LOOP, target->place,
                          "'%s' is an output and cannot be a state", target->name);
        error_hint(error, "give the state another name, and the output after ->");
        return false;
    }
    state->role = IR_TENSOR_STATE;
    entity->used = true;
    struct ir_tensor next = *state;
    next.role = IR_TENSOR_TEMPORARY;
    next.name = arena_printf(builder->arena, "%s.next", target->name);
    struct tensor_info info = builder->infos.at[entity->number];
    info.is_next = true;
    info.definitions = 0;
    info.read = info.defined = (struct place){0};
    info.depth = builder->loop_depth + 1;
    int number = builder_tensor(builder, next, info);
    vector_push(builder->arena, &loop->carries, (struct ir_carry){entity->number, number});
    return true;
}

/* What the body defined for itself is gone; what it wrote slice by slice is complete. */
static void close_scope(struct builder *builder, const struct loop_scope *loop)
{
    for (size_t i = 0; i < builder->infos.count; i++) {
        struct tensor_info *info = &builder->infos.at[i];
        if (info->depth > builder->loop_depth)
            info->closed = true;
        if (info->pending == loop)
            info->pending = NULL;
    }
}

static void check_results(struct builder *builder, const struct ast_statement *statement,
                          const struct loop_scope *loop)
{
    if (statement->finals.count > loop->carries.count) {
        builder_error(builder, ERROR_BAD_LOOP, statement->finals.at[loop->carries.count].place,
                      "the loop carries %zu state%s, here is one name more", loop->carries.count,
                      loop->carries.count == 1 ? "" : "s");
        return;
    }
    for (size_t i = 0; i < statement->finals.count; i++) {
        const struct ast_name *final = &statement->finals.at[i];
        struct ast_target target = {
            .name = final->name, .place = final->place, .name_place = final->place};
        bool fresh;
        int to = check_define(builder, &target, false, &fresh);
        int state = loop->carries.at[i].state;
        const struct ir_tensor *entry = &builder->tensors.at[state];
        if (fresh) {
            to = builder_temporary(builder, final->name, entry->dtype, entry->declared, entry->rank,
                                   entry->dims, final->place);
            builder->infos.at[to].layout = builder->infos.at[state].layout;
            builder->infos.at[to].layout_count = builder->infos.at[state].layout_count;
            builder_add(builder, ENTITY_TENSOR, final->name, final->place, to);
        }
        if (to >= 0)
            check_copy(builder, to, state, final->place);
    }
}

/* Nothing inside can be judged; what it would have defined is unknown. */
static void poison_loop(struct builder *builder, const struct ast_statement *statement)
{
    for (size_t i = 0; i < statement->finals.count; i++)
        if (!builder_find(builder, statement->finals.at[i].name))
            builder_add(builder, ENTITY_FAILED, statement->finals.at[i].name,
                        statement->finals.at[i].place, 0);
    for (size_t i = 0; i < statement->body.count; i++)
        check_poison(builder, &statement->body.at[i]);
}

/* Every state has a next value. */
static void check_carries(struct builder *builder, const struct loop_scope *loop)
{
    for (size_t i = 0; i < loop->carries.count; i++) {
        const struct ir_carry *carry = &loop->carries.at[i];
        if (builder->infos.at[carry->next].definitions > 0)
            continue;
        struct error *error =
            builder_error(builder, ERROR_BAD_LOOP, loop->place, "the next '%s' is never defined",
                          builder->tensors.at[carry->state].name);
        error_hint(error, "write in the body: next %s[...] = ...",
                   builder->tensors.at[carry->state].name);
    }
}

void check_loop(struct builder *builder, const struct ast_statement *statement)
{
    struct loop_scope loop = {.outer = builder->loop, .place = statement->place};
    const struct ir_size *extent = check_size(builder, statement->high);
    bool good = extent != NULL;
    for (size_t i = 0; i < statement->inits.count; i++)
        good &= add_state(builder, &loop, &statement->inits.at[i]);
    struct entity *entity = builder_find(builder, statement->index.name);
    if (entity && entity->kind != ENTITY_TENSOR) {
        struct error *error =
            builder_error(builder, ERROR_DUPLICATE_NAME, statement->index.place,
                          "'%s' is taken and cannot be an index", statement->index.name);
        error_note(error, entity->place, "defined here");
        good = false;
    }
    if (!good) {
        poison_loop(builder, statement);
        return;
    }
    vector_push(builder->arena, &builder->indices,
                (struct ir_index){statement->index.name, extent, IR_NONE, IR_NONE});
    builder_sync(builder);
    loop.index = (int)builder->indices.count - 1;
    builder_add(builder, ENTITY_INDEX, statement->index.name, statement->index.place, loop.index);
    struct stages body = {0}, *outer = builder->stages;
    struct prover_mark mark = prover_mark(builder->prover);
    prover_enter_index(builder->prover, &builder->part, NULL, loop.index);
    builder->stages = &body;
    builder->loop = &loop;
    builder->loop_depth++;
    check_statements(builder, &statement->body);
    check_carries(builder, &loop);
    builder->loop_depth--;
    builder->loop = loop.outer;
    builder->stages = outer;
    prover_return(builder->prover, mark);
    builder_drop(builder, statement->index.name);
    builder_stage(builder, &(struct ir_stage){.kind = IR_LOOP,
                                              .place = statement->place,
                                              .predicate = IR_NONE,
                                              .from = IR_NONE,
                                              .along = IR_NONE,
                                              .loop_index = loop.index,
                                              .reverse = statement->reverse,
                                              .body = body.at,
                                              .body_count = (int)body.count,
                                              .carries = loop.carries.at,
                                              .carry_count = (int)loop.carries.count});
    close_scope(builder, &loop);
    check_results(builder, statement, &loop);
    for (size_t i = 0; i < loop.carries.count; i++)
        builder->infos.at[loop.carries.at[i].state].closed = true;
}
