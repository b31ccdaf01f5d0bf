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
};

/* FILE|OP [NAME=VALUE...] KERNEL.c..., and --task. False: errors were added. */
bool judged_find(struct judged *judged, struct invocation *invocation);

/* The text of the plan in the head of a kernel smelt wrote; NULL: there is none. */
const char *judged_plan(struct arena *arena, const char *source);

#endif
