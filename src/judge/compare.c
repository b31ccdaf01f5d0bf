/*
 * Expected against got, element by element.
 */
#include <math.h>
#include <string.h>

#include "judge/private.h"

double pattern_got(const struct pattern_view *view, int64_t element)
{
    const char *at = view->bytes + (size_t)element * dtype_bytes(view->dtype);
    return dtype_is_float(view->dtype) ? dtype_load_float(view->dtype, at)
                                       : (double)dtype_load_integer(view->dtype, at);
}

double pattern_error(const struct pattern_view *view, int64_t element, int64_t against)
{
    double got = pattern_got(view, element);
    if (!view->expected->floats)
        return got == (double)view->expected->integers[against] ? 0 : INFINITY;
    /* an overflow of the type is no error of the kernel */
    double wanted = view->expected->floats[against], rounded = dtype_round(view->dtype, wanted);
    double limit = view->limits ? view->limits[against] : 0;
    if (got == rounded || got == wanted || (isnan(got) && isnan(rounded)) ||
        isinf(limit)) /* the last: not judged, see plain.c */
        return 0;
    if (isnan(wanted) || isnan(got) || isinf(wanted) || isinf(got))
        return INFINITY;
    return limit > 0 ? fabs(wanted - got) / limit : INFINITY;
}

/* The first that is off is kept, all are counted. */
static void note_wrong(struct comparison *out, int64_t element, double expected, double got,
                       double limit)
{
    if (out->wrong++ > 0)
        return;
    out->element = element;
    out->expected = expected;
    out->got = got;
    out->limit = limit;
}

/* Off by less than this many limits, and everywhere finite: inaccurate rather than wrong. */
static const double inaccurate_up_to = 1e5;
/* However wide the limits: a value that is off by this share of itself is another value. */
static const double wrong_share = 0.5;

/* The mean of what is finite. Less than that may be what is left when larger ones cancel, and then
 * a share of it says nothing. */
static double typical_size(const struct array *expected)
{
    double sum = 0, count = 0;
    for (int64_t i = 0; i < expected->count; i++)
        if (isfinite(expected->floats[i])) {
            sum += fabs(expected->floats[i]);
            count++;
        }
    return count > 0 ? sum / count : 0;
}

/*
 * Most elements are right, and are told so in few steps: whether all of a block are within their
 * limits, and the largest error of them in units of its limit. What is NaN, infinite or must be
 * equal is not, and is looked at one by one.
 */
enum { BLOCK = 256 };

static bool is_block_right(const struct pattern_view *view, int64_t first, int64_t count,
                           double *worst)
{
    double got[BLOCK], largest = 0;
    bool right = true;
    dtype_load_floats(view->dtype, view->bytes + (size_t)first * dtype_bytes(view->dtype), count,
                      got);
    for (int64_t i = 0; i < count; i++) {
        double off = fabs(view->expected->floats[first + i] - got[i]);
        double limit = view->limits[first + i];
        right &= off <= limit && limit < INFINITY;
        largest = off > largest * limit ? off / limit : largest;
    }
    if (right)
        *worst = fmax(*worst, largest);
    return right;
}

static void compare_floats(const struct pattern_view *view, struct comparison *out)
{
    double worst = 0, typical = -1;
    for (int64_t i = 0; i < view->expected->count; i++) {
        int64_t left = view->expected->count - i;
        while (view->limits && i % BLOCK == 0 && left > 0 &&
               is_block_right(view, i, left < BLOCK ? left : BLOCK, &worst)) {
            i += BLOCK;
            left -= BLOCK;
        }
        if (left <= 0)
            break;
        double error = pattern_error(view, i, i);
        worst = fmax(worst, error);
        if (error <= 1)
            continue;
        double expected = view->expected->floats[i], got = pattern_got(view, i);
        note_wrong(out, i, expected, got, view->limits ? view->limits[i] : 0);
        typical = typical < 0 ? typical_size(view->expected) : typical;
        if (error >= inaccurate_up_to ||
            fabs(got - expected) >= wrong_share * fmax(fabs(expected), typical))
            out->outcome = OUTCOME_WRONG;
    }
    out->worst = fmax(out->worst, worst);
}

/* Of a ranking: the same index stands earlier in the row. */
static bool is_repeated(const struct keys *keys, enum dtype dtype, const char *bytes, int64_t i)
{
    size_t width = dtype_bytes(dtype);
    for (int64_t k = i / keys->ranks * keys->ranks; k < i; k++)
        if (memcmp(bytes + (size_t)k * width, bytes + (size_t)i * width, width) == 0)
            return true;
    return false;
}

static void compare_integers(const struct array *expected, const struct keys *keys,
                             enum dtype dtype, const char *bytes, struct comparison *out)
{
    size_t width = dtype_bytes(dtype);
    for (int64_t i = 0; i < expected->count; i++) {
        int64_t got = dtype_load_integer(dtype, bytes + (size_t)i * width);
        bool near = keys && keys->values && !is_repeated(keys, dtype, bytes, i) &&
                    keys_accept(keys, i, expected->integers[i], got);
        bool fair = got == expected->integers[i] &&
                    !(keys && keys->values && is_repeated(keys, dtype, bytes, i));
        if (fair || near)
            continue;
        note_wrong(out, i, (double)expected->integers[i], (double)got, 0);
        out->worst = INFINITY;
        out->outcome = OUTCOME_WRONG;
    }
}

void compare_outputs(const struct ir_binding *binding, const struct draw *draw,
                     const void *const *bytes, struct comparison *comparison)
{
    const struct ir_part *part = binding->part;
    *comparison = (struct comparison){.outcome = OUTCOME_OK};
    for (int o = 0; o < part->output_count; o++) {
        const struct ir_tensor *tensor = &part->tensors[part->outputs[o]];
        const struct array *expected = &draw->expected[o];
        struct comparison found = {.outcome = OUTCOME_INACCURATE, .output = o};
        struct pattern_view view = {.expected = expected,
                                    .limits = draw->limits[o],
                                    .dtype = tensor->dtype,
                                    .bytes = bytes[o],
                                    .sampled = draw->sampled};
        if (dtype_is_float(tensor->dtype))
            compare_floats(&view, &found);
        else
            compare_integers(expected, draw->keys ? &draw->keys[o] : NULL, tensor->dtype, bytes[o],
                             &found);
        double worst = fmax(comparison->worst, found.worst);
        if (found.wrong == 0 || comparison->outcome != OUTCOME_OK) {
            comparison->worst = worst;
            continue;
        }
        found.total = expected->count;
        found.worst = worst;
        pattern_find(&view, &found);
        *comparison = found;
    }
}
