/*
 * Calls inside expressions: casts, built-in functions, and fns, which are written out.
 */
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

/* ---- casts and built-in functions ---- */

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
        if (!check_integers(stage, a, b, call, call->name))
            return IR_NONE;
        return b == IR_NONE ? stage_unary(stage, op, DTYPE_I64, a)
                            : stage_binary(stage, op, DTYPE_I64, a, b);
    }
    enum dtype type;
    int other = b == IR_NONE ? a : b;
    if (!check_unify(stage, &a, &other, call, &type))
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

/* ---- fns ---- */

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

/* Once: every fn above this one has the same fault. */
static void report_depth(struct builder *builder, struct place place)
{
    if (builder->lang->too_deep) {
        errors_again(builder->errors);
        return;
    }
    builder->lang->too_deep = true;
    error_hint(builder_error(builder, ERROR_TOO_MANY, place,
                             "fns call each other more than %d deep", CHECK_MAX_FN_NESTING),
               "write some of them out, or compute a part into a tensor of its own");
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
    if (stage->nodes.count >= CHECK_MAX_NODES - 1000) /* here, where the place is known */
        stage_too_large(stage, call->place);
    if (stage->too_large)
        return IR_NONE;
    int depth = stage->fn ? stage->fn->depth + 1 : 1;
    if (depth > CHECK_MAX_FN_NESTING) {
        report_depth(builder, call->place);
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

/* ---- whose call it is ---- */

/* min and max stand for sizes too, sum, prod and len only there: N[k] and sum(N) inside an index.
 */
static bool is_size_function(const char *name)
{
    return strcmp(name, "sum") == 0 || strcmp(name, "prod") == 0 || strcmp(name, "len") == 0;
}

int check_function(struct stage_builder *stage, const struct ast_expression *call)
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
    if (find_builtin(call->name, &op)) /* no fn may be called so */
        return check_builtin(stage, call, op);
    const struct ast_fn *fn = lang_find_fn(builder->lang, file, call->name);
    if (fn)
        return check_fn_call(stage, call, fn);
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
