/*
 * What is judged, and by which task: the operands of `smelt judge` and `smelt diagnose`.
 */
#include "cmd/judged.h"

#include <string.h>

#include "cmd/run.h"

struct settings VECTOR(const char *);

const char *const judged_oracles[] = {"auto", "cpu", "device", NULL};

enum judge_oracle judged_oracle(const char *name)
{
    enum judge_oracle oracle = JUDGE_ORACLE_AUTO;
    for (int i = 0; name && judged_oracles[i]; i++)
        if (strcmp(name, judged_oracles[i]) == 0)
            oracle = (enum judge_oracle)i;
    return oracle;
}

/* Sizes that are typed are those that matter: they count for speed. */
static const struct task *time_all(struct arena *arena, struct task *task)
{
    if (!task)
        return NULL;
    struct task_case *cases = arena_array(arena, (size_t)task->case_count + 1, sizeof *cases);
    for (int i = 0; i < task->case_count; i++) {
        cases[i] = task->cases[i];
        cases[i].timed = true;
    }
    task->cases = cases;
    return task;
}

/* NAME=VALUE are settings, the others, from the first on, are kernels. */
static void read_kernels(struct judged *judged, struct invocation *invocation, size_t first,
                         struct settings *settings)
{
    for (size_t i = first; i < invocation->operands.count; i++) {
        const char *word = invocation->operands.at[i];
        struct error error = {0};
        if (strchr(word, '=')) {
            vector_push(invocation->arena, settings, word);
            continue;
        }
        const struct source *source = subject_read(invocation, word, &error);
        if (source)
            vector_push(invocation->arena, &judged->kernels, source);
        else
            errors_take(&invocation->errors, &error);
    }
}

/* By the task of a run. */
static bool find_run(struct judged *judged, struct invocation *invocation, const char *word)
{
    struct settings settings = {0};
    struct stored stored;
    struct run run;
    struct run_again again;
    read_kernels(judged, invocation, 0, &settings);
    if (settings.count > 0)
        errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                   "'%s' cannot be said with --run: a run has its sizes", settings.at[0]);
    if (invocation->errors.list.count > 0 || !stored_open(&stored, invocation, false))
        return false;
    bool found = stored_run(&stored, word, &run) && run_reopen(&stored, &run, &again);
    stored_close(&stored);
    if (!found)
        return false;
    judged->task = again.planned.task;
    judged->subject = again.planned.request.subject;
    judged->as_run = again.options;
    return true;
}

/* The first operand is the task or op. */
bool judged_find(struct judged *judged, struct invocation *invocation)
{
    struct errors *errors = &invocation->errors;
    struct settings settings = {0};
    const char *run = option_value(invocation, "run");
    if (run)
        return find_run(judged, invocation, run);
    read_kernels(judged, invocation, 1, &settings);
    if (errors->list.count > 0 ||
        !subject_find(invocation, invocation->operands.at[0], NULL,
                      option_value(invocation, "task"), &judged->subject, errors))
        return false;
    if (judged->kernels.count == 0) {
        error_hint(
            errors_add(errors, ERROR_USAGE, (struct place){0}, "there is no kernel to judge"),
            "smelt %s %s kernel.c", invocation->command->name, invocation->operands.at[0]);
        return false;
    }
    if (judged->subject.task && settings.count == 0)
        judged->task =
            lang_task(judged->subject.lang, judged->subject.file, judged->subject.task, errors);
    else
        judged->task = time_all(invocation->arena,
                                lang_task_from_settings(judged->subject.lang, judged->subject.file,
                                                        judged->subject.op, settings.at,
                                                        settings.count, errors));
    if (judged->task && judged->task->case_count == 0) {
        struct text line = text_new(invocation->arena);
        lang_suggest_case(&line, judged->subject.op);
        error_hint(errors_add(errors, ERROR_MISSING_SIZE, (struct place){0},
                              "task '%s' has no cases to judge by", judged->task->name),
                   "add a line to it: %s", line.at);
        return false;
    }
    return judged->task != NULL;
}

/* ---- the plan of a kernel ---- */

const char *judged_plan(struct arena *arena, const char *source)
{
    static const char head[] = "\n * The plan:\n", start[] = " *     ";
    struct text plan = text_new(arena);
    const char *line = strstr(source, head);
    for (line = line ? line + sizeof head - 1 : ""; strncmp(line, start, sizeof start - 1) == 0;) {
        size_t length = strcspn(line, "\n");
        text_printf(&plan, "%.*s\n", (int)(length - (sizeof start - 1)), line + sizeof start - 1);
        line += length + (line[length] != 0);
    }
    return plan.length ? plan.at : NULL;
}
