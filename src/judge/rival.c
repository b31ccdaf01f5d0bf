/*
 * Baselines on their way into a contest: named, compiled, checked like any other kernel, and set up
 * in the way that is fastest. One that is wrong, or cannot do the case, is reported and left out.
 */
#include "judge/rival.h"

#include <string.h>

#include "gen/gen.h"
#include "judge/command.h"
#include "judge/device.h"

/* ---- names ---- */

static const char *task_line_name(struct arena *arena, const struct task_baseline *line)
{
    return line->argument ? arena_printf(arena, "%s:%s", line->name, line->argument) : line->name;
}

const char *const *judge_baseline_names(struct arena *arena, const struct task *task,
                                        const struct judge_options *options)
{
    struct names VECTOR(const char *) names = {0};
    const char *const *wanted = options->baselines;
    if (!wanted) {
        vector_push(arena, &names, "plain");
        for (int i = 0; i < task->baseline_count; i++)
            if (strcmp(task->baselines[i].name, "plain") != 0)
                vector_push(arena, &names, task_line_name(arena, &task->baselines[i]));
    }
    for (; wanted && *wanted; wanted++) {
        bool found = false, compiled = strcmp(*wanted, "torch-compile") == 0;
        for (int i = 0; i < task->baseline_count; i++)
            if (task->baselines[i].argument &&
                strcmp(task->baselines[i].name, compiled ? "torch" : *wanted) == 0) {
                vector_push(
                    arena, &names,
                    compiled ? arena_printf(arena, "torch-compile:%s", task->baselines[i].argument)
                             : task_line_name(arena, &task->baselines[i]));
                found = true;
            }
        if (!found)
            vector_push(arena, &names, *wanted);
    }
    vector_push(arena, &names, NULL);
    return names.at;
}

/* ---- making ---- */

/* Compiles one way to set a baseline up. False when the judge cannot go on. */
static bool compile_variant(struct arena *arena, const char *name,
                            const struct baseline_variant *variant,
                            const struct ir_program *program, struct participant *out,
                            struct error *error)
{
    struct errors problems = errors_new(arena);
    out->name = variant->setup[0] ? arena_printf(arena, "%s (%s)", name, variant->setup) : name;
    out->opens_libraries = variant->opens_libraries;
    out->product = variant->product;
    if (variant->product) { /* holds for all, takes no memory besides, launches nothing */
        out->kernel = arena_new(arena, struct kernel);
        *out->kernel = (struct kernel){.source = variant->source, .target = "cuda"};
    } else {
        out->kernel = kernel_parse(arena, variant->source, ir_root(program), &problems);
    }
    if (!out->kernel) {
        *error = problems.list.at[0];
        return false;
    }
    if (!compile_cached(arena, variant->source, &out->compiled, error))
        return false;
    if (out->compiled.done)
        return true;
    error_set(error, ERROR_TOOL_FAILED, "baseline '%s' does not compile", name);
    error_detail(error, "%.300s", out->compiled.output);
    return false;
}

/* PyTorch's words with the device it should work on, which it calls as we do. */
static const char *const *put_device(struct arena *arena, const char *const *command,
                                     const struct target *target)
{
    int count = 0;
    while (command[count])
        count++;
    const char **words = arena_array(arena, (size_t)count + 3, sizeof *words);
    memcpy(words, command, 2 * sizeof *words); /* python and the script */
    words[2] = "--device";
    words[3] = target->name;
    memcpy(words + 4, command + 2, ((size_t)count - 2) * sizeof *words);
    return words;
}

/* The baselines of a device: the plain kernel of its own, kernels of people, and PyTorch. */
static enum baseline_answer make_device(struct arena *arena, const struct target *target,
                                        const char *name, const struct ir_program *program,
                                        struct baseline *baseline, struct error *reason)
{
    if (strcmp(name, "plain") != 0) {
        enum baseline_answer answer = baseline_make(arena, name, program, baseline, reason);
        if (answer == BASELINE_READY && !baseline->command &&
            device_target(baseline->variants[0].source) == target)
            return answer;
        bool torch = strncmp(name, "torch", 5) == 0 && strcmp(target->name, "cuda") == 0;
        if (answer == BASELINE_READY && baseline->command && torch) {
            baseline->command = put_device(arena, baseline->command, target);
            return answer;
        }
        if (answer == BASELINE_READY)
            error_set(reason, ERROR_USAGE, "it is not for target %s", target->name);
        return answer == BASELINE_READY ? BASELINE_DOES_NOT_APPLY : answer;
    }
    static const struct gen_contract nothing = {0};
    struct text text = text_new(arena);
    struct source *source = arena_new(arena, struct source);
    *baseline = (struct baseline){.name = name, .variant_count = 1};
    if (!gen_plain_device(&text, program, target->name, &nothing)) {
        error_set(reason, ERROR_USAGE, "there is no plain kernel for target %s", target->name);
        return BASELINE_DOES_NOT_APPLY;
    }
    *source = (struct source){target->source, text.at, text.length};
    baseline->variants[0] = (struct baseline_variant){.setup = "", .source = source};
    return BASELINE_READY;
}

bool rival_make(struct arena *arena, const char *name, bool asked, const struct target *target,
                const struct ir_program *program, struct rival *rival, struct error *error)
{
    struct baseline baseline;
    struct error reason = {0};
    if (!asked && baseline_starts_program(name)) {
        rival->name = arena_copy(arena, name, strcspn(name, ":"));
        rival->problem = arena_printf(
            arena, "the task names it, and it starts a program: ask for it by --baseline %s",
            rival->name);
        return true;
    }
    enum baseline_answer answer =
        target ? make_device(arena, target, name, program, &baseline, &reason)
               : baseline_make(arena, name, program, &baseline, &reason);
    rival->name = baseline.name;
    rival->command = baseline.command;
    if (answer == BASELINE_DOES_NOT_APPLY || (answer == BASELINE_FAILED && !asked)) {
        rival->problem = arena_printf(arena, "%s%s%s%s", reason.message, reason.hint[0] ? " (" : "",
                                      reason.hint, reason.hint[0] ? ")" : "");
        return true;
    }
    if (answer == BASELINE_FAILED) {
        *error = reason;
        return false;
    }
    for (int v = 0; v < baseline.variant_count; v++)
        if (!compile_variant(arena, rival->name, &baseline.variants[v], program,
                             &rival->variants[rival->count++], error))
            return false;
    return true;
}

void rival_release(struct rival *rival)
{
    for (int v = 0; v < rival->count; v++)
        compiled_release(&rival->variants[v].compiled);
}

/* ---- choosing ---- */

static const struct launch_device *participant_device(struct arena *arena,
                                                      const struct participant *participant,
                                                      const struct ir_binding *binding)
{
    const struct kernel *kernel = participant->kernel;
    return participant->product ? device_make_product(arena, target_find(kernel->target),
                                                      participant->product, binding)
                                : device_make(arena, kernel, binding);
}

struct contestant rival_contestant(struct arena *arena, const struct participant *participant,
                                   const struct task_case *task_case,
                                   const struct ir_binding *binding)
{
    struct contestant contestant = {.name = participant->name,
                                    .library = participant->compiled.library,
                                    .directory = participant->compiled.directory,
                                    .opens_libraries = participant->opens_libraries,
                                    .command = participant->command};
    if (participant->kernel) {
        contestant.scratch = kernel_scratch(participant->kernel, task_case->sizes);
        contestant.device = participant_device(arena, participant, binding);
    }
    return contestant;
}

/* Whether it computes what the op says; false with *problem, or with the error when the judge
 * failed. */
static bool check(struct arena *arena, const struct participant *participant,
                  const struct contest *contest, const struct task_case *task_case,
                  const char **problem, struct error *error)
{
    struct launch_result result = {0};
    struct launch launch = {.binding = contest->binding,
                            .library = participant->compiled.library,
                            .directory = participant->compiled.directory,
                            .scratch = kernel_scratch(participant->kernel, task_case->sizes),
                            .threads = contest->threads,
                            .seconds = contest->call_seconds,
                            .layers = ~0U,
                            .draws = contest->draws,
                            .draw_count = contest->draw_count,
                            .opens_libraries = participant->opens_libraries,
                            .sampling = contest->sampling,
                            .device = participant_device(arena, participant, contest->binding)};
    if (!launch_check(&launch, &result, error))
        return false;
    if (result.outcome == OUTCOME_JUDGE_FAULT)
        return error_set(error, ERROR_TOOL_FAILED, "checking of '%s' failed: %s", participant->name,
                         result.message);
    if (result.outcome != OUTCOME_OK)
        *problem = arena_printf(arena, "%s: %s", outcome_name(result.outcome), result.message);
    return result.outcome == OUTCOME_OK;
}

/* All that the fastest way to set a baseline up may depend on. */
static const char *trial_question(struct arena *arena, const struct contest *contest,
                                  const struct task_case *task_case,
                                  const struct participant *const *who, int count)
{
    struct text question = text_new(arena);
    text_printf(&question, "%s %s, %d threads%s\n", ir_root(task_case->program)->name,
                task_case->text, contest->threads, contest->cold ? ", cold" : "");
    for (int i = 0; i < count; i++) /* named by compiler, machine and source */
        text_printf(&question, "%s %s\n", who[i]->name, who[i]->compiled.library);
    return question.at;
}

/* The fastest of several, by a short contest, unless that is known from an earlier one. */
static const struct participant *
choose_fastest(struct arena *arena, const struct participant *const *who, int count,
               struct contest contest, const struct task_case *task_case, struct error *error)
{
    struct contestant contestants[BASELINE_VARIANTS];
    static struct standing standings[CONTEST_MAX];
    for (int c = 0; c < count; c++)
        contestants[c] = rival_contestant(arena, who[c], task_case, contest.binding);
    contest.contestants = contestants;
    contest.count = contest.judged = count;
    contest.seconds = 0.1;
    contest.width = 0.05;
    contest.patient = true;
    contest.samples = NULL;
    const char *question = trial_question(arena, &contest, task_case, who, count);
    int best = choice_recall(arena, question, count);
    if (best >= 0)
        return who[best];
    best = 0;
    if (!contest_run(&contest, standings, error))
        return NULL;
    for (int c = 1; c < count; c++)
        if (standings[c].rounds > 0 && standings[c].outcome == OUTCOME_OK &&
            contest_seconds(&standings[c]).middle < contest_seconds(&standings[best]).middle)
            best = c;
    if (standings[best].rounds >= CONTEST_LEAST_ROUNDS)
        choice_keep(arena, question, best);
    return who[best];
}

const struct participant *rival_choose(struct arena *arena, const struct rival *rival,
                                       struct contest contest, const struct task_case *task_case,
                                       const char **problem, struct error *error)
{
    const struct participant *who[BASELINE_VARIANTS];
    int count = 0;
    *problem = rival->problem;
    for (int v = 0; v < rival->count; v++) {
        const struct participant *variant = &rival->variants[v];
        if (!kernel_holds(variant->kernel, task_case->sizes, NULL))
            continue;
        /* the plain kernel is the yardstick itself */
        if (strcmp(rival->name, "plain") == 0 ||
            check(arena, variant, &contest, task_case, problem, error))
            who[count++] = variant;
        else if (error->code != ERROR_NONE)
            return NULL;
    }
    if (count == 0)
        return NULL;
    *problem = NULL;
    return count == 1 ? who[0] : choose_fastest(arena, who, count, contest, task_case, error);
}

void rival_announce(struct arena *arena, const struct task *task,
                    const struct judge_options *options, const struct target *target)
{
    const char *const *names = judge_baseline_names(arena, task, options);
    struct error ignored = {0};
    int which = 0;
    while (which < task->case_count && !task->cases[which].timed)
        which++;
    if (which == task->case_count || !options->baselines || options->check_only)
        return;
    const struct task_case *one = &task->cases[which];
    struct ir_binding *binding = ir_bind(arena, one->program, one->sizes, one->scalars, &ignored);
    for (; binding && *names; names++) {
        struct baseline baseline = {0};
        if (strncmp(*names, "torch-compile:", 14) == 0 &&
            make_device(arena, target, *names, one->program, &baseline, &ignored) ==
                BASELINE_READY &&
            baseline.command)
            command_announce(arena, baseline.command, binding, options->threads);
    }
}
