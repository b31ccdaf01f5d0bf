/*
 * Spawning by fork and exec, with one pipe for both output streams and one that carries errno when
 * exec fails. The child leads its own process group, so that a time-out ends its children too.
 *
 * Nothing is allocated between fork and the last wait: running out of memory unwinds
 * (base/memory.h) and would leave a child behind.
 */
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"

enum { WAKE_MILLISECONDS = 20 }; /* how often a silent child is asked whether it has ended */

struct pipes {
    int output[2];
    int failure[2];
};

static void pipes_close(struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        if (pipes->output[i] >= 0)
            close(pipes->output[i]);
        if (pipes->failure[i] >= 0)
            close(pipes->failure[i]);
    }
}

static bool pipes_open(struct pipes *pipes)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}};
    if (pipe2(pipes->output, O_CLOEXEC) == 0 && pipe2(pipes->failure, O_CLOEXEC) == 0)
        return true;
    pipes_close(pipes);
    return false;
}

/* In the child: only calls that are safe after fork. */
static _Noreturn void child_exec(const struct process_request *request, const char *path,
                                 const struct pipes *pipes)
{
    setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(pipes->output[1], 1) >= 0 &&
        dup2(pipes->output[1], 2) >= 0 && (!request->directory || chdir(request->directory) == 0)) {
        char *const *arguments = (char *const *)request->arguments;
        if (request->environment)
            execve(path, arguments, (char *const *)request->environment);
        else
            execv(path, arguments);
    }
    int reason = errno;
    ssize_t written = write(pipes->failure[1], &reason, sizeof reason);
    _exit(written == sizeof reason ? 127 : 126);
}

/* Keeps what fits and counts the rest as dropped. False at the end of the output. */
static bool output_read(int from, struct process_result *result, size_t maximum)
{
    char chunk[4096];
    ssize_t got = read(from, chunk, sizeof chunk);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN;
    if (got == 0)
        return false;
    size_t room = maximum - result->length;
    size_t kept = (size_t)got < room ? (size_t)got : room;
    memcpy(result->output + result->length, chunk, kept);
    result->length += kept;
    if (kept < (size_t)got)
        result->truncated = true;
    return true;
}

/* It stays a zombie, so that its number, and that of its group, cannot become somebody else's yet.
 */
static bool child_ended(pid_t child)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return errno == ECHILD; /* somebody else has reaped it */
    return info.si_pid == child;
}

static int child_reap(pid_t child)
{
    int status = 0;
    pid_t got;
    do
        got = waitpid(child, &status, 0);
    while (got < 0 && errno == EINTR);
    return got == child ? status : SIGKILL; /* how it ended is not known: not well, then */
}

/* Takes what is already in the pipe: a grandchild may hold it open, so the end is not waited for.
 */
static void output_drain(int from, struct process_result *result, size_t maximum)
{
    struct pollfd ready = {.fd = from, .events = POLLIN};
    int failures = 0; /* a signal, or a moment without memory */
    for (int more = 1; more && failures < 3;) {
        more = poll(&ready, 1, 0);
        failures += more < 0;
        if (more > 0)
            more = output_read(from, result, maximum);
    }
}

/* Collects output until the child ends or the time is over; the wait status of the child. */
static int child_watch(pid_t child, int from, const struct process_request *request, double start,
                       struct process_result *result, size_t maximum)
{
    bool open = true, killed = false;
    while (!child_ended(child)) {
        if (!killed && request->timeout > 0 && clock_seconds() - start >= request->timeout) {
            result->end = PROCESS_TIMED_OUT;
            kill(-child, SIGKILL);
            kill(child, SIGKILL); /* it may not lead its group yet */
            killed = true;
        }
        struct pollfd ready = {.fd = open ? from : -1, .events = POLLIN};
        int wait = open ? WAKE_MILLISECONDS : 1;
        if (poll(&ready, 1, wait) > 0 && ready.revents)
            open = output_read(from, result, maximum);
    }
    if (open)
        output_drain(from, result, maximum);
    kill(-child, SIGKILL); /* whatever it left running behind it */
    return child_reap(child);
}

static bool start_failed(const char *program, int reason, struct error *error)
{
    errno = reason;
    return error_system(error, reason == ENOENT ? ERROR_MISSING_TOOL : ERROR_TOOL_FAILED,
                        "could not start %s", program);
}

bool process_run(struct arena *arena, const struct process_request *request,
                 struct process_result *result, struct error *error)
{
    const char *program = request->arguments[0];
    size_t maximum = request->output_maximum ? request->output_maximum : PROCESS_OUTPUT_MAXIMUM;
    *result = (struct process_result){.output = arena_alloc(arena, maximum + 1)};
    const char *path = process_find(arena, program);
    if (!path)
        return error_set(error, ERROR_MISSING_TOOL, "could not find the program %s", program);
    struct pipes pipes;
    if (!pipes_open(&pipes))
        return start_failed(program, errno, error);
    double start = clock_seconds();
    pid_t child = fork();
    if (child == 0)
        child_exec(request, path, &pipes);
    if (child < 0) {
        int reason = errno;
        pipes_close(&pipes);
        return start_failed(program, reason, error);
    }
    setpgid(child, child); /* both sides do it: whoever comes first */
    close(pipes.output[1]);
    close(pipes.failure[1]);
    pipes.output[1] = pipes.failure[1] = -1;
    int reason = 0;
    ssize_t got;
    do /* ends without data as soon as exec succeeded */
        got = read(pipes.failure[0], &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    int status = child_watch(child, pipes.output[0], request, start, result, maximum);
    pipes_close(&pipes);
    if (got == sizeof reason)
        return start_failed(program, reason, error);
    result->seconds = clock_seconds() - start;
    result->output[result->length] = '\0';
    if (result->end == PROCESS_TIMED_OUT)
        return true;
    result->end = WIFSIGNALED(status) ? PROCESS_SIGNALLED : PROCESS_EXITED;
    result->status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

bool process_succeeded(const struct process_result *result)
{
    return result->end == PROCESS_EXITED && result->status == 0;
}

static bool may_run(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

char *process_find(struct arena *arena, const char *name)
{
    if (!*name)
        return NULL;
    if (strchr(name, '/'))
        return may_run(name) ? arena_string(arena, name) : NULL;
    const char *rest = getenv("PATH");
    if (!rest)
        rest = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t length = strcspn(rest, ":");
        const char *directory = length ? arena_copy(arena, rest, length) : ".";
        char *path = arena_printf(arena, "%s/%s", directory, name);
        if (may_run(path))
            return path;
        if (!rest[length])
            return NULL;
        rest += length + 1;
    }
}

char *process_own_path(struct arena *arena)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0 || (size_t)length == sizeof path)
        return NULL;
    return arena_copy(arena, path, (size_t)length);
}
