/*
 * Strings that grow by doubling. The outgrown copy stays in the arena until it is reset, which is
 * what makes it safe to add a text to itself.
 */
#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct text text_new(struct arena *arena)
{
    /* The empty string is never written to: capacity 0 says that it is not ours. */
    return (struct text){.arena = arena, .at = (char *)""};
}

/* Makes room for `more` bytes and the NUL. */
static void text_grow(struct text *text, size_t more)
{
    if (more > SIZE_MAX / 4 - text->length)
        memory_exhausted();
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity)
        return;
    size_t capacity = text->capacity ? text->capacity * 2 : 64;
    while (capacity < needed)
        capacity *= 2;
    char *grown = arena_alloc(text->arena, capacity);
    if (text->length)
        memcpy(grown, text->at, text->length);
    text->at = grown;
    text->capacity = capacity;
}

void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
    if (!length)
        return;
    text_grow(text, length);
    memmove(text->at + text->length, bytes, length);
    text->length += length;
    text->at[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_char(struct text *text, char c)
{
    text_add_bytes(text, &c, 1);
}

void text_repeat(struct text *text, char c, long count)
{
    if (count <= 0)
        return;
    text_grow(text, (size_t)count);
    memset(text->at + text->length, c, (size_t)count);
    text->length += (size_t)count;
    text->at[text->length] = '\0';
}

void text_vprintf(struct text *text, const char *format, va_list arguments)
{
    char near[256]; /* most are short: written once */
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(near, sizeof near, format, again);
    va_end(again);
    if (length <= 0)
        return;
    if (length < (int)sizeof near) {
        text_add_bytes(text, near, (size_t)length);
        return;
    }
    text_grow(text, (size_t)length);
    vsnprintf(text->at + text->length, (size_t)length + 1, format, arguments);
    text->length += (size_t)length;
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(text, format, arguments);
    va_end(arguments);
}

void text_double(struct text *text, double value)
{
    if (isnan(value)) {
        text_add(text, "nan");
        return;
    }
    if (isinf(value)) {
        text_add(text, value < 0 ? "-inf" : "inf");
        return;
    }
    /*
     * %g drops trailing zeros, so any number that has a form of up to 15 digits gets it from the
     * first attempt; only subnormal ones carry fewer good digits than that.
     */
    char digits[40];
    int precision = value != 0 && fabs(value) < DBL_MIN ? 1 : 15;
    do {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
    } while (strtod(digits, NULL) != value && ++precision <= 17);
    text_add(text, digits);
}

void text_truncate(struct text *text, size_t length)
{
    if (length >= text->length)
        return;
    text->length = length;
    text->at[length] = '\0';
}

size_t text_utf8(const char *at, size_t left)
{
    const unsigned char *byte = (const unsigned char *)at;
    if (left == 0)
        return 0;
    if (byte[0] < 0x80)
        return 1;
    size_t length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
    if (byte[0] < 0xc2 || byte[0] > 0xf4 || left < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    /* The second byte alone decides about overlong forms, surrogates and values past the end. */
    if ((byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xed && byte[1] > 0x9f) ||
        (byte[0] == 0xf0 && byte[1] < 0x90) || (byte[0] == 0xf4 && byte[1] > 0x8f))
        return 0;
    return length;
}
