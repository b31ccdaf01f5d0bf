/*
 * Private to src/judge: fresh values for every timed call, and what they should have given.
 */
#ifndef SMELT_JUDGE_REFRESH_H
#define SMELT_JUDGE_REFRESH_H

#include "judge/launch.h"

struct refresh {
    struct worker *worker;
    const struct ir_binding *binding;
    const struct draw *draws; /* values are taken from these */
    int draw_count;
    const struct task_input *inputs; /* what is promised about them */
    struct random *random;
    struct arena arena;
    void *(*encoded)[CELL_MAX_TENSORS]; /* per draw and input, as the kernel sees it */
    struct refresh_state *slots;        /* what each slot holds */
    bool *may_turn;                     /* per input */
};

/* Prepares; the worker has its buffers. */
void refresh_begin(struct refresh *refresh);
/* New values for all inputs of a slot, rubbish over all its outputs. */
void refresh_slot(struct refresh *refresh, int slot);
/*
 * Compares the outputs of a slot with the oracle at points chosen now. False when one is off, or,
 * with a code in `fault`, when the oracle failed.
 */
bool refresh_compare(struct refresh *refresh, int slot, struct error *fault);
void refresh_end(struct refresh *refresh);

#endif
