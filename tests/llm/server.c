/*
 * A server for language models that has none: speaks both protocols on loopback, answers from
 * files, and misbehaves on request.
 *
 *     server FOLDER
 *
 * prints its port and serves until its standard input ends. The id of a model is `NAME` or
 * `NAME:BEHAVIOUR`. The reply to its n-th question is FOLDER/NAME.n, else FOLDER/NAME. What it was
 * asked goes to FOLDER/NAME.asked.n; every bill to FOLDER/bill, a line `id read written`; whether
 * the key came along to FOLDER/keys, never the key itself; where a reply has @KEY@, it says the key
 * back. `NAME:waits` answers when FOLDER/NAME.n is there: the reply may be written, by whoever
 * reads the question, while the run waits for it.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_BYTES = 32 << 20, NAMES = 64, PIECE = 300 };

static const char *folder;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char id[128];
    int asked;
} counters[NAMES];

struct call {
    int socket;
    char *head, *body;
    size_t length; /* of the body */
    bool anthropic;
    char id[128], name[128];
    const char *how; /* behaviour; "" */
    int number;      /* of the question, from 1 */
    char *reply;
    long read, written;
};

/* ---- files ---- */

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *bytes = file ? calloc(1, MOST_BYTES) : NULL;
    if (!file || !bytes)
        return NULL;
    *length = fread(bytes, 1, MOST_BYTES - 1, file);
    fclose(file);
    return bytes;
}

static void append(const char *name, const char *format, ...)
{
    char path[512];
    va_list list;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    pthread_mutex_lock(&lock);
    FILE *file = fopen(path, "a");
    va_start(list, format);
    if (file) {
        vfprintf(file, format, list);
        fclose(file);
    }
    va_end(list);
    pthread_mutex_unlock(&lock);
}

static int count(const char *id)
{
    int result = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < NAMES && result == 0; i++)
        if (!counters[i].id[0] || strcmp(counters[i].id, id) == 0) {
            snprintf(counters[i].id, sizeof counters[i].id, "%s", id);
            result = ++counters[i].asked;
        }
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- sending ---- */

static bool send_all(int socket, const char *bytes, size_t length)
{
    for (size_t sent = 0; sent < length;) {
        ssize_t count = send(socket, bytes + sent, length - sent, MSG_NOSIGNAL);
        if (count <= 0)
            return false;
        sent += (size_t)count;
    }
    return true;
}

static bool say(int socket, const char *format, ...)
{
    char text[16384];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return length > 0 && send_all(socket, text, (size_t)length);
}

static void escape(char *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            *out++ = '\\', *out++ = (char)c;
        else if (c < 32)
            out += sprintf(out, "\\u%04x", c);
        else
            *out++ = (char)c;
    }
    *out = 0;
}

static void refuse(struct call *call, const char *status, const char *more, const char *words)
{
    char body[600];
    int length = snprintf(body, sizeof body, "{\"error\":{\"message\":\"%s\"}}", words);
    say(call->socket,
        "HTTP/1.1 %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n"
        "Connection: close\r\n\r\n%s",
        status, more, length, body);
}

/* ---- streams ---- */

static bool is(const struct call *call, const char *how)
{
    return strcmp(call->how, how) == 0;
}

static void begin_stream(struct call *call)
{
    long read = is(call, "lying-few") ? 0 : is(call, "lying-many") ? 999999999 : call->read;
    say(call->socket, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                      "Connection: close\r\n\r\n: hello\r\n\r\n");
    if (!call->anthropic)
        return;
    if (is(call, "lying-odd"))
        say(call->socket, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":"
                          "{\"usage\":{\"input_tokens\":\"many\"}}}\n\n");
    else
        say(call->socket,
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":"
            "{\"input_tokens\":%ld,\"output_tokens\":1}}}\n\n",
            read);
}

static bool send_piece(struct call *call, const char *text, size_t length)
{
    char escaped[6 * PIECE + 1];
    escape(escaped, text, length);
    return call->anthropic
               ? say(call->socket,
                     "event: content_block_delta\ndata: {\"type\":\"content_block_delta\","
                     "\"delta\":{\"type\":\"text_delta\",\"text\":\"%s\"}}\n\n",
                     escaped)
               : say(call->socket, "data: {\"choices\":[{\"delta\":{\"content\":\"%s\"}}]}\n\n",
                     escaped);
}

static void end_stream(struct call *call)
{
    long read = is(call, "lying-few") ? 0 : is(call, "lying-many") ? 999999999 : call->read;
    long written = is(call, "lying-few") ? 0 : is(call, "lying-many") ? 999999999 : call->written;
    if (call->anthropic)
        say(call->socket,
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
            "\"end_turn\"},\"usage\":{\"output_tokens\":%ld}}\n\n"
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
            written);
    else if (is(call, "lying-odd"))
        say(call->socket, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
                          "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":-5,"
                          "\"completion_tokens\":1.5}}\n\ndata: [DONE]\n\n");
    else
        say(call->socket,
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
            "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%ld,\"completion_tokens\":%ld}}\n\n"
            "data: [DONE]\n\n",
            read, written);
}

static void stream(struct call *call)
{
    size_t length = strlen(call->reply), half = length / 2;
    begin_stream(call);
    if (is(call, "bad-json"))
        say(call->socket, "data: {\"choices\":[{\"delta\":{\"content\": oops}\n\n");
    if (is(call, "bad-sse"))
        for (int i = 0; i < 50; i++)
            say(call->socket, "dota {\"choices\":[]}\r\rnonsense\n");
    for (size_t at = 0; at < length && !is(call, "bad-sse"); at += PIECE) {
        size_t piece = length - at < PIECE ? length - at : PIECE;
        if (!send_piece(call, call->reply + at, piece))
            return;
        if ((is(call, "truncated") || is(call, "mid-stream")) && at >= half) {
            append("bill", "%s %ld %ld\n", call->id, call->read, call->written / 2);
            return;
        }
        if (is(call, "stalls") && at >= half)
            sleep(600);
        if (is(call, "slow"))
            usleep(20000);
    }
    while (is(call, "enormous") && send_piece(call, call->reply, PIECE))
        ;
    append("bill", "%s %ld %ld\n", call->id, call->read, call->written);
    if (!is(call, "bad-sse"))
        end_stream(call);
}

/* A server that does not stream. */
static void answer_whole(struct call *call)
{
    char *escaped = malloc(6 * strlen(call->reply) + 1);
    escape(escaped, call->reply, strlen(call->reply));
    const char *head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                       "Connection: close\r\n\r\n";
    send_all(call->socket, head, strlen(head));
    if (call->anthropic)
        say(call->socket, "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"");
    else
        say(call->socket, "{\"choices\":[{\"finish_reason\":\"stop\",\"message\":{\"content\":\"");
    send_all(call->socket, escaped, strlen(escaped));
    if (call->anthropic)
        say(call->socket,
            "\"}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":%ld,"
            "\"output_tokens\":%ld}}",
            call->read, call->written);
    else
        say(call->socket, "\"}}],\"usage\":{\"prompt_tokens\":%ld,\"completion_tokens\":%ld}}",
            call->read, call->written);
    append("bill", "%s %ld %ld\n", call->id, call->read, call->written);
    free(escaped);
}

/* ---- questions ---- */

static void find_model(struct call *call)
{
    const char *at = strstr(call->body, "\"model\":");
    const char *start = at ? strchr(at + 8, '"') : NULL;
    size_t length = start ? strcspn(start + 1, "\"") : 0;
    if (length >= sizeof call->id)
        length = 0;
    if (length)
        memcpy(call->id, start + 1, length);
    snprintf(call->name, sizeof call->name, "%s", call->id);
    char *colon = strchr(call->name, ':');
    call->how = colon ? colon + 1 : "";
    if (colon)
        *colon = 0;
}

static bool find_reply(struct call *call)
{
    char path[700];
    size_t length = 0;
    call->number = count(call->id);
    snprintf(path, sizeof path, "%s/%s.asked.%d", folder, call->name, call->number);
    FILE *file = fopen(path, "w");
    if (file) {
        fwrite(call->body, 1, call->length, file);
        fclose(file);
    }
    snprintf(path, sizeof path, "%s/%s.%d", folder, call->name, call->number);
    call->reply = read_file(path, &length);
    while (!call->reply && is(call, "waits")) {
        sleep(1);
        call->reply = read_file(path, &length);
    }
    if (!call->reply) {
        snprintf(path, sizeof path, "%s/%s", folder, call->name);
        call->reply = read_file(path, &length);
    }
    call->read = (long)call->length / 4;
    call->written = (long)length / 4 + 1;
    return call->reply != NULL;
}

/* The whole header line of the key, for a server that tells it everybody. */
static const char *key_line(const struct call *call)
{
    static const char *const names[] = {"\nauthorization:", "\nx-api-key:"};
    for (int i = 0; i < 2; i++)
        for (const char *at = call->head; *at; at++)
            if (strncasecmp(at, names[i], strlen(names[i])) == 0)
                return at + strlen(names[i]);
    return NULL;
}

/* The reply with the key in the place of @KEY@. */
static void tell_key(struct call *call, const char *line)
{
    static const char mark[] = "@KEY@";
    char *at = call->reply ? strstr(call->reply, mark) : NULL;
    const char *key = line ? line + strspn(line, " ") : "";
    if (strncasecmp(key, "bearer ", 7) == 0)
        key += 7;
    size_t length = strcspn(key, "\r\n");
    if (!at || strlen(call->reply) + length >= MOST_BYTES)
        return;
    char *after = at + sizeof mark - 1;
    memmove(at + length, after, strlen(after) + 1);
    memcpy(at, key, length);
}

static void answer(struct call *call)
{
    char more[64] = "";
    find_model(call);
    const char *key = key_line(call);
    append("keys", "%s %s\n", call->id, key ? "came" : "did not come");
    bool known = find_reply(call);
    tell_key(call, key);
    if (is(call, "tells-key")) {
        char words[400];
        snprintf(words, sizeof words, "wrong key:%.*s", key ? (int)strcspn(key, "\r\n") : 0,
                 key ? key : "");
        refuse(call, "401 Unauthorized", "", words);
    } else if (is(call, "limited") && call->number % 2 == 1) {
        refuse(call, "429 Too Many Requests", "Retry-After: 1\r\n", "slow down");
    } else if (is(call, "limited-long")) {
        refuse(call, "429 Too Many Requests", "Retry-After: 3600\r\n", "come back in an hour");
    } else if (is(call, "down")) {
        refuse(call, "503 Service Unavailable", more, "out of order");
    } else if (is(call, "flaky") && call->number % 2 == 1) {
        refuse(call, "500 Internal Server Error", more, "once in a while");
    } else if (is(call, "elsewhere")) {
        refuse(call, "302 Found", "Location: http://127.0.0.1:1/\r\n", "go there");
    } else if (is(call, "silent")) {
        sleep(600);
    } else if (!known) {
        refuse(call, "404 Not Found", "", "there is no such model");
    } else if (is(call, "whole")) {
        answer_whole(call);
    } else {
        stream(call);
    }
    free(call->reply);
}

static void *serve(void *context)
{
    struct call call = {.socket = (int)(long)context};
    char *bytes = calloc(1, MOST_BYTES);
    size_t length = 0, wanted = 0;
    while (bytes && length < MOST_BYTES - 1) {
        ssize_t got = recv(call.socket, bytes + length, MOST_BYTES - 1 - length, 0);
        if (got <= 0)
            break;
        length += (size_t)got;
        char *end = strstr(bytes, "\r\n\r\n");
        if (!end)
            continue;
        const char *size = strcasestr(bytes, "content-length:");
        wanted = size && size < end ? strtoul(size + 15, NULL, 10) : 0;
        if (strcasestr(bytes, "expect: 100-continue") && length == (size_t)(end + 4 - bytes))
            say(call.socket, "HTTP/1.1 100 Continue\r\n\r\n");
        if (length < (size_t)(end + 4 - bytes) + wanted)
            continue;
        *end = 0;
        call.head = bytes;
        call.body = end + 4;
        call.length = wanted;
        call.anthropic = strstr(bytes, "/messages ") != NULL;
        if (strncmp(bytes, "GET ", 4) == 0)
            say(call.socket, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             "Connection: close\r\n\r\n"
                             "{\"data\":[{\"id\":\"small\"},{\"id\":\"large\"}]}");
        else
            answer(&call);
        break;
    }
    shutdown(call.socket, SHUT_RDWR);
    close(call.socket);
    free(bytes);
    return NULL;
}

static void *watch(void *unused)
{
    char byte;
    (void)unused;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    exit(0);
}

int main(int argument_count, char **arguments)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t thread;
    if (argument_count != 2 || listener < 0 ||
        bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        perror("server");
        return 1;
    }
    folder = arguments[1];
    signal(SIGPIPE, SIG_IGN);
    printf("%d\n", ntohs(address.sin_port));
    fclose(stdout);
    pthread_create(&thread, NULL, watch, NULL);
    for (;;) {
        int socket = accept(listener, NULL, NULL);
        if (socket >= 0 && pthread_create(&thread, NULL, serve, (void *)(long)socket) == 0)
            pthread_detach(thread);
    }
}
