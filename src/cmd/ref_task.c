/*
 * What `smelt ref` evaluates: a task as it was written, or one case made of the settings on the
 * command line and of the shapes of the files given as inputs.
 *
 * A case typed on the command line is written out as a task and parsed like any other, so that its
 * errors are the checker's own, with a caret under what was typed. When the file has a task for the
 * op, its types and its ways of drawing inputs stay in force.
 */
#include <string.h>

#include "cmd/ref.h"

static bool setting_is(const char *setting, const char *name)
{
    size_t length = strlen(name);
    return strncmp(setting, name, length) == 0 && setting[length] == '=';
}

static const char *setting_value(const struct ref_request *request, const char *name)
{
    for (size_t i = 0; i < request->settings.count; i++)
        if (setting_is(request->settings.at[i], name))
            return request->settings.at[i] + strlen(name) + 1;
    return NULL;
}

/* ---- sizes from the shapes of files ---- */

static const struct ast_declaration *find_input(const struct ast_op *op, const char *name)
{
    for (size_t i = 0; i < op->inputs.count; i++) {
        const struct ast_declaration *declaration = &op->inputs.at[i];
        for (size_t k = 0; k < declaration->names.count; k++)
            if (strcmp(declaration->names.at[k].name, name) == 0)
                return declaration;
    }
    return NULL;
}

/* The type a variable such as T stands for: as set, as the task says, or the default. */
static enum dtype variable_type(const struct ref_request *request, const char *name)
{
    enum dtype dtype = DTYPE_F32;
    const char *value = setting_value(request, name);
    const struct ast_task *task = request->subject.task;
    const struct ast_op *op = request->subject.op;
    for (size_t i = 0; i < op->clauses.count; i++) {
        const struct ast_clause *clause = &op->clauses.at[i];
        if (clause->kind == AST_WHERE && clause->class.name &&
            strcmp(clause->name.name, name) == 0 && strcmp(clause->class.name, "int") == 0)
            dtype = DTYPE_I32;
    }
    for (size_t i = 0; task && i < task->lines.count; i++) {
        const struct ast_line *line = &task->lines.at[i];
        for (size_t k = 0; line->kind == AST_LINE_DTYPE && k < line->named.count; k++)
            if (strcmp(line->named.at[k].name, name) == 0 && line->named.at[k].value->name)
                dtype_parse(line->named.at[k].value->name, &dtype);
    }
    if (value)
        dtype_parse(value, &dtype);
    return dtype;
}

static bool has_setting(const struct ref_request *request, const char *name)
{
    return setting_value(request, name) != NULL;
}

/* Adds "D=16" when dimension number `at` of the array is the bare size D and D is not set yet. */
static void solve_size(struct ref_request *request, const struct ast_dim *dim, int64_t extent)
{
    struct arena *arena = request->invocation->arena;
    if (dim->kind != AST_DIM_SIZE || dim->size->kind != AST_NAME ||
        has_setting(request, dim->size->name))
        return;
    vector_push(arena, &request->settings,
                arena_printf(arena, "%s=%lld", dim->size->name, (long long)extent));
}

static void solve_rank(struct ref_request *request, const char *name, const int64_t *dims,
                       int count)
{
    if (has_setting(request, name))
        return;
    struct text text = text_new(request->invocation->arena);
    text_printf(&text, "%s=[", name);
    for (int i = 0; i < count; i++)
        text_printf(&text, "%s%lld", i ? ", " : "", (long long)dims[i]);
    text_char(&text, ']');
    vector_push(request->invocation->arena, &request->settings, text.at);
}

/* Dimensions are matched from the left up to a rank variable, and from the right after it. */
static bool solve_shape(struct ref_request *request, const struct ast_declaration *declaration,
                        const struct ref_file *file, struct error *error)
{
    const struct array *array = &file->array;
    int count = (int)declaration->dims.count, rank_at = -1;
    const struct ast_dim *dims = declaration->dims.at;
    for (int i = 0; i < count; i++)
        if (dims[i].kind == AST_DIM_RANK && rank_at < 0)
            rank_at = i;
        else if (dims[i].kind != AST_DIM_SIZE)
            return true;             /* two ranks or a list: there is more than one way to match */
    int extra = array->rank - count; /* dimensions of the rank variable, less one */
    if (rank_at < 0 ? extra != 0 : extra < -1)
        return error_set(error, ERROR_ARRAY_MISMATCH,
                         "%s has %d dimensions, and input '%s' has %s%d", file->path, array->rank,
                         file->name, rank_at < 0 ? "" : "at least ", count - (rank_at >= 0));
    for (int i = 0; i < count; i++) {
        if (i == rank_at)
            solve_rank(request, dims[i].name, array->dims + i, extra + 1);
        else
            solve_size(request, &dims[i],
                       array->dims[i + (rank_at >= 0 && i > rank_at ? extra : 0)]);
    }
    return true;
}

static bool fail_unknown_input(const struct ref_request *request, const char *name,
                               struct errors *errors)
{
    struct arena *arena = request->invocation->arena;
    const struct ast_op *op = request->subject.op;
    struct names VECTOR(const char *) names = {0};
    struct text list = text_new(arena);
    for (size_t i = 0; i < op->inputs.count; i++)
        for (size_t k = 0; k < op->inputs.at[i].names.count; k++) {
            vector_push(arena, &names, op->inputs.at[i].names.at[k].name);
            text_printf(&list, "%s%s", list.length ? ", " : "", names.at[names.count - 1]);
        }
    struct error *error = errors_add(errors, ERROR_UNKNOWN_INPUT, (struct place){0},
                                     "op '%s' has no input '%s'", op->name.name, name);
    const char *nearest = spelling_nearest(name, names.at, names.count);
    if (nearest)
        error_hint(error, "did you mean '%s'?", nearest);
    else if (list.length)
        error_hint(error, "its inputs are: %s", list.at);
    return false;
}

/* Reads the files; the sizes they show are added to the settings unless a case was chosen. */
static bool read_files(struct ref_request *request, struct errors *errors)
{
    for (size_t i = 0; i < request->files.count; i++) {
        struct ref_file *file = &request->files.at[i];
        const char *element = strchr(file->name, '.'); /* xs.0: an element of a list */
        size_t length = element ? (size_t)(element - file->name) : strlen(file->name);
        const char *name = arena_copy(request->invocation->arena, file->name, length);
        const struct ast_declaration *declaration = find_input(request->subject.op, name);
        if (!declaration)
            return fail_unknown_input(request, file->name, errors);
        struct error error;
        enum dtype dtype;
        if (!declaration->type || !dtype_parse(declaration->type, &dtype))
            dtype = variable_type(request, declaration->type ? declaration->type : "");
        bool solve = !request->case_chosen && !declaration->is_list;
        if (!npy_read(request->invocation->arena, file->path, dtype, &file->array, &error) ||
            (solve && !solve_shape(request, declaration, file, &error))) {
            errors_take(errors, &error);
            return false;
        }
    }
    return true;
}

/* ---- a case from settings, within a task that was written ---- */

static bool is_type_variable(const struct ast_op *op, const char *setting)
{
    enum dtype dtype;
    const struct ast_declarations *lists[] = {&op->inputs, &op->outputs};
    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < lists[l]->count; i++) {
            const char *type = lists[l]->at[i].type;
            if (type && !dtype_parse(type, &dtype) && setting_is(setting, type))
                return true;
        }
    return false;
}

static const char *write_task(const struct ref_request *request, size_t *length)
{
    const struct ast_op *op = request->subject.op;
    struct text text = text_new(request->invocation->arena);
    text_printf(&text, "task %s of %s\n", request->subject.task->name.name, op->name.name);
    for (int pass = 0; pass < 2; pass++) {
        const char *before = pass ? "    case " : "    dtype ";
        for (size_t i = 0; i < request->settings.count; i++) {
            if (is_type_variable(op, request->settings.at[i]) == pass)
                continue;
            text_printf(&text, "%s%s", before, request->settings.at[i]);
            before = ", ";
        }
        if (strcmp(before, ", ") == 0)
            text_char(&text, '\n');
    }
    *length = text.length;
    return text.at;
}

static bool names_setting(const struct ref_request *request, const struct ast_named *named)
{
    return has_setting(request, named->name);
}

/* The written task with its cases left out, and the types that are set anew. */
static void copy_lines(struct ref_request *request, struct ast_task *task)
{
    struct arena *arena = request->invocation->arena;
    const struct ast_task *written = request->subject.task;
    for (size_t i = 0; i < written->lines.count; i++) {
        struct ast_line line = written->lines.at[i];
        if (line.kind == AST_LINE_CASE)
            continue;
        if (line.kind == AST_LINE_DTYPE) {
            struct ast_named_list kept = {0};
            for (size_t k = 0; k < line.named.count; k++)
                if (!names_setting(request, &line.named.at[k]))
                    vector_push(arena, &kept, line.named.at[k]);
            if (!kept.count)
                continue;
            line.named = kept;
        }
        vector_push(arena, &task->lines, line);
    }
}

static struct task *task_with_settings(struct ref_request *request, struct errors *errors)
{
    struct subject *subject = &request->subject;
    size_t length, before = errors->list.count;
    const char *text = write_task(request, &length);
    struct lang_file *typed = lang_load_text(subject->lang, "<command line>", text, length, errors);
    if (!typed || errors->list.count > before || lang_task_count(typed) != 1)
        return NULL;
    struct ast_task task = *subject->task;
    const struct ast_task *addition = lang_task_ast(typed, 0);
    task.lines = (struct ast_lines){0};
    copy_lines(request, &task);
    for (size_t i = 0; i < addition->lines.count; i++)
        vector_push(request->invocation->arena, &task.lines, addition->lines.at[i]);
    struct ast_task *kept = arena_new(request->invocation->arena, struct ast_task);
    *kept = task;
    return lang_task(subject->lang, subject->file, kept, errors);
}

static bool has_cases(const struct ast_task *task)
{
    for (size_t i = 0; i < task->lines.count; i++)
        if (task->lines.at[i].kind == AST_LINE_CASE)
            return true;
    return false;
}

/* The line `case B=[4, 2], D=8` as it is typed: `B=[4,2] D=8`. */
static const char *type_case(struct arena *arena, const struct ast_op *op)
{
    struct text line = text_new(arena), words = text_new(arena);
    int depth = 0;
    lang_suggest_case(&line, op);
    for (const char *c = line.at + strcspn(line.at, " "); *c; c++) {
        depth += (*c == '[') - (*c == ']');
        if (*c == ',' && depth == 0)
            text_char(&words, ' ');
        else if (*c != ' ')
            text_char(&words, *c);
    }
    return words.at;
}

/* A size that is missing is said with a whole command line to type. */
static void hint_sizes(const struct ref_request *request, struct errors *errors)
{
    const struct invocation *invocation = request->invocation;
    const struct ast_op *op = request->subject.op;
    for (size_t i = 0; i < errors->list.count; i++) {
        struct error *error = &errors->list.at[i];
        if (error->code != ERROR_MISSING_SIZE)
            continue;
        const char *chosen = option_value(invocation, "op");
        error_hint(error, "for example: smelt ref %s %s%s%s%s", invocation->operands.at[0],
                   type_case(invocation->arena, op), chosen ? " --op " : "", chosen ? chosen : "",
                   request->files.count ? " ..." : "");
    }
}

static struct task *make_task(struct ref_request *request, struct errors *errors)
{
    struct subject *subject = &request->subject;
    if (!read_files(request, errors))
        return NULL;
    if (subject->task && request->settings.count)
        return task_with_settings(request, errors);
    if (subject->task && has_cases(subject->task))
        return lang_task(subject->lang, subject->file, subject->task, errors);
    if (request->case_chosen) {
        struct error *error = errors_add(errors, ERROR_UNKNOWN_CASE, (struct place){0},
                                         "op '%s' has no cases", subject->op->name.name);
        struct text line = text_new(request->invocation->arena);
        lang_suggest_case(&line, subject->op);
        error_hint(error, "give sizes instead of --case, or write a task with a line such as '%s'",
                   line.at);
        return NULL;
    }
    return lang_task_from_settings(subject->lang, subject->file, subject->op, request->settings.at,
                                   request->settings.count, errors);
}

struct task *ref_task(struct ref_request *request, struct errors *errors)
{
    struct task *task = make_task(request, errors);
    if (!task)
        hint_sizes(request, errors);
    return task;
}
