/*
 * Private to src/skeleton: how stages are put into groups (group.c), for the plans to begin with
 * (seed.c).
 */
#ifndef SMELT_SKELETON_SEED_H
#define SMELT_SKELETON_SEED_H

#include "skeleton/skeleton.h"

enum { GROUP_MOST = 16 }; /* stages that are tried as one group */

enum group_inline {
    GROUP_INLINE_NONE,
    GROUP_INLINE_ONCE,  /* maps whose elements are read about once */
    GROUP_INLINE_CHEAP, /* and those that are cheap to compute again */
};

struct group_style {
    enum group_inline inlining;
    int most;   /* stages of a group; 1: nothing is fused */
    bool apart; /* maps of what is reduced are groups of their own; on devices only */
    bool plain; /* skeleton plain for everything */
};

/* A plan in this style for the sizes that are known, without skeletons and decisions yet. */
struct plan *group_stages(const struct skeleton_program *program, const struct group_style *style,
                          const struct plan_fix *fixes, int fix_count);

#endif
