/*
 * Private to src/gen: the languages for devices, of which each is a row.
 */
#ifndef SMELT_GEN_DEVICE_DEVICE_H
#define SMELT_GEN_DEVICE_DEVICE_H

#include "gen/c/loop.h"
#include "kernel/kernel.h"

/* A file for a device while it is written: its kernels go to emitter->out. */
struct device_file {
    struct emitter *emitter;
    const struct ir_part *part; /* as the manifest knows it */
    struct device_steps VECTOR(struct kernel_step) steps;
    struct device_buffers VECTOR(struct kernel_buffer) buffers;
};

/* An emitter for kernels of the dialect. */
struct emitter device_emitter(struct text *body, const struct dialect *dialect);
/* A buffer of the file; its name is like `wanted`, and means nothing else in the manifest. */
int device_buffer(struct device_file *file, const char *wanted, enum dtype dtype,
                  const struct ir_size *count, bool zero);
/* A flat program, stage by stage. `tensors` says what its inputs and outputs are in the file; NULL:
 * number for number. Sizes and scalars are those of the file's part. */
void device_plain(struct device_file *file, const struct ir_program *flat,
                  const struct kernel_argument *tensors);
/* Everything in front of the kernels, and the kernels. */
struct device_head {
    const struct gen_contract *contract; /* of a plain kernel, or NULL... */
    const struct gen_head *head;         /* ...of one by a plan */
};
void device_finish(struct device_file *file, struct text *out, const struct text *body,
                   const struct device_head *head);

/* The language of a target; NULL: it is not one for devices. */
const struct dialect *dialect_of(const char *target);

#endif
