/*
 * Private to src/judge: fresh values for every timed call, and what they should have given.
 */
#ifndef SMELT_JUDGE_REFRESH_H
#define SMELT_JUDGE_REFRESH_H

#include "judge/drawn.h"
#include "judge/sample.h"

/*
 * Where values come from: a few draws, each input a little longer than the tensor, its beginning
 * repeated at its end, so that a window of it that starts anywhere is the draw, turned.
 */
struct refresh_pool {
    const struct ir_binding *binding;
    const struct draw *draws;
    int draw_count;
    int64_t memory;                     /* the oracle may take for some points */
    int64_t turns[CELL_MAX_TENSORS];    /* per input: how many windows there are */
    char *(*encoded)[CELL_MAX_TENSORS]; /* per draw and input, as the kernel sees it */
    const struct oracle_slice *slice;   /* evaluates points; NULL: the next, or the interpreter */
    const struct oracle_code *whole;    /* evaluates all elements for some points, where one of them
                                           depends on most of them; or NULL */
    double (*limits)[CELL_MAX_TENSORS]; /* per draw and output: how far off an element may be... */
    double (*largest)[CELL_MAX_TENSORS]; /* ...that is no larger than this, others accordingly */
    struct drawn *drawn;                 /* instead, where they are large; closed by its owner */
    const struct sampling *sampling;     /* with it */
    double point_seconds;                /* with it: what evaluating a few points takes */
};

/* Made once for all launches. `inputs` says what is promised about them. */
struct refresh_pool *refresh_pool_make(struct arena *arena, const struct ir_binding *binding,
                                       const struct draw *draws, int draw_count,
                                       const struct task_input *inputs);

/* The same for a case that is compared at chosen elements. NULL with the error set. */
struct refresh_pool *refresh_pool_draw(struct arena *arena, const struct ir_binding *binding,
                                       const struct sampling *sampling, uint64_t seed,
                                       struct error *error);

/* What the slots of one worker hold. */
struct refresh {
    const struct refresh_pool *pool;
    struct worker *worker;
    struct random *random;
    struct refresh_state *slots;
};

void refresh_begin(struct arena *arena, struct refresh *refresh);
/* New values for all inputs of a slot, rubbish over all its outputs. */
void refresh_slot(struct refresh *refresh, int slot);
/* For calls that do not count, before all others: any values that fit, in all slots. */
void refresh_first(const struct refresh_pool *pool, struct worker *buffers, struct random *random);
/* Rubbish over scratch, and over what lies between the outputs: nothing is handed down there. */
void refresh_wipe(struct refresh *refresh);
/*
 * Whether a slot's outputs were written: elements chosen now are looked at, and those that are as
 * they were before are compared with the oracle. False as for refresh_compare.
 */
bool refresh_written(struct refresh *refresh, int slot, struct error *fault);
/*
 * Compares the outputs of a slot with the oracle at points chosen now, the first and the last
 * element among them when there are more than two. False when one is off, or, with a code in
 * `fault`, when the oracle failed.
 */
bool refresh_compare(struct refresh *refresh, int slot, int points, struct error *fault);

#endif
