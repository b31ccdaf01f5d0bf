/*
 * One kernel of a call: compiled, and checked in every case.
 */
#include "judge/judging.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge/reference.h"
#include "judge/sample.h"
#include "judge/sanitizer.h"
#include "os/os.h"

static bool conclude(struct judging *judging, enum outcome outcome, const char *message)
{
    judging->verdict->outcome = outcome;
    snprintf(judging->verdict->message, sizeof judging->verdict->message, "%s", message);
    return true;
}

static bool refuse_manifest(struct judging *judging, const struct errors *problems)
{
    const struct error *first = &problems->list.at[0];
    snprintf(judging->verdict->detail, sizeof judging->verdict->detail, "%s", first->hint);
    return conclude(judging, OUTCOME_COMPILE_ERROR, first->message);
}

static const char *failure_id(struct judging *judging, int number, int draw)
{
    return arena_printf(judging->arena, "%016llx.%d.%d", (unsigned long long)judging->seed, number,
                        draw);
}

/* ---- words ---- */

/* The place in the source a fault happened at, by the line table of the object. */
static void name_line(struct judging *judging, const char *offset, struct text *out)
{
    char *tool = process_find(judging->arena, "addr2line");
    if (!tool || !offset[0])
        return;
    const char *address = arena_printf(judging->arena, "0x%s", offset);
    const char *const arguments[] = {tool, "-e", judging->compiled->library, address, NULL};
    struct tool_run run; /* the object is the kernel's author's, line table and all */
    tool_run(judging->arena, arguments, judging->compiled->directory, 5, &run);
    if (!run.started || run.status != 0)
        return;
    fault_quote_line(judging->source, run.output, out);
}

static struct mismatch *make_mismatch(struct judging *judging, const struct ir_part *part,
                                      const struct ir_binding *binding,
                                      const struct comparison *comparison)
{
    struct mismatch *mismatch = arena_new(judging->arena, struct mismatch);
    int number = part->outputs[comparison->output];
    int64_t dims[IR_MAX_RANK], element = comparison->element;
    ir_tensor_shape(binding, number, dims);
    *mismatch = (struct mismatch){.tensor = part->tensors[number].name,
                                  .rank = part->tensors[number].rank,
                                  .expected = comparison->expected,
                                  .got = comparison->got,
                                  .limit = comparison->limit,
                                  .wrong = comparison->wrong,
                                  .total = comparison->total};
    mismatch->pattern = arena_string(judging->arena, comparison->pattern);
    mismatch->place = comparison->place;
    mismatch->change = comparison->change;
    mismatch->number = comparison->number;
    mismatch->dimension = comparison->dimension;
    for (int d = mismatch->rank; d-- > 0; element /= dims[d] ? dims[d] : 1)
        mismatch->index[d] = dims[d] ? element % dims[d] : 0;
    return mismatch;
}

/* ---- one case ---- */

static bool keep_arrays(struct judging *judging, const struct ir_part *part,
                        const struct draw *draw)
{
    const char *folder = judging->options->keep;
    for (int i = 0; folder && i < part->input_count; i++)
        if (!npy_write(arena_printf(judging->arena, "%s/%s.npy", folder, draw->inputs[i].name),
                       &draw->inputs[i], judging->error))
            return false;
    for (int o = 0; folder && o < part->output_count; o++)
        if (!npy_write(
                arena_printf(judging->arena, "%s/%s.expected.npy", folder, draw->expected[o].name),
                &draw->expected[o], judging->error))
            return false;
    return true;
}

static bool report_launch(struct judging *judging, const struct ir_binding *binding, int number,
                          const struct launch_result *result, const char *draw)
{
    struct verdict *verdict = judging->verdict;
    struct text detail = text_new(judging->arena);
    conclude(judging, result->outcome, result->message);
    if (result->outcome == OUTCOME_CRASH || result->outcome == OUTCOME_OUT_OF_BOUNDS)
        name_line(judging, result->detail, &detail);
    snprintf(verdict->detail, sizeof verdict->detail, "%s", detail.at);
    verdict->id = failure_id(judging, number, result->draw);
    bool compared = result->outcome == OUTCOME_WRONG || result->outcome == OUTCOME_INACCURATE ||
                    (result->outcome == OUTCOME_UNSTABLE && result->comparison.wrong > 0);
    if (compared) {
        verdict->mismatch = make_mismatch(judging, binding->part, binding, &result->comparison);
        verdict->mismatch->draw = draw;
    }
    return true;
}

struct checking { /* one case */
    const struct task_case *task_case;
    const struct kernel *kernel;
    struct ir_binding *binding;
    int number;
    struct launch_result result;
    struct draw draws[JUDGE_MAX_DRAWS]; /* unless it is sampled */
    int first;                          /* the number of draws[0] */
};

static int64_t scratch_of(const struct checking *checking)
{
    return kernel_scratch(checking->kernel, checking->task_case->sizes);
}

/* A call that takes longer counts as hung: large cases are given more time. */
static double patience(const struct judging *judging, const struct checking *checking, bool sampled)
{
    static const double most = 120;
    if (judging->options->seconds > 0)
        return judging->options->seconds;
    double work = ir_bytes(checking->binding) / 1e8 + ir_operations(checking->binding) / 1e9;
    return sampled ? fmin(10 + work, most) : 10;
}

static struct launch make_launch(const struct judging *judging, const struct checking *checking,
                                 bool sampled)
{
    return (struct launch){
        .binding = checking->binding,
        .library = judging->compiled->library,
        .directory = judging->compiled->directory,
        .scratch = scratch_of(checking),
        .threads = judging->options->threads ? judging->options->threads : 1,
        .seconds = patience(judging, checking, sampled),
        .layers = ~0U,
        .deterministic = judging->task->deterministic,
        .count = judging->options->count,
        .device = device_make(judging->arena, checking->kernel, checking->binding),
        .resident = judging->options->resident,
    };
}

/* Draws checking->first up to `count`, or those made for an earlier kernel. */
static bool make_draws(struct judging *judging, struct checking *checking,
                       const struct plain *plain, int count)
{
    const struct task_case *task_case = checking->task_case;
    bool shared = checking->number < judging->task->case_count;
    struct judge_drawn *drawn = shared ? &judging->draws->cases[checking->number] : NULL;
    struct arena *arena = shared ? &judging->draws->arena : judging->arena;
    if (drawn && drawn->made) {
        memcpy(checking->draws, drawn->draws, sizeof checking->draws);
        return true;
    }
    struct oracle_code *code = oracle_compile(judging->arena, task_case->program, judging->error);
    bool good = code != NULL;
    for (int d = checking->first; good && d < count; d++)
        good = draw_make(arena, judging->task, task_case, checking->binding, code, plain, d,
                         hash_mix(judging->seed, (uint64_t)checking->number),
                         &checking->draws[d - checking->first], judging->error);
    oracle_close(code);
    if (drawn && good) {
        memcpy(drawn->draws, checking->draws, sizeof checking->draws);
        drawn->made = true;
    }
    return good;
}

/* Every element of every draw. False when the judge failed. */
static bool check_whole(struct judging *judging, struct checking *checking,
                        const struct plain *plain)
{
    const struct task_case *task_case = checking->task_case;
    int count = draw_count(task_case), only = judging->options->only_draw;
    if (only >= 0 && only < count) {
        checking->first = only;
        count = only + 1;
    }
    if (!make_draws(judging, checking, plain, count))
        return false;
    struct launch launch = make_launch(judging, checking, false);
    launch.draws = checking->draws;
    launch.draw_count = count - checking->first;
    return launch_check(&launch, &checking->result, judging->error);
}

/* Where draws are shared, so are those of a sampled case, unless they are large. */
static bool share_samples(struct judging *judging, const struct checking *checking,
                          const struct room *room, struct sampling *sampling)
{
    bool large = !sampling->device && 4 * ir_bytes(checking->binding) > 0.25 * (double)room->limit;
    if (!judging->options->draws || checking->number >= judging->task->case_count || large ||
        sampling->only_draw >= 0)
        return true;
    struct judge_drawn *drawn = &judging->draws->cases[checking->number];
    if (!drawn->sampled)
        drawn->sampled =
            sample_share(sampling, checking->binding, &judging->draws->arena, judging->error);
    sampling->shared = drawn->sampled;
    return drawn->sampled != NULL;
}

/* Elements chosen after each call: see sample.c. */
static bool check_sampled(struct judging *judging, struct checking *checking,
                          const struct room *room, const struct reference *reference)
{
    const struct ir_program *program = checking->task_case->program;
    struct error *error = judging->error;
    *error = (struct error){0};
    struct oracle_slice *slice =
        reference ? NULL : oracle_slice_compile(judging->arena, program, false, error);
    struct oracle_slice *plain =
        slice ? oracle_slice_compile(judging->arena, program, true, error) : NULL;
    struct sampling sampling = {
        .task = judging->task,
        .task_case = checking->task_case,
        .slice = slice,
        .plain = plain,
        .rule = limit_rule_make(judging->arena, judging->task, checking->binding),
        .seed = hash_mix(judging->seed, (uint64_t)checking->number),
        .memory = room->slice,
        .only_draw = judging->options->only_draw,
        .device = judging->compiled->target != NULL,
        .brief = judging->options->brief,
        .reference = reference,
    };
    struct launch launch = make_launch(judging, checking, true);
    launch.sampling = &sampling;
    bool good = error->code == ERROR_NONE && share_samples(judging, checking, room, &sampling) &&
                launch_check(&launch, &checking->result, judging->error);
    oracle_slice_close(slice);
    oracle_slice_close(plain);
    return good;
}

static const struct reference *find_reference(const struct judging *judging,
                                              const struct checking *checking)
{
    struct reference_case wanted = {.task = judging->task,
                                    .task_case = checking->task_case,
                                    .binding = checking->binding,
                                    .target = judging->compiled->target,
                                    .options = judging->options,
                                    .number = checking->number,
                                    .seed = judging->seed};
    return reference_get(judging->references, &wanted, judging->error);
}

static void take_counts(struct judging *judging, const struct checking *checking)
{
    const struct counter_values *seen = &checking->result.counters;
    struct processor_counts *counts = arena_new(judging->arena, struct processor_counts);
    double calls = checking->result.calls > 0 ? checking->result.calls : 1;
    *counts = (struct processor_counts){
        .nanoseconds = (double)seen->value[COUNTER_NANOSECONDS] / calls,
        .cycles = (double)seen->value[COUNTER_CYCLES] / calls,
        .instructions = (double)seen->value[COUNTER_INSTRUCTIONS] / calls,
        .cache_misses = (double)seen->value[COUNTER_CACHE_MISSES] / calls,
        .branch_misses = (double)seen->value[COUNTER_BRANCH_MISSES] / calls,
        .case_text = checking->task_case->text,
        .missing = seen->have[COUNTER_CYCLES] ? NULL : counters_unavailable(),
    };
    judging->verdict->counts = counts;
}

/* On a device: which thread and line it was, where there is a tool that can tell. */
static void explain_fault(struct judging *judging, const struct checking *checking)
{
    const struct launch_result *result = &checking->result;
    bool faulted = result->outcome == OUTCOME_CRASH || result->outcome == OUTCOME_OUT_OF_BOUNDS;
    bool strange = result->outcome == OUTCOME_WRONG || result->outcome == OUTCOME_UNSTABLE;
    const struct launch_device *device =
        device_make(judging->arena, checking->kernel, checking->binding);
    if (!device || !(faulted || (strange && judging->options->sanitize)))
        return;
    struct verdict *verdict = judging->verdict;
    struct sanitizer_case failed = {
        .device = device,
        .binding = checking->binding,
        .inputs =
            result->elements > 0 ? NULL : checking->draws[result->draw - checking->first].inputs,
        .source = judging->source,
        .library = judging->compiled->library,
        .directory = judging->compiled->directory,
        .outcome = result->outcome};
    struct text found = text_new(judging->arena);
    sanitizer_explain(judging->arena, &failed, &found);
    if (found.length)
        snprintf(verdict->detail, sizeof verdict->detail, "%s", found.at);
}

/* From what the launch found to the verdict. */
static bool settle_case(struct judging *judging, struct checking *checking, struct case_result *out,
                        bool *stop)
{
    struct launch_result *result = &checking->result;
    result->draw += checking->first;
    out->outcome = result->outcome;
    out->worst = result->comparison.worst;
    out->sampled = result->sampled;
    out->elements = result->elements;
    if (judging->options->count && result->elements == 0 && result->outcome == OUTCOME_OK)
        take_counts(judging, checking);
    struct text layers = text_new(judging->arena);
    sandbox_print_layers(&layers, result->layers);
    if (result->kept)
        text_add(&layers, " (in a process that other kernels were in)");
    judging->verdict->isolation = layers.at;
    unsigned least = sandbox_level_layers(judging->options->isolation);
    if (result->layers && (result->layers & least) != least) {
        error_set(judging->error, ERROR_MISSING_TOOL,
                  "this host offers less isolation than asked for: %s", layers.at);
        error_hint(judging->error, "ask for less: --isolation=basic");
        return false;
    }
    if (result->outcome == OUTCOME_OK)
        return true;
    *stop = true;
    const char *draw = NULL;
    if (result->elements > 0)
        draw_sampled(checking->task_case, result->draw, &draw);
    else
        draw = checking->draws[result->draw - checking->first].name;
    report_launch(judging, checking->binding, checking->number, result, draw);
    explain_fault(judging, checking);
    return result->elements > 0 || keep_arrays(judging, checking->binding->part,
                                               &checking->draws[result->draw - checking->first]);
}

/* False when the judge failed; *stop when the verdict is in. */
static bool judge_case(struct judging *judging, const struct task_case *task_case, int number,
                       bool *stop)
{
    struct arena *arena = judging->arena;
    const struct ir_part *part = ir_root(task_case->program);
    struct case_result *out = vector_add(arena, &judging->results);
    *out = (struct case_result){.text = task_case->text, .microseconds = NAN};
    struct errors problems = errors_new(arena);
    struct kernel *kernel = kernel_parse(arena, judging->source, part, &problems);
    out->outcome = OUTCOME_UNSUPPORTED;
    bool other = false;
    for (size_t i = 0; i < problems.list.count; i++)
        other |= problems.list.at[i].code == ERROR_MANIFEST_INSTANCE;
    if (other) /* of another rank: a case for another kernel */
        return true;
    if (!kernel) {
        *stop = true;
        out->outcome = OUTCOME_COMPILE_ERROR;
        return refuse_manifest(judging, &problems);
    }
    if (!kernel_holds(kernel, task_case->sizes, NULL))
        return true;
    struct checking checking = {.task_case = task_case, .kernel = kernel, .number = number};
    checking.binding =
        ir_bind(arena, task_case->program, task_case->sizes, task_case->scalars, judging->error);
    const struct plain *plain = checking.binding ? yardstick_get(arena, judging->yardstick,
                                                                 task_case->program, judging->error)
                                                 : NULL;
    if (!plain)
        return false;
    int64_t plain_bytes = plain_scratch(plain, checking.binding->sizes);
    int draws = draw_count(task_case);
    struct room room =
        judging->compiled->target
            ? room_plan_device(checking.binding, plain_bytes, draws, judging->options)
            : room_plan(checking.binding, scratch_of(&checking), plain_bytes, draws,
                        judging->options);
    if (room.way == ROOM_NONE) {
        out->refused = room_explain(arena, &room);
        return true;
    }
    const struct reference *reference =
        room.way == ROOM_WHOLE ? NULL : find_reference(judging, &checking);
    if (judging->error->code != ERROR_NONE)
        return false;
    out->device_oracle = reference != NULL;
    /* where one element takes as much as all of them, sampling them saves nothing */
    bool whole = room.way == ROOM_WHOLE || (!reference && room.whole <= room.limit &&
                                            !oracle_slice_exists(arena, task_case->program));
    bool good = whole ? check_whole(judging, &checking, plain)
                      : check_sampled(judging, &checking, &room, reference);
    return good && settle_case(judging, &checking, out, stop);
}

static void finish(struct judging *judging)
{
    bool any = false, refused = false;
    double worst = 0;
    for (size_t i = 0; i < judging->results.count; i++) {
        refused |= judging->results.at[i].refused != NULL;
        any |= judging->results.at[i].outcome == OUTCOME_OK;
        worst = fmax(worst, judging->results.at[i].worst);
    }
    judging->verdict->cases = judging->results.at;
    judging->verdict->case_count = (int)judging->results.count;
    if (judging->verdict->message[0])
        return;
    if (any)
        conclude(judging, OUTCOME_OK,
                 arena_printf(judging->arena,
                              "right in every draw; the largest error is %.2f of what is allowed",
                              worst));
    else if (refused)
        conclude(judging, OUTCOME_UNSUPPORTED,
                 "no case the kernel holds for fits into the memory that may be used");
    else
        conclude(judging, OUTCOME_UNSUPPORTED, "the kernel holds for none of the task's cases");
}

static void take_binary(struct judging *judging)
{
    const struct judge_options *options = judging->options;
    struct binary_facts *facts = arena_new(judging->arena, struct binary_facts);
    *facts = judging->compiled->binary;
    judging->verdict->binary = facts;
    if (!options->known || !facts->hash[0] ||
        !options->known(options->context, judging->number, facts->hash))
        return;
    judging->verdict->known = true;
    conclude(judging, OUTCOME_UNSUPPORTED, "it was not judged: the same binary was judged before");
}

static bool compile(struct judging *judging)
{
    struct verdict *verdict = judging->verdict;
    struct errors problems = errors_new(judging->arena);
    if (judging->task->case_count > 0 &&
        !kernel_parse(judging->arena, judging->source, ir_root(judging->task->cases[0].program),
                      &problems) &&
        (problems.list.at[0].code == ERROR_MANIFEST_MISSING ||
         (judging->compiled->target && problems.list.at[0].code != ERROR_MANIFEST_INSTANCE)))
        return refuse_manifest(judging, &problems); /* whether or not there is a device */
    if (!ahead_get(judging->arena, judging->ahead, judging->number, judging->error))
        return false;
    verdict->compile_seconds = judging->compiled->seconds;
    struct text flags = text_new(judging->arena);
    const struct target *target = judging->compiled->target;
    text_add(&flags, target ? target->name : "cc");
    if (target && judging->compiled->architecture[0])
        text_printf(&flags, " %s", judging->compiled->architecture);
    for (const char *const *flag = judge_compiler_flags(); !target && *flag; flag++)
        text_printf(&flags, " %s", *flag);
    verdict->compiler = flags.at;
    if (judging->compiled->done && judging->compiled->inspect)
        take_binary(judging);
    if (judging->compiled->done)
        return true;
    conclude(judging, OUTCOME_COMPILE_ERROR, "the kernel does not compile");
    snprintf(verdict->detail, sizeof verdict->detail, "%s", judging->compiled->output);
    return true;
}

/* Cases of the judge's own, numbered after the task's. */
static bool judge_held(struct judging *judging, bool *stop)
{
    const struct task *task = judging->task;
    int only = judging->options->only_case;
    const struct task_case *like = &task->cases[0];
    struct errors problems = errors_new(judging->arena);
    struct kernel *kernel =
        kernel_parse(judging->arena, judging->source, ir_root(like->program), &problems);
    bool good = true;
    for (int h = 0; kernel && good && !*stop && h < JUDGE_HELD_CASES; h++) {
        int number = task->case_count + h;
        struct task_case held;
        if ((only >= 0 && only != number) ||
            !held_make(judging->arena, task, like, kernel,
                       hash_mix(judging->seed, (uint64_t)number), &held))
            continue;
        good = judge_case(judging, &held, number, stop);
        judging->results.at[judging->results.count - 1].held = true;
    }
    return good;
}

bool judging_check(struct judging *judging)
{
    const struct judge_options *options = judging->options;
    struct verdict *verdict = judging->verdict;
    *verdict = (struct verdict){.outcome = OUTCOME_JUDGE_FAULT};
    event("judge", event_string("doing", "compiling"), event_int("kernel", judging->number));
    bool good = compile(judging), stop = verdict->message[0] != 0;
    double start = clock_seconds();
    for (int i = 0; good && !stop && i < judging->task->case_count; i++)
        if (options->only_case < 0 || options->only_case == i) {
            event("judge", event_string("doing", "checking"), event_int("kernel", judging->number),
                  event_int("case", i));
            good = judge_case(judging, &judging->task->cases[i], i, &stop);
        }
    good = good && (stop || judge_held(judging, &stop));
    verdict->check_seconds = clock_seconds() - start;
    if (good)
        finish(judging);
    return good;
}
