/*
 * Running another program to its end. No shell stands between: arguments arrive as they are given.
 * How the program fared (exit status, signal, time-out) is data; that it could not be started is an
 * error.
 */
#ifndef SMELT_OS_PROCESS_H
#define SMELT_OS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

enum { PROCESS_OUTPUT_MAXIMUM = 64 << 10 }; /* bytes kept when a request does not say */

struct process_request {
    const char *const *arguments;   /* ends with NULL; [0] is a path, or a name looked up on PATH */
    const char *const *environment; /* ends with NULL; NULL: as this process has it */
    const char *directory;          /* NULL: where this process is */
    double timeout;        /* seconds, then the program and its children are killed; 0: none */
    size_t output_maximum; /* bytes of output kept, the rest is dropped; 0: the usual */
};

enum process_end { PROCESS_EXITED, PROCESS_SIGNALLED, PROCESS_TIMED_OUT };

struct process_result {
    enum process_end end;
    int status;     /* EXITED: the exit status; SIGNALLED: the signal */
    char *output;   /* stdout and stderr as they came, NUL-terminated, in the arena */
    size_t length;  /* of output */
    bool truncated; /* there was more */
    double seconds; /* from start to end */
};

/* Runs it and waits. False only when it could not be started: MISSING_TOOL or TOOL_FAILED. */
bool process_run(struct arena *arena, const struct process_request *request,
                 struct process_result *result, struct error *error);

/* Exited with status 0. */
bool process_succeeded(const struct process_result *result);

/*
 * Where a program is: the path itself when it has a slash, else the first match on PATH. In the
 * arena; NULL when there is none that may be run.
 */
char *process_find(struct arena *arena, const char *name);

/* The path of the running executable, in the arena; NULL when the system does not tell. */
char *process_own_path(struct arena *arena);

#endif
