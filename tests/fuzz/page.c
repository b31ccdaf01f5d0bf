/*
 * Fuzzes what the report makes of text from outside: names, C that need not be C, stored verdicts.
 * Whatever it is, only the tags that mark up code come out. The first byte chooses.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "report/private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_markup(const struct text *out)
{
    int open = 0;
    for (const char *at = out->at; *at; at++) {
        bool begins = strncmp(at, "<i class=", 9) == 0 && strchr("cknsp", at[9]) && at[10] == '>';
        if (*at == '"' || *at == '\'' || (*at == '<' && !begins && strncmp(at, "</i>", 4) != 0))
            abort();
        open += begins - (*at == '<' && !begins);
        if (open < 0 || open > 1)
            abort();
        at += begins ? 10 : *at == '<' ? 3 : 0;
    }
    if (open)
        abort();
    for (size_t i = 0, length; i < out->length; i += length) {
        length = text_utf8(out->at + i, out->length - i);
        if (length == 0)
            abort();
    }
}

/* Everything that is asked of a value that was read. */
static void walk(const struct json_value *value)
{
    for (const struct json_value *at = value ? value->first : NULL; at; at = at->next) {
        if (at->key && json_member(value, at->key) == NULL)
            abort();
        if (at->kind == JSON_STRING && !at->string)
            abort();
        walk(at);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct arena arena = {0};
    struct text out = text_new(&arena);
    const char *copy = arena_copy(&arena, (const char *)data + 1, size - 1);
    if (data[0] % 3 == 0)
        html_escape(&out, copy);
    else if (data[0] % 3 == 1)
        html_code(&out, copy);
    else
        walk(json_read(&arena, copy, size - 1));
    check_markup(&out);
    arena_release(&arena);
    return 0;
}
