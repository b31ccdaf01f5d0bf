/*
 * Filling in errors, the table of codes, and lists of errors. How an error looks to a person is in
 * error_render.c.
 */
#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Prints into a fixed field; what does not fit ends in "..." and never in half a character. */
static void field_vprint(char *field, size_t size, const char *format, va_list arguments)
{
    int length = vsnprintf(field, size, format, arguments);
    if (length < 0)
        field[0] = '\0';
    if (length < 0 || (size_t)length < size)
        return;
    size_t end = 0, step;
    while ((step = text_utf8(field + end, size - 1 - end)) || end < size - 1) {
        step = step ? step : 1;
        if (end + step > size - 4)
            break;
        end += step;
    }
    memcpy(field + end, "...", 4);
}

static void error_fill(struct error *error, enum error_code code, struct place place,
                       const char *format, va_list arguments)
{
    if (!error)
        return;
    /* The message may quote the error it replaces, so the old one is wiped only afterwards. */
    char message[sizeof error->message];
    field_vprint(message, sizeof message, format, arguments);
    *error = (struct error){.code = code, .place = place};
    memcpy(error->message, message, sizeof message);
}

bool error_set(struct error *error, enum error_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_fill(error, code, (struct place){0}, format, arguments);
    va_end(arguments);
    return false;
}

bool error_at(struct error *error, enum error_code code, struct place place, const char *format,
              ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_fill(error, code, place, format, arguments);
    va_end(arguments);
    return false;
}

void error_detail(struct error *error, const char *format, ...)
{
    if (!error)
        return;
    va_list arguments;
    va_start(arguments, format);
    field_vprint(error->detail, sizeof error->detail, format, arguments);
    va_end(arguments);
}

void error_hint(struct error *error, const char *format, ...)
{
    if (!error)
        return;
    va_list arguments;
    va_start(arguments, format);
    field_vprint(error->hint, sizeof error->hint, format, arguments);
    va_end(arguments);
}

void error_note(struct error *error, struct place other, const char *format, ...)
{
    if (!error)
        return;
    va_list arguments;
    va_start(arguments, format);
    error->other = other;
    field_vprint(error->other_note, sizeof error->other_note, format, arguments);
    va_end(arguments);
}

static void field_print(char *field, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void field_print(char *field, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    field_vprint(field, size, format, arguments);
    va_end(arguments);
}

bool error_system(struct error *error, enum error_code code, const char *format, ...)
{
    int number = errno;
    va_list arguments;
    va_start(arguments, format);
    error_fill(error, code, (struct place){0}, format, arguments);
    va_end(arguments);
    if (error) {
        char words[128], message[sizeof error->message];
        memcpy(message, error->message, sizeof message);
        field_print(error->message, sizeof error->message, "%s: %s", message,
                    strerror_r(number, words, sizeof words));
    }
    errno = number;
    return false;
}

/* The spelled names, made from the identifiers of errors.def when first asked for. */
static struct code_name {
    enum error_code code;
    char name[48];
} code_names[] = {
    {ERROR_NONE, "NONE"},
#define ERROR_CODE(name, number, exit, text) {ERROR_##name, #name},
#include "base/errors.def"
#undef ERROR_CODE
};

enum { CODE_COUNT = sizeof code_names / sizeof code_names[0] };

static pthread_once_t code_names_once = PTHREAD_ONCE_INIT;

static void code_names_spell(void)
{
    for (size_t i = 0; i < CODE_COUNT; i++)
        for (char *c = code_names[i].name; *c; c++)
            *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
}

const char *error_name(enum error_code code)
{
    pthread_once(&code_names_once, code_names_spell);
    for (size_t i = 0; i < CODE_COUNT; i++)
        if (code_names[i].code == code)
            return code_names[i].name;
    return "unknown";
}

/* A switch rather than a table: two rows of errors.def with one number do not compile. */
const char *error_summary(enum error_code code)
{
    switch (code) {
    case ERROR_NONE: return "no error";
#define ERROR_CODE(name, number, exit, text) \
    case ERROR_##name:                       \
        return text;
#include "base/errors.def"
#undef ERROR_CODE
    }
    return "an error of an unknown kind";
}

enum exit_code error_exit(enum error_code code)
{
    switch (code) {
    case ERROR_NONE: return EXIT_YES;
#define ERROR_CODE(name, number, exit, text) \
    case ERROR_##name:                       \
        return exit;
#include "base/errors.def"
#undef ERROR_CODE
    }
    return EXIT_ENVIRONMENT;
}

struct errors errors_new(struct arena *arena)
{
    return (struct errors){.arena = arena};
}

static bool same_place(struct place a, struct place b)
{
    return a.source == b.source && a.offset == b.offset && a.length == b.length;
}

/* Errors without a place are the same only if they say the same. */
static bool same_error(const struct error *a, const struct error *b)
{
    return a->code == b->code && same_place(a->place, b->place) &&
           (a->place.source || strcmp(a->message, b->message) == 0);
}

/*
 * Room for all errors that will ever be kept is made at once, so that a pointer to one stays good
 * while others follow. The slot behind the last takes those that are not kept.
 */
static struct error *errors_keep(struct errors *errors, const struct error *error)
{
    if (!errors->list.at) {
        errors->list.at = arena_array(errors->arena, ERRORS_MAXIMUM + 1, sizeof *error);
        errors->list.capacity = ERRORS_MAXIMUM + 1;
    }
    struct error *slot = &errors->list.at[ERRORS_MAXIMUM];
    errors->said++;
    bool known = false;
    for (size_t i = 0; i < errors->list.count && !known; i++)
        known = same_error(&errors->list.at[i], error);
    if (!known && errors->list.count < ERRORS_MAXIMUM)
        slot = &errors->list.at[errors->list.count++];
    else if (!known)
        errors->dropped++;
    *slot = *error;
    return slot;
}

struct error *errors_add(struct errors *errors, enum error_code code, struct place place,
                         const char *format, ...)
{
    struct error error;
    va_list arguments;
    va_start(arguments, format);
    error_fill(&error, code, place, format, arguments);
    va_end(arguments);
    return errors_keep(errors, &error);
}

void errors_again(struct errors *errors)
{
    errors->said++;
}

void errors_sort(struct errors *errors)
{
    struct error *list = errors->list.at;
    for (size_t i = 1; i < errors->list.count; i++) {
        /* Behind the last one of its file that stands before it; the first of a file stays. */
        struct error moved = list[i];
        size_t to = i;
        for (size_t k = i; k-- > 0;)
            if (list[k].place.source == moved.place.source && moved.place.source) {
                to = k + 1;
                if (list[k].place.offset <= moved.place.offset)
                    break;
                to = k;
            }
        memmove(&list[to + 1], &list[to], (i - to) * sizeof *list);
        list[to] = moved;
    }
}

void errors_take(struct errors *errors, const struct error *error)
{
    errors_keep(errors, error);
}
