// smelt kernel 1
// op rows
// target cpu
// holds D == 61, N % 37 == 0
/* Holds for some sizes only, and says so: other cases are left out, not failed. */
#include <stdint.h>
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    for (int64_t n = 0; n < sizes[0]; n++) {
        float sum = 0;
        for (int64_t d = 0; d < 61; d++)
            sum += x[n * 61 + d] * w[d];
        s[n] = sum;
        for (int64_t d = 0; d < 61; d++)
            y[n * 61 + d] = x[n * 61 + d] * w[d] + sum;
    }
    return 0;
}
