/*
 * A kernel: source text with a manifest at its head that says what it is for.
 *
 *     // smelt kernel 1
 *     // op softmax T=f32 B=1        the op, its types, how many sizes each rank variable has
 *     // target cpu
 *     // holds D % 4 == 0, D <= 8192  for which sizes it may be called; none: for all
 *     // scratch 4*D                  bytes it wants besides, an expression of sizes; none: 0
 *     // threads 1                    most threads it makes use of; none: as many as it is given
 *
 * The same manifest serves experts, LLMs and people. A source without one is taken to hold for
 * everything the task asks.
 *
 * On `cpu` the source is C17 with one entry:
 *
 *     int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch);
 *
 * tensors: the inputs, then the outputs, in the order of the signature, dense, row-major, 64-byte
 * aligned, no two overlapping. sizes: one per symbol of the part (lets too), in the order of the
 * part. scalars: one per scalar of the part. scratch: 64-byte aligned, contents undefined.
 * Returns 0, or anything else to say that it cannot do this call.
 */
#ifndef SMELT_KERNEL_KERNEL_H
#define SMELT_KERNEL_KERNEL_H

#include "base/base.h"
#include "ir/ir.h"

struct kernel {
    const struct source *source;
    bool has_manifest;
    const char *op;              /* "softmax" */
    const char *instance;        /* "T=f32 B=1", or "" */
    const char *target;          /* "cpu" */
    const struct ir_fact *holds; /* over the symbols of the part */
    int holds_count;
    const struct ir_size *scratch; /* NULL: none */
    int threads;                   /* 0: as many as it is given */
};

enum { KERNEL_MAX_BYTES = 16 << 20, KERNEL_MAX_FACTS = 64 };

/* Reads the manifest against the part it is for. NULL with errors when it is malformed. */
struct kernel *kernel_parse(struct arena *arena, const struct source *source,
                            const struct ir_part *part, struct errors *errors);
/* The manifest lines, each with "// ", as kernel_parse reads them. */
void kernel_print_manifest(struct text *out, const struct kernel *kernel,
                           const struct ir_part *part);
/* "T=f32 B=1" of a part: what `op` lines carry. */
void kernel_print_instance(struct text *out, const struct ir_part *part);
/* Whether it may be called at these sizes (one per symbol); else *which is the fact that fails. */
bool kernel_holds(const struct kernel *kernel, const int64_t *sizes, const struct ir_fact **which);
/* Bytes of scratch at these sizes; -1 when that overflows or is negative. */
int64_t kernel_scratch(const struct kernel *kernel, const int64_t *sizes);

#endif
