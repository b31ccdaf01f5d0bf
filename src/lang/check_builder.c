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

/* Members of families are "N.0" in a part; a person writes N[0]. */
static void print_written(struct text *out, const char *name)
{
    for (const char *at = name; *at; at++) {
        bool member = *at == '.' && at > name && at[1] >= '0' && at[1] <= '9';
        if (!member) {
            text_char(out, *at);
            continue;
        }
        text_char(out, '[');
        for (; at[1] >= '0' && at[1] <= '9'; at++)
            text_char(out, at[1]);
        text_char(out, ']');
    }
}

const char *builder_tensor_name(struct builder *builder, int tensor)
{
    const char *name = builder->tensors.at[tensor].name;
    if (name[0] == '%')
        return "the result";
    struct text out = text_new(builder->arena);
    size_t length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, ".next") == 0)
        text_printf(&out, "the next '%.*s'", (int)length - 5, name);
    else {
        text_char(&out, '\'');
        print_written(&out, name);
        text_char(&out, '\'');
    }
    return out.at;
}

void builder_print_size(struct builder *builder, struct text *out, const struct ir_size *size)
{
    struct text plain = text_new(builder->arena);
    ir_size_print(&plain, size, &builder->part);
    print_written(out, plain.at);
}

void builder_print_last(struct builder *builder, struct text *out, const struct ir_size *size)
{
    const struct poly *one = poly_constant(builder->prover, 1);
    const struct ir_size *last = poly_to_size(
        builder->prover, poly_subtract(builder->prover, builder_poly(builder, size), one));
    builder_print_size(builder, out, last ? last : size);
    if (!last)
        text_add(out, " - 1");
}

/* The family whose members fill these dimensions from `first` on, or NULL. */
static const struct ir_family *whole_family(struct builder *builder, const struct ir_tensor *tensor,
                                            int first)
{
    for (size_t f = 0; f < builder->families.count; f++) {
        const struct ir_family *family = &builder->families.at[f];
        const struct entity *entity = builder_find(builder, family->name);
        bool whole = entity && entity->kind == ENTITY_RANK && family->count > 0 &&
                     first + family->count <= tensor->rank;
        for (int k = 0; whole && k < family->count; k++) {
            const struct ir_size *size = tensor->dims[first + k];
            whole = size->op == IR_SIZE_SYMBOL && size->symbol == entity->number + k;
        }
        if (whole)
            return family;
    }
    return NULL;
}

void builder_print_shape(struct builder *builder, struct text *out, int tensor)
{
    const struct ir_tensor *entry = &builder->tensors.at[tensor];
    text_char(out, '[');
    for (int d = 0; d < entry->rank; d++) {
        if (d > 0)
            text_add(out, ", ");
        const struct ir_family *family = whole_family(builder, entry, d);
        if (family) {
            text_printf(out, "*%s", family->name);
            d += family->count - 1;
        } else {
            builder_print_size(builder, out, entry->dims[d]);
        }
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
