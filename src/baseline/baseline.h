/*
 * What a kernel is compared with. A baseline is a kernel like any other: source text with the same
 * entry, compiled, confined and timed in the same way, in a process of its own.
 *
 *   plain          the plain kernel smelt writes: every op has one
 *   kernel:FILE.c  a kernel of the user's own
 *   openblas       OpenBLAS, opened at run time, where the op is a product of matrices
 *   onednn         oneDNN, opened at run time, where the op is one of its primitives
 *   cublas         cuBLAS, on CUDA, opened at run time, where the op is a product of matrices
 *
 * Or it is a program that is given .npy files and measures itself (docs/judge.md has the protocol):
 *
 *   command:PROGRAM ARGUMENTS...
 *   torch:EXPRESSION              PyTorch, by way of tools/baselines/torch_command.py
 *   torch-compile:EXPRESSION      the same by torch.compile
 */
#ifndef SMELT_BASELINE_BASELINE_H
#define SMELT_BASELINE_BASELINE_H

#include "base/base.h"
#include "ir/ir.h"

enum { BASELINE_VARIANTS = 6 };

/* One of the two sides of a product. */
struct baseline_operand {
    int input;       /* number among the inputs */
    bool transposed; /* a is read [k, m], b is read [n, k] */
    bool batched;    /* one per batch; else the same for all */
};

/* y[batch, m, n] += a[batch, m, k] * b[batch, k, n] */
struct baseline_product {
    struct baseline_operand a, b;
    int output;                              /* number among all tensors, inputs first */
    const struct ir_size *batch, *m, *n, *k; /* n NULL: b is a vector */
    enum dtype dtype;                        /* of all three */
};

/* One way to set a baseline up. The best is found by trying. */
struct baseline_variant {
    const struct source *source;
    const char *setup;    /* "OPENBLAS_CORETYPE=SkylakeX", "" when there is nothing to say */
    bool opens_libraries; /* written by us, and needs to read a library of the system's */
    /* Not NULL: what a library of the device's vendor does instead of launches. */
    const struct baseline_product *product;
};

struct baseline {
    const char *name; /* as the user wrote it */
    struct baseline_variant variants[BASELINE_VARIANTS];
    int variant_count;
    const char *const *command; /* instead of variants: an external program and its arguments */
};

enum baseline_answer { BASELINE_READY, BASELINE_DOES_NOT_APPLY, BASELINE_FAILED };

/* Prepares a baseline for a program. DOES_NOT_APPLY and FAILED say why in `error`. */
enum baseline_answer baseline_make(struct arena *arena, const char *name,
                                   const struct ir_program *program, struct baseline *baseline,
                                   struct error *error);
/* Whether it starts a program unconfined: then a task file alone does not suffice to run it. */
bool baseline_starts_program(const char *name);
/* The python that runs PyTorch: $SMELT_PYTHON or python3; NULL when there is none. *version is its
 * PyTorch's, or NULL. */
const char *baseline_python(struct arena *arena, const char **version);

#endif
