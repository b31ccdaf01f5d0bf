/*
 * Commands that judge kernels from files: which ones, by which task.
 */
#ifndef SMELT_CMD_JUDGED_H
#define SMELT_CMD_JUDGED_H

#include "cmd/subject.h"
#include "judge/judge.h"

struct judged {
    struct subject subject;
    const struct task *task;
    struct judged_kernels VECTOR(const struct source *) kernels;
    struct judge_options as_run; /* with --run: how its kernels are judged */
};

/* Rows of the option tables of the commands that judge files. */
#define OPTIONS_JUDGED                                                                     \
    {.name = "task", .argument = "NAME", .help = "the task of FILE to judge by"},          \
    {                                                                                      \
        .name = "run", .argument = "RUN",                                                  \
        .help = "judge by the task of a run of the store, with its threads and baselines " \
                "unless others are given; all operands are kernels then"                   \
    }

/* FILE|OP [NAME=VALUE...] KERNEL.c..., and --task; with --run KERNEL.c... and what else is said
 * about it. False: errors were added. */
bool judged_find(struct judged *judged, struct invocation *invocation);

/* The values of --oracle, ends with NULL, and which one a name is; NULL: the first one. */
extern const char *const judged_oracles[];
enum judge_oracle judged_oracle(const char *name);

/* The text of the plan in the head of a kernel smelt wrote; NULL: there is none. */
const char *judged_plan(struct arena *arena, const char *source);

#endif
