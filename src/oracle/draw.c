/*
 * Inputs for a case: random values within everything the task and the op say about them.
 *
 * Each element is a function of seed, input number and element number alone, so that values do not
 * depend on the order in which they are drawn, nor on the sizes of other inputs. A value that falls
 * outside the range asked for is drawn again, up to DRAW_TRIES times; then it is taken uniformly
 * from the range itself.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle/oracle.h"

enum { DRAW_TRIES = 32, DRAW_LEAST = -8, DRAW_MOST = 8 };

struct drawing { /* of one input */
    const struct ir_binding *binding;
    const struct ir_tensor *tensor;
    struct array *array;
    enum draw_kind kind;
    double a, b;
    unsigned properties;
    double low, high;         /* the range, ends included... */
    bool low_open, high_open; /* ...or not */
    const struct ir_size *bound;
    uint64_t seed, stream;
    struct error *error;
};

/* The generator of one try at one element; fresh tries do not touch those of other elements. */
static struct random draw_random(const struct drawing *d, int64_t element, int attempt)
{
    struct random random = random_new(d->seed, d->stream);
    random.counter = (uint64_t)element * (2 * DRAW_TRIES + 1) + (uint64_t)attempt;
    return random;
}

static bool draw_fails(const struct drawing *d, const char *why)
{
    error_at(d->error, ERROR_BAD_DRAW, d->tensor->place, "no value for input '%s': %s",
             d->tensor->name, why);
    error_hint(d->error, "widen the range after `in`, or draw the input in another way");
    return false;
}

/* ---- floats ---- */

static bool range_holds(const struct drawing *d, double value)
{
    return isfinite(value) && (d->low_open ? value > d->low : value >= d->low) &&
           (d->high_open ? value < d->high : value <= d->high);
}

static double float_between(struct random *random, double low, double high)
{
    double u = random_uniform(random);
    return low * (1 - u) + high * u; /* no overflow, however far apart they are */
}

static double float_once(const struct drawing *d, struct random *random)
{
    if (d->kind == DRAW_UNIFORM)
        return float_between(random, d->a, d->b);
    if (d->kind == DRAW_NORMAL)
        return d->a + d->b * random_normal(random);
    return random_normal(random);
}

/* The finite part of the range: an open side reaches as far as the closed one is from zero. */
static void range_finite(const struct drawing *d, double *low, double *high)
{
    *low = d->low;
    *high = d->high;
    if (isinf(*low) && isinf(*high)) {
        *low = -1;
        *high = 1;
    } else if (isinf(*high)) {
        *high = *low + fmax(1, fabs(*low));
    } else if (isinf(*low)) {
        *low = *high - fmax(1, fabs(*high));
    }
}

/* The value of the type nearest to an end of the range, going inwards; NaN when there is none. */
static double float_inside(const struct drawing *d)
{
    double low, high;
    range_finite(d, &low, &high);
    for (int exponent = -1074; exponent <= 1023; exponent++) {
        double step = ldexp(1, exponent);
        double above = dtype_round(d->tensor->dtype, low + step);
        double below = dtype_round(d->tensor->dtype, high - step);
        if (range_holds(d, above))
            return above;
        if (range_holds(d, below))
            return below;
    }
    return NAN;
}

static bool draw_float(const struct drawing *d, int64_t element)
{
    double *value = &d->array->floats[element];
    for (int attempt = 0; attempt < 2 * DRAW_TRIES; attempt++) {
        struct random random = draw_random(d, element, attempt);
        double low, high;
        range_finite(d, &low, &high);
        double drawn =
            attempt < DRAW_TRIES ? float_once(d, &random) : float_between(&random, low, high);
        *value = dtype_round(d->tensor->dtype, drawn);
        if (range_holds(d, *value))
            return true;
    }
    *value = dtype_round(d->tensor->dtype, d->low);
    if (!range_holds(d, *value))
        *value = float_inside(d);
    return range_holds(d, *value) || draw_fails(d, "the range holds no number of its type");
}

/* ---- integers ---- */

struct integers { /* low .. high, both included; none when low > high */
    int64_t low, high;
};

/* The least integer of at least `value`, or the greatest of at most it, within int64. */
static int64_t integer_from(double value)
{
    return dtype_truncate(DTYPE_I64, value);
}

static struct integers integers_meet(struct integers a, struct integers b)
{
    return (struct integers){a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
}

static struct integers integers_of_type(enum dtype dtype)
{
    if (dtype == DTYPE_BOOL)
        return (struct integers){0, 1};
    return (struct integers){dtype_truncate(dtype, -INFINITY), dtype_truncate(dtype, INFINITY)};
}

/* What the range after `in` and the type leave. */
static struct integers integers_allowed(const struct drawing *d)
{
    double low = ceil(d->low), high = floor(d->high);
    low += d->low_open && low == d->low ? 1 : 0;
    high -= d->high_open && high == d->high ? 1 : 0;
    return integers_meet((struct integers){integer_from(low), integer_from(high)},
                         integers_of_type(d->tensor->dtype));
}

static int64_t integer_between(struct random *random, struct integers range)
{
    uint64_t count = (uint64_t)range.high - (uint64_t)range.low + 1; /* 0: all of them */
    uint64_t drawn = count ? random_below(random, count) : random_u64(random);
    return (int64_t)((uint64_t)range.low + drawn);
}

/* What is drawn from when nothing narrower is said: a few integers near zero. */
static struct integers integers_usual(const struct drawing *d, struct integers allowed)
{
    struct integers usual = {DRAW_LEAST, DRAW_MOST};
    if (d->kind == DRAW_UNIFORM)
        usual = (struct integers){integer_from(ceil(d->a)), integer_from(floor(d->b))};
    struct integers both = integers_meet(usual, allowed);
    if (both.low <= both.high)
        return both;
    /* The range lies elsewhere: its end nearest to zero. */
    uint64_t span = (uint64_t)allowed.high - (uint64_t)allowed.low;
    int64_t most = DRAW_MOST - DRAW_LEAST;
    if (span <= (uint64_t)most)
        return allowed;
    return allowed.low > 0 ? (struct integers){allowed.low, allowed.low + most}
                           : (struct integers){allowed.high - most, allowed.high};
}

static bool draw_integer(const struct drawing *d, int64_t element)
{
    int64_t *value = &d->array->integers[element];
    struct integers allowed = integers_allowed(d);
    if (allowed.low > allowed.high)
        return draw_fails(d, "the range holds no number of its type");
    for (int attempt = 0; d->kind == DRAW_NORMAL && attempt < DRAW_TRIES; attempt++) {
        struct random random = draw_random(d, element, attempt);
        double drawn = rint(float_once(d, &random));
        *value = integer_from(drawn);
        if (*value >= allowed.low && *value <= allowed.high && fabs(drawn) < 0x1p63)
            return true;
    }
    struct random random = draw_random(d, element, DRAW_TRIES);
    *value = integer_between(&random, integers_usual(d, allowed));
    return true;
}

/* ---- indices and offsets ---- */

static bool draw_bound(const struct drawing *d, int64_t *bound)
{
    if (!d->bound || !ir_size_eval(d->bound, d->binding->sizes, bound) || *bound < 0)
        return draw_fails(d, "its bound is not known or negative");
    return true;
}

static bool draw_indices(const struct drawing *d)
{
    int64_t bound;
    if (!draw_bound(d, &bound))
        return false;
    struct integers range = integers_meet(integers_allowed(d), (struct integers){0, bound - 1});
    if (range.low > range.high && d->array->count > 0)
        return draw_fails(d, bound == 0 ? "it is an index into nothing"
                                        : "the range holds no index within the bound");
    for (int64_t e = 0; e < d->array->count; e++) {
        struct random random = draw_random(d, e, 0);
        d->array->integers[e] = integer_between(&random, range);
    }
    return true;
}

static int compare_integers(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static int compare_floats(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int64_t row_length(const struct array *array)
{
    return array->rank > 0 ? array->dims[array->rank - 1] : 1;
}

/* Cuts at random places, some of them twice so that there are empty segments. */
static bool draw_offsets(const struct drawing *d)
{
    int64_t bound, length = row_length(d->array);
    if (!draw_bound(d, &bound))
        return false;
    if (dtype_wrap(d->tensor->dtype, bound) != bound)
        return draw_fails(d, "its bound does not fit its type");
    if (length == 1 && bound != 0 && d->array->count > 0)
        return draw_fails(d, "a single offset cannot be both 0 and the bound");
    for (int64_t row = 0; row < d->array->count; row += length) {
        int64_t *cuts = d->array->integers + row;
        for (int64_t i = 1; i < length - 1; i++) {
            struct random random = draw_random(d, row + i, 0);
            cuts[i] = integer_between(&random, (struct integers){0, bound});
        }
        cuts[0] = 0;
        cuts[length - 1] = bound;
        qsort(cuts, (size_t)length, sizeof *cuts, compare_integers);
        for (int64_t i = 1; i < length - 1; i++) {
            struct random random = draw_random(d, row + i, 1);
            if (random_below(&random, 8) == 0)
                cuts[i] = cuts[i - 1];
        }
    }
    return true;
}

/* ---- properties ---- */

static void make_sorted(struct array *array)
{
    int64_t length = row_length(array);
    for (int64_t row = 0; row < array->count; row += length) {
        if (array->floats)
            qsort(array->floats + row, (size_t)length, sizeof(double), compare_floats);
        else
            qsort(array->integers + row, (size_t)length, sizeof(int64_t), compare_integers);
    }
}

static void make_triangular(struct array *array)
{
    if (array->rank < 2)
        return;
    int64_t rows = array->dims[array->rank - 2], columns = row_length(array);
    for (int64_t e = 0; e < array->count; e++) {
        if (e % columns <= e / columns % rows)
            continue;
        if (array->floats)
            array->floats[e] = 0;
        else
            array->integers[e] = 0;
    }
}

static bool draw_values(const struct drawing *d)
{
    if (d->kind == DRAW_INDEX)
        return draw_indices(d);
    if (d->kind == DRAW_OFFSETS)
        return draw_offsets(d);
    for (int64_t e = 0; e < d->array->count; e++)
        if (!(d->array->floats ? draw_float(d, e) : draw_integer(d, e)))
            return false;
    return true;
}

static bool draw_input(const struct drawing *d)
{
    unsigned both = IR_PROPERTY_SORTED | IR_PROPERTY_TRIANGULAR;
    if ((d->properties & both) == both)
        return draw_fails(d, "it cannot be both sorted and triangular");
    if ((d->kind == DRAW_INDEX || d->kind == DRAW_OFFSETS) && d->array->floats)
        return draw_fails(d, "indices and offsets are integers");
    if (!draw_values(d))
        return false;
    if (d->properties & IR_PROPERTY_SORTED)
        make_sorted(d->array);
    if (d->properties & IR_PROPERTY_TRIANGULAR)
        make_triangular(d->array);
    return true;
}

/* What the task says, over what the op says. */
static struct drawing drawing_make(const struct task_input *asked, const struct ir_tensor *tensor)
{
    struct drawing d = {.tensor = tensor,
                        .kind = DRAW_DEFAULT,
                        .properties = tensor->properties,
                        .bound = tensor->bound,
                        .low = -INFINITY,
                        .high = INFINITY};
    if (asked) {
        d.kind = asked->draw;
        d.a = asked->a;
        d.b = asked->b;
        d.properties |= asked->properties;
        d.bound = asked->bound ? asked->bound : tensor->bound;
        d.low = asked->low;
        d.high = asked->high;
        d.low_open = asked->low_open;
        d.high_open = asked->high_open;
    }
    /* Other ways of drawing cannot keep these promises. */
    if (d.properties & IR_PROPERTY_INDEX)
        d.kind = DRAW_INDEX;
    if (d.properties & IR_PROPERTY_OFFSETS)
        d.kind = DRAW_OFFSETS;
    if ((tensor->properties & (IR_PROPERTY_INDEX | IR_PROPERTY_OFFSETS)) && tensor->bound)
        d.bound = tensor->bound;
    return d;
}

/* An array whose shape is known; `without` are promises that are not kept. */
static bool draw_shaped(struct arena *arena, const struct task_case *task_case,
                        const struct ir_binding *binding, int input, unsigned without,
                        uint64_t seed, struct array *array, struct error *error)
{
    const struct ir_tensor *tensor = &binding->part->tensors[binding->part->inputs[input]];
    struct drawing d =
        drawing_make(task_case && task_case->inputs ? &task_case->inputs[input] : NULL, tensor);
    array->name = tensor->name;
    array->dtype = tensor->dtype;
    array_alloc(arena, array);
    d.properties &= ~without;
    d.binding = binding;
    d.array = array;
    d.seed = seed;
    d.stream = (uint64_t)input;
    d.error = error;
    return draw_input(&d);
}

bool oracle_draw_some(struct arena *arena, const struct task_case *task_case,
                      const struct ir_binding *binding, int input, int64_t count, uint64_t seed,
                      struct array *array, struct error *error)
{
    *array = (struct array){.rank = 1, .count = count, .dims = {count}};
    return draw_shaped(arena, task_case, binding, input, IR_PROPERTY_TRIANGULAR, seed, array,
                       error);
}

bool oracle_draw_input(struct arena *arena, const struct task_case *task_case,
                       const struct ir_binding *binding, int input, uint64_t seed,
                       struct array *array, struct error *error)
{
    int tensor = binding->part->inputs[input];
    *array = (struct array){.rank = binding->part->tensors[tensor].rank};
    array->count = ir_tensor_shape(binding, tensor, array->dims);
    return draw_shaped(arena, task_case, binding, input, 0, seed, array, error);
}

bool oracle_draw(struct arena *arena, const struct task_case *task_case,
                 const struct ir_binding *binding, uint64_t seed, struct array *inputs,
                 struct error *error)
{
    for (int i = 0; i < binding->part->input_count; i++)
        if (!oracle_draw_input(arena, task_case, binding, i, seed, &inputs[i], error))
            return false;
    return true;
}
