/*
 * Memory that will be read soon, fetched while something else is done. Private to the room.
 */
#ifndef SMELT_SKELETON_SOON_H
#define SMELT_SKELETON_SOON_H

#include "skeleton/skeleton.h"

struct soon_loads VECTOR(loop_value);

/* Adds the loads of the kernel's arguments in a scalar value that go up with the variable. */
void soon_collect(struct arena *arena, loop_value value, const struct loop_variable *variable,
                  struct soon_loads *loads);

/* How many elements further on loops that store past the caches fetch what they read: prefetchers
 * alone leave them at 0.7 to 0.9 of copying on a Zen 3. */
enum { SOON_ELEMENTS = 512 };

/* Fetches the loads so many elements further on than where the variable is `from`. */
void soon_fetch(struct loop_block *block, const struct soon_loads *loads,
                const struct loop_variable *variable, loop_value from, int64_t further);

/*
 * Rows that data chooses, as those of an embedding: no prefetcher knows where the next one is. Adds
 * the loads that go up with the variable from a place that is read from memory where `row` says.
 */
void soon_collect_chosen(struct arena *arena, loop_value value,
                         const struct loop_variable *variable, const struct loop_variable *row,
                         struct soon_loads *loads);

/* How many such rows further on they are fetched: 4 and 8 were the best of 1, 2, 4, 8. */
enum { SOON_ROWS = 4 };

#endif
