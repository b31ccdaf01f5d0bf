/*
 * The probes run, and what they say can be true. How fast this machine is, is nobody's to assert.
 */
#include "machine/private.h"
#include "test.h"

static int stages;

static void count_stage(void *context, const char *stage)
{
    (void)context;
    CHECK(stage[0] != '\0');
    stages++;
}

TEST(probe_measures_what_there_is)
{
    struct machine machine;
    struct rates rates;
    struct error error = {0};
    struct machine_probe probe = {.quick = true, .progress = count_stage};
    machine_describe(&machine, "");
    CHECK(machine_probe(&machine, &probe, &rates, &error));
    CHECK(stages >= 4);
    for (int crew = 0; crew < MACHINE_CREW_COUNT; crew++) {
        for (int mix = MACHINE_READ; mix <= MACHINE_COPY; mix++) {
            double rate = rates.bandwidth[crew][MACHINE_MEMORY][mix];
            CHECK(rate > 1e7 && rate < 1e14);
        }
        double rate = rates.compute[crew][MACHINE_UNIT_SCALAR][MACHINE_F32];
        CHECK(rate > 1e6 && rate < 1e16);
    }
    if (machine_has(&machine, MACHINE_AVX512F))
        CHECK(rates.compute[MACHINE_ONE][MACHINE_UNIT_AVX512][MACHINE_F64] > 0);
    else
        CHECK_DOUBLE(rates.compute[MACHINE_ONE][MACHINE_UNIT_AVX512][MACHINE_F64], 0);
    if (machine.caches[MACHINE_L1].bytes) {
        CHECK(rates.latency[MACHINE_L1] > 0);
        CHECK(rates.latency[MACHINE_L1] < rates.latency[MACHINE_MEMORY]);
        CHECK(rates.bandwidth[MACHINE_ONE][MACHINE_L1][MACHINE_READ] >
              rates.bandwidth[MACHINE_ONE][MACHINE_MEMORY][MACHINE_READ] / 4);
    }
    CHECK(rates.call > 0 && rates.call < 1e-3);
}

/* A machine that says nothing of its caches is still measured in memory, in a small buffer. */
TEST(probe_of_a_machine_without_known_caches)
{
    struct machine machine = {.online = 1, .allowed = 1, .threads = 1};
    for (int level = 0; level < MACHINE_CACHES; level++)
        machine.caches[level].shared_by = 1;
    CHECK_INT(probe_level_bytes(&machine, MACHINE_L1), 0);
    CHECK_INT(probe_memory_bytes(&machine, 1), 64 << 20);
    machine.memory_bytes = 128 << 20;
    CHECK_INT(probe_memory_bytes(&machine, 1), 16 << 20);
    struct rates rates;
    struct error error = {0};
    struct machine_probe probe = {.quick = true};
    CHECK(machine_probe(&machine, &probe, &rates, &error));
    CHECK_DOUBLE(rates.bandwidth[MACHINE_ONE][MACHINE_L1][MACHINE_READ], 0);
    CHECK(rates.bandwidth[MACHINE_ALL][MACHINE_MEMORY][MACHINE_COPY] > 0);
}

/* The bytes that stand for a level lie in it and in none nearer. */
TEST(probe_levels_do_not_overlap)
{
    struct machine machine = {.online = 2, .caches = {{32 << 10, 1}, {1 << 20, 1}, {32 << 20, 2}}};
    CHECK_INT(probe_level_bytes(&machine, MACHINE_L1), 16 << 10);
    CHECK_INT(probe_level_bytes(&machine, MACHINE_L2), 512 << 10);
    CHECK_INT(probe_level_bytes(&machine, MACHINE_L3), 4 << 20);
    CHECK(probe_memory_bytes(&machine, 1) >= (size_t)4 * (32 << 20));
    machine.caches[MACHINE_L3].bytes = 1 << 20; /* no larger than the one before: not a level */
    CHECK_INT(probe_level_bytes(&machine, MACHINE_L3), 0);
}

static int visits[3];

static void visit(void *context, int member)
{
    CHECK(context == visits);
    visits[member]++;
}

TEST(crew_does_everything_once_per_member)
{
    struct crew *crew = crew_begin(3);
    CHECK(crew != NULL);
    CHECK_INT(crew_count(crew), 3);
    for (int i = 0; i < 20; i++)
        CHECK(crew_run(crew, visit, visits) >= 0);
    crew_end(crew);
    for (int i = 0; i < 3; i++)
        CHECK_INT(visits[i], 20);
    crew_end(NULL);
}

TEST(noise_is_a_spread)
{
    struct machine_noise noise;
    machine_noise(&noise);
    CHECK(noise.fastest > 0 && noise.fastest <= noise.median && noise.median <= noise.p95);
    CHECK(noise.spread >= 0 && noise.slowdown >= 0);
}
