/*
 * Timing. The unit of repetition is a launch: in every round each contestant is started afresh, in
 * random order, so that what differs from launch to launch (addresses, pages, luck) is part of the
 * interval and not hidden in it.
 *
 * Inside a launch the cell is stopped whenever its clock is not running. Before each batch of calls
 * the worker writes new values for every call of it (refresh.c); then it stamps, continues the
 * cell, waits until every thread of it has stopped, and stamps again. No two calls of a batch share
 * a slot, so none can be left out. What one batch left behind is compared with the oracle: which
 * batch, which calls and which elements is chosen afterwards.
 */
#include "judge/contest.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "judge/command.h"
#include "judge/refresh.h"
#include "os/lock.h"
#include "os/os.h"

enum {
    LEAST_BATCHES = 5,
    MOST_BATCHES = 48,
    COMPARED_SLOTS = 2, /* of one batch */
    CUT_ROUNDS = 3,     /* before a loser may be left out */
};

static const double cut_ratio = 1.3; /* slower than the leader by at least this, with certainty */
static const double lap_seconds = 4e-3; /* of timed batches in a launch, at least */

/* What one launch found. */
struct lap {
    enum outcome outcome;
    char message[200];
    double batch;    /* median seconds of a batch, starting and stopping included */
    int calls;       /* in a batch */
    bool not_loaded; /* see struct launch_result */
};

struct timer {
    const struct contest *contest;
    const struct contestant *contestant;
    struct worker worker;
    struct refresh refresh;
    struct random random;
    struct launch_result result;
    bool is_empty; /* computes nothing, so nothing is compared */
};

/* ---- comparing ---- */

static bool compare_some(struct timer *timer)
{
    for (int k = 0; k < COMPARED_SLOTS; k++) {
        int slot = (int)random_below(&timer->random, (uint64_t)timer->worker.slots);
        struct error fault;
        if (refresh_compare(&timer->refresh, slot, &fault))
            continue;
        return fault.code != ERROR_NONE
                   ? worker_fail(&timer->worker, OUTCOME_JUDGE_FAULT, fault.message)
                   : worker_fail(
                         &timer->worker, OUTCOME_CHEAT,
                         "a result was right when it was checked and wrong when it was timed");
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

/* Negative when the system does not say. */
static double cell_cpu_seconds(const struct timer *timer)
{
    clockid_t clock;
    struct timespec time = {0};
    if (clock_getcpuclockid(timer->worker.process.pid, &clock) != 0 ||
        clock_gettime(clock, &time) != 0)
        return -1;
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static volatile sig_atomic_t alarm_rang;

static void on_alarm(int signal)
{
    (void)signal;
    alarm_rang = 1;
}

/* Every slot once, in random order. */
static void order_calls(struct timer *timer)
{
    struct cell_control *control = timer->worker.control;
    int count = timer->worker.slots;
    for (int i = 0; i < count; i++)
        control->calls[i] = (uint16_t)i;
    for (int i = count - 1; i > 0; i--) {
        int k = (int)random_below(&timer->random, (uint64_t)i + 1);
        uint16_t kept = control->calls[i];
        control->calls[i] = control->calls[k];
        control->calls[k] = kept;
    }
    control->call_count = (uint32_t)count;
}

/* Continues the cell for one batch; negative when it did not come back to a stop. */
static double run_batch(struct timer *timer)
{
    struct worker *worker = &timer->worker;
    order_calls(timer);
    worker->report->returned = 0;
    unsigned patience = (unsigned)(timer->contest->call_seconds * worker->slots) + 2;
    siginfo_t information = {0};
    alarm_rang = 0;
    alarm(patience);
    double start = now();
    int waited = kill(worker->process.pid, SIGCONT);
    if (waited == 0)
        do
            waited = waitid(P_PID, (id_t)worker->process.pid, &information, WSTOPPED | WEXITED);
        while (waited != 0 && errno == EINTR && !alarm_rang);
    double end = now();
    alarm(0);
    if (waited != 0) {
        worker_report_end(worker, alarm_rang ? WAITED_TOO_LONG : WAITED_LOST, 0);
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

/* Fresh values, then a batch, during whose preparation the cell must have stood still. */
static double play_batch(struct timer *timer, double *stood)
{
    for (int s = 0; s < timer->worker.slots; s++)
        refresh_slot(&timer->refresh, s);
    if (*stood >= 0 && cell_cpu_seconds(timer) > *stood + 1e-6) {
        worker_fail(&timer->worker, OUTCOME_CHEAT,
                    "the kernel ran while it should have stood still");
        return -1;
    }
    double time = run_batch(timer);
    *stood = cell_cpu_seconds(timer);
    return time;
}

static bool run_batches(struct timer *timer, struct lap *lap)
{
    double seconds[MOST_BATCHES], stood = -1, time = 0;
    for (int b = 0; b < 2; b++) /* to warm up, and to see how long it takes */
        if ((time = play_batch(timer, &stood)) < 0)
            return false;
    double wanted = lap_seconds / fmax(time, 1e-6);
    int batches = wanted < LEAST_BATCHES  ? LEAST_BATCHES
                  : wanted > MOST_BATCHES ? MOST_BATCHES
                                          : (int)wanted;
    int compared = (int)random_below(&timer->random, (uint64_t)batches);
    for (int b = 0; b < batches; b++) {
        seconds[b] = play_batch(timer, &stood);
        if (seconds[b] < 0 || (b == compared && !timer->is_empty && !compare_some(timer)))
            return false;
    }
    lap->calls = timer->worker.slots;
    lap->batch = statistics_median(seconds, (size_t)batches);
    return true;
}

/* ---- launches ---- */

/* As many calls in a batch as have room in half of the second-level cache. */
static int slot_count(const struct contest *contest)
{
    const struct ir_part *part = contest->binding->part;
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    double bytes = 1, room = cache > 0 ? (double)cache / 2 : 512 << 10;
    for (int i = 0; i < part->tensor_count; i++)
        if (part->tensors[i].role == IR_TENSOR_INPUT || part->tensors[i].role == IR_TENSOR_OUTPUT)
            bytes += (double)ir_tensor_shape(contest->binding, i, NULL) *
                     (double)dtype_bytes(part->tensors[i].dtype);
    double fits = room / bytes;
    return fits < 2 ? 2 : fits > CELL_MAX_SLOTS ? CELL_MAX_SLOTS : (int)fits;
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
                                   .slots = slot_count(contest),
                                   .packed = true};
    timer.refresh = (struct refresh){.worker = &timer.worker,
                                     .binding = contest->binding,
                                     .draws = contest->draws,
                                     .draw_count = contest->draw_count,
                                     .inputs = contest->inputs,
                                     .random = &timer.random};
    struct sigaction action = {.sa_handler = on_alarm};
    sigset_t none;
    sigemptyset(&none);
    sigaction(SIGALRM, &action, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL); /* whoever started us may have blocked it */
    if (contest->threads == 1)
        pin_to_one_core(); /* the cell inherits it: handing over on one core is quickest */
    bool good = worker_make_buffers(&timer.worker);
    if (good)
        refresh_begin(&timer.refresh);
    good = good && worker_start_cell(&timer.worker, runner) && run_batches(&timer, lap);
    sandbox_kill(&timer.worker.process);
    lap->outcome = good ? OUTCOME_OK : timer.result.outcome;
    lap->not_loaded = timer.result.not_loaded;
    snprintf(lap->message, sizeof lap->message, "%.199s", timer.result.message);
}

/* What runs in the worker, inside memory_try: unwinding must not leave it. */
struct lap_order {
    const struct contest *contest;
    const struct contestant *contestant;
    const char *runner;
    uint64_t seed;
    bool is_empty;
    struct lap *lap;
};

static void run_lap_ordered(void *context)
{
    struct lap_order *order = context;
    run_lap(order->contest, order->contestant, order->runner, order->seed, order->is_empty,
            order->lap);
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
        struct lap_order order = {contest, contestant, runner, seed, is_empty, shared};
        _exit(memory_try(run_lap_ordered, &order) ? 0 : 1);
    }
    int status = 0;
    while (worker > 0 && waitpid(worker, &status, 0) < 0 && errno == EINTR)
        ;
    *lap = *shared;
    munmap(shared, sizeof *shared);
    return worker > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A kernel that has been loaded before is given a second chance to be. */
static bool play_lap(const struct contest *contest, const struct contestant *contestant,
                     const char *runner, uint64_t seed, bool is_empty, struct lap *lap)
{
    bool good = launch_lap(contest, contestant, runner, seed, is_empty, lap);
    return good && lap->not_loaded ? launch_lap(contest, contestant, runner, seed, is_empty, lap)
                                   : good;
}

static void say_waiting(void *context)
{
    (void)context;
    log_warn("another smelt is timing on this machine; waiting for it");
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

/* External programs rest after a few rounds: a ratio is over the rounds both took part in. */
static bool takes_part(const struct contest *contest, const struct standing *standings, int c)
{
    return !standings[c].cut &&
           !(contest->contestants[c].command && standings[c].rounds >= COMMAND_ROUNDS);
}

/* Leaves out kernels that cannot win any more; true when all that remain are known well enough. */
static bool take_stock(const struct contest *contest, struct standing *standings)
{
    int best = leader(contest, standings);
    bool narrow = true;
    for (int c = 0; c < contest->count; c++) {
        if (c == best || !takes_part(contest, standings, c))
            continue;
        struct interval ratio = contest_ratio(&standings[c], &standings[best]);
        if (c < contest->judged && standings[c].rounds >= CUT_ROUNDS && ratio.low > cut_ratio)
            standings[c].cut = true;
        else
            narrow &= ratio.high / ratio.low - 1 <= contest->width;
    }
    return narrow;
}

/* A program outside measures itself; what starting it costs is not charged to the others. */
static void outside_lap(const struct contestant *contestant, double *outside, struct lap *lap)
{
    struct command_lap found;
    double start = now();
    command_launch(contestant->command, &found);
    *outside += now() - start;
    *lap = (struct lap){.outcome = found.outcome, .batch = found.seconds, .calls = 1};
    snprintf(lap->message, sizeof lap->message, "%.199s", found.message);
}

/* One round: everybody once, in random order, and the empty kernel for what starting costs. */
static bool play_round(const struct contest *contest, const char *runner, struct random *random,
                       struct standing *standings, double *outside)
{
    const struct contestant empty = {.name = "empty", .library = contest->empty};
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
        if (!is_empty && !takes_part(contest, standings, c))
            continue;
        const struct contestant *contestant = is_empty ? &empty : &contest->contestants[c];
        if (contestant->command)
            outside_lap(contestant, outside, &laps[c]);
        else if (!play_lap(contest, contestant, runner, random_u64(random), is_empty, &laps[c]))
            laps[c] = (struct lap){.outcome = OUTCOME_JUDGE_FAULT,
                                   .message = "the judge's own worker failed"};
        if (laps[c].outcome == OUTCOME_OK)
            continue;
        standings[is_empty ? 0 : c].outcome = is_empty ? OUTCOME_JUDGE_FAULT : laps[c].outcome;
        snprintf(standings[is_empty ? 0 : c].message, sizeof standings->message, "%.199s",
                 laps[c].message);
        return false;
    }
    double cost = laps[contest->count].batch;
    for (int c = 0; c < contest->count; c++) {
        if (!takes_part(contest, standings, c))
            continue;
        bool alone = contest->contestants[c].command != NULL;
        double net = (laps[c].batch - (alone ? 0 : cost)) / laps[c].calls;
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
    int lock = lock_timing_begin(say_waiting, NULL);
    struct random random = random_new(contest->seed, 9);
    double start = now(), outside = 0;
    for (int c = 0; c < contest->count; c++)
        standings[c] = (struct standing){.outcome = OUTCOME_OK};
    for (int round = 1; round <= CONTEST_MOST_ROUNDS; round++) {
        if (!play_round(contest, runner, &random, standings, &outside))
            break;
        bool narrow = round >= CUT_ROUNDS && take_stock(contest, standings);
        if (round >= CONTEST_LEAST_ROUNDS && (narrow || now() - start - outside > contest->seconds))
            break;
    }
    lock_timing_end(lock);
    arena_release(&arena);
    return true;
}
