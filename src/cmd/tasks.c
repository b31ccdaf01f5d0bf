/*
 * smelt tasks: the tasks that are ready, by suite, folder or file.
 */
#include <unistd.h>

#include "cmd/subject.h"

static const struct option options[] = {
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt tasks", "the suites"},
    {"smelt tasks core", "the tasks of a suite, with the cases that are timed"},
    {"smelt tasks softmax.op", "those of a file"},
    {0},
};

static const char *const suites[] = {"core", "peers", "recsys", "aten", "gpu"};

static enum exit_code list_suites(struct invocation *invocation)
{
    struct text out = text_new(invocation->arena);
    struct json json = {0};
    if (invocation->json) {
        json = output_json_begin(invocation, &out);
        json_array(&json, "suites");
    }
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
        const char *folder = subject_suite(invocation, suites[i]);
        if (!folder)
            continue;
        invocation->operands.count = 0;
        vector_push(invocation->arena, &invocation->operands, folder);
        struct file_names files = subject_files(invocation, &invocation->errors);
        if (invocation->json) {
            json_object(&json, NULL);
            json_string(&json, "suite", suites[i]);
            json_string(&json, "folder", folder);
            json_int(&json, "files", (int64_t)files.count);
            json_end(&json);
        } else {
            text_printf(&out, "%-8s %5zu files in %s\n", suites[i], files.count, folder);
        }
    }
    if (invocation->json) {
        json_end(&json);
        return output_json_end(invocation, &json);
    }
    output_text(&out);
    return EXIT_YES;
}

static void add_task(struct invocation *invocation, const struct task *task, const char *file,
                     struct json *json, struct text *out)
{
    if (!invocation->json) {
        text_printf(out, "%s: %s of %s%s%s\n", file, task->name, task->op_name,
                    *task->types ? ", " : "", task->types);
        for (int i = 0; i < task->case_count; i++)
            if (task->cases[i].timed)
                text_printf(out, "    %s\n", task->cases[i].text);
        return;
    }
    json_object(json, NULL);
    json_string(json, "task", task->name);
    json_string(json, "op", task->op_name);
    json_string(json, "types", task->types);
    json_string(json, "accuracy", task->accuracy);
    json_string(json, "file", file);
    json_int(json, "cases", task->case_count);
    json_array(json, "timed");
    for (int i = 0; i < task->case_count; i++)
        if (task->cases[i].timed)
            json_string(json, NULL, task->cases[i].text);
    json_end(json);
    json_end(json);
}

static void add_file(struct invocation *invocation, struct lang *lang, const char *path,
                     struct json *json, struct text *out)
{
    struct lang_file *file = subject_load(invocation, lang, path, &invocation->errors);
    for (size_t i = 0; file && i < lang_task_count(file); i++) {
        struct task *task = lang_task(lang, file, lang_task_ast(file, i), &invocation->errors);
        if (task)
            add_task(invocation, task, path, json, out);
    }
}

static enum exit_code run(struct invocation *invocation)
{
    struct text out = text_new(invocation->arena);
    struct json json = {0};
    if (invocation->operands.count == 0)
        return list_suites(invocation);
    for (size_t i = 0; i < invocation->operands.count; i++) {
        const char *word = invocation->operands.at[i];
        const char *folder = subject_suite(invocation, word);
        if (folder) {
            invocation->operands.at[i] = folder;
        } else if (!subject_is_file(word) && access(word, F_OK) != 0) {
            error_hint(errors_add(&invocation->errors, ERROR_NO_FILES, (struct place){0},
                                  "there is no suite, folder or file '%s'", word),
                       "smelt tasks lists the suites");
            return errors_exit(&invocation->errors);
        }
    }
    struct file_names files = subject_files(invocation, &invocation->errors);
    struct lang *lang = lang_new(invocation->arena, NULL);
    if (invocation->json) {
        json = output_json_begin(invocation, &out);
        json_array(&json, "tasks");
    }
    for (size_t i = 0; i < files.count; i++)
        add_file(invocation, lang, files.at[i], &json, &out);
    if (invocation->json) {
        json_end(&json);
        return output_json_end(invocation, &json);
    }
    output_text(&out);
    return errors_exit(&invocation->errors);
}

const struct command command_tasks = {
    .name = "tasks",
    .summary = "list tasks that are ready to work on",
    .operands = "[SUITE|DIR|FILE...]",
    .operand_kind = OPERAND_FILE,
    .least = 0,
    .most = -1,
    .description =
        "Lists the tasks of suites, folders and files: the op each is of, its types, and the cases "
        "that are timed. Without a word it lists the suites that come with smelt.",
    .options = options,
    .examples = examples,
    .run = run,
};
