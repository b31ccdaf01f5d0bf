/*
 * The cell of a device, as the worker sees it: how it is started, how long a call may take, and
 * what speaks against a kernel after one. What the cell says is never a reason to call a kernel
 * right.
 */
#include <stdio.h>
#include <string.h>

#include "judge/launch.h"
#include "os/os.h"

/* The cell of a device: what the driver needs is within its reach, its caches in the folder. */
bool worker_start_device(struct worker *worker)
{
    const struct launch *launch = worker->launch;
    const struct launch_device *device = launch->device;
    struct arena arena = {0};
    struct error error = {0};
    const char *runner = device_find_runner(&arena, &error);
    char *program = !worker->descriptors[4] && runner
                        ? worker_make_file(&worker->descriptors[4], device->bytes, true)
                        : NULL;
    if (program) {
        memcpy(program, device->program, device->bytes);
        worker->program = (struct cell_program *)(void *)program;
    }
    const char *const arguments[] = {runner, "run", device->target->name, launch->library, NULL};
    bool started = false;
    if (runner && worker->descriptors[4] > 0) {
        struct sandbox_policy policy = {
            .layers = launch->layers & ~device->target->without,
            .readable = device_readable(&arena, device->target, runner, launch->directory),
            .writable = device_writable(&arena, device->target, launch->directory),
            .moves_files = true,
            .calls = SANDBOX_CALLS_DEVICE,
            .file_bytes = 256 << 20};
        struct sandbox_program started_program = {.arguments = arguments,
                                                  .environment =
                                                      device_environment(&arena, launch->directory),
                                                  .directory = launch->directory,
                                                  .descriptors = worker->descriptors,
                                                  .descriptor_count = 5,
                                                  .output = -1};
        started = sandbox_start(&policy, &started_program, &worker->process, &error);
    }
    if (!started)
        worker_fail(worker, OUTCOME_JUDGE_FAULT,
                    error.message[0] ? error.message : "no memory for the launches");
    arena_release(&arena);
    return started;
}

void worker_set_scalar(struct worker *worker, int scalar, double value)
{
    const struct cell_program *program = worker->program;
    const struct cell_step *steps = (const void *)(program + 1);
    struct cell_argument *arguments = (void *)(uintptr_t)(steps + program->step_count);
    for (uint32_t i = 0; i < program->argument_count; i++)
        if (arguments[i].kind == CELL_REAL && arguments[i].number == scalar)
            arguments[i].real = value;
}

double worker_patience(struct worker *worker)
{
    enum { FIRST_SECONDS = 3 };
    double more = worker->launch->device && !worker->called ? FIRST_SECONDS : 0;
    worker->called = true;
    return worker->launch->seconds + more;
}

bool worker_device_good(struct worker *worker, int slot)
{
    const struct cell_report *report = worker->report;
    char words[256];
    int changed = report->changed - 1, failed = report->failed;
    if (failed != 0) {
        worker_copy_words(words, sizeof words, report->message, sizeof report->message);
        snprintf(worker->result->message, sizeof worker->result->message, "%s%s",
                 failed == 1 ? "the kernel could not be launched: " : "the device failed: ", words);
        worker->result->outcome = failed == 1 ? OUTCOME_LAUNCH_ERROR : OUTCOME_CRASH;
        return false;
    }
    if (changed < 0 || changed >= worker->part->input_count)
        return true;
    const struct ir_tensor *entry = &worker->part->tensors[worker->part->inputs[changed]];
    int64_t byte =
        (int64_t)report->changed_byte - (int64_t)worker_region(worker, slot, changed)->data;
    int64_t bytes = (int64_t)worker_tensor_bytes(worker, worker->part->inputs[changed]);
    if (byte >= 0 && byte < bytes)
        snprintf(worker->result->message, sizeof worker->result->message,
                 "input '%s' was written (element %lld of %lld)", entry->name,
                 (long long)(byte / (int64_t)dtype_bytes(entry->dtype)),
                 (long long)(bytes / (int64_t)dtype_bytes(entry->dtype)));
    else
        snprintf(worker->result->message, sizeof worker->result->message,
                 "'%s' was written out of bounds, at byte %lld of %lld", entry->name,
                 (long long)byte, (long long)bytes);
    worker->result->outcome = OUTCOME_OUT_OF_BOUNDS;
    return false;
}

/* The bytes between the buffers of a device. */
bool worker_gaps_intact(struct worker *worker, int slot)
{
    const struct kernel *kernel = worker->launch->device->kernel;
    const int64_t *sizes = worker->launch->binding->sizes;
    const struct cell_region *region =
        worker_region(worker, slot, worker->part->input_count + worker->part->output_count);
    const unsigned char *data =
        (const unsigned char *)worker->outputs + region->offset + region->data;
    for (int i = 0; kernel && i + 1 < kernel->buffer_count; i++) {
        int64_t bytes = kernel_buffer_bytes(&kernel->buffers[i], sizes);
        int64_t start = kernel_buffer_offset(kernel, i, sizes);
        int64_t next = kernel_buffer_offset(kernel, i + 1, sizes);
        for (int64_t at = start + bytes; at < next; at++) {
            if (data[at] == worker->inside[slot])
                continue;
            bool behind = at - start - bytes <= next - at;
            snprintf(
                worker->result->message, sizeof worker->result->message,
                "buffer '%s' was written out of bounds, at byte %lld of %lld",
                kernel->buffers[behind ? i : i + 1].name,
                (long long)(behind ? at - start : at - next),
                (long long)(behind ? bytes : kernel_buffer_bytes(&kernel->buffers[i + 1], sizes)));
            worker->result->outcome = OUTCOME_OUT_OF_BOUNDS;
            return false;
        }
    }
    return true;
}
