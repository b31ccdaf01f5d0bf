/*
 * Running compilers and other tools on what somebody else wrote, confined: for the judge, and for
 * whoever else compiles what is not trusted.
 */
#ifndef SMELT_JUDGE_TOOL_H
#define SMELT_JUDGE_TOOL_H

#include "base/base.h"

/* How a tool fared that works on what a kernel's author wrote. */
struct tool_run {
    bool started, in_time; /* not started: the judge's fault */
    int status;            /* exit status; -1: ended by a signal */
    const char *output;    /* the first 16 KB of what it said, unless more was asked for */
    size_t length;         /* of output */
    bool more;             /* it said more than that */
    double seconds;
};

/* Runs it confined: it reads the system's own files and writes into the folder, nothing else. */
void tool_run(struct arena *arena, const char *const *arguments, const char *folder, int seconds,
              struct tool_run *run);
/* What a tool needs that others do not. */
struct tool_needs {
    const char *const *readable, *const *writable, *const *environment; /* end with NULL */
    unsigned without; /* layers it does not work in */
};
/* The same for one with needs of its own: a driver. Its memory is not limited. */
void tool_run_needing(struct arena *arena, const char *const *arguments, const char *folder,
                      int seconds, const struct tool_needs *needs, struct tool_run *run);
/* The same, keeping up to `most` bytes of what it says. */
void tool_run_most(struct arena *arena, const char *const *arguments, const char *folder,
                   int seconds, size_t most, struct tool_run *run);

#endif
