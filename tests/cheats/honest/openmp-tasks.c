/* Tasks and a reduction of OpenMP; the order of the sum is left to chance. */
#include <stdint.h>
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (int64_t n = 0; n < sizes[0]; n++) {
        float sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int64_t d = 0; d < D; d++)
            sum += x[n * D + d] * w[d];
        s[n] = sum;
    }
#pragma omp parallel
#pragma omp single
    for (int64_t n = 0; n < sizes[0]; n++)
#pragma omp task firstprivate(n)
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + s[n];
    return 0;
}
