/*
 * Size expressions: what may stand in dimensions, `let`, `where` and bounds.
 */
#include "lang/check.h"

static const struct ir_size *bad_size(struct builder *builder,
                                      const struct ast_expression *expression, const char *what)
{
    struct error *error = builder_error(builder, ERROR_BAD_SIZE, expression->place,
                                        "%s cannot stand in a size", what);
    error_hint(error,
               "sizes are made of integers, size names, + - * / %%, min, max, len, sum and prod");
    return NULL;
}

static const struct ir_size *size_name(struct builder *builder,
                                       const struct ast_expression *expression)
{
    struct entity *entity = builder_find(builder, expression->name);
    if (!entity) {
        struct error *error = builder_error(builder, ERROR_UNDEFINED_NAME, expression->place,
                                            "unknown size '%s'", expression->name);
        builder_suggest(builder, error, expression->name, NULL, 0);
        if (!error->hint[0] && !builder->op)
            error_hint(error, "it must be a size of the op");
        else if (!error->hint[0])
            error_hint(error, "give it as a dimension of an input, or as a parameter: `; %s: int`",
                       expression->name);
        return NULL;
    }
    entity->used = true;
    switch (entity->kind) {
    case ENTITY_SYMBOL: return ir_size_symbol(builder->arena, entity->number);
    case ENTITY_STATIC: return ir_size_constant(builder->arena, entity->number);
    case ENTITY_FAILED: errors_again(builder->errors); return NULL;
    case ENTITY_SCALAR: {
        struct error *error =
            builder_error(builder, ERROR_BAD_SIZE, expression->place,
                          "parameter '%s' is no integer and cannot be a size", entity->name);
        error_note(error, entity->place, "declared here");
        error_hint(error, "declare it: %s: int", entity->name);
        entity->kind = ENTITY_FAILED; /* once is enough */
        return NULL;
    }
    case ENTITY_RANK:
    case ENTITY_EACH: {
        bool is_rank = entity->kind == ENTITY_RANK;
        struct error *error = builder_error(builder, ERROR_BAD_SIZE, expression->place,
                                            "'%s' stands for several sizes", entity->name);
        error_hint(error,
                   is_rank ? "write *%s for all of them, %s[0] for the first"
                           : "write %s[k] for one of them, sum(%s) for all",
                   entity->name, entity->name);
        return NULL;
    }
    case ENTITY_INDEX: return bad_size(builder, expression, "an index");
    default: return bad_size(builder, expression, "a tensor");
    }
}

/* N[k]: the size of one list member, or of one leading dimension. */
static const struct ir_size *size_member(struct builder *builder,
                                         const struct ast_expression *expression)
{
    struct entity *entity = builder_find(builder, expression->name);
    if (!entity || (entity->kind != ENTITY_EACH && entity->kind != ENTITY_RANK))
        return bad_size(builder, expression, "an element of a tensor");
    entity->used = true;
    int64_t member;
    if (expression->list.count != 1 || !check_static(builder, expression->list.at[0], &member))
        return expression->list.count == 1 ? NULL
                                           : bad_size(builder, expression, "more than one index");
    if (member < 0 || member >= entity->count) {
        builder_error(builder, ERROR_BAD_LIST, expression->place,
                      "'%s' has %d member%s, no number %lld", entity->name, entity->count,
                      entity->count == 1 ? "" : "s", (long long)member);
        return NULL;
    }
    return ir_size_symbol(builder->arena, entity->number + (int)member);
}

/* sum(N), sum(N, k): of all members, of the first k. prod(B): how many elements they make. */
static const struct ir_size *size_fold(struct builder *builder,
                                       const struct ast_expression *expression, enum ir_size_op op)
{
    const struct ast_expressions *list = &expression->list;
    struct entity *entity = list->count >= 1 && list->at[0]->kind == AST_NAME
                                ? builder_find(builder, list->at[0]->name)
                                : NULL;
    if (entity && entity->kind == ENTITY_FAILED) {
        errors_again(builder->errors);
        return NULL;
    }
    if (list->count > 2 || !entity ||
        (entity->kind != ENTITY_EACH && entity->kind != ENTITY_RANK)) {
        struct error *error = builder_error(builder, ERROR_BAD_SIZE, expression->place,
                                            "%s takes the sizes of a list", expression->name);
        error_hint(error, "with xs: T[N..., D]... write sum(N), or sum(N, k) for the first k; "
                          "elements are added up by +=, as in s += x[i]");
        return NULL;
    }
    entity->used = true;
    int64_t count = entity->count;
    if (list->count == 2 && !check_static(builder, list->at[1], &count))
        return NULL;
    if (count < 0 || count > entity->count) {
        builder_error(builder, ERROR_BAD_LIST, expression->place, "'%s' has %d member%s, not %lld",
                      entity->name, entity->count, entity->count == 1 ? "" : "s", (long long)count);
        return NULL;
    }
    const struct ir_size *result = ir_size_constant(builder->arena, op == IR_SIZE_MUL);
    for (int i = 0; i < count; i++)
        result = ir_size_make(builder->arena, op, result,
                              ir_size_symbol(builder->arena, entity->number + i));
    return result;
}

static const struct ir_size *size_length(struct builder *builder,
                                         const struct ast_expression *expression)
{
    struct entity *entity = expression->list.count == 1 && expression->list.at[0]->kind == AST_NAME
                                ? builder_find(builder, expression->list.at[0]->name)
                                : NULL;
    bool counted = entity && (entity->kind == ENTITY_LIST || entity->kind == ENTITY_RANK ||
                              entity->kind == ENTITY_EACH);
    /* `let K = len(xs)` is read before xs is declared */
    const int *length =
        !entity && expression->list.count == 1 && expression->list.at[0]->kind == AST_NAME
            ? instance_list((struct instance_key *)builder->key, expression->list.at[0]->name)
            : NULL;
    if (length)
        return ir_size_constant(builder->arena, *length);
    if (!counted) {
        struct error *error = builder_error(builder, ERROR_BAD_SIZE, expression->place,
                                            "len takes the name of a list");
        error_hint(error, "the sizes of a tensor have names: x: T[N, D] has N and D");
        return NULL;
    }
    entity->used = true;
    return ir_size_constant(builder->arena, entity->count);
}

static bool name_is(const char *name, const char *text)
{
    return __builtin_strcmp(name, text) == 0;
}

static const struct ir_size *size_call(struct builder *builder,
                                       const struct ast_expression *expression)
{
    if (name_is(expression->name, "sum"))
        return size_fold(builder, expression, IR_SIZE_ADD);
    if (name_is(expression->name, "prod"))
        return size_fold(builder, expression, IR_SIZE_MUL);
    if (name_is(expression->name, "len"))
        return size_length(builder, expression);
    bool least = name_is(expression->name, "min"), greatest = name_is(expression->name, "max");
    if (!least && !greatest)
        return bad_size(builder, expression, "this function");
    if (expression->list.count != 2) {
        builder_error(builder, ERROR_ARGUMENT_COUNT, expression->place,
                      "%s takes 2 arguments, not %zu", expression->name, expression->list.count);
        return NULL;
    }
    const struct ir_size *a = check_size(builder, expression->list.at[0]);
    const struct ir_size *b = check_size(builder, expression->list.at[1]);
    return a && b ? ir_size_make(builder->arena, least ? IR_SIZE_MIN : IR_SIZE_MAX, a, b) : NULL;
}

static const struct ir_size *size_binary(struct builder *builder,
                                         const struct ast_expression *expression)
{
    enum ir_size_op op;
    switch (expression->operator) {
    case AST_ADD: op = IR_SIZE_ADD; break;
    case AST_SUBTRACT: op = IR_SIZE_SUB; break;
    case AST_MULTIPLY: op = IR_SIZE_MUL; break;
    case AST_DIVIDE:
    case AST_FLOOR_DIVIDE: op = IR_SIZE_DIV; break;
    case AST_REMAINDER:
    case AST_MODULO: op = IR_SIZE_MOD; break;
    case AST_POWER: return bad_size(builder, expression, "'^'");
    case AST_DIVIDE_EXACT: return bad_size(builder, expression, "'/!'");
    default: return bad_size(builder, expression, "a comparison");
    }
    const struct ir_size *a = check_size(builder, expression->a);
    const struct ir_size *b = check_size(builder, expression->b);
    if (!a || !b)
        return NULL;
    if ((op == IR_SIZE_DIV || op == IR_SIZE_MOD) && b->op == IR_SIZE_CONSTANT && b->value == 0) {
        builder_error(builder, ERROR_SIZE_OVERFLOW, expression->place, "a division by zero");
        return NULL;
    }
    return ir_size_make(builder->arena, op, a, b);
}

const struct ir_size *check_size(struct builder *builder, const struct ast_expression *expression)
{
    switch (expression->kind) {
    case AST_INTEGER: return ir_size_constant(builder->arena, expression->integer);
    case AST_NAME: return size_name(builder, expression);
    case AST_READ: return size_member(builder, expression);
    case AST_CALL: return size_call(builder, expression);
    case AST_BINARY: return size_binary(builder, expression);
    case AST_UNARY: {
        if (expression->operator!= AST_NEGATE)
            return bad_size(builder, expression, "'not'");
        const struct ir_size *a = check_size(builder, expression->a);
        return a ? ir_size_make(builder->arena, IR_SIZE_SUB, ir_size_constant(builder->arena, 0), a)
                 : NULL;
    }
    case AST_FLOAT: return bad_size(builder, expression, "a fraction");
    case AST_BOOL: return bad_size(builder, expression, "a truth value");
    default: return bad_size(builder, expression, "this");
    }
}

bool check_static(struct builder *builder, const struct ast_expression *expression, int64_t *value)
{
    struct errors quiet = errors_new(builder->arena), *errors = builder->errors;
    builder->errors = &quiet; /* whatever it is, it is said below */
    const struct ir_size *size = check_size(builder, expression);
    builder->errors = errors;
    if (size && size->op == IR_SIZE_CONSTANT) {
        *value = size->value;
        return true;
    }
    struct error *error = builder_error(builder, ERROR_BAD_LIST, expression->place,
                                        "the number of a list member must be known here");
    error_hint(error, "write an integer, or the name that an enclosing `each` runs over");
    return false;
}
