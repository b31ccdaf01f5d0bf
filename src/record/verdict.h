/*
 * What the judge found about one kernel. Plain data.
 */
#ifndef SMELT_RECORD_VERDICT_H
#define SMELT_RECORD_VERDICT_H

#include "base/base.h"
#include "ir/ir.h"

enum outcome {
    OUTCOME_OK,
    OUTCOME_COMPILE_ERROR,
    OUTCOME_LAUNCH_ERROR, /* it said that it cannot do the call, or could not be started */
    OUTCOME_CRASH,
    OUTCOME_TIMEOUT,
    OUTCOME_OUT_OF_MEMORY,
    OUTCOME_OUT_OF_BOUNDS,
    OUTCOME_WRONG,
    OUTCOME_INACCURATE,
    OUTCOME_UNSTABLE,
    OUTCOME_CHEAT,
    OUTCOME_UNSUPPORTED, /* it holds for none of the task's cases */
    OUTCOME_JUDGE_FAULT, /* ours: never counted against the kernel */
    OUTCOME_COUNT
};

const char *outcome_name(enum outcome outcome); /* "out-of-bounds" */

/* Where wrong elements lie, and what they are instead of what was expected. */
enum mismatch_place {
    MISMATCH_SCATTERED,
    MISMATCH_EVERYWHERE,
    MISMATCH_SINGLE,
    MISMATCH_TAIL,     /* the end of the tensor, of every row, or the last rows */
    MISMATCH_ROWS,     /* whole rows */
    MISMATCH_COLUMNS,  /* the same places of all rows */
    MISMATCH_BOUNDARY, /* at edges only */
    MISMATCH_REGULAR,  /* every so-and-so-manieth */
    MISMATCH_PLACE_COUNT
};

enum mismatch_change {
    MISMATCH_OTHER,
    MISMATCH_NAN,
    MISMATCH_UNWRITTEN, /* what the buffer held before the call */
    MISMATCH_ZERO,
    MISMATCH_SCALED,     /* by one factor */
    MISMATCH_OFFSET,     /* by one amount */
    MISMATCH_TRANSPOSED, /* two dimensions exchanged */
    MISMATCH_SHIFTED,    /* the value of a neighbour */
    MISMATCH_CHANGE_COUNT
};

const char *mismatch_place_name(enum mismatch_place place);    /* "tail" */
const char *mismatch_change_name(enum mismatch_change change); /* "scaled"; "" for OTHER */

/* The first element that is wrong. */
struct mismatch {
    const char *tensor;
    int rank;
    int64_t index[IR_MAX_RANK];
    double expected, got, limit; /* integers as doubles where they fit */
    int64_t wrong, total;        /* elements of this tensor */
    const char *pattern;         /* a sentence: "every element from row 64 on" */
    enum mismatch_place place;
    enum mismatch_change change;
    double number;    /* SCALED: the factor, OFFSET: the amount, SHIFTED: by so many */
    int dimension;    /* TRANSPOSED, SHIFTED: the (first) one, from 0 */
    const char *draw; /* how its inputs were drawn: "large values"; or NULL */
};

/* How a kernel compares with a baseline, or with another kernel judged at the same time. */
struct speedup {
    const char *baseline;  /* "plain", "kernel:mine.c" */
    double microseconds;   /* of the baseline */
    struct interval ratio; /* baseline's time over the kernel's: above 1 the kernel is faster */
    bool decided;          /* the interval excludes 1 */
    bool self_reported;    /* the baseline measured itself: an external program */
    const char *problem;   /* not NULL: there was no comparison, and why */
};

struct case_result {
    const char *text; /* "B=[4096], D=1024" */
    bool held;        /* drawn by the judge, not one of the task's */
    enum outcome outcome;
    double worst;                /* largest error in units of the limit, over all draws */
    int64_t skipped;             /* elements where the plain version overflows */
    int64_t sampled, elements;   /* too large to compare whole: so many of so many, per draw */
    bool device_oracle;          /* ...with a reference on the device, not the processor's */
    const char *refused;         /* why it was not judged: "takes at least ..."; else NULL */
    double microseconds;         /* of one call; nan when not timed */
    struct interval time;        /* the same with its 95 % interval over launches */
    double gigabytes, gigaflops; /* per second, of the op as it is written */
    double device_microseconds;  /* at best, by the clock of a device; 0: there is none */
    int rounds;                  /* launches of each kernel */
    double noise;             /* by how much batches of one launch exceed its low ones, usually */
    double floor;             /* microseconds no kernel can beat on this machine; 0: not known */
    bool cold;                /* timed with empty caches */
    const char *slower_than;  /* timed in few rounds only: clearly slower than this one; or NULL */
    struct speedup *speedups; /* those with a problem come last */
    int speedup_count;
};

/* The comparison with the fastest of the others; NULL when there is none. */
const struct speedup *case_headline(const struct case_result *result);

/* What the compiler made of a kernel: what its innermost loops are made of. */
struct binary_facts {
    char hash[65];      /* of all that is loaded; "": the object could not be read */
    bool read;          /* the disassembly was: what follows is known */
    int instructions;   /* in all functions of the kernel itself */
    int loops;          /* innermost ones: a jump back with no other in between */
    int vector;         /* vector instructions in innermost loops... */
    int scalar;         /* ...and scalar floating-point ones */
    int vector_bits;    /* the widest registers used in innermost loops; 0: none */
    int fused;          /* multiply-adds in innermost loops */
    int spills;         /* vector stores to and loads from the stack in innermost loops */
    int gathers;        /* gathered loads in innermost loops */
    int divisions;      /* divisions and square roots in innermost loops */
    int calls;          /* calls in innermost loops */
    int64_t code_bytes; /* of the kernel's functions */
    const char *unread; /* why the disassembly was not read; NULL when it was */
};

/* What the processor counted, per call; 0: not counted. */
struct processor_counts {
    double nanoseconds, cycles, instructions, cache_misses, branch_misses;
    const char *case_text;
    const char *missing; /* why some were not counted, or NULL */
};

struct verdict {
    enum outcome outcome;
    char message[400];         /* one sentence */
    char detail[2000];         /* compiler output, signal, place */
    const char *id;            /* replays the very draw that failed; NULL when ok */
    struct mismatch *mismatch; /* NULL unless wrong, inaccurate or unstable */
    struct case_result *cases;
    int case_count;
    const char *isolation;             /* layers in force, "user pid net landlock seccomp" */
    const char *compiler;              /* version and flags */
    const struct binary_facts *binary; /* where asked for and compiled, else NULL */
    const struct processor_counts
        *counts; /* where asked for, of the last case checked; else NULL */
    bool known;  /* not judged: whoever asked knows this binary already (judge_options.known) */
    double compile_seconds, check_seconds;
    double time_seconds, outside_seconds; /* timing, and what external programs took of it */
};

/* Adds the verdict as an object; `name` is the kernel's. */
void verdict_write(struct json *json, const char *name, const struct verdict *verdict);

#endif
