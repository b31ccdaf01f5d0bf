/*
 * A call: smelt in a process of its own. Its standard input is a file without a name, its output,
 * complaints and events come through pipes that the server reads when there is something in them.
 *
 * It leads a process group of its own and is told when the server dies, whatever kills it. To end
 * it, it is interrupted, as by Ctrl-C: a search then ends cleanly; whoever does not is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcp/private.h"
#include "os/clock.h"

enum {
    EVENTS = 3, /* the number of the child's descriptor for events */
    COMPLAINTS = 64 << 10,
    EVENT_BYTES = 64 << 10, /* one line */
};

static const double grace = 5;   /* seconds from being asked to being killed */
static const double pulse = 1;   /* progress is reported at least so often */
static const double breath = .1; /* and at most */

struct mcp_call *mcp_call_new(struct mcp_server *server)
{
    for (int i = 0; i < MCP_CALLS; i++)
        if (server->calls[i].pid == 0) {
            arena_release(&server->calls[i].arena);
            server->calls[i] =
                (struct mcp_call){.output = -1, .errors = -1, .events = -1, .after = ""};
            return &server->calls[i];
        }
    return NULL;
}

/* ---- starting ---- */

struct ends { /* of the child */
    int input, output, errors, events;
};

static void close_all(const int *descriptors, int count)
{
    for (int i = 0; i < count; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
}

/* A file without a name that holds the text. */
static int open_input(const char *text)
{
    int file = memfd_create("smelt-input", MFD_CLOEXEC);
    size_t length = text ? strlen(text) : 0;
    for (size_t done = 0; file >= 0 && done < length;) {
        ssize_t wrote = write(file, text + done, length - done);
        if (wrote <= 0) {
            close(file);
            return -1;
        }
        done += (size_t)wrote;
    }
    if (file >= 0)
        lseek(file, 0, SEEK_SET);
    return file;
}

static bool open_ends(struct mcp_call *call, const char *input, struct ends *ends)
{
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    ends->input = open_input(input);
    bool fine = ends->input >= 0;
    for (int i = 0; i < 3; i++)
        fine =
            fine && pipe2(pipes[i], O_CLOEXEC) == 0 && fcntl(pipes[i][0], F_SETFL, O_NONBLOCK) == 0;
    if (!fine) {
        close_all(&pipes[0][0], 6);
        close_all(&ends->input, 1);
        return false;
    }
    call->output = pipes[0][0], call->errors = pipes[1][0], call->events = pipes[2][0];
    ends->output = pipes[0][1], ends->errors = pipes[1][1], ends->events = pipes[2][1];
    return true;
}

/* In the child: only calls that are safe after fork. */
static _Noreturn void child_exec(const char *program, char **words, const struct ends *ends,
                                 pid_t server)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGINT);
    /* Away from the numbers they are to be given, so that none is closed by another's. */
    int input = fcntl(ends->input, F_DUPFD_CLOEXEC, 10);
    int output = fcntl(ends->output, F_DUPFD_CLOEXEC, 10);
    int errors = fcntl(ends->errors, F_DUPFD_CLOEXEC, 10);
    int events = fcntl(ends->events, F_DUPFD_CLOEXEC, 10);
    if (getppid() == server && dup2(input, 0) >= 0 && dup2(output, 1) >= 0 &&
        dup2(errors, 2) >= 0 && dup2(events, EVENTS) >= 0)
        execv(program, words);
    _exit(127);
}

static char **full_words(struct mcp_call *call, const struct mcp_options *options,
                         const struct mcp_words *words)
{
    struct list VECTOR(char *) list = {0};
    vector_push(&call->arena, &list, arena_string(&call->arena, options->program));
    vector_push(&call->arena, &list, arena_string(&call->arena, words->list.at[0]));
    vector_push(&call->arena, &list, arena_printf(&call->arena, "--events=/dev/fd/%d", EVENTS));
    for (size_t i = 1; i + 1 < words->list.count; i++)
        vector_push(&call->arena, &list, arena_string(&call->arena, words->list.at[i]));
    vector_push(&call->arena, &list, NULL);
    return list.at;
}

bool mcp_call_start(struct mcp_server *server, struct mcp_call *call, const struct mcp_words *words,
                    struct error *error)
{
    struct ends ends;
    char **list = full_words(call, server->options, words);
    pid_t self = getpid();
    if (!open_ends(call, words->input, &ends))
        return error_system(error, ERROR_TOOL_FAILED, "could not make pipes");
    pid_t pid = fork();
    if (pid == 0)
        child_exec(server->options->program, list, &ends, self);
    close_all((int[]){ends.input, ends.output, ends.errors, ends.events}, 4);
    if (pid < 0) {
        close_all((int[]){call->output, call->errors, call->events}, 3);
        call->output = call->errors = call->events = -1;
        return error_system(error, ERROR_TOOL_FAILED, "could not start smelt");
    }
    setpgid(pid, pid);
    call->pid = pid;
    call->started = call->told = clock_seconds();
    return true;
}

/* ---- ending ---- */

void mcp_call_stop(struct mcp_call *call, double now)
{
    if (call->stop > 0)
        return;
    call->stop = now;
    kill(-call->pid, SIGINT);
}

static void finish(struct mcp_call *call, int status)
{
    struct arena arena = {0};
    struct text out = text_new(&arena);
    if (call->channel && !call->cancelled) {
        mcp_answer_call(&arena, call, status, &out);
        mcp_buffer_add(&call->channel->out, out.at, out.length);
    }
    if (call->channel)
        call->channel->pending--;
    arena_release(&arena);
    arena_release(&call->arena);
    mcp_buffer_release(&call->said);
    mcp_buffer_release(&call->complained);
    mcp_buffer_release(&call->happened);
    call->pid = 0;
}

/* ---- while it runs ---- */

/* Events that say something about progress have a "doing". */
static void take_events(struct mcp_call *call)
{
    struct mcp_buffer *happened = &call->happened;
    for (char *end; happened->length && (end = memchr(happened->at, '\n', happened->length));) {
        struct arena arena = {0};
        size_t length = (size_t)(end - happened->at);
        const char *doing = json_text(json_read(&arena, happened->at, length), "doing");
        if (*doing) {
            strncpy(call->doing, doing, sizeof call->doing - 1);
            call->changed = true;
        }
        arena_release(&arena);
        mcp_buffer_drop(happened, length + 1);
    }
    if (happened->length >= EVENT_BYTES)
        mcp_buffer_drop(happened, happened->length);
}

static void tell_progress(struct mcp_call *call, double now)
{
    struct arena arena = {0};
    struct text out = text_new(&arena);
    double since = now - call->told;
    if (!call->token || !call->channel || call->cancelled ||
        since < (call->changed ? breath : pulse))
        return;
    mcp_notify_progress(&out, call->token, (double)(int64_t)((now - call->started) * 1000) / 1000,
                        call->doing);
    mcp_buffer_add(&call->channel->out, out.at, out.length);
    call->told = now;
    call->changed = false;
    arena_release(&arena);
}

/* All there is; what comes above the maximum is dropped. True: the end was reached before. */
static bool drain(int *from, struct mcp_buffer *into, size_t most, bool *excess)
{
    while (*from >= 0) {
        if (into->length >= most) {
            into->length = 0;
            *excess = true;
        }
        ssize_t got = mcp_buffer_read(into, *from, most);
        if (got < 0)
            return false;
        if (got == 0) {
            close(*from);
            *from = -1;
        }
    }
    return true;
}

bool mcp_call_serve(struct mcp_call *call, double now)
{
    bool ignored = false;
    int status = 0;
    drain(&call->output, &call->said, MCP_RESULT_BYTES, &call->excess);
    drain(&call->errors, &call->complained, COMPLAINTS, &ignored);
    drain(&call->events, &call->happened, EVENT_BYTES, &ignored);
    take_events(call);
    if (call->excess || now - call->started > MCP_CALL_SECONDS)
        mcp_call_stop(call, now);
    if (call->stop > 0 && now - call->stop > grace)
        kill(-call->pid, SIGKILL);
    if (waitpid(call->pid, &status, WNOHANG) == call->pid) {
        kill(-call->pid, SIGKILL); /* whom it left behind */
        drain(&call->output, &call->said, MCP_RESULT_BYTES, &call->excess);
        drain(&call->errors, &call->complained, COMPLAINTS, &ignored);
        close_all((int[]){call->output, call->errors, call->events}, 3);
        finish(call, status);
        return true;
    }
    tell_progress(call, now);
    return false;
}
