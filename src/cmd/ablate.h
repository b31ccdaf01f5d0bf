/*
 * `smelt bench ablate`: what the parts of the search are worth. Plans of a task are measured once
 * into a table (ablate_grid.c, ablate_measure.c); searches with and without a part are replayed on
 * tables (ablate_replay.c); how many evaluations each needs is told with intervals (ablate.c).
 */
#ifndef SMELT_CMD_ABLATE_H
#define SMELT_CMD_ABLATE_H

#include "cmd/command.h"
#include "search/table.h"

enum { ABLATE_TABLES = 128, ABLATE_SEEDS = 1000, ABLATE_PLANS = 10000 };

enum ablate_experience { /* what a search may know from elsewhere */
                         ABLATE_NOTHING,
                         ABLATE_ALL,      /* what was learned on the other tables */
                         ABLATE_STRANGERS /* less those of the same structure: the same op at other
                                             sizes */
};

struct ablate_arm { /* a way to search */
    const char *name;
    const char *policy;
    bool diagnosis;
    enum ablate_experience experience;
};

extern const struct ablate_arm ablate_arms[]; /* the first is what others are compared with */
enum { ABLATE_ARMS = 7 };

struct ablate_case { /* a table, ready */
    const char *name;
    struct task *task;
    struct table *table;
    struct skeleton_target target;
    const struct skeleton_program *program;
    const char *structure, *shape, *dtype;
    bool teaches;                              /* others may know what was learned on it */
    struct store *lessons;                     /* what that is, or NULL */
    struct store *known[ABLATE_STRANGERS + 1]; /* what it may know from others, or NULL */
    /* per arm and seed: evaluations until 95 % of the best; those that never got there: all */
    int *needed[ABLATE_ARMS];
    int reached[ABLATE_ARMS];
};

struct ablate {
    struct invocation *invocation;
    struct ablate_case cases[ABLATE_TABLES]; /* `count` searched on, then those only learned on */
    int count, all, seeds;
    bool poor_start;
    bool left_out[ABLATE_ARMS]; /* arms that nobody asked for */
};

/* The first task of a text, and the program of its first timed case, for out->target. */
bool ablate_prepare(struct invocation *invocation, const char *name, const char *text,
                    struct ablate_case *out);

/* The plans of a table (ablate_grid.c). */
struct ablate_grid {
    struct arena *arena;
    const struct skeleton_program *program;
    struct plans VECTOR(struct plan *) plans;
    struct map seen; /* hash -> plan */
    size_t next;     /* to be measured */
};

/* About `most` of them, those a search begins with first among them. */
void ablate_grid_make(struct ablate_grid *grid, int most);
/* For search_options.propose: one after the other. */
int ablate_grid_next(void *grid, int expert, const struct propose_view *view,
                     struct proposal *proposals, int most);

/* Measures `plans` plans of the task in each file, one table each, in the folder of --save. */
enum exit_code ablate_measure(struct invocation *invocation, int plans, double seconds,
                              int threads);
/* Learns on each table that teaches, then replays every arm on each of the first `count` with what
 * was learned on others. */
bool ablate_replay(struct ablate *ablate, struct error *error);
/* smelt bench ablate, the word `ablate` still among the operands. */
enum exit_code ablate_run(struct invocation *invocation);

#endif
