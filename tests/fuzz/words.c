/*
 * Fuzzes what is read from tools and people around the judge: what a compiler said about a kernel,
 * where addr2line says a fault was, ids to replay. The first byte chooses.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No line about a file of somebody else is passed on. */
static void check_compiler(struct arena *arena, const char *said)
{
    const char *kept = compile_own_words(arena, said);
    if (strlen(kept) > strlen(said) + 1 || strncmp(kept, "secret.h:1", 10) == 0 ||
        strstr(kept, "\nsecret.h:1"))
        abort();
    if (compile_is_refused(said) && !strstr(said, ": error: "))
        abort();
}

static void check_line(struct arena *arena, const char *said)
{
    static const char text[] = "int kernel()\n{\n    return 0;\n}";
    struct source source = {"k.c", text, sizeof text - 1};
    struct text out = text_new(arena);
    fault_quote_line(&source, said, &out);
    if (out.length > 300 || (out.length && strncmp(out.at, "k.c:", 4) != 0))
        abort();
}

/* What is taken for an id is written the same way again, but for the case of its letters. */
static void check_id(const char *id)
{
    struct judge_options options = {.only_case = -1, .only_draw = -1};
    if (!judge_id_parse(id, &options)) {
        if (options.seed || options.only_case != -1 || options.only_draw != -1)
            abort();
        return;
    }
    if (!options.seed || options.only_case < 0 || options.only_draw < 0)
        abort();
    struct judge_options again = options;
    char written[80];
    snprintf(written, sizeof written, "%016llx.%d.%d", (unsigned long long)options.seed,
             options.only_case, options.only_draw);
    if (!judge_id_parse(written, &again) || again.seed != options.seed ||
        again.only_case != options.only_case || again.only_draw != options.only_draw)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct arena arena = {0};
    const char *said = arena_copy(&arena, (const char *)data + 1, size - 1);
    if (data[0] % 3 == 0)
        check_compiler(&arena, said);
    else if (data[0] % 3 == 1)
        check_line(&arena, said);
    else
        check_id(said);
    arena_release(&arena);
    return 0;
}
