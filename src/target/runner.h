/*
 * Private to src/target: the cell of a device, as its files share it.
 */
#ifndef SMELT_TARGET_RUNNER_H
#define SMELT_TARGET_RUNNER_H

#include "runtime/cell.h"
#include "target/target.h"

enum { CELL_MAX_SOURCE = 64 << 20 };

enum { STATUS_GOOD, STATUS_REFUSED, STATUS_UNUSABLE };

struct cell {
    const struct cell_control *control;
    struct cell_report *report;
    const struct cell_program *program;
    size_t program_bytes;
    const struct cell_step *steps;
    const struct cell_argument *arguments;
    const struct cell_buffer *buffers;
    const char *inputs; /* the judge's, mapped */
    char *outputs;
    struct device device;
    struct target_memory input_memory, output_memory, cooling;
    struct target_memory *views; /* per slot: tensors, then buffers; made when they are needed */
    int tensors;                 /* inputs and outputs */
    char *back;                  /* an input as it came back */
    uint32_t generation;         /* of the blocks on the device; 0: none */
    bool recorded;               /* the calls of the next RUN are: see target.h */
};

static inline const struct cell_region *cell_region_of(const struct cell *cell, int slot,
                                                       int tensor)
{
    return &cell->control->regions[cell_number(cell->control, slot, tensor)];
}

/* Keeps the first failure of a call for the report; false. 1: a launch was refused, 2: the device
 * failed. */
bool cell_fail(struct cell *cell, int kind, const struct error *error);

/* Says why in the report, and ends. */
_Noreturn void cell_give_up(struct cell *cell, const char *message);
/* Faults are written down there, and end the process. */
void cell_catch_faults(struct cell_report *report);
/* Maps the files of a launch and closes them, but for the object. */
void cell_map(struct cell *cell, const int *files);
/* On the device, for all slots. */
void cell_take_memory(struct cell *cell);
void cell_load(struct cell *cell, const char *bytes, size_t length);
/* Does what the control block asks for. */
void cell_serve_phase(struct cell *cell);
/* The program of a cell: the arrays behind its head. */
void cell_take_program(struct cell *cell, const struct cell_program *program);
/* The steps of one call. */
bool cell_call(struct cell *cell, int slot, struct error *error);

/* ---- one that stays (stay.c) ---- */

_Noreturn void stay_serve(struct arena *arena, const struct target *target);

/* ---- measuring (probe.c) ---- */

/* Prints a line per rate as src/machine names them, "bandwidth one memory copy 4.2e+12". */
bool probe_run(struct arena *arena, const struct target *target, bool quick, struct error *error);

/* ---- one call for a sanitizer (trace.c) ---- */

/* Each tensor and buffer is memory of its own, no byte longer. False: what went wrong. */
bool trace_run(struct arena *arena, const struct target *target, const char *object,
               const char *path, struct error *error);

/* ---- inputs that the device makes for itself (drawn.c) ---- */

/* Inputs, and rubbish in outputs and scratch, of the slots that are called. */
bool drawn_upload(struct cell *cell, struct error *error);
/* What lies around outputs and between buffers. */
bool drawn_download(struct cell *cell, struct error *error);
/* Whether inputs, as far as they are looked at, and what lies around them, are as they were. */
bool drawn_compare(struct cell *cell, struct error *error);
/* The elements that were asked for. */
bool drawn_fetch(struct cell *cell, struct error *error);

#endif
