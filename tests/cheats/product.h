/* The honest way of a product of matrices, for a range of its rows. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>

static void product(void *const *tensors, const int64_t *sizes, int64_t first, int64_t last)
{
    const float *a = tensors[0], *b = tensors[1];
    float *c = tensors[2];
    int64_t K = sizes[1], N = sizes[2];
    for (int64_t m = first; m < last; m++) {
        for (int64_t n = 0; n < N; n++)
            c[m * N + n] = 0;
        for (int64_t k = 0; k < K; k++)
            for (int64_t n = 0; n < N; n++)
                c[m * N + n] += a[m * K + k] * b[k * N + n];
    }
}

#define KERNEL \
    int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
