/* Packs what belongs to w again only when all of w has changed or not been seen: right, and no use.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    static float *kept;
    static double *doubled;
    static int64_t kept_count;
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    if (kept_count != D || memcmp(kept, w, D * 4) != 0) {
        kept = realloc(kept, D * 4);
        doubled = realloc(doubled, D * 8);
        memcpy(kept, w, D * 4);
        for (int64_t d = 0; d < D; d++)
            doubled[d] = w[d];
        kept_count = D;
    }
    for (int64_t n = 0; n < sizes[0]; n++) {
        double sum = 0;
        for (int64_t d = 0; d < D; d++)
            sum += x[n * D + d] * doubled[d];
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + s[n];
    }
    return 0;
}
