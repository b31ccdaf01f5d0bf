/*
 * Streamable HTTP on 127.0.0.1: a POST is a message. Where its answer takes a call, it comes as a
 * stream of events, progress first; all others are answered at once.
 *
 * A connection that goes away does not end the calls it began: the protocol has a message for that.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp/private.h"
#include "os/clock.h"

enum { BACKLOG_BYTES = 64 << 20 }; /* what a client may leave unread */

static const double patience = 30;  /* seconds for a whole request */
static const double idleness = 600; /* between requests */
static const double pulse = 15;     /* a stream is not silent for longer */

struct connection { /* fd 0: free */
    int fd;
    struct mcp_buffer in, out;
    struct mcp_channel channel;
    bool streaming, closing, gone;
    double heard, sent;
};

struct mcp_listener {
    struct mcp_server *server;
    int fd;
    struct connection connections[MCP_CONNECTIONS];
};

/* ---- answers ---- */

static const char *status_name(int status)
{
    static const struct {
        int status;
        const char *name;
    } names[] = {{200, "OK"},
                 {202, "Accepted"},
                 {204, "No Content"},
                 {400, "Bad Request"},
                 {401, "Unauthorized"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {408, "Request Timeout"},
                 {411, "Length Required"},
                 {413, "Content Too Large"},
                 {431, "Request Header Fields Too Large"},
                 {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == status)
            return names[i].name;
    return "Error";
}

static void add_text(struct mcp_buffer *out, const char *text)
{
    mcp_buffer_add(out, text, strlen(text));
}

static void add_head(struct connection *connection, int status, const char *type, size_t length,
                     const char *session)
{
    char line[200];
    struct mcp_buffer *out = &connection->out;
    snprintf(line, sizeof line, "HTTP/1.1 %d %s\r\n", status, status_name(status));
    add_text(out, line);
    if (*type) {
        snprintf(line, sizeof line, "Content-Type: %s\r\n", type);
        add_text(out, line);
    }
    if (!connection->streaming) {
        snprintf(line, sizeof line, "Content-Length: %zu\r\n", length);
        add_text(out, line);
    }
    if (*session) {
        snprintf(line, sizeof line, "Mcp-Session-Id: %s\r\n", session);
        add_text(out, line);
    }
    if (status == 401)
        add_text(out, "WWW-Authenticate: Bearer\r\n");
    if (status == 405)
        add_text(out, "Allow: POST, DELETE\r\n");
    if (connection->streaming || connection->closing)
        add_text(out, "Connection: close\r\n");
    add_text(out, "Cache-Control: no-store\r\n\r\n");
}

static void answer(struct connection *connection, int status, const char *reason)
{
    size_t length = status == 204 ? 0 : strlen(reason) + 1;
    add_head(connection, status, length ? "text/plain" : "", length, "");
    if (length) {
        add_text(&connection->out, reason);
        add_text(&connection->out, "\n");
    }
}

/* Messages so far as events of the stream. */
static void stream(struct connection *connection)
{
    struct mcp_buffer *messages = &connection->channel.out;
    for (char *end; messages->length && (end = memchr(messages->at, '\n', messages->length));) {
        size_t length = (size_t)(end - messages->at);
        add_text(&connection->out, "event: message\ndata: ");
        mcp_buffer_add(&connection->out, messages->at, length);
        add_text(&connection->out, "\n\n");
        mcp_buffer_drop(messages, length + 1);
    }
    if (connection->channel.pending == 0)
        connection->closing = true;
}

/* ---- sessions ---- */

static struct mcp_session *find_session(struct mcp_server *server, const char *id)
{
    for (int i = 0; i < MCP_SESSIONS; i++)
        if (server->sessions[i].open && strcmp(server->sessions[i].id, id) == 0)
            return &server->sessions[i];
    return NULL;
}

static void keep_session(struct mcp_server *server, const struct mcp_session *session)
{
    struct mcp_session *oldest = &server->sessions[0];
    for (int i = 0; i < MCP_SESSIONS; i++)
        if (!server->sessions[i].open || server->sessions[i].used < oldest->used)
            oldest = &server->sessions[i];
    *oldest = *session;
}

static bool new_id(char *id)
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* ---- requests ---- */

static void answer_messages(struct connection *connection, const char *opened, int status)
{
    struct mcp_channel *channel = &connection->channel;
    struct mcp_buffer *messages = &channel->out;
    char *first = messages->length ? memchr(messages->at, '\n', messages->length) : NULL;
    bool several = first && first + 1 < messages->at + messages->length;
    if (channel->pending > 0 || several) {
        connection->streaming = true;
        add_head(connection, 200, "text/event-stream", 0, opened);
        stream(connection);
    } else if (first) {
        add_head(connection, status, "application/json", messages->length - 1, opened);
        mcp_buffer_add(&connection->out, messages->at, messages->length - 1);
        mcp_buffer_drop(messages, messages->length);
    } else {
        add_head(connection, 202, "", 0, opened);
    }
}

static void serve_post(struct mcp_listener *listener, struct connection *connection,
                       const struct mcp_request *request, const char *body)
{
    struct mcp_server *server = listener->server;
    struct mcp_session fresh = {.version = ""}, *session = &fresh;
    if (*request->session) {
        session = find_session(server, request->session);
        if (!session) {
            answer(connection, 404, "there is no such session: initialize again");
            return;
        }
        session->used = clock_seconds();
        mcp_receive(server, session, &connection->channel, body, request->body);
        answer_messages(connection, "", 200);
        return;
    }
    if (!new_id(fresh.id)) {
        answer(connection, 400, "no random numbers");
        return;
    }
    fresh.used = clock_seconds();
    mcp_receive(server, &fresh, &connection->channel, body, request->body);
    if (fresh.open)
        keep_session(server, &fresh);
    answer_messages(connection, fresh.open ? fresh.id : "", fresh.open ? 200 : 400);
}

static void serve_delete(struct mcp_listener *listener, struct connection *connection,
                         const struct mcp_request *request)
{
    struct mcp_server *server = listener->server;
    struct mcp_session *session = find_session(server, request->session);
    for (int i = 0; session && i < MCP_CALLS; i++)
        if (server->calls[i].pid && strcmp(server->calls[i].session, session->id) == 0)
            mcp_call_stop(&server->calls[i], clock_seconds());
    if (session)
        session->open = false;
    answer(connection, session ? 204 : 404, "there is no such session");
}

static void serve_request(struct mcp_listener *listener, struct connection *connection,
                          const struct mcp_request *request, const char *body)
{
    int refused = mcp_request_refused(request, listener->server->options->token);
    connection->closing |= request->close || refused;
    if (refused)
        answer(connection, refused,
               refused == 401 ? "say Authorization: Bearer with the token of the server"
                              : "only programs on this machine are served");
    else if (strcmp(request->path, "/mcp") != 0)
        answer(connection, 404, "the only path is /mcp");
    else if (strcmp(request->method, "POST") == 0)
        serve_post(listener, connection, request, body);
    else if (strcmp(request->method, "DELETE") == 0)
        serve_delete(listener, connection, request);
    else
        answer(connection, 405, "POST a message");
}

/* As many whole requests as there are; one that streams is the last. */
static void serve_input(struct mcp_listener *listener, struct connection *connection)
{
    while (connection->in.length && !connection->streaming && !connection->closing) {
        struct arena arena = {0};
        struct mcp_request request;
        size_t used = 0;
        int status = 0;
        const char *reason = "";
        enum mcp_head head = mcp_request_parse(&arena, connection->in.at, connection->in.length,
                                               &request, &used, &status, &reason);
        bool whole = head == MCP_HEAD_WHOLE && connection->in.length - used >= request.body;
        if (head == MCP_HEAD_BAD) {
            connection->closing = true;
            answer(connection, status, reason);
        } else if (whole) {
            serve_request(listener, connection, &request, connection->in.at + used);
            mcp_buffer_drop(&connection->in, used + request.body);
        }
        arena_release(&arena);
        if (!whole)
            break;
    }
}

/* ---- connections ---- */

static void drop(struct mcp_listener *listener, struct connection *connection)
{
    mcp_channel_close(listener->server, &connection->channel);
    mcp_buffer_release(&connection->in);
    mcp_buffer_release(&connection->out);
    close(connection->fd);
    *connection = (struct connection){0};
}

static void accept_one(struct mcp_listener *listener)
{
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    for (int i = 0; i < MCP_CONNECTIONS; i++)
        if (listener->connections[i].fd == 0) {
            double now = clock_seconds();
            listener->connections[i] = (struct connection){.fd = fd, .heard = now, .sent = now};
            return;
        }
    close(fd);
}

static void receive(struct mcp_listener *listener, struct connection *connection)
{
    ssize_t got = mcp_buffer_read(&connection->in, connection->fd,
                                  MCP_HEAD_BYTES + (size_t)MCP_MESSAGE_BYTES);
    if (got == 0)
        connection->gone = true;
    if (got > 0) {
        connection->heard = clock_seconds();
        serve_input(listener, connection);
    }
}

static void send_some(struct connection *connection)
{
    struct mcp_buffer *out = &connection->out;
    while (out->length) {
        ssize_t sent = send(connection->fd, out->at, out->length, MSG_NOSIGNAL);
        if (sent < 0) {
            connection->gone |= errno != EAGAIN && errno != EINTR;
            return;
        }
        mcp_buffer_drop(out, (size_t)sent);
        connection->sent = clock_seconds();
    }
}

static void serve_connection(struct mcp_listener *listener, struct connection *connection,
                             short events)
{
    double now = clock_seconds();
    if (events & (POLLIN | POLLHUP | POLLERR))
        receive(listener, connection);
    if (connection->streaming) {
        stream(connection);
        if (!connection->closing && connection->out.length == 0 && now - connection->sent > pulse)
            add_text(&connection->out, ": \n\n");
    }
    send_some(connection);
    double quiet = now - connection->heard;
    bool stale = !connection->streaming && quiet > (connection->in.length ? patience : idleness);
    if (connection->gone || stale || connection->out.length > BACKLOG_BYTES ||
        (connection->closing && connection->out.length == 0))
        drop(listener, connection);
}

int mcp_listener_poll(struct mcp_listener *listener, struct pollfd *polls)
{
    int count = 0;
    polls[count++] = (struct pollfd){.fd = listener->fd, .events = POLLIN};
    for (int i = 0; i < MCP_CONNECTIONS; i++) {
        const struct connection *connection = &listener->connections[i];
        if (connection->fd == 0)
            continue;
        short out = connection->out.length ? POLLOUT : 0;
        polls[count++] = (struct pollfd){.fd = connection->fd, .events = (short)(POLLIN | out)};
    }
    return count;
}

void mcp_listener_serve(struct mcp_listener *listener, const struct pollfd *polls, int count)
{
    for (int i = 0; i < MCP_CONNECTIONS; i++) {
        short events = 0;
        for (int k = 1; k < count; k++)
            if (listener->connections[i].fd && polls[k].fd == listener->connections[i].fd)
                events = polls[k].revents;
        if (listener->connections[i].fd)
            serve_connection(listener, &listener->connections[i], events);
    }
    if (polls[0].revents & POLLIN)
        accept_one(listener);
}

struct mcp_listener *mcp_listen(struct mcp_server *server, int port, int *bound,
                                struct error *error)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, MCP_CONNECTIONS) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        error_system(error, ERROR_CANNOT_READ, "could not listen on port %d of 127.0.0.1", port);
        error_hint(error, "another program may have it; --port 0 takes one that is free");
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    *bound = ntohs(address.sin_port);
    struct mcp_listener *listener = memory_alloc(sizeof *listener);
    listener->server = server;
    listener->fd = fd;
    return listener;
}

void mcp_listener_close(struct mcp_listener *listener)
{
    for (int i = 0; i < MCP_CONNECTIONS; i++)
        if (listener->connections[i].fd)
            drop(listener, &listener->connections[i]);
    close(listener->fd);
    memory_free(listener);
}
