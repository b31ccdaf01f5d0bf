// expect softmax bounds behind a buffer
// one vector too far
#include <stdint.h>

int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0];
    float *y = tensors[1];
    int64_t n = sizes[0], d = sizes[1];
    (void)scalars, (void)scratch;
    for (int64_t i = 0; i < n * d; i++)
        y[i] = x[i];
    y[n * d + 3] = 1;
    return 0;
}
