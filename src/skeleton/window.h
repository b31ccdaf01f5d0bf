/*
 * window: what fits it, for the CPU and for devices.
 */
#ifndef SMELT_SKELETON_WINDOW_H
#define SMELT_SKELETON_WINDOW_H

#include "skeleton/contract.h"

enum { WINDOW_MOST = 64, WINDOW_INDICES = CONTRACT_MAX_INDICES };

struct window {
    struct contract sum; /* the reduction and the maps after it, as contract has them */
    const struct ir_stage *stage;
    int64_t extents[WINDOW_INDICES]; /* of the reduced indices */
    int64_t size;                    /* of the window */
    int lane, line;                  /* indices of the part; line: IR_NONE if there is but one */
};

/* A place of something read has both an index of the result and one of the window. */
bool window_slides(const struct ir_part *part, const struct ir_stage *stage);
bool window_fits(const struct skeleton_group *group, struct window *window,
                 struct skeleton_reason *why_not);
/* How many there are, at the binding. */
double window_results(const struct skeleton_group *group, const struct ir_stage *stage);

#endif
