/* Maps, interning, the nearest spelling, and sets of fingerprints. */
#include "base/map.h"

#include <stdio.h>
#include <string.h>

#include "base/fingerprint.h"
#include "base/hash.h"
#include "test.h"

TEST(map_sets_and_gets)
{
    struct arena arena = {0};
    struct map map = map_new(&arena);
    int one = 1, two = 2;
    CHECK(map_get(&map, "a") == NULL);
    CHECK(!map_has(&map, "a"));
    CHECK(map_set(&map, "a", &one) == NULL);
    CHECK(map_set(&map, "a", &two) == &one);
    CHECK(map_get(&map, "a") == &two);
    CHECK(map_set(&map, "", &one) == NULL);
    CHECK(map_get(&map, "") == &one);
    CHECK_INT(map.count, 2);
    /* Present with no value is not absent. */
    map_set(&map, "nothing", NULL);
    CHECK(map_has(&map, "nothing"));
    arena_release(&arena);
}

/* Listings come out in the order things were declared, not in that of a hash. */
TEST(map_keeps_order)
{
    struct arena arena = {0};
    struct map map = map_new(&arena);
    char name[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "%d", i * 7919 % 5000);
        map_set(&map, name, &map);
    }
    CHECK_INT(map.count, 5000);
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "%d", i * 7919 % 5000);
        CHECK_STR(map.entries[i].key, name);
        CHECK(map_get(&map, name) == &map);
    }
    CHECK(!map_has(&map, "5000"));
    arena_release(&arena);
}

/* Keys are bytes, so a NUL inside is part of the key. */
TEST(map_keys_are_bytes)
{
    struct arena arena = {0};
    struct map map = map_new(&arena);
    int one = 1, two = 2;
    map_set_bytes(&map, "a\0b", 3, &one);
    map_set_bytes(&map, "a\0c", 3, &two);
    CHECK(map_get_bytes(&map, "a\0b", 3) == &one);
    CHECK(map_get_bytes(&map, "a\0c", 3) == &two);
    CHECK(map_get(&map, "a") == NULL);
    arena_release(&arena);
}

TEST(map_interns_once)
{
    struct arena arena = {0};
    struct map map = map_new(&arena);
    char buffer[] = "tensor tensor";
    const char *first = map_intern(&map, buffer, 6);
    const char *second = map_intern(&map, buffer + 7, 6);
    CHECK(first == second);
    memset(buffer, 'x', 6);
    CHECK_STR(first, "tensor");
    for (int i = 0; i < 1000; i++) {
        snprintf(buffer, sizeof buffer, "%d", i);
        map_intern(&map, buffer, strlen(buffer));
    }
    CHECK(map_intern(&map, "tensor", 6) == first);
    arena_release(&arena);
}

/* "did you mean ...?" appears for a slip of the finger and not for a different word. */
TEST(spelling_suggests_slips_only)
{
    static const char *const words[] = {"softmax", "relu", "sum", "k", NULL, "maximum"};
    enum { COUNT = sizeof words / sizeof words[0] };
    CHECK_STR(spelling_nearest("sotfmax", words, COUNT), "softmax"); /* swapped */
    CHECK_STR(spelling_nearest("sofmax", words, COUNT), "softmax");  /* dropped */
    CHECK_STR(spelling_nearest("rellu", words, COUNT), "relu");      /* added */
    CHECK_STR(spelling_nearest("sun", words, COUNT), "sum");         /* replaced */
    CHECK_STR(spelling_nearest("maximun", words, COUNT), "maximum");
    CHECK_STR(spelling_nearest("q", words, COUNT), NULL); /* nothing in common */
    CHECK_STR(spelling_nearest("K", words, COUNT), "k");
    CHECK_STR(spelling_nearest("sum", words, COUNT), "sum");
    CHECK_STR(spelling_nearest("conv", words, COUNT), NULL);
    CHECK_STR(spelling_nearest("", words, COUNT), NULL);
    CHECK_STR(spelling_nearest("sum", words, 0), NULL);
    char absurd[500] = {0};
    memset(absurd, 'a', sizeof absurd - 1);
    CHECK_STR(spelling_nearest(absurd, words, COUNT), NULL);
    const char *const long_words[] = {absurd, "aa"};
    CHECK_STR(spelling_nearest("aaa", long_words, 2), "aa");
}

TEST(fingerprints_know_members_again)
{
    enum { MEMBERS = 20000 };
    struct arena arena = {0};
    struct fingerprints set = fingerprints_new(&arena);
    char name[32];
    CHECK(!fingerprints_have(&set, "0"));
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(name, sizeof name, "%d", i);
        CHECK(fingerprints_add(&set, name));
    }
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(name, sizeof name, "%d", i);
        CHECK(fingerprints_have(&set, name));
        CHECK(!fingerprints_add(&set, name));
        snprintf(name, sizeof name, "%d", MEMBERS + i);
        CHECK(!fingerprints_have(&set, name));
    }
    CHECK_INT(set.count, MEMBERS);
    CHECK(arena.used <= (size_t)MEMBERS * 48);
    arena_release(&arena);
}
