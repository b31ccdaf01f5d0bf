/* Tails by masked loads, which touch nothing beyond the end (AVX-512, else plain). */
#include <stdint.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (int64_t n = 0; n < sizes[0]; n++) {
#if defined(__AVX512F__)
        __m512 lanes = _mm512_setzero_ps();
        for (int64_t d = 0; d < D; d += 16) {
            __mmask16 mask = D - d >= 16 ? 0xffff : (1u << (D - d)) - 1;
            lanes = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, x + n * D + d),
                                    _mm512_maskz_loadu_ps(mask, w + d), lanes);
        }
        float sum = _mm512_reduce_add_ps(lanes);
        for (int64_t d = 0; d < D; d += 16) {
            __mmask16 mask = D - d >= 16 ? 0xffff : (1u << (D - d)) - 1;
            __m512 product = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x + n * D + d),
                                           _mm512_maskz_loadu_ps(mask, w + d));
            _mm512_mask_storeu_ps(y + n * D + d, mask, _mm512_add_ps(product, _mm512_set1_ps(sum)));
        }
#else
        float sum = 0;
        for (int64_t d = 0; d < D; d++)
            sum += x[n * D + d] * w[d];
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + sum;
#endif
        s[n] = sum;
    }
    return 0;
}
