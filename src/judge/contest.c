/*
 * Timing. The unit of repetition is a launch: in every round each contestant is started afresh, in
 * random order, so that what differs from launch to launch (addresses, pages, luck) is part of the
 * interval and not hidden in it.
 *
 * Inside a launch the cell is stopped whenever its clock is not running. Before each batch of calls
 * the worker changes some values of every input and poisons secret elements of the outputs; then it
 * stamps, continues the cell, waits until every thread of it has stopped, and stamps again. What
 * the last batch left behind is compared with the oracle at the secret elements; the kernel cannot
 * know which batch is the last.
 */
#include "judge/contest.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "judge/launch.h"
#include "os/os.h"

enum {
    SLOT_BYTES = 64 << 20, /* all slots of a launch together */
    SECRET_POINTS = 24,    /* per output and slot */
    CHANGED_VALUES = 8,    /* per input, slot and batch */
    LEAST_BATCHES = 5,
    CUT_ROUNDS = 3, /* before a loser may be left out */
};

static const double cut_ratio = 1.3; /* slower than the leader by at least this, with certainty */

static const double batch_seconds = 1e-3;

/* What one launch found. */
struct lap {
    enum outcome outcome;
    char message[200];
    double batch; /* median seconds of a batch, starting and stopping included */
    int calls;    /* in a batch */
};

struct timer {
    const struct contest *contest;
    const struct contestant *contestant;
    struct worker worker;
    struct arena arena;
    struct draw *slots; /* own copies of the inputs: they change */
    int64_t (*secrets)[CELL_MAX_TENSORS][SECRET_POINTS];
    struct random random;
    struct launch_result result;
    bool is_empty; /* computes nothing, so nothing is compared */
};

/* ---- values ---- */

static void copy_draws(struct timer *timer)
{
    const struct ir_part *part = timer->contest->binding->part;
    int count = timer->worker.slots;
    timer->slots = arena_array(&timer->arena, (size_t)count, sizeof *timer->slots);
    timer->secrets = arena_array(&timer->arena, (size_t)count, sizeof *timer->secrets);
    for (int s = 0; s < count; s++) {
        const struct draw *draw = &timer->contest->draws[s % timer->contest->draw_count];
        timer->slots[s] = *draw;
        timer->slots[s].inputs = arena_array(&timer->arena, (size_t)part->input_count + 1,
                                             sizeof *timer->slots[s].inputs);
        for (int i = 0; i < part->input_count; i++) {
            struct array *own = &timer->slots[s].inputs[i];
            *own = draw->inputs[i];
            if (!own->floats)
                continue;
            array_alloc(&timer->arena, own);
            memcpy(own->floats, draw->inputs[i].floats, (size_t)own->count * sizeof(double));
        }
        for (int o = 0; o < part->output_count; o++) {
            int64_t total = draw->expected[o].count;
            for (int p = 0; p < SECRET_POINTS && total > 0; p++)
                timer->secrets[s][o][p] =
                    p == 0   ? 0
                    : p == 1 ? total - 1
                             : (int64_t)random_below(&timer->random, (uint64_t)total);
        }
    }
}

/* A few values of every float input are swapped with others of the same input: the facts about
 * the input stay true, the result changes. */
static void change_values(struct timer *timer, int slot)
{
    const struct ir_part *part = timer->contest->binding->part;
    for (int i = 0; i < part->input_count; i++) {
        struct array *array = &timer->slots[slot].inputs[i];
        const struct ir_tensor *tensor = &part->tensors[part->inputs[i]];
        unsigned fixed = IR_PROPERTY_SORTED | IR_PROPERTY_TRIANGULAR;
        if (!array->floats || array->count < 2 || (tensor->properties & fixed))
            continue;
        const struct cell_region *region = &timer->worker.control->regions[slot][i];
        char *bytes = timer->worker.inputs + region->offset + region->data;
        size_t width = dtype_bytes(array->dtype);
        for (int k = 0; k < CHANGED_VALUES; k++) {
            uint64_t a = random_below(&timer->random, (uint64_t)array->count);
            uint64_t b = random_below(&timer->random, (uint64_t)array->count);
            double kept = array->floats[a];
            array->floats[a] = array->floats[b];
            array->floats[b] = kept;
            dtype_store_float(array->dtype, bytes + a * width, array->floats[a]);
            dtype_store_float(array->dtype, bytes + b * width, array->floats[b]);
        }
    }
}

static void poison_secrets(struct timer *timer, int slot)
{
    const struct ir_part *part = timer->contest->binding->part;
    const void *pointers[CELL_MAX_TENSORS];
    worker_output_pointers(&timer->worker, slot, pointers);
    for (int o = 0; o < part->output_count; o++) {
        enum dtype dtype = part->tensors[part->outputs[o]].dtype;
        if (timer->slots[slot].expected[o].count == 0)
            continue;
        for (int p = 0; p < SECRET_POINTS; p++) {
            size_t at = (size_t)timer->secrets[slot][o][p] * dtype_bytes(dtype);
            memset((char *)pointers[o] + at, 0xa6, dtype_bytes(dtype));
        }
    }
}

/* ---- comparing ---- */

static bool point_is_right(struct timer *timer, int slot, int output, int64_t element,
                           struct oracle_points *points, const void *bytes)
{
    const struct ir_part *part = timer->contest->binding->part;
    const struct array *expected = &timer->slots[slot].expected[output];
    enum dtype dtype = part->tensors[part->outputs[output]].dtype;
    int64_t index[IR_MAX_RANK], rest = element;
    for (int d = expected->rank; d-- > 0; rest /= expected->dims[d])
        index[d] = rest % expected->dims[d];
    struct ir_value value;
    struct error error = {0};
    if (!oracle_point(points, output, index, &value, &error))
        return worker_fail(&timer->worker, OUTCOME_JUDGE_FAULT, error.message);
    const char *at = (const char *)bytes + (size_t)element * dtype_bytes(dtype);
    if (!dtype_is_float(dtype))
        return dtype_load_integer(dtype, at) == value.integer;
    double got = dtype_load_float(dtype, at), limit = 0;
    double **limits = timer->slots[slot].limits;
    if (limits[output]) /* the values have moved a little since the limits were made */
        limit = 4 * limits[output][element] + 1e-6 * fabs(value.number);
    return got == dtype_round(dtype, value.number) || (isnan(got) && isnan(value.number)) ||
           fabs(got - value.number) <= limit;
}

static bool compare_secrets(struct timer *timer)
{
    const struct ir_part *part = timer->contest->binding->part;
    int slots = timer->worker.slots < 2 ? timer->worker.slots : 2;
    for (int s = 0; s < slots; s++) {
        struct error error = {0};
        const void *pointers[CELL_MAX_TENSORS];
        struct oracle_options options = {.exact_outputs = true};
        struct oracle_points *points = oracle_points_open(&timer->arena, timer->contest->binding,
                                                          timer->slots[s].inputs, &options, &error);
        if (!points)
            return worker_fail(&timer->worker, OUTCOME_JUDGE_FAULT, error.message);
        worker_output_pointers(&timer->worker, s, pointers);
        for (int o = 0; o < part->output_count; o++)
            for (int p = 0; timer->slots[s].expected[o].count > 0 && p < SECRET_POINTS; p++) {
                if (point_is_right(timer, s, o, timer->secrets[s][o][p], points, pointers[o]))
                    continue;
                if (timer->result.outcome != OUTCOME_JUDGE_FAULT || !timer->result.message[0])
                    worker_fail(&timer->worker, OUTCOME_CHEAT,
                                "a result was right when it was checked and wrong when it was "
                                "timed");
                return false;
            }
    }
    return true;
}

/* ---- batches ---- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double cell_cpu_seconds(const struct timer *timer)
{
    clockid_t clock;
    struct timespec time = {0};
    if (clock_getcpuclockid(timer->worker.process.pid, &clock) == 0)
        clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void on_alarm(int signal)
{
    (void)signal;
}

/* Continues the cell for `calls` calls; negative when it did not come back to a stop. */
static double run_batch(struct timer *timer, int calls)
{
    struct worker *worker = &timer->worker;
    struct cell_control *control = worker->control;
    for (int i = 0; i < calls; i++)
        control->calls[i] = (uint16_t)(i % worker->slots);
    control->call_count = (uint32_t)calls;
    worker->report->returned = 0;
    unsigned patience = (unsigned)(timer->contest->call_seconds * calls) + 2;
    siginfo_t information = {0};
    alarm(patience);
    double start = now();
    kill(worker->process.pid, SIGCONT);
    int waited = waitid(P_PID, (id_t)worker->process.pid, &information, WSTOPPED | WEXITED);
    double end = now();
    alarm(0);
    if (waited != 0) {
        worker_report_end(worker, WAITED_TOO_LONG, 0);
        return -1;
    }
    if (information.si_code != CLD_STOPPED) {
        worker_report_end(worker, WAITED_ENDED, 0);
        return -1;
    }
    if (worker->report->state != CELL_DONE || worker->report->returned != 0) {
        worker_fail(worker, OUTCOME_CHEAT, "the kernel behaved differently when it was timed");
        return -1;
    }
    return end - start;
}

static bool run_batches(struct timer *timer, struct lap *lap)
{
    double seconds[LEAST_BATCHES + 8];
    int calls = 1, batches = LEAST_BATCHES + (int)random_below(&timer->random, 4);
    double stood = -1;
    for (int b = -2; b < batches; b++) { /* two to warm up and to see how long a call takes */
        for (int s = 0; s < timer->worker.slots; s++) {
            change_values(timer, s);
            poison_secrets(timer, s);
        }
        double cpu = cell_cpu_seconds(timer);
        if (stood >= 0 && cpu > stood + 1e-6)
            return worker_fail(&timer->worker, OUTCOME_CHEAT,
                               "the kernel ran while it should have stood still");
        double time = run_batch(timer, calls < timer->worker.slots ? timer->worker.slots : calls);
        if (time < 0)
            return false;
        stood = cell_cpu_seconds(timer);
        int made = calls < timer->worker.slots ? timer->worker.slots : calls;
        if (b < 0) {
            double wanted = batch_seconds / (time / made);
            calls = wanted < 1 ? 1 : wanted > 512 ? 512 : (int)wanted;
            continue;
        }
        seconds[b] = time;
        lap->calls = made;
    }
    lap->batch = statistics_median(seconds, (size_t)batches);
    return timer->is_empty || compare_secrets(timer);
}

/* ---- launches ---- */

static int slot_count(const struct contest *contest)
{
    const struct ir_part *part = contest->binding->part;
    double bytes = 1;
    for (int i = 0; i < part->tensor_count; i++)
        if (part->tensors[i].role == IR_TENSOR_INPUT || part->tensors[i].role == IR_TENSOR_OUTPUT)
            bytes += (double)ir_tensor_shape(contest->binding, i, NULL) *
                     (double)dtype_bytes(part->tensors[i].dtype);
    double fits = SLOT_BYTES / bytes;
    return fits < 2 ? 2 : fits > 8 ? 8 : (int)fits;
}

static void pin_to_one_core(void)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

static void run_lap(const struct contest *contest, const struct contestant *contestant,
                    const char *runner, uint64_t seed, bool is_empty, struct lap *lap)
{
    struct launch launch = {.binding = contest->binding,
                            .library = contestant->library,
                            .scratch = contestant->scratch,
                            .threads = contest->threads,
                            .seconds = contest->call_seconds,
                            .layers = ~0U,
                            .opens_libraries = contestant->opens_libraries};
    struct timer timer = {.contest = contest, .contestant = contestant, .is_empty = is_empty};
    timer.random = random_new(seed, 3);
    timer.result.outcome = OUTCOME_JUDGE_FAULT;
    timer.worker = (struct worker){.launch = &launch,
                                   .part = contest->binding->part,
                                   .result = &timer.result,
                                   .slots = slot_count(contest)};
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    if (contest->threads == 1)
        pin_to_one_core(); /* the cell inherits it: handing over on one core is quickest */
    bool good = worker_make_buffers(&timer.worker);
    if (good)
        copy_draws(&timer);
    for (int s = 0; good && s < timer.worker.slots; s++)
        worker_fill_slot(&timer.worker, s, &timer.slots[s]);
    good = good && worker_start_cell(&timer.worker, runner) && run_batches(&timer, lap);
    sandbox_kill(&timer.worker.process);
    lap->outcome = good ? OUTCOME_OK : timer.result.outcome;
    snprintf(lap->message, sizeof lap->message, "%.199s", timer.result.message);
}

/* In a process of its own; the lap comes back through shared memory. */
static bool launch_lap(const struct contest *contest, const struct contestant *contestant,
                       const char *runner, uint64_t seed, bool is_empty, struct lap *lap)
{
    struct lap *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    shared->outcome = OUTCOME_JUDGE_FAULT;
    pid_t self = getpid(), worker = fork();
    if (worker == 0) {
        sandbox_follow(self);
        run_lap(contest, contestant, runner, seed, is_empty, shared);
        _exit(0);
    }
    int status = 0;
    while (worker > 0 && waitpid(worker, &status, 0) < 0 && errno == EINTR)
        ;
    *lap = *shared;
    munmap(shared, sizeof *shared);
    return worker > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- the lock ---- */

/* One contest at a time on a machine: two would spoil each other's numbers. */
static int take_lock(void)
{
    int lock = open("/tmp/smelt-timing.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock < 0)
        return -1;
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        log_warn("another smelt is timing on this machine; waiting for it");
        while (flock(lock, LOCK_EX) != 0 && errno == EINTR)
            ;
    }
    return lock;
}

/* ---- standings ---- */

/* Two-sided 95 % of Student's t. */
static double student(int degrees)
{
    static const double table[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23,
                                   2.20,  2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09,
                                   2.08,  2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04};
    return degrees < 1 ? INFINITY : degrees <= 30 ? table[degrees - 1] : 2.0;
}

/* Of positive values, by their logarithms. */
static struct interval log_interval(const double *values, int count)
{
    double logs[CONTEST_MOST_ROUNDS] = {0};
    for (int i = 0; i < count; i++)
        logs[i] = log(values[i]);
    double mean = statistics_mean(logs, (size_t)count);
    double half = count > 1 ? student(count - 1) * statistics_deviation(logs, (size_t)count) /
                                  sqrt((double)count)
                            : INFINITY;
    return (struct interval){exp(mean - half), exp(mean), exp(mean + half)};
}

struct interval contest_ratio(const struct standing *a, const struct standing *b)
{
    double ratios[CONTEST_MOST_ROUNDS];
    int rounds = a->rounds < b->rounds ? a->rounds : b->rounds;
    for (int r = 0; r < rounds; r++)
        ratios[r] = a->laps[r] / b->laps[r];
    return log_interval(ratios, rounds);
}

struct interval contest_seconds(const struct standing *standing)
{
    return log_interval(standing->laps, standing->rounds);
}

/* The fastest of the judged kernels so far. */
static int leader(const struct contest *contest, const struct standing *standings)
{
    int best = 0;
    for (int c = 1; c < contest->judged; c++)
        if (contest_seconds(&standings[c]).middle < contest_seconds(&standings[best]).middle)
            best = c;
    return best;
}

/* Leaves out kernels that cannot win any more; true when all that remain are known well enough. */
static bool take_stock(const struct contest *contest, struct standing *standings)
{
    int best = leader(contest, standings);
    bool narrow = true;
    for (int c = 0; c < contest->count; c++) {
        if (c == best || standings[c].cut)
            continue;
        struct interval ratio = contest_ratio(&standings[c], &standings[best]);
        if (c < contest->judged && standings[c].rounds >= CUT_ROUNDS && ratio.low > cut_ratio)
            standings[c].cut = true;
        else
            narrow &= ratio.high / ratio.low - 1 <= contest->width;
    }
    return narrow;
}

/* One round: everybody once, in random order, and the empty kernel for what starting costs. */
static bool play_round(const struct contest *contest, const char *runner, struct random *random,
                       struct standing *standings)
{
    const struct contestant empty = {"empty", contest->empty, 0, false};
    struct lap laps[CONTEST_MAX + 1];
    int order[CONTEST_MAX + 1], count = contest->count + 1;
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int k = (int)random_below(random, (uint64_t)i + 1), kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
    for (int i = 0; i < count; i++) {
        int c = order[i];
        bool is_empty = c == contest->count;
        if (!is_empty && standings[c].cut)
            continue;
        const struct contestant *contestant = is_empty ? &empty : &contest->contestants[c];
        if (!launch_lap(contest, contestant, runner, random_u64(random), is_empty, &laps[c]))
            laps[c].outcome = OUTCOME_JUDGE_FAULT;
        if (laps[c].outcome == OUTCOME_OK)
            continue;
        standings[is_empty ? 0 : c].outcome = is_empty ? OUTCOME_JUDGE_FAULT : laps[c].outcome;
        snprintf(standings[is_empty ? 0 : c].message, sizeof standings->message, "%.199s",
                 laps[c].message);
        return false;
    }
    double cost = laps[contest->count].batch;
    for (int c = 0; c < contest->count; c++) {
        if (standings[c].cut)
            continue;
        double net = (laps[c].batch - cost) / laps[c].calls;
        standings[c].laps[standings[c].rounds++] = net > 1e-9 ? net : 1e-9;
    }
    return true;
}

bool contest_run(const struct contest *contest, struct standing *standings, struct error *error)
{
    struct arena arena = {0};
    const char *runner = launch_find_runner(&arena);
    if (!runner || contest->count > CONTEST_MAX) {
        arena_release(&arena);
        return error_set(error, ERROR_MISSING_TOOL, "the runner 'smelt-cell' is not found");
    }
    sandbox_available();
    int lock = take_lock();
    struct random random = random_new(contest->seed, 9);
    double start = now();
    for (int c = 0; c < contest->count; c++)
        standings[c] = (struct standing){.outcome = OUTCOME_OK};
    for (int round = 1; round <= CONTEST_MOST_ROUNDS; round++) {
        if (!play_round(contest, runner, &random, standings))
            break;
        bool narrow = round >= CUT_ROUNDS && take_stock(contest, standings);
        if (round >= CONTEST_LEAST_ROUNDS && (narrow || now() - start > contest->seconds))
            break;
    }
    if (lock >= 0)
        close(lock);
    arena_release(&arena);
    return true;
}
