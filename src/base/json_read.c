/*
 * JSON as RFC 8259 has it, by recursive descent with a depth.
 */
#include "base/json_read.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct reader {
    struct arena *arena;
    const char *at, *end;
    int depth;
    long values;
};

static bool read_value(struct reader *reader, struct json_value *value);

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
        reader->at++;
}

static bool take(struct reader *reader, char c)
{
    skip_blanks(reader);
    if (reader->at >= reader->end || *reader->at != c)
        return false;
    reader->at++;
    return true;
}

/* ---- strings ---- */

static bool read_hex(struct reader *reader, unsigned *code)
{
    *code = 0;
    if (reader->end - reader->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = *reader->at++;
        if (!isxdigit((unsigned char)c))
            return false;
        unsigned digit = (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        *code = *code * 16 + digit;
    }
    return true;
}

static void add_code(struct text *out, unsigned code)
{
    char bytes[4];
    size_t length = 0;
    if (code < 0x80) {
        bytes[length++] = (char)code;
    } else if (code < 0x800) {
        bytes[length++] = (char)(0xc0 | code >> 6);
        bytes[length++] = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        bytes[length++] = (char)(0xe0 | code >> 12);
        bytes[length++] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[length++] = (char)(0x80 | (code & 0x3f));
    } else {
        bytes[length++] = (char)(0xf0 | code >> 18);
        bytes[length++] = (char)(0x80 | (code >> 12 & 0x3f));
        bytes[length++] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[length++] = (char)(0x80 | (code & 0x3f));
    }
    text_add_bytes(out, bytes, length);
}

/* After \u: a character outside of the basic plane takes two. */
static bool read_unicode(struct reader *reader, struct text *out)
{
    unsigned code, low;
    if (!read_hex(reader, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (reader->end - reader->at < 6 || reader->at[0] != '\\' || reader->at[1] != 'u')
            return false;
        reader->at += 2;
        if (!read_hex(reader, &low) || low < 0xdc00 || low > 0xdfff)
            return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return false;
    }
    add_code(out, code ? code : 0xfffd);
    return true;
}

static bool read_escape(struct reader *reader, struct text *out)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (reader->at >= reader->end)
        return false;
    char c = *reader->at++;
    const char *place = c ? strchr(names, c) : NULL;
    if (place)
        text_char(out, meant[place - names]);
    return place || (c == 'u' && read_unicode(reader, out));
}

static const char *read_string(struct reader *reader)
{
    struct text out = text_new(reader->arena);
    if (!take(reader, '"'))
        return NULL;
    while (reader->at < reader->end && *reader->at != '"') {
        unsigned char c = (unsigned char)*reader->at;
        if (c < 0x20)
            return NULL;
        size_t length = text_utf8(reader->at, (size_t)(reader->end - reader->at));
        if (length == 0)
            return NULL;
        if (c == '\\') {
            reader->at++;
            if (!read_escape(reader, &out))
                return NULL;
            continue;
        }
        text_add_bytes(&out, reader->at, length);
        reader->at += length;
    }
    return take(reader, '"') ? out.at : NULL;
}

/* ---- the rest ---- */

static size_t count_digits(const struct reader *reader, const char *at)
{
    const char *from = at;
    while (at < reader->end && *at >= '0' && *at <= '9')
        at++;
    return (size_t)(at - from);
}

static bool read_number(struct reader *reader, struct json_value *value)
{
    enum { LONGEST = 400 };
    char copy[LONGEST + 1];
    const char *at = reader->at;
    at += at < reader->end && *at == '-';
    size_t digits = count_digits(reader, at);
    if (digits == 0 || (digits > 1 && *at == '0'))
        return false;
    at += digits;
    if (at < reader->end && *at == '.') {
        digits = count_digits(reader, ++at);
        if (digits == 0)
            return false;
        at += digits;
    }
    if (at < reader->end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < reader->end && (*at == '+' || *at == '-');
        digits = count_digits(reader, at);
        if (digits == 0)
            return false;
        at += digits;
    }
    size_t length = (size_t)(at - reader->at);
    if (length > LONGEST)
        return false;
    memcpy(copy, reader->at, length);
    copy[length] = 0;
    value->kind = JSON_NUMBER;
    value->number = strtod(copy, NULL);
    reader->at = at;
    return true;
}

static bool read_members(struct reader *reader, struct json_value *value, bool keyed)
{
    char close = keyed ? '}' : ']';
    struct json_value **last = &value->first;
    value->kind = keyed ? JSON_OBJECT : JSON_ARRAY;
    reader->at++;
    if (++reader->depth > JSON_READ_DEPTH)
        return false;
    bool more = !take(reader, close);
    while (more) {
        struct json_value *member = arena_new(reader->arena, struct json_value);
        const char *key = keyed ? read_string(reader) : NULL;
        if ((keyed && (!key || !take(reader, ':'))) || !read_value(reader, member))
            return false;
        member->key = key;
        *last = member;
        last = &member->next;
        more = take(reader, ',');
        if (!more && !take(reader, close))
            return false;
    }
    reader->depth--;
    return true;
}

static bool read_word(struct reader *reader, struct json_value *value)
{
    static const struct {
        const char *word;
        enum json_kind kind;
        double number;
    } words[] = {{"null", JSON_NULL, 0}, {"true", JSON_BOOL, 1}, {"false", JSON_BOOL, 0}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i].word);
        if ((size_t)(reader->end - reader->at) < length ||
            memcmp(reader->at, words[i].word, length) != 0)
            continue;
        reader->at += length;
        value->kind = words[i].kind;
        value->number = words[i].number;
        return true;
    }
    return false;
}

static bool read_value(struct reader *reader, struct json_value *value)
{
    skip_blanks(reader);
    if (reader->at >= reader->end || ++reader->values > JSON_READ_VALUES)
        return false;
    char c = *reader->at;
    if (c == '{' || c == '[')
        return read_members(reader, value, c == '{');
    if (c == '"') {
        value->kind = JSON_STRING;
        value->string = read_string(reader);
        return value->string != NULL;
    }
    return c == '-' || (c >= '0' && c <= '9') ? read_number(reader, value)
                                              : read_word(reader, value);
}

const struct json_value *json_read(struct arena *arena, const char *text, size_t length)
{
    struct reader reader = {.arena = arena, .at = text, .end = text + length};
    struct json_value *value = arena_new(arena, struct json_value);
    if (length > JSON_READ_BYTES || !read_value(&reader, value))
        return NULL;
    skip_blanks(&reader);
    return reader.at == reader.end ? value : NULL;
}

/* ---- asking ---- */

const struct json_value *json_member(const struct json_value *value, const char *key)
{
    if (!value || value->kind != JSON_OBJECT)
        return NULL;
    for (const struct json_value *member = value->first; member; member = member->next)
        if (strcmp(member->key, key) == 0)
            return member;
    return NULL;
}

const char *json_text(const struct json_value *value, const char *key)
{
    const struct json_value *member = json_member(value, key);
    return member && member->kind == JSON_STRING ? member->string : "";
}

double json_number(const struct json_value *value, const char *key)
{
    const struct json_value *member = json_member(value, key);
    if (member && member->kind == JSON_NUMBER)
        return member->number;
    const char *word = json_text(value, key);
    return strcmp(word, "inf") == 0 ? INFINITY : strcmp(word, "-inf") == 0 ? -INFINITY : NAN;
}

bool json_truth(const struct json_value *value, const char *key)
{
    const struct json_value *member = json_member(value, key);
    return member && member->kind == JSON_BOOL && member->number != 0;
}
