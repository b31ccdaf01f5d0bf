/*
 * A growing string. Always NUL-terminated once anything was added; lives in an arena.
 */
#ifndef SMELT_BASE_TEXT_H
#define SMELT_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

#include "base/arena.h"

struct text {
    struct arena *arena;
    char *at; /* "" until something is added */
    size_t length, capacity;
};

struct text text_new(struct arena *arena);
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const char *bytes, size_t length);
void text_char(struct text *text, char c);
void text_repeat(struct text *text, char c, long count); /* count <= 0 adds nothing */
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *text, const char *format, va_list arguments);
/* The shortest decimal that reads back as the same double; inf and nan by name. */
void text_double(struct text *text, double value);
void text_truncate(struct text *text, size_t length);

/*
 * The length in bytes of the UTF-8 character at `at`, of which `left` bytes are there; 0 when they
 * are not valid UTF-8 (overlong forms and surrogates are not) or left is 0.
 */
size_t text_utf8(const char *at, size_t left);

#endif
