/*
 * Monoids: the built-in ones, and those a person defines. A monoid is tried out before it is
 * believed: on small positive numbers it must be associative, keep its unit, and commute unless
 * it says `ordered`.
 */
#include <math.h>
#include <string.h>

#include "lang/check.h"

static const struct builtin_monoid {
    const char *symbol; /* as written before = */
    struct ir_monoid monoid;
} builtins[] = {
    {"+", {.kind = IR_SUM, .name = "sum", .width = 1}},
    {"*", {.kind = IR_PRODUCT, .name = "product", .width = 1}},
    {"max", {.kind = IR_MAXIMUM, .name = "max", .width = 1}},
    {"min", {.kind = IR_MINIMUM, .name = "min", .width = 1}},
    {"and", {.kind = IR_ALL, .name = "all", .width = 1}},
    {"or", {.kind = IR_ANY, .name = "any", .width = 1}},
    {"argmax", {.kind = IR_ARGMAX, .name = "argmax", .width = 2}},
    {"argmin", {.kind = IR_ARGMIN, .name = "argmin", .width = 2}},
    {"topk", {.kind = IR_TOPK, .name = "topk", .width = 2}},
    {"bottomk", {.kind = IR_BOTTOMK, .name = "bottomk", .width = 2}},
};

enum { BUILTIN_COUNT = sizeof builtins / sizeof *builtins };

static const struct ir_monoid *check_builtin_monoid(struct builder *builder,
                                                    const struct builtin_monoid *builtin,
                                                    struct place place, const enum dtype *types,
                                                    int width)
{
    const struct ir_monoid *monoid = &builtin->monoid;
    struct error *error;
    if (width != monoid->width) {
        error =
            builder_error(builder, ERROR_TUPLE_WIDTH, place, "%s= takes %d component%s, here %s %d",
                          builtin->symbol, monoid->width, monoid->width == 1 ? "" : "s",
                          width == 1 ? "is" : "are", width);
        if (monoid->width == 2)
            error_hint(error, "value and index: (v[b], i[b]) %s= (x[b, d], d)", builtin->symbol);
        else
            error_hint(error, "write one statement for each");
        return NULL;
    }
    bool logic = monoid->kind == IR_ALL || monoid->kind == IR_ANY;
    if (logic != (types[0] == DTYPE_BOOL)) {
        error = builder_error(builder, ERROR_TYPE_MISMATCH, place, "%s= combines %s",
                              builtin->symbol, logic ? "truth values" : "numbers");
        error_hint(error, logic ? "compare with something: ... != 0"
                                : "count with ... ? 1 : 0, or use and= and or=");
        return NULL;
    }
    if (width == 2 && types[1] != DTYPE_I64) {
        error = builder_error(builder, ERROR_TYPE_MISMATCH, place,
                              "the second component of %s= is an integer", builtin->symbol);
        error_hint(error, "value and index: (v[b], i[b]) %s= (x[b, d], d)", builtin->symbol);
        return NULL;
    }
    return monoid;
}

/* ---- user monoids ---- */

static const char *type_word(enum dtype type)
{
    return type == DTYPE_BOOL ? "a truth value" : type == DTYPE_I64 ? "an integer" : "a float";
}

/* The type of a component follows from its unit; an integer unit may also start floats. */
static bool check_units(struct stage_builder *stage, const struct ast_monoid *ast,
                        struct place place, const enum dtype *types, int *units, enum dtype *own)
{
    static const struct fn_binding nothing;
    stage->params = &nothing; /* a monoid sees nothing of the op that uses it */
    for (size_t i = 0; i < ast->units.count; i++) {
        units[i] = check_value(stage, ast->units.at[i]);
        if (units[i] == IR_NONE)
            return false;
        enum ir_op op = stage->nodes.at[units[i]].op;
        if (op != IR_INT && op != IR_FLOAT && op != IR_BOOL) {
            struct error *error = builder_error(stage->builder, ERROR_BAD_UNIT,
                                                ast->units.at[i]->place, "a unit is a constant");
            error_hint(error, "write a number, true, false, inf or -inf");
            return false;
        }
        own[i] = stage_type(stage, units[i]);
        if (types && types[i] != own[i]) {
            bool widens = dtype_is_float(types[i]) && own[i] != DTYPE_BOOL;
            bool narrows = dtype_is_float(own[i]) && types[i] == DTYPE_I64;
            if (!widens && !narrows) {
                struct error *error =
                    builder_error(stage->builder, ERROR_TYPE_MISMATCH, place,
                                  "component %zu of '%s' is %s, here it is %s", i + 1,
                                  ast->name.name, type_word(own[i]), type_word(types[i]));
                error_note(error, ast->units.at[i]->place, "its type is that of its unit");
                return false;
            }
            own[i] = widens ? types[i] : own[i];
        }
        units[i] = stage_convert(stage, units[i], own[i]);
    }
    return true;
}

static bool check_results(struct stage_builder *stage, const struct ast_monoid *ast,
                          const enum dtype *types, int *results)
{
    size_t width = ast->left.count;
    struct fn_binding *params = arena_array(stage->builder->arena, width * 2, sizeof *params);
    for (size_t i = 0; i < width * 2; i++) {
        const struct ast_names *names = i < width ? &ast->left : &ast->right;
        int node = stage_leaf(
            stage, (struct ir_node){.op = IR_PARAM, .type = types[i % width], .param = (int)i},
            (struct place){0});
        params[i] = (struct fn_binding){names->at[i % width].name, node};
    }
    stage->params = params;
    stage->param_count = width * 2;
    for (size_t i = 0; i < width; i++) {
        struct place place = ast->results.at[i]->place;
        results[i] = check_value(stage, ast->results.at[i]);
        if (results[i] == IR_NONE)
            return false;
        enum dtype type = stage_type(stage, results[i]);
        if ((type == DTYPE_BOOL) != (types[i] == DTYPE_BOOL) ||
            (types[i] == DTYPE_I64 && type != DTYPE_I64)) {
            struct error *error =
                builder_error(stage->builder, ERROR_TYPE_MISMATCH, place,
                              "component %zu of '%s' is %s, this is %s", i + 1, ast->name.name,
                              type_word(types[i]), type_word(type));
            error_note(error, ast->units.at[i]->place, "its type is that of its unit");
            return false;
        }
        results[i] = stage_store(stage, results[i], types[i], place, ast->name.name);
    }
    return true;
}

static struct ir_monoid *build_monoid(struct builder *builder, const struct ast_monoid *ast,
                                      struct place place, const enum dtype *types, enum dtype *own)
{
    struct stage_builder *stage = arena_new(builder->arena, struct stage_builder);
    stage_builder_init(stage, builder);
    struct lang_file *file = builder->file;
    builder->file = lang_owner(builder->lang, ast);
    size_t width = ast->left.count;
    int *results = arena_array(builder->arena, width + 1, sizeof *results);
    int *units = arena_array(builder->arena, width + 1, sizeof *units);
    bool good = check_units(stage, ast, place, types, units, own) &&
                check_results(stage, ast, own, results);
    builder->file = file;
    if (!good)
        return NULL;
    struct ir_monoid *monoid = arena_new(builder->arena, struct ir_monoid);
    *monoid = (struct ir_monoid){.kind = IR_USER,
                                 .name = ast->name.name,
                                 .width = (int)width,
                                 .ordered = ast->ordered,
                                 .nodes = stage->view,
                                 .results = results,
                                 .units = units};
    return monoid;
}

static bool widths_agree(struct builder *builder, const struct ast_monoid *ast)
{
    size_t width = ast->left.count;
    if (width == ast->right.count && width == ast->results.count && width == ast->units.count &&
        width >= 1 && width <= CHECK_MAX_WIDTH)
        return true;
    builder_error(builder, ERROR_TUPLE_WIDTH, ast->name.place,
                  "'%s' has %zu and %zu operands, %zu results and %zu units: all must be equal (1 "
                  "to %d)",
                  ast->name.name, ast->left.count, ast->right.count, ast->results.count,
                  ast->units.count, CHECK_MAX_WIDTH);
    return false;
}

const struct ir_monoid *check_monoid(struct builder *builder, const char *name, struct place place,
                                     enum dtype *types, int width)
{
    for (int i = 0; i < BUILTIN_COUNT; i++)
        if (strcmp(builtins[i].symbol, name) == 0)
            return check_builtin_monoid(builder, &builtins[i], place, types, width);
    const struct ast_monoid *ast = lang_find_monoid(builder->lang, builder->file, name);
    struct error *error;
    if (!ast) {
        error =
            builder_error(builder, ERROR_UNKNOWN_REDUCER, place, "there is no monoid '%s'", name);
        const char *known[BUILTIN_COUNT];
        for (int i = 0; i < BUILTIN_COUNT; i++)
            known[i] = builtins[i].symbol;
        const char *near = spelling_nearest(name, known, BUILTIN_COUNT);
        if (!near)
            near = lang_suggest_monoid(builder->lang, builder->file, name);
        if (near)
            error_hint(error, "did you mean '%s='?", near);
        else
            error_hint(error,
                       "built in are += *= max= min= and= or= argmax= argmin= topk= bottomk=; "
                       "others are defined: monoid %s(a; b) = ... unit ...",
                       name);
        return NULL;
    }
    if ((size_t)width != ast->left.count) {
        error = builder_error(builder, ERROR_TUPLE_WIDTH, place,
                              "'%s' has %zu component%s, here %s %d", name, ast->left.count,
                              ast->left.count == 1 ? "" : "s", width == 1 ? "is" : "are", width);
        error_note(error, ast->name.place, "defined here");
        return NULL;
    }
    if (!widths_agree(builder, ast))
        return NULL;
    struct {
        const struct ast_monoid *ast;
        int32_t types[CHECK_MAX_WIDTH];
    } key = {.ast = ast};
    for (int i = 0; i < width; i++)
        key.types[i] = (int32_t)types[i];
    struct ir_monoid *monoid = map_get_bytes(&builder->lang->monoids, &key, sizeof key);
    enum dtype own[CHECK_MAX_WIDTH];
    if (!monoid)
        monoid = build_monoid(builder, ast, place, types, own);
    if (!monoid)
        return NULL;
    map_set_bytes(&builder->lang->monoids, &key, sizeof key, monoid);
    for (int i = 0; i < width; i++)
        types[i] = monoid->nodes.at[monoid->units[i]].type;
    return monoid;
}

/* ---- trying it out ---- */

struct trial {
    const struct ir_monoid *monoid;
    struct ir_value *scratch;
};

static void combine(struct trial *trial, const struct ir_value *a, const struct ir_value *b,
                    struct ir_value *out)
{
    int width = trial->monoid->width;
    struct ir_value params[2 * CHECK_MAX_WIDTH];
    memcpy(params, a, (size_t)width * sizeof *a);
    memcpy(params + width, b, (size_t)width * sizeof *b);
    ir_fold(&trial->monoid->nodes, NULL, params, trial->scratch);
    for (int i = 0; i < width; i++)
        out[i] = trial->scratch[trial->monoid->results[i]];
}

static bool component_is_float(const struct ir_monoid *monoid, int i)
{
    return dtype_is_float(monoid->nodes.at[monoid->units[i]].type);
}

static bool values_agree(const struct ir_monoid *monoid, const struct ir_value *a,
                         const struct ir_value *b)
{
    for (int i = 0; i < monoid->width; i++) {
        if (!component_is_float(monoid, i)) {
            if (a[i].integer != b[i].integer)
                return false;
            continue;
        }
        double x = a[i].number, y = b[i].number;
        bool alike = x == y || (isnan(x) && isnan(y)) ||
                     fabs(x - y) <= 1e-9 * fmax(1, fmax(fabs(x), fabs(y)));
        if (!alike)
            return false;
    }
    return true;
}

static void print_values(struct text *out, const struct ir_monoid *monoid,
                         const struct ir_value *values)
{
    text_add(out, monoid->width > 1 ? "(" : "");
    for (int i = 0; i < monoid->width; i++) {
        text_add(out, i ? ", " : "");
        if (component_is_float(monoid, i))
            text_printf(out, "%.6g", values[i].number);
        else
            text_printf(out, "%lld", (long long)values[i].integer);
    }
    text_add(out, monoid->width > 1 ? ")" : "");
}

static void draw_values(const struct ir_monoid *monoid, struct random *random,
                        struct ir_value *values)
{
    for (int i = 0; i < monoid->width; i++) {
        enum dtype type = monoid->nodes.at[monoid->units[i]].type;
        uint64_t draw = random_below(random, 16);
        values[i].number = 0.25 * (double)(draw + 1);
        values[i].integer = type == DTYPE_BOOL ? (int64_t)(draw & 1) : (int64_t)draw + 1;
    }
}

static bool report_trial(struct builder *builder, const struct ast_monoid *ast,
                         const struct ir_monoid *monoid, enum error_code code,
                         const struct ir_value (*values)[CHECK_MAX_WIDTH], int count,
                         const struct ir_value *one, const struct ir_value *other)
{
    static const char *const what[] = {"is not associative", "does not commute",
                                       "does not keep its unit"};
    static const char *const hints[] = {
        "a reduction may be split and regrouped, so (a b) c must equal a (b c)",
        "if the order matters, say so: add the word `ordered` at the end",
        "combining with the unit must leave a value as it is"};
    int kind = code == ERROR_NOT_ASSOCIATIVE ? 0 : code == ERROR_NOT_COMMUTATIVE ? 1 : 2;
    static const char *const forms[][2] = {
        {"(a b) c", "a (b c)"}, {"a b", "b a"}, {"unit a", "a unit"}};
    struct text operands = text_new(builder->arena), results = text_new(builder->arena);
    for (int i = 0; i < count; i++) {
        text_printf(&operands, "%s%c = ", i ? ", " : "", 'a' + i);
        print_values(&operands, monoid, values[i]);
    }
    text_printf(&results, "%s is ", forms[kind][0]);
    print_values(&results, monoid, one);
    text_printf(&results, ", %s is ", forms[kind][1]);
    print_values(&results, monoid, other);
    struct error *error =
        builder_error(builder, code, ast->name.place, "monoid '%s' %s", ast->name.name, what[kind]);
    error_detail(error, "with %s: %s", operands.at, results.at);
    error_hint(error, "%s", hints[kind]);
    return false;
}

static bool try_monoid(struct builder *builder, const struct ast_monoid *ast,
                       const struct ir_monoid *monoid)
{
    struct trial trial = {monoid, arena_array(builder->arena, (size_t)monoid->nodes.count + 1,
                                              sizeof *trial.scratch)};
    struct random random = random_new(20261115, 7);
    struct ir_value unit[CHECK_MAX_WIDTH], one[CHECK_MAX_WIDTH], other[CHECK_MAX_WIDTH];
    struct ir_value inner[CHECK_MAX_WIDTH];
    struct ir_value values[3][CHECK_MAX_WIDTH];
    const struct ir_value(*shown)[CHECK_MAX_WIDTH] =
        (const struct ir_value(*)[CHECK_MAX_WIDTH])values;
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 3; i++)
            draw_values(monoid, &random, values[i]);
        combine(&trial, values[0], values[1], inner);
        combine(&trial, inner, values[2], one);
        combine(&trial, values[1], values[2], inner);
        combine(&trial, values[0], inner, other);
        if (!values_agree(monoid, one, other))
            return report_trial(builder, ast, monoid, ERROR_NOT_ASSOCIATIVE, shown, 3, one, other);
        combine(&trial, values[0], values[1], one);
        combine(&trial, values[1], values[0], other);
        if (!monoid->ordered && !values_agree(monoid, one, other))
            return report_trial(builder, ast, monoid, ERROR_NOT_COMMUTATIVE, shown, 2, one, other);
        for (int i = 0; i < monoid->width; i++)
            unit[i] = trial.scratch[monoid->units[i]];
        combine(&trial, unit, values[0], one);
        combine(&trial, values[0], unit, other);
        if (!values_agree(monoid, one, values[0]) || !values_agree(monoid, other, values[0]))
            return report_trial(builder, ast, monoid, ERROR_BAD_UNIT, shown, 1, one, other);
    }
    return true;
}

/* ---- definitions that stand alone ---- */

/* A builder without an op, for checking what has no tensors. */
static struct builder bare_builder(struct lang *lang, struct lang_file *file, struct errors *errors)
{
    static const struct instance_key nothing;
    struct builder builder = {.lang = lang,
                              .arena = lang->arena,
                              .errors = errors,
                              .file = file,
                              .key = &nothing,
                              .instance = arena_new(lang->arena, struct instance)};
    builder.names = map_new(lang->arena);
    return builder;
}

static bool repeated_name(struct builder *builder, const struct ast_names *names,
                          const struct ast_names *more)
{
    for (size_t i = 0; i < names->count + more->count; i++) {
        const struct ast_name *name =
            i < names->count ? &names->at[i] : &more->at[i - names->count];
        for (size_t k = 0; k < i; k++) {
            const struct ast_name *other =
                k < names->count ? &names->at[k] : &more->at[k - names->count];
            if (strcmp(name->name, other->name) != 0)
                continue;
            builder_error(builder, ERROR_DUPLICATE_NAME, name->place, "'%s' is a parameter already",
                          name->name);
            return true;
        }
    }
    return false;
}

void check_monoid_definition(struct lang *lang, struct lang_file *file,
                             const struct ast_monoid *ast, struct errors *errors)
{
    struct builder builder = bare_builder(lang, file, errors);
    enum dtype own[CHECK_MAX_WIDTH];
    for (int i = 0; i < BUILTIN_COUNT; i++)
        if (strcmp(builtins[i].symbol, ast->name.name) == 0) {
            builder_error(&builder, ERROR_DUPLICATE_NAME, ast->name.place,
                          "'%s' is built in: choose another name", ast->name.name);
            return;
        }
    if (!widths_agree(&builder, ast) || repeated_name(&builder, &ast->left, &ast->right))
        return;
    struct ir_monoid *monoid = build_monoid(&builder, ast, ast->name.place, NULL, own);
    if (monoid)
        try_monoid(&builder, ast, monoid);
}

/* Faults that depend on the types of the arguments are found where the fn is used. */
static bool depends_on_types(enum error_code code)
{
    return code == ERROR_TYPE_MISMATCH || code == ERROR_INTEGER_DIVISION ||
           code == ERROR_NOT_A_CONDITION || code == ERROR_NOT_AN_INDEX;
}

void check_fn_definition(struct lang *lang, struct lang_file *file, const struct ast_fn *fn,
                         struct errors *errors)
{
    struct errors found = errors_new(lang->arena);
    struct builder builder = bare_builder(lang, file, &found);
    enum dtype dtype;
    if (check_is_builtin(fn->name.name) || dtype_parse(fn->name.name, &dtype))
        builder_error(&builder, ERROR_DUPLICATE_NAME, fn->name.place,
                      "'%s' is built in: choose another name", fn->name.name);
    struct ast_names none = {0};
    if (!repeated_name(&builder, &fn->parameters, &none)) {
        struct stage_builder stage;
        stage_builder_init(&stage, &builder);
        struct fn_binding *bindings =
            arena_array(lang->arena, fn->parameters.count + 1, sizeof *bindings);
        for (size_t i = 0; i < fn->parameters.count; i++) {
            const struct ast_name *name = &fn->parameters.at[i];
            int node = stage_leaf(
                &stage, (struct ir_node){.op = IR_PARAM, .type = DTYPE_F32, .param = (int)i},
                (struct place){0});
            bindings[i] = (struct fn_binding){name->name, node};
            if (!check_mentions(fn->value, name->name)) {
                struct error *error = builder_error(&builder, ERROR_UNUSED_NAME, name->place,
                                                    "parameter '%s' is never used", name->name);
                error_hint(error, "remove it");
            }
        }
        struct fn_scope scope = {.fn = fn,
                                 .file = file,
                                 .bindings = bindings,
                                 .count = fn->parameters.count,
                                 .depth = 1};
        stage.fn = &scope;
        check_value(&stage, fn->value);
    }
    for (size_t i = 0; i < found.list.count; i++)
        if (!depends_on_types(found.list.at[i].code))
            errors_take(errors, &found.list.at[i]);
}
