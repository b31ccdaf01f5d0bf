/*
 * What `smelt prompt` gathers: everything a prompt may say about a task and a parent.
 */
#ifndef SMELT_CMD_PROMPTED_H
#define SMELT_CMD_PROMPTED_H

#include "cmd/kb.h"
#include "cmd/planned.h"
#include "cmd/stored.h"
#include "know/know.h"
#include "propose/llm/llm.h"
#include "propose/propose.h"

enum {
    PROMPT_WINDOW = 128000,
    PROMPT_PAGES = 24,
    PROMPT_EXPERIENCE = 32,
    PROMPT_WINNERS = 2,
    PROMPT_EXAMPLES = 3,
    PROMPT_RUN = 5000, /* candidates of a run that are looked at */
};

struct prompted {
    struct planned planned;        /* its invocation says what the task is */
    struct invocation *invocation; /* of the command: store and knowledge base */
    const char *from;              /* the parent, as it was typed; NULL: the best seed plan */
    const char *judged;            /* of a parent that is a file: that of its verdict; or NULL */
    int threads;
    const struct proposer *role; /* or NULL */
    const char *structure;       /* of the op, where it is known already; else it is found */
    /* gathered */
    struct llm_context context;
    struct machine machine;
    struct rates rates;
    struct candidate parent;
    struct diagnosis diagnosis;
    struct stored stored; /* stored.store NULL: there is none */
    struct kb kb;
    bool kb_opened;
    struct know know;
    struct kb_hit pages[PROMPT_PAGES];
    struct llm_relative relatives[LLM_RELATIVES];
    const char *winners[PROMPT_WINNERS];
    struct llm_example examples[PROMPT_EXAMPLES];
};

/* Fills in `context`; with `all` evidence, or only the task and the parent. False: errors. */
bool prompted_gather(struct prompted *prompted, bool all);
/* The same about a candidate of the store, with `planned`, `stored`, `threads` and `role` set by
 * the caller; diagnosis: when more is known than the store has, or NULL. */
bool prompted_about(struct prompted *prompted, const struct candidate *candidate,
                    const struct diagnosis *diagnosis);
void prompted_close(struct prompted *prompted);

/* --window, --role and --threads, which several commands have. False: errors were added. */
bool prompted_window(struct invocation *invocation, size_t *window);
bool prompted_role(struct invocation *invocation, const struct proposer **role);

#endif
