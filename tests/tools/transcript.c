/*
 * Transcripts: shell commands and what they print.
 *
 *     # A comment, before the first command. `# needs: python3` skips the file without python3.
 *     $ smelt check missing.op      run by sh in a fresh directory, build/smelt first on PATH
 *     > more                        lines right after it that begin with `> ` continue the command
 *     ? 1                           expected exit code when it is not 0
 *     could not read ...            expected stdout and stderr
 *
 * `...` in an expected line matches any text; a line that is only `...` matches any lines. The
 * directory and the repository appear as {tmp} and {root}. Blank lines at the end do not count.
 * Files that the commands write stay there until the last command of the transcript.
 */
#include "runner.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct lines {
    char **line;
    size_t count;
};

/* One command with its expectation; the ranges are line numbers of the transcript. */
struct step {
    size_t first;    /* the `$ ` line */
    size_t expected; /* the first line of the expectation, which ends at `end` */
    size_t end;
    struct bytes command;
    int expected_exit;
};

static struct lines lines_split(struct bytes text)
{
    struct lines lines = {.line = allocate((text.length + 1) * sizeof(char *))};
    char *rest = text.data;
    char *end = text.data + text.length;
    while (rest < end) {
        char *newline = memchr(rest, '\n', (size_t)(end - rest));
        lines.line[lines.count++] = rest;
        rest = newline ? newline + 1 : end;
        if (newline)
            *newline = 0;
    }
    return lines;
}

static struct lines lines_slice(struct lines lines, size_t from, size_t to)
{
    struct lines slice = {.line = lines.line + from, .count = to - from};
    while (slice.count > 0 && slice.line[slice.count - 1][0] == 0)
        slice.count--;
    return slice;
}

static struct bytes lines_join(struct lines lines)
{
    struct bytes text = {0};
    bytes_add(&text, "", 0);
    for (size_t i = 0; i < lines.count; i++) {
        bytes_add_text(&text, lines.line[i]);
        bytes_add_text(&text, "\n");
    }
    return text;
}

/* Whether `text` fits `pattern`, in which `...` stands for any text. */
static bool line_fits(const char *pattern, const char *text)
{
    const char *hole = strstr(pattern, "...");
    if (!hole)
        return strcmp(pattern, text) == 0;
    size_t length = (size_t)(hole - pattern);
    if (strncmp(pattern, text, length) != 0)
        return false;
    for (text += length;; text++) {
        if (line_fits(hole + 3, text))
            return true;
        if (*text == 0)
            return false;
    }
}

static bool lines_fit(struct lines pattern, struct lines text)
{
    for (size_t i = 0; i < pattern.count; i++) {
        if (strcmp(pattern.line[i], "...") == 0) {
            struct lines rest = {pattern.line + i + 1, pattern.count - i - 1};
            for (size_t skip = i; skip <= text.count; skip++)
                if (lines_fit(rest, (struct lines){text.line + skip, text.count - skip}))
                    return true;
            return false;
        }
        if (i >= text.count || !line_fits(pattern.line[i], text.line[i]))
            return false;
    }
    return pattern.count == text.count;
}

static bool is_command(const char *line)
{
    return strncmp(line, "$ ", 2) == 0;
}

static struct step step_parse(struct lines lines, size_t first)
{
    struct step step = {.first = first};
    size_t at = first + 1;
    bytes_add_text(&step.command, lines.line[first] + 2);
    for (; at < lines.count && lines.line[at][0] == '>'; at++) {
        const char *more = lines.line[at] + 1;
        if (*more != ' ' && *more != 0)
            break;
        bytes_add_text(&step.command, "\n");
        bytes_add_text(&step.command, *more ? more + 1 : more);
    }
    if (at < lines.count && lines.line[at][0] == '?' && lines.line[at][1] == ' ' &&
        isdigit((unsigned char)lines.line[at][2]))
        step.expected_exit = atoi(lines.line[at++] + 2);
    step.expected = at;
    while (at < lines.count && !is_command(lines.line[at]))
        at++;
    step.end = at;
    return step;
}

/* The program a `# needs:` line asks for and the machine lacks, or NULL. */
static const char *missing_program(const struct session *session, struct lines lines)
{
    for (size_t i = 0; i < lines.count && lines.line[i][0] == '#'; i++) {
        char *list = strstr(lines.line[i], "needs:");
        char *rest = list ? strdup(list + 6) : NULL;
        for (char *word; rest && (word = strtok_r(rest, " ,", &rest));) {
            const char *probe[] = {"sh", "-c", "command -v \"$0\"", word, NULL};
            if (command_launch(session, session->root, probe).exit_code != 0)
                return word;
        }
    }
    return NULL;
}

/* Appends the lines [from, to) of the transcript as they are. */
static void keep(struct bytes *content, struct lines lines, size_t from, size_t to)
{
    struct bytes text = lines_join((struct lines){lines.line + from, to - from});
    bytes_add(content, text.data, text.length);
}

/* Appends the step with what the command really did. */
static void renew(struct bytes *content, struct lines lines, struct step step,
                  struct outcome outcome, struct lines actual)
{
    size_t command_end = step.expected - (step.expected_exit ? 1 : 0);
    char code[32];
    keep(content, lines, step.first, command_end);
    snprintf(code, sizeof code, "? %d\n", outcome.exit_code);
    bytes_add_text(content, outcome.exit_code ? code : "");
    keep(content, actual, 0, actual.count);
    size_t blank = step.expected + lines_slice(lines, step.expected, step.end).count;
    keep(content, lines, blank, step.end);
}

static struct outcome step_execute(const struct session *session, struct step step,
                                   const char *directory)
{
    const char *arguments[] = {"sh", "-c", step.command.data, NULL};
    struct outcome outcome = command_launch(session, directory, arguments);
    outcome.output = bytes_replace(outcome.output, directory, "{tmp}");
    outcome.output = bytes_replace(outcome.output, session->root, "{root}");
    return outcome;
}

/* Judges one step; appends what the transcript should say to `content`. False stops the file. */
static bool step_run(struct session *session, const char *shown, struct lines lines,
                     struct step step, const char *directory, struct bytes *content)
{
    struct outcome outcome = step_execute(session, step, directory);
    struct lines expected = lines_slice(lines, step.expected, step.end);
    struct lines actual = lines_split(outcome.output);
    actual = lines_slice(actual, 0, actual.count);
    bool right_exit = !outcome.timed_out && outcome.exit_code == step.expected_exit;
    if (right_exit && lines_fit(expected, actual)) {
        keep(content, lines, step.first, step.end);
        return true;
    }
    if (session->update && !outcome.timed_out && outcome.exit_code < 99) {
        renew(content, lines, step, outcome, actual);
        return true;
    }
    char where[PATH_MAX];
    snprintf(where, sizeof where, "%s:%zu", shown, step.first + 1);
    report_failure(session, where,
                   right_exit ? "output differs" : describe_exit(outcome, step.expected_exit));
    printf("    $ %s\n", step.command.data);
    report_difference(lines_join(expected), lines_join(actual));
    return false;
}

/* Runs the steps in order until one fails: what follows depends on it. */
static bool steps_run(struct session *session, const char *shown, struct lines lines,
                      struct bytes *content)
{
    size_t at = 0;
    while (at < lines.count && !is_command(lines.line[at]))
        at++;
    if (at == lines.count) {
        report_failure(session, shown, "no command: a line that begins with `$ `");
        return false;
    }
    keep(content, lines, 0, at);
    char *directory = scratch_make();
    bool right = true;
    while (right && at < lines.count) {
        struct step step = step_parse(lines, at);
        right = step_run(session, shown, lines, step, directory, content);
        at = step.end;
    }
    scratch_remove(directory);
    return right;
}

void transcript_run(struct session *session, const char *path)
{
    const char *shown = path_shown(session, path);
    struct bytes before = file_read(path);
    struct bytes after = {0};
    struct lines lines = lines_split(file_read(path));
    const char *missing = missing_program(session, lines);
    if (missing) {
        session->skipped++;
        printf("skip %s: needs %s\n", shown, missing);
        return;
    }
    if (!steps_run(session, shown, lines, &after))
        return;
    session->passed++;
    if (session->update && !bytes_equal(before, after)) {
        file_write(path, after);
        session->updated++;
        printf("updated %s\n", shown);
    }
}
