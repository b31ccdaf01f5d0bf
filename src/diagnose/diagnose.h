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

struct diagnose_subject {
    const struct verdict *verdict;
    int which; /* case of the verdict whose speed is asked about; -1: the first timed one */
    /* of that case, as the op is written */
    double read_bytes, write_bytes, operations;
    enum machine_number number;
    /* of that case, as the plan does it; 0: there is no plan */
    double planned_bytes, planned_operations;
    int threads;
    const struct machine *machine;
    const struct rates *rates; /* all 0: nothing was measured */
};

/* Everything it points to lives in the arena. */
void diagnose(struct arena *arena, const struct diagnose_subject *subject,
              struct diagnosis *diagnosis);
/* As an object of JSON. */
void diagnosis_write(struct json *json, const char *name, const struct diagnosis *diagnosis);

#endif
