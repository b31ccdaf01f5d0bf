/*
 * Decisions that several skeletons share, with the seed each begins with. Private to the room.
 */
#ifndef SMELT_SKELETON_SLOTS_H
#define SMELT_SKELETON_SLOTS_H

#include "skeleton/skeleton.h"

void slots_add(const struct skeleton_group *group, struct skeleton_slots *slots, const char *key,
               const char *note, const char *const *values, int count, int seed);
/* `threads` 1 or all: all when there is enough to do for them. */
void slots_add_threads(const struct skeleton_group *group, struct skeleton_slots *slots,
                       double bytes, double operations);
enum { SLOTS_LANES = 32 };
/* `lanes` up to `most`. */
void slots_add_lanes(const struct skeleton_group *group, struct skeleton_slots *slots, int seed,
                     int most);
/* Whether what a group moves does not stay in the last cache from one run to the next: up to three
 * quarters of it stores through the caches are faster (relu, gelu, layer norm of 8 to 64 MB on a
 * Zen 4 with 32 MB). */
bool slots_is_large(const struct skeleton_group *group, double bytes);
/* `stores` cached or streaming. */
void slots_add_stores(const struct skeleton_group *group, struct skeleton_slots *slots,
                      bool streaming);
/* The seconds from what the cost says of bytes and operations, and the plan of threads and lanes.
 */
void slots_predict(const struct skeleton_group *group, const struct plan_group *plan,
                   struct skeleton_cost *cost);
/* How many reads of a stage wait for each other, each at a place the one before decides, as the
 * steps of a search do; 1: none waits. */
int slots_chain(const struct skeleton_group *group, const struct ir_stage *stage);
/*
 * What the reads of a group cost by themselves: gathered ones take a step per element, and what is
 * read again and again comes from the nearest cache that holds it. Lanes run along the last index
 * of each stage, or along its last left one. Raises cost->seconds where the reads are what takes
 * longest.
 */
void slots_predict_reads(const struct skeleton_group *group, const struct plan_group *plan,
                         bool across, struct skeleton_cost *cost);
/* What a group computes, in words: the names of its tensors. */
const char *slots_note(const struct skeleton_group *group);

/* Whether quotients in stages of the group from number `first` on are only arguments of functions
 * that change little where they do: not where results are whole numbers or truth values. */
bool slots_division_may_differ(const struct skeleton_group *group, int first);
/* Whether one rounding more in a quotient is one rounding more in the results, nothing else: there
 * are floats only, and none is made whole. */
bool slots_division_is_smooth(const struct skeleton_group *group, int first);

#endif
