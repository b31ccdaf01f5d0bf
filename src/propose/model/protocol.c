/*
 * The two protocols: how a question is put, and what the events of an answer mean. Nothing here
 * knows a network or a key.
 */
#include <math.h>
#include <string.h>

#include "propose/model/model.h"

/* A number of tokens; what is none leaves *count as it is and is noted. */
static void take_count(struct model_stream *stream, const struct json_value *usage, const char *key,
                       int64_t *count)
{
    const struct json_value *member = json_member(usage, key);
    double number = json_number(usage, key);
    if (!member || member->kind == JSON_NULL)
        return;
    if (number >= 0 && number < 1e12 && number == floor(number))
        *count = (int64_t)number;
    else
        stream->odd = true;
}

static void take_error(struct model_stream *stream, const struct json_value *value)
{
    const struct json_value *error = json_member(value, "error");
    if (!error || error->kind == JSON_NULL)
        return;
    const char *words = error->kind == JSON_STRING ? error->string : json_text(error, "message");
    stream->error = arena_string(stream->arena, *words ? words : "it says there was an error");
}

static void add_text(struct model_stream *stream, const char *text)
{
    if (stream->text.length + strlen(text) <= MODEL_TEXT_BYTES)
        text_add(&stream->text, text);
    else
        stream->error = "its reply is longer than 4 MB";
}

static void take_stop(struct model_stream *stream, const char *stop)
{
    if (*stop)
        stream->stop = arena_string(stream->arena, stop);
}

static void write_turn(struct json *json, const char *role, const char *text)
{
    json_object(json, NULL);
    json_string(json, "role", role);
    json_string(json, "content", text);
    json_end(json);
}

/* ---- chat completions ---- */

static void openai_write(struct json *json, const struct model *model,
                         const struct model_request *request)
{
    json_array(json, "messages");
    write_turn(json, "system", request->system);
    for (int i = 0; i < request->turn_count; i++)
        write_turn(json, request->turns[i].role, request->turns[i].text);
    json_end(json);
    json_object(json, "stream_options");
    json_bool(json, "include_usage", true);
    json_end(json);
    (void)model;
}

static void openai_take(struct model_stream *stream, const struct json_value *value)
{
    const struct json_value *choices = json_member(value, "choices");
    const struct json_value *choice = choices ? choices->first : NULL;
    const struct json_value *usage = json_member(value, "usage");
    take_error(stream, value);
    add_text(stream, json_text(json_member(choice, "delta"), "content"));
    const char *whole = json_text(json_member(choice, "message"), "content");
    add_text(stream, whole);
    take_stop(stream, json_text(choice, "finish_reason"));
    take_count(stream, usage, "prompt_tokens", &stream->read);
    take_count(stream, usage, "completion_tokens", &stream->written);
    if (*stream->stop)
        stream->done = true;
}

static const struct model_protocol openai = {
    .name = "openai",
    .note = "chat completions: OpenAI, vLLM, llama.cpp, Ollama, gateways",
    .path = "chat/completions",
    .limit = "max_tokens",
    .key_header = "Authorization: Bearer ",
    .write = openai_write,
    .take = openai_take,
};

/* ---- messages ---- */

static void anthropic_write(struct json *json, const struct model *model,
                            const struct model_request *request)
{
    json_string(json, "system", request->system);
    json_array(json, "messages");
    for (int i = 0; i < request->turn_count; i++)
        write_turn(json, request->turns[i].role, request->turns[i].text);
    json_end(json);
    (void)model;
}

/* What was read is the sum of what was new, put into the server's cache, and found there. */
static void anthropic_usage(struct model_stream *stream, const struct json_value *usage)
{
    static const char *const parts[] = {"input_tokens", "cache_creation_input_tokens",
                                        "cache_read_input_tokens"};
    int64_t sum = 0;
    bool said = false;
    for (int i = 0; i < 3; i++) {
        int64_t part = -1;
        take_count(stream, usage, parts[i], &part);
        said |= part >= 0;
        sum += part >= 0 ? part : 0;
    }
    if (said)
        stream->read = sum;
    take_count(stream, usage, "output_tokens", &stream->written);
}

static void anthropic_take(struct model_stream *stream, const struct json_value *value)
{
    const char *type = json_text(value, "type");
    const struct json_value *delta = json_member(value, "delta");
    take_error(stream, value);
    if (strcmp(type, "message_start") == 0) {
        anthropic_usage(stream, json_member(json_member(value, "message"), "usage"));
    } else if (strcmp(type, "content_block_delta") == 0) {
        if (strcmp(json_text(delta, "type"), "text_delta") == 0)
            add_text(stream, json_text(delta, "text"));
    } else if (strcmp(type, "message_delta") == 0) {
        take_stop(stream, json_text(delta, "stop_reason"));
        anthropic_usage(stream, json_member(value, "usage"));
    } else if (strcmp(type, "message_stop") == 0) {
        stream->done = true;
    } else if (strcmp(type, "message") == 0) { /* a server that does not stream */
        const struct json_value *content = json_member(value, "content");
        for (const struct json_value *block = content ? content->first : NULL; block;
             block = block->next)
            if (strcmp(json_text(block, "type"), "text") == 0)
                add_text(stream, json_text(block, "text"));
        take_stop(stream, json_text(value, "stop_reason"));
        anthropic_usage(stream, json_member(value, "usage"));
        stream->done = true;
    }
}

static const struct model_protocol anthropic = {
    .name = "anthropic",
    .note = "messages, as Anthropic has them",
    .path = "messages",
    .limit = "max_tokens",
    .key_header = "x-api-key: ",
    .version_header = "anthropic-version: 2023-06-01",
    .write = anthropic_write,
    .take = anthropic_take,
};

const struct model_protocol *const model_protocols[] = {&openai, &anthropic, NULL};

const struct model_protocol *model_protocol_find(const char *name)
{
    for (int i = 0; model_protocols[i]; i++)
        if (strcmp(model_protocols[i]->name, name) == 0)
            return model_protocols[i];
    return NULL;
}

/* ---- both ---- */

const char *model_body(struct arena *arena, const struct model *model,
                       const struct model_request *request)
{
    struct text text = text_new(arena);
    struct json json = json_new(&text, 0);
    json_object(&json, NULL);
    json_string(&json, "model", model->id);
    json_int(&json, model->limit, request->reply);
    if (model->temperature >= 0)
        json_double(&json, "temperature", model->temperature);
    json_bool(&json, "stream", true);
    model->protocol->write(&json, model, request);
    json_end(&json);
    return text.at;
}

const char *model_request_hash(struct arena *arena, const struct model *model,
                               const struct model_request *request)
{
    char hex[65];
    const char *all = arena_printf(arena, "%s\n%s\n%s", model->protocol->name, model->url,
                                   model_body(arena, model, request));
    sha256_hex(all, strlen(all), hex);
    return arena_string(arena, hex);
}

void model_stream_event(struct model_stream *stream, const struct model *model, const char *data,
                        size_t length)
{
    if (length == 6 && memcmp(data, "[DONE]", 6) == 0) {
        stream->done = true;
        return;
    }
    const struct json_value *value = json_read(stream->arena, data, length);
    if (value && value->kind == JSON_OBJECT)
        model->protocol->take(stream, value);
    else
        stream->error = "an event of its reply is no JSON";
}

const char *model_doubt(const struct model_stream *stream, size_t bytes, int64_t most)
{
    /* No vocabulary has words that long in the mean, nor needs more than a token for a byte; what a
     * model thought without showing it is below `most` as well. */
    enum { LONGEST_WORD = 40, FRAMES = 1000 };
    if (stream->odd)
        return "the server's count of tokens is no number";
    if (stream->read < 0 || stream->written < 0)
        return "the server did not count tokens";
    if (stream->read > (int64_t)bytes + FRAMES || stream->written > most + FRAMES)
        return "the server counts more tokens than there can be";
    if (stream->read < (int64_t)bytes / LONGEST_WORD ||
        stream->written < (int64_t)stream->text.length / LONGEST_WORD)
        return "the server counts fewer tokens than there must be";
    return "";
}
