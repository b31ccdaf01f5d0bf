/*
 * The timed cases of a task: the kernel against its baselines, in one contest per case.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "baseline/baseline.h"
#include "judge/contest.h"
#include "judge/refresh.h"
#include "machine/machine.h"
#include "os/os.h"

enum { TIMING_DRAWS = 2 };

static const char empty_kernel[] =
    "#include <stdint.h>\n"
    "int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)\n"
    "{\n"
    "    (void)tensors, (void)sizes, (void)scalars, (void)scratch;\n"
    "    return 0;\n"
    "}\n";

/* One participant: compiled once, used for every case it holds for. */
struct participant {
    const char *name;
    struct compiled compiled;
    struct kernel *kernel;
    struct verdict *verdict; /* of a kernel that is judged; NULL for a baseline */
    bool opens_libraries;
};

/* A baseline and the ways to set it up. */
struct rival {
    struct participant variants[BASELINE_VARIANTS];
    int count;
};

struct timing {
    struct arena *arena;
    const struct task *task;
    const struct judge_options *options;
    uint64_t seed;
    struct error *error;
    struct compiled empty;
    struct participant *judged;
    int judged_count;
    struct rival *rivals;
    int rival_count;
    struct yardstick *yardstick;
};

/* Compiles one way to set a baseline up. False when the judge cannot go on. */
static bool compile_variant(struct timing *timing, const char *name,
                            const struct baseline_variant *variant,
                            const struct ir_program *program, struct participant *out)
{
    struct errors problems = errors_new(timing->arena);
    out->name =
        variant->setup[0] ? arena_printf(timing->arena, "%s (%s)", name, variant->setup) : name;
    out->opens_libraries = variant->opens_libraries;
    out->kernel = kernel_parse(timing->arena, variant->source, ir_root(program), &problems);
    if (!out->kernel) {
        *timing->error = problems.list.at[0];
        return false;
    }
    if (!compile_cached(timing->arena, variant->source, &out->compiled, timing->error))
        return false;
    if (out->compiled.done)
        return true;
    error_set(timing->error, ERROR_TOOL_FAILED, "baseline '%s' does not compile", name);
    error_detail(timing->error, "%.300s", out->compiled.output);
    return false;
}

static bool make_draws(struct timing *timing, const struct task_case *task_case,
                       const struct ir_binding *binding, struct draw *draws)
{
    struct oracle_code *code = oracle_compile(timing->arena, task_case->program, timing->error);
    const struct plain *plain =
        yardstick_get(timing->arena, timing->yardstick, task_case->program, timing->error);
    bool good = code && plain;
    for (int d = 0; good && d < TIMING_DRAWS; d++)
        good = draw_make(timing->arena, timing->task, task_case, binding, code, plain, 0,
                         hash_mix(timing->seed, 1000 + (uint64_t)d), &draws[d], timing->error);
    if (code)
        oracle_close(code);
    return good;
}

/* What this machine could do at best, by the rates `smelt probe` kept; 0 when it never ran. */
static double floor_seconds(struct timing *timing, const struct ir_binding *binding)
{
    const struct ir_part *part = binding->part;
    struct machine machine;
    struct rates rates;
    struct machine_work work = {.operations = ir_operations(binding),
                                .threads = timing->options->threads,
                                .number = MACHINE_F32};
    machine_describe(&machine, "");
    if (machine_rates_load(timing->arena, &machine, &rates) != MACHINE_KEPT_GOOD)
        return 0;
    machine_number_parse(timing->task->accuracy, &work.number);
    for (int i = 0; i < part->tensor_count; i++) {
        double bytes =
            (double)ir_tensor_shape(binding, i, NULL) * (double)dtype_bytes(part->tensors[i].dtype);
        work.read_bytes += part->tensors[i].role == IR_TENSOR_INPUT ? bytes : 0;
        work.write_bytes += part->tensors[i].role == IR_TENSOR_OUTPUT ? bytes : 0;
    }
    return machine_floor_seconds(&machine, &rates, &work);
}

static bool is_cold(const struct timing *timing)
{
    enum judge_cache cache = timing->options->cache;
    return cache == JUDGE_CACHE_TASK ? timing->task->cold : cache == JUDGE_CACHE_COLD;
}

/* What one kernel did in this case, against everybody else. */
static void fill_in(struct timing *timing, const struct ir_binding *binding,
                    const struct contestant *contestants, const struct standing *standings,
                    int count, int own, struct case_result *out)
{
    struct interval seconds = contest_seconds(&standings[own]);
    out->microseconds = seconds.middle * 1e6;
    out->time = (struct interval){seconds.low * 1e6, seconds.middle * 1e6, seconds.high * 1e6};
    out->gigabytes = ir_bytes(binding) / seconds.middle * 1e-9;
    out->gigaflops = ir_operations(binding) / seconds.middle * 1e-9;
    out->rounds = standings[own].rounds;
    out->floor = floor_seconds(timing, binding) * 1e6;
    out->cut = standings[own].cut;
    out->cold = is_cold(timing);
    out->speedups = arena_array(timing->arena, (size_t)count, sizeof *out->speedups);
    for (int c = 0; c < count; c++) {
        if (c == own)
            continue;
        struct interval ratio = contest_ratio(standings, c, own);
        out->speedups[out->speedup_count++] =
            (struct speedup){.baseline = contestants[c].name,
                             .microseconds = contest_seconds(&standings[c]).middle * 1e6,
                             .ratio = ratio,
                             .decided = ratio.low > 1 || ratio.high < 1};
    }
}

/* Whether a contestant went wrong while it was timed; a judged kernel's fault is its verdict. */
static bool settle_faults(struct timing *timing, const struct standing *standings,
                          const struct participant *const *who, int count, int number, bool *fault)
{
    for (int c = 0; c < count; c++) {
        if (standings[c].outcome == OUTCOME_OK)
            continue;
        struct verdict *verdict = who[c]->verdict;
        if (!verdict || standings[c].outcome == OUTCOME_JUDGE_FAULT)
            return error_set(timing->error, ERROR_TOOL_FAILED, "timing of '%s' failed: %s",
                             who[c]->name, standings[c].message);
        verdict->outcome = verdict->cases[number].outcome = standings[c].outcome;
        snprintf(verdict->message, sizeof verdict->message, "%.199s", standings[c].message);
        *fault = true;
    }
    return true;
}

static struct contest make_contest(const struct timing *timing, const struct task_case *task_case,
                                   const struct ir_binding *binding, const struct draw *draws)
{
    const struct judge_options *options = timing->options;
    return (struct contest){
        .binding = binding,
        .empty = timing->empty.library,
        .pool = refresh_pool_make(timing->arena, binding, draws, TIMING_DRAWS, task_case->inputs),
        .threads = options->threads ? options->threads : 1,
        .seconds = options->time_seconds > 0 ? options->time_seconds : 3,
        .call_seconds = options->seconds > 0 ? options->seconds : 10,
        .cold = is_cold(timing),
        .width = 0.01,
        .seed = timing->seed};
}

static struct contestant make_contestant(const struct participant *participant,
                                         const struct task_case *task_case)
{
    return (struct contestant){.name = participant->name,
                               .library = participant->compiled.library,
                               .scratch = kernel_scratch(participant->kernel, task_case->sizes),
                               .opens_libraries = participant->opens_libraries};
}

/* All that the fastest way to set a baseline up may depend on. */
static const char *trial_question(const struct timing *timing, const struct contest *contest,
                                  const struct task_case *task_case,
                                  const struct participant *const *who, int count)
{
    struct text question = text_new(timing->arena);
    text_printf(&question, "%s %s, %d threads%s\n", ir_root(task_case->program)->name,
                task_case->text, contest->threads, contest->cold ? ", cold" : "");
    for (int i = 0; i < count; i++) /* named by compiler, machine and source */
        text_printf(&question, "%s %s\n", who[i]->name, who[i]->compiled.library);
    return question.at;
}

/* The fastest way to set a baseline up in this case, found by trying. NULL: none works. */
static const struct participant *best_variant(struct timing *timing, const struct rival *rival,
                                              struct contest contest,
                                              const struct task_case *task_case)
{
    struct contestant contestants[BASELINE_VARIANTS];
    static struct standing standings[CONTEST_MAX];
    const struct participant *who[BASELINE_VARIANTS];
    int count = 0;
    for (int v = 0; v < rival->count; v++)
        if (kernel_holds(rival->variants[v].kernel, task_case->sizes, NULL)) {
            who[count] = &rival->variants[v];
            contestants[count++] = make_contestant(&rival->variants[v], task_case);
        }
    if (count <= 1)
        return count ? who[0] : NULL;
    const char *question = trial_question(timing, &contest, task_case, who, count);
    int best = choice_recall(timing->arena, question, count);
    if (best >= 0)
        return who[best];
    contest.contestants = contestants;
    contest.count = contest.judged = count;
    contest.seconds = 0.1;
    contest.width = 0.05;
    best = 0;
    if (!contest_run(&contest, standings, timing->error))
        return NULL;
    for (int c = 1; c < count; c++)
        if (standings[c].rounds > 0 && standings[c].outcome == OUTCOME_OK &&
            contest_seconds(&standings[c]).middle < contest_seconds(&standings[best]).middle)
            best = c;
    if (standings[best].rounds >= CONTEST_LEAST_ROUNDS)
        choice_keep(timing->arena, question, best);
    return who[best];
}

/* One case: everybody who holds for it. Played again without a kernel that went wrong in it. */
static bool time_case(struct timing *timing, const struct task_case *task_case, int number)
{
    struct ir_binding *binding = ir_bind(timing->arena, task_case->program, task_case->sizes,
                                         task_case->scalars, timing->error);
    struct draw draws[TIMING_DRAWS];
    if (!binding || !make_draws(timing, task_case, binding, draws))
        return false;
    struct contest contest = make_contest(timing, task_case, binding, draws);
    const struct participant *baselines[CONTEST_MAX];
    int baseline_count = 0;
    for (int i = 0; i < timing->rival_count && baseline_count < CONTEST_MAX / 2; i++) {
        const struct participant *best =
            best_variant(timing, &timing->rivals[i], contest, task_case);
        if (best)
            baselines[baseline_count++] = best;
    }
    for (bool fault = true; fault;) {
        struct contestant contestants[CONTEST_MAX];
        const struct participant *who[CONTEST_MAX];
        static struct standing standings[CONTEST_MAX];
        int count = 0;
        for (int i = 0; i < timing->judged_count && count < CONTEST_MAX - baseline_count; i++) {
            const struct participant *participant = &timing->judged[i];
            if (participant->verdict->outcome == OUTCOME_OK &&
                kernel_holds(participant->kernel, task_case->sizes, NULL))
                who[count++] = participant;
        }
        contest.judged = count;
        for (int i = 0; i < baseline_count; i++)
            who[count++] = baselines[i];
        for (int c = 0; c < count; c++)
            contestants[c] = make_contestant(who[c], task_case);
        contest.contestants = contestants;
        contest.count = count;
        fault = false;
        if (contest.judged == 0)
            return true;
        if (!contest_run(&contest, standings, timing->error) ||
            !settle_faults(timing, standings, who, count, number, &fault))
            return false;
        for (int c = 0; !fault && c < contest.judged; c++)
            fill_in(timing, binding, contestants, standings, count, c,
                    &who[c]->verdict->cases[number]);
    }
    return true;
}

/* ---- getting ready ---- */

static bool make_rival(struct timing *timing, const char *name, const struct ir_program *program,
                       struct rival *rival)
{
    struct baseline baseline;
    if (baseline_make(timing->arena, name, program, &baseline, timing->error) != BASELINE_READY)
        return false;
    for (int v = 0; v < baseline.variant_count; v++)
        if (!compile_variant(timing, name, &baseline.variants[v], program,
                             &rival->variants[rival->count++]))
            return false;
    return true;
}

/* The judged kernels that are right so far, then the baselines, then the empty kernel. */
static bool make_everybody(struct timing *timing, const struct candidate *candidates, int count,
                           const struct ir_program *program)
{
    static const char *const standard[] = {"plain", NULL};
    static const struct source empty = {"empty.c", empty_kernel, sizeof empty_kernel - 1};
    const char *const *names = timing->options->baselines ? timing->options->baselines : standard;
    int baselines = 0;
    while (names[baselines])
        baselines++;
    timing->judged = arena_array(timing->arena, (size_t)count + 1, sizeof *timing->judged);
    timing->rivals = arena_array(timing->arena, (size_t)baselines + 1, sizeof *timing->rivals);
    for (int i = 0; i < count; i++) {
        struct errors problems = errors_new(timing->arena);
        struct kernel *kernel =
            kernel_parse(timing->arena, candidates[i].source, ir_root(program), &problems);
        if (kernel && candidates[i].verdict->outcome == OUTCOME_OK)
            timing->judged[timing->judged_count++] =
                (struct participant){.name = candidates[i].source->name,
                                     .compiled = candidates[i].compiled,
                                     .kernel = kernel,
                                     .verdict = candidates[i].verdict};
    }
    for (int i = 0; i < baselines; i++)
        if (!make_rival(timing, names[i], program, &timing->rivals[timing->rival_count++]))
            return false;
    return compile_cached(timing->arena, &empty, &timing->empty, timing->error) &&
           timing->empty.done;
}

bool time_kernels(struct arena *arena, const struct task *task, const struct judge_options *options,
                  uint64_t seed, const struct candidate *candidates, int count,
                  struct yardstick *yardstick, struct error *error)
{
    struct timing timing = {.yardstick = yardstick,
                            .arena = arena,
                            .task = task,
                            .options = options,
                            .seed = seed,
                            .error = error};
    const struct ir_program *program = NULL;
    bool good = true;
    for (int i = 0; good && i < task->case_count; i++) {
        const struct task_case *task_case = &task->cases[i];
        bool right = false;
        for (int c = 0; c < count; c++)
            right |= i < candidates[c].verdict->case_count &&
                     candidates[c].verdict->cases[i].outcome == OUTCOME_OK;
        if (!task_case->timed || !right || (program && program != task_case->program))
            continue; /* another rank is another kernel */
        if (!program) {
            program = task_case->program;
            good = make_everybody(&timing, candidates, count, program);
        }
        good = good && time_case(&timing, task_case, i);
    }
    for (int i = 0; i < timing.rival_count; i++)
        for (int v = 0; v < timing.rivals[i].count; v++)
            compiled_release(&timing.rivals[i].variants[v].compiled);
    compiled_release(&timing.empty);
    return good;
}
