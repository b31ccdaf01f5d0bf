/*
 * One launch of a kernel in a cell, for correctness: every draw twice, in two slots whose buffers
 * lie against the guard once with their start and once with their end, over different poisons. The
 * slots serve all draws, so new values come at addresses the kernel has seen before.
 *
 * The launch runs in a process of its own (the worker), since confining a child changes its parent.
 * The worker writes inputs while the cell is stopped, continues it for one call, waits until all of
 * it has stopped again, and compares. Only the struct launch_result comes back.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "judge/drawn.h"
#include "judge/resident.h"
#include "os/os.h"

bool worker_fail(struct worker *worker, enum outcome outcome, const char *message)
{
    worker->result->outcome = outcome;
    snprintf(worker->result->message, sizeof worker->result->message, "%s", message);
    return false;
}

/* Large of either sign, and NaN: whoever reads them by mistake shall notice. */
static const unsigned char poisons[] = {0xdb, 0x5b, 0xff, 0x7f};

/* `around` fills what lies beside the data, `inside` the outputs and scratch themselves. */
static void fill_outputs(struct worker *worker, int slot, unsigned char around,
                         unsigned char inside)
{
    int inputs = worker->part->input_count, outputs = worker->part->output_count;
    worker->around[slot] = around;
    worker->inside[slot] = inside;
    for (int o = 0; o <= outputs; o++) {
        const struct cell_region *region = worker_region(worker, slot, inputs + o);
        size_t bytes = o < outputs ? worker_tensor_bytes(worker, worker->part->outputs[o])
                                   : (size_t)worker->launch->scratch;
        memset(worker->outputs + region->offset, around, region->bytes);
        if (inside != around)
            memset(worker->outputs + region->offset + region->data, inside, bytes);
    }
}

static void fill(struct worker *worker, int slot, const struct draw *draw, unsigned char around,
                 unsigned char inside)
{
    for (int i = 0; i < worker->part->input_count; i++) {
        const struct cell_region *region = worker_region(worker, slot, i);
        memset(worker->inputs + region->offset, around, region->bytes);
        array_encode(&draw->inputs[i], worker->inputs + region->offset + region->data);
    }
    fill_outputs(worker, slot, around, inside);
}

void worker_poison_outputs(struct worker *worker, int slot, unsigned char poison)
{
    fill_outputs(worker, slot, poison, poison);
}

/* ---- the cell ---- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static const char *status_line(const struct worker *worker, const char *name, char *text,
                               size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)worker->process.pid);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = descriptor >= 0 ? read(descriptor, text, size - 1) : -1;
    if (descriptor >= 0)
        close(descriptor);
    text[got > 0 ? got : 0] = 0;
    const char *line = strstr(text, name);
    return line ? line + strlen(name) : NULL;
}

/* What the system says about the cell; 0 when it does not say. */
static int cell_status(const struct worker *worker, const char *name)
{
    char text[4096];
    const char *line = status_line(worker, name, text, sizeof text);
    return line ? atoi(line) : 0;
}

/*
 * A pause of 2 ms that took half a second or more: then the judge itself stood still (the machine
 * was suspended, all of us were stopped), and the cell most likely with it. What is longer than
 * that is not charged to the kernel.
 */
enum waited worker_wait(struct worker *worker, double seconds, int *status)
{
    static const double longest_pause = 0.5;
    double waited = 0, last = now();
    struct timespec pause = {0, 2000000};
    bool waits = false;
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    for (;;) {
        pid_t got = waitpid(worker->process.pid, status, WUNTRACED | WNOHANG);
        if (got == worker->process.pid)
            return WIFSTOPPED(*status) ? WAITED_STOPPED : WAITED_ENDED;
        if (got < 0 && errno != EINTR)
            return WAITED_LOST;
        double moment = now();
        waited += fmin(moment - last, longest_pause);
        last = moment;
        if (waited > seconds)
            return WAITED_TOO_LONG;
        if (waits && cell_status(worker, "\nThreads:") > MOST_THREADS)
            return WAITED_CROWDED;
        waits = sigtimedwait(&children, NULL, &pause) < 0;
    }
}

enum waited worker_continue(struct worker *worker, double seconds, int *status)
{
    if (worker->launch->resident)
        return resident_continue(worker, seconds);
    if (kill(worker->process.pid, SIGCONT) != 0) /* or it would count as hung */
        return WAITED_LOST;
    return worker_wait(worker, seconds, status);
}

/* Room for the buffers, their guards and stacks, and a good deal for the kernel itself. */
static int64_t memory_limit(const struct worker *worker)
{
    int tensors = worker->part->input_count + worker->part->output_count + 1;
    int64_t guards = (int64_t)worker->slots * tensors * (2 << 20);
    return (int64_t)(worker->input_bytes + worker->output_bytes) + guards + ((int64_t)4 << 30) +
           (int64_t)worker->launch->threads * (256 << 20);
}

static bool start_program(struct worker *worker, const char *runner)
{
    const struct launch *launch = worker->launch;
    if (launch->device)
        return worker_start_device(worker);
    const char *const arguments[] = {runner, launch->library, NULL};
    const char *const readable[] = {"/usr/lib", "/lib",          "/lib64",    "/etc/ld.so.cache",
                                    runner,     launch->library, "/dev/null", NULL};
    const char *const writable[] = {"/dev/null", NULL};
    struct sandbox_policy policy = {.layers = launch->layers,
                                    .readable = readable,
                                    .writable = writable,
                                    .calls = SANDBOX_CALLS_ALL,
                                    .memory = memory_limit(worker),
                                    .stack = 64 << 20};
    struct sandbox_program program = {.arguments = arguments,
                                      .descriptors = worker->descriptors,
                                      .descriptor_count = 4,
                                      .output = -1};
    struct error error = {0};
    bool started = worker->again ? sandbox_again(&policy, &program, &worker->process, &error)
                                 : sandbox_start(&policy, &program, &worker->process, &error);
    if (!started)
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, error.message);
    return true;
}

/* First nothing of the kernel runs, then it is loaded, and that may run code of its own. */
bool worker_start_cell(struct worker *worker, const char *runner)
{
    enum { SECCOMP_FILTERED = 2 };
    int status = 0;
    unsigned layers = worker->launch->layers & sandbox_available();
    worker->control->confine_files =
        (layers & SANDBOX_LANDLOCK) != 0 && !worker->launch->opens_libraries;
    worker->control->confine_calls = (layers & SANDBOX_SECCOMP) != 0;
    worker->control->makes_code = worker->launch->opens_libraries;
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL); /* worker_wait takes it */
    if (worker->report) {
        munmap(worker->report, sizeof *worker->report);
        close(worker->descriptors[3]);
    }
    worker->prepared = false;
    worker->report =
        (void *)worker_make_file(&worker->descriptors[3], sizeof *worker->report, false);
    if (!worker->report)
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, "no memory for the report");
    if (worker->launch->resident)
        return resident_open(worker);
    if (!start_program(worker, runner))
        return false;
    /* the cell has all pages of its buffers made */
    double paging = (double)(worker->input_bytes + worker->output_bytes) / 1e8;
    double loading = worker->launch->device ? LOAD_SECONDS : 0; /* drivers compile then */
    enum waited waited = worker_wait(worker, LOAD_SECONDS + paging + loading, &status);
    if (waited != WAITED_STOPPED)
        return waited == WAITED_TOO_LONG
                   ? worker_fail(worker, OUTCOME_JUDGE_FAULT, "the cell did not start in time")
                   : worker_report_end(worker, waited, status);
    worker->prepared = true;
    worker->result->layers = worker->process.layers;
    if (cell_status(worker, "\nSeccomp:") != SECCOMP_FILTERED)
        worker->result->layers &= ~(unsigned)SANDBOX_SECCOMP;
    waited = worker_continue(worker, worker->launch->seconds + loading, &status);
    worker->called = false;
    if (waited == WAITED_TOO_LONG)
        return worker_fail(worker, OUTCOME_TIMEOUT, "the kernel could not be loaded in time");
    if (waited != WAITED_STOPPED)
        return worker_report_end(worker, waited, status);
    if (worker->report->state != CELL_READY)
        return worker_fail(worker, OUTCOME_CHEAT,
                           "the kernel stopped its process while being loaded");
    return true;
}

/* False when that which stays is not to be used any more. */
static bool end_cell(struct worker *worker)
{
    if (worker->launch->resident)
        return resident_close(worker);
    sandbox_kill(&worker->process);
    return true;
}

/* ---- calls ---- */

static bool call_slot(struct worker *worker, int slot)
{
    worker->control->call_count = 1;
    worker->control->calls[0] = (uint16_t)slot;
    worker->control->phase = CELL_WHOLE;
    worker->report->returned = worker->report->failed = worker->report->changed = 0;
    int status = 0;
    enum waited waited = worker_continue(worker, worker_patience(worker), &status);
    if (waited != WAITED_STOPPED)
        return worker_report_end(worker, waited, status);
    if (worker->report->state != CELL_DONE)
        return worker_fail(worker, OUTCOME_CHEAT,
                           "the kernel stopped its process before it was done");
    int returned = worker->report->returned;
    if (returned != 0) {
        char message[120];
        snprintf(message, sizeof message, "the kernel returned %d: it cannot do this call",
                 returned);
        return worker_fail(worker, OUTCOME_LAUNCH_ERROR, message);
    }
    return !worker->launch->device || worker_device_good(worker, slot);
}

/* What lies around the data must be as it was. */
static bool surroundings_intact(struct worker *worker, int slot)
{
    int inputs = worker->part->input_count, outputs = worker->part->output_count;
    for (int o = 0; o <= outputs; o++) {
        const struct cell_region *region = worker_region(worker, slot, inputs + o);
        size_t bytes = o < outputs ? worker_tensor_bytes(worker, worker->part->outputs[o])
                                   : (size_t)worker->launch->scratch;
        const unsigned char *at = (const unsigned char *)worker->outputs + region->offset;
        for (size_t i = 0; i < region->bytes; i++) {
            if (i == region->data)
                i += bytes;
            if (i >= region->bytes || at[i] == worker->around[slot])
                continue;
            const char *name =
                o < outputs ? worker->part->tensors[worker->part->outputs[o]].name : "scratch";
            size_t width = o < outputs
                               ? dtype_bytes(worker->part->tensors[worker->part->outputs[o]].dtype)
                               : 1;
            long long distance = (long long)i - (long long)region->data, wide = (long long)width;
            snprintf(worker->result->message, sizeof worker->result->message,
                     "'%s' was written out of bounds, at %s %lld of %lld", name,
                     o < outputs ? "element" : "byte",
                     (distance < 0 ? distance - wide + 1 : distance) / wide,
                     (long long)bytes / wide);
            worker->result->outcome = OUTCOME_OUT_OF_BOUNDS;
            return false;
        }
    }
    return true;
}

bool worker_call(struct worker *worker, int slot)
{
    return call_slot(worker, slot) && surroundings_intact(worker, slot) &&
           (!worker->launch->device || worker_gaps_intact(worker, slot));
}

void worker_output_pointers(const struct worker *worker, int slot, const void **pointers)
{
    int inputs = worker->part->input_count;
    for (int o = 0; o < worker->part->output_count; o++) {
        const struct cell_region *region = worker_region(worker, slot, inputs + o);
        pointers[o] = worker->outputs + region->offset + region->data;
    }
}

/* Of all outputs of a slot, taken at once: a later call could change them. */
uint64_t worker_output_hash(const struct worker *worker, int slot)
{
    const void *pointers[CELL_MAX_TENSORS];
    uint64_t hash = 0;
    worker_output_pointers(worker, slot, pointers);
    for (int o = 0; o < worker->part->output_count; o++)
        hash = hash_bytes(pointers[o], worker_tensor_bytes(worker, worker->part->outputs[o]), hash);
    return hash;
}

static void compare_slot(const struct worker *worker, int slot, int draw,
                         struct comparison *comparison)
{
    const void *pointers[CELL_MAX_TENSORS];
    worker_output_pointers(worker, slot, pointers);
    compare_outputs(worker->launch->binding, &worker->launch->draws[draw], pointers, comparison);
}

/* Calls again over other rubbish; the hash of what comes out, or 0 when it does not come back. */
static uint64_t call_again(struct worker *worker, int slot, int draw, unsigned char around,
                           unsigned char inside)
{
    struct launch_result kept = *worker->result;
    fill(worker, slot, &worker->launch->draws[draw], around, inside);
    bool good = worker->process.pid > 0 && call_slot(worker, slot);
    *worker->result = kept;
    return good ? worker_output_hash(worker, slot) : 0;
}

/* Whether the result goes with the rubbish, back and forth in no regular order, and not with
 * chance: a kernel that leaves its work to a thread has chance on its side now and then. */
static bool goes_with(struct worker *worker, int slot, int draw, unsigned char poison,
                      unsigned char around, unsigned char inside)
{
    enum { TRIALS = 12, LEAST = 4, PATTERN = 0x9a6 };
    static const double enough_seconds = 2;
    double start = now();
    uint64_t first = call_again(worker, slot, draw, poison, poison);
    uint64_t other = call_again(worker, slot, draw, around, inside);
    bool good = first && other && first != other;
    for (int t = 0; good && t < TRIALS && (t < LEAST || now() - start < enough_seconds); t++) {
        bool changed = PATTERN >> t & 1;
        good = call_again(worker, slot, draw, changed ? around : poison,
                          changed ? inside : poison) == (changed ? other : first);
    }
    return good;
}

/* The result of a slot is off. Does it depend on what a kernel has no business to read? */
static bool explain_mismatch(struct worker *worker, int slot, int draw, bool was_right_once)
{
    struct launch_result *result = worker->result;
    unsigned char poison = worker->around[slot], other = (unsigned char)(poison ^ 0x80);
    result->outcome = result->comparison.outcome;
    const char *message = result->outcome == OUTCOME_WRONG ? "the result is wrong"
                                                           : "the result is not accurate enough";
    if (goes_with(worker, slot, draw, poison, other, poison)) {
        result->outcome = OUTCOME_OUT_OF_BOUNDS;
        message = "the result depends on bytes that lie beside the tensors";
    } else if (was_right_once) {
        result->outcome = OUTCOME_UNSTABLE;
        message = "the same inputs gave a right result once and a wrong one later or elsewhere";
    } else if (goes_with(worker, slot, draw, poison, poison, other)) {
        message = "the result is wrong: it depends on what outputs or scratch held before";
    }
    snprintf(result->message, sizeof result->message, "%s", message);
    return false;
}

static const char NOT_DETERMINISTIC[] =
    "the same inputs gave different results, and the task says `deterministic`";

/*
 * Something was written behind a buffer, where no guard was. Where there is one the same call falls
 * over it, and the line of the source is known. What was found stays what it is otherwise.
 */
static void find_line(struct worker *worker, int draw)
{
    struct launch_result kept = *worker->result;
    fill(worker, 1, &worker->launch->draws[draw], poisons[0], poisons[0]);
    if (call_slot(worker, 1) || worker->result->outcome != OUTCOME_OUT_OF_BOUNDS)
        *worker->result = kept;
}

/* Twice, in the two slots: other addresses, other rubbish, the guard on the other side. */
static bool check_draw(struct worker *worker, int draw)
{
    uint64_t hashes[2];
    double worst = worker->result->comparison.worst;
    for (int slot = 0; slot < 2; slot++) {
        unsigned char poison = poisons[(unsigned)(2 * draw + slot) % sizeof poisons];
        fill(worker, slot, &worker->launch->draws[draw], poison, poison);
        if (!worker_call(worker, slot)) {
            bool lives = worker->process.pid > 0 && !worker->launch->device;
            if (slot == 0 && lives && worker->result->outcome == OUTCOME_OUT_OF_BOUNDS)
                find_line(worker, draw);
            return false;
        }
        struct comparison comparison;
        compare_slot(worker, slot, draw, &comparison);
        if (comparison.worst < worst)
            comparison.worst = worst;
        worker->result->comparison = comparison;
        worst = comparison.worst;
        if (comparison.outcome != OUTCOME_OK)
            return explain_mismatch(worker, slot, draw, slot > 0);
        hashes[slot] = worker->launch->deterministic ? worker_output_hash(worker, slot) : 0;
    }
    if (worker->launch->deterministic && hashes[0] != hashes[1])
        return worker_fail(worker, OUTCOME_UNSTABLE, NOT_DETERMINISTIC);
    return true;
}

static void work(const struct launch *launch, const char *runner, struct launch_result *result)
{
    struct worker worker = {
        .launch = launch, .part = launch->binding->part, .result = result, .slots = 2};
    result->outcome = OUTCOME_JUDGE_FAULT;
    struct counters counters;
    bool good = worker_make_buffers(&worker) && worker_start_cell(&worker, runner);
    bool count = good && launch->count;
    if (count)
        counters_open(&counters, worker.process.pid);
    for (int draw = 0; good && draw < launch->draw_count; draw++) {
        result->draw = draw;
        good = check_draw(&worker, draw);
        result->calls += 2;
    }
    if (count)
        counters_close(&counters, &result->counters);
    if (end_cell(&worker) && good)
        result->outcome = OUTCOME_OK;
}

static bool check_sampled_draw(struct worker *worker, int number, int side)
{
    uint64_t hash = 0;
    worker->result->draw = number;
    if (!sample_check_draw(worker, number, side))
        return false;
    if (number > 0 || !worker->launch->deterministic)
        return true;
    if (!worker->drawn)
        hash = worker_output_hash(worker, sample_slot(worker, side));
    else if (!worker_hash_some(worker, &hash))
        return false;
    if (side == 1 && hash != worker->result->hash)
        return worker_fail(worker, OUTCOME_UNSTABLE, NOT_DETERMINISTIC);
    worker->result->hash = hash;
    return true;
}

/* The first draw on both sides, the others in turns. */
static bool is_of_side(int number, int side)
{
    return number == 0 || number % 2 == side;
}

/*
 * One cell of a sampled case: the first draw, and every other one of the rest. There may be room
 * for one set of buffers only, so one worker follows the other; where draws are shared there is
 * more, and one worker does both sides. On a device one does all.
 */
static void work_sampled(const struct launch *launch, const char *runner, int side,
                         struct launch_result *result)
{
    const struct sampling *sampling = launch->sampling;
    const struct ir_part *part = launch->binding->part;
    bool both = sampling->shared && !launch->device;
    struct worker worker = {
        .launch = launch, .part = part, .result = result, .slots = both ? 2 : 1, .side = side};
    if (launch->device)
        worker.drawn = drawn_bytes(sampling->task_case, launch->binding, 1, false);
    result->outcome = OUTCOME_JUDGE_FAULT;
    result->elements = 0;
    for (int o = 0; o < part->output_count; o++)
        result->elements += ir_tensor_shape(launch->binding, part->outputs[o], NULL);
    bool good = worker_make_buffers(&worker);
    if (good)
        worker.control->drawn.used = worker.drawn > 0;
    good = good && worker_start_cell(&worker, runner);
    for (int n = 0; good && draw_sampled(sampling->task_case, n, NULL) >= 0; n++) {
        if (sampling->only_draw >= 0 && sampling->only_draw != n)
            continue;
        for (int s = both ? 0 : side; good && s <= (both ? 1 : side); s++)
            if (worker.drawn || is_of_side(n, s))
                good = check_sampled_draw(&worker, n, s);
    }
    if (good && worker.drawn && sampling->only_draw <= 0)
        good = check_sampled_draw(&worker, 0, 1); /* once more, over other rubbish */
    if (end_cell(&worker) && good)
        result->outcome = OUTCOME_OK;
}

/* Programs of ours lie beside smelt, or where they were installed. */
const char *launch_find_program(struct arena *arena, const char *name, const char *variable)
{
    const char *own = process_own_path(arena);
    const char *slash = own ? strrchr(own, '/') : NULL;
    const char *chosen = getenv(variable);
    if (chosen && *chosen)
        return chosen;
    if (slash) {
        static const char *const places[] = {"", "../libexec/smelt/", "../"};
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            const char *path =
                arena_printf(arena, "%.*s/%s%s", (int)(slash - own), own, places[i], name);
            if (access(path, X_OK) == 0)
                return path;
        }
    }
    return NULL;
}

const char *launch_find_runner(struct arena *arena)
{
    return launch_find_program(arena, "smelt-cell", "SMELT_CELL");
}

/* What runs in the worker, in a struct so that it can run inside memory_try: unwinding must not
 * leave the worker, or there would be two judges. */
struct work_order {
    const struct launch *launch;
    const char *runner;
    int side;
    struct launch_result *result;
};

static void work_ordered(void *context)
{
    struct work_order *order = context;
    if (order->launch->sampling)
        work_sampled(order->launch, order->runner, order->side, order->result);
    else
        work(order->launch, order->runner, order->result);
}

/* In a process of its own; false when that did not end as it should. */
static bool run_worker_once(struct work_order *order)
{
    pid_t self = getpid(), worker = fork();
    if (worker == 0) {
        sandbox_follow(self);
        _exit(memory_try(work_ordered, order) ? 0 : 1);
    }
    int status = 0;
    while (worker > 0 && waitpid(worker, &status, 0) < 0 && errno == EINTR)
        ;
    return worker > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A kernel that the system does not load is loaded again: was it for lack of memory, or is it the
 * kernel's own fault? Then it happens again. */
static bool run_worker(const struct launch *launch, const char *runner, int side,
                       struct launch_result *shared)
{
    struct work_order order = {launch, runner, side, shared};
    struct launch_result before = *shared;
    bool alive = run_worker_once(&order);
    if (!alive || !shared->not_loaded)
        return alive;
    *shared = before;
    return run_worker_once(&order);
}

/* Only that all is well counts there. */
static bool run_resident(const struct launch *launch, const char *runner,
                         struct launch_result *shared)
{
    if (!launch->resident || !launch->device ||
        !resident_ready(launch->resident, launch->device->target))
        return false;
    launch->resident->launches++;
    struct work_order order = {launch, runner, 0, shared};
    if (run_worker_once(&order) && shared->outcome == OUTCOME_OK)
        return true;
    resident_drop(launch->resident);
    *shared = (struct launch_result){0};
    return false;
}

bool launch_check(const struct launch *launch, struct launch_result *result, struct error *error)
{
    struct arena arena = {0};
    const char *runner = launch_find_runner(&arena);
    if (!runner) {
        arena_release(&arena);
        error_set(error, ERROR_MISSING_TOOL, "the runner 'smelt-cell' is not found");
        error_hint(error, "it is built by make, beside smelt; SMELT_CELL names another");
        return false;
    }
    if (launch->device && launch->device->problem) {
        arena_release(&arena);
        *result = (struct launch_result){.outcome = OUTCOME_LAUNCH_ERROR};
        snprintf(result->message, sizeof result->message, "%s", launch->device->problem);
        return true;
    }
    sandbox_available(); /* found out once, here, not in every worker */
    struct launch_result *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        arena_release(&arena);
        return error_system(error, ERROR_OUT_OF_MEMORY, "no memory for a result");
    }
    struct launch own = *launch;
    own.resident = NULL;
    bool alive = run_resident(launch, runner, shared) || run_worker(&own, runner, 0, shared);
    bool other_side = launch->sampling && !launch->sampling->shared &&
                      !launch->device; /* whose guards are on both */
    if (alive && other_side && shared->outcome == OUTCOME_OK)
        alive = run_worker(&own, runner, 1, shared);
    *result = *shared;
    munmap(shared, sizeof *shared);
    arena_release(&arena);
    if (!alive)
        *result = (struct launch_result){.outcome = OUTCOME_JUDGE_FAULT,
                                         .message = "the judge's own worker failed"};
    return true;
}
