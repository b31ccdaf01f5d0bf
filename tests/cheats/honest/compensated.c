/* Kahan's sum. */
#include <stdint.h>
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (int64_t n = 0; n < sizes[0]; n++) {
        float sum = 0, lost = 0;
        for (int64_t d = 0; d < D; d++) {
            float term = x[n * D + d] * w[d] - lost, next = sum + term;
            lost = (next - sum) - term;
            sum = next;
        }
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + sum;
    }
    return 0;
}
