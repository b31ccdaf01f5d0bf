/*
 * Rewrites: a flat program made another one that computes the same values but for rounding. One
 * file each, one row in the table. Which of them pays is not decided here: a plan says which are
 * made (src/plan), the cost model and the judge say what they are worth.
 *
 * A rewrite is named by what it does and the stage it does it to; some take a number. Symbols and
 * scalars stay what they are, number for number, and so does the order of inputs and outputs;
 * tensors are added and left out, indices only added. Where a rewrite holds at some sizes only, the
 * part it leaves says so (`zeros`), and plans with it must fix these sizes.
 */
#ifndef SMELT_IR_REWRITE_H
#define SMELT_IR_REWRITE_H

#include "ir/ir.h"

struct ir_reason { /* why not */
    char text[200];
};

struct ir_rewrite {
    const char *name;
    const char *note;   /* one line: what becomes what */
    const char *number; /* what its number counts; NULL: it takes none */
    int64_t least, most;
    bool spares; /* does less in every case, as accurately: it need not be predicted to be faster */
    /* Whether the stage can be rewritten so. False: *why_not says what is in the way. */
    bool (*match)(const struct ir_graph *graph, int stage, struct ir_reason *why_not);
    /* Only what matches. The program shares with the old one what did not change. */
    struct ir_program *(*apply)(struct arena *arena, const struct ir_graph *graph, int stage,
                                int64_t number);
    /* A number that is good at these sizes; NULL where it takes none. */
    int64_t (*choose)(const struct ir_graph *graph, int stage, const struct ir_binding *binding);
};

extern const struct ir_rewrite *const ir_rewrites[]; /* ends with NULL */
const struct ir_rewrite *ir_rewrite_find(const char *name);

#endif
