/*
 * A client of `smelt mcp`, for tests: starts the server, sends lines, waits for answers.
 */
#ifndef SMELT_TESTS_UNIT_MCP_CLIENT_H
#define SMELT_TESTS_UNIT_MCP_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/base.h"
#include "base/json_read.h"

struct client {
    struct arena arena;
    const char *folder; /* of this test; its store is in there */
    pid_t pid;
    int to, from;
    char *buffer; /* what came and was not taken yet */
    size_t length;
    int id;          /* of the last request */
    int progress;    /* notifications while the last answer was awaited */
    char doing[200]; /* the last of them */
};

/* A new folder, gone when the test ends. */
const char *client_folder(struct arena *arena);
/* Where build/smelt is. */
const char *client_smelt(struct arena *arena);

/* Starts a server with a store in the folder; with `port`, over HTTP, and its port is given back.
 */
void client_start(struct client *client, const char *folder);
/* Starts it and says hello. */
void client_open(struct client *client, const char *folder);
void client_send(struct client *client, const char *line);
/* The next message; NULL: none within so many seconds, or the end. */
const struct json_value *client_receive(struct client *client, double seconds);
/* Sends a request with these params (JSON, or NULL) and waits for its answer. */
const struct json_value *client_request(struct client *client, const char *method,
                                        const char *params);
/* Sends a call of a tool, with a progress token; its id is client->id. */
void client_send_call(struct client *client, const char *tool, const char *arguments);
/* The answer to a request that was sent. */
const struct json_value *client_await(struct client *client, int id);
/* The result of a tool; it is to be an error, or not. */
const struct json_value *client_call(struct client *client, const char *tool, const char *arguments,
                                     bool wrong);
/* The text of a result. */
const char *client_text(const struct json_value *result);
/* Closes its input; it is to end by itself, with 0. */
void client_close(struct client *client);

/* {"key": "text", ...}: pairs up to NULL; lists and whole numbers are as they are. */
const char *client_object(struct arena *arena, ...);

/* A task and kernels for it: the plain one takes time with the square of N. */
extern const char client_task[], client_fast[], client_wrong[], client_slow[];

#endif
