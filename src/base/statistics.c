/*
 * Summaries that one wild measurement does not spoil. Each function takes its scratch memory in one
 * piece, so that running out of it leaves nothing behind.
 *
 * A nan among the values makes the result nan: a measurement that failed must not go unnoticed.
 */
#include "base/statistics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"

double statistics_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return count ? sum / (double)count : NAN;
}

double statistics_deviation(const double *values, size_t count)
{
    if (count == 0)
        return NAN;
    if (count == 1)
        return 0;
    double mean = statistics_mean(values, count), sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return sqrt(sum / (double)(count - 1));
}

double statistics_geometric_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += log(values[i]);
    return count ? exp(sum / (double)count) : NAN;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool any_nan(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(values[i]))
            return true;
    return false;
}

static double sorted_quantile(const double *sorted, size_t count, double q)
{
    double position = (q < 0 ? 0 : q > 1 ? 1 : q) * (double)(count - 1);
    size_t below = (size_t)position;
    double share = position - (double)below;
    /* Not the general formula: with an infinite neighbour it would give 0 * inf. */
    if (share == 0 || sorted[below] == sorted[below + 1])
        return sorted[below];
    return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

double statistics_quantile(const double *values, size_t count, double q)
{
    if (count == 0 || isnan(q) || any_nan(values, count))
        return NAN;
    double *sorted = memory_alloc(count * sizeof *sorted);
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    double result = sorted_quantile(sorted, count, q);
    memory_free(sorted);
    return result;
}

double statistics_low_mean(const double *values, size_t count, double share)
{
    if (count == 0 || !(share >= 0 && share <= 1) || any_nan(values, count))
        return NAN;
    double *sorted = memory_alloc(count * sizeof *sorted);
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    size_t lowest = (size_t)ceil(share * (double)count);
    double result = statistics_mean(sorted, lowest > 0 ? lowest : 1);
    memory_free(sorted);
    return result;
}

double statistics_median(const double *values, size_t count)
{
    return statistics_quantile(values, count, 0.5);
}

/* Brings the value that would be number `wanted` of the sorted ones there, smaller ones before it,
 * larger ones behind it (Hoare's selection). */
static void select_value(double *values, size_t count, size_t wanted)
{
    ptrdiff_t low = 0, high = (ptrdiff_t)count - 1, at = (ptrdiff_t)wanted;
    while (low < high) {
        double pivot = values[at];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j])
                j--;
            if (i <= j) {
                double kept = values[i];
                values[i++] = values[j];
                values[j--] = kept;
            }
        }
        if (j < at)
            low = i;
        if (at < i)
            high = j;
    }
}

double statistics_median_in_place(double *values, size_t count)
{
    if (count == 0 || any_nan(values, count))
        return NAN;
    select_value(values, count, count / 2);
    double upper = values[count / 2], lower = values[0];
    if (count % 2)
        return upper;
    for (size_t i = 1; i < count / 2; i++)
        lower = values[i] > lower ? values[i] : lower;
    return lower + (upper - lower) / 2;
}

/* A sorted sample and how often a resample took each of its values. */
struct resampling {
    const double *sorted;
    size_t *taken;
    size_t count;
};

/* Counting instead of sorting: the values are in order already. */
static double resample_median(struct resampling *sample, struct random *random)
{
    size_t count = sample->count;
    memset(sample->taken, 0, count * sizeof *sample->taken);
    for (size_t i = 0; i < count; i++)
        sample->taken[random_below(random, count)]++;
    size_t at = 0, seen = sample->taken[0];
    while (seen <= (count - 1) / 2)
        seen += sample->taken[++at];
    double lower = sample->sorted[at];
    while (seen <= count / 2)
        seen += sample->taken[++at];
    double upper = sample->sorted[at];
    return lower == upper ? lower : lower + (upper - lower) / 2;
}

static struct resampling resampling_new(double *values, size_t *taken, const double *from,
                                        size_t count)
{
    memcpy(values, from, count * sizeof *values);
    qsort(values, count, sizeof *values, compare_doubles);
    return (struct resampling){.sorted = values, .taken = taken, .count = count};
}

/* The bootstrap of median(a) / median(b); without b (b_count 0) that of median(a). */
static struct interval bootstrap(const double *a, size_t a_count, const double *b, size_t b_count,
                                 double confidence, int resamples, uint64_t seed)
{
    size_t draws = resamples > 0 ? (size_t)resamples : 0;
    size_t total = a_count + b_count;
    double *values = memory_alloc((total + draws) * sizeof *values + total * sizeof(size_t));
    double *medians = values + total;
    size_t *taken = (size_t *)(void *)(medians + draws);
    struct resampling first = resampling_new(values, taken, a, a_count), second = {0};
    if (b_count)
        second = resampling_new(values + a_count, taken + a_count, b, b_count);

    double middle = sorted_quantile(first.sorted, a_count, 0.5);
    if (b_count)
        middle /= sorted_quantile(second.sorted, b_count, 0.5);
    struct interval result = {middle, middle, middle};
    struct random random = random_new(seed, 0);
    bool failed = isnan(middle);
    for (size_t i = 0; i < draws; i++) {
        medians[i] = resample_median(&first, &random);
        if (b_count)
            medians[i] /= resample_median(&second, &random);
        failed |= isnan(medians[i]);
    }
    if (failed) {
        result = (struct interval){NAN, NAN, NAN};
    } else if (draws) {
        qsort(medians, draws, sizeof *medians, compare_doubles);
        result.low = sorted_quantile(medians, draws, (1 - confidence) / 2);
        result.high = sorted_quantile(medians, draws, (1 + confidence) / 2);
    }
    memory_free(values);
    return result;
}

struct interval statistics_bootstrap_median(const double *values, size_t count, double confidence,
                                            int resamples, uint64_t seed)
{
    if (count == 0 || any_nan(values, count))
        return (struct interval){NAN, NAN, NAN};
    return bootstrap(values, count, NULL, 0, confidence, resamples, seed);
}

struct interval statistics_bootstrap_ratio(const double *a, size_t a_count, const double *b,
                                           size_t b_count, double confidence, int resamples,
                                           uint64_t seed)
{
    if (a_count == 0 || b_count == 0 || any_nan(a, a_count) || any_nan(b, b_count))
        return (struct interval){NAN, NAN, NAN};
    return bootstrap(a, a_count, b, b_count, confidence, resamples, seed);
}
