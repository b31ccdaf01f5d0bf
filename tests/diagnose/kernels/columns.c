// expect softmax values columns
// elements 8 to 15 of every row are those of another op
#include <math.h>
#include <stdint.h>
#include <string.h>

static float out[1 << 16];

static void softmax(const float *x, float *y, int64_t n, int64_t d)
{
    for (int64_t i = 0; i < n; i++) {
        float most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < d; j++)
            most = fmaxf(most, x[i * d + j]);
        for (int64_t j = 0; j < d; j++)
            sum += expf(x[i * d + j] - most);
        for (int64_t j = 0; j < d; j++)
            y[i * d + j] = expf(x[i * d + j] - most) / sum;
    }
}

int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0];
    float *y = tensors[1];
    int64_t n = sizes[0], d = sizes[1];
    (void)scalars, (void)scratch;
    softmax(x, y, n, d);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 8; j < 16; j++)
            y[i * d + j] = x[i * d + j] * x[i * d + j] + 1;
    return 0;
}
