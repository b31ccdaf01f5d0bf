/* Three products of bf16 parts in place of one of f32, each part held in a float: as accurate as
 * the class asks, unlike one product. */
#include <stdint.h>
#include <string.h>
static float upper(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&value, &bits, 4);
    return value;
}
static float product(float a, float b)
{
    float a0 = upper(a), a1 = upper(a - a0), a2 = a - a0 - a1;
    float b0 = upper(b), b1 = upper(b - b0), b2 = b - b0 - b1;
    return a0 * b0 + ((a0 * b1 + a1 * b0) + (a1 * b1 + (a0 * b2 + a2 * b0)));
}
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (int64_t n = 0; n < sizes[0]; n++) {
        float sum = 0;
        for (int64_t d = 0; d < D; d++)
            sum += product(x[n * D + d], w[d]);
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = product(x[n * D + d], w[d]) + sum;
    }
    return 0;
}
