/*
 * smelt run of a folder or of several files: one search per task, in turn, and a table at the end.
 */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/run.h"

struct job {
    const char *file, *task; /* task NULL: an op, or a file without one */
};
struct jobs VECTOR(struct job);

static bool is_folder(const char *word)
{
    struct stat status;
    return strcmp(word, "-") != 0 && stat(word, &status) == 0 && S_ISDIR(status.st_mode);
}

bool run_is_many(const struct invocation *invocation)
{
    size_t words = 0;
    for (size_t i = 0; i < invocation->operands.count; i++) {
        const char *word = invocation->operands.at[i];
        words += strchr(word, '=') == NULL;
        if (is_folder(word))
            return true;
    }
    return words > 1;
}

/* ---- what is to be done ---- */

static void add_tasks(struct invocation *invocation, const char *path, struct jobs *jobs)
{
    const char *only = option_value(invocation, "task");
    struct lang *lang = lang_new(invocation->arena, NULL);
    if (!subject_is_file(path)) {
        vector_push(invocation->arena, jobs, ((struct job){path, NULL}));
        return;
    }
    struct lang_file *file = subject_load(invocation, lang, path, &invocation->errors);
    size_t count = file ? lang_task_count(file) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct task *task =
            lang_task(lang, file, lang_task_ast(file, i), &invocation->errors);
        if (task && task->case_count > 0 && (!only || strcmp(only, task->name) == 0))
            vector_push(invocation->arena, jobs, ((struct job){path, task->name}));
    }
}

static bool find_jobs(struct invocation *invocation, struct jobs *jobs)
{
    struct errors *errors = &invocation->errors;
    for (size_t i = 0; i < invocation->operands.count; i++)
        if (strchr(invocation->operands.at[i], '=')) {
            error_hint(errors_add(errors, ERROR_USAGE, (struct place){0},
                                  "sizes cannot be given for several tasks at once"),
                       "run them one by one, or write tasks with cases");
            return false;
        }
    if (option_given(invocation, "out")) {
        error_hint(errors_add(errors, ERROR_USAGE, (struct place){0},
                              "--out names one file, and there are several tasks"),
                   "smelt best TASK -o FILE.c afterwards");
        return false;
    }
    struct file_names files = subject_files(invocation, errors);
    for (size_t i = 0; i < files.count; i++)
        add_tasks(invocation, files.at[i], jobs);
    if (jobs->count == 0 && errors->list.count == 0)
        error_hint(errors_add(errors, ERROR_USAGE, (struct place){0},
                              "there is no task with cases to search for"),
                   "smelt new NAME writes a file with one");
    return jobs->count > 0;
}

/* ---- one of them ---- */

static bool is_of_all(const char *name)
{
    static const char *const own[] = {"store", "json", "task", "out", "report"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i], name) == 0)
            return false;
    return true;
}

static bool parse_job(struct invocation *invocation, const struct job *job,
                      struct invocation *again)
{
    struct arena *arena = invocation->arena;
    struct run_words words = {0};
    const char *report = option_value(invocation, "report");
    vector_push(arena, &words, arena_string(arena, "run"));
    vector_push(arena, &words, arena_string(arena, job->file));
    if (job->task)
        vector_push(arena, &words, arena_printf(arena, "--task=%s", job->task));
    if (report && strcmp(report, "none") == 0)
        vector_push(arena, &words, arena_string(arena, "--report=none"));
    for (size_t i = 0; i < invocation->options.count; i++) {
        const struct option_use *use = &invocation->options.at[i];
        if (is_of_all(use->option->name))
            vector_push(arena, &words,
                        arena_printf(arena, "--%s%s%s", use->option->name, use->value ? "=" : "",
                                     use->value ? use->value : ""));
    }
    return run_parse(invocation, &words, again);
}

/* NULL: nothing was searched, and errors say why. */
static struct run_request *run_job(struct stored *stored, const struct job *job)
{
    struct invocation *invocation = stored->invocation;
    struct run_request *request = arena_new(invocation->arena, struct run_request);
    struct invocation *again = arena_new(invocation->arena, struct invocation);
    bool searched = false;
    request->stored = *stored;
    if (parse_job(invocation, job, again) && run_prepare_search(request, again)) {
        request->stored.invocation = again;
        run_describe(request, again);
        searched = run_begin(request, again);
        if (searched)
            run_search(request, again);
    }
    for (size_t i = 0; i < again->errors.list.count; i++)
        errors_take(&invocation->errors, &again->errors.list.at[i]);
    return searched ? request : NULL;
}

/* ---- words ---- */

static void print_row(struct text *out, const struct job *job, const struct run_request *request)
{
    const char *name = job->task ? job->task : job->file;
    const struct search_node *best = request ? request->search.best : NULL;
    if (!best) {
        text_printf(out, "%-36s  %s\n", name, request ? "nothing right was found" : "not searched");
        return;
    }
    text_printf(out, "%-36s %7.3gx %10.4g", name, best->record.fitness, best->record.microseconds);
    if (best->record.floor > 0)
        text_printf(out, " %6.0f %%", 100 * best->record.floor / best->record.microseconds);
    else
        text_printf(out, " %8s", "-");
    text_printf(out, " %7lld %5lld\n", (long long)request->search.judged,
                (long long)request->search.run.id);
}

static void print_table(struct text *out, const struct jobs *jobs,
                        struct run_request *const *requests, size_t done)
{
    double sum = 0;
    int count = 0;
    text_printf(out, "%-36s %8s %10s %8s %7s %5s\n", "task", "speed-up", "us", "of floor", "judged",
                "run");
    for (size_t i = 0; i < done; i++) {
        const struct search_node *best = requests[i] ? requests[i]->search.best : NULL;
        print_row(out, &jobs->at[i], requests[i]);
        if (best && best->record.fitness > 0) {
            sum += log(best->record.fitness);
            count++;
        }
    }
    if (count > 1)
        text_printf(out, "%-36s %7.3gx  geometric mean over %d tasks\n", "", exp(sum / count),
                    count);
    if (done < jobs->count)
        text_printf(out, "%zu tasks were left out: it was stopped\n", jobs->count - done);
}

enum exit_code run_many(struct invocation *invocation)
{
    struct jobs jobs = {0};
    struct stored stored;
    if (!find_jobs(invocation, &jobs))
        return errors_exit(&invocation->errors);
    if (!stored_open(&stored, invocation, true))
        return EXIT_ENVIRONMENT;
    struct run_request **requests = arena_array(invocation->arena, jobs.count, sizeof *requests);
    size_t done = 0;
    bool all = true;
    for (; done < jobs.count && !run_interrupted(); done++) {
        requests[done] = run_job(&stored, &jobs.at[done]);
        all &= requests[done] && requests[done]->search.best;
    }
    stored_close(&stored);
    struct text out = text_new(invocation->arena);
    enum exit_code exit = all ? EXIT_YES : EXIT_NO;
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        json_array(&json, "runs");
        for (size_t i = 0; i < done; i++)
            if (requests[i])
                run_write_summary(&json, requests[i]);
        json_end(&json);
        return exit_worse(exit, output_json_end(invocation, &json));
    }
    print_table(&out, &jobs, requests, done);
    output_text(&out);
    return exit_worse(exit, errors_exit(&invocation->errors));
}
