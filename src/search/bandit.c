/*
 * Which expert to ask: by what its proposals earned in this situation so far (UCB over the
 * logarithm of the gain), beginning with what each says of itself. One that had nothing new to say
 * about a candidate a few times is not asked about it again: an answer that costs nothing would
 * never lose its place otherwise. Experience is not here but in what is believed of proposals.
 */
#include <math.h>

#include "search/search.h"

/* Two tries' worth of trust in an expert's own word. */
static const double PRIOR_TRIES = 2, PRIOR_GAIN = 0.05, EXPLORE = 0.25;

static enum diagnosis_class class_of(const struct search *search, const struct search_node *node)
{
    return search->options->no_diagnosis ? DIAGNOSIS_NONE : node->diagnosis.class;
}

/*
 * What an expert says of itself, for what is wrong with a kernel. Of one that is right and slow all
 * are asked alike: what bounds it says what to change (advice.c, which orders proposals), but who
 * knows a remedy need not be the one whose name is that of the trouble (docs/results/ablation.md).
 */
static int concern_of(int expert, enum diagnosis_class class)
{
    bool slow =
        class == DIAGNOSIS_MEMORY || class == DIAGNOSIS_INSTRUCTION || class == DIAGNOSIS_LATENCY;
    int concern = experts[expert]->concern(class);
    return slow ? concern > 0 || experts[expert]->concern(DIAGNOSIS_NONE) > 0 : concern;
}

enum { DRY = 3 }; /* empty answers; some experts draw their proposals */

static bool may_ask(const struct search *search, const struct search_node *node, int expert)
{
    return concern_of(expert, class_of(search, node)) > 0 && node->dry[expert] < DRY;
}

bool bandit_is_dry(const struct search *search, const struct search_node *node)
{
    for (int i = 0; experts[i] && i < SEARCH_ARMS; i++)
        if (may_ask(search, node, i))
            return false;
    return true;
}

int bandit_choose(struct search *search, const struct search_node *parent)
{
    enum diagnosis_class class = class_of(search, parent);
    double total = 1, best_score = -INFINITY;
    int best = 0;
    for (int i = 0; experts[i]; i++)
        total += search->arms[class][i].tries + search->arms[class][i].asked;
    for (int i = 0; experts[i] && i < SEARCH_ARMS; i++) {
        const struct search_arm *arm = &search->arms[class][i];
        int concern = concern_of(i, class);
        if (!may_ask(search, parent, i))
            continue;
        double tries = arm->tries + PRIOR_TRIES;
        double mean = (arm->gain + PRIOR_TRIES * PRIOR_GAIN * concern) / tries;
        double score = mean + EXPLORE * sqrt(log(total + 1) / (tries + arm->asked)) +
                       1e-6 * random_uniform(&search->random);
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

void bandit_begin_round(struct search *search)
{
    for (int c = 0; c < DIAGNOSIS_COUNT; c++)
        for (int i = 0; i < SEARCH_ARMS; i++)
            search->arms[c][i].asked = 0;
}

void bandit_note_asked(struct search *search, const struct search_node *parent, int expert)
{
    if (expert >= 0 && expert < SEARCH_ARMS)
        search->arms[class_of(search, parent)][expert].asked++;
}

/* What counts is getting better than the parent; how much worse it got does not matter. */
void bandit_learn(struct search *search, const struct search_node *node)
{
    if (node->expert < 0 || node->expert >= SEARCH_ARMS || !node->parent)
        return;
    struct search_arm *arm = &search->arms[class_of(search, node->parent)][node->expert];
    double before = node->parent->record.fitness, now = node->record.fitness;
    double gain = before > 0 && now > before ? fmin(1, log(now / before)) : before <= 0 && now > 0;
    arm->tries++;
    arm->gain += gain;
    arm->squares += gain * gain;
}
