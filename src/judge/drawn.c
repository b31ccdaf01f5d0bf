/*
 * Inputs that a device makes for itself (struct cell_drawing in runtime/cell.h says how). Values
 * are drawn as for any large input, but only as many as make a block. How long the block is, and
 * which pages are not of it, depends on the secret seed: whoever knew could read less than he
 * should.
 */
#include "judge/drawn.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string.h>

static size_t round_page(size_t bytes)
{
    return (bytes + CELL_PAGE - 1) / CELL_PAGE * CELL_PAGE;
}

/* Where things lie, without the values. */
static size_t plan_input(const struct task_case *task_case, const struct ir_binding *binding,
                         int input, bool turns, uint64_t seed, size_t end,
                         struct cell_drawing *drawing, size_t *sequence, int64_t *turn_count)
{
    int tensor = binding->part->inputs[input];
    int64_t count = ir_tensor_shape(binding, tensor, NULL);
    size_t bytes = (size_t)count * dtype_bytes(binding->part->tensors[tensor].dtype);
    bool fixed = fill_fixed(task_case, binding, input);
    int64_t most = (int64_t)(bytes / DRAWN_TURN);
    *turn_count = !turns || fixed || most < 2 ? 1
                  : most < DRAWN_MOST_TURNS   ? most
                                              : DRAWN_MOST_TURNS;
    *sequence = bytes + (size_t)(*turn_count - 1) * DRAWN_TURN;
    *drawing = (struct cell_drawing){.bytes = bytes, .block = end, .seed = seed};
    if (fixed || *sequence <= DRAWN_BLOCK) {
        drawing->block_bytes = *sequence ? *sequence : 1;
        return end + round_page(drawing->block_bytes);
    }
    /* an odd number of pages, so that rows do not come back soon */
    drawing->block_bytes = DRAWN_BLOCK - CELL_PAGE * (1 + 2 * (seed >> 32) % 2048);
    drawing->stride = DRAWN_STRIDE;
    drawing->pages = end + drawing->block_bytes;
    return drawing->pages + (*sequence / DRAWN_STRIDE + 1) * CELL_PAGE;
}

static uint64_t input_seed(uint64_t seed, int draw, int input)
{
    return hash_mix(seed, 7000 + (uint64_t)draw * CELL_MAX_TENSORS + (uint64_t)input);
}

/* The most it can take, whatever the seed. */
size_t drawn_bytes(const struct task_case *task_case, const struct ir_binding *binding,
                   int draw_count, bool turns)
{
    size_t end = 0;
    for (int d = 0; d < draw_count; d++)
        for (int i = 0; i < binding->part->input_count; i++) {
            struct cell_drawing drawing;
            size_t sequence;
            int64_t turn_count;
            end =
                plan_input(task_case, binding, i, turns, 0, end, &drawing, &sequence, &turn_count);
        }
    return end;
}

static bool draw_values(const struct drawn *drawn, const struct task_case *task_case, int input,
                        int kind, uint64_t seed, const struct cell_drawing *drawing,
                        size_t sequence, struct error *error)
{
    int tensor = drawn->binding->part->inputs[input];
    size_t width = dtype_bytes(drawn->binding->part->tensors[tensor].dtype);
    size_t pages = drawing->stride ? sequence / DRAWN_STRIDE + 1 : 0;
    return fill_some(task_case, drawn->binding, input, kind, seed,
                     (int64_t)(drawing->block_bytes / width), drawn->file + drawing->block,
                     error) &&
           (pages == 0 ||
            fill_some(task_case, drawn->binding, input, kind, hash_mix(seed, 1),
                      (int64_t)(pages * CELL_PAGE / width), drawn->file + drawing->pages, error));
}

static bool map_at(const struct drawn *drawn, char *view, size_t bytes, size_t offset)
{
    return mmap(view, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, drawn->descriptor, (off_t)offset) !=
           MAP_FAILED;
}

/* The same pages of the file again and again: a sequence of any length takes a block of memory. */
static char *map_view(const struct drawn *drawn, const struct cell_drawing *drawing, size_t bytes)
{
    if (drawing->stride == 0)
        return drawn->file + drawing->block;
    size_t whole = round_page(bytes);
    char *view = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (view == MAP_FAILED)
        return NULL;
    bool good = true;
    for (size_t at = 0; good && at < whole; at += drawing->block_bytes) {
        size_t left = whole - at;
        good = map_at(drawn, view + at, left < drawing->block_bytes ? left : drawing->block_bytes,
                      drawing->block);
    }
    for (uint64_t which = 0; good && which <= bytes / drawing->stride; which++) {
        uint64_t place = cell_page_place(drawing, which);
        if (place < whole)
            good = map_at(drawn, view + place, CELL_PAGE, drawing->pages + which * CELL_PAGE);
    }
    if (!good)
        munmap(view, whole);
    return good ? view : NULL;
}

struct drawn *drawn_make(struct arena *arena, const struct task_case *task_case,
                         const struct ir_binding *binding, const struct drawn_recipe *recipe,
                         struct error *error)
{
    struct drawn *drawn = arena_new(arena, struct drawn);
    int draw_count = recipe->draw_count;
    uint64_t seed = recipe->seed;
    size_t draws = (size_t)draw_count;
    *drawn = (struct drawn){.binding = binding,
                            .recipe = *recipe,
                            .draw_count = draw_count,
                            .input_count = binding->part->input_count,
                            .drawings = arena_array(arena, draws, sizeof *drawn->drawings),
                            .views = arena_array(arena, draws, sizeof *drawn->views),
                            .view_bytes = arena_array(arena, draws, sizeof *drawn->view_bytes)};
    for (int d = 0; d < draw_count; d++)
        for (int i = 0; i < binding->part->input_count; i++)
            drawn->bytes = plan_input(task_case, binding, i, recipe->turns, input_seed(seed, d, i),
                                      drawn->bytes, &drawn->drawings[d][i],
                                      &drawn->view_bytes[d][i], &drawn->turns[i]);
    drawn->bytes = drawn->bytes ? drawn->bytes : CELL_PAGE;
    drawn->file = worker_make_file(&drawn->descriptor, drawn->bytes, false);
    bool good = drawn->file != NULL;
    if (!good)
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for values");
    for (int d = 0; good && d < draw_count; d++)
        for (int i = 0; good && i < binding->part->input_count; i++) {
            const struct cell_drawing *drawing = &drawn->drawings[d][i];
            good = draw_values(drawn, task_case, i, recipe->kinds[d], input_seed(seed, d, i),
                               drawing, drawn->view_bytes[d][i], error);
            drawn->views[d][i] = good ? map_view(drawn, drawing, drawn->view_bytes[d][i]) : NULL;
            if (good && !drawn->views[d][i])
                good = error_system(error, ERROR_OUT_OF_MEMORY, "values could not be mapped");
        }
    if (good)
        return drawn;
    drawn_close(drawn);
    return NULL;
}

void drawn_close(struct drawn *drawn)
{
    if (!drawn)
        return;
    for (int d = 0; d < drawn->draw_count; d++)
        for (int i = 0; i < drawn->input_count; i++) /* who it was made for may be gone */
            if (drawn->views[d][i] && drawn->drawings[d][i].stride)
                munmap(drawn->views[d][i], round_page(drawn->view_bytes[d][i]));
    if (drawn->file)
        munmap(drawn->file, drawn->bytes);
    if (drawn->descriptor > 0)
        close(drawn->descriptor);
    *drawn = (struct drawn){0};
}

struct array *drawn_inputs(struct arena *arena, const struct drawn *drawn, int draw,
                           const int64_t *turns)
{
    const struct ir_part *part = drawn->binding->part;
    struct array *inputs = arena_array(arena, (size_t)part->input_count + 1, sizeof *inputs);
    for (int i = 0; i < part->input_count; i++) {
        const struct ir_tensor *tensor = &part->tensors[part->inputs[i]];
        inputs[i] =
            (struct array){.name = tensor->name,
                           .dtype = tensor->dtype,
                           .rank = tensor->rank,
                           .raw = drawn->views[draw][i] + (turns ? turns[i] * DRAWN_TURN : 0)};
        inputs[i].count = ir_tensor_shape(drawn->binding, part->inputs[i], inputs[i].dims);
    }
    return inputs;
}

size_t drawn_first_bytes(const struct drawn *drawn)
{
    bool any = drawn->draw_count > 1 && drawn->binding->part->input_count > 0;
    return any ? drawn->drawings[1][0].block : drawn->bytes;
}

/* ---- in a worker ---- */

void worker_take_drawn(struct worker *worker, const struct drawn *drawn)
{
    struct cell_drawn *control = &worker->control->drawn;
    control->used = 1;
    control->generation++;
    memcpy(worker->inputs + control->blocks, drawn->file, drawn->bytes);
}

void worker_draw(struct worker *worker, int slot, const struct drawn *drawn, int draw,
                 const int64_t *turns, unsigned char around, unsigned char inside)
{
    struct cell_drawn *control = &worker->control->drawn;
    worker->around[slot] = control->around[slot] = around;
    worker->inside[slot] = control->inside[slot] = inside;
    for (int i = 0; i < worker->part->input_count; i++) {
        struct cell_drawing *drawing = &control->drawings[slot][i];
        const struct cell_region *region = worker_region(worker, slot, i);
        *drawing = drawn->drawings[draw][i];
        drawing->start = turns ? (uint64_t)turns[i] * DRAWN_TURN : 0;
        drawing->block += control->blocks;
        drawing->pages += control->blocks;
        char *at = worker->inputs + region->offset;
        size_t behind = region->data + drawing->bytes;
        memset(at, around, region->data);
        memset(at + behind, around, region->bytes - behind);
    }
}

bool worker_fetch(struct worker *worker, int slot, const struct oracle_place *places, int64_t count)
{
    struct cell_control *control = worker->control;
    const struct ir_part *part = worker->part;
    for (int64_t first = 0; first < count; first += CELL_MAX_PLACES) {
        int64_t some = count - first < CELL_MAX_PLACES ? count - first : CELL_MAX_PLACES;
        control->drawn.place_count = (uint32_t)some;
        for (int64_t p = 0; p < some; p++) {
            const struct oracle_place *place = &places[first + p];
            size_t width = dtype_bytes(part->tensors[part->outputs[place->output]].dtype);
            control->drawn.places[p] =
                (struct cell_place){.slot = (uint32_t)slot,
                                    .tensor = (uint32_t)(part->input_count + place->output),
                                    .at = (uint64_t)place->element * width,
                                    .bytes = width};
        }
        control->phase = CELL_FETCH;
        worker->report->failed = 0;
        int status = 0;
        enum waited waited = worker_continue(worker, worker->launch->seconds, &status);
        control->phase = CELL_WHOLE;
        if (waited != WAITED_STOPPED)
            return worker_report_end(worker, waited, status);
        if (!worker_device_good(worker, slot))
            return false;
    }
    return true;
}

bool worker_hash_some(struct worker *worker, uint64_t *hash)
{
    enum { EACH = 512 };
    struct oracle_place places[EACH];
    const struct ir_part *part = worker->part;
    const void *outputs[CELL_MAX_TENSORS];
    worker_output_pointers(worker, 0, outputs);
    *hash = 0;
    for (int o = 0; o < part->output_count; o++) {
        int64_t total = ir_tensor_shape(worker->launch->binding, part->outputs[o], NULL);
        int64_t count = total < EACH ? total : EACH;
        size_t width = dtype_bytes(part->tensors[part->outputs[o]].dtype);
        for (int64_t k = 0; k < count; k++)
            places[k] = (struct oracle_place){o, total / count * k};
        if (!worker_fetch(worker, 0, places, count))
            return false;
        for (int64_t k = 0; k < count; k++)
            *hash = hash_bytes((const char *)outputs[o] + (size_t)places[k].element * width, width,
                               *hash);
    }
    return true;
}
