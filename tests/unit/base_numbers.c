/* Hashes, random numbers and statistics. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/statistics.h"
#include "test.h"

/* The examples of FIPS 180-4 and the empty string. */
TEST(sha256_known_answers)
{
    char hex[65];
    sha256_hex("", 0, hex);
    CHECK_STR(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256_hex("abc", 3, hex);
    CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    sha256_hex(two_blocks, strlen(two_blocks), hex);
    CHECK_STR(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    sha256_hex(million, 1000000, hex);
    CHECK_STR(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

/* The name of a stored thing does not depend on how its bytes arrived. */
TEST(sha256_in_pieces)
{
    unsigned char bytes[300], whole[32], pieces[32];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        struct sha256 sha;
        sha256_start(&sha);
        sha256_add(&sha, bytes, length);
        sha256_finish(&sha, whole);
        sha256_start(&sha);
        for (size_t at = 0, step = 1; at < length; at += step, step = step % 70 + 1) {
            step = step < length - at ? step : length - at;
            sha256_add(&sha, bytes + at, step);
        }
        sha256_finish(&sha, pieces);
        CHECK(memcmp(whole, pieces, 32) == 0);
    }
}

/* Each bit of the input changes about half of the output: tables stay even. */
TEST(hash_bytes_avalanches)
{
    unsigned char bytes[24] = {0};
    long flipped = 0, tried = 0;
    for (size_t length = 1; length <= sizeof bytes; length++) {
        uint64_t plain = hash_bytes(bytes, length, 0);
        for (size_t bit = 0; bit < 8 * length; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            int bits = __builtin_popcountll(plain ^ hash_bytes(bytes, length, 0));
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            CHECK(bits >= 8 && bits <= 56);
            flipped += bits;
            tried++;
        }
    }
    double mean = (double)flipped / (double)tried;
    CHECK(mean > 30 && mean < 34);
}

TEST(hash_depends_on_everything)
{
    CHECK(hash_bytes("a", 1, 0) != hash_bytes("a", 1, 1));
    CHECK(hash_bytes("a\0", 2, 0) != hash_bytes("a", 1, 0));
    CHECK(hash_bytes(NULL, 0, 0) == hash_bytes("x", 0, 0));
    CHECK(hash_mix(1, 2) != hash_mix(2, 1));
    CHECK(hash_mix(0, 0) != hash_mix(0, 1));
    CHECK(hash_mix(0, 0) != 0);
    /* Low bits of small keys are what a table looks at. */
    int seen[64] = {0};
    for (uint64_t i = 0; i < 6400; i++)
        seen[hash_bytes(&i, sizeof i, 0) & 63]++;
    for (int i = 0; i < 64; i++)
        CHECK(seen[i] > 50 && seen[i] < 160);
}

static void check_philox(uint64_t seed, uint64_t stream, uint64_t counter, uint32_t a, uint32_t b,
                         uint32_t c, uint32_t d)
{
    uint32_t out[4];
    random_bits(seed, stream, counter, out);
    CHECK_INT(out[0], a);
    CHECK_INT(out[1], b);
    CHECK_INT(out[2], c);
    CHECK_INT(out[3], d);
}

/* The known answers published with Random123, so that a seed means the same everywhere. */
TEST(random_known_answers)
{
    check_philox(0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
    check_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
                 0x6d5451fd);
    check_philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88, 0xd16cfe09, 0x94fdcceb,
                 0x5001e420, 0x24126ea1);
}

TEST(random_draws_are_a_function)
{
    struct random a = random_new(7, 3), b = random_new(7, 3), c = random_new(7, 4);
    uint64_t first = random_u64(&a);
    CHECK(first == random_u64(&b));
    CHECK(first != random_u64(&c));
    /* Any kind of draw takes one counter, so draws can be found again by number. */
    random_uniform(&a), random_normal(&a), random_below(&a, 10), random_below(&a, 0);
    CHECK_INT(a.counter, 5);
    b.counter = 0;
    CHECK(random_u64(&b) == first);
}

TEST(random_moments)
{
    enum { COUNT = 200000 };
    struct random random = random_new(42, 0);
    double sum = 0, square = 0, fourth = 0, normal = 0;
    for (int i = 0; i < COUNT; i++) {
        double u = random_uniform(&random), n = random_normal(&random);
        CHECK(u >= 0 && u < 1);
        sum += u;
        normal += n;
        square += n * n;
        fourth += n * n * n * n;
    }
    CHECK(fabs(sum / COUNT - 0.5) < 0.005);
    CHECK(fabs(normal / COUNT) < 0.01);
    CHECK(fabs(square / COUNT - 1) < 0.02);
    CHECK(fabs(fourth / COUNT - 3) < 0.12);
}

/* The hand-made logarithm and sine against those of the C library. */
TEST(random_normal_agrees_with_libm)
{
    struct random random = random_new(9, 9);
    for (uint64_t i = 0; i < 100000; i++) {
        uint32_t words[4];
        random_bits(9, 9, i, words);
        uint64_t first = words[0] | (uint64_t)words[1] << 32;
        uint64_t second = words[2] | (uint64_t)words[3] << 32;
        double radius = sqrt(-2 * log((double)((first >> 11) + 1) * 0x1p-53));
        double expected = radius * sin(2 * acos(-1) * (double)(second >> 11) * 0x1p-53);
        CHECK(fabs(random_normal(&random) - expected) < 1e-14);
    }
}

TEST(random_below_is_fair)
{
    struct random random = random_new(5, 0);
    int seen[7] = {0};
    for (int i = 0; i < 70000; i++) {
        uint64_t value = random_below(&random, 7);
        CHECK(value < 7);
        seen[value]++;
    }
    for (int i = 0; i < 7; i++)
        CHECK(seen[i] > 9500 && seen[i] < 10500);
    /* A bound for which almost half of the draws are thrown away. */
    uint64_t bound = (UINT64_C(1) << 63) + 1;
    int upper = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t value = random_below(&random, bound);
        CHECK(value < bound);
        upper += value > bound / 2;
    }
    CHECK(upper > 4800 && upper < 5200);
    CHECK_INT(random_below(&random, 1), 0);
}

TEST(statistics_of_a_few)
{
    const double values[] = {5, 1, 4, 2, 3};
    CHECK_DOUBLE(statistics_mean(values, 5), 3);
    CHECK_DOUBLE(statistics_deviation(values, 5), sqrt(2.5));
    CHECK_DOUBLE(statistics_median(values, 5), 3);
    CHECK_DOUBLE(statistics_median(values, 4), 3);
    for (size_t count = 1; count <= 5; count++) {
        double copy[5];
        memcpy(copy, values, sizeof copy);
        CHECK_DOUBLE(statistics_median_in_place(copy, count), statistics_median(values, count));
    }
    CHECK_DOUBLE(statistics_quantile(values, 5, 0), 1);
    CHECK_DOUBLE(statistics_quantile(values, 5, 1), 5);
    CHECK_DOUBLE(statistics_quantile(values, 5, 0.1), 1.4);
    CHECK_DOUBLE(statistics_low_mean(values, 5, 0.1), 1);
    CHECK_DOUBLE(statistics_low_mean(values, 5, 0.4), 1.5);
    CHECK(isnan(statistics_low_mean(values, 0, 0.1)));
    CHECK_DOUBLE(statistics_geometric_mean((double[]){1, 10, 100}, 3), 10);
    CHECK_DOUBLE(values[0], 5);
    CHECK_DOUBLE(statistics_deviation(values, 1), 0);
    CHECK_DOUBLE(statistics_median(values, 1), 5);
}

/* No measurement, or one that failed, shows as nan instead of a made-up number. */
TEST(statistics_of_nothing)
{
    CHECK(isnan(statistics_mean(NULL, 0)));
    CHECK(isnan(statistics_deviation(NULL, 0)));
    CHECK(isnan(statistics_median(NULL, 0)));
    CHECK(isnan(statistics_geometric_mean(NULL, 0)));
    CHECK(isnan(statistics_bootstrap_median(NULL, 0, 0.95, 100, 1).middle));
    const double one = 1, broken[] = {1, NAN, 2};
    CHECK(isnan(statistics_bootstrap_ratio(&one, 1, NULL, 0, 0.95, 100, 1).low));
    CHECK(isnan(statistics_median(broken, 3)));
    CHECK(isnan(statistics_bootstrap_median(broken, 3, 0.95, 100, 1).high));
    /* An endless one is a number, though. */
    CHECK(isinf(statistics_median((double[]){1, INFINITY, INFINITY}, 3)));
    CHECK(isinf(statistics_quantile((double[]){1, INFINITY}, 2, 1)));
}

TEST(bootstrap_brackets_the_median)
{
    double values[31];
    struct random random = random_new(11, 0);
    for (int i = 0; i < 31; i++)
        values[i] = 100 + random_normal(&random);
    struct interval a = statistics_bootstrap_median(values, 31, 0.95, 2000, 1);
    struct interval b = statistics_bootstrap_median(values, 31, 0.95, 2000, 1);
    CHECK_DOUBLE(a.middle, statistics_median(values, 31));
    CHECK(a.low < a.middle && a.middle < a.high);
    CHECK(a.high - a.low > 0.1 && a.high - a.low < 2);
    CHECK(a.low == b.low && a.high == b.high);
    struct interval narrow = statistics_bootstrap_median(values, 31, 0.5, 2000, 1);
    CHECK(narrow.high - narrow.low < a.high - a.low);
    struct interval none = statistics_bootstrap_median(values, 31, 0.95, 0, 1);
    CHECK(none.low == none.middle && none.high == none.middle);
}

/* About 95 of 100 intervals hold the true median. */
TEST(bootstrap_covers)
{
    struct random random = random_new(12, 0);
    int covered = 0;
    for (uint64_t trial = 0; trial < 1000; trial++) {
        double values[25];
        for (int i = 0; i < 25; i++)
            values[i] = random_normal(&random);
        struct interval interval = statistics_bootstrap_median(values, 25, 0.95, 300, trial);
        covered += interval.low <= 0 && 0 <= interval.high;
    }
    CHECK(covered > 900 && covered < 990);
}

TEST(bootstrap_ratio_of_two)
{
    double a[21], b[20];
    struct random random = random_new(13, 0);
    for (int i = 0; i < 21; i++)
        a[i] = 200 + random_normal(&random);
    for (int i = 0; i < 20; i++)
        b[i] = 100 + random_normal(&random);
    struct interval ratio = statistics_bootstrap_ratio(a, 21, b, 20, 0.95, 1000, 3);
    CHECK_DOUBLE(ratio.middle, statistics_median(a, 21) / statistics_median(b, 20));
    CHECK(ratio.low <= ratio.middle && ratio.middle <= ratio.high);
    CHECK(ratio.low > 1.9 && ratio.high < 2.1);
    /* Timings of zero must not pass for a speed. */
    double zeros[3] = {0};
    CHECK(isnan(statistics_bootstrap_ratio(zeros, 3, zeros, 3, 0.95, 10, 1).middle));
}
