/*
 * What the skeletons answer while a plan changes (plan_mutate, plan_cross).
 */
#include "skeleton/skeleton.h"

#include <string.h>

static void space_open(void *context, const struct plan *plan, int number, struct plan_slots *slots)
{
    const struct skeleton_program *program = context;
    struct skeleton_group group = skeleton_group_of(program, plan, number);
    skeleton_open(program, &group, &plan->groups[number], slots);
}

/*
 * A skeleton that fits and its slots' own seeds. A group that had a skeleton gets the next one that
 * fits, so that asking again tries them all.
 */
static bool space_fill(void *context, struct plan *plan, int number)
{
    const struct skeleton_program *program = context;
    struct plan_group *group = &plan->groups[number];
    struct skeleton_view view = skeleton_view_new(program, plan);
    struct skeleton_group seen = skeleton_group_in(program, plan, &view, number);
    int start = 0, count = 0;
    const struct skeleton *const *skeletons = skeleton_table(program->target);
    while (skeletons[count]) {
        if (group->skeleton && strcmp(skeletons[count]->name, group->skeleton) == 0)
            start = count + 1;
        count++;
    }
    for (int i = 0; i < count; i++) {
        const struct skeleton *skeleton = skeletons[(start + i) % count];
        struct skeleton_reason why_not = {""};
        struct error error;
        if (!skeleton->match(&seen, &why_not))
            continue;
        group->skeleton = skeleton->name;
        group->decisions = NULL;
        group->decision_count = 0;
        if (skeleton_check_group(program, plan, &view, number, &error))
            return true;
    }
    return false;
}

static bool space_can_inline(void *context, int stage)
{
    const struct skeleton_program *program = context;
    const struct ir_stage *of = &program->part->stages[stage];
    return of->kind == IR_MAP &&
           program->part->tensors[of->writes[0].tensor].role == IR_TENSOR_TEMPORARY &&
           skeleton_can_inline(program->part, of->writes[0].tensor);
}

static bool space_legal(void *context, struct plan *plan)
{
    struct error error;
    return skeleton_check(context, plan, &error);
}

struct plan_space skeleton_space(const struct skeleton_program *program, const struct plan *plan)
{
    program = skeleton_program_of(program, plan);
    return (struct plan_space){
        .graph = program->graph,
        .arena = program->arena,
        .context = (void *)program,
        .open = space_open,
        .fill = space_fill,
        .can_inline = space_can_inline,
        .legal = space_legal,
    };
}
