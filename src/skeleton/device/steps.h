/*
 * Stages that a block of threads does one after the other: for skeletons whose blocks each have
 * something of their own, a segment or a row of a recurrence, that no other block touches. Private
 * to the room.
 */
#ifndef SMELT_SKELETON_DEVICE_STEPS_H
#define SMELT_SKELETON_DEVICE_STEPS_H

#include "skeleton/device/device.h"

enum { STEPS_INDICES = 16 }; /* of a stage at most */

struct steps {
    const struct skeleton_group *group;
    int threads; /* of the block */
    int width;   /* results of a reduction side by side; the other threads share the terms */
    bool along;  /* neighbouring threads have neighbouring terms; else neighbouring results */
    /* from steps_open on */
    struct arena *arena;
    struct skeleton_values values;
    const struct ir_stage *stage; /* that is being written */
    struct device_team team;      /* threads that share the terms of a result */
    loop_value thread;
};

/* Bytes of shared memory in which threads of such stages combine what they have. */
int64_t steps_shared(const struct skeleton_device *device, const struct ir_stage *const *stages,
                     int count, int threads, int width);
/* At the top of the function: memory for what will be combined. */
void steps_open(struct steps *steps, struct loop_kernel *kernel, struct loop_block *block,
                const struct ir_stage *const *stages, int count);
/* All points of a map or reduction of values that are no pairs, at the present values of indices
 * outside its domain and of `own` (IR_NONE: all are gone over). */
void steps_stage(struct steps *steps, struct loop_block *block, const struct ir_stage *stage,
                 int own);
/* A loop over `count` points that all threads share out: its body, and the number of the point. */
struct loop_block *steps_points(struct steps *steps, struct loop_block *block, loop_value count,
                                loop_value *at);

#endif
