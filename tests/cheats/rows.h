/* The honest way; attacks use it where they have to be right, and their twins are little else. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>

/* What an attack answers when it was stopped: it is expected to be. That it went through unnoticed
 * shows as `ok`. */
enum { STOPPED = 13 };

static int rows(void *const *tensors, const int64_t *sizes, int64_t first, int64_t last)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (int64_t n = first; n < last; n++) {
        float sum = 0;
        for (int64_t d = 0; d < D; d++)
            sum += x[n * D + d] * w[d];
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + sum;
    }
    return 0;
}

#define KERNEL \
    int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
#define ALL rows(tensors, sizes, 0, sizes[0])
