/* Fuzzes replies of language models: refused with a reason, or a kernel that follows from the
 * parent. The input is a parent, a line of percent signs, and the reply. */
#include <stdint.h>
#include <string.h>

#include "propose/llm/llm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_edits(struct arena *arena, const struct llm_reply *reply, const char *parent)
{
    struct error error = {0};
    const char *made = llm_reply_apply(arena, reply, parent, &error);
    if (!made != (error.code != ERROR_NONE) || (made && !*made))
        __builtin_trap();
    /* as long as the parent, what went and what came say */
    size_t length = strlen(parent) + (*parent && parent[strlen(parent) - 1] != '\n');
    for (size_t i = 0; i < reply->edits.count; i++)
        length += strlen(reply->edits.at[i].replace) - strlen(reply->edits.at[i].search);
    if (made && strlen(made) != length)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char cut[] = "%%%%\n";
    struct arena arena = {0};
    char *text = arena_copy(&arena, (const char *)data, size);
    char *found = strstr(text, cut);
    const char *parent = found ? arena_copy(&arena, text, (size_t)(found - text)) : "int x;\n";
    size_t start = found ? (size_t)(found - text) + sizeof cut - 1 : 0;
    struct source source = {"reply", text + start, size - start};
    struct error error = {0};
    struct llm_reply reply;
    bool read = llm_reply_parse(&arena, &source, &reply, &error);
    if (read != (error.code == ERROR_NONE))
        __builtin_trap();
    if (read && reply.kind == LLM_EDIT)
        check_edits(&arena, &reply, parent);
    if (read && reply.kind != LLM_EDIT && (!reply.text || !*reply.text))
        __builtin_trap();
    if (read && (!reply.change || !reply.why || !(reply.expected > 0)))
        __builtin_trap();
    if (!read) {
        struct text repair = text_new(&arena), shown = text_new(&arena);
        llm_repair(&repair, &error);
        error_render(&shown, &error, false);
    }
    struct text quoted = text_new(&arena);
    llm_quote(&quoted, "text", parent);
    if (llm_tokens(quoted.at, quoted.length) < llm_tokens(parent, strlen(parent)))
        __builtin_trap();
    arena_release(&arena);
    return 0;
}
