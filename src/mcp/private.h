/*
 * Private to src/mcp: the server, its sessions, channels and calls.
 */
#ifndef SMELT_MCP_PRIVATE_H
#define SMELT_MCP_PRIVATE_H

#include <sys/types.h>

#include "mcp/mcp.h"

/* ---- bytes on their way (buffer.c) ---- */

struct mcp_buffer { /* all zero: empty */
    char *at;       /* followed by a NUL */
    size_t length, capacity;
};

void mcp_buffer_add(struct mcp_buffer *buffer, const char *bytes, size_t length);
/* The first so many bytes are gone. */
void mcp_buffer_drop(struct mcp_buffer *buffer, size_t length);
void mcp_buffer_release(struct mcp_buffer *buffer);
/* Reads what is there, `most` bytes in all; 0: the end, -1: nothing now, or no room. */
ssize_t mcp_buffer_read(struct mcp_buffer *buffer, int from, size_t most);

/* ---- messages (message.c) ---- */

/* A progress token as JSON; NULL: none, or not one. */
const char *mcp_token_of(struct arena *arena, const struct json_value *value);
/* {"jsonrpc":"2.0","id":...,"result":{ : what follows goes into the result. */
struct json mcp_answer_begin(struct text *out, const char *id);
void mcp_answer_end(struct json *json);
void mcp_answer_error(struct text *out, const char *id, enum mcp_code code, const char *message);
void mcp_notify_progress(struct text *out, const char *token, double progress, const char *message);

/* ---- who talks ---- */

struct mcp_session { /* all zero: free */
    char id[33];     /* over HTTP; "" otherwise */
    bool open;       /* it was initialized */
    const char *version;
    char client[41]; /* the name it gave itself, letters and digits */
    double used;     /* when it was heard of last */
};

struct mcp_channel {       /* where answers go: one for standard output, one per connection */
    struct mcp_buffer out; /* messages, one per line */
    int pending;           /* calls that will answer here */
};

/* ---- calls (call.c) ---- */

enum mcp_kind { MCP_TOOL, MCP_PAGES, MCP_PAGE, MCP_PROMPT };

struct mcp_call { /* pid 0: free */
    pid_t pid;
    enum mcp_kind kind;
    const struct mcp_tool *tool;
    struct arena arena;          /* the strings below */
    const char *id;              /* of the request, as JSON */
    const char *token;           /* of progress, as JSON, or NULL */
    const char *uri;             /* MCP_PAGE: what is read */
    const char *after;           /* MCP_PAGES: the page before the first, or "" */
    char session[33];            /* whose it is */
    struct mcp_channel *channel; /* NULL: nobody listens any more */
    int output, errors, events;  /* pipes, -1: at their end */
    struct mcp_buffer said, complained, happened;
    double started, told; /* seconds; when progress was reported last */
    char doing[200];      /* the last event in words */
    bool changed;         /* `doing` was not reported yet */
    bool cancelled, excess;
    double stop; /* when it was asked to end; 0: it was not */
};

struct mcp_server {
    const struct mcp_options *options;
    struct mcp_session sessions[MCP_SESSIONS]; /* without HTTP only the first */
    struct mcp_call calls[MCP_CALLS];
    bool ending;
};

/* Starts smelt with these words. False: there is no room, or it could not be started. */
bool mcp_call_start(struct mcp_server *server, struct mcp_call *call, const struct mcp_words *words,
                    struct error *error);
/* A free one, or NULL. */
struct mcp_call *mcp_call_new(struct mcp_server *server);
/* Reads what there is from its pipes. True: it has ended, and was answered. */
bool mcp_call_serve(struct mcp_call *call, double now);
/* Asks it to end; it is killed when it does not. */
void mcp_call_stop(struct mcp_call *call, double now);

/* What came of it, for the client (answer.c). `status` as waitpid gives it. */
void mcp_answer_call(struct arena *arena, const struct mcp_call *call, int status,
                     struct text *out);

/* ---- requests (server.c) ---- */

/* One line of a client. Answers go to the channel now or, for calls, later. */
void mcp_receive(struct mcp_server *server, struct mcp_session *session,
                 struct mcp_channel *channel, const char *text, size_t length);
/* Answers that would go there are dropped. */
void mcp_channel_close(struct mcp_server *server, struct mcp_channel *channel);

/* ---- HTTP (listen.c) ---- */

struct mcp_listener;
struct pollfd;

struct mcp_listener *mcp_listen(struct mcp_server *server, int port, int *bound,
                                struct error *error);
/* Adds what it waits for; gives back how many. There is room for 1 + MCP_CONNECTIONS. */
int mcp_listener_poll(struct mcp_listener *listener, struct pollfd *polls);
void mcp_listener_serve(struct mcp_listener *listener, const struct pollfd *polls, int count);
void mcp_listener_close(struct mcp_listener *listener);

#endif
