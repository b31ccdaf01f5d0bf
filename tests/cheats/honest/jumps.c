/* Leaves loops by longjmp. */
#include <setjmp.h>
#include <stdint.h>
static jmp_buf out;
static void add(const float *x, const float *w, int64_t count, volatile float *sum)
{
    for (int64_t d = 0;; d++) {
        if (d == count)
            longjmp(out, 1);
        *sum += x[d] * w[d];
    }
}
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (volatile int64_t n = 0; n < sizes[0]; n++) {
        volatile float sum = 0;
        if (setjmp(out) == 0)
            add(x + n * D, w, D, &sum);
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + sum;
    }
    return 0;
}
