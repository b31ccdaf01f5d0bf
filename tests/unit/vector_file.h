/*
 * Vector files: inputs and what PyTorch makes of them. tools/vectors/README.md has the format.
 */
#ifndef SMELT_TESTS_UNIT_VECTOR_FILE_H
#define SMELT_TESTS_UNIT_VECTOR_FILE_H

#include "record/array.h"

enum {
    VECTOR_BYTES = 64 << 10, /* of a file */
    VECTOR_RUNS = 100,
    VECTOR_SETTINGS = 32, /* of a run */
    VECTOR_ARRAYS = 64,   /* of a run, inputs and outputs each */
    VECTOR_ELEMENTS = 4096,
};

struct vector_arrays VECTOR(struct array);

struct vector_run {
    const char *text; /* the settings as written */
    const char *settings[VECTOR_SETTINGS];
    size_t setting_count;
    double relative, absolute;
    struct vector_arrays inputs, outputs;
};
struct vector_runs VECTOR(struct vector_run);

/* Everything in the arena. False with a message that names file and line. */
bool vector_read(struct arena *arena, const char *path, struct vector_runs *runs,
                 struct error *error);

#endif
