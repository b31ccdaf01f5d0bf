/*
 * jagged: what its files share. Private to them.
 */
#ifndef SMELT_SKELETON_JAGGED_H
#define SMELT_SKELETON_JAGGED_H

#include "skeleton/skeleton.h"

enum { JAGGED_VECTORS = 16 }; /* reduced side by side at most */

const struct ir_stage *jagged_stage(const struct skeleton_group *group, int number);
/* The place of the index that runs in lanes among the stage's; 0: none. A reduced one is summed up
 * in lanes. */
int jagged_lane(const struct skeleton_group *group, const struct ir_stage *stage);

/* jagged_lower.c */
void jagged_lower(const struct skeleton_group *group, const struct plan_group *plan,
                  struct loop_kernel *kernel);

#endif
