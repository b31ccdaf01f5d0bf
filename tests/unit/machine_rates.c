/*
 * Rates: merged, kept, read back, and the floors made of them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/machine.h"
#include "os/os.h"
#include "test.h"

static struct arena arena;

/* Two processors of round numbers: 10 kB of L1 each, 100 kB of L2 each, 1 MB of L3 for both. */
static const struct machine machine = {
    .online = 2,
    .allowed = 2,
    .threads = 2,
    .caches = {{10000, 1}, {100000, 1}, {1000000, 2}},
    .id = "0123456789abcdef",
};

static struct rates some_rates(void)
{
    struct rates rates = {.latency = {1e-9, 4e-9, 2e-8, 1e-7}, .call = 2e-9};
    static const double level[] = {100e9, 50e9, 20e9, 10e9};
    for (int at = 0; at < MACHINE_LEVEL_COUNT; at++) {
        rates.bandwidth[MACHINE_ONE][at][MACHINE_READ] = level[at];
        rates.bandwidth[MACHINE_ONE][at][MACHINE_WRITE] = level[at] / 2;
        rates.bandwidth[MACHINE_ONE][at][MACHINE_COPY] = level[at] * 1.2;
    }
    rates.bandwidth[MACHINE_ALL][MACHINE_MEMORY][MACHINE_READ] = 15e9;
    rates.compute[MACHINE_ONE][MACHINE_UNIT_AVX2][MACHINE_F32] = 100e9;
    rates.compute[MACHINE_ONE][MACHINE_UNIT_AVX2][MACHINE_F64] = 50e9;
    rates.compute[MACHINE_ALL][MACHINE_UNIT_AVX2][MACHINE_F32] = 180e9;
    return rates;
}

static double floor_of(const struct rates *rates, struct machine_work work)
{
    return machine_floor_seconds(&machine, rates, &work);
}

TEST(rates_merge_keeps_the_better_of_each)
{
    struct rates best = some_rates(), worse = some_rates(), better = some_rates(), empty = {0};
    worse.call = 3e-9;
    worse.compute[0][MACHINE_UNIT_AVX2][MACHINE_F32] = 1;
    CHECK(!machine_rates_merge(&best, &worse));
    CHECK(!machine_rates_merge(&best, &empty));
    CHECK_DOUBLE(best.call, 2e-9);
    better.latency[MACHINE_L2] = 3e-9;
    better.bandwidth[MACHINE_ONE][MACHINE_L1][MACHINE_READ] = 101e9;
    better.bandwidth[MACHINE_ONE][MACHINE_L1][MACHINE_WRITE] = 1; /* and something worse */
    CHECK(machine_rates_merge(&best, &better));
    CHECK_DOUBLE(best.latency[MACHINE_L2], 3e-9);
    CHECK_DOUBLE(best.bandwidth[MACHINE_ONE][MACHINE_L1][MACHINE_READ], 101e9);
    CHECK_DOUBLE(best.bandwidth[MACHINE_ONE][MACHINE_L1][MACHINE_WRITE], 50e9);
    CHECK(machine_rates_merge(&empty, &best));
    CHECK(memcmp(&empty, &best, sizeof best) == 0);
    /* a clock that stood still must not become a ceiling */
    best.call = 1e-9;
    struct rates broken = {.call = 0.0 / 1, .latency = {-1}};
    broken.compute[0][0][0] = 1.0 / (broken.call * 0);
    CHECK(!machine_rates_merge(&best, &broken));
}

TEST(floor_of_memory_follows_where_data_can_be)
{
    struct rates rates = some_rates();
    /* all of it in L1 */
    CHECK_DOUBLE(floor_of(&rates, (struct machine_work){.read_bytes = 10000}), 10000 / 100e9);
    /* L1 full, the rest in L2 */
    CHECK_DOUBLE(floor_of(&rates, (struct machine_work){.read_bytes = 60000}),
                 10000 / 100e9 + 50000 / 50e9);
    /* through all levels into memory */
    CHECK_DOUBLE(floor_of(&rates, (struct machine_work){.read_bytes = 10e6}),
                 10000 / 100e9 + 100000 / 50e9 + 1e6 / 20e9 + (10e6 - 1.11e6) / 10e9);
    /* cold: inputs come from memory, however small */
    CHECK_DOUBLE(floor_of(&rates, (struct machine_work){.read_bytes = 10000, .cold = true}),
                 10000 / 10e9);
    /* writes have a rate of their own */
    CHECK_DOUBLE(floor_of(&rates, (struct machine_work){.write_bytes = 10000}), 10000 / 50e9);
    /* reads and writes side by side: no more than the best mix moves */
    CHECK_DOUBLE(floor_of(&rates, (struct machine_work){.read_bytes = 7500, .write_bytes = 2500}),
                 10000 / 120e9);
}

TEST(floor_with_threads)
{
    struct rates rates = some_rates();
    /* a cache each */
    CHECK_DOUBLE(floor_of(&rates, (struct machine_work){.read_bytes = 20000, .threads = 2}),
                 20000 / 200e9);
    /* together no faster in memory than all were seen to be */
    CHECK_DOUBLE(
        floor_of(&rates, (struct machine_work){.read_bytes = 1e9, .threads = 2, .cold = true}),
        1e9 / 15e9);
    CHECK_DOUBLE(
        floor_of(&rates,
                 (struct machine_work){.operations = 1e9, .number = MACHINE_F32, .threads = 2}),
        1e9 / 180e9);
}

TEST(floor_of_arithmetic_takes_the_fastest_way)
{
    struct rates rates = some_rates();
    struct machine_work work = {.operations = 1e9, .number = MACHINE_F32, .read_bytes = 10000};
    struct machine_floor floor = machine_floor(&machine, &rates, &work);
    CHECK_DOUBLE(floor.compute, 0.01);
    CHECK_DOUBLE(floor.memory, 1e-7);
    CHECK_DOUBLE(floor.seconds, 0.01);
    work.number = MACHINE_F64;
    CHECK_DOUBLE(machine_floor(&machine, &rates, &work).compute, 0.02);
    /* bf16 without a unit of its own is done in f32 */
    work.number = MACHINE_BF16;
    CHECK_DOUBLE(machine_floor(&machine, &rates, &work).compute, 0.01);
    /* f32 out of three bf16 products */
    rates.compute[MACHINE_ONE][MACHINE_UNIT_AMX][MACHINE_BF16] = 900e9;
    work.number = MACHINE_F32;
    CHECK_DOUBLE(machine_floor(&machine, &rates, &work).compute, 1e9 / 300e9);
}

/* Without rates there is no floor, so that nothing is suspected for want of a measurement. */
TEST(floor_of_an_unknown_machine_is_zero)
{
    struct rates none = {0}, partly = some_rates();
    struct machine_work work = {.read_bytes = 1e9, .write_bytes = 1e9, .operations = 1e9};
    CHECK_DOUBLE(floor_of(&none, work), 0);
    CHECK_DOUBLE(machine_store_seconds(&none, 1e9, 1), 0);
    /* a level that was not measured counts as fast as one that is nearer, or the next one */
    memset(partly.bandwidth[MACHINE_ONE][MACHINE_MEMORY], 0,
           sizeof partly.bandwidth[MACHINE_ONE][MACHINE_MEMORY]);
    CHECK_DOUBLE(floor_of(&partly, (struct machine_work){.read_bytes = 1e9, .cold = true}),
                 1e9 / 20e9);
    CHECK_DOUBLE(floor_of(&partly, (struct machine_work){0}), 0);
}

TEST(store_floor_takes_the_fastest_store)
{
    struct rates rates = some_rates();
    CHECK_DOUBLE(machine_store_seconds(&rates, 1e9, 1), 1e9 / 50e9);
    rates.bandwidth[MACHINE_ONE][MACHINE_MEMORY][MACHINE_STREAM_WRITE] = 60e9;
    CHECK_DOUBLE(machine_store_seconds(&rates, 1e9, 1), 1e9 / 60e9);
    CHECK_DOUBLE(machine_store_seconds(&rates, 1e9, 2), 1e9 / 120e9);
}

/* ---- the text and the file ---- */

static const char *use_fresh_cache(void)
{
    char *home = arena_string(&arena, "/tmp/smelt-test-XXXXXX");
    CHECK(mkdtemp(home) != NULL);
    setenv("SMELT_CACHE", home, 1);
    return home;
}

static void drop_cache(const char *home)
{
    struct error error = {0};
    char *path = machine_rates_path(&arena, &machine, &error);
    CHECK(path != NULL);
    unlink(path);
    CHECK(rmdir(arena_printf(&arena, "%s/machine", home)) == 0); /* nothing else is in it */
    rmdir(home);
}

TEST(rates_print_and_parse_to_themselves)
{
    struct rates rates = some_rates(), back;
    struct text text = text_new(&arena);
    machine_rates_print(&text, &machine, &rates);
    CHECK(strstr(text.at, "\nbandwidth one L1 read 100000000000\n") != NULL);
    CHECK_INT(machine_rates_parse(text.at, text.length, &machine, &back), MACHINE_KEPT_GOOD);
    CHECK(memcmp(&rates, &back, sizeof rates) == 0);
}

TEST(rates_that_are_not_whole_are_not_believed)
{
    struct rates rates = some_rates(), back;
    struct text text = text_new(&arena);
    struct machine other = machine;
    machine_rates_print(&text, &machine, &rates);
    for (size_t length = 0; length < text.length; length++)
        CHECK_INT(machine_rates_parse(text.at, length, &machine, &back), MACHINE_KEPT_DAMAGED);
    for (size_t at = 0; at < text.length; at++) {
        text.at[at] ^= 1;
        CHECK_INT(machine_rates_parse(text.at, text.length, &machine, &back), MACHINE_KEPT_DAMAGED);
        text.at[at] ^= 1;
    }
    CHECK_DOUBLE(back.call, 0);
    other.id[0] = 'f';
    CHECK_INT(machine_rates_parse(text.at, text.length, &other, &back), MACHINE_KEPT_DAMAGED);
}

/* The sum is right, and the content still is not: written by another version, or by hand. */
TEST(rates_with_lines_nobody_knows_are_not_believed)
{
    static const char *const lines[] = {"call -1", "call nan",  "call 1e99", "call",
                                        "call 1x", "speed 100", "",          "latency L9 1e-9"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct rates back;
        struct text text = text_new(&arena);
        char sum[65];
        text_printf(&text, "smelt rates 1\nmachine %s\n%s\n", machine.id, lines[i]);
        sha256_hex(text.at, text.length, sum);
        text_printf(&text, "sum %s\n", sum);
        CHECK_INT(machine_rates_parse(text.at, text.length, &machine, &back), MACHINE_KEPT_DAMAGED);
    }
}

TEST(rates_are_kept_and_only_improve)
{
    const char *home = use_fresh_cache();
    struct rates seen = some_rates(), best, loaded;
    struct error error = {0};
    enum machine_kept before;
    struct stat status;
    CHECK_INT(machine_rates_load(&arena, &machine, &loaded), MACHINE_KEPT_NONE);
    CHECK(machine_rates_keep(&arena, &machine, &seen, &best, &before, &error));
    CHECK_INT(before, MACHINE_KEPT_NONE);
    CHECK(stat(machine_rates_path(&arena, &machine, &error), &status) == 0);
    CHECK_INT(status.st_mode & 0777, 0600);
    seen.call = 9e-9;
    seen.latency[MACHINE_L1] = 5e-10;
    CHECK(machine_rates_keep(&arena, &machine, &seen, &best, &before, &error));
    CHECK_INT(before, MACHINE_KEPT_GOOD);
    CHECK_DOUBLE(best.call, 2e-9);
    CHECK_DOUBLE(best.latency[MACHINE_L1], 5e-10);
    CHECK_INT(machine_rates_load(&arena, &machine, &loaded), MACHINE_KEPT_GOOD);
    CHECK(memcmp(&loaded, &best, sizeof best) == 0);
    drop_cache(home);
}

TEST(rates_damaged_on_disk_are_replaced)
{
    const char *home = use_fresh_cache();
    struct rates seen = some_rates(), best, loaded;
    struct error error = {0};
    enum machine_kept before;
    CHECK(machine_rates_save(&arena, &machine, &seen, &error));
    CHECK(truncate(machine_rates_path(&arena, &machine, &error), 100) == 0);
    CHECK_INT(machine_rates_load(&arena, &machine, &loaded), MACHINE_KEPT_DAMAGED);
    CHECK_DOUBLE(loaded.call, 0);
    CHECK(machine_rates_keep(&arena, &machine, &seen, &best, &before, &error));
    CHECK_INT(before, MACHINE_KEPT_DAMAGED);
    CHECK_INT(machine_rates_load(&arena, &machine, &loaded), MACHINE_KEPT_GOOD);
    /* longer than any that we write */
    CHECK(truncate(machine_rates_path(&arena, &machine, &error), MACHINE_KEPT_BYTES + 1) == 0);
    CHECK_INT(machine_rates_load(&arena, &machine, &loaded), MACHINE_KEPT_DAMAGED);
    drop_cache(home);
}

/* What was measured is still there to be shown when it cannot be kept. */
TEST(rates_without_a_place_to_keep_them)
{
    struct rates seen = some_rates(), best;
    struct error error = {0};
    setenv("SMELT_CACHE", "/dev/null/nowhere", 1);
    CHECK(!machine_rates_keep(&arena, &machine, &seen, &best, NULL, &error));
    CHECK_INT(error.code, ERROR_CANNOT_WRITE);
    CHECK(memcmp(&best, &seen, sizeof best) == 0);
}

TEST(rates_have_names)
{
    enum machine_number number;
    CHECK(machine_number_parse("bf16", &number) && number == MACHINE_BF16);
    CHECK(!machine_number_parse("i64", &number));
    CHECK_STR(machine_mix_name(MACHINE_STREAM_COPY), "stream-copy");
    CHECK_STR(machine_mix_name(MACHINE_ROWS_AHEAD), "rows-ahead");
    CHECK_STR(machine_unit_name(MACHINE_UNIT_NEON), "neon");
}

/* A device is all of its units at once; its inputs may lie in its cache, not in shared memory. */
TEST(floor_of_a_device)
{
    struct machine_device told = {.target = "cuda",
                                  .model = "a GPU",
                                  .version = "CUDA 13.0",
                                  .architecture = "sm_90a",
                                  .units = 100,
                                  .cache_bytes = 1000000,
                                  .memory_bytes = 1 << 30};
    static const char lines[] = "bandwidth one memory read 1e+12\n"
                                "bandwidth one memory write 1e+12\n"
                                "bandwidth one L2 read 4e+12\n"
                                "bandwidth one L1 read 2e+13\n"
                                "compute one device f32 5e+13\n"
                                "compute one device f33 5e+13\n"
                                "latency memory 5e-07\n"
                                "call -1\n";
    struct machine device, other;
    struct rates rates;
    machine_describe_device(&device, &told);
    told.version = "CUDA 13.1";
    machine_describe_device(&other, &told);
    CHECK(strcmp(device.id, other.id) != 0);
    CHECK(machine_rates_take(lines, &rates));
    CHECK(rates.call == 0);
    CHECK(rates.compute[MACHINE_ONE][MACHINE_UNIT_DEVICE][MACHINE_F32] == 5e13);
    struct machine_work work = {.read_bytes = 2e6, .write_bytes = 0, .cold = true};
    CHECK(machine_floor_seconds(&device, &rates, &work) == 2e-6);
    work.cold = false;
    double warm = machine_floor_seconds(&device, &rates, &work);
    CHECK(warm > 1.2e-6 && warm < 1.3e-6); /* half of it in the cache */
    work = (struct machine_work){.operations = 5e10, .number = MACHINE_F32};
    double compute = machine_floor_seconds(&device, &rates, &work);
    CHECK(compute > 0.999e-3 && compute < 1.001e-3);
    CHECK(!machine_rates_take("nothing of the kind\n", &rates));
}
