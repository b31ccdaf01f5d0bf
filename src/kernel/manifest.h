/*
 * Private to src/kernel: a manifest while it is read, shared by kernel.c and steps.c.
 */
#ifndef SMELT_KERNEL_MANIFEST_H
#define SMELT_KERNEL_MANIFEST_H

#include "base/vector.h"
#include "kernel/kernel.h"

struct manifest {
    struct arena *arena;
    const struct ir_part *part;
    struct kernel *kernel;
    struct errors *errors;
    struct buffer_list VECTOR(struct kernel_buffer) buffers;
    struct step_list VECTOR(struct kernel_step) steps;
    struct place open[KERNEL_MAX_REPEATS]; /* the repeats that are not ended yet */
    const char *counters[KERNEL_MAX_REPEATS];
    int open_count;
};

/* ---- pieces of text (kernel.c) ---- */

const char *piece_text(struct arena *arena, struct place piece);
struct place piece_trim(struct place piece);
/* Cuts the first word off. */
struct place piece_word(struct place *piece);

/* ---- what a device does (steps.c): the lines in the order they come ---- */

bool steps_read_buffer(struct manifest *m, struct place value);
bool steps_read_launch(struct manifest *m, struct place value);
bool steps_read_repeat(struct manifest *m, struct place value);
bool steps_read_end(struct manifest *m, struct place value);
/* Once all lines are read: takes them into the kernel. */
bool steps_finish(struct manifest *m, struct place head);
void steps_print(struct text *out, const struct kernel *kernel, const struct ir_part *part);

#endif
