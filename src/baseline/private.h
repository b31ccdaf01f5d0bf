/*
 * Private to src/baseline: one function per kind of baseline.
 */
#ifndef SMELT_BASELINE_PRIVATE_H
#define SMELT_BASELINE_PRIVATE_H

#include "baseline/baseline.h"

typedef enum baseline_answer baseline_maker(struct arena *arena, const char *argument,
                                            const struct ir_program *program,
                                            struct baseline *baseline, struct error *error);

baseline_maker baseline_plain, baseline_kernel, baseline_openblas, baseline_onednn, baseline_cublas,
    baseline_command, baseline_torch, baseline_compiled;

#endif
