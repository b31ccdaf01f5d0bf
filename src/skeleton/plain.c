/*
 * plain: any group of stages, one loop nest per stage, written by the dialect's plain generator.
 * Slow and right; what no other skeleton fits is at least there.
 */
#include "skeleton/skeleton.h"

enum { PLAIN_RATE = 4 }; /* of a vector's lanes, how much slower than the best it computes */

static bool plain_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    (void)group, (void)why_not;
    return true;
}

static void plain_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    (void)group, (void)slots; /* nothing is decided */
}

static bool plain_legal(const struct skeleton_group *group, const struct plan_group *plan,
                        struct skeleton_reason *why_not)
{
    (void)group, (void)plan, (void)why_not;
    return true;
}

/* The group's stages and, as they are computed where they are read, the inlined ones it needs. */
static void plain_choose(const struct skeleton_group *group, bool *chosen)
{
    for (int i = 0; i < group->stage_count; i++)
        chosen[group->stages[i]] = true;
    for (int s = group->stages[group->stage_count - 1]; s >= 0; s--) {
        const struct ir_numbers *after = &group->graph->after[s];
        for (int i = 0; chosen[s] && i < after->count; i++)
            chosen[after->at[i]] |= group->inlined[after->at[i]];
    }
}

static struct skeleton_cost plain_predict(const struct skeleton_group *group,
                                          const struct plan_group *plan)
{
    (void)plan;
    const struct skeleton_target *target = group->target;
    struct skeleton_cost cost = {.vectors = 1};
    bool *chosen = arena_array(group->arena, (size_t)group->part->stage_count + 1, sizeof *chosen);
    plain_choose(group, chosen);
    double rate = target->fma / (2.0 * target->vector_bytes / 4) / PLAIN_RATE;
    for (int i = 0; i <= group->stages[group->stage_count - 1]; i++) {
        if (!chosen[i])
            continue;
        struct ir_work work = ir_stage_work(group->binding, &group->part->stages[i]);
        cost.operations += work.operations;
        cost.bytes += work.read_bytes + work.write_bytes;
        cost.seconds += (work.operations + work.points) / rate;
    }
    cost.seconds += cost.bytes / target->memory;
    return cost;
}

static void plain_lower(const struct skeleton_group *group, const struct plan_group *plan,
                        struct loop_kernel *kernel)
{
    struct arena *arena = kernel->arena;
    bool *chosen = arena_array(arena, (size_t)group->part->stage_count + 1, sizeof *chosen);
    plain_choose(group, chosen);
    struct ir_extract extract = ir_extract(arena, group->graph, plan->name, chosen, group->needed);
    const struct loop_buffer **tensors =
        arena_array(arena, (size_t)extract.tensor_count + 1, sizeof(struct loop_buffer *));
    for (int i = 0; i < extract.tensor_count; i++)
        tensors[i] = loop_tensor(kernel, extract.tensors[i]);
    loop_function_plain(kernel, plan->name, "stage by stage", extract.program, tensors);
}

const struct skeleton skeleton_plain = {
    .name = "plain",
    .note = "stage by stage, one element after the other: fits everything",
    .match = plain_match,
    .open = plain_open,
    .legal = plain_legal,
    .predict = plain_predict,
    .lower = plain_lower,
};
