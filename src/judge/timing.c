/*
 * The timed cases of a task: the kernel against its baselines, in one contest per case.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gen/gen.h"
#include "judge/contest.h"
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
};

struct timing {
    struct arena *arena;
    const struct task *task;
    const struct judge_options *options;
    uint64_t seed;
    struct error *error;
    struct compiled empty;
    struct participant *participants; /* [0] is the kernel that is judged */
    int count;
};

static const struct source *plain_source(struct timing *timing, const struct ir_program *program)
{
    struct text text = text_new(timing->arena);
    gen_plain_c(&text, program, GEN_PLAIN);
    struct source *source = arena_new(timing->arena, struct source);
    *source = (struct source){"plain.c", text.at, text.length};
    return source;
}

static const struct source *file_source(struct timing *timing, const char *path)
{
    struct source *source = arena_new(timing->arena, struct source);
    source->name = path;
    source->text = file_read(timing->arena, path, KERNEL_MAX_BYTES, &source->length, timing->error);
    return source->text ? source : NULL;
}

/* Compiles a baseline for the program of a case. False when the judge cannot go on. */
static bool make_participant(struct timing *timing, const char *name,
                             const struct ir_program *program, struct participant *out)
{
    const struct source *source = strncmp(name, "kernel:", 7) == 0 ? file_source(timing, name + 7)
                                  : strcmp(name, "plain") == 0     ? plain_source(timing, program)
                                                                   : NULL;
    if (!source) {
        if (timing->error->code == ERROR_NONE) {
            error_set(timing->error, ERROR_USAGE, "there is no baseline '%s'", name);
            error_hint(timing->error, "baselines are plain and kernel:FILE.c");
        }
        return false;
    }
    struct errors problems = errors_new(timing->arena);
    out->name = name;
    out->kernel = kernel_parse(timing->arena, source, ir_root(program), &problems);
    if (!out->kernel || !compile_kernel(timing->arena, source, &out->compiled, timing->error))
        return false;
    if (out->compiled.done)
        return true;
    error_set(timing->error, ERROR_TOOL_FAILED, "baseline '%s' does not compile", name);
    error_detail(timing->error, "%s", out->compiled.output);
    return false;
}

static bool make_draws(struct timing *timing, const struct task_case *task_case,
                       const struct ir_binding *binding, struct draw *draws)
{
    struct oracle_code *code = oracle_compile(timing->arena, task_case->program, timing->error);
    bool good = code != NULL;
    for (int d = 0; good && d < TIMING_DRAWS; d++)
        good = draw_make(timing->arena, timing->task, task_case, binding, code, 0,
                         hash_mix(timing->seed, 1000 + (uint64_t)d), &draws[d], timing->error);
    if (code)
        oracle_close(code);
    return good;
}

static void fill_in(struct timing *timing, const struct ir_binding *binding,
                    const struct contestant *contestants, const struct standing *standings,
                    int count, int rounds, struct case_result *out)
{
    double seconds = standings[0].seconds.middle;
    out->microseconds = seconds * 1e6;
    out->time = (struct interval){standings[0].seconds.low * 1e6, seconds * 1e6,
                                  standings[0].seconds.high * 1e6};
    out->gigabytes = ir_bytes(binding) / seconds * 1e-9;
    out->gigaflops = ir_operations(binding) / seconds * 1e-9;
    out->rounds = rounds;
    out->speedup_count = count - 1;
    out->speedups = arena_array(timing->arena, (size_t)count, sizeof *out->speedups);
    for (int c = 1; c < count; c++)
        out->speedups[c - 1] = (struct speedup){.baseline = contestants[c].name,
                                                .microseconds = standings[c].seconds.middle * 1e6,
                                                .ratio = standings[c].ratio,
                                                .decided = standings[c].decided};
}

/* One case: everybody who holds for it. */
static bool time_case(struct timing *timing, const struct task_case *task_case,
                      struct case_result *out, struct verdict *verdict)
{
    struct ir_binding *binding = ir_bind(timing->arena, task_case->program, task_case->sizes,
                                         task_case->scalars, timing->error);
    struct draw draws[TIMING_DRAWS];
    struct contestant contestants[CONTEST_MAX];
    struct standing standings[CONTEST_MAX];
    int count = 0, rounds = 0;
    if (!binding || !make_draws(timing, task_case, binding, draws))
        return false;
    for (int i = 0; i < timing->count && count < CONTEST_MAX; i++) {
        const struct participant *participant = &timing->participants[i];
        if (kernel_holds(participant->kernel, task_case->sizes, NULL))
            contestants[count++] =
                (struct contestant){participant->name, participant->compiled.library,
                                    kernel_scratch(participant->kernel, task_case->sizes)};
    }
    double seconds = timing->options->time_seconds;
    struct contest contest = {.binding = binding,
                              .contestants = contestants,
                              .count = count,
                              .empty = timing->empty.library,
                              .draws = draws,
                              .draw_count = TIMING_DRAWS,
                              .threads = timing->options->threads ? timing->options->threads : 1,
                              .seconds = seconds > 0 ? seconds : 3,
                              .call_seconds =
                                  timing->options->seconds > 0 ? timing->options->seconds : 10,
                              .width = 0.01,
                              .seed = timing->seed};
    if (!contest_run(&contest, standings, &rounds, timing->error))
        return false;
    for (int c = 0; c < count; c++) {
        if (standings[c].outcome == OUTCOME_OK)
            continue;
        if (c > 0 || standings[c].outcome == OUTCOME_JUDGE_FAULT)
            return error_set(timing->error, ERROR_TOOL_FAILED, "timing of '%s' failed: %s",
                             contestants[c].name, standings[c].message);
        verdict->outcome = out->outcome = standings[c].outcome;
        snprintf(verdict->message, sizeof verdict->message, "%.199s", standings[c].message);
        return true;
    }
    fill_in(timing, binding, contestants, standings, count, rounds, out);
    return true;
}

static bool make_everybody(struct timing *timing, const struct participant *judged,
                           const struct ir_program *program)
{
    static const char *const standard[] = {"plain", NULL};
    const char *const *names = timing->options->baselines ? timing->options->baselines : standard;
    static const struct source empty = {"empty.c", empty_kernel, sizeof empty_kernel - 1};
    int count = 0;
    while (names[count])
        count++;
    timing->participants =
        arena_array(timing->arena, (size_t)count + 1, sizeof *timing->participants);
    timing->participants[0] = *judged;
    timing->count = 1;
    for (int i = 0; i < count; i++) {
        struct participant *participant = &timing->participants[timing->count++];
        if (!make_participant(timing, names[i], program, participant))
            return false;
    }
    return compile_kernel(timing->arena, &empty, &timing->empty, timing->error) &&
           timing->empty.done;
}

bool time_kernel(struct arena *arena, const struct task *task, const struct judge_options *options,
                 uint64_t seed, const struct source *source, const struct compiled *compiled,
                 struct verdict *verdict, struct error *error)
{
    struct timing timing = {
        .arena = arena, .task = task, .options = options, .seed = seed, .error = error};
    const struct ir_program *program = NULL;
    bool good = true;
    for (int i = 0; good && i < task->case_count && verdict->outcome == OUTCOME_OK; i++) {
        const struct task_case *task_case = &task->cases[i];
        if (!task_case->timed || verdict->cases[i].outcome != OUTCOME_OK)
            continue;
        if (program && program != task_case->program)
            continue; /* another rank is another kernel */
        if (!program) {
            struct errors problems = errors_new(arena);
            struct participant judged = {.name = source->name, .compiled = *compiled};
            judged.kernel = kernel_parse(arena, source, ir_root(task_case->program), &problems);
            program = task_case->program;
            good = judged.kernel && make_everybody(&timing, &judged, program);
        }
        good = good && time_case(&timing, task_case, &verdict->cases[i], verdict);
    }
    for (int i = 1; i < timing.count; i++)
        compiled_release(&timing.participants[i].compiled);
    compiled_release(&timing.empty);
    return good;
}
