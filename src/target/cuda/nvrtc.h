/*
 * Private to src/target/cuda: compiling CUDA C++ by NVRTC.
 */
#ifndef SMELT_TARGET_CUDA_NVRTC_H
#define SMELT_TARGET_CUDA_NVRTC_H

#include "target/target.h"

/* To a cubin for the architecture, "sm_90a". Needs no device. */
bool nvrtc_compile(struct arena *arena, const char *architecture, const char *text, size_t length,
                   struct target_build *build, struct error *error);

/* "NVRTC 13.0"; "" when it is not there. */
void nvrtc_describe(char *out, size_t size);

#endif
