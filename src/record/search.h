/*
 * What a search leaves behind: runs, candidates, diagnoses, experience. Plain data, made by the
 * search, kept by the store, read by everybody.
 */
#ifndef SMELT_RECORD_SEARCH_H
#define SMELT_RECORD_SEARCH_H

#include "base/base.h"
#include "record/verdict.h"

/* ---- diagnosis ---- */

enum diagnosis_class {
    DIAGNOSIS_NONE,        /* nothing stands out */
    DIAGNOSIS_COMPILE,     /* the compiler refused it */
    DIAGNOSIS_LAUNCH,      /* it could not be started, or refused the call */
    DIAGNOSIS_BOUNDS,      /* it touched what is not its own: crash or out of bounds */
    DIAGNOSIS_VALUES,      /* wrong results */
    DIAGNOSIS_PRECISION,   /* results too inexact */
    DIAGNOSIS_RACE,        /* results differ from call to call */
    DIAGNOSIS_HANG,        /* no end within the time given */
    DIAGNOSIS_MEMORY,      /* speed: bound by bytes moved */
    DIAGNOSIS_INSTRUCTION, /* speed: bound by instructions issued */
    DIAGNOSIS_LATENCY,     /* speed: bound by waiting, overheads, too little at once */
    DIAGNOSIS_COUNT
};

const char *diagnosis_name(enum diagnosis_class class); /* "memory" */
bool diagnosis_parse(const char *name, enum diagnosis_class *class);

enum { DIAGNOSIS_EVIDENCE = 16, DIAGNOSIS_ACTIONS = 6 };

struct diagnosis_fact { /* a number that shows it */
    const char *name;   /* "bytes moved" */
    double value;
    const char *unit; /* "GB/s"; "" */
};

struct diagnosis {
    enum diagnosis_class class;
    double confidence;   /* 0..1 */
    const char *pattern; /* finer than the class: "tail", "transposed", "spills"; "" when none */
    const char *text;    /* a sentence or two for people */
    struct diagnosis_fact facts[DIAGNOSIS_EVIDENCE];
    int fact_count;
    const char *actions[DIAGNOSIS_ACTIONS]; /* what would help, most promising first */
    int action_count;
    double reach; /* times as wide its vectors might be; 0: not known */
};

/* ---- runs and candidates ---- */

enum run_state { RUN_RUNNING, RUN_DONE, RUN_STOPPED, RUN_FAILED };

const char *run_state_name(enum run_state state);
bool run_state_parse(const char *name, enum run_state *state);

struct run {
    int64_t id;
    const char *task;      /* its name */
    const char *text;      /* hash of the object with the whole text of the task */
    const char *structure; /* of the op: what makes tasks alike; see src/know */
    const char *target;    /* "cpu" */
    const char *signature; /* of machine and toolchain */
    const char *settings;  /* the command line, so that it can go on */
    uint64_t seed;
    enum run_state state;
    double started, ended; /* seconds since 1970; ended 0: not yet */
    int64_t best;          /* candidate, 0: none */
    int64_t judged;        /* how many candidates have a verdict */
    double seconds;        /* spent searching, over all its sittings */
};

struct candidate {
    int64_t id, run;
    int64_t parents[2];   /* 0: none */
    const char *proposer; /* "expert:memory", "seed", "model:NAME", "agent:NAME" */
    const char *action;   /* what was changed: "rows.lanes 8 -> 16" */
    const char *why;      /* in words */
    int island;           /* -1: none */
    const char *plan;     /* hash of the object, or NULL: source only */
    const char *kernel;   /* hash of the object with the source */
    const char *binary;   /* hash of what the compiler made of it, or NULL */
    double proposed;      /* seconds since the run began */
    double settled;       /* the same of its first verdict; 0: not known */
    double expected;      /* how many times as fast as its parent it was said to be; 0: not said */
    double cost;          /* money spent on the proposal */
    int64_t tokens;       /* a model read and wrote for it */
    bool judged;
    enum outcome outcome;
    double fitness;             /* speed-up over the fastest baseline; 0 for anything not ok */
    double microseconds, floor; /* of the first timed case */
    const char *verdict;        /* hash of the object: the whole verdict as JSON */
    enum diagnosis_class diagnosis;
    const char *note; /* the diagnosis in words */
};

struct exchange { /* with a language model: what it was asked, what it said */
    int64_t id, run;
    const char *model;   /* as users call it */
    const char *request; /* hash of protocol, address and question: equal ones may share a reply */
    const char *text;    /* hash of the object: a transcript of it, see propose/llm */
    const char *message; /* what went wrong; "" */
    int64_t read, written; /* tokens */
    double cost, seconds;
};

/* ---- experience ---- */

struct experience {
    const char *structure; /* of the op */
    const char *shape;     /* bucket of its sizes: "1e6" elements and the like */
    const char *dtype, *target;
    const char *signature; /* of machine and toolchain: from elsewhere it counts for less */
    const char *diagnosis; /* what was the matter */
    const char *action;    /* what was done: "rows.lanes 8 -> 16", or "plan HASH" */
    int64_t tries, wins, losses, infeasible;
    double log_gain; /* sum over tries of the logarithm of the speed-up */
};

#endif
