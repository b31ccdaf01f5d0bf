/* Leaves out what is zero anyway. */
#include <stdint.h>
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1], used[D], count = 0;
    for (int64_t d = 0; d < D; d++)
        if (w[d] != 0)
            used[count++] = d;
    for (int64_t n = 0; n < sizes[0]; n++) {
        float sum = 0;
        for (int64_t k = 0; k < count; k++)
            sum += x[n * D + used[k]] * w[used[k]];
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = sum;
        for (int64_t k = 0; k < count; k++)
            y[n * D + used[k]] += x[n * D + used[k]] * w[used[k]];
    }
    return 0;
}
