/*
 * Differences of texts: nothing is lost, and no more changes than needed.
 */
#include <string.h>

#include "base/base.h"
#include "base/diff.h"
#include "test.h"

static struct arena arena;

static const char *shown(const char *before, const char *after)
{
    struct diff_lines lines = diff_texts(&arena, before, after);
    struct text out = text_new(&arena);
    diff_print(&out, &lines, "a", "b", 1);
    return out.length ? out.at : "";
}

TEST(diff_shows_what_changed_and_what_is_around)
{
    CHECK_STR(shown("1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n"), "");
    CHECK_STR(shown("1\n2\n3\n4\n5\n", "1\n2\nx\n4\n5\n"),
              "--- a\n+++ b\n@@ -2,3 +2,3 @@\n 2\n-3\n+x\n 4\n");
    CHECK_STR(shown("", "new\n"), "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+new\n");
    CHECK_STR(shown("1\n2\n3\n4\n5\n6\n7\n8\n", "0\n1\n2\n3\n4\n5\n6\n7\n"),
              "--- a\n+++ b\n@@ -1,1 +1,2 @@\n+0\n 1\n@@ -7,2 +8,1 @@\n 7\n-8\n");
    arena_release(&arena);
}

/* Random texts: leaving out one kind of line gives each of them back. */
TEST(diff_loses_nothing)
{
    struct random random = random_new(7, 7);
    for (int round = 0; round < 300; round++) {
        struct text texts[2] = {text_new(&arena), text_new(&arena)};
        struct text back[2] = {text_new(&arena), text_new(&arena)};
        for (int side = 0; side < 2; side++)
            for (uint64_t i = random_below(&random, 20); i > 0; i--)
                text_printf(&texts[side], "%c\n", (int)('a' + random_below(&random, 4)));
        struct diff_lines lines =
            diff_texts(&arena, texts[0].at ? texts[0].at : "", texts[1].at ? texts[1].at : "");
        for (size_t i = 0; i < lines.count; i++)
            for (int side = 0; side < 2; side++)
                if (lines.at[i].kind != (side ? DIFF_REMOVED : DIFF_ADDED))
                    text_printf(&back[side], "%.*s\n", (int)lines.at[i].length, lines.at[i].text);
        for (int side = 0; side < 2; side++)
            CHECK_STR(back[side].at ? back[side].at : "", texts[side].at ? texts[side].at : "");
        arena_reset(&arena);
    }
    arena_release(&arena);
}
