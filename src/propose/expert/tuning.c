/*
 * tuning: any step to a neighbour, and the good parts of two plans in one. No opinion but
 * persistence.
 */
#include "propose/expert/edit.h"

static int concern(enum diagnosis_class class)
{
    return class != DIAGNOSIS_COMPILE && class != DIAGNOSIS_VALUES;
}

static int propose(const struct propose_view *view, struct proposal *proposals, int most)
{
    struct plan_space space = skeleton_space(view->program, view->parent);
    int count = 0;
    if (view->mate && most > 0) {
        struct plan *crossed = plan_cross(&space, view->random, view->parent, view->mate);
        count += crossed &&
                 edit_take(view, crossed, "what two good plans decided, in one", &proposals[count]);
    }
    for (int tries = 2 * most; count < most && tries > 0; tries--) {
        struct plan *plan = plan_mutate(&space, view->random, view->parent);
        if (!plan)
            break;
        count += edit_take(view, plan, "a neighbour nobody tried", &proposals[count]);
    }
    return edit_rank(view, proposals, count);
}

const struct proposer expert_tuning = {
    .name = "tuning",
    .note = "any step to a neighbour, and crosses of two plans",
    .concern = concern,
    .propose = propose,
};
