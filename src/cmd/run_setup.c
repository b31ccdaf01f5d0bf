/*
 * What a search is about: the options of `smelt run`, the task, the machine, what is known. And the
 * same for a run of the store, found again by the words it was begun with.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/judged.h"
#include "cmd/run.h"
#include "machine/machine.h"
#include "os/lock.h"

/* ---- options ---- */

static bool bad(struct invocation *invocation, const char *name, const char *text, const char *hint)
{
    error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                          "--%s cannot be '%s'", name, text),
               "%s", hint);
    return false;
}

/* An amount of 0 and no other: the run is only begun. */
static bool take_budgets(struct invocation *invocation, struct search_budget *budget, bool *empty)
{
    size_t cursor = 0;
    bool given = false;
    *empty = false;
    for (const char *text; (text = option_next(invocation, "budget", &cursor)); given = true) {
        char *end;
        double amount = strtod(text, &end);
        if (!(amount >= 0) || amount > 1e9)
            return bad(invocation, "budget", text, "such as 60s, 5m or 500e");
        *empty |= amount == 0;
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
    *empty = *empty && budget->seconds == 0 && budget->evaluations == 0;
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

static bool take_options(struct run_request *request, struct invocation *invocation)
{
    int64_t threads = 1, jobs = 6, seed = 0;
    double seconds = 0.5;
    const char *policy = option_value(invocation, "policy");
    struct names VECTOR(const char *) names = {0};
    size_t cursor = 0;
    if (!take_budgets(invocation, &request->options.budget, &request->begin_only) ||
        !take_until(invocation, &request->options.budget) ||
        !option_count(invocation, "threads", 1, MACHINE_THREADS, &threads) ||
        !option_count(invocation, "jobs", 1, SEARCH_BATCH, &jobs) ||
        !option_count(invocation, "seed", 1, INT64_MAX, &seed) ||
        !option_number(invocation, "seconds", 3600, &seconds))
        return false;
    request->options.policy = search_policy_find(policy ? policy : "islands");
    request->options.batch = (int)jobs;
    request->options.no_experience = option_given(invocation, "no-experience");
    request->options.seed = seed > 0 ? (uint64_t)seed : (uint64_t)time(NULL);
    request->judging.arena = invocation->arena;
    request->judging.options =
        (struct judge_options){.threads = (int)threads,
                               .time_seconds = seconds,
                               .brief = true,
                               .hasty = true,
                               .oracle = judged_oracle(option_value(invocation, "oracle")),
                               .only_case = -1,
                               .only_draw = -1};
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

const char *run_signature(struct arena *arena, const char *language)
{
    struct machine machine;
    struct rates rates;
    planned_machine(arena, language, &machine, &rates);
    return arena_printf(arena, "%s+%s", machine.id, judge_toolchain(arena));
}

/* The command line, a word per line, so that resume can go by it. */
/* Files that are read again when the run goes on, perhaps from another folder. */
static const char *settled(struct arena *arena, const struct option_use *use)
{
    static const char *const files[] = {"llm-config", "replay-llm", "kb"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(use->option->name, files[i]) != 0)
            continue;
        char *path = realpath(use->value, NULL);
        const char *kept = path ? arena_string(arena, path) : use->value;
        free(path);
        return kept;
    }
    return use->value;
}

const char *run_settings(struct invocation *invocation)
{
    struct text text = text_new(invocation->arena);
    for (size_t i = 0; i < invocation->operands.count; i++)
        text_printf(&text, "%s\n", invocation->operands.at[i]);
    for (size_t i = 0; i < invocation->options.count; i++) {
        const struct option_use *use = &invocation->options.at[i];
        if (strcmp(use->option->name, "store") == 0 || strcmp(use->option->name, "json") == 0)
            continue;
        text_printf(&text, "--%s%s%s\n", use->option->name, use->value ? "=" : "",
                    use->value ? settled(invocation->arena, use) : "");
    }
    return text.at;
}

const char *run_target(const struct run_request *request)
{
    const struct skeleton_device *device = request->planned.target.device;
    return device ? device->language : "cpu";
}

void run_describe(struct run_request *request, struct invocation *invocation)
{
    struct arena *arena = invocation->arena;
    struct search *search = &request->search;
    const struct skeleton_program *program = request->planned.ready;
    const struct ir_part *part = program->part;
    planned_machine(arena, run_target(request), &search->machine, &search->rates);
    enum dtype dtype = part->output_count ? part->tensors[part->outputs[0]].dtype : DTYPE_F32;
    request->know =
        (struct know){.arena = arena,
                      .engine = request->stored.engine,
                      .store = request->stored.store,
                      .structure = know_structure(arena, planned_class(arena, program), part),
                      .shape = know_shape(arena, program->binding),
                      .dtype = dtype_name(dtype),
                      .target = run_target(request),
                      .signature = run_signature(arena, run_target(request))};
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

/* Settings are kept a word per line: what would be another word when read again is refused. */
static bool check_words(struct invocation *invocation)
{
    for (size_t i = 0; i < invocation->operands.count; i++) {
        const char *word = invocation->operands.at[i];
        if (strchr(word, '\n') || (word[0] == '-' && word[1])) {
            error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                                  "a run cannot be about '%s'", word),
                       "a file whose name begins with a dash is written ./-name");
            return false;
        }
    }
    for (size_t i = 0; i < invocation->options.count; i++)
        if (invocation->options.at[i].value && strchr(invocation->options.at[i].value, '\n'))
            return bad(invocation, invocation->options.at[i].option->name, "several lines",
                       "it is one line");
    return true;
}

static void say_waiting(void *invocation)
{
    output_note(invocation, "another smelt is timing on this machine; waiting for it");
}

/*
 * Plans are made, and what bounds them is said, by what the machine was measured to do. Where
 * nobody has measured it, a search that has the time does so first, in two seconds; what fails here
 * is not needed.
 */
static void measure_machine(const struct run_request *request, struct invocation *invocation)
{
    static const double least_budget = 20;
    const char *name = option_value(invocation, "target");
    const char *language = name ? arena_copy(invocation->arena, name, strcspn(name, ":")) : "cpu";
    struct machine machine;
    struct rates now, best;
    struct error ignored = {0};
    enum machine_kept before;
    bool device = strcmp(language, "cpu") != 0;
    if (request->options.budget.seconds < least_budget)
        return;
    planned_machine(invocation->arena, language, &machine, &now);
    if (!machine.id[0] ||
        machine_rates_load(invocation->arena, &machine, &now) == MACHINE_KEPT_GOOD)
        return;
    output_note(invocation, "measuring this %s once; smelt probe%s%s does it with more care",
                device ? "device" : "machine", device ? " --target " : "", device ? language : "");
    int lock = lock_timing_begin(say_waiting, invocation);
    bool good = planned_measure(invocation->arena, language, &machine, &now, &ignored);
    lock_timing_end(lock);
    if (good)
        (void)machine_rates_keep(invocation->arena, &machine, &now, &best, &before, &ignored);
}

bool run_prepare(struct run_request *request, struct invocation *invocation)
{
    struct planned *planned = &request->planned;
    struct search *search = &request->search;
    planned->request.invocation = invocation;
    if (!check_words(invocation) || !take_options(request, invocation) || !planned_find(planned))
        return false;
    measure_machine(request, invocation);
    if (!planned_prepare(planned) || !planned_pins_concern(planned))
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
    request->options.judge =
        (struct search_judge){judging_judge, &request->judging, judging_announce};
    request->judging.search = search;
    search->arena = invocation->arena;
    search->options = &request->options;
    search->program = planned->ready;
    search->op = planned_op_text(invocation->arena, planned->request.subject.op);
    return true;
}

/* Nothing is begun that cannot be judged here: plans alone need no device. */
static bool is_device_there(const struct run_request *request, struct invocation *invocation)
{
    struct error error = {0};
    if (request->begin_only ||
        planned_target_is_there(invocation->arena, &request->planned.target, &error))
        return true;
    errors_take(&invocation->errors, &error);
    return false;
}

bool run_prepare_search(struct run_request *request, struct invocation *invocation)
{
    return run_prepare(request, invocation) && is_device_there(request, invocation) &&
           run_models_take(request, invocation);
}

/* ---- a run of the store ---- */

bool run_parse(struct invocation *invocation, struct run_words *words, struct invocation *again)
{
    *again = (struct invocation){.arena = invocation->arena,
                                 .scratch = invocation->scratch,
                                 .errors = errors_new(invocation->arena),
                                 .json = invocation->json,
                                 .colour = invocation->colour,
                                 .colour_notes = invocation->colour_notes};
    return options_parse(again, (int)words->count, words->at);
}

/*
 * The text of its file is kept with a run: it stands for the file, which may have changed or gone.
 * Commands read it as they read standard input.
 */
static bool take_text(struct stored *stored, const struct run *run, struct invocation *again)
{
    struct source *source = arena_new(again->arena, struct source);
    if (!run->text || again->operands.count == 0 || !subject_is_file(again->operands.at[0]))
        return true;
    source->name = again->operands.at[0];
    source->text = stored_object(stored, run->text);
    if (!source->text)
        return false;
    source->length = strlen(source->text);
    again->operands.at[0] = "-";
    again->input = source;
    return true;
}

bool run_words_again(struct stored *stored, const struct run *run, struct invocation *again)
{
    struct invocation *invocation = stored->invocation;
    struct run_words words = {0};
    size_t cursor = 0;
    char *text = arena_string(invocation->arena, run->settings ? run->settings : "");
    vector_push(invocation->arena, &words, arena_string(invocation->arena, "run"));
    /* A budget that is given to `resume` stands for all the run was begun with. */
    bool budgets =
        strcmp(invocation->command->name, "resume") == 0 && option_given(invocation, "budget");
    for (char *word = strtok(text, "\n"); word; word = strtok(NULL, "\n"))
        if (!budgets || strncmp(word, "--budget=", strlen("--budget=")) != 0)
            vector_push(invocation->arena, &words, word);
    for (const char *budget; budgets && (budget = option_next(invocation, "budget", &cursor));)
        vector_push(invocation->arena, &words,
                    arena_printf(invocation->arena, "--budget=%s", budget));
    return run_parse(invocation, &words, again) && take_text(stored, run, again);
}

bool run_reopen(struct stored *stored, const struct run *run, struct run_again *out)
{
    struct invocation *invocation = stored->invocation;
    struct run_request *request = arena_new(invocation->arena, struct run_request);
    struct invocation *again = arena_new(invocation->arena, struct invocation);
    bool fine = run_words_again(stored, run, again) && run_prepare(request, again);
    for (size_t i = 0; i < again->errors.list.count; i++)
        errors_take(&invocation->errors, &again->errors.list.at[i]);
    if (!fine)
        return false;
    request->stored = *stored;
    run_describe(request, again);
    *out = (struct run_again){
        .planned = request->planned, .options = request->judging.options, .know = request->know};
    return true;
}
