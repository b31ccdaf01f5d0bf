/* A table made by a constructor, and an indirect function. */
#include <math.h>
#include <stdint.h>
static float powers[256];
__attribute__((constructor)) static void prepare(void)
{
    for (int i = 0; i < 256; i++)
        powers[i] = ldexpf(1, i - 127);
}
static float scale_plain(float value)
{
    return value;
}
static void *choose(void)
{
    return (void *)scale_plain;
}
static float scale(float value) __attribute__((ifunc("choose")));
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (int64_t n = 0; n < sizes[0]; n++) {
        float sum = 0;
        for (int64_t d = 0; d < D; d++)
            sum += scale(x[n * D + d]) * w[d] * powers[127];
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + sum;
    }
    return 0;
}
