/*
 * Private to src/judge: what a sanitizer of a device's vendor says about a kernel that failed.
 */
#ifndef SMELT_JUDGE_SANITIZER_H
#define SMELT_JUDGE_SANITIZER_H

#include "judge/device.h"

enum { SANITIZER_WORDS = 160 };

/* The first thing it found. */
struct sanitizer_finding {
    char what[SANITIZER_WORDS];     /* "Invalid __global__ write of size 4 bytes" */
    char function[SANITIZER_WORDS]; /* "rows"; "": not told */
    int line;                       /* of kernel.cu; 0: not told */
    int other_line;                 /* of a race: the other access; 0: not told */
    bool has_thread;
    int64_t thread[3], block[3];
    uint64_t address;           /* 0: not told */
    char note[SANITIZER_WORDS]; /* what it says of the address: "is out of bounds" */
};

/* Reads what compute-sanitizer printed. False: it found nothing, or this is not its output. */
bool sanitizer_read(const char *said, struct sanitizer_finding *finding);

/* What there is to look at: one case that failed. */
struct sanitizer_case {
    const struct launch_device *device;
    const struct ir_binding *binding;
    const struct array *inputs; /* NULL: zeros */
    const struct source *source;
    const char *library, *directory;
    enum outcome outcome;
};

/* Runs what fits the outcome and says in `out` what was found, or why it could not be run. */
void sanitizer_explain(struct arena *arena, const struct sanitizer_case *failed, struct text *out);

#endif
