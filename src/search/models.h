/*
 * Language models as proposers of a run. They are asked about the best candidates while experts go
 * on, within caps on money and tokens; what they answer becomes candidates (search.h, "proposals
 * from outside").
 *
 * Replies come from servers, from the cache (the same request was answered before) or from a
 * transcript. Every exchange is kept whole in the store.
 */
#ifndef SMELT_SEARCH_MODELS_H
#define SMELT_SEARCH_MODELS_H

#include "propose/llm/llm.h"
#include "propose/model/model.h"
#include "search/search.h"

enum {
    MODELS_ASKS = 32,    /* under way at once, all models together */
    MODELS_PER_NODE = 3, /* times a model is asked about one candidate */
    MODELS_FAILURES = 3, /* requests in a row that fail before a model is given up */
    MODELS_REPAIRS = 2,  /* candidates in a row that are wrong before it begins elsewhere */
    MODELS_LEAST = 1000, /* tokens: a reply that can be no longer is not worth asking for */
};

struct models_member { /* a model that takes part */
    const struct model *model;
    unsigned islands;           /* a bit each; 0: all */
    bool off;                   /* given up */
    const char *why;            /* in words */
    int open;                   /* requests under way */
    int failures;               /* in a row */
    int repairs;                /* in a row */
    struct search_node *broken; /* its own candidate that is to be repaired, or NULL */
    int next_island;
    /* what came of it */
    int64_t asked, malformed, failed, offered, cached, replayed;
    int64_t read, written;
    double cost, gain, expected, got; /* expected, got: sums of logarithms over `compared` */
    int64_t compared;
};

struct models_ask {
    bool used, ready, delivered; /* ready: an offer is made */
    int64_t id;                  /* of the request under way; 0: none */
    int member;
    bool repair; /* it is the request to repair a reply */
    struct arena arena;
    struct search_node *parent;
    const char *kernel; /* of the parent, or NULL */
    struct model_request request;
    const char *topic; /* of the prompt: see llm.h */
    const char *hash;  /* of the question, for the cache */
    int64_t prompt;    /* tokens, guessed */
    double cost;       /* of this and the one it repairs */
    int64_t tokens;
    struct search_offer offer;
};

struct models_run {
    const struct models *models; /* all that are configured */
    struct models_member members[MODELS];
    int count;
    double money; /* caps; 0: none */
    int64_t tokens;
    bool no_cache;
    const struct llm_exchanges *replay; /* replies come from there alone; or NULL */
    /* The prompt for a candidate, from the point of view of an expert or NULL. False: it cannot be
     * asked about. */
    bool (*prompt)(void *context, struct arena *arena, struct search *search,
                   const struct search_node *node, const struct proposer *role, size_t window,
                   struct llm_prompt *prompt, struct error *error);
    /* Something that users should know. */
    void (*say)(void *context, const char *text);
    void *context;
    /* from here on its own */
    struct search *search;
    struct arena arena;
    struct model_client client;
    bool started, capped, ending;
    struct models_ask asks[MODELS_ASKS];
    struct map asked; /* node and model -> how often */
    bool *replayed;   /* which exchanges were */
    bool recalled;    /* what other sittings of the run took is in the next two */
    double spent;
    int64_t used; /* tokens */
};

/* For search_options.outside. */
struct search_outside models_outside(struct models_run *run);
/* Starts the worker, unless replies come from a transcript. */
bool models_begin(struct models_run *run, struct error *error);
/* Whatever is under way is given up. */
void models_end(struct models_run *run);

/* Private to the search: a reply to an ask (models_reply.c). */
void models_take_reply(struct models_run *run, struct models_ask *ask,
                       const struct model_reply *reply);
/* Sends the request of an ask, or answers it from cache or transcript. */
void models_send(struct models_run *run, struct models_ask *ask);
/* What the reply to a prompt of so many tokens may take; 0: nothing is left for it. */
int64_t models_allow(struct models_run *run, const struct model *model, int64_t prompt,
                     int64_t reply);
void models_note(struct models_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
