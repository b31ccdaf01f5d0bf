/* Turns denormals off and leaves it at that. */
#include <stdint.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
    for (int64_t n = 0; n < sizes[0]; n++) {
        float sum = 0;
        for (int64_t d = 0; d < D; d++)
            sum += x[n * D + d] * w[d];
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + sum;
    }
    return 0;
}
