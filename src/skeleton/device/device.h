/*
 * What skeletons for devices share: what a launch costs, loads kept in registers, the threads of a
 * block combining values. Private to the room.
 */
#ifndef SMELT_SKELETON_DEVICE_DEVICE_H
#define SMELT_SKELETON_DEVICE_DEVICE_H

#include "skeleton/nest.h"

enum {
    DEVICE_MOVE = 16,        /* bytes a thread moves at once at most */
    DEVICE_TRANSACTION = 32, /* bytes of memory that are moved at least */
    DEVICE_STATIC_SHARED = 48 << 10,
    DEVICE_MEETINGS = 64, /* times that a cluster combines values in one function */
};

/* ---- cost (cost.c) ---- */

struct device_launch { /* one, as the model sees it */
    double blocks;
    int threads;       /* of a block */
    double registers;  /* of a thread, estimated */
    double shared;     /* bytes of a block */
    double bytes;      /* moved, by transactions */
    double fetched;    /* that threads ask for, wherever they come from; 0: does not matter */
    double unique;     /* of them different ones: what a cache would have to hold */
    double in_flight;  /* bytes a thread asks for before it waits */
    double operations; /* on f32 */
};

/* Blocks of this kind on a multiprocessor at once. */
double device_resident(const struct skeleton_device *device, const struct device_launch *launch);
double device_seconds(const struct skeleton_device *device, const struct device_launch *launch);
/* Bytes that the accesses of the nest move when neighbouring threads are neighbours along the last
 * axis of `lane` (NULL: nothing is dense): whole transactions where they lie apart. */
double device_bytes(const struct nest *nest, const struct nest_chain *lane, double points);

/* ---- decisions (slots.c) ---- */

/* A slot with the powers of two from `least` to `most`; the seed is the largest up to `seed`. */
void device_slot(const struct skeleton_group *group, struct skeleton_slots *slots, const char *key,
                 const char *note, int64_t least, int64_t most, int64_t seed);

/* ---- values that lie side by side (stage.c) ---- */

struct device_load {
    const struct loop_buffer *buffer;
    loop_value load;                     /* as the values have it; or what was computed */
    const struct loop_buffer *registers; /* that it is kept in */
    bool vector;                         /* its place is a multiple of the vector's length */
};

struct device_loads VECTOR(struct device_load);

/* Adds the unconditional loads of the value that go up by one with the variable. */
void device_loads_add(struct arena *arena, struct device_loads *loads, loop_value value,
                      const struct loop_variable *along);
/* The value with registers at `place` in their stead. */
loop_value device_loads_use(struct arena *arena, const struct device_loads *loads, loop_value value,
                            loop_value place);
/* Whether the offset goes up by one with the variable. */
bool device_is_dense(struct arena *arena, loop_value offset, const struct loop_variable *along);
/* Whether an offset is a multiple of `elements` for all values of the chains' variables, but the
 * one of `along`, at the sizes to be good at. */
bool device_is_aligned(const struct skeleton_group *group, loop_value offset,
                       const struct nest_chains *const *chains, int chain_lists,
                       const struct loop_variable *along, int elements);
/* The same whatever sizes are: they were fixed where it matters. */
bool device_is_aligned_always(struct arena *arena, loop_value offset,
                              const struct nest_chains *const *chains, int chain_lists,
                              const struct loop_variable *along, int elements);
/* `count` elements side by side, as few moves as there can be. */
void device_move(struct loop_block *block, const struct loop_buffer *to, loop_value to_offset,
                 const struct loop_buffer *from, loop_value from_offset, int count, bool vector);

/* The moves at the end of the block may happen later, up to loop_wait. */
void device_move_soon(struct loop_block *block);

/* ---- threads combining values (combine.c) ---- */

struct device_pair { /* a value, and of argmax and argmin where it was; -1: nowhere */
    loop_value value, place;
};

/* Threads whose numbers differ by multiples of `stride`, `width` of them: both powers of two. */
struct device_team {
    const struct skeleton_device *device;
    struct loop_block *top; /* the function's body: shared memory is declared there */
    int threads;            /* of the block */
    int stride, width;
    const struct loop_buffer *shared[4], *places, *now;
    int shared_count;
    /* Blocks of a cluster that are one team, and where each posts a value to the others: memory for
     * each time they combine. 0: the block is alone */
    int cluster;
    const struct loop_buffer *posts[DEVICE_MEETINGS], *posted_places[DEVICE_MEETINGS];
    int meetings;
};

/* Declares the shared memory that combining such values takes: before anything else is done. When
 * all was declared, the blocks of a cluster arrive: see loop_posts. */
void device_combine_prepare(struct device_team *team, enum ir_monoid_kind monoid, enum dtype dtype);
bool device_is_indexed(enum ir_monoid_kind monoid);
struct device_pair device_unit(struct arena *arena, enum ir_monoid_kind monoid, enum dtype dtype);
/* value = value . other; `place` only for those that have one. */
void device_combine_one(struct loop_block *block, enum ir_monoid_kind monoid,
                        struct loop_variable *value, struct loop_variable *place,
                        struct device_pair other);
/* What all threads of the team have, combined, in each of them. All threads of the block are there.
 */
void device_combine(struct device_team *team, struct loop_block *block, enum ir_monoid_kind monoid,
                    struct loop_variable *value, struct loop_variable *place);

/* ---- versions for known sizes (known.c) ---- */

/* The group with every symbol in these sizes fixed at what it is, and the condition under which
 * that holds; NULL: always. */
const struct skeleton_group *device_known(struct arena *arena, const struct skeleton_group *group,
                                          const struct ir_size *const *sizes, int count,
                                          loop_value *condition);

/* ---- small things (slots.c) ---- */

loop_value device_quotient(struct arena *arena, loop_value a, loop_value b);
loop_value device_remainder(struct arena *arena, loop_value a, loop_value b);
loop_value device_name(struct loop_block *block, const char *name, loop_value value);
loop_value device_and(struct arena *arena, loop_value a, loop_value b); /* NULL: true */
/* ceil(size / by) for the manifest. */
const struct ir_size *device_blocks(struct arena *arena, const struct ir_size *size, int64_t by);

#endif
