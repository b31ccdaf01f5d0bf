/*
 * fusion: what belongs into one group, what does not, and which maps are computed where they are
 * read. Fewer intermediate tensors go through memory; too much in one group leaves no room for
 * blocking it well.
 */
#include "propose/expert/edit.h"

enum { REPEATS = 12 }; /* so many in a row that were there before: there is hardly another one */

static int concern(enum diagnosis_class class)
{
    return class == DIAGNOSIS_MEMORY || class == DIAGNOSIS_LATENCY ? 2 : class == DIAGNOSIS_NONE;
}

static int propose(const struct propose_view *view, struct proposal *proposals, int most)
{
    struct plan_space space = skeleton_space(view->program, view->parent);
    struct map seen = map_new(view->program->arena);
    int count = 0, repeats = 0;
    for (int tries = 3 * most; count < most && tries > 0 && repeats < REPEATS; tries--) {
        struct plan *plan = plan_change(&space, view->random, view->parent, PLAN_CHANGE_GROUPS);
        char hash[65];
        if (!plan)
            break;
        plan_hash(plan, view->program->graph, hash);
        if (map_get(&seen, hash)) {
            repeats++;
            continue;
        }
        repeats = 0;
        map_set(&seen, arena_string(view->program->arena, hash), plan);
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
