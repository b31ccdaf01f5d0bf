/*
 * A program as one part without calls: every call is written out where it stands, with the callee's
 * sizes and scalars replaced by what the caller gives, and its tensors named after what the call
 * defines ("h.m": the m of the call that defines h). It computes the same values to the last bit.
 *
 * A part that takes or gives an f64 is made wide on the way: no float in it is narrower, since a
 * constant such as sqrt(2), which by itself is f32, would spoil all that it meets.
 */
#include <string.h>

#include "ir/flatten.h"

/* ---- names ---- */

enum { FLAT_NAME = 60 }; /* longer ones lose what they begin with */

static const char *tensor_name(struct flat *flat, const struct flat_scope *scope, const char *name)
{
    const char *whole =
        scope->prefix ? arena_printf(flat->arena, "%s.%s", scope->prefix, name) : name;
    if (scope->prefix && strlen(whole) > FLAT_NAME)
        whole = name;
    const char *unique = whole;
    for (int i = 2; map_has(&flat->names, unique); i++)
        unique = arena_printf(flat->arena, "%s.%d", whole, i);
    map_set(&flat->names, unique, flat);
    return unique;
}

/* ---- sizes ---- */

const struct ir_size *flat_size(struct flat *flat, const struct flat_scope *scope,
                                const struct ir_size *size)
{
    if (!scope->call || size->op == IR_SIZE_CONSTANT)
        return size;
    if (size->op != IR_SIZE_SYMBOL) {
        const struct ir_size *a = flat_size(flat, scope, size->a);
        return ir_size_make(flat->arena, size->op, a, flat_size(flat, scope, size->b));
    }
    const struct ir_size **known = &scope->sizes[size->symbol];
    if (!*known) {
        const struct ir_symbol *symbol = &scope->part->symbols[size->symbol];
        *known = symbol->kind == IR_SYMBOL_LET
                     ? flat_size(flat, scope, symbol->definition)
                     : flat_size(flat, scope->caller, scope->call->sizes[size->symbol]);
    }
    return *known;
}

/* ---- tensors ---- */

static int add_tensor(struct flat *flat, const struct flat_scope *scope,
                      const struct ir_tensor *tensor)
{
    struct ir_tensor copy = *tensor;
    const struct ir_size **dims =
        arena_array(flat->arena, (size_t)tensor->rank + 1, sizeof(struct ir_size *));
    for (int i = 0; i < tensor->rank; i++)
        dims[i] = flat_size(flat, scope, tensor->dims[i]);
    copy.dims = dims;
    copy.name = tensor_name(flat, scope, tensor->name);
    if (tensor->bound)
        copy.bound = flat_size(flat, scope, tensor->bound);
    if (scope->call && (copy.role == IR_TENSOR_INPUT || copy.role == IR_TENSOR_OUTPUT)) {
        copy.role = IR_TENSOR_TEMPORARY;
        copy.properties = 0;
        copy.bound = NULL;
    }
    bool local = copy.role == IR_TENSOR_TEMPORARY || copy.role == IR_TENSOR_STATE;
    if (flat->wide && local && !copy.declared && copy.dtype == DTYPE_F32)
        copy.dtype = DTYPE_F64;
    vector_push(flat->arena, &flat->tensors, copy);
    return (int)flat->tensors.count - 1;
}

/* All that are not the caller's already. */
static void add_tensors(struct flat *flat, struct flat_scope *scope)
{
    for (int i = 0; i < scope->part->tensor_count; i++) {
        if (scope->tensors[i] == IR_NONE)
            scope->tensors[i] = add_tensor(flat, scope, &scope->part->tensors[i]);
    }
}

static void add_indices(struct flat *flat, struct flat_scope *scope)
{
    scope->first_index = (int)flat->indices.count;
    for (int i = 0; i < scope->part->index_count; i++) {
        struct ir_index copy = scope->part->indices[i];
        if (copy.extent)
            copy.extent = flat_size(flat, scope, copy.extent);
        vector_push(flat->arena, &flat->indices, copy);
    }
}

/* Facts of a callee hold wherever the program may be run; equal ones are said once. */
static void add_facts(struct flat *flat, const struct flat_scope *scope)
{
    for (int i = 0; i < scope->part->fact_count; i++) {
        struct ir_fact fact = scope->part->facts[i];
        struct text text = text_new(flat->arena);
        fact.a = flat_size(flat, scope, fact.a);
        fact.b = flat_size(flat, scope, fact.b);
        ir_size_print(&text, fact.a, flat->root);
        text_printf(&text, " %d ", (int)fact.relation);
        ir_size_print(&text, fact.b, flat->root);
        bool known = fact.a->op == IR_SIZE_CONSTANT && fact.b->op == IR_SIZE_CONSTANT;
        if (!map_set(&flat->facts_said, text.at, flat) && (!known || !scope->call))
            vector_push(flat->arena, &flat->facts, fact);
    }
}

/* ---- stages ---- */

static void flatten_stages(struct flat *flat, const struct flat_scope *scope,
                           const struct ir_stage *stages, int count, struct flat_stages *out);

static int *map_numbers(struct flat *flat, const int *numbers, int count, const int *map, int add)
{
    int *copy = arena_array(flat->arena, (size_t)count + 1, sizeof *copy);
    for (int i = 0; i < count; i++)
        copy[i] = map ? map[numbers[i]] : numbers[i] + add;
    return copy;
}

static const struct ir_write *map_writes(struct flat *flat, const struct flat_scope *scope,
                                         const struct ir_stage *stage, const int *nodes)
{
    struct ir_write *copy = arena_array(flat->arena, (size_t)stage->write_count + 1, sizeof *copy);
    for (int i = 0; i < stage->write_count; i++) {
        const struct ir_write *write = &stage->writes[i];
        int places = scope->part->tensors[write->tensor].rank - flat_ranked(stage->monoid);
        copy[i] = (struct ir_write){
            .tensor = scope->tensors[write->tensor],
            .at = map_numbers(flat, write->at, places, nodes, 0),
            .value = nodes[write->value],
        };
    }
    return copy;
}

static void flatten_computation(struct flat *flat, const struct flat_scope *scope,
                                const struct ir_stage *stage, struct flat_stages *out)
{
    struct ir_stage copy = *stage;
    int *nodes = flat_nodes(flat, scope, stage, &copy.nodes);
    copy.indices = map_numbers(flat, stage->indices, stage->index_count, NULL, scope->first_index);
    for (int i = 0; i < stage->index_count; i++) { /* ranges are told by nodes of the stage */
        struct ir_index *index = &flat->indices.at[copy.indices[i]];
        const struct ir_index *old = &scope->part->indices[stage->indices[i]];
        if (!old->extent) {
            index->low = nodes[old->low];
            index->high = nodes[old->high];
        }
    }
    copy.writes = map_writes(flat, scope, stage, nodes);
    copy.predicate = stage->predicate == IR_NONE ? IR_NONE : nodes[stage->predicate];
    if (stage->kind == IR_SCAN)
        copy.along += scope->first_index;
    if (stage->kind == IR_SCATTER && stage->from != IR_NONE)
        copy.from = scope->tensors[stage->from];
    vector_push(flat->arena, out, copy);
}

static void flatten_loop(struct flat *flat, const struct flat_scope *scope,
                         const struct ir_stage *stage, struct flat_stages *out)
{
    struct ir_stage copy = *stage;
    struct flat_stages body = {0};
    struct ir_carry *carries =
        arena_array(flat->arena, (size_t)stage->carry_count + 1, sizeof *carries);
    flatten_stages(flat, scope, stage->body, stage->body_count, &body);
    for (int i = 0; i < stage->carry_count; i++)
        carries[i] = (struct ir_carry){scope->tensors[stage->carries[i].state],
                                       scope->tensors[stage->carries[i].next]};
    copy.loop_index += scope->first_index;
    copy.body = body.at;
    copy.body_count = (int)body.count;
    copy.carries = carries;
    vector_push(flat->arena, out, copy);
}

/* ---- calls ---- */

/*
 * What the callee writes as its output rounds as the callee says. So the caller's tensor stands for
 * it if it rounds alike, or is a temporary that nobody gave a type; else it takes a copy.
 */
static bool takes_over(struct flat *flat, int tensor, const struct ir_tensor *there)
{
    struct ir_tensor *here = &flat->tensors.at[tensor];
    if (here->declared || here->role != IR_TENSOR_TEMPORARY)
        return here->declared == there->declared && here->dtype == there->dtype;
    if (!there->declared)
        return true;
    here->declared = true;
    here->dtype = there->dtype;
    return true;
}

static void copy_output(struct flat *flat, int from, int to, struct place place,
                        struct flat_stages *out)
{
    const struct ir_tensor *tensor = &flat->tensors.at[to];
    int rank = tensor->rank;
    struct ir_node *nodes = arena_array(flat->arena, (size_t)rank + 1, sizeof *nodes);
    int *indices = arena_array(flat->arena, (size_t)rank + 1, sizeof *indices);
    int *at = arena_array(flat->arena, (size_t)rank + 1, sizeof *at);
    struct ir_write *write = arena_new(flat->arena, struct ir_write);
    for (int i = 0; i < rank; i++) {
        at[i] = i;
        indices[i] = (int)flat->indices.count;
        struct ir_index index = {.name = arena_printf(flat->arena, "i%d", i),
                                 .extent = tensor->dims[i]};
        vector_push(flat->arena, &flat->indices, index);
        nodes[i] = (struct ir_node){.op = IR_INDEX,
                                    .type = DTYPE_I64,
                                    .a = IR_NONE,
                                    .b = IR_NONE,
                                    .c = IR_NONE,
                                    .index = indices[i],
                                    .place = place};
    }
    nodes[rank] = (struct ir_node){
        .op = IR_READ,
        .type = dtype_compute(flat->tensors.at[from].dtype),
        .a = IR_NONE,
        .b = IR_NONE,
        .c = IR_NONE,
        .read = {.tensor = from, .at = at, .guard = IR_NONE, .otherwise = IR_NONE, .proved = true},
        .place = place};
    *write = (struct ir_write){.tensor = to, .at = at, .value = rank};
    vector_push(flat->arena, out,
                (struct ir_stage){.kind = IR_MAP,
                                  .place = place,
                                  .indices = indices,
                                  .index_count = rank,
                                  .left_count = rank,
                                  .nodes = {nodes, rank + 1},
                                  .predicate = IR_NONE,
                                  .writes = write,
                                  .write_count = 1,
                                  .from = IR_NONE});
}

static struct flat_scope scope_new(struct flat *flat, const struct ir_part *part)
{
    struct flat_scope scope = {.part = part};
    scope.tensors = arena_array(flat->arena, (size_t)part->tensor_count + 1, sizeof *scope.tensors);
    for (int i = 0; i < part->tensor_count; i++)
        scope.tensors[i] = IR_NONE;
    return scope;
}

static void flatten_call(struct flat *flat, const struct flat_scope *caller,
                         const struct ir_stage *call, struct flat_stages *out)
{
    const struct ir_part *callee = call->callee;
    struct flat_scope scope = scope_new(flat, callee);
    scope.caller = caller;
    scope.call = call;
    scope.sizes = arena_array(flat->arena, (size_t)callee->symbol_count + 1, sizeof *scope.sizes);
    if (callee->output_count)
        scope.prefix = flat->tensors.at[caller->tensors[call->outputs[0]]].name;
    flat_scalars(flat, &scope);
    for (int i = 0; i < callee->input_count; i++)
        scope.tensors[callee->inputs[i]] = caller->tensors[call->inputs[i]];
    for (int i = 0; i < callee->output_count; i++) {
        int tensor = caller->tensors[call->outputs[i]];
        if (takes_over(flat, tensor, &callee->tensors[callee->outputs[i]]))
            scope.tensors[callee->outputs[i]] = tensor;
    }
    add_tensors(flat, &scope);
    add_indices(flat, &scope);
    add_facts(flat, &scope);
    flatten_stages(flat, &scope, callee->stages, callee->stage_count, out);
    for (int i = 0; i < callee->output_count; i++) {
        int to = caller->tensors[call->outputs[i]], from = scope.tensors[callee->outputs[i]];
        if (to != from)
            copy_output(flat, from, to, call->place, out);
    }
}

static void flatten_stages(struct flat *flat, const struct flat_scope *scope,
                           const struct ir_stage *stages, int count, struct flat_stages *out)
{
    for (int i = 0; i < count; i++) {
        switch (stages[i].kind) {
        case IR_CALL: flatten_call(flat, scope, &stages[i], out); break;
        case IR_LOOP: flatten_loop(flat, scope, &stages[i], out); break;
        default: flatten_computation(flat, scope, &stages[i], out); break;
        }
    }
}

/* ---- the whole ---- */

static bool is_wide(const struct ir_part *root)
{
    for (int i = 0; i < root->tensor_count; i++) {
        enum ir_tensor_role role = root->tensors[i].role;
        if ((role == IR_TENSOR_INPUT || role == IR_TENSOR_OUTPUT) &&
            root->tensors[i].dtype == DTYPE_F64)
            return true;
    }
    return false;
}

static struct ir_program *flatten(struct arena *arena, const struct ir_program *program, bool wide)
{
    const struct ir_part *root = ir_root(program);
    struct flat flat = {.arena = arena,
                        .root = root,
                        .wide = wide,
                        .names = map_new(arena),
                        .facts_said = map_new(arena)};
    struct flat_scope scope = scope_new(&flat, root);
    struct flat_stages stages = {0};
    add_tensors(&flat, &scope);
    add_indices(&flat, &scope);
    add_facts(&flat, &scope);
    flatten_stages(&flat, &scope, root->stages, root->stage_count, &stages);

    struct ir_part *part = arena_new(arena, struct ir_part);
    *part = *root;
    part->tensors = flat.tensors.at;
    part->tensor_count = (int)flat.tensors.count;
    part->indices = flat.indices.at;
    part->index_count = (int)flat.indices.count;
    part->facts = flat.facts.at;
    part->fact_count = (int)flat.facts.count;
    part->stages = stages.at;
    part->stage_count = (int)stages.count;
    struct ir_program *result = arena_new(arena, struct ir_program);
    const struct ir_part **parts = arena_array(arena, 1, sizeof *parts);
    parts[0] = part;
    *result = (struct ir_program){parts, 1};
    return result;
}

struct ir_program *ir_flatten(struct arena *arena, const struct ir_program *program)
{
    return flatten(arena, program, is_wide(ir_root(program)));
}

struct ir_program *ir_flatten_wide(struct arena *arena, const struct ir_program *program)
{
    return flatten(arena, program, true);
}
