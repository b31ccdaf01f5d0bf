/*
 * A program that stays. There is one at a time: PyTorch takes seconds to start, and what it has
 * compiled for a case is wanted again in the next round.
 */
#include "judge/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"

enum { KEPT_BYTES = 8192 };

static struct server {
    pid_t process; /* 0: none */
    int to, from;
    char command[KEPT_BYTES]; /* what it was started as */
    char tail[SERVER_LINE];   /* its last line, for when it ends */
} server;

static void stop(void)
{
    if (server.process <= 0)
        return;
    close(server.to);
    close(server.from);
    kill(server.process, SIGKILL);
    while (waitpid(server.process, NULL, 0) < 0 && errno == EINTR)
        ;
    server.process = 0;
}

static void print_command(const char *const *arguments, char *out, size_t size)
{
    size_t length = 0;
    out[0] = 0;
    for (; *arguments && length < size; arguments++)
        length += (size_t)snprintf(out + length, size - length, "%s ", *arguments);
}

static bool start(const char *const *arguments, const char *const *environment, struct error *error)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    posix_spawn_file_actions_t actions;
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        return error_system(error, ERROR_TOOL_FAILED, "no pipe to a program");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    posix_spawn_file_actions_adddup2(&actions, from[1], 2);
    int status = posix_spawnp(&server.process, arguments[0], &actions, NULL,
                              (char *const *)arguments, (char *const *)environment);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    server.to = to[1];
    server.from = from[0];
    print_command(arguments, server.command, sizeof server.command);
    static bool registered;
    if (!registered)
        atexit(stop); /* it also ends when its input does */
    registered = true;
    if (status == 0)
        return true;
    close(server.to);
    close(server.from);
    server.process = 0;
    errno = status;
    return error_system(error, ERROR_MISSING_TOOL, "'%s' could not be started", arguments[0]);
}

static bool put(const char *text)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    bool changed = sigaction(SIGPIPE, &ignore, &before) == 0, good = true;
    size_t left = strlen(text);
    while (good && left > 0) {
        ssize_t written = write(server.to, text, left);
        good = written > 0 || (written < 0 && errno == EINTR);
        if (written > 0) {
            text += written;
            left -= (size_t)written;
        }
    }
    if (changed)
        sigaction(SIGPIPE, &before, NULL);
    return good;
}

/* The next line, cut where it is too long. 1: a line, 0: it ended, -1: no time is left. */
static int get_line(double deadline, char line[SERVER_LINE])
{
    size_t length = 0;
    for (char byte = 0;;) {
        double left = deadline - clock_seconds();
        struct pollfd waiting = {.fd = server.from, .events = POLLIN};
        int ready = left <= 0 ? 0 : poll(&waiting, 1, left > 1 ? 1000 : (int)(left * 1000) + 1);
        if (ready == 0 && clock_seconds() >= deadline)
            return -1;
        if (ready <= 0)
            continue;
        ssize_t got = read(server.from, &byte, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 0;
        if (byte == '\n')
            break;
        if (length + 1 < SERVER_LINE)
            line[length++] = byte;
    }
    line[length] = 0;
    return 1;
}

/* The program with these arguments is there. */
static bool be_ready(const char *const *arguments, const char *const *environment,
                     struct error *error)
{
    char command[KEPT_BYTES];
    print_command(arguments, command, sizeof command);
    if (server.process > 0 && strcmp(command, server.command) != 0)
        stop();
    return server.process > 0 || start(arguments, environment, error);
}

void server_tell(const char *const *arguments, const char *const *environment, const char *words)
{
    struct error ignored = {0};
    if (be_ready(arguments, environment, &ignored) && !(put(words) && put("\n")))
        stop();
}

bool server_ask(const char *const *arguments, const char *const *environment, const char *question,
                double seconds, char answer[SERVER_LINE], struct error *error)
{
    static const char own[] = "smelt: ";
    if (!be_ready(arguments, environment, error))
        return false;
    double deadline = clock_seconds() + seconds;
    int found = put(question) && put("\n") ? 1 : 0;
    server.tail[0] = 0;
    while (found == 1 && (found = get_line(deadline, answer)) == 1) {
        if (strncmp(answer, own, sizeof own - 1) == 0) {
            memmove(answer, answer + sizeof own - 1, strlen(answer) - sizeof own + 2);
            return true;
        }
        if (answer[0])
            snprintf(server.tail, sizeof server.tail, "%s", answer);
    }
    stop();
    if (found < 0)
        return error_set(error, ERROR_TOOL_FAILED, "it did not answer within %.0f seconds",
                         seconds);
    return error_set(error, ERROR_TOOL_FAILED, "it ended: %.300s", server.tail);
}
