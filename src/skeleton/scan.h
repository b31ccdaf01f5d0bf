/*
 * Scans along one axis, as the skeletons of all machines see them. Private to the room.
 */
#ifndef SMELT_SKELETON_SCAN_H
#define SMELT_SKELETON_SCAN_H

#include "skeleton/nest.h"

struct scan_shape {
    struct nest nest;
    const struct ir_stage *stage;
    struct nest_chains lines; /* all but the axis */
    struct nest_chain axis;
    int across; /* the chain lines lie side by side along, or -1: the axis is dense */
    int64_t line_count, length;
};

/* One scan by a monoid of one value. */
bool scan_fits(const struct skeleton_group *group, struct nest *nest,
               struct skeleton_reason *why_not);
/* Of a group that fits. */
struct scan_shape scan_shape_of(const struct skeleton_group *group, struct arena *arena);

#endif
