/*
 * Why a candidate is not right: the class from the outcome, the pattern from where and how.
 */
#include <math.h>
#include <stdlib.h>
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

/* "kernel.c:12:5: error: 'x' undeclared": the first line that says error, for the text. */
static const char *first_error(struct arena *arena, const char *said)
{
    for (const char *line = said; *line;) {
        size_t length = strcspn(line, "\n");
        const char *word = strstr(line, "error: ");
        const char *linker = strstr(line, "undefined ");
        if ((word && word < line + length) || (linker && linker < line + length))
            return arena_copy(arena, line, length);
        line += length + (line[length] != 0);
    }
    return NULL;
}

static void diagnose_compile(struct arena *arena, const struct verdict *verdict,
                             struct diagnosis *diagnosis)
{
    const char *where = first_error(arena, verdict->detail);
    diagnosis->class = DIAGNOSIS_COMPILE;
    diagnosis->pattern = "other";
    if (where)
        diagnosis->text = where;
    const char *place = where ? strchr(where, ':') : NULL;
    if (place && strtol(place + 1, NULL, 10) > 0)
        diagnosis_fact(diagnosis, "line", (double)strtol(place + 1, NULL, 10), "");
    for (size_t i = 0; i < sizeof compile_patterns / sizeof compile_patterns[0]; i++) {
        if (strstr(where ? where : verdict->detail, compile_patterns[i].said)) {
            diagnosis->pattern = compile_patterns[i].pattern;
            diagnosis_action(diagnosis, compile_patterns[i].action);
            return;
        }
    }
    diagnosis_action(diagnosis, "read what the compiler says of the first line it names");
}

/* ---- wrong values ---- */

/* What they are instead tells more than where they lie, unless they were just left out. */
static const char *value_pattern(const struct mismatch *mismatch)
{
    bool left_out = mismatch->change == MISMATCH_UNWRITTEN || mismatch->change == MISMATCH_ZERO;
    bool placed = mismatch->place == MISMATCH_TAIL || mismatch->place == MISMATCH_ROWS ||
                  mismatch->place == MISMATCH_COLUMNS || mismatch->place == MISMATCH_BOUNDARY;
    if (mismatch->change != MISMATCH_OTHER && !(left_out && placed))
        return mismatch_change_name(mismatch->change);
    return mismatch_place_name(mismatch->place);
}

static const struct {
    const char *pattern, *action;
    double confidence; /* how rarely something else looks like this */
} value_actions[] = {
    {"tail", "handle what is left when the size is no multiple of the vector or tile", 0.9},
    {"boundary", "check what is read beyond the edges: padding, halo, clamped indices", 0.8},
    {"rows", "check the loop over rows: its bounds, and what each thread is given", 0.8},
    {"columns", "check the loop along the row: lanes or a tile that is computed wrongly", 0.7},
    {"regular", "one lane of a vector, or one step of an unrolled loop, is computed wrongly", 0.7},
    {"transposed", "two indices are exchanged: check the strides", 0.95},
    {"scaled", "a factor is left out or applied twice", 0.9},
    {"offset", "a term is left out or added twice", 0.8},
    {"shifted", "an index is off by one step: check where the loop begins, and < against <=", 0.9},
    {"nan", "an overflow or 0/0 on the way: subtract the largest before exp, guard divisions", 0.8},
    {"not written", "not every element is written", 0.95},
    {"zero", "the sum is begun but nothing is added: check the bounds of the inner loop", 0.7},
    {"everywhere", "compare one element by hand: smelt judge --replay ID --out DIR", 0.4},
    {"scattered", "look for elements computed by two threads or left out at tile edges", 0.4},
    {"single", "look at how this one element differs: the first, the last, a special value", 0.5},
};

static void diagnose_change(const struct mismatch *mismatch, struct diagnosis *diagnosis)
{
    if (mismatch->change == MISMATCH_SCALED)
        diagnosis_fact(diagnosis, "factor", mismatch->number, "");
    if (mismatch->change == MISMATCH_OFFSET)
        diagnosis_fact(diagnosis, "amount", mismatch->number, "");
    if (mismatch->change == MISMATCH_SHIFTED)
        diagnosis_fact(diagnosis, "steps", mismatch->number, "");
    if (mismatch->change == MISMATCH_SHIFTED || mismatch->change == MISMATCH_TRANSPOSED)
        diagnosis_fact(diagnosis, "dimension", mismatch->dimension, "");
    if (mismatch->change == MISMATCH_NAN && mismatch->draw && strstr(mismatch->draw, "large"))
        diagnosis_action(diagnosis, "it is NaN for large inputs only: something overflows");
    diagnosis->pattern = value_pattern(mismatch);
    for (size_t i = 0; i < sizeof value_actions / sizeof value_actions[0]; i++) {
        if (strcmp(value_actions[i].pattern, diagnosis->pattern) != 0)
            continue;
        diagnosis_action(diagnosis, value_actions[i].action);
        diagnosis->confidence = value_actions[i].confidence;
    }
}

/* As many bits as agree; few of them speak for a narrow type somewhere, many for a long sum. */
static void diagnose_precision(const struct mismatch *mismatch, struct diagnosis *diagnosis)
{
    double error = fabs(mismatch->got - mismatch->expected), size = fabs(mismatch->expected);
    diagnosis->class = DIAGNOSIS_PRECISION;
    diagnosis->pattern = "precision";
    diagnosis->confidence = 0.9;
    double bits = error > 0 && size > 0 ? -log2(error / size) : 0;
    if (bits > 0)
        diagnosis_fact(diagnosis, "bits that agree", floor(bits), "bit");
    if (bits > 0 && bits < 13)
        diagnosis_action(diagnosis, "a step is done in a narrow type, or by a rough approximation:"
                                    " use a wider one");
    diagnosis_action(diagnosis, "add up in several partial sums, or in a wider type");
    diagnosis_action(diagnosis, "use a function that is accurate to the class");
}

static void diagnose_values(struct arena *arena, const struct verdict *verdict,
                            struct diagnosis *diagnosis)
{
    const struct mismatch *mismatch = verdict->mismatch;
    diagnosis->class =
        verdict->outcome == OUTCOME_INACCURATE ? DIAGNOSIS_PRECISION : DIAGNOSIS_VALUES;
    diagnosis->confidence = 0.5;
    if (!mismatch)
        return;
    struct text where = text_new(arena);
    text_printf(&where, "%s[", mismatch->tensor ? mismatch->tensor : "");
    for (int d = 0; d < mismatch->rank; d++)
        text_printf(&where, "%s%lld", d ? ", " : "", (long long)mismatch->index[d]);
    text_printf(&where, "] is %.6g, expected %.6g", mismatch->got, mismatch->expected);
    diagnosis->text =
        arena_printf(arena, "%s: %s, %s%s%s", verdict->message, where.at,
                     mismatch->pattern ? mismatch->pattern : "", mismatch->draw ? "; inputs: " : "",
                     mismatch->draw ? mismatch->draw : "");
    diagnosis_fact(diagnosis, "elements off", (double)mismatch->wrong, "");
    diagnosis_fact(diagnosis, "elements in all", (double)mismatch->total, "");
    if (mismatch->limit > 0)
        diagnosis_fact(diagnosis, "error over limit",
                       fabs(mismatch->got - mismatch->expected) / mismatch->limit, "");
    if (verdict->outcome == OUTCOME_INACCURATE)
        diagnose_precision(mismatch, diagnosis);
    else
        diagnose_change(mismatch, diagnosis);
    if (strstr(verdict->message, "held before"))
        diagnosis_action(diagnosis, "outputs and scratch hold rubbish at first: write, then add");
}

/* ---- bounds ---- */

/* "'y' was accessed out of bounds, at element 1024 of 1024", "... at byte 12 of 8". */
static void diagnose_bounds(struct arena *arena, const struct verdict *verdict,
                            struct diagnosis *diagnosis)
{
    static const char *const units[] = {"at element ", "at byte "};
    bool crash = verdict->outcome == OUTCOME_CRASH;
    diagnosis->class = DIAGNOSIS_BOUNDS;
    diagnosis->pattern = crash ? "crash" : "beside a buffer";
    if (verdict->detail[0])
        diagnosis->text = arena_printf(arena, "%s; %.*s", verdict->message,
                                       (int)strcspn(verdict->detail, "\n"), verdict->detail);
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(verdict->message, units[i]);
        char *end;
        if (!at)
            continue;
        long long place = strtoll(at + strlen(units[i]), &end, 10);
        diagnosis_fact(diagnosis, i ? "byte" : "element", (double)place, "");
        if (strncmp(end, " of ", 4) != 0)
            continue;
        long long size = strtoll(end + 4, NULL, 10);
        diagnosis_fact(diagnosis, "size of the buffer", (double)size, i ? "byte" : "element");
        diagnosis->pattern = place < 0 ? "before a buffer" : "behind a buffer";
        if (place < 0)
            diagnosis_action(diagnosis, "an index is negative: check what is subtracted from it");
        else
            diagnosis_action(diagnosis, "check the last iteration: its bound, and the tail of"
                                        " vectors and tiles");
    }
    if (strstr(verdict->message, "was written (element")) {
        diagnosis->pattern = "input written";
        diagnosis_action(diagnosis, "inputs are read-only: write to the output or to scratch");
    }
    if (strstr(verdict->message, "scratch"))
        diagnosis_action(diagnosis, "let the manifest say how much scratch it needs");
    if (diagnosis->action_count == 0)
        diagnosis_action(diagnosis, "check the last iteration of the loop on the line named");
}

void diagnose_failure(struct arena *arena, const struct diagnose_subject *subject,
                      struct diagnosis *diagnosis)
{
    const struct verdict *verdict = subject->verdict;
    diagnosis->confidence = 1;
    diagnosis->text = arena_string(arena, verdict->message);
    switch (verdict->outcome) {
    case OUTCOME_COMPILE_ERROR: diagnose_compile(arena, verdict, diagnosis); break;
    case OUTCOME_WRONG:
    case OUTCOME_INACCURATE: diagnose_values(arena, verdict, diagnosis); break;
    case OUTCOME_UNSTABLE:
        diagnosis->class = DIAGNOSIS_RACE;
        diagnosis->pattern = "race";
        diagnosis_action(diagnosis, "two threads write the same element, or one reads before"
                                    " the other has written");
        diagnosis_action(diagnosis, "something is read that was never written in this call");
        break;
    case OUTCOME_CRASH:
    case OUTCOME_OUT_OF_BOUNDS: diagnose_bounds(arena, verdict, diagnosis); break;
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
