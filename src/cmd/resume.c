/*
 * smelt resume: a run of the store, gone on with.
 */
#include "cmd/run.h"

static const struct option resume_options[] = {
    {.name = "budget",
     .argument = "AMOUNT",
     .repeated = true,
     .help =
         "how much the run may take in all, what it took before included, instead of what it was "
         "begun with; when not given, what it was begun with, once more"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example resume_examples[] = {
    {"smelt resume last", "the newest run"},
    {"smelt resume 12 --budget 10m", "run 12, until it has taken ten minutes in all"},
    {0},
};

enum { RESUME_SECONDS = 60 }; /* of a run that was begun without a search */

/* Two that search one run would count, and propose, everything twice. */
static bool hold(struct stored *stored, const struct run *run)
{
    struct error error = {0};
    return stored->engine->run_hold(stored->store, run->id, &error) || stored_fail(stored, &error);
}

static enum exit_code resume(struct invocation *invocation)
{
    struct run_request *request = arena_new(invocation->arena, struct run_request);
    struct invocation again = {.errors = errors_new(invocation->arena)};
    struct run old;
    if (!stored_open(&request->stored, invocation, false))
        return errors_exit(&invocation->errors);
    enum exit_code exit = EXIT_NO;
    bool ready = stored_run(&request->stored, invocation->operands.at[0], &old) &&
                 hold(&request->stored, &old) && run_words_again(&request->stored, &old, &again) &&
                 run_prepare_search(request, &again);
    if (ready) {
        struct search_budget *budget = &request->options.budget;
        run_describe(request, &again);
        if (request->begin_only) /* by `--budget 0e` */
            budget->seconds = RESUME_SECONDS;
        if (!option_given(invocation, "budget")) {
            budget->seconds += budget->seconds > 0 ? old.seconds : 0;
            budget->evaluations += budget->evaluations > 0 ? old.judged : 0;
        }
        request->search.run = old;
        bool fine = run_search(request, &again);
        again.command = invocation->command;
        exit = run_answer(request, &again, fine);
    }
    for (size_t i = 0; i < again.errors.list.count; i++)
        errors_take(&invocation->errors, &again.errors.list.at[i]);
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
