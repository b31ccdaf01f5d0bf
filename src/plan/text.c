/*
 * A plan as text. What is printed reads back as the same (parse.c).
 */
#include <string.h>

#include "plan/plan.h"

enum { KEY_COLUMN = 8 }; /* values of a group's decisions stand below each other */

static void print_stages(struct text *out, const struct ir_graph *graph, const int *stages,
                         int count)
{
    for (int i = 0; i < count; i++)
        text_printf(out, " %s", graph->names[stages[i]]);
}

static void print_group(struct text *out, const struct plan_group *group,
                        const struct ir_graph *graph)
{
    text_printf(out, "group %s =", group->name);
    print_stages(out, graph, group->stages, group->stage_count);
    text_printf(out, "  skeleton %s\n", group->skeleton);
    size_t column = KEY_COLUMN;
    for (int i = 0; i < group->decision_count; i++) {
        size_t length = strlen(group->decisions[i].key);
        column = length > column ? length : column;
    }
    for (int i = 0; i < group->decision_count; i++)
        text_printf(out, "    %-*s %s\n", (int)column, group->decisions[i].key,
                    group->decisions[i].value);
}

void plan_print(struct text *out, const struct plan *plan, const struct ir_graph *graph)
{
    graph = plan->graph ? plan->graph : graph;
    text_printf(out, "plan %s %s\n", plan->target, plan->machine);
    for (int i = 0; i < plan->rewrite_count; i++) {
        const struct plan_rewrite *rewrite = &plan->rewrites[i];
        text_printf(out, "rewrite %s %s", rewrite->name, rewrite->stage);
        if (rewrite->number)
            text_printf(out, " %lld", (long long)rewrite->number);
        text_char(out, '\n');
    }
    if (plan->fix_count) {
        text_add(out, "fix");
        for (int i = 0; i < plan->fix_count; i++)
            text_printf(out, " %s=%lld", graph->part->symbols[plan->fixes[i].symbol].name,
                        (long long)plan->fixes[i].value);
        text_char(out, '\n');
    }
    if (plan->inlined_count) {
        text_add(out, "inline");
        print_stages(out, graph, plan->inlined, plan->inlined_count);
        text_char(out, '\n');
    }
    for (int i = 0; i < plan->group_count; i++)
        print_group(out, &plan->groups[i], graph);
}
