/*
 * Batches through the judge. The first one finds out which baseline is the fastest; from then on
 * only that one is timed beside the candidates.
 */
#include "search/judging.h"

#include <math.h>
#include <string.h>

/* Kernels judged side by side are compared with each other, too: their names tell them apart. */
static const char beside[] = "candidate ";

/* The baseline that took least time in this case, or NULL. */
static const struct speedup *fastest_of(const struct case_result *result)
{
    const struct speedup *fastest = NULL;
    for (int i = 0; i < result->speedup_count; i++) {
        const struct speedup *speedup = &result->speedups[i];
        if (strncmp(speedup->baseline, beside, sizeof beside - 1) == 0)
            continue;
        if (speedup->ratio.middle > 0 &&
            (!fastest || speedup->microseconds < fastest->microseconds))
            fastest = speedup;
    }
    return fastest;
}

struct interval judging_speedup(const struct verdict *verdict)
{
    struct interval sum = {0};
    int count = 0;
    for (int i = 0; i < verdict->case_count && verdict->outcome == OUTCOME_OK; i++) {
        const struct speedup *fastest = fastest_of(&verdict->cases[i]);
        if (!fastest)
            continue;
        sum.low += log(fmax(fastest->ratio.low, 1e-9));
        sum.middle += log(fastest->ratio.middle);
        sum.high += log(fmax(fastest->ratio.high, 1e-9));
        count++;
    }
    if (count == 0)
        return sum;
    return (struct interval){exp(sum.low / count), exp(sum.middle / count), exp(sum.high / count)};
}

double judging_fitness(const struct verdict *verdict)
{
    return judging_speedup(verdict).middle;
}

static void note_fastest(struct judging *judging, const struct verdict *verdict)
{
    for (int i = 0; i < verdict->case_count && !judging->fastest; i++) {
        const struct speedup *fastest = fastest_of(&verdict->cases[i]);
        if (fastest)
            judging->fastest = arena_string(judging->arena, fastest->baseline);
    }
}

bool judging_judge(void *context, struct arena *arena, const struct source *const *kernels,
                   struct plan *const *plans, int count, bool finalists,
                   struct search_judgement *judgements, struct error *error)
{
    struct judging *judging = context;
    struct judge_options options = judging->options;
    const char *const only[] = {judging->fastest, NULL};
    struct verdict *verdicts = arena_array(arena, (size_t)count, sizeof *verdicts);
    const struct source **named = arena_array(arena, (size_t)count, sizeof *named);
    (void)plans;
    for (int i = 0; i < count; i++) {
        struct source *copy = arena_new(arena, struct source);
        *copy = *kernels[i];
        copy->name = arena_printf(arena, "%s%d", beside, i + 1);
        named[i] = copy;
    }
    if (judging->fastest)
        options.baselines = only;
    if (finalists)
        options.time_seconds *= 3;
    if (!judge_kernels(arena, judging->task, named, count, &options, verdicts, error))
        return false;
    for (int i = 0; i < count; i++) {
        judgements[i] = (struct search_judgement){.verdict = &verdicts[i],
                                                  .fitness = judging_fitness(&verdicts[i]),
                                                  .speedup = judging_speedup(&verdicts[i]),
                                                  .microseconds = NAN};
        note_fastest(judging, &verdicts[i]);
        for (int c = 0; c < verdicts[i].case_count; c++) {
            const struct case_result *result = &verdicts[i].cases[c];
            if (isnan(result->microseconds) || !isnan(judgements[i].microseconds))
                continue;
            judgements[i].microseconds = result->microseconds;
            judgements[i].floor = result->floor;
        }
    }
    return true;
}
