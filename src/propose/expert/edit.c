/*
 * Single decisions changed, checked and ranked.
 */
#include "propose/expert/edit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EDIT_TRIES = 400 }; /* values looked at in one call: a check is microseconds */

static const struct edit_key *find_key(const struct edit_key *keys, const char *key)
{
    for (; keys->key; keys++) {
        size_t length = strlen(keys->key);
        bool family = length > 0 && keys->key[length - 1] == '.';
        if (family ? strncmp(key, keys->key, length) == 0 : strcmp(key, keys->key) == 0)
            return keys;
    }
    return NULL;
}

static double cost_of(const struct propose_view *view, const struct plan *plan)
{
    double seconds = skeleton_predict(view->program, plan).seconds;
    return seconds > 0 ? seconds : 1e-12;
}

bool edit_take(const struct propose_view *view, struct plan *plan, const char *why,
               struct proposal *proposal)
{
    struct error error;
    char before[65], after[65];
    if (!skeleton_check(view->program, plan, &error))
        return false;
    if (!view->hash)
        plan_hash(view->parent, view->program->graph, before);
    plan_hash(plan, view->program->graph, after);
    if (strcmp(view->hash ? view->hash : before, after) == 0)
        return false;
    double now = view->seconds > 0 ? view->seconds : cost_of(view, view->parent);
    *proposal = (struct proposal){
        .plan = plan,
        .action = edit_describe(view->program->arena, view->parent, plan, false),
        .key = edit_describe(view->program->arena, view->parent, plan, true),
        .why = why,
        .promise = now / cost_of(view, plan),
    };
    return true;
}

static int compare_promise(const void *a, const void *b)
{
    const struct proposal *first = a, *second = b;
    return (first->promise < second->promise) - (first->promise > second->promise);
}

int edit_rank(const struct propose_view *view, struct proposal *proposals, int count)
{
    struct map seen = map_new(view->program->arena);
    int kept = 0;
    if (count > 1)
        qsort(proposals, (size_t)count, sizeof *proposals, compare_promise);
    for (int i = 0; i < count; i++) {
        char hash[65];
        plan_hash(proposals[i].plan, view->program->graph, hash);
        const char *name = arena_string(view->program->arena, hash);
        if (map_get(&seen, name))
            continue;
        map_set(&seen, name, proposals[i].plan);
        proposals[kept++] = proposals[i];
    }
    return kept;
}

/* The other values of one slot, those near the present one first. */
static int edit_slot(const struct propose_view *view, int group, const struct plan_slot *slot,
                     const char *why, struct proposal *proposals, int room)
{
    const char *now = plan_get(&view->parent->groups[group], slot->key);
    int at = slot->seed, count = 0;
    for (int i = 0; now && i < slot->value_count; i++)
        at = strcmp(slot->values[i], now) == 0 ? i : at;
    for (int distance = 1; distance < slot->value_count && count < room; distance++) {
        for (int side = -1; side <= 1 && count < room; side += 2) {
            int to = at + side * distance;
            if (to < 0 || to >= slot->value_count)
                continue;
            struct plan *plan = plan_copy(view->program->arena, view->parent);
            plan_set(view->program->arena, &plan->groups[group], slot->key, slot->values[to]);
            if (!edit_take(view, plan, why, &proposals[count]))
                continue;
            /* Where the model sees no difference, a small step is the better guess. */
            proposals[count].promise *= 1 - 0.01 * distance;
            proposals[count].promise *= 1 + 0.01 * random_uniform(view->random);
            count++;
        }
    }
    return count;
}

int edit_decisions(const struct propose_view *view, const struct edit_key *keys,
                   struct proposal *proposals, int most)
{
    struct arena *arena = view->program->arena;
    struct proposal *all = arena_array(arena, EDIT_TRIES, sizeof *all);
    int count = 0;
    for (int g = 0; g < view->parent->group_count; g++) {
        struct plan_slots slots = {0};
        struct skeleton_group group = skeleton_group_of(view->program, view->parent, g);
        skeleton_open(view->program, &group, &view->parent->groups[g], &slots);
        for (size_t s = 0; s < slots.count && count < EDIT_TRIES; s++) {
            const struct edit_key *key = find_key(keys, slots.at[s].key);
            if (key)
                count +=
                    edit_slot(view, g, &slots.at[s], key->why, all + count, EDIT_TRIES - count);
        }
    }
    count = edit_rank(view, all, count);
    if (count > most)
        count = most;
    if (count)
        memcpy(proposals, all, (size_t)count * sizeof *all);
    return count;
}

/* ---- in words ---- */

static const struct plan_group *group_with(const struct plan *plan, int stage)
{
    for (int g = 0; g < plan->group_count; g++)
        for (int i = 0; i < plan->groups[g].stage_count; i++)
            if (plan->groups[g].stages[i] == stage)
                return &plan->groups[g];
    return NULL;
}

static void describe_group(struct text *out, const struct plan_group *old,
                           const struct plan_group *new, bool general)
{
    const char *separator = out->length ? "; " : "", *name = general ? new->skeleton : new->name;
    if (old->stage_count != new->stage_count ||
        memcmp(old->stages, new->stages, (size_t)old->stage_count * sizeof *old->stages) != 0) {
        text_printf(out, "%s%s of %d stages instead of %d", separator, name, new->stage_count,
                    old->stage_count);
        return;
    }
    if (strcmp(old->skeleton, new->skeleton) != 0) {
        text_printf(out, "%s%s skeleton %s -> %s", separator, name, old->skeleton, new->skeleton);
        return;
    }
    for (int i = 0; i < new->decision_count; i++) {
        const char *was = plan_get(old, new->decisions[i].key);
        if (was && strcmp(was, new->decisions[i].value) == 0)
            continue;
        text_printf(out, "%s%s.%s %s -> %s", out->length ? "; " : "", name, new->decisions[i].key,
                    was ? was : "open", new->decisions[i].value);
    }
}

static bool has_rewrite(const struct plan *plan, const struct plan_rewrite *wanted)
{
    for (int i = 0; i < plan->rewrite_count; i++) {
        const struct plan_rewrite *rewrite = &plan->rewrites[i];
        if (strcmp(rewrite->name, wanted->name) == 0 &&
            strcmp(rewrite->stage, wanted->stage) == 0 && rewrite->number == wanted->number)
            return true;
    }
    return false;
}

/* The rewrites that only `plan` has. */
static void describe_rewrites(struct text *out, const struct plan *plan, const struct plan *other,
                              const char *word, bool general)
{
    for (int i = 0; i < plan->rewrite_count; i++) {
        const struct plan_rewrite *rewrite = &plan->rewrites[i];
        if (has_rewrite(other, rewrite))
            continue;
        text_printf(out, "%s%s %s", out->length ? "; " : "", word, rewrite->name);
        if (!general)
            text_printf(out, " %s", rewrite->stage);
        if (rewrite->number)
            text_printf(out, " %lld", (long long)rewrite->number);
    }
}

const char *edit_describe(struct arena *arena, const struct plan *from, const struct plan *to,
                          bool general)
{
    struct text out = text_new(arena);
    if (!plan_rewrites_equal(from, to)) { /* stages are not the same, nor are groups */
        describe_rewrites(&out, from, to, "no rewrite", general);
        describe_rewrites(&out, to, from, "rewrite", general);
        return out.length ? out.at : "rewrites in another order";
    }
    for (int g = 0; g < to->group_count; g++) {
        const struct plan_group *new = &to->groups[g];
        const struct plan_group *old = new->stage_count ? group_with(from, new->stages[0]) : NULL;
        if (old)
            describe_group(&out, old, new, general);
        else
            text_printf(&out, "%s%s in a group of its own", out.length ? "; " : "",
                        general ? new->skeleton : new->name);
    }
    if (to->inlined_count != from->inlined_count)
        text_printf(&out, "%s%d stages inlined instead of %d", out.length ? "; " : "",
                    to->inlined_count, from->inlined_count);
    return out.length ? out.at : "nothing";
}
