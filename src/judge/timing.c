/*
 * The timed cases of a task: the kernel against its baselines, in one contest per case.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "judge/command.h"
#include "judge/reference.h"
#include "judge/refresh.h"
#include "judge/rival.h"
#include "machine/machine.h"
#include "os/os.h"

static const char empty_kernel[] =
    "#include <stdint.h>\n"
    "int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)\n"
    "{\n"
    "    (void)tensors, (void)sizes, (void)scalars, (void)scratch;\n"
    "    return 0;\n"
    "}\n";

struct timing {
    struct arena *arena;
    const struct task *task;
    const struct judge_options *options;
    struct judge_draws *draws;
    uint64_t seed;
    struct error *error;
    const struct target *target; /* NULL: the processor */
    struct compiled empty;
    struct candidates *candidates;
    struct participant *judged;   /* one per candidate; without a name: not admitted */
    struct participant *champion; /* of earlier calls; NULL: none */
    struct rival *rivals;
    int rival_count;
    struct yardstick *yardstick;
    struct references *references;
    double outside; /* seconds of external programs in the last contest */
    FILE *samples;  /* see struct contest */
};

/* Those who take part in one case beside the kernels, and those who do not, with the reason. */
struct field {
    struct participant baselines[CONTEST_MAX];
    int baseline_count;
    struct speedup absent[RIVAL_MOST];
    int absent_count;
};

/* Those of an earlier call, where there was one. */
static bool make_draws(struct timing *timing, const struct task_case *task_case,
                       const struct ir_binding *binding, struct judge_drawn *drawn)
{
    if (drawn->timing_made)
        return true;
    struct oracle_code *code = oracle_compile(timing->arena, task_case->program, timing->error);
    const struct plain *plain =
        yardstick_get(timing->arena, timing->yardstick, task_case->program, timing->error);
    bool good = code && plain;
    for (int d = 0; good && d < TIMING_DRAWS; d++)
        good = draw_make(&timing->draws->arena, timing->task, task_case, binding, code, plain, 0,
                         hash_mix(timing->draws->seed, 1000 + (uint64_t)d), &drawn->timing[d],
                         timing->error);
    drawn->timing_made = good;
    if (code)
        oracle_close(code);
    return good;
}

static bool is_cold(const struct timing *timing)
{
    enum judge_cache cache = timing->options->cache;
    return cache == JUDGE_CACHE_TASK ? timing->task->cold : cache == JUDGE_CACHE_COLD;
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
    if (timing->target) {
        work.threads = 1; /* which is all of it */
        work.cold = is_cold(timing);
    }
    device_rates(timing->arena, timing->target, &machine, &rates);
    machine_number_parse(timing->task->accuracy, &work.number);
    for (int i = 0; i < part->tensor_count; i++) {
        double bytes = ir_moved_bytes(binding, i);
        work.read_bytes += part->tensors[i].role == IR_TENSOR_INPUT ? bytes : 0;
        work.write_bytes += part->tensors[i].role == IR_TENSOR_OUTPUT ? bytes : 0;
    }
    return machine_floor_seconds(&machine, &rates, &work);
}

/* What one kernel did in this case, against everybody else. */
static void fill_in(struct timing *timing, const struct ir_binding *binding,
                    const struct contestant *contestants, const struct standing *standings,
                    int count, int own, const struct field *field, struct case_result *out)
{
    struct interval seconds = contest_seconds(&standings[own]);
    out->microseconds = seconds.middle * 1e6;
    out->time = (struct interval){seconds.low * 1e6, seconds.middle * 1e6, seconds.high * 1e6};
    out->gigabytes = ir_least_bytes(binding) / seconds.middle * 1e-9;
    out->gigaflops = ir_operations(binding) / seconds.middle * 1e-9;
    out->rounds = standings[own].rounds;
    out->floor = floor_seconds(timing, binding) * 1e6;
    out->noise = statistics_median(standings[own].noise, (size_t)out->rounds);
    if (standings[own].cut)
        out->slower_than = contestants[standings[own].ahead].name;
    out->device_microseconds = standings[own].device * 1e6;
    out->cold = is_cold(timing);
    out->speedups =
        arena_array(timing->arena, (size_t)(count + field->absent_count), sizeof *out->speedups);
    for (int c = 0; c < count; c++) {
        if (c == own)
            continue;
        struct interval ratio = contest_ratio(standings, c, own);
        out->speedups[out->speedup_count++] =
            (struct speedup){.baseline = contestants[c].name,
                             .microseconds = contest_seconds(&standings[c]).middle * 1e6,
                             .ratio = ratio,
                             .self_reported = contestants[c].command != NULL,
                             .decided = interval_decides(ratio)};
    }
    for (int i = 0; i < field->absent_count; i++)
        out->speedups[out->speedup_count++] = field->absent[i];
    timing->outside = 0;
    for (int c = 0; c < count; c++)
        timing->outside += standings[c].spent;
}

static void leave_out(struct field *field, const char *name, const char *problem)
{
    if (field->absent_count < RIVAL_MOST)
        field->absent[field->absent_count++] =
            (struct speedup){.baseline = name, .microseconds = NAN, .problem = problem};
}

/* Whether a contestant went wrong while it was timed: a judged kernel's fault is its verdict, a
 * baseline is left out. */
static bool settle_faults(struct timing *timing, const struct standing *standings,
                          const struct participant *const *who, int count, int number,
                          struct field *field, bool *fault)
{
    for (int c = 0; c < count; c++) {
        if (standings[c].outcome == OUTCOME_OK)
            continue;
        struct verdict *verdict = who[c]->verdict;
        if (standings[c].outcome == OUTCOME_JUDGE_FAULT)
            return error_set(timing->error, ERROR_TOOL_FAILED, "timing of '%s' failed: %s",
                             who[c]->name, standings[c].message);
        *fault = true;
        if (!verdict) {
            leave_out(field, who[c]->name,
                      arena_printf(timing->arena, "%s: %s", outcome_name(standings[c].outcome),
                                   standings[c].message));
            if (who[c]->command)
                command_close(who[c]->command);
            field->baselines[who[c] - field->baselines] = field->baselines[--field->baseline_count];
            return true;
        }
        verdict->outcome = verdict->cases[number].outcome = standings[c].outcome;
        snprintf(verdict->message, sizeof verdict->message, "%.199s", standings[c].message);
    }
    return true;
}

static struct contest make_contest(const struct timing *timing, const struct ir_binding *binding,
                                   const struct refresh_pool *pool)
{
    const struct judge_options *options = timing->options;
    return (struct contest){
        .binding = binding,
        .empty = timing->empty.library,
        .empty_device = timing->target ? device_make_empty(timing->arena, timing->target) : NULL,
        .draws = pool->draws,
        .draw_count = pool->draw_count,
        .pool = pool,
        .sampling = pool->sampling,
        .threads = options->threads ? options->threads : 1,
        .seconds = options->time_seconds > 0 ? options->time_seconds : 3,
        .call_seconds = options->seconds > 0 ? options->seconds : 10,
        .cold = is_cold(timing),
        .patient = options->time_seconds > 0,
        .hasty = options->hasty,
        .width = 0.01,
        .seed = timing->seed,
        .samples = timing->samples};
}

static struct room plan_room(const struct timing *timing, const struct task_case *task_case,
                             const struct ir_binding *binding)
{
    int draws = draw_count(task_case);
    return timing->target ? room_plan_device(binding, 0, draws, timing->options)
                          : room_plan(binding, 0, 0, draws, timing->options);
}

/* Sets the baselines up for one case. False when the judge failed. */
static bool make_field(struct timing *timing, const struct contest *contest,
                       const struct task_case *task_case, struct field *field)
{
    for (int i = 0; i < timing->rival_count; i++) {
        const struct rival *rival = &timing->rivals[i];
        const char *problem = rival->problem;
        struct participant *next = &field->baselines[field->baseline_count];
        if (!problem && field->baseline_count == CONTEST_MAX / 2)
            problem = "there are too many baselines";
        if (!problem && rival->command) {
            *next = (struct participant){.name = rival->name};
            next->command = command_open(timing->arena, rival->command, contest, timing->error);
            if (!next->command)
                return false;
            field->baseline_count++;
            continue;
        }
        const struct participant *best = problem ? NULL
                                                 : rival_choose(timing->arena, rival, *contest,
                                                                task_case, &problem, timing->error);
        if (best) {
            *next = *best;
            field->baseline_count++;
        } else if (problem) {
            leave_out(field, rival->name, problem);
        } else if (timing->error->code != ERROR_NONE) {
            return false;
        }
    }
    return true;
}

/* Those of one contest; the first of them may be the best of the one before. */
struct group {
    const struct participant *members[CONTEST_MAX];
    int count;
    const struct participant *champion; /* known already; NULL: none */
};

/* Played again without whoever went wrong in it. */
static bool play_group(struct timing *timing, const struct task_case *task_case, int number,
                       struct contest contest, struct field *field, struct group *group)
{
    for (bool fault = true; fault;) {
        struct contestant contestants[CONTEST_MAX];
        const struct participant *who[CONTEST_MAX];
        static struct standing standings[CONTEST_MAX];
        int count = 0, best = 0;
        for (int i = 0; i < group->count; i++)
            if (group->members[i]->verdict->outcome == OUTCOME_OK)
                who[count++] = group->members[i];
        contest.judged = count;
        contest.champion = count > 1 && who[0] == group->champion;
        for (int i = 0; i < field->baseline_count; i++)
            who[count++] = &field->baselines[i];
        for (int c = 0; c < count; c++)
            contestants[c] = rival_contestant(timing->arena, who[c], task_case, contest.binding);
        contest.contestants = contestants;
        contest.count = count;
        fault = false;
        if (contest.judged == 0)
            return true;
        if (contest.samples)
            fprintf(contest.samples, "# case %s\n# round\twhat\tcalls\tstart\tseconds\tname\n",
                    task_case->text);
        if (!contest_run(&contest, standings, timing->error) ||
            !settle_faults(timing, standings, who, count, number, field, &fault))
            return false;
        for (int c = 0; !fault && c < contest.judged; c++) {
            if (contest_ratio(standings, c, best).middle < 1)
                best = c;
            if (who[c] != group->champion)
                fill_in(timing, contest.binding, contestants, standings, count, c, field,
                        &who[c]->verdict->cases[number]);
        }
        if (!fault)
            group->champion = who[best];
    }
    return true;
}

/* A candidate that is right and holds for the case; *participant stays NULL for others. False when
 * the judge failed. */
static bool admit(struct timing *timing, const struct task_case *task_case, int number,
                  const struct participant **participant)
{
    struct candidates *candidates = timing->candidates;
    const struct candidate *candidate = &candidates->at[number];
    struct participant *own = &timing->judged[number];
    double start = clock_seconds();
    if (!candidates->check(candidates->context, number))
        return false;
    candidates->checking += clock_seconds() - start;
    if (candidate->verdict->outcome != OUTCOME_OK)
        return true;
    if (!own->name) {
        struct errors problems = errors_new(timing->arena);
        struct kernel *kernel =
            kernel_parse(timing->arena, candidate->source, ir_root(task_case->program), &problems);
        if (!kernel)
            return true;
        *own = (struct participant){.name = candidate->source->name,
                                    .compiled = candidate->compiled,
                                    .kernel = kernel,
                                    .verdict = candidate->verdict};
    }
    if (kernel_holds(own->kernel, task_case->sizes, NULL))
        *participant = own;
    return true;
}

/* Everybody who holds for the case, in contests of a few; the best goes on to the next. */
static bool play_case(struct timing *timing, const struct task_case *task_case, int number,
                      struct contest contest, struct field *field)
{
    struct group group = {0};
    const struct participant *known = timing->champion;
    bool good = true;
    if (known && known->verdict->outcome == OUTCOME_OK &&
        kernel_holds(known->kernel, task_case->sizes, NULL))
        group = (struct group){.members = {known}, .count = 1, .champion = known};
    for (int i = 0; good && i < timing->candidates->count; i++) {
        const struct participant *participant = NULL;
        if (!admit(timing, task_case, i, &participant))
            return false;
        if (participant)
            group.members[group.count++] = participant;
        bool full = group.count == CONTEST_MAX - field->baseline_count;
        bool last = i == timing->candidates->count - 1;
        if ((!full && !last) || (group.count == 1 && group.members[0] == group.champion) ||
            group.count == 0)
            continue;
        good = play_group(timing, task_case, number, contest, field, &group);
        group.count = 0;
        if (group.champion)
            group.members[group.count++] = group.champion;
    }
    return good;
}

static bool play_pool(struct timing *timing, const struct task_case *task_case, int number,
                      const struct ir_binding *binding, const struct refresh_pool *pool)
{
    struct contest contest = make_contest(timing, binding, pool);
    struct field *field = arena_new(timing->arena, struct field);
    bool good = make_field(timing, &contest, task_case, field) &&
                play_case(timing, task_case, number, contest, field);
    for (int i = 0; i < field->baseline_count; i++)
        if (field->baselines[i].command)
            command_close(field->baselines[i].command);
    return good;
}

/* Where values come from in a case that is sampled: made for this call, or an earlier one that
 * shares its draws; then they are closed with them. */
static struct refresh_pool *get_pool(struct timing *timing, int number,
                                     const struct ir_binding *binding,
                                     const struct sampling *sampling)
{
    bool shared = timing->options->draws != NULL;
    struct judge_drawn *drawn = &timing->draws->cases[number];
    struct refresh_pool *pool = shared ? drawn->pool : NULL;
    if (!pool)
        pool = refresh_pool_draw(shared ? &timing->draws->arena : timing->arena, binding, sampling,
                                 sampling->seed, timing->error);
    if (shared)
        drawn->pool = pool;
    if (pool) { /* of the call that made it, but for values */
        pool->binding = pool->drawn->binding = binding;
        pool->sampling = sampling;
    }
    return pool;
}

/* A large case: its inputs are sequences (drawn.h), and chosen elements are compared. Closes
 * `slice`. */
static bool time_drawn(struct timing *timing, const struct task_case *task_case, int number,
                       const struct ir_binding *binding, const struct room *room,
                       struct oracle_slice *slice, const struct reference *reference)
{
    const struct ir_program *program = task_case->program;
    struct error *error = timing->error;
    struct oracle_slice *plain =
        slice ? oracle_slice_compile(timing->arena, program, true, error) : NULL;
    struct sampling sampling = {.task = timing->task,
                                .task_case = task_case,
                                .slice = slice,
                                .plain = plain,
                                .rule = limit_rule_make(timing->arena, timing->task, binding),
                                .seed = hash_mix(timing->draws->seed, 2000 + (uint64_t)number),
                                .memory = room->slice,
                                .only_draw = -1,
                                .device = timing->target != NULL,
                                .brief = timing->options->brief,
                                .reference = reference};
    struct refresh_pool *pool =
        error->code == ERROR_NONE ? get_pool(timing, number, binding, &sampling) : NULL;
    bool good = pool && play_pool(timing, task_case, number, binding, pool);
    if (pool && timing->draws->cases[number].pool != pool)
        drawn_close(pool->drawn);
    oracle_slice_close(slice);
    oracle_slice_close(plain);
    return good;
}

/*
 * Elements of timed calls are compared between batches, and what that takes is lost to the batches:
 * those that depend on many others are evaluated by compiled code. The interpreter has the same
 * bits.
 */
static bool time_whole(struct timing *timing, const struct task_case *task_case, int number,
                       const struct ir_binding *binding, const struct draw *draws)
{
    static const double many = 16;
    struct error ignored = {0};
    bool long_sums = limit_longest(timing->arena, binding) >= many;
    struct oracle_slice *slice =
        long_sums ? oracle_slice_compile(timing->arena, task_case->program, false, &ignored) : NULL;
    struct oracle_code *whole =
        long_sums && !slice ? oracle_compile(timing->arena, task_case->program, &ignored) : NULL;
    struct refresh_pool *pool =
        refresh_pool_make(timing->arena, binding, draws, TIMING_DRAWS, task_case->inputs);
    pool->slice = slice;
    pool->whole = whole;
    bool good = play_pool(timing, task_case, number, binding, pool);
    oracle_slice_close(slice);
    oracle_close(whole);
    return good;
}

/* More than that is made by the device: copying would take most of the time there is. */
enum { COPIED_BYTES = 256 << 10 };

static bool time_case(struct timing *timing, const struct task_case *task_case, int number)
{
    struct ir_binding *binding = ir_bind(timing->arena, task_case->program, task_case->sizes,
                                         task_case->scalars, timing->error);
    struct judge_drawn *drawn = &timing->draws->cases[number];
    if (!binding)
        return false;
    struct room room = plan_room(timing, task_case, binding);
    bool sampled =
        room.way == ROOM_SAMPLED &&
        (timing->target || room.whole > room.limit ||
         oracle_slice_exists(timing->arena, task_case->program)); /* else all are evaluated */
    bool large = timing->target && ir_bytes(binding) > COPIED_BYTES && room.sampled <= room.limit;
    struct reference_case wanted = {.task = timing->task,
                                    .task_case = task_case,
                                    .binding = binding,
                                    .target = timing->target,
                                    .options = timing->options,
                                    .number = number,
                                    .seed = timing->draws->seed};
    const struct reference *reference =
        sampled ? reference_get(timing->references, &wanted, timing->error) : NULL;
    struct oracle_slice *slice =
        (sampled || large) && !reference && timing->error->code == ERROR_NONE
            ? oracle_slice_compile(timing->arena, task_case->program, false, timing->error)
            : NULL;
    if (timing->error->code != ERROR_NONE)
        return false;
    if (sampled || slice) /* else a few elements would cost as much as all */
        return time_drawn(timing, task_case, number, binding, &room, slice, reference);
    return make_draws(timing, task_case, binding, drawn) &&
           time_whole(timing, task_case, number, binding, drawn->timing);
}

/* ---- getting ready ---- */

/* Its verdict is of no interest, but takes what goes wrong. One of another target is left out. */
static bool make_champion(struct timing *timing, const struct ir_program *program)
{
    const struct source *source = timing->options->champion;
    struct errors problems = errors_new(timing->arena);
    if (!source || device_target(source) != timing->target)
        return true;
    struct participant *champion = arena_new(timing->arena, struct participant);
    champion->name = source->name;
    champion->kernel = kernel_parse(timing->arena, source, ir_root(program), &problems);
    champion->verdict = arena_new(timing->arena, struct verdict);
    champion->verdict->outcome = OUTCOME_OK;
    champion->verdict->cases = arena_array(timing->arena, (size_t)timing->task->case_count,
                                           sizeof *champion->verdict->cases);
    if (!champion->kernel)
        return true;
    if (!compile_cached(timing->arena, source, &champion->compiled, timing->error))
        return false;
    timing->champion = champion->compiled.done ? champion : NULL;
    return true;
}

/* Room for the judged kernels, the baselines, the empty kernel. */
static bool make_everybody(struct timing *timing, const struct ir_program *program)
{
    static const struct source empty = {"empty.c", empty_kernel, sizeof empty_kernel - 1};
    const char *const *names = judge_baseline_names(timing->arena, timing->task, timing->options);
    bool asked = timing->options->baselines != NULL;
    int baselines = 0;
    while (names[baselines])
        baselines++;
    timing->judged =
        arena_array(timing->arena, (size_t)timing->candidates->count + 1, sizeof *timing->judged);
    timing->rivals = arena_array(timing->arena, (size_t)baselines + 1, sizeof *timing->rivals);
    if (!make_champion(timing, program))
        return false;
    for (int i = 0; i < baselines; i++)
        if (!rival_make(timing->arena, names[i], asked, timing->target, program,
                        &timing->rivals[timing->rival_count++], timing->error))
            return false;
    if (timing->target)
        return true;
    return compile_cached(timing->arena, &empty, &timing->empty, timing->error) &&
           timing->empty.done;
}

/* All of it, in a struct so that it can run inside memory_try. */
struct timing_call {
    struct timing *timing;
    bool good;
};

/*
 * A case that was checked at sampled elements is timed beside the sequences its inputs are copied
 * from; one of which single elements cannot be evaluated, over draws that are evaluated whole.
 */
static bool has_room(const struct timing *timing, const struct task_case *task_case)
{
    struct ir_binding *binding = ir_bind(timing->arena, task_case->program, task_case->sizes,
                                         task_case->scalars, timing->error);
    if (!binding)
        return false;
    struct room room = plan_room(timing, task_case, binding);
    if (timing->target || room.whole <= room.limit)
        return room.way != ROOM_NONE;
    room.sampled += (int64_t)drawn_bytes(task_case, binding, TIMING_DRAWS, true);
    bool fits = room.way == ROOM_SAMPLED && room.sampled <= room.limit;
    if (room.way == ROOM_SAMPLED && !fits)
        log_warn("case %s is not timed: that %s", task_case->text,
                 room_explain(timing->arena, &room));
    return fits;
}

/* Whether a kernel, of those that are checked so far, was right in the case. */
static bool any_right(const struct candidates *candidates, int number)
{
    for (int c = 0; c < candidates->count; c++) {
        const struct verdict *verdict = candidates->at[c].verdict;
        if (number < verdict->case_count && verdict->cases[number].outcome == OUTCOME_OK)
            return true;
    }
    return false;
}

static void time_cases(void *context)
{
    struct timing_call *call = context;
    struct timing *timing = call->timing;
    const struct ir_program *program = NULL;
    bool good = true;
    for (int i = 0; good && i < timing->task->case_count; i++) {
        const struct task_case *task_case = &timing->task->cases[i];
        if (!task_case->timed || !any_right(timing->candidates, i) ||
            !has_room(timing, task_case) || (program && program != task_case->program))
            continue; /* another rank is another kernel */
        if (!program) {
            program = task_case->program;
            good = make_everybody(timing, program);
        }
        good = good && time_case(timing, task_case, i);
    }
    call->good = good;
}

bool time_kernels(struct arena *arena, const struct task *task, const struct judge_options *options,
                  struct judge_draws *draws, uint64_t seed, struct candidates *candidates,
                  struct yardstick *yardstick, struct references *references, struct error *error)
{
    struct timing timing = {.yardstick = yardstick,
                            .references = references,
                            .arena = arena,
                            .task = task,
                            .options = options,
                            .draws = draws,
                            .seed = seed,
                            .candidates = candidates,
                            .target = device_target(candidates->at[0].source),
                            .error = error};
    struct timing_call call = {&timing, false};
    double start = clock_seconds();
    if (options->samples && !(timing.samples = fopen(options->samples, "we")))
        return error_system(error, ERROR_CANNOT_WRITE, "could not write %s", options->samples);
    bool enough = memory_try(time_cases, &call);
    for (int i = 0; i < timing.rival_count; i++)
        rival_release(&timing.rivals[i]);
    compiled_release(&timing.empty);
    if (timing.champion)
        compiled_release(&timing.champion->compiled);
    for (int i = 0; i < candidates->count; i++) {
        struct verdict *verdict = candidates->at[i].verdict;
        verdict->time_seconds = clock_seconds() - start - candidates->checking;
        verdict->outside_seconds = timing.outside;
    }
    bool written = !timing.samples || fclose(timing.samples) == 0;
    if (!enough)
        memory_exhausted();
    if (call.good && !written)
        return error_system(error, ERROR_CANNOT_WRITE, "could not write %s", options->samples);
    return call.good;
}
