/*
 * Sums over the candidates of a run.
 */
#include "record/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct tally_row *row_of(struct arena *arena, struct tally *tally, const char *proposer)
{
    for (size_t i = 0; i < tally->count; i++)
        if (strcmp(tally->at[i].proposer, proposer) == 0)
            return &tally->at[i];
    struct tally_row *row = vector_add(arena, tally);
    *row = (struct tally_row){.proposer = proposer};
    return row;
}

/* Candidates come in the order of their numbers. */
static double fitness_of(const struct candidate *candidates, size_t count, int64_t id)
{
    size_t low = 0, high = count;
    while (id && low < high) {
        size_t middle = low + (high - low) / 2;
        if (candidates[middle].id == id)
            return candidates[middle].fitness;
        if (candidates[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static int compare_rows(const void *a, const void *b)
{
    const struct tally_row *x = a, *y = b;
    if (x->winner != y->winner)
        return x->winner ? -1 : 1;
    if (x->best != y->best)
        return x->best > y->best ? -1 : 1;
    return strcmp(x->proposer, y->proposer);
}

struct tally tally_of(struct arena *arena, const struct candidate *candidates, size_t count,
                      const struct exchange *exchanges, size_t exchange_count, int64_t best)
{
    struct tally tally = {0};
    for (size_t i = 0; i < count; i++) {
        const struct candidate *one = &candidates[i];
        struct tally_row *row = row_of(arena, &tally, one->proposer);
        double before = fitness_of(candidates, count, one->parents[0]);
        row->candidates++;
        row->right += one->judged && one->outcome == OUTCOME_OK;
        row->better += before > 0 && one->fitness > before;
        row->best = fmax(row->best, one->fitness);
        row->winner |= one->id == best;
        if (one->expected > 0 && before > 0 && one->fitness > 0) {
            row->expected += log(one->expected);
            row->got += log(one->fitness / before);
            row->compared++;
        }
    }
    for (size_t i = 0; i < exchange_count; i++) {
        struct tally_row *row =
            row_of(arena, &tally, arena_printf(arena, "model:%s", exchanges[i].model));
        row->questions++;
        row->cost += exchanges[i].cost;
        row->tokens += exchanges[i].read + exchanges[i].written;
    }
    for (size_t i = 0; i < tally.count; i++) {
        struct tally_row *row = &tally.at[i];
        if (row->compared > 0) {
            row->expected = exp(row->expected / (double)row->compared);
            row->got = exp(row->got / (double)row->compared);
        }
    }
    if (tally.count > 1)
        qsort(tally.at, tally.count, sizeof *tally.at, compare_rows);
    return tally;
}

bool tally_is_mixed(const struct tally *tally)
{
    for (size_t i = 0; i < tally->count; i++)
        if (strncmp(tally->at[i].proposer, "expert:", 7) != 0 && strchr(tally->at[i].proposer, ':'))
            return true;
    return false;
}

void tally_print(struct text *out, const struct tally *tally, const char *indent)
{
    text_printf(out, "%s%-24s %6s %6s %6s %8s %9s %10s %8s %8s\n", indent, "proposer", "tried",
                "right", "better", "best", "tokens", "cost", "expected", "came");
    for (size_t i = 0; i < tally->count; i++) {
        const struct tally_row *row = &tally->at[i];
        text_printf(out, "%s%-24s %6lld %6lld %6lld %7.3gx %9lld %10.4g", indent, row->proposer,
                    (long long)row->candidates, (long long)row->right, (long long)row->better,
                    row->best, (long long)row->tokens, row->cost);
        if (row->compared)
            text_printf(out, " %7.3gx %7.3gx", row->expected, row->got);
        else
            text_printf(out, " %8s %8s", "-", "-");
        text_printf(out, "%s\n", row->winner ? "  won" : "");
    }
}

void tally_write(struct json *json, const char *key, const struct tally *tally)
{
    json_array(json, key);
    for (size_t i = 0; i < tally->count; i++) {
        const struct tally_row *row = &tally->at[i];
        json_object(json, NULL);
        json_string(json, "proposer", row->proposer);
        json_int(json, "candidates", row->candidates);
        json_int(json, "right", row->right);
        json_int(json, "better", row->better);
        json_double(json, "best", row->best);
        json_bool(json, "won", row->winner);
        json_int(json, "questions", row->questions);
        json_int(json, "tokens", row->tokens);
        json_double(json, "cost", row->cost);
        json_double(json, "expected", row->compared ? row->expected : NAN);
        json_double(json, "came", row->compared ? row->got : NAN);
        json_end(json);
    }
    json_end(json);
}
