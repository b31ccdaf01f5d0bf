/*
 * One loop waits for everything: clients, calls, signals. Nothing in it blocks, so a slow client or
 * a long call holds up nobody.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mcp/private.h"
#include "os/clock.h"

enum {
    PIPE_ROOM = 4096,       /* what a pipe that is ready takes without blocking */
    UNREAD_BYTES = 1 << 20, /* when a client does not read, nothing more is read from it */
    POLLS = 3 + MCP_CONNECTIONS + 3 * MCP_CALLS,
};

static volatile sig_atomic_t told_to_end;

static void on_signal(int number)
{
    (void)number;
    told_to_end = 1;
}

struct loop {
    struct mcp_server *server;
    const struct mcp_options *options;
    struct mcp_channel channel; /* standard output */
    struct mcp_buffer in;
    bool ended;    /* the input */
    bool skipping; /* the rest of a line that was too long */
    bool broken;   /* the output */
    struct mcp_listener *listener;
};

/* ---- standard input and output ---- */

static void take_lines(struct loop *loop)
{
    struct mcp_buffer *in = &loop->in;
    size_t at = 0;
    for (char *end; in->length > at && (end = memchr(in->at + at, '\n', in->length - at));) {
        size_t length = (size_t)(end - in->at) - at;
        size_t trimmed = length && in->at[at + length - 1] == '\r' ? length - 1 : length;
        if (trimmed && !loop->skipping)
            mcp_receive(loop->server, &loop->server->sessions[0], &loop->channel, in->at + at,
                        trimmed);
        loop->skipping = false;
        at += length + 1;
    }
    mcp_buffer_drop(in, at);
    if (in->length < MCP_MESSAGE_BYTES)
        return;
    if (!loop->skipping) { /* too long: the answer of the parser to it */
        mcp_buffer_add(in, " ", 1);
        mcp_receive(loop->server, &loop->server->sessions[0], &loop->channel, in->at, in->length);
    }
    loop->skipping = true;
    mcp_buffer_drop(in, in->length);
}

static void read_input(struct loop *loop)
{
    if (mcp_buffer_read(&loop->in, loop->options->input, MCP_MESSAGE_BYTES) == 0) {
        loop->ended = true;
        if (loop->in.length)
            mcp_buffer_add(&loop->in, "\n", 1);
    }
    take_lines(loop);
}

static void write_output(struct loop *loop)
{
    struct mcp_buffer *out = &loop->channel.out;
    size_t done = 0;
    while (done < out->length) {
        struct pollfd ready = {.fd = loop->options->output, .events = POLLOUT};
        size_t size = out->length - done < PIPE_ROOM ? out->length - done : PIPE_ROOM;
        if (poll(&ready, 1, 0) <= 0)
            break;
        ssize_t wrote = write(loop->options->output, out->at + done, size);
        if (wrote < 0 && errno != EINTR && errno != EAGAIN)
            loop->broken = true;
        if (wrote <= 0)
            break;
        done += (size_t)wrote;
    }
    mcp_buffer_drop(out, done);
}

/* ---- the loop ---- */

static bool calls_are_open(const struct mcp_server *server)
{
    for (int i = 0; i < MCP_CALLS; i++)
        if (server->calls[i].pid)
            return true;
    return false;
}

/* Milliseconds until somebody has to look: a call whose pipes are at their end is about to end. */
static int patience_of(const struct mcp_server *server)
{
    int most = 10000;
    for (int i = 0; i < MCP_CALLS; i++) {
        const struct mcp_call *call = &server->calls[i];
        int wanted = call->output < 0 && call->errors < 0 ? 5 : 200;
        if (call->pid && wanted < most)
            most = wanted;
    }
    return most;
}

static int add_calls(const struct mcp_server *server, struct pollfd *polls)
{
    int count = 0;
    for (int i = 0; i < MCP_CALLS; i++) {
        const struct mcp_call *call = &server->calls[i];
        const int pipes[] = {call->output, call->errors, call->events};
        for (int k = 0; k < 3 && call->pid; k++)
            if (pipes[k] >= 0)
                polls[count++] = (struct pollfd){.fd = pipes[k], .events = POLLIN};
    }
    return count;
}

static void wait_and_serve(struct loop *loop, const sigset_t *mask)
{
    struct mcp_server *server = loop->server;
    struct pollfd polls[POLLS];
    int listening = loop->listener ? mcp_listener_poll(loop->listener, polls) : 0;
    int count = listening + add_calls(server, polls + listening), input = -1;
    if (!loop->listener && !loop->ended && loop->channel.out.length < UNREAD_BYTES) {
        input = count++;
        polls[input] = (struct pollfd){.fd = loop->options->input, .events = POLLIN};
    }
    if (!loop->listener && loop->channel.out.length)
        polls[count++] = (struct pollfd){.fd = loop->options->output, .events = POLLOUT};
    int wait = patience_of(server);
    struct timespec limit = {wait / 1000, wait % 1000 * 1000000L};
    if (ppoll(polls, (nfds_t)count, &limit, mask) < 0)
        for (int i = 0; i < count; i++)
            polls[i].revents = 0;
    if (input >= 0 && polls[input].revents)
        read_input(loop);
    for (int i = 0; i < MCP_CALLS; i++)
        if (server->calls[i].pid)
            mcp_call_serve(&server->calls[i], clock_seconds());
    if (loop->listener)
        mcp_listener_serve(loop->listener, polls, listening);
    else
        write_output(loop);
}

static void end_calls(struct loop *loop, const sigset_t *mask)
{
    struct mcp_server *server = loop->server;
    while (calls_are_open(server)) {
        for (int i = 0; i < MCP_CALLS; i++)
            if (server->calls[i].pid)
                mcp_call_stop(&server->calls[i], clock_seconds());
        loop->ended = true;
        wait_and_serve(loop, mask);
    }
}

static bool is_over(const struct loop *loop)
{
    return told_to_end || loop->broken ||
           (!loop->listener && loop->ended && !calls_are_open(loop->server) &&
            loop->channel.out.length == 0);
}

bool mcp_serve(const struct mcp_options *options, struct error *error)
{
    struct mcp_server *server = memory_alloc(sizeof *server);
    struct loop loop = {.server = server, .options = options};
    struct sigaction ended = {.sa_handler = on_signal};
    sigset_t blocked, before;
    int port;
    server->options = options;
    if (options->port >= 0) {
        loop.listener = mcp_listen(server, options->port, &port, error);
        if (!loop.listener) {
            memory_free(server);
            return false;
        }
    }
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    sigaction(SIGINT, &ended, NULL);
    sigaction(SIGTERM, &ended, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (options->ready)
        options->ready(options->context, port);
    while (!is_over(&loop))
        wait_and_serve(&loop, &before);
    end_calls(&loop, &before);
    if (loop.listener)
        mcp_listener_close(loop.listener);
    mcp_channel_close(server, &loop.channel);
    mcp_buffer_release(&loop.in);
    for (int i = 0; i < MCP_CALLS; i++)
        arena_release(&server->calls[i].arena);
    memory_free(server);
    return true;
}
