/*
 * smelt: the table of commands, and what surrounds each of them: the global options, the limits of
 * memory, the reporting of errors and the exit code.
 *
 * All work runs inside memory_try. When memory runs out, everything the command made is given back
 * and the shortage is reported like any other error.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/page.h"
#include "os/secret.h"

extern const struct command command_new, command_check, command_fmt, command_ref, command_ops,
    command_ir, command_plan, command_gen, command_judge, command_diagnose, command_bench,
    command_run, command_resume, command_runs, command_show, command_best, command_diff,
    command_export, command_recheck, command_report, command_experience, command_gc, command_kb,
    command_llm, command_prompt, command_next, command_submit, command_mcp, command_tasks,
    command_probe, command_doctor, command_help, command_version;

const struct command *const commands[] = {
    &command_new,      &command_check,
    &command_fmt,      &command_ref,
    &command_ops,      &command_tasks,
    &command_ir,       &command_plan,
    &command_gen,      &command_judge,
    &command_diagnose, &command_bench,
    &command_run,      &command_resume,
    &command_runs,     &command_show,
    &command_best,     &command_diff,
    &command_export,   &command_recheck,
    &command_report,   &command_experience,
    &command_gc,       &command_kb,
    &command_llm,      &command_prompt,
    &command_next,     &command_submit,
    &command_mcp,      &command_probe,
    &command_doctor,   &command_help,
    &command_version,  NULL,
};

static const char *const colour_choices[] = {"auto", "always", "never", NULL};
static const char *const log_choices[] = {"error", "warn", "info", "debug", NULL};

const struct option global_options[] = {
    {.name = "help", .letter = 'h', .help = "show help, for the command when one is named"},
    {.name = "version", .help = "print the version"},
    {.name = "color",
     .argument = "WHEN",
     .choices = colour_choices,
     .help = "colour the output: auto (on a terminal, unless NO_COLOR is set), always or never"},
    {.name = "log",
     .argument = "LEVEL",
     .choices = log_choices,
     .help = "how much to tell on standard error: error, warn (the default), info or debug"},
    {.name = "events",
     .argument = "FILE",
     .help = "write what happens to FILE as JSON, one event per line, for other programs to read"},
    {0},
};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* One call of smelt from end to end, in a struct so that it can run inside memory_try. */
struct call {
    int count;
    char **words;
    struct arena arena, scratch;
    struct invocation invocation;
    FILE *events;
    enum exit_code code;
};

static bool colour_wanted(const char *choice, int stream)
{
    const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (choice && strcmp(choice, "auto") != 0)
        return strcmp(choice, "always") == 0;
    return !(none && *none) && !(terminal && strcmp(terminal, "dumb") == 0) && isatty(stream);
}

static bool apply_globals(struct call *call)
{
    struct invocation *invocation = &call->invocation;
    const char *level = option_value(invocation, "log");
    const char *events = option_value(invocation, "events");
    enum log_level parsed;
    if (level && log_level_parse(level, &parsed))
        log_set_level(parsed);
    if (!events)
        return true;
    call->events = fopen(events, "we");
    if (call->events) {
        /* One that was handed down is for us alone: no compiler, no kernel inherits it. */
        if (strncmp(events, "/dev/fd/", 8) == 0)
            fcntl((int)strtol(events + 8, NULL, 10), F_SETFD, FD_CLOEXEC);
        event_to(call->events);
        return true;
    }
    struct error error;
    error_system(&error, ERROR_CANNOT_WRITE, "could not write events to %s", events);
    errors_take(&invocation->errors, &error);
    return false;
}

static void dispatch(struct call *call)
{
    struct invocation *invocation = &call->invocation;
    if (!apply_globals(call))
        return;
    if (option_given(invocation, "version")) {
        invocation->command = &command_version;
    } else if (option_given(invocation, "help") || !invocation->command) {
        struct text text = text_new(invocation->arena);
        if (invocation->command)
            page_command(&text, invocation->command, invocation->colour);
        else
            page_overview(&text, option_given(invocation, "help"), invocation->colour);
        output_text(&text);
        return;
    }
    const char *name = invocation->command->name;
    event("command", event_string("name", name));
    call->code = invocation->command->run(invocation);
}

static void call_run(void *context)
{
    struct call *call = context;
    struct invocation *invocation = &call->invocation;
    *invocation = (struct invocation){.arena = &call->arena, .scratch = &call->scratch};
    invocation->errors = errors_new(&call->arena);
    bool parsed = options_parse(invocation, call->count, call->words);
    const char *choice = parsed ? option_value(invocation, "color") : NULL;
    invocation->colour = colour_wanted(choice, STDOUT_FILENO);
    invocation->colour_notes = colour_wanted(choice, STDERR_FILENO);
    if (parsed)
        dispatch(call);
    else
        invocation->json = options_want_json(call->count, call->words);
}

/* Tells the errors that the command left, in the form that was asked for. */
static void call_report(void *context)
{
    struct call *call = context;
    struct invocation *invocation = &call->invocation;
    if (!invocation->errors.list.count)
        return;
    call->code = exit_worse(call->code, errors_exit(&invocation->errors));
    if (invocation->json) {
        struct text text = text_new(invocation->arena);
        struct json json = output_json_begin(invocation, &text);
        output_json_end(invocation, &json);
    } else {
        output_errors(invocation, &invocation->errors);
    }
}

static void out_of_memory(void *context)
{
    struct call *call = context;
    struct invocation *invocation = &call->invocation;
    invocation->errors = errors_new(&call->arena);
    struct error *error =
        errors_add(&invocation->errors, ERROR_OUT_OF_MEMORY, (struct place){0}, "memory ran out");
    error_hint(error, "use smaller sizes or a smaller file, close other programs, or raise the "
                      "limit (ulimit -v)");
    call_report(call);
}

/* Output that did not arrive is an error however well the rest went. */
static void call_finish(struct call *call)
{
    struct error error;
    bool good = output_finish(&error);
    if (call->events) {
        event_to(NULL);
        if (fclose(call->events) != 0 && good) {
            error_system(&error, ERROR_CANNOT_WRITE, "could not write all events");
            good = false;
        }
    }
    if (good)
        return;
    call->code = EXIT_ENVIRONMENT;
    fprintf(stderr, "error: %s [%s]\n", error.message, error_name(error.code));
    if (error.hint[0])
        fprintf(stderr, "hint: %s\n", error.hint);
}

/*
 * A file opened while standard output is closed would take its number, and be written into. Opened
 * the wrong way round, the stand-ins make reading and writing fail as they should.
 */
static void streams_secure(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int stream = 0; stream < 3; stream++)
        if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            if (open("/dev/null", modes[stream]) != stream)
                _exit(EXIT_ENVIRONMENT);
}

int main(int count, char **words)
{
    streams_secure();
    secret_take_all();
    memory_return_large_blocks();
    /* `smelt ops | head` ends quietly even when whoever started us ignores the signal. */
    signal(SIGPIPE, SIG_DFL);
    /* Whoever ignores the end of its children is not told how they ended. */
    signal(SIGCHLD, SIG_DFL);
    /* A file that grows over its limit (ulimit -f) is a failed write, not the end. */
    signal(SIGXFSZ, SIG_IGN);
    struct call call = {.count = count > 0 ? count - 1 : 0, .words = words + 1};
    const char *fail = getenv("SMELT_FAIL_ALLOCATION");
    memory_fail_at(fail ? strtol(fail, NULL, 10) : 0);
    bool enough = memory_try(call_run, &call) && memory_try(call_report, &call);
    memory_fail_at(0);
    if (!enough) {
        arena_release(&call.scratch);
        arena_release(&call.arena);
        if (!memory_try(out_of_memory, &call))
            fputs("error: memory ran out [out-of-memory]\n", stderr);
        call.code = EXIT_ENVIRONMENT;
    }
    call_finish(&call);
    arena_release(&call.scratch);
    arena_release(&call.arena);
    return call.code;
}
