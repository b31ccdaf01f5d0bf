/*
 * What code is made for: the machine's vectors, caches and rates as skeletons want them.
 */
#include "skeleton/skeleton.h"

#include <string.h>

struct vector_kind {
    const char *name;
    enum machine_set set;
    enum machine_unit unit;
    int bytes, registers;
    bool masks;
    double fma; /* typical, per core and second */
};

static const struct vector_kind KINDS[] = {
    {"avx512", MACHINE_AVX512F, MACHINE_UNIT_AVX512, 64, 32, true, 150e9},
    {"avx2", MACHINE_AVX2, MACHINE_UNIT_AVX2, 32, 16, false, 90e9},
    {"portable", MACHINE_SET_COUNT, MACHINE_UNIT_SSE2, 16, 16, false, 24e9},
};

enum {
    KIND_COUNT = sizeof KINDS / sizeof *KINDS,
    TYPICAL_L1 = 32 << 10,
    TYPICAL_L2 = 1 << 20,
    TYPICAL_L3 = 4 << 20,
};

static const double typical_memory = 10e9, typical_l2_rate = 60e9;

static double positive(double measured, double typical)
{
    return measured > 0 ? measured : typical;
}

/* What one core may fill of a cache that others fill, too. */
static int64_t share(const struct machine *machine, int level, int64_t typical)
{
    const struct machine_cache *cache = &machine->caches[level];
    int64_t sharers = cache->shared_by > 0 ? cache->shared_by : 1;
    int64_t siblings = machine->siblings > 0 ? machine->siblings : 1;
    int64_t cores = (sharers + siblings - 1) / siblings;
    if (cores > machine->threads)
        cores = machine->threads > 0 ? machine->threads : 1;
    return cache->bytes > 0 ? cache->bytes / cores : typical;
}

static void take_kind(struct skeleton_target *target, const struct vector_kind *kind)
{
    target->name = kind->name;
    target->vector_bytes = target->full_bytes = kind->bytes;
    target->registers = kind->registers;
    target->masks = kind->masks;
}

/* Where it was not measured, a machine is told: of those we had (Zen 3 to 5, Sapphire Rapids) only
 * a Zen 4 was slower for it. */
static bool follows_rows(const struct rates *rates)
{
    static const double worth = 1.02;
    const double *memory = rates->bandwidth[MACHINE_ONE][MACHINE_MEMORY];
    return memory[MACHINE_ROWS_AHEAD] > 0 &&
           memory[MACHINE_ROWS_AHEAD] < worth * memory[MACHINE_ROWS];
}

struct skeleton_target skeleton_target_new(const struct machine *machine, const struct rates *rates)
{
    struct skeleton_target target = {.threads = machine->threads > 0 ? machine->threads : 1};
    int kind = 0;
    while (kind + 1 < KIND_COUNT && !machine_has(machine, KINDS[kind].set))
        kind++;
    take_kind(&target, &KINDS[kind]);
    target.streaming = machine_has(machine, MACHINE_SSE2);
    target.follows = follows_rows(rates);
    for (int i = 0; i < MACHINE_ATOM_COUNT && target.vector_bytes == 64; i++) {
        const struct machine_atom *atom = &machine_atoms[i];
        if (machine_has(machine, atom->set))
            target.atoms[i] =
                positive(rates->compute[MACHINE_ONE][atom->unit][atom->operands], atom->typical);
    }
    target.l1 = share(machine, MACHINE_L1, TYPICAL_L1);
    target.l2 = share(machine, MACHINE_L2, TYPICAL_L2);
    target.l3 = share(machine, MACHINE_L3, TYPICAL_L3);
    target.fma =
        positive(rates->compute[MACHINE_ONE][KINDS[kind].unit][MACHINE_F32], KINDS[kind].fma);
    const struct vector_kind *narrower = &KINDS[kind + 1 < KIND_COUNT ? kind + 1 : kind];
    if (rates->compute[MACHINE_ONE][narrower->unit][MACHINE_F32] > 0.8 * target.fma)
        target.full_bytes = narrower->bytes; /* wide ones take twice as long */
    target.memory =
        positive(rates->bandwidth[MACHINE_ALL][MACHINE_MEMORY][MACHINE_COPY] / target.threads,
                 typical_memory);
    target.l2_rate =
        positive(rates->bandwidth[MACHINE_ONE][MACHINE_L2][MACHINE_READ], typical_l2_rate);
    return target;
}

static void limit_to(struct skeleton_target *target, const struct vector_kind *kind)
{
    if (kind->bytes < target->vector_bytes) {
        target->fma = target->fma * kind->bytes / target->vector_bytes;
        memset(target->atoms, 0, sizeof target->atoms);
    } else if (kind->bytes > target->vector_bytes) {
        target->fma = kind->fma;
    }
    take_kind(target, kind);
}

bool skeleton_target_limit(struct skeleton_target *target, const char *name)
{
    bool atoms = strcmp(name, "amx") == 0; /* comes with the widest vectors */
    for (int i = 0; i < KIND_COUNT; i++) {
        if (strcmp(KINDS[i].name, atoms ? KINDS[0].name : name) != 0)
            continue;
        limit_to(target, &KINDS[i]);
        for (int a = 0; atoms && a < MACHINE_ATOM_COUNT; a++)
            target->atoms[a] = positive(target->atoms[a], machine_atoms[a].typical);
        return true;
    }
    return false;
}
