/*
 * Fuzzes the comparison with what a kernel may have left in its outputs. Whatever the bytes are,
 * `ok` means that each element is the expected one or within its limit, counted here once more.
 *
 * The data are expected values, limits and outputs in turn, eight bytes each.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "judge/private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char PART[] = "ir 1 part pair { size N input x f32[N] input k i32[N]\n"
                           "output y f32[N] output z i32[N] signature (x, k) -> (y, z)\n"
                           "map over n < N { %0 = index n %1 = read x [%0] y [%0] <- %1 }\n"
                           "map over n < N { %0 = index n %1 = read k [%0] z [%0] <- %1 } }";

enum { MOST = 64 };

static bool float_is_right(double expected, double limit, float got)
{
    float rounded = (float)expected;
    if (isinf(limit) || got == rounded || (isnan(got) && isnan(rounded)))
        return true;
    return isfinite(expected) && isfinite(got) && fabs(expected - (double)got) <= limit;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct source text = {"part.ir", PART, sizeof PART - 1};
    const struct ir_program *program = ir_parse(&arena, &text, NULL);
    if (!program)
        abort();
    int64_t count = (int64_t)(size / 24), sizes[1];
    count = count > MOST ? MOST : count;
    sizes[0] = count;
    struct ir_binding *binding = ir_bind(&arena, program, sizes, NULL, NULL);
    double floats[MOST + 1], limit[MOST + 1];
    int64_t integers[MOST + 1];
    float y[MOST + 1];
    int32_t z[MOST + 1];
    bool right = true;
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *at = data + 24 * i;
        memcpy(&floats[i], at, 8);
        memcpy(&limit[i], at + 8, 8);
        limit[i] = isnan(limit[i]) ? 0 : fabs(limit[i]);
        memcpy(&y[i], at + 16, 4);
        memcpy(&z[i], at + 20, 4);
        integers[i] = at[0] & 1 ? z[i] : at[1];
        right = right && float_is_right(floats[i], limit[i], y[i]) && integers[i] == z[i];
    }
    struct array expected[2] = {
        {.dtype = DTYPE_F32, .rank = 1, .dims = {count}, .count = count, .floats = floats},
        {.dtype = DTYPE_I32, .rank = 1, .dims = {count}, .count = count, .integers = integers}};
    double *limits[2] = {limit, NULL};
    struct draw draw = {.expected = expected, .limits = limits};
    const void *bytes[2] = {y, z};
    struct comparison comparison;
    compare_outputs(binding, &draw, bytes, &comparison);
    if ((comparison.outcome == OUTCOME_OK) != right ||
        (!right && (comparison.element < 0 || comparison.element >= count || !comparison.wrong)))
        abort();
    arena_release(&arena);
    return 0;
}
