/*
 * Why a candidate is not right: the class from the outcome, the pattern from where and how.
 */
#include <math.h>
#include <string.h>

#include "diagnose/private.h"

/* What compilers say, and what it means. */
static const struct {
    const char *said, *pattern, *action;
} compile_patterns[] = {
    {"undeclared", "undeclared name", "declare the name, or spell it as it is declared"},
    {"expected", "syntax", "look at the line before the one the compiler names, too"},
    {"incompatible", "types", "make the types of both sides agree"},
    {"No such file", "header", "use no header but the C library's and omp.h"},
    {"undefined reference", "undefined function",
     "only the C library, libm and libgomp are linked"},
    {"undefined symbol", "undefined function", "only the C library, libm and libgomp are linked"},
    {"target specific option", "instruction set", "use no instruction this machine lacks"},
    {"conflicting types", "entry point",
     "the entry is int kernel(void *const *, const int64_t *,"
     " const double *, void *)"},
};

static void diagnose_compile(const struct verdict *verdict, struct diagnosis *diagnosis)
{
    diagnosis->class = DIAGNOSIS_COMPILE;
    diagnosis->confidence = 1;
    for (size_t i = 0; i < sizeof compile_patterns / sizeof compile_patterns[0]; i++) {
        if (strstr(verdict->detail, compile_patterns[i].said)) {
            diagnosis->pattern = compile_patterns[i].pattern;
            diagnosis_action(diagnosis, compile_patterns[i].action);
            return;
        }
    }
    diagnosis_action(diagnosis, "read what the compiler says of the first line it names");
}

/* By how the wrong elements lie and what they are. */
static const char *value_pattern(const struct mismatch *mismatch)
{
    double ratio = mismatch->got / mismatch->expected;
    const char *said = mismatch->pattern ? mismatch->pattern : "";
    if (isnan(mismatch->got) && !isnan(mismatch->expected))
        return "nan";
    if (strstr(said, "last") || strstr(said, "from") || strstr(said, "tail"))
        return "tail";
    if (strstr(said, "row") || strstr(said, "column"))
        return "rows";
    if (strstr(said, "transpos"))
        return "transposed";
    if (mismatch->wrong == mismatch->total && mismatch->total > 1 && isfinite(ratio) &&
        ratio != 0 && (ratio == rint(ratio) || 1 / ratio == rint(1 / ratio)))
        return "scaled";
    if (mismatch->got == 0)
        return "not written";
    return mismatch->wrong == mismatch->total ? "everywhere" : "scattered";
}

static void diagnose_values(const struct verdict *verdict, struct diagnosis *diagnosis)
{
    static const struct {
        const char *pattern, *action;
    } actions[] = {
        {"tail", "handle what is left when the size is no multiple of the vector or tile"},
        {"rows", "check the loop over rows: its bounds, and what each thread is given"},
        {"transposed", "two indices are exchanged: check the strides"},
        {"scaled", "a factor is left out or applied twice"},
        {"nan", "an overflow or 0/0 on the way: subtract the largest before exp, guard divisions"},
        {"not written", "not every element is written"},
        {"everywhere", "compare one element by hand: smelt judge --replay ID --out DIR"},
        {"scattered", "look for elements computed by two threads or left out at tile edges"},
    };
    const struct mismatch *mismatch = verdict->mismatch;
    diagnosis->class =
        verdict->outcome == OUTCOME_INACCURATE ? DIAGNOSIS_PRECISION : DIAGNOSIS_VALUES;
    diagnosis->confidence = 0.9;
    if (!mismatch)
        return;
    diagnosis_fact(diagnosis, "elements off", (double)mismatch->wrong, "");
    diagnosis_fact(diagnosis, "elements in all", (double)mismatch->total, "");
    if (mismatch->limit > 0)
        diagnosis_fact(diagnosis, "error over limit",
                       fabs(mismatch->got - mismatch->expected) / mismatch->limit, "");
    if (verdict->outcome == OUTCOME_INACCURATE) {
        diagnosis->pattern = "precision";
        diagnosis_action(diagnosis, "add up in several partial sums, or in a wider type");
        diagnosis_action(diagnosis, "use a function that is accurate to the class");
        return;
    }
    diagnosis->pattern = value_pattern(mismatch);
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (strcmp(actions[i].pattern, diagnosis->pattern) == 0)
            diagnosis_action(diagnosis, actions[i].action);
}

void diagnose_failure(struct arena *arena, const struct diagnose_subject *subject,
                      struct diagnosis *diagnosis)
{
    const struct verdict *verdict = subject->verdict;
    diagnosis->confidence = 1;
    diagnosis->text = arena_string(arena, verdict->message);
    switch (verdict->outcome) {
    case OUTCOME_COMPILE_ERROR: diagnose_compile(verdict, diagnosis); break;
    case OUTCOME_WRONG:
    case OUTCOME_INACCURATE: diagnose_values(verdict, diagnosis); break;
    case OUTCOME_UNSTABLE:
        diagnosis->class = DIAGNOSIS_RACE;
        diagnosis->pattern = "race";
        diagnosis_action(diagnosis, "two threads write the same element, or one reads before"
                                    " the other has written");
        diagnosis_action(diagnosis, "something is read that was never written in this call");
        break;
    case OUTCOME_CRASH:
    case OUTCOME_OUT_OF_BOUNDS:
        diagnosis->class = DIAGNOSIS_BOUNDS;
        diagnosis->pattern = verdict->outcome == OUTCOME_CRASH ? "crash" : "beside a buffer";
        diagnosis_action(diagnosis, "check the last iteration of the loop on the line named");
        break;
    case OUTCOME_TIMEOUT:
        diagnosis->class = DIAGNOSIS_HANG;
        diagnosis_action(diagnosis, "look for a loop that does not end for some sizes");
        break;
    case OUTCOME_OUT_OF_MEMORY:
    case OUTCOME_LAUNCH_ERROR:
    case OUTCOME_UNSUPPORTED:
        diagnosis->class = DIAGNOSIS_LAUNCH;
        diagnosis_action(diagnosis, "let the manifest say which sizes it holds for, and how much"
                                    " scratch it needs");
        break;
    case OUTCOME_CHEAT:
        diagnosis->class = DIAGNOSIS_VALUES;
        diagnosis->pattern = "cheat";
        diagnosis_action(diagnosis, "compute every call anew, within the call");
        break;
    default: diagnosis->confidence = 0;
    }
}
