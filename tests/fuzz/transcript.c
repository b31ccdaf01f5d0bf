/* Fuzzes transcripts: refused with a place, or written again as they were read. */
#include <stdint.h>
#include <string.h>

#include "propose/llm/llm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all(struct text *out, const struct llm_exchanges *list)
{
    llm_transcript_begin(out);
    for (size_t i = 0; i < list->count; i++)
        llm_transcript_add(out, &list->at[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct source source = {"t", arena_copy(&arena, (const char *)data, size), size};
    struct llm_exchanges list = {0}, again = {0};
    struct error error = {0};
    bool read = llm_transcript_parse(&arena, &source, &list, &error);
    if (read != (error.code == ERROR_NONE))
        __builtin_trap();
    if (read) {
        struct text first = text_new(&arena), second = text_new(&arena);
        write_all(&first, &list);
        struct source written = {"t", first.at, first.length};
        if (!llm_transcript_parse(&arena, &written, &again, &error))
            __builtin_trap();
        write_all(&second, &again);
        if (strcmp(first.at, second.at) != 0)
            __builtin_trap();
    }
    arena_release(&arena);
    return 0;
}
