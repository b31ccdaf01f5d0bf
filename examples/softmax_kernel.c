// smelt kernel 1
// op softmax T=f32 B=1
// target cpu
// holds D % 8 == 0

#include <math.h>
#include <stdint.h>

typedef float vec __attribute__((vector_size(32)));
typedef uint32_t words __attribute__((vector_size(32)));

enum { LANES = 8 };

static inline vec vec_max(vec a, vec b)
{
    const words greater = (words)(a > b);
    return (vec)(((words)a & greater) | ((words)b & ~greater));
}

/* exp(x) for x <= 0, within about one unit; NaN stays NaN, subnormal results are right, too. */
static inline vec vec_exp(vec x)
{
    const float magic = 12582912.0f;   /* 1.5 * 2^23: adding it rounds to an integer */
    x = vec_max((vec){0} - 104.0f, x); /* below, the result is 0; a NaN is not greater: it stays */
    const vec shifted = x * 1.44269504f + magic;
    const vec whole = shifted - magic;
    const vec r = x - whole * 0.693359375f + whole * 2.12194440e-4f; /* |r| <= ln(2) / 2 */
    vec p = r * (1.0f / 5040) + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    /* 2^n in two steps, since n may be as small as -150 */
    const words n = (words)shifted - 0x4b400000u + 256u;
    const words half = n >> 1;
    const vec first = (vec)((half - 128u + 127u) << 23);
    const vec second = (vec)((n - half - 128u + 127u) << 23);
    return p * first * second;
}

static void softmax_row(const vec *x, vec *y, int64_t count)
{
    vec greatest = x[0], sums = {0};
    for (int64_t i = 1; i < count; i++)
        greatest = vec_max(greatest, x[i]);
    float m = greatest[0], s = 0;
    for (int lane = 1; lane < LANES; lane++)
        m = greatest[lane] > m ? greatest[lane] : m;
    for (int64_t i = 0; i < count; i++) {
        y[i] = vec_exp(x[i] - m);
        sums += y[i];
    }
    for (int lane = 0; lane < LANES; lane++)
        s += sums[lane];
    for (int64_t i = 0; i < count; i++)
        y[i] /= s;
}

int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    const int64_t rows = sizes[0], count = sizes[1] / LANES;
    const vec *x = tensors[0];
    vec *y = tensors[1];
    (void)scalars, (void)scratch;
    if (count == 0)
        return 0;
#pragma omp parallel for
    for (int64_t row = 0; row < rows; row++)
        softmax_row(x + row * count, y + row * count, count);
    return 0;
}
