/*
 * Why a candidate fails, or what bounds its speed, with the numbers that show it.
 *
 * A diagnosis is a judgement about evidence others gathered: the verdict, the counts of the plan,
 * the rates of the machine, facts of the binary. Nothing is measured here.
 */
#ifndef SMELT_DIAGNOSE_DIAGNOSE_H
#define SMELT_DIAGNOSE_DIAGNOSE_H

#include "base/base.h"
#include "machine/machine.h"
#include "record/search.h"

struct diagnose_clocks { /* seconds */
    double wall;         /* a call took */
    double memory;       /* its bytes take at the rate of the memory they come from; 0: not known */
    double compute;      /* its operations take at the peak of the units; 0: not known */
};

struct diagnose_subject {
    const struct verdict *verdict;
    int which; /* case of the verdict whose speed is asked about; -1: the first timed one */
    /* of that case, as the op is written */
    double read_bytes, write_bytes, operations;
    enum machine_number number;
    /* of that case, as the plan does it; 0: there is no plan */
    double planned_bytes, planned_operations;
    int threads;
    int vector_bits;    /* of vectors that are wide enough for the machine; 0: not known */
    const char *device; /* "cuda", "opencl"; NULL: the processor */
    const struct machine *machine;
    const struct rates *rates;            /* all 0: nothing was measured */
    const struct diagnose_clocks *clocks; /* known already; NULL: found from what stands above */
};

/* Everything it points to lives in the arena. */
void diagnose(struct arena *arena, const struct diagnose_subject *subject,
              struct diagnosis *diagnosis);
/* Of the case whose speed is asked about; all 0: it was not timed. */
struct diagnose_clocks diagnose_clocks(const struct diagnose_subject *subject);
/*
 * What the diagnosis of a plan says about changing it so (an action as proposals have it:
 * "row.lanes 8 -> 16; row.unroll 2 -> 4"): above 0, that would help; below, it would not; 0:
 * nothing. Between -3 and 3.
 */
double diagnose_advice(const struct diagnosis *diagnosis, const char *action);
/* As an object of JSON. */
void diagnosis_write(struct json *json, const char *name, const struct diagnosis *diagnosis);

#endif
