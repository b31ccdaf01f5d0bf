/*
 * smelt check: are these files right? Everything that is wrong, and one line per file.
 */
#include <string.h>

#include "cmd/subject.h"

enum { SUGGESTIONS_SHOWN = 3 }; /* per file; a library of ops without cases is no reason to shout */

static const struct option options[] = {OPTION_JSON, {0}};

static const struct example examples[] = {
    {"smelt check softmax.op", "check one file and what it includes"},
    {"smelt check lib", "check every .op file of a folder"},
    {"smelt check --json softmax.op", "the errors with their places, for an editor"},
    {0},
};

struct counts {
    size_t fns, monoids, ops, tasks, cases;
};

static size_t count_cases(const struct ast_task *task)
{
    size_t count = 0;
    for (size_t i = 0; i < task->lines.count; i++)
        count += task->lines.at[i].kind == AST_LINE_CASE;
    return count;
}

static struct counts count_items(const struct ast_file *file)
{
    struct counts counts = {0};
    for (size_t i = 0; i < file->items.count; i++) {
        const struct ast_item *item = file->items.at[i];
        counts.fns += item->kind == AST_ITEM_FN;
        counts.monoids += item->kind == AST_ITEM_MONOID;
        counts.ops += item->kind == AST_ITEM_OP;
        counts.tasks += item->kind == AST_ITEM_TASK;
        counts.cases += item->kind == AST_ITEM_TASK ? count_cases(&item->task) : 0;
    }
    return counts;
}

static void print_counts(struct text *out, struct counts counts)
{
    const struct {
        size_t count;
        const char *noun;
    } kinds[] = {{counts.fns, "fn"},
                 {counts.monoids, "monoid"},
                 {counts.ops, "op"},
                 {counts.tasks, "task"},
                 {counts.cases, "case"}};
    size_t start = out->length;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!kinds[i].count)
            continue;
        text_add(out, out->length > start ? ", " : "");
        text_count(out, kinds[i].count, kinds[i].noun);
    }
    if (out->length == start)
        text_add(out, "nothing in it");
}

static bool has_cases(const struct lang_file *file, const struct ast_op *op)
{
    for (size_t i = 0; i < lang_task_count(file); i++) {
        const struct ast_task *task = lang_task_ast(file, i);
        if (strcmp(task->op.name, op->name.name) == 0 && count_cases(task))
            return true;
    }
    return false;
}

/* An op without cases is fine; a line that would give it one is shown. */
static void suggest_cases(struct invocation *invocation, const char *path,
                          const struct lang_file *file)
{
    size_t without = 0;
    for (size_t i = 0; i < lang_op_count(file); i++) {
        const struct ast_op *op = lang_op(file, i);
        if (has_cases(file, op) || without++ >= SUGGESTIONS_SHOWN)
            continue;
        struct text line = text_new(invocation->arena);
        lang_suggest_case(&line, op);
        output_note(invocation,
                    "%s: op %s has no cases yet; a task gives it some:\n    task %s_task of %s\n"
                    "        %s",
                    path, op->name.name, op->name.name, op->name.name, line.at);
    }
    if (without == SUGGESTIONS_SHOWN + 1)
        output_note(invocation, "%s: one more op has no cases", path);
    else if (without > SUGGESTIONS_SHOWN)
        output_note(invocation, "%s: %zu more ops have no cases", path,
                    without - SUGGESTIONS_SHOWN);
}

static void json_file(struct invocation *invocation, struct json *json, const char *path,
                      const struct lang_file *file, const struct errors *errors)
{
    struct counts counts = file ? count_items(lang_ast(file)) : (struct counts){0};
    json_object(json, NULL);
    json_string(json, "file", path);
    json_bool(json, "ok", errors->list.count == 0);
    json_int(json, "fns", (int64_t)counts.fns);
    json_int(json, "monoids", (int64_t)counts.monoids);
    json_int(json, "ops", (int64_t)counts.ops);
    json_int(json, "tasks", (int64_t)counts.tasks);
    json_int(json, "cases", (int64_t)counts.cases);
    json_array(json, "suggestions");
    for (size_t i = 0; file && errors->list.count == 0 && i < lang_op_count(file); i++) {
        const struct ast_op *op = lang_op(file, i);
        if (has_cases(file, op))
            continue;
        struct text line = text_new(invocation->arena);
        lang_suggest_case(&line, op);
        json_object(json, NULL);
        json_string(json, "op", op->name.name);
        json_string(json, "line", line.at);
        json_end(json);
    }
    json_end(json);
    output_json_errors(json, errors);
    json_end(json);
}

static void summarise(struct invocation *invocation, const char *path, const struct lang_file *file,
                      const struct errors *errors)
{
    struct text line = text_new(invocation->arena);
    text_printf(&line, "%s: ", path);
    if (!file) {
        text_add(&line, "not read");
    } else if (!errors->list.count) {
        print_counts(&line, count_items(lang_ast(file)));
        text_add(&line, ": ok");
    } else {
        text_count(&line, errors->list.count + errors->dropped, "error");
    }
    text_char(&line, '\n');
    output_text(&line);
    if (!errors->list.count)
        suggest_cases(invocation, path, file);
}

static enum exit_code check_file(struct invocation *invocation, struct lang *lang, const char *path,
                                 struct json *json)
{
    struct errors errors = errors_new(invocation->arena);
    struct lang_file *file = subject_load(invocation, lang, path, &errors);
    if (file)
        lang_check(lang, file, &errors);
    event("checked", event_string("file", path), event_int("errors", (int64_t)errors.list.count));
    if (json)
        json_file(invocation, json, path, file, &errors);
    enum exit_code code = output_errors(invocation, &errors);
    if (!json)
        summarise(invocation, path, file, &errors);
    return code;
}

static enum exit_code run(struct invocation *invocation)
{
    struct file_names files = subject_files(invocation, &invocation->errors);
    struct lang *lang = lang_new(invocation->arena, NULL);
    enum exit_code code = EXIT_YES;
    struct text text = text_new(invocation->arena);
    struct json json;
    if (invocation->json) {
        json = output_json_begin(invocation, &text);
        json_array(&json, "files");
    }
    for (size_t i = 0; i < files.count; i++)
        code = exit_worse(
            code, check_file(invocation, lang, files.at[i], invocation->json ? &json : NULL));
    if (!invocation->json)
        return code;
    json_end(&json);
    return exit_worse(code, output_json_end(invocation, &json));
}

const struct command command_check = {
    .name = "check",
    .summary = "check files of ops and tasks, and say what is wrong and where",
    .operands = "FILE...",
    .operand_kind = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .description =
        "Checks everything in each FILE: syntax, names, shapes, types, that reads stay in bounds, "
        "and that every case of a task fits its op. All errors are shown, each with its place, the "
        "line, and where possible what to write instead. A folder stands for all .op files in it, "
        "and - for standard input.\n\n"
        "An op without cases is not an error: a line that would give it one is suggested. The exit "
        "code is 0 when all files are right, else 1.",
    .options = options,
    .examples = examples,
    .run = run,
};
