/*
 * Instances: an op at concrete types, ranks and list lengths, checked once and kept.
 */
#include <ctype.h>
#include <string.h>

#include "lang/check.h"

/* ---- keys ---- */

static bool is_type_variable(const char *type)
{
    enum dtype dtype;
    return type && isupper((unsigned char)type[0]) && !dtype_parse(type, &dtype);
}

static void add_type(struct arena *arena, struct instance_key *key, const char *name)
{
    if (!instance_type(key, name))
        vector_push(arena, &key->types, (struct type_binding){.name = name});
}

static void add_count(struct arena *arena, struct count_bindings *counts, const char *name)
{
    for (size_t i = 0; i < counts->count; i++)
        if (strcmp(counts->at[i].name, name) == 0)
            return;
    vector_push(arena, counts, (struct count_binding){name, -1});
}

struct instance_key instance_key_new(struct arena *arena, const struct ast_op *op)
{
    struct instance_key key = {0};
    const struct ast_declarations *lists[] = {&op->inputs, &op->parameters, &op->outputs};
    for (int l = 0; l < 3; l++)
        for (size_t i = 0; i < lists[l]->count; i++) {
            const struct ast_declaration *declaration = &lists[l]->at[i];
            bool is_type = declaration->type && strcmp(declaration->type, "type") == 0;
            if (is_type_variable(declaration->type))
                add_type(arena, &key, declaration->type);
            for (size_t k = 0; k < declaration->names.count; k++) {
                if (is_type && l == 1)
                    add_type(arena, &key, declaration->names.at[k].name);
                if (declaration->is_list)
                    add_count(arena, &key.lists, declaration->names.at[k].name);
            }
            for (size_t d = 0; d < declaration->dims.count; d++)
                if (declaration->dims.at[d].kind == AST_DIM_RANK && l == 0)
                    add_count(arena, &key.ranks, declaration->dims.at[d].name);
        }
    return key;
}

struct type_binding *instance_type(struct instance_key *key, const char *name)
{
    for (size_t i = 0; i < key->types.count; i++)
        if (strcmp(key->types.at[i].name, name) == 0)
            return &key->types.at[i];
    return NULL;
}

static int *find_count(struct count_bindings *counts, const char *name)
{
    for (size_t i = 0; i < counts->count; i++)
        if (strcmp(counts->at[i].name, name) == 0)
            return &counts->at[i].count;
    return NULL;
}

int *instance_rank(struct instance_key *key, const char *name)
{
    return find_count(&key->ranks, name);
}

int *instance_list(struct instance_key *key, const char *name)
{
    return find_count(&key->lists, name);
}

const char *type_class(const struct ast_op *op, const char *variable)
{
    for (size_t i = 0; i < op->clauses.count; i++) {
        const struct ast_clause *clause = &op->clauses.at[i];
        if (clause->kind == AST_WHERE && !clause->value && strcmp(clause->name.name, variable) == 0)
            return clause->class.name;
    }
    return "float";
}

bool type_class_admits(const struct ast_op *op, const char *variable, enum dtype dtype)
{
    const char *class = type_class(op, variable);
    if (strcmp(class, "any") == 0)
        return true;
    if (strcmp(class, "number") == 0)
        return dtype != DTYPE_BOOL;
    return strcmp(class, "int") == 0 ? dtype_is_integer(dtype) : dtype_is_float(dtype);
}

void instance_key_default(struct instance_key *key, const struct ast_op *op)
{
    for (size_t i = 0; i < key->types.count; i++) {
        struct type_binding *binding = &key->types.at[i];
        if (!binding->bound)
            binding->dtype =
                strcmp(type_class(op, binding->name), "int") == 0 ? DTYPE_I32 : DTYPE_F32;
        binding->bound = true;
    }
    for (size_t i = 0; i < key->ranks.count; i++)
        if (key->ranks.at[i].count < 0)
            key->ranks.at[i].count = 2;
    for (size_t i = 0; i < key->lists.count; i++)
        if (key->lists.at[i].count < 0)
            key->lists.at[i].count = 2;
}

/* ---- building ---- */

static void check_unbound_types(struct builder *builder)
{
    const struct ast_op *op = builder->op;
    for (size_t t = 0; t < builder->key->types.count; t++) {
        const char *name = builder->key->types.at[t].name;
        bool bound = false;
        for (size_t i = 0; i < op->inputs.count; i++)
            bound |= op->inputs.at[i].type && strcmp(op->inputs.at[i].type, name) == 0;
        struct place place = op->name.place;
        for (size_t i = 0; i < op->parameters.count; i++)
            for (size_t k = 0; k < op->parameters.at[i].names.count; k++)
                bound |= strcmp(op->parameters.at[i].type, "type") == 0 &&
                         strcmp(op->parameters.at[i].names.at[k].name, name) == 0;
        for (size_t i = 0; i < op->outputs.count; i++)
            if (op->outputs.at[i].type && strcmp(op->outputs.at[i].type, name) == 0)
                place = op->outputs.at[i].type_place;
        if (bound)
            continue;
        struct error *error = builder_error(builder, ERROR_TYPE_UNBOUND, place,
                                            "type %s follows from no input", name);
        error_hint(error, "make it a parameter: ; %s: type", name);
    }
}

static void check_all_defined(struct builder *builder)
{
    for (size_t i = 0; i < builder->tensors.count; i++) {
        const struct ir_tensor *tensor = &builder->tensors.at[i];
        if (builder->infos.at[i].definitions > 0 || builder->infos.at[i].is_next)
            continue;
        struct error *error =
            builder_error(builder, ERROR_NEVER_DEFINED, tensor->place, "%s '%s' is never defined",
                          tensor->role == IR_TENSOR_OUTPUT ? "output" : "tensor", tensor->name);
        struct name_list VECTOR(const char *) others = {0};
        for (size_t k = 0; k < builder->tensors.count; k++)
            if (builder->tensors.at[k].role == IR_TENSOR_TEMPORARY &&
                builder->infos.at[k].definitions > 0)
                vector_push(builder->arena, &others, builder->tensors.at[k].name);
        const char *near = spelling_nearest(tensor->name, others.at, others.count);
        if (near)
            error_hint(error, "is it spelt '%s' where it is defined?", near);
        else
            error_hint(error, "add a statement: %s[...] = ...", tensor->name);
    }
}

static void check_all_used(struct builder *builder)
{
    bool reads_inputs = false;
    for (size_t i = 0; i < builder->names.count; i++) {
        const struct entity *entity = builder->names.entries[i].value;
        reads_inputs |= entity && entity->used &&
                        (entity->kind == ENTITY_TENSOR || entity->kind == ENTITY_LIST) &&
                        builder->tensors.at[entity->number].role == IR_TENSOR_INPUT;
    }
    for (size_t i = 0; i < builder->names.count; i++) {
        const struct entity *entity = builder->names.entries[i].value;
        if (!entity || entity->used)
            continue;
        const char *what = NULL;
        if (entity->kind == ENTITY_SCALAR)
            what = "parameter";
        else if (entity->kind == ENTITY_SYMBOL)
            what = builder->symbols.at[entity->number].kind == IR_SYMBOL_PARAMETER ? "parameter"
                   : builder->symbols.at[entity->number].kind == IR_SYMBOL_LET     ? "size"
                                                                                   : NULL;
        else if (entity->kind == ENTITY_TENSOR || entity->kind == ENTITY_LIST)
            switch (builder->tensors.at[entity->number].role) {
            case IR_TENSOR_TEMPORARY: what = "tensor"; break;
            case IR_TENSOR_INPUT: what = reads_inputs ? "input" : NULL; break;
            default: break;
            }
        if (!what)
            continue;
        struct error *error = builder_error(builder, ERROR_UNUSED_NAME, entity->place,
                                            "%s '%s' is never used", what, entity->name);
        error_hint(error, "remove it, or use it");
    }
}

static void check_all_covered(struct builder *builder)
{
    const struct ir_definitions *definitions = ir_definitions_new(builder->arena, &builder->part);
    for (size_t i = 0; i < builder->tensors.count; i++) {
        struct text why = text_new(builder->arena);
        enum cover cover = ir_cover(builder->prover, definitions, (int)i, &why);
        if (cover == COVER_YES)
            continue;
        struct tensor_info *info = &builder->infos.at[i];
        struct place place = info->latest.source    ? info->latest
                             : info->defined.source ? info->defined
                                                    : builder->tensors.at[i].place;
        bool doubted = false; /* what may be written outside need not be said to be left out too */
        for (size_t k = 0; k < builder->instance->doubts.count; k++)
            doubted |= builder->instance->doubts.at[k].place.offset == place.offset;
        if (doubted && cover == COVER_UNKNOWN)
            continue;
        const char *hint = strstr(why.at, "diagonal")
                               ? "write two indices: y[i, j] = i == j ? ... : 0"
                               : "statements that define slices must be disjoint and leave nothing "
                                 "out";
        if (cover == COVER_NO)
            error_hint(builder_error(builder, ERROR_SLICES, place, "%s", why.at), "%s", hint);
        else
            builder_doubt(builder, ERROR_SLICES, place, why.at, hint);
    }
}

/* What the op's type variables stand for here: a part tells by them which instance it is. */
static void keep_types(struct builder *builder)
{
    const struct instance_key *key = builder->key;
    struct ir_type *types = arena_array(builder->arena, key->types.count + 1, sizeof *types);
    for (size_t i = 0; i < key->types.count; i++)
        types[i] = (struct ir_type){key->types.at[i].name, key->types.at[i].dtype};
    builder->part.types = types;
    builder->part.type_count = (int)key->types.count;
}

static struct ir_part *build_part(struct builder *builder)
{
    size_t before = builder->errors->said;
    struct stages stages = {0};
    check_unbound_types(builder);
    keep_types(builder);
    check_signature(builder);
    if (builder->errors->said > before)
        return NULL;
    builder->prover = prover_new(builder->arena, &builder->part, NULL);
    builder->stages = &stages;
    check_statements(builder, &builder->op->body);
    builder->part.stages = stages.at;
    builder->part.stage_count = (int)stages.count;
    if (builder->errors->said == before)
        check_all_defined(builder);
    if (builder->errors->said == before) {
        check_all_covered(builder);
    }
    if (builder->errors->said == before)
        check_all_used(builder);
    if (builder->errors->said > before)
        return NULL;
    struct ir_part *part = arena_new(builder->arena, struct ir_part);
    *part = builder->part;
    return part;
}

static const char *print_key(struct arena *arena, const struct ast_op *op,
                             const struct instance_key *key)
{
    struct text text = text_new(arena);
    text_printf(&text, "%p", (const void *)op);
    for (size_t i = 0; i < key->types.count; i++)
        text_printf(&text, " %s", dtype_name(key->types.at[i].dtype));
    for (size_t i = 0; i < key->ranks.count; i++)
        text_printf(&text, " %d", key->ranks.at[i].count);
    for (size_t i = 0; i < key->lists.count; i++)
        text_printf(&text, " %d", key->lists.at[i].count);
    return text.at;
}

static void report_depth(const struct ast_op *op, struct errors *errors)
{
    error_hint(errors_add(errors, ERROR_TOO_MANY, op->name.place,
                          "ops call each other more than %d deep", CHECK_MAX_OP_NESTING),
               "write the statements of some of them where they are called");
}

static bool is_in_progress(struct lang *lang, const struct ast_op *op, struct errors *errors)
{
    for (size_t i = 0; i < lang->in_progress.count; i++)
        if (lang->in_progress.at[i] == op) {
            struct error *error = errors_add(errors, ERROR_RECURSION, op->name.place,
                                             "op '%s' calls itself", op->name.name);
            if (i + 1 < lang->in_progress.count)
                error_detail(error, "through '%s'", lang->in_progress.at[i + 1]->name.name);
            error_hint(error, "a recurrence is written with `loop`");
            return true;
        }
    if (lang->in_progress.count < CHECK_MAX_OP_NESTING)
        return false;
    report_depth(op, errors);
    return true;
}

/* The same whether callees were checked on the way or long before. */
static bool is_too_deep(struct instance *instance, struct errors *errors)
{
    instance->depth = 1;
    for (size_t i = 0; i < instance->callees.count; i++)
        if (instance->depth <= instance->callees.at[i]->depth)
            instance->depth = instance->callees.at[i]->depth + 1;
    if (instance->depth <= CHECK_MAX_OP_NESTING)
        return false;
    report_depth(instance->op, errors);
    return true;
}

struct instance *instance_get(struct lang *lang, const struct ast_op *op,
                              const struct instance_key *key, struct errors *errors)
{
    const char *name = print_key(lang->arena, op, key);
    struct instance *instance = map_get(&lang->instances, name);
    if (instance)
        return instance;
    if (is_in_progress(lang, op, errors))
        return NULL;
    if (map_get_bytes(&lang->faulty, &op, sizeof op)) { /* other types would say the same again */
        errors_again(errors);
        return NULL;
    }
    vector_push(lang->arena, &lang->in_progress, op);
    instance = arena_new(lang->arena, struct instance);
    instance->op = op;
    struct instance_key *own = arena_new(lang->arena, struct instance_key);
    *own = *key;
    struct builder builder = {.lang = lang,
                              .arena = lang->arena,
                              .errors = errors,
                              .file = lang_owner(lang, op),
                              .op = op,
                              .key = own,
                              .instance = instance};
    builder.part.name = op->name.name;
    builder.part.place = op->name.place;
    builder.names = map_new(lang->arena);
    const struct ir_part *part = build_part(&builder);
    if (part && !is_too_deep(instance, errors))
        instance->part = part;
    lang->in_progress.count--;
    if (!instance->part)
        map_set_bytes(&lang->faulty, &op, sizeof op, instance);
    map_set(&lang->instances, name, instance);
    return instance;
}

/* ---- programs ---- */

struct assembly {
    struct lang *lang;
    struct map parts; /* address of an instance's part -> copy */
    struct map names; /* how often a name was given */
    struct part_list VECTOR(const struct ir_part *) list;
};

static struct ir_stage *copy_stages(struct assembly *assembly, const struct ir_stage *stages,
                                    int count)
{
    struct ir_stage *copy = arena_array(assembly->lang->arena, (size_t)count + 1, sizeof *copy);
    for (int i = 0; i < count; i++) {
        copy[i] = stages[i];
        if (copy[i].kind == IR_CALL)
            copy[i].callee = map_get_bytes(&assembly->parts, &stages[i].callee, sizeof(void *));
        if (copy[i].kind == IR_LOOP)
            copy[i].body = copy_stages(assembly, stages[i].body, stages[i].body_count);
    }
    return copy;
}

/* A part in this program: its own name, its calls leading to this program's parts. */
static bool assemble(struct assembly *assembly, struct instance *instance)
{
    if (!instance->part)
        return false;
    if (map_get_bytes(&assembly->parts, &instance->part, sizeof(void *)))
        return true;
    for (size_t i = 0; i < instance->callees.count; i++)
        if (!assemble(assembly, instance->callees.at[i]))
            return false;
    struct ir_part *part = arena_new(assembly->lang->arena, struct ir_part);
    *part = *instance->part;
    intptr_t given = (intptr_t)map_get(&assembly->names, part->name) + 1;
    map_set(&assembly->names, part->name, (void *)given);
    if (given > 1)
        part->name = arena_printf(assembly->lang->arena, "%s.%d", part->name, (int)given);
    part->stages = copy_stages(assembly, instance->part->stages, instance->part->stage_count);
    map_set_bytes(&assembly->parts, &instance->part, sizeof(void *), part);
    vector_push(assembly->lang->arena, &assembly->list, part);
    return true;
}

struct ir_program *instance_program(struct lang *lang, struct instance *instance)
{
    if (instance && instance->program)
        return instance->program;
    struct assembly assembly = {.lang = lang};
    assembly.parts = map_new(lang->arena);
    assembly.names = map_new(lang->arena);
    if (!instance || !assemble(&assembly, instance))
        return NULL;
    struct ir_program *program = arena_new(lang->arena, struct ir_program);
    program->parts = assembly.list.at;
    program->part_count = (int)assembly.list.count;
    instance->program = program;
    return program;
}
