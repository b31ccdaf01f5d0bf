/*
 * smelt recheck: stored winners judged again, after the compiler or the machine has changed.
 */
#include <math.h>
#include <string.h>

#include "cmd/run.h"
#include "cmd/stored.h"
#include "search/judging.h"

enum { NEXT_BEST = 5 }; /* candidates tried when a winner is right no more */

static const struct option options[] = {
    {.name = "all", .help = "also those judged by this compiler on this machine"},
    {.name = "seconds", .argument = "S", .help = "time to spend on timing each (2 when not given)"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt recheck", "after an upgrade: the newest winner of every task"},
    {"smelt recheck softmax_rows", "one task, whatever has changed"},
    {0},
};

/* How a winner fares now. */
struct finding {
    const struct run *run;
    int64_t before, after; /* candidates */
    double fitness, then;  /* speed-up now, and when it won */
    struct interval interval;
    enum outcome outcome; /* of the one that won */
    const char *moved;    /* "same", "faster", "slower", "replaced", "lost" */
    const char *message;
};
struct findings VECTOR(struct finding);

struct recheck {
    struct stored stored;
    struct invocation *invocation;
    double seconds;
    struct findings findings;
};

/* Judges a stored kernel as its run did. False: the judge could not work. */
static bool judge_candidate(struct recheck *recheck, struct run_again *again,
                            const struct candidate *candidate, struct verdict *verdict)
{
    struct arena *arena = recheck->invocation->arena;
    const char *text = stored_object(&recheck->stored, candidate->kernel);
    struct error error = {0};
    if (!text)
        return false;
    struct source source = {"kernel.c", text, strlen(text)};
    const struct source *sources[] = {&source};
    struct judge_options chosen = again->options;
    chosen.inspect = true;
    if (recheck->seconds > 0)
        chosen.time_seconds = recheck->seconds;
    return judge_kernels(arena, again->planned.task, sources, 1, &chosen, verdict, &error) ||
           stored_fail(&recheck->stored, &error);
}

/* What is no longer right is not right in the store either. */
static bool record_loss(struct recheck *recheck, struct candidate *candidate,
                        const struct verdict *verdict)
{
    struct stored *stored = &recheck->stored;
    struct error error = {0};
    candidate->outcome = verdict->outcome;
    candidate->fitness = 0;
    candidate->note = verdict->message;
    return stored->engine->candidate_judge(stored->store, candidate, &error) ||
           stored_fail(stored, &error);
}

static bool record_finding(struct recheck *recheck, struct run_again *again,
                           const struct finding *finding, const char *plan)
{
    struct stored *stored = &recheck->stored;
    struct arena *arena = recheck->invocation->arena;
    struct error error = {0};
    const struct run *run = finding->run;
    bool stands = true;
    const char *text =
        arena_printf(arena, "%s %s: candidate %lld, %.4g times, was %.4g: %s",
                     again->know.signature, outcome_name(finding->outcome),
                     (long long)finding->after, finding->fitness, finding->then, finding->moved);
    /* a search or a submission may have found a better one meanwhile: that one stays */
    bool fine = stored->engine->event_add(stored->store, run->id, "recheck", text, &error) &&
                (finding->after == finding->before ||
                 stored->engine->run_crown(stored->store, run->id, finding->before, finding->after,
                                           0, &stands, &error));
    /* what wins here is worth beginning with here */
    if (fine && finding->fitness > 0 && plan &&
        strcmp(run->signature ? run->signature : "", again->know.signature) != 0)
        fine = know_winner(&again->know, plan, finding->fitness, &error);
    return fine || stored_fail(stored, &error);
}

static const char *compare(const struct finding *finding)
{
    static const double slack = 1.05;
    if (finding->after == 0)
        return "lost";
    if (finding->after != finding->before)
        return "replaced";
    if (finding->interval.low > slack * finding->then)
        return "faster";
    return finding->interval.high * slack < finding->then ? "slower" : "same";
}

/* The winner, and while it is not right, the next best. */
static bool recheck_run(struct recheck *recheck, const struct run *run)
{
    struct stored *stored = &recheck->stored;
    struct arena *arena = recheck->invocation->arena;
    struct run_again *again = arena_new(arena, struct run_again);
    struct store_candidates list = {0};
    struct error error = {0};
    struct finding finding = {.run = run, .before = run->best, .message = ""};
    struct candidate winner;
    const char *plan = NULL;
    struct candidate_query query = {
        .run = run->id, .judged_only = true, .order = CANDIDATES_BY_FITNESS, .most = NEXT_BEST + 1};
    if (!run_reopen(stored, run, again))
        return false;
    if (!stored->engine->candidate_get(stored->store, arena, run->best, &winner, &error) ||
        !stored->engine->candidate_list(stored->store, arena, &query, &list, &error))
        return stored_fail(stored, &error);
    finding.then = winner.fitness;
    for (int i = -1; finding.after == 0 && i < (int)list.count; i++) {
        struct candidate *candidate = i < 0 ? &winner : &list.at[i];
        struct verdict *verdict = arena_new(arena, struct verdict);
        if (i >= 0 && (candidate->id == run->best || candidate->fitness <= 0))
            continue;
        if (!judge_candidate(recheck, again, candidate, verdict))
            return false;
        if (i < 0) {
            finding.outcome = verdict->outcome;
            finding.message = verdict->message;
        }
        if (verdict->outcome != OUTCOME_OK) {
            if (!record_loss(recheck, candidate, verdict))
                return false;
            continue;
        }
        finding.after = candidate->id;
        finding.fitness = judging_fitness(verdict);
        finding.interval = judging_speedup(verdict);
        plan = candidate->plan;
    }
    finding.moved = compare(&finding);
    vector_push(arena, &recheck->findings, finding);
    return record_finding(recheck, again, &finding, plan);
}

/* ---- which ---- */

/* Judged here already: by the run itself, or by an earlier recheck. */
static bool is_current(struct recheck *recheck, const struct run *run, const char *signature)
{
    struct stored *stored = &recheck->stored;
    struct store_events events = {0};
    struct error ignored;
    if (run->signature && strcmp(run->signature, signature) == 0)
        return true;
    if (!stored->engine->event_list(stored->store, recheck->invocation->arena, run->id, &events,
                                    &ignored))
        return false;
    for (size_t i = 0; i < events.count; i++)
        if (strcmp(events.at[i].kind, "recheck") == 0 &&
            strncmp(events.at[i].text, signature, strlen(signature)) == 0)
            return true;
    return false;
}

static bool recheck_all(struct recheck *recheck)
{
    struct stored *stored = &recheck->stored;
    struct arena *arena = recheck->invocation->arena;
    struct store_runs runs = {0};
    struct error error = {0};
    struct map seen = map_new(arena);
    if (!stored->engine->run_list(stored->store, arena, &runs, &error))
        return stored_fail(stored, &error);
    for (size_t i = 0; i < runs.count; i++) { /* newest first */
        const struct run *run = &runs.at[i];
        if (!run->best || map_get(&seen, run->task))
            continue;
        map_set(&seen, run->task, (void *)run->task);
        bool wanted = option_given(recheck->invocation, "all") ||
                      !is_current(recheck, run, run_signature(arena, run->target));
        if (wanted && !recheck_run(recheck, run))
            return false;
    }
    return true;
}

static bool recheck_named(struct recheck *recheck, const char *word)
{
    struct run *run = arena_new(recheck->invocation->arena, struct run);
    struct error error = {0};
    if (!stored_run(&recheck->stored, word, run))
        return false;
    if (run->best)
        return recheck_run(recheck, run);
    error_set(&error, ERROR_STORE_NOT_FOUND, "run %lld found nothing that is right",
              (long long)run->id);
    return stored_fail(&recheck->stored, &error);
}

/* ---- words ---- */

static void print_findings(struct text *out, const struct findings *findings)
{
    if (findings->count == 0) {
        text_add(out, "every winner was judged by this compiler on this machine (--all: again)\n");
        return;
    }
    text_printf(out, "%5s  %-8s  %8s  %8s  %s\n", "run", "moved", "was", "now", "task");
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->at[i];
        text_printf(out, "%5lld  %-8s  %7.3gx  %7.3gx  %s", (long long)finding->run->id,
                    finding->moved, finding->then, finding->fitness, finding->run->task);
        if (finding->outcome != OUTCOME_OK)
            text_printf(out, ": candidate %lld is now %s: %s", (long long)finding->before,
                        outcome_name(finding->outcome), finding->message);
        if (finding->after && finding->after != finding->before)
            text_printf(out, "; candidate %lld stands in for it", (long long)finding->after);
        text_char(out, '\n');
    }
}

static void write_findings(struct json *json, const struct findings *findings)
{
    json_array(json, "winners");
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->at[i];
        json_object(json, NULL);
        json_string(json, "task", finding->run->task);
        json_int(json, "run", finding->run->id);
        json_string(json, "moved", finding->moved);
        json_string(json, "outcome", outcome_name(finding->outcome));
        json_string(json, "message", finding->message);
        json_int(json, "candidate_before", finding->before);
        json_int(json, "candidate", finding->after);
        json_double(json, "speedup_before", finding->then);
        json_double(json, "speedup", finding->fitness);
        json_double(json, "low", finding->interval.low);
        json_double(json, "high", finding->interval.high);
        json_end(json);
    }
    json_end(json);
}

static enum exit_code run(struct invocation *invocation)
{
    struct recheck recheck = {.invocation = invocation, .seconds = 2};
    if (!option_number(invocation, "seconds", 3600, &recheck.seconds) ||
        !stored_open(&recheck.stored, invocation, false))
        return errors_exit(&invocation->errors);
    bool fine = invocation->operands.count ? recheck_named(&recheck, invocation->operands.at[0])
                                           : recheck_all(&recheck);
    stored_close(&recheck.stored);
    bool lost = false;
    for (size_t i = 0; i < recheck.findings.count; i++)
        lost |= recheck.findings.at[i].outcome != OUTCOME_OK;
    enum exit_code exit = lost ? EXIT_NO : EXIT_YES;
    struct text out = text_new(invocation->arena);
    if (!fine)
        exit = exit_worse(exit, errors_exit(&invocation->errors));
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        write_findings(&json, &recheck.findings);
        return exit_worse(exit, output_json_end(invocation, &json));
    }
    if (fine || recheck.findings.count)
        print_findings(&out, &recheck.findings);
    output_text(&out);
    return exit;
}

const struct command command_recheck = {
    .name = "recheck",
    .summary = "judge stored winners again",
    .operands = "[RUN|TASK]",
    .operand_kind = OPERAND_NONE,
    .least = 0,
    .most = 1,
    .description =
        "Judges the winner of a run again: is it still right, and still as fast against its "
        "baselines? Without a name, the newest winner of every task that was last judged by "
        "another compiler or on another machine. What is no longer right is marked so in the "
        "store, and the next best takes its place; what was found is kept with the run, and a "
        "winner that wins here is tried first in searches here.\n\n"
        "The answer is 0 when all winners are right, 1 when one is not.",
    .options = options,
    .examples = examples,
    .run = run,
};
