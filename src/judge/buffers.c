/*
 * The files a cell's tensors lie in, and where in them each has its place.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "judge/launch.h"

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

struct cell_region *worker_region(const struct worker *worker, int slot, int tensor)
{
    return &worker->control->regions[cell_number(worker->control, slot, tensor)];
}

/* On a device there are bytes of ours on both sides. Else odd slots lie against the guard behind
 * them, even ones against the one before. Packed ones follow each other, a few lines apart, so that
 * addresses differ in all their bits. */
static void place(const struct worker *worker, struct cell_region *region, size_t *end,
                  size_t bytes, int slot)
{
    const bool device = worker->launch->device != NULL;
    const size_t alignment = device ? TARGET_ALIGNMENT : ALIGNMENT;
    size_t wanted = round_up(bytes ? bytes : 1, alignment);
    region->offset = *end;
    if (worker->packed) {
        region->bytes = wanted;
        region->data = 0;
        *end += wanted + (size_t)(slot * 5 % 7) * alignment;
        return;
    }
    if (device) { /* which has no pages that cannot be touched */
        region->bytes = wanted + 2 * (size_t)DEVICE_GUARD;
        region->data = DEVICE_GUARD;
        *end += region->bytes;
        return;
    }
    region->bytes = round_up(wanted, PAGE);
    region->data = (slot + worker->side) % 2 ? region->bytes - wanted : 0;
    *end += region->bytes;
}

/* Packed slots share their scratch: what a program uses again and again is warm there too. */
static void lay_out(struct worker *worker)
{
    int inputs = worker->part->input_count, outputs = worker->part->output_count;
    for (int slot = 0; slot < worker->slots; slot++) {
        for (int i = 0; i < inputs; i++)
            place(worker, worker_region(worker, slot, i), &worker->input_bytes,
                  worker_tensor_bytes(worker, worker->part->inputs[i]), slot);
        for (int o = 0; o < outputs; o++)
            place(worker, worker_region(worker, slot, inputs + o), &worker->output_bytes,
                  worker_tensor_bytes(worker, worker->part->outputs[o]), slot);
        struct cell_region *scratch = worker_region(worker, slot, inputs + outputs);
        if (worker->packed && slot > 0)
            *scratch = *worker_region(worker, 0, inputs + outputs);
        else
            place(worker, scratch, &worker->output_bytes, (size_t)worker->launch->scratch, slot);
    }
}

char *worker_make_file(int *descriptor, size_t bytes, bool sealed_for_writing)
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

void worker_release_buffers(struct worker *worker)
{
    size_t bytes[] = {sizeof *worker->control, worker->room * worker->input_bytes,
                      worker->room * worker->output_bytes};
    void *mapped[] = {worker->control, worker->inputs, worker->outputs};
    for (int i = 0; i < 3; i++) {
        if (mapped[i])
            munmap(mapped[i], bytes[i]);
        if (worker->descriptors[i] > 0)
            close(worker->descriptors[i]);
    }
}

/* Buffers that are used for many launches lie elsewhere each time, if they are not large: where
 * pages happen to be in the caches is a matter of luck, and part of what is measured. */
static size_t worker_room(struct worker *worker)
{
    enum { MOST_TIMES = 16, ENOUGH_BYTES = 16 << 20 };
    size_t times = ENOUGH_BYTES / (worker->input_bytes + worker->output_bytes);
    worker->room = !worker->packed || times < 1 ? 1 : times > MOST_TIMES ? MOST_TIMES : times;
    return worker->room;
}

bool worker_make_buffers(struct worker *worker)
{
    worker->control =
        (void *)worker_make_file(&worker->descriptors[0], sizeof *worker->control, true);
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
    worker->input_bytes = round_up(worker->input_bytes ? worker->input_bytes : 1, PAGE);
    worker->output_bytes = round_up(worker->output_bytes, PAGE);
    control->drawn.blocks = worker->input_bytes;
    control->drawn.blocks_bytes = worker->drawn;
    worker->input_bytes += round_up(worker->drawn, PAGE);
    control->packed = worker->packed;
    control->input_bytes = worker->input_bytes;
    control->output_bytes = worker->output_bytes;
    size_t room = worker_room(worker);
    worker->inputs = worker_make_file(&worker->descriptors[1], room * worker->input_bytes, true);
    worker->outputs = worker_make_file(&worker->descriptors[2], room * worker->output_bytes, false);
    if (!worker->inputs || !worker->outputs)
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, "no memory for the buffers");
    return true;
}
