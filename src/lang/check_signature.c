/*
 * The signature of an op: type variables, sizes, parameters, inputs, outputs, `let` and `where`.
 */
#include <string.h>

#include "lang/check.h"

bool check_type(struct builder *builder, const char *name, struct place place, enum dtype *dtype)
{
    if (dtype_parse(name, dtype))
        return true;
    for (size_t i = 0; i < builder->key->types.count; i++) {
        const struct type_binding *binding = &builder->key->types.at[i];
        if (strcmp(binding->name, name) == 0) {
            *dtype = binding->dtype;
            return true;
        }
    }
    struct error *error =
        builder_error(builder, ERROR_UNKNOWN_TYPE, place, "there is no type '%s'", name);
    const char *known[DTYPE_COUNT];
    for (int i = 0; i < DTYPE_COUNT; i++)
        known[i] = dtype_name((enum dtype)i);
    static const char *const habits[][2] = {
        {"float", "f32"},   {"double", "f64"},  {"half", "f16"},    {"bfloat16", "bf16"},
        {"float32", "f32"}, {"float64", "f64"}, {"float16", "f16"}, {"int", "i32 or i64"},
        {"int32", "i32"},   {"int64", "i64"},   {"int8", "i8"},     {"uint8", "u8"},
        {"long", "i64"},    {"char", "i8"},     {"byte", "u8"},     {"boolean", "bool"}};
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
        if (strcmp(habits[i][0], name) == 0) {
            error_hint(error, "write %s", habits[i][1]);
            return false;
        }
    const char *near = spelling_nearest(name, known, DTYPE_COUNT);
    error_hint(error,
               near ? "did you mean '%s'?"
                    : "types are f64 f32 f16 bf16 f8e4 f8e5 i64 i32 "
                      "u32 i16 i8 u8 bool%.0s",
               near ? near : "");
    return false;
}

/* ---- sizes named in dimensions ---- */

static bool is_let(const struct ast_op *op, const char *name)
{
    for (size_t i = 0; i < op->clauses.count; i++)
        if (op->clauses.at[i].kind == AST_LET && strcmp(op->clauses.at[i].name.name, name) == 0)
            return true;
    return false;
}

static int add_symbol(struct builder *builder, struct ir_symbol symbol)
{
    vector_push(builder->arena, &builder->symbols, symbol);
    builder_sync(builder);
    return (int)builder->symbols.count - 1;
}

/* Every new name in a dimension of an input is a size. */
static void introduce_sizes(struct builder *builder, const struct ast_expression *expression)
{
    if (!expression)
        return;
    if (expression->kind == AST_NAME && !builder_find(builder, expression->name) &&
        !is_let(builder->op, expression->name)) {
        int number = add_symbol(
            builder, (struct ir_symbol){.name = expression->name, .kind = IR_SYMBOL_SIZE});
        builder_add(builder, ENTITY_SYMBOL, expression->name, expression->place, number);
    }
    introduce_sizes(builder, expression->a);
    introduce_sizes(builder, expression->b);
    if (expression->kind == AST_CALL &&
        (strcmp(expression->name, "min") == 0 || strcmp(expression->name, "max") == 0))
        for (size_t i = 0; i < expression->list.count; i++)
            introduce_sizes(builder, expression->list.at[i]);
}

static void introduce_family(struct builder *builder, enum entity_kind kind, const char *name,
                             struct place place, int count)
{
    struct entity *entity = builder_find(builder, name);
    if (entity) {
        if (entity->kind != kind)
            builder_error(builder, ERROR_DUPLICATE_NAME, place,
                          "'%s' cannot be both one size and a family of sizes", name);
        else if (entity->count != count)
            builder_error(builder, ERROR_SHAPE_MISMATCH, place,
                          "lists that share the sizes '%s' must be equally long", name);
        return;
    }
    int first = (int)builder->symbols.count;
    for (int i = 0; i < count; i++)
        add_symbol(builder,
                   (struct ir_symbol){.name = arena_printf(builder->arena, "%s.%d", name, i),
                                      .kind = IR_SYMBOL_SIZE,
                                      .family = name,
                                      .member = i});
    vector_push(builder->arena, &builder->families, (struct ir_family){name, count});
    builder_sync(builder);
    entity = builder_add(builder, kind, name, place, first);
    entity->count = count;
}

static void introduce_dims(struct builder *builder, const struct ast_declaration *declaration,
                           int list_length)
{
    for (size_t i = 0; i < declaration->dims.count; i++) {
        const struct ast_dim *dim = &declaration->dims.at[i];
        if (dim->kind == AST_DIM_SIZE) {
            introduce_sizes(builder, dim->size);
        } else if (dim->kind == AST_DIM_RANK) {
            struct instance_key *key = (struct instance_key *)builder->key;
            introduce_family(builder, ENTITY_RANK, dim->name, dim->place,
                             *instance_rank(key, dim->name));
        } else if (!declaration->is_list) {
            struct error *error = builder_error(builder, ERROR_BAD_LIST, dim->place,
                                                "'%s...' belongs to a list", dim->name);
            error_hint(error, "write ... after the closing bracket too: xs: T[%s...]...",
                       dim->name);
            builder_add(builder, ENTITY_FAILED, dim->name, dim->place, 0)->used = true;
        } else {
            introduce_family(builder, ENTITY_EACH, dim->name, dim->place, list_length);
        }
    }
}

bool check_dims(struct builder *builder, const struct ast_dims *dims, int member,
                struct ir_tensor *tensor, struct tensor_info *info)
{
    const struct ir_size *list[IR_MAX_RANK];
    int *layout = arena_array(builder->arena, dims->count + 1, sizeof *layout);
    int rank = 0;
    bool good = true;
    for (size_t i = 0; i < dims->count; i++) {
        const struct ast_dim *dim = &dims->at[i];
        struct entity *entity = dim->name ? builder_find(builder, dim->name) : NULL;
        if (entity && entity->kind == ENTITY_FAILED) {
            errors_again(builder->errors);
            return false;
        }
        if (dim->kind != AST_DIM_SIZE &&
            (!entity || (entity->kind != ENTITY_RANK && entity->kind != ENTITY_EACH))) {
            struct error *error =
                builder_error(builder, ERROR_UNDEFINED_NAME, dim->place, "unknown sizes '%s%s'",
                              dim->kind == AST_DIM_RANK ? "*" : "", dim->name);
            error_hint(error, "a rank variable comes from an input, as in x: T[*%s]", dim->name);
            return false;
        }
        if (entity)
            entity->used = true;
        int count = dim->kind == AST_DIM_RANK ? entity->count : 1;
        if (rank + count > IR_MAX_RANK) {
            builder_error(builder, ERROR_TOO_MANY, dim->place, "more than %d dimensions",
                          IR_MAX_RANK);
            return false;
        }
        layout[i] = dim->kind == AST_DIM_RANK ? (count ? count : -1) : 0;
        if (dim->kind == AST_DIM_SIZE) {
            list[rank] = check_size(builder, dim->size);
            good &= list[rank] != NULL;
        }
        for (int k = 0; dim->kind == AST_DIM_RANK && k < count; k++)
            list[rank + k] = ir_size_symbol(builder->arena, entity->number + k);
        if (dim->kind == AST_DIM_EACH)
            list[rank] = ir_size_symbol(builder->arena, entity->number + member);
        rank += count;
    }
    const struct ir_size **copy = arena_array(builder->arena, (size_t)rank + 1, sizeof *copy);
    for (int d = 0; d < rank; d++)
        copy[d] = list[d];
    tensor->rank = rank;
    tensor->dims = copy;
    info->layout = layout;
    info->layout_count = (int)dims->count;
    info->has_shape = true;
    return good;
}

/* ---- facts about values: ~ index(V) ---- */

static void check_property(struct builder *builder, const struct ast_draw *draw,
                           struct ir_tensor *tensor)
{
    static const struct {
        const char *name;
        unsigned property;
    } properties[] = {{"index", IR_PROPERTY_INDEX},
                      {"offsets", IR_PROPERTY_OFFSETS},
                      {"sorted", IR_PROPERTY_SORTED},
                      {"triangular", IR_PROPERTY_TRIANGULAR},
                      {"const", IR_PROPERTY_CONSTANT}};
    unsigned property = 0;
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (strcmp(draw->name, properties[i].name) == 0)
            property = properties[i].property;
    if (!property) {
        struct error *error = builder_error(builder, ERROR_BAD_FACT, draw->place,
                                            "'%s' is no fact about an input", draw->name);
        const char *names[sizeof properties / sizeof *properties];
        for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
            names[i] = properties[i].name;
        const char *near = spelling_nearest(draw->name, names, sizeof names / sizeof *names);
        if (near)
            error_hint(error, "did you mean '%s'?", near);
        else
            error_hint(error,
                       "facts are index(V), offsets(E), sorted, triangular, const; how inputs are "
                       "drawn is said in a task");
        return;
    }
    bool bounded = property == IR_PROPERTY_INDEX || property == IR_PROPERTY_OFFSETS;
    if (draw->arguments.count != (bounded ? 1 : 0)) {
        builder_error(builder, ERROR_ARGUMENT_COUNT, draw->place, "'%s' takes %s", draw->name,
                      bounded ? "one size" : "nothing in parentheses");
        return;
    }
    if (bounded && !dtype_is_integer(tensor->dtype)) {
        builder_error(builder, ERROR_TYPE_MISMATCH, draw->place,
                      "'%s' holds %s, but '%s' is about integers", tensor->name,
                      dtype_name(tensor->dtype), draw->name);
        return;
    }
    if (property == IR_PROPERTY_OFFSETS && tensor->rank != 1) {
        builder_error(builder, ERROR_RANK_MISMATCH, draw->place,
                      "offsets have one dimension, '%s' has %d", tensor->name, tensor->rank);
        return;
    }
    if ((property == IR_PROPERTY_TRIANGULAR && tensor->rank < 2) ||
        (property == IR_PROPERTY_SORTED && tensor->rank < 1)) {
        builder_error(builder, ERROR_RANK_MISMATCH, draw->place,
                      "'%s' has too few dimensions to be %s", tensor->name, draw->name);
        return;
    }
    tensor->properties |= property;
    if (bounded)
        tensor->bound = check_size(builder, draw->arguments.at[0]);
    if (bounded && !tensor->bound)
        tensor->properties &= ~property;
}

static void check_facts_of(struct builder *builder, const struct ast_declaration *declaration,
                           struct ir_tensor *tensor)
{
    for (size_t i = 0; i < declaration->facts.count; i++)
        check_property(builder, &declaration->facts.at[i], tensor);
}

/* ---- declarations ---- */

static bool name_is_free(struct builder *builder, const struct ast_name *name)
{
    struct entity *entity = builder_find(builder, name->name);
    if (!entity)
        return true;
    struct error *error = builder_error(builder, ERROR_DUPLICATE_NAME, name->place,
                                        "'%s' is defined already", name->name);
    error_note(error, entity->place, "first defined here");
    return false;
}

static void declare_tensor(struct builder *builder, const struct ast_declaration *declaration,
                           const struct ast_name *name, enum ir_tensor_role role,
                           struct int_list *order)
{
    struct ir_tensor tensor = {
        .name = name->name, .role = role, .declared = true, .place = name->place};
    struct tensor_info info = {.definitions = role == IR_TENSOR_INPUT};
    bool typed = check_type(builder, declaration->type, declaration->type_place, &tensor.dtype);
    struct instance_key *key = (struct instance_key *)builder->key;
    int length = declaration->is_list ? *instance_list(key, name->name) : 1;
    if (!name_is_free(builder, name))
        return;
    int first = (int)builder->tensors.count;
    for (int i = 0; i < length; i++) {
        if (declaration->is_list)
            tensor.name = arena_printf(builder->arena, "%s.%d", name->name, i);
        if (!check_dims(builder, &declaration->dims, i, &tensor, &info) || !typed)
            return;
        tensor.properties = 0;
        check_facts_of(builder, declaration, &tensor);
        vector_push(builder->arena, order, builder_tensor(builder, tensor, info));
    }
    struct entity *entity = builder_add(builder, declaration->is_list ? ENTITY_LIST : ENTITY_TENSOR,
                                        name->name, name->place, first);
    entity->count = length;
}

/* A constant for a default: an integer, a number, true or false, with a sign. */
static bool constant_value(const struct ast_expression *expression, double *number,
                           int64_t *integer, bool *is_integer)
{
    double sign = 1;
    while (expression->kind == AST_UNARY && expression->operator== AST_NEGATE) {
        sign = -sign;
        expression = expression->a;
    }
    *is_integer = expression->kind == AST_INTEGER;
    if (expression->kind == AST_INTEGER || expression->kind == AST_BOOL) {
        *integer = sign < 0 ? -expression->integer : expression->integer;
        *number = (double)*integer;
        return true;
    }
    if (expression->kind == AST_FLOAT)
        *number = sign * expression->number;
    else if (expression->kind == AST_NAME && strcmp(expression->name, "inf") == 0)
        *number = sign * __builtin_inf();
    else if (expression->kind == AST_NAME && strcmp(expression->name, "nan") == 0)
        *number = __builtin_nan("");
    else
        return false;
    return true;
}

static bool default_fits(const struct ast_expression *initial, enum dtype dtype, bool is_integer,
                         int64_t integer)
{
    if (dtype == DTYPE_BOOL) /* a T that is bool may also start from 0 or 1 */
        return initial->kind == AST_BOOL || (is_integer && (integer == 0 || integer == 1));
    return initial->kind != AST_BOOL && (is_integer || dtype_is_float(dtype));
}

/* An integer parameter is a symbol and may stand in sizes; any other is a scalar. */
static void declare_parameter(struct builder *builder, const struct ast_declaration *declaration,
                              const struct ast_name *name)
{
    double number = 0;
    int64_t integer = 0;
    bool is_integer = false;
    enum dtype dtype = DTYPE_I64, fixed;
    const struct ast_expression *initial = declaration->initial;
    if (strcmp(declaration->type, "int") != 0 &&
        !check_type(builder, declaration->type, declaration->type_place, &dtype))
        return;
    if (dtype_parse(declaration->type, &fixed) && dtype_is_integer(fixed)) {
        struct error *error = builder_error(builder, ERROR_UNKNOWN_TYPE, declaration->type_place,
                                            "an integer parameter has the type 'int'");
        error_hint(error, "write %s: int", name->name);
        return;
    }
    bool constant = !initial || constant_value(initial, &number, &integer, &is_integer);
    if (initial && (!constant || !default_fits(initial, dtype, is_integer, integer))) {
        struct error *error = builder_error(builder, ERROR_BAD_DEFAULT, initial->place,
                                            "the default of '%s' must be a constant of type %s",
                                            name->name, declaration->type);
        error_hint(error, "write %s",
                   dtype_is_integer(dtype) ? "an integer"
                   : dtype == DTYPE_BOOL   ? "true or false"
                                           : "a number");
        return;
    }
    if (!name_is_free(builder, name))
        return;
    if (dtype_is_integer(dtype)) {
        int symbol = add_symbol(builder, (struct ir_symbol){.name = name->name,
                                                            .kind = IR_SYMBOL_PARAMETER,
                                                            .has_default = initial != NULL,
                                                            .value = integer});
        builder_add(builder, ENTITY_SYMBOL, name->name, name->place, symbol);
        return;
    }
    struct ir_scalar scalar = {name->name, dtype, initial != NULL, number};
    vector_push(builder->arena, &builder->scalars, scalar);
    builder_sync(builder);
    builder_add(builder, ENTITY_SCALAR, name->name, name->place, (int)builder->scalars.count - 1);
}

/* ---- let and where ---- */

static void check_let(struct builder *builder, const struct ast_clause *clause)
{
    if (!name_is_free(builder, &clause->name))
        return;
    const struct ir_size *definition = check_size(builder, clause->value);
    if (!definition) /* keep the name known: one fault, one message */
        definition = ir_size_constant(builder->arena, 1);
    int symbol = add_symbol(builder, (struct ir_symbol){.name = clause->name.name,
                                                        .kind = IR_SYMBOL_LET,
                                                        .definition = definition});
    builder_add(builder, ENTITY_SYMBOL, clause->name.name, clause->name.place, symbol);
}

static void check_where(struct builder *builder, const struct ast_expression *condition)
{
    enum ir_relation relation;
    bool swap = false;
    enum ast_operator operator= condition->kind == AST_BINARY ? condition->operator: AST_OR;
    switch (operator) {
    case AST_AND:
        check_where(builder, condition->a);
        check_where(builder, condition->b);
        return;
    case AST_EQUAL: relation = IR_RELATION_EQ; break;
    case AST_UNEQUAL: relation = IR_RELATION_NE; break;
    case AST_LESS: relation = IR_RELATION_LT; break;
    case AST_LESS_EQUAL: relation = IR_RELATION_LE; break;
    case AST_GREATER:
        relation = IR_RELATION_LT;
        swap = true;
        break;
    case AST_GREATER_EQUAL:
        relation = IR_RELATION_LE;
        swap = true;
        break;
    default: {
        struct error *error =
            builder_error(builder, ERROR_BAD_FACT, condition->place, "a fact compares two sizes");
        error_hint(error, "for example: where H %% p == 0, H > p");
        return;
    }
    }
    const struct ir_size *a = check_size(builder, condition->a);
    const struct ir_size *b = check_size(builder, condition->b);
    if (!a || !b)
        return;
    vector_push(builder->arena, &builder->facts,
                (struct ir_fact){relation, swap ? b : a, swap ? a : b, condition->place});
    builder_sync(builder);
}

static void check_class(struct builder *builder, const struct ast_clause *clause)
{
    static const char *const classes[] = {"float", "int", "number", "any"};
    bool known = false;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        known |= strcmp(clause->class.name, classes[i]) == 0;
    if (!known)
        builder_error(builder, ERROR_BAD_FACT, clause->class.place,
                      "'%s' is no class of types: write float, int, number or any",
                      clause->class.name);
    for (size_t i = 0; i < builder->key->types.count; i++)
        if (strcmp(builder->key->types.at[i].name, clause->name.name) == 0)
            return;
    struct error *error = builder_error(builder, ERROR_UNDEFINED_NAME, clause->name.place,
                                        "'%s' is no type variable of this op", clause->name.name);
    if (builder->key->types.count > 0)
        error_hint(error, "it has: %s", builder->key->types.at[0].name);
    else
        error_hint(error, "all its types are fixed: leave this out, or write x: T[...]");
}

void check_signature(struct builder *builder)
{
    const struct ast_op *op = builder->op;
    struct instance_key *key = (struct instance_key *)builder->key;
    for (size_t i = 0; i < op->parameters.count; i++)
        for (size_t k = 0; k < op->parameters.at[i].names.count; k++)
            if (strcmp(op->parameters.at[i].type, "type") != 0)
                declare_parameter(builder, &op->parameters.at[i],
                                  &op->parameters.at[i].names.at[k]);
    for (size_t i = 0; i < op->inputs.count; i++) {
        const struct ast_declaration *input = &op->inputs.at[i];
        int length =
            input->is_list && input->names.count ? *instance_list(key, input->names.at[0].name) : 1;
        introduce_dims(builder, input, length);
        for (size_t k = 0; k < input->facts.count; k++)
            for (size_t a = 0; a < input->facts.at[k].arguments.count; a++)
                introduce_sizes(builder, input->facts.at[k].arguments.at[a]);
    }
    for (size_t i = 0; i < op->clauses.count; i++)
        if (op->clauses.at[i].kind == AST_LET)
            check_let(builder, &op->clauses.at[i]);
    for (size_t i = 0; i < op->clauses.count; i++) {
        const struct ast_clause *clause = &op->clauses.at[i];
        if (clause->kind == AST_WHERE && clause->value)
            check_where(builder, clause->value);
        else if (clause->kind == AST_WHERE)
            check_class(builder, clause);
    }
    struct int_list inputs = {0}, outputs = {0};
    for (size_t i = 0; i < op->inputs.count; i++)
        for (size_t k = 0; k < op->inputs.at[i].names.count; k++)
            declare_tensor(builder, &op->inputs.at[i], &op->inputs.at[i].names.at[k],
                           IR_TENSOR_INPUT, &inputs);
    for (size_t i = 0; i < op->outputs.count; i++) {
        if (op->outputs.at[i].is_list)
            error_hint(builder_error(builder, ERROR_BAD_LIST, op->outputs.at[i].place,
                                     "an output cannot be a list"),
                       "give several outputs: -> (a: T[N], b: T[N])");
        else
            for (size_t k = 0; k < op->outputs.at[i].names.count; k++)
                declare_tensor(builder, &op->outputs.at[i], &op->outputs.at[i].names.at[k],
                               IR_TENSOR_OUTPUT, &outputs);
    }
    builder->part.inputs = inputs.at;
    builder->part.input_count = (int)inputs.count;
    builder->part.outputs = outputs.at;
    builder->part.output_count = (int)outputs.count;
}
