/*
 * Golden files: input and expectation in one.
 *
 *     # command: check              arguments of smelt; `{}` stands for the input (else appended)
 *     op ...                        the input, written to input.op
 *     --- file other.op             optional: further files beside it
 *     ...
 *     --- expected exit 1           `exit N` may be left out when it is 0
 *     input.op:1:4: error: ...      stdout and stderr, exactly
 */
#include "runner.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char command_mark[] = "# command:";
static const char expected_mark[] = "--- expected";
static const char file_mark[] = "--- file ";
static const char no_newline[] = "\n\\ no newline at end of output\n";

struct golden {
    char *arguments;    /* of smelt, one line */
    struct bytes head;  /* everything before the expectation: kept by --update */
    struct bytes input; /* input.op and the further files, with their marks */
    struct bytes expected;
    int expected_exit;
    bool has_expectation;
};

/* The end of the line that starts at `line`: one past its newline. */
static const char *line_end(const char *line, const char *end)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    return newline ? newline + 1 : end;
}

static bool starts_with(const char *line, const char *end, const char *mark)
{
    size_t length = strlen(mark);
    return (size_t)(end - line) >= length && memcmp(line, mark, length) == 0;
}

static bool golden_parse(struct bytes content, struct golden *golden)
{
    const char *end = content.data + content.length;
    const char *body = line_end(content.data, end);
    if (!starts_with(content.data, end, command_mark))
        return false;
    size_t skip = strlen(command_mark);
    golden->arguments = strndup(content.data + skip, (size_t)(body - content.data) - skip);

    const char *line = body;
    while (line < end && !starts_with(line, end, expected_mark))
        line = line_end(line, end);
    bytes_add(&golden->head, content.data, (size_t)(line - content.data));
    bytes_add(&golden->input, body, (size_t)(line - body));
    golden->has_expectation = line < end;
    if (golden->has_expectation) {
        const char *expected = line_end(line, end);
        sscanf(line + strlen(expected_mark), " exit %d", &golden->expected_exit);
        bytes_add(&golden->expected, expected, (size_t)(end - expected));
    }
    return true;
}

/* Writes input.op, and what follows each `--- file NAME`, into the directory. */
static void golden_write_inputs(const struct golden *golden, const char *directory)
{
    const char *line = golden->input.data;
    const char *end = line + golden->input.length;
    char path[PATH_MAX];
    struct bytes content = {0};
    bytes_add(&content, "", 0);
    snprintf(path, sizeof path, "%s/input.op", directory);
    for (; line < end; line = line_end(line, end)) {
        if (!starts_with(line, end, file_mark)) {
            bytes_add(&content, line, (size_t)(line_end(line, end) - line));
            continue;
        }
        file_write(path, content);
        content.length = 0;
        char name[NAME_MAX + 1] = "";
        sscanf(line + strlen(file_mark), "%255[A-Za-z0-9_.-]", name);
        snprintf(path, sizeof path, "%s/%s", directory, name);
    }
    file_write(path, content);
}

/* How long something took differs from run to run: "in 2.1e-05 s" at the end of a line becomes
 * "in ... s". */
static struct bytes golden_hide_times(struct bytes output)
{
    struct bytes hidden = {0};
    bytes_add_text(&hidden, "");
    const char *line = output.data, *end = line + output.length;
    for (; line < end; line = line_end(line, end)) {
        const char *stop = line_end(line, end), *at = stop;
        if (stop - line > 3 && strncmp(stop - 3, " s\n", 3) == 0)
            for (at = stop - 3; at > line && strchr("0123456789.e+-", at[-1]); at--)
                ;
        bool is_time = at + 3 < stop && at - line > 4 && strncmp(at - 4, " in ", 4) == 0;
        bytes_add(&hidden, line, (size_t)((is_time ? at : stop) - line));
        bytes_add_text(&hidden, is_time ? "... s\n" : "");
    }
    return hidden;
}

static struct outcome golden_execute(const struct session *session, const struct golden *golden)
{
    const char *arguments[MAX_ARGUMENTS + 3] = {session->smelt};
    size_t count = 1;
    bool placed = false;
    char *rest = strdup(golden->arguments);
    for (char *word; count < MAX_ARGUMENTS && (word = strtok_r(rest, " \t\n", &rest));) {
        bool place = strcmp(word, "{}") == 0;
        arguments[count++] = place ? "input.op" : word;
        placed = placed || place;
    }
    if (!placed)
        arguments[count++] = "input.op";

    char *directory = scratch_make();
    golden_write_inputs(golden, directory);
    struct outcome outcome = command_launch(session, directory, arguments);
    outcome.output = golden_hide_times(outcome.output);
    scratch_remove(directory);
    if (outcome.output.length && outcome.output.data[outcome.output.length - 1] != '\n')
        bytes_add_text(&outcome.output, no_newline);
    return outcome;
}

static void golden_update(struct session *session, const struct golden *golden,
                          struct outcome outcome, const char *path)
{
    struct bytes content = {0};
    char code[32];
    bytes_add(&content, golden->head.data, golden->head.length);
    if (content.length && content.data[content.length - 1] != '\n')
        bytes_add_text(&content, "\n");
    bytes_add_text(&content, expected_mark);
    snprintf(code, sizeof code, " exit %d", outcome.exit_code);
    bytes_add_text(&content, outcome.exit_code ? code : "");
    bytes_add_text(&content, "\n");
    bytes_add(&content, outcome.output.data, outcome.output.length);
    file_write(path, content);
    session->updated++;
    printf("updated %s\n", path_shown(session, path));
}

void golden_run(struct session *session, const char *path)
{
    struct golden golden = {0};
    const char *shown = path_shown(session, path);
    if (!golden_parse(file_read(path), &golden)) {
        report_failure(session, shown, "the first line must be `# command: ...`");
        return;
    }
    struct outcome outcome = golden_execute(session, &golden);
    bool survived = !outcome.timed_out && outcome.exit_code < 99;
    bool right_exit = !outcome.timed_out && outcome.exit_code == golden.expected_exit;
    bool right_output = bytes_equal(outcome.output, golden.expected);
    if (golden.has_expectation && right_exit && right_output) {
        session->passed++;
    } else if (session->update && survived) { /* a crash is never what is expected */
        golden_update(session, &golden, outcome, path);
        session->passed++;
    } else {
        const char *what = !golden.has_expectation ? "no expectation yet: run with --update"
                           : !right_exit           ? describe_exit(outcome, golden.expected_exit)
                                                   : "output differs";
        report_failure(session, shown, what);
        report_difference(golden.expected, outcome.output);
    }
}
