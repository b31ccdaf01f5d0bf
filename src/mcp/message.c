/*
 * JSON-RPC 2.0: what a client sent, told apart into requests, notifications and responses.
 *
 * Nothing is looked up here; a message is right when it has the form of one.
 */
#include <math.h>
#include <string.h>

#include "mcp/private.h"

/* An id is a string or a whole number; NULL: it is neither. */
static const char *id_of(struct arena *arena, const struct json_value *value)
{
    struct text text = text_new(arena);
    struct json json = json_new(&text, 0);
    if (value->kind == JSON_STRING && strlen(value->string) <= MCP_WORD_BYTES)
        json_string(&json, NULL, value->string);
    else if (value->kind == JSON_NUMBER && fabs(value->number) <= 0x1p53 &&
             value->number == floor(value->number))
        json_int(&json, NULL, (int64_t)value->number);
    else
        return NULL;
    return text.at;
}

const char *mcp_token_of(struct arena *arena, const struct json_value *value)
{
    return value ? id_of(arena, value) : NULL;
}

static bool refuse(enum mcp_code *code, struct error *error, const char *what)
{
    *code = MCP_INVALID_REQUEST;
    return error_set(error, ERROR_EXPECTED, "%s", what);
}

static bool read_message(struct arena *arena, const struct json_value *value,
                         struct mcp_message *message, const char **id, enum mcp_code *code,
                         struct error *error)
{
    const struct json_value *given = json_member(value, "id");
    const struct json_value *method = json_member(value, "method");
    const struct json_value *params = json_member(value, "params");
    if (value->kind != JSON_OBJECT)
        return refuse(code, error, "a message is an object");
    *message = (struct mcp_message){0};
    if (given) {
        message->id = id_of(arena, given);
        if (!message->id && (method || given->kind != JSON_NULL))
            return refuse(code, error, "an id is a string or a whole number");
        *id = message->id ? message->id : "null";
    }
    if (strcmp(json_text(value, "jsonrpc"), "2.0") != 0)
        return refuse(code, error, "a message says \"jsonrpc\": \"2.0\"");
    if (!method) {
        bool response = json_member(value, "result") || json_member(value, "error");
        return (given && response) || refuse(code, error, "there is no method");
    }
    if (method->kind != JSON_STRING)
        return refuse(code, error, "a method is a string");
    if (params && params->kind != JSON_OBJECT)
        return refuse(code, error, "params are an object");
    message->method = method->string;
    message->params = params;
    return true;
}

bool mcp_parse(struct arena *arena, const char *text, size_t length, struct mcp_messages *messages,
               const char **id, enum mcp_code *code, struct error *error)
{
    enum { BATCH = 64 };
    struct mcp_message message;
    *id = "null";
    const struct json_value *value =
        length <= MCP_MESSAGE_BYTES ? json_read(arena, text, length) : NULL;
    if (!value) {
        *code = MCP_PARSE;
        return error_set(error, ERROR_EXPECTED, "this is no JSON, or too much of it");
    }
    if (value->kind != JSON_ARRAY) {
        if (!read_message(arena, value, &message, id, code, error))
            return false;
        vector_push(arena, messages, message);
        return true;
    }
    for (const struct json_value *each = value->first; each; each = each->next) {
        if (messages->count == BATCH)
            return refuse(code, error, "there are too many messages in one array");
        if (!read_message(arena, each, &message, id, code, error))
            return false;
        vector_push(arena, messages, message);
    }
    return messages->count > 0 || refuse(code, error, "an array without messages");
}

/* ---- answers ---- */

struct json mcp_answer_begin(struct text *out, const char *id)
{
    struct json json = json_new(out, 0);
    json_object(&json, NULL);
    json_string(&json, "jsonrpc", "2.0");
    json_raw(&json, "id", id);
    json_object(&json, "result");
    return json;
}

void mcp_answer_end(struct json *json)
{
    json_end(json);
    json_end(json);
    text_char(json->out, '\n');
}

void mcp_answer_error(struct text *out, const char *id, enum mcp_code code, const char *message)
{
    struct json json = json_new(out, 0);
    json_object(&json, NULL);
    json_string(&json, "jsonrpc", "2.0");
    json_raw(&json, "id", id);
    json_object(&json, "error");
    json_int(&json, "code", code);
    json_string(&json, "message", message);
    json_end(&json);
    json_end(&json);
    text_char(out, '\n');
}

void mcp_notify_progress(struct text *out, const char *token, double progress, const char *message)
{
    struct json json = json_new(out, 0);
    json_object(&json, NULL);
    json_string(&json, "jsonrpc", "2.0");
    json_string(&json, "method", "notifications/progress");
    json_object(&json, "params");
    json_raw(&json, "progressToken", token);
    json_double(&json, "progress", progress);
    if (message && *message)
        json_string(&json, "message", message);
    json_end(&json);
    json_end(&json);
    text_char(out, '\n');
}
