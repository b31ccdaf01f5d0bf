/*
 * A group of stages of a flat part as a program of its own, so that it can be judged, searched and
 * remembered alone, and lowered plainly beside groups that are not.
 */
#include "ir/ir.h"

struct extraction {
    struct arena *arena;
    const struct ir_graph *graph;
    const struct ir_part *old;
    const bool *chosen;
    int *tensors; /* per tensor of the old part: its number now, or IR_NONE */
    struct kept_tensors VECTOR(struct ir_tensor) kept;
    struct kept_numbers VECTOR(int) inputs, outputs, order; /* new numbers; then old ones */
    struct kept_stages VECTOR(struct ir_stage) stages;
    struct kept_indices VECTOR(struct ir_index) indices;
};

static bool any_chosen(const struct extraction *x, const struct ir_numbers *stages)
{
    for (int i = 0; i < stages->count; i++) {
        if (x->chosen[stages->at[i]])
            return true;
    }
    return false;
}

static int keep(struct extraction *x, int tensor, enum ir_tensor_role role)
{
    struct ir_tensor copy = x->old->tensors[tensor];
    if (role == IR_TENSOR_OUTPUT || role == IR_TENSOR_INPUT)
        copy.declared = true; /* what is handed over has a type */
    copy.role = role;
    vector_push(x->arena, &x->kept, copy);
    return (int)x->kept.count - 1;
}

static void choose_tensors(struct extraction *x, const bool *needed)
{
    for (int t = 0; t < x->old->tensor_count; t++) {
        bool read = any_chosen(x, &x->graph->readers[t]);
        bool written = any_chosen(x, &x->graph->writers[t]);
        bool state = x->old->tensors[t].role == IR_TENSOR_STATE;
        x->tensors[t] = IR_NONE;
        if (!read && !written)
            continue;
        if (!written) {
            x->tensors[t] = keep(x, t, IR_TENSOR_INPUT);
            vector_push(x->arena, &x->inputs, x->tensors[t]);
            vector_push(x->arena, &x->order, t);
        } else if (needed[t] && !state) {
            x->tensors[t] = keep(x, t, IR_TENSOR_OUTPUT);
        } else {
            x->tensors[t] = keep(x, t, state ? IR_TENSOR_STATE : IR_TENSOR_TEMPORARY);
        }
    }
}

/* ---- stages ---- */

static int renumber(const struct extraction *x, int tensor)
{
    return tensor == IR_NONE ? IR_NONE : x->tensors[tensor];
}

static struct ir_stage copy_stage(struct extraction *x, const struct ir_stage *stage)
{
    struct ir_stage copy = *stage;
    struct arena *arena = x->arena;
    copy.nodes.at = arena_array(arena, (size_t)stage->nodes.count + 1, sizeof *copy.nodes.at);
    for (int i = 0; i < stage->nodes.count; i++) {
        copy.nodes.at[i] = stage->nodes.at[i];
        if (stage->nodes.at[i].op == IR_READ)
            copy.nodes.at[i].read.tensor = renumber(x, stage->nodes.at[i].read.tensor);
    }
    struct ir_write *writes = arena_array(arena, (size_t)stage->write_count + 1, sizeof *writes);
    for (int i = 0; i < stage->write_count; i++) {
        writes[i] = stage->writes[i];
        writes[i].tensor = renumber(x, stage->writes[i].tensor);
    }
    copy.writes = writes;
    if (stage->kind == IR_SCATTER)
        copy.from = renumber(x, stage->from);
    if (stage->kind != IR_LOOP)
        return copy;
    copy.body = arena_array(arena, (size_t)stage->body_count + 1, sizeof *copy.body);
    for (int i = 0; i < stage->body_count; i++)
        copy.body[i] = copy_stage(x, &stage->body[i]);
    struct ir_carry *carries = arena_array(arena, (size_t)stage->carry_count + 1, sizeof *carries);
    for (int i = 0; i < stage->carry_count; i++)
        carries[i] = (struct ir_carry){renumber(x, stage->carries[i].state),
                                       renumber(x, stage->carries[i].next)};
    copy.carries = carries;
    return copy;
}

/* What a loop has carried is given as a copy: a tensor cannot be both carried and an output. */
static void give_state(struct extraction *x, int tensor)
{
    const struct ir_tensor *state = &x->old->tensors[tensor];
    struct arena *arena = x->arena;
    int rank = state->rank, from = x->tensors[tensor], to = keep(x, tensor, IR_TENSOR_OUTPUT);
    struct ir_node *nodes = arena_array(arena, (size_t)rank + 1, sizeof *nodes);
    int *indices = arena_array(arena, (size_t)rank + 1, sizeof *indices);
    int *at = arena_array(arena, (size_t)rank + 1, sizeof *at);
    struct ir_write *write = arena_new(arena, struct ir_write);
    const struct ir_node blank = {.type = DTYPE_I64, .a = IR_NONE, .b = IR_NONE, .c = IR_NONE};
    for (int i = 0; i < rank; i++) {
        struct ir_index index = {.name = arena_printf(arena, "i%d", i), .extent = state->dims[i]};
        at[i] = i;
        indices[i] = (int)x->indices.count;
        vector_push(arena, &x->indices, index);
        nodes[i] = blank;
        nodes[i].op = IR_INDEX;
        nodes[i].index = indices[i];
    }
    nodes[rank] = blank;
    nodes[rank].op = IR_READ;
    nodes[rank].type = dtype_compute(state->dtype);
    nodes[rank].read.tensor = from;
    nodes[rank].read.at = at;
    nodes[rank].read.guard = nodes[rank].read.otherwise = IR_NONE;
    nodes[rank].read.proved = true;
    *write = (struct ir_write){.tensor = to, .at = at, .value = rank};
    x->kept.at[to].name = arena_printf(arena, "%s.last", state->name);
    vector_push(arena, &x->stages,
                (struct ir_stage){.kind = IR_MAP,
                                  .indices = indices,
                                  .index_count = rank,
                                  .left_count = rank,
                                  .nodes = {nodes, rank + 1},
                                  .predicate = IR_NONE,
                                  .writes = write,
                                  .write_count = 1,
                                  .from = IR_NONE});
    vector_push(arena, &x->outputs, to);
    vector_push(arena, &x->order, tensor);
}

static void choose_stages(struct extraction *x, const bool *needed)
{
    for (int i = 0; i < x->old->index_count; i++)
        vector_push(x->arena, &x->indices, x->old->indices[i]);
    for (int s = 0; s < x->old->stage_count; s++) {
        if (x->chosen[s])
            vector_push(x->arena, &x->stages, copy_stage(x, &x->old->stages[s]));
    }
    for (int t = 0; t < x->old->tensor_count; t++) {
        bool written = x->tensors[t] != IR_NONE && any_chosen(x, &x->graph->writers[t]);
        if (!needed[t] || !written)
            continue;
        if (x->old->tensors[t].role == IR_TENSOR_STATE) {
            give_state(x, t);
        } else {
            vector_push(x->arena, &x->outputs, x->tensors[t]);
            vector_push(x->arena, &x->order, t);
        }
    }
}

struct ir_extract ir_extract(struct arena *arena, const struct ir_graph *graph, const char *name,
                             const bool *chosen, const bool *needed)
{
    struct extraction x = {.arena = arena, .graph = graph, .old = graph->part, .chosen = chosen};
    x.tensors = arena_array(arena, (size_t)x.old->tensor_count + 1, sizeof *x.tensors);
    choose_tensors(&x, needed);
    choose_stages(&x, needed);
    struct ir_part *part = arena_new(arena, struct ir_part);
    *part = *x.old;
    part->name = name;
    part->tensors = x.kept.at;
    part->tensor_count = (int)x.kept.count;
    part->inputs = x.inputs.at;
    part->input_count = (int)x.inputs.count;
    part->outputs = x.outputs.at;
    part->output_count = (int)x.outputs.count;
    part->indices = x.indices.at;
    part->index_count = (int)x.indices.count;
    part->stages = x.stages.at;
    part->stage_count = (int)x.stages.count;
    struct ir_program *program = arena_new(arena, struct ir_program);
    const struct ir_part **parts = arena_array(arena, 1, sizeof *parts);
    parts[0] = part;
    *program = (struct ir_program){parts, 1};
    return (struct ir_extract){program, x.order.at, (int)x.order.count};
}
