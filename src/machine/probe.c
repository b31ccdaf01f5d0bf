/*
 * The probes in their order; arithmetic, latency, calls and noise, which need little code.
 */
#include <stdio.h>
#include <string.h>

#include "machine/private.h"
#include "os/clock.h"

static const struct probe_budget thorough = {
    .cache = 0.04, .memory = 0.25, .compute = 0.06, .latency = 0.15};
static const struct probe_budget quick = {
    .cache = 0.006, .memory = 0.05, .compute = 0.01, .latency = 0.03};

enum { SAMPLES_LEAST = 5 };

static const double sample_seconds = 150e-6;

/* ---- arithmetic ---- */

struct spin_work {
    arithmetic_spin *spin;
    int64_t rounds;
};

static void spin_task(void *context, int member)
{
    const struct spin_work *work = context;
    (void)member;
    work->spin(work->rounds);
}

static double spin_rate(const struct arithmetic *arithmetic, struct crew *crew, double budget)
{
    struct spin_work work = {arithmetic->spin, 1000};
    double best = 0, start = clock_seconds();
    for (int samples = 0; samples < SAMPLES_LEAST || clock_seconds() - start < budget; samples++) {
        double seconds = crew_run(crew, spin_task, &work);
        if (seconds < sample_seconds) {
            work.rounds *= 2;
            samples = 0;
            continue;
        }
        double rate = arithmetic->operations * (double)work.rounds * crew_count(crew) / seconds;
        best = rate > best ? rate : best;
    }
    return best;
}

void probe_compute(const struct machine *machine, const struct probe_budget *budget,
                   struct crew *crew, enum machine_crew kind, struct rates *rates)
{
    for (const struct arithmetic *arithmetic = arithmetic_variants; arithmetic->spin;
         arithmetic++) {
        if (arithmetic->set >= 0 && !machine_has(machine, (enum machine_set)arithmetic->set))
            continue;
        if (arithmetic->unit == MACHINE_UNIT_AMX && !arithmetic_ask_tiles())
            continue;
        double *best = &rates->compute[kind][arithmetic->unit][arithmetic->number];
        double rate = spin_rate(arithmetic, crew, budget->compute);
        *best = rate > *best ? rate : *best;
    }
}

/* ---- latency ---- */

enum { LINE = 64 };

struct link {
    struct link *next;
    char rest[LINE - sizeof(struct link *)];
};

/*
 * Links every line of the buffer into one ring. The order is that of a congruential generator of
 * full period: no prefetcher follows it, and it is written in one sweep.
 */
static void link_lines(struct link *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lines[i].next = &lines[(i * 1664525 + 1013904223) & (count - 1)];
}

/* A power of two of lines within so many bytes. */
static size_t count_lines(size_t bytes)
{
    size_t count = 1;
    while (2 * count * LINE <= bytes)
        count *= 2;
    return bytes < LINE ? 0 : count;
}

static struct link *volatile followed; /* so that no chase is dropped */

static double chase(struct link *at, size_t lines, bool warm, double budget)
{
    double best = 0, start = clock_seconds();
    int64_t steps = 256;
    if (warm) /* all of it into its cache first */
        for (size_t i = 0; i < 2 * lines; i++)
            at = at->next;
    for (int samples = 0; samples < SAMPLES_LEAST || clock_seconds() - start < budget; samples++) {
        double before = clock_seconds();
        for (int64_t i = 0; i < steps; i++)
            at = at->next;
        followed = at;
        double seconds = clock_seconds() - before;
        if (seconds < sample_seconds) {
            steps *= 2;
            samples = 0;
            continue;
        }
        double step = seconds / (double)steps;
        best = best > 0 && best < step ? best : step;
    }
    return best;
}

void probe_latency(const struct machine *machine, const struct probe_budget *budget,
                   struct rates *rates)
{
    for (int level = MACHINE_L1; level < MACHINE_LEVEL_COUNT; level++) {
        bool memory = level == MACHINE_MEMORY;
        size_t bytes = memory ? probe_memory_bytes(machine, 1)
                              : probe_level_bytes(machine, (enum machine_level)level);
        size_t lines = count_lines(bytes);
        struct link *at = lines ? probe_map(bytes, false) : NULL;
        if (!at)
            continue;
        link_lines(at, lines);
        rates->latency[level] = chase(at, lines, !memory, budget->latency);
        probe_unmap(at, bytes);
    }
}

/* ---- calls ---- */

__attribute__((noinline)) static int empty_kernel(void *const *tensors, const int64_t *sizes,
                                                  const double *scalars, void *scratch)
{
    __asm__ volatile("" ::"r"(tensors), "r"(sizes), "r"(scalars), "r"(scratch) : "memory");
    return 0;
}

void probe_call(const struct probe_budget *budget, struct rates *rates)
{
    int (*volatile entry)(void *const *, const int64_t *, const double *, void *) = empty_kernel;
    enum { CALLS = 100000 };
    double start = clock_seconds();
    for (int samples = 0; samples < SAMPLES_LEAST || clock_seconds() - start < budget->compute;
         samples++) {
        double before = clock_seconds();
        for (int i = 0; i < CALLS; i++)
            entry(NULL, NULL, NULL, NULL);
        double each = (clock_seconds() - before) / CALLS;
        rates->call = rates->call > 0 && rates->call < each ? rates->call : each;
    }
}

/* ---- all of it ---- */

static void tell(const struct machine_probe *probe, const char *stage)
{
    if (probe->progress)
        probe->progress(probe->context, stage);
}

static bool probe_crew(const struct machine *machine, const struct machine_probe *probe,
                       const struct probe_budget *budget, enum machine_crew kind,
                       struct rates *rates, struct error *error)
{
    int count = kind == MACHINE_ONE ? 1 : machine->threads;
    char stage[80];
    struct crew *crew = crew_begin(count);
    if (!crew)
        return error_set(error, ERROR_OUT_OF_MEMORY, "could not start %d threads to measure with",
                         count);
    snprintf(stage, sizeof stage, "arithmetic, %d thread%s", count, count == 1 ? "" : "s");
    tell(probe, stage);
    probe_compute(machine, budget, crew, kind, rates);
    snprintf(stage, sizeof stage, "memory, %d thread%s", count, count == 1 ? "" : "s");
    tell(probe, stage);
    bool good = probe_memory(machine, budget, crew, kind, rates) &&
                (kind != MACHINE_ONE || probe_rows(machine, budget, rates));
    /* once more, seconds later: a neighbour on the same host may have been busy, and a rate that is
     * too low misleads every plan */
    probe_compute(machine, budget, crew, kind, rates);
    crew_end(crew);
    return good ||
           error_set(error, ERROR_OUT_OF_MEMORY, "could not have %zu MB of memory to measure with",
                     probe_memory_bytes(machine, count) >> 20);
}

bool machine_probe(const struct machine *machine, const struct machine_probe *probe,
                   struct rates *rates, struct error *error)
{
    const struct probe_budget *budget = probe->quick ? &quick : &thorough;
    *rates = (struct rates){0};
    tell(probe, "calls and latency");
    probe_call(budget, rates);
    probe_latency(machine, budget, rates);
    tell(probe, "caches");
    probe_caches(machine, budget, rates);
    if (!probe_crew(machine, probe, budget, MACHINE_ONE, rates, error))
        return false;
    if (machine->threads > 1)
        return probe_crew(machine, probe, budget, MACHINE_ALL, rates, error);
    memcpy(rates->compute[MACHINE_ALL], rates->compute[MACHINE_ONE],
           sizeof rates->compute[MACHINE_ALL]);
    memcpy(rates->bandwidth[MACHINE_ALL], rates->bandwidth[MACHINE_ONE],
           sizeof rates->bandwidth[MACHINE_ALL]);
    return true;
}
