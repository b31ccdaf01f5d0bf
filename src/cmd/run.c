/*
 * smelt run: a task in, the best kernel found out. smelt resume: the same run, gone on with.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cmd/planned.h"
#include "cmd/reported.h"
#include "cmd/run.h"
#include "cmd/stored.h"
#include "os/file.h"
#include "search/judging.h"

static const char *const policies[] = {"islands", "mcts", "greedy", "random", NULL};

static const struct option options[] = {
    {.name = "budget",
     .argument = "AMOUNT",
     .repeated = true,
     .help = "when to stop: seconds (60s), minutes (5m) or evaluations (500e); 60s when not given"},
    {.name = "until",
     .argument = "GOAL",
     .help = "stop earlier, at a speed-up over the baseline (2.5x) or a part of what the machine "
             "can do (95%)"},
    {.name = "policy",
     .argument = "NAME",
     .choices = policies,
     .help = "how the search chooses what to go on from: islands (the default), mcts, greedy, "
             "random"},
    {.name = "seed", .argument = "N", .help = "of the search's random choices"},
    {.name = "threads", .argument = "N", .help = "threads kernels are given (1 when not given)"},
    {.name = "jobs", .argument = "N", .help = "candidates judged side by side (4 when not given)"},
    {.name = "baseline",
     .letter = 'b',
     .argument = "NAME",
     .repeated = true,
     .help = "compare with this instead of the baselines the task names"},
    {.name = "seconds",
     .argument = "S",
     .help = "time to spend on timing a batch of candidates (0.5 when not given)"},
    {.name = "no-experience", .help = "begin as if nothing was known from earlier runs"},
    {.name = "out", .letter = 'o', .argument = "FILE", .help = "write the best kernel to FILE"},
    {.name = "report",
     .argument = "FILE",
     .help = "write the HTML report to FILE instead of `reports` beside the store; `none`: write "
             "none"},
    {.name = "op", .argument = "NAME", .help = "the op of FILE"},
    {.name = "task", .argument = "NAME", .help = "the task of FILE"},
    {.name = "case", .letter = 'c', .argument = "I", .help = "the case that counts, from 0"},
    OPTIONS_PINS,
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt run softmax.op", "a minute of search for the file's task"},
    {"smelt run softmax 'B=[4096]' D=1024 --budget 30s", "an op of the library at given sizes"},
    {"smelt run softmax.op --until 95% --threads 2", "until it is near what the machine can do"},
    {"smelt run softmax.op --pin '*.threads=1' -o best.c", "with a decision kept; the kernel kept"},
    {0},
};

struct request {
    struct planned planned;
    struct stored stored;
    struct judging judging;
    struct search_options options;
    struct search search;
    struct know know;
    struct run_view view;
    enum search_end end;
};

/* ---- options ---- */

static bool bad(struct invocation *invocation, const char *name, const char *text, const char *hint)
{
    error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                          "--%s cannot be '%s'", name, text),
               "%s", hint);
    return false;
}

static bool take_budgets(struct invocation *invocation, struct search_budget *budget)
{
    size_t cursor = 0;
    bool given = false;
    for (const char *text; (text = option_next(invocation, "budget", &cursor)); given = true) {
        char *end;
        double amount = strtod(text, &end);
        if (!(amount > 0) || amount > 1e9)
            return bad(invocation, "budget", text, "such as 60s, 5m or 500e");
        if (strcmp(end, "s") == 0)
            budget->seconds = amount;
        else if (strcmp(end, "m") == 0)
            budget->seconds = 60 * amount;
        else if (strcmp(end, "e") == 0)
            budget->evaluations = (int64_t)amount;
        else
            return bad(invocation, "budget", text, "such as 60s, 5m or 500e");
    }
    if (!given)
        budget->seconds = 60;
    return true;
}

static bool take_until(struct invocation *invocation, struct search_budget *budget)
{
    const char *text = option_value(invocation, "until");
    char *end;
    if (!text)
        return true;
    double amount = strtod(text, &end);
    if (amount > 0 && strcmp(end, "%") == 0 && amount <= 100)
        budget->of_floor = amount / 100;
    else if (amount > 0 && strcmp(end, "x") == 0)
        budget->fitness = amount;
    else
        return bad(invocation, "until", text, "such as 95% or 2.5x");
    return true;
}

static bool take_count(struct invocation *invocation, const char *name, double most, double *value)
{
    const char *text = option_value(invocation, name);
    char *end;
    if (!text)
        return true;
    *value = strtod(text, &end);
    if (*text && *end == 0 && *value > 0 && *value <= most)
        return true;
    return bad(invocation, name, text, "it is a number above 0");
}

static bool take_options(struct request *request, struct invocation *invocation)
{
    double threads = 1, jobs = 4, seconds = 0.5, seed = 0;
    const char *policy = option_value(invocation, "policy");
    struct names VECTOR(const char *) names = {0};
    size_t cursor = 0;
    if (!take_budgets(invocation, &request->options.budget) ||
        !take_until(invocation, &request->options.budget) ||
        !take_count(invocation, "threads", 1024, &threads) ||
        !take_count(invocation, "jobs", SEARCH_BATCH, &jobs) ||
        !take_count(invocation, "seed", 9e15, &seed) ||
        !take_count(invocation, "seconds", 3600, &seconds))
        return false;
    request->options.policy = search_policy_find(policy ? policy : "islands");
    request->options.batch = (int)jobs;
    request->options.no_experience = option_given(invocation, "no-experience");
    request->options.seed = seed > 0 ? (uint64_t)seed : (uint64_t)time(NULL);
    request->judging.arena = invocation->arena;
    request->judging.options = (struct judge_options){
        .threads = (int)threads, .time_seconds = seconds, .only_case = -1, .only_draw = -1};
    for (const char *name; (name = option_next(invocation, "baseline", &cursor));)
        vector_push(invocation->arena, &names, name);
    if (names.count) {
        vector_push(invocation->arena, &names, NULL);
        request->judging.options.baselines = names.at;
    }
    request->search.threads = (int)threads;
    return true;
}

/* ---- the situation ---- */

/* The command line, a word per line, so that resume can go by it. */
static const char *settings_of(struct invocation *invocation)
{
    struct text text = text_new(invocation->arena);
    for (size_t i = 0; i < invocation->operands.count; i++)
        text_printf(&text, "%s\n", invocation->operands.at[i]);
    for (size_t i = 0; i < invocation->options.count; i++) {
        const struct option_use *use = &invocation->options.at[i];
        if (strcmp(use->option->name, "store") == 0 || strcmp(use->option->name, "json") == 0)
            continue;
        text_printf(&text, "--%s%s%s\n", use->option->name, use->value ? "=" : "",
                    use->value ? use->value : "");
    }
    return text.at;
}

static void describe_situation(struct request *request, struct invocation *invocation)
{
    struct arena *arena = invocation->arena;
    struct search *search = &request->search;
    const struct skeleton_program *program = request->planned.ready;
    const struct ir_part *part = program->part;
    machine_describe(&search->machine, "");
    if (machine_rates_load(arena, &search->machine, &search->rates) != MACHINE_KEPT_GOOD)
        search->rates = (struct rates){0};
    enum dtype dtype = part->output_count ? part->tensors[part->outputs[0]].dtype : DTYPE_F32;
    request->know =
        (struct know){.arena = arena,
                      .engine = request->stored.engine,
                      .store = request->stored.store,
                      .structure = know_structure(arena, planned_class(arena, program), part),
                      .shape = know_shape(arena, program->binding),
                      .dtype = dtype_name(dtype),
                      .target = "cpu",
                      .signature = arena_string(arena, search->machine.id)};
    request->options.know = &request->know;
}

/* Where no case is marked, the chosen one counts. */
static void time_something(struct planned *planned, struct arena *arena)
{
    struct task *task = planned->task;
    int64_t which = planned->request.first_case;
    for (int i = 0; i < task->case_count; i++)
        if (task->cases[i].timed)
            return;
    struct task_case *cases = arena_array(arena, (size_t)task->case_count, sizeof *cases);
    memcpy(cases, task->cases, (size_t)task->case_count * sizeof *cases);
    cases[which < task->case_count ? which : 0].timed = true;
    task->cases = cases;
}

static bool prepare(struct request *request, struct invocation *invocation)
{
    struct planned *planned = &request->planned;
    struct search *search = &request->search;
    planned->request.invocation = invocation;
    if (!take_options(request, invocation) || !planned_find(planned) || !planned_prepare(planned))
        return false;
    if (planned->task->case_count == 0) {
        struct text line = text_new(invocation->arena);
        lang_suggest_case(&line, planned->request.subject.op);
        error_hint(errors_add(&invocation->errors, ERROR_MISSING_SIZE, (struct place){0},
                              "task '%s' has no cases to be fast at", planned->task->name),
                   "add a line to it: %s time", line.at);
        return false;
    }
    time_something(planned, invocation->arena);
    planned->target.threads = search->threads;
    request->judging.task = planned->task;
    request->options.judge = (struct search_judge){judging_judge, &request->judging};
    request->judging.binaries = &search->by_binary;
    search->arena = invocation->arena;
    search->options = &request->options;
    search->program = planned->ready;
    search->op = planned_op_text(invocation->arena, planned->request.subject.op);
    return true;
}

/* ---- the run ---- */

static bool write_best(struct request *request, struct invocation *invocation)
{
    const char *path = option_value(invocation, "out");
    struct text source = text_new(invocation->arena);
    struct error error = {0};
    if (!path || !request->search.best)
        return true;
    propose_source(request->search.program, request->search.best->plan, request->search.op,
                   &source);
    if (file_write(path, source.at, source.length, 0644, &error))
        return true;
    errors_take(&invocation->errors, &error);
    return false;
}

/* Where it is; NULL: none was written. A run is not worse for lack of a page about it. */
static const char *write_report(struct request *request, struct invocation *invocation)
{
    const char *path = option_value(invocation, "report");
    struct text page = text_new(invocation->arena);
    struct error error = {0};
    if (!request->search.run.id || (path && strcmp(path, "none") == 0))
        return NULL;
    if (reported_page(&request->stored, &request->search.run, &page, &error))
        path = reported_write(&request->stored, &request->search.run, path, &page, &error);
    else
        path = NULL;
    if (!path)
        output_note(invocation, "the report was not written: %s", error.message);
    return path;
}

static enum exit_code go(struct request *request, struct invocation *invocation)
{
    struct search *search = &request->search;
    struct error error = {0};
    run_catch_interrupts();
    run_view_open(&request->view, invocation, search->run.task, &request->options.budget);
    request->options.progress = run_view_show;
    request->options.context = &request->view;
    request->end = search_run(search, &error);
    run_view_close(&request->view);
    if (request->end == SEARCH_FAILED)
        errors_take(&invocation->errors, &error);
    bool written = write_best(request, invocation);
    struct run_files files = {option_value(invocation, "out"), write_report(request, invocation)};
    struct text out = text_new(invocation->arena);
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        json_array(&json, "runs");
        run_write_summary(&json, search, request->end, &files);
        json_end(&json);
        output_json_end(invocation, &json);
    } else {
        run_print_summary(&out, search, request->end, &files);
        output_text(&out);
    }
    if (request->end == SEARCH_FAILED || !written)
        return exit_worse(EXIT_NO, error_exit(error.code));
    return search->best ? EXIT_YES : EXIT_NO;
}

static enum exit_code run(struct invocation *invocation)
{
    struct request *request = arena_new(invocation->arena, struct request);
    if (!prepare(request, invocation))
        return errors_exit(&invocation->errors);
    if (!stored_open(&request->stored, invocation, true))
        return EXIT_ENVIRONMENT;
    describe_situation(request, invocation);
    struct search *search = &request->search;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    search->engine = request->stored.engine;
    search->store = request->stored.store;
    search->run = (struct run){.task = request->planned.task->name,
                               .structure = request->know.structure,
                               .target = "cpu",
                               .signature = request->know.signature,
                               .settings = settings_of(invocation),
                               .seed = request->options.seed,
                               .started = (double)now.tv_sec};
    enum exit_code exit = go(request, invocation);
    stored_close(&request->stored);
    return exit;
}

const struct command command_run = {
    .name = "run",
    .summary = "search for the fastest kernel of a task",
    .operands = "FILE|OP [NAME=VALUE...]",
    .operand_kind = OPERAND_FILE_OR_OP,
    .least = 1,
    .most = -1,
    .description =
        "Takes a task and comes back with the best kernel found. Plans are made, changed by "
        "experts that look at what bounds the one at hand, written as C, judged side by side with "
        "the fastest baseline, and kept, all of them, in the store. What worked is remembered and "
        "tried first the next time.\n\n"
        "Ctrl-C ends a run cleanly with the best so far; `smelt resume` goes on with it.",
    .options = options,
    .examples = examples,
    .run = run,
};

/* ---- resume ---- */

static const struct option resume_options[] = {
    {.name = "budget",
     .argument = "AMOUNT",
     .repeated = true,
     .help = "how much the run may take in all, what it took before included; when not given, what "
             "it was begun with, once more"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example resume_examples[] = {
    {"smelt resume last", "the newest run"},
    {"smelt resume 12 --budget 10m", "run 12, until it has taken ten minutes in all"},
    {0},
};

/* The words the run was begun with, and those given now. */
static bool parse_words(struct invocation *invocation, const struct run *run,
                        struct invocation *again)
{
    struct words VECTOR(char *) words = {0};
    char *text = arena_string(invocation->arena, run->settings ? run->settings : "");
    size_t cursor = 0;
    vector_push(invocation->arena, &words, arena_string(invocation->arena, "run"));
    for (char *word = strtok(text, "\n"); word; word = strtok(NULL, "\n"))
        vector_push(invocation->arena, &words, word);
    for (const char *budget; (budget = option_next(invocation, "budget", &cursor));)
        vector_push(invocation->arena, &words,
                    arena_printf(invocation->arena, "--budget=%s", budget));
    *again = (struct invocation){.arena = invocation->arena,
                                 .scratch = invocation->scratch,
                                 .errors = errors_new(invocation->arena),
                                 .json = invocation->json,
                                 .colour = invocation->colour,
                                 .colour_notes = invocation->colour_notes};
    return options_parse(again, (int)words.count, words.at);
}

static enum exit_code resume(struct invocation *invocation)
{
    struct request *request = arena_new(invocation->arena, struct request);
    struct invocation again;
    struct run old;
    if (!stored_open(&request->stored, invocation, false))
        return errors_exit(&invocation->errors);
    enum exit_code exit = EXIT_NO;
    if (stored_run(&request->stored, invocation->operands.at[0], &old)) {
        again.errors = invocation->errors;
        if (parse_words(invocation, &old, &again) && prepare(request, &again)) {
            struct search_budget *budget = &request->options.budget;
            describe_situation(request, &again);
            if (!option_given(invocation, "budget")) {
                budget->seconds += budget->seconds > 0 ? old.seconds : 0;
                budget->evaluations += budget->evaluations > 0 ? old.judged : 0;
            }
            request->search.engine = request->stored.engine;
            request->search.store = request->stored.store;
            request->search.run = old;
            exit = go(request, &again);
        }
        for (size_t i = 0; i < again.errors.list.count; i++)
            errors_take(&invocation->errors, &again.errors.list.at[i]);
    }
    stored_close(&request->stored);
    return invocation->errors.list.count ? errors_exit(&invocation->errors) : exit;
}

const struct command command_resume = {
    .name = "resume",
    .summary = "go on with a run that was stopped or killed",
    .operands = "RUN",
    .operand_kind = OPERAND_NONE,
    .least = 1,
    .most = 1,
    .description =
        "Goes on with a run where it was: with its candidates, its settings and what it learned. "
        "RUN is its number, the name of its task (the newest run of it), or `last`. No candidate "
        "that was judged is judged again.",
    .options = resume_options,
    .examples = resume_examples,
    .run = resume,
};
