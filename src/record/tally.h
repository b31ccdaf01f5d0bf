/*
 * Who found what at which cost: the candidates of a run and its questions to models, summed up by
 * proposer.
 */
#ifndef SMELT_RECORD_TALLY_H
#define SMELT_RECORD_TALLY_H

#include "record/search.h"

struct tally_row {
    const char *proposer;
    int64_t candidates, right;
    int64_t better;    /* than their parents */
    int64_t questions; /* to a model */
    double best;       /* fitness; 0: none is right */
    bool winner;       /* the run's best is its own */
    double cost;
    int64_t tokens;
    double expected, got; /* geometric means of what was said to come and what came, over... */
    int64_t compared;     /* ...so many that said something and are right */
};
struct tally VECTOR(struct tally_row);

/* Those that found most first; `best` is the run's best candidate. */
struct tally tally_of(struct arena *arena, const struct candidate *candidates, size_t count,
                      const struct exchange *exchanges, size_t exchange_count, int64_t best);
/* Whether anybody but seeds and experts took part. */
bool tally_is_mixed(const struct tally *tally);
void tally_print(struct text *out, const struct tally *tally, const char *indent);
void tally_write(struct json *json, const char *key, const struct tally *tally);

#endif
