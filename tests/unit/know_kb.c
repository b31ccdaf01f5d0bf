/*
 * The knowledge base: how pages are read, and which come first.
 */
#include <stdlib.h>
#include <string.h>

#include "know/kb.h"
#include "test.h"

static struct arena arena;

static bool parse(const char *text, struct kb_page *page, struct error *error)
{
    struct source *source = arena_new(&arena, struct source);
    *source = (struct source){"page.md", text, strlen(text)};
    *error = (struct error){0};
    return kb_page_parse(&arena, source, page, error);
}

static const char whole[] = "---\n"
                            "title: Stores past the caches\n"
                            "targets: cpu:avx512 cuda\n"
                            "diagnosis: memory\n"
                            "words: write allocate, movnt\n"
                            "---\n"
                            "The first\nparagraph.\n\nThe second.\n\n"
                            "```c gcc -mavx2\nint x;\n```\n";

TEST(know_kb_page_has_head_lead_and_blocks)
{
    struct kb_page page;
    struct error error;
    CHECK(parse(whole, &page, &error));
    CHECK_STR(page.title, "Stores past the caches");
    CHECK_INT(page.targets.count, 2);
    CHECK_STR(page.words.at[0], "write allocate");
    CHECK_STR(page.structures.at[0], "any");
    CHECK_STR(page.lead, "The first paragraph.");
    CHECK_INT(page.snippets.count, 1);
    CHECK_STR(page.snippets.at[0].language, "c");
    CHECK_STR(page.snippets.at[0].check.at[1], "-mavx2");
    CHECK_STR(page.snippets.at[0].text, "int x;\n");
    arena_release(&arena);
}

TEST(know_kb_page_says_what_is_missing)
{
    static const char *const bad[] = {
        "",
        "text\n",
        "---\ntitle: a\n",
        "---\ntitle: a\n---\nx\n",
        "---\ntitle: a\ntargets: any\ntitle: b\n---\nx\n",
        "---\ntitle: a\ntargets: any\ncolour: red\n---\nx\n",
        "---\ntitle: a\ntargets:\n---\nx\n",
        "---\ntitle: a\ntargets: any\n---\n\n",
        "---\ntitle: a\ntargets: any\n---\nx\n```c\nint x;\n",
        "---\ntitle: \xff\ntargets: any\n---\nx\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kb_page page;
        struct error error;
        CHECK(!parse(bad[i], &page, &error));
        CHECK_INT(error.code, ERROR_KB_PAGE);
        CHECK(error.hint[0] != 0);
    }
    arena_release(&arena);
}

static void add(struct kb *kb, const char *id, const char *head, const char *body)
{
    struct kb_page page;
    struct error error;
    CHECK(
        parse(arena_printf(&arena, "---\ntitle: %s\n%s---\n%s\n", id, head, body), &page, &error));
    page.id = id;
    vector_push(&arena, &kb->pages, page);
}

TEST(know_kb_heads_come_before_words)
{
    struct kb kb = {.arena = &arena};
    struct kb_hit hits[8];
    struct error error = {0};
    add(&kb, "named", "targets: cpu\ndiagnosis: memory\nstructures: row\n", "nothing of it");
    add(&kb, "half", "targets: cpu\ndiagnosis: memory\n", "nothing of it");
    add(&kb, "worded", "targets: any\n", "bandwidth of memory");
    add(&kb, "device", "targets: cuda\ndiagnosis: memory\nstructures: row\n", "bandwidth");
    add(&kb, "other", "targets: any\n", "something else");
    struct kb_query query = {.diagnosis = "memory",
                             .structure = "row+map:12ab",
                             .words = "bandwidth; \"DROP * NEAR( it's"};
    vector_push(&arena, &query.targets, "cpu:avx512");
    int count = kb_search(&kb, &query, hits, 8, &error);
    CHECK_INT(count, 3);
    CHECK_STR(hits[0].page->id, "named");
    CHECK_STR(hits[1].page->id, "half");
    CHECK_STR(hits[2].page->id, "worded");
    struct kb_query words = {.words = "memory"};
    CHECK_INT(kb_search(&kb, &words, hits, 8, &error), 1);
    CHECK_STR(hits[0].page->id, "worded");
    struct kb_query marks = {.words = "-- !!"};
    CHECK_INT(kb_search(&kb, &marks, hits, 8, &error), 0);
    kb_close(&kb);
    arena_release(&arena);
}

TEST(know_kb_target_of_a_family_fits_its_kinds)
{
    struct kb_page page;
    struct error error;
    CHECK(parse("---\ntitle: a\ntargets: cpu:avx2\n---\nx\n", &page, &error));
    struct kb_words kind = {0}, family = {0}, other = {0};
    vector_push(&arena, &kind, "cpu:avx2");
    vector_push(&arena, &family, "cpu");
    vector_push(&arena, &other, "cpu:arm");
    CHECK(kb_target_fit(&page, &kind) == 1);
    CHECK(kb_target_fit(&page, &family) > 0 && kb_target_fit(&page, &family) < 1);
    CHECK(kb_target_fit(&page, &other) == 0);
    arena_release(&arena);
}
