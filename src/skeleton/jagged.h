/*
 * jagged: what its files share, those for devices, too. Private to them.
 */
#ifndef SMELT_SKELETON_JAGGED_H
#define SMELT_SKELETON_JAGGED_H

#include "skeleton/skeleton.h"

enum { JAGGED_VECTORS = 16 }; /* reduced side by side at most */

/* Whether the group is stages over segments, or why not; all begin with the segments. */
bool jagged_fits(const struct skeleton_group *group, struct skeleton_reason *why_not);

struct jagged_work {
    double bytes, operations, segments, inner; /* inner: the widest index in lanes */
    int element;
};

struct jagged_work jagged_work_of(const struct skeleton_group *group);
const struct ir_stage *jagged_stage(const struct skeleton_group *group, int number);
/* The place of the index that runs in lanes among the stage's; 0: none. A reduced one is summed up
 * in lanes. */
int jagged_lane(const struct skeleton_group *group, const struct ir_stage *stage);

/* jagged_lower.c */
void jagged_lower(const struct skeleton_group *group, const struct plan_group *plan,
                  struct loop_kernel *kernel);

#endif
