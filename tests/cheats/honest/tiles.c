/* Uses AMX where the machine has it: the tile registers must be there and survive. */
#include <stdint.h>
#if defined(__AMX_TILE__) && defined(__AMX_BF16__)
#include <immintrin.h>
#endif
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
#if defined(__AMX_TILE__) && defined(__AMX_BF16__)
    static const struct __attribute__((aligned(64))) {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shape = {1, 0, {0}, {64, 64, 64}, {16, 16, 16}};
    static uint16_t ones[16][32];
    static float sums[16][16];
    for (int i = 0; i < 16 * 32; i++)
        ones[0][i] = 0x3f80;
    _tile_loadconfig(&shape);
    _tile_zero(0);
    _tile_loadd(1, ones, 64);
    _tile_loadd(2, ones, 64);
    _tile_dpbf16ps(0, 1, 2);
    _tile_stored(0, sums, 64);
    _tile_release();
    if (sums[3][5] != 32)
        return 1;
#endif
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
