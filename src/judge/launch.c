/*
 * One launch of a kernel in a cell, for correctness: every draw twice, in two slots whose buffers
 * lie against the guard once with their start and once with their end, over two different poisons.
 *
 * The launch runs in a process of its own (the worker), since confining a child changes its parent.
 * The worker writes inputs while the cell is stopped, continues it for one call, waits until all of
 * it has stopped again, and compares. Only the struct launch_result comes back.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "judge/private.h"
#include "os/os.h"
#include "runtime/cell.h"

#include "judge/launch.h"

bool worker_fail(struct worker *worker, enum outcome outcome, const char *message)
{
    worker->result->outcome = outcome;
    snprintf(worker->result->message, sizeof worker->result->message, "%s", message);
    return false;
}

/* ---- buffers ---- */

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

size_t worker_tensor_bytes(const struct worker *worker, int tensor)
{
    const struct ir_tensor *entry = &worker->part->tensors[tensor];
    return (size_t)ir_tensor_shape(worker->launch->binding, tensor, NULL) *
           dtype_bytes(entry->dtype);
}

/* Odd slots lie against the guard behind them, even ones against the one before. */
static void place(struct cell_region *region, size_t *end, size_t bytes, int slot)
{
    size_t wanted = round_up(bytes ? bytes : 1, ALIGNMENT);
    region->offset = *end;
    region->bytes = round_up(wanted, PAGE);
    region->data = slot % 2 ? region->bytes - wanted : 0;
    *end += region->bytes;
}

static void lay_out(struct worker *worker)
{
    struct cell_control *control = worker->control;
    int inputs = worker->part->input_count, outputs = worker->part->output_count;
    for (int slot = 0; slot < worker->slots; slot++) {
        for (int i = 0; i < inputs; i++)
            place(&control->regions[slot][i], &worker->input_bytes,
                  worker_tensor_bytes(worker, worker->part->inputs[i]), slot);
        for (int o = 0; o < outputs; o++)
            place(&control->regions[slot][inputs + o], &worker->output_bytes,
                  worker_tensor_bytes(worker, worker->part->outputs[o]), slot);
        place(&control->regions[slot][inputs + outputs], &worker->output_bytes,
              (size_t)worker->launch->scratch, slot);
    }
}

static char *make_file(int *descriptor, size_t bytes, bool sealed_for_writing)
{
    *descriptor = memfd_create("smelt", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*descriptor < 0 || ftruncate(*descriptor, (off_t)bytes) != 0)
        return NULL;
    char *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *descriptor, 0);
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | (sealed_for_writing ? F_SEAL_FUTURE_WRITE : 0);
    if (mapped == MAP_FAILED || fcntl(*descriptor, F_ADD_SEALS, seals | F_SEAL_SEAL) != 0)
        return NULL;
    return mapped;
}

bool worker_make_buffers(struct worker *worker)
{
    worker->control =
        (struct cell_control *)make_file(&worker->descriptors[0], sizeof *worker->control, false);
    if (!worker->control)
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, "no memory for the control block");
    struct cell_control *control = worker->control;
    control->magic = CELL_MAGIC;
    control->input_count = worker->part->input_count;
    control->output_count = worker->part->output_count;
    control->slot_count = worker->slots;
    control->threads = worker->launch->threads;
    for (int i = 0; i < worker->part->symbol_count; i++)
        control->sizes[i] = worker->launch->binding->sizes[i];
    for (int i = 0; i < worker->part->scalar_count; i++)
        control->scalars[i] = worker->launch->binding->scalars[i];
    lay_out(worker);
    worker->inputs =
        make_file(&worker->descriptors[1], worker->input_bytes ? worker->input_bytes : PAGE, true);
    worker->outputs = make_file(&worker->descriptors[2], worker->output_bytes, false);
    if (!worker->inputs || !worker->outputs)
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, "no memory for the buffers");
    return true;
}

static void encode(const struct array *array, char *out)
{
    size_t width = dtype_bytes(array->dtype);
    for (int64_t i = 0; i < array->count; i++) {
        if (array->floats)
            dtype_store_float(array->dtype, out + (size_t)i * width, array->floats[i]);
        else
            dtype_store_integer(array->dtype, out + (size_t)i * width, array->integers[i]);
    }
}

static unsigned char poison(int slot)
{
    return slot % 2 ? 0x5b : 0xa6;
}

void worker_fill_slot(struct worker *worker, int slot, const struct draw *draw)
{
    int inputs = worker->part->input_count, outputs = worker->part->output_count;
    for (int i = 0; i < inputs; i++) {
        const struct cell_region *region = &worker->control->regions[slot][i];
        memset(worker->inputs + region->offset, poison(slot), region->bytes);
        encode(&draw->inputs[i], worker->inputs + region->offset + region->data);
    }
    for (int o = 0; o <= outputs; o++) {
        const struct cell_region *region = &worker->control->regions[slot][inputs + o];
        memset(worker->outputs + region->offset, poison(slot), region->bytes);
    }
}

/* ---- the cell ---- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

enum waited worker_wait(struct worker *worker, double seconds, int *status)
{
    double deadline = now() + seconds;
    struct timespec pause = {0, 20000};
    for (;;) {
        pid_t got = waitpid(worker->process.pid, status, WUNTRACED | WNOHANG);
        if (got == worker->process.pid)
            return WIFSTOPPED(*status) ? WAITED_STOPPED : WAITED_ENDED;
        if (got < 0 && errno != EINTR)
            return WAITED_ENDED;
        if (now() > deadline)
            return WAITED_TOO_LONG;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 2000000)
            pause.tv_nsec += pause.tv_nsec / 4;
    }
}

/* Which buffer an address belongs to; guards count to the buffer they guard. */
static bool find_buffer(const struct worker *worker, uint64_t address, int *slot, int *tensor)
{
    enum { REACH = 1 << 20 };
    int count = worker->part->input_count + worker->part->output_count + 1;
    for (*slot = 0; *slot < worker->slots; ++*slot)
        for (*tensor = 0; *tensor < count; ++*tensor) {
            uint64_t mapped = worker->control->mapped[*slot][*tensor];
            uint64_t bytes = worker->control->regions[*slot][*tensor].bytes;
            if (mapped && address + REACH >= mapped && address < mapped + bytes + REACH)
                return true;
        }
    return false;
}

static bool report_fault(struct worker *worker)
{
    struct cell_control *control = worker->control;
    struct launch_result *result = worker->result;
    int slot, tensor;
    snprintf(result->detail, sizeof result->detail, "%llx",
             (unsigned long long)(control->instruction - control->base));
    if (control->signal != SIGSEGV && control->signal != SIGBUS) {
        snprintf(result->message, sizeof result->message, "the kernel was ended by %s",
                 strsignal(control->signal));
        result->outcome = OUTCOME_CRASH;
        return false;
    }
    if (!find_buffer(worker, control->address, &slot, &tensor)) {
        snprintf(result->message, sizeof result->message,
                 "the kernel reached for an address outside of every buffer (%s)",
                 strsignal(control->signal));
        result->outcome = OUTCOME_CRASH;
        return false;
    }
    int inputs = worker->part->input_count, outputs = worker->part->output_count;
    const struct cell_region *region = &control->regions[slot][tensor];
    int64_t byte = (int64_t)(control->address - control->mapped[slot][tensor] - region->data);
    if (tensor == inputs + outputs) {
        snprintf(result->message, sizeof result->message,
                 "scratch was accessed at byte %lld of %lld", (long long)byte,
                 (long long)worker->launch->scratch);
        result->outcome = OUTCOME_OUT_OF_BOUNDS;
        return false;
    }
    int number =
        tensor < inputs ? worker->part->inputs[tensor] : worker->part->outputs[tensor - inputs];
    const struct ir_tensor *entry = &worker->part->tensors[number];
    int64_t element = byte / (int64_t)dtype_bytes(entry->dtype);
    int64_t total = ir_tensor_shape(worker->launch->binding, number, NULL);
    bool inside = byte >= 0 && element < total;
    snprintf(result->message, sizeof result->message,
             inside ? "input '%s' was written (element %lld of %lld)"
                    : "'%s' was accessed out of bounds, at element %lld of %lld",
             entry->name, (long long)element, (long long)total);
    result->outcome = inside ? OUTCOME_CRASH : OUTCOME_OUT_OF_BOUNDS;
    return false;
}

/* The cell ended, or did not stop: why? */
bool worker_report_end(struct worker *worker, enum waited waited, int status)
{
    struct cell_control *control = worker->control;
    if (waited == WAITED_TOO_LONG)
        return worker_fail(worker, OUTCOME_TIMEOUT, "the kernel did not return in time");
    worker->process.pid = 0;
    if (control->state == CELL_FAULT)
        return report_fault(worker);
    char message[400];
    control->message[sizeof control->message - 1] = 0;
    if (control->state == CELL_NO_KERNEL) {
        snprintf(message, sizeof message, "the kernel could not be loaded: %s", control->message);
        return worker_fail(worker, OUTCOME_LAUNCH_ERROR, message);
    }
    if (control->state == CELL_STARTING && WIFEXITED(status) && WEXITSTATUS(status) >= 119)
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, "the cell could not be started");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return worker_fail(worker, OUTCOME_OUT_OF_MEMORY,
                           "the kernel was killed, most likely for memory");
    if (WIFSIGNALED(status)) {
        snprintf(message, sizeof message, "the kernel was ended by %s",
                 strsignal(WTERMSIG(status)));
        return worker_fail(worker, OUTCOME_CRASH, message);
    }
    return worker_fail(worker, OUTCOME_CRASH, "the kernel ended the process it ran in");
}

bool worker_start_cell(struct worker *worker, const char *runner)
{
    const struct launch *launch = worker->launch;
    const char *const arguments[] = {runner, launch->library, NULL};
    const char *const readable[] = {"/usr/lib", "/lib",          "/lib64",    "/etc/ld.so.cache",
                                    runner,     launch->library, "/dev/null", NULL};
    const char *const writable[] = {"/dev/null", NULL};
    struct sandbox_policy policy = {.layers = launch->layers,
                                    .readable = readable,
                                    .writable = writable,
                                    .calls = SANDBOX_CALLS_ALL,
                                    .file_bytes = 0,
                                    .processes = 0};
    struct sandbox_program program = {.arguments = arguments,
                                      .descriptors = worker->descriptors,
                                      .descriptor_count = 3,
                                      .output = -1};
    struct error error;
    if (!sandbox_start(&policy, &program, &worker->process, &error))
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, error.message);
    int status = 0;
    enum waited waited = worker_wait(worker, LOAD_SECONDS, &status);
    if (waited == WAITED_TOO_LONG)
        return worker_fail(worker, OUTCOME_TIMEOUT, "the kernel could not be loaded in time");
    if (waited != WAITED_STOPPED)
        return worker_report_end(worker, waited, status);
    if (worker->control->state != CELL_READY)
        return worker_fail(worker, OUTCOME_CHEAT,
                           "the kernel stopped its process while being loaded");
    worker->result->layers = worker->process.layers;
    if (!worker->control->filtered)
        worker->result->layers &= ~(unsigned)SANDBOX_SECCOMP;
    return true;
}

/* ---- calls ---- */

static bool call_slot(struct worker *worker, int slot)
{
    struct cell_control *control = worker->control;
    control->call_count = 1;
    control->calls[0] = (uint16_t)slot;
    control->returned = 0;
    int status = 0;
    kill(worker->process.pid, SIGCONT);
    enum waited waited = worker_wait(worker, worker->launch->seconds, &status);
    if (waited != WAITED_STOPPED)
        return worker_report_end(worker, waited, status);
    if (control->state != CELL_DONE)
        return worker_fail(worker, OUTCOME_CHEAT,
                           "the kernel stopped its process before it was done");
    if (control->returned != 0) {
        char message[120];
        snprintf(message, sizeof message, "the kernel returned %d: it cannot do this call",
                 control->returned);
        return worker_fail(worker, OUTCOME_LAUNCH_ERROR, message);
    }
    return true;
}

/* What lies around the data must be as it was. */
static bool surroundings_intact(struct worker *worker, int slot)
{
    int inputs = worker->part->input_count, outputs = worker->part->output_count;
    for (int o = 0; o <= outputs; o++) {
        const struct cell_region *region = &worker->control->regions[slot][inputs + o];
        size_t bytes = o < outputs ? worker_tensor_bytes(worker, worker->part->outputs[o])
                                   : (size_t)worker->launch->scratch;
        const unsigned char *at = (const unsigned char *)worker->outputs + region->offset;
        for (size_t i = 0; i < region->bytes; i++) {
            if (i == region->data)
                i += bytes;
            if (i >= region->bytes || at[i] == poison(slot))
                continue;
            const char *name =
                o < outputs ? worker->part->tensors[worker->part->outputs[o]].name : "scratch";
            long long distance = (long long)i - (long long)region->data;
            snprintf(worker->result->message, sizeof worker->result->message,
                     "'%s' was written out of bounds, at byte %lld of %lld", name, distance,
                     (long long)bytes);
            worker->result->outcome = OUTCOME_OUT_OF_BOUNDS;
            return false;
        }
    }
    return true;
}

void worker_output_pointers(const struct worker *worker, int slot, const void **pointers)
{
    int inputs = worker->part->input_count;
    for (int o = 0; o < worker->part->output_count; o++) {
        const struct cell_region *region = &worker->control->regions[slot][inputs + o];
        pointers[o] = worker->outputs + region->offset + region->data;
    }
}

static bool same_bytes(const struct worker *worker, int one, int other)
{
    const void *a[CELL_MAX_TENSORS], *b[CELL_MAX_TENSORS];
    worker_output_pointers(worker, one, a);
    worker_output_pointers(worker, other, b);
    for (int o = 0; o < worker->part->output_count; o++)
        if (memcmp(a[o], b[o], worker_tensor_bytes(worker, worker->part->outputs[o])) != 0)
            return false;
    return true;
}

static bool check_draw(struct worker *worker, int draw)
{
    const void *pointers[CELL_MAX_TENSORS];
    double worst = worker->result->comparison.worst;
    for (int time = 0; time < 2; time++) {
        int slot = 2 * draw + time;
        if (!call_slot(worker, slot) || !surroundings_intact(worker, slot))
            return false;
        struct comparison comparison;
        worker_output_pointers(worker, slot, pointers);
        compare_outputs(worker->launch->binding, &worker->launch->draws[draw], pointers,
                        &comparison);
        if (comparison.worst < worst)
            comparison.worst = worst;
        worker->result->comparison = comparison;
        worst = comparison.worst;
        if (comparison.outcome == OUTCOME_OK)
            continue;
        worker->result->outcome = time ? OUTCOME_UNSTABLE : comparison.outcome;
        snprintf(worker->result->message, sizeof worker->result->message, "%s",
                 time
                     ? "the same inputs gave a right result once and a wrong one at other addresses"
                 : comparison.outcome == OUTCOME_WRONG ? "the result is wrong"
                                                       : "the result is not accurate enough");
        return false;
    }
    if (worker->launch->deterministic && !same_bytes(worker, 2 * draw, 2 * draw + 1))
        return worker_fail(
            worker, OUTCOME_UNSTABLE,
            "the same inputs gave different results, and the task says `deterministic`");
    return true;
}

static void work(const struct launch *launch, const char *runner, struct launch_result *result)
{
    struct worker worker = {.launch = launch, .part = launch->binding->part, .result = result};
    worker.slots = 2 * launch->draw_count;
    result->outcome = OUTCOME_JUDGE_FAULT;
    bool good = worker_make_buffers(&worker);
    for (int draw = 0; good && draw < launch->draw_count; draw++)
        for (int time = 0; time < 2; time++)
            worker_fill_slot(&worker, 2 * draw + time, &launch->draws[draw]);
    good = good && worker_start_cell(&worker, runner);
    for (int draw = 0; good && draw < launch->draw_count; draw++) {
        result->draw = draw;
        good = check_draw(&worker, draw);
    }
    sandbox_kill(&worker.process);
    if (good)
        result->outcome = OUTCOME_OK;
}

/* The cell's runner lies beside smelt, or where it was installed. */
const char *launch_find_runner(struct arena *arena)
{
    const char *own = process_own_path(arena);
    const char *slash = own ? strrchr(own, '/') : NULL;
    const char *chosen = getenv("SMELT_CELL");
    if (chosen && *chosen)
        return chosen;
    if (slash) {
        static const char *const places[] = {"smelt-cell", "../libexec/smelt/smelt-cell",
                                             "../smelt-cell"};
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            const char *path = arena_printf(arena, "%.*s/%s", (int)(slash - own), own, places[i]);
            if (access(path, X_OK) == 0)
                return path;
        }
    }
    return NULL;
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
    sandbox_available(); /* found out once, here, not in every worker */
    struct launch_result *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        arena_release(&arena);
        return error_system(error, ERROR_OUT_OF_MEMORY, "no memory for a result");
    }
    pid_t worker = fork();
    if (worker == 0) {
        work(launch, runner, shared);
        _exit(0);
    }
    int status = 0;
    while (worker > 0 && waitpid(worker, &status, 0) < 0 && errno == EINTR)
        ;
    *result = *shared;
    munmap(shared, sizeof *shared);
    arena_release(&arena);
    if (worker < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        *result = (struct launch_result){.outcome = OUTCOME_JUDGE_FAULT,
                                         .message = "the judge's own worker failed"};
    return true;
}
