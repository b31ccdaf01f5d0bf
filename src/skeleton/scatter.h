/*
 * scatter: what its match finds out, and points of it. Private to the scatter*.c files here and for
 * devices.
 */
#ifndef SMELT_SKELETON_SCATTER_H
#define SMELT_SKELETON_SCATTER_H

#include "skeleton/skeleton.h"

enum { SCATTER_INDICES = 24 };

struct scatter {
    const struct skeleton_group *group;
    const struct ir_stage *stage;
    int tensor;
    enum dtype dtype;            /* combined in */
    bool direct;                 /* in the target itself */
    bool apart[SCATTER_INDICES]; /* per index of the stage: it is a place of the target */
    int lane;                    /* place of the index that runs in lanes; -1: none */
    int outer;                   /* the first that is apart and no lane; -1: none */
    int chosen;                  /* the first dimension that data chooses; -1: none */
};

bool scatter_fits(const struct skeleton_group *group, struct scatter *scatter,
                  struct skeleton_reason *why_not);
/* The first index that threads with copies may share: none that runs in lanes; -1: there is none.
 */
int scatter_split(const struct scatter *scatter);

/* scatter_lower.c, which serves devices, too */
/* Where the point at the present indices goes, and whether it counts (NULL: always): places that
 * data chooses lie inside, the first such from `first` up to `end` (NULL: all there are). */
loop_value scatter_place(const struct scatter *scatter, struct skeleton_values *values,
                         loop_value first, loop_value end, loop_value *condition);
/* What it brings; under a condition nothing is read where that is false. */
loop_value scatter_value(const struct scatter *scatter, struct skeleton_values *values,
                         loop_value condition);
/* What the target begins with where the op names nothing. */
loop_value scatter_unit(const struct scatter *scatter, struct arena *arena, int lanes);

void scatter_lower(const struct skeleton_group *group, const struct plan_group *plan,
                   struct loop_kernel *kernel);

#endif
