/*
 * fusion: what belongs into one group, what does not, and which maps are computed where they are
 * read. Fewer intermediate tensors go through memory; too much in one group leaves no room for
 * blocking it well.
 */
#include "propose/expert/edit.h"

static int concern(enum diagnosis_class class)
{
    return class == DIAGNOSIS_MEMORY || class == DIAGNOSIS_LATENCY ? 2 : class == DIAGNOSIS_NONE;
}

static int propose(const struct propose_view *view, struct proposal *proposals, int most)
{
    struct plan_space space = skeleton_space(view->program, view->parent);
    int count = 0;
    for (int tries = 3 * most; count < most && tries > 0; tries--) {
        struct plan *plan = plan_change(&space, view->random, view->parent, PLAN_CHANGE_GROUPS);
        if (!plan)
            break;
        const char *why = plan->group_count < view->parent->group_count
                              ? "fewer intermediate tensors go through memory"
                              : "groups of their own can be arranged as each needs";
        count += edit_take(view, plan, why, &proposals[count]);
    }
    return edit_rank(view, proposals, count);
}

const struct proposer expert_fusion = {
    .name = "fusion",
    .note = "which stages share a group, and which maps are computed where they are read",
    .concern = concern,
    .propose = propose,
};
