/*
 * The head of an HTTP/1.1 request, read strictly, and whether whoever asks may.
 *
 * A page in a browser can make requests to this machine: it is told by its Origin, or, where its
 * name was made to mean this machine, by the Host it asked for. Other users of the machine can
 * connect as well: they do not know the token.
 */
#include <string.h>
#include <strings.h>

#include "mcp/private.h"

enum { HEADERS = 100 };

struct head {
    struct arena *arena;
    struct mcp_request *request;
    bool sized;
    int *status;
    const char **reason;
};

static bool refuse(struct head *head, int status, const char *reason)
{
    *head->status = status;
    *head->reason = reason;
    return false;
}

static bool is_token(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] >= 0x7f || strchr("()<>@,;:\\\"/[]?={}", text[i]))
            return false;
    return length > 0;
}

static bool read_request_line(struct head *head, const char *line, size_t length)
{
    const char *end = line + length;
    const char *first = memchr(line, ' ', length);
    const char *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;
    if (!second || !is_token(line, (size_t)(first - line)) || first[1] != '/')
        return refuse(head, 400, "this is no request");
    if (end - second != 9 || strncmp(second + 1, "HTTP/1.", 7) != 0 ||
        (second[8] != '0' && second[8] != '1'))
        return refuse(head, 505, "HTTP/1.1 is spoken here");
    head->request->method = arena_copy(head->arena, line, (size_t)(first - line));
    char *path = arena_copy(head->arena, first + 1, (size_t)(second - first - 1));
    path[strcspn(path, "?")] = 0;
    head->request->path = path;
    head->request->close = second[8] == '0';
    return true;
}

static bool take_length(struct head *head, const char *value)
{
    size_t length = 0;
    if (!*value || strlen(value) > 12 || value[strspn(value, "0123456789")])
        return refuse(head, 400, "Content-Length is no number");
    for (; *value; value++)
        length = length * 10 + (size_t)(*value - '0');
    if (head->sized && length != head->request->body)
        return refuse(head, 400, "two lengths");
    if (length > MCP_MESSAGE_BYTES)
        return refuse(head, 413, "the message is too long");
    head->sized = true;
    head->request->body = length;
    return true;
}

static bool read_header(struct head *head, const char *line, size_t length)
{
    struct mcp_request *request = head->request;
    const struct {
        const char *name;
        const char **into;
    } kept[] = {
        {"host", &request->host},
        {"origin", &request->origin},
        {"mcp-session-id", &request->session},
        {"mcp-protocol-version", &request->version},
        {"authorization", &request->authorization},
        {"accept", &request->accept},
    };
    const char *colon = memchr(line, ':', length);
    if (!colon || !is_token(line, (size_t)(colon - line)))
        return refuse(head, 400, "a header without a name");
    const char *name = arena_copy(head->arena, line, (size_t)(colon - line));
    const char *from = colon + 1, *end = line + length;
    while (from < end && (*from == ' ' || *from == '\t'))
        from++;
    while (end > from && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    const char *value = arena_copy(head->arena, from, (size_t)(end - from));
    for (const char *each = value; *each; each++)
        if ((unsigned char)*each < ' ' && *each != '\t')
            return refuse(head, 400, "control characters");
    if (strcasecmp(name, "content-length") == 0)
        return take_length(head, value);
    if (strcasecmp(name, "transfer-encoding") == 0)
        return refuse(head, 411, "say Content-Length");
    if (strcasecmp(name, "connection") == 0 && strcasecmp(value, "close") == 0)
        request->close = true;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (strcasecmp(name, kept[i].name) != 0)
            continue;
        if (**kept[i].into)
            return refuse(head, 400, "a header said twice");
        *kept[i].into = value;
    }
    return true;
}

enum mcp_head mcp_request_parse(struct arena *arena, const char *text, size_t length,
                                struct mcp_request *request, size_t *used, int *status,
                                const char **reason)
{
    struct head head = {arena, request, false, status, reason};
    *request = (struct mcp_request){.method = "",
                                    .path = "",
                                    .host = "",
                                    .origin = "",
                                    .session = "",
                                    .version = "",
                                    .authorization = "",
                                    .accept = ""};
    size_t at = 0;
    for (int line = 0;; line++) {
        const char *end = memchr(text + at, '\n', length - at);
        if (!end || (size_t)(end - text) > MCP_HEAD_BYTES) {
            if (!end && length <= MCP_HEAD_BYTES)
                return MCP_HEAD_PART;
            refuse(&head, 431, "the head is too long");
            return MCP_HEAD_BAD;
        }
        size_t size = (size_t)(end - text) - at;
        size_t next = at + size + 1;
        if (size && text[at + size - 1] == '\r')
            size--;
        if (size == 0 && line > 0) {
            *used = next;
            return MCP_HEAD_WHOLE;
        }
        bool fine = line == 0        ? read_request_line(&head, text + at, size)
                    : line > HEADERS ? refuse(&head, 431, "too many headers")
                                     : read_header(&head, text + at, size);
        if (!fine)
            return MCP_HEAD_BAD;
        at = next;
    }
}

/* "localhost:8080" and the like. */
static bool is_here(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) != 0)
            continue;
        const char *port = host + length;
        if (*port == 0 || (*port == ':' && port[1] && !port[1 + strspn(port + 1, "0123456789")]))
            return true;
    }
    return false;
}

/* In a time that does not tell how much of it is right. */
static bool is_same(const char *given, const char *token)
{
    size_t length = strlen(token);
    unsigned char differs = strlen(given) != length;
    for (size_t i = 0, at = 0; i < length; i++, at += given[at] != 0)
        differs |= (unsigned char)(given[at] ^ token[i]);
    return !differs;
}

int mcp_request_refused(const struct mcp_request *request, const char *token)
{
    static const char bearer[] = "Bearer ", scheme[] = "http://";
    if (!is_here(request->host))
        return 403;
    if (*request->origin && (strncasecmp(request->origin, scheme, sizeof scheme - 1) != 0 ||
                             !is_here(request->origin + sizeof scheme - 1)))
        return 403;
    if (strncasecmp(request->authorization, bearer, sizeof bearer - 1) != 0 ||
        !is_same(request->authorization + sizeof bearer - 1, token))
        return 401;
    return 0;
}
