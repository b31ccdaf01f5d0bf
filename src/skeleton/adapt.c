/*
 * A plan that was good elsewhere, made one of this program.
 *
 * Of the same op at other sizes everything is taken over: rewrites, groups, skeletons, and each
 * decision as far as it is legal here; sizes that are fixed become those of this program. Of
 * another op the plan names stages that are not here, so only its decisions come over, to the first
 * of our own plans that has the same skeletons in the same order.
 */
#include <stdlib.h>
#include <string.h>

#include "skeleton/skeleton.h"

/* ---- reading a plan whose stages are not known ---- */

struct wanted { /* of one group */
    const char *skeleton;
    struct plan_decision decisions[PLAN_MAX_DECISIONS];
    int count;
};

struct wanted_groups VECTOR(struct wanted);

/* The next word of a line; *line moves on. NULL: there is none. */
static char *next_word(char **line)
{
    char *word = *line + strspn(*line, " \t");
    size_t length = strcspn(word, " \t");
    if (length == 0)
        return NULL;
    *line = word + length + (word[length] != 0);
    word[length] = 0;
    return word;
}

static void read_group(struct arena *arena, char *line, struct wanted_groups *groups)
{
    struct wanted group = {0};
    for (char *word = next_word(&line); word; word = next_word(&line))
        if (strcmp(word, "skeleton") == 0)
            group.skeleton = next_word(&line);
    if (group.skeleton)
        vector_push(arena, groups, group);
}

static struct wanted_groups read_loosely(struct arena *arena, const char *text)
{
    static const char *const others[] = {"plan", "rewrite", "fix", "inline"};
    struct wanted_groups groups = {0};
    while (*text) {
        size_t length = strcspn(text, "\n");
        char *line = arena_copy(arena, text, length);
        line[strcspn(line, "#")] = 0;
        text += length + (text[length] == '\n');
        char *key = next_word(&line);
        bool other = !key;
        for (size_t i = 0; key && i < sizeof others / sizeof *others; i++)
            other |= strcmp(key, others[i]) == 0;
        if (other)
            continue;
        if (strcmp(key, "group") == 0) {
            read_group(arena, line, &groups);
            continue;
        }
        struct wanted *group = groups.count ? &groups.at[groups.count - 1] : NULL;
        const char *value = next_word(&line);
        if (group && value && group->count < PLAN_MAX_DECISIONS)
            group->decisions[group->count++] = (struct plan_decision){.key = key, .value = value};
    }
    return groups;
}

/* ---- taking over ---- */

/* The plan with one more decision, if that is legal; else as it was. */
static bool take(const struct skeleton_program *program, struct plan **plan, int group,
                 const char *key, const char *value)
{
    struct plan *changed = plan_copy(program->arena, *plan);
    struct error error;
    plan_set(program->arena, &changed->groups[group], key, value);
    if (!skeleton_check(program, changed, &error))
        return false;
    *plan = changed;
    return true;
}

static int place_of(const struct plan_slot *slot, const char *value)
{
    for (int i = 0; i < slot->value_count; i++)
        if (strcmp(slot->values[i], value) == 0)
            return i;
    return -1;
}

/* The value, or the nearest to it that is legal. */
static void take_nearest(const struct skeleton_program *program, struct plan **plan, int group,
                         const struct plan_decision *decision)
{
    struct plan_slots slots = {0};
    struct skeleton_group view = skeleton_group_of(program, *plan, group);
    skeleton_open(program, &view, &(*plan)->groups[group], &slots);
    for (size_t s = 0; s < slots.count; s++) {
        const struct plan_slot *slot = &slots.at[s];
        int at = strcmp(slot->key, decision->key) == 0 ? place_of(slot, decision->value) : -1;
        for (int distance = 0; at >= 0 && distance < slot->value_count; distance++)
            for (int side = -1; side <= 1 && (distance || side < 0); side += 2) {
                int to = at + side * distance;
                if (to >= 0 && to < slot->value_count &&
                    take(program, plan, group, slot->key, slot->values[to]))
                    return;
            }
    }
}

static void take_group(const struct skeleton_program *program, struct plan **plan, int group,
                       const struct plan_decision *decisions, int count)
{
    for (int d = 0; d < count; d++)
        take_nearest(program, plan, group, &decisions[d]);
}

/* ---- the same op ---- */

static struct plan *read_here(const struct skeleton_program *program, const char *text)
{
    struct errors errors = errors_new(program->arena);
    struct source source = {"plan", text, strlen(text)};
    struct plan *plan = plan_parse(program->arena, &source, program->graph, &errors);
    if (!plan)
        return NULL;
    struct plan_fix *fixes =
        arena_array(program->arena, (size_t)plan->fix_count + 1, sizeof *fixes);
    for (int i = 0; i < plan->fix_count; i++) {
        int symbol = plan->fixes[i].symbol;
        fixes[i] = (struct plan_fix){symbol, program->binding->sizes[symbol]};
    }
    plan->fixes = fixes;
    plan->machine = program->target->name;
    return plan;
}

static struct plan *adapt_same(const struct skeleton_program *program, const struct plan *theirs)
{
    struct error error;
    struct plan *plan = plan_copy(program->arena, theirs);
    if (skeleton_check(program, plan, &error))
        return plan;
    plan = plan_copy(program->arena, theirs);
    for (int g = 0; g < plan->group_count; g++)
        plan->groups[g].decision_count = 0;
    if (!skeleton_check(program, plan, &error))
        return NULL;
    for (int g = 0; g < plan->group_count; g++)
        take_group(program, &plan, g, theirs->groups[g].decisions,
                   theirs->groups[g].decision_count);
    return plan;
}

/* ---- another op ---- */

static bool has_skeletons(const struct plan *plan, const struct wanted_groups *groups)
{
    if (plan->group_count != (int)groups->count)
        return false;
    for (int g = 0; g < plan->group_count; g++)
        if (strcmp(plan->groups[g].skeleton, groups->at[g].skeleton) != 0)
            return false;
    return true;
}

struct plan *skeleton_adapt(const struct skeleton_program *program, const char *text,
                            struct plan *const *seeds, int count)
{
    const struct plan *theirs = read_here(program, text);
    if (theirs)
        return adapt_same(program, theirs);
    struct wanted_groups groups = read_loosely(program->arena, text);
    for (int i = 0; i < count; i++) {
        struct plan *plan = seeds[i];
        if (!has_skeletons(plan, &groups))
            continue;
        for (int g = 0; g < plan->group_count; g++)
            take_group(program, &plan, g, groups.at[g].decisions, groups.at[g].count);
        return plan;
    }
    return NULL;
}
