/* Sums from the end, in seven strands. */
#include <stdint.h>
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (int64_t n = sizes[0]; n-- > 0;) {
        float strands[7] = {0};
        for (int64_t d = D; d-- > 0;)
            strands[d % 7] += x[n * D + d] * w[d];
        s[n] = ((strands[0] + strands[1]) + (strands[2] + strands[3])) +
               ((strands[4] + strands[5]) + strands[6]);
        for (int64_t d = D; d-- > 0;)
            y[n * D + d] = x[n * D + d] * w[d] + s[n];
    }
    return 0;
}
