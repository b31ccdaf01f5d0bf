/*
 * Private to src/judge: elements of a case that is too large to evaluate whole.
 */
#ifndef SMELT_JUDGE_SAMPLE_H
#define SMELT_JUDGE_SAMPLE_H

#include "judge/drawn.h"

struct sample_expected {
    struct oracle_place *places; /* in order */
    int64_t count;
    struct draw draw; /* expected values and limits of these elements only */
};

/*
 * A draw that several kernels are checked with: its inputs as they see them, and elements that were
 * chosen before. A kernel knows as little of them as of those chosen after its call.
 */
struct sample_shared {
    char *inputs[CELL_MAX_TENSORS];
    struct sample_expected expected;
};

/* A tensor without values. */
struct array sample_shape(const struct ir_binding *binding, int tensor);

/* All draws of a case. Lives in the arena; NULL with the error set. */
struct sample_shared *sample_share(const struct sampling *sampling,
                                   const struct ir_binding *binding, struct arena *arena,
                                   struct error *error);

/* At most so many elements of a draw, chosen by chance and by what they cost. Lives in the arena.
 */
bool sample_expect(const struct sampling *sampling, const struct ir_binding *binding,
                   const struct drawn *drawn, int draw, int64_t most, struct arena *arena,
                   struct random *random, struct sample_expected *out, struct error *error);

/* The expected values of elements of a draw; turns per input, NULL: none. */
bool sample_values(const struct sampling *sampling, const struct ir_binding *binding,
                   const struct drawn *drawn, int draw, const int64_t *turns,
                   const struct oracle_place *places, int64_t count, struct ir_value *values,
                   struct error *error);

#endif
