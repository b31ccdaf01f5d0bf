/*
 * Rewrites of a plan: made one after the other, each on the program that the ones before it left.
 */
#include "ir/rewrite.h"

#include <string.h>

#include "plan/plan.h"

static const struct ir_rewrite *find_rewrite(const struct plan_rewrite *wanted, struct error *error)
{
    const struct ir_rewrite *rewrite = ir_rewrite_find(wanted->name);
    if (rewrite)
        return rewrite;
    const char *names[16];
    size_t count = 0;
    while (count < 16 && ir_rewrites[count]) {
        names[count] = ir_rewrites[count]->name;
        count++;
    }
    const char *nearest = spelling_nearest(wanted->name, names, count);
    error_at(error, ERROR_PLAN_STAGE, wanted->place, "there is no rewrite '%s'", wanted->name);
    if (nearest)
        error_hint(error, "did you mean '%s'?", nearest);
    return NULL;
}

static int find_stage(const struct ir_graph *graph, const struct plan_rewrite *wanted,
                      struct error *error)
{
    size_t count = (size_t)graph->part->stage_count;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(graph->names[i], wanted->stage) == 0)
            return (int)i;
    }
    const char *nearest = spelling_nearest(wanted->stage, graph->names, count);
    error_at(error, ERROR_PLAN_STAGE, wanted->place, "there is no stage '%s'", wanted->stage);
    if (nearest)
        error_hint(error, "did you mean '%s'?", nearest);
    return IR_NONE;
}

static bool check_number(const struct ir_rewrite *rewrite, const struct plan_rewrite *wanted,
                         struct error *error)
{
    if (!rewrite->number && wanted->number)
        return error_at(error, ERROR_PLAN_ILLEGAL, wanted->place, "'%s' takes no number",
                        rewrite->name);
    if (!rewrite->number || (wanted->number >= rewrite->least && wanted->number <= rewrite->most))
        return true;
    error_at(error, ERROR_PLAN_ILLEGAL, wanted->place, "'%s' takes a number of %s", rewrite->name,
             rewrite->number);
    error_hint(error, "from %lld to %lld: rewrite %s %s %lld", (long long)rewrite->least,
               (long long)rewrite->most, rewrite->name, wanted->stage, (long long)rewrite->least);
    return false;
}

const struct ir_graph *plan_rewrite(struct arena *arena, const struct ir_graph *graph,
                                    const struct plan_rewrite *wanted, struct error *error)
{
    struct ir_reason why_not = {""};
    const struct ir_rewrite *rewrite = find_rewrite(wanted, error);
    int stage = rewrite ? find_stage(graph, wanted, error) : IR_NONE;
    if (stage == IR_NONE || !check_number(rewrite, wanted, error))
        return NULL;
    if (!rewrite->match(graph, stage, &why_not)) {
        error_at(error, ERROR_PLAN_ILLEGAL, wanted->place,
                 "stage '%s' cannot be rewritten by '%s': %s", wanted->stage, rewrite->name,
                 why_not.text);
        return NULL;
    }
    return ir_graph_new(arena, ir_root(rewrite->apply(arena, graph, stage, wanted->number)));
}

bool plan_rewrites_equal(const struct plan *a, const struct plan *b)
{
    if (a->rewrite_count != b->rewrite_count)
        return false;
    for (int i = 0; i < a->rewrite_count; i++) {
        const struct plan_rewrite *x = &a->rewrites[i], *y = &b->rewrites[i];
        if (strcmp(x->name, y->name) != 0 || strcmp(x->stage, y->stage) != 0 ||
            x->number != y->number)
            return false;
    }
    return true;
}

bool plan_kinds_equal(const struct plan *a, const struct plan *b)
{
    if (a->group_count != b->group_count || a->inlined_count != b->inlined_count ||
        !plan_rewrites_equal(a, b))
        return false;
    for (int g = 0; g < a->group_count; g++) {
        const struct plan_group *x = &a->groups[g], *y = &b->groups[g];
        if (strcmp(x->skeleton, y->skeleton) != 0 || x->stage_count != y->stage_count ||
            memcmp(x->stages, y->stages, (size_t)x->stage_count * sizeof *x->stages) != 0)
            return false;
    }
    return true;
}
