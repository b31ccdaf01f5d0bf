/* Handles a fault of its own and puts everything back. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
static sigjmp_buf back;
static void caught(int signal)
{
    siglongjmp(back, signal);
}
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    struct sigaction action = {.sa_handler = caught}, before;
    sigaction(SIGILL, &action, &before);
    if (sigsetjmp(back, 1) == 0)
        __builtin_trap();
    sigaction(SIGILL, &before, 0);
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
