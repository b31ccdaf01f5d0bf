/*
 * `smelt mcp --http` as other programs reach it: who is served and who is not, sessions, calls as
 * streams. Part of the suite `mcp`.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcp/mcp.h"
#include "mcp_client.h"
#include "test.h"

static const char token[] = "a token of the tests";

struct server {
    struct arena arena;
    pid_t pid;
    int port;
    char session[64];
};

static void server_start(struct server *server, const char *folder)
{
    int out[2];
    char line[400] = "";
    size_t length = 0;
    *server = (struct server){0};
    const char *smelt = client_smelt(&server->arena);
    const char *store = arena_printf(&server->arena, "--store=%s/store.db", folder);
    CHECK(pipe2(out, O_CLOEXEC) == 0);
    server->pid = fork();
    CHECK(server->pid >= 0);
    if (server->pid == 0) {
        setenv("SMELT_MCP_TOKEN", token, 1);
        dup2(out[1], 2);
        execl(smelt, smelt, "mcp", "--http", "--port=0", store, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    while (length + 1 < sizeof line && read(out[0], line + length, 1) == 1 && line[length] != '\n')
        length++;
    const char *port = strstr(line, "127.0.0.1:");
    CHECK(port != NULL);
    server->port = atoi(port + 10);
    close(out[0]);
}

static void server_end(struct server *server)
{
    int status;
    kill(server->pid, SIGTERM);
    CHECK(waitpid(server->pid, &status, 0) == server->pid);
    CHECK_INT(status, 0);
    arena_release(&server->arena);
}

/* Sends bytes and reads until the other side closes or the answer is whole. */
static const char *exchange(struct server *server, const char *bytes, size_t length)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct text got = text_new(&server->arena);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    signal(SIGPIPE, SIG_IGN);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    for (size_t done = 0; done < length;) {
        ssize_t wrote = write(fd, bytes + done, length - done);
        if (wrote <= 0)
            break; /* it does not read what it refused */
        done += (size_t)wrote;
    }
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        char piece[4096];
        CHECK(poll(&ready, 1, 200000) > 0);
        ssize_t size = read(fd, piece, sizeof piece);
        if (size <= 0)
            break;
        text_add_bytes(&got, piece, (size_t)size);
        const char *body = strstr(got.at, "\r\n\r\n"), *says = strstr(got.at, "Content-Length: ");
        if (body && says && says < body &&
            got.length >= (size_t)(body + 4 - got.at) + (size_t)atol(says + 16))
            break;
    }
    close(fd);
    return got.at;
}

static int status_of(const char *answer)
{
    return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : 0;
}

/* A request with these headers, beside Host and the length. */
static const char *request(struct server *server, const char *method, const char *headers,
                           const char *body)
{
    const char *text =
        arena_printf(&server->arena, "%s /mcp HTTP/1.1\r\nContent-Length: %zu\r\n%s\r\n%s", method,
                     strlen(body), headers, body);
    return exchange(server, text, strlen(text));
}

static const char *post(struct server *server, const char *body)
{
    return request(server, "POST",
                   arena_printf(&server->arena,
                                "Host: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n%s%s%s"
                                "Accept: application/json, text/event-stream\r\n",
                                server->port, token, *server->session ? "Mcp-Session-Id: " : "",
                                server->session, *server->session ? "\r\n" : ""),
                   body);
}

static const char hello[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                            "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                            "\"clientInfo\":{\"name\":\"http\",\"version\":\"1\"}}}";

static void open_session(struct server *server)
{
    const char *answer = post(server, hello);
    CHECK_INT(status_of(answer), 200);
    const char *session = strstr(answer, "Mcp-Session-Id: ");
    CHECK(session != NULL);
    snprintf(server->session, sizeof server->session, "%.32s", session + 16);
}

/* Only programs on this machine that know the token are served, whatever else they say. */
TEST(agents_http_who)
{
    static const char own[] = "Host: localhost\r\n";
    static const char right[] = "Authorization: Bearer a token of the tests\r\n";
    struct server server;
    struct arena arena = {0};
    server_start(&server, client_folder(&arena));
    struct arena *a = &server.arena;
    CHECK_INT(status_of(request(&server, "POST", own, hello)), 401);
    CHECK_INT(status_of(request(&server, "POST",
                                arena_printf(a, "%sAuthorization: Bearer wrong\r\n", own), hello)),
              401);
    CHECK_INT(status_of(request(&server, "POST", right, hello)), 403);
    CHECK_INT(status_of(request(&server, "POST", arena_printf(a, "%sHost: evil.example\r\n", right),
                                hello)),
              403);
    CHECK_INT(status_of(request(&server, "POST",
                                arena_printf(a, "%s%sOrigin: http://evil.example\r\n", own, right),
                                hello)),
              403);
    CHECK_INT(
        status_of(request(
            &server, "POST",
            arena_printf(a, "%s%sOrigin: http://localhost.evil.example\r\n", own, right), hello)),
        403);
    CHECK_INT(status_of(request(
                  &server, "POST",
                  arena_printf(a, "%s%sOrigin: http://localhost:3000\r\n", own, right), hello)),
              200);
    CHECK_INT(status_of(request(&server, "GET", arena_printf(a, "%s%s", own, right), "")), 405);
    server_end(&server);
    arena_release(&arena);
}

/* Heads that are no requests, and bodies that are too long, get a status and no more. */
TEST(agents_http_garbage)
{
    static const struct {
        const char *bytes;
        int status;
    } heads[] = {
        {"nonsense\r\n\r\n", 400},
        {"POST /mcp HTTP/2.7\r\n\r\n", 505},
        {"POST /mcp HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
        {"POST /mcp HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
        {"POST /mcp HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413},
        {"POST /mcp HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
        {"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
        {"POST /mcp HTTP/1.1\r\n folded: x\r\n\r\n", 400},
    };
    struct server server;
    struct arena arena = {0};
    server_start(&server, client_folder(&arena));
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        CHECK_INT(status_of(exchange(&server, heads[i].bytes, strlen(heads[i].bytes))),
                  heads[i].status);
    char *huge = arena_alloc(&server.arena, 4 * (size_t)MCP_HEAD_BYTES);
    memset(huge, 'x', 4 * (size_t)MCP_HEAD_BYTES - 1);
    CHECK_INT(status_of(exchange(&server, huge, strlen(huge))), 431);
    open_session(&server);
    CHECK_INT(status_of(post(&server, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}")), 200);
    server_end(&server);
    arena_release(&arena);
}

/* A session from beginning to end: a call is a stream with progress and the answer. */
TEST(agents_http_session)
{
    struct server server;
    struct arena arena = {0};
    server_start(&server, client_folder(&arena));
    struct arena *a = &server.arena;
    static const char list[] = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}";
    CHECK_INT(status_of(post(&server, list)), 400); /* no session yet */
    open_session(&server);
    CHECK_INT(status_of(post(&server, "{\"jsonrpc\":\"2.0\",\"method\":"
                                      "\"notifications/initialized\"}")),
              202);
    const char *answer = post(&server, list);
    CHECK(status_of(answer) == 200 && strstr(answer, "application/json") &&
          strstr(answer, "submit_kernel"));
    answer = post(&server, arena_printf(a,
                                        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\","
                                        "\"params\":{\"name\":\"start_run\",\"arguments\":%s}}",
                                        client_object(a, "text", client_task, NULL)));
    CHECK(status_of(answer) == 200 && strstr(answer, "text/event-stream") &&
          strstr(answer, "data: {\"jsonrpc\":\"2.0\",\"id\":3,"));
    answer =
        post(&server, arena_printf(a,
                                   "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\","
                                   "\"params\":{\"name\":\"judge_kernel\",\"arguments\":%s,"
                                   "\"_meta\":{\"progressToken\":1}}}",
                                   client_object(a, "run", "last", "kernel", client_slow, NULL)));
    CHECK(strstr(answer, "notifications/progress") && strstr(answer, "\\\"outcome\\\": \\\"wrong"));
    char real[sizeof server.session];
    memcpy(real, server.session, sizeof real);
    server.session[0] = server.session[0] == 'f' ? 'e' : 'f';
    CHECK_INT(status_of(post(&server, list)), 404); /* somebody else's */
    memcpy(server.session, real, sizeof real);
    const char *headers = arena_printf(
        a, "Host: localhost\r\nAuthorization: Bearer %s\r\nMcp-Session-Id: %s\r\n", token, real);
    CHECK_INT(status_of(request(&server, "DELETE", headers, "")), 204);
    CHECK_INT(status_of(post(&server, list)), 404);
    server_end(&server);
    arena_release(&arena);
}
