/*
 * smelt run: a task in, the best kernel found out.
 */
#include <string.h>
#include <time.h>

#include "cmd/judged.h"
#include "cmd/reported.h"
#include "cmd/run.h"
#include "os/file.h"

static const char *const policies[] = {"islands", "mcts", "greedy", "random", NULL};

static const struct option options[] = {
    {.name = "budget",
     .argument = "AMOUNT",
     .repeated = true,
     .help = "when to stop: seconds (60s), minutes (5m) or evaluations (500e); 60s when not given; "
             "0e begins a run for others to bring candidates to (smelt next, smelt submit)"},
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
    {.name = "jobs", .argument = "N", .help = "candidates judged side by side (6 when not given)"},
    {.name = "baseline",
     .letter = 'b',
     .argument = "NAME",
     .repeated = true,
     .help = "compare with this instead of the baselines the task names"},
    {.name = "seconds",
     .argument = "S",
     .help = "time to spend on timing a batch of candidates (0.5 when not given)"},
    {.name = "oracle",
     .argument = "WHERE",
     .choices = judged_oracles,
     .help = "who computes what large cases on a device are compared with, as for smelt judge: "
             "auto (the default), cpu or device"},
    {.name = "proposers",
     .argument = "LIST",
     .help = "who proposes: experts, model:NAME (a model of the file of models), separated by "
             "commas; experts alone when not given"},
    {.name = "island",
     .argument = "NAME=LIST",
     .repeated = true,
     .help = "who proposes on this island instead: fusion, memory, instruction or latency"},
    {.name = "money",
     .argument = "M",
     .help = "what models may cost in this run, in the money their prices are in"},
    {.name = "tokens", .argument = "N", .help = "tokens models may read and write in this run"},
    {.name = "llm-config",
     .argument = "FILE",
     .help = "the file of models (SMELT_LLM_CONFIG, else models.conf below XDG_CONFIG_HOME/smelt "
             "or ~/.config/smelt)"},
    {.name = "replay-llm",
     .argument = "FILE",
     .help = "take what models say from this transcript (smelt llm transcript) and ask nobody"},
    {.name = "no-llm-cache",
     .help = "ask although an earlier run of the store got a reply to the same question"},
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
    OPTION_KB,
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt run softmax.op", "a minute of search for the file's task"},
    {"smelt run softmax 'B=[4096]' D=1024 --budget 30s", "an op of the library at given sizes"},
    {"smelt run tasks/core --budget 20s", "every task of a folder"},
    {"smelt run softmax.op --until 95% --threads 2", "until it is near what the machine can do"},
    {"smelt run softmax.op --proposers experts,model:fast --money 0.5",
     "with a language model beside the experts"},
    {"smelt run softmax.op --pin '*.threads=1' -o best.c", "with a decision kept; the kernel kept"},
    {0},
};

/* ---- the run ---- */

static bool write_best(struct run_request *request, struct invocation *invocation)
{
    const char *path = option_value(invocation, "out");
    struct text source = text_new(invocation->arena);
    struct error error = {0};
    if (!path || !request->search.best)
        return true;
    search_source(&request->search, request->search.best, &source);
    if (file_write(path, source.at, source.length, 0644, &error))
        return true;
    errors_take(&invocation->errors, &error);
    return false;
}

/* Where it is; NULL: none was written. A run is not worse for lack of a page about it. */
static const char *write_report(struct run_request *request, struct invocation *invocation)
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

bool run_search(struct run_request *request, struct invocation *invocation)
{
    struct search *search = &request->search;
    struct error error = {0};
    run_catch_interrupts();
    run_view_open(&request->view, invocation, search->run.task, &request->options.budget);
    request->options.progress = run_view_show;
    request->options.context = &request->view;
    search->engine = request->stored.engine;
    search->store = request->stored.store;
    bool ready = run_models_begin(request, &error);
    request->end = ready ? search_run(search, &error) : SEARCH_FAILED;
    run_view_close(&request->view);
    run_models_end(request);
    if (search->run.id)
        stored_tally(&request->stored, &search->run, &request->tally);
    if (request->end == SEARCH_FAILED)
        errors_take(&invocation->errors, &error);
    bool written = write_best(request, invocation);
    request->files = (struct run_files){written ? option_value(invocation, "out") : NULL,
                                        write_report(request, invocation)};
    return request->end != SEARCH_FAILED && written;
}

enum exit_code run_answer(struct run_request *request, struct invocation *invocation, bool fine)
{
    struct search *search = &request->search;
    struct text out = text_new(invocation->arena);
    enum exit_code exit = fine ? EXIT_YES : exit_worse(EXIT_NO, errors_exit(&invocation->errors));
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        json_array(&json, "runs");
        run_write_summary(&json, request);
        json_end(&json);
        output_json_end(invocation, &json);
    } else {
        run_print_summary(&out, request);
        output_text(&out);
    }
    return exit != EXIT_YES || search->best ? exit : EXIT_NO;
}

/* The text of the task's file, kept so that the run can be gone on with when the file is gone. */
static bool keep_text(struct run_request *request, struct invocation *invocation)
{
    const char *word = invocation->operands.at[0];
    struct stored *stored = &request->stored;
    struct error error = {0};
    char hash[65];
    if (!subject_is_file(word))
        return true;
    const struct source *source = subject_read(invocation, word, &error);
    if (source &&
        stored->engine->object_put(stored->store, source->text, source->length, hash, &error)) {
        request->search.run.text = arena_string(invocation->arena, hash);
        return true;
    }
    errors_take(&invocation->errors, &error);
    return false;
}

bool run_begin(struct run_request *request, struct invocation *invocation)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    request->search.run = (struct run){.task = request->planned.task->name,
                                       .structure = request->know.structure,
                                       .target = run_target(request),
                                       .signature = request->know.signature,
                                       .settings = run_settings(invocation),
                                       .seed = request->options.seed,
                                       .started = (double)now.tv_sec};
    return keep_text(request, invocation);
}

/* The run is there, without a candidate: what agents begin with. */
static enum exit_code begin_run(struct run_request *request, struct invocation *invocation)
{
    struct search *search = &request->search;
    struct text out = text_new(invocation->arena);
    struct error error = {0};
    search->engine = request->stored.engine;
    search->store = request->stored.store;
    if (!run_begin(request, invocation))
        return errors_exit(&invocation->errors);
    search->run.state = RUN_STOPPED;
    if (!search->engine->run_add(search->store, &search->run, &error)) {
        errors_take(&invocation->errors, &error);
        return error_exit(error.code);
    }
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        json_array(&json, "runs");
        json_object(&json, NULL);
        json_int(&json, "run", search->run.id);
        json_string(&json, "task", search->run.task);
        json_string(&json, "end", "begun");
        json_end(&json);
        json_end(&json);
        return output_json_end(invocation, &json);
    }
    output_printf("run %lld of task %s is begun\n", (long long)search->run.id, search->run.task);
    output_note(invocation, "smelt next %lld says what to do, smelt submit %lld FILE adds a kernel",
                (long long)search->run.id, (long long)search->run.id);
    return EXIT_YES;
}

static enum exit_code run(struct invocation *invocation)
{
    struct run_request *request = arena_new(invocation->arena, struct run_request);
    if (run_is_many(invocation))
        return run_many(invocation);
    if (!run_prepare_search(request, invocation))
        return errors_exit(&invocation->errors);
    if (!stored_open(&request->stored, invocation, true))
        return EXIT_ENVIRONMENT;
    run_describe(request, invocation);
    if (request->begin_only) {
        enum exit_code exit = begin_run(request, invocation);
        stored_close(&request->stored);
        return exit;
    }
    bool fine = run_begin(request, invocation) && run_search(request, invocation);
    stored_close(&request->stored);
    return run_answer(request, invocation, fine);
}

const struct command command_run = {
    .name = "run",
    .summary = "search for the fastest kernel of a task",
    .operands = "FILE|OP [NAME=VALUE...] | FILE|DIR...",
    .operand_kind = OPERAND_FILE_OR_OP,
    .least = 1,
    .most = -1,
    .description =
        "Takes a task and comes back with the best kernel found. Plans are made, changed by "
        "experts that look at what bounds the one at hand, written as C, judged side by side with "
        "the fastest baseline, and kept, all of them, in the store. What worked is remembered and "
        "tried first the next time.\n\n"
        "Of a folder, or of several files, every task is searched for in turn, each with the "
        "whole budget, and a table closes the run.\n\n"
        "Ctrl-C ends a run cleanly with the best so far; `smelt resume` goes on with it.",
    .options = options,
    .examples = examples,
    .run = run,
};
