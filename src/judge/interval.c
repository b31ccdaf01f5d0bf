/*
 * How sure a figure is that was measured a few times.
 *
 * The values are one per launch, so what differs from launch to launch is in them; nothing is
 * assumed about the batches inside. Now and then one of them is far off (the machine did something
 * else): the middle is a mean of what is left when a tenth is taken off at each end, and its spread
 * that of the values with those ends pulled in (Yuen 1974), by Student's distribution.
 */
#include <math.h>
#include <stdlib.h>

#include "judge/contest.h"

/* Two-sided 95 % of Student's t. */
static double student(int degrees)
{
    static const double table[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23,
                                   2.20,  2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09,
                                   2.08,  2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04};
    return degrees < 1 ? INFINITY : degrees <= 30 ? table[degrees - 1] : 2.04;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * On a busy machine half of the batches of a launch were 3 % above its lowest, and more. The mean
 * of the lowest tenth is no wider than their 10 % quantile on a quiet machine, and a quarter
 * narrower on a busy one where batches are few (docs/results/judge-timing.md).
 */
double interval_low(const double *seconds, int count)
{
    static const double share = 0.1;
    return statistics_low_mean(seconds, (size_t)count, share);
}

struct interval interval_of_logs(const double *values, int count)
{
    enum { TENTH = 10, FROM = 6 }; /* fewer values are too few to take any off */
    double logs[CONTEST_MOST_ROUNDS] = {0};
    for (int i = 0; i < count; i++)
        logs[i] = log(values[i]);
    qsort(logs, (size_t)count, sizeof *logs, by_size);
    int off = count >= FROM ? (count + TENTH - 1) / TENTH : 0, left = count - 2 * off;
    double middle = statistics_mean(logs + off, (size_t)left);
    for (int i = 0; i < off; i++) {
        logs[i] = logs[off];
        logs[count - 1 - i] = logs[count - 1 - off];
    }
    double half = INFINITY;
    if (count > 1)
        half = student(left - 1) * statistics_deviation(logs, (size_t)count) *
               sqrt((double)(count - 1) / ((double)left * (left - 1)));
    return (struct interval){exp(middle - half), exp(middle), exp(middle + half)};
}

/*
 * It does not contain 1. One that is wider than a quiet machine's comes from few launches that
 * disagree, and covers less often than it promises: there the distance from 1 must be the larger,
 * or all of the interval far away.
 */
bool interval_decides(struct interval ratio)
{
    static const double wide = 0.08, far = 1.5;
    double width = ratio.high / ratio.low;
    return (ratio.low > 1 || ratio.high < 1) &&
           (width <= 1 + wide || fmax(ratio.middle, 1 / ratio.middle) > width || ratio.low > far ||
            ratio.high < 1 / far);
}

/* By its interval; or, where that is wide for lack of rounds, in each of them, and decided. */
bool interval_is_behind(const double *ratios, int count, double least)
{
    static const double far = 1.6;
    struct interval ratio = interval_of_logs(ratios, count);
    double nearest = INFINITY;
    for (int i = 0; i < count; i++)
        nearest = fmin(nearest, ratios[i]);
    return ratio.low > least || (nearest > fmax(least, far) && interval_decides(ratio));
}
