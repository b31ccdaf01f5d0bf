/*
 * Runs the registered tests: unit [-v] [part of a name or file].
 *
 * Every test gets a child process whose output comes back through a pipe and is shown, as comment
 * lines, only when the test fails. The harness uses nothing of smelt, so that it still works when
 * smelt does not.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SECONDS_PER_TEST = 60,
    OUTPUT_KEPT = 64 * 1024,
    TESTS_MAXIMUM = 4096,
    EXIT_FAILED = 1,
    EXIT_SKIPPED = 77,
};

enum result { RESULT_PASSED, RESULT_FAILED, RESULT_SKIPPED, RESULT_COUNT };

static struct test *registered;

void test_register(struct test *test)
{
    test->next = registered;
    registered = test;
}

/* ------------------------------------------------------------------------- inside the child */

/* _exit: what a failed test left allocated is not worth a report of its own. */
static _Noreturn void child_end(int code)
{
    fflush(NULL);
    _exit(code);
}

_Noreturn void test_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%s:%d: ", file, line);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    child_end(EXIT_FAILED);
}

_Noreturn void test_skip(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    child_end(EXIT_SKIPPED);
}

void test_check(const char *file, int line, const char *condition, bool holds)
{
    if (!holds)
        test_fail(file, line, "does not hold: %s", condition);
}

void test_check_int(const char *file, int line, const char *what, long long a, long long b)
{
    if (a != b)
        test_fail(file, line, "%s: found %lld, expected %lld", what, a, b);
}

void test_check_string(const char *file, int line, const char *what, const char *a, const char *b)
{
    if (a == b || (a && b && strcmp(a, b) == 0))
        return;
    test_fail(file, line, "%s:\n--- found\n%s\n--- expected\n%s\n---", what, a ? a : "(null)",
              b ? b : "(null)");
}

void test_check_double(const char *file, int line, const char *what, double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b)))
        return;
    test_fail(file, line, "%s: found %.17g, expected %.17g", what, a, b);
}

/* ---------------------------------------------------------------------------- in the parent */

struct child {
    pid_t pid;
    int pipe;
    int status;
    bool ended, timed_out;
    char output[OUTPUT_KEPT + 1];
    size_t length;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void child_start(struct child *child, const struct test *test)
{
    int ends[2];
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        perror("pipe2");
        exit(2);
    }
    child->length = 0;
    child->ended = child->timed_out = false;
    child->pid = fork();
    if (child->pid < 0) {
        perror("fork");
        exit(2);
    }
    if (child->pid == 0) {
        /* A group of its own: what the test starts can be ended with it. */
        setpgid(0, 0);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        test->run();
        /* exit and not _exit: this is when the leak checker looks. */
        exit(0);
    }
    setpgid(child->pid, child->pid);
    close(ends[1]);
    child->pipe = ends[0];
    fcntl(child->pipe, F_SETFL, O_NONBLOCK);
}

/* True at the end of the output. What is too much is read and forgotten. */
static bool child_read(struct child *child)
{
    char piece[4096];
    ssize_t got;
    while ((got = read(child->pipe, piece, sizeof piece)) > 0) {
        size_t room = OUTPUT_KEPT - child->length;
        size_t kept = (size_t)got < room ? (size_t)got : room;
        memcpy(child->output + child->length, piece, kept);
        child->length += kept;
    }
    return got == 0 || (errno != EAGAIN && errno != EINTR);
}

/* Until the child has ended; a grandchild that keeps the pipe open does not hold us up. */
static void child_wait(struct child *child)
{
    double deadline = now() + SECONDS_PER_TEST;
    bool drained = false;
    while (!child->ended) {
        struct pollfd ready = {.fd = child->pipe, .events = POLLIN};
        if (!drained) {
            poll(&ready, 1, 50);
            drained = child_read(child);
        } else {
            usleep(500);
        }
        child->ended = waitpid(child->pid, &child->status, WNOHANG) == child->pid;
        if (!child->ended && !child->timed_out && now() > deadline) {
            child->timed_out = true;
            kill(-child->pid, SIGKILL);
        }
    }
    child_read(child);
    close(child->pipe);
    kill(-child->pid, SIGKILL); /* whatever the test left running */
    child->output[child->length] = '\0';
}

static enum result child_result(const struct child *child)
{
    if (child->timed_out || !WIFEXITED(child->status))
        return RESULT_FAILED;
    int code = WEXITSTATUS(child->status);
    return code == 0 ? RESULT_PASSED : code == EXIT_SKIPPED ? RESULT_SKIPPED : RESULT_FAILED;
}

/* Failure in words, then what the test said, as TAP comments. */
static void print_failure(const struct child *child)
{
    if (child->timed_out)
        printf("# ended after %d seconds\n", SECONDS_PER_TEST);
    else if (WIFSIGNALED(child->status))
        printf("# crashed: %s\n", strsignal(WTERMSIG(child->status)));
    else if (WEXITSTATUS(child->status) != EXIT_FAILED)
        printf("# exit status %d\n", WEXITSTATUS(child->status));
    for (const char *line = child->output; *line;) {
        size_t length = strcspn(line, "\n");
        printf("# %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* The last line a skipped test printed. */
static const char *skip_reason(struct child *child)
{
    while (child->length && child->output[child->length - 1] == '\n')
        child->output[--child->length] = '\0';
    const char *newline = strrchr(child->output, '\n');
    return newline ? newline + 1 : child->output;
}

static int compare_tests(const void *a, const void *b)
{
    const struct test *x = *(struct test *const *)a, *y = *(struct test *const *)b;
    int files = strcmp(x->file, y->file);
    return files ? files : x->line - y->line;
}

/* The order of files and lines, whatever the linker made of it. */
static size_t collect(struct test **tests, const char *filter)
{
    size_t count = 0;
    for (struct test *test = registered; test; test = test->next) {
        if (filter && !strstr(test->name, filter) && !strstr(test->file, filter))
            continue;
        if (count == TESTS_MAXIMUM) {
            fprintf(stderr, "unit: more than %d tests\n", TESTS_MAXIMUM);
            exit(2);
        }
        tests[count++] = test;
    }
    qsort(tests, count, sizeof tests[0], compare_tests);
    return count;
}

int main(int argc, char **argv)
{
    static struct test *tests[TESTS_MAXIMUM];
    static struct child child;
    static char *reasons[TESTS_MAXIMUM];
    bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    size_t count = collect(tests, argc > 1 + verbose ? argv[1 + verbose] : NULL);
    size_t results[RESULT_COUNT] = {0};

    if (verbose)
        printf("1..%zu\n", count);
    for (size_t i = 0; i < count; i++) {
        child_start(&child, tests[i]);
        child_wait(&child);
        enum result result = child_result(&child);
        if (result == RESULT_SKIPPED && asprintf(&reasons[results[result]], "# skipped %s: %s",
                                                 tests[i]->name, skip_reason(&child)) < 0)
            return 2;
        results[result]++;
        if (verbose || result == RESULT_FAILED)
            printf("%s %zu - %s%s\n", result == RESULT_FAILED ? "not ok" : "ok", i + 1,
                   tests[i]->name, result == RESULT_SKIPPED ? " # SKIP" : "");
        if (result == RESULT_FAILED)
            print_failure(&child);
    }
    for (size_t i = 0; i < results[RESULT_SKIPPED]; i++) {
        puts(reasons[i]);
        free(reasons[i]);
    }
    printf("%zu passed, %zu failed", results[RESULT_PASSED], results[RESULT_FAILED]);
    if (results[RESULT_SKIPPED])
        printf(", %zu skipped", results[RESULT_SKIPPED]);
    putchar('\n');
    return results[RESULT_FAILED] ? 1 : 0;
}
