/*
 * Private to src/target/cuda: products of matrices by cuBLAS, opened at run time.
 */
#ifndef SMELT_TARGET_CUDA_CUBLAS_H
#define SMELT_TARGET_CUDA_CUBLAS_H

#include "target/cuda/api.h"
#include "target/target.h"

struct cublas; /* lives as long as the process */

/* Works on this stream of the current context. NULL with MISSING_TOOL and a hint: there is none. */
struct cublas *cublas_open(cu_handle stream, struct error *error);
bool cublas_product(struct cublas *cublas, const struct target_product *product,
                    struct error *error);

#endif
