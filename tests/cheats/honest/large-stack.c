/* Several megabytes on the stack. */
#include <stdint.h>
#include <string.h>
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    volatile float room[3 << 20];
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (int64_t n = 0; n < sizes[0]; n++) {
        float sum = 0;
        for (int64_t d = 0; d < D; d++)
            room[(d * 7919) % (3 << 20)] = x[n * D + d] * w[d];
        for (int64_t d = 0; d < D; d++)
            sum += room[(d * 7919) % (3 << 20)];
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = room[(d * 7919) % (3 << 20)] + sum;
    }
    return 0;
}
