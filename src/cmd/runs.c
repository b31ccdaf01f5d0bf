/*
 * smelt runs, show, best, gc: what the store has.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/json_read.h"
#include "cmd/stored.h"
#include "os/file.h"
#include "search/search.h"

/* ---- runs ---- */

static const struct option runs_options[] = {OPTION_STORE, OPTION_JSON, {0}};

static const struct example runs_examples[] = {{"smelt runs", "all of them, newest first"}, {0}};

static const char *date_of(struct arena *arena, double seconds)
{
    time_t when = (time_t)seconds;
    struct tm parts;
    char text[32] = "";
    if (localtime_r(&when, &parts))
        strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
    return arena_string(arena, text);
}

static double best_fitness(struct stored *stored, const struct run *run)
{
    struct candidate best;
    struct error error;
    return run->best && stored->engine->candidate_get(stored->store, stored->invocation->arena,
                                                      run->best, &best, &error)
               ? best.fitness
               : 0;
}

static enum exit_code list_runs(struct invocation *invocation)
{
    struct stored stored;
    struct store_runs runs = {0};
    struct error error = {0};
    if (!stored_open(&stored, invocation, false))
        return errors_exit(&invocation->errors);
    if (!stored.engine->run_list(stored.store, invocation->arena, &runs, &error)) {
        stored_fail(&stored, &error);
        stored_close(&stored);
        return EXIT_ENVIRONMENT;
    }
    struct text out = text_new(invocation->arena);
    struct json json = {0};
    if (invocation->json) {
        json = output_json_begin(invocation, &out);
        json_array(&json, "runs");
    } else {
        text_printf(&out, "%5s  %-16s  %-8s %8s %8s  %s\n", "run", "begun", "state", "judged",
                    "best", "task");
    }
    for (size_t i = 0; i < runs.count; i++) {
        const struct run *run = &runs.at[i];
        double fitness = best_fitness(&stored, run);
        if (!invocation->json) {
            text_printf(&out, "%5lld  %-16s  %-8s %8lld %7.3gx  %s\n", (long long)run->id,
                        date_of(invocation->arena, run->started), run_state_name(run->state),
                        (long long)run->judged, fitness, run->task);
            continue;
        }
        json_object(&json, NULL);
        json_int(&json, "run", run->id);
        json_string(&json, "task", run->task);
        json_string(&json, "target", run->target);
        json_string(&json, "state", run_state_name(run->state));
        json_double(&json, "started", run->started);
        json_double(&json, "seconds", run->seconds);
        json_int(&json, "judged", run->judged);
        json_int(&json, "best", run->best);
        json_double(&json, "speedup", fitness);
        json_end(&json);
    }
    stored_close(&stored);
    if (invocation->json) {
        json_end(&json);
        return output_json_end(invocation, &json);
    }
    output_text(&out);
    return EXIT_YES;
}

const struct command command_runs = {
    .name = "runs",
    .summary = "list the runs in the store",
    .operands = "",
    .operand_kind = OPERAND_NONE,
    .least = 0,
    .most = 0,
    .description = "Lists every run with its task, state, number of candidates judged and the best "
                   "speed-up over its baseline, newest first.",
    .options = runs_options,
    .examples = runs_examples,
    .run = list_runs,
};

/* ---- show ---- */

static const struct option show_options[] = {
    {.name = "tree", .help = "candidates under their parents"},
    {.name = "log", .help = "candidates in the order they were judged"},
    {.name = "proposers", .help = "who found what at which cost"},
    {.name = "candidate", .help = "the word is the number of a candidate, not of a run"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example show_examples[] = {
    {"smelt show last", "the best candidates of the newest run, and where they came from"},
    {"smelt show 12 --tree", "the whole graph of run 12"},
    {"smelt show 345 --candidate", "one candidate: plan, verdict, diagnosis"},
    {0},
};

enum { SHOWN_BEST = 10, TREE_DEPTH = 100 };

static void print_candidate_line(struct text *out, const struct candidate *candidate, int depth)
{
    text_printf(out, "%*s%lld ", 2 * depth, "", (long long)candidate->id);
    if (!candidate->judged)
        text_add(out, "not judged");
    else if (candidate->outcome == OUTCOME_OK)
        text_printf(out, "%.3gx %.4g us", candidate->fitness, candidate->microseconds);
    else
        text_add(out, outcome_name(candidate->outcome));
    text_printf(out, "  %s  %s\n", candidate->proposer, candidate->action ? candidate->action : "");
}

static void print_tree(struct text *out, const struct store_candidates *list, int64_t parent,
                       int depth)
{
    for (size_t i = 0; i < list->count && depth < TREE_DEPTH; i++) {
        if (list->at[i].parents[0] != parent)
            continue;
        print_candidate_line(out, &list->at[i], depth);
        print_tree(out, list, list->at[i].id, depth + 1);
    }
}

static void write_candidate(struct json *json, const struct candidate *candidate)
{
    json_object(json, NULL);
    json_int(json, "candidate", candidate->id);
    json_int(json, "run", candidate->run);
    json_int(json, "parent", candidate->parents[0]);
    json_int(json, "other_parent", candidate->parents[1]);
    json_string(json, "proposer", candidate->proposer);
    json_string(json, "island", search_island_name(candidate->island));
    json_string(json, "action", candidate->action);
    json_string(json, "why", candidate->why);
    json_bool(json, "judged", candidate->judged);
    json_string(json, "outcome", candidate->judged ? outcome_name(candidate->outcome) : NULL);
    json_double(json, "speedup", candidate->fitness);
    json_double(json, "microseconds", candidate->microseconds);
    json_string(json, "diagnosis", diagnosis_name(candidate->diagnosis));
    json_string(json, "note", candidate->note);
    json_string(json, "plan", candidate->plan);
    json_string(json, "kernel", candidate->kernel);
    json_double(json, "expected", candidate->expected > 0 ? candidate->expected : NAN);
    json_double(json, "cost", candidate->cost);
    json_int(json, "tokens", candidate->tokens);
    json_end(json);
}

static bool show_run(struct stored *stored, const char *word, struct text *out)
{
    struct invocation *invocation = stored->invocation;
    struct run run;
    struct error error = {0};
    struct store_candidates list = {0};
    bool tree = option_given(invocation, "tree"), log = option_given(invocation, "log");
    if (!stored_run(stored, word, &run))
        return false;
    struct candidate_query query = {
        .run = run.id,
        .order = tree || log || invocation->json ? CANDIDATES_BY_NUMBER : CANDIDATES_BY_FITNESS,
        .most = tree || log || invocation->json ? 0 : SHOWN_BEST};
    if (!stored->engine->candidate_list(stored->store, invocation->arena, &query, &list, &error))
        return stored_fail(stored, &error);
    if (invocation->json) {
        struct json json = output_json_begin(invocation, out);
        json_int(&json, "run", run.id);
        json_string(&json, "task", run.task);
        json_string(&json, "state", run_state_name(run.state));
        json_array(&json, "candidates");
        for (size_t i = 0; i < list.count; i++)
            write_candidate(&json, &list.at[i]);
        json_end(&json);
        struct tally tally = {0};
        if (!stored_tally(stored, &run, &tally))
            return false;
        tally_write(&json, "proposers", &tally);
        output_json_end(invocation, &json);
        return true;
    }
    text_printf(out, "run %lld: %s on %s, begun %s, %s, %lld judged in %.0f s\n", (long long)run.id,
                run.task, run.target, date_of(invocation->arena, run.started),
                run_state_name(run.state), (long long)run.judged, run.seconds);
    struct tally tally = {0};
    if (option_given(invocation, "proposers")) {
        if (!stored_tally(stored, &run, &tally))
            return false;
        tally_print(out, &tally, "  ");
        return true;
    }
    if (tree)
        print_tree(out, &list, 0, 1);
    for (size_t i = 0; i < list.count && !tree; i++)
        print_candidate_line(out, &list.at[i], 1);
    return true;
}

/* What its proposer said it would bring, what it brought, and what asking cost. */
static void print_expected(struct stored *stored, const struct candidate *candidate,
                           struct text *out)
{
    struct candidate parent = {0};
    struct error ignored;
    bool known = candidate->parents[0] &&
                 stored->engine->candidate_get(stored->store, stored->invocation->arena,
                                               candidate->parents[0], &parent, &ignored);
    if (candidate->expected > 0) {
        text_printf(out, "expected: %.3g times its parent", candidate->expected);
        if (known && parent.fitness > 0 && candidate->judged)
            text_printf(out, "; it is %.3g times", candidate->fitness / parent.fitness);
        text_char(out, '\n');
    }
    if (candidate->tokens > 0)
        text_printf(out, "asked for: %lld tokens, %.4g of money\n", (long long)candidate->tokens,
                    candidate->cost);
}

/* Numbers and advice of the diagnosis, as they were kept with the verdict. */
static void print_evidence(struct stored *stored, const struct candidate *candidate,
                           struct text *out)
{
    struct arena *arena = stored->invocation->arena;
    const char *text = candidate->verdict ? stored_object(stored, candidate->verdict) : NULL;
    const struct json_value *diagnosis =
        json_member(text ? json_read(arena, text, strlen(text)) : NULL, "diagnosis");
    const struct json_value *facts = json_member(diagnosis, "evidence");
    const struct json_value *actions = json_member(diagnosis, "actions");
    for (const struct json_value *fact = facts ? facts->first : NULL; fact; fact = fact->next)
        text_printf(out, "    %-36s %.4g%s%s\n", json_text(fact, "name"),
                    json_number(fact, "value"), *json_text(fact, "unit") ? " " : "",
                    json_text(fact, "unit"));
    for (const struct json_value *action = actions ? actions->first : NULL; action;
         action = action->next)
        if (action->kind == JSON_STRING)
            text_printf(out, "    what would help: %s\n", action->string);
}

static bool show_candidate(struct stored *stored, const char *word, struct text *out)
{
    struct candidate candidate;
    if (!stored_candidate(stored, word, &candidate))
        return false;
    if (stored->invocation->json) {
        struct json json = output_json_begin(stored->invocation, out);
        json_array(&json, "candidates");
        write_candidate(&json, &candidate);
        json_end(&json);
        const char *source = stored_object(stored, candidate.kernel);
        const char *verdict = candidate.verdict ? stored_object(stored, candidate.verdict) : NULL;
        json_string(&json, "source", source);
        if (verdict)
            json_raw(&json, "judged", verdict);
        output_json_end(stored->invocation, &json);
        return true;
    }
    print_candidate_line(out, &candidate, 0);
    if (candidate.why)
        text_printf(out, "why: %s\n", candidate.why);
    if (candidate.note && *candidate.note)
        text_printf(out, "diagnosis: %s: %s\n", diagnosis_name(candidate.diagnosis),
                    candidate.note);
    print_expected(stored, &candidate, out);
    print_evidence(stored, &candidate, out);
    const char *plan = candidate.plan ? stored_object(stored, candidate.plan) : NULL;
    if (plan)
        text_printf(out, "\n%s", plan);
    else
        text_printf(out, "no plan: %s wrote its source; smelt diff shows it beside another one\n",
                    candidate.proposer);
    return true;
}

static enum exit_code show(struct invocation *invocation)
{
    struct stored stored;
    struct text out = text_new(invocation->arena);
    if (!stored_open(&stored, invocation, false))
        return errors_exit(&invocation->errors);
    const char *word = invocation->operands.at[0];
    bool shown = option_given(invocation, "candidate") ? show_candidate(&stored, word, &out)
                                                       : show_run(&stored, word, &out);
    stored_close(&stored);
    if (!shown)
        return errors_exit(&invocation->errors);
    if (!invocation->json)
        output_text(&out);
    return EXIT_YES;
}

const struct command command_show = {
    .name = "show",
    .summary = "show a run and its candidates, or one candidate",
    .operands = "RUN|CANDIDATE",
    .operand_kind = OPERAND_NONE,
    .least = 1,
    .most = 1,
    .description =
        "Shows the best candidates of a run with who proposed what, all of them as a tree or in "
        "order, or one candidate with its plan and diagnosis. RUN is a number, the name of a task, "
        "or `last`.",
    .options = show_options,
    .examples = show_examples,
    .run = show,
};

/* ---- best ---- */

static const struct option best_options[] = {
    {.name = "out", .letter = 'o', .argument = "FILE", .help = "write it to FILE"},
    {.name = "plan", .help = "the plan instead of the kernel"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example best_examples[] = {
    {"smelt best last -o softmax.c", "the best kernel of the newest run"},
    {"smelt best softmax_rows --plan", "the plan that won for a task"},
    {0},
};

static void no_plan(struct invocation *invocation, const struct candidate *candidate)
{
    error_hint(errors_add(&invocation->errors, ERROR_STORE_NOT_FOUND, (struct place){0},
                          "candidate %lld has no plan: %s wrote its source",
                          (long long)candidate->id, candidate->proposer),
               "leave out --plan for the kernel");
}

static enum exit_code best(struct invocation *invocation)
{
    struct stored stored;
    struct run run;
    struct candidate candidate;
    struct error error = {0};
    if (!stored_open(&stored, invocation, false))
        return errors_exit(&invocation->errors);
    const char *text = NULL, *path = option_value(invocation, "out");
    bool found =
        stored_run(&stored, invocation->operands.at[0], &run) &&
        stored_candidate(&stored,
                         run.best ? arena_printf(invocation->arena, "%lld", (long long)run.best)
                                  : invocation->operands.at[0],
                         &candidate);
    const char *hash = !found                             ? NULL
                       : option_given(invocation, "plan") ? candidate.plan
                                                          : candidate.kernel;
    if (hash)
        text = stored_object(&stored, hash);
    else if (found)
        no_plan(invocation, &candidate);
    stored_close(&stored);
    if (!text)
        return errors_exit(&invocation->errors);
    if (path && !file_write(path, text, strlen(text), 0644, &error)) {
        errors_take(&invocation->errors, &error);
        return error_exit(error.code);
    }
    struct text out = text_new(invocation->arena);
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        json_int(&json, "run", run.id);
        json_int(&json, "candidate", candidate.id);
        json_double(&json, "speedup", candidate.fitness);
        json_double(&json, "microseconds", candidate.microseconds);
        json_string(&json, "source", text);
        return output_json_end(invocation, &json);
    }
    text_add(&out, text);
    if (!path)
        output_text(&out);
    return EXIT_YES;
}

const struct command command_best = {
    .name = "best",
    .summary = "print the best kernel of a run",
    .operands = "RUN|TASK",
    .operand_kind = OPERAND_NONE,
    .least = 1,
    .most = 1,
    .description = "Prints the best kernel of a run, or of the newest run of a task, as it was "
                   "judged: C with its manifest and plan on top.",
    .options = best_options,
    .examples = best_examples,
    .run = best,
};

/* ---- gc ---- */

static const struct option gc_options[] = {
    {.name = "run",
     .argument = "RUN",
     .repeated = true,
     .help = "remove this run first, with its candidates; what was learned from it stays"},
    {.name = "check", .help = "remove nothing, and see whether all of it is as it was written"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example gc_examples[] = {
    {"smelt gc --run 3", "forget a run, give back room"},
    {"smelt gc --check", "is the store whole?"},
    {0},
};

static enum exit_code collect(struct invocation *invocation)
{
    struct stored stored;
    struct run run;
    struct error error = {0};
    size_t cursor = 0;
    int64_t objects = 0, bytes = 0;
    if (!stored_open(&stored, invocation, false))
        return errors_exit(&invocation->errors);
    bool fine = true, check = option_given(invocation, "check");
    if (check)
        fine = stored.engine->check(stored.store, &error) || stored_fail(&stored, &error);
    for (const char *word; !check && fine && (word = option_next(invocation, "run", &cursor));)
        fine = stored_run(&stored, word, &run) &&
               (stored.engine->run_delete(stored.store, run.id, &error) ||
                stored_fail(&stored, &error));
    fine = fine && (check || stored.engine->collect(stored.store, &objects, &bytes, &error) ||
                    stored_fail(&stored, &error));
    stored_close(&stored);
    if (!fine)
        return errors_exit(&invocation->errors);
    struct text out = text_new(invocation->arena);
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        json_int(&json, "objects", objects);
        json_int(&json, "bytes", bytes);
        return output_json_end(invocation, &json);
    }
    if (check)
        output_printf("the store is whole\n");
    else
        output_printf("%lld objects removed, %lld bytes\n", (long long)objects, (long long)bytes);
    return EXIT_YES;
}

const struct command command_gc = {
    .name = "gc",
    .summary = "remove what nobody refers to from the store",
    .operands = "",
    .operand_kind = OPERAND_NONE,
    .least = 0,
    .most = 0,
    .description = "Removes objects that no run and no experience refers to, and gives the room "
                   "they took back to the disk.",
    .options = gc_options,
    .examples = gc_examples,
    .run = collect,
};
