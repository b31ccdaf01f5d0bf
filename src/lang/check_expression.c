/*
 * Expressions: from what was written to typed nodes.
 */
#include <math.h>
#include <string.h>

#include "lang/check.h"

enum op_class {
    CLASS_FLOAT,
    CLASS_ARITH,
    CLASS_INTEGER,
    CLASS_COMPARE,
    CLASS_LOGIC,
    CLASS_TEST,
    CLASS_OTHER
};

static const struct builtin {
    const char *name;
    enum op_class class;
    int arguments;
} builtins[] = {
#define IR_OP(name, text, arguments, class) {text, CLASS_##class, arguments},
#include "ir/ops.def"
#undef IR_OP
};

/* Operations that are written with an operator, not by name. */
static bool has_operator(enum ir_op op)
{
    switch (op) {
    case IR_ADD:
    case IR_SUB:
    case IR_MUL:
    case IR_NEG:
    case IR_DIV:
    case IR_FLOORDIV:
    case IR_FLOORMOD: return true;
    default: return builtins[op].class == CLASS_COMPARE || builtins[op].class == CLASS_LOGIC;
    }
}

static bool find_builtin(const char *name, enum ir_op *op)
{
    for (int i = 0; i < IR_OP_COUNT; i++)
        if (builtins[i].class != CLASS_OTHER && !has_operator((enum ir_op)i) &&
            strcmp(builtins[i].name, name) == 0) {
            *op = (enum ir_op)i;
            return true;
        }
    return false;
}

bool check_is_builtin(const char *name)
{
    enum ir_op op;
    return find_builtin(name, &op);
}

static const char *type_word(enum dtype type)
{
    return type == DTYPE_BOOL ? "a truth value" : type == DTYPE_I64 ? "an integer" : "a float";
}

static int leaf(struct stage_builder *stage, struct ir_node node, struct place place)
{
    node.a = node.b = node.c = IR_NONE;
    node.place = place;
    return stage_node(stage, node);
}

static int float_constant(struct stage_builder *stage, double value)
{
    return leaf(stage, (struct ir_node){.op = IR_FLOAT, .type = DTYPE_F32, .number = value},
                (struct place){0});
}

/* ---- names ---- */

static const struct {
    const char *name;
    double value;
} constants[] = {{"inf", INFINITY}, {"nan", NAN}, {"pi", 3.14159265358979323846}};

bool check_is_constant(const char *name)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(name, constants[i].name) == 0)
            return true;
    return false;
}

static const struct fn_binding *find_binding(const struct stage_builder *stage, const char *name)
{
    if (stage->fn) {
        for (size_t i = 0; i < stage->fn->count; i++)
            if (strcmp(stage->fn->bindings[i].name, name) == 0)
                return &stage->fn->bindings[i];
        return NULL;
    }
    for (size_t i = 0; i < stage->param_count; i++)
        if (strcmp(stage->params[i].name, name) == 0)
            return &stage->params[i];
    return NULL;
}

static int entity_value(struct stage_builder *stage, struct entity *entity,
                        const struct ast_expression *expression)
{
    struct builder *builder = stage->builder;
    entity->used = true;
    switch (entity->kind) {
    case ENTITY_SYMBOL: return stage_size(stage, ir_size_symbol(builder->arena, entity->number));
    case ENTITY_STATIC: return stage_integer(stage, entity->number);
    case ENTITY_INDEX:
        return leaf(stage,
                    (struct ir_node){.op = IR_INDEX, .type = DTYPE_I64, .index = entity->number},
                    expression->place);
    case ENTITY_SCALAR: {
        enum dtype dtype = builder->scalars.at[entity->number].dtype;
        return leaf(stage,
                    (struct ir_node){
                        .op = IR_SCALAR, .type = dtype_compute(dtype), .scalar = entity->number},
                    expression->place);
    }
    case ENTITY_TENSOR:
        if (stage->whole)
            return check_read(stage, expression);
        {
            int rank = builder->tensors.at[entity->number].rank;
            struct error *error =
                builder_error(builder, ERROR_TENSOR_AS_VALUE, expression->place,
                              "'%s' is a whole tensor, one element is wanted here", entity->name);
            error_hint(error, rank ? "give it indices: %s[...]" : "its one element is %s[]",
                       entity->name);
        }
        return IR_NONE;
    default:
        error_hint(builder_error(builder, ERROR_TENSOR_AS_VALUE, expression->place,
                                 "'%s' stands for several, one value is wanted here", entity->name),
                   entity->kind == ENTITY_LIST ? "say which: %s[k][...]" : "say which: %s[k]",
                   entity->name);
        return IR_NONE;
    }
}

static int check_name(struct stage_builder *stage, const struct ast_expression *expression)
{
    const char *name = expression->name;
    const struct fn_binding *binding = find_binding(stage, name);
    if (binding)
        return binding->node;
    if (!stage->fn && !stage->params) {
        struct statement_index *index = stage_find_index(stage, name, -1);
        if (index)
            return leaf(stage,
                        (struct ir_node){.op = IR_INDEX, .type = DTYPE_I64, .index = index->number},
                        expression->place);
        struct entity *entity = builder_find(stage->builder, name);
        if (entity)
            return entity_value(stage, entity, expression);
    }
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(name, constants[i].name) == 0)
            return float_constant(stage, constants[i].value);
    struct error *error = builder_error(stage->builder, ERROR_UNDEFINED_NAME, expression->place,
                                        "unknown name '%s'", name);
    if (stage->fn || stage->params)
        error_hint(error, "a %s sees only its %s, constants and fns", stage->fn ? "fn" : "monoid",
                   stage->fn ? "parameters" : "components");
    else
        builder_suggest(stage->builder, error, name, NULL, 0);
    if (!error->hint[0])
        error_hint(error, "an index stands in brackets, or is given: ... over %s < N", name);
    return IR_NONE;
}

/* ---- operators ---- */

/* Both sides to one arithmetic type; false with an error reported. */
static bool unify(struct stage_builder *stage, int *a, int *b, const struct ast_expression *at,
                  enum dtype *type)
{
    enum dtype left = stage_type(stage, *a), right = stage_type(stage, *b);
    if (left == DTYPE_BOOL || right == DTYPE_BOOL) {
        struct error *error =
            builder_error(stage->builder, ERROR_TYPE_MISMATCH, at->place,
                          "%s and %s do not go together", type_word(left), type_word(right));
        error_hint(error, "turn the truth value into a number: ... ? 1 : 0");
        return false;
    }
    *type = left == DTYPE_F64 || right == DTYPE_F64   ? DTYPE_F64
            : left == DTYPE_F32 || right == DTYPE_F32 ? DTYPE_F32
                                                      : DTYPE_I64;
    *a = stage_convert(stage, *a, *type);
    *b = stage_convert(stage, *b, *type);
    return *a != IR_NONE && *b != IR_NONE;
}

static int compare(struct stage_builder *stage, enum ast_operator operator, int a, int b,
                   const struct ast_expression *at)
{
    enum dtype type;
    if (stage_type(stage, a) == DTYPE_BOOL && stage_type(stage, b) == DTYPE_BOOL) {
        if (operator!= AST_EQUAL && operator!= AST_UNEQUAL) {
            builder_error(stage->builder, ERROR_TYPE_MISMATCH, at->place,
                          "truth values have no order");
            return IR_NONE;
        }
    } else if (!unify(stage, &a, &b, at, &type)) {
        return IR_NONE;
    }
    switch (operator) {
    case AST_EQUAL: return stage_binary(stage, IR_EQ, DTYPE_BOOL, a, b);
    case AST_UNEQUAL: return stage_binary(stage, IR_NE, DTYPE_BOOL, a, b);
    case AST_LESS: return stage_binary(stage, IR_LT, DTYPE_BOOL, a, b);
    case AST_LESS_EQUAL: return stage_binary(stage, IR_LE, DTYPE_BOOL, a, b);
    case AST_GREATER: return stage_binary(stage, IR_LT, DTYPE_BOOL, b, a);
    default: return stage_binary(stage, IR_LE, DTYPE_BOOL, b, a);
    }
}

static bool want_integers(struct stage_builder *stage, int a, int b,
                          const struct ast_expression *at, const char *what)
{
    if (stage_type(stage, a) == DTYPE_I64 && (b == IR_NONE || stage_type(stage, b) == DTYPE_I64))
        return true;
    struct error *error =
        builder_error(stage->builder, ERROR_TYPE_MISMATCH, at->place, "'%s' is for integers", what);
    if (stage_type(stage, a) == DTYPE_BOOL || (b != IR_NONE && stage_type(stage, b) == DTYPE_BOOL))
        error_hint(error, "truth values are combined with and, or, not");
    else if (at->kind == AST_BINARY)
        error_hint(error, "for floats there are /, floor and fmod");
    else
        error_hint(error, "make it an integer first: i64(...) cuts off");
    return false;
}

static int divide(struct stage_builder *stage, int a, int b, const struct ast_expression *at)
{
    enum dtype type;
    bool integers = stage_type(stage, a) == DTYPE_I64 && stage_type(stage, b) == DTYPE_I64;
    if (integers && stage->in_index)
        return stage_binary(stage, IR_FLOORDIV, DTYPE_I64, a, b);
    if (integers) {
        struct error *error = builder_error(stage->builder, ERROR_INTEGER_DIVISION, at->place,
                                            "'/' between two integers");
        error_hint(error, "write `div` to round down, or make one side a float: 1.0/3, f32(n)/3");
        return IR_NONE;
    }
    if (!unify(stage, &a, &b, at, &type))
        return IR_NONE;
    return stage_binary(stage, IR_DIV, type, a, b);
}

static int divide_exactly(struct stage_builder *stage, int a, int b,
                          const struct ast_expression *at)
{
    if (!stage->in_index || !stage->exact) {
        struct error *error = builder_error(stage->builder, ERROR_EXACT_DIVISION, at->place,
                                            "'/!' stands only in the index of a read");
        error_hint(error, "elsewhere write `div`, and test with `mod`");
        return IR_NONE;
    }
    if (!want_integers(stage, a, b, at, "/!"))
        return IR_NONE;
    int rest = stage_binary(stage, IR_FLOORMOD, DTYPE_I64, a, b);
    int exact = stage_binary(stage, IR_EQ, DTYPE_BOOL, rest, stage_integer(stage, 0));
    vector_push(stage->builder->arena, stage->exact, exact);
    return stage_binary(stage, IR_FLOORDIV, DTYPE_I64, a, b);
}

static int power(struct stage_builder *stage, int a, int b, const struct ast_expression *at)
{
    const struct ir_node *exponent = &stage->nodes.at[b];
    bool whole = exponent->op == IR_INT && exponent->integer >= 0 && exponent->integer <= 64;
    if (whole && exponent->integer == 2 && stage_type(stage, a) != DTYPE_BOOL)
        return stage_binary(stage, IR_MUL, stage_type(stage, a), a, a);
    if (whole && stage_type(stage, a) == DTYPE_I64) {
        int64_t count = exponent->integer;
        int product = stage_integer(stage, 1);
        for (int64_t i = 0; i < count; i++)
            product = i == 0 ? a : stage_binary(stage, IR_MUL, DTYPE_I64, product, a);
        return product;
    }
    enum dtype type;
    if (!unify(stage, &a, &b, at, &type))
        return IR_NONE;
    if (type == DTYPE_I64) {
        type = DTYPE_F32;
        a = stage_convert(stage, a, type);
        b = stage_convert(stage, b, type);
    }
    return stage_binary(stage, IR_POW, type, a, b);
}

static int arithmetic(struct stage_builder *stage, enum ir_op op, int a, int b,
                      const struct ast_expression *at)
{
    enum dtype type;
    if (!unify(stage, &a, &b, at, &type))
        return IR_NONE;
    return stage_binary(stage, op, type, a, b);
}

/* The condition in force while `condition` holds (or fails) as well. */
static int narrow_guard(struct stage_builder *stage, int condition, bool holds)
{
    if (!holds)
        condition = stage_unary(stage, IR_NOT, DTYPE_BOOL, condition);
    if (stage->guard == IR_NONE)
        return condition;
    return stage_binary(stage, IR_AND, DTYPE_BOOL, stage->guard, condition);
}

static int check_logic(struct stage_builder *stage, const struct ast_expression *expression)
{
    bool is_and = expression->operator== AST_AND;
    int a = check_condition(stage, expression->a);
    int guard = stage->guard;
    if (a != IR_NONE)
        stage->guard = narrow_guard(stage, a, is_and);
    int b = check_condition(stage, expression->b);
    stage->guard = guard;
    return stage_binary(stage, is_and ? IR_AND : IR_OR, DTYPE_BOOL, a, b);
}

static int check_binary(struct stage_builder *stage, const struct ast_expression *expression)
{
    if (expression->operator== AST_AND || expression->operator== AST_OR)
        return check_logic(stage, expression);
    int a = check_value(stage, expression->a), b = check_value(stage, expression->b);
    if (a == IR_NONE || b == IR_NONE)
        return IR_NONE;
    switch (expression->operator) {
    case AST_ADD: return arithmetic(stage, IR_ADD, a, b, expression);
    case AST_SUBTRACT: return arithmetic(stage, IR_SUB, a, b, expression);
    case AST_MULTIPLY: return arithmetic(stage, IR_MUL, a, b, expression);
    case AST_DIVIDE: return divide(stage, a, b, expression);
    case AST_DIVIDE_EXACT: return divide_exactly(stage, a, b, expression);
    case AST_POWER: return power(stage, a, b, expression);
    case AST_FLOOR_DIVIDE:
        return want_integers(stage, a, b, expression, "div")
                   ? stage_binary(stage, IR_FLOORDIV, DTYPE_I64, a, b)
                   : IR_NONE;
    case AST_REMAINDER:
        if (!stage->in_index) {
            struct error *error = builder_error(stage->builder, ERROR_INTEGER_DIVISION,
                                                expression->place, "'%%' between values");
            error_hint(error, "write `mod` for integers, fmod(a, b) for floats");
            return IR_NONE;
        }
        return want_integers(stage, a, b, expression, "%")
                   ? stage_binary(stage, IR_FLOORMOD, DTYPE_I64, a, b)
                   : IR_NONE;
    case AST_MODULO:
        return want_integers(stage, a, b, expression, "mod")
                   ? stage_binary(stage, IR_FLOORMOD, DTYPE_I64, a, b)
                   : IR_NONE;
    default: return compare(stage, expression->operator, a, b, expression);
    }
}

static int check_unary(struct stage_builder *stage, const struct ast_expression *expression)
{
    if (expression->operator== AST_NOT)
        return stage_unary(stage, IR_NOT, DTYPE_BOOL, check_condition(stage, expression->a));
    int a = check_value(stage, expression->a);
    if (a == IR_NONE)
        return IR_NONE;
    const struct ir_node *node = &stage->nodes.at[a];
    if (node->op == IR_INT && node->integer != INT64_MIN)
        return stage_integer(stage, -node->integer);
    if (node->op == IR_FLOAT)
        return float_constant(stage, -node->number);
    if (node->type == DTYPE_BOOL) {
        struct error *error = builder_error(stage->builder, ERROR_TYPE_MISMATCH, expression->place,
                                            "a truth value has no sign");
        error_hint(error, "write `not`");
        return IR_NONE;
    }
    return stage_unary(stage, IR_NEG, node->type, a);
}

static int check_conditional(struct stage_builder *stage, const struct ast_expression *expression)
{
    int condition = check_condition(stage, expression->a);
    int guard = stage->guard;
    if (condition != IR_NONE)
        stage->guard = narrow_guard(stage, condition, true);
    int a = check_value(stage, expression->b);
    stage->guard = guard;
    if (condition != IR_NONE)
        stage->guard = narrow_guard(stage, condition, false);
    int b = check_value(stage, expression->c);
    stage->guard = guard;
    if (condition == IR_NONE || a == IR_NONE || b == IR_NONE)
        return IR_NONE;
    enum dtype type = DTYPE_BOOL;
    if ((stage_type(stage, a) != DTYPE_BOOL || stage_type(stage, b) != DTYPE_BOOL) &&
        !unify(stage, &a, &b, expression, &type))
        return IR_NONE;
    return stage_node(stage, (struct ir_node){.op = IR_SELECT,
                                              .type = type,
                                              .a = condition,
                                              .b = a,
                                              .c = b,
                                              .place = expression->place});
}

int check_condition(struct stage_builder *stage, const struct ast_expression *expression)
{
    int node = check_value(stage, expression);
    if (node == IR_NONE || stage_type(stage, node) == DTYPE_BOOL)
        return node;
    struct error *error =
        builder_error(stage->builder, ERROR_NOT_A_CONDITION, expression->place,
                      "a condition is wanted, this is %s", type_word(stage_type(stage, node)));
    error_hint(error, "compare it with something: ... != 0");
    return IR_NONE;
}

/* ---- calls ---- */

static bool want_arguments(struct stage_builder *stage, const struct ast_expression *call,
                           size_t count)
{
    if (call->named.count > 0) {
        struct error *error =
            builder_error(stage->builder, ERROR_UNKNOWN_PARAMETER, call->named.at[0].place,
                          "'%s' has no named parameters", call->name);
        error_hint(error, "only ops have them: give its arguments in order");
        return false;
    }
    if (call->list.count == count)
        return true;
    struct error *error = builder_error(stage->builder, ERROR_ARGUMENT_COUNT, call->place,
                                        "%s takes %zu argument%s, not %zu", call->name, count,
                                        count == 1 ? "" : "s", call->list.count);
    const struct ast_fn *fn = lang_find_fn(
        stage->builder->lang, stage->fn ? stage->fn->file : stage->builder->file, call->name);
    if (fn)
        error_note(error, fn->name.place, "defined here");
    else if (strcmp(call->name, "max") == 0 || strcmp(call->name, "min") == 0)
        error_hint(error,
                   call->list.count < 2 ? "over an index it is a reduction: y %s= x[i]"
                                        : "nest it: %s(a, %s(b, c))",
                   call->name, call->name);
    return false;
}

static int check_cast(struct stage_builder *stage, const struct ast_expression *call,
                      enum dtype dtype)
{
    if (!want_arguments(stage, call, 1))
        return IR_NONE;
    int a = check_value(stage, call->list.at[0]);
    if (a == IR_NONE)
        return IR_NONE;
    return stage_node(stage, (struct ir_node){.op = IR_CAST,
                                              .type = dtype_compute(dtype),
                                              .a = a,
                                              .b = IR_NONE,
                                              .c = IR_NONE,
                                              .cast = dtype,
                                              .place = call->place});
}

static int check_builtin(struct stage_builder *stage, const struct ast_expression *call,
                         enum ir_op op)
{
    const struct builtin *builtin = &builtins[op];
    if (!want_arguments(stage, call, (size_t)builtin->arguments))
        return IR_NONE;
    int a = check_value(stage, call->list.at[0]);
    int b = builtin->arguments > 1 ? check_value(stage, call->list.at[1]) : IR_NONE;
    if (a == IR_NONE || (builtin->arguments > 1 && b == IR_NONE))
        return IR_NONE;
    if (builtin->class == CLASS_INTEGER) {
        if (!want_integers(stage, a, b, call, call->name))
            return IR_NONE;
        return b == IR_NONE ? stage_unary(stage, op, DTYPE_I64, a)
                            : stage_binary(stage, op, DTYPE_I64, a, b);
    }
    enum dtype type;
    int other = b == IR_NONE ? a : b;
    if (!unify(stage, &a, &other, call, &type))
        return IR_NONE;
    if (type == DTYPE_I64 && builtin->class != CLASS_ARITH) {
        type = DTYPE_F32;
        a = stage_convert(stage, a, type);
        other = stage_convert(stage, other, type);
    }
    enum dtype result = builtin->class == CLASS_TEST ? DTYPE_BOOL : type;
    return b == IR_NONE ? stage_unary(stage, op, result, a)
                        : stage_binary(stage, op, result, a, other);
}

/* One report for each cycle, at the call that closes it when seen from its first fn. */
static void report_recursion(struct stage_builder *stage, const struct ast_expression *call,
                             const struct ast_fn *fn)
{
    struct builder *builder = stage->builder;
    bool known = false;
    for (const struct fn_scope *scope = stage->fn; scope && scope->fn != fn; scope = scope->outer)
        known |= !builder->op && scope->fn->name.place.source == fn->name.place.source &&
                 scope->fn->name.place.offset < fn->name.place.offset;
    for (size_t i = 0; builder->op && i < builder->errors->list.count; i++)
        known |= builder->errors->list.at[i].code == ERROR_RECURSION;
    if (known) {
        errors_again(builder->errors);
        return;
    }
    struct error *error =
        builder_error(builder, ERROR_RECURSION, call->place, "fn '%s' calls itself", call->name);
    if (stage->fn->fn != fn)
        error_detail(error, "through '%s'", stage->fn->fn->name.name);
    error_hint(error, "a fn is one expression without recursion; an op has `loop`");
}

static int check_fn_call(struct stage_builder *stage, const struct ast_expression *call,
                         const struct ast_fn *fn)
{
    struct builder *builder = stage->builder;
    for (const struct fn_scope *scope = stage->fn; scope; scope = scope->outer)
        if (scope->fn == fn) {
            report_recursion(stage, call, fn);
            return IR_NONE;
        }
    int depth = stage->fn ? stage->fn->depth + 1 : 1;
    if (depth > CHECK_MAX_FN_NESTING) {
        builder_error(builder, ERROR_TOO_MANY, call->place, "fns call each other more than %d deep",
                      CHECK_MAX_FN_NESTING);
        return IR_NONE;
    }
    if (!want_arguments(stage, call, fn->parameters.count))
        return IR_NONE;
    struct fn_binding *bindings =
        arena_array(builder->arena, fn->parameters.count + 1, sizeof *bindings);
    size_t key_size = sizeof fn + fn->parameters.count * sizeof(int);
    char *key = arena_alloc(builder->arena, key_size);
    memcpy(key, &fn, sizeof fn);
    for (size_t i = 0; i < fn->parameters.count; i++) {
        int node = check_value(stage, call->list.at[i]);
        if (node == IR_NONE)
            return IR_NONE;
        bindings[i] = (struct fn_binding){fn->parameters.at[i].name, node};
        memcpy(key + sizeof fn + i * sizeof(int), &node, sizeof node);
    }
    void *known = map_get_bytes(&stage->fn_values, key, key_size);
    if (known)
        return (int)((intptr_t)known - 1);
    struct fn_scope scope = {.outer = stage->fn,
                             .fn = fn,
                             .file = lang_owner(builder->lang, fn),
                             .bindings = bindings,
                             .count = fn->parameters.count,
                             .depth = depth};
    const struct fn_scope *outer = stage->fn;
    bool in_index = stage->in_index;
    stage->fn = &scope;
    stage->in_index = false;
    int value = check_value(stage, fn->value);
    stage->fn = outer;
    stage->in_index = in_index;
    if (value != IR_NONE)
        map_set_bytes(&stage->fn_values, key, key_size, (void *)(intptr_t)(value + 1));
    return value;
}

/* min and max stand for sizes too, sum, prod and len only there: N[k] and sum(N) inside an index.
 */
static bool is_size_function(const char *name)
{
    return strcmp(name, "sum") == 0 || strcmp(name, "prod") == 0 || strcmp(name, "len") == 0;
}

static int check_function(struct stage_builder *stage, const struct ast_expression *call)
{
    struct builder *builder = stage->builder;
    struct lang_file *file = stage->fn ? stage->fn->file : builder->file;
    void *hoisted = map_get_bytes(&stage->hoisted, &call, sizeof call);
    if (hoisted)
        return check_read(stage, call);
    enum dtype dtype;
    enum ir_op op;
    if (dtype_parse(call->name, &dtype))
        return check_cast(stage, call, dtype);
    for (size_t i = 0; builder->key && !stage->fn && i < builder->key->types.count; i++)
        if (strcmp(builder->key->types.at[i].name, call->name) == 0)
            return check_cast(stage, call, builder->key->types.at[i].dtype);
    const struct ast_fn *fn = lang_find_fn(builder->lang, file, call->name);
    if (fn)
        return check_fn_call(stage, call, fn);
    if (find_builtin(call->name, &op))
        return check_builtin(stage, call, op);
    if (is_size_function(call->name) && !stage->fn && !stage->params) {
        const struct ir_size *size = check_size(builder, call);
        return size ? stage_size(stage, size) : IR_NONE;
    }
    if (lang_find_op(builder->lang, file, call->name)) {
        struct error *error = builder_error(builder, ERROR_OP_IN_EXPRESSION, call->place,
                                            "'%s' is an op: it takes whole tensors", call->name);
        if (stage->fn)
            error_hint(error, "a fn works on single values: make this fn an op");
        else
            error_hint(error, "give it a line of its own: t = %s(...), then read t[...]",
                       call->name);
        return IR_NONE;
    }
    struct error *error = builder_error(
        builder, ERROR_UNKNOWN_FUNCTION, call->name_place,
        stage->whole ? "there is no fn or op '%s'" : "there is no fn '%s'", call->name);
    const char *near = lang_suggest_fn(builder->lang, file, call->name);
    if (!near && stage->whole)
        near = lang_suggest_op(builder->lang, file, call->name);
    if (builder_find(builder, call->name))
        error_hint(error, "elements are read with brackets: %s[...]", call->name);
    else if (near)
        error_hint(error, "did you mean '%s'?", near);
    else if (call->name[0] >= 'A' && call->name[0] <= 'Z')
        error_hint(error, "for a conversion the type must be known: ; %s: type", call->name);
    else
        error_hint(error, "define it: fn %s(x) = ...", call->name);
    return IR_NONE;
}

int check_value(struct stage_builder *stage, const struct ast_expression *expression)
{
    switch (expression->kind) {
    case AST_INTEGER: return stage_integer(stage, expression->integer);
    case AST_FLOAT: return float_constant(stage, expression->number);
    case AST_BOOL:
        return leaf(
            stage,
            (struct ir_node){.op = IR_BOOL, .type = DTYPE_BOOL, .integer = expression->integer},
            expression->place);
    case AST_NAME: return check_name(stage, expression);
    case AST_READ: return check_read(stage, expression);
    case AST_CALL: return check_function(stage, expression);
    case AST_UNARY: return check_unary(stage, expression);
    case AST_BINARY: return check_binary(stage, expression);
    case AST_CONDITIONAL: return check_conditional(stage, expression);
    case AST_GROUP:
    case AST_TUPLE:
    case AST_LIST: break;
    }
    struct error *error = builder_error(stage->builder, ERROR_MISPLACED_EXPRESSION,
                                        expression->place, "%s cannot stand here",
                                        expression->kind == AST_GROUP   ? "a group of indices"
                                        : expression->kind == AST_TUPLE ? "a tuple"
                                                                        : "a list");
    if (expression->kind == AST_GROUP)
        error_hint(error, "*%s stands in brackets, as in x[*%s, d]", expression->name,
                   expression->name);
    else if (expression->kind == AST_LIST)
        error_hint(error, "a list is an argument of an op, as in cat([a, b])");
    return IR_NONE;
}

int check_index_value(struct stage_builder *stage, const struct ast_expression *expression)
{
    bool in_index = stage->in_index;
    stage->in_index = true;
    int node = check_value(stage, expression);
    stage->in_index = in_index;
    if (node == IR_NONE || stage_type(stage, node) == DTYPE_I64)
        return node;
    struct error *error =
        builder_error(stage->builder, ERROR_NOT_AN_INDEX, expression->place,
                      "an index is an integer, this is %s", type_word(stage_type(stage, node)));
    error_hint(error, dtype_is_float(stage_type(stage, node))
                          ? "say how it is rounded: i64(floor(...))"
                          : "say which element is meant: ... ? 1 : 0");
    return IR_NONE;
}
