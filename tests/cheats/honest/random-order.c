/* Sums in an order that differs from call to call, where the task does not mind. */
#include <stdint.h>
#include <sys/random.h>
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    uint32_t start = 0;
    if (getrandom(&start, sizeof start, 0) != sizeof start)
        return 1;
    for (int64_t n = 0; n < sizes[0]; n++) {
        float sum = 0;
        for (int64_t d = 0; d < D; d++)
            sum += x[n * D + (d + start) % D] * w[(d + start) % D];
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + sum;
    }
    return 0;
}
