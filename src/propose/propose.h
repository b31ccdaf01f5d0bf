/*
 * Proposers: who suggests what to try next. An expert changes plans from one point of view; an LLM
 * or an agent writes kernels; all of them answer the same question the same way.
 *
 * Proposals are legal: what comes out can be lowered, compiled and judged as it is.
 */
#ifndef SMELT_PROPOSE_PROPOSE_H
#define SMELT_PROPOSE_PROPOSE_H

#include "base/base.h"
#include "plan/plan.h"
#include "record/search.h"
#include "skeleton/skeleton.h"

struct proposal {
    struct plan *plan;
    const char *action; /* what differs from the parent: "rows.lanes 8 -> 16" */
    const char *key;    /* the same for any task: "row.lanes 8 -> 16" */
    const char *why;    /* one sentence */
    double promise;     /* how many times as fast it may be; above 0, only for ranking */
    const char *hash;   /* of the plan, where it is known already; or NULL */
};

/* What is known when the question is asked. Everything made goes to the program's arena. */
struct propose_view {
    const struct skeleton_program *program;
    const struct plan *parent;
    const struct plan *mate;           /* another plan of the same program, or NULL */
    const struct diagnosis *diagnosis; /* of the parent; NULL: none */
    struct random *random;
    /* Of the parent, where they are known already: the hash of the plan, or NULL, and the seconds
     * that are predicted for it, or 0. */
    const char *hash;
    double seconds;
};

enum { PROPOSE_MOST = 64 };

struct proposer {
    const char *name; /* "memory" */
    const char *note; /* one line */
    /* How much it has to say when this is the matter: 0 nothing, 1 something, 2 it is the one. */
    int (*concern)(enum diagnosis_class class);
    /* Up to `most` (at most PROPOSE_MOST) proposals, best first; how many. */
    int (*propose)(const struct propose_view *view, struct proposal *proposals, int most);
};

/* The source of a plan that was checked; `op` is the text of the op, or NULL. */
void propose_source(const struct skeleton_program *program, const struct plan *plan, const char *op,
                    struct text *source);

extern const struct proposer *const experts[]; /* ends with NULL */
const struct proposer *expert_find(const char *name);

#endif
