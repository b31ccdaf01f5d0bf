/*
 * A JSON writer with just enough state to place commas and to notice misuse.
 */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void json_bug(const char *what)
{
    fprintf(stderr, "smelt: bug: json: %s\n", what);
    abort();
}

struct json json_new(struct text *out, int indent)
{
    return (struct json){.out = out, .indent = indent};
}

static void json_newline(struct json *json)
{
    if (json->indent > 0) {
        text_char(json->out, '\n');
        text_repeat(json->out, ' ', (long)json->indent * json->depth);
    }
}

static void json_quote(struct text *out, const char *at, size_t length)
{
    text_char(out, '"');
    for (size_t i = 0, step; i < length; i += step) {
        unsigned char c = (unsigned char)at[i];
        step = text_utf8(at + i, length - i);
        const char *short_form = c && c < 0x80 ? strchr("\"\"\\\\\bb\ff\nn\rr\tt", c) : NULL;
        if (short_form && (c < ' ' || c == '"' || c == '\\')) {
            text_char(out, '\\');
            text_char(out, short_form[1]);
        } else if (c < ' ' || c == 0x7f) {
            text_printf(out, "\\u%04x", c);
        } else if (step == 0) {
            /* JSON is UTF-8: any other byte becomes the replacement character. */
            text_add(out, "\\ufffd");
            step = 1;
        } else {
            text_add_bytes(out, at + i, step);
        }
    }
    text_char(out, '"');
}

/* Everything that comes before a value: the comma, the line and the key. */
static void json_begin(struct json *json, const char *key)
{
    int depth = json->depth;
    bool in_object = depth > 0 && json->close[depth - 1] == '}';
    if (in_object && !key)
        json_bug("a value in an object needs a key");
    if (!in_object && key)
        json_bug("a value outside an object has no key");
    if (json->filled[depth]) {
        if (depth == 0)
            json_bug("a second value at the top");
        text_char(json->out, ',');
    }
    json->filled[depth] = true;
    if (depth > 0)
        json_newline(json);
    if (key) {
        json_quote(json->out, key, strlen(key));
        text_add(json->out, json->indent > 0 ? ": " : ":");
    }
}

static void json_open(struct json *json, const char *key, char open, char close)
{
    if (json->depth + 1 >= JSON_DEPTH)
        json_bug("nested too deeply");
    json_begin(json, key);
    text_char(json->out, open);
    json->close[json->depth++] = close;
    json->filled[json->depth] = false;
}

void json_object(struct json *json, const char *key)
{
    json_open(json, key, '{', '}');
}

void json_array(struct json *json, const char *key)
{
    json_open(json, key, '[', ']');
}

void json_end(struct json *json)
{
    if (json->depth == 0)
        json_bug("an end without a beginning");
    bool filled = json->filled[json->depth];
    json->depth--;
    if (filled)
        json_newline(json);
    text_char(json->out, json->close[json->depth]);
}

void json_string_bytes(struct json *json, const char *key, const char *at, size_t length)
{
    json_begin(json, key);
    json_quote(json->out, at, length);
}

void json_string(struct json *json, const char *key, const char *value)
{
    if (value)
        json_string_bytes(json, key, value, strlen(value));
    else
        json_null(json, key);
}

void json_int(struct json *json, const char *key, int64_t value)
{
    json_begin(json, key);
    text_printf(json->out, "%lld", (long long)value);
}

void json_double(struct json *json, const char *key, double value)
{
    json_begin(json, key);
    const char *quote = isfinite(value) ? "" : "\"";
    text_add(json->out, quote);
    text_double(json->out, value);
    text_add(json->out, quote);
}

void json_bool(struct json *json, const char *key, bool value)
{
    json_begin(json, key);
    text_add(json->out, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
    json_begin(json, key);
    text_add(json->out, "null");
}

void json_raw(struct json *json, const char *key, const char *value)
{
    json_begin(json, key);
    while (*value) { /* inside strings a line break is written \\n */
        size_t length = strcspn(value, "\n");
        text_add_bytes(json->out, value, length);
        value += length;
        value += strspn(value, "\n ");
    }
}
