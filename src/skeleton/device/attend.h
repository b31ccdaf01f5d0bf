/*
 * attend on devices: a block of threads has `block.q` queries and goes through the keys, `block.k`
 * at a time. What is attention, and which axis is which, is said in skeleton/attend.h.
 *
 *     for blocks of keys, but for those none of the queries can see
 *         scores: queries times keys, tile.e features at a time through shared memory
 *         maps and masks of them; weights[key][query] in shared memory
 *         per query: the greatest so far, weights below it, their sum
 *         sums of the block's `tile.d` channels: scaled down, and weights times values added
 *     the maps that follow, and stores
 *
 * Threads are rows x columns in both products: each has thread.q queries, and thread.k keys of the
 * scores or as many channels as are left for it.
 */
#ifndef SMELT_SKELETON_DEVICE_ATTEND_H
#define SMELT_SKELETON_DEVICE_ATTEND_H

#include "skeleton/attend.h"

struct streams_decisions { /* what a plan decided */
    int block_q, block_k;
    int thread_q, thread_k;
    int tile_d; /* channels of a block */
    int tile_e; /* features, and keys with their values, in shared memory at a time */
    int resident;
    /* what follows from them */
    int rows, columns; /* of threads */
    int threads;
    int thread_d; /* channels of a thread */
};

struct streams_decisions streams_decide(const struct plan_group *plan);
void streams_lower(const struct skeleton_group *group, const struct plan_group *plan,
                   struct loop_kernel *kernel);

#endif
