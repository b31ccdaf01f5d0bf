/*
 * The parameters of a tool: as JSON schema for clients, as a table for people, and from the
 * arguments of a call to a command line.
 *
 * Arguments come from outside. Options are one word with their value, and operands stand behind
 * `--`: whatever an argument says, it cannot become an option.
 */
#include <math.h>
#include <string.h>

#include "mcp/private.h"

static const char *const type_names[] = {
    [MCP_STRING] = "string",   [MCP_NUMBER] = "number", [MCP_INTEGER] = "integer",
    [MCP_BOOLEAN] = "boolean", [MCP_LIST] = "array",
};

/* ---- the schema ---- */

static void write_parameter(struct json *json, const struct mcp_parameter *parameter)
{
    json_object(json, parameter->name);
    json_string(json, "type", type_names[parameter->type]);
    json_string(json, "description", parameter->help);
    if (parameter->type == MCP_LIST) {
        json_object(json, "items");
        json_string(json, "type", "string");
        json_end(json);
        json_int(json, "maxItems", MCP_WORDS);
    }
    if (parameter->type == MCP_STRING)
        json_int(json, "maxLength",
                 parameter->way == MCP_INPUT ? MCP_SOURCE_BYTES : MCP_WORD_BYTES);
    if (parameter->fallback)
        json_string(json, "default", parameter->fallback);
    json_end(json);
}

void mcp_tool_write(struct json *json, const struct mcp_tool *tool)
{
    json_object(json, NULL);
    json_string(json, "name", tool->name);
    json_string(json, "title", tool->title);
    json_string(json, "description", tool->help);
    json_object(json, "inputSchema");
    json_string(json, "type", "object");
    json_object(json, "properties");
    for (const struct mcp_parameter *each = tool->parameters; each->name; each++)
        write_parameter(json, each);
    json_end(json);
    json_array(json, "required");
    for (const struct mcp_parameter *each = tool->parameters; each->name; each++)
        if (each->required)
            json_string(json, NULL, each->name);
    json_end(json);
    json_bool(json, "additionalProperties", false);
    json_end(json);
    json_object(json, "annotations");
    json_bool(json, "readOnlyHint", !tool->changes);
    json_bool(json, "destructiveHint", false);
    json_bool(json, "openWorldHint", false);
    json_end(json);
    json_end(json);
}

void mcp_tools_markdown(struct text *out)
{
    text_add(out, "| tool | what | arguments | on the command line |\n|---|---|---|---|\n");
    for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++) {
        text_printf(out, "| `%s` | %s | ", tool->name, tool->help);
        for (const struct mcp_parameter *each = tool->parameters; each->name; each++)
            text_printf(out, "%s`%s`%s", each == tool->parameters ? "" : ", ", each->name,
                        each->required ? "" : "?");
        text_add(out, " | `smelt");
        for (int i = 0; tool->words[i]; i++)
            text_printf(out, " %s", tool->words[i]);
        text_printf(out, "%s%s` |\n", tool->operand ? " " : "", tool->operand ? tool->operand : "");
    }
}

/* ---- the command line ---- */

static bool refuse(struct error *error, const struct mcp_parameter *parameter, const char *what)
{
    return error_set(error, ERROR_USAGE, "'%s' %s", parameter->name, what);
}

/* One word, or with `lines` a text: nothing that a terminal or a list of words would stumble on. */
static bool check_text(const struct mcp_parameter *parameter, const char *text, struct error *error)
{
    size_t most = parameter->way == MCP_INPUT ? MCP_SOURCE_BYTES : MCP_WORD_BYTES;
    size_t length = strlen(text);
    if (length > most)
        return error_set(error, ERROR_USAGE, "'%s' is longer than %zu bytes", parameter->name,
                         most);
    if (length == 0 && parameter->required)
        return refuse(error, parameter, "is empty");
    for (size_t i = 0; i < length && parameter->way != MCP_INPUT; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && !(parameter->lines && (c == '\n' || c == '\t'))) || c == 0x7f)
            return refuse(error, parameter, "has control characters");
    }
    return true;
}

/* The value as a word; NULL: it is not of the type. */
static const char *word_of(struct arena *arena, const struct mcp_parameter *parameter,
                           const struct json_value *value, struct error *error)
{
    struct text text = text_new(arena);
    /* Numbers where words are meant, such as the number of a run, are what agents write, too. */
    bool number = value->kind == JSON_NUMBER && isfinite(value->number) &&
                  fabs(value->number) <= 0x1p53 && parameter->way != MCP_INPUT &&
                  (parameter->type != MCP_INTEGER || value->number == floor(value->number));
    if (value->kind == JSON_STRING && parameter->type == MCP_STRING)
        return check_text(parameter, value->string, error) ? value->string : NULL;
    if (number && parameter->type != MCP_BOOLEAN && parameter->type != MCP_LIST) {
        text_double(&text, value->number);
        return text.at;
    }
    error_set(error, ERROR_USAGE, "'%s' is to be of type %s", parameter->name,
              type_names[parameter->type]);
    return NULL;
}

struct call {
    struct arena *arena;
    struct mcp_words *words;
    struct mcp_word_list operands;
};

static bool take_list(struct call *call, const struct mcp_parameter *parameter,
                      const struct json_value *value, struct error *error)
{
    size_t count = 0;
    if (value->kind != JSON_ARRAY)
        return refuse(error, parameter, "is to be a list of strings");
    for (const struct json_value *each = value->first; each; each = each->next) {
        if (++count > MCP_WORDS)
            return refuse(error, parameter, "has too many members");
        if (each->kind != JSON_STRING || !strchr(each->string, '='))
            return refuse(error, parameter, "is to have members NAME=VALUE");
        if (!check_text(parameter, each->string, error))
            return false;
        vector_push(call->arena, &call->operands, each->string);
    }
    return true;
}

static bool take_word(struct call *call, const struct mcp_parameter *parameter, const char *word)
{
    const char *option = parameter->option ? parameter->option : parameter->name;
    if (parameter->way == MCP_OPTION) {
        vector_push(call->arena, &call->words->list,
                    arena_printf(call->arena, "--%s=%s", option, word));
        return true;
    }
    if (parameter->way == MCP_INPUT) {
        call->words->input = word;
        word = "-";
    }
    vector_push(call->arena, &call->operands, word);
    return true;
}

static bool take_argument(struct call *call, const struct mcp_parameter *parameter,
                          const struct json_value *value, const char *client, struct error *error)
{
    if (value && value->kind == JSON_NULL)
        value = NULL;
    if (!value && parameter->required)
        return refuse(error, parameter, "is missing");
    if (!value && parameter->client && *client)
        return take_word(call, parameter, client);
    if (!value)
        return !parameter->fallback || take_word(call, parameter, parameter->fallback);
    if (parameter->type == MCP_LIST)
        return take_list(call, parameter, value, error);
    if (parameter->way == MCP_FLAG) {
        if (value->kind != JSON_BOOL)
            return refuse(error, parameter, "is to be true or false");
        if (value->number != 0)
            vector_push(call->arena, &call->words->list,
                        arena_printf(call->arena, "--%s",
                                     parameter->option ? parameter->option : parameter->name));
        return true;
    }
    const char *word = word_of(call->arena, parameter, value, error);
    return word && take_word(call, parameter, word);
}

static bool check_names(const struct mcp_tool *tool, const struct json_value *arguments,
                        struct error *error)
{
    for (const struct json_value *each = arguments ? arguments->first : NULL; each;
         each = each->next) {
        const struct mcp_parameter *known = tool->parameters;
        while (known->name && strcmp(known->name, each->key) != 0)
            known++;
        if (!known->name)
            return error_set(error, ERROR_USAGE, "%s has no argument '%.100s'", tool->name,
                             each->key);
    }
    return true;
}

bool mcp_tool_words(struct arena *arena, const struct mcp_tool *tool,
                    const struct json_value *arguments, const char *client, struct mcp_words *words,
                    struct error *error)
{
    struct call call = {.arena = arena, .words = words};
    *words = (struct mcp_words){0};
    if (arguments && arguments->kind == JSON_NULL)
        arguments = NULL;
    if (arguments && arguments->kind != JSON_OBJECT)
        return error_set(error, ERROR_USAGE, "arguments are an object");
    if (!check_names(tool, arguments, error))
        return false;
    for (int i = 0; tool->words[i]; i++)
        vector_push(arena, &words->list, tool->words[i]);
    vector_push(arena, &words->list, "--json");
    if (tool->operand)
        vector_push(arena, &call.operands, tool->operand);
    for (const struct mcp_parameter *each = tool->parameters; each->name; each++)
        if (!take_argument(&call, each, json_member(arguments, each->name), client, error))
            return false;
    vector_push(arena, &words->list, "--");
    for (size_t i = 0; i < call.operands.count; i++)
        vector_push(arena, &words->list, call.operands.at[i]);
    vector_push(arena, &words->list, NULL);
    return true;
}
