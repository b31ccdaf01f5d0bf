/*
 * What rewrites share: parts and stages under construction, and values copied between stages.
 */
#include "ir/rewriting.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- parts ---- */

struct rewriting rewriting_new(struct arena *arena, const struct ir_part *part)
{
    struct rewriting rewriting = {.arena = arena, .old = part};
    for (int i = 0; i < part->tensor_count; i++)
        vector_push(arena, &rewriting.tensors, part->tensors[i]);
    for (int i = 0; i < part->index_count; i++)
        vector_push(arena, &rewriting.indices, part->indices[i]);
    for (int i = 0; i < part->zero_count; i++)
        vector_push(arena, &rewriting.zeros, part->zeros[i]);
    return rewriting;
}

void rewriting_keep(struct rewriting *rewriting, int from, int to)
{
    for (int i = from; i < to; i++)
        vector_push(rewriting->arena, &rewriting->stages, rewriting->old->stages[i]);
}

static bool name_taken(const struct rewriting *rewriting, const char *name)
{
    for (size_t i = 0; i < rewriting->tensors.count; i++) {
        if (strcmp(rewriting->tensors.at[i].name, name) == 0)
            return true;
    }
    return false;
}

int rewriting_tensor(struct rewriting *rewriting, const char *name, const char *suffix,
                     enum dtype dtype, const int *indices, int rank)
{
    struct arena *arena = rewriting->arena;
    const char *wanted = arena_printf(arena, "%s.%s", name, suffix), *unique = wanted;
    for (int i = 2; name_taken(rewriting, unique); i++)
        unique = arena_printf(arena, "%s%d", wanted, i);
    const struct ir_size **dims = arena_array(arena, (size_t)rank + 1, sizeof *dims);
    for (int i = 0; i < rank; i++)
        dims[i] = rewriting->indices.at[indices[i]].extent;
    struct ir_tensor tensor = {
        .name = unique, .role = IR_TENSOR_TEMPORARY, .dtype = dtype, .rank = rank, .dims = dims};
    vector_push(arena, &rewriting->tensors, tensor);
    return (int)rewriting->tensors.count - 1;
}

struct ir_stage rewriting_redirect(struct arena *arena, const struct ir_stage *stage,
                                   const int *instead)
{
    struct ir_stage copy = *stage;
    struct ir_write *writes = arena_array(arena, (size_t)stage->write_count + 1, sizeof *writes);
    copy.nodes.at = arena_array(arena, (size_t)stage->nodes.count + 1, sizeof *copy.nodes.at);
    for (int i = 0; i < copy.nodes.count; i++) {
        copy.nodes.at[i] = stage->nodes.at[i];
        if (stage->nodes.at[i].op == IR_READ)
            copy.nodes.at[i].read.tensor = instead[stage->nodes.at[i].read.tensor];
    }
    for (int i = 0; i < stage->write_count; i++) {
        writes[i] = stage->writes[i];
        writes[i].tensor = instead[stage->writes[i].tensor];
    }
    copy.writes = writes;
    if (stage->kind == IR_SCATTER && stage->from != IR_NONE)
        copy.from = instead[stage->from];
    if (stage->kind != IR_LOOP)
        return copy;
    struct ir_carry *carries = arena_array(arena, (size_t)stage->carry_count + 1, sizeof *carries);
    for (int i = 0; i < stage->carry_count; i++)
        carries[i] =
            (struct ir_carry){instead[stage->carries[i].state], instead[stage->carries[i].next]};
    copy.carries = carries;
    copy.body = arena_array(arena, (size_t)stage->body_count + 1, sizeof *copy.body);
    for (int i = 0; i < stage->body_count; i++)
        copy.body[i] = rewriting_redirect(arena, &stage->body[i], instead);
    return copy;
}

void rewriting_rely(struct rewriting *rewriting, const struct ir_size *zero)
{
    if (zero->op != IR_SIZE_CONSTANT || zero->value != 0)
        vector_push(rewriting->arena, &rewriting->zeros, zero);
}

static void mark_written(const struct ir_stage *stage, bool *written)
{
    for (int i = 0; i < stage->write_count; i++)
        written[stage->writes[i].tensor] = true;
    for (int i = 0; stage->kind == IR_LOOP && i < stage->body_count; i++)
        mark_written(&stage->body[i], written);
}

/* Leaves out temporaries without a writer; the new number of each tensor. NULL: there are none. */
static const int *drop_tensors(struct rewriting *rewriting)
{
    size_t count = rewriting->tensors.count, kept = 0;
    bool *written = arena_array(rewriting->arena, count + 1, sizeof *written);
    int *numbers = arena_array(rewriting->arena, count + 1, sizeof *numbers);
    for (size_t s = 0; s < rewriting->stages.count; s++)
        mark_written(&rewriting->stages.at[s], written);
    for (size_t t = 0; t < count; t++) {
        bool drop = rewriting->tensors.at[t].role == IR_TENSOR_TEMPORARY && !written[t];
        numbers[t] = drop ? IR_NONE : (int)kept;
        if (!drop)
            rewriting->tensors.at[kept++] = rewriting->tensors.at[t];
    }
    rewriting->tensors.count = kept;
    return kept == count ? NULL : numbers;
}

static const int *renumber(struct arena *arena, const int *tensors, int count, const int *numbers)
{
    int *copy = arena_array(arena, (size_t)count + 1, sizeof *copy);
    for (int i = 0; i < count; i++)
        copy[i] = numbers[tensors[i]];
    return copy;
}

struct ir_program *rewriting_end(struct rewriting *rewriting)
{
    struct arena *arena = rewriting->arena;
    struct ir_part *part = arena_new(arena, struct ir_part);
    struct ir_program *program = arena_new(arena, struct ir_program);
    const struct ir_part **parts = arena_array(arena, 1, sizeof *parts);
    const int *numbers = drop_tensors(rewriting);
    *part = *rewriting->old;
    if (numbers) {
        part->inputs = renumber(arena, part->inputs, part->input_count, numbers);
        part->outputs = renumber(arena, part->outputs, part->output_count, numbers);
        for (size_t s = 0; s < rewriting->stages.count; s++)
            rewriting->stages.at[s] = rewriting_redirect(arena, &rewriting->stages.at[s], numbers);
    }
    part->tensors = rewriting->tensors.at;
    part->tensor_count = (int)rewriting->tensors.count;
    part->indices = rewriting->indices.at;
    part->index_count = (int)rewriting->indices.count;
    part->stages = rewriting->stages.at;
    part->stage_count = (int)rewriting->stages.count;
    part->zeros = rewriting->zeros.at;
    part->zero_count = (int)rewriting->zeros.count;
    parts[0] = part;
    *program = (struct ir_program){parts, 1};
    return program;
}

/* ---- stages ---- */

struct rewriting_stage rewriting_stage_new(struct rewriting *rewriting, const struct ir_stage *old)
{
    return (struct rewriting_stage){.rewriting = rewriting, .place = old->place};
}

static int add_node(struct rewriting_stage *stage, struct ir_node node)
{
    node.place = stage->place;
    vector_push(stage->rewriting->arena, &stage->nodes, node);
    return (int)stage->nodes.count - 1;
}

int rewriting_node(struct rewriting_stage *stage, enum ir_op op, enum dtype type, int a, int b,
                   int c)
{
    return add_node(stage, (struct ir_node){.op = op, .type = type, .a = a, .b = b, .c = c});
}

static struct ir_node leaf(enum ir_op op)
{
    return (struct ir_node){.op = op, .type = DTYPE_I64, .a = IR_NONE, .b = IR_NONE, .c = IR_NONE};
}

int rewriting_index(struct rewriting_stage *stage, int like, bool left)
{
    struct rewriting *rewriting = stage->rewriting;
    struct ir_node node = leaf(IR_INDEX);
    node.index = (int)rewriting->indices.count;
    vector_push(rewriting->arena, &rewriting->indices, rewriting->indices.at[like]);
    vector_push(rewriting->arena, &stage->indices, node.index);
    stage->left_count += left;
    return add_node(stage, node);
}

int rewriting_cast(struct rewriting_stage *stage, enum dtype cast, int a)
{
    struct ir_node node = {.op = IR_CAST, .type = dtype_compute(cast), .a = a};
    node.b = node.c = IR_NONE;
    node.cast = cast;
    return add_node(stage, node);
}

int rewriting_int(struct rewriting_stage *stage, int64_t value)
{
    struct ir_node node = leaf(IR_INT);
    node.integer = value;
    return add_node(stage, node);
}

int rewriting_size(struct rewriting_stage *stage, const struct ir_size *size)
{
    struct ir_node node = leaf(IR_SIZE);
    node.size = size;
    return add_node(stage, node);
}

int rewriting_read(struct rewriting_stage *stage, int tensor, const int *at, int guard)
{
    const struct ir_tensor *of = &stage->rewriting->tensors.at[tensor];
    struct ir_node node = leaf(IR_READ);
    int *copy = arena_array(stage->rewriting->arena, (size_t)of->rank + 1, sizeof *copy);
    if (of->rank)
        memcpy(copy, at, (size_t)of->rank * sizeof *copy);
    node.type = dtype_compute(of->dtype);
    node.read.tensor = tensor;
    node.read.at = copy;
    node.read.guard = guard;
    node.read.otherwise = IR_NONE;
    node.read.checked = false;
    node.read.proved = true;
    return add_node(stage, node);
}

void rewriting_finish(struct rewriting_stage *stage, const struct ir_monoid *monoid, int predicate,
                      int tensor, const int *at, int value)
{
    struct rewriting *rewriting = stage->rewriting;
    struct ir_write *write = arena_new(rewriting->arena, struct ir_write);
    int rank = rewriting->tensors.at[tensor].rank;
    int *copy = arena_array(rewriting->arena, (size_t)rank + 1, sizeof *copy);
    if (rank)
        memcpy(copy, at, (size_t)rank * sizeof *copy);
    *write = (struct ir_write){.tensor = tensor, .at = copy, .value = value};
    vector_push(rewriting->arena, &rewriting->stages,
                (struct ir_stage){.kind = monoid ? IR_REDUCE : IR_MAP,
                                  .place = stage->place,
                                  .indices = stage->indices.at,
                                  .index_count = (int)stage->indices.count,
                                  .left_count = stage->left_count,
                                  .nodes = {stage->nodes.at, (int)stage->nodes.count},
                                  .predicate = predicate,
                                  .writes = write,
                                  .write_count = 1,
                                  .monoid = monoid,
                                  .from = IR_NONE});
}

const struct ir_size *rewriting_points(const struct rewriting *rewriting,
                                       const struct ir_stage *stage)
{
    const struct ir_size *points = ir_size_constant(rewriting->arena, 1);
    for (int i = stage->left_count; i < stage->index_count; i++)
        points = ir_size_make(rewriting->arena, IR_SIZE_MUL, points,
                              rewriting->old->indices[stage->indices[i]].extent);
    return points;
}

int rewriting_unless_empty(struct rewriting_stage *stage, const struct ir_stage *old, int value,
                           enum dtype type)
{
    const struct ir_size *points = rewriting_points(stage->rewriting, old);
    int some = rewriting_node(stage, IR_LT, DTYPE_BOOL, rewriting_int(stage, 0),
                              rewriting_size(stage, points), IR_NONE);
    int zero = rewriting_node(stage, IR_FLOAT, type, IR_NONE, IR_NONE, IR_NONE);
    return rewriting_node(stage, IR_SELECT, type, some, value, zero);
}

/* ---- copies ---- */

static int *numbers_new(struct arena *arena, int count)
{
    int *numbers = arena_array(arena, (size_t)count + 1, sizeof *numbers);
    for (int i = 0; i < count; i++)
        numbers[i] = IR_NONE;
    return numbers;
}

struct rewriting_source rewriting_source_new(struct rewriting *rewriting,
                                             const struct ir_stage *from)
{
    return (struct rewriting_source){
        .from = from,
        .indices = numbers_new(rewriting->arena, rewriting->old->index_count),
        .copied = numbers_new(rewriting->arena, from->nodes.count),
    };
}

int rewriting_copy(struct rewriting_stage *stage, struct rewriting_source *source, int number)
{
    if (number == IR_NONE || source->copied[number] != IR_NONE)
        return number == IR_NONE ? IR_NONE : source->copied[number];
    struct ir_node node = source->from->nodes.at[number];
    int arguments = ir_op_arguments(node.op);
    if (node.op == IR_INDEX && source->indices[node.index] != IR_NONE)
        return source->copied[number] = source->indices[node.index];
    if (arguments > 0)
        node.a = rewriting_copy(stage, source, node.a);
    if (arguments > 1)
        node.b = rewriting_copy(stage, source, node.b);
    if (arguments > 2)
        node.c = rewriting_copy(stage, source, node.c);
    if (node.op == IR_READ) {
        int rank = stage->rewriting->old->tensors[node.read.tensor].rank;
        int *at = arena_array(stage->rewriting->arena, (size_t)rank + 1, sizeof *at);
        for (int i = 0; i < rank; i++)
            at[i] = rewriting_copy(stage, source, node.read.at[i]);
        node.read.at = at;
        node.read.guard = rewriting_copy(stage, source, node.read.guard);
        node.read.otherwise = rewriting_copy(stage, source, node.read.otherwise);
    }
    return source->copied[number] = add_node(stage, node);
}

/* ---- questions ---- */

static bool is_among(const struct ir_stage *stage, int index, int from, int to)
{
    for (int i = from; i < to; i++) {
        if (stage->indices[i] == index)
            return true;
    }
    return false;
}

static bool node_depends(const struct ir_part *part, const struct ir_stage *stage,
                         const struct ir_node *node, const bool *depends, int from, int to)
{
    int arguments = ir_op_arguments(node->op);
    if (node->op == IR_INDEX)
        return is_among(stage, node->index, from, to);
    if (node->op == IR_READ) {
        for (int i = 0; i < part->tensors[node->read.tensor].rank; i++) {
            if (depends[node->read.at[i]])
                return true;
        }
        return (node->read.guard != IR_NONE && depends[node->read.guard]) ||
               (node->read.otherwise != IR_NONE && depends[node->read.otherwise]);
    }
    return (arguments > 0 && depends[node->a]) || (arguments > 1 && depends[node->b]) ||
           (arguments > 2 && depends[node->c]);
}

/* Arguments stand before, so one look at each node is enough. */
bool rewriting_depends(const struct ir_part *part, const struct ir_stage *stage, int number,
                       int from, int to)
{
    struct arena scratch = {0};
    if (number == IR_NONE)
        return false;
    bool *depends = arena_array(&scratch, (size_t)number + 1, sizeof *depends);
    for (int i = 0; i <= number; i++)
        depends[i] = node_depends(part, stage, &stage->nodes.at[i], depends, from, to);
    bool result = depends[number];
    arena_release(&scratch);
    return result;
}

bool rewriting_is_boxed(const struct ir_part *part, const struct ir_stage *stage)
{
    for (int i = 0; i < stage->index_count; i++) {
        if (!part->indices[stage->indices[i]].extent)
            return false;
    }
    return true;
}

bool rewriting_is_plain(const struct ir_part *part, const struct ir_stage *stage)
{
    if (stage->write_count != 1 || part->tensors[stage->writes[0].tensor].rank != stage->left_count)
        return false;
    for (int i = 0; i < stage->left_count; i++) {
        const struct ir_node *node = &stage->nodes.at[stage->writes[0].at[i]];
        if (node->op != IR_INDEX || node->index != stage->indices[i])
            return false;
    }
    return true;
}

bool rewriting_refuse(struct ir_reason *why_not, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why_not->text, sizeof why_not->text, format, arguments);
    va_end(arguments);
    return false;
}

static bool add_factors(const struct ir_stage *stage, int number, bool divides,
                        struct rewriting_product *product)
{
    const struct ir_node *node = &stage->nodes.at[number];
    switch (node->op) {
    case IR_MUL:
        return add_factors(stage, node->a, divides, product) &&
               add_factors(stage, node->b, divides, product);
    case IR_DIV:
        return add_factors(stage, node->a, divides, product) &&
               add_factors(stage, node->b, !divides, product);
    case IR_NEG:
        product->negative = !product->negative;
        return add_factors(stage, node->a, divides, product);
    default: break;
    }
    if (product->count == REWRITING_FACTORS)
        return false;
    product->factors[product->count++] = (struct rewriting_factor){number, divides};
    return true;
}

bool rewriting_factors(const struct ir_stage *stage, int node, struct rewriting_product *product)
{
    *product = (struct rewriting_product){0};
    return add_factors(stage, node, false, product);
}
