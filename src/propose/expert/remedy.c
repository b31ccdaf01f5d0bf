/*
 * remedy: all that a diagnosis speaks for, at once. What is slow for several reasons needs several
 * changes, and one at a time would be as many candidates; each alone is for the other experts to
 * propose. Which changes a diagnosis speaks for is said in src/diagnose/advice.c.
 */
#include <stdio.h>
#include <string.h>

#include "diagnose/diagnose.h"
#include "propose/expert/edit.h"

enum { REMEDIES = 12 }; /* decisions changed at once */

struct remedy { /* of one decision */
    int group;
    const char *key;
    const char *near, *best; /* the next value that is spoken for, and the one predicted fastest */
};

static int concern(enum diagnosis_class class)
{
    return class == DIAGNOSIS_MEMORY || class == DIAGNOSIS_INSTRUCTION || class == DIAGNOSIS_LATENCY
               ? 2
               : 0;
}

static bool is_advised(const struct propose_view *view, const struct plan_group *group,
                       const char *key, const char *from, const char *to)
{
    char step[160];
    int length = snprintf(step, sizeof step, "%s.%s %s -> %s", group->skeleton, key, from, to);
    return length > 0 && length < (int)sizeof step && diagnose_advice(view->diagnosis, step) > 0;
}

/* False: nothing is said about it, or nothing legal. */
static bool find_remedy(const struct propose_view *view, int g, const struct plan_slot *slot,
                        struct remedy *remedy)
{
    struct arena *arena = view->program->arena;
    const struct plan_group *group = &view->parent->groups[g];
    const char *now = plan_get(group, slot->key);
    int at = slot->seed, nearest = slot->value_count;
    double most = 0;
    *remedy = (struct remedy){.group = g, .key = slot->key};
    for (int i = 0; now && i < slot->value_count; i++)
        at = strcmp(slot->values[i], now) == 0 ? i : at;
    for (int i = 0; now && i < slot->value_count; i++) {
        struct proposal alone;
        struct plan *plan = plan_copy(arena, view->parent);
        int distance = i < at ? at - i : i - at;
        if (!is_advised(view, group, slot->key, now, slot->values[i]))
            continue;
        plan_set(arena, &plan->groups[g], slot->key, slot->values[i]);
        if (!edit_take(view, plan, "", &alone))
            continue;
        if (distance < nearest) {
            nearest = distance;
            remedy->near = slot->values[i];
        }
        if (alone.promise > most) {
            most = alone.promise;
            remedy->best = slot->values[i];
        }
    }
    return remedy->near != NULL;
}

static int find_remedies(const struct propose_view *view, struct remedy *remedies)
{
    int count = 0;
    for (int g = 0; g < view->parent->group_count; g++) {
        struct plan_slots slots = {0};
        struct skeleton_group group = skeleton_group_of(view->program, view->parent, g);
        skeleton_open(view->program, &group, &view->parent->groups[g], &slots);
        for (size_t s = 0; s < slots.count && count < REMEDIES; s++)
            count += find_remedy(view, g, &slots.at[s], &remedies[count]);
    }
    return count;
}

/* Those of the set that are in `which`, a bit each. */
static bool apply(const struct propose_view *view, const struct remedy *remedies, int count,
                  unsigned which, bool near, struct proposal *proposal)
{
    struct arena *arena = view->program->arena;
    struct plan *plan = plan_copy(arena, view->parent);
    for (int i = 0; i < count; i++)
        if (which >> i & 1)
            plan_set(arena, &plan->groups[remedies[i].group], remedies[i].key,
                     near ? remedies[i].near : remedies[i].best);
    return edit_take(view, plan, "what its diagnosis speaks for, at once", proposal);
}

/* All of them, all but one, and each two. */
static int propose(const struct propose_view *view, struct proposal *proposals, int most)
{
    struct remedy remedies[REMEDIES];
    int found = view->diagnosis ? find_remedies(view, remedies) : 0, count = 0;
    unsigned all = (1u << found) - 1;
    if (found < 2)
        return 0;
    for (int near = 0; near < 2 && count < most; near++)
        count += apply(view, remedies, found, all, near, &proposals[count]);
    for (int i = 0; i < found && found > 2 && count < most; i++)
        count += apply(view, remedies, found, all & ~(1u << i), false, &proposals[count]);
    for (int i = 0; i < found && found > 3; i++)
        for (int k = 0; k < i && count < most; k++)
            count += apply(view, remedies, found, 1u << i | 1u << k, false, &proposals[count]);
    return edit_rank(view, proposals, count);
}

const struct proposer expert_remedy = {
    .name = "remedy",
    .note = "all that a diagnosis speaks for, at once",
    .concern = concern,
    .propose = propose,
};
