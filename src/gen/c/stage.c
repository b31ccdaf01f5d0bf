/*
 * Stages as loops: maps, scatters, calls, loops over stages; and what all kinds share. Reductions
 * and scans are in reduce.c.
 */
#include <string.h>

#include "gen/c/emit.h"

/* ---- what all kinds share ---- */

size_t emit_stage_start(struct emitter *emitter, const struct ir_stage *stage)
{
    size_t mark = emitter->names.stack.count;
    emit_place_start(emitter, &stage->nodes, stage->index_count);
    return mark;
}

void emit_stage_open(struct emitter *emitter, const struct ir_stage *stage)
{
    emitter->comment = emit_notation(emitter, stage);
    for (int i = 0; i < emitter->given; i++)
        emitter->given_names[i] = emitter->indices[emitter->loops[i].index];
    emit_place_write(emitter, 0);
}

void emit_stage_end(struct emitter *emitter, size_t mark)
{
    for (int i = 0; i < emitter->loop_count; i++)
        emitter->indices[emitter->loops[i].index] = NULL;
    emit_names_free(&emitter->names, mark);
}

static void loop_open(struct emitter *emitter, const struct loop_plan *loop)
{
    const struct ir_index *index = &emitter->part->indices[loop->index];
    const char *name = emitter->indices[loop->index];
    struct expression low = emit_integer(emitter, 0), high;
    if (index->extent) {
        high = emit_size(emitter, index->extent);
    } else {
        low = emit_node(emitter, index->low);
        high = emit_node(emitter, index->high);
    }
    if (loop->reverse)
        emit_open(emitter, "for (int64_t %s = %s - 1; %s >= %s; %s--)", name,
                  emit_within(emitter, high, BINDS_SUM), name, emit_within(emitter, low, BINDS_SUM),
                  name);
    else
        emit_open(emitter, "for (int64_t %s = %s; %s < %s; %s++)", name, low.text, name,
                  emit_within(emitter, high, BINDS_SUM), name);
}

void emit_nest_open(struct emitter *emitter, int from, int to)
{
    for (int i = from; i < to; i++) {
        if (i >= emitter->given)
            loop_open(emitter, &emitter->loops[i]);
        emit_place_write(emitter, i + 1);
        if (emitter->predicate != IR_NONE && emitter->predicate_at == i + 1) {
            emit_line(emitter, "if (!(%s))", emit_text(emitter, emitter->predicate));
            emit_line(emitter, "    continue;");
        }
    }
}

void emit_nest_close(struct emitter *emitter, int from, int to)
{
    for (int i = from; i < to; i++)
        if (i >= emitter->given)
            emit_close(emitter);
}

/* ---- stores ---- */

/* Reference: outputs of the root may be wanted as they were computed. */
static bool exact_matters(const struct emitter *emitter, int tensor)
{
    const struct ir_tensor *info = &emitter->part->tensors[tensor];
    return emitter->form == GEN_REFERENCE && emitter->root && info->role == IR_TENSOR_OUTPUT &&
           info->declared && emit_rounding(info->dtype);
}

static const char *kept(struct emitter *emitter, int tensor, const char *value, enum dtype of)
{
    const struct ir_tensor *info = &emitter->part->tensors[tensor];
    return info->declared ? emit_keep(emitter, info->dtype, value, of) : value;
}

void emit_store(struct emitter *emitter, int tensor, const char *offset, const char *value,
                enum dtype of)
{
    const struct tensor_plan *plan = &emitter->tensors[tensor];
    if (emitter->points) {
        emit_put(emitter, tensor, offset, value, of);
        return;
    }
    if (!exact_matters(emitter, tensor)) {
        emit_line(emitter, "%s[%s] = %s;", plan->name, offset, kept(emitter, tensor, value, of));
        return;
    }
    const char *whole = emit_name(&emitter->names, "value");
    const char *rounded = kept(emitter, tensor, whole, of);
    emit_line(emitter, "const double %s = %s;", whole, value);
    emit_line(emitter, "%s[%s] = exact ? %s : %s;", plan->name, offset, whole, rounded);
    if (plan->reader != plan->name)
        emit_line(emitter, "%s[%s] = %s;", plan->reader, offset, rounded);
}

void emit_store_all(struct emitter *emitter, int tensor)
{
    const char *name = emitter->tensors[tensor].name;
    enum dtype of = dtype_compute(emitter->part->tensors[tensor].dtype);
    if (kept(emitter, tensor, name, of) == name)
        return;
    emit_open(emitter, "for (int64_t rank = 0; rank < %s; rank++)", emit_count(emitter, tensor));
    emit_store(emitter, tensor, "rank", arena_printf(emitter->arena, "%s[rank]", name), of);
    emit_close(emitter);
}

/* Copies all elements, from what is kept as one type to what is kept as another. */
static void copy_all(struct emitter *emitter, const char *to, enum dtype to_type, const char *from,
                     enum dtype from_type, const char *count)
{
    const char *element = arena_printf(emitter->arena, "%s[rank]", from);
    const char *value = element;
    if (to_type != from_type)
        value = emit_keep(emitter, to_type, emit_load(emitter, from_type, element).text,
                          dtype_compute(from_type));
    emit_open(emitter, "for (int64_t rank = 0; rank < %s; rank++)", count);
    emit_line(emitter, "%s[rank] = %s;", to, value);
    emit_close(emitter);
}

/* ---- map ---- */

void emit_map(struct emitter *emitter, const struct ir_stage *stage)
{
    size_t mark = emit_stage_start(emitter, stage);
    for (int i = 0; i < stage->index_count; i++)
        emit_place_loop(emitter, stage->indices[i], false);
    for (int i = 0; i < stage->write_count; i++) {
        const struct ir_write *write = &stage->writes[i];
        emit_place_use(emitter, write->value, emitter->loop_count, 1);
        for (int d = 0; d < emitter->part->tensors[write->tensor].rank; d++)
            emit_place_use(emitter, write->at[d], emitter->loop_count, 1);
    }
    emit_place_finish(emitter);
    emit_stage_open(emitter, stage);
    emit_nest_open(emitter, 0, emitter->loop_count);
    for (int i = 0; i < stage->write_count; i++) {
        const struct ir_write *write = &stage->writes[i];
        int rank = emitter->part->tensors[write->tensor].rank;
        emit_store(emitter, write->tensor,
                   emit_offset(emitter, write->tensor, write->at, rank).text,
                   emit_text(emitter, write->value), emitter->nodes->at[write->value].type);
    }
    emit_nest_close(emitter, 0, emitter->loop_count);
    emit_stage_end(emitter, mark);
}

/* ---- scatter ---- */

/*
 * Where values are combined: in the target itself, unless it would round what is not yet whole.
 * Then a plain kernel does so in a buffer.
 */
static const char *scatter_target(struct emitter *emitter, const struct ir_stage *stage,
                                  int component)
{
    int tensor = stage->writes[component].tensor;
    const char *name = emitter->tensors[tensor].name;
    const char *type = emit_type(emitter, emitter->nodes->at[stage->writes[component].value].type);
    if (emitter->form == GEN_REFERENCE || stage->assign ||
        strcmp(type, emit_element(emitter, emitter->part->tensors[tensor].dtype)) == 0)
        return name;
    return emit_scratch_like(emitter, tensor, false, type,
                             arena_printf(emitter->arena, "%s_so_far", name));
}

static void scatter_start(struct emitter *emitter, const struct ir_stage *stage, int component,
                          const char *target)
{
    int tensor = stage->writes[component].tensor;
    bool buffered = target != emitter->tensors[tensor].name;
    const char *count = emit_count(emitter, tensor);
    enum dtype type = emitter->nodes->at[stage->writes[component].value].type;
    if (stage->from != IR_NONE && component == 0) {
        enum dtype kept_as = buffered ? type : emitter->part->tensors[tensor].dtype;
        enum dtype from = emitter->part->tensors[stage->from].dtype;
        if (emitter->form == GEN_REFERENCE)
            kept_as = from; /* rounded at the end, if at all */
        copy_all(emitter, target, kept_as, emitter->tensors[stage->from].reader, from, count);
        return;
    }
    const char *unit = stage->monoid ? emit_monoid_unit(emitter, stage->monoid, component, type)
                                     : emit_zero(emitter, type);
    if (stage->assign && emitter->form == GEN_PLAIN)
        unit = kept(emitter, tensor, unit, type);
    emit_open(emitter, "for (int64_t rank = 0; rank < %s; rank++)", count);
    emit_line(emitter, "%s[rank] = %s;", target, unit);
    emit_close(emitter);
}

/* What comes out of a tensor may be no index at all: then the run ends with that answer. */
static void scatter_check(struct emitter *emitter, const struct ir_write *write)
{
    for (int d = 0; d < emitter->part->tensors[write->tensor].rank; d++) {
        if (!emitter->plans[write->at[d]].data)
            continue;
        emit_open(emitter, "if ((uint64_t)%s >= (uint64_t)%s)",
                  emit_within(emitter, emit_node(emitter, write->at[d]), BINDS_UNARY),
                  emitter->tensors[write->tensor].dims[d]);
        emit_line(emitter, "return%s;", emitter->dialect ? "" : " OUTSIDE");
        emitter->fails = true;
        emit_close(emitter);
    }
}

static void scatter_point(struct emitter *emitter, const struct ir_stage *stage,
                          const char *const *targets)
{
    size_t count = (size_t)stage->write_count;
    const char **left = arena_array(emitter->arena, count, sizeof *left);
    const char **right = arena_array(emitter->arena, count, sizeof *right);
    enum dtype *types = arena_array(emitter->arena, count, sizeof *types);
    for (size_t i = 0; i < count; i++) {
        const struct ir_write *write = &stage->writes[i];
        scatter_check(emitter, write);
        int rank = emitter->part->tensors[write->tensor].rank;
        left[i] = arena_printf(emitter->arena, "%s[%s]", targets[i],
                               emit_offset(emitter, write->tensor, write->at, rank).text);
        right[i] = emit_text(emitter, write->value);
        types[i] = emitter->nodes->at[write->value].type;
    }
    if (!stage->assign) {
        emit_monoid_combine(emitter, stage->monoid, left, right, types);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        int tensor = stage->writes[i].tensor;
        bool rounds = emitter->form == GEN_PLAIN; /* the reference rounds all at the end */
        emit_line(emitter, "%s = %s;", left[i],
                  rounds ? kept(emitter, tensor, right[i], types[i]) : right[i]);
    }
}

/* Takes what was combined into the target, rounded once. */
static void scatter_finish(struct emitter *emitter, const struct ir_stage *stage, int component,
                           const char *target)
{
    int tensor = stage->writes[component].tensor;
    if (emitter->form == GEN_REFERENCE)
        emit_store_all(emitter, tensor);
    else if (target != emitter->tensors[tensor].name)
        copy_all(emitter, emitter->tensors[tensor].name, emitter->part->tensors[tensor].dtype,
                 target, emitter->nodes->at[stage->writes[component].value].type,
                 emit_count(emitter, tensor));
}

void emit_scatter(struct emitter *emitter, const struct ir_stage *stage)
{
    size_t mark = emit_stage_start(emitter, stage);
    for (int i = 0; i < stage->index_count; i++)
        emit_place_loop(emitter, stage->indices[i], false);
    int depth = emitter->loop_count;
    int mentions = stage->assign || !stage->monoid ? 1 : emit_monoid_mentions(stage->monoid);
    for (int i = 0; i < stage->write_count; i++) {
        const struct ir_write *write = &stage->writes[i];
        emit_place_use(emitter, write->value, depth, mentions);
        for (int d = 0; d < emitter->part->tensors[write->tensor].rank; d++)
            emit_place_use(emitter, write->at[d], depth, 2);
    }
    emit_place_use(emitter, stage->predicate, depth, 1);
    emit_place_finish(emitter);
    emit_stage_open(emitter, stage);
    const char **targets = arena_array(emitter->arena, (size_t)stage->write_count, sizeof *targets);
    for (int i = 0; i < stage->write_count; i++) {
        targets[i] = scatter_target(emitter, stage, i);
        scatter_start(emitter, stage, i, targets[i]);
    }
    emitter->predicate = stage->predicate;
    if (stage->predicate != IR_NONE && depth > 0) {
        int known = emitter->plans[stage->predicate].depth;
        emitter->predicate_at = known > 0 ? known : 1;
    }
    emit_nest_open(emitter, 0, depth);
    bool wrapped = stage->predicate != IR_NONE && depth == 0;
    if (wrapped)
        emit_open(emitter, "if (%s)", emit_text(emitter, stage->predicate));
    scatter_point(emitter, stage, targets);
    if (wrapped)
        emit_close(emitter);
    emit_nest_close(emitter, 0, depth);
    for (int i = 0; i < stage->write_count; i++)
        scatter_finish(emitter, stage, i, targets[i]);
    emit_stage_end(emitter, mark);
}

/* ---- call ---- */

/*
 * The tensor as the callee keeps it: this part's own, or a copy where the callee has another type.
 * (An undeclared temporary fits any float type.)
 */
static const char *call_tensor(struct emitter *emitter, int tensor, const struct ir_tensor *there,
                               const char *name)
{
    enum dtype here = emitter->part->tensors[tensor].dtype;
    const char *type = emit_element(emitter, there->dtype);
    if (emitter->form == GEN_REFERENCE || here == there->dtype)
        return name;
    return emit_scratch_like(
        emitter, tensor, false, type,
        arena_printf(emitter->arena, "%s_as_%s", name, dtype_name(there->dtype)));
}

static void call_emit(struct emitter *emitter, const struct ir_stage *stage,
                      const char *const *inputs, const char *const *outputs)
{
    const struct ir_part *callee = stage->callee;
    const struct part_plan *plan = emit_part_plan(emitter, callee);
    size_t most = (size_t)callee->symbol_count + (size_t)callee->scalar_count +
                  (size_t)callee->input_count + (size_t)callee->output_count;
    const char **items = arena_array(emitter->arena, most + 2, sizeof *items);
    int count = 0;
    for (int i = 0; i < callee->symbol_count; i++) {
        if (callee->symbols[i].kind != IR_SYMBOL_LET)
            items[count++] = emit_size(emitter, stage->sizes[i]).text;
    }
    for (int i = 0; i < callee->scalar_count; i++)
        items[count++] = emit_text(emitter, stage->scalars[i]);
    for (int i = 0; i < callee->input_count; i++)
        items[count++] = inputs[i];
    for (int i = 0; i < callee->output_count; i++)
        items[count++] = outputs[i];
    if (plan->scratch)
        items[count++] = "scratch";
    emit_invocation(emitter, plan->name, items, count, plan->fails);
}

/* The callee rounds as its own outputs ask; more is to do only where this part's tensor differs. */
static void call_store(struct emitter *emitter, const struct ir_stage *stage, int output,
                       const char *from)
{
    int tensor = stage->outputs[output];
    const struct ir_tensor *here = &emitter->part->tensors[tensor];
    const struct ir_tensor *there = &stage->callee->tensors[stage->callee->outputs[output]];
    const struct tensor_plan *plan = &emitter->tensors[tensor];
    if (from != plan->name)
        copy_all(emitter, plan->name, here->dtype, from, there->dtype, emit_count(emitter, tensor));
    else if (emitter->form == GEN_REFERENCE &&
             (plan->reader != plan->name || !there->declared || here->dtype != there->dtype))
        emit_store_all(emitter, tensor);
}

static void emit_call(struct emitter *emitter, const struct ir_stage *stage)
{
    size_t mark = emit_stage_start(emitter, stage);
    for (int i = 0; i < stage->callee->scalar_count; i++)
        emit_place_use(emitter, stage->scalars[i], 0, 1);
    emit_place_finish(emitter);
    bool braces = emit_place_has(emitter, 0);
    if (braces)
        emit_block(emitter);
    emit_place_write(emitter, 0);
    const struct ir_part *callee = stage->callee;
    const char **inputs =
        arena_array(emitter->arena, (size_t)callee->input_count + 1, sizeof *inputs);
    const char **outputs =
        arena_array(emitter->arena, (size_t)callee->output_count + 1, sizeof *outputs);
    for (int i = 0; i < callee->input_count; i++) {
        const struct ir_tensor *there = &callee->tensors[callee->inputs[i]];
        int tensor = stage->inputs[i];
        const char *name = emitter->tensors[tensor].reader;
        inputs[i] = call_tensor(emitter, tensor, there, name);
        if (inputs[i] != name)
            copy_all(emitter, inputs[i], there->dtype, name, emitter->part->tensors[tensor].dtype,
                     emit_count(emitter, tensor));
    }
    for (int i = 0; i < callee->output_count; i++)
        outputs[i] = call_tensor(emitter, stage->outputs[i], &callee->tensors[callee->outputs[i]],
                                 emitter->tensors[stage->outputs[i]].name);
    call_emit(emitter, stage, inputs, outputs);
    for (int i = 0; i < callee->output_count; i++)
        call_store(emitter, stage, i, outputs[i]);
    if (braces)
        emit_close(emitter);
    emit_stage_end(emitter, mark);
}

/* ---- loop ---- */

/* All carries happen at once, so a state that another one takes must be read before it changes. */
bool emit_carry_needs_copy(const struct ir_stage *stage, int carry)
{
    for (int i = 0; i < carry; i++) {
        if (stage->carries[i].state == stage->carries[carry].next)
            return true;
    }
    return false;
}

static void carry_copy(struct emitter *emitter, const char *to, const char *from, int tensor)
{
    enum dtype type = emitter->part->tensors[tensor].dtype;
    const char *size = emitter->form == GEN_REFERENCE ? "8"
                                                      : arena_printf(emitter->arena, "sizeof(%s)",
                                                                     emit_element(emitter, type));
    emit_line(emitter, "memcpy(%s, %s, %s * (size_t)(%s));", to, from, size,
              emit_count(emitter, tensor));
}

static void emit_carry(struct emitter *emitter, const struct ir_carry *carry, const char *from)
{
    const struct ir_tensor *state = &emitter->part->tensors[carry->state];
    const struct ir_tensor *next = &emitter->part->tensors[carry->next];
    const char *name = emitter->tensors[carry->state].name;
    bool same = emitter->form == GEN_PLAIN
                    ? next->dtype == state->dtype
                    : !state->declared || (next->declared && next->dtype == state->dtype);
    if (carry->state == carry->next)
        return;
    if (same) {
        carry_copy(emitter, name, from, carry->state);
        return;
    }
    if (emitter->form == GEN_PLAIN) {
        copy_all(emitter, name, state->dtype, from, next->dtype, emit_count(emitter, carry->state));
        return;
    }
    emit_open(emitter, "for (int64_t rank = 0; rank < %s; rank++)",
              emit_count(emitter, carry->state));
    emit_store(emitter, carry->state, "rank", arena_printf(emitter->arena, "%s[rank]", from),
               dtype_compute(next->dtype));
    emit_close(emitter);
}

/* A copy of what is carried, made before it changes. */
static const char *carry_keep(struct emitter *emitter, int next, const char *from)
{
    const char *wanted = arena_printf(emitter->arena, "%s_before", from);
    const char *type = emit_element(emitter, emitter->part->tensors[next].dtype);
    const char *copy;
    if (emitter->form == GEN_PLAIN) {
        copy = emit_scratch_like(emitter, next, false, type, wanted);
    } else {
        copy = emit_name(&emitter->names, wanted);
        emit_line(emitter, "%s *%s = tensor_alloc(%s, &status);", type, copy,
                  emit_count(emitter, next));
        emit_line(emitter, "if (!%s)", copy);
        emit_line(emitter, "    goto finish;");
    }
    carry_copy(emitter, copy, from, next);
    return copy;
}

static void emit_carries(struct emitter *emitter, const struct ir_stage *stage)
{
    const char **from = arena_array(emitter->arena, (size_t)stage->carry_count + 1, sizeof *from);
    for (int i = 0; i < stage->carry_count; i++) {
        int next = stage->carries[i].next;
        from[i] = emitter->tensors[next].reader;
        if (emit_carry_needs_copy(stage, i))
            from[i] = carry_keep(emitter, next, from[i]);
    }
    for (int i = 0; i < stage->carry_count; i++) {
        emit_carry(emitter, &stage->carries[i], from[i]);
        if (emit_carry_needs_copy(stage, i) && emitter->form == GEN_REFERENCE)
            emit_line(emitter, "free(%s);", from[i]);
    }
}

static void emit_loop(struct emitter *emitter, const struct ir_stage *stage)
{
    static const struct ir_nodes NOTHING;
    size_t mark = emitter->names.stack.count;
    emit_place_start(emitter, &NOTHING, 1);
    emit_place_loop(emitter, stage->loop_index, stage->reverse);
    emit_blank(emitter);
    emit_variable(emitter, emitter->indices[stage->loop_index], "int64_t", IR_NONE, false);
    loop_open(emitter, &emitter->loops[0]);
    emit_stages(emitter, stage->body, stage->body_count);
    if (stage->carry_count > 0)
        emit_blank(emitter);
    emit_carries(emitter, stage);
    emit_close(emitter);
    emit_variable_end(emitter, emitter->indices[stage->loop_index]);
    emitter->indices[stage->loop_index] = NULL;
    emit_names_free(&emitter->names, mark);
}

void emit_stages(struct emitter *emitter, const struct ir_stage *stages, int count)
{
    for (int i = 0; i < count; i++) {
        switch (stages[i].kind) {
        case IR_MAP: emit_function(emitter, &stages[i], emit_map); break;
        case IR_REDUCE: emit_function(emitter, &stages[i], emit_reduce); break;
        case IR_SCAN: emit_function(emitter, &stages[i], emit_scan); break;
        case IR_SCATTER: emit_function(emitter, &stages[i], emit_scatter); break;
        case IR_CALL: emit_call(emitter, &stages[i]); break;
        case IR_LOOP: emit_loop(emitter, &stages[i]); break;
        }
    }
}
