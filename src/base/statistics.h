/*
 * Robust summaries of a few measurements. Inputs are not changed.
 */
#ifndef SMELT_BASE_STATISTICS_H
#define SMELT_BASE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

struct interval {
    double low, middle, high;
};

/* All give nan for no values. */
double statistics_mean(const double *values, size_t count);
double statistics_deviation(const double *values, size_t count); /* sample: n - 1 */
double statistics_median(const double *values, size_t count);
/* The same without a copy: the values are in another order afterwards. */
double statistics_median_in_place(double *values, size_t count);
double statistics_quantile(const double *values, size_t count, double q); /* linear, q in [0, 1] */
/* The mean of the lowest share of them, of one at least. */
double statistics_low_mean(const double *values, size_t count, double share);
double statistics_geometric_mean(const double *values, size_t count);

/* Percentile bootstrap of the median: `confidence` as in 0.95, repeatable by seed. */
struct interval statistics_bootstrap_median(const double *values, size_t count, double confidence,
                                            int resamples, uint64_t seed);
/* The same for the ratio median(a) / median(b) of two independent samples. */
struct interval statistics_bootstrap_ratio(const double *a, size_t a_count, const double *b,
                                           size_t b_count, double confidence, int resamples,
                                           uint64_t seed);

#endif
