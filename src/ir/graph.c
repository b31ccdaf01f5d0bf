/*
 * Who writes and reads what in a flat part, and so which stages must run before which.
 */
#include <string.h>

#include "ir/ir.h"

struct number_list VECTOR(int);

struct marks { /* which of the numbers were seen, per kind of use */
    struct arena *arena;
    const struct ir_part *part;
    bool *reads, *writes; /* per tensor */
};

static void mark_stage(struct marks *marks, const struct ir_stage *stage)
{
    for (int i = 0; stage->kind == IR_LOOP && i < stage->body_count; i++)
        mark_stage(marks, &stage->body[i]);
    if (stage->kind == IR_LOOP) {
        for (int i = 0; i < stage->carry_count; i++) {
            marks->reads[stage->carries[i].next] = true;
            marks->reads[stage->carries[i].state] = true; /* it holds what was before the loop */
            marks->writes[stage->carries[i].state] = true;
        }
        return;
    }
    for (int i = 0; i < stage->nodes.count; i++) {
        if (stage->nodes.at[i].op == IR_READ)
            marks->reads[stage->nodes.at[i].read.tensor] = true;
    }
    if (stage->kind == IR_SCATTER && stage->from != IR_NONE)
        marks->reads[stage->from] = true;
    for (int i = 0; i < stage->write_count; i++)
        marks->writes[stage->writes[i].tensor] = true;
}

static struct ir_numbers collect(struct arena *arena, bool *marks, int count)
{
    struct number_list list = {0};
    for (int i = 0; i < count; i++) {
        if (marks[i])
            vector_push(arena, &list, i);
        marks[i] = false;
    }
    return (struct ir_numbers){list.at, (int)list.count};
}

/* Per tensor the stages among whose numbers it is. */
static struct ir_numbers *turn_round(struct arena *arena, const struct ir_numbers *numbers,
                                     int stages, int tensors)
{
    struct number_list *lists = arena_array(arena, (size_t)tensors + 1, sizeof *lists);
    struct ir_numbers *result = arena_array(arena, (size_t)tensors + 1, sizeof *result);
    for (int s = 0; s < stages; s++) {
        for (int i = 0; i < numbers[s].count; i++)
            vector_push(arena, &lists[numbers[s].at[i]], s);
    }
    for (int t = 0; t < tensors; t++)
        result[t] = (struct ir_numbers){lists[t].at, (int)lists[t].count};
    return result;
}

/* A stage runs after those that write what it reads, as far as they come before it. */
static struct ir_numbers *order_stages(struct arena *arena, const struct ir_graph *graph)
{
    int count = graph->part->stage_count;
    struct ir_numbers *after = arena_array(arena, (size_t)count + 1, sizeof *after);
    bool *marks = arena_array(arena, (size_t)count + 1, sizeof *marks);
    for (int s = 0; s < count; s++) {
        for (int i = 0; i < graph->reads[s].count; i++) {
            const struct ir_numbers *writers = &graph->writers[graph->reads[s].at[i]];
            for (int w = 0; w < writers->count && writers->at[w] < s; w++)
                marks[writers->at[w]] = true;
        }
        after[s] = collect(arena, marks, count);
    }
    return after;
}

/* The tensor a stage is called after: the first it defines; of a loop, the first others see. */
static int stage_tensor(const struct ir_graph *graph, int stage)
{
    const struct ir_numbers *writes = &graph->writes[stage];
    if (graph->part->stages[stage].kind != IR_LOOP)
        return graph->part->stages[stage].writes[0].tensor;
    for (int i = 0; i < writes->count; i++) {
        const struct ir_numbers *readers = &graph->readers[writes->at[i]];
        bool output = graph->part->tensors[writes->at[i]].role == IR_TENSOR_OUTPUT;
        if (output || (readers->count && readers->at[readers->count - 1] > stage))
            return writes->at[i];
    }
    return writes->count ? writes->at[0] : IR_NONE;
}

static const char **name_stages(struct arena *arena, const struct ir_graph *graph)
{
    int count = graph->part->stage_count;
    const char **names = arena_array(arena, (size_t)count + 1, sizeof *names);
    struct map taken = map_new(arena);
    for (int s = 0; s < count; s++) {
        int tensor = stage_tensor(graph, s);
        const char *base = tensor == IR_NONE ? "loop" : graph->part->tensors[tensor].name;
        const char *name = base;
        for (int i = 2; map_has(&taken, name); i++)
            name = arena_printf(arena, "%s.%d", base, i);
        map_set(&taken, name, names);
        names[s] = name;
    }
    return names;
}

struct ir_graph *ir_graph_new(struct arena *arena, const struct ir_part *part)
{
    int stages = part->stage_count, tensors = part->tensor_count;
    struct ir_graph *graph = arena_new(arena, struct ir_graph);
    struct ir_numbers *reads = arena_array(arena, (size_t)stages + 1, sizeof *reads);
    struct ir_numbers *writes = arena_array(arena, (size_t)stages + 1, sizeof *writes);
    struct marks marks = {.arena = arena, .part = part};
    marks.reads = arena_array(arena, (size_t)tensors + 1, sizeof *marks.reads);
    marks.writes = arena_array(arena, (size_t)tensors + 1, sizeof *marks.writes);
    for (int s = 0; s < stages; s++) {
        mark_stage(&marks, &part->stages[s]);
        reads[s] = collect(arena, marks.reads, tensors);
        writes[s] = collect(arena, marks.writes, tensors);
    }
    graph->part = part;
    graph->reads = reads;
    graph->writes = writes;
    graph->readers = turn_round(arena, reads, stages, tensors);
    graph->writers = turn_round(arena, writes, stages, tensors);
    graph->after = order_stages(arena, graph);
    graph->names = name_stages(arena, graph);
    return graph;
}

bool ir_graph_convex(const struct ir_graph *graph, const bool *chosen, int *between)
{
    int count = graph->part->stage_count;
    struct arena scratch = {0};
    int *outside = arena_array(&scratch, (size_t)count + 1, sizeof *outside); /* 1 + a stage */
    bool convex = true;
    for (int s = 0; s < count && convex; s++) {
        for (int i = 0; i < graph->after[s].count; i++) {
            int before = graph->after[s].at[i];
            if (chosen[s] && outside[before]) {
                *between = outside[before] - 1;
                convex = false;
                break;
            }
            if (!chosen[s] && (chosen[before] || outside[before]))
                outside[s] = s + 1;
        }
    }
    arena_release(&scratch);
    return convex;
}
