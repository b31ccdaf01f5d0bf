/*
 * Several proposals for one parent, at once. What is slow for three reasons needs three changes,
 * and one at a time they are three candidates, each made when the one before was judged. So what is
 * hoped most of is joined by the next that changes something else, as long as more is hoped of both
 * together: decisions are believed to gain independently of each other, until a candidate shows
 * that they do not.
 */
#include <stdlib.h>
#include <string.h>

#include "propose/expert/edit.h"
#include "search/private.h"

enum { MOST = 4 }; /* changes at once: a plan with more is no neighbour any more */

/* What `other` decides otherwise than the parent does, decided so in `plan` too. False: nothing, or
 * the plan has decided about it already. */
static bool join(struct arena *arena, struct plan *plan, const struct plan *parent,
                 const struct plan *other)
{
    bool joined = false;
    for (int g = 0; g < other->group_count; g++)
        for (int d = 0; d < other->groups[g].decision_count; d++) {
            const struct plan_decision *new = &other->groups[g].decisions[d];
            const char *old = plan_get(&parent->groups[g], new->key);
            const char *now = plan_get(&plan->groups[g], new->key);
            if (!old || !now || strcmp(new->value, old) == 0)
                continue;
            if (strcmp(now, old) != 0)
                return false;
            plan_set(arena, &plan->groups[g], new->key, new->value);
            joined = true;
        }
    return joined;
}

static int compare_scores(const void *a, const void *b)
{
    const struct search_hope *one = a, *other = b;
    return (one->score < other->score) - (one->score > other->score);
}

/* Those about the parent of the best, with groups and skeletons as it has, best first. */
static int list_partners(struct search_hopes *hopes, const struct search_hope *best)
{
    size_t count = 0;
    for (size_t i = 0; i < hopes->count; i++) {
        const struct search_hope *hope = &hopes->at[i];
        if (hope->choice.parent == best->choice.parent &&
            plan_kinds_equal(hope->proposal.plan, best->choice.parent->plan))
            hopes->at[count++] = *hope;
    }
    qsort(hopes->at, count, sizeof *hopes->at, compare_scores);
    return (int)count;
}

void search_combine(struct search *search, const struct skeleton_program *program,
                    struct search_hopes *hopes, struct search_hope *best)
{
    struct search_node *parent = best->choice.parent;
    struct propose_view view = {.program = program,
                                .parent = parent->plan,
                                .random = &search->random,
                                .hash = parent->hash};
    if (!plan_kinds_equal(best->proposal.plan, parent->plan))
        return;
    struct search_hope now = *best;
    int count = list_partners(hopes, best), joined = 1;
    for (int i = 0; i < count && joined < MOST; i++) {
        struct search_hope next = now;
        char hash[65];
        struct plan *plan = plan_copy(program->arena, now.proposal.plan);
        if (!join(program->arena, plan, parent->plan, hopes->at[i].proposal.plan) ||
            !edit_take(&view, plan, "several changes that may each help, at once", &next.proposal))
            continue;
        search_order(search, parent, &next.proposal, 1, &next.score);
        plan_hash(plan, program->graph, hash);
        if (next.score <= now.score || !search_may_try(search, hash))
            continue;
        now = next;
        joined++;
        if (!fingerprints_have(&search->known, hash))
            *best = now;
    }
}
