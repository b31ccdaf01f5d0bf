/*
 * Everything smelt says: answers on standard output, notes and errors on standard error, and both
 * as one JSON object when asked for.
 */
#include "cmd/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int write_failure; /* errno of the first write to standard output that failed, or 0 */

static void remember_failure(bool failed)
{
    if (failed && !write_failure)
        write_failure = errno ? errno : EIO;
}

void output_text(const struct text *text)
{
    errno = 0;
    remember_failure(fwrite(text->at, 1, text->length, stdout) != text->length);
}

void output_printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    errno = 0;
    remember_failure(vprintf(format, arguments) < 0);
    va_end(arguments);
}

bool output_finish(struct error *error)
{
    errno = 0;
    remember_failure(fflush(stdout) != 0);
    if (!write_failure)
        return true;
    errno = write_failure;
    error_system(error, ERROR_CANNOT_WRITE, "could not write to standard output");
    if (write_failure == ENOSPC)
        error_hint(error, "the disk is full: what was printed is incomplete");
    return false;
}

/* Both streams may end in one terminal or file: what was said first should stand first. */
static void flush_before_note(void)
{
    errno = 0;
    remember_failure(fflush(stdout) != 0);
}

void output_note(const struct invocation *invocation, const char *format, ...)
{
    flush_before_note();
    va_list arguments;
    va_start(arguments, format);
    fputs(invocation->colour_notes ? "\033[1;36mnote:\033[0m " : "note: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

const char *output_bold(const struct invocation *invocation)
{
    return invocation->colour ? "\033[1m" : "";
}

const char *output_plain(const struct invocation *invocation)
{
    return invocation->colour ? "\033[0m" : "";
}

enum exit_code exit_worse(enum exit_code a, enum exit_code b)
{
    /* "undecided" is an answer, better than "no" */
    static const int weight[] = {[EXIT_YES] = 0,
                                 [EXIT_UNDECIDED] = 1,
                                 [EXIT_NO] = 2,
                                 [EXIT_USAGE] = 3,
                                 [EXIT_ENVIRONMENT] = 4};
    return weight[a] > weight[b] ? a : b;
}

enum exit_code errors_exit(const struct errors *errors)
{
    enum exit_code code = EXIT_YES;
    for (size_t i = 0; i < errors->list.count; i++)
        code = exit_worse(code, error_exit(errors->list.at[i].code));
    return code;
}

enum exit_code output_errors(const struct invocation *invocation, const struct errors *errors)
{
    enum exit_code code = errors_exit(errors);
    if (invocation->json || !errors->list.count)
        return code;
    flush_before_note();
    struct text text = text_new(invocation->arena);
    for (size_t i = 0; i < errors->list.count; i++) {
        const struct error *error = &errors->list.at[i];
        if (i > 0 && (error->place.source || errors->list.at[i - 1].place.source))
            text_char(&text, '\n');
        error_render(&text, error, invocation->colour_notes);
    }
    if (errors->dropped)
        text_printf(&text, "\nand %zu more error%s, not shown\n", errors->dropped,
                    errors->dropped == 1 ? "" : "s");
    fwrite(text.at, 1, text.length, stderr);
    return code;
}

struct json output_json_begin(const struct invocation *invocation, struct text *text)
{
    struct json json = json_new(text, 2);
    json_object(&json, NULL);
    const char *name = invocation->command ? invocation->command->name : "usage";
    int schema =
        invocation->command && invocation->command->schema ? invocation->command->schema : 1;
    json_string(&json, "schema", arena_printf(invocation->arena, "smelt.%s/%d", name, schema));
    return json;
}

static void json_error(struct json *json, const struct error *error)
{
    const struct source *source = error->place.source;
    json_object(json, NULL);
    json_string(json, "code", error_name(error->code));
    json_int(json, "number", error->code);
    json_string(json, "message", error->message);
    if (source) {
        struct line_column at = source_locate(source, error->place.offset);
        json_string(json, "file", source->name);
        json_int(json, "line", (int64_t)at.line);
        json_int(json, "column", (int64_t)at.column);
        json_int(json, "offset", (int64_t)error->place.offset);
        json_int(json, "length", (int64_t)error->place.length);
    } else {
        json_null(json, "file");
        json_null(json, "line");
        json_null(json, "column");
    }
    json_string(json, "detail", error->detail);
    json_string(json, "hint", error->hint);
    json_end(json);
}

void output_json_errors(struct json *json, const struct errors *errors)
{
    json_array(json, "errors");
    for (size_t i = 0; i < errors->list.count; i++)
        json_error(json, &errors->list.at[i]);
    json_end(json);
    if (errors->dropped)
        json_int(json, "errors_not_shown", (int64_t)errors->dropped);
}

enum exit_code output_json_end(struct invocation *invocation, struct json *json)
{
    enum exit_code code = errors_exit(&invocation->errors);
    output_json_errors(json, &invocation->errors);
    json_end(json);
    text_char(json->out, '\n');
    output_text(json->out);
    invocation->errors.list.count = 0;
    invocation->errors.dropped = 0;
    return code;
}

void text_count(struct text *text, size_t count, const char *noun)
{
    text_printf(text, "%zu %s%s", count, noun, count == 1 ? "" : "s");
}
