/*
 * Whole plans: a program made ready to be planned, groups as their skeletons see them, what a plan
 * will cost, and its kernel.
 */
#include "skeleton/skeleton.h"

#include <string.h>

static int outputs_accuracy(const struct ir_part *part)
{
    int most = 0;
    for (int i = 0; i < part->output_count; i++) {
        enum dtype dtype = part->tensors[part->outputs[i]].dtype;
        /* integers must be exact, but what f32 gave them may be off by as much */
        int bits = dtype_is_float(dtype) ? machine_class_bits(dtype_name(dtype)) : 24;
        most = bits > most ? bits : most;
    }
    return most;
}

struct skeleton_program *skeleton_program_new(struct arena *arena, const struct ir_program *program,
                                              const struct ir_binding *binding,
                                              const struct skeleton_target *target)
{
    struct skeleton_program *made = arena_new(arena, struct skeleton_program);
    struct ir_binding *flat = arena_new(arena, struct ir_binding);
    made->arena = arena;
    made->flat = ir_flatten(arena, program);
    made->part = ir_root(made->flat);
    made->graph = ir_graph_new(arena, made->part);
    *flat = *binding; /* symbols and scalars are the same */
    flat->part = made->part;
    made->binding = flat;
    made->target = target;
    made->accuracy = outputs_accuracy(made->part);
    return made;
}

/* ---- groups ---- */

struct span { /* of groups: which read something, from the first to the last; low > high: none */
    int low, high;
};

static void span_join(struct span *span, struct span other)
{
    span->low = other.low < span->low ? other.low : span->low;
    span->high = other.high > span->high ? other.high : span->high;
}

/* Per tensor the groups that read it, also by way of inlined stages. */
static struct span *find_readers(const struct skeleton_program *program, const struct plan *plan,
                                 const bool *inlined)
{
    const struct ir_graph *graph = program->graph;
    int stages = program->part->stage_count, tensors = program->part->tensor_count;
    const struct span none = {plan->group_count, -1};
    struct span *of_stage = arena_array(program->arena, (size_t)stages + 1, sizeof *of_stage);
    struct span *of_tensor = arena_array(program->arena, (size_t)tensors + 1, sizeof *of_tensor);
    for (int t = 0; t < tensors; t++)
        of_tensor[t] = none;
    for (int s = 0; s < stages; s++)
        of_stage[s] = none;
    for (int g = 0; g < plan->group_count; g++) {
        for (int i = 0; i < plan->groups[g].stage_count; i++)
            of_stage[plan->groups[g].stages[i]] = (struct span){g, g};
    }
    for (int s = stages - 1; s >= 0; s--) { /* readers stand behind */
        for (int i = 0; inlined[s] && i < graph->writes[s].count; i++)
            span_join(&of_stage[s], of_tensor[graph->writes[s].at[i]]);
        for (int i = 0; i < graph->reads[s].count; i++)
            span_join(&of_tensor[graph->reads[s].at[i]], of_stage[s]);
    }
    return of_tensor;
}

/* The only group that writes the tensor; none, or several: -1. */
static int *find_writers(const struct skeleton_program *program, const struct plan *plan)
{
    int tensors = program->part->tensor_count;
    int *writer = arena_array(program->arena, (size_t)tensors + 1, sizeof *writer);
    for (int t = 0; t < tensors; t++)
        writer[t] = plan->group_count;
    for (int g = 0; g < plan->group_count; g++) {
        for (int i = 0; i < plan->groups[g].stage_count; i++) {
            const struct ir_numbers *writes = &program->graph->writes[plan->groups[g].stages[i]];
            for (int w = 0; w < writes->count; w++) {
                int *known = &writer[writes->at[w]];
                *known = *known == plan->group_count || *known == g ? g : -1;
            }
        }
    }
    return writer;
}

struct skeleton_view skeleton_view_new(const struct skeleton_program *program,
                                       const struct plan *plan)
{
    program = skeleton_program_of(program, plan);
    const struct ir_part *part = program->part;
    bool *inlined = arena_array(program->arena, (size_t)part->stage_count + 1, sizeof *inlined);
    bool *needed = arena_array(program->arena, (size_t)part->tensor_count + 1, sizeof *needed);
    for (int i = 0; i < plan->inlined_count; i++)
        inlined[plan->inlined[i]] = true;
    const struct span *readers = find_readers(program, plan, inlined);
    const int *writer = find_writers(program, plan);
    for (int t = 0; t < part->tensor_count; t++) {
        const struct ir_numbers *writers = &program->graph->writers[t];
        bool computed = writers->count && inlined[writers->at[0]]; /* wherever it is read */
        bool elsewhere =
            readers[t].high >= 0 && (readers[t].low != writer[t] || readers[t].high != writer[t]);
        needed[t] = part->tensors[t].role == IR_TENSOR_OUTPUT || (elsewhere && !computed);
    }
    return (struct skeleton_view){inlined, needed, NULL};
}

struct skeleton_group skeleton_group_in(const struct skeleton_program *program,
                                        const struct plan *plan, const struct skeleton_view *view,
                                        int group)
{
    program = skeleton_program_of(program, plan);
    return (struct skeleton_group){
        .arena = view->scratch ? view->scratch : program->arena,
        .part = program->part,
        .graph = program->graph,
        .stages = plan->groups[group].stages,
        .stage_count = plan->groups[group].stage_count,
        .inlined = view->inlined,
        .needed = view->needed,
        .binding = program->binding,
        .fixes = plan->fixes,
        .fix_count = plan->fix_count,
        .target = program->target,
        .accuracy = program->accuracy,
    };
}

struct skeleton_group skeleton_group_of(const struct skeleton_program *program,
                                        const struct plan *plan, int group)
{
    struct skeleton_view view = skeleton_view_new(program, plan);
    return skeleton_group_in(program, plan, &view, group);
}

void skeleton_open(const struct skeleton_program *program, const struct skeleton_group *group,
                   const struct plan_group *plan, struct plan_slots *slots)
{
    const struct skeleton *skeleton = skeleton_find(program->target, plan->skeleton);
    struct skeleton_slots all = {0};
    const struct plan_pin *which;
    if (skeleton)
        skeleton->open(group, &all);
    *slots = (struct plan_slots){all.at, all.count, all.capacity};
    if (program->pins)
        plan_pins_apply(program->arena, program->pins, plan, group->graph, slots, &which);
}

/* ---- the whole ---- */

struct skeleton_cost skeleton_predict(const struct skeleton_program *program,
                                      const struct plan *plan)
{
    struct skeleton_cost total = {0};
    program = skeleton_program_of(program, plan);
    struct skeleton_view view = skeleton_view_new(program, plan);
    struct arena scratch = {0};
    view.scratch = &scratch;
    for (int g = 0; g < plan->group_count; g++) {
        struct skeleton_group group = skeleton_group_in(program, plan, &view, g);
        const struct skeleton *skeleton = skeleton_find(program->target, plan->groups[g].skeleton);
        struct skeleton_cost cost = skeleton->predict(&group, &plan->groups[g]);
        total.seconds += cost.seconds;
        total.bytes += cost.bytes;
        total.operations += cost.operations;
        total.stack = cost.stack > total.stack ? cost.stack : total.stack;
        total.vectors = cost.vectors > total.vectors ? cost.vectors : total.vectors;
        total.shared = cost.shared > total.shared ? cost.shared : total.shared;
        total.scratch += cost.scratch;
        arena_reset(&scratch);
    }
    arena_release(&scratch);
    return total;
}

struct loop_kernel *skeleton_lower(const struct skeleton_program *program, const struct plan *plan)
{
    program = skeleton_program_of(program, plan);
    struct loop_kernel *kernel = loop_kernel_new(program->arena, program->part);
    struct skeleton_view view = skeleton_view_new(program, plan);
    for (int g = 0; g < plan->group_count; g++) {
        struct skeleton_group group = skeleton_group_in(program, plan, &view, g);
        skeleton_find(program->target, plan->groups[g].skeleton)
            ->lower(&group, &plan->groups[g], kernel);
    }
    return kernel;
}
