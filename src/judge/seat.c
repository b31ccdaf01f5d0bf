/*
 * One launch of a kernel that is timed.
 *
 * The cell is stopped whenever its clock is not running. Before each batch of calls the worker
 * writes new values for every call of it (refresh.c); then it stamps, continues the cell, waits
 * until every thread of it has stopped, and stamps again. No two calls of a batch share a slot, so
 * none can be left out. After every batch all its calls are looked at, and some of them, chosen
 * then, compared with the oracle.
 *
 * The contest decides whose turn it is, so the worker lives in a process of its own and waits for
 * orders. It ends with whoever gave them.
 */
#include "judge/seat.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "os/os.h"

enum {
    WHOLE_POINTS = 24, /* compared in the first batch that counts, per output */
    SOME_POINTS = 3,   /* and in others */
    SURE_CALLS = 2,    /* so many calls of a batch are compared whatever it costs */
    MOST_COMPARED = 8, /* and so many at most */
};

/* Of the time of the batches, for comparing more than the least. */
static const double share_of_comparing = 0.5; /* of a second, on values a device made */

enum order_kind { ORDER_END, ORDER_LAUNCH, ORDER_PLAY };

struct order {
    enum order_kind kind;
    int calls;     /* to play: so many */
    bool counts;   /* they are compared */
    uint64_t seed; /* to launch */
};

struct timer {
    const struct contest *contest;
    const struct contestant *contestant;
    struct worker worker;
    struct refresh refresh;
    struct random random;
    struct launch_result result;
    struct arena arena;
    char *inputs, *outputs; /* the files; the buffers lie somewhere in them */
    int *slots;             /* all of them; the first so many are called next */
    double stood;  /* processor time of the cell when it was stopped last; below 0: not yet */
    double ran_on; /* processor time it took while stopped, in all but what a stop takes */
    double device; /* seconds of the last batch by the clock of a device */
    double played, compared; /* seconds in batches that count, and in comparing them */
    int batches, sure_batch; /* that count; where comparing is dear, this one is compared anyway */
};

static double now(void)
{
    return clock_seconds();
}

/* ---- comparing ---- */

static bool judge_slot(struct timer *timer, bool right, const struct error *fault)
{
    if (right)
        return true;
    return fault->code != ERROR_NONE
               ? worker_fail(&timer->worker, OUTCOME_JUDGE_FAULT, fault->message)
               : worker_fail(&timer->worker, OUTCOME_CHEAT,
                             "a result was right when it was checked and wrong when it was timed");
}

/* Every call is looked at; some are compared, the more the less that costs. */
static bool compare_calls(struct timer *timer, int calls)
{
    struct error fault;
    bool hasty = timer->contest->hasty;
    int points = timer->played > 0 || hasty ? SOME_POINTS : WHOLE_POINTS;
    for (int i = 0; i < calls; i++)
        if (!judge_slot(timer, refresh_written(&timer->refresh, timer->slots[i], &fault), &fault))
            return false;
    double start = now();
    for (int k = 0; k < calls && k < MOST_COMPARED; k++) {
        int slot = timer->slots[random_below(&timer->random, (uint64_t)calls)];
        double spent = timer->compared + now() - start;
        bool one = timer->worker.drawn || hasty; /* of a few batches, and nobody knows which */
        bool sure = one ? timer->batches == timer->sure_batch : k < SURE_CALLS;
        double allowed = share_of_comparing * (timer->worker.drawn ? 1 : timer->played);
        if (!sure && spent > allowed)
            break;
        if (!judge_slot(timer, refresh_compare(&timer->refresh, slot, points, &fault), &fault))
            return false;
    }
    timer->compared += now() - start;
    timer->batches++;
    return true;
}

/* ---- batches ---- */

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

/* Brings slots chosen by chance to the front, in random order. */
static void choose_slots(struct timer *timer, int calls)
{
    struct cell_control *control = timer->worker.control;
    for (int i = 0; i < calls; i++) {
        int k = i + (int)random_below(&timer->random, (uint64_t)(timer->worker.slots - i));
        int kept = timer->slots[i];
        timer->slots[i] = timer->slots[k];
        timer->slots[k] = kept;
    }
    control->call_count = (uint32_t)calls;
    for (int i = 0; i < calls; i++)
        control->calls[i] = (uint16_t)timer->slots[i];
}

/* Continues the cell for one batch; negative when it did not come back to a stop. */
static double run_batch(struct timer *timer, int calls)
{
    struct worker *worker = &timer->worker;
    worker->report->returned = worker->report->failed = 0;
    unsigned patience = (unsigned)(worker_patience(worker) * calls) + 2;
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
    if (worker->launch->device && !worker_device_good(worker, timer->slots[0]))
        return -1;
    return end - start;
}

/* A device that says it worked for longer than there was time did not do so by then. */
static bool clocks_agree(struct timer *timer, double seconds)
{
    static const double share = 0.05, slack = 1e-4;
    timer->device = timer->worker.launch->device ? timer->worker.report->device_seconds : 0;
    return timer->device <= seconds * (1 + share) + slack ||
           worker_fail(&timer->worker, OUTCOME_JUDGE_FAULT,
                       "the clock of the device and that of the host do not agree");
}

/* On a device copying is not on the clock. */
static bool run_copying(struct timer *timer, enum cell_phase phase)
{
    struct cell_control *control = timer->worker.control;
    if (!timer->worker.launch->device)
        return true;
    if (phase == CELL_DOWNLOAD && timer->worker.drawn)
        return true; /* what is looked at is fetched */
    control->phase = phase;
    bool good = run_batch(timer, (int)control->call_count) >= 0;
    timer->stood = cell_cpu_seconds(timer);
    control->phase = CELL_RUN;
    return good;
}

/* Out of the caches: what the calls will read and write, and nothing else is ours to choose. */
static void cool_down(const struct timer *timer, int calls)
{
    const struct worker *worker = &timer->worker;
    int inputs = worker->part->input_count, outputs = worker->part->output_count;
    for (int i = 0; i < calls; i++)
        for (int t = 0; t <= inputs + outputs; t++) {
            const struct cell_region *region = worker_region(worker, timer->slots[i], t);
            flush_memory((t < inputs ? worker->inputs : worker->outputs) + region->offset,
                         region->bytes);
        }
}

/*
 * Whether the cell took processor time while it was stopped. We are told that it stopped before its
 * last thread has left its core: some microseconds per thread are the system's, and interrupts, and
 * what the host takes from a virtual core, are booked on whoever they hit.
 */
static bool stood_still(struct timer *timer)
{
    static const double one_stop = 30e-6, usual = 5e-6, share = 0.02;
    int threads = timer->contest->threads > 0 ? timer->contest->threads : 1;
    double ran = timer->stood < 0 ? 0 : cell_cpu_seconds(timer) - timer->stood;
    if (ran > one_stop * threads)
        return false;
    timer->ran_on += fmax(ran - usual * threads, 0);
    return timer->ran_on <= share * timer->played + 4 * one_stop * threads;
}

/* Where writing values takes as long as the calls themselves, those that do not count find what is
 * there: refresh_first, or what another contestant was given. */
static void prepare_batch(struct timer *timer, int calls, bool counts)
{
    choose_slots(timer, calls);
    if (timer->contest->sampling && !timer->worker.drawn &&
        (!counts || timer->contestant->is_empty))
        return;
    refresh_wipe(&timer->refresh);
    for (int i = calls; i-- > 0;)
        refresh_slot(&timer->refresh, timer->slots[i]);
    if (timer->contest->cold && !timer->worker.launch->device)
        cool_down(timer, calls);
}

/*
 * Fresh values, then a batch. Where the cell ran while they were written they are written again, so
 * that it has nothing of it: a core that was taken away once is forgiven, a kernel that goes on and
 * on is not.
 */
static bool play_batch(struct timer *timer, const struct order *order, double *seconds)
{
    enum { TRIES = 4 };
    if (order->calls < 1 || order->calls > timer->worker.slots)
        return worker_fail(&timer->worker, OUTCOME_JUDGE_FAULT, "a batch has no such size");
    bool still = false;
    for (int i = 0; i < TRIES && !still; i++) {
        prepare_batch(timer, order->calls, order->counts);
        still = stood_still(timer);
        if (!still)
            timer->stood = cell_cpu_seconds(timer);
    }
    if (!still)
        return worker_fail(&timer->worker, OUTCOME_CHEAT,
                           "the kernel ran while it should have stood still");
    if (!run_copying(timer, CELL_UPLOAD))
        return false;
    *seconds = run_batch(timer, order->calls);
    if (*seconds < 0 || !clocks_agree(timer, *seconds) || !run_copying(timer, CELL_DOWNLOAD))
        return false;
    timer->stood = cell_cpu_seconds(timer);
    if (!order->counts || timer->contestant->is_empty)
        return true;
    bool right = compare_calls(timer, order->calls);
    timer->stood = cell_cpu_seconds(timer); /* it may have fetched something */
    timer->played += *seconds;
    return right;
}

/* ---- the worker ---- */

static void find_buffers(struct timer *timer)
{
    struct worker *worker = &timer->worker;
    worker->inputs = timer->inputs + worker->control->input_base;
    worker->outputs = timer->outputs + worker->control->output_base;
    if (worker->drawn)
        return; /* hardly any of it is ever touched */
#ifdef MADV_POPULATE_WRITE
    /* all pages at once; where that is not known they come one by one */
    (void)madvise(worker->inputs, worker->input_bytes, MADV_POPULATE_WRITE);
    (void)madvise(worker->outputs, worker->output_bytes, MADV_POPULATE_WRITE);
#endif
}

static bool launch_cell(struct timer *timer, const char *runner, uint64_t seed)
{
    struct worker *worker = &timer->worker;
    timer->random = random_new(seed, 3);
    timer->stood = -1;
    timer->played = timer->compared = 0;
    timer->batches = 0;
    timer->sure_batch = (int)random_below(&timer->random, timer->contest->hasty ? 3 : 5);
    find_buffers(timer);
    bool good = worker_start_cell(worker, runner);
    worker->again = good && !worker->launch->device && (timer->result.layers & SANDBOX_SECCOMP);
    return good;
}

static void post(const struct timer *timer, bool good, double seconds, struct seat_board *board)
{
    board->seconds = seconds;
    board->device_seconds = timer->device;
    board->may_launch = timer->worker.again;
    board->not_loaded = timer->result.not_loaded;
    snprintf(board->message, sizeof board->message, "%.199s", timer->result.message);
    board->outcome = good ? OUTCOME_OK : timer->result.outcome;
}

static void work(struct timer *timer, const char *runner, int line, struct seat_board *board)
{
    bool good = true;
    struct sigaction action = {.sa_handler = on_alarm};
    sigset_t none;
    sigemptyset(&none);
    sigaction(SIGALRM, &action, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL); /* whoever started us may have blocked it */
    while (good) {
        struct order order;
        double seconds = 0;
        if (recv(line, &order, sizeof order, MSG_WAITALL) != sizeof order ||
            order.kind == ORDER_END)
            break;
        good = order.kind == ORDER_LAUNCH ? launch_cell(timer, runner, order.seed)
                                          : play_batch(timer, &order, &seconds);
        post(timer, good, seconds, board);
        if (send(line, &good, sizeof good, MSG_NOSIGNAL) != sizeof good)
            break;
    }
    sandbox_kill(&timer->worker.process);
}

/* What a worker is forked for, in a struct so that it can run inside memory_try: running out of
 * memory must not unwind into what the judge was doing. */
struct employment {
    const struct contest *contest;
    const struct contestant *contestant;
    const struct worker *buffers;
    const char *runner;
    int line;
    struct seat_board *board;
};

static void be_worker(void *context)
{
    const struct employment *employment = context;
    const struct worker *buffers = employment->buffers;
    const struct contest *contest = employment->contest;
    const struct contestant *contestant = employment->contestant;
    struct launch launch = *buffers->launch;
    struct timer timer = {.contest = contest, .contestant = contestant, .stood = -1};
    launch.library = contestant->library;
    launch.opens_libraries = contestant->opens_libraries;
    launch.directory = contestant->directory;
    launch.device = contestant->device;
    timer.result.outcome = OUTCOME_JUDGE_FAULT;
    timer.worker = *buffers;
    timer.worker.launch = &launch;
    timer.worker.result = &timer.result;
    timer.inputs = buffers->inputs;
    timer.outputs = buffers->outputs;
    timer.refresh =
        (struct refresh){.pool = contest->pool, .worker = &timer.worker, .random = &timer.random};
    refresh_begin(&timer.arena, &timer.refresh);
    timer.slots = arena_array(&timer.arena, (size_t)buffers->slots, sizeof *timer.slots);
    for (int i = 0; i < buffers->slots; i++)
        timer.slots[i] = i;
    work(&timer, employment->runner, employment->line, employment->board);
}

/* ---- the contest's side ---- */

/* Waits for the worker's word that it is done with what it was told. */
static bool hear(struct seat *seat)
{
    bool good = false;
    ssize_t got;
    while ((got = recv(seat->line, &good, sizeof good, MSG_WAITALL)) < 0 && errno == EINTR)
        ;
    if (got == sizeof good)
        return good;
    seat->board->outcome = OUTCOME_JUDGE_FAULT;
    snprintf(seat->board->message, sizeof seat->board->message, "the judge's own worker failed");
    return false;
}

bool seat_take(struct seat *seat, const struct contest *contest,
               const struct contestant *contestant, const struct worker *buffers,
               const char *runner)
{
    int ends[2];
    pid_t self = getpid();
    *seat = (struct seat){.line = -1};
    void *shared =
        mmap(NULL, sizeof *seat->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    seat->board = shared;
    seat->board->outcome = OUTCOME_JUDGE_FAULT;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    seat->worker = fork();
    if (seat->worker == 0) {
        sandbox_follow(self);
        close(ends[0]);
        struct employment employment = {contest, contestant, buffers, runner, ends[1], seat->board};
        _exit(memory_try(be_worker, &employment) ? 0 : 1);
    }
    close(ends[1]);
    seat->line = ends[0];
    return seat->worker > 0;
}

static bool obey(struct seat *seat, const struct order *order)
{
    (void)send(seat->line, order, sizeof *order, MSG_NOSIGNAL); /* a dead one is not heard */
    return hear(seat);
}

bool seat_launch(struct seat *seat, uint64_t seed)
{
    return obey(seat, &(struct order){.kind = ORDER_LAUNCH, .seed = seed});
}

bool seat_play(struct seat *seat, int calls, bool counts)
{
    return obey(seat, &(struct order){.kind = ORDER_PLAY, .calls = calls, .counts = counts});
}

void seat_leave(struct seat *seat)
{
    struct order end = {.kind = ORDER_END};
    if (seat->line >= 0) {
        (void)send(seat->line, &end, sizeof end, MSG_NOSIGNAL);
        close(seat->line);
    }
    while (seat->worker > 0 && waitpid(seat->worker, NULL, 0) < 0 && errno == EINTR)
        ;
    if (seat->board)
        munmap(seat->board, sizeof *seat->board);
    *seat = (struct seat){.line = -1};
}
