/*
 * Reads JSON into a tree. Made for what smelt wrote itself and kept (verdicts in the store), but
 * safe with any bytes: nesting, the number of values and the length have maxima.
 *
 * Asking goes on from NULL: a chain of questions about something that is not there ends with NULL,
 * "" or nan, and needs no checks in between.
 */
#ifndef SMELT_BASE_JSON_READ_H
#define SMELT_BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum { JSON_READ_DEPTH = 64, JSON_READ_VALUES = 1 << 20, JSON_READ_BYTES = 64 << 20 };

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_kind kind;
    const char *key;                 /* inside an object; else NULL */
    const char *string;              /* of a string; a NUL inside is written as U+FFFD */
    double number;                   /* of a number, or 0 and 1 of a bool */
    struct json_value *first, *next; /* of an array or object: its members, in order */
};

/* The whole text is one value; NULL: it is not JSON, or too much. Lives in the arena. */
const struct json_value *json_read(struct arena *arena, const char *text, size_t length);

/* The member of an object; of several with this key the first. NULL: none. */
const struct json_value *json_member(const struct json_value *value, const char *key);
/* "" when it is no string. */
const char *json_text(const struct json_value *value, const char *key);
/* nan when it is no number; the strings "inf", "-inf" and "nan" that the writer makes are read. */
double json_number(const struct json_value *value, const char *key);
bool json_truth(const struct json_value *value, const char *key);

#endif
