/*
 * What experts have in common: single decisions changed, checked, and ranked by the cost model.
 */
#ifndef SMELT_PROPOSE_EXPERT_EDIT_H
#define SMELT_PROPOSE_EXPERT_EDIT_H

#include "propose/propose.h"

/* A decision an expert turns: "lanes", or "block." for all that begin so. */
struct edit_key {
    const char *key; /* NULL ends the list */
    const char *why; /* what turning it may do */
};

/* Every legal other value of these decisions in every group, best first. */
int edit_decisions(const struct propose_view *view, const struct edit_key *keys,
                   struct proposal *proposals, int most);
/* A proposal of a plan that was made otherwise; false: it is no other plan than the parent. */
bool edit_take(const struct propose_view *view, struct plan *plan, const char *why,
               struct proposal *proposal);
/* Best first, each plan once; how many remain. */
int edit_rank(const struct propose_view *view, struct proposal *proposals, int count);
/* In words, what differs between two plans: "rows.lanes 8 -> 16; x in a group of its own". General:
 * groups are called by their skeletons, so that it means something for other tasks too. */
const char *edit_describe(struct arena *arena, const struct plan *from, const struct plan *to,
                          bool general);

extern const struct proposer expert_fusion, expert_memory, expert_instruction, expert_latency,
    expert_tuning, expert_repair, expert_algebra, expert_remedy;

#endif
