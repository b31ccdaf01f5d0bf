/*
 * Expected against got, element by element, and a sentence on the pattern of what is wrong.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "judge/private.h"

/* The error of one element in units of its limit; above 1 is too much. */
static double element_error(double expected, double got, double limit)
{
    if (isinf(limit)) /* not judged: see plain.c */
        return 0;
    if (isnan(expected) || isnan(got))
        return isnan(expected) && isnan(got) ? 0 : INFINITY;
    if (expected == got)
        return 0;
    if (isinf(expected) || isinf(got))
        return INFINITY;
    return limit > 0 ? fabs(expected - got) / limit : INFINITY;
}

struct spread { /* where the wrong elements are */
    int64_t first, last, count;
    bool regular; /* every `step`-th from first on */
    int64_t step, previous;
};

static void spread_add(struct spread *spread, int64_t element)
{
    if (spread->count == 0) {
        spread->first = element;
        spread->regular = true;
    } else if (spread->count == 1) {
        spread->step = element - spread->previous;
    } else if (element - spread->previous != spread->step) {
        spread->regular = false;
    }
    spread->previous = spread->last = element;
    spread->count++;
}

static void describe(const struct spread *spread, int64_t total, int64_t row, char *out,
                     size_t size)
{
    int64_t tail = total - spread->first;
    if (spread->count == total)
        snprintf(out, size, "every element is off");
    else if (spread->count == 1)
        snprintf(out, size, "only this element is off");
    else if (spread->regular && spread->step == 1 && spread->count == tail)
        snprintf(out, size, "everything from there to the end is off, %lld elements",
                 (long long)spread->count);
    else if (spread->regular && spread->step == 1)
        snprintf(out, size, "%lld elements in a row are off", (long long)spread->count);
    else if (spread->regular)
        snprintf(out, size, "every %lldth element is off from there on", (long long)spread->step);
    else if (row > 1 && spread->first % row >= row / 2 && spread->count * 2 <= total)
        snprintf(out, size, "%lld elements are off, the first near the end of a row of %lld",
                 (long long)spread->count, (long long)row);
    else
        snprintf(out, size, "%lld of %lld elements are off", (long long)spread->count,
                 (long long)total);
}

static void compare_floats(const struct array *expected, const double *limits, enum dtype dtype,
                           const char *bytes, struct comparison *out, struct spread *spread)
{
    size_t width = dtype_bytes(dtype);
    double worst = 0;
    for (int64_t i = 0; i < expected->count; i++) {
        double got = dtype_load_float(dtype, bytes + (size_t)i * width);
        /* an overflow of the type is no error of the kernel */
        double wanted = expected->floats[i], rounded = dtype_round(dtype, wanted);
        bool same = got == rounded || (isnan(got) && isnan(rounded));
        double error = same ? 0 : element_error(wanted, got, limits ? limits[i] : 0);
        worst = fmax(worst, error);
        if (error <= 1)
            continue;
        if (spread->count == 0) {
            out->element = i;
            out->expected = wanted;
            out->got = got;
            out->limit = limits ? limits[i] : 0;
        }
        spread_add(spread, i);
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
                             enum dtype dtype, const char *bytes, struct comparison *out,
                             struct spread *spread)
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
        if (spread->count == 0) {
            out->element = i;
            out->expected = (double)expected->integers[i];
            out->got = (double)got;
        }
        spread_add(spread, i);
        out->worst = INFINITY;
    }
}

/* Off by less than this many limits, and everywhere finite: inaccurate rather than wrong. */
static const double inaccurate_up_to = 1e5;

void compare_outputs(const struct ir_binding *binding, const struct draw *draw,
                     const void *const *bytes, struct comparison *comparison)
{
    const struct ir_part *part = binding->part;
    *comparison = (struct comparison){.outcome = OUTCOME_OK};
    for (int o = 0; o < part->output_count; o++) {
        const struct ir_tensor *tensor = &part->tensors[part->outputs[o]];
        const struct array *expected = &draw->expected[o];
        struct comparison found = {.output = o};
        struct spread spread = {0};
        if (dtype_is_float(tensor->dtype))
            compare_floats(expected, draw->limits[o], tensor->dtype, bytes[o], &found, &spread);
        else
            compare_integers(expected, draw->keys ? &draw->keys[o] : NULL, tensor->dtype, bytes[o],
                             &found, &spread);
        double worst = fmax(comparison->worst, found.worst);
        if (spread.count == 0 || comparison->outcome != OUTCOME_OK) {
            comparison->worst = worst;
            continue;
        }
        int64_t row = expected->rank ? expected->dims[expected->rank - 1] : 1;
        found.outcome = found.worst < inaccurate_up_to ? OUTCOME_INACCURATE : OUTCOME_WRONG;
        found.wrong = spread.count;
        found.total = expected->count;
        found.worst = worst;
        describe(&spread, expected->count, row, found.pattern, sizeof found.pattern);
        *comparison = found;
    }
}
