/*
 * What the files of the map skeleton share. Private to the room.
 */
#ifndef SMELT_SKELETON_MAP_H
#define SMELT_SKELETON_MAP_H

#include "skeleton/nest.h"

/* Whether all stages are maps over one domain: its axes, or why not. */
bool map_fits(const struct skeleton_group *group, struct nest *nest, struct nest_axes *axes,
              struct skeleton_reason *why_not);

struct map_row {
    const struct loop_buffer *buffer;
    loop_value from;
};

struct map_lowering {
    const struct skeleton_group *group;
    const struct plan_group *plan;
    struct arena *arena;
    struct nest nest;
    struct nest_chains chains;
    int lane_chain, turn_chain; /* turn_chain: -1 when nothing is turned over */
    int line_chain;             /* worked on `lines` at a time inside each vector; -1: none */
    loop_value line_from, line_to;
    struct skeleton_values values;
    int lanes, unroll, squares; /* squares: turned over side by side */
    bool streaming, masks;
    /* what is stored: places and values in turn */
    loop_value *stored;
    const struct loop_buffer **buffers;
    int store_count;
    /* rows that data chooses, of large tables: places in a later row at the start of the lanes */
    struct map_rows VECTOR(struct map_row) rows;
};

/* ---- map_turn.c: squares read along one chain, written along another ---- */

enum {
    MAP_MAX_TURN = 16,   /* lanes: a square must fit the registers */
    MAP_MAX_SQUARES = 4, /* side by side: the stack holds what registers do not */
};

/* The chain that something is dense along which is read with strides along the chain results are
 * dense along, or -1; the latter in `lanes`. */
int map_turn_chain(const struct nest *nest, const struct nest_chains *chains, int *lanes);
/* Squares of lowering->turn_chain and lane_chain; places and values are those of all chains open
 * but these two. */
void map_turn(struct map_lowering *lowering, struct loop_block *block, enum loop_kind kind);

#endif
