/*
 * For skeletons whose stages share a domain: which index of one stage is which of another (axes),
 * and which axes lie behind each other in memory everywhere, so that one loop runs over both
 * (chains). Private to the room.
 */
#ifndef SMELT_SKELETON_NEST_H
#define SMELT_SKELETON_NEST_H

#include "skeleton/skeleton.h"

enum { NEST_MAX_AXES = 24, NEST_MAX_ACCESSES = 512 };

struct nest_axis {
    const struct ir_size *extent;
    bool loose; /* used other than as a bare place of a read or write */
};

struct nest_access { /* of memory */
    int tensor;
    bool write;
    int axes[IR_MAX_RANK]; /* per dimension; -1: something else than a bare index */
};

struct nest_accesses VECTOR(struct nest_access);

struct nest_axes { /* a set of axes, in some order */
    int at[NEST_MAX_AXES];
    int count;
};

struct nest_chain { /* axes of one loop, outermost first */
    int axes[NEST_MAX_AXES];
    int count;
    const struct ir_size *extent;   /* the product */
    struct loop_variable *variable; /* stands for it in values; not one of the kernel */
};

struct nest_chains {
    struct nest_chain at[NEST_MAX_AXES];
    int count;
};

struct nest {
    const struct skeleton_group *group;
    int *axis_of; /* per index of the part; -1: none */
    struct nest_axis axes[NEST_MAX_AXES];
    int axis_count;
    struct nest_accesses accesses;
};

/* The axes of the group's stages. False: too many, or a range that depends on data. */
bool nest_init(struct nest *nest, const struct skeleton_group *group,
               struct skeleton_reason *why_not);
const struct ir_stage *nest_stage(const struct nest *nest, int number); /* of the group */
/* The axes of indices from..to-1 of a stage. */
struct nest_axes nest_axes_of(const struct nest *nest, const struct ir_stage *stage, int from,
                              int to);
bool nest_axes_same(const struct nest_axes *a, const struct nest_axes *b); /* in any order */
/* The stage of the group that defines the tensor, or NULL. */
const struct ir_stage *nest_definer(const struct nest *nest, int tensor);
/* Whether tensors of the group are read by it only at the point where they were defined. */
bool nest_reads_own(const struct nest *nest, struct skeleton_reason *why_not);

/* Neighbouring axes that are one in memory become one chain. */
struct nest_chains nest_chain(struct nest *nest, struct arena *arena, const struct nest_axes *axes);
/* The indices of all stages on this chain get this value. */
void nest_bind(const struct nest *nest, struct skeleton_values *values,
               const struct nest_chain *chain, loop_value value);
/* Every chain stands for its own variable. */
void nest_bind_all(const struct nest *nest, struct skeleton_values *values,
                   const struct nest_chains *chains);
/* The number of iterations with the sizes the plan is made for. */
int64_t nest_extent(const struct nest *nest, const struct nest_chain *chain);
int64_t nest_size(const struct skeleton_group *group, const struct ir_size *size);

/* The lanes below `count`, as a mask. */
loop_value nest_live(struct arena *arena, int lanes, loop_value count);

void nest_refuse(struct skeleton_reason *why_not, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What a group moves and does, for the cost model: bytes to and from memory, operations. */
double nest_bytes(const struct nest *nest);
double nest_operations(const struct nest *nest, const struct ir_stage *stage);
/* Bytes of the type that matters for lanes: 8 for f64 and where all are integers, else 4. */
int nest_value_bytes(const struct nest *nest);

#endif
