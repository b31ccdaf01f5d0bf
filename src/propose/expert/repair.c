/*
 * repair: a plan whose kernel is not right or not possible, led back step by step to what is known
 * to work. The smallest step back is tried first, so that what was good in the plan survives.
 */
#include "propose/expert/edit.h"

#include <string.h>

static int concern(enum diagnosis_class class)
{
    switch (class) {
    case DIAGNOSIS_COMPILE:
    case DIAGNOSIS_LAUNCH:
    case DIAGNOSIS_BOUNDS:
    case DIAGNOSIS_VALUES:
    case DIAGNOSIS_PRECISION:
    case DIAGNOSIS_RACE:
    case DIAGNOSIS_HANG: return 2;
    default: return 0;
    }
}

/* Which decision is the likeliest culprit of a fault. */
static double suspicion(enum diagnosis_class class, const char *key)
{
    static const struct {
        enum diagnosis_class class;
        const char *key;
        double weight;
    } table[] = {
        {DIAGNOSIS_PRECISION, "precision", 3}, {DIAGNOSIS_PRECISION, "stream", 2},
        {DIAGNOSIS_PRECISION, "unroll", 1.5},  {DIAGNOSIS_RACE, "threads", 3},
        {DIAGNOSIS_RACE, "split", 2},          {DIAGNOSIS_BOUNDS, "lanes", 2},
        {DIAGNOSIS_BOUNDS, "keep", 2},         {DIAGNOSIS_VALUES, "stream", 2},
        {DIAGNOSIS_VALUES, "keep", 2},         {DIAGNOSIS_COMPILE, "atom", 3},
        {DIAGNOSIS_LAUNCH, "keep", 2},         {DIAGNOSIS_HANG, "threads", 2},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].class == class && strcmp(table[i].key, key) == 0)
            return table[i].weight;
    return 1;
}

/* Each decision back to where its slot begins. */
static int undo_decisions(const struct propose_view *view, int g, struct proposal *proposals,
                          int most)
{
    struct arena *arena = view->program->arena;
    enum diagnosis_class class = view->diagnosis ? view->diagnosis->class : DIAGNOSIS_NONE;
    struct plan_slots slots = {0};
    struct skeleton_group group = skeleton_group_of(view->program, view->parent, g);
    int count = 0;
    skeleton_open(view->program, &group, &view->parent->groups[g], &slots);
    for (size_t s = 0; s < slots.count && count < most; s++) {
        struct plan *plan = plan_copy(arena, view->parent);
        const struct plan_slot *slot = &slots.at[s];
        plan_set(arena, &plan->groups[g], slot->key, slot->values[slot->seed]);
        if (!edit_take(view, plan, "one decision back to where it began", &proposals[count]))
            continue;
        proposals[count++].promise = 10 * suspicion(class, slot->key);
    }
    return count;
}

/* The whole group as plain loops: slow, and right. */
static bool make_plain(const struct propose_view *view, int g, struct proposal *proposal)
{
    struct plan *plan = plan_copy(view->program->arena, view->parent);
    plan->groups[g].skeleton = "plain";
    plan->groups[g].decisions = NULL;
    plan->groups[g].decision_count = 0;
    return edit_take(view, plan, "a group as plain loops, which are known to be right", proposal);
}

static int propose(const struct propose_view *view, struct proposal *proposals, int most)
{
    int count = 0;
    for (int g = 0; g < view->parent->group_count && count < most; g++) {
        count += undo_decisions(view, g, proposals + count, most - count);
        if (count < most && make_plain(view, g, &proposals[count]))
            proposals[count++].promise = 1;
    }
    return edit_rank(view, proposals, count);
}

const struct proposer expert_repair = {
    .name = "repair",
    .note = "a faulty plan led back, step by step, to what is known to work",
    .concern = concern,
    .propose = propose,
};
