/*
 * smelt submit: a kernel that somebody else wrote, as a candidate of a run.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/run.h"

static const struct option options[] = {
    {.name = "parent",
     .argument = "C",
     .help = "the number of the candidate it was made from (the best of the run when not given; "
             "`none`: it was begun anew)"},
    {.name = "change", .argument = "TEXT", .help = "what was changed, in a few words"},
    {.name = "why", .argument = "TEXT", .help = "why that should help"},
    {.name = "expected",
     .argument = "FACTOR",
     .help = "how many times as fast as its parent it should be; kept, and compared with what "
             "happened"},
    {.name = "agent", .argument = "NAME", .help = "who submits it (cli when not given)"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt submit last faster.c", "a kernel into the newest run"},
    {"smelt submit 12 k.c --parent 345 --change 'two rows at once' --expected 1.4",
     "with where it comes from and what it should bring"},
    {"smelt submit 12 - <plan.txt", "a plan, from standard input"},
    {0},
};

enum { NAME_MOST = 40, TEXT_MOST = 4096 };

struct submission {
    struct run_request *request;
    struct search_offer offer;
    struct search_node *node;
    bool known; /* it was there, judged, before */
};

static bool bad(struct invocation *invocation, const char *name, const char *hint)
{
    error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                          "--%s cannot be '%.60s'", name, option_value(invocation, name)),
               "%s", hint);
    return false;
}

/* ---- what is submitted ---- */

static bool take_words(struct invocation *invocation, struct search_offer *offer)
{
    const char *agent = option_value(invocation, "agent");
    const char *change = option_value(invocation, "change"), *why = option_value(invocation, "why");
    const char *expected = option_value(invocation, "expected");
    char *end;
    agent = agent ? agent : "cli";
    for (const char *c = agent; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *c))
            return bad(invocation, "agent", "letters, digits, dots, dashes and underscores");
    if (!*agent || strlen(agent) > NAME_MOST)
        return bad(invocation, "agent", "1 to 40 characters");
    if (change && strlen(change) > TEXT_MOST)
        return bad(invocation, "change", "4096 bytes at most");
    if (why && strlen(why) > TEXT_MOST)
        return bad(invocation, "why", "4096 bytes at most");
    offer->proposer = arena_printf(invocation->arena, "agent:%s", agent);
    offer->action = change;
    offer->why = why;
    offer->island = -1;
    if (!expected)
        return true;
    offer->expected = strtod(expected, &end);
    return (*expected && *end == 0 && offer->expected > 0 && offer->expected < 1e6) ||
           bad(invocation, "expected", "a number above 0, such as 1.3");
}

static bool take_file(struct invocation *invocation, struct search_offer *offer)
{
    struct error error = {0};
    const struct source *source = subject_read(invocation, invocation->operands.at[1], &error);
    if (!source) {
        errors_take(&invocation->errors, &error);
        return false;
    }
    const char *text = source->text + strspn(source->text, " \t\r\n");
    if (!*text || source->length > SEARCH_SOURCE_BYTES || strlen(source->text) != source->length) {
        error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                              "%s is no kernel", source->name),
                   "a text of up to 4 MiB; docs/kernel.md says what a kernel looks like");
        return false;
    }
    if (strncmp(text, "plan ", 5) == 0)
        offer->plan = text;
    else
        offer->source = source->text;
    return true;
}

static bool take_parent(struct invocation *invocation, struct search *search,
                        struct search_offer *offer)
{
    const char *word = option_value(invocation, "parent");
    char *end = NULL;
    if (word && strcmp(word, "none") == 0)
        return true;
    int64_t id = word ? strtoll(word, &end, 10) : search->run.best;
    offer->parent = search_recall(search, id);
    if (offer->parent || (!word && id == 0))
        return true;
    error_hint(errors_add(&invocation->errors, ERROR_STORE_NOT_FOUND, (struct place){0},
                          "run %lld has no candidate %s", (long long)search->run.id,
                          word ? word : "that is its best"),
               "smelt show %lld --log lists them", (long long)search->run.id);
    return false;
}

/* ---- what came of it ---- */

/* Times as fast as its parent; 0: not known. */
static double gain_of(const struct search_node *node)
{
    return node->parent && node->parent->record.fitness > 0
               ? node->record.fitness / node->parent->record.fitness
               : 0;
}

static void print_result(struct text *out, const struct submission *submission)
{
    const struct search_node *node = submission->node;
    const struct search *search = &submission->request->search;
    const struct candidate *record = &node->record;
    double gain = gain_of(node);
    text_printf(out, "candidate %lld of run %lld: %s", (long long)record->id,
                (long long)record->run, outcome_name(record->outcome));
    if (record->fitness > 0)
        text_printf(out, ", %.3g times as fast as the baseline, %.4g us", record->fitness,
                    record->microseconds);
    if (gain > 0)
        text_printf(out, ", %.3g times its parent (candidate %lld)", gain,
                    (long long)node->parent->record.id);
    text_char(out, '\n');
    if (submission->known)
        text_add(out, "it was there already; nothing was judged again\n");
    else if (search->best == node)
        text_add(out, "the best of the run so far\n");
    else if (search->best)
        text_printf(out, "the best is candidate %lld, %.3g times as fast as the baseline\n",
                    (long long)search->best->record.id, search->best->record.fitness);
    if (record->note && *record->note)
        text_printf(out, "diagnosis: %s: %s\n", diagnosis_name(record->diagnosis), record->note);
    for (int i = 0; i < node->diagnosis.action_count; i++)
        text_printf(out, "    %s\n", node->diagnosis.actions[i]);
}

static void write_result(struct json *json, const struct submission *submission,
                         const char *verdict)
{
    const struct search_node *node = submission->node;
    const struct search *search = &submission->request->search;
    const struct candidate *record = &node->record;
    double gain = gain_of(node);
    json_int(json, "run", record->run);
    json_int(json, "candidate", record->id);
    json_string(json, "proposer", record->proposer);
    json_bool(json, "known", submission->known);
    json_string(json, "outcome", outcome_name(record->outcome));
    json_double(json, "speedup", record->fitness);
    json_double(json, "microseconds", record->microseconds);
    if (node->parent)
        json_int(json, "parent", node->parent->record.id);
    else
        json_null(json, "parent");
    json_double(json, "over_parent", gain > 0 ? gain : NAN);
    json_double(json, "expected", record->expected > 0 ? record->expected : NAN);
    json_int(json, "best", search->best ? search->best->record.id : 0);
    json_double(json, "best_speedup", search->best ? search->best->record.fitness : 0);
    json_bool(json, "is_best", search->best == node);
    json_string(json, "diagnosis", diagnosis_name(record->diagnosis));
    json_string(json, "note", record->note);
    if (verdict)
        json_raw(json, "judged", verdict);
}

static enum exit_code answer(struct invocation *invocation, const struct submission *submission,
                             const char *verdict)
{
    struct text out = text_new(invocation->arena);
    enum exit_code exit = submission->node->record.outcome == OUTCOME_OK ? EXIT_YES : EXIT_NO;
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        write_result(&json, submission, verdict);
        return exit_worse(exit, output_json_end(invocation, &json));
    }
    print_result(&out, submission);
    output_text(&out);
    return exit;
}

/* ---- the command ---- */

/* Why a plan is none is said before anything is kept. */
static bool check_plan(struct invocation *invocation, const struct search *search, const char *text)
{
    struct source *source = arena_new(invocation->arena, struct source);
    struct error error = {0};
    *source = (struct source){"plan", text, strlen(text)};
    struct plan *plan =
        plan_parse(invocation->arena, source, search->program->graph, &invocation->errors);
    if (!plan)
        return false;
    if (skeleton_check(search->program, plan, &error))
        return true;
    errors_take(&invocation->errors, &error);
    return false;
}

static bool judge_it(struct submission *submission, struct invocation *invocation)
{
    struct run_request *request = submission->request;
    struct search *search = &request->search;
    struct error error = {0};
    search->engine = request->stored.engine;
    search->store = request->stored.store;
    if (submission->offer.plan && !check_plan(invocation, search, submission->offer.plan))
        return false;
    if (!search_open(search, &error))
        return stored_fail(&request->stored, &error);
    if (!take_parent(invocation, search, &submission->offer))
        return false;
    int64_t judged = search->judged;
    if (!search_submit(search, &submission->offer, 1, &submission->node, &error))
        return stored_fail(&request->stored, &error);
    submission->known = search->judged - search->foreign == judged;
    return submission->node != NULL;
}

static enum exit_code run(struct invocation *invocation)
{
    struct submission *submission = arena_new(invocation->arena, struct submission);
    struct run_request *request = arena_new(invocation->arena, struct run_request);
    struct invocation again = {.errors = errors_new(invocation->arena)};
    struct run old;
    submission->request = request;
    if (!take_words(invocation, &submission->offer) || !take_file(invocation, &submission->offer) ||
        !stored_open(&request->stored, invocation, false))
        return errors_exit(&invocation->errors);
    bool ready = stored_run(&request->stored, invocation->operands.at[0], &old) &&
                 run_words_again(&request->stored, &old, &again) && run_prepare(request, &again);
    const char *verdict = NULL;
    if (ready) {
        run_describe(request, &again);
        request->search.run = old;
        ready = judge_it(submission, invocation);
        if (ready && submission->node->record.verdict)
            verdict = stored_object(&request->stored, submission->node->record.verdict);
    }
    for (size_t i = 0; i < again.errors.list.count; i++)
        errors_take(&invocation->errors, &again.errors.list.at[i]);
    stored_close(&request->stored);
    return ready ? answer(invocation, submission, verdict) : errors_exit(&invocation->errors);
}

const struct command command_submit = {
    .name = "submit",
    .summary = "put a kernel into a run as a candidate, and judge it",
    .operands = "RUN FILE",
    .operand_kind = OPERAND_FILE,
    .least = 2,
    .most = 2,
    .description =
        "Takes a kernel that a person or an agent wrote, or a plan, and makes it a candidate of a "
        "run: kept with who made it from what and why, judged as all others are, beside the best "
        "of the run when it comes near it, diagnosed, and gone on from by whoever comes next.\n\n"
        "It is kept before it is judged: when smelt is killed meanwhile, `smelt resume` or the "
        "same submission once more judge it. The answer is 0 when it is right, 1 when it is not.",
    .options = options,
    .examples = examples,
    .run = run,
};
