/*
 * The program smelt-device: the process in which a driver and a kernel run together.
 *
 *     smelt-device describe TARGET                         what device there is, one fact per line
 *     smelt-device compile TARGET ARCHITECTURE IN OUT      "-": the device's own; more files may
 *                                                          follow
 *     smelt-device run TARGET OBJECT                       the cell of a device: runtime/cell.h
 *     smelt-device stay TARGET                             one that stays for many launches
 *     smelt-device probe TARGET [quick]                    how fast the device is, a rate per line
 *     smelt-device trace TARGET OBJECT FILE                one call, for a sanitizer to look on
 *
 * Exit status: 0, 1 when the kernel does not compile, 2 when the target cannot be used; what the
 * compiler or the driver said is on standard output.
 *
 * As a cell it copies what the judge wrote onto the device, guards and all, does the steps of the
 * program, waits for the device, and copies back. It stops itself whenever it is done. It holds
 * neither answers nor seed: the judge looks at the clock and at the bytes that came back. Kernels
 * of a device that is the processor itself run in this very process, so nothing it says is
 * believed.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "target/runner.h"

enum { COOL_BYTES = 128 << 20, MOST_REPEATS = 4, MOST_RECORDED = 4096 };

static void say(const char *text)
{
    size_t length = strlen(text);
    while (length > 0) {
        ssize_t put = write(1, text, length);
        if (put <= 0)
            return;
        text += put;
        length -= (size_t)put;
    }
}

static int say_error(const struct error *error)
{
    say(error->message);
    say("\n");
    say(error->hint);
    say("\n");
    return STATUS_UNUSABLE;
}

/* ---- describe ---- */

static int describe(struct arena *arena, const struct target *target)
{
    struct device device;
    struct error error = {0};
    struct target_facts facts;
    struct text out = text_new(arena);
    if (!target->open(&device, &error))
        return say_error(&error);
    target->describe(&device, &facts);
    text_printf(&out, "device %s\nversion %s\ncompiler %s\narchitecture %s\n", facts.device,
                facts.version, facts.compiler, facts.architecture);
    text_printf(&out,
                "threads %lld\nshared %lld\nmemory %lld\ncache %lld\nunits %lld\ndoubles %d\n"
                "gpu %d\n",
                (long long)facts.block_threads, (long long)facts.shared_bytes,
                (long long)facts.memory_bytes, (long long)facts.cache_bytes, (long long)facts.units,
                facts.doubles, facts.gpu);
    say(out.at);
    target->close(&device);
    return STATUS_GOOD;
}

/* ---- compile ---- */

static void say_functions(struct arena *arena, const struct target_build *build)
{
    struct text out = text_new(arena);
    for (int i = 0; i < build->function_count; i++) {
        const struct target_function_facts *facts = &build->functions[i];
        text_printf(&out, "function %s registers %lld shared %lld spills %lld\n", facts->name,
                    (long long)facts->registers, (long long)facts->shared_bytes,
                    (long long)facts->spill_bytes);
    }
    say(out.at);
}

static int compile_one(struct arena *arena, const struct target *target, struct device *device,
                       const char *architecture, const char *in, const char *out)
{
    struct error error = {0};
    struct target_build build;
    size_t length = 0;
    const char *text = file_read(arena, in, CELL_MAX_SOURCE, &length, &error);
    if (!text || !target->compile(arena, device, architecture, text, length, &build, &error))
        return say_error(&error);
    say(build.log.at);
    if (build.done && build.binary &&
        !file_write(out, build.binary, build.binary_bytes, 0600, &error))
        return say_error(&error);
    if (build.done)
        say_functions(arena, &build);
    return build.done ? STATUS_GOOD : STATUS_REFUSED;
}

/* One file after the other; with several, those that are refused are named. */
static int compile(struct arena *arena, const struct target *target, const char *architecture,
                   char **files, int count)
{
    struct device device = {0};
    struct error error = {0};
    bool named = strcmp(architecture, "-") != 0;
    if (!named && !target->open(&device, &error))
        return say_error(&error);
    int worst = STATUS_GOOD;
    for (int i = 0; i + 1 < count; i += 2) {
        int status = compile_one(arena, target, named ? NULL : &device, named ? architecture : NULL,
                                 files[i], files[i + 1]);
        if (status != STATUS_GOOD && count > 2) {
            say(files[i]);
            say(": refused\n");
        }
        worst = status > worst ? status : worst;
        if (count > 2)
            arena_reset(arena);
    }
    if (!named)
        target->close(&device);
    return worst;
}

/* ---- the cell ---- */

static struct cell_report *fault_report;

_Noreturn void cell_give_up(struct cell *cell, const char *message)
{
    if (cell->report) {
        snprintf(cell->report->message, sizeof cell->report->message, "%s", message);
        cell->report->state = CELL_NO_KERNEL;
    }
    _exit(STATUS_UNUSABLE);
}

static void on_fault(int signal, siginfo_t *information, void *context)
{
    (void)context;
    if (fault_report) {
        fault_report->signal = signal;
        fault_report->address = (uint64_t)(uintptr_t)information->si_addr;
        fault_report->state = CELL_FAULT;
    }
    _exit(STATUS_UNUSABLE);
}

void cell_catch_faults(struct cell_report *report)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    fault_report = report;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}

void cell_take_program(struct cell *cell, const struct cell_program *program)
{
    cell->program = program;
    cell->steps = (const void *)(program + 1);
    cell->arguments = (const void *)(cell->steps + program->step_count);
    cell->buffers = (const void *)(cell->arguments + program->argument_count);
}

void cell_map(struct cell *cell, const int *files)
{
    struct stat status;
    void *report = mmap(NULL, sizeof *cell->report, PROT_READ | PROT_WRITE, MAP_SHARED,
                        files[CELL_FILE_REPORT], 0);
    void *control =
        mmap(NULL, sizeof *cell->control, PROT_READ, MAP_SHARED, files[CELL_FILE_CONTROL], 0);
    if (report == MAP_FAILED || control == MAP_FAILED)
        _exit(STATUS_UNUSABLE);
    cell->report = report;
    cell->control = control;
    if (cell->control->magic != CELL_MAGIC || fstat(files[CELL_FILE_PROGRAM], &status) != 0 ||
        status.st_size < (off_t)sizeof *cell->program)
        cell_give_up(cell, "the runner and the judge are not of the same version");
    cell->program_bytes = (size_t)status.st_size;
    void *program =
        mmap(NULL, cell->program_bytes, PROT_READ, MAP_SHARED, files[CELL_FILE_PROGRAM], 0);
    void *inputs = mmap(NULL, cell->control->input_bytes, PROT_READ, MAP_SHARED,
                        files[CELL_FILE_INPUTS], (off_t)cell->control->input_base);
    void *outputs = mmap(NULL, cell->control->output_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                         files[CELL_FILE_OUTPUTS], (off_t)cell->control->output_base);
    if (program == MAP_FAILED || inputs == MAP_FAILED || outputs == MAP_FAILED)
        cell_give_up(cell, "the buffers could not be mapped");
    cell_take_program(cell, program);
    cell->inputs = inputs;
    cell->outputs = outputs;
    for (int file = CELL_FILE_CONTROL; file <= CELL_FILE_PROGRAM; file++)
        close(files[file]);
}

void cell_take_memory(struct cell *cell)
{
    const struct cell_control *control = cell->control;
    const struct target *target = cell->device.target;
    struct error error = {0};
    size_t largest = 1;
    cell->tensors = control->input_count + control->output_count;
    size_t count =
        ((size_t)cell->tensors + cell->program->buffer_count) * (size_t)control->slot_count;
    cell->views = calloc(count + 1, sizeof *cell->views);
    for (int slot = 0; slot < control->slot_count && !control->drawn.used; slot++)
        for (int i = 0; i < control->input_count; i++)
            if (cell_region_of(cell, slot, i)->bytes > largest)
                largest = cell_region_of(cell, slot, i)->bytes;
    cell->back = malloc(largest);
    if (!cell->views || !cell->back)
        cell_give_up(cell, "no memory beside the device's");
    if (!target->allocate(&cell->device, control->input_bytes, &cell->input_memory, &error) ||
        !target->allocate(&cell->device, control->output_bytes, &cell->output_memory, &error) ||
        (control->cold && !target->allocate(&cell->device, COOL_BYTES, &cell->cooling, &error)))
        cell_give_up(cell, error.message);
}

/* Tensors first, then buffers, which lie in the slot's scratch. */
static bool find_view(struct cell *cell, int slot, int number, struct target_memory *view,
                      struct error *error)
{
    size_t each = (size_t)cell->tensors + cell->program->buffer_count;
    struct target_memory *kept = &cell->views[(size_t)slot * each + (size_t)number];
    if (kept->handle) {
        *view = *kept;
        return true;
    }
    bool is_buffer = number >= cell->tensors;
    const struct cell_buffer *buffer = is_buffer ? &cell->buffers[number - cell->tensors] : NULL;
    const struct cell_region *region =
        cell_region_of(cell, slot, is_buffer ? cell->tensors : number);
    size_t offset = region->offset + region->data + (is_buffer ? buffer->offset : 0);
    size_t bytes = is_buffer ? buffer->bytes : region->bytes - region->data;
    bool is_input = number < cell->control->input_count;
    if (!cell->device.target->view(&cell->device,
                                   is_input ? cell->input_memory : cell->output_memory, offset,
                                   bytes, kept, error))
        return false;
    *view = *kept;
    return true;
}

/* ---- phases ---- */

bool cell_fail(struct cell *cell, int kind, const struct error *error)
{
    if (cell->report->failed == 0) {
        cell->report->failed = kind;
        snprintf(cell->report->message, sizeof cell->report->message, "%.255s", error->message);
    }
    return false;
}

/* One slot's tensors and scratch, guards too. */
static bool copy_slot(struct cell *cell, int slot, bool up, struct error *error)
{
    const struct target *target = cell->device.target;
    bool good = true;
    for (int i = 0; good && i <= cell->tensors; i++) {
        const struct cell_region *region = cell_region_of(cell, slot, i);
        bool is_input = i < cell->control->input_count;
        struct target_memory memory = is_input ? cell->input_memory : cell->output_memory;
        if (region->bytes == 0 || (is_input && !up))
            continue;
        if (up)
            good = target->write(&cell->device, memory, region->offset,
                                 (is_input ? cell->inputs : cell->outputs) + region->offset,
                                 region->bytes, error);
        else
            good = target->read(&cell->device, memory, region->offset,
                                cell->outputs + region->offset, region->bytes, error);
    }
    return good;
}

static bool upload(struct cell *cell, struct error *error)
{
    const struct cell_control *control = cell->control;
    const struct target *target = cell->device.target;
    bool good = true;
    double seconds;
    if (control->drawn.used)
        good = drawn_upload(cell, error);
    else if (control->packed)
        good = target->write(&cell->device, cell->input_memory, 0, cell->inputs,
                             control->input_bytes, error) &&
               target->write(&cell->device, cell->output_memory, 0, cell->outputs,
                             control->output_bytes, error);
    bool by_slot = !control->packed && !control->drawn.used;
    for (uint32_t i = 0; good && by_slot && i < control->call_count; i++)
        good = copy_slot(cell, control->calls[i], true, error);
    if (good && cell->cooling.handle)
        good = target->clear(&cell->device, cell->cooling, COOL_BYTES, error) &&
               target->finish(&cell->device, &seconds, error);
    return good || cell_fail(cell, 2, error);
}

static bool download(struct cell *cell, struct error *error)
{
    const struct cell_control *control = cell->control;
    bool good = true;
    if (control->drawn.used)
        return drawn_download(cell, error) || cell_fail(cell, 2, error);
    if (control->packed)
        good = cell->device.target->read(&cell->device, cell->output_memory, 0, cell->outputs,
                                         control->output_bytes, error);
    for (uint32_t i = 0; good && !control->packed && i < control->call_count; i++)
        good = copy_slot(cell, control->calls[i], false, error);
    return good || cell_fail(cell, 2, error);
}

/* Inputs are as they were, and what lies around them. */
static bool compare_inputs(struct cell *cell, struct error *error)
{
    const struct cell_control *control = cell->control;
    for (uint32_t c = 0; c < control->call_count; c++)
        for (int i = 0; i < control->input_count; i++) {
            const struct cell_region *region = cell_region_of(cell, control->calls[c], i);
            const char *sent = cell->inputs + region->offset;
            if (!cell->device.target->read(&cell->device, cell->input_memory, region->offset,
                                           cell->back, region->bytes, error))
                return cell_fail(cell, 2, error);
            if (memcmp(sent, cell->back, region->bytes) == 0)
                continue;
            uint64_t byte = 0;
            while (sent[byte] == cell->back[byte])
                byte++;
            cell->report->changed_byte = byte;
            cell->report->changed = i + 1;
            return false;
        }
    return true;
}

static bool launch_step(struct cell *cell, int slot, const struct cell_step *step,
                        const int64_t *counters, struct error *error)
{
    struct target_argument arguments[TARGET_MAX_ARGUMENTS];
    struct target_launch launch = {.function = step->name,
                                   .shared = step->shared,
                                   .arguments = arguments,
                                   .argument_count = (int)step->argument_count};
    for (uint32_t i = 0; i < step->argument_count && i < TARGET_MAX_ARGUMENTS; i++) {
        const struct cell_argument *given = &cell->arguments[step->first_argument + i];
        struct target_argument *out = &arguments[i];
        bool pointer = given->kind == CELL_TENSOR || given->kind == CELL_BUFFER;
        int number = given->number + (given->kind == CELL_BUFFER ? cell->tensors : 0);
        *out = (struct target_argument){.kind = pointer                    ? TARGET_POINTER
                                                : given->kind == CELL_REAL ? TARGET_REAL
                                                                           : TARGET_INTEGER,
                                        .integer = given->integer,
                                        .real = given->real};
        if (given->kind == CELL_COUNTER)
            out->integer = counters[given->number];
        if (pointer && !find_view(cell, slot, number, &out->memory, error))
            return false;
    }
    bool empty = false;
    for (int d = 0; d < 3; d++) {
        launch.grid[d] = step->grid[d];
        launch.block[d] = step->block[d];
        empty |= step->grid[d] == 0;
    }
    return empty || cell->device.target->launch(&cell->device, &launch, error);
}

static bool run_product(struct cell *cell, int slot, const struct cell_step *step,
                        struct error *error)
{
    const struct cell_argument *given = &cell->arguments[step->first_argument];
    struct target_memory tensors[CELL_PRODUCT_Y + 1];
    for (int i = 0; i <= CELL_PRODUCT_Y; i++)
        if (!find_view(cell, slot, given[i].number, &tensors[i], error))
            return false;
    struct target_product product = {.dtype = step->name,
                                     .a = tensors[CELL_PRODUCT_A],
                                     .b = tensors[CELL_PRODUCT_B],
                                     .y = tensors[CELL_PRODUCT_Y],
                                     .batch = given[CELL_PRODUCT_BATCH].integer,
                                     .m = given[CELL_PRODUCT_M].integer,
                                     .n = given[CELL_PRODUCT_N].integer,
                                     .k = given[CELL_PRODUCT_K].integer,
                                     .a_stride = given[CELL_PRODUCT_A_STRIDE].integer,
                                     .b_stride = given[CELL_PRODUCT_B_STRIDE].integer,
                                     .a_transposed = given[CELL_PRODUCT_A_TRANSPOSED].integer != 0,
                                     .b_transposed = given[CELL_PRODUCT_B_TRANSPOSED].integer != 0};
    return cell->device.target->product(&cell->device, &product, error);
}

/* The steps of one call; those of a repeat again and again. */
bool cell_call(struct cell *cell, int slot, struct error *error)
{
    int64_t counters[MOST_REPEATS + 1] = {0};
    uint32_t starts[MOST_REPEATS + 1] = {0};
    int open = 0;
    struct target_memory view;
    for (uint32_t b = 0; b < cell->program->buffer_count; b++)
        if (cell->buffers[b].zero && cell->buffers[b].bytes > 0 &&
            (!find_view(cell, slot, cell->tensors + (int)b, &view, error) ||
             !cell->device.target->clear(&cell->device, view, cell->buffers[b].bytes, error)))
            return false;
    for (uint32_t at = 0; at < cell->program->step_count; at++) {
        const struct cell_step *step = &cell->steps[at];
        if (step->kind == CELL_LAUNCH) {
            if (!launch_step(cell, slot, step, counters, error))
                return false;
        } else if (step->kind == CELL_PRODUCT) {
            if (!run_product(cell, slot, step, error))
                return false;
        } else if (step->kind == CELL_REPEAT) {
            starts[open] = at;
            counters[open++] = 0;
            if (step->count <= 0) { /* on to its end */
                for (int depth = 1; depth > 0;) {
                    int kind = cell->steps[++at].kind;
                    depth += kind == CELL_REPEAT ? 1 : kind == CELL_END ? -1 : 0;
                }
                open--;
            }
        } else if (++counters[open - 1] < cell->steps[starts[open - 1]].count) {
            at = starts[open - 1];
        } else {
            open--;
        }
    }
    return true;
}

static bool launch_calls(struct cell *cell, struct error *error)
{
    for (uint32_t i = 0; i < cell->control->call_count; i++) {
        cell->report->call = i;
        if (!cell_call(cell, cell->control->calls[i], error))
            return false;
    }
    return true;
}

/* How many launches a call makes. */
static uint64_t count_launches(const struct cell *cell)
{
    uint64_t count = 0, times[MOST_REPEATS + 2] = {1};
    int open = 0;
    for (uint32_t at = 0; at < cell->program->step_count; at++) {
        const struct cell_step *step = &cell->steps[at];
        if (step->kind == CELL_LAUNCH || step->kind == CELL_PRODUCT) {
            count += times[open];
        } else if (step->kind == CELL_REPEAT) {
            times[open + 1] = times[open] * (uint64_t)(step->count > 0 ? step->count : 0);
            open++;
        } else {
            open--;
        }
    }
    return count;
}

/* Before the clock runs: launching one by one would be on it, and takes longer than short kernels.
 */
static bool record_calls(struct cell *cell, struct error *error)
{
    const struct target *target = cell->device.target;
    cell->recorded = false;
    if (!target->record || count_launches(cell) * cell->control->call_count > MOST_RECORDED)
        return true;
    if (!target->record(&cell->device, error))
        return cell_fail(cell, 2, error);
    if (!launch_calls(cell, error))
        return cell_fail(cell, 1, error);
    cell->recorded = target->recorded(&cell->device, error);
    return cell->recorded || cell_fail(cell, 2, error);
}

static bool run_calls(struct cell *cell, struct error *error)
{
    const struct target *target = cell->device.target;
    double seconds = -1;
    if (!target->begin(&cell->device, error))
        return cell_fail(cell, 2, error);
    if (cell->recorded ? !target->replay(&cell->device, error) : !launch_calls(cell, error))
        return cell_fail(cell, 1, error);
    bool good = target->finish(&cell->device, &seconds, error) || cell_fail(cell, 2, error);
    cell->report->device_seconds = seconds;
    return good;
}

void cell_serve_phase(struct cell *cell)
{
    struct error error = {0};
    uint32_t phase = cell->control->phase;
    bool all = phase == CELL_WHOLE;
    bool good = true;
    cell->report->state = CELL_RUNNING;
    if (all || phase == CELL_UPLOAD)
        good = upload(cell, &error);
    if (good && phase == CELL_UPLOAD)
        good = record_calls(cell, &error);
    if (good && (all || phase == CELL_RUN))
        good = run_calls(cell, &error);
    if (good && (all || phase == CELL_DOWNLOAD))
        good = download(cell, &error);
    if (good && all)
        cell->control->drawn.used ? drawn_compare(cell, &error) : compare_inputs(cell, &error);
    if (phase == CELL_FETCH && !drawn_fetch(cell, &error))
        cell_fail(cell, 2, &error);
    cell->report->state = CELL_DONE;
}

void cell_load(struct cell *cell, const char *bytes, size_t length)
{
    const struct target *target = cell->device.target;
    struct error error = {0};
    bool products = false;
    if (cell->program->step_count > 0 && !target->load(&cell->device, bytes, length, &error))
        cell_give_up(cell, error.message);
    for (uint32_t i = 0; i < cell->program->step_count; i++)
        products |= cell->steps[i].kind == CELL_PRODUCT;
    if (products && (!target->products || !target->products(&cell->device, &error))) {
        char words[sizeof error.message + sizeof error.hint + 4];
        snprintf(words, sizeof words, "%s (%s)", error.message, error.hint);
        cell_give_up(cell, target->products ? words : "the target has no library of products");
    }
    cell->report->state = CELL_READY;
}

static void stop(void)
{
    while (kill(getpid(), SIGSTOP) != 0)
        ;
}

_Noreturn static void serve(struct arena *arena, const struct target *target, const char *object)
{
    static const int files[] = {3, 4, 5, 6, 7};
    struct cell cell = {0};
    struct error error = {0};
    size_t length = 0;
    cell_map(&cell, files);
    if (!target->open(&cell.device, &error))
        cell_give_up(&cell, error.message);
    cell_take_memory(&cell);
    cell_catch_faults(cell.report);
    cell.report->state = CELL_PREPARED;
    stop();
    const char *bytes = file_read(arena, object, CELL_MAX_SOURCE, &length, &error);
    if (!bytes)
        cell_give_up(&cell, error.message);
    cell_load(&cell, bytes, length);
    for (;;) {
        stop();
        cell_serve_phase(&cell);
    }
}

int main(int count, char **arguments)
{
    struct arena arena = {0};
    const struct target *target = count >= 3 ? target_find(arguments[2]) : NULL;
    if (target && target->open && strcmp(arguments[1], "describe") == 0)
        return describe(&arena, target);
    if (target && target->open && strcmp(arguments[1], "compile") == 0 && count >= 6 &&
        count % 2 == 0)
        return compile(&arena, target, arguments[3], arguments + 4, count - 4);
    if (target && target->open && strcmp(arguments[1], "probe") == 0) {
        struct error error = {0};
        bool quick = count == 4 && strcmp(arguments[3], "quick") == 0;
        return probe_run(&arena, target, quick, &error) ? STATUS_GOOD : say_error(&error);
    }
    if (target && target->open && strcmp(arguments[1], "run") == 0 && count == 4)
        serve(&arena, target, arguments[3]);
    if (target && target->renew && strcmp(arguments[1], "stay") == 0 && count == 3)
        stay_serve(&arena, target);
    if (target && target->open && strcmp(arguments[1], "trace") == 0 && count == 5) {
        struct error error = {0};
        return trace_run(&arena, target, arguments[3], arguments[4], &error) ? STATUS_GOOD
                                                                             : say_error(&error);
    }
    say("smelt-device is started by smelt: see src/target/runner.c\n");
    return STATUS_UNUSABLE;
}
