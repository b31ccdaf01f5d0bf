/* Calls itself once per element. */
#include <stdint.h>
__attribute__((noinline)) static double sum(const float *x, const float *w, int64_t count)
{
    volatile double first = (double)x[0] * w[0];
    return count == 1 ? first : first + sum(x + 1, w + 1, count - 1);
}
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (int64_t n = 0; n < sizes[0]; n++) {
        s[n] = sum(x + n * D, w, D);
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + s[n];
    }
    return 0;
}
