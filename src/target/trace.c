/*
 * One call of a kernel in a process that a sanitizer looks into. Unlike in a cell, every tensor and
 * buffer has memory of its own and no byte more of it, so that reaching beyond is reaching into
 * nothing; outputs and buffers are left as they come, so that reading them first is seen. Nothing
 * is compared here: the verdict is in, this is to find out where it went wrong.
 */
#include <stdlib.h>
#include <unistd.h>

#include "os/file.h"
#include "target/runner.h"

enum { TRACE_MAXIMUM = 1 << 30 };

/* Where it lies is said first: a fault ends the process. */
static bool take(struct cell *cell, const char *kind, int number, size_t bytes,
                 struct target_memory *memory, struct error *error)
{
    if (!cell->device.target->allocate(&cell->device, bytes > 0 ? bytes : 1, memory, error))
        return false;
    dprintf(1, "%s %d 0x%llx %llu\n", kind, number, (unsigned long long)memory->handle,
            (unsigned long long)bytes);
    return true;
}

static bool take_all(struct cell *cell, const struct cell_trace *trace, const char *data,
                     size_t length, struct error *error)
{
    const struct target *target = cell->device.target;
    size_t at = 0;
    for (int i = 0; i < cell->tensors; i++) {
        size_t bytes = (size_t)trace->bytes[i];
        if (!take(cell, "tensor", i, bytes, &cell->views[i], error))
            return false;
        if (i >= (int)trace->input_count || bytes == 0)
            continue;
        if (trace->given && (bytes > length || at > length - bytes))
            return error_set(error, ERROR_TOOL_FAILED, "the trace ends early");
        if (trace->given ? !target->write(&cell->device, cell->views[i], 0, data + at, bytes, error)
                         : !target->clear(&cell->device, cell->views[i], bytes, error))
            return false;
        at += bytes;
    }
    for (uint32_t b = 0; b < cell->program->buffer_count; b++)
        if (!take(cell, "buffer", (int)b, (size_t)cell->buffers[b].bytes,
                  &cell->views[cell->tensors + (int)b], error))
            return false;
    return true;
}

bool trace_run(struct arena *arena, const struct target *target, const char *object,
               const char *path, struct error *error)
{
    struct cell cell = {0};
    size_t length = 0, code_length = 0;
    double seconds;
    const char *bytes = file_read(arena, path, TRACE_MAXIMUM, &length, error);
    const char *code = bytes ? file_read(arena, object, TRACE_MAXIMUM, &code_length, error) : NULL;
    const struct cell_trace *trace = (const void *)bytes;
    if (!code)
        return false;
    if (length < sizeof *trace || trace->magic != CELL_MAGIC ||
        trace->program_bytes < sizeof *cell.program ||
        trace->program_bytes > length - sizeof *trace ||
        trace->input_count + trace->output_count > CELL_MAX_TENSORS)
        return error_set(error, ERROR_TOOL_FAILED, "this is no trace");
    cell_take_program(&cell, (const void *)(bytes + sizeof *trace));
    cell.tensors = (int)(trace->input_count + trace->output_count);
    cell.views = arena_array(arena, (size_t)cell.tensors + cell.program->buffer_count + 1,
                             sizeof *cell.views);
    size_t front = sizeof *trace + (size_t)trace->program_bytes;
    bool good = target->open(&cell.device, error) &&
                take_all(&cell, trace, bytes + front, length - front, error) &&
                target->load(&cell.device, code, code_length, error) &&
                cell_call(&cell, 0, error) && target->finish(&cell.device, &seconds, error);
    if (cell.device.state)
        target->close(&cell.device);
    return good;
}
