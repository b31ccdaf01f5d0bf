/*
 * The builder of one part: names, tensors, errors. See check.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lang/check.h"

void builder_sync(struct builder *builder)
{
    struct ir_part *part = &builder->part;
    part->symbols = builder->symbols.at;
    part->symbol_count = (int)builder->symbols.count;
    part->families = builder->families.at;
    part->family_count = (int)builder->families.count;
    part->scalars = builder->scalars.at;
    part->scalar_count = (int)builder->scalars.count;
    part->facts = builder->facts.at;
    part->fact_count = (int)builder->facts.count;
    part->indices = builder->indices.at;
    part->index_count = (int)builder->indices.count;
    part->tensors = builder->tensors.at;
    part->tensor_count = (int)builder->tensors.count;
}

struct error *builder_error(struct builder *builder, enum error_code code, struct place place,
                            const char *format, ...)
{
    char message[sizeof((struct error *)0)->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return errors_add(builder->errors, code, place, "%s", message);
}

void builder_doubt(struct builder *builder, enum error_code code, struct place place,
                   const char *message, const char *hint)
{
    vector_push(builder->arena, &builder->instance->doubts,
                (struct doubt){code, place, message, hint});
}

struct entity *builder_find(struct builder *builder, const char *name)
{
    return map_get(&builder->names, name);
}

struct entity *builder_add(struct builder *builder, enum entity_kind kind, const char *name,
                           struct place place, int number)
{
    struct entity *outer = builder_find(builder, name);
    struct entity *entity = arena_new(builder->arena, struct entity);
    *entity = (struct entity){kind, name, place, number, 1, false, outer};
    map_set(&builder->names, name, entity);
    return entity;
}

void builder_drop(struct builder *builder, const char *name)
{
    struct entity *entity = builder_find(builder, name);
    map_set(&builder->names, name, entity ? entity->outer : NULL);
}

void builder_suggest(struct builder *builder, struct error *error, const char *name,
                     const char *const *more, size_t count)
{
    struct candidates VECTOR(const char *) candidates = {0};
    for (size_t i = 0; i < builder->names.count; i++)
        if (builder->names.entries[i].value)
            vector_push(builder->arena, &candidates, builder->names.entries[i].key);
    for (size_t i = 0; i < count; i++)
        vector_push(builder->arena, &candidates, more[i]);
    const char *near = spelling_nearest(name, candidates.at, candidates.count);
    if (near)
        error_hint(error, "did you mean '%s'?", near);
}

int builder_tensor(struct builder *builder, struct ir_tensor tensor, struct tensor_info info)
{
    vector_push(builder->arena, &builder->tensors, tensor);
    vector_push(builder->arena, &builder->infos, info);
    builder_sync(builder);
    return (int)builder->tensors.count - 1;
}

int builder_temporary(struct builder *builder, const char *name, enum dtype dtype, bool declared,
                      int rank, const struct ir_size *const *dims, struct place place)
{
    if (!name)
        name = arena_printf(builder->arena, "%%%d", ++builder->fresh);
    struct ir_tensor tensor = {.name = name,
                               .role = IR_TENSOR_TEMPORARY,
                               .dtype = dtype,
                               .declared = declared,
                               .rank = rank,
                               .dims = dims,
                               .place = place};
    struct tensor_info info = {.has_shape = true, .depth = builder->loop_depth, .defined = place};
    return builder_tensor(builder, tensor, info);
}

const struct poly *builder_poly(struct builder *builder, const struct ir_size *size)
{
    return prover_size(builder->prover, size);
}

bool builder_same_size(struct builder *builder, const struct ir_size *a, const struct ir_size *b)
{
    if (a == b)
        return true;
    if (a->op == IR_SIZE_SYMBOL && b->op == IR_SIZE_SYMBOL && a->symbol == b->symbol)
        return true;
    return prover_shows_equal(builder->prover, builder_poly(builder, a), builder_poly(builder, b));
}

void builder_print_size(struct builder *builder, struct text *out, const struct ir_size *size)
{
    ir_size_print(out, size, &builder->part);
}

void builder_print_shape(struct builder *builder, struct text *out, int tensor)
{
    const struct ir_tensor *entry = &builder->tensors.at[tensor];
    text_char(out, '[');
    for (int d = 0; d < entry->rank; d++) {
        if (d > 0)
            text_add(out, ", ");
        builder_print_size(builder, out, entry->dims[d]);
    }
    text_char(out, ']');
}

void builder_stage(struct builder *builder, const struct ir_stage *stage)
{
    if (++builder->lang->stages > CHECK_MAX_STAGES) {
        builder_error(builder, ERROR_TOO_MANY, stage->place, "the program has more than %d stages",
                      CHECK_MAX_STAGES);
        return;
    }
    vector_push(builder->arena, builder->stages, *stage);
}
