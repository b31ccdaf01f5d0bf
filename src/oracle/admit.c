/*
 * Whether given inputs keep what the op was promised about them. Facts that the checker relied on
 * to show reads in bounds must hold of the values, or the reference would read outside its tensors.
 */
#include <math.h>
#include <stdio.h>

#include "oracle/oracle.h"

struct admission {
    const struct ir_binding *binding;
    const struct ir_tensor *tensor;
    const struct array *array;
    int64_t bound;
    struct error *error;
};

enum { PLACE_TEXT = 24 * IR_MAX_RANK };

static void numbers_print(char *out, const int64_t *numbers, int count)
{
    int used = snprintf(out, PLACE_TEXT, "[");
    for (int i = 0; i < count; i++)
        used += snprintf(out + used, (size_t)(PLACE_TEXT - used), "%s%lld", i ? ", " : "",
                         (long long)numbers[i]);
    snprintf(out + used, (size_t)(PLACE_TEXT - used), "]");
}

/* "[2, 5] is 12" */
static void element_print(char *out, size_t size, const struct array *array, int64_t element)
{
    int64_t at[IR_MAX_RANK], rest = element;
    char place[PLACE_TEXT];
    for (int d = array->rank - 1; d >= 0; d--) {
        at[d] = rest % array->dims[d];
        rest /= array->dims[d];
    }
    numbers_print(place, at, array->rank);
    if (array->floats)
        snprintf(out, size, "%s is %.17g", place, array->floats[element]);
    else
        snprintf(out, size, "%s is %lld", place, (long long)array->integers[element]);
}

static bool element_refuse(const struct admission *a, int64_t element, const char *rule,
                           const char *hint)
{
    char found[PLACE_TEXT + 40];
    element_print(found, sizeof found, a->array, element);
    error_set(a->error, ERROR_ARRAY_MISMATCH, "input %s%s, but %s", a->tensor->name, found, rule);
    error_hint(a->error, "%s", hint);
    return false;
}

static bool admit_shape(const struct admission *a, int number)
{
    int64_t dims[IR_MAX_RANK];
    int64_t count = ir_tensor_shape(a->binding, number, dims);
    bool fits = a->array->rank == a->tensor->rank && a->array->count == count;
    for (int d = 0; fits && d < a->tensor->rank; d++)
        fits = dims[d] == a->array->dims[d];
    char wanted[PLACE_TEXT], found[PLACE_TEXT];
    numbers_print(wanted, dims, a->tensor->rank);
    numbers_print(found, a->array->dims,
                  a->array->rank < IR_MAX_RANK ? a->array->rank : IR_MAX_RANK);
    if (!fits) {
        error_set(a->error, ERROR_ARRAY_MISMATCH, "input '%s' has the shape %s, not %s",
                  a->tensor->name, found, wanted);
        error_hint(a->error, "give an array of that shape, or set the sizes to fit this one");
        return false;
    }
    if (a->array->dtype == a->tensor->dtype)
        return true;
    error_set(a->error, ERROR_ARRAY_MISMATCH, "input '%s' is %s, not %s", a->tensor->name,
              dtype_name(a->array->dtype), dtype_name(a->tensor->dtype));
    error_hint(a->error, "convert the array, or choose the type with `dtype` in the task");
    return false;
}

static bool admit_indices(const struct admission *a)
{
    for (int64_t e = 0; e < a->array->count; e++) {
        int64_t value = a->array->integers[e];
        if (value >= 0 && value < a->bound)
            continue;
        char rule[80];
        snprintf(rule, sizeof rule, "an index into %lld must be in 0..%lld", (long long)a->bound,
                 (long long)a->bound - 1);
        return element_refuse(a, e, a->bound > 0 ? rule : "there is nothing to index",
                              "the op declares this input with index(...): every value must be "
                              "at least 0 and below that size");
    }
    return true;
}

static bool admit_offsets(const struct admission *a)
{
    static const char hint[] = "the op declares this input with offsets(E): along its last "
                               "dimension it starts at 0, never falls, and ends at E";
    int64_t length = a->array->rank > 0 ? a->array->dims[a->array->rank - 1] : 1;
    for (int64_t e = 0; e < a->array->count; e++) {
        int64_t value = a->array->integers[e];
        char rule[80];
        snprintf(rule, sizeof rule, "the last offset must be %lld", (long long)a->bound);
        if (e % length == 0 && value != 0)
            return element_refuse(a, e, "the first offset must be 0", hint);
        if (e % length > 0 && value < a->array->integers[e - 1])
            return element_refuse(a, e, "it must not be less than the one before it", hint);
        if (e % length == length - 1 && value != a->bound)
            return element_refuse(a, e, rule, hint);
    }
    return true;
}

static bool admit_sorted(const struct admission *a)
{
    int64_t length = a->array->rank > 0 ? a->array->dims[a->array->rank - 1] : 1;
    for (int64_t e = 0; e < a->array->count; e++) {
        const struct array *array = a->array;
        bool unordered = array->floats && isnan(array->floats[e]);
        if (e % length > 0 && !unordered)
            unordered = array->floats ? array->floats[e] < array->floats[e - 1]
                                      : array->integers[e] < array->integers[e - 1];
        if (unordered)
            return element_refuse(a, e, "it must not be less than the one before it",
                                  "the op declares this input sorted: ascending along its last "
                                  "dimension, without NaN");
    }
    return true;
}

static bool admit_triangular(const struct admission *a)
{
    if (a->array->rank < 2)
        return true;
    int64_t rows = a->array->dims[a->array->rank - 2];
    int64_t columns = a->array->dims[a->array->rank - 1];
    for (int64_t e = 0; e < a->array->count; e++) {
        bool zero = a->array->floats ? a->array->floats[e] == 0 : a->array->integers[e] == 0;
        if (!zero && e % columns > e / columns % rows)
            return element_refuse(a, e, "above the diagonal all must be zero",
                                  "the op declares this input triangular");
    }
    return true;
}

static bool admit_input(struct admission *a, int number)
{
    unsigned bounded = IR_PROPERTY_INDEX | IR_PROPERTY_OFFSETS;
    unsigned properties = a->tensor->properties;
    if (!admit_shape(a, number))
        return false;
    if ((properties & bounded) &&
        (!a->tensor->bound || !ir_size_eval(a->tensor->bound, a->binding->sizes, &a->bound)))
        return error_set(a->error, ERROR_ARRAY_MISMATCH, "the bound of input '%s' is not known",
                         a->tensor->name);
    return (!(properties & IR_PROPERTY_INDEX) || admit_indices(a)) &&
           (!(properties & IR_PROPERTY_OFFSETS) || admit_offsets(a)) &&
           (!(properties & IR_PROPERTY_SORTED) || admit_sorted(a)) &&
           (!(properties & IR_PROPERTY_TRIANGULAR) || admit_triangular(a));
}

bool oracle_admit(const struct ir_binding *binding, const struct array *inputs, struct error *error)
{
    const struct ir_part *part = binding->part;
    for (int i = 0; i < part->input_count; i++) {
        struct admission a = {.binding = binding,
                              .tensor = &part->tensors[part->inputs[i]],
                              .array = &inputs[i],
                              .error = error};
        if (!admit_input(&a, part->inputs[i]))
            return false;
    }
    return true;
}
