/*
 * attend, while its loops are written: what attend_lower.c and attend_finish.c share.
 */
#ifndef SMELT_SKELETON_ATTEND_CODE_H
#define SMELT_SKELETON_ATTEND_CODE_H

#include "skeleton/attend.h"

struct attend_code {
    const struct attend *attend;
    struct attend_decisions plan;
    struct arena *arena;
    struct loop_kernel *kernel;
    struct skeleton_values values;
    loop_value at[ATTEND_MAX_AXES];               /* what stands for each axis now */
    loop_value queries, keys, channels, features; /* sizes */
    const struct loop_buffer *turned;             /* queries, feature by feature */
    const struct loop_buffer *sums;               /* of weights times values, channel by channel */
    loop_value turned_from, sums_from;            /* this worker's piece */
    loop_value first;                             /* query of the block */
    loop_value counts[ATTEND_MAX_VECTORS];        /* queries that exist */
    const struct loop_buffer *weights;            /* scores at first: key by key */
    struct loop_variable *tops[ATTEND_MAX_VECTORS], *totals[ATTEND_MAX_VECTORS];
    /* what tensors of the group are here; NULL: not known */
    loop_value score, top, total, mix;
};

static inline loop_value integer(struct attend_code *code, int64_t value)
{
    return loop_integer(code->arena, value);
}

static inline loop_value named(struct attend_code *code, struct loop_block *block, const char *name,
                               loop_value value)
{
    return loop_of(code->arena, loop_let(block, name, value));
}

static inline loop_value axis_variable(struct attend_code *code, int axis)
{
    return loop_of(code->arena, &code->attend->variables[axis]);
}

static inline void open_stage(struct attend_code *code, const struct attend_stage *stage)
{
    code->values.memo = NULL; /* tensors of the group are something else each time */
    attend_open(&code->values, stage, code->at);
}

/* attend_lower.c */
/* What elements of the group's own tensors are: skeleton_values.resolve, with this as context. */
loop_value attend_resolve(void *context, struct skeleton_values *values, int tensor,
                          const loop_value *at);
/* Axes of the batch are the digits of a number. */
void attend_open_batch(struct attend_code *code, struct loop_block *block, loop_value number);

/* attend_finish.c */
/* Where the stage writes; it is open. */
loop_value attend_written_place(struct attend_code *code, const struct ir_stage *stage);
/* A query that saw only scores of -inf: without a guard its weights are exp(-inf - -inf). */
loop_value attend_unguarded(struct attend_code *code, loop_value top, loop_value value);
/* The maps after the sums, and what is needed of all stored, query by query. */
void attend_finish(struct attend_code *code, struct loop_block *block);

#endif
