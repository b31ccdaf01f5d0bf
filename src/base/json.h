/*
 * Writes JSON into a text. Commas, quoting and indentation take care of themselves:
 *
 *     struct json json = json_new(&text, 2);
 *     json_object(&json, NULL);
 *     json_string(&json, "name", "softmax");
 *     json_array(&json, "sizes"); json_int(&json, NULL, 4); json_end(&json);
 *     json_end(&json);
 *
 * Inside an object every value has a key; inside an array the key is NULL. Misuse is a bug: abort.
 */
#ifndef SMELT_BASE_JSON_H
#define SMELT_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum { JSON_DEPTH = 32 };

struct json {
    struct text *out;
    int indent; /* spaces per level; 0: one line */
    int depth;
    char close[JSON_DEPTH]; /* the bracket that ends each level */
    bool filled[JSON_DEPTH];
};

struct json json_new(struct text *out, int indent);
void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_end(struct json *json);
void json_string(struct json *json, const char *key, const char *value); /* NULL writes null */
void json_string_bytes(struct json *json, const char *key, const char *at, size_t length);
void json_int(struct json *json, const char *key, int64_t value);
/* JSON has no inf and nan: they are written as the strings "inf", "-inf", "nan". */
void json_double(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
/* A value that is JSON already; line breaks between its parts are left out. */
void json_raw(struct json *json, const char *key, const char *value);

#endif
