/*
 * Programs that compute the same in another way: what a plan's rewrites make, and which are near.
 */
#include "ir/rewrite.h"

#include <string.h>

#include "skeleton/skeleton.h"

/* The program with another part: symbols and scalars are the same, so the sizes are. */
static struct skeleton_program *program_with(const struct skeleton_program *program,
                                             const struct ir_graph *graph,
                                             const struct plan_rewrite *rewrites, int count)
{
    struct skeleton_program *made = arena_new(program->arena, struct skeleton_program);
    struct ir_program *flat = arena_new(program->arena, struct ir_program);
    struct ir_binding *binding = arena_new(program->arena, struct ir_binding);
    const struct ir_part **parts = arena_array(program->arena, 1, sizeof *parts);
    parts[0] = graph->part;
    *flat = (struct ir_program){parts, 1};
    *binding = *program->binding;
    binding->part = graph->part;
    *made = *program;
    made->flat = flat;
    made->part = graph->part;
    made->graph = graph;
    made->binding = binding;
    made->rewrites = rewrites;
    made->rewrite_count = count;
    return made;
}

const struct skeleton_program *skeleton_program_of(const struct skeleton_program *program,
                                                   const struct plan *plan)
{
    if (!plan->graph || plan->graph == program->graph)
        return program;
    return program_with(program, plan->graph, plan->rewrites, plan->rewrite_count);
}

const struct skeleton_program *skeleton_rewrite(const struct skeleton_program *program,
                                                const struct plan_rewrite *rewrites, int count,
                                                struct error *error)
{
    int before = program->rewrite_count;
    const struct ir_graph *graph = program->graph;
    if (before + count > PLAN_MAX_REWRITES) {
        error_set(error, ERROR_PLAN_LIMIT, "there are too many rewrites");
        return NULL;
    }
    struct plan_rewrite *all =
        arena_array(program->arena, (size_t)(before + count) + 1, sizeof *all);
    if (before)
        memcpy(all, program->rewrites, (size_t)before * sizeof *all);
    for (int i = 0; i < count; i++) {
        all[before + i] = rewrites[i];
        graph = plan_rewrite(program->arena, graph, &rewrites[i], error);
        if (!graph)
            return NULL;
    }
    return program_with(program, graph, all, before + count);
}

int skeleton_rewrites(const struct skeleton_program *program,
                      const struct skeleton_program **further, int most)
{
    int count = 0;
    for (int s = 0; s < program->part->stage_count; s++) {
        for (int r = 0; ir_rewrites[r] && count < most; r++) {
            const struct ir_rewrite *rewrite = ir_rewrites[r];
            struct plan_rewrite step = {.name = rewrite->name, .stage = program->graph->names[s]};
            struct ir_reason why_not;
            struct error error;
            if (!rewrite->match(program->graph, s, &why_not))
                continue;
            if (rewrite->choose)
                step.number = rewrite->choose(program->graph, s, program->binding);
            further[count] = skeleton_rewrite(program, &step, 1, &error);
            count += further[count] != NULL;
        }
    }
    return count;
}
