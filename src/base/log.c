/*
 * The one writer behind log lines and events. A line is put together in full, has its secrets
 * starred out and is then written in one go under the lock, so that lines of several threads never
 * mix and no secret can straddle two writes.
 *
 * Logging must not change what the program does: running out of memory here loses the line and says
 * so, but does not unwind the caller.
 */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

enum { SECRETS_MAXIMUM = 64, SECRET_SHORTEST = 6 };

/* A secret looks different inside a JSON string when it holds quotes and the like. */
struct secret {
    const char *form[2]; /* plain, and as JSON writes it */
    size_t length[2];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All of these are read and written under the lock only. */
static FILE *log_stream;
static bool log_stream_chosen; /* until then: stderr, which is not a constant */
static FILE *event_stream;
static struct secret secrets[SECRETS_MAXIMUM];
static size_t secret_count;
static struct arena secret_arena; /* as long as the process */

static atomic_int level_shown = LOG_WARN;
static struct timespec start;

static const char *const level_names[] = {"error", "warning", "info", "debug"};

__attribute__((constructor)) static void log_start(void)
{
    clock_gettime(CLOCK_MONOTONIC, &start);
}

void log_set_level(enum log_level level)
{
    atomic_store(&level_shown, (int)level);
}

bool log_level_parse(const char *name, enum log_level *level)
{
    for (size_t i = 0; i < sizeof level_names / sizeof level_names[0]; i++) {
        if (strcmp(name, level_names[i]) == 0 || (i == LOG_WARN && strcmp(name, "warn") == 0)) {
            *level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

void log_to(FILE *stream)
{
    pthread_mutex_lock(&lock);
    log_stream = stream;
    log_stream_chosen = true;
    pthread_mutex_unlock(&lock);
}

void event_to(FILE *stream)
{
    pthread_mutex_lock(&lock);
    event_stream = stream;
    pthread_mutex_unlock(&lock);
}

bool event_wanted(void)
{
    pthread_mutex_lock(&lock);
    bool wanted = event_stream != NULL;
    pthread_mutex_unlock(&lock);
    return wanted;
}

/* How many bytes at `at` are a secret: the longest one that fits, or 0. */
static size_t secret_length(const char *at, size_t left)
{
    size_t longest = 0;
    for (size_t i = 0; i < secret_count; i++) {
        for (int form = 0; form < 2; form++) {
            size_t length = secrets[i].length[form];
            if (length > longest && length <= left &&
                memcmp(at, secrets[i].form[form], length) == 0)
                longest = length;
        }
    }
    return longest;
}

static void (*log_clear)(void *context);
static void *log_clear_context;

void log_before(void (*clear)(void *context), void *context)
{
    pthread_mutex_lock(&lock);
    log_clear = clear;
    log_clear_context = context;
    pthread_mutex_unlock(&lock);
}

/* The only place that writes. Always as many stars: the length of a secret is a secret. */
static void write_line(bool is_event, const char *line, size_t length)
{
    pthread_mutex_lock(&lock);
    FILE *stream = is_event ? event_stream : log_stream_chosen ? log_stream : stderr;
    if (stream) {
        size_t written = 0;
        if (!is_event && log_clear)
            log_clear(log_clear_context);
        for (size_t i = 0; i < length;) {
            size_t hidden = secret_length(line + i, length - i);
            if (!hidden) {
                i++;
                continue;
            }
            fwrite(line + written, 1, i - written, stream);
            fputs("******", stream);
            i += hidden;
            written = i;
        }
        fwrite(line + written, 1, length - written, stream);
        fputc('\n', stream);
        fflush(stream);
    }
    pthread_mutex_unlock(&lock);
}

struct line_job {
    struct arena *arena;
    struct text line;
    enum log_level level;
    const char *format;
    va_list arguments;
    const char *name;
    const struct event_field *fields;
};

static void log_compose(void *context)
{
    struct line_job *job = context;
    job->line = text_new(job->arena);
    text_printf(&job->line, "smelt: %s: ", level_names[job->level]);
    text_vprintf(&job->line, job->format, job->arguments);
}

void log_print(enum log_level level, const char *format, ...)
{
    if ((int)level > atomic_load(&level_shown))
        return;
    struct arena arena = {0};
    struct line_job job = {.arena = &arena, .level = level, .format = format};
    va_start(job.arguments, format);
    if (memory_try(log_compose, &job)) {
        write_line(false, job.line.at, job.line.length);
    } else {
        static const char lost[] = "smelt: warning: a log line was lost: out of memory";
        write_line(false, lost, sizeof lost - 1);
    }
    va_end(job.arguments);
    arena_release(&arena);
}

static double seconds_since_start(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    /* Whole microseconds: more digits would be noise. */
    int64_t microseconds =
        (int64_t)(now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000;
    return (double)microseconds / 1e6;
}

static void event_compose(void *context)
{
    struct line_job *job = context;
    job->line = text_new(job->arena);
    struct json json = json_new(&job->line, 0);
    json_object(&json, NULL);
    json_string(&json, "event", job->name);
    json_double(&json, "time", seconds_since_start());
    for (const struct event_field *field = job->fields; field->kind != EVENT_END; field++) {
        switch (field->kind) {
        case EVENT_STRING: json_string(&json, field->name, field->string); break;
        case EVENT_INT: json_int(&json, field->name, field->integer); break;
        case EVENT_DOUBLE: json_double(&json, field->name, field->number); break;
        case EVENT_BOOL: json_bool(&json, field->name, field->integer != 0); break;
        case EVENT_END: break;
        }
    }
    json_end(&json);
}

void event_write(const char *name, const struct event_field *fields)
{
    if (!event_wanted())
        return;
    struct arena arena = {0};
    struct line_job job = {.arena = &arena, .name = name, .fields = fields};
    if (memory_try(event_compose, &job)) {
        write_line(true, job.line.at, job.line.length);
    } else {
        static const char lost[] = "{\"event\":\"event-lost\",\"why\":\"out of memory\"}";
        write_line(true, lost, sizeof lost - 1);
    }
    arena_release(&arena);
}

/* Runs under the lock, and so inside a memory_try of its own. */
static void secret_store(void *context)
{
    const char *plain = context;
    struct text quoted = text_new(&secret_arena);
    struct json json = json_new(&quoted, 0);
    json_string(&json, NULL, plain);
    struct secret *secret = &secrets[secret_count];
    secret->form[0] = arena_string(&secret_arena, plain);
    secret->length[0] = strlen(plain);
    secret->form[1] = quoted.at + 1; /* without the quotes */
    secret->length[1] = quoted.length - 2;
    secret_count++;
}

bool log_hide(const char *secret)
{
    if (!secret || strlen(secret) < SECRET_SHORTEST)
        return false;
    pthread_mutex_lock(&lock);
    bool hidden = false;
    for (size_t i = 0; i < secret_count && !hidden; i++)
        hidden = strcmp(secrets[i].form[0], secret) == 0;
    if (!hidden && secret_count < SECRETS_MAXIMUM)
        hidden = memory_try(secret_store, (void *)secret);
    pthread_mutex_unlock(&lock);
    return hidden;
}
