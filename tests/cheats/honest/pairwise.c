/* Sums in pairs, by recursion. */
#include <stdint.h>
__attribute__((noinline)) static float sum(const float *x, const float *w, int64_t count)
{
    if (count <= 8) {
        float total = 0;
        for (int64_t i = 0; i < count; i++)
            total += x[i] * w[i];
        return total;
    }
    return sum(x, w, count / 2) + sum(x + count / 2, w + count / 2, count - count / 2);
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
