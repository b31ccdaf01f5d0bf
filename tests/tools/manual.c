/*
 * The examples of the manual: every fenced block of a Markdown file that is marked `op`.
 *
 *     ```op                         must pass `smelt check` and `smelt fmt --check`, and
 *     ...                           `smelt ref` when it has a case
 *     ```
 *     <!-- expect: TEXT -->         TEXT must be in what check or ref printed; may be repeated
 *
 *     ```op error=CODE              must fail in check (or else in ref) with [CODE]
 */
#include "runner.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct example {
    char where[PATH_MAX]; /* file:line of its fence */
    char error[64];       /* the code it must fail with; empty when it must pass */
    struct bytes text;
    bool has_case;
};

/* Copies the line at *rest without its newline and moves on; NULL at the end. */
static char *next_line(const char **rest)
{
    if (**rest == 0)
        return NULL;
    size_t length = strcspn(*rest, "\n");
    char *line = strndup(*rest, length);
    *rest += length + ((*rest)[length] == '\n');
    return line;
}

static bool is_case(const char *line)
{
    return strncmp(line + strspn(line, " \t"), "case ", 5) == 0;
}

/* Runs one command on the example and adds its output to `printed`. */
static struct outcome example_command(const struct session *session, const char *directory,
                                      const char *command, const char *option,
                                      struct bytes *printed)
{
    const char *arguments[] = {session->smelt, command, "example.op", option, NULL};
    struct outcome outcome = command_launch(session, directory, arguments);
    bytes_add(printed, outcome.output.data, outcome.output.length);
    return outcome;
}

static void example_fail(struct session *session, const struct example *example, const char *what,
                         struct bytes printed)
{
    const char *rest = printed.data;
    report_failure(session, example->where, what);
    for (char *line; (line = next_line(&rest));)
        printf("    %s\n", line);
}

/* Returns whether the example did what it says; `printed` is what check and ref printed. */
static bool example_passes(struct session *session, const struct example *example,
                           const char *directory, struct bytes *printed)
{
    char what[160];
    char code[80];
    struct outcome outcome = example_command(session, directory, "check", NULL, printed);
    bool checked = outcome.exit_code == 0;
    if (checked && example->has_case)
        outcome = example_command(session, directory, "ref", NULL, printed);
    const char *command = checked && example->has_case ? "ref" : "check";
    if (*example->error) {
        snprintf(code, sizeof code, "[%s]", example->error);
        if (outcome.exit_code == 1 && strstr(printed->data, code))
            return true;
        snprintf(what, sizeof what, "expected error %s, got exit %d from smelt %s", code,
                 outcome.exit_code, command);
        example_fail(session, example, what, *printed);
        return false;
    }
    if (outcome.timed_out || outcome.exit_code != 0) {
        snprintf(what, sizeof what, "smelt %s: %s", command, describe_exit(outcome, 0));
        example_fail(session, example, what, *printed);
        return false;
    }
    struct bytes difference = {0};
    outcome = example_command(session, directory, "fmt", "--check", &difference);
    if (outcome.exit_code != 0) {
        snprintf(what, sizeof what, "smelt fmt --check: %s", describe_exit(outcome, 0));
        example_fail(session, example, what, difference);
        return false;
    }
    return true;
}

/* Reads the block whose opening fence was just passed; returns its line count. */
static int example_read(struct example *example, const char **rest)
{
    int count = 0;
    bytes_add(&example->text, "", 0);
    for (char *line; (line = next_line(rest));) {
        count++;
        if (strncmp(line, "```", 3) == 0)
            break;
        example->has_case = example->has_case || is_case(line);
        bytes_add_text(&example->text, line);
        bytes_add_text(&example->text, "\n");
    }
    return count;
}

/* Judges the example, and the `expect` comments that follow it at `rest`. */
static void example_judge(struct session *session, struct example *example, const char *rest)
{
    static const char mark[] = "<!-- expect: ";
    char *directory = scratch_make();
    char path[PATH_MAX];
    struct bytes printed = {0};
    bool right;
    snprintf(path, sizeof path, "%s/example.op", directory);
    file_write(path, example->text);
    right = example_passes(session, example, directory, &printed);
    scratch_remove(directory);
    for (char *line; right && (line = next_line(&rest));) {
        if (*line == 0)
            continue;
        char *end = strstr(line, " -->");
        if (strncmp(line, mark, strlen(mark)) != 0 || !end)
            break;
        *end = 0;
        right = strstr(printed.data, line + strlen(mark)) != NULL;
        if (!right) {
            char what[400];
            snprintf(what, sizeof what, "not printed: %s", line + strlen(mark));
            example_fail(session, example, what, printed);
        }
    }
    session->passed += right;
}

void manual_run(struct session *session, const char *path)
{
    struct bytes content = file_read(path);
    const char *rest = content.data;
    int number = 0;
    for (char *line; (line = next_line(&rest));) {
        number++;
        if (strncmp(line, "```", 3) != 0)
            continue;
        struct example example = {0};
        snprintf(example.where, sizeof example.where, "%s:%d", path_shown(session, path), number);
        number += example_read(&example, &rest);
        char *word = strtok(line + 3, " ");
        bool is_op = word && strcmp(word, "op") == 0;
        while (is_op && (word = strtok(NULL, " ")))
            sscanf(word, "error=%63s", example.error);
        if (is_op)
            example_judge(session, &example, rest);
    }
}
