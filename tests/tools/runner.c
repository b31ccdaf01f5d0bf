/*
 * runner SUITE [--update] FILE|DIRECTORY...
 *
 * Reads the files of a suite (golden, cli, manual), judges each, and closes with the line
 * "N passed, N failed[, N skipped]". BUILD names the build directory, relative to the root.
 */
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void die(const char *what, const char *name)
{
    fprintf(stderr, "runner: %s: %s: %s\n", what, name, strerror(errno));
    exit(3);
}

void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory)
        die("could not allocate", "memory");
    return memory;
}

void bytes_add(struct bytes *bytes, const char *data, size_t length)
{
    bytes->data = realloc(bytes->data, bytes->length + length + 1);
    if (!bytes->data)
        die("could not allocate", "memory");
    if (length)
        memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
    bytes->data[bytes->length] = 0;
}

void bytes_add_text(struct bytes *bytes, const char *text)
{
    bytes_add(bytes, text, strlen(text));
}

bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

struct bytes bytes_replace(struct bytes bytes, const char *from, const char *to)
{
    struct bytes result = {0};
    size_t width = strlen(from);
    size_t start = 0;
    bytes_add(&result, "", 0);
    while (start < bytes.length) {
        char *found = memmem(bytes.data + start, bytes.length - start, from, width);
        size_t end = found ? (size_t)(found - bytes.data) : bytes.length;
        bytes_add(&result, bytes.data + start, end - start);
        if (!found)
            break;
        bytes_add_text(&result, to);
        start = end + width;
    }
    return result;
}

struct bytes file_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        die("could not read", path);
    struct bytes content = {0};
    char buffer[65536];
    size_t count;
    bytes_add(&content, "", 0);
    while ((count = fread(buffer, 1, sizeof buffer, file)) > 0)
        bytes_add(&content, buffer, count);
    if (ferror(file))
        die("could not read", path);
    fclose(file);
    return content;
}

void file_write(const char *path, struct bytes content)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(content.data, 1, content.length, file) != content.length || fclose(file))
        die("could not write", path);
}

char *scratch_make(void)
{
    const char *parent = getenv("TMPDIR");
    char *path = NULL;
    if (asprintf(&path, "%s/smelt-test-XXXXXX", parent && *parent ? parent : "/tmp") < 0 ||
        !mkdtemp(path))
        die("could not make", "a temporary directory");
    return path;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

void scratch_remove(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Reads until end of file or deadline; false on deadline or when too much was written. */
static bool drain(int source, struct bytes *output)
{
    double deadline = seconds_now() + TIMEOUT_SECONDS;
    char buffer[65536];
    for (;;) {
        double left = deadline - seconds_now();
        struct pollfd waiting = {.fd = source, .events = POLLIN};
        if (left <= 0 || output->length > MAX_OUTPUT)
            return false;
        if (poll(&waiting, 1, (int)(left * 1000) + 1) <= 0)
            continue;
        ssize_t count = read(source, buffer, sizeof buffer);
        if (count == 0)
            return true;
        if (count < 0 && errno != EINTR)
            die("could not read", "output of a command");
        if (count > 0)
            bytes_add(output, buffer, (size_t)count);
    }
}

/* In the child: fixed surroundings, so that no setting of the user changes an expectation. */
_Noreturn static void become(const struct session *session, const char *directory, int output,
                             const char *const *arguments)
{
    char search[PATH_MAX * 2];
    char build[PATH_MAX];
    snprintf(build, sizeof build, "%s", session->smelt);
    *strrchr(build, '/') = 0;
    snprintf(search, sizeof search, "%s:%s", build, getenv("PATH"));
    setpgid(0, 0);
    setenv("PATH", search, 1);
    setenv("SMELT_ROOT", session->root, 1);
    setenv("HOME", directory, 1);
    setenv("XDG_CACHE_HOME", strcat(build, "/tests/cache"), 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("TERM", "dumb", 1);
    setenv("COLUMNS", "100", 1);
    unsetenv("MAKEFLAGS");
    unsetenv("MAKELEVEL");
    int nothing = open("/dev/null", O_RDONLY);
    if (chdir(directory) || dup2(nothing, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
        _exit(126);
    execvp(arguments[0], (char *const *)(size_t)arguments);
    dprintf(2, "could not run %s: %s\n", arguments[0], strerror(errno));
    _exit(127);
}

struct outcome command_launch(const struct session *session, const char *directory,
                              const char *const *arguments)
{
    struct outcome outcome = {0};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        die("could not make", "a pipe");
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        die("could not start", arguments[0]);
    if (child == 0)
        become(session, directory, ends[1], arguments);
    close(ends[1]);
    setpgid(child, child);
    bytes_add(&outcome.output, "", 0);
    outcome.timed_out = !drain(ends[0], &outcome.output);
    if (outcome.timed_out)
        kill(-child, SIGKILL);
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
}

const char *path_shown(const struct session *session, const char *path)
{
    size_t length = strlen(session->root);
    bool below = strncmp(path, session->root, length) == 0 && path[length] == '/';
    return below ? path + length + 1 : path;
}

void report_failure(struct session *session, const char *where, const char *what)
{
    session->failed++;
    printf("FAIL %s: %s\n", where, what);
}

void report_difference(struct bytes expected, struct bytes actual)
{
    char *directory = scratch_make();
    char *command = NULL;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/expected", directory);
    file_write(path, expected);
    snprintf(path, sizeof path, "%s/actual", directory);
    file_write(path, actual);
    fflush(stdout);
    if (asprintf(&command,
                 "cd '%s' && diff -a -u --label expected --label actual expected actual |"
                 " sed -n '1,80s/^/    /p'",
                 directory) < 0 ||
        system(command) < 0)
        die("could not run", "diff");
    scratch_remove(directory);
}

const char *describe_exit(struct outcome outcome, int expected)
{
    static char text[120];
    if (outcome.timed_out && outcome.output.length > MAX_OUTPUT)
        snprintf(text, sizeof text, "wrote more than %d bytes", MAX_OUTPUT);
    else if (outcome.timed_out)
        snprintf(text, sizeof text, "did not end within %d s", TIMEOUT_SECONDS);
    else if (outcome.exit_code > 128)
        snprintf(text, sizeof text, "killed by signal %d (%s), expected exit %d",
                 outcome.exit_code - 128, strsignal(outcome.exit_code - 128), expected);
    else
        snprintf(text, sizeof text, "exit %d, expected %d", outcome.exit_code, expected);
    return text;
}

/* ------------------------------------------------------------------------- finding files */

static struct {
    const char *suffix;
    char **paths;
    size_t count;
} found;

static void found_add(const char *path)
{
    found.paths = realloc(found.paths, (found.count + 1) * sizeof *found.paths);
    if (!found.paths || !(found.paths[found.count++] = strdup(path)))
        die("could not allocate", "memory");
}

static int find_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)walk;
    const char *dot = strrchr(path, '.');
    if (kind == FTW_F && dot && strcmp(dot, found.suffix) == 0)
        found_add(path);
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static const struct suite {
    const char *name, *suffix;
    void (*run)(struct session *session, const char *path);
} suites[] = {
    {"golden", ".golden", golden_run},
    {"cli", ".cli", transcript_run},
    {"manual", ".md", manual_run},
};

static const struct suite *suite_find(const char *name)
{
    for (size_t i = 0; name && i < sizeof suites / sizeof *suites; i++)
        if (strcmp(suites[i].name, name) == 0)
            return &suites[i];
    fprintf(stderr, "usage: runner golden|cli|manual [--update] FILE|DIRECTORY...\n");
    exit(2);
}

int main(int argc, char **argv)
{
    const struct suite *suite = suite_find(argc > 1 ? argv[1] : NULL);
    const char *build = getenv("BUILD");
    const char *root = getenv("SMELT_ROOT");
    char where[PATH_MAX], smelt[PATH_MAX];
    if (!(root = realpath(root ? root : ".", where)))
        die("could not find", "the repository root");
    build = build && *build ? build : "build";
    snprintf(smelt, sizeof smelt, "%s%s%s/smelt", *build == '/' ? "" : root,
             *build == '/' ? "" : "/", build);
    struct session session = {.root = root, .smelt = smelt};

    found.suffix = suite->suffix;
    for (int i = 2; i < argc; i++) {
        char path[PATH_MAX];
        struct stat status;
        if (strcmp(argv[i], "--update") == 0)
            session.update = true;
        else if (!realpath(argv[i], path) || stat(path, &status))
            die("could not find", argv[i]);
        else if (S_ISDIR(status.st_mode))
            nftw(path, find_entry, 16, FTW_PHYS);
        else
            found_add(path);
    }
    if (access(smelt, X_OK))
        die("could not find the binary to test", smelt);
    if (found.count > 0)
        qsort(found.paths, found.count, sizeof *found.paths, compare_paths);
    for (size_t i = 0; i < found.count; i++)
        suite->run(&session, found.paths[i]);

    if (session.updated)
        printf("%d updated: read the difference before you commit it\n", session.updated);
    printf("%d passed, %d failed", session.passed, session.failed);
    if (session.skipped)
        printf(", %d skipped", session.skipped);
    printf("\n");
    return session.failed > 0;
}
