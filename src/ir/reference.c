/*
 * The op in double precision, as a program for a device: what the oracle computes on the processor,
 * as far as a compiler for the device can be made to.
 *
 * Every float input is first copied into f64, where all else reads it, and moved on the way if that
 * is asked for. A copy lies so that neighbouring results read neighbours of it: of x[m, k] * w[n,
 * k], whose results are y[m, n], w is copied with n last. Temporaries without a declared type are
 * f64, those with one and casts round as they say. Float outputs are f64; what reads them again
 * inside reads a copy rounded to their type.
 */
#include <string.h>

#include "ir/rewriting.h"

struct reference {
    struct rewriting rewriting;
    int *instead;          /* per tensor of the old part: what is read in its place */
    int *last;             /* and which of its dimensions is the last there; IR_NONE: as it was */
    int disturbance, seed; /* scalars */
};

/* ---- the root with other outputs and more scalars ---- */

static const char *free_name(struct arena *arena, const struct ir_part *part, const char *wanted)
{
    const char *name = wanted;
    for (bool taken = true; taken;) {
        taken = false;
        for (int i = 0; i < part->symbol_count; i++)
            taken |= strcmp(part->symbols[i].name, name) == 0;
        for (int i = 0; i < part->scalar_count; i++)
            taken |= strcmp(part->scalars[i].name, name) == 0;
        for (int i = 0; i < part->tensor_count; i++)
            taken |= strcmp(part->tensors[i].name, name) == 0;
        if (taken)
            name = arena_printf(arena, "%s_", name);
    }
    return name;
}

static const struct ir_program *with_root(struct arena *arena, const struct ir_program *program,
                                          const struct ir_part *root)
{
    struct ir_program *copy = arena_new(arena, struct ir_program);
    const struct ir_part **parts = arena_array(arena, (size_t)program->part_count, sizeof *parts);
    memcpy(parts, program->parts, (size_t)program->part_count * sizeof *parts);
    parts[program->part_count - 1] = root;
    *copy = (struct ir_program){parts, program->part_count};
    return copy;
}

/* NULL: something is f64 as it is. */
static const struct ir_program *widen_root(struct arena *arena, const struct ir_program *program)
{
    const struct ir_part *old = ir_root(program);
    struct ir_part *root = arena_new(arena, struct ir_part);
    struct ir_tensor *tensors = arena_array(arena, (size_t)old->tensor_count + 1, sizeof *tensors);
    struct ir_scalar *scalars = arena_array(arena, (size_t)old->scalar_count + 2, sizeof *scalars);
    for (int i = 0; i < old->tensor_count; i++) {
        tensors[i] = old->tensors[i];
        if (tensors[i].dtype == DTYPE_F64 && tensors[i].declared)
            return NULL;
        if (tensors[i].role == IR_TENSOR_OUTPUT && dtype_is_float(tensors[i].dtype))
            tensors[i].dtype = DTYPE_F64;
    }
    for (int i = 0; i < old->scalar_count; i++) {
        scalars[i] = old->scalars[i];
        if (dtype_is_float(scalars[i].dtype))
            scalars[i].dtype = DTYPE_F64;
    }
    const char *names[] = {"disturbance", "disturbance_seed"};
    for (int i = 0; i < 2; i++)
        scalars[old->scalar_count + i] =
            (struct ir_scalar){.name = free_name(arena, old, names[i]), .dtype = DTYPE_F64};
    *root = *old;
    root->tensors = tensors;
    root->scalars = scalars;
    root->scalar_count += 2;
    return with_root(arena, program, root);
}

/* ---- inputs ---- */

static int node_of(struct rewriting_stage *stage, enum ir_op op, int a, int b)
{
    return rewriting_node(stage, op, DTYPE_I64, a, b, IR_NONE);
}

static int float_of(struct rewriting_stage *stage, enum ir_op op, int a, int b)
{
    return rewriting_node(stage, op, DTYPE_F64, a, b, IR_NONE);
}

static int number(struct rewriting_stage *stage, double value)
{
    int node = rewriting_node(stage, IR_FLOAT, DTYPE_F64, IR_NONE, IR_NONE, IR_NONE);
    stage->nodes.at[node].number = value;
    return node;
}

static int scalar(struct rewriting_stage *stage, int which)
{
    int node = rewriting_node(stage, IR_SCALAR, DTYPE_F64, IR_NONE, IR_NONE, IR_NONE);
    stage->nodes.at[node].scalar = which;
    return node;
}

/* Shifts of the IR keep the sign; here it is a bit like others. */
static int shifted(struct rewriting_stage *stage, int bits, int by)
{
    int right = node_of(stage, IR_SHR, bits, rewriting_int(stage, by));
    return node_of(stage, IR_BITAND, right, rewriting_int(stage, INT64_MAX >> (by - 1)));
}

/* What the oracle does: half a unit to one and a half, of either sign (src/oracle/interpret.c). */
static int moved(struct rewriting_stage *stage, const struct reference *reference, int input,
                 int element, int value)
{
    static const uint64_t factors[] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u,
                                       0x94d049bb133111ebu};
    int seed = rewriting_cast(stage, DTYPE_I64, scalar(stage, reference->seed));
    seed = node_of(stage, IR_ADD, seed, rewriting_int(stage, (int64_t)(input + 1) << 54));
    int bits = node_of(stage, IR_MUL, element, rewriting_int(stage, (int64_t)factors[0]));
    bits = node_of(stage, IR_ADD, bits, seed);
    bits = node_of(stage, IR_BITXOR, bits, shifted(stage, bits, 30));
    bits = node_of(stage, IR_MUL, bits, rewriting_int(stage, (int64_t)factors[1]));
    bits = node_of(stage, IR_BITXOR, bits, shifted(stage, bits, 27));
    bits = node_of(stage, IR_MUL, bits, rewriting_int(stage, (int64_t)factors[2]));
    bits = node_of(stage, IR_BITXOR, bits, shifted(stage, bits, 31));
    int by =
        rewriting_node(stage, IR_TO_FLOAT, DTYPE_F64, shifted(stage, bits, 11), IR_NONE, IR_NONE);
    by = float_of(stage, IR_SUB, float_of(stage, IR_MUL, by, number(stage, 0x1p-52)),
                  number(stage, 1));
    int half = number(stage, 0.5);
    int below = rewriting_node(stage, IR_LT, DTYPE_BOOL, by, number(stage, 0), IR_NONE);
    by = rewriting_node(stage, IR_SELECT, DTYPE_F64, below, float_of(stage, IR_SUB, by, half),
                        float_of(stage, IR_ADD, by, half));
    int share = float_of(stage, IR_MUL, scalar(stage, reference->disturbance), by);
    return float_of(stage, IR_MUL, value, float_of(stage, IR_ADD, number(stage, 1), share));
}

/* One number per dimension, that of `last` behind all others. */
static int *reorder(struct arena *arena, const int *numbers, int rank, int last)
{
    int *ordered = arena_array(arena, (size_t)rank + 1, sizeof *ordered);
    int count = 0;
    for (int d = 0; d < rank; d++)
        if (d != last)
            ordered[count++] = numbers[d];
    if (last != IR_NONE)
        ordered[count] = numbers[last];
    return ordered;
}

/* All elements of a tensor, copied into another of its shape, but for the dimension that is to be
 * the last. `input`: its number, for what moves; below 0: nothing does. */
static int add_copy(struct reference *reference, int tensor, const char *suffix, enum dtype dtype,
                    bool declared, int input)
{
    struct rewriting *rewriting = &reference->rewriting;
    const struct ir_tensor from = rewriting->tensors.at[tensor];
    struct ir_stage nowhere = {.place = from.place};
    struct rewriting_stage stage = rewriting_stage_new(rewriting, &nowhere);
    int at[IR_MAX_RANK + 1], element = IR_NONE;
    for (int d = 0; d < from.rank; d++) {
        struct ir_index index = {.name = arena_printf(rewriting->arena, "i%d", d),
                                 .extent = from.dims[d]};
        vector_push(rewriting->arena, &rewriting->indices, index);
        at[d] = rewriting_index(&stage, (int)rewriting->indices.count - 1, true);
        int row =
            d == 0 ? at[d] : node_of(&stage, IR_MUL, element, rewriting_size(&stage, from.dims[d]));
        element = d == 0 ? row : node_of(&stage, IR_ADD, row, at[d]);
    }
    int last = reference->last[tensor];
    int to =
        rewriting_tensor(rewriting, from.name, suffix, dtype,
                         reorder(rewriting->arena, stage.indices.at, from.rank, last), from.rank);
    rewriting->tensors.at[to].declared = declared;
    int value = rewriting_read(&stage, tensor, at, IR_NONE);
    if (stage.nodes.at[value].type != DTYPE_F64)
        value = rewriting_node(&stage, IR_TO_FLOAT, DTYPE_F64, value, IR_NONE, IR_NONE);
    if (input >= 0)
        value = moved(&stage, reference, input,
                      element == IR_NONE ? rewriting_int(&stage, 0) : element, value);
    rewriting_finish(&stage, NULL, IR_NONE, to, reorder(rewriting->arena, at, from.rank, last),
                     value);
    return to;
}

/* ---- stages ---- */

/* A monoid of the user's says itself what it computes in: here that is f64. */
static const struct ir_monoid *widen_monoid(struct arena *arena, const struct ir_monoid *monoid)
{
    if (!monoid || monoid->kind != IR_USER)
        return monoid;
    struct ir_monoid *copy = arena_new(arena, struct ir_monoid);
    *copy = *monoid;
    copy->nodes.at = arena_array(arena, (size_t)monoid->nodes.count + 1, sizeof *copy->nodes.at);
    for (int i = 0; i < monoid->nodes.count; i++) {
        copy->nodes.at[i] = monoid->nodes.at[i];
        if (copy->nodes.at[i].type == DTYPE_F32 && copy->nodes.at[i].op != IR_CAST)
            copy->nodes.at[i].type = DTYPE_F64;
    }
    return copy;
}

static struct ir_nodes copy_nodes(const struct reference *reference, const struct ir_stage *stage)
{
    struct arena *arena = reference->rewriting.arena;
    bool user = stage->monoid && stage->monoid->kind == IR_USER;
    size_t room = (size_t)stage->nodes.count + (size_t)stage->write_count + 1;
    struct ir_nodes nodes = {arena_array(arena, room, sizeof *nodes.at), stage->nodes.count};
    for (int i = 0; i < nodes.count; i++) {
        struct ir_node *node = &nodes.at[i];
        *node = stage->nodes.at[i];
        if (node->op == IR_READ) {
            int tensor = node->read.tensor;
            node->read.tensor = reference->instead[tensor];
            node->read.at =
                reorder(arena, node->read.at, reference->rewriting.tensors.at[tensor].rank,
                        reference->last[tensor]);
            if (dtype_is_float(node->type))
                node->type =
                    dtype_compute(reference->rewriting.tensors.at[node->read.tensor].dtype);
        } else if (user && node->type == DTYPE_F32 && node->op != IR_CAST) {
            node->type = DTYPE_F64;
        }
    }
    return nodes;
}

static struct ir_stage copy_stage(const struct reference *reference, const struct ir_stage *stage)
{
    struct arena *arena = reference->rewriting.arena;
    struct ir_stage copy = *stage;
    if (stage->kind == IR_LOOP) {
        copy.body = arena_array(arena, (size_t)stage->body_count + 1, sizeof *copy.body);
        for (int i = 0; i < stage->body_count; i++)
            copy.body[i] = copy_stage(reference, &stage->body[i]);
        return copy;
    }
    struct ir_write *writes = arena_array(arena, (size_t)stage->write_count + 1, sizeof *writes);
    copy.nodes = copy_nodes(reference, stage);
    copy.monoid = widen_monoid(arena, stage->monoid);
    for (int w = 0; w < stage->write_count; w++) {
        writes[w] = stage->writes[w];
        if (copy.nodes.at[writes[w].value].type != DTYPE_F32)
            continue;
        copy.nodes.at[copy.nodes.count] = (struct ir_node){.op = IR_TO_FLOAT,
                                                           .type = DTYPE_F64,
                                                           .a = writes[w].value,
                                                           .b = IR_NONE,
                                                           .c = IR_NONE,
                                                           .place = stage->place};
        writes[w].value = copy.nodes.count++;
    }
    copy.writes = writes;
    if (stage->kind == IR_SCATTER && stage->from != IR_NONE)
        copy.from = reference->instead[stage->from];
    return copy;
}

/* ---- outputs that are read again ---- */

static bool writes_tensor(const struct ir_stage *stage, int tensor)
{
    for (int w = 0; w < stage->write_count; w++)
        if (stage->writes[w].tensor == tensor)
            return true;
    for (int i = 0; stage->kind == IR_LOOP && i < stage->body_count; i++)
        if (writes_tensor(&stage->body[i], tensor))
            return true;
    return false;
}

static bool reads_tensor(const struct ir_stage *stage, int tensor)
{
    for (int i = 0; stage->kind != IR_LOOP && i < stage->nodes.count; i++)
        if (stage->nodes.at[i].op == IR_READ && stage->nodes.at[i].read.tensor == tensor)
            return true;
    for (int i = 0; stage->kind == IR_LOOP && i < stage->carry_count; i++)
        if (stage->carries[i].next == tensor || stage->carries[i].state == tensor)
            return true;
    for (int i = 0; stage->kind == IR_LOOP && i < stage->body_count; i++)
        if (reads_tensor(&stage->body[i], tensor))
            return true;
    return stage->kind == IR_SCATTER && stage->from == tensor;
}

/* Whether a float output is read by a stage; *in_loop: by one that runs again and again. */
static bool is_read(const struct ir_part *part, int tensor, bool *in_loop)
{
    bool read = false;
    for (int i = 0; i < part->stage_count; i++)
        if (reads_tensor(&part->stages[i], tensor)) {
            read = true;
            *in_loop |= part->stages[i].kind == IR_LOOP;
        }
    return read;
}

/* ---- inputs that lie the other way ---- */

static bool is_scattered(const struct ir_stage *stage, int tensor)
{
    for (int i = 0; stage->kind == IR_LOOP && i < stage->body_count; i++)
        if (is_scattered(&stage->body[i], tensor))
            return true;
    return stage->kind == IR_SCATTER && stage->from == tensor;
}

/* The dimension in which neighbouring results of sums read it, where that is always the same one
 * and not the last; else IR_NONE. */
static int find_last(const struct ir_part *part, int tensor)
{
    int found = IR_NONE, rank = part->tensors[tensor].rank;
    for (int s = 0; s < part->stage_count; s++) {
        const struct ir_stage *stage = &part->stages[s];
        if (is_scattered(stage, tensor))
            return IR_NONE;
        if (stage->kind != IR_REDUCE || stage->left_count == 0)
            continue;
        int fastest = stage->indices[stage->left_count - 1];
        for (int i = 0; i < stage->nodes.count; i++) {
            const struct ir_node *node = &stage->nodes.at[i];
            for (int d = 0; node->op == IR_READ && node->read.tensor == tensor && d < rank; d++) {
                const struct ir_node *at = &stage->nodes.at[node->read.at[d]];
                if (at->op != IR_INDEX || at->index != fastest)
                    continue;
                if (found != IR_NONE && found != d)
                    return IR_NONE;
                found = d;
            }
        }
    }
    return found == rank - 1 ? IR_NONE : found;
}

/* ---- the whole ---- */

static void add_inputs(struct reference *reference)
{
    const struct ir_part *part = reference->rewriting.old;
    for (int i = 0; i < part->input_count; i++) {
        int input = part->inputs[i];
        if (!dtype_is_float(part->tensors[input].dtype))
            continue;
        reference->last[input] = find_last(part, input);
        reference->instead[input] = add_copy(reference, input, "wide", DTYPE_F64, false, i);
    }
}

/* `types`: of the outputs as they were. */
static void add_stages(struct reference *reference, const enum dtype *types, const bool *read)
{
    struct rewriting *rewriting = &reference->rewriting;
    const struct ir_part *part = rewriting->old;
    for (int i = 0; i < part->stage_count; i++) {
        struct ir_stage stage = copy_stage(reference, &part->stages[i]);
        vector_push(rewriting->arena, &rewriting->stages, stage);
        for (int o = 0; o < part->output_count; o++)
            if (read[o] && writes_tensor(&part->stages[i], part->outputs[o]))
                reference->instead[part->outputs[o]] =
                    add_copy(reference, part->outputs[o], "rounded", types[o], true, -1);
    }
}

bool ir_reference(struct arena *arena, const struct ir_program *program, struct ir_reference *out)
{
    const struct ir_part *root = ir_root(program);
    const struct ir_program *widened = widen_root(arena, program);
    if (!widened)
        return false;
    const struct ir_part *flat = ir_root(ir_flatten_wide(arena, widened));
    struct reference reference = {.rewriting = rewriting_new(arena, flat),
                                  .disturbance = root->scalar_count,
                                  .seed = root->scalar_count + 1};
    size_t outputs = (size_t)root->output_count + 1;
    enum dtype *types = arena_array(arena, outputs, sizeof *types);
    bool *read = arena_array(arena, outputs, sizeof *read), in_loop = false;
    for (int o = 0; o < root->output_count; o++) {
        types[o] = root->tensors[root->outputs[o]].dtype;
        read[o] = dtype_is_float(types[o]) && is_read(flat, flat->outputs[o], &in_loop);
    }
    if (in_loop)
        return false;
    reference.instead =
        arena_array(arena, (size_t)flat->tensor_count + 1, sizeof *reference.instead);
    reference.last = arena_array(arena, (size_t)flat->tensor_count + 1, sizeof *reference.last);
    for (int i = 0; i < flat->tensor_count; i++) {
        reference.instead[i] = i;
        reference.last[i] = IR_NONE;
    }
    add_inputs(&reference);
    add_stages(&reference, types, read);
    *out = (struct ir_reference){.program = rewriting_end(&reference.rewriting),
                                 .disturbance = reference.disturbance,
                                 .seed = reference.seed};
    return true;
}
