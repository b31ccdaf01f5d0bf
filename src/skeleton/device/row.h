/*
 * What the files of the row skeleton for devices share. Private to the room.
 *
 * A row is gone over in passes (src/skeleton/row.h says which stage is in which). A pass is a walk
 * of steps; a step is a vector of elements:
 *
 *     along    of one row, which a team of threads shares
 *     across   of as many rows side by side; a team is the threads of a block that have the same
 *
 * The first `keep` steps of a thread stay in registers from pass to pass, `stash` more in shared
 * memory, the others are read again, `unroll` at a time. With `split` so many blocks share a row:
 * each pass is a launch, and begins with what the blocks of the passes before have left. With
 * `cluster` so many blocks share a row in one launch, and meet where a team meets.
 *
 * Where lengths are `known` there are two versions in the function: one for the sizes at hand,
 * whose steps need no guards, and one for all others, which keeps nothing.
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
    const struct loop_buffer *computed; /* REDUCE: its elements, kept for later passes; or NULL */
    loop_value computed_value;          /* and what they are */
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
    int kept_bytes;           /* of loads in passes before the last, or the only one */
    int kept_loads;           /* how many these are */
    enum dtype kept_dtype;    /* of the first of them */
    int64_t rows, length;     /* at the sizes to be good at */
    bool stores;              /* elements are written */
    /* decided */
    bool is_across, reciprocal, is_known;
    int threads, team, elements, keep, stash, unroll, split, cluster, resident;
    /* while a function is written */
    struct loop_block *body; /* of the function */
    struct loop_block *top;  /* where its statements go: the body, or a version in it */
    struct device_team combining;
    struct device_loads kept;          /* loads that have registers from pass to pass */
    const struct loop_buffer *stashed; /* shared memory for the first of them */
    loop_value row_number;             /* of the first row of this thread */
    loop_value inside;                 /* whether it is a row of its own; NULL: always */
    loop_value part;                   /* of the row, when it is split */
    loop_value lane;                   /* number of this thread among those of its row */
    int stride;                        /* how many these are; with `split` those of one block */
    struct loop_variable *which;       /* stands for `element` while passes are made */
    loop_value column;                 /* across: the first one of this thread */
    loop_value element;                /* which row of the thread results are asked for */
    struct map places;                 /* variables of left chains -> values */
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

/* ---- row_walk.c ---- */

loop_value device_row_integer(struct device_row *row, int64_t value);
/* The product of the chains' extents, all but one. */
const struct ir_size *device_row_product(struct arena *arena, const struct nest_chains *chains,
                                         int except);
loop_value device_row_count(struct device_row *row, const struct nest_chains *chains, int except);
loop_value device_row_extent(struct device_row *row); /* of the chain that vectors run along */
void device_row_place(struct map *places, const struct nest_chain *chain, loop_value value);
void device_row_copy_places(struct map *to, const struct map *from);
/* A number as the indices of chains, all but one, the last fastest. */
void device_row_unfold(struct device_row *row, struct loop_block *block, struct map *places,
                       const struct nest_chains *chains, int except, loop_value rest);
/* Goes over the rows of this thread: sums go on, elements are stored. Sums are open. */
void device_row_walk(struct device_row *row, int pass);
bool device_row_sums_in(const struct device_row *row, int stage, int pass);

/* ---- row_lower.c ---- */

void device_row_lower(const struct skeleton_group *group, const struct plan_group *plan,
                      struct loop_kernel *kernel);

#endif
