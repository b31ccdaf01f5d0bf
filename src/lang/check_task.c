/*
 * Tasks: an op at the shapes that matter.
 */
#include <string.h>

#include "lang/check_task.h"

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
    if (!task_inputs(tasking, instance->part, inputs))
        return false;
    for (size_t i = 0; i < lines->count; i++) {
        const struct ast_line *line = &lines->at[i];
        struct task_case made;
        switch (line->kind) {
        case AST_LINE_ACCURACY: take_accuracy(tasking, line); break;
        case AST_LINE_CACHE: tasking->task->cold = strcmp(line->name.name, "cold") == 0; break;
        case AST_LINE_DETERMINISTIC: tasking->task->deterministic = true; break;
        case AST_LINE_SIZES: take_ranges(tasking, line, instance->part, &ranges); break;
        case AST_LINE_BASELINE:
            vector_push(arena, &baselines, (struct task_baseline){line->name.name, line->text});
            break;
        case AST_LINE_CASE:
            if (task_case(tasking, line, &made))
                vector_push(arena, &cases, made);
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
