/* Arenas, texts and vectors. */
#include "base/base.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* Pieces do not overlap, are zero and aligned, also after a reset of a used arena. */
TEST(arena_pieces_are_zero_and_aligned)
{
    struct arena arena = {0};
    for (int round = 0; round < 3; round++) {
        for (size_t size = 0; size < 700; size++) {
            unsigned char *piece = arena_alloc(&arena, size);
            CHECK_INT((uintptr_t)piece % _Alignof(max_align_t), 0);
            for (size_t i = 0; i < size; i++)
                CHECK_INT(piece[i], 0);
            memset(piece, 0xff, size);
        }
        CHECK(arena.used >= 699 * 700 / 2);
        arena_reset(&arena);
        CHECK_INT(arena.used, 0);
    }
    arena_release(&arena);
    arena_release(&arena);
}

TEST(arena_serves_large_pieces)
{
    struct arena arena;
    arena_init(&arena);
    char *large = arena_alloc(&arena, 40 << 20);
    large[(40 << 20) - 1] = 1;
    char *small = arena_string(&arena, "small");
    CHECK_STR(small, "small");
    CHECK_STR(arena_copy(&arena, "abcdef", 3), "abc");
    CHECK_STR(arena_copy(&arena, NULL, 0), "");
    CHECK_STR(arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
    arena_release(&arena);
}

/* A long run that resets between steps does not take more and more memory. */
TEST(arena_reset_reuses_memory)
{
    struct arena arena = {0};
    arena_alloc(&arena, 3000);
    long before = memory_count();
    for (int i = 0; i < 1000; i++) {
        arena_reset(&arena);
        arena_alloc(&arena, 3000);
    }
    CHECK_INT(memory_count(), before);
    arena_release(&arena);
}

/* What comes and goes inside something longer takes no more than what is there at one time, is zero
 * and apart from the rest, and is gone with the outer arena even if nobody gave it back. */
TEST(arena_inside_another)
{
    enum { LIVE = 10, ROUNDS = 500 };
    struct arena outer = {0}, inner[LIVE];
    char *kept[LIVE], *large = NULL;
    for (int i = 0; i < LIVE; i++)
        inner[i] = arena_inside(&outer);
    for (int round = 0; round < ROUNDS; round++) {
        int at = round % LIVE;
        size_t size = 100 + (size_t)round * 37 % 9000;
        arena_release(&inner[at]);
        char *first = arena_alloc(&inner[at], 64);
        kept[at] = arena_alloc(&inner[at], size);
        for (size_t i = 0; i < size; i++)
            CHECK_INT(kept[at][i], 0);
        memset(first, 1, 64);
        memset(kept[at], at + 1, size);
    }
    for (int i = 0; i < LIVE; i++)
        CHECK(kept[i][0] == i + 1 && kept[i][99] == i + 1);
    CHECK(outer.used <= (size_t)LIVE * 40000); /* and 2 MB were asked for */
    large = arena_alloc(&inner[0], 1 << 20); /* a block of its own, which small ones do not take */
    arena_reset(&inner[0]);
    arena_release(&inner[0]);
    CHECK(arena_alloc(&inner[0], 10) != large);
    arena_release(&outer);
    CHECK(outer.idle == NULL);
}

static void overflow(void *context)
{
    arena_array(context, SIZE_MAX / 2, 16);
}

static void beyond_half(void *context)
{
    arena_alloc(context, SIZE_MAX);
}

/* An absurd size, as a damaged file may ask for, is an error and not a small buffer. */
TEST(arena_overflow_is_exhaustion)
{
    struct arena arena = {0};
    CHECK(!memory_try(overflow, &arena));
    CHECK(!memory_try(beyond_half, &arena));
    CHECK_STR(arena_string(&arena, "still works"), "still works");
    arena_release(&arena);
}

TEST(text_grows)
{
    struct arena arena = {0};
    struct text text = text_new(&arena);
    CHECK_STR(text.at, "");
    text_truncate(&text, 0);
    text_add(&text, "");
    text_repeat(&text, 'x', -1);
    CHECK_INT(text.length, 0);
    text_add(&text, "one");
    text_char(&text, ' ');
    text_add_bytes(&text, "twofold", 3);
    text_printf(&text, " %d", 3);
    text_repeat(&text, '.', 3);
    CHECK_STR(text.at, "one two 3...");
    text_truncate(&text, 3);
    text_truncate(&text, 100);
    CHECK_STR(text.at, "one");
    for (int i = 0; i < 8; i++)
        text_add(&text, text.at);
    CHECK_INT(text.length, 3 << 8);
    CHECK(strncmp(text.at + 765, "one", 4) == 0);
    arena_release(&arena);
}

static const char *number(struct arena *arena, double value)
{
    struct text text = text_new(arena);
    text_double(&text, value);
    return text.at;
}

/* Numbers are printed as one would write them, and never lose a bit. */
TEST(text_double_reads_back)
{
    struct arena arena = {0};
    CHECK_STR(number(&arena, 0), "0");
    CHECK_STR(number(&arena, -0.0), "-0");
    CHECK_STR(number(&arena, 0.1), "0.1");
    CHECK_STR(number(&arena, 1.0 / 3), "0.3333333333333333");
    CHECK_STR(number(&arena, 1e300), "1e+300");
    CHECK_STR(number(&arena, 5e-324), "5e-324");
    CHECK_STR(number(&arena, 123456789), "123456789");
    CHECK_STR(number(&arena, INFINITY), "inf");
    CHECK_STR(number(&arena, -INFINITY), "-inf");
    CHECK_STR(number(&arena, -NAN), "nan");
    struct random random = random_new(1, 0);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_u64(&random);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            CHECK(strtod(number(&arena, value), NULL) == value);
        arena_reset(&arena);
    }
    arena_release(&arena);
}

TEST(text_utf8_accepts_only_valid)
{
    CHECK_INT(text_utf8("a", 1), 1);
    CHECK_INT(text_utf8("", 0), 0);
    CHECK_INT(text_utf8("\xc3\xa9", 2), 2);
    CHECK_INT(text_utf8("\xe2\x82\xac", 3), 3);
    CHECK_INT(text_utf8("\xf0\x9f\x98\x80", 4), 4);
    CHECK_INT(text_utf8("\xf0\x9f\x98\x80", 3), 0); /* cut off */
    CHECK_INT(text_utf8("\x80", 1), 0);
    CHECK_INT(text_utf8("\xc0\x80", 2), 0);         /* overlong */
    CHECK_INT(text_utf8("\xe0\x80\x80", 3), 0);     /* overlong */
    CHECK_INT(text_utf8("\xed\xa0\x80", 3), 0);     /* surrogate */
    CHECK_INT(text_utf8("\xf4\x90\x80\x80", 4), 0); /* past the end */
    CHECK_INT(text_utf8("\xff", 1), 0);
}

struct pair {
    int a, b;
};

struct pairs VECTOR(struct pair);

static struct pair push_below(struct arena *arena, struct pairs *pairs, int depth)
{
    if (depth > 0)
        vector_push(arena, pairs, push_below(arena, pairs, depth - 1));
    return (struct pair){depth, -depth};
}

TEST(vector_grows_and_keeps)
{
    struct arena arena = {0};
    struct pairs pairs = {0};
    for (int i = 0; i < 1000; i++)
        vector_push(&arena, &pairs, (struct pair){i, -i});
    for (int i = 0; i < 1000; i++)
        CHECK(pairs.at[i].a == i && pairs.at[i].b == -i);
    /* After a pop, a new element is zero, not the old one. */
    pairs.count = 10;
    struct pair *fresh = vector_add(&arena, &pairs);
    CHECK(fresh->a == 0 && fresh->b == 0);
    CHECK_INT(pairs.count, 11);
    arena_release(&arena);
}

/* A recursive parser may push what it got from pushing: nothing is lost when the vector moves. */
TEST(vector_push_of_a_push)
{
    struct arena arena = {0};
    struct pairs pairs = {0};
    push_below(&arena, &pairs, 100);
    CHECK_INT(pairs.count, 100);
    for (int i = 0; i < 100; i++)
        CHECK_INT(pairs.at[i].a, i);
    arena_release(&arena);
}
