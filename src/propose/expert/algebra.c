/*
 * algebra: the same values by another formula. Rewrites of the program are added, taken back, or
 * given another number; groups whose stages stay keep what was decided for them.
 */
#include <stdlib.h>
#include <string.h>

#include "ir/rewrite.h"
#include "propose/expert/edit.h"

enum { FURTHER = 16 };

static int concern(enum diagnosis_class class)
{
    switch (class) {
    case DIAGNOSIS_INSTRUCTION:
    case DIAGNOSIS_NONE: return 1;
    case DIAGNOSIS_PRECISION:
    case DIAGNOSIS_VALUES: return 1; /* without a rewrite it may be right */
    default: return 0;
    }
}

/* ---- decisions that survive ---- */

static bool same_stages(const struct plan *a, const struct plan_group *x, const struct plan *b,
                        const struct plan_group *y)
{
    if (x->stage_count != y->stage_count)
        return false;
    for (int i = 0; i < x->stage_count; i++) {
        if (strcmp(a->graph->names[x->stages[i]], b->graph->names[y->stages[i]]) != 0)
            return false;
    }
    return true;
}

/* The plan with what the parent decided for groups of the same stages, where that is legal. */
static struct plan *take_over(const struct propose_view *view, struct plan *plan)
{
    struct plan *copy = plan_copy(view->program->arena, plan);
    const struct plan *parent = view->parent;
    struct error error;
    for (int g = 0; parent->graph && g < copy->group_count; g++) {
        for (int p = 0; p < parent->group_count; p++) {
            const struct plan_group *known = &parent->groups[p];
            if (!same_stages(copy, &copy->groups[g], parent, known))
                continue;
            copy->groups[g].skeleton = known->skeleton;
            copy->groups[g].decision_count = 0;
            for (int d = 0; d < known->decision_count; d++)
                plan_set(view->program->arena, &copy->groups[g], known->decisions[d].key,
                         known->decisions[d].value);
        }
    }
    return skeleton_check(view->program, copy, &error) ? copy : plan;
}

static bool take(const struct propose_view *view, const struct skeleton_program *program,
                 const char *why, struct proposal *proposal)
{
    struct plan *plan = program ? skeleton_seed(program) : NULL;
    return plan && edit_take(view, take_over(view, plan), why, proposal);
}

/* ---- steps ---- */

static int add_rewrites(const struct propose_view *view, struct proposal *proposals, int most)
{
    const struct skeleton_program *further[FURTHER];
    const struct skeleton_program *now = skeleton_program_of(view->program, view->parent);
    int found = skeleton_rewrites(now, further, FURTHER), count = 0;
    for (int i = 0; i < found && count < most; i++) {
        const struct plan_rewrite *last = &further[i]->rewrites[further[i]->rewrite_count - 1];
        count += take(view, further[i], ir_rewrite_find(last->name)->note, &proposals[count]);
    }
    return count;
}

/* The parent's rewrites with number `at` changed to `number`, or without it: 0. */
static bool change_rewrite(const struct propose_view *view, int at, int64_t number, const char *why,
                           struct proposal *proposal)
{
    struct plan_rewrite rewrites[PLAN_MAX_REWRITES];
    struct error error;
    int count = 0;
    for (int i = 0; i < view->parent->rewrite_count; i++) {
        if (i == at && number == 0)
            continue;
        rewrites[count] = view->parent->rewrites[i];
        if (i == at)
            rewrites[count].number = number;
        count++;
    }
    return take(view, skeleton_rewrite(view->program, rewrites, count, &error), why, proposal);
}

static int change_rewrites(const struct propose_view *view, struct proposal *proposals, int most)
{
    int count = 0;
    for (int i = 0; i < view->parent->rewrite_count && count < most; i++) {
        count += change_rewrite(view, i, 0, "the formula as it was written may be the better one",
                                &proposals[count]);
        int64_t number = view->parent->rewrites[i].number;
        const struct ir_rewrite *rewrite = ir_rewrite_find(view->parent->rewrites[i].name);
        for (int64_t to = number - 2; number && to <= number + 2 && count < most; to++) {
            if (to != number && to >= rewrite->least && to <= rewrite->most)
                count += change_rewrite(view, i, to, "the number chosen by size may not be best",
                                        &proposals[count]);
        }
    }
    return count;
}

static int propose(const struct propose_view *view, struct proposal *proposals, int most)
{
    int count = change_rewrites(view, proposals, most);
    count += add_rewrites(view, proposals + count, most - count);
    return edit_rank(view, proposals, count);
}

const struct proposer expert_algebra = {
    .name = "algebra",
    .note = "the same values by another formula: rewrites of the op",
    .concern = concern,
    .propose = propose,
};
