/*
 * The test runner: runs smelt on files that hold both input and expectation.
 *
 * It shares no code with src/, so a mistake in the library cannot hide itself by breaking the
 * runner in the same way. It is a short-lived program: what it allocates lives until it ends.
 */
#ifndef TESTS_TOOLS_RUNNER_H
#define TESTS_TOOLS_RUNNER_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that may contain zeros; `data` is always followed by a zero. */
struct bytes {
    char *data;
    size_t length;
};

/* What became of a command. `output` is stdout and stderr in the order they were written. */
struct outcome {
    int exit_code; /* 128 + signal when killed, as a shell reports it */
    bool timed_out;
    struct bytes output;
};

/* What all suites know: where things are, what to do, and what was found. */
struct session {
    const char *root;  /* the repository */
    const char *smelt; /* the binary under test */
    bool update;       /* rewrite expectations instead of failing */
    int passed, failed, skipped, updated;
};

enum { TIMEOUT_SECONDS = 120, MAX_OUTPUT = 16 << 20, MAX_ARGUMENTS = 64 };

/* runner.c: the suites share these. */

_Noreturn void die(const char *what, const char *name);
void *allocate(size_t size);
void bytes_add(struct bytes *bytes, const char *data, size_t length);
void bytes_add_text(struct bytes *bytes, const char *text);
bool bytes_equal(struct bytes a, struct bytes b);

/* A copy of `bytes` with every `from` replaced by `to`. */
struct bytes bytes_replace(struct bytes bytes, const char *from, const char *to);

struct bytes file_read(const char *path);
void file_write(const char *path, struct bytes content);

/* A new directory, and its removal with all it holds. */
char *scratch_make(void);
void scratch_remove(const char *path);

/* Runs `arguments` in `directory` with a clean environment; kills it after TIMEOUT_SECONDS. */
struct outcome command_launch(const struct session *session, const char *directory,
                              const char *const *arguments);

/* `path` as seen from the root, for messages. */
const char *path_shown(const struct session *session, const char *path);

/* Reports a failed case: where, what, and the unified difference if both texts are given. */
void report_failure(struct session *session, const char *where, const char *what);
void report_difference(struct bytes expected, struct bytes actual);

/* "exit code 1, expected 0", or how else the command ended. Static buffer. */
const char *describe_exit(struct outcome outcome, int expected);

/* The suites: each judges one file. */
void golden_run(struct session *session, const char *path);
void transcript_run(struct session *session, const char *path);
void manual_run(struct session *session, const char *path);

#endif
