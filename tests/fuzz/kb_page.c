/* Fuzzes pages of the knowledge base: refused with a reason and a place, or whole; and any words as
 * a question. */
#include <stdint.h>
#include <string.h>

#include "know/kb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct source source = {"page.md", arena_copy(&arena, (const char *)data, size), size};
    struct kb kb = {.arena = &arena};
    struct kb_page page;
    struct error error = {0};
    bool read = kb_page_parse(&arena, &source, &page, &error);
    if (read != (error.code == ERROR_NONE) || (!read && !error.hint[0]))
        __builtin_trap();
    if (!read) {
        struct text shown = text_new(&arena);
        error_render(&shown, &error, false);
        arena_release(&arena);
        return 0;
    }
    if (!page.title[0] || !page.lead[0] || !page.targets.count || !page.diagnoses.count)
        __builtin_trap();
    for (size_t i = 0; i < page.snippets.count; i++)
        if (page.snippets.at[i].offset + page.snippets.at[i].length > size)
            __builtin_trap();
    page.id = "page";
    vector_push(&arena, &kb.pages, page);
    struct kb_hit hit;
    struct kb_query query = {.words = page.title, .diagnosis = page.diagnoses.at[0]};
    if (kb_search(&kb, &query, &hit, 1, &error) < 0)
        __builtin_trap();
    kb_close(&kb);
    arena_release(&arena);
    return 0;
}
