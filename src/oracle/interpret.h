/*
 * The interpreter's own header: how a part looks while it is being evaluated. Nothing outside the
 * files interpret*.c, memory.c and their tests includes it, and the compiled form shares none of
 * it.
 *
 * A run evaluates frames; a frame is one part at concrete sizes; a slab holds the values of one of
 * its tensors; a walk visits the points of one stage.
 */
#ifndef SMELT_ORACLE_INTERPRET_H
#define SMELT_ORACLE_INTERPRET_H

#include <stddef.h>

#include "oracle/oracle.h"

/* Calls nested deeper than this are refused: each takes some of the C stack. */
enum { ORACLE_MAX_CALL_DEPTH = 1000 };

/* ---- pool: memory that is given back piece by piece, and all at once if a run ends early ---- */

struct pool_piece;

struct pool {
    struct pool_piece *newest;
    int64_t used, most;  /* bytes now, and the most there ever were */
    int64_t *left;       /* bytes this and other pools may still take together; NULL: any number */
    struct arena *arena; /* when set, everything is taken here and nothing is given back */
};

/* Zeroed room for count things of `size` bytes; owned by the pool. Never NULL (see memory.h). */
void *pool_take(struct pool *pool, int64_t count, size_t size);
void pool_give(struct pool *pool, void *room); /* NULL is nothing */
/* Gives back everything taken since the mark; with NULL, everything. */
struct pool_piece *pool_mark(const struct pool *pool);
void pool_release(struct pool *pool, struct pool_piece *mark);

/* ---- slabs ---- */

struct frame;
struct walk;

struct slab {
    const struct ir_tensor *tensor;
    const int64_t *dims;
    int64_t count;
    bool is_float;
    bool rounds;       /* what is stored takes the tensor's type */
    bool whole;        /* every element may be read from the array */
    double *floats;    /* is_float */
    int64_t *integers; /* else; bool is 0 or 1 */
    double *exact;     /* a root output that is also read: what it was before rounding */
    const void *raw;   /* points only: an input in its own type, in place of floats and integers */
    double unit;       /* its floats are moved by about this part of themselves... */
    uint64_t seed;     /* ...differently for every element */
    /* Points only: where an element that is not in the array comes from. */
    struct frame *frame;
    int number; /* of the tensor in the frame's part */
    struct slab_memo *memo;
};

/* "[4, 7]" into a buffer of SHAPE_TEXT bytes. */
enum { SHAPE_TEXT = 24 * IR_MAX_RANK };
void shape_print(char *out, const int64_t *numbers, int count);

/* ---- runs and frames ---- */

struct run {
    struct pool pool; /* for what ends with the run */
    struct error *error;
    int depth; /* of calls */
    /* Points only: reads from and writes to slabs that are not whole. */
    bool (*fetch)(struct run *run, struct slab *slab, int64_t element, struct ir_value *value);
    void (*keep)(struct run *run, struct slab *slab, int64_t element, struct ir_value rounded,
                 struct ir_value exact);
};

struct plan { /* a stage and what evaluating it needs */
    const struct ir_stage *stage;
    struct walk *walk; /* MAP, REDUCE, SCAN, SCATTER; made when first needed */
    struct plan *body; /* LOOP */
};

struct frame {
    struct run *run;
    struct pool *pool; /* lives as long as the frame */
    struct ir_binding binding;
    struct slab **slabs;     /* one per tensor; an input's is the caller's */
    int64_t *index;          /* the current value of every index of the part */
    struct plan *plans;      /* one per stage */
    struct frame **children; /* points only: the frame of each stage that calls, once entered */
};

/* The callee's sizes and scalars. False when a size cannot be computed. */
bool frame_bind(struct frame *caller, struct pool *pool, const struct ir_stage *call,
                struct ir_binding *binding);
/* A frame whose slabs have shapes and no values yet. NULL when a shape cannot be computed. */
struct frame *frame_open(struct run *run, struct pool *pool, const struct ir_binding *binding);
/* Makes the callee read the caller's slabs. */
bool frame_connect_inputs(struct frame *caller, const struct ir_stage *call, struct frame *callee);
/* Room for all elements. */
void slab_fill(struct pool *pool, struct slab *slab);
void slab_empty(struct pool *pool, struct slab *slab);
/* Evaluates all stages in order, giving temporaries room only while they are needed. */
bool frame_run(struct frame *frame);
bool stage_run(struct frame *frame, struct plan *plan);

bool slab_read(struct run *run, struct slab *slab, int64_t element, struct ir_value *value);
void slab_store(struct run *run, struct slab *slab, int64_t element, struct ir_value value);
struct ir_value slab_rounded(const struct slab *slab, struct ir_value value);
bool slab_copy(struct run *run, struct slab *from, struct slab *to);
/* Whether a slab of the callee may stand for one of the caller: same shape, both float or not. */
bool slab_fits(const struct slab *a, const struct slab *b);
/* How seeds of moved inputs are made from numbers. */
uint64_t slab_seed(uint64_t bits);
/* An input of the root as a slab. False when the array does not have the shape or type. */
bool slab_from_array(struct slab *slab, const struct array *array, struct error *error);

/* ---- who mentions which tensor ---- */

typedef void tensor_visit(void *context, int tensor, bool written);
/* Every tensor the stage reads or writes, in no order, perhaps several times. */
void stage_tensors(const struct ir_stage *stage, tensor_visit *visit, void *context);
/* The first and last top-level stage that mentions each tensor; -1 when none does. */
void part_lifetimes(const struct ir_part *part, int *first, int *last);
/* Whether anything in the part reads the tensor. */
bool part_reads(const struct ir_part *part, int tensor);
/* Whether a carry takes its value from a state that the same loop also carries. */
bool carry_crosses(const struct ir_stage *loop);

/* ---- walks (interpret_stage.c) ---- */

struct walk {
    struct frame *frame;
    const struct ir_stage *stage;
    int count, left; /* positions of the domain; the first `left` are written */
    int *order;      /* the number of the index at each position */
    int64_t *extent; /* of each position; -1: a range */
    bool empty;      /* no left points at all */
    bool bare;       /* a reduced index has no points: only `early` nodes are evaluated */
    bool *early;     /* per node: bounds of a range, or a place that is written */
    int *listed;     /* nodes in order of the position they depend on... */
    int *starts;     /* ...those that depend on the first n: listed[starts[n]] .. starts[n+1] */
    bool *is_float;  /* per component of the monoid */
    struct ir_value *values, *accumulator, *scratch; /* accumulator: left, then right operand */
    struct ranking *ranking;                         /* TOPK and BOTTOMK */
    /* Points only: set while the stage is evaluated at a point, with the indices as they were. */
    bool active;
    int64_t *saved;
};

struct walk *walk_open(struct frame *frame, const struct ir_stage *stage);
/* Evaluates the stage at all its points. */
bool walk_run(struct walk *walk);
/*
 * Evaluates it for the left indices as they stand in frame->index: one element of a MAP, one
 * reduction, one line of a SCAN. Not for a SCATTER.
 */
bool walk_run_at(struct walk *walk);

/* ---- nodes and monoids (interpret_value.c) ---- */

/* Evaluates node number i into values[i]. */
bool node_evaluate(struct frame *frame, const struct ir_nodes *nodes, int i,
                   struct ir_value *values, const struct ir_value *params);
/* The unit of each component; scratch has room for the monoid's nodes. */
bool monoid_unit(struct frame *frame, const struct ir_monoid *monoid, struct ir_value *scratch,
                 struct ir_value *unit);
/* left = left combined with right, where right stands behind left in the same array. */
bool monoid_combine(struct frame *frame, const struct ir_monoid *monoid, const bool *is_float,
                    struct ir_value *scratch, struct ir_value *left);
/* Whether a comes before b in the order of ARGMAX (greatest first) or ARGMIN. */
bool ranks_before(const struct ir_value a[2], const struct ir_value b[2], bool is_float,
                  bool greatest);

/* ---- memory (memory.c) ---- */

/* What a part costs depends on this much: the part and its sizes, as bytes. */
const void *binding_key(struct arena *arena, const struct ir_binding *binding, size_t *length);
/* ---- inverses (interpret_inverse.c) ---- */

/* A left side with more indices than this has no inverse. */
enum { INVERSE_MAX_LEFT = 64 };

struct inverse {
    bool possible;
    int rank, left;
    const struct walk *walk;
    int64_t *constant;    /* per dimension */
    int64_t *coefficient; /* of position p in dimension d: [d * left + p] */
    int *order;           /* dimensions, in the order in which they can be solved */
    int64_t *index;       /* room for the answer, one per left position */
};

/* How to find the point that writes an element; not possible for every left side. */
struct inverse *inverse_make(struct walk *walk, const struct ir_write *write, int rank);
/* Sets index[p] for every left position p. False when the stage does not write that element. */
bool inverse_apply(const struct inverse *inverse, const int64_t *at, int64_t *index);

#endif
