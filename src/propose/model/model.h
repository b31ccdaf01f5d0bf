/*
 * Language models behind a network: which there are, what they are sent, what came back.
 *
 * Two protocols are spoken, both streaming: chat completions as OpenAI's server has them (and vLLM,
 * llama.cpp, Ollama and gateways), and Anthropic's messages. libcurl does the transport; it is
 * opened at run time, and where it is missing models cannot be asked, nothing else.
 *
 * All of it happens in a process of its own, the worker: it alone knows keys, it goes on while
 * kernels are judged, and what a server sends is read there. It takes requests and gives replies
 * over a socket; keys are taken out of everything it gives.
 */
#ifndef SMELT_PROPOSE_MODEL_MODEL_H
#define SMELT_PROPOSE_MODEL_MODEL_H

#include <sys/types.h>

#include "base/base.h"
#include "base/json_read.h"

enum {
    MODELS = 16,                    /* of one file */
    MODEL_CONFIG_BYTES = 64 << 10,  /* of the file */
    MODEL_KEY_BYTES = 4096,         /* of a key */
    MODEL_TEXT_BYTES = 4 << 20,     /* of a reply's text */
    MODEL_STREAM_BYTES = 32 << 20,  /* received for one reply, frames and all */
    MODEL_LINE_BYTES = 8 << 20,     /* of one line of a stream */
    MODEL_MESSAGE_BYTES = 64 << 20, /* between us and the worker */
    MODEL_TURNS = 4,                /* messages of a request */
};

/* ---- configuration (config.c) ---- */

struct model_protocol;

struct model {
    const char *name; /* as users call it */
    const struct model_protocol *protocol;
    const char *url;                     /* up to the version: https://host/v1 */
    const char *id;                      /* what the server calls it */
    const char *key_variable, *key_file; /* where its key is; both NULL: it needs none */
    const char *limit;                   /* name of the field for the longest reply */
    size_t window, reply;                /* tokens in all; of a reply */
    double price_read, price_written;    /* money per million tokens */
    double temperature;                  /* below 0: not said */
    int at_once;                         /* requests */
    int attempts;
    double connect, idle, total; /* seconds: to connect, without a byte, for all attempts */
    struct place place;          /* where it is configured */
};

struct models VECTOR(struct model);

/* The models of a file. False: it is malformed, and the error says where. */
bool model_config_parse(struct arena *arena, const struct source *source, struct models *models,
                        struct error *error);
/*
 * The models there are: of the file `path`, else SMELT_LLM_CONFIG, else models.conf in smelt's
 * folder for configuration, where no file means no models; and one called `env` where SMELT_LLM_URL
 * and SMELT_LLM_MODEL are set. *where: the file, for messages.
 */
bool model_config_load(struct arena *arena, const char *path, struct models *models,
                       const char **where, struct error *error);
const struct model *model_find(const struct models *models, const char *name);
/* Whether its key is there and safe. */
bool model_key_check(const struct model *model, struct error *error);
/* What so many tokens cost. */
double model_cost(const struct model *model, int64_t read, int64_t written);

/* ---- requests and replies ---- */

struct model_turn {
    const char *role; /* "user", "assistant" */
    const char *text;
};

struct model_request {
    const char *system;
    struct model_turn turns[MODEL_TURNS];
    int turn_count;
    int64_t reply; /* tokens the reply may have */
    double money;  /* what all attempts together may cost; 0: as much as they do */
    int64_t tokens;
    bool list; /* not a question: which models the server has */
};

enum model_fate {
    MODEL_OK,
    MODEL_FAILED,  /* this time: it may be asked again */
    MODEL_REFUSED, /* key, address or name are wrong: asking again is no use */
};

struct model_reply {
    int64_t id; /* of the request */
    enum model_fate fate;
    const char *text;    /* as far as it came */
    const char *message; /* what went wrong; "" when nothing did */
    const char *stop;    /* why it ended, in the server's words; "" */
    int64_t read, written;
    bool counted;      /* by the server; else by us, rather too many than too few */
    const char *doubt; /* why the server's count was not taken; "" */
    int attempts;
    double seconds;
};

/* ---- protocols (protocol.c) ---- */

struct model_stream { /* a reply on its way */
    struct arena *arena;
    struct text text;
    int64_t read, written; /* as the server says; -1: it did not */
    bool odd;              /* it said something that is no number of tokens */
    bool done;             /* it said that it is finished */
    const char *stop;
    const char *error; /* the server's words, or NULL */
};

struct model_protocol {
    const char *name; /* "openai" */
    const char *note;
    const char *path;  /* of a question */
    const char *limit; /* usual name of the field for the longest reply */
    /* The header that carries a key: "Authorization: Bearer ". */
    const char *key_header;
    const char *version_header; /* or NULL */
    void (*write)(struct json *json, const struct model *model,
                  const struct model_request *request);
    /* One event of the stream, or a whole answer where the server does not stream. */
    void (*take)(struct model_stream *stream, const struct json_value *value);
};

extern const struct model_protocol *const model_protocols[]; /* ends with NULL */
const struct model_protocol *model_protocol_find(const char *name);

/* The body of a request. */
const char *model_body(struct arena *arena, const struct model *model,
                       const struct model_request *request);
/* What names a request: protocol, address and body, 64 digits. */
const char *model_request_hash(struct arena *arena, const struct model *model,
                               const struct model_request *request);
/* One event's data; what is no JSON is an error of the stream. */
void model_stream_event(struct model_stream *stream, const struct model *model, const char *data,
                        size_t length);
/* Whether the server's count can be: else why not. `bytes` of the prompt were sent. */
const char *model_doubt(const struct model_stream *stream, size_t bytes, int64_t most);

/* ---- events of a stream (sse.c) ---- */

struct sse {
    struct arena *arena;
    struct text line, data;
    bool has_data, after_return, begun;
    bool failed; /* a line was too long */
    void (*take)(void *context, const char *data, size_t length);
    void *context;
};

struct sse sse_new(struct arena *arena, void (*take)(void *, const char *, size_t), void *context);
/* Bytes as they come. False: a line was longer than MODEL_LINE_BYTES. */
bool sse_push(struct sse *sse, const char *bytes, size_t length);

/* ---- the worker (client.c, worker.c) ---- */

struct model_client {
    pid_t pid;
    int socket;
    struct arena arena;
    struct text inbox;
    int64_t last; /* id */
    bool ended;   /* the worker is gone */
};

/* Whether libcurl is there; else what to install. */
bool model_transport_check(struct error *error);
/* Starts the worker for these models, which must live as long. */
bool model_client_start(struct model_client *client, const struct models *models,
                        struct error *error);
/* Asks a model; the number of the request, or 0: the worker is gone. */
int64_t model_client_ask(struct model_client *client, const struct models *models,
                         const struct model *model, const struct model_request *request);
/* A reply that is there within so many seconds. False: none, or (client->ended) never any more. */
bool model_client_hear(struct model_client *client, struct arena *arena, double seconds,
                       struct model_reply *reply);
/* Ends the worker, whatever it is doing. */
void model_client_stop(struct model_client *client);

/* Private to this folder: what the worker does; never comes back. */
_Noreturn void model_worker(int socket, const struct models *models);
/* Sends a message: kind, number and bytes. */
bool model_send(int socket, char kind, int64_t number, const void *bytes, size_t length);

#endif
