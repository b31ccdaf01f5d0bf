/*
 * Private to src/judge: inputs that a device makes for itself, for cases that are judged by sampled
 * elements.
 */
#ifndef SMELT_JUDGE_DRAWN_H
#define SMELT_JUDGE_DRAWN_H

#include "judge/launch.h"

enum {
    DRAWN_MOST_DRAWS = 2,
    DRAWN_TURN = 16, /* bytes: windows begin at multiples of it */
    DRAWN_MOST_TURNS = 1 << 14,
    DRAWN_BLOCK = 64 << 20, /* what is longer is a block again and again */
    DRAWN_STRIDE = 4 << 20, /* with one page of its own in so many bytes */
};

/*
 * Sequences of values, one per draw and input, in a file of their own; the oracle reads them as if
 * they were in memory whole. `offsets` are within that file.
 */
struct drawn {
    const struct ir_binding *binding;
    struct drawn_recipe {
        int kinds[DRAWN_MOST_DRAWS], draw_count; /* draws.c */
        bool turns;                              /* windows may begin elsewhere than at 0 */
        uint64_t seed;
    } recipe; /* who follows it makes the same */
    int draw_count, input_count, descriptor;
    char *file;
    size_t bytes;
    struct cell_drawing (*drawings)[CELL_MAX_TENSORS]; /* per draw; they start at 0 */
    char *(*views)[CELL_MAX_TENSORS];                  /* per draw and input: the sequence */
    size_t (*view_bytes)[CELL_MAX_TENSORS];
    int64_t turns[CELL_MAX_TENSORS]; /* windows per input, DRAWN_TURN bytes apart */
};

/* Bytes it takes. `turns`: windows may begin elsewhere than at 0. */
size_t drawn_bytes(const struct task_case *task_case, const struct ir_binding *binding,
                   int draw_count, bool turns);
/* NULL with the error set. Closed by whoever made it. */
struct drawn *drawn_make(struct arena *arena, const struct task_case *task_case,
                         const struct ir_binding *binding, const struct drawn_recipe *recipe,
                         struct error *error);
void drawn_close(struct drawn *drawn);
/* The inputs of a draw as the oracle reads them; turns per input, NULL: none. */
struct array *drawn_inputs(struct arena *arena, const struct drawn *drawn, int draw,
                           const int64_t *turns);

/* How much of the file is of the first draw. */
size_t drawn_first_bytes(const struct drawn *drawn);

/* ---- in a worker ---- */

/* Hands over all blocks; its buffers were made with room for them. */
void worker_take_drawn(struct worker *worker, const struct drawn *drawn);
/* The next call on this slot finds this draw, turned, and this rubbish. */
void worker_draw(struct worker *worker, int slot, const struct drawn *drawn, int draw,
                 const int64_t *turns, unsigned char around, unsigned char inside);
/* Has some elements of an output copied to where outputs are read. False: the cell failed. */
bool worker_fetch(struct worker *worker, int slot, const struct oracle_place *places,
                  int64_t count);
/* The hash of elements of all outputs, always the same ones. */
bool worker_hash_some(struct worker *worker, uint64_t *hash);

#endif
