/*
 * What the files of single points share: where elements come from and where they are kept.
 */
#ifndef SMELT_ORACLE_POINTS_H
#define SMELT_ORACLE_POINTS_H

#include "oracle/interpret.h"

struct definition { /* a stage that writes a part of the tensor, or all of it */
    struct definition *next;
    struct plan *plan;
    int write;
    struct inverse *inverse; /* made when first needed */
};

struct slab_memo {
    struct definition *definitions;
    bool whole_only;  /* a scatter, a loop, or no inverse */
    int call, output; /* the stage whose call defines it, and as which output; -1: none */
    bool opened;      /* whether it is known where elements are kept */
    uint64_t *known;  /* a bit per element that the slab's array holds; NULL: the table does */
    bool keeps_exact; /* a root output asked for unrounded, but read rounded */
    struct catching {
        int64_t wanted; /* the element being computed, and what came out */
        bool found;
        struct ir_value value, exact;
    } catching;
};

struct entry {
    const struct slab *slab;
    int64_t element;
    struct ir_value value;
};

struct question {
    struct slab *slab;
    int64_t element;
};

struct oracle_points {
    struct run run; /* first: the interpreter knows only this */
    struct pool kept;
    int64_t memory, left, in_arrays;
    struct frame *root;
    struct entry *table;
    int64_t table_size; /* a power of two */
    int depth;
    struct question deep; /* slab NULL: none */
    struct map pinned;    /* question -> struct ir_value, for answers that must not be forgotten */
    struct pending VECTOR(struct question) pending;
    struct arena *arena;
    bool exact, broken;
};

/* The points a run belongs to: run is their first member. */
struct oracle_points *points_of(struct run *run);

/* ---- point_memo.c ---- */

/* Notes for every tensor of the frame which stages define it. */
void frame_define(struct frame *frame);
/* Keeps an element of a slab that is not whole. */
void point_keep(struct run *run, struct slab *slab, int64_t element, struct ir_value rounded,
                struct ir_value exact);
/* Whether the element is known. */
bool point_recall(struct oracle_points *points, struct slab *slab, int64_t element,
                  struct ir_value *value);

/* ---- point_whole.c ---- */

/* Evaluates all stages that define the slab, and whatever those define beside it. */
bool slab_evaluate_whole(struct oracle_points *points, struct slab *slab);

#endif
