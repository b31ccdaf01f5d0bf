/*
 * What went wrong, for a person: a stable code, a message, where it happened, a detail and what to
 * do about it. Codes live in errors.def, which also generates docs/errors.md.
 *
 * A fallible function returns bool or a pointer and takes `struct error *` last. Functions that can
 * find several faults in one go collect them in `struct errors`.
 */
#ifndef SMELT_BASE_ERROR_H
#define SMELT_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/source.h"
#include "base/text.h"
#include "base/vector.h"

enum error_code {
    ERROR_NONE = 0,
#define ERROR_CODE(name, number, exit, text) ERROR_##name = number,
#include "base/errors.def"
#undef ERROR_CODE
};

/* What the process says when it ends: also the meaning of the third column of errors.def. */
enum exit_code {
    EXIT_YES = 0,
    EXIT_NO = 1,
    EXIT_USAGE = 2,
    EXIT_ENVIRONMENT = 3,
    EXIT_UNDECIDED = 4,
};

struct error {
    enum error_code code;
    struct place place;   /* may be nowhere */
    char message[400];    /* one sentence, no final stop, lower case start */
    char detail[400];     /* "" or what was found: shown under the caret */
    char hint[400];       /* "" or what to write instead */
    struct place other;   /* may be nowhere: a second place, e.g. the earlier definition */
    char other_note[120]; /* what stands there */
};

/* Fills in *error (which may be NULL) and returns false, so that a function can `return` it. */
bool error_set(struct error *error, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool error_at(struct error *error, enum error_code code, struct place place, const char *format,
              ...) __attribute__((format(printf, 4, 5)));
void error_detail(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void error_hint(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
void error_note(struct error *error, struct place other, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* errno in words appended to the message: "could not open x.npy: No such file or directory". */
bool error_system(struct error *error, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

const char *error_name(enum error_code code);    /* "undefined-name" */
const char *error_summary(enum error_code code); /* the line in errors.def */
enum exit_code error_exit(enum error_code code);

enum { ERRORS_MAXIMUM = 20 }; /* further ones are counted, not kept */

struct errors {
    struct arena *arena;
    struct error_list VECTOR(struct error) list;
    size_t dropped;
    size_t said; /* all that were ever added, those too that were known already */
};

struct errors errors_new(struct arena *arena);
/* A new error to fill in; two at the same place with the same code are kept once. Never NULL. */
struct error *errors_add(struct errors *errors, enum error_code code, struct place place,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Notes that something failed for a reason that is in the list already. */
void errors_again(struct errors *errors);
/* Moves a single error into the list. */
void errors_take(struct errors *errors, const struct error *error);

/* In the order of the text, file by file. */
void errors_sort(struct errors *errors);

/*
 * Appends the error as a person reads it:
 *
 *     nn.op:3:22: error: unknown tensor 'wieght' [undefined-name]
 *         y[m, n] = a[m, n] * wieght[n]
 *                             ^~~~~~
 *     hint: did you mean 'weight'?
 */
void error_render(struct text *out, const struct error *error, bool colour);

#endif
