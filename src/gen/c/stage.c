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
        emit_close(emitter);
}

/* ---- stores ---- */

/* The value as the tensor keeps it: NULL when it is kept as it is. */
static const char *rounded(struct emitter *emitter, int tensor, const char *value)
{
    const struct ir_tensor *info = &emitter->part->tensors[tensor];
    if (!info->declared)
        return NULL;
    const char *rounding = emit_rounding(info->dtype);
    if (rounding)
        return arena_printf(emitter->arena, "%s(%s)", rounding, value);
    const char *wrapping = emit_wrapping(info->dtype);
    if (wrapping)
        return arena_printf(emitter->arena, "(%s)(%s)", wrapping, value);
    return NULL;
}

static bool exact_matters(const struct emitter *emitter, int tensor)
{
    const struct ir_tensor *info = &emitter->part->tensors[tensor];
    return emitter->root && info->role == IR_TENSOR_OUTPUT && info->declared &&
           emit_rounding(info->dtype);
}

void emit_store(struct emitter *emitter, int tensor, const char *offset, const char *value)
{
    const struct tensor_plan *plan = &emitter->tensors[tensor];
    const char *kept = rounded(emitter, tensor, value);
    if (!exact_matters(emitter, tensor)) {
        emit_line(emitter, "%s[%s] = %s;", plan->name, offset, kept ? kept : value);
        return;
    }
    const char *whole = emit_name(&emitter->names, "value");
    emit_line(emitter, "const double %s = %s;", whole, value);
    kept = rounded(emitter, tensor, whole);
    emit_line(emitter, "%s[%s] = exact ? %s : %s;", plan->name, offset, whole, kept);
    if (plan->reader != plan->name)
        emit_line(emitter, "%s[%s] = %s;", plan->reader, offset, kept);
}

void emit_store_all(struct emitter *emitter, int tensor)
{
    const char *name = emitter->tensors[tensor].name;
    if (!rounded(emitter, tensor, name))
        return;
    emit_open(emitter, "for (int64_t rank = 0; rank < %s; rank++)", emit_count(emitter, tensor));
    emit_store(emitter, tensor, "rank", arena_printf(emitter->arena, "%s[rank]", name));
    emit_close(emitter);
}

/* ---- map ---- */

static void emit_map(struct emitter *emitter, const struct ir_stage *stage)
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
                   emit_text(emitter, write->value));
    }
    emit_nest_close(emitter, 0, emitter->loop_count);
    emit_stage_end(emitter, mark);
}

/* ---- scatter ---- */

static void scatter_start(struct emitter *emitter, const struct ir_stage *stage, int component)
{
    int tensor = stage->writes[component].tensor;
    const char *name = emitter->tensors[tensor].name;
    const char *count = emit_count(emitter, tensor);
    enum dtype type = emitter->nodes->at[stage->writes[component].value].type;
    if (stage->from != IR_NONE && component == 0) {
        emit_open(emitter, "for (int64_t rank = 0; rank < %s; rank++)", count);
        emit_line(emitter, "%s[rank] = %s[rank];", name, emitter->tensors[stage->from].reader);
    } else {
        const char *unit =
            stage->monoid ? emit_monoid_unit(emitter, stage->monoid, component, type) : "0";
        emit_open(emitter, "for (int64_t rank = 0; rank < %s; rank++)", count);
        emit_line(emitter, "%s[rank] = %s;", name, unit);
    }
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
        emit_line(emitter, "return OUTSIDE;");
        emitter->fails = true;
        emit_close(emitter);
    }
}

static void scatter_point(struct emitter *emitter, const struct ir_stage *stage)
{
    size_t count = (size_t)stage->write_count;
    const char **left = arena_array(emitter->arena, count, sizeof *left);
    const char **right = arena_array(emitter->arena, count, sizeof *right);
    enum dtype *types = arena_array(emitter->arena, count, sizeof *types);
    for (size_t i = 0; i < count; i++) {
        const struct ir_write *write = &stage->writes[i];
        scatter_check(emitter, write);
        int rank = emitter->part->tensors[write->tensor].rank;
        left[i] = arena_printf(emitter->arena, "%s[%s]", emitter->tensors[write->tensor].name,
                               emit_offset(emitter, write->tensor, write->at, rank).text);
        right[i] = emit_text(emitter, write->value);
        types[i] = emitter->nodes->at[write->value].type;
    }
    if (!stage->assign) {
        emit_monoid_combine(emitter, stage->monoid, left, right, types);
        return;
    }
    for (size_t i = 0; i < count; i++)
        emit_line(emitter, "%s = %s;", left[i], right[i]);
}

static void emit_scatter(struct emitter *emitter, const struct ir_stage *stage)
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
    for (int i = 0; i < stage->write_count; i++)
        scatter_start(emitter, stage, i);
    emitter->predicate = stage->predicate;
    if (stage->predicate != IR_NONE && depth > 0) {
        int known = emitter->plans[stage->predicate].depth;
        emitter->predicate_at = known > 0 ? known : 1;
    }
    emit_nest_open(emitter, 0, depth);
    bool wrapped = stage->predicate != IR_NONE && depth == 0;
    if (wrapped)
        emit_open(emitter, "if (%s)", emit_text(emitter, stage->predicate));
    scatter_point(emitter, stage);
    if (wrapped)
        emit_close(emitter);
    emit_nest_close(emitter, 0, depth);
    for (int i = 0; i < stage->write_count; i++)
        emit_store_all(emitter, stage->writes[i].tensor);
    emit_stage_end(emitter, mark);
}

/* ---- call ---- */

static void call_emit(struct emitter *emitter, const struct ir_stage *stage)
{
    const struct ir_part *callee = stage->callee;
    size_t most = (size_t)callee->symbol_count + (size_t)callee->scalar_count +
                  (size_t)callee->input_count + (size_t)callee->output_count;
    const char **items = arena_array(emitter->arena, most + 1, sizeof *items);
    int count = 0;
    for (int i = 0; i < callee->symbol_count; i++) {
        if (callee->symbols[i].kind != IR_SYMBOL_LET)
            items[count++] = emit_size(emitter, stage->sizes[i]).text;
    }
    for (int i = 0; i < callee->scalar_count; i++)
        items[count++] = emit_text(emitter, stage->scalars[i]);
    for (int i = 0; i < callee->input_count; i++)
        items[count++] = emitter->tensors[stage->inputs[i]].reader;
    for (int i = 0; i < callee->output_count; i++)
        items[count++] = emitter->tensors[stage->outputs[i]].name;
    const char *name = map_get_bytes(&emitter->parts, &callee, sizeof callee);
    emit_list(emitter, arena_printf(emitter->arena, "status = %s", name), items, count, ";");
    emit_line(emitter, "if (status != DONE)");
    emit_line(emitter, "    goto finish;");
}

/* The callee rounds as its own outputs ask; more is to do only where this part's tensor differs. */
static void call_store(struct emitter *emitter, const struct ir_stage *stage, int output)
{
    int tensor = stage->outputs[output];
    const struct ir_tensor *here = &emitter->part->tensors[tensor];
    const struct ir_tensor *there = &stage->callee->tensors[stage->callee->outputs[output]];
    const struct tensor_plan *plan = &emitter->tensors[tensor];
    if (plan->reader != plan->name || !there->declared || here->dtype != there->dtype)
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
    call_emit(emitter, stage);
    for (int i = 0; i < stage->callee->output_count; i++)
        call_store(emitter, stage, i);
    if (braces)
        emit_close(emitter);
    emit_stage_end(emitter, mark);
}

/* ---- loop ---- */

/* All carries happen at once, so a state that another one takes must be read before it changes. */
static bool carry_needs_copy(const struct ir_stage *stage, int carry)
{
    for (int i = 0; i < carry; i++) {
        if (stage->carries[i].state == stage->carries[carry].next)
            return true;
    }
    return false;
}

static void emit_carry(struct emitter *emitter, const struct ir_carry *carry, const char *from)
{
    const struct ir_tensor *state = &emitter->part->tensors[carry->state];
    const struct ir_tensor *next = &emitter->part->tensors[carry->next];
    const char *count = emit_count(emitter, carry->state);
    if (carry->state == carry->next)
        return;
    if (!state->declared || (next->declared && next->dtype == state->dtype)) {
        emit_line(emitter, "memcpy(%s, %s, 8 * (size_t)(%s));", emitter->tensors[carry->state].name,
                  from, count);
        return;
    }
    emit_open(emitter, "for (int64_t rank = 0; rank < %s; rank++)", count);
    emit_store(emitter, carry->state, "rank", arena_printf(emitter->arena, "%s[rank]", from));
    emit_close(emitter);
}

static void emit_carries(struct emitter *emitter, const struct ir_stage *stage)
{
    const char **from = arena_array(emitter->arena, (size_t)stage->carry_count + 1, sizeof *from);
    for (int i = 0; i < stage->carry_count; i++) {
        int next = stage->carries[i].next;
        const char *type = emit_type(emitter->part->tensors[next].dtype);
        from[i] = emitter->tensors[next].reader;
        if (!carry_needs_copy(stage, i))
            continue;
        const char *count = emit_count(emitter, next);
        const char *copy =
            emit_name(&emitter->names, arena_printf(emitter->arena, "%s_before", from[i]));
        emit_line(emitter, "%s *%s = tensor_alloc(%s, &status);", type, copy, count);
        emit_line(emitter, "if (!%s)", copy);
        emit_line(emitter, "    goto finish;");
        emit_line(emitter, "memcpy(%s, %s, 8 * (size_t)(%s));", copy, from[i], count);
        from[i] = copy;
    }
    for (int i = 0; i < stage->carry_count; i++) {
        emit_carry(emitter, &stage->carries[i], from[i]);
        if (carry_needs_copy(stage, i))
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
