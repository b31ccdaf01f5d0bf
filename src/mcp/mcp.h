/*
 * The Model Context Protocol: coding agents use smelt through it, over standard input and output or
 * over HTTP on this machine.
 *
 * A tool is a row of a table (tools.c): a command of smelt, and how arguments become its words. A
 * call is a process of its own, smelt again with --json: so the server answers others meanwhile, a
 * call that is cancelled is a process that is ended, and what an agent can do is what a person can
 * do at the command line.
 */
#ifndef SMELT_MCP_MCP_H
#define SMELT_MCP_MCP_H

#include "base/base.h"
#include "base/json_read.h"

/* Everything that comes from outside has a maximum. */
enum {
    MCP_MESSAGE_BYTES = 4 << 20, /* one message of a client */
    MCP_RESULT_BYTES = 16 << 20, /* what a call may answer */
    MCP_SOURCE_BYTES = 1 << 20,  /* a kernel, a task */
    MCP_WORD_BYTES = 4096,       /* any other string among arguments */
    MCP_WORDS = 64,              /* of one list among arguments */
    MCP_CALLS = 16,              /* under way at once, of all clients */
    MCP_SESSIONS = 64,           /* over HTTP; the one that was quiet for longest makes room */
    MCP_CONNECTIONS = 64,
    MCP_HEAD_BYTES = 16 << 10, /* the head of an HTTP request */
    MCP_CALL_SECONDS = 7200,   /* then a call is ended */
};

/* ---- messages (message.c) ---- */

/* Of JSON-RPC. */
enum mcp_code {
    MCP_PARSE = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_NO_METHOD = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL = -32603,
    MCP_NO_RESOURCE = -32002,
};

struct mcp_message {
    const char *id;                  /* as JSON; NULL: a notification */
    const char *method;              /* NULL: a response */
    const struct json_value *params; /* an object, or NULL */
};

struct mcp_messages VECTOR(struct mcp_message);

/*
 * One line of a client: a message, or several in an array. False: code and error say why, and *id
 * is the id it seems to have, "null" when there is none. Lives in the arena.
 */
bool mcp_parse(struct arena *arena, const char *text, size_t length, struct mcp_messages *messages,
               const char **id, enum mcp_code *code, struct error *error);

/* ---- tools (tools.c) ---- */

enum mcp_way { /* how an argument becomes a part of the command line */
               MCP_OPERAND,
               MCP_OPERANDS, /* a list of NAME=VALUE */
               MCP_OPTION,
               MCP_FLAG,
               MCP_INPUT, /* standard input, which the operand `-` stands for */
};

enum mcp_type { MCP_STRING, MCP_NUMBER, MCP_INTEGER, MCP_BOOLEAN, MCP_LIST };

struct mcp_parameter {
    const char *name; /* NULL ends the table */
    enum mcp_type type;
    enum mcp_way way;
    const char *option;         /* MCP_OPTION, MCP_FLAG: its name; NULL: as the parameter's */
    const char *const *choices; /* the only values, or NULL */
    const char *fallback;       /* when it is not given; NULL: nothing */
    bool required;
    bool lines;  /* may have several lines */
    bool client; /* when it is not given: the name the client gave itself */
    const char *help;
};

struct mcp_tool {
    const char *name, *title, *help;
    const char *words[6]; /* the command and what is always said with it */
    const char *operand;  /* said before all others, or NULL */
    const struct mcp_parameter *parameters;
    const char *text; /* the member of the answer that is given as text; NULL: all of it, as JSON */
    bool changes;     /* something stays of it */
};

extern const struct mcp_tool mcp_tools[]; /* the last row is empty */
const struct mcp_tool *mcp_tool_find(const char *name);
/* As in the answer of tools/list. */
void mcp_tool_write(struct json *json, const struct mcp_tool *tool);
/* The table of docs/agents.md. */
void mcp_tools_markdown(struct text *out);

struct mcp_words {
    struct mcp_word_list VECTOR(const char *) list; /* ends with NULL */
    const char *input;                              /* NULL: nothing */
};

/* The command line of a call; `client` is the client's name. False: the arguments are not right. */
bool mcp_tool_words(struct arena *arena, const struct mcp_tool *tool,
                    const struct json_value *arguments, const char *client, struct mcp_words *words,
                    struct error *error);

/* ---- HTTP (http.c) ---- */

struct mcp_request {
    const char *method, *path; /* path without the query */
    const char *host, *origin, *session, *version, *authorization, *accept; /* "" when missing */
    size_t body; /* bytes that follow the head */
    bool close;  /* the connection ends with the answer */
};

enum mcp_head { MCP_HEAD_PART, MCP_HEAD_WHOLE, MCP_HEAD_BAD };

/* The head of a request; *used: how long it is. BAD: *status and *reason are the answer. */
enum mcp_head mcp_request_parse(struct arena *arena, const char *text, size_t length,
                                struct mcp_request *request, size_t *used, int *status,
                                const char **reason);
/* Whether who asks may: Host and Origin are this machine, the token is ours. 0, or a status. */
int mcp_request_refused(const struct mcp_request *request, const char *token);

/* ---- serving (loop.c) ---- */

struct mcp_options {
    const char *program;                    /* smelt itself */
    int input, output;                      /* without a port: where messages come from and go to */
    int port;                               /* of 127.0.0.1; -1: none; 0: any */
    const char *token;                      /* what HTTP clients must show */
    void (*ready)(void *context, int port); /* once it listens */
    void *context;
};

/* Until the input ends and all calls are answered, or the process is told to end. */
bool mcp_serve(const struct mcp_options *options, struct error *error);

#endif
