/*
 * Private to src/judge: elements of a case that is too large to evaluate whole.
 */
#ifndef SMELT_JUDGE_SAMPLE_H
#define SMELT_JUDGE_SAMPLE_H

#include "judge/private.h"

struct sample_expected {
    struct oracle_place *places; /* in order */
    int64_t count;
    struct draw draw; /* expected values and limits of these elements only */
};

/* At most so many elements, chosen by chance and by what they cost. Lives in the arena. */
bool sample_expect(const struct sampling *sampling, const struct ir_binding *binding,
                   const struct array *inputs, int64_t most, struct arena *arena,
                   struct random *random, struct sample_expected *out, struct error *error);

/*
 * oracle_sample by as many processes as there are processors: while a device is judged they have
 * nothing else to do, and an element may depend on millions of others.
 */
bool sample_values(const struct oracle_slice *slice, const struct ir_binding *binding,
                   const struct array *inputs, const struct oracle_place *places, int64_t count,
                   struct ir_value *values, const struct oracle_options *options,
                   struct error *error);

#endif
