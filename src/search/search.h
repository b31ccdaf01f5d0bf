/*
 * A run: a graph of candidates, grown by proposers under a policy, judged, diagnosed, recorded.
 *
 * The search owns the graph and is the only one that writes to the store; kernels are judged in
 * batches through an interface, so that tests can put a deterministic judge in place of the real
 * one. With the same seed and such a judge a run repeats exactly.
 */
#ifndef SMELT_SEARCH_SEARCH_H
#define SMELT_SEARCH_SEARCH_H

#include "base/base.h"
#include "diagnose/diagnose.h"
#include "know/know.h"
#include "machine/machine.h"
#include "propose/propose.h"
#include "record/task.h"
#include "skeleton/skeleton.h"
#include "store/store.h"

enum {
    SEARCH_ISLANDS = 4,
    SEARCH_POPULATION = 8, /* of one island */
    SEARCH_BATCH = 16,     /* most kernels judged at once */
    SEARCH_ARMS = 16,      /* proposers */
    SEARCH_LIVE = 1024,    /* candidates in memory; the store has the others (graph.c) */
};

/* ---- judging ---- */

struct search_judgement {
    struct verdict *verdict;
    double fitness; /* speed-up over the fastest baseline, geometric mean over timed cases; 0: not
                       ok */
    struct interval speedup; /* the same with its 95 % interval; all 0: not timed */
    double microseconds;     /* of the first timed case; nan: not timed */
    double floor;
    bool cut;                 /* timed in few rounds only, as a clear loser */
    const char *binary;       /* what the compiler made of it, and its manifest: a hash; or NULL */
    struct search_node *twin; /* not judged: this one has the same binary; or NULL */
    int same_as; /* not judged: kernel of the batch, counted from 1, with the same binary; 0: none
                  */
    /* Finalists: how many times as fast as each other kernel of the batch it is, side by side;
     * nan: not compared. NULL: nobody compared them. */
    const double *against;
    const struct diagnosis *diagnosis; /* known already; NULL: it is found here */
};

enum search_care {
    SEARCH_CARE_USUAL, /* one of many */
    SEARCH_CARE_AGAIN, /* a doubtful one, timed longer */
    SEARCH_CARE_FINAL, /* those of which one is handed back: checked whole, too */
};

struct search_judge {
    /* Judges kernels side by side. False: the judge itself could not work. What it gives back lives
     * in the arena. */
    bool (*judge)(void *context, struct arena *arena, const struct source *const *kernels,
                  struct plan *const *plans, int count, enum search_care care,
                  struct search_judgement *judgements, struct error *error);
    void *context;
    /*
     * What will be judged after the next batch, so that work on it can begin; NULL: the judge has
     * no use for it, and a batch is made when the one before is judged. No kernels: nothing of what
     * was announced will come.
     */
    void (*announce)(void *context, const struct source *const *kernels, int count);
};

/* ---- the graph ---- */

struct search_node {
    struct arena own; /* its plan, its source, its words */
    struct candidate record;
    struct plan *plan;  /* NULL: source only, which experts cannot change */
    const char *source; /* of the kernel; NULL: the plan says it */
    char hash[65];      /* of the plan, or of the source */
    struct diagnosis diagnosis;
    struct interval speedup; /* over the baseline; all 0: not timed in this sitting */
    struct search_node *parent, *mate;
    const char *key; /* of the action, for experience; NULL: none */
    double promise;  /* of the cost model, of the action; 0: none */
    /* Times an expert had nothing new to say about it, by number. */
    unsigned char dry[SEARCH_ARMS];
    int expert; /* number in experts[], -1: none */
    int island; /* -1: none */
    int children;
    bool twin; /* another one had the same binary before */
    bool kept; /* while others retire */
    /* of mcts */
    int visits;
    double reward;
};

struct search_nodes VECTOR(struct search_node *);
struct search_numbers VECTOR(int64_t);

struct search_arm { /* of the bandit: a proposer in a situation */
    double tries, gain, squares;
    double asked; /* in this round, whose proposals are compared with each other */
};

struct search_choice {
    struct search_node *parent, *mate; /* mate may be NULL */
    int expert;
    int island;
};

struct search_island {
    struct search_nodes population;   /* best first */
    int role;                         /* expert */
    int stale;                        /* judged since its best got better */
    const struct search_node *trying; /* proposed last, or NULL */
};

/* ---- proposals from outside ---- */

struct search;

enum { SEARCH_SOURCE_BYTES = 4 << 20, SEARCH_OUTSIDE = 4 }; /* a kernel's text; who may offer */

/*
 * A candidate that no expert made: a model's, an agent's, a person's. It is a kernel's source, or a
 * plan, and from then on a candidate like any other: judged beside them, diagnosed, kept, a
 * finalist. Everything is copied.
 */
struct search_offer {
    const char *source;         /* of a kernel, or NULL */
    const char *plan;           /* its text, or NULL: source only */
    const char *proposer;       /* "model:NAME", "agent:NAME" */
    const char *action, *why;   /* what differs from the parent, and why; may be NULL */
    struct search_node *parent; /* or NULL: begun anew */
    double expected;            /* times as fast as the parent; 0: not said */
    double cost;                /* money */
    int64_t tokens;
    int island; /* -1: none */
};

/* Somebody outside. Its functions are called between batches, in the search's own thread. */
struct search_outside {
    /* Offers that are ready, up to `most`, best first; may begin work on others. They are taken
     * before the next call. */
    int (*take)(void *context, struct search *search, struct search_offer *offers, int most);
    /* Waits up to `seconds` for something to be ready. False: nothing is under way, and nothing
     * will come unless the graph changes. */
    bool (*wait)(void *context, double seconds);
    /* A candidate was judged, whoever offered it. NULL: not told. */
    void (*learn)(void *context, struct search *search, const struct search_node *node);
    void *context;
    /* Whether it still points at this candidate, which then stays in memory. NULL: at none. */
    bool (*holds)(void *context, const struct search_node *node);
};

/* ---- a run ---- */

struct search_policy;

struct search_budget { /* 0: no limit */
    double seconds;
    int64_t evaluations;
    int64_t stall;   /* evaluations without a better one */
    double fitness;  /* stop when reached */
    double of_floor; /* stop when the best is within this part of the floor: 0.95 */
};

struct search_progress {
    double elapsed;
    int64_t judged, right;
    double per_second;
    const struct search_node *best;
    const struct search_node *last; /* judged last */
    int64_t outcomes[OUTCOME_COUNT];
    const struct search_island *islands; /* SEARCH_ISLANDS, or NULL */
    const char *doing;                   /* "judging 4 candidates" */
};

struct search_options {
    const struct search_policy *policy;
    struct search_budget budget;
    uint64_t seed;
    int batch;                        /* kernels judged at once; 0: 4 */
    int finalists;                    /* compared once more at the end; 0: 3 */
    int live;                         /* candidates kept in memory; 0: SEARCH_LIVE */
    bool no_diagnosis, no_experience; /* for comparisons */
    bool no_kernels;                  /* the judge looks at plans alone: none are written */
    const char *start;                /* for comparisons: the text of the only first plan */
    /* For replays, NULL otherwise: whether the plan with this hash may be tried; what the expert of
     * this number says, as its own function would. */
    bool (*allows)(void *context, const char *hash);
    int (*propose)(void *context, int expert, const struct propose_view *view,
                   struct proposal *proposals, int most);
    /* The text of the plan to be tried in the place of one that may not be; NULL: none. */
    const char *(*nearest)(void *context, const struct plan *plan);
    void *replay;
    struct search_outside outside[SEARCH_OUTSIDE];
    int outside_count;
    bool no_experts; /* only seeds and what comes from outside */
    bool island_no_experts[SEARCH_ISLANDS];
    struct search_judge judge;
    struct know *know; /* or NULL */
    /* Called often; false ends the run cleanly. */
    bool (*progress)(void *context, const struct search_progress *progress);
    void *context;
    double (*clock)(void); /* seconds; NULL: the real one */
};

struct search {
    struct arena *arena;
    const struct search_options *options;
    const struct store_engine *engine; /* NULL: nothing is kept */
    struct store *store;
    struct run run;
    const struct skeleton_program *program;
    const char *op; /* its text, for the head of kernels; or NULL */
    int threads;    /* kernels are given */
    struct machine machine;
    struct rates rates; /* all 0: nothing was measured */
    struct random random;
    int64_t drawn_for;         /* candidates there were when numbers were drawn from a new place */
    struct search_nodes nodes; /* in memory, in the order of their numbers */
    struct search_nodes retired;  /* room for the next ones */
    struct fingerprints known;    /* of search_node.hash, of all there ever were */
    struct fingerprints binaries; /* of search_judgement.binary, likewise */
    struct map words;             /* that many candidates have in common: decisions, proposers */
    struct map graphs;            /* rewrites of a plan -> the program they make */
    struct search_node *best;
    struct search_node *winner;   /* of the kernels compared in pairs last, or NULL */
    struct search_node *first;    /* the best of the first plans, once they were judged; or NULL */
    struct search_node *champion; /* the winner of an earlier sitting, or NULL */
    struct belief_set beliefs;
    struct search_island islands[SEARCH_ISLANDS];
    struct search_arm arms[DIAGNOSIS_COUNT][SEARCH_ARMS];
    int64_t judged, since_best, duplicates, twins, repeats;
    int64_t timed;   /* right, and timed to the end: not cut, not taken from a twin */
    int64_t foreign; /* of those judged, by other processes since the run was opened */
    int64_t heard;   /* whatever the store has up to this number was looked at */
    struct search_numbers waiting; /* of those, who had no verdict by then */
    double started;
    struct search_progress seen;
};

enum search_end {
    SEARCH_TIME,
    SEARCH_EVALUATIONS,
    SEARCH_STALL,
    SEARCH_TARGET,
    SEARCH_FLOOR,
    SEARCH_EXHAUSTED,
    SEARCH_STOPPED,
    SEARCH_FAILED
};

const char *search_end_name(enum search_end end); /* "the time was up" */

/*
 * Runs until the budget is spent. search->run, program, arena, options and the store are set by the
 * caller; run.id 0 begins a new run, another one goes on where it was. FAILED: error is set.
 */
enum search_end search_run(struct search *search, struct error *error);

/* The run as the store has it, or a new one, for what follows; search_run does it by itself. */
bool search_open(struct search *search, struct error *error);
/*
 * Offers alone, after search_open: they are judged in batches, the good ones beside the best so far
 * with more care, and the run's record is brought up to date. nodes[i]: the candidate made of
 * offers[i], or the one there was already with the same plan or source; NULL: its plan is none. No
 * expert is asked.
 */
bool search_submit(struct search *search, const struct search_offer *offers, int count,
                   struct search_node **nodes, struct error *error);
/* The candidate with this number, if it is in memory, once a run was loaded; NULL: it is not. */
struct search_node *search_find(const struct search *search, int64_t id);
/* The same, or else from the store; NULL: the run has none of that number. */
struct search_node *search_recall(struct search *search, int64_t id);
/* Who was judged with this binary, from the store if need be; NULL: nobody. */
struct search_node *search_twin(struct search *search, const char *binary);
/* Whether the search began with it, or somebody began anew with it. */
bool search_is_first(const struct search_node *node);
/* The kernel of a candidate. */
void search_source(const struct search *search, const struct search_node *node, struct text *out);

/* So many times as fast as another is worth a change of place. */
#define SEARCH_CLEARLY 1.01

/* ---- policies ---- */

struct search_policy {
    const char *name, *note;
    bool blind; /* takes any proposal, whatever is believed of it */
    /* Which parent to ask whom about. False: there is nothing to choose from. */
    bool (*choose)(struct search *search, struct search_choice *choice);
    /* A child was judged. */
    void (*learn)(struct search *search, struct search_node *node);
};

/* The number of an island by its name; -1: none. */
int search_island_find(const char *name, size_t length);
/* The other way round; NULL: it is none. */
const char *search_island_name(int island);

extern const struct search_policy *const search_policies[]; /* the default first; ends with NULL */
const struct search_policy *search_policy_find(const char *name);

/* ---- bandit (bandit.c) ---- */

/* An expert for this parent, by what earned most in its situation. */
int bandit_choose(struct search *search, const struct search_node *parent);
/* In a round several are asked, and their proposals compared: whoever was asked is asked later. */
void bandit_begin_round(struct search *search);
void bandit_note_asked(struct search *search, const struct search_node *parent, int expert);
/* Whether nobody who is concerned has anything new to say about it. */
bool bandit_is_dry(const struct search *search, const struct search_node *node);
void bandit_learn(struct search *search, const struct search_node *node);

/* Which of the nodes that are ok is the best; NULL: none. */
struct search_node *search_best_of(const struct search_nodes *nodes);

#endif
