/*
 * Runs the registered tests: unit [-v] [-j N] [part of a name or file]. Names that begin with
 * "vectors_", "agreement_" or "agents_" run only when the argument begins so too: they take long
 * and are suites of their own.
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
    SECONDS_PER_TEST = 240, /* those that time kernels wait for others that do */
    OUTPUT_KEPT = 64 * 1024,
    TESTS_MAXIMUM = 4096,
    JOBS_MAXIMUM = 64,
    EXIT_FAILED = 1,
    EXIT_SKIPPED = 77,
};

enum result { RESULT_PASSED, RESULT_FAILED, RESULT_SKIPPED, RESULT_COUNT };

static struct test *registered;
const struct test *test_running;

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
    const struct test *test; /* NULL: free */
    size_t number;
    pid_t pid;
    int pipe;
    int status;
    double deadline;
    bool ended, drained, timed_out;
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
    child->test = test;
    child->length = 0;
    child->ended = child->drained = child->timed_out = false;
    child->deadline = now() + SECONDS_PER_TEST;
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
        test_running = test;
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

/* A grandchild that keeps the pipe open does not hold us up. */
static void child_look(struct child *child)
{
    if (!child->drained)
        child->drained = child_read(child);
    child->ended = waitpid(child->pid, &child->status, WNOHANG) == child->pid;
    if (!child->ended && !child->timed_out && now() > child->deadline) {
        child->timed_out = true;
        kill(-child->pid, SIGKILL);
    }
    if (!child->ended)
        return;
    child_read(child);
    close(child->pipe);
    kill(-child->pid, SIGKILL); /* whatever the test left running */
    child->output[child->length] = '\0';
}

/* Until one of them has something to say, or a short while. */
static void children_wait(struct child *children, size_t jobs)
{
    struct pollfd ready[JOBS_MAXIMUM];
    nfds_t count = 0;
    bool drained = false;
    for (size_t i = 0; i < jobs; i++) {
        drained |= children[i].test && children[i].drained;
        if (children[i].test && !children[i].drained)
            ready[count++] = (struct pollfd){.fd = children[i].pipe, .events = POLLIN};
    }
    poll(ready, count, drained ? 1 : 50);
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
    int files = strcmp(x->file, y->file), lines = x->line - y->line;
    return files ? files : lines ? lines : strcmp(x->name, y->name);
}

static bool is_wanted(const struct test *test, const char *filter)
{
    static const char *const suites[] = {"vectors", "agreement", "agents"};
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        if (strncmp(test->name, suites[i], strlen(suites[i])) == 0)
            return filter && strncmp(filter, suites[i], strlen(suites[i])) == 0 &&
                   strstr(test->name, filter);
    return !filter || strstr(test->name, filter) || strstr(test->file, filter);
}

/* The order of files and lines, whatever the linker made of it. */
static size_t collect(struct test **tests, const char *filter)
{
    size_t count = 0;
    for (struct test *test = registered; test; test = test->next) {
        if (!is_wanted(test, filter))
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

struct tally {
    bool verbose;
    size_t results[RESULT_COUNT];
    char *reasons[TESTS_MAXIMUM];
};

static void tell(struct tally *tally, struct child *child)
{
    enum result result = child_result(child);
    const char *name = child->test->name;
    if (result == RESULT_SKIPPED && asprintf(&tally->reasons[tally->results[result]],
                                             "# skipped %s: %s", name, skip_reason(child)) < 0)
        exit(2);
    tally->results[result]++;
    if (tally->verbose || result == RESULT_FAILED)
        printf("%s %zu - %s%s\n", result == RESULT_FAILED ? "not ok" : "ok", child->number, name,
               result == RESULT_SKIPPED ? " # SKIP" : "");
    if (result == RESULT_FAILED)
        print_failure(child);
}

static void run_tests(struct test **tests, size_t count, size_t jobs, struct tally *tally)
{
    static struct child children[JOBS_MAXIMUM];
    size_t started = 0, ended = 0;
    while (ended < count) {
        for (size_t i = 0; i < jobs && started < count; i++)
            if (!children[i].test) {
                children[i].number = started + 1;
                child_start(&children[i], tests[started++]);
            }
        children_wait(children, jobs);
        for (size_t i = 0; i < jobs; i++) {
            if (!children[i].test)
                continue;
            child_look(&children[i]);
            if (!children[i].ended)
                continue;
            tell(tally, &children[i]);
            children[i].test = NULL;
            ended++;
        }
    }
}

int main(int argc, char **argv)
{
    static struct test *tests[TESTS_MAXIMUM];
    static struct tally tally;
    long jobs = 1;
    int option;
    while ((option = getopt(argc, argv, "vj:")) != -1) {
        if (option == 'j')
            jobs = strtol(optarg, NULL, 10);
        tally.verbose |= option == 'v';
        if (option == '?' || jobs < 1 || jobs > JOBS_MAXIMUM) {
            fprintf(stderr, "usage: unit [-v] [-j N] [part of a name or file]\n");
            return 2;
        }
    }
    size_t count = collect(tests, argv[optind]);
    if (tally.verbose)
        printf("1..%zu\n", count);
    run_tests(tests, count, (size_t)jobs, &tally);
    for (size_t i = 0; i < tally.results[RESULT_SKIPPED]; i++) {
        puts(tally.reasons[i]);
        free(tally.reasons[i]);
    }
    printf("%zu passed, %zu failed", tally.results[RESULT_PASSED], tally.results[RESULT_FAILED]);
    if (tally.results[RESULT_SKIPPED])
        printf(", %zu skipped", tally.results[RESULT_SKIPPED]);
    putchar('\n');
    return tally.results[RESULT_FAILED] ? 1 : 0;
}
