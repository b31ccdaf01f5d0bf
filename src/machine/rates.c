/*
 * Measured rates: their names, the better of two, and the floors that follow.
 */
#include <math.h>
#include <string.h>

#include "machine/private.h"

static const char *const mix_names[MACHINE_MIX_COUNT] = {
    "read", "write", "copy", "stream-write", "stream-copy", "rows", "rows-ahead"};
static const char *const unit_names[MACHINE_UNIT_COUNT] = {"scalar", "sse2", "avx2",  "avx512",
                                                           "amx",    "neon", "device"};
static const char *const number_names[MACHINE_NUMBER_COUNT] = {"f64", "f32", "f16", "bf16", "i8"};
static const char *const crew_names[MACHINE_CREW_COUNT] = {"one", "all"};

const char *machine_mix_name(enum machine_mix mix)
{
    return mix_names[mix];
}

const char *machine_unit_name(enum machine_unit unit)
{
    return unit_names[unit];
}

const char *machine_number_name(enum machine_number number)
{
    return number_names[number];
}

const char *machine_crew_name(enum machine_crew crew)
{
    return crew_names[crew];
}

bool machine_number_parse(const char *name, enum machine_number *number)
{
    for (int i = 0; i < MACHINE_NUMBER_COUNT; i++)
        if (strcmp(number_names[i], name) == 0) {
            *number = (enum machine_number)i;
            return true;
        }
    return false;
}

/* ---- the better of two ---- */

static bool take_larger(double *best, const double *seen, size_t count)
{
    bool improved = false;
    for (size_t i = 0; i < count; i++)
        if (isfinite(seen[i]) && seen[i] > best[i]) {
            best[i] = seen[i];
            improved = true;
        }
    return improved;
}

static bool take_smaller(double *best, const double *seen, size_t count)
{
    bool improved = false;
    for (size_t i = 0; i < count; i++)
        if (isfinite(seen[i]) && seen[i] > 0 && (best[i] <= 0 || seen[i] < best[i])) {
            best[i] = seen[i];
            improved = true;
        }
    return improved;
}

bool machine_rates_merge(struct rates *best, const struct rates *seen)
{
    bool improved = take_larger(&best->bandwidth[0][0][0], &seen->bandwidth[0][0][0],
                                sizeof best->bandwidth / sizeof best->bandwidth[0][0][0]);
    improved |= take_larger(&best->compute[0][0][0], &seen->compute[0][0][0],
                            sizeof best->compute / sizeof best->compute[0][0][0]);
    improved |= take_smaller(best->latency, seen->latency, MACHINE_LEVEL_COUNT);
    improved |= take_smaller(&best->call, &seen->call, 1);
    return improved;
}

/* ---- floors ---- */

/* Which mixes a rate may be taken from: bits of enum machine_mix. */
enum {
    MIXES_READ = 1 << MACHINE_READ,
    MIXES_WRITE = 1 << MACHINE_WRITE | 1 << MACHINE_STREAM_WRITE,
    MIXES_ANY = (1 << MACHINE_MIX_COUNT) - 1,
};

static double best_of(const double *mixes, int wanted)
{
    double best = 0;
    for (int mix = 0; mix < MACHINE_MIX_COUNT; mix++)
        if (wanted >> mix & 1 && mixes[mix] > best)
            best = mixes[mix];
    return best;
}

/*
 * The fastest that `threads` threads can go at a level. Caches were measured with one thread: so
 * many threads are at most so many times as fast. In memory all threads together were measured, and
 * some of them are no faster than all.
 */
static double level_rate(const struct rates *rates, int level, int mixes, int threads)
{
    double one = best_of(rates->bandwidth[MACHINE_ONE][level], mixes);
    double all = best_of(rates->bandwidth[MACHINE_ALL][level], mixes);
    if (threads <= 1)
        return one;
    if (level != MACHINE_MEMORY || all <= 0)
        return one * threads;
    return fmin(one * threads, fmax(one, all));
}

/* Something farther away is no faster: a level measured badly is at least as fast as the next. */
static double level_ceiling(const struct rates *rates, int level, int mixes, int threads)
{
    double best = 0;
    for (int at = level; at < MACHINE_LEVEL_COUNT; at++)
        best = fmax(best, level_rate(rates, at, mixes, threads));
    for (int at = level - 1; best <= 0 && at >= 0; at--)
        best = level_rate(rates, at, mixes, threads);
    return best;
}

/* What a level can hold for so many threads at once. */
static double level_bytes(const struct machine *machine, int level, int threads)
{
    const struct machine_cache *cache = &machine->caches[level];
    int shared = cache->shared_by > 0 ? cache->shared_by : 1;
    int instances = machine->online / shared;
    if (instances > threads)
        instances = threads;
    return (double)cache->bytes * (instances > 1 ? instances : 1);
}

/*
 * As much as fits is in the nearest cache, of the rest as much as fits in the next, and so on: no
 * kernel finds its data better placed than that. `nearest` is MEMORY for data that is in no cache.
 */
static double traffic_seconds(const struct machine *machine, const struct rates *rates,
                              double bytes, int mixes, int threads, int nearest)
{
    double seconds = 0;
    for (int level = nearest; bytes > 0 && level < MACHINE_LEVEL_COUNT; level++) {
        double part =
            level == MACHINE_MEMORY ? bytes : fmin(bytes, level_bytes(machine, level, threads));
        double rate = level_ceiling(rates, level, mixes, threads);
        if (rate > 0)
            seconds += part / rate;
        bytes -= part;
    }
    return seconds;
}

/* The fastest unit for operands of one kind. */
static double number_rate(const struct rates *rates, enum machine_number number, int threads)
{
    double one = 0, all = 0;
    for (int unit = 0; unit < MACHINE_UNIT_COUNT; unit++) {
        one = fmax(one, rates->compute[MACHINE_ONE][unit][number]);
        all = fmax(all, rates->compute[MACHINE_ALL][unit][number]);
    }
    if (threads <= 1)
        return one;
    return all > 0 ? fmin(one * threads, fmax(one, all)) : one * threads;
}

/*
 * The fastest way to arithmetic as good as `number`: wider kinds serve as well, and products of
 * narrower ones can be added up. Three products of bf16 are the least that come near f32.
 */
static double arithmetic_rate(const struct rates *rates, enum machine_number number, int threads)
{
    double f64 = number_rate(rates, MACHINE_F64, threads);
    double f32 = fmax(f64, number_rate(rates, MACHINE_F32, threads));
    double f16 = number_rate(rates, MACHINE_F16, threads);
    double bf16 = number_rate(rates, MACHINE_BF16, threads);
    switch (number) {
    case MACHINE_F64: return f64;
    case MACHINE_F32: return fmax(f32, fmax(bf16, f16) / 3);
    case MACHINE_F16:
    case MACHINE_BF16: return fmax(f32, fmax(bf16, f16));
    default: return fmax(fmax(f32, fmax(bf16, f16)), number_rate(rates, MACHINE_I8, threads));
    }
}

struct machine_floor machine_floor(const struct machine *machine, const struct rates *rates,
                                   const struct machine_work *work)
{
    struct machine_floor floor = {0};
    int threads = work->threads > 1 ? work->threads : 1;
    int inputs = work->cold ? MACHINE_MEMORY : MACHINE_L1;
    double reads = traffic_seconds(machine, rates, work->read_bytes, MIXES_READ, threads, inputs);
    double writes =
        traffic_seconds(machine, rates, work->write_bytes, MIXES_WRITE, threads, MACHINE_L1);
    /* both together: no mix was ever seen to move more */
    double both = traffic_seconds(machine, rates, work->read_bytes + work->write_bytes, MIXES_ANY,
                                  threads, MACHINE_L1);
    double rate = arithmetic_rate(rates, work->number, threads);
    floor.memory = fmax(both, fmax(reads, writes));
    floor.compute = rate > 0 && work->operations > 0 ? work->operations / rate : 0;
    floor.seconds = fmax(floor.memory, floor.compute);
    return floor;
}

double machine_floor_seconds(const struct machine *machine, const struct rates *rates,
                             const struct machine_work *work)
{
    return machine_floor(machine, rates, work).seconds;
}

double machine_store_seconds(const struct rates *rates, double bytes, int threads)
{
    double best = 0;
    for (int level = 0; level < MACHINE_LEVEL_COUNT; level++)
        best = fmax(best, level_rate(rates, level, MIXES_WRITE, threads));
    return best > 0 && bytes > 0 ? bytes / best : 0;
}
