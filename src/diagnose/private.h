/*
 * Private to src/diagnose.
 */
#ifndef SMELT_DIAGNOSE_PRIVATE_H
#define SMELT_DIAGNOSE_PRIVATE_H

#include "diagnose/diagnose.h"

void diagnose_failure(struct arena *arena, const struct diagnose_subject *subject,
                      struct diagnosis *diagnosis);
void diagnose_speed(struct arena *arena, const struct diagnose_subject *subject,
                    const struct case_result *result, struct diagnosis *diagnosis);

/* The case of the verdict whose speed is asked about; NULL: it was not timed. */
const struct case_result *diagnose_timed_case(const struct diagnose_subject *subject);

void diagnosis_fact(struct diagnosis *diagnosis, const char *name, double value, const char *unit);
void diagnosis_action(struct diagnosis *diagnosis, const char *action);

#endif
