/*
 * Private to src/judge: the reference on a device, for cases that take the processor too long.
 */
#ifndef SMELT_JUDGE_REFERENCE_H
#define SMELT_JUDGE_REFERENCE_H

#include "judge/drawn.h"

/* The op in double precision, and the plain kernel, which limits go by. */
enum reference_form { REFERENCE_EXACT, REFERENCE_PLAIN, REFERENCE_FORMS };

struct reference;

/* The one that is open; all zero is ready. One at a time: they take memory of the device. */
struct references {
    struct arena arena;
    struct reference *open; /* NULL: that case is left to the processor */
    int number;             /* of the case, counted from 1; 0: none was asked for yet */
};

struct reference_case {
    const struct task *task;
    const struct task_case *task_case;
    const struct ir_binding *binding;
    const struct target *target; /* NULL: the processor, which needs none */
    const struct judge_options *options;
    int number;
    uint64_t seed;
};

/*
 * The reference of a case that is judged by sampled elements, made when it is first asked for.
 * NULL: the processor's serves, or, with the error set, what was asked for cannot be had.
 */
const struct reference *reference_get(struct references *references,
                                      const struct reference_case *wanted, struct error *error);
void references_release(struct references *references);

/* As oracle_sample, over inputs that the device makes for itself; turns per input, NULL: none. */
bool reference_values(const struct reference *reference, enum reference_form form,
                      const struct drawn *drawn, int draw, const int64_t *turns,
                      const struct oracle_options *options, const struct oracle_place *places,
                      int64_t count, struct ir_value *values, struct error *error);

#endif
