/*
 * A task: an op, the cases that matter, how inputs are drawn, what accuracy is asked for.
 * Plain data, made by src/lang, read by everybody.
 */
#ifndef SMELT_RECORD_TASK_H
#define SMELT_RECORD_TASK_H

#include "base/base.h"
#include "ir/ir.h"

enum draw_kind {
    DRAW_DEFAULT, /* floats normal(0, 1); integers uniform in -8..8; bool fair; facts respected */
    DRAW_NORMAL,  /* a = mean, b = deviation */
    DRAW_UNIFORM, /* a = low, b = high; integers include both ends */
    DRAW_INDEX,   /* 0 .. bound-1 */
    DRAW_OFFSETS, /* random partition of bound */
};

struct task_input {
    int tensor; /* number in the root part */
    enum draw_kind draw;
    double a, b;
    const struct ir_size *bound; /* INDEX, OFFSETS */
    unsigned properties; /* enum ir_property: SORTED, TRIANGULAR, CONSTANT; also the op's own */
    double low, high;    /* `in (low, high)`: -inf and inf when not said */
    bool low_open, high_open;
};

struct task_range {   /* `sizes D in 1..400000` */
    const char *name; /* a symbol or family of the root part */
    int64_t low, high;
};

struct task_case {
    const int64_t *sizes;  /* one per symbol of the root part, lets too */
    const double *scalars; /* one per scalar of the root part */
    const char *text;      /* as written: "B=[4096], D=1024" */
    bool timed;
    struct place place;
    const struct ir_program *program; /* cases of different rank have different programs */
    const struct task_input *inputs;  /* one per input of the root part */
};

struct task_baseline {
    const char *name;     /* "torch" */
    const char *argument; /* "torch.softmax(x, -1)", or NULL */
};

struct task {
    const char *name, *op_name;
    struct place place;
    const char *types;    /* "T=f32", for display */
    const char *accuracy; /* "f32"; follows the output's type when not said */
    bool deterministic;
    bool cold; /* `cache cold`: timed with nothing of a call's tensors in the caches */
    const struct task_range *ranges;
    int range_count;
    const struct task_case *cases;
    int case_count;
    const struct task_baseline *baselines;
    int baseline_count;
};

#endif
