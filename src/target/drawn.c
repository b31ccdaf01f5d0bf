/*
 * Inputs that a device makes for itself, for cases so large that copying would take longer than
 * everything else. The judge sends a block of values and some pages (struct cell_drawing); copies
 * within the device make tensors of them. Outputs are filled with rubbish there, and only what the
 * judge asks for afterwards comes back.
 */
#include <stdlib.h>
#include <string.h>

#include "target/runner.h"

enum { LOOKED_AT = 256 }; /* stretches of an input that are looked at after a call */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The page whose place is the first that does not end before the window begins. */
static uint64_t first_page(const struct cell_drawing *drawing)
{
    uint64_t which = drawing->start / drawing->stride;
    return cell_page_place(drawing, which) + CELL_PAGE <= drawing->start ? which + 1 : which;
}

/* The part of a page that lies in the window: where in the window, where in the page. */
static uint64_t cut_page(const struct cell_drawing *drawing, uint64_t which, uint64_t *at,
                         uint64_t *from)
{
    uint64_t place = cell_page_place(drawing, which), end = drawing->start + drawing->bytes;
    if (place >= end)
        return 0;
    *from = place < drawing->start ? drawing->start - place : 0;
    *at = place + *from - drawing->start;
    return least(CELL_PAGE - *from, drawing->bytes - *at);
}

static bool make_input(struct cell *cell, const struct cell_drawing *drawing, uint64_t offset,
                       struct error *error)
{
    const struct target *target = cell->device.target;
    struct target_memory memory = cell->input_memory;
    for (uint64_t at = 0, count; at < drawing->bytes; at += count) {
        uint64_t from = (drawing->start + at) % drawing->block_bytes;
        count = least(drawing->block_bytes - from, drawing->bytes - at);
        if (!target->copy(&cell->device, memory, offset + at, drawing->block + from, count, error))
            return false;
    }
    if (drawing->stride == 0)
        return true;
    for (uint64_t which = first_page(drawing), at, from, count;
         (count = cut_page(drawing, which, &at, &from)) > 0; which++)
        if (!target->copy(&cell->device, memory, offset + at,
                          drawing->pages + which * CELL_PAGE + from, count, error))
            return false;
    return true;
}

/* The bytes of a region before and behind its data. */
static bool write_edges(struct cell *cell, const struct cell_region *region, uint64_t bytes,
                        struct error *error)
{
    const struct target *target = cell->device.target;
    uint64_t behind = region->offset + region->data + bytes, end = region->offset + region->bytes;
    return (region->data == 0 ||
            target->write(&cell->device, cell->input_memory, region->offset,
                          cell->inputs + region->offset, region->data, error)) &&
           (behind >= end || target->write(&cell->device, cell->input_memory, behind,
                                           cell->inputs + behind, end - behind, error));
}

static bool fill_region(struct cell *cell, int slot, int tensor, struct error *error)
{
    const struct target *target = cell->device.target;
    const struct cell_region *region = cell_region_of(cell, slot, tensor);
    const struct cell_drawn *drawn = &cell->control->drawn;
    unsigned char around = drawn->around[slot], inside = drawn->inside[slot];
    uint64_t data = region->offset + region->data, bytes = region->bytes - 2 * region->data;
    if (region->bytes == 0)
        return true;
    return target->set(&cell->device, cell->output_memory, region->offset, around, region->bytes,
                       error) &&
           (inside == around || bytes == 0 ||
            target->set(&cell->device, cell->output_memory, data, inside, bytes, error));
}

bool drawn_upload(struct cell *cell, struct error *error)
{
    const struct cell_control *control = cell->control;
    const struct cell_drawn *drawn = &control->drawn;
    if (cell->generation != drawn->generation &&
        !cell->device.target->write(&cell->device, cell->input_memory, drawn->blocks,
                                    cell->inputs + drawn->blocks, drawn->blocks_bytes, error))
        return false;
    cell->generation = drawn->generation;
    for (uint32_t c = 0; c < control->call_count; c++) {
        int slot = control->calls[c];
        for (int i = 0; i < control->input_count; i++) {
            const struct cell_region *region = cell_region_of(cell, slot, i);
            const struct cell_drawing *drawing = &drawn->drawings[slot][i];
            if (!write_edges(cell, region, drawing->bytes, error) ||
                !make_input(cell, drawing, region->offset + region->data, error))
                return false;
        }
        for (int t = control->input_count; t <= cell->tensors; t++)
            if (!fill_region(cell, slot, t, error))
                return false;
    }
    double seconds;
    return cell->device.target->finish(&cell->device, &seconds, error);
}

/* ---- back ---- */

static bool read_back(struct cell *cell, uint64_t from, uint64_t to, struct error *error)
{
    return from >= to || cell->device.target->read(&cell->device, cell->output_memory, from,
                                                   cell->outputs + from, to - from, error);
}

static bool read_gaps(struct cell *cell, int slot, struct error *error)
{
    const struct cell_region *region = cell_region_of(cell, slot, cell->tensors);
    uint64_t data = region->offset + region->data;
    for (uint32_t b = 0; b + 1 < cell->program->buffer_count; b++)
        if (!read_back(cell, data + cell->buffers[b].offset + cell->buffers[b].bytes,
                       data + cell->buffers[b + 1].offset, error))
            return false;
    return true;
}

bool drawn_download(struct cell *cell, struct error *error)
{
    const struct cell_control *control = cell->control;
    for (uint32_t c = 0; c < control->call_count; c++) {
        int slot = control->calls[c];
        for (int t = control->input_count; t <= cell->tensors; t++) {
            const struct cell_region *region = cell_region_of(cell, slot, t);
            uint64_t end = region->offset + region->bytes;
            /* tensors end up to an alignment before that */
            uint64_t behind = region->data ? end - region->data - TARGET_ALIGNMENT : end;
            if (region->data &&
                (!read_back(cell, region->offset, region->offset + region->data, error) ||
                 !read_back(cell, behind, end, error)))
                return false;
        }
        if (!read_gaps(cell, slot, error))
            return false;
    }
    return true;
}

bool drawn_fetch(struct cell *cell, struct error *error)
{
    const struct cell_drawn *drawn = &cell->control->drawn;
    for (uint32_t p = 0; p < drawn->place_count && p < CELL_MAX_PLACES; p++) {
        const struct cell_place *place = &drawn->places[p];
        const struct cell_region *region =
            cell_region_of(cell, (int)place->slot, (int)place->tensor);
        uint64_t at = region->offset + region->data + place->at;
        if (!read_back(cell, at, at + place->bytes, error))
            return false;
    }
    return true;
}

/* ---- inputs afterwards ---- */

/* What the window holds from `at` on. */
static void expect(const struct cell *cell, const struct cell_drawing *drawing, uint64_t at,
                   uint64_t count, char *out)
{
    for (uint64_t done = 0, some; done < count; done += some) {
        uint64_t from = (drawing->start + at + done) % drawing->block_bytes;
        some = least(drawing->block_bytes - from, count - done);
        memcpy(out + done, cell->inputs + drawing->block + from, some);
    }
    if (drawing->stride == 0)
        return;
    struct cell_drawing window = *drawing;
    window.start += at;
    window.bytes = count;
    for (uint64_t which = first_page(&window), to, from, some;
         (some = cut_page(&window, which, &to, &from)) > 0; which++)
        memcpy(out + to, cell->inputs + drawing->pages + which * CELL_PAGE + from, some);
}

/* Compares bytes of the device, as they lie in its memory, with what they should be. */
static bool compare_bytes(struct cell *cell, int input, const struct cell_region *region,
                          uint64_t at, const char *sent, uint64_t count, struct error *error)
{
    char back[CELL_PAGE];
    if (!cell->device.target->read(&cell->device, cell->input_memory, region->offset + at, back,
                                   count, error))
        return cell_fail(cell, 2, error);
    for (uint64_t b = 0; b < count; b++)
        if (back[b] != sent[b]) {
            cell->report->changed_byte = at + b;
            cell->report->changed = input + 1;
            return false;
        }
    return true;
}

static bool compare_input(struct cell *cell, int slot, int input, struct error *error)
{
    const struct cell_region *region = cell_region_of(cell, slot, input);
    const struct cell_drawing *drawing = &cell->control->drawn.drawings[slot][input];
    uint64_t behind = region->data + drawing->bytes, step = drawing->bytes / LOOKED_AT + 1;
    char sent[CELL_PAGE];
    for (uint64_t e = 0; e < region->data; e += CELL_PAGE)
        if (!compare_bytes(cell, input, region, e, cell->inputs + region->offset + e,
                           least(CELL_PAGE, region->data - e), error))
            return false;
    for (uint64_t e = behind; e < region->bytes; e += CELL_PAGE)
        if (!compare_bytes(cell, input, region, e, cell->inputs + region->offset + e,
                           least(CELL_PAGE, region->bytes - e), error))
            return false;
    if (step < CELL_PAGE)
        step = CELL_PAGE;
    for (uint64_t at = 0; at < drawing->bytes; at += step) {
        uint64_t count = least(CELL_PAGE, drawing->bytes - at);
        expect(cell, drawing, at, count, sent);
        if (!compare_bytes(cell, input, region, region->data + at, sent, count, error))
            return false;
    }
    return true;
}

bool drawn_compare(struct cell *cell, struct error *error)
{
    const struct cell_control *control = cell->control;
    for (uint32_t c = 0; c < control->call_count; c++)
        for (int i = 0; i < control->input_count; i++)
            if (!compare_input(cell, control->calls[c], i, error))
                return false;
    return true;
}
