/*
 * Fuzzes the reading of what compute-sanitizer prints: what is kept is plain text that ends, and
 * numbers are what they can be.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "judge/sanitizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(const char *words)
{
    size_t length = strnlen(words, SANITIZER_WORDS);
    if (length == SANITIZER_WORDS)
        abort();
    for (size_t i = 0; i < length; i++)
        if (words[i] < ' ' || words[i] > '~')
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct sanitizer_finding finding;
    const char *said = arena_copy(&arena, (const char *)data, size);
    bool found = sanitizer_read(said, &finding);
    check_words(finding.what);
    check_words(finding.function);
    check_words(finding.note);
    if (finding.line < 0 || finding.other_line < 0 || (found && !finding.what[0]) ||
        (!found && (finding.line || finding.address)))
        abort();
    for (int d = 0; finding.has_thread && d < 3; d++)
        if (finding.thread[d] < 0 || finding.block[d] < 0)
            abort();
    arena_release(&arena);
    return 0;
}
