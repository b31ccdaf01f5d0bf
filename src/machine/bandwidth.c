/*
 * Bandwidth of caches and memory.
 *
 * A sample is a run of a fraction of a millisecond: short enough that many escape whatever else the
 * machine does. In a cache a small buffer is walked again and again. In memory a window moves
 * through a buffer several times as large as the caches, so that each window was evicted long ago;
 * a first round is not counted, since writes into caches full of clean lines cost nothing yet.
 */
#include <sys/mman.h>

#include "machine/private.h"
#include "os/clock.h"

enum {
    TRAFFIC_UNIT = 4096,     /* of all lengths: four quarters of eight vectors, and a page */
    WINDOW_BYTES = 8 << 20,  /* of a sample in memory, per thread */
    SAMPLES_LEAST = 5,       /* however slow it is */
    MEMORY_LEAST = 64 << 20, /* of the buffer walked through */
    LARGE_PAGE = 2 << 20,
};

static const int64_t memory_most = (int64_t)1 << 30; /* of that buffer, for one thread */
static const double sample_seconds = 150e-6;

void *probe_map(size_t bytes, bool touch)
{
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    madvise(at, bytes, MADV_HUGEPAGE); /* where refused, small pages do */
    for (size_t i = 0; touch && i < bytes; i += 4096)
        at[i] = 1;
    return at;
}

void probe_unmap(void *at, size_t bytes)
{
    if (at)
        munmap(at, bytes);
}

static size_t round_down(int64_t bytes)
{
    return bytes < TRAFFIC_UNIT ? 0 : (size_t)(bytes / TRAFFIC_UNIT * TRAFFIC_UNIT);
}

size_t probe_level_bytes(const struct machine *machine, enum machine_level level)
{
    int64_t bytes = machine->caches[level].bytes;
    int64_t nearer = level == MACHINE_L1 ? 0 : machine->caches[level - 1].bytes;
    int64_t wanted = bytes / 2;
    if (bytes <= nearer * 3 / 2)
        return 0;
    if (level == MACHINE_L3 && nearer > 0 && 4 * nearer < wanted)
        wanted = 4 * nearer; /* the rest is others' as much as ours */
    if (wanted < nearer * 3 / 2)
        wanted = nearer * 3 / 2;
    return round_down(wanted);
}

/* How many instances of a cache `threads` threads can have between them. */
static int64_t instances(const struct machine *machine, int level, int threads)
{
    int most = machine->online / machine->caches[level].shared_by;
    int64_t count = threads < most ? threads : most;
    return count > 1 ? count : 1;
}

size_t probe_memory_bytes(const struct machine *machine, int count)
{
    int64_t cached = 0, most = count > 1 ? 4 * memory_most : memory_most;
    for (int level = 0; level < MACHINE_CACHES; level++)
        cached += machine->caches[level].bytes * instances(machine, level, count);
    int64_t bytes = 4 * cached;
    if (bytes < MEMORY_LEAST)
        bytes = MEMORY_LEAST;
    if (bytes > most)
        bytes = most;
    if (machine->memory_bytes > 0 && bytes > machine->memory_bytes / 8)
        bytes = machine->memory_bytes / 8;
    return (size_t)bytes / LARGE_PAGE * LARGE_PAGE;
}

/* Every vector width does less than the next, so the narrow one is for those with nothing else. */
static bool applies(const struct machine *machine, const struct traffic *traffic)
{
    if (traffic->set == MACHINE_SSE2 && machine_has(machine, MACHINE_AVX2))
        return false;
    return traffic->set < 0 || machine_has(machine, (enum machine_set)traffic->set);
}

static bool copies(const struct traffic *traffic)
{
    return traffic->mix == MACHINE_COPY || traffic->mix == MACHINE_STREAM_COPY;
}

/* A copy goes from the first half of a stretch to the second: as many bytes move in every mix. */
static uint64_t walk(const struct traffic *traffic, char *at, char *half, size_t bytes)
{
    return copies(traffic) ? traffic->walk(half, at, bytes / 2) : traffic->walk(at, at, bytes);
}

static volatile uint64_t walked; /* so that no walk is dropped */

static void keep_best(double *best, double seen)
{
    if (seen > *best)
        *best = seen;
}

static void probe_cache(const struct traffic *traffic, char *at, size_t bytes, double budget,
                        double *best)
{
    char *half = at + bytes / 2;
    double start = clock_seconds(), now = start;
    int64_t repeats = 1;
    for (int samples = 0; samples < SAMPLES_LEAST || now - start < budget; samples++) {
        double before = clock_seconds();
        for (int64_t i = 0; i < repeats; i++)
            walked ^= walk(traffic, at, half, bytes);
        now = clock_seconds();
        if (now - before < sample_seconds / 2) { /* too short to tell */
            repeats *= 2;
            samples = 0;
        } else {
            keep_best(best, (double)bytes * (double)repeats / (now - before));
        }
    }
}

void probe_caches(const struct machine *machine, const struct probe_budget *budget,
                  struct rates *rates)
{
    for (int level = MACHINE_L1; level < MACHINE_MEMORY; level++) {
        size_t bytes = probe_level_bytes(machine, (enum machine_level)level);
        char *at = bytes ? probe_map(bytes, true) : NULL;
        for (const struct traffic *traffic = traffic_variants; at && traffic->walk; traffic++)
            if (traffic->mix < MACHINE_STREAM_WRITE && applies(machine, traffic))
                probe_cache(traffic, at, bytes, budget->cache,
                            &rates->bandwidth[MACHINE_ONE][level][traffic->mix]);
        probe_unmap(at, bytes);
    }
}

/* ---- memory ---- */

struct memory_walk {
    const struct traffic *traffic; /* NULL: touch */
    char *at;
    size_t region; /* bytes of each member */
    size_t window; /* of one sample */
    size_t offset; /* of the window in the half region */
};

static void memory_task(void *context, int member)
{
    const struct memory_walk *work = context;
    char *region = work->at + (size_t)member * work->region;
    if (!work->traffic) { /* whoever touches a page first has it near */
        for (size_t i = 0; i < work->region; i += 4096)
            region[i] = 1;
        return;
    }
    /* two half windows, one in each half of the region */
    char *first = region + work->offset, *second = first + work->region / 2;
    uint64_t seen = 0;
    if (copies(work->traffic)) {
        seen = work->traffic->walk(second, first, work->window / 2);
    } else {
        seen = work->traffic->walk(first, first, work->window / 2);
        seen ^= work->traffic->walk(second, second, work->window / 2);
    }
    if (seen)
        walked ^= seen;
}

static void probe_memory_variant(struct memory_walk *work, struct crew *crew, double budget,
                                 double *best)
{
    size_t half = work->window / 2, end = work->region / 2;
    double moved = (double)work->window * crew_count(crew);
    for (work->offset = 0; work->offset + half <= end; work->offset += half)
        crew_run(crew, memory_task, work);
    double start = clock_seconds();
    work->offset = 0;
    for (int samples = 0; samples < SAMPLES_LEAST || clock_seconds() - start < budget; samples++) {
        double seconds = crew_run(crew, memory_task, work);
        if (seconds > 0)
            keep_best(best, moved / seconds);
        work->offset += half;
        if (work->offset + half > end)
            work->offset = 0;
    }
}

static int variants_of(const struct machine *machine, enum machine_mix mix)
{
    int count = 0;
    for (const struct traffic *traffic = traffic_variants; traffic->walk; traffic++)
        count += traffic->mix == mix && applies(machine, traffic);
    return count;
}

bool probe_memory(const struct machine *machine, const struct probe_budget *budget,
                  struct crew *crew, enum machine_crew kind, struct rates *rates)
{
    size_t count = (size_t)crew_count(crew), bytes = probe_memory_bytes(machine, (int)count);
    struct memory_walk work = {.region = round_down((int64_t)(bytes / count / 2)) * 2};
    work.window =
        work.region / 8 < WINDOW_BYTES ? round_down((int64_t)work.region / 16) * 2 : WINDOW_BYTES;
    if (!work.window || !(work.at = probe_map(bytes, false)))
        return false;
    crew_run(crew, memory_task, &work);
    for (const struct traffic *traffic = traffic_variants; traffic->walk; traffic++) {
        if (!applies(machine, traffic))
            continue;
        work.traffic = traffic;
        probe_memory_variant(&work, crew, budget->memory / variants_of(machine, traffic->mix),
                             &rates->bandwidth[kind][MACHINE_MEMORY][traffic->mix]);
    }
    probe_unmap(work.at, bytes);
    return true;
}
