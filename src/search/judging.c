/*
 * Batches through the judge. The first one finds out which baselines are the fastest; from then on
 * candidates are timed beside the best one so far, and speed-ups are those over it, times its own:
 * a baseline that is far behind would take most of the time, and be half as fast in one batch as in
 * another. Finalists meet the fastest baselines again.
 */
#include "search/judging.h"

#include <math.h>
#include <string.h>

/* Kernels judged side by side are compared with each other, too: their names tell them apart. */
static const char beside[] = "candidate ", to_beat[] = "candidate to beat";

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

static const struct speedup *named_of(const struct case_result *result, const char *name)
{
    for (int i = 0; i < result->speedup_count; i++)
        if (strcmp(result->speedups[i].baseline, name) == 0 && result->speedups[i].ratio.middle > 0)
            return &result->speedups[i];
    return NULL;
}

/* Over somebody, or with NULL over the fastest baseline: geometric mean over the timed cases; all
 * 0: there was no comparison. */
static struct interval mean_speedup(const struct verdict *verdict, const char *name)
{
    struct interval sum = {0};
    int count = 0;
    for (int i = 0; i < verdict->case_count; i++) {
        const struct case_result *result = &verdict->cases[i];
        const struct speedup *speedup = name ? named_of(result, name) : fastest_of(result);
        if (!speedup)
            continue;
        sum.low += log(fmax(speedup->ratio.low, 1e-9));
        sum.middle += log(speedup->ratio.middle);
        sum.high += log(fmax(speedup->ratio.high, 1e-9));
        count++;
    }
    if (count == 0)
        return sum;
    return (struct interval){exp(sum.low / count), exp(sum.middle / count), exp(sum.high / count)};
}

struct interval judging_speedup(const struct verdict *verdict)
{
    return verdict->outcome == OUTCOME_OK ? mean_speedup(verdict, NULL) : (struct interval){0};
}

double judging_fitness(const struct verdict *verdict)
{
    return judging_speedup(verdict).middle;
}

const char *judging_asked_name(const char *const *names, const char *reported)
{
    for (; *names; names++) {
        size_t length = strlen(*names);
        if (strncmp(reported, *names, length) == 0 &&
            (reported[length] == 0 || strncmp(reported + length, " (", 2) == 0))
            return *names;
    }
    return NULL;
}

/* Of each case, so that later candidates are compared with what the first ones were. */
static void note_fastest(struct judging *judging, const struct verdict *verdict)
{
    const char *const *names =
        judge_baseline_names(judging->arena, judging->task, &judging->options);
    int count = 0;
    for (int i = 0; i < verdict->case_count && count < JUDGING_FASTEST; i++) {
        const struct speedup *fastest = fastest_of(&verdict->cases[i]);
        const char *name = fastest ? judging_asked_name(names, fastest->baseline) : NULL;
        bool noted = name == NULL;
        for (int k = 0; k < count; k++)
            noted |= strcmp(judging->fastest[k], name ? name : "") == 0;
        if (!noted)
            judging->fastest[count++] = name;
    }
}

/* ---- the same binary ---- */

/* Lines of the manifest that say how a kernel is called; the rest of it is for people. */
static bool is_request(const char *line)
{
    static const char *const words[] = {"// op ", "// holds ", "// scratch ", "// threads "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(line, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

const char *judging_key(struct arena *arena, const struct source *source, const char *binary)
{
    struct text all = text_new(arena);
    char hex[65];
    text_printf(&all, "%s\n", binary);
    for (const char *line = source->text; line[0] == '/' && line[1] == '/';) {
        size_t length = strcspn(line, "\n");
        if (is_request(line))
            text_printf(&all, "%.*s\n", (int)length, line);
        line += length + (line[length] != 0);
    }
    sha256_hex(all.at, all.length, hex);
    return arena_string(arena, hex);
}

struct batch {
    struct judging *judging;
    struct arena *arena;
    const struct source *const *kernels;
    struct search_judgement *judgements;
};

static bool is_known(void *context, int number, const char *binary)
{
    struct batch *batch = context;
    struct search_judgement *own = &batch->judgements[number];
    own->binary = judging_key(batch->arena, batch->kernels[number], binary);
    own->twin = batch->judging->search ? search_twin(batch->judging->search, own->binary) : NULL;
    for (int i = 0; !own->twin && !own->same_as && i < number; i++) {
        const struct search_judgement *other = &batch->judgements[i];
        if (other->binary && !other->twin && strcmp(other->binary, own->binary) == 0)
            own->same_as = i + 1;
    }
    return own->twin || own->same_as;
}

/* ---- a batch ---- */

/* Finalists against each other; NAN: they did not meet. */
static const double *compare_pairs(struct arena *arena, const struct verdict *verdict, int count)
{
    double *against = arena_array(arena, (size_t)count, sizeof *against);
    for (int other = 0; other < count; other++) {
        const char *name = arena_printf(arena, "%s%d", beside, other + 1);
        double ratio = mean_speedup(verdict, name).middle;
        against[other] = ratio > 0 ? ratio : NAN;
    }
    return against;
}

static void take_speed(const struct judging *judging, struct search_judgement *judgement,
                       const struct verdict *verdict)
{
    struct interval ratio =
        verdict->outcome == OUTCOME_OK ? mean_speedup(verdict, to_beat) : (struct interval){0};
    double own = judging->champion_fitness;
    judgement->speedup =
        ratio.middle > 0 ? (struct interval){own * ratio.low, own * ratio.middle, own * ratio.high}
                         : judging_speedup(verdict);
    judgement->fitness = judgement->speedup.middle;
}

static void take_times(struct search_judgement *judgement, const struct verdict *verdict)
{
    judgement->microseconds = NAN;
    for (int c = 0; c < verdict->case_count && isnan(judgement->microseconds); c++) {
        judgement->microseconds = verdict->cases[c].microseconds;
        judgement->floor = verdict->cases[c].floor;
    }
    for (int c = 0; c < verdict->case_count; c++)
        judgement->cut |= verdict->cases[c].slower_than != NULL;
}

/* Contests of short calls are none the quicker for haste, and have rounds enough. */
static bool was_hasty(const struct verdict *verdict)
{
    enum { ENOUGH = 8 };
    for (int c = 0; c < verdict->case_count; c++)
        if (verdict->cases[c].rounds > 0 && verdict->cases[c].rounds < ENOUGH)
            return true;
    return false;
}

/*
 * Who seems to beat the one to beat meets it once more, alone and without haste: speed-ups are told
 * by it, and luck that is believed goes into all that follow.
 */
static bool confirm_best(struct judging *judging, struct arena *arena,
                         const struct source *const *named, const struct judge_options *options,
                         struct search_judgement *judgements, int count, struct error *error)
{
    static const double seems = 1.01;
    struct judge_options patient = *options;
    int best = -1;
    for (int i = 0; i < count; i++)
        if (judgements[i].fitness > seems * judging->champion_fitness &&
            (best < 0 || judgements[i].fitness > judgements[best].fitness))
            best = i;
    if (best < 0 || !judging->champion || !was_hasty(judgements[best].verdict))
        return true;
    patient.hasty = false;
    patient.known = NULL;
    patient.announced = NULL;
    struct verdict *verdict = judgements[best].verdict;
    if (!judge_kernels(arena, judging->task, &named[best], 1, &patient, verdict, error))
        return false;
    take_speed(judging, &judgements[best], verdict);
    take_times(&judgements[best], verdict);
    return true;
}

/* The best of a batch is the one to beat from now on, if it surely is faster than who was. */
static void note_champion(struct judging *judging, const struct source *const *kernels,
                          const struct search_judgement *judgements, int count)
{
    int best = -1;
    for (int i = 0; i < count; i++)
        if (judgements[i].fitness > 0 && judgements[i].speedup.low > judging->champion_fitness &&
            (best < 0 || judgements[i].fitness > judgements[best].fitness))
            best = i;
    if (best < 0)
        return;
    struct source *copy = arena_new(judging->arena, struct source);
    copy->name = to_beat;
    copy->text = arena_copy(judging->arena, kernels[best]->text, kernels[best]->length);
    copy->length = kernels[best]->length;
    judging->champion = copy;
    judging->champion_fitness = judgements[best].fitness;
}

/* One batch is at hand and one is to come: the oldest was judged, or never will be. */
void judging_announce(void *context, const struct source *const *kernels, int count)
{
    struct judging *judging = context;
    struct judge_options options = judging->options;
    int kept = count > 0 ? 1 : JUDGING_ANNOUNCED;
    for (int i = 0; i < kept; i++)
        judge_announced_release(judging->announced[i]);
    for (int i = 0; i < JUDGING_ANNOUNCED; i++)
        judging->announced[i] = i + kept < JUDGING_ANNOUNCED ? judging->announced[i + kept] : NULL;
    if (count == 0) /* what follows is judged over new draws */
        judge_draws_release(&judging->draws);
    options.inspect = true;
    if (count > 0)
        judging->announced[JUDGING_ANNOUNCED - 1] = judge_announce(kernels, count, &options);
}

bool judging_judge(void *context, struct arena *arena, const struct source *const *kernels,
                   struct plan *const *plans, int count, enum search_care care,
                   struct search_judgement *judgements, struct error *error)
{
    struct judging *judging = context;
    struct judge_options options = judging->options;
    struct verdict *verdicts = arena_array(arena, (size_t)count, sizeof *verdicts);
    const struct source **named = arena_array(arena, (size_t)count, sizeof *named);
    struct batch batch = {judging, arena, kernels, judgements};
    (void)plans;
    for (int i = 0; i < count; i++) {
        struct source *copy = arena_new(arena, struct source);
        *copy = *kernels[i];
        copy->name = arena_printf(arena, "%s%d", beside, i + 1);
        named[i] = copy;
        judgements[i] = (struct search_judgement){0};
    }
    options.inspect = true;
    options.context = &batch;
    static const char *const nobody[] = {NULL};
    if (judging->fastest[0])
        options.baselines = judging->fastest;
    if (judging->batches++ % JUDGING_RENEW == 0)
        judge_draws_release(&judging->draws);
    options.brief &= care != SEARCH_CARE_FINAL;
    options.hasty &= care == SEARCH_CARE_USUAL;
    struct judge_draws fresh = {0};
    options.draws = care == SEARCH_CARE_USUAL ? &judging->draws : &fresh;
    if (care != SEARCH_CARE_USUAL) {
        options.time_seconds *= 3;
    } else {
        options.known = is_known;
        options.champion = judging->champion;
        if (judging->champion) /* whose speed-up is known */
            options.baselines = nobody;
    }
    for (int i = 0; i < JUDGING_ANNOUNCED; i++)
        if (judge_is_announced(judging->announced[i], kernels, count))
            options.announced = judging->announced[i];
    bool good = judge_kernels(arena, judging->task, named, count, &options, verdicts, error);
    judge_draws_release(&fresh);
    if (!good)
        return false;
    for (int i = 0; i < count; i++) {
        judgements[i].verdict = &verdicts[i];
        take_speed(judging, &judgements[i], &verdicts[i]);
        if (care != SEARCH_CARE_USUAL)
            judgements[i].against = compare_pairs(arena, &verdicts[i], count);
        take_times(&judgements[i], &verdicts[i]);
        if (!judging->fastest[0])
            note_fastest(judging, &verdicts[i]);
    }
    if (care != SEARCH_CARE_USUAL)
        return true;
    if (options.hasty && !confirm_best(judging, arena, named, &options, judgements, count, error))
        return false;
    note_champion(judging, kernels, judgements, count);
    return true;
}
