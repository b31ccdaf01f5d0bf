/*
 * Tasks: an op at the shapes that matter.
 */
#include <math.h>
#include <string.h>

#include "lang/check.h"

struct tasking {
    struct lang *lang;
    struct lang_file *file;
    struct errors *errors;
    const struct ast_task *ast;
    const struct ast_op *op;
    struct task *task;
    struct instance_key key; /* types bound, counts open */
};

/* ---- constants ---- */

static bool constant_integer(const struct ast_expression *expression, int64_t *value)
{
    int64_t a, b;
    if (expression->kind == AST_INTEGER) {
        *value = expression->integer;
        return true;
    }
    if (expression->kind == AST_UNARY && expression->operator== AST_NEGATE)
        return constant_integer(expression->a, &a) && !__builtin_sub_overflow((int64_t)0, a, value);
    if (expression->kind != AST_BINARY || !constant_integer(expression->a, &a) ||
        !constant_integer(expression->b, &b))
        return false;
    switch (expression->operator) {
    case AST_ADD: return !__builtin_add_overflow(a, b, value);
    case AST_SUBTRACT: return !__builtin_sub_overflow(a, b, value);
    case AST_MULTIPLY: return !__builtin_mul_overflow(a, b, value);
    case AST_POWER:
        *value = 1;
        for (int64_t i = 0; i < b; i++)
            if (i > 64 || __builtin_mul_overflow(*value, a, value))
                return false;
        return b >= 0;
    default: return false;
    }
}

static bool constant_number(const struct ast_expression *expression, double *value)
{
    int64_t integer;
    double a, b;
    if (expression->kind == AST_FLOAT) {
        *value = expression->number;
        return true;
    }
    if (expression->kind == AST_NAME) {
        *value = strcmp(expression->name, "inf") == 0   ? INFINITY
                 : strcmp(expression->name, "nan") == 0 ? NAN
                                                        : 3.14159265358979323846;
        return strcmp(expression->name, "inf") == 0 || strcmp(expression->name, "nan") == 0 ||
               strcmp(expression->name, "pi") == 0;
    }
    if (expression->kind == AST_UNARY && expression->operator== AST_NEGATE) {
        bool good = constant_number(expression->a, &a);
        *value = -a;
        return good;
    }
    if (expression->kind == AST_BINARY && expression->operator== AST_DIVIDE) {
        bool good = constant_number(expression->a, &a) && constant_number(expression->b, &b);
        *value = good ? a / b : 0;
        return good;
    }
    bool good = constant_integer(expression, &integer);
    *value = good ? (double)integer : 0;
    return good;
}

/* ---- dtype ---- */

static const struct instance_key no_types;

static void take_types(struct tasking *tasking, const struct ast_line *line)
{
    for (size_t i = 0; i < line->named.count; i++) {
        const struct ast_named *named = &line->named.at[i];
        struct type_binding *binding = instance_type(&tasking->key, named->name);
        enum dtype dtype;
        if (!binding) {
            struct error *error = errors_add(tasking->errors, ERROR_UNKNOWN_SIZE, named->place,
                                             "op '%s' has no type variable '%s'",
                                             tasking->op->name.name, named->name);
            if (tasking->key.types.count > 0)
                error_hint(error, "it has: %s", tasking->key.types.at[0].name);
            else
                error_hint(error, "its types are fixed: leave the line out");
        } else if (named->value->kind != AST_NAME || !dtype_parse(named->value->name, &dtype)) {
            struct builder builder = {.lang = tasking->lang,
                                      .arena = tasking->lang->arena,
                                      .errors = tasking->errors,
                                      .key = &no_types};
            check_type(&builder, named->value->name ? named->value->name : "", named->value->place,
                       &dtype);
        } else if (!type_class_admits(tasking->op, named->name, dtype)) {
            error_hint(errors_add(tasking->errors, ERROR_TYPE_CLASS, named->value->place,
                                  "%s of '%s' takes %s types, not %s", named->name,
                                  tasking->op->name.name, type_class(tasking->op, named->name),
                                  dtype_name(dtype)),
                       "the op says what %s may be: where %s: float, int, number or any",
                       named->name, named->name);
        } else {
            binding->bound = true;
            binding->dtype = dtype;
        }
    }
}

/* ---- cases ---- */

static const struct ast_named *find_named(const struct ast_named_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->at[i].name, name) == 0)
            return &list->at[i];
    return NULL;
}

/* The list whose members' sizes are the family N: xs in xs: T[N...]... */
static const char *list_of_family(const struct ast_op *op, const char *family)
{
    for (size_t i = 0; i < op->inputs.count; i++)
        for (size_t d = 0; d < op->inputs.at[i].dims.count; d++)
            if (op->inputs.at[i].dims.at[d].kind == AST_DIM_EACH &&
                strcmp(op->inputs.at[i].dims.at[d].name, family) == 0)
                return op->inputs.at[i].names.at[0].name;
    return NULL;
}

/* All lists whose members' sizes are this family are equally long. */
static void count_lists(const struct ast_op *op, const char *family, struct instance_key *key,
                        int count)
{
    for (size_t i = 0; i < op->inputs.count; i++) {
        const struct ast_declaration *input = &op->inputs.at[i];
        bool belongs = false;
        for (size_t d = 0; d < input->dims.count; d++)
            belongs |= input->dims.at[d].kind == AST_DIM_EACH &&
                       strcmp(input->dims.at[d].name, family) == 0;
        for (size_t k = 0; belongs && k < input->names.count; k++)
            *instance_list(key, input->names.at[k].name) = count;
    }
}

static void missing(struct tasking *tasking, struct place place, const char *name)
{
    struct error *error = errors_add(tasking->errors, ERROR_MISSING_SIZE, place,
                                     "'%s' of '%s' is not given", name, tasking->op->name.name);
    struct text line = text_new(tasking->lang->arena);
    lang_suggest_case(&line, tasking->op);
    error_hint(error, "a line that has everything: %s", line.at);
}

/* Ranks and list lengths, from how many sizes are given. */
static bool take_counts(struct tasking *tasking, const struct ast_line *line,
                        struct instance_key *key)
{
    for (size_t i = 0; i < line->named.count; i++) {
        const struct ast_named *named = &line->named.at[i];
        bool is_list = named->value->kind == AST_LIST;
        int count = is_list ? (int)named->value->list.count : 0;
        int *rank = instance_rank(key, named->name);
        const char *list = list_of_family(tasking->op, named->name);
        int *length = instance_list(key, list ? list : named->name);
        int64_t integer;
        if (count > CHECK_MAX_LIST) {
            errors_add(tasking->errors, ERROR_TOO_MANY, named->value->place, "more than %d sizes",
                       CHECK_MAX_LIST);
            return false;
        }
        if ((rank || list) && !is_list) {
            error_hint(errors_add(tasking->errors, ERROR_BAD_VALUE, named->value->place,
                                  "'%s' stands for several sizes", named->name),
                       "write them in brackets: %s=[4, 8]", named->name);
            return false;
        }
        if (rank) {
            *rank = count;
        } else if (length && list) {
            count_lists(tasking->op, named->name, key, count);
        } else if (length) {
            if (!constant_integer(named->value, &integer) || integer < 1 ||
                integer > CHECK_MAX_LIST) {
                errors_add(tasking->errors, ERROR_BAD_VALUE, named->value->place,
                           "the list '%s' has 1 to %d members: write %s=2", named->name,
                           CHECK_MAX_LIST, named->name);
                return false;
            }
            *length = (int)integer;
        }
    }
    for (size_t i = 1; i < key->ranks.count; i++) /* as at a call: none unless said */
        if (key->ranks.at[i].count < 0)
            key->ranks.at[i].count = 0;
    for (size_t i = 0; i < key->ranks.count; i++)
        if (key->ranks.at[i].count < 0) {
            missing(tasking, line->place, key->ranks.at[i].name);
            return false;
        }
    for (size_t i = 0; i < key->lists.count; i++)
        if (key->lists.at[i].count < 0) {
            missing(tasking, line->place, key->lists.at[i].name);
            return false;
        }
    return true;
}

static bool take_size(struct tasking *tasking, const struct ast_expression *value,
                      const struct ir_symbol *symbol, int64_t *size)
{
    if (value->kind == AST_LIST && !symbol->family) {
        error_hint(errors_add(tasking->errors, ERROR_BAD_VALUE, value->place, "'%s' is one size",
                              symbol->name),
                   "write %s=64", symbol->name);
        return false;
    }
    if (!constant_integer(value, size)) {
        error_hint(errors_add(tasking->errors, ERROR_BAD_VALUE, value->place,
                              "'%s' must be an integer that fits into 64 bits",
                              symbol->family ? symbol->family : symbol->name),
                   "write %s=64", symbol->family ? symbol->family : symbol->name);
        return false;
    }
    if (symbol->kind == IR_SYMBOL_SIZE && *size < 0) {
        errors_add(tasking->errors, ERROR_SIZE_NEGATIVE, value->place, "size '%s' is negative",
                   symbol->family ? symbol->family : symbol->name);
        return false;
    }
    return true;
}

static bool take_sizes(struct tasking *tasking, const struct ast_line *line,
                       const struct ir_part *part, int64_t *sizes)
{
    for (int i = 0; i < part->symbol_count; i++) {
        const struct ir_symbol *symbol = &part->symbols[i];
        const struct ast_named *named =
            find_named(&line->named, symbol->family ? symbol->family : symbol->name);
        if (symbol->kind == IR_SYMBOL_LET)
            continue;
        if (!named && symbol->has_default) {
            sizes[i] = symbol->value;
        } else if (!named) {
            missing(tasking, line->place, symbol->name);
            return false;
        } else {
            bool member = symbol->family && named->value->kind == AST_LIST;
            if (member && (size_t)symbol->member >= named->value->list.count) {
                errors_add(tasking->errors, ERROR_BAD_VALUE, named->value->place,
                           "lists that belong together have equally many sizes");
                return false;
            }
            if (!take_size(tasking, member ? named->value->list.at[symbol->member] : named->value,
                           symbol, &sizes[i]))
                return false;
        }
    }
    return true;
}

static bool take_scalars(struct tasking *tasking, const struct ast_line *line,
                         const struct ir_part *part, double *scalars)
{
    for (int i = 0; i < part->scalar_count; i++) {
        const struct ir_scalar *scalar = &part->scalars[i];
        const struct ast_named *named = find_named(&line->named, scalar->name);
        if (!named && !scalar->has_default) {
            missing(tasking, line->place, scalar->name);
            return false;
        }
        bool good = true;
        if (!named)
            scalars[i] = scalar->value;
        else if (scalar->dtype == DTYPE_BOOL)
            good = named->value->kind == AST_BOOL, scalars[i] = (double)named->value->integer;
        else
            good = constant_number(named->value, &scalars[i]);
        if (!good) {
            errors_add(tasking->errors, ERROR_BAD_VALUE, named->value->place, "'%s' must be %s",
                       scalar->name, scalar->dtype == DTYPE_BOOL ? "true or false" : "a number");
            return false;
        }
    }
    return true;
}

static bool names_are_known(struct tasking *tasking, const struct ast_line *line,
                            const struct ir_part *part, struct instance_key *key)
{
    struct candidates VECTOR(const char *) known = {0};
    for (int i = 0; i < part->symbol_count; i++)
        if (part->symbols[i].kind != IR_SYMBOL_LET && !part->symbols[i].family)
            vector_push(tasking->lang->arena, &known, part->symbols[i].name);
    for (int i = 0; i < part->family_count; i++)
        vector_push(tasking->lang->arena, &known, part->families[i].name);
    for (int i = 0; i < part->scalar_count; i++)
        vector_push(tasking->lang->arena, &known, part->scalars[i].name);
    for (size_t i = 0; i < key->lists.count; i++)
        vector_push(tasking->lang->arena, &known, key->lists.at[i].name);
    for (size_t i = 0; i < line->named.count; i++) {
        const struct ast_named *named = &line->named.at[i];
        bool found = false;
        for (size_t k = 0; k < known.count && !found; k++)
            found = strcmp(known.at[k], named->name) == 0;
        if (!found) {
            struct error *error = errors_add(tasking->errors, ERROR_UNKNOWN_SIZE, named->place,
                                             "op '%s' has no size or parameter '%s'",
                                             tasking->op->name.name, named->name);
            const char *near = spelling_nearest(named->name, known.at, known.count);
            struct text whole = text_new(tasking->lang->arena);
            lang_suggest_case(&whole, tasking->op);
            if (near)
                error_hint(error, "did you mean '%s'?", near);
            else
                error_hint(error, "a line that has everything: %s", whole.at);
            for (int k = 0; k < part->symbol_count; k++)
                if (part->symbols[k].kind == IR_SYMBOL_LET &&
                    strcmp(part->symbols[k].name, named->name) == 0)
                    error_detail(error, "the op computes it from the others");
            return false;
        }
        if (find_named(&line->named, named->name) != named) {
            errors_add(tasking->errors, ERROR_DUPLICATE_NAME, named->place, "'%s' is given twice",
                       named->name);
            return false;
        }
    }
    return true;
}

/* ---- inputs ---- */

/* A builder that knows the sizes of a part, for the sizes inside index(V). */
static struct builder size_builder(struct tasking *tasking, const struct ir_part *part)
{
    static const struct instance_key nothing;
    struct builder builder = {.lang = tasking->lang,
                              .arena = tasking->lang->arena,
                              .errors = tasking->errors,
                              .file = tasking->file,
                              .key = &nothing,
                              .instance = arena_new(tasking->lang->arena, struct instance),
                              .part = *part};
    builder.names = map_new(tasking->lang->arena);
    for (int i = 0; i < part->symbol_count; i++)
        if (!part->symbols[i].family)
            builder_add(&builder, ENTITY_SYMBOL, part->symbols[i].name, (struct place){0}, i);
    for (int i = 0; i < part->family_count; i++) {
        int first = 0;
        while (first < part->symbol_count &&
               !(part->symbols[first].family &&
                 strcmp(part->symbols[first].family, part->families[i].name) == 0))
            first++;
        struct entity *entity =
            builder_add(&builder, ENTITY_EACH, part->families[i].name, (struct place){0}, first);
        entity->count = part->families[i].count;
    }
    return builder;
}

static bool draw_numbers(struct tasking *tasking, const struct ast_draw *draw,
                         struct task_input *input)
{
    if (draw->arguments.count == 2 && constant_number(draw->arguments.at[0], &input->a) &&
        constant_number(draw->arguments.at[1], &input->b))
        return true;
    error_hint(errors_add(tasking->errors, ERROR_BAD_DRAW, draw->place, "'%s' takes two numbers",
                          draw->name),
               strcmp(draw->name, "normal") == 0 ? "mean and deviation: normal(0, 1)"
                                                 : "least and greatest: uniform(0, 1)");
    return false;
}

static bool draw_bound(struct tasking *tasking, const struct ast_draw *draw,
                       const struct ir_part *part, struct task_input *input)
{
    if (draw->arguments.count != 1) {
        error_hint(errors_add(tasking->errors, ERROR_BAD_DRAW, draw->place, "'%s' takes one size",
                              draw->name),
                   "write %s(V): integers from 0 to V - 1", draw->name);
        return false;
    }
    struct builder builder = size_builder(tasking, part);
    input->bound = check_size(&builder, draw->arguments.at[0]);
    return input->bound != NULL;
}

static bool take_draw(struct tasking *tasking, const struct ast_draw *draw,
                      const struct ir_part *part, struct task_input *input)
{
    static const char *const known[] = {"normal", "uniform",    "index", "offsets",
                                        "sorted", "triangular", "const"};
    static const char *const wanted[] = {"floats",   "numbers",
                                         "integers", "integers in one dimension",
                                         "anything", "at least two dimensions",
                                         "anything"};
    const struct ir_tensor *tensor = &part->tensors[input->tensor];
    bool is_float = dtype_is_float(tensor->dtype), is_integer = dtype_is_integer(tensor->dtype);
    size_t kind = 0;
    while (kind < 7 && strcmp(known[kind], draw->name) != 0)
        kind++;
    bool fits = kind == 0   ? is_float
                : kind == 1 ? is_float || is_integer
                : kind <= 3 ? is_integer
                            : true;
    if (kind == 3)
        fits &= tensor->rank == 1;
    if (kind == 5)
        fits &= tensor->rank >= 2;
    if (kind == 7 || !fits) {
        struct error *error = errors_add(tasking->errors, ERROR_BAD_DRAW, draw->place,
                                         kind == 7 ? "there is no way to draw called '%s'"
                                                   : "'%s' does not fit this input",
                                         draw->name);
        if (kind != 7)
            error_detail(error, "'%s' is for %s, '%s' holds %s in %d dimension%s", draw->name,
                         wanted[kind], tensor->name, dtype_name(tensor->dtype), tensor->rank,
                         tensor->rank == 1 ? "" : "s");
        const char *near = kind == 7 ? spelling_nearest(draw->name, known, 7) : NULL;
        if (near)
            error_hint(error, "did you mean '%s'?", near);
        else if (kind == 7)
            error_hint(error,
                       "there are normal(m, s), uniform(a, b), index(V), offsets(E), sorted, "
                       "triangular, const");
        return false;
    }
    switch (kind) {
    case 0: input->draw = DRAW_NORMAL; return draw_numbers(tasking, draw, input);
    case 1: input->draw = DRAW_UNIFORM; return draw_numbers(tasking, draw, input);
    case 2: input->draw = DRAW_INDEX; return draw_bound(tasking, draw, part, input);
    case 3: input->draw = DRAW_OFFSETS; return draw_bound(tasking, draw, part, input);
    case 4: input->properties |= IR_PROPERTY_SORTED; break;
    case 5: input->properties |= IR_PROPERTY_TRIANGULAR; break;
    default: input->properties |= IR_PROPERTY_CONSTANT; break;
    }
    return true;
}

static bool take_interval(struct tasking *tasking, const struct ast_line *line,
                          struct task_input *input)
{
    if (!line->has_interval)
        return true;
    bool numbers =
        constant_number(line->low, &input->low) && constant_number(line->high, &input->high);
    input->low_open = line->low_open;
    input->high_open = line->high_open;
    bool empty =
        input->low_open || input->high_open ? input->low >= input->high : input->low > input->high;
    if (numbers && !empty)
        return true;
    error_hint(errors_add(tasking->errors, ERROR_BAD_DRAW, line->low->place,
                          numbers ? "this interval is empty" : "an interval is two numbers"),
               "write it like (0, 1] or [-1, inf)");
    return false;
}

/* Whether an input line is about this tensor: by its name, or by its list's. */
static bool line_names(const struct ast_line *line, const char *tensor)
{
    size_t length = strlen(line->name.name);
    return strncmp(tensor, line->name.name, length) == 0 &&
           (tensor[length] == 0 || tensor[length] == '.');
}

static bool take_inputs(struct tasking *tasking, const struct ir_part *part,
                        struct task_input *inputs)
{
    for (int i = 0; i < part->input_count; i++) {
        const struct ir_tensor *tensor = &part->tensors[part->inputs[i]];
        inputs[i] = (struct task_input){.tensor = part->inputs[i],
                                        .properties = tensor->properties,
                                        .bound = tensor->bound,
                                        .low = -INFINITY,
                                        .high = INFINITY};
        if (tensor->properties & IR_PROPERTY_INDEX)
            inputs[i].draw = DRAW_INDEX;
        if (tensor->properties & IR_PROPERTY_OFFSETS)
            inputs[i].draw = DRAW_OFFSETS;
    }
    bool good = true;
    for (size_t l = 0; l < tasking->ast->lines.count; l++) {
        const struct ast_line *line = &tasking->ast->lines.at[l];
        bool found = false;
        for (int i = 0; line->kind == AST_LINE_INPUT && i < part->input_count; i++) {
            if (!line_names(line, part->tensors[part->inputs[i]].name))
                continue;
            found = true;
            for (size_t d = 0; d < line->draws.count; d++)
                good &= take_draw(tasking, &line->draws.at[d], part, &inputs[i]);
            good &= take_interval(tasking, line, &inputs[i]);
        }
        if (line->kind == AST_LINE_INPUT && !found) {
            struct error *error =
                errors_add(tasking->errors, ERROR_UNDEFINED_NAME, line->name.place,
                           "op '%s' has no input '%s'", tasking->op->name.name, line->name.name);
            struct candidates VECTOR(const char *) names = {0};
            for (int i = 0; i < part->input_count; i++)
                vector_push(tasking->lang->arena, &names, part->tensors[part->inputs[i]].name);
            const char *near = spelling_nearest(line->name.name, names.at, names.count);
            if (near)
                error_hint(error, "did you mean '%s'?", near);
            good = false;
        }
    }
    return good;
}

static const char *case_text(struct tasking *tasking, const struct ast_line *line)
{
    struct text text = text_new(tasking->lang->arena);
    for (size_t i = 0; i < line->named.count; i++) {
        const struct ast_expression *value = line->named.at[i].value;
        text_printf(&text, "%s%s=", i ? ", " : "", line->named.at[i].name);
        if (value->kind == AST_LIST)
            text_char(&text, '[');
        for (size_t k = 0; value->kind == AST_LIST && k < value->list.count; k++) {
            text_add(&text, k ? ", " : "");
            ast_print_expression(&text, value->list.at[k]);
        }
        if (value->kind == AST_LIST)
            text_char(&text, ']');
        else
            ast_print_expression(&text, value);
    }
    return text.at;
}

static bool take_case(struct tasking *tasking, const struct ast_line *line, struct task_case *out)
{
    struct arena *arena = tasking->lang->arena;
    struct instance_key key = instance_key_new(arena, tasking->op);
    for (size_t i = 0; i < key.types.count; i++)
        key.types.at[i] = tasking->key.types.at[i];
    if (!take_counts(tasking, line, &key))
        return false;
    instance_key_default(&key, tasking->op);
    size_t before = tasking->errors->list.count;
    struct instance *instance = instance_get(tasking->lang, tasking->op, &key, tasking->errors);
    for (size_t i = before; i < tasking->errors->list.count; i++)
        if (!tasking->errors->list.at[i].other.source)
            error_note(&tasking->errors->list.at[i], line->place, "in this case");
        else if (!tasking->errors->list.at[i].detail[0])
            error_detail(&tasking->errors->list.at[i], "in the case %s", case_text(tasking, line));
    struct ir_program *program = instance_program(tasking->lang, instance);
    if (!program)
        return false;
    const struct ir_part *part = ir_root(program);
    int64_t *sizes = arena_array(arena, (size_t)part->symbol_count + 1, sizeof *sizes);
    double *scalars = arena_array(arena, (size_t)part->scalar_count + 1, sizeof *scalars);
    struct task_input *inputs = arena_array(arena, (size_t)part->input_count + 1, sizeof *inputs);
    if (!names_are_known(tasking, line, part, &key) || !take_sizes(tasking, line, part, sizes) ||
        !take_scalars(tasking, line, part, scalars) || !take_inputs(tasking, part, inputs))
        return false;
    struct error error = {0};
    struct ir_binding *binding = ir_bind(arena, program, sizes, scalars, &error);
    if (!binding) {
        if (!error.place.source)
            error.place = line->place;
        else if (!error.other.source)
            error_note(&error, line->place, "in this case");
        errors_take(tasking->errors, &error);
        return false;
    }
    *out = (struct task_case){.sizes = binding->sizes,
                              .scalars = binding->scalars,
                              .text = case_text(tasking, line),
                              .timed = line->timed,
                              .place = line->place,
                              .program = program,
                              .inputs = inputs};
    return true;
}

/* ---- the other lines ---- */

static void take_accuracy(struct tasking *tasking, const struct ast_line *line)
{
    static const char *const classes[] = {"exact", "f64",  "f32",  "tf32",
                                          "f16",   "bf16", "f8e4", "f8e5"};
    size_t count = sizeof classes / sizeof *classes;
    for (size_t i = 0; i < count; i++)
        if (strcmp(classes[i], line->name.name) == 0) {
            tasking->task->accuracy = classes[i];
            tasking->task->deterministic |= line->deterministic;
            return;
        }
    struct error *error = errors_add(tasking->errors, ERROR_UNKNOWN_ACCURACY, line->name.place,
                                     "there is no accuracy class '%s'", line->name.name);
    const char *near = spelling_nearest(line->name.name, classes, count);
    if (near)
        error_hint(error, "did you mean '%s'?", near);
    else
        error_hint(error, "classes are exact f64 f32 tf32 f16 bf16 f8e4 f8e5");
}

static bool has_size(const struct ir_part *part, const char *name)
{
    for (int i = 0; i < part->symbol_count; i++)
        if (strcmp(part->symbols[i].name, name) == 0)
            return true;
    for (int i = 0; i < part->family_count; i++)
        if (strcmp(part->families[i].name, name) == 0)
            return true;
    return false;
}

static void suggest_size(struct tasking *tasking, const struct ir_part *part, const char *name,
                         struct error *error)
{
    struct candidates VECTOR(const char *) known = {0};
    for (int i = 0; i < part->symbol_count; i++)
        vector_push(tasking->lang->arena, &known,
                    part->symbols[i].family ? part->symbols[i].family : part->symbols[i].name);
    const char *near = spelling_nearest(name, known.at, known.count);
    if (near)
        error_hint(error, "did you mean '%s'?", near);
}

struct range_list VECTOR(struct task_range);

static void take_ranges(struct tasking *tasking, const struct ast_line *line,
                        const struct ir_part *part, struct range_list *ranges)
{
    for (size_t i = 0; i < line->ranges.count; i++) {
        const struct ast_range *range = &line->ranges.at[i];
        struct task_range out = {.name = range->name.name};
        if (!has_size(part, range->name.name))
            suggest_size(tasking, part, range->name.name,
                         errors_add(tasking->errors, ERROR_UNKNOWN_SIZE, range->name.place,
                                    "op '%s' has no size '%s'", tasking->op->name.name,
                                    range->name.name));
        else if (!constant_integer(range->low, &out.low) ||
                 !constant_integer(range->high, &out.high) || out.low > out.high)
            error_hint(errors_add(tasking->errors, ERROR_BAD_VALUE, range->name.place,
                                  "a range goes from one integer up to another"),
                       "write: sizes %s in 1..4096", range->name.name);
        else
            vector_push(tasking->lang->arena, ranges, out);
    }
}

static const char *print_types(struct tasking *tasking, struct instance_key *key)
{
    struct text text = text_new(tasking->lang->arena);
    for (size_t i = 0; i < key->types.count; i++)
        text_printf(&text, "%s%s=%s", i ? ", " : "", key->types.at[i].name,
                    dtype_name(key->types.at[i].dtype));
    return text.at;
}

static const char *default_accuracy(const struct ir_part *part)
{
    for (int i = 0; i < part->output_count; i++) {
        enum dtype dtype = part->tensors[part->outputs[i]].dtype;
        if (dtype_is_float(dtype))
            return dtype_name(dtype);
    }
    return "exact";
}

static bool take_lines(struct tasking *tasking)
{
    struct arena *arena = tasking->lang->arena;
    const struct ast_lines *lines = &tasking->ast->lines;
    struct range_list ranges = {0};
    struct case_list VECTOR(struct task_case) cases = {0};
    struct baseline_list VECTOR(struct task_baseline) baselines = {0};
    for (size_t i = 0; i < lines->count; i++)
        if (lines->at[i].kind == AST_LINE_DTYPE)
            take_types(tasking, &lines->at[i]);
    struct instance_key key = instance_key_new(arena, tasking->op);
    for (size_t i = 0; i < key.types.count; i++)
        key.types.at[i] = tasking->key.types.at[i];
    instance_key_default(&key, tasking->op);
    struct instance *instance = instance_get(tasking->lang, tasking->op, &key, tasking->errors);
    if (!instance || !instance->part)
        return false;
    tasking->task->types = print_types(tasking, &key);
    tasking->task->accuracy = default_accuracy(instance->part);
    struct task_input *inputs =
        arena_array(arena, (size_t)instance->part->input_count + 1, sizeof *inputs);
    if (!take_inputs(tasking, instance->part, inputs))
        return false;
    for (size_t i = 0; i < lines->count; i++) {
        const struct ast_line *line = &lines->at[i];
        struct task_case task_case;
        switch (line->kind) {
        case AST_LINE_ACCURACY: take_accuracy(tasking, line); break;
        case AST_LINE_DETERMINISTIC: tasking->task->deterministic = true; break;
        case AST_LINE_SIZES: take_ranges(tasking, line, instance->part, &ranges); break;
        case AST_LINE_BASELINE:
            vector_push(arena, &baselines, (struct task_baseline){line->name.name, line->text});
            break;
        case AST_LINE_CASE:
            if (take_case(tasking, line, &task_case))
                vector_push(arena, &cases, task_case);
            break;
        default: break;
        }
    }
    struct task *task = tasking->task;
    task->ranges = ranges.at;
    task->range_count = (int)ranges.count;
    task->cases = cases.at;
    task->case_count = (int)cases.count;
    task->baselines = baselines.at;
    task->baseline_count = (int)baselines.count;
    return true;
}

struct task *lang_task(struct lang *lang, struct lang_file *file, const struct ast_task *ast,
                       struct errors *errors)
{
    size_t before = errors->said;
    struct tasking tasking = {.lang = lang, .file = file, .errors = errors, .ast = ast};
    tasking.op = lang_find_op(lang, file, ast->op.name);
    if (!tasking.op) {
        struct error *error = errors_add(errors, ERROR_NO_SUCH_OP, ast->op.place,
                                         "there is no op '%s'", ast->op.name);
        const char *near = lang_suggest_op(lang, file, ast->op.name);
        if (near)
            error_hint(error, "did you mean '%s'?", near);
        return NULL;
    }
    tasking.key = instance_key_new(lang->arena, tasking.op);
    tasking.task = arena_new(lang->arena, struct task);
    tasking.task->name = ast->name.name;
    tasking.task->op_name = ast->op.name;
    tasking.task->place = ast->place;
    if (!take_lines(&tasking) || errors->said > before)
        return NULL;
    return tasking.task;
}

/* ---- tasks from a command line ---- */

struct task *lang_task_from_settings(struct lang *lang, struct lang_file *file,
                                     const struct ast_op *op, const char *const *settings,
                                     size_t count, struct errors *errors)
{
    struct instance_key key = instance_key_new(lang->arena, op);
    struct text types = text_new(lang->arena), sizes = text_new(lang->arena);
    for (size_t i = 0; i < count; i++) {
        const char *equals = strchr(settings[i], '=');
        const char *name =
            equals ? arena_copy(lang->arena, settings[i], (size_t)(equals - settings[i]))
                   : settings[i];
        if (!equals || strpbrk(settings[i], "\n#")) {
            error_hint(errors_add(errors, ERROR_BAD_VALUE, (struct place){0}, "'%s' is no setting",
                                  settings[i]),
                       "write NAME=VALUE, for example D=64 or B=[4, 8]");
            return NULL;
        }
        struct text *text = instance_type(&key, name) ? &types : &sizes;
        text_printf(text, "%s%s", text->length ? ", " : "", settings[i]);
    }
    struct text source = text_new(lang->arena);
    text_printf(&source, "task %s of %s\n", op->name.name, op->name.name);
    if (types.length)
        text_printf(&source, "dtype %s\n", types.at);
    text_printf(&source, "case %s\n", sizes.at);
    struct errors found = errors_new(lang->arena);
    struct lang_file *typed = lang_load_text(lang, "settings", source.at, source.length, &found);
    if (found.list.count == 0 && typed->task_list.count == 1) {
        if (file)
            vector_push(lang->arena, &typed->includes, file);
        return lang_task(lang, typed, typed->task_list.at[0], errors);
    }
    for (size_t i = 0; i < found.list.count; i++)
        errors_take(errors, &found.list.at[i]);
    return NULL;
}

/* ---- suggestions ---- */

struct suggestion {
    struct text *out;
    const struct ast_op *op;
    struct map said;
};

static bool is_given(const struct ast_op *op, const char *name)
{
    for (size_t i = 0; i < op->clauses.count; i++)
        if (op->clauses.at[i].kind == AST_LET && strcmp(op->clauses.at[i].name.name, name) == 0)
            return true;
    for (size_t i = 0; i < op->parameters.count; i++)
        for (size_t k = 0; k < op->parameters.at[i].names.count; k++)
            if (strcmp(op->parameters.at[i].names.at[k].name, name) == 0)
                return true;
    return false;
}

static void say(struct suggestion *suggestion, const char *name, const char *value)
{
    if (map_has(&suggestion->said, name))
        return;
    text_printf(suggestion->out, "%s%s=%s", suggestion->said.count ? ", " : " ", name, value);
    map_set(&suggestion->said, name, suggestion);
}

static void say_sizes(struct suggestion *suggestion, const struct ast_expression *expression)
{
    if (!expression)
        return;
    if (expression->kind == AST_NAME && !is_given(suggestion->op, expression->name))
        say(suggestion, expression->name, "8");
    say_sizes(suggestion, expression->a);
    say_sizes(suggestion, expression->b);
    for (size_t i = 0; expression->kind == AST_CALL && i < expression->list.count; i++)
        say_sizes(suggestion, expression->list.at[i]);
}

void lang_suggest_case(struct text *out, const struct ast_op *op)
{
    struct suggestion suggestion = {.out = out, .op = op, .said = map_new(out->arena)};
    text_add(out, "case");
    for (size_t i = 0; i < op->inputs.count; i++) {
        const struct ast_declaration *input = &op->inputs.at[i];
        bool each = false;
        for (size_t d = 0; d < input->dims.count; d++) {
            const struct ast_dim *dim = &input->dims.at[d];
            each |= dim->kind == AST_DIM_EACH;
            if (dim->kind == AST_DIM_SIZE)
                say_sizes(&suggestion, dim->size);
            else
                say(&suggestion, dim->name, dim->kind == AST_DIM_RANK ? "[4]" : "[4, 8]");
        }
        for (size_t k = 0; input->is_list && !each && k < input->names.count; k++)
            say(&suggestion, input->names.at[k].name, "2");
        for (size_t k = 0; k < input->facts.count; k++)
            for (size_t a = 0; a < input->facts.at[k].arguments.count; a++)
                say_sizes(&suggestion, input->facts.at[k].arguments.at[a]);
    }
    for (size_t i = 0; i < op->parameters.count; i++) {
        const struct ast_declaration *parameter = &op->parameters.at[i];
        for (size_t k = 0; !parameter->initial && k < parameter->names.count; k++)
            if (strcmp(parameter->type, "type") != 0)
                say(&suggestion, parameter->names.at[k].name,
                    strcmp(parameter->type, "int") == 0    ? "2"
                    : strcmp(parameter->type, "bool") == 0 ? "true"
                                                           : "1.0");
    }
}
