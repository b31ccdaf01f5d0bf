/*
 * The source of a plan: lowered by its skeletons, printed in the target's language.
 */
#include <string.h>

#include "gen/gen.h"
#include "propose/propose.h"

void propose_source(const struct skeleton_program *program, const struct plan *plan, const char *op,
                    struct text *source)
{
    struct arena *arena = program->arena;
    struct ir_fact *holds = arena_array(arena, (size_t)plan->fix_count + 1, sizeof *holds);
    struct text text = text_new(arena);
    bool plain = true;
    for (int i = 0; i < plan->fix_count; i++)
        holds[i] = (struct ir_fact){.relation = IR_RELATION_EQ,
                                    .a = ir_size_symbol(arena, plan->fixes[i].symbol),
                                    .b = ir_size_constant(arena, plan->fixes[i].value)};
    for (int i = 0; i < plan->group_count; i++)
        plain &= strcmp(plan->groups[i].skeleton, "plain") == 0;
    plan_print(&text, plan, program->graph);
    struct gen_head head = {.holds = holds,
                            .holds_count = plan->fix_count,
                            .threads = plain ? 1 : 0,
                            .op = op,
                            .plan = text.at};
    const struct skeleton_device *device = program->target->device;
    struct loop_kernel *kernel = skeleton_lower(program, plan);
    if (device && *device->architecture)
        head.architecture = device->architecture;
    if (device)
        gen_loop_device(source, kernel, device->language, &head);
    else
        gen_loop_c(source, kernel, &head);
}
