/* Threads of OpenMP, as many as it is given. */
#include <stdint.h>
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
#pragma omp parallel for schedule(dynamic, 7)
    for (int64_t n = 0; n < sizes[0]; n++) {
        double sum = 0;
        for (int64_t d = 0; d < D; d++)
            sum += (double)x[n * D + d] * w[d];
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + s[n];
    }
    return 0;
}
