/*
 * What decisions are worth, believed and revised.
 *
 * The speed of a plan is taken to be a product of factors, one per decision; a step from one plan
 * to another then gains what the new values are worth less what the old ones were, whatever the
 * rest of the plan is. Of every value a mean and a variance (of the logarithm) is kept. What came
 * of a step moves the means of all values it touched, those most that were least certain (a Kalman
 * filter without covariances). That is far from the truth, and learns from one observation what a
 * table of whole actions would need dozens for.
 */
#include "know/belief.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Before anything was seen, in squared logarithms: what a value may be worth to anybody, and what
 * it may be worth more where the diagnosis is this one. */
static const double ANYWHERE = 0.06, IN_CLASS = 0.03;
/* Trust in the cost model: the exponent of what it promises. */
static const double MODEL_MEAN = 0.5, MODEL_VARIANCE = 0.1;
/* Trust in diagnoses: what a step gains that one of them advises; docs/results/ablation.md has the
 * count this is from. */
static const double ADVICE_MEAN = 0.35, ADVICE_VARIANCE = 0.05;
/* Of one observation: noise of timing, and what the picture above leaves out. */
static const double NOISE = 0.015;

enum { TERMS = 48 }; /* of one action: what is beyond is left out */

struct term {
    struct belief *belief;
    double factor;
};

struct belief_set belief_new(struct arena *arena)
{
    return (struct belief_set){.arena = arena,
                               .values = map_new(arena),
                               .model = {.mean = MODEL_MEAN, .variance = MODEL_VARIANCE},
                               .advice = {.mean = ADVICE_MEAN, .variance = ADVICE_VARIANCE}};
}

static struct belief *find(struct belief_set *set, const char *class, const char *what,
                           size_t length, double variance)
{
    char name[160];
    int written = snprintf(name, sizeof name, "%s|%.*s", class, (int)length, what);
    if (written < 0)
        return NULL;
    struct belief *belief = map_get(&set->values, name);
    if (!belief) {
        belief = arena_new(set->arena, struct belief);
        belief->variance = variance;
        map_set(&set->values, arena_string(set->arena, name), belief);
    }
    return belief;
}

static int add_terms(struct belief_set *set, const char *class, const char *what, size_t length,
                     double sign, struct term *terms, int count)
{
    if (count + 2 > TERMS)
        return count;
    terms[count++] = (struct term){find(set, "", what, length, ANYWHERE), sign};
    if (class[0])
        terms[count++] = (struct term){find(set, class, what, length, IN_CLASS), sign};
    return count;
}

/* "row.lanes 8 -> 16": the new value counts, the old one is given up. Anything else counts whole.
 */
static int add_piece(struct belief_set *set, const char *class, const char *piece, size_t length,
                     struct term *terms, int count)
{
    static const char arrow[] = " -> ";
    char before[120], after[120];
    const char *end = piece + length, *at = piece, *space;
    while (at + 4 <= end && strncmp(at, arrow, 4) != 0)
        at++;
    for (space = at; space > piece && space[-1] != ' '; space--)
        ;
    if (at + 4 > end || space == piece)
        return add_terms(set, class, piece, length, 1, terms, count);
    int key = (int)(space - piece);
    int old = snprintf(before, sizeof before, "%.*s%.*s", key, piece, (int)(at - space), space);
    int new = snprintf(after, sizeof after, "%.*s%.*s", key, piece, (int)(end - at - 4), at + 4);
    if (old < 0 || new < 0 || old >= (int)sizeof before || new >= (int)sizeof after)
        return count;
    count = add_terms(set, class, before, (size_t)old, -1, terms, count);
    return add_terms(set, class, after, (size_t) new, 1, terms, count);
}

static int terms_of(struct belief_set *set, const struct belief_step *step, struct term *terms)
{
    int count = 0;
    const char *action = step->action;
    if (step->advice != 0)
        terms[count++] = (struct term){&set->advice, step->advice};
    if (step->promise > 0) /* what it does not know better than by a factor of four is not news */
        terms[count++] = (struct term){&set->model, fmax(-1.4, fmin(1.4, log(step->promise)))};
    while (*action) {
        const char *end = strstr(action, "; ");
        size_t length = end ? (size_t)(end - action) : strlen(action);
        count = add_piece(set, step->class, action, length, terms, count);
        action += length + (end ? 2 : 0);
    }
    return count;
}

struct belief belief_guess(struct belief_set *set, const struct belief_step *step)
{
    struct term terms[TERMS + 2];
    struct belief guess = {0};
    int count = terms_of(set, step, terms);
    for (int i = 0; i < count; i++) {
        guess.mean += terms[i].factor * terms[i].belief->mean;
        guess.variance += terms[i].factor * terms[i].factor * terms[i].belief->variance;
    }
    return guess;
}

void belief_draw_anew(struct belief_set *set)
{
    set->drawing++;
}

double belief_draw(struct belief_set *set, const struct belief_step *step, double curiosity,
                   struct random *random)
{
    struct term terms[TERMS + 2];
    double sum = 0;
    int count = terms_of(set, step, terms);
    for (int i = 0; i < count; i++) {
        struct belief *belief = terms[i].belief;
        if (belief->drawing != set->drawing) {
            belief->drawing = set->drawing;
            belief->drawn =
                belief->mean + curiosity * sqrt(belief->variance) * random_normal(random);
        }
        sum += terms[i].factor * belief->drawn;
    }
    return sum;
}

void belief_learn(struct belief_set *set, const struct belief_step *step, double log_gain,
                  double weight)
{
    struct term terms[TERMS + 2];
    struct belief guess = belief_guess(set, step);
    int count = terms_of(set, step, terms);
    double error = log_gain - guess.mean;
    double total = guess.variance + NOISE / fmax(weight, 1e-3);
    for (int i = 0; i < count; i++) {
        struct belief *belief = terms[i].belief;
        double move = belief->variance * terms[i].factor / total;
        belief->mean += move * error;
        belief->variance *= fmax(0.02, 1 - move * terms[i].factor);
    }
}
