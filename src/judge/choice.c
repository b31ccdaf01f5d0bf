/*
 * Index outputs (argmax, argmin, topk, bottomk): where keys are computed, two of them may be so
 * near each other that rounding decides which is best. An index is right when the oracle's key
 * there is within the limit of the one that stands in its place. Where keys are read from an input
 * nothing is rounded, and the index must be equal.
 *
 * The keys come from the op itself: a program that writes them all, made from the stage that
 * compares them.
 */
#include <math.h>
#include <string.h>

#include "judge/private.h"

static const double most_steps = 2e7; /* of the interpreter: beyond that indices must be equal */

struct keys_plan { /* of one output */
    const struct ir_stage *stage;
    struct ir_program *program; /* its only output: the keys */
    bool ranked;
};

static bool is_bare(const struct ir_stage *stage, int node, int index)
{
    return stage->nodes.at[node].op == IR_INDEX && stage->nodes.at[node].index == index;
}

/* Whether the stage writes the output as the index of what it compares, in the plainest form. */
static bool stage_fits(const struct ir_part *part, const struct ir_stage *stage, int tensor)
{
    if (stage->kind != IR_REDUCE || stage->monoid->kind < IR_ARGMAX ||
        stage->monoid->kind > IR_BOTTOMK || stage->writes[1].tensor != tensor ||
        stage->index_count != stage->left_count + 1 || stage->predicate != IR_NONE)
        return false;
    int reduced = stage->indices[stage->left_count];
    if (!part->indices[reduced].extent || !is_bare(stage, stage->writes[1].value, reduced))
        return false;
    for (int i = 0; i < stage->left_count; i++)
        if (!part->indices[stage->indices[i]].extent ||
            !is_bare(stage, stage->writes[1].at[i], stage->indices[i]))
            return false;
    const struct ir_node *key = &stage->nodes.at[stage->writes[0].value];
    return dtype_is_float(key->type) &&
           !(key->op == IR_READ && part->tensors[key->read.tensor].role == IR_TENSOR_INPUT);
}

/* A map that writes the key at every point of the stage. */
static struct ir_stage keys_stage(struct arena *arena, const struct ir_stage *stage, int tensor)
{
    int count = stage->nodes.count, indices = stage->index_count;
    struct ir_stage map = {.kind = IR_MAP,
                           .place = stage->place,
                           .indices = stage->indices,
                           .index_count = indices,
                           .left_count = indices,
                           .predicate = IR_NONE,
                           .write_count = 1,
                           .along = IR_NONE,
                           .from = IR_NONE};
    struct ir_node *nodes = arena_array(arena, (size_t)(count + indices) + 1, sizeof *nodes);
    int *at = arena_array(arena, (size_t)indices + 1, sizeof *at);
    memcpy(nodes, stage->nodes.at, (size_t)count * sizeof *nodes);
    for (int i = 0; i < indices; i++) {
        at[i] = count + i;
        nodes[count + i] = (struct ir_node){.op = IR_INDEX,
                                            .type = DTYPE_I64,
                                            .a = IR_NONE,
                                            .b = IR_NONE,
                                            .c = IR_NONE,
                                            .index = stage->indices[i]};
    }
    struct ir_write *write = arena_new(arena, struct ir_write);
    *write = (struct ir_write){tensor, at, stage->writes[0].value};
    map.nodes = (struct ir_nodes){nodes, count + indices};
    map.writes = write;
    return map;
}

static struct ir_program *keys_program(struct arena *arena, const struct ir_program *flat,
                                       const struct ir_stage *stage)
{
    const struct ir_part *root = ir_root(flat);
    struct ir_part *part = arena_new(arena, struct ir_part);
    int tensors = root->tensor_count, stages = root->stage_count, rank = stage->index_count;
    struct ir_tensor *all = arena_array(arena, (size_t)tensors + 1, sizeof *all);
    struct ir_stage *list = arena_array(arena, (size_t)stages + 1, sizeof *list);
    const struct ir_size **dims = arena_array(arena, (size_t)rank + 1, sizeof *dims);
    int *outputs = arena_array(arena, 1, sizeof *outputs);
    *part = *root;
    memcpy(all, root->tensors, (size_t)tensors * sizeof *all);
    memcpy(list, root->stages, (size_t)stages * sizeof *list);
    for (int t = 0; t < tensors; t++)
        if (all[t].role == IR_TENSOR_OUTPUT)
            all[t].role = IR_TENSOR_TEMPORARY;
    for (int i = 0; i < rank; i++)
        dims[i] = root->indices[stage->indices[i]].extent;
    all[tensors] = (struct ir_tensor){.name = "smelt_keys",
                                      .role = IR_TENSOR_OUTPUT,
                                      .dtype = DTYPE_F64,
                                      .declared = true,
                                      .rank = rank,
                                      .dims = dims};
    list[stages] = keys_stage(arena, stage, tensors);
    outputs[0] = tensors;
    part->tensors = all;
    part->tensor_count = tensors + 1;
    part->stages = list;
    part->stage_count = stages + 1;
    part->outputs = outputs;
    part->output_count = 1;
    struct ir_program *program = arena_new(arena, struct ir_program);
    const struct ir_part **parts = arena_array(arena, 1, sizeof *parts);
    parts[0] = part;
    *program = (struct ir_program){parts, 1};
    return program;
}

/* The plan for an output; false: its indices must be equal. */
static bool plan_make(struct arena *arena, const struct ir_program *program, int output,
                      struct keys_plan *plan)
{
    const struct ir_program *flat = ir_flatten(arena, program);
    if (!flat || flat->part_count != 1 || ir_root(flat)->index_count == 0)
        return false;
    const struct ir_part *part = ir_root(flat);
    if (part->symbol_count != ir_root(program)->symbol_count ||
        part->input_count != ir_root(program)->input_count)
        return false;
    for (int s = 0; s < part->stage_count; s++) {
        const struct ir_stage *stage = &part->stages[s];
        if (!stage_fits(part, stage, part->outputs[output]))
            continue;
        plan->stage = stage;
        plan->ranked = stage->monoid->kind == IR_TOPK || stage->monoid->kind == IR_BOTTOMK;
        plan->program = keys_program(arena, flat, stage);
        return true;
    }
    return false;
}

bool keys_make(struct arena *arena, const struct ir_program *program,
               const struct ir_binding *binding, const struct limit_rule *rule,
               const struct array *inputs, const struct array *moved, int output, struct keys *keys,
               struct error *error)
{
    struct keys_plan plan;
    struct ir_binding bound = *binding;
    struct oracle_options options = {.exact_outputs = true};
    struct array after;
    if (rule->bits == 0 || !plan_make(arena, program, output, &plan))
        return true;
    bound.part = ir_root(plan.program);
    if (oracle_steps(&bound, NULL) > most_steps)
        return true;
    keys->values = arena_new(arena, struct array);
    if (!oracle_interpret(arena, &bound, inputs, keys->values, &options, error) ||
        !oracle_interpret(arena, &bound, moved, &after, &options, error))
        return false;
    keys->limits = arena_array(arena, (size_t)keys->values->count + 1, sizeof(double));
    for (int64_t i = 0; i < keys->values->count; i++) {
        double change = fabs(after.floats[i] - keys->values->floats[i]);
        keys->limits[i] = change < INFINITY ? change : 0;
    }
    limit_settle(rule, keys->values, keys->limits);
    keys->row = keys->values->dims[keys->values->rank - 1];
    int tensor = binding->part->outputs[output];
    int64_t dims[IR_MAX_RANK];
    ir_tensor_shape(binding, tensor, dims);
    keys->ranks = plan.ranked ? dims[binding->part->tensors[tensor].rank - 1] : 1;
    return true;
}

bool keys_accept(const struct keys *keys, int64_t element, int64_t expected, int64_t got)
{
    int64_t first = element / keys->ranks * keys->row;
    if (got < 0 || got >= keys->row || expected < 0 || expected >= keys->row)
        return false;
    double best = keys->values->floats[first + expected], there = keys->values->floats[first + got];
    return fabs(best - there) <= keys->limits[first + expected] + keys->limits[first + got];
}
