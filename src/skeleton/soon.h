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

#endif
