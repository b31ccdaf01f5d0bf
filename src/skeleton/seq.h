/*
 * seq: a loop over time with the contraction inside. Private to the seq*.c files.
 *
 * A step is one set of points, rows x lanes: rows are what the first factor of the sums has for
 * itself (the batch), lanes the last index of the second (hidden units). The other indices of the
 * second factor are gates: few, of known size, all in registers at once. What a step computes at a
 * point depends on the sums at this point alone; what it carries on to the next step is kept twice,
 * so that a step reads the one and writes the other.
 */
#ifndef SMELT_SKELETON_SEQ_H
#define SMELT_SKELETON_SEQ_H

#include "skeleton/contract.h"

enum {
    SEQ_MAX_SUMS = 4,    /* contractions of a step */
    SEQ_MAX_GATES = 8,   /* vectors of sums of all of them, per row */
    SEQ_MAX_STAGES = 64, /* of a step */
    SEQ_MAX_COPIES = 16, /* of a map that is stored, for its indices of known size */
};

enum { SEQ_LANE = CONTRACT_MAX_INDICES, SEQ_OTHER }; /* axes; below: the rows */

struct seq_sum {
    struct skeleton_group group; /* of this stage alone */
    int stages[1];
    struct contract contract;
    int gates, first_gate;
};

struct seq_store { /* a map whose values leave the step */
    const struct ir_stage *stage;
    int state; /* the carry whose next value it is; -1: an element of its own tensor */
};

struct seq {
    const struct skeleton_group *group; /* the loop, and before it the maps its states begin with */
    const struct ir_stage *loop;
    struct skeleton_group
        body; /* the stages of a step; its maps are computed where they are read */
    struct seq_sum sums[SEQ_MAX_SUMS];
    int sum_count, gates, rows, lanes; /* rows: indices; lanes: of a vector */
    enum dtype dtype;
    struct seq_store stores[SEQ_MAX_STAGES];
    int store_count;
    int *axes; /* per index of the part: a row, SEQ_LANE, SEQ_OTHER */
};

struct seq_code {
    const struct seq *seq;
    struct arena *arena;
    struct loop_kernel *kernel;
    struct skeleton_values values;
    struct contract_code *sums;
    const struct loop_buffer **states; /* per carry: its values before and after a step */
    const struct loop_variable *lane;
    loop_value now, next; /* which of the two is read, which written */
    loop_value rows[CONTRACT_MAX_INDICES];
    loop_value *gates; /* the sums of the row that is open, one vector each */
    bool constant;     /* what is computed must be the same in all steps */
    bool row_only;     /* states were read at the row that is open alone */
    bool failed;       /* something is not as it must be */
    int tile;          /* rows */
    int64_t block_k;
};

/* seq_match.c. Lives in the group's arena; NULL: it does not fit, and why. */
const struct seq *seq_match_group(const struct skeleton_group *group,
                                  struct skeleton_reason *why_not);
/* Whether rows never read each other's states, so that threads may take rows for all steps. */
bool seq_rows_alone(const struct seq *seq);

/* seq_lower.c */
struct seq_code *seq_code_new(const struct seq *seq, struct loop_kernel *kernel, int tile,
                              int64_t block_k);
/* The values of a step's stores at the open row, copy by copy: offsets and values in turn, with
 * their buffers. How many. */
int seq_collect(struct seq_code *code, loop_value *stored, const struct loop_buffer **buffers);
void seq_lower(const struct skeleton_group *group, const struct plan_group *plan,
               struct loop_kernel *kernel);

#endif
