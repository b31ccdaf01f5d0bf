/*
 * What the files of the row skeleton for devices share. Private to the room.
 *
 * A row is gone over in passes (src/skeleton/row.h says which stage is in which). A pass is a walk
 * of steps; a step is a vector of elements:
 *
 *     along    of one row, which a team of threads shares
 *     across   of as many rows side by side; a team is the threads of a block that have the same
 *
 * The first `keep` steps of a thread stay in registers from pass to pass, the others are read
 * again, `unroll` at a time. With `split` so many blocks share a row: each pass is a launch, and
 * begins with what the blocks of the passes before have left.
 */
#ifndef SMELT_SKELETON_DEVICE_ROW_H
#define SMELT_SKELETON_DEVICE_ROW_H

#include "skeleton/device/device.h"
#include "skeleton/row.h"

struct device_row_stage {
    loop_value value, place, offset; /* in terms of the chains' variables, while its pass is made */
    const struct loop_buffer *buffer;        /* MAP: where it goes */
    const struct loop_buffer *sums, *places; /* REDUCE: one per row of a thread; the result later */
    const struct loop_buffer *partial, *partial_places; /* what blocks leave, when rows are split */
};

struct device_row {
    const struct skeleton_group *group;
    const struct plan_group *plan; /* NULL: while nothing is decided */
    struct loop_kernel *kernel;
    struct arena *arena;
    struct row_group row;
    struct nest_chains left, reduced;
    struct skeleton_values values;
    struct device_row_stage stages[ROW_MAX_STAGES];
    bool can_along, can_across;
    int across;               /* the left chain rows lie side by side along */
    int smallest, load_bytes; /* bytes of the narrowest element, of all loads at a point */
    int64_t rows, length;     /* at the sizes to be good at */
    bool stores;              /* elements are written */
    /* decided */
    bool is_across, reciprocal;
    int threads, team, elements, keep, unroll, split;
    /* while a function is written */
    struct loop_block *top;
    struct device_team combining;
    struct device_loads kept; /* loads that have registers from pass to pass */
    loop_value row_number;    /* of the first row of this thread */
    loop_value inside;        /* whether it is a row of its own; NULL: always */
    loop_value part;          /* of the row, when it is split */
    loop_value lane;          /* number of this thread in its team */
    loop_value column;        /* across: the first one of this thread */
    loop_value element;       /* which row of the thread results are asked for */
    struct map places;        /* variables of left chains -> values */
};

/* The group sorted out; false: why it is none for devices. */
bool device_row_init(struct device_row *row, const struct skeleton_group *group,
                     struct loop_kernel *kernel, struct skeleton_reason *why_not);
void device_row_decide(struct device_row *row, const struct plan_group *plan);
/* The chain that vectors run along. */
const struct nest_chain *device_row_lane(const struct device_row *row);
/* Makes values and places of the stages of a pass; adds the loads they have. */
void device_row_collect(struct device_row *row, int pass, struct device_loads *loads);
void device_row_align(struct device_row *row, struct device_loads *loads);
bool device_row_store_aligned(struct device_row *row, const struct device_row_stage *stage);
/* Rows of a thread: its sums. */
int device_row_sums(const struct device_row *row);

/* row_lower.c */
void device_row_lower(const struct skeleton_group *group, const struct plan_group *plan,
                      struct loop_kernel *kernel);

#endif
