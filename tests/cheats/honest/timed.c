/* Threads and sums in strands, timed. */
#include <stdint.h>
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
#pragma omp parallel for
    for (int64_t n = 0; n < sizes[0]; n++) {
        float strands[8] = {0}, sum = 0;
        for (int64_t d = 0; d < D; d++)
            strands[d % 8] += x[n * D + d] * w[d];
        for (int i = 0; i < 8; i++)
            sum += strands[i];
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + sum;
    }
    return 0;
}
