/*
 * Names of outcomes.
 */
#include "record/verdict.h"

const char *outcome_name(enum outcome outcome)
{
    static const char *const names[] = {
        "ok",         "compile-error", "launch-error",  "crash",
        "timeout",    "out-of-memory", "out-of-bounds", "wrong",
        "inaccurate", "unstable",      "cheat",         "unsupported",
        "judge-fault"};
    return outcome < OUTCOME_COUNT ? names[outcome] : "judge-fault";
}
