/*
 * A plan's decisions: looked up, changed, copied; and its canonical hash.
 */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

const char *plan_get(const struct plan_group *group, const char *key)
{
    for (int i = 0; i < group->decision_count; i++) {
        if (strcmp(group->decisions[i].key, key) == 0)
            return group->decisions[i].value;
    }
    return NULL;
}

int64_t plan_number(const struct plan_group *group, const char *key, int64_t otherwise)
{
    const char *value = plan_get(group, key);
    char *end;
    if (!value)
        return otherwise;
    long long number = strtoll(value, &end, 10);
    return *end || end == value ? otherwise : number;
}

bool plan_is(const struct plan_group *group, const char *key, const char *value)
{
    const char *decided = plan_get(group, key);
    return decided && strcmp(decided, value) == 0;
}

void plan_set(struct arena *arena, struct plan_group *group, const char *key, const char *value)
{
    for (int i = 0; i < group->decision_count; i++) {
        if (strcmp(group->decisions[i].key, key) == 0) {
            group->decisions[i].value = arena_string(arena, value);
            return;
        }
    }
    size_t count = (size_t)group->decision_count;
    struct plan_decision *decisions = arena_array(arena, count + 1, sizeof *decisions);
    if (count)
        memcpy(decisions, group->decisions, count * sizeof *decisions);
    decisions[count] = (struct plan_decision){.key = arena_string(arena, key),
                                              .value = arena_string(arena, value)};
    group->decisions = decisions;
    group->decision_count++;
}

/* ---- copies ---- */

static void *copy_array(struct arena *arena, const void *from, int count, size_t size)
{
    void *copy = arena_array(arena, (size_t)count + 1, size);
    if (count)
        memcpy(copy, from, (size_t)count * size);
    return copy;
}

struct plan *plan_copy(struct arena *arena, const struct plan *plan)
{
    struct plan *copy = arena_new(arena, struct plan);
    *copy = *plan;
    copy->rewrites = copy_array(arena, plan->rewrites, plan->rewrite_count, sizeof *plan->rewrites);
    copy->fixes = copy_array(arena, plan->fixes, plan->fix_count, sizeof *plan->fixes);
    copy->inlined = copy_array(arena, plan->inlined, plan->inlined_count, sizeof *plan->inlined);
    copy->groups = copy_array(arena, plan->groups, plan->group_count, sizeof *plan->groups);
    for (int i = 0; i < plan->group_count; i++) {
        struct plan_group *group = &copy->groups[i];
        group->stages = copy_array(arena, group->stages, group->stage_count, sizeof *group->stages);
        group->decisions =
            copy_array(arena, group->decisions, group->decision_count, sizeof *group->decisions);
    }
    return copy;
}

static const char *keep_word(struct map *words, const char *word)
{
    return word ? map_intern(words, word, strlen(word)) : NULL;
}

struct plan *plan_keep(struct arena *arena, struct map *words, const struct plan *plan)
{
    struct plan *kept = plan_copy(arena, plan);
    struct plan_rewrite *rewrites = (struct plan_rewrite *)kept->rewrites;
    kept->target = keep_word(words, kept->target);
    kept->machine = keep_word(words, kept->machine);
    for (int i = 0; i < kept->rewrite_count; i++) {
        rewrites[i].name = keep_word(words, rewrites[i].name);
        rewrites[i].stage = keep_word(words, rewrites[i].stage);
    }
    for (int g = 0; g < kept->group_count; g++) {
        struct plan_group *group = &kept->groups[g];
        group->name = keep_word(words, group->name);
        group->skeleton = keep_word(words, group->skeleton);
        for (int d = 0; d < group->decision_count; d++) {
            group->decisions[d].key = keep_word(words, group->decisions[d].key);
            group->decisions[d].value = keep_word(words, group->decisions[d].value);
        }
    }
    return kept;
}

const char *plan_group_name(struct arena *arena, const struct plan *plan, const char *wanted)
{
    const char *name = wanted;
    for (int number = 2;; number++) {
        bool taken = false;
        for (int i = 0; i < plan->group_count; i++)
            taken |= plan->groups[i].name && strcmp(plan->groups[i].name, name) == 0;
        if (!taken)
            return name;
        name = arena_printf(arena, "%s.%d", wanted, number);
    }
}

/* ---- the hash: of the plan printed in one way ---- */

static int compare_decisions(const void *a, const void *b)
{
    return strcmp(((const struct plan_decision *)a)->key, ((const struct plan_decision *)b)->key);
}

static int compare_groups(const void *a, const void *b)
{
    const struct plan_group *x = a, *y = b;
    return (x->stages[0] > y->stages[0]) - (x->stages[0] < y->stages[0]);
}

static int compare_fixes(const void *a, const void *b)
{
    const struct plan_fix *x = a, *y = b;
    return (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

static int compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void sort(const void *at, int count, size_t size, int (*compare)(const void *, const void *))
{
    if (count > 1)
        qsort((void *)at, (size_t)count, size, compare);
}

void plan_hash(const struct plan *plan, const struct ir_graph *graph, char hex[65])
{
    struct arena arena = {0};
    struct plan *copy = plan_copy(&arena, plan);
    struct text text = text_new(&arena);
    sort(copy->fixes, copy->fix_count, sizeof *copy->fixes, compare_fixes);
    sort(copy->inlined, copy->inlined_count, sizeof *copy->inlined, compare_ints);
    for (int i = 0; i < copy->group_count; i++) {
        struct plan_group *group = &copy->groups[i];
        group->name = "group";
        sort(group->decisions, group->decision_count, sizeof *group->decisions, compare_decisions);
    }
    sort(copy->groups, copy->group_count, sizeof *copy->groups, compare_groups);
    plan_print(&text, copy, graph);
    sha256_hex(text.at, text.length, hex);
    arena_release(&arena);
}
