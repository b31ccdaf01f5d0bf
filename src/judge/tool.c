/*
 * Running compilers and other tools on what a kernel's author wrote. They are not trusted with it:
 * a source can ask a compiler to read any file, to work for ever, to write gigabytes, and an object
 * can be made to break who reads it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge/private.h"
#include "os/os.h"

enum { OUTPUT_MOST = 16 << 10 };

/* Exit codes of the worker, above those of tools. */
enum { WORKER_LATE = 117, WORKER_SIGNALLED = 118, WORKER_FAILED = 119 };

static int run_in_worker(const struct sandbox_policy *policy, const struct sandbox_program *program)
{
    struct sandbox_process process;
    struct error ignored;
    if (!sandbox_start(policy, program, &process, &ignored))
        return WORKER_FAILED;
    close(program->output); /* or whoever reads it waits for us */
    double deadline = clock_seconds() + policy->seconds;
    int status = 0;
    pid_t ended = 0;
    for (useconds_t pause = 200; ended == 0; pause += pause < 5000 ? pause / 4 : 0) {
        ended = waitpid(process.pid, &status, WNOHANG);
        if (ended < 0 && errno == EINTR)
            ended = 0;
        if (ended == 0 && clock_seconds() > deadline)
            break;
        if (ended == 0)
            usleep(pause);
    }
    if (ended > 0) { /* its children, if any are left, are in its group */
        kill(-process.pid, SIGKILL);
        process.pid = 0;
    }
    bool whole = sandbox_is_whole(&process);
    sandbox_kill(&process);
    if (ended < 0 || !whole)
        return WORKER_FAILED;
    if (ended == 0)
        return WORKER_LATE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : WORKER_SIGNALLED;
}

/*
 * All of it is read, so that the tool does not wait for us, but only the beginning is kept. False
 * when it could not be read: a tool that nobody listens to ends in ways that are not its own.
 */
static bool read_all(int descriptor, char *text, size_t most, struct tool_run *run)
{
    char rest[4096];
    size_t length = 0;
    bool good = true;
    for (;;) {
        bool full = length == most;
        ssize_t got = full ? read(descriptor, rest, sizeof rest)
                           : read(descriptor, text + length, most - length);
        good = got >= 0 || errno == EINTR;
        if (got == 0 || !good)
            break;
        run->more |= full && got > 0;
        if (!full && got > 0)
            length += (size_t)got;
    }
    text[length] = 0;
    run->length = length;
    return good;
}

void tool_run(struct arena *arena, const char *const *arguments, const char *folder, int seconds,
              struct tool_run *run)
{
    tool_run_most(arena, arguments, folder, seconds, OUTPUT_MOST, run);
}

/* Runs it and listens. */
static void run_confined(struct arena *arena, const struct sandbox_policy *policy,
                         struct sandbox_program program, size_t most, struct tool_run *run)
{
    int ends[2], status = 0;
    char *output = arena_alloc(arena, most + 1); /* nothing is allocated once it runs */
    *run = (struct tool_run){.output = output};
    sandbox_available();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    program.output = ends[1];
    double start = clock_seconds();
    pid_t self = getpid(), worker = fork();
    if (worker == 0) {
        sandbox_follow(self);
        close(ends[0]);
        _exit(run_in_worker(policy, &program));
    }
    close(ends[1]);
    bool heard = worker > 0 && read_all(ends[0], output, most, run);
    close(ends[0]);
    while (worker > 0 && waitpid(worker, &status, 0) < 0 && errno == EINTR)
        ;
    run->seconds = clock_seconds() - start;
    int code = worker > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : WORKER_FAILED;
    run->started = code < WORKER_FAILED && heard;
    run->in_time = code != WORKER_LATE;
    run->status = code < WORKER_LATE ? code : -1;
}

void tool_run_most(struct arena *arena, const char *const *arguments, const char *folder,
                   int seconds, size_t most, struct tool_run *run)
{
    const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                       arena_printf(arena, "TMPDIR=%s", folder), "LC_ALL=C", NULL};
    const char *const readable[] = {
        "/usr",      "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives",
        "/dev/null", NULL};
    const char *const writable[] = {folder, "/dev/null", NULL};
    struct sandbox_policy policy = {.layers = ~0U,
                                    .readable = readable,
                                    .writable = writable,
                                    .calls = SANDBOX_CALLS_COMPILER,
                                    .memory = (int64_t)4 << 30,
                                    .file_bytes = 256 << 20,
                                    .seconds = seconds};
    struct sandbox_program program = {
        .arguments = arguments, .environment = environment, .directory = folder};
    run_confined(arena, &policy, program, most, run);
}

void tool_run_needing(struct arena *arena, const char *const *arguments, const char *folder,
                      int seconds, const struct tool_needs *needs, struct tool_run *run)
{
    struct sandbox_policy policy = {.layers = ~needs->without,
                                    .readable = needs->readable,
                                    .writable = needs->writable,
                                    .moves_files = true,
                                    .calls = SANDBOX_CALLS_DEVICE,
                                    .file_bytes = 256 << 20,
                                    .seconds = seconds};
    struct sandbox_program program = {
        .arguments = arguments, .environment = needs->environment, .directory = folder};
    run_confined(arena, &policy, program, OUTPUT_MOST, run);
}
