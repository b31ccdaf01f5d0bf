/*
 * Plans changed: one step to a neighbour, or two plans made one. A step is tried on a copy and kept
 * only if the result is legal, so that what comes out can always be lowered.
 */
#include <string.h>

#include "plan/plan.h"

enum { MUTATE_TRIES = 40, MUTATE_NEAR = 2 };

struct change { /* one try */
    const struct plan_space *space;
    struct random *random;
    struct plan *plan; /* a copy, to be changed */
};

static int draw(const struct change *change, int below)
{
    return (int)random_below(change->random, (uint64_t)below);
}

/* ---- one decision ---- */

static bool move_decision(struct change *change)
{
    struct plan *plan = change->plan;
    struct plan_slots slots = {0};
    if (plan->group_count == 0)
        return false;
    int number = draw(change, plan->group_count);
    struct plan_group *group = &plan->groups[number];
    change->space->open(change->space->context, plan, number, &slots);
    if (slots.count == 0)
        return false;
    const struct plan_slot *slot = &slots.at[draw(change, (int)slots.count)];
    const char *now = plan_get(group, slot->key);
    int at = slot->seed;
    for (int i = 0; now && i < slot->value_count; i++)
        at = strcmp(slot->values[i], now) == 0 ? i : at;
    if (slot->value_count < 2)
        return false;
    int step = 1 + draw(change, MUTATE_NEAR);
    int to = draw(change, 2) ? at + step : at - step;
    if (to < 0 || to >= slot->value_count || draw(change, 8) == 0)
        to = draw(change, slot->value_count);
    if (to == at)
        return false;
    plan_set(change->space->arena, group, slot->key, slot->values[to]);
    return true;
}

/* ---- groups ---- */

static void set_stages(struct change *change, struct plan_group *group, const int *stages,
                       int count)
{
    int *copy = arena_array(change->space->arena, (size_t)count + 1, sizeof *copy);
    if (count)
        memcpy(copy, stages, (size_t)count * sizeof *copy);
    for (int i = 1; i < count; i++) { /* ascending */
        for (int k = i; k > 0 && copy[k - 1] > copy[k]; k--) {
            int swap = copy[k];
            copy[k] = copy[k - 1];
            copy[k - 1] = swap;
        }
    }
    group->stages = copy;
    group->stage_count = count;
    group->decisions = NULL;
    group->decision_count = 0;
    group->name = "";
    group->name = plan_group_name(change->space->arena, change->plan,
                                  change->space->graph->names[copy[count - 1]]);
}

static void remove_group(struct plan *plan, int number)
{
    plan->group_count--;
    memmove(&plan->groups[number], &plan->groups[number + 1],
            (size_t)(plan->group_count - number) * sizeof *plan->groups);
}

/* Room for one more before group `number`. */
static void insert_group(struct change *change, int number)
{
    struct plan *plan = change->plan;
    struct plan_group *groups =
        arena_array(change->space->arena, (size_t)plan->group_count + 2, sizeof *groups);
    memcpy(groups, plan->groups, (size_t)number * sizeof *groups);
    memcpy(groups + number + 1, plan->groups + number,
           (size_t)(plan->group_count - number) * sizeof *groups);
    plan->groups = groups;
    plan->group_count++;
}

static bool fill(struct change *change, int number)
{
    return change->space->fill(change->space->context, change->plan, number);
}

static bool merge_groups(struct change *change)
{
    struct plan *plan = change->plan;
    if (plan->group_count < 2)
        return false;
    int second = 1 + draw(change, plan->group_count - 1);
    int first = draw(change, 3) ? second - 1 : draw(change, second);
    const struct plan_group *a = &plan->groups[first], *b = &plan->groups[second];
    int count = a->stage_count + b->stage_count;
    int *stages = arena_array(change->space->arena, (size_t)count + 1, sizeof *stages);
    memcpy(stages, a->stages, (size_t)a->stage_count * sizeof *stages);
    memcpy(stages + a->stage_count, b->stages, (size_t)b->stage_count * sizeof *stages);
    remove_group(plan, first);
    set_stages(change, &plan->groups[second - 1], stages, count);
    return fill(change, second - 1);
}

static bool split_group(struct change *change)
{
    struct plan *plan = change->plan;
    if (plan->group_count == 0)
        return false;
    int number = draw(change, plan->group_count);
    const int *stages = plan->groups[number].stages;
    int count = plan->groups[number].stage_count;
    if (count < 2)
        return false;
    int head = 1 + draw(change, count - 1);
    insert_group(change, number);
    plan->groups[number] = (struct plan_group){.name = ""};
    set_stages(change, &plan->groups[number + 1], stages + head, count - head);
    set_stages(change, &plan->groups[number], stages, head);
    return fill(change, number) && fill(change, number + 1);
}

/* Another skeleton, or the same with its first decisions again. */
static bool refill_group(struct change *change)
{
    struct plan *plan = change->plan;
    if (plan->group_count == 0)
        return false;
    int number = draw(change, plan->group_count);
    plan->groups[number].decisions = NULL;
    plan->groups[number].decision_count = 0;
    return fill(change, number);
}

/* ---- inlining ---- */

static bool inline_group(struct change *change)
{
    struct plan *plan = change->plan;
    const struct ir_part *part = change->space->graph->part;
    if (plan->group_count == 0)
        return false;
    int number = draw(change, plan->group_count);
    const struct plan_group *group = &plan->groups[number];
    if (group->stage_count != 1 ||
        !change->space->can_inline(change->space->context, group->stages[0]))
        return false;
    int *inlined =
        arena_array(change->space->arena, (size_t)part->stage_count + 1, sizeof *inlined);
    int count = 0;
    for (int s = 0; s < part->stage_count; s++) {
        bool in = s == group->stages[0];
        for (int i = 0; i < plan->inlined_count; i++)
            in |= plan->inlined[i] == s;
        if (in)
            inlined[count++] = s;
    }
    plan->inlined = inlined;
    plan->inlined_count = count;
    remove_group(plan, number);
    return true;
}

static bool uninline_stage(struct change *change)
{
    struct plan *plan = change->plan;
    const struct ir_graph *graph = change->space->graph;
    if (plan->inlined_count == 0)
        return false;
    int at = draw(change, plan->inlined_count), stage = plan->inlined[at];
    int *inlined = arena_array(change->space->arena, (size_t)plan->inlined_count, sizeof *inlined);
    int count = 0;
    for (int i = 0; i < plan->inlined_count; i++) {
        if (i != at)
            inlined[count++] = plan->inlined[i];
    }
    plan->inlined = inlined;
    plan->inlined_count = count;
    /* before the first group that may read it: behind all that it reads itself */
    int number = 0;
    for (int g = 0; g < plan->group_count; g++) {
        for (int i = 0; i < plan->groups[g].stage_count; i++) {
            for (int k = 0; k < graph->after[stage].count; k++)
                number = plan->groups[g].stages[i] == graph->after[stage].at[k] ? g + 1 : number;
        }
    }
    insert_group(change, number);
    plan->groups[number] = (struct plan_group){.name = ""};
    set_stages(change, &plan->groups[number], &stage, 1);
    return fill(change, number);
}

/* ---- the step ---- */

static const struct {
    bool (*step)(struct change *change);
    int weight;
    unsigned kind;
} STEPS[] = {
    {move_decision, 10, PLAN_CHANGE_DECISION}, {refill_group, 1, PLAN_CHANGE_SKELETON},
    {merge_groups, 2, PLAN_CHANGE_GROUPS},     {split_group, 1, PLAN_CHANGE_GROUPS},
    {inline_group, 1, PLAN_CHANGE_GROUPS},     {uninline_stage, 1, PLAN_CHANGE_GROUPS},
};

enum { STEP_COUNT = sizeof STEPS / sizeof *STEPS };

static bool take_step(struct change *change, unsigned kinds)
{
    int total = 0;
    for (int i = 0; i < STEP_COUNT; i++)
        total += STEPS[i].kind & kinds ? STEPS[i].weight : 0;
    int at = draw(change, total);
    for (int i = 0; i < STEP_COUNT; i++) {
        int weight = STEPS[i].kind & kinds ? STEPS[i].weight : 0;
        if (at < weight)
            return STEPS[i].step(change);
        at -= weight;
    }
    return false;
}

/* Whether the change is legal, and one. */
static bool accepts(const struct plan_space *space, struct plan *changed, const char *before)
{
    char after[65];
    if (!space->legal(space->context, changed))
        return false;
    plan_hash(changed, space->graph, after);
    return strcmp(before, after) != 0;
}

struct plan *plan_change(const struct plan_space *space, struct random *random,
                         const struct plan *plan, unsigned kinds)
{
    char before[65];
    plan_hash(plan, space->graph, before);
    for (int i = 0; i < MUTATE_TRIES; i++) {
        struct change change = {space, random, plan_copy(space->arena, plan)};
        if (take_step(&change, kinds) && accepts(space, change.plan, before))
            return change.plan;
    }
    return NULL;
}

struct plan *plan_mutate(const struct plan_space *space, struct random *random,
                         const struct plan *plan)
{
    return plan_change(space, random, plan, PLAN_CHANGE_ANY);
}

/* ---- crossover ---- */

static bool same_stages(const struct plan_group *a, const struct plan_group *b)
{
    return a->stage_count == b->stage_count &&
           memcmp(a->stages, b->stages, (size_t)a->stage_count * sizeof *a->stages) == 0;
}

/* Groups that both have are taken from either; with the same skeleton, decision by decision. */
static void cross_group(struct change *change, struct plan_group *group,
                        const struct plan_group *other)
{
    if (strcmp(group->skeleton, other->skeleton) != 0) {
        if (draw(change, 2)) {
            const char *name = group->name;
            *group = *other;
            group->name = name;
        }
        return;
    }
    for (int d = 0; d < other->decision_count; d++) {
        if (draw(change, 2))
            plan_set(change->space->arena, group, other->decisions[d].key,
                     other->decisions[d].value);
    }
}

struct plan *plan_cross(const struct plan_space *space, struct random *random, const struct plan *a,
                        const struct plan *b)
{
    for (int i = 0; i < MUTATE_TRIES && plan_rewrites_equal(a, b); i++) {
        bool swap = random_below(random, 2) != 0; /* whose groups they are */
        const struct plan *other = swap ? a : b;
        struct change change = {space, random, plan_copy(space->arena, swap ? b : a)};
        for (int g = 0; g < change.plan->group_count; g++) {
            for (int o = 0; o < other->group_count; o++) {
                if (same_stages(&change.plan->groups[g], &other->groups[o]))
                    cross_group(&change, &change.plan->groups[g], &other->groups[o]);
            }
        }
        if (space->legal(space->context, change.plan))
            return change.plan;
    }
    return NULL;
}
