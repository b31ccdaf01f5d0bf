/*
 * Decisions that several skeletons share: see slots.h.
 */
#include "skeleton/slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double START_THREADS = 5e-6; /* seconds: what it costs to wake them */

void slots_add(const struct skeleton_group *group, struct skeleton_slots *slots, const char *key,
               const char *note, const char *const *values, int count, int seed)
{
    vector_push(group->arena, slots, (struct plan_slot){key, note, values, count, seed});
}

static double seconds_alone(const struct skeleton_group *group, double bytes, double operations)
{
    double moving = bytes / group->target->memory;
    double computing = operations / group->target->fma;
    return moving > computing ? moving : computing;
}

void slots_add_threads(const struct skeleton_group *group, struct skeleton_slots *slots,
                       double bytes, double operations)
{
    static const char *const VALUES[] = {"1", "all"};
    bool worth =
        group->target->threads > 1 && seconds_alone(group, bytes, operations) > 4 * START_THREADS;
    slots_add(group, slots, "threads", "how many threads share the work", VALUES, 2, worth);
}

void slots_add_lanes(const struct skeleton_group *group, struct skeleton_slots *slots, int seed)
{
    static const char *const VALUES[] = {"1", "2", "4", "8", "16", "32"};
    int chosen = 0;
    for (int i = 0; i < 6; i++) {
        if (atoi(VALUES[i]) <= seed)
            chosen = i;
    }
    slots_add(group, slots, "lanes", "elements computed side by side in a vector", VALUES, 6,
              chosen);
}

void slots_add_stores(const struct skeleton_group *group, struct skeleton_slots *slots,
                      bool streaming)
{
    static const char *const VALUES[] = {"cached", "streaming"};
    slots_add(group, slots, "stores", "whether results go to memory past the caches", VALUES,
              group->target->streaming ? 2 : 1, streaming && group->target->streaming);
}

void slots_predict(const struct skeleton_group *group, const struct plan_group *plan,
                   struct skeleton_cost *cost)
{
    const struct skeleton_target *target = group->target;
    bool alone = plan_is(plan, "threads", "1");
    double threads = alone ? 1 : target->threads;
    double share = (double)plan_number(plan, "lanes", 1) * 4 / target->vector_bytes;
    bool cached = cost->bytes < (double)target->l2 * threads;
    double moving = cost->bytes / (cached ? target->l2_rate : target->memory);
    if (!cached && plan_is(plan, "stores", "cached"))
        moving *= 1.3; /* lines are read before they are written */
    double computing = cost->operations / (target->fma * (share < 1 ? share : 1));
    cost->seconds = (moving > computing ? moving : computing) / threads;
    if (!alone)
        cost->seconds += START_THREADS;
}

const char *slots_note(const struct skeleton_group *group)
{
    struct text note = text_new(group->arena);
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = &group->part->stages[group->stages[i]];
        for (int k = 0; k < stage->write_count; k++)
            text_printf(&note, "%s%s", note.length ? ", " : "",
                        group->part->tensors[stage->writes[k].tensor].name);
    }
    return note.at;
}
