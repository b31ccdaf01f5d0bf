/* Loads whole blocks of 64 bytes, over the end of tensors that are 64-byte aligned, and takes care
 * that what is beyond changes nothing. */
#include <stdint.h>
#include <string.h>
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (int64_t n = 0; n < sizes[0]; n++) {
        float sum = 0;
        for (int64_t d = 0; d < D; d += 16) {
            float block[16];
            memcpy(block, w + d, sizeof block);
            __asm__ volatile("" : "+m"(block));
            for (int64_t i = 0; i < 16; i++)
                if (d + i < D)
                    sum += x[n * D + d + i] * block[i];
        }
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + sum;
    }
    return 0;
}
