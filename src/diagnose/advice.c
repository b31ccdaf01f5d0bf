/*
 * What a diagnosis says about a change of a plan: whether it is what would help, or the opposite.
 * One row for each thing that may be the matter and each decision it speaks about, with what it was
 * worth beside the others where it was measured (docs/results/ablation.md). What such words are
 * worth altogether is not said here: a search finds that out as it goes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose.h"

enum way {
    MORE,
    LESS,
    OTHER,
    WIDER
}; /* a larger number, a smaller one, any other value; a larger
      one, as far as the machine's vectors reach */

static const struct row {
    enum diagnosis_class class;
    const char *pattern; /* "": whatever the pattern is */
    const char *key;     /* "lanes", or "block." for all that begin so */
    enum way way;
    const char *value; /* not a number: the one that helps; or NULL */
    double weight;     /* how much it helps where it does, 1: as the others do in the mean */
} table[] = {
    {DIAGNOSIS_INSTRUCTION, "scalar", "lanes", MORE, NULL, 1},
    {DIAGNOSIS_INSTRUCTION, "scalar", "side", OTHER, NULL, 1},
    {DIAGNOSIS_INSTRUCTION, "scalar", "turn", MORE, NULL, 1},
    {DIAGNOSIS_INSTRUCTION, "narrow", "lanes", WIDER, NULL, 1},
    {DIAGNOSIS_INSTRUCTION, "narrow", "tile.n", MORE, NULL, 1},
    {DIAGNOSIS_INSTRUCTION, "spills", "lanes", LESS, NULL, 1.5},
    {DIAGNOSIS_INSTRUCTION, "spills", "tile.", LESS, NULL, 1.5},
    {DIAGNOSIS_INSTRUCTION, "spills", "unroll", LESS, NULL, 1.5},
    {DIAGNOSIS_INSTRUCTION, "gathers", "side", OTHER, NULL, 1},
    {DIAGNOSIS_INSTRUCTION, "gathers", "pack.", OTHER, "yes", 1},
    {DIAGNOSIS_INSTRUCTION, "gathers", "turn", MORE, NULL, 1},
    {DIAGNOSIS_INSTRUCTION, "divisions", "divide", OTHER, "reciprocal", 0.3},
    {DIAGNOSIS_INSTRUCTION, "", "stores", OTHER, "cached", 0.1},
    {DIAGNOSIS_MEMORY, "traffic", "keep", MORE, NULL, 0.5},
    {DIAGNOSIS_MEMORY, "traffic", "block.", MORE, NULL, 1},
    {DIAGNOSIS_MEMORY, "traffic", "stores", OTHER, "streaming", 0.5},
    {DIAGNOSIS_MEMORY, "", "prefetch", OTHER, "yes", 0.3},
    {DIAGNOSIS_LATENCY, "", "tile.", MORE, NULL, 2},
    {DIAGNOSIS_LATENCY, "", "divide", OTHER, "reciprocal", 0.1},
    {DIAGNOSIS_LATENCY, "", "stores", OTHER, "cached", 0.2},
    {DIAGNOSIS_LATENCY, "", "pack.", OTHER, "yes", 0.4},
    {DIAGNOSIS_LATENCY, "", "lanes", OTHER, "columns", 0.4},
    {DIAGNOSIS_LATENCY, "", "lines", LESS, NULL, 1},
    {DIAGNOSIS_LATENCY, "", "block.k", MORE, NULL, 0.2},
};

static bool is_key(const char *wanted, const char *key, size_t length)
{
    size_t size = strlen(wanted);
    bool family = wanted[size - 1] == '.';
    return length >= size && memcmp(wanted, key, size) == 0 && (family || length == size);
}

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && memcmp(word, text, length) == 0;
}

/* 1: as the row says; -1: the other way; 0: neither. */
static double follows(const struct row *row, double reach, const char *from, size_t from_length,
                      const char *to, size_t to_length)
{
    if (row->value)
        return is_word(row->value, to, to_length) - is_word(row->value, from, from_length);
    if (row->way == OTHER)
        return 1;
    double before = strtod(from, NULL), after = strtod(to, NULL);
    double up = (after > before) - (after < before);
    if (row->way == WIDER && reach > 0 && after > reach * before)
        return -1;
    return row->way == LESS ? -up : up;
}

/* One piece of an action: "row.lanes 8 -> 16". */
static double advise(const struct diagnosis *diagnosis, const char *piece, size_t length)
{
    const char *end = piece + length, *dot = memchr(piece, '.', length);
    const char *space = dot ? memchr(dot, ' ', (size_t)(end - dot)) : NULL;
    const char *second = space ? memchr(space + 1, ' ', (size_t)(end - space - 1)) : NULL;
    const char *pattern = diagnosis->pattern ? diagnosis->pattern : "";
    if (!second || end - second < 4 || memcmp(second, " -> ", 4) != 0)
        return 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct row *row = &table[i];
        if (row->class != diagnosis->class ||
            (row->pattern[0] && strcmp(row->pattern, pattern) != 0) ||
            !is_key(row->key, dot + 1, (size_t)(space - dot - 1)))
            continue;
        return row->weight * follows(row, diagnosis->reach, space + 1, (size_t)(second - space - 1),
                                     second + 4, (size_t)(end - second - 4));
    }
    return 0;
}

double diagnose_advice(const struct diagnosis *diagnosis, const char *action)
{
    double sum = 0;
    while (*action) {
        const char *end = strstr(action, "; ");
        size_t length = end ? (size_t)(end - action) : strlen(action);
        sum += advise(diagnosis, action, length);
        action += length + (end ? 2 : 0);
    }
    return fmax(-3, fmin(3, sum));
}
