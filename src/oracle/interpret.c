/*
 * The interpreter: runs a part stage by stage over whole tensors. Slow and obviously right: nothing
 * is reordered, every read and write is checked.
 *
 * Temporaries get their memory with the first stage that mentions them and give it back after the
 * last, so a run takes no more than oracle_memory() says.
 */
#include <stdio.h>
#include <string.h>

#include "oracle/interpret.h"

/* ---- slabs ---- */

void shape_print(char *out, const int64_t *numbers, int count)
{
    int used = snprintf(out, SHAPE_TEXT, "[");
    for (int i = 0; i < count; i++)
        used += snprintf(out + used, (size_t)(SHAPE_TEXT - used), "%s%lld", i ? ", " : "",
                         (long long)numbers[i]);
    snprintf(out + used, (size_t)(SHAPE_TEXT - used), "]");
}

static struct slab *slab_open(struct run *run, struct pool *pool, const struct ir_binding *binding,
                              int tensor)
{
    const struct ir_tensor *described = &binding->part->tensors[tensor];
    struct slab *slab = pool_take(pool, 1, sizeof *slab);
    int64_t *dims = pool_take(pool, described->rank, sizeof *dims);
    slab->tensor = described;
    slab->number = tensor;
    slab->dims = dims;
    slab->count = 1;
    slab->is_float = dtype_is_float(described->dtype);
    slab->rounds = described->declared && described->dtype != DTYPE_F64;
    bool empty = false;
    for (int d = 0; d < described->rank; d++) {
        if (!ir_size_eval(described->dims[d], binding->sizes, &dims[d]) || dims[d] < 0) {
            error_at(run->error, ERROR_ORACLE_PROGRAM, described->place,
                     "dimension %d of '%s' is negative or overflows", d, described->name);
            return NULL;
        }
        empty |= dims[d] == 0;
    }
    for (int d = 0; d < described->rank && !empty; d++)
        if (__builtin_mul_overflow(slab->count, dims[d], &slab->count))
            memory_exhausted();
    if (empty)
        slab->count = 0;
    return slab;
}

void slab_fill(struct pool *pool, struct slab *slab)
{
    void *room = pool_take(pool, slab->count, sizeof(int64_t));
    slab->floats = slab->is_float ? room : NULL;
    slab->integers = slab->is_float ? NULL : room;
    slab->whole = true;
}

void slab_empty(struct pool *pool, struct slab *slab)
{
    pool_give(pool, slab->floats);
    pool_give(pool, slab->integers);
    slab->floats = NULL;
    slab->integers = NULL;
    slab->whole = false;
}

/* David Stafford's thirteenth variant of a 64-bit finaliser. */
uint64_t slab_seed(uint64_t bits)
{
    bits ^= bits >> 30;
    bits *= 0xbf58476d1ce4e5b9u;
    bits ^= bits >> 27;
    bits *= 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}

/* An element of the generated form is moved by the same bits: see src/gen/c/points_runtime.c. */
static double moved(const struct slab *slab, int64_t element, double value)
{
    uint64_t bits = slab_seed(slab->seed + (uint64_t)element * 0x9e3779b97f4a7c15u);
    double by = (double)(bits >> 11) * 0x1p-52 - 1;
    return value * (1 + slab->unit * (by < 0 ? by - 0.5 : by + 0.5));
}

static void slab_read_raw(const struct slab *slab, int64_t element, struct ir_value *value)
{
    enum dtype dtype = slab->tensor->dtype;
    const char *at = (const char *)slab->raw + (size_t)element * dtype_bytes(dtype);
    if (!slab->is_float) {
        value->integer = dtype_load_integer(dtype, at);
        return;
    }
    value->number = dtype_load_float(dtype, at);
    if (slab->unit != 0)
        value->number = moved(slab, element, value->number);
}

bool slab_read(struct run *run, struct slab *slab, int64_t element, struct ir_value *value)
{
    if (!slab->whole)
        return run->fetch(run, slab, element, value);
    if (slab->raw)
        slab_read_raw(slab, element, value);
    else if (slab->is_float)
        value->number = slab->floats[element];
    else
        value->integer = slab->integers[element];
    return true;
}

struct ir_value slab_rounded(const struct slab *slab, struct ir_value value)
{
    if (!slab->rounds)
        return value;
    if (slab->is_float)
        value.number = dtype_round(slab->tensor->dtype, value.number);
    else if (slab->tensor->dtype == DTYPE_BOOL)
        value.integer = value.integer != 0;
    else
        value.integer = dtype_wrap(slab->tensor->dtype, value.integer);
    return value;
}

void slab_store(struct run *run, struct slab *slab, int64_t element, struct ir_value value)
{
    struct ir_value rounded = slab_rounded(slab, value);
    if (!slab->whole) {
        run->keep(run, slab, element, rounded, value);
        return;
    }
    if (slab->is_float)
        slab->floats[element] = rounded.number;
    else
        slab->integers[element] = rounded.integer;
    if (slab->exact)
        slab->exact[element] = value.number;
}

bool slab_copy(struct run *run, struct slab *from, struct slab *to)
{
    for (int64_t e = 0; e < to->count; e++) {
        struct ir_value value = {0};
        if (!slab_read(run, from, e, &value))
            return false;
        slab_store(run, to, e, value);
    }
    return true;
}

bool slab_fits(const struct slab *a, const struct slab *b)
{
    if (a->is_float != b->is_float || a->tensor->rank != b->tensor->rank)
        return false;
    for (int d = 0; d < a->tensor->rank; d++)
        if (a->dims[d] != b->dims[d])
            return false;
    return true;
}

bool slab_from_array(struct slab *slab, const struct array *array, struct error *error)
{
    bool fits = array->rank == slab->tensor->rank && array->dtype == slab->tensor->dtype &&
                array->count == slab->count;
    for (int d = 0; fits && d < array->rank; d++)
        fits = array->dims[d] == slab->dims[d];
    if (!fits) {
        char wanted[SHAPE_TEXT], found[SHAPE_TEXT];
        shape_print(wanted, slab->dims, slab->tensor->rank);
        shape_print(found, array->dims, array->rank < IR_MAX_RANK ? array->rank : IR_MAX_RANK);
        return error_set(error, ERROR_ARRAY_MISMATCH, "input '%s' is %s%s, but %s%s is given",
                         slab->tensor->name, dtype_name(slab->tensor->dtype), wanted,
                         dtype_name(array->dtype), found);
    }
    slab->floats = array->floats;
    slab->integers = array->integers;
    slab->raw = array->raw;
    slab->whole = true;
    return true;
}

/* ---- frames ---- */

static int stages_count(const struct ir_stage *stages, int count)
{
    int total = count;
    for (int i = 0; i < count; i++)
        if (stages[i].kind == IR_LOOP)
            total += stages_count(stages[i].body, stages[i].body_count);
    return total;
}

/* Lays the plans of a list of stages side by side, those of loop bodies behind them. */
static struct plan *plans_lay(const struct ir_stage *stages, int count, struct plan **room)
{
    struct plan *plans = *room;
    *room += count;
    for (int i = 0; i < count; i++) {
        plans[i].stage = &stages[i];
        if (stages[i].kind == IR_LOOP)
            plans[i].body = plans_lay(stages[i].body, stages[i].body_count, room);
    }
    return plans;
}

struct frame *frame_open(struct run *run, struct pool *pool, const struct ir_binding *binding)
{
    const struct ir_part *part = binding->part;
    struct frame *frame = pool_take(pool, 1, sizeof *frame);
    frame->run = run;
    frame->pool = pool;
    frame->binding = *binding;
    frame->slabs = pool_take(pool, part->tensor_count, sizeof *frame->slabs);
    frame->index = pool_take(pool, part->index_count, sizeof *frame->index);
    struct plan *room =
        pool_take(pool, stages_count(part->stages, part->stage_count), sizeof *frame->plans);
    frame->plans = plans_lay(part->stages, part->stage_count, &room);
    for (int t = 0; t < part->tensor_count; t++) {
        frame->slabs[t] = slab_open(run, pool, binding, t);
        if (!frame->slabs[t])
            return NULL;
        frame->slabs[t]->frame = frame;
    }
    return frame;
}

/* The tensors of the caller, filled in from outside, are not for the frame to give room to. */
static void mark_owned(const struct ir_part *part, bool *owned)
{
    for (int t = 0; t < part->tensor_count; t++)
        owned[t] = true;
    for (int i = 0; i < part->input_count; i++)
        owned[part->inputs[i]] = false;
    for (int i = 0; i < part->output_count; i++)
        owned[part->outputs[i]] = false;
}

bool frame_run(struct frame *frame)
{
    const struct ir_part *part = frame->binding.part;
    int *first = pool_take(frame->pool, part->tensor_count, sizeof *first);
    int *last = pool_take(frame->pool, part->tensor_count, sizeof *last);
    bool *owned = pool_take(frame->pool, part->tensor_count, sizeof *owned);
    part_lifetimes(part, first, last);
    mark_owned(part, owned);
    for (int s = 0; s < part->stage_count; s++) {
        for (int t = 0; t < part->tensor_count; t++)
            if (owned[t] && first[t] == s)
                slab_fill(frame->pool, frame->slabs[t]);
        if (!stage_run(frame, &frame->plans[s]))
            return false;
        for (int t = 0; t < part->tensor_count; t++)
            if (owned[t] && last[t] == s)
                slab_empty(frame->pool, frame->slabs[t]);
    }
    return true;
}

/* ---- calls ---- */

static bool bind_sizes(struct frame *caller, const struct ir_stage *call, int64_t *sizes)
{
    const struct ir_part *part = call->callee;
    for (int i = 0; i < part->symbol_count; i++) {
        bool is_let = part->symbols[i].kind == IR_SYMBOL_LET;
        if (!ir_size_eval(is_let ? part->symbols[i].definition : call->sizes[i],
                          is_let ? sizes : caller->binding.sizes, &sizes[i]))
            return error_at(caller->run->error, ERROR_ORACLE_PROGRAM, call->place,
                            "size '%s' of '%s' overflows or divides by zero", part->symbols[i].name,
                            part->name);
    }
    return true;
}

bool frame_bind(struct frame *caller, struct pool *pool, const struct ir_stage *call,
                struct ir_binding *binding)
{
    const struct ir_part *part = call->callee;
    int64_t *sizes = pool_take(pool, part->symbol_count, sizeof *sizes);
    double *scalars = pool_take(pool, part->scalar_count, sizeof *scalars);
    struct ir_value *values = pool_take(pool, call->nodes.count, sizeof *values);
    if (!bind_sizes(caller, call, sizes))
        return false;
    for (int i = 0; i < call->nodes.count; i++)
        if (!node_evaluate(caller, &call->nodes, i, values, NULL))
            return false;
    for (int i = 0; i < part->scalar_count; i++) {
        int node = call->scalars[i];
        scalars[i] = dtype_is_float(call->nodes.at[node].type) ? values[node].number
                                                               : (double)values[node].integer;
    }
    pool_give(pool, values);
    *binding = (struct ir_binding){.part = part, .sizes = sizes, .scalars = scalars};
    return true;
}

static bool tensors_do_not_fit(struct frame *frame, const struct ir_stage *call, const char *name)
{
    return error_at(frame->run->error, ERROR_ORACLE_PROGRAM, call->place,
                    "tensor '%s' does not fit the call of '%s'", name, call->callee->name);
}

bool frame_connect_inputs(struct frame *caller, const struct ir_stage *call, struct frame *callee)
{
    const struct ir_part *part = call->callee;
    for (int i = 0; i < part->input_count; i++) {
        struct slab *given = caller->slabs[call->inputs[i]];
        struct slab **asked = &callee->slabs[part->inputs[i]];
        if (!slab_fits(given, *asked))
            return tensors_do_not_fit(caller, call, given->tensor->name);
        *asked = given;
    }
    return true;
}

/* The callee writes into the caller's arrays, by its own rules. */
static bool connect_outputs(struct frame *caller, const struct ir_stage *call, struct frame *callee)
{
    const struct ir_part *part = call->callee;
    for (int i = 0; i < part->output_count; i++) {
        struct slab *given = caller->slabs[call->outputs[i]];
        struct slab *asked = callee->slabs[part->outputs[i]];
        if (!slab_fits(given, asked))
            return tensors_do_not_fit(caller, call, given->tensor->name);
        asked->floats = given->floats;
        asked->integers = given->integers;
        asked->whole = true;
    }
    return true;
}

/* The caller's tensor may have a type of its own; and what it holds now is its exact value. */
static bool finish_outputs(struct frame *caller, const struct ir_stage *call)
{
    const struct ir_part *part = call->callee;
    for (int i = 0; i < part->output_count; i++) {
        struct slab *slab = caller->slabs[call->outputs[i]];
        bool same = slab->tensor->dtype == part->tensors[part->outputs[i]].dtype;
        if (slab->exact || (slab->rounds && !same))
            if (!slab_copy(caller->run, slab, slab))
                return false;
    }
    return true;
}

static bool call_run(struct frame *frame, const struct ir_stage *call)
{
    struct run *run = frame->run;
    if (run->depth >= ORACLE_MAX_CALL_DEPTH)
        return error_at(run->error, ERROR_ORACLE_DEPTH, call->place,
                        "calls are nested more than %d deep", ORACLE_MAX_CALL_DEPTH);
    struct pool_piece *mark = pool_mark(&run->pool);
    struct ir_binding binding;
    if (!frame_bind(frame, &run->pool, call, &binding))
        return false;
    struct frame *callee = frame_open(run, &run->pool, &binding);
    run->depth++;
    bool done = callee && frame_connect_inputs(frame, call, callee) &&
                connect_outputs(frame, call, callee) && frame_run(callee);
    run->depth--;
    pool_release(&run->pool, mark);
    return done && finish_outputs(frame, call);
}

/* ---- loops ---- */

/* All states change at once: when one takes the value of another, the old values are kept aside. */
static bool loop_carry_crossed(struct frame *frame, const struct ir_stage *loop)
{
    struct run *run = frame->run;
    struct pool_piece *mark = pool_mark(&run->pool);
    struct ir_value **kept = pool_take(&run->pool, loop->carry_count, sizeof *kept);
    for (int c = 0; c < loop->carry_count; c++) {
        struct slab *next = frame->slabs[loop->carries[c].next];
        kept[c] = pool_take(&run->pool, next->count, sizeof *kept[c]);
        for (int64_t e = 0; e < next->count; e++)
            if (!slab_read(run, next, e, &kept[c][e]))
                return false;
    }
    for (int c = 0; c < loop->carry_count; c++) {
        struct slab *state = frame->slabs[loop->carries[c].state];
        for (int64_t e = 0; e < state->count; e++)
            slab_store(run, state, e, kept[c][e]);
    }
    pool_release(&run->pool, mark);
    return true;
}

static bool loop_carry(struct frame *frame, const struct ir_stage *loop)
{
    if (carry_crosses(loop))
        return loop_carry_crossed(frame, loop);
    for (int c = 0; c < loop->carry_count; c++)
        if (!slab_copy(frame->run, frame->slabs[loop->carries[c].next],
                       frame->slabs[loop->carries[c].state]))
            return false;
    return true;
}

static bool carries_fit(struct frame *frame, const struct ir_stage *loop)
{
    for (int c = 0; c < loop->carry_count; c++) {
        const struct slab *state = frame->slabs[loop->carries[c].state];
        if (!slab_fits(state, frame->slabs[loop->carries[c].next]))
            return error_at(frame->run->error, ERROR_ORACLE_PROGRAM, loop->place,
                            "what is carried into '%s' has another shape", state->tensor->name);
    }
    return true;
}

static bool loop_run(struct frame *frame, struct plan *plan)
{
    const struct ir_stage *loop = plan->stage;
    const struct ir_index *index = &frame->binding.part->indices[loop->loop_index];
    int64_t extent;
    if (!index->extent || !ir_size_eval(index->extent, frame->binding.sizes, &extent))
        return error_at(frame->run->error, ERROR_ORACLE_PROGRAM, loop->place,
                        "the extent of loop index '%s' cannot be computed", index->name);
    if (!carries_fit(frame, loop))
        return false;
    for (int64_t i = 0; i < extent; i++) {
        frame->index[loop->loop_index] = loop->reverse ? extent - 1 - i : i;
        for (int s = 0; s < loop->body_count; s++)
            if (!stage_run(frame, &plan->body[s]))
                return false;
        if (!loop_carry(frame, loop))
            return false;
    }
    return true;
}

bool stage_run(struct frame *frame, struct plan *plan)
{
    if (plan->stage->kind == IR_CALL)
        return call_run(frame, plan->stage);
    if (plan->stage->kind == IR_LOOP)
        return loop_run(frame, plan);
    if (!plan->walk)
        plan->walk = walk_open(frame, plan->stage);
    return plan->walk && walk_run(plan->walk);
}

/* ---- the root ---- */

struct interpretation {
    struct run run;
    struct arena *arena;
    const struct ir_binding *binding;
    const struct array *inputs;
    struct array *outputs;
    const struct oracle_options *options;
    int64_t needed;
    bool exact, done;
};

static void output_describe(const struct slab *slab, struct array *array)
{
    *array = (struct array){.name = slab->tensor->name,
                            .dtype = slab->tensor->dtype,
                            .rank = slab->tensor->rank,
                            .count = slab->count};
    memcpy(array->dims, slab->dims, (size_t)slab->tensor->rank * sizeof *slab->dims);
}

/* The output's own array takes the values; when exact ones are asked for but readers must see
   rounded ones, it takes the exact ones and readers get an array of their own. */
static void output_connect(struct interpretation *i, struct slab *slab, struct array *array)
{
    output_describe(slab, array);
    array_alloc(i->arena, array);
    bool exact = i->exact && slab->is_float && slab->rounds;
    if (exact && part_reads(i->binding->part, slab->number)) {
        slab_fill(&i->run.pool, slab);
        slab->exact = array->floats;
        return;
    }
    slab->rounds = slab->rounds && !exact;
    slab->floats = array->floats;
    slab->integers = array->integers;
    slab->whole = true;
}

static void interpretation_run(void *context)
{
    struct interpretation *i = context;
    const struct ir_part *part = i->binding->part;
    i->needed = oracle_memory(i->binding);
    if (!oracle_memory_admit(i->needed, i->options, i->run.error))
        return;
    struct frame *frame = frame_open(&i->run, &i->run.pool, i->binding);
    if (!frame)
        return;
    for (int n = 0; n < part->input_count; n++)
        if (!slab_from_array(frame->slabs[part->inputs[n]], &i->inputs[n], i->run.error))
            return;
    for (int n = 0; n < part->output_count; n++)
        output_connect(i, frame->slabs[part->outputs[n]], &i->outputs[n]);
    i->done = frame_run(frame);
}

bool oracle_interpret(struct arena *arena, const struct ir_binding *binding,
                      const struct array *inputs, struct array *outputs,
                      const struct oracle_options *options, struct error *error)
{
    struct error ignored;
    struct interpretation i = {.run = {.error = error ? error : &ignored},
                               .arena = arena,
                               .binding = binding,
                               .inputs = inputs,
                               .outputs = outputs,
                               .options = options,
                               .exact = options && options->exact_outputs};
    bool finished = memory_try(interpretation_run, &i);
    pool_release(&i.run.pool, NULL);
    if (!finished) {
        char needed[ORACLE_BYTES_TEXT];
        oracle_bytes_print(needed, i.needed);
        error_set(i.run.error, ERROR_OUT_OF_MEMORY, "memory ran out while evaluating");
        error_detail(i.run.error, "evaluating this takes %s", needed);
        error_hint(i.run.error, "take a case with smaller sizes, or evaluate single points");
        return false;
    }
    return i.done;
}
