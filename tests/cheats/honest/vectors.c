/* GCC's vector types of an odd width, with a scalar tail. */
#include <stdint.h>
#include <string.h>
typedef float vector __attribute__((vector_size(128)));
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1], whole = D / 32 * 32;
    for (int64_t n = 0; n < sizes[0]; n++) {
        vector lanes = {0}, a, b;
        float sum = 0;
        for (int64_t d = 0; d < whole; d += 32) {
            memcpy(&a, x + n * D + d, sizeof a);
            memcpy(&b, w + d, sizeof b);
            lanes += a * b;
        }
        for (int i = 0; i < 32; i++)
            sum += lanes[i];
        for (int64_t d = whole; d < D; d++)
            sum += x[n * D + d] * w[d];
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + sum;
    }
    return 0;
}
