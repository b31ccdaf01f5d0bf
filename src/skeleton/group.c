/*
 * Stages put into groups. Maps that are cheap or read once are computed where they are read; then
 * from each stage on the largest set of connected stages behind it that some skeleton fits becomes
 * a group. What none fits is plain.
 */
#include "skeleton/seed.h"

#include <math.h>
#include <string.h>

struct number_list VECTOR(int);

struct grouping {
    const struct skeleton_program *program;
    const struct plan_fix *fixes; /* sizes that are known: some skeletons fit only then */
    int fix_count;
    const struct ir_graph *graph;
    int stages;
    bool *inlined;
    struct number_list *before; /* per stage: stages that are not inlined and must have run */
    struct number_list *users;  /* per tensor: stages that are not inlined and read it in the end */
    int *owner;                 /* per stage: the first stage of its group; IR_NONE: open */
    bool *needed;               /* per tensor, for the set that is tried */
    int *order;                 /* of groups, as is_ordered found it */
    struct arena scratch;       /* of one try */
};

/* ---- inlining ---- */

enum { INLINE_CHEAP = 4, INLINE_WEIGHT = 64, FUNCTION_WEIGHT = 8 };

static int node_weight(const struct ir_node *node)
{
    if (node->op == IR_READ)
        return 1;
    if (node->op <= IR_SELECT)
        return 0;
    bool function = node->op >= IR_EXP || node->op == IR_DIV || node->op == IR_POW;
    return function ? FUNCTION_WEIGHT : dtype_is_float(node->type) ? 1 : 0;
}

/* What computing an element takes, and what of it is inlined there in turn. */
static int stage_weight(const struct grouping *g, const int *weights, int stage)
{
    const struct ir_nodes *nodes = &g->program->part->stages[stage].nodes;
    int weight = 0;
    for (int i = 0; i < nodes->count && weight < 1 << 20; i++) {
        weight += node_weight(&nodes->at[i]);
        if (nodes->at[i].op == IR_READ)
            weight += weights[nodes->at[i].read.tensor];
    }
    return weight;
}

/* How often an element is read, about; a loop may read it any number of times. */
static double read_times(const struct grouping *g, int tensor)
{
    const struct ir_binding *binding = g->program->binding;
    double points = (double)ir_tensor_shape(binding, tensor, NULL), times = 0;
    for (int i = 0; i < g->graph->readers[tensor].count; i++) {
        const struct ir_stage *reader = &g->program->part->stages[g->graph->readers[tensor].at[i]];
        if (reader->kind == IR_LOOP)
            return 1e9;
        for (int n = 0; n < reader->nodes.count; n++) {
            const struct ir_node *node = &reader->nodes.at[n];
            if (node->op == IR_READ && node->read.tensor == tensor)
                times += ir_stage_work(binding, reader).points;
        }
    }
    return points > 0 ? times / points : times;
}

static bool want_inline(const struct grouping *g, int tensor, int weight,
                        enum group_inline inlining)
{
    const struct ir_part *part = g->program->part;
    const struct ir_numbers *writers = &g->graph->writers[tensor];
    if (inlining == GROUP_INLINE_NONE || part->tensors[tensor].role != IR_TENSOR_TEMPORARY)
        return false;
    if (writers->count == 0 || g->graph->readers[tensor].count == 0)
        return false;
    for (int i = 0; i < writers->count; i++) {
        if (part->stages[writers->at[i]].kind != IR_MAP)
            return false;
    }
    double times = read_times(g, tensor);
    bool once = times <= 1.01 && weight <= 16 * INLINE_WEIGHT;
    bool cheap = inlining == GROUP_INLINE_CHEAP && weight <= INLINE_CHEAP && times < 1e9;
    return (once || cheap) && skeleton_can_inline(part, tensor);
}

static void choose_inlined(struct grouping *g, enum group_inline inlining)
{
    const struct ir_part *part = g->program->part;
    int *weights = arena_array(g->program->arena, (size_t)part->tensor_count + 1, sizeof *weights);
    for (int s = 0; s < g->stages; s++) {
        if (part->stages[s].kind != IR_MAP)
            continue;
        int tensor = part->stages[s].writes[0].tensor;
        const struct ir_numbers *writers = &g->graph->writers[tensor];
        if (writers->at[writers->count - 1] != s)
            continue; /* asked once all of them were seen */
        int weight = 0;
        for (int i = 0; i < writers->count; i++)
            weight += stage_weight(g, weights, writers->at[i]);
        if (!want_inline(g, tensor, weight, inlining))
            continue;
        weights[tensor] = weight;
        for (int i = 0; i < writers->count; i++)
            g->inlined[writers->at[i]] = true;
    }
}

/* ---- dependences seen past inlined stages ---- */

static void add_once(struct grouping *g, struct number_list *list, int number)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->at[i] == number)
            return;
    }
    vector_push(g->program->arena, list, number);
}

static void find_dependences(struct grouping *g)
{
    const struct ir_graph *graph = g->graph;
    for (int s = 0; s < g->stages; s++) {
        for (int i = 0; i < graph->after[s].count; i++) {
            int before = graph->after[s].at[i];
            if (!g->inlined[before])
                add_once(g, &g->before[s], before);
            for (size_t k = 0; g->inlined[before] && k < g->before[before].count; k++)
                add_once(g, &g->before[s], g->before[before].at[k]);
        }
    }
    for (int s = g->stages - 1; s >= 0; s--) {
        for (int i = 0; i < graph->reads[s].count; i++) {
            struct number_list *users = &g->users[graph->reads[s].at[i]];
            if (!g->inlined[s])
                add_once(g, users, s);
            for (int w = 0; g->inlined[s] && w < graph->writes[s].count; w++) {
                const struct number_list *more = &g->users[graph->writes[s].at[w]];
                for (size_t k = 0; k < more->count; k++)
                    add_once(g, users, more->at[k]);
            }
        }
    }
}

/* ---- sets of stages ---- */

/* Whether all that the group of stage s (itself, when it is open) reads from others is there. */
static bool is_ready(const struct grouping *g, int s, int last, const bool *done)
{
    for (int m = s; m <= last; m++) {
        if (m != s && g->owner[m] != s)
            continue;
        for (size_t i = 0; i < g->before[m].count; i++) {
            int before = g->before[m].at[i];
            bool inside = before == s || (g->owner[s] == s && g->owner[before] == s);
            if (!inside && !done[before])
                return false;
        }
    }
    return true;
}

/*
 * Whether groups can be put in an order: none is before itself. Open stages stand alone; a group is
 * known by its first stage.
 */
static bool is_ordered(const struct grouping *g, int *order, int *order_count)
{
    struct arena scratch = {0};
    bool *done = arena_array(&scratch, (size_t)g->stages + 1, sizeof *done);
    int *last = arena_array(&scratch, (size_t)g->stages + 1, sizeof *last);
    int placed = 0, wanted = 0;
    for (int s = 0; s < g->stages; s++) {
        wanted += !g->inlined[s];
        last[g->owner[s] == IR_NONE ? s : g->owner[s]] = s;
    }
    *order_count = 0;
    for (bool progress = true; progress && placed < wanted;) {
        progress = false;
        for (int s = 0; s < g->stages; s++) {
            bool first = g->owner[s] == IR_NONE || g->owner[s] == s;
            if (g->inlined[s] || done[s] || !first || !is_ready(g, s, last[s], done))
                continue;
            order[(*order_count)++] = s;
            for (int m = s; m <= last[s]; m++) {
                if (m == s || g->owner[m] == s) {
                    done[m] = progress = true;
                    placed++;
                }
            }
        }
    }
    arena_release(&scratch);
    return placed == wanted;
}

/* The open stages of from .. to that hang together with `from`. */
static int connected(const struct grouping *g, int from, int to, int *set)
{
    bool in[GROUP_MOST * 2] = {true};
    int count = 0;
    for (bool grown = true; grown;) {
        grown = false;
        for (int s = from; s <= to; s++) {
            if (g->inlined[s] || g->owner[s] != IR_NONE)
                continue;
            for (size_t i = 0; i < g->before[s].count; i++) {
                int before = g->before[s].at[i];
                if (before < from || g->owner[before] != IR_NONE ||
                    in[s - from] == in[before - from])
                    continue;
                in[s - from] = in[before - from] = grown = true;
            }
        }
    }
    for (int s = from; s <= to; s++) {
        if (in[s - from])
            set[count++] = s;
    }
    return count;
}

static bool in_set(const int *set, int count, int stage)
{
    for (int i = 0; i < count; i++) {
        if (set[i] == stage)
            return true;
    }
    return false;
}

/* Whether a skeleton other than plain fits these stages, and pins allow it. */
static bool fits(struct grouping *g, const int *set, int count)
{
    const struct ir_part *part = g->program->part;
    struct plan_group plan = {
        .name = g->graph->names[set[count - 1]], .stages = set, .stage_count = count};
    for (int i = 0; i < count; i++) {
        const struct ir_numbers *writes = &g->graph->writes[set[i]];
        for (int w = 0; w < writes->count; w++) {
            int t = writes->at[w];
            g->needed[t] = part->tensors[t].role == IR_TENSOR_OUTPUT;
            for (size_t u = 0; u < g->users[t].count; u++)
                g->needed[t] |= !in_set(set, count, g->users[t].at[u]);
        }
    }
    struct skeleton_group group = {
        .arena = &g->scratch,
        .part = part,
        .graph = g->graph,
        .stages = set,
        .stage_count = count,
        .inlined = g->inlined,
        .needed = g->needed,
        .binding = g->program->binding,
        .fixes = g->fixes,
        .fix_count = g->fix_count,
        .target = g->program->target,
        .accuracy = g->program->accuracy,
    };
    bool any = false;
    const struct skeleton *const *at = skeleton_table(g->program->target);
    for (; *at && !any; at++) {
        struct skeleton_reason why_not = {""};
        const struct plan_pins *pins = g->program->pins;
        if (strcmp((*at)->name, "plain") != 0 &&
            (!pins || plan_pins_allow(pins, &plan, g->graph, "skeleton", (*at)->name)))
            any = (*at)->match(&group, &why_not);
    }
    arena_reset(&g->scratch);
    return any;
}

static void own(struct grouping *g, const int *set, int count, int owner)
{
    for (int i = 0; i < count; i++)
        g->owner[set[i]] = owner;
}

/* ---- the groups ---- */

/* A loop and what writes the tensors it carries, with all that lies between them. */
static void group_loops(struct grouping *g)
{
    const struct ir_part *part = g->program->part;
    for (int s = 0; s < g->stages; s++) {
        if (part->stages[s].kind != IR_LOOP)
            continue;
        int first = s;
        for (int c = 0; c < part->stages[s].carry_count; c++) {
            const struct ir_numbers *writers = &g->graph->writers[part->stages[s].carries[c].state];
            for (int i = 0; i < writers->count; i++) {
                g->owner[writers->at[i]] = s;
                first = writers->at[i] < first ? writers->at[i] : first;
            }
        }
        g->owner[s] = s;
        for (int m = first; m < s; m++) { /* reads one of them: the loop may read it in turn */
            for (size_t i = 0; !g->inlined[m] && i < g->before[m].count; i++) {
                if (g->owner[m] == IR_NONE && g->owner[g->before[m].at[i]] == s)
                    g->owner[m] = s;
            }
        }
        int old = s; /* a group is known by its first stage */
        for (int m = 0; m < g->stages; m++) {
            if (g->owner[m] == old)
                g->owner[m] = first;
        }
    }
}

/* Whether a map of the set has more points than its reductions have results: it goes over all that
 * they do. */
static bool goes_over_all(const struct grouping *g, const int *set, int count)
{
    const struct ir_binding *binding = g->program->binding;
    double results = -1, points = 0;
    for (int i = 0; i < count; i++) {
        const struct ir_stage *stage = &g->program->part->stages[set[i]];
        if (stage->kind == IR_REDUCE)
            results =
                fmax(results, (double)ir_tensor_shape(binding, stage->writes[0].tensor, NULL));
        if (stage->kind == IR_MAP)
            points = fmax(points, ir_stage_work(binding, stage).points);
    }
    return results >= 0 && points > results;
}

static void group_from(struct grouping *g, int from, const struct group_style *style)
{
    int set[GROUP_MOST * 2], groups, most = style->most < GROUP_MOST ? style->most : GROUP_MOST;
    int last = from + most - 1 < g->stages - 1 ? from + most - 1 : g->stages - 1;
    for (int to = last; to > from; to--) {
        if (g->inlined[to] || g->owner[to] != IR_NONE)
            continue;
        int count = connected(g, from, to, set);
        if (count < 2 || set[count - 1] != to || (style->apart && goes_over_all(g, set, count)) ||
            !fits(g, set, count))
            continue;
        own(g, set, count, from);
        if (is_ordered(g, g->order, &groups))
            return;
        own(g, set, count, IR_NONE);
    }
    g->owner[from] = from;
}

static struct plan *make_plan(struct grouping *g)
{
    const struct skeleton_program *program = g->program;
    struct arena *arena = program->arena;
    struct plan *plan = arena_new(arena, struct plan);
    int *inlined = arena_array(arena, (size_t)g->stages + 1, sizeof *inlined);
    const struct skeleton_device *device = program->target->device;
    plan->target = device ? device->language : "cpu";
    plan->machine = program->target->name;
    is_ordered(g, g->order, &plan->group_count);
    plan->groups = arena_array(arena, (size_t)plan->group_count + 1, sizeof *plan->groups);
    for (int i = 0; i < plan->group_count; i++) {
        struct number_list stages = {0};
        for (int s = g->order[i]; s < g->stages; s++) {
            if (g->owner[s] == g->order[i])
                vector_push(arena, &stages, s);
        }
        plan->groups[i].name = g->graph->names[stages.at[stages.count - 1]];
        plan->groups[i].stages = stages.at;
        plan->groups[i].stage_count = (int)stages.count;
    }
    for (int s = 0; s < g->stages; s++) {
        if (g->inlined[s])
            inlined[plan->inlined_count++] = s;
    }
    plan->inlined = inlined;
    return plan;
}

struct plan *group_stages(const struct skeleton_program *program, const struct group_style *style,
                          const struct plan_fix *fixes, int fix_count)
{
    struct grouping g = {.program = program,
                         .graph = program->graph,
                         .stages = program->part->stage_count,
                         .fixes = fixes,
                         .fix_count = fix_count};
    size_t stages = (size_t)g.stages + 1, tensors = (size_t)program->part->tensor_count + 1;
    g.inlined = arena_array(program->arena, stages, sizeof *g.inlined);
    g.before = arena_array(program->arena, stages, sizeof *g.before);
    g.users = arena_array(program->arena, tensors, sizeof *g.users);
    g.owner = arena_array(program->arena, stages, sizeof *g.owner);
    g.needed = arena_array(program->arena, tensors, sizeof *g.needed);
    g.order = arena_array(program->arena, stages, sizeof *g.order);
    for (size_t t = 0; t < tensors; t++)
        g.needed[t] = true;
    for (int s = 0; s < g.stages; s++)
        g.owner[s] = IR_NONE;
    choose_inlined(&g, style->inlining);
    find_dependences(&g);
    group_loops(&g);
    for (int s = 0; s < g.stages; s++) {
        if (!g.inlined[s] && g.owner[s] == IR_NONE)
            group_from(&g, s, style);
    }
    struct plan *plan = make_plan(&g);
    plan->graph = program->graph;
    plan->rewrites = program->rewrites;
    plan->rewrite_count = program->rewrite_count;
    plan->fixes = fixes;
    plan->fix_count = fix_count;
    arena_release(&g.scratch);
    return plan;
}
