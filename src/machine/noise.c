/*
 * How quiet the machine is: the same millisecond of arithmetic, over and over.
 */
#include "machine/private.h"
#include "os/clock.h"

static void spin(int64_t steps)
{
    uint64_t value = 1;
    for (int64_t i = 0; i < steps; i++) {
        value = value * 6364136223846793005U + 1;
        __asm__ volatile("" : "+r"(value));
    }
}

static double spin_seconds(int64_t steps)
{
    double before = clock_seconds();
    spin(steps);
    return clock_seconds() - before;
}

void machine_noise(struct machine_noise *noise)
{
    double runs[MACHINE_NOISE_RUNS], fastest = 0;
    int64_t steps = 1000;
    while (spin_seconds(steps) < 1e-3)
        steps *= 2;
    for (int i = 0; i < MACHINE_NOISE_RUNS; i++) {
        runs[i] = spin_seconds(steps);
        fastest = i == 0 || runs[i] < fastest ? runs[i] : fastest;
    }
    double median = statistics_median(runs, MACHINE_NOISE_RUNS);
    double p95 = statistics_quantile(runs, MACHINE_NOISE_RUNS, 0.95);
    *noise = (struct machine_noise){.fastest = fastest,
                                    .median = median,
                                    .p95 = p95,
                                    .spread = p95 / median - 1,
                                    .slowdown = median / fastest - 1};
}
