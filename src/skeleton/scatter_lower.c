/*
 * scatter, the loops: the target as it begins, the points in vectors, and what rounds at the end.
 */
#include "skeleton/lanes.h"
#include "skeleton/nest.h"
#include "skeleton/scatter.h"
#include "skeleton/slots.h"

struct scatter_code {
    const struct scatter *scatter;
    struct arena *arena;
    struct skeleton_values values;
    const struct loop_buffer *target;
    struct loop_variable *variable; /* stands for the index in lanes */
    int lanes;
    enum loop_kind kind;   /* of loops over all elements */
    loop_value first, end; /* places of the thread's range; NULL: all */
    int split;             /* the index that threads with copies share; -1: none */
    loop_value from, to;   /* their part of it */
    loop_value copy;       /* where their copy begins; NULL: there is but one */
    /* of the point that is open */
    loop_value offset, value, condition;
};

/* ---- all elements: as they begin, and rounded at the end ---- */

struct copying {
    struct scatter_code *code;
    const struct loop_buffer *from, *to; /* from NULL: the unit */
    int copies;                          /* of `from` that are combined, one behind the other */
    loop_value elements, shift;          /* of one; NULL or how far on they are written */
};

static void copy_vectors(void *context, struct loop_block *block,
                         const struct skeleton_lanes *lanes, int vectors)
{
    const struct copying *copying = context;
    const struct scatter *scatter = copying->code->scatter;
    struct arena *arena = copying->code->arena;
    (void)vectors;
    loop_value value = NULL, to = lanes->from;
    for (int i = 0; copying->from && i < copying->copies; i++) {
        loop_value place = loop_mul(arena, loop_integer(arena, i), copying->elements);
        place = loop_add(arena, place, lanes->from);
        loop_value more =
            loop_load_part(arena, copying->from, place, lanes->lanes, lanes->count, NULL);
        value = value ? loop_combine(arena, scatter->stage->monoid->kind, value, more) : more;
    }
    if (!value)
        value = scatter_unit(scatter, arena, lanes->lanes);
    value = loop_splat(arena, value, lanes->lanes);
    if (loop_buffer_dtype(copying->to) != value->type.dtype)
        value = loop_cast(arena, loop_buffer_dtype(copying->to), value);
    if (copying->shift)
        to = loop_add(arena, copying->shift, to);
    loop_store(block, copying->to, to, value)->count = lanes->count;
}

static loop_value target_elements(struct scatter_code *code)
{
    const struct ir_tensor *tensor = &code->scatter->group->part->tensors[code->scatter->tensor];
    loop_value count = loop_integer(code->arena, 1);
    for (int d = 0; d < tensor->rank; d++)
        count = loop_mul(code->arena, count, skeleton_size(&code->values, tensor->dims[d]));
    return count;
}

static void copy_part(struct copying *copying, struct loop_block *block, loop_value from,
                      loop_value to)
{
    const struct scatter *scatter = copying->code->scatter;
    int lanes = scatter->group->target->vector_bytes / (int)dtype_bytes(scatter->dtype);
    struct skeleton_lanes along = {lanes_variable(block->arena, "element"),
                                   lanes < LOOP_MAX_LANES / 2 ? lanes : 16, from, NULL};
    lanes_loop(block, &along, to, 1, copy_vectors, copying);
}

/* All elements; threads take chunks of them. */
static void copy_all(struct copying *copying, struct loop_block *block)
{
    enum { CHUNK = 16384 };
    struct scatter_code *code = copying->code;
    struct arena *arena = code->arena;
    loop_value zero = loop_integer(arena, 0), start = zero;
    loop_value count = loop_of(arena, loop_let(block, "elements", target_elements(code)));
    loop_value end = count;
    copying->elements = count;
    if (code->kind == LOOP_PARALLEL) {
        struct loop_variable *counter;
        loop_value chunk = loop_integer(arena, CHUNK);
        block = loop_for(block, LOOP_PARALLEL, "from", zero, count, chunk, &counter);
        start = loop_of(arena, counter);
        end = loop_min(arena, loop_add(arena, start, chunk), count);
        end = loop_of(arena, loop_let(block, "to", end));
    }
    copy_part(copying, block, start, end);
}

/* ---- points ---- */

loop_value scatter_place(const struct scatter *scatter, struct skeleton_values *values,
                         loop_value first, loop_value end, loop_value *condition)
{
    const struct ir_stage *stage = scatter->stage;
    const struct ir_write *write = &stage->writes[0];
    const struct ir_tensor *tensor = &scatter->group->part->tensors[scatter->tensor];
    struct arena *arena = values->kernel->arena;
    loop_value at[IR_MAX_RANK];
    values->memo = NULL;
    *condition = NULL;
    if (stage->predicate != IR_NONE)
        *condition = skeleton_value(values, stage, stage->predicate);
    for (int d = 0; d < tensor->rank; d++) {
        at[d] = skeleton_value(values, stage, write->at[d]);
        if (stage->nodes.at[write->at[d]].op == IR_INDEX)
            continue;
        bool mine = first && d == scatter->chosen;
        loop_value low = mine ? first : loop_integer(arena, 0);
        loop_value high = mine ? end : skeleton_size(values, tensor->dims[d]);
        loop_value inside = loop_apply(arena, IR_AND, loop_apply(arena, IR_LE, low, at[d], NULL),
                                       loop_less(arena, at[d], high), NULL);
        *condition = *condition ? loop_apply(arena, IR_AND, *condition, inside, NULL) : inside;
    }
    return skeleton_offset(values, scatter->tensor, at);
}

loop_value scatter_value(const struct scatter *scatter, struct skeleton_values *values,
                         loop_value condition)
{
    const struct ir_stage *stage = scatter->stage;
    loop_value guard = values->guard;
    values->guard = condition;
    values->memo = NULL;
    loop_value value = skeleton_value(values, stage, stage->writes[0].value);
    values->guard = guard;
    return stage->assign ? skeleton_round(values, scatter->tensor, value) : value;
}

loop_value scatter_unit(const struct scatter *scatter, struct arena *arena, int lanes)
{
    const struct ir_stage *stage = scatter->stage;
    struct loop_type type = {scatter->dtype, lanes};
    if (stage->assign && scatter->dtype == DTYPE_BOOL)
        return loop_splat(arena, loop_bool(arena, false), lanes);
    return loop_unit(arena, stage->assign ? IR_SUM : stage->monoid->kind, type);
}

/* Where the point goes, what it brings, and whether it counts. */
static void make_point(struct scatter_code *code)
{
    const struct scatter *scatter = code->scatter;
    code->offset = scatter_place(scatter, &code->values, code->first, code->end, &code->condition);
    if (code->copy)
        code->offset = loop_add(code->arena, code->copy, code->offset);
    code->value = scatter_value(scatter, &code->values, code->condition);
}

static loop_value widened(struct scatter_code *code, loop_value value,
                          const struct skeleton_lanes *lanes, loop_value count)
{
    value = loop_widen(code->arena, value, lanes->variable, lanes->lanes, count);
    return loop_substitute(code->arena, value, lanes->variable, lanes->from);
}

/* One vector: elements that lie side by side, or one place for each lane; lanes never collide. */
static void scatter_vectors(void *context, struct loop_block *block,
                            const struct skeleton_lanes *lanes, int vectors)
{
    struct scatter_code *code = context;
    struct arena *arena = code->arena;
    const struct ir_stage *stage = code->scatter->stage;
    (void)vectors;
    loop_value step = loop_step(arena, code->offset, lanes->variable);
    bool dense = lanes->lanes == 1 || (step && step->op == LOOP_INTEGER && step->integer == 1);
    bool varies = code->condition && loop_mentions(code->condition, lanes->variable);
    loop_value mask = varies ? widened(code, code->condition, lanes, lanes->count) : NULL;
    if (lanes->count && (!dense || mask)) {
        loop_value live = nest_live(arena, lanes->lanes, lanes->count);
        mask = mask ? loop_apply(arena, IR_AND, mask, live, NULL) : live;
    }
    if (mask)
        mask = loop_of(arena, loop_let(block, "mask", loop_splat(arena, mask, lanes->lanes)));
    loop_value value = code->value;
    skeleton_widen(block, lanes, &value, 1);
    value = loop_splat(arena, value, lanes->lanes);
    loop_value offset;
    if (dense) {
        offset = loop_substitute(arena, code->offset, lanes->variable, lanes->from);
    } else {
        offset = widened(code, code->offset, lanes, lanes->count);
        offset = loop_of(arena, loop_let(block, "places", loop_splat(arena, offset, lanes->lanes)));
    }
    loop_value count = mask ? NULL : lanes->count;
    if (!stage->assign) {
        loop_value old =
            dense && mask ? loop_load_masked(arena, code->target, offset, lanes->lanes, mask, NULL)
            : dense       ? loop_load_part(arena, code->target, offset, lanes->lanes, count, NULL)
                          : loop_gather(arena, code->target, offset, mask, NULL);
        old = loop_of(arena, loop_let(block, "old", old));
        value = loop_combine(arena, stage->monoid->kind, old, value);
    }
    struct loop_statement *store = loop_store(block, code->target, offset, value);
    store->mask = mask;
    store->count = count;
    store->scatter = !dense;
}

/* All points of the indices, `outer` of which is open already. */
static void lower_points(struct scatter_code *code, struct loop_block *block, int outer)
{
    const struct scatter *scatter = code->scatter;
    const struct ir_stage *stage = scatter->stage;
    struct arena *arena = code->arena;
    loop_value zero = loop_integer(arena, 0), to = loop_integer(arena, 1);
    for (int i = 0; i < stage->index_count; i++) {
        const struct ir_index *index = &scatter->group->part->indices[stage->indices[i]];
        struct loop_variable *counter;
        if (i == outer)
            continue;
        if (i == scatter->lane && code->lanes > 1) {
            to = skeleton_size(&code->values, index->extent);
            code->values.indices[stage->indices[i]] = loop_of(arena, code->variable);
            continue;
        }
        bool part = i == code->split;
        block =
            loop_for(block, LOOP_SERIAL, index->name, part ? code->from : zero,
                     part ? code->to : skeleton_size(&code->values, index->extent), NULL, &counter);
        code->values.indices[stage->indices[i]] = loop_of(arena, counter);
    }
    make_point(code);
    const struct loop_variable *variable = code->variable;
    if (code->condition && !loop_mentions(code->condition, variable)) {
        block = loop_if(block, code->condition);
        /* what is inside counts: nothing needs a mask for it */
        code->value = scatter_value(scatter, &code->values, NULL);
        code->condition = NULL;
    }
    loop_value both[] = {code->offset, code->value};
    skeleton_hoist(block, &variable, 1, both, 2);
    code->offset = both[0];
    code->value = both[1];
    struct skeleton_lanes lanes = {variable, code->lanes, zero, NULL};
    if (code->lanes > 1)
        lanes_loop(block, &lanes, to, 1, scatter_vectors, code);
    else
        scatter_vectors(code, block, &lanes, 1);
}

/* Each thread goes over all points and keeps to its own range of places. */
static void lower_ranges(struct scatter_code *code, struct loop_block *block)
{
    const struct scatter *scatter = code->scatter;
    struct arena *arena = code->arena;
    const struct ir_tensor *tensor = &scatter->group->part->tensors[scatter->tensor];
    loop_value threads = loop_integer(arena, scatter->group->target->threads);
    loop_value size = skeleton_size(&code->values, tensor->dims[scatter->chosen]);
    struct loop_variable *part;
    struct loop_block *body =
        loop_for(block, LOOP_PARALLEL, "part", loop_integer(arena, 0), threads, NULL, &part);
    loop_note_loop(block, "parallel range: each thread has its own places");
    loop_value number = loop_of(arena, part), one = loop_integer(arena, 1);
    code->first = loop_apply(arena, IR_FLOORDIV, loop_mul(arena, size, number), threads, NULL);
    code->first = loop_of(arena, loop_let(body, "first", code->first));
    code->end = loop_mul(arena, size, loop_add(arena, number, one));
    code->end = loop_apply(arena, IR_FLOORDIV, code->end, threads, NULL);
    code->end = loop_of(arena, loop_let(body, "end", code->end));
    lower_points(code, body, -1);
}

/* Each thread combines its points into a target of its own; then those are combined. */
static void lower_copies(struct scatter_code *code, struct loop_block *block,
                         const struct loop_buffer *begins, const struct loop_buffer *out)
{
    const struct scatter *scatter = code->scatter;
    struct arena *arena = code->arena;
    int threads = scatter->group->target->threads;
    const struct ir_tensor *tensor = &scatter->group->part->tensors[scatter->tensor];
    const struct ir_size *count = ir_size_constant(arena, threads);
    for (int d = 0; d < tensor->rank; d++)
        count = ir_size_make(arena, IR_SIZE_MUL, count, tensor->dims[d]);
    code->target = loop_scratch(code->values.kernel, arena_printf(arena, "%s_parts", tensor->name),
                                scatter->dtype, count);
    loop_value elements = loop_of(arena, loop_let(block, "elements", target_elements(code)));
    loop_value number, one = loop_integer(arena, 1), all = loop_integer(arena, threads);
    struct loop_variable *part;
    struct loop_block *body =
        loop_for(block, LOOP_PARALLEL, "part", loop_integer(arena, 0), all, NULL, &part);
    loop_note_loop(block, "parallel copies: each thread has a target of its own");
    number = loop_of(arena, part);
    code->copy = loop_of(arena, loop_let(body, "copy", loop_mul(arena, number, elements)));
    struct copying copying = {code, begins, code->target, 1, elements, code->copy};
    struct loop_block *begin = body, *others = NULL;
    if (begins) { /* one copy begins as the op says, the others with nothing */
        begin = loop_if(body, loop_apply(arena, IR_EQ, number, loop_integer(arena, 0), NULL));
        others = loop_else(body);
    }
    copy_part(&copying, begin, loop_integer(arena, 0), elements);
    copying.from = NULL;
    if (others)
        copy_part(&copying, others, loop_integer(arena, 0), elements);
    code->split = scatter_split(scatter);
    const struct ir_index *index =
        &scatter->group->part->indices[scatter->stage->indices[code->split]];
    loop_value extent = skeleton_size(&code->values, index->extent);
    code->from = loop_apply(arena, IR_FLOORDIV, loop_mul(arena, extent, number), all, NULL);
    code->from = loop_of(arena, loop_let(body, "first", code->from));
    code->to = loop_mul(arena, extent, loop_add(arena, number, one));
    code->to = loop_apply(arena, IR_FLOORDIV, code->to, all, NULL);
    code->to = loop_of(arena, loop_let(body, "end", code->to));
    lower_points(code, body, -1);
    struct copying whole = {code, code->target, out, threads, NULL, NULL};
    copy_all(&whole, block);
}

static void lower_shared(struct scatter_code *code, struct loop_block *block,
                         const struct plan_group *plan)
{
    const struct scatter *scatter = code->scatter;
    struct arena *arena = code->arena;
    if (plan_is(plan, "parallel", "range")) {
        lower_ranges(code, block);
        return;
    }
    if (!plan_is(plan, "parallel", "places")) {
        lower_points(code, block, -1);
        return;
    }
    struct loop_variable *counter;
    int number = scatter->stage->indices[scatter->outer];
    const struct ir_index *index = &scatter->group->part->indices[number];
    struct loop_block *body = loop_for(block, LOOP_PARALLEL, index->name, loop_integer(arena, 0),
                                       skeleton_size(&code->values, index->extent), NULL, &counter);
    loop_note_loop(block, "parallel places: no two threads write the same element");
    code->values.indices[number] = loop_of(arena, counter);
    lower_points(code, body, scatter->outer);
}

void scatter_lower(const struct skeleton_group *group, const struct plan_group *plan,
                   struct loop_kernel *kernel)
{
    struct scatter scatter;
    struct skeleton_reason ignored;
    struct arena *arena = kernel->arena;
    scatter_fits(group, &scatter, &ignored);
    const struct ir_stage *stage = scatter.stage;
    const struct ir_tensor *tensor = &group->part->tensors[scatter.tensor];
    struct scatter_code code = {.scatter = &scatter, .arena = arena, .split = -1};
    code.lanes = (int)plan_number(plan, "lanes", 1);
    code.kind = plan_is(plan, "parallel", "none") ? LOOP_SERIAL : LOOP_PARALLEL;
    code.variable = lanes_variable(arena, "lane");
    code.values = (struct skeleton_values){.group = group, .kernel = kernel};
    code.values.indices =
        arena_array(arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    struct loop_block *block = loop_function(kernel, plan->name, slots_note(group));
    const struct loop_buffer *out = skeleton_buffer(&code.values, scatter.tensor);
    const struct loop_buffer *begins =
        stage->from == IR_NONE ? NULL : skeleton_buffer(&code.values, stage->from);
    if (plan_is(plan, "parallel", "copies")) {
        lower_copies(&code, block, begins, out);
        return;
    }
    code.target = out;
    if (!scatter.direct) {
        const struct ir_size *count = ir_size_constant(arena, 1);
        for (int d = 0; d < tensor->rank; d++)
            count = ir_size_make(arena, IR_SIZE_MUL, count, tensor->dims[d]);
        code.target = loop_scratch(kernel, arena_printf(arena, "%s_so_far", tensor->name),
                                   scatter.dtype, count);
    }
    loop_note(block, "the target as it begins");
    struct copying begin = {&code, begins, code.target, 1, NULL, NULL};
    copy_all(&begin, block);
    lower_shared(&code, block, plan);
    if (!scatter.direct) {
        loop_note(block, "rounded once");
        struct copying finish = {&code, code.target, out, 1, NULL, NULL};
        copy_all(&finish, block);
    }
}
