/*
 * Two streams out of a running smelt: log lines for a person (levels, stderr) and events for
 * programs (JSON lines), read alike by progress display, report and dashboard.
 *
 * Both go through one writer, which replaces every registered secret by stars.
 */
#ifndef SMELT_BASE_LOG_H
#define SMELT_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level); /* LOG_WARN at start */
bool log_level_parse(const char *name, enum log_level *level);
void log_to(FILE *stream); /* stderr at start; NULL for none. The stream stays the caller's. */
void log_print(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Called before each line of the log: whoever draws on the same terminal makes room. NULL: nobody.
 */
void log_before(void (*clear)(void *context), void *context);

#define log_error(...) log_print(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_print(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_print(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_print(LOG_DEBUG, __VA_ARGS__)

/* Events: one JSON object per line with "event", "time" (seconds since start) and the fields. */
void event_to(FILE *stream); /* NULL at start: events are dropped */
bool event_wanted(void);

enum event_kind { EVENT_END, EVENT_STRING, EVENT_INT, EVENT_DOUBLE, EVENT_BOOL };

struct event_field {
    enum event_kind kind;
    const char *name;
    const char *string;
    int64_t integer;
    double number;
};

#define event_string(n, v) ((struct event_field){.kind = EVENT_STRING, .name = (n), .string = (v)})
#define event_int(n, v) ((struct event_field){.kind = EVENT_INT, .name = (n), .integer = (v)})
#define event_double(n, v) ((struct event_field){.kind = EVENT_DOUBLE, .name = (n), .number = (v)})
#define event_bool(n, v) ((struct event_field){.kind = EVENT_BOOL, .name = (n), .integer = (v)})

/* event("checked", event_string("op", name), event_int("parts", n)); */
#define event(name, ...) \
    event_write((name), (const struct event_field[]){__VA_ARGS__, {.kind = EVENT_END}})
void event_write(const char *name, const struct event_field *fields);

/* From now on neither stream shows this text. At most 64, each at least 6 characters. */
bool log_hide(const char *secret);

#endif
