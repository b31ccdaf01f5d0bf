/* Fuzzes what a client of `smelt mcp` may send: refused with a reason, or messages; and from the
 * arguments of every tool to a command line in which no argument is an option. */
#include <stdint.h>
#include <string.h>

#include "mcp/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Behind `--` stands anything; before it only what the table says. */
static void check_words(const struct mcp_tool *tool, const struct mcp_words *words)
{
    size_t at = 0;
    for (int i = 0; tool->words[i]; i++, at++)
        if (strcmp(words->list.at[at], tool->words[i]) != 0)
            __builtin_trap();
    for (; strcmp(words->list.at[at], "--") != 0; at++) {
        const char *word = words->list.at[at];
        bool known = strcmp(word, "--json") == 0;
        for (const struct mcp_parameter *each = tool->parameters; each->name; each++) {
            const char *option = each->option ? each->option : each->name;
            size_t length = strlen(option);
            known |= strncmp(word, "--", 2) == 0 && strncmp(word + 2, option, length) == 0 &&
                     (each->way == MCP_FLAG ? word[2 + length] == 0
                                            : each->way == MCP_OPTION && word[2 + length] == '=');
        }
        if (!known)
            __builtin_trap();
    }
    if (words->list.at[words->list.count - 1])
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct mcp_messages messages = {0};
    struct error error = {0};
    enum mcp_code code = 0;
    const char *id = NULL;
    char *text = arena_copy(&arena, (const char *)data, size);
    bool read = mcp_parse(&arena, text, size, &messages, &id, &code, &error);
    if (!id || !json_read(&arena, id, strlen(id)) || read != (error.code == ERROR_NONE) ||
        (!read && code == 0) || (read && messages.count == 0))
        __builtin_trap();
    for (size_t i = 0; read && i < messages.count; i++) {
        const struct mcp_message *message = &messages.at[i];
        if (message->id && !json_read(&arena, message->id, strlen(message->id)))
            __builtin_trap();
        const struct json_value *given = json_member(message->params, "arguments");
        for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++) {
            struct mcp_words words;
            struct error refused = {0};
            if (mcp_tool_words(&arena, tool, given, "fuzz", &words, &refused))
                check_words(tool, &words);
            else if (refused.code == ERROR_NONE)
                __builtin_trap();
        }
    }
    arena_release(&arena);
    return 0;
}
