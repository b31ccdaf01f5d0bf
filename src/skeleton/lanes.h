/*
 * Vectors of an index that runs in lanes: loops over them, and stores. Private to the room.
 */
#ifndef SMELT_SKELETON_LANES_H
#define SMELT_SKELETON_LANES_H

#include "skeleton/skeleton.h"

/* Stores a vector: side by side where the offset goes up by one with the lanes, else one by one. */
void lanes_store(struct loop_block *block, const struct loop_buffer *buffer, loop_value offset,
                 loop_value value, const struct skeleton_lanes *lanes);

/* Calls `body` for all vectors of from..to: `vectors` whole ones at a time, then one by one, then
 * what is left of one, with the lanes that are wanted. */
typedef void lanes_body(void *context, struct loop_block *block, const struct skeleton_lanes *lanes,
                        int vectors);
void lanes_loop(struct loop_block *block, const struct skeleton_lanes *lanes, loop_value to,
                int vectors, lanes_body *body, void *context);

/* A variable that stands for an index while values are made; no loop has it. */
struct loop_variable *lanes_variable(struct arena *arena, const char *name);
/* Whether the node depends on the index of the part, also by way of what is read. */
bool lanes_uses(const struct ir_part *part, const struct ir_nodes *nodes, int node, int index);

#endif
