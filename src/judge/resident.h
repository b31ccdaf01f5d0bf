/*
 * Private to src/judge: the process of a driver that stays (struct judge_resident of judge.h).
 */
#ifndef SMELT_JUDGE_RESIDENT_H
#define SMELT_JUDGE_RESIDENT_H

#include "judge/launch.h"

/* Whether there is one for this target, started where there was none. */
bool resident_ready(struct judge_resident *resident, const struct target *target);
/* After something that was not right: the next one gets a new process. */
void resident_drop(struct judge_resident *resident);
/* Compiles what compile_prepare wrote down; false: it is left to a process of its own. */
bool resident_compile(struct judge_resident *resident, const struct compiled *compiled,
                      double seconds);
/* The three steps of a launch, in a worker: false when something is not as it should be. */
bool resident_open(struct worker *worker);
enum waited resident_continue(struct worker *worker, double seconds);
bool resident_close(struct worker *worker);

#endif
