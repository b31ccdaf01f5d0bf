/*
 * seq, the loops.
 *
 *     weights into panels, once; states as they begin
 *     for steps
 *         for vectors of columns, tiles of rows                  <- threads, one barrier per step
 *             all gates of the tile: sums in registers over the terms
 *             for rows of the tile: the maps, and what leaves the step
 *
 * With `parallel rows` the loop over rows is outside, and threads never wait for each other.
 */
#include "skeleton/lanes.h"
#include "skeleton/seq.h"

/* ---- what is read in a step ---- */

static int carry_of(const struct ir_stage *loop, int tensor)
{
    for (int i = 0; i < loop->carry_count; i++) {
        if (loop->carries[i].state == tensor)
            return i;
    }
    return -1;
}

static loop_value tensor_elements(struct seq_code *code, int tensor)
{
    const struct ir_tensor *info = &code->seq->group->part->tensors[tensor];
    loop_value count = loop_integer(code->arena, 1);
    for (int d = 0; d < info->rank; d++)
        count = loop_mul(code->arena, count, skeleton_size(&code->values, info->dims[d]));
    return count;
}

static loop_value state_place(struct seq_code *code, int carry, loop_value which,
                              const loop_value *at)
{
    int tensor = code->seq->loop->carries[carry].state;
    loop_value first = loop_mul(code->arena, which, tensor_elements(code, tensor));
    return loop_add(code->arena, first, skeleton_offset(&code->values, tensor, at));
}

/* The index that the sum, or map, writes this dimension at; -1: something else. */
static int written_index(const struct ir_stage *stage, int dimension)
{
    const struct ir_node *node = &stage->nodes.at[stage->writes[0].at[dimension]];
    return node->op == IR_INDEX ? node->index : -1;
}

static loop_value read_state(struct seq_code *code, struct skeleton_values *values, int carry,
                             const loop_value *at)
{
    const struct seq *seq = code->seq;
    int next = seq->loop->carries[carry].next;
    const struct ir_stage *writer = &seq->body.part->stages[seq->body.graph->writers[next].at[0]];
    code->failed |= code->constant;
    for (int d = 0; d < seq->body.part->tensors[next].rank; d++) {
        int index = written_index(writer, d), axis = index < 0 ? -1 : seq->axes[index];
        if (axis >= 0 && axis < seq->rows && code->rows[axis] &&
            !loop_equal(at[d], code->rows[axis]))
            code->row_only = false;
    }
    return loop_load_masked(code->arena, code->states[carry],
                            state_place(code, carry, code->now, at), 1, values->guard, NULL);
}

/* The sum at the point that is open, of a gate that is a number. */
static loop_value read_sum(struct seq_code *code, int number, const loop_value *at)
{
    const struct seq *seq = code->seq;
    const struct contract *sum = &seq->sums[number].contract;
    const struct contract_indices *columns = &sum->sets[CONTRACT_N];
    int64_t gate = 0;
    bool found = code->gates != NULL;
    for (int i = 0; found && i + 1 < columns->count; i++) {
        const struct ir_size *extent = seq->body.part->indices[columns->at[i]].extent;
        loop_value size = skeleton_size(&code->values, extent), digit = NULL;
        for (int d = 0; d < seq->body.part->tensors[sum->tensor].rank; d++) {
            if (written_index(sum->stage, d) == columns->at[i])
                digit = at[d];
        }
        found = digit && digit->op == LOOP_INTEGER && size->op == LOOP_INTEGER &&
                digit->integer >= 0 && digit->integer < size->integer;
        gate = found ? gate * size->integer + digit->integer : 0;
    }
    for (int d = 0; found && d < seq->body.part->tensors[sum->tensor].rank; d++) {
        int index = written_index(sum->stage, d), axis = index < 0 ? -1 : seq->axes[index];
        if (axis == SEQ_LANE)
            found = at[d]->op == LOOP_VARIABLE && at[d]->variable == code->lane;
        else if (axis != SEQ_OTHER)
            found = axis >= 0 && loop_equal(at[d], code->rows[axis]);
    }
    code->failed |= !found;
    return found ? code->gates[seq->sums[number].first_gate + gate]
                 : loop_number(code->arena, 0, seq->dtype);
}

static loop_value resolve(void *context, struct skeleton_values *values, int tensor,
                          const loop_value *at)
{
    struct seq_code *code = context;
    int carry = carry_of(code->seq->loop, tensor);
    if (carry >= 0)
        return read_state(code, values, carry, at);
    for (int i = 0; i < code->seq->sum_count; i++) {
        if (code->seq->sums[i].contract.tensor == tensor)
            return read_sum(code, i, at);
    }
    return NULL;
}

/* ---- what leaves a step ---- */

static int collect_copy(struct seq_code *code, const struct seq_store *store, loop_value *stored,
                        const struct loop_buffer **buffer)
{
    struct skeleton_values *values = &code->values;
    const struct ir_write *write = &store->stage->writes[0];
    loop_value at[IR_MAX_RANK];
    for (int d = 0; d < code->seq->body.part->tensors[write->tensor].rank; d++)
        at[d] = skeleton_value(values, store->stage, write->at[d]);
    loop_value value = skeleton_value(values, store->stage, write->value);
    value = skeleton_round(values, write->tensor, value);
    if (store->state >= 0) {
        *buffer = code->states[store->state];
        stored[0] = state_place(code, store->state, code->next, at);
        value = skeleton_round(values, code->seq->loop->carries[store->state].state, value);
    } else {
        *buffer = skeleton_buffer(values, write->tensor);
        stored[0] = skeleton_offset(values, write->tensor, at);
    }
    stored[1] = value;
    return 1;
}

int seq_collect(struct seq_code *code, loop_value *stored, const struct loop_buffer **buffers)
{
    const struct seq *seq = code->seq;
    int count = 0;
    code->values.memo = NULL;
    for (int i = 0; i < seq->store_count; i++) {
        const struct ir_stage *stage = seq->stores[i].stage;
        int64_t copies = 1;
        for (int k = 0; k < stage->index_count; k++) {
            int index = stage->indices[k], axis = seq->axes[index];
            if (axis == SEQ_LANE)
                code->values.indices[index] = loop_of(code->arena, code->lane);
            else if (axis != SEQ_OTHER)
                code->values.indices[index] = code->rows[axis];
            else
                copies *=
                    skeleton_size(&code->values, seq->body.part->indices[index].extent)->integer;
        }
        for (int64_t copy = 0; copy < copies; copy++) {
            int64_t rest = copy;
            for (int k = 0; k < stage->index_count; k++) {
                int index = stage->indices[k];
                if (seq->axes[index] != SEQ_OTHER)
                    continue;
                int64_t size =
                    skeleton_size(&code->values, seq->body.part->indices[index].extent)->integer;
                code->values.indices[index] = loop_integer(code->arena, rest % size);
                rest /= size;
            }
            count += collect_copy(code, &seq->stores[i], &stored[2 * count], &buffers[count]);
        }
    }
    code->values.memo = NULL;
    return count;
}

/* ---- sizes and memory ---- */

static const struct ir_size *set_size(const struct contract *contract,
                                      const struct contract_indices *set)
{
    struct arena *arena = contract->group->arena;
    const struct ir_size *size = ir_size_constant(arena, 1);
    for (int i = 0; i < set->count; i++)
        size = ir_size_make(arena, IR_SIZE_MUL, size,
                            contract->group->part->indices[set->at[i]].extent);
    return size;
}

static const struct ir_size *size_ceil(struct arena *arena, const struct ir_size *a, int64_t by)
{
    a = ir_size_make(arena, IR_SIZE_ADD, a, ir_size_constant(arena, by - 1));
    return ir_size_make(arena, IR_SIZE_DIV, a, ir_size_constant(arena, by));
}

static struct loop_variable *counter_new(struct arena *arena, const char *name)
{
    struct loop_variable *counter = arena_new(arena, struct loop_variable);
    *counter = (struct loop_variable){name, LOOP_COUNTER, {DTYPE_I64, 1}, 0};
    return counter;
}

/* One panel per vector of columns: lane blocks of the first gate, of the second, and so on. */
static void sum_init(struct seq_code *code, int number)
{
    const struct seq *seq = code->seq;
    struct arena *arena = code->arena;
    struct contract_code *sum = &code->sums[number];
    const struct contract *contract = &seq->sums[number].contract;
    const struct contract_indices *columns = &contract->sets[CONTRACT_N];
    int lane = columns->at[columns->count - 1];
    const struct ir_size *lanes = contract->group->part->indices[lane].extent;
    const struct ir_size *blocks = size_ceil(arena, lanes, seq->lanes);
    const struct ir_size *terms = set_size(contract, &contract->sets[CONTRACT_K]);
    const struct ir_size *width = ir_size_constant(arena, seq->lanes);
    const struct ir_size *padded =
        ir_size_make(arena, IR_SIZE_MUL, size_ceil(arena, terms, seq->lanes), width);
    const struct ir_size *vectors =
        ir_size_make(arena, IR_SIZE_MUL, ir_size_constant(arena, seq->sums[number].gates), blocks);
    *sum = (struct contract_code){.contract = contract, .arena = arena, .kernel = code->kernel};
    sum->values = code->values;
    sum->values.group = contract->group;
    sum->lanes = seq->lanes;
    sum->rows = code->tile;
    sum->vectors = 1;
    sum->block_k = code->block_k;
    sum->pack_b = true;
    sum->merged = 1;
    sum->m = skeleton_size(&code->values, set_size(contract, &contract->sets[CONTRACT_M]));
    sum->k = skeleton_size(&code->values, terms);
    sum->lane_extent = skeleton_size(&code->values, lanes);
    sum->lane_blocks = skeleton_size(&code->values, blocks);
    sum->vector_total = sum->column_panels = skeleton_size(&code->values, vectors);
    sum->row_panels = skeleton_size(
        &code->values,
        size_ceil(arena, set_size(contract, &contract->sets[CONTRACT_M]), code->tile));
    sum->column_terms = skeleton_size(&code->values, padded);
    sum->lane = code->lane;
    const struct ir_size *count = ir_size_make(arena, IR_SIZE_MUL, vectors, padded);
    count = ir_size_make(arena, IR_SIZE_MUL, count, width);
    sum->b = loop_scratch(code->kernel, "weights", contract->dtype, count);
}

struct seq_code *seq_code_new(const struct seq *seq, struct loop_kernel *kernel, int tile,
                              int64_t block_k)
{
    struct arena *arena = kernel->arena;
    const struct ir_part *part = seq->group->part;
    struct seq_code *code = arena_new(arena, struct seq_code);
    *code = (struct seq_code){
        .seq = seq, .arena = arena, .kernel = kernel, .tile = tile, .block_k = block_k};
    code->values = (struct skeleton_values){
        .group = &seq->body, .kernel = kernel, .resolve = resolve, .context = code};
    code->values.indices = arena_array(arena, (size_t)part->index_count + 1, sizeof(loop_value));
    code->values.indices[seq->loop->loop_index] = loop_of(arena, counter_new(arena, "time"));
    code->lane = counter_new(arena, "lane");
    code->now = loop_of(arena, counter_new(arena, "now"));
    code->next = loop_of(arena, counter_new(arena, "next"));
    code->gates = arena_array(arena, (size_t)seq->gates + 1, sizeof *code->gates);
    code->sums = arena_array(arena, (size_t)seq->sum_count, sizeof *code->sums);
    code->states = arena_array(arena, (size_t)seq->loop->carry_count + 1, sizeof *code->states);
    for (int i = 0; i < seq->loop->carry_count; i++) {
        const struct ir_tensor *state = &part->tensors[seq->loop->carries[i].state];
        const struct ir_size *count = ir_size_constant(arena, 2);
        for (int d = 0; d < state->rank; d++)
            count = ir_size_make(arena, IR_SIZE_MUL, count, state->dims[d]);
        code->states[i] =
            loop_scratch(kernel, arena_printf(arena, "%s_steps", state->name), state->dtype, count);
    }
    for (int i = 0; i < seq->sum_count; i++)
        sum_init(code, i);
    return code;
}

/* ---- before and after the loop ---- */

static loop_value vector_count(struct seq_code *code, struct loop_block *block, loop_value extent,
                               loop_value from)
{
    loop_value count = loop_sub(code->arena, extent, from);
    count = loop_min(code->arena, count, loop_integer(code->arena, code->seq->lanes));
    return loop_of(code->arena, loop_let(block, "count", count));
}

/* A map that a state begins with, its last index in lanes. */
static void begin_state(struct seq_code *code, struct loop_block *block,
                        const struct ir_stage *stage)
{
    struct arena *arena = code->arena;
    const struct skeleton_group *group = code->seq->group;
    struct skeleton_values values = {.group = group, .kernel = code->kernel};
    values.indices = code->values.indices;
    int tensor = stage->writes[0].tensor, carry = carry_of(code->seq->loop, tensor);
    struct loop_variable *counter = NULL;
    loop_value zero = loop_integer(arena, 0), extent = loop_integer(arena, 1), at[IR_MAX_RANK];
    for (int i = 0; i < stage->index_count; i++) {
        bool last = i + 1 == stage->index_count;
        extent = skeleton_size(&values, group->part->indices[stage->indices[i]].extent);
        block = loop_for(block, LOOP_SERIAL, group->part->indices[stage->indices[i]].name, zero,
                         extent, last ? loop_integer(arena, code->seq->lanes) : NULL, &counter);
        values.indices[stage->indices[i]] = loop_of(arena, last ? code->lane : counter);
    }
    for (int d = 0; d < group->part->tensors[tensor].rank; d++)
        at[d] = skeleton_value(&values, stage, stage->writes[0].at[d]);
    loop_value offset = state_place(code, carry, zero, at);
    loop_value value =
        skeleton_round(&values, tensor, skeleton_value(&values, stage, stage->writes[0].value));
    if (!counter) {
        loop_store(block, code->states[carry], offset, value);
        return;
    }
    loop_value from = loop_of(arena, counter);
    struct skeleton_lanes lanes = {code->lane, code->seq->lanes, from,
                                   vector_count(code, block, extent, from)};
    skeleton_widen(block, &lanes, &value, 1);
    lanes_store(block, code->states[carry], offset, value, &lanes);
}

/* What others read of a state is where its tensor is. */
static void finish_state(struct seq_code *code, struct loop_block *block, int carry,
                         loop_value steps)
{
    struct arena *arena = code->arena;
    int tensor = code->seq->loop->carries[carry].state;
    struct loop_variable *counter;
    loop_value count = tensor_elements(code, tensor);
    loop_value which = loop_apply(arena, IR_FLOORMOD, steps, loop_integer(arena, 2), NULL);
    loop_value first = loop_of(arena, loop_let(block, "last", loop_mul(arena, which, count)));
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "place", loop_integer(arena, 0), count,
                                       loop_integer(arena, code->seq->lanes), &counter);
    loop_value from = loop_of(arena, counter), part = vector_count(code, body, count, from);
    loop_value value = loop_load_part(arena, code->states[carry], loop_add(arena, first, from),
                                      code->seq->lanes, part, NULL);
    loop_store(body, skeleton_buffer(&code->values, tensor), from, value)->count = part;
}

/* ---- a step ---- */

/* All gates of one sum for a tile of rows and a vector of columns, over one block of terms. */
static void tile_terms(struct seq_code *code, struct loop_block *block, int number,
                       const struct loop_buffer *sums, const loop_value *rows, loop_value vector,
                       loop_value from, loop_value to)
{
    struct arena *arena = code->arena;
    struct contract_code *sum = &code->sums[number];
    int gates = code->seq->sums[number].gates, lanes = code->seq->lanes;
    struct loop_variable *term;
    loop_value columns[SEQ_MAX_GATES];
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "term", from, to, NULL, &term);
    contract_open_set(sum, body, CONTRACT_K, loop_of(arena, term));
    for (int g = 0; g < gates; g++) {
        loop_value panel = loop_mul(arena, loop_integer(arena, g), sum->lane_blocks);
        panel = loop_add(arena, panel, vector);
        loop_value place = contract_column_place(sum, panel, loop_of(arena, term));
        columns[g] =
            loop_of(arena, loop_let(body, "column", loop_load(arena, sum->b, place, lanes)));
    }
    for (int r = 0; r < code->tile; r++) {
        contract_open_set(sum, body, CONTRACT_M, rows[r]);
        sum->values.memo = NULL;
        loop_value row = loop_of(arena, loop_let(body, "row", contract_factor(sum, false)));
        for (int g = 0; g < gates; g++) {
            loop_value place = loop_integer(arena, r * gates + g);
            loop_value old = loop_load(arena, sums, place, lanes);
            loop_store(body, sums, place, loop_add(arena, old, loop_mul(arena, row, columns[g])));
        }
    }
}

/* The sums of a tile, put where the maps find them: row after row, gate after gate. */
static void tile_sums(struct seq_code *code, struct loop_block *block, int number,
                      const struct loop_buffer *kept, loop_value panel, loop_value vector)
{
    struct arena *arena = code->arena;
    struct contract_code *sum = &code->sums[number];
    const struct seq_sum *of = &code->seq->sums[number];
    int lanes = code->seq->lanes;
    struct loop_variable *counter;
    loop_value rows[CONTRACT_MAX_ROWS], zero = loop_integer(arena, 0);
    loop_value last = loop_sub(arena, sum->m, loop_integer(arena, 1));
    for (int r = 0; r < code->tile; r++) {
        rows[r] = contract_row(sum, panel, loop_integer(arena, r));
        rows[r] = loop_of(arena, loop_let(block, "row", loop_min(arena, rows[r], last)));
    }
    loop_value step = loop_integer(arena, code->block_k);
    loop_value end = loop_apply(arena, IR_MAX, sum->k, loop_integer(arena, 1), NULL);
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "terms_from", zero, end, step, &counter);
    loop_note_loop(
        block, arena_printf(arena, "tile.m %d block.k %lld", code->tile, (long long)code->block_k));
    loop_value from = loop_of(arena, counter);
    loop_value to = loop_min(arena, loop_add(arena, from, step), sum->k);
    to = loop_of(arena, loop_let(body, "terms_to", to));
    const struct loop_buffer *sums =
        loop_stack(body, "sums", code->seq->dtype, lanes, code->tile * of->gates);
    for (int i = 0; i < code->tile * of->gates; i++)
        loop_store(body, sums, loop_integer(arena, i), loop_number(arena, 0, code->seq->dtype));
    tile_terms(code, body, number, sums, rows, vector, from, to);
    loop_value begins = loop_apply(arena, IR_EQ, from, zero, NULL);
    struct loop_block *first = loop_if(body, begins), *later = loop_else(body);
    for (int i = 0; i < code->tile * of->gates; i++) {
        int64_t gate = (int64_t)(i / of->gates) * code->seq->gates + of->first_gate + i % of->gates;
        loop_value place = loop_integer(arena, gate * lanes);
        loop_value value = loop_load(arena, sums, loop_integer(arena, i), lanes);
        loop_store(first, kept, place, value);
        loop_store(later, kept, place,
                   loop_add(arena, loop_load(arena, kept, place, lanes), value));
    }
}

/* The maps for one row of the tile. */
static void tile_row(struct seq_code *code, struct loop_block *block,
                     const struct loop_buffer *kept, loop_value panel, loop_value row,
                     loop_value vector)
{
    struct arena *arena = code->arena;
    const struct seq *seq = code->seq;
    struct contract_code *sum = &code->sums[0];
    const struct contract_indices *rows = &sum->contract->sets[CONTRACT_M];
    contract_open_set(sum, block, CONTRACT_M, contract_row(sum, panel, row));
    for (int i = 0; i < rows->count; i++) {
        loop_value index = code->values.indices[rows->at[i]];
        code->rows[i] = loop_of(arena, loop_let(block, "row", index));
    }
    for (int g = 0; g < seq->gates; g++) {
        loop_value place = loop_mul(arena, row, loop_integer(arena, seq->gates));
        place = loop_add(arena, place, loop_integer(arena, g));
        place = loop_mul(arena, place, loop_integer(arena, seq->lanes));
        loop_value value = loop_load(arena, kept, place, seq->lanes);
        code->gates[g] = loop_of(arena, loop_let(block, "gate", value));
    }
    loop_value stored[2 * SEQ_MAX_STAGES * SEQ_MAX_COPIES], values[SEQ_MAX_STAGES * SEQ_MAX_COPIES];
    const struct loop_buffer *buffers[SEQ_MAX_STAGES * SEQ_MAX_COPIES];
    int count = seq_collect(code, stored, buffers);
    loop_value from = loop_mul(arena, vector, loop_integer(arena, seq->lanes));
    from = loop_of(arena, loop_let(block, "column", from));
    struct skeleton_lanes lanes = {code->lane, seq->lanes, from,
                                   vector_count(code, block, sum->lane_extent, from)};
    for (int i = 0; i < count; i++)
        values[i] = stored[2 * i + 1];
    skeleton_widen(block, &lanes, values, count);
    for (int i = 0; i < count; i++)
        lanes_store(block, buffers[i], stored[2 * i], values[i], &lanes);
}

static void tile(struct seq_code *code, struct loop_block *block, loop_value panel,
                 loop_value vector)
{
    struct arena *arena = code->arena;
    const struct seq *seq = code->seq;
    struct contract_code *sum = &code->sums[0];
    struct loop_variable *row;
    const struct loop_buffer *kept =
        loop_stack(block, "gates", seq->dtype, 1, (int64_t)code->tile * seq->gates * seq->lanes);
    for (int i = 0; i < seq->sum_count; i++)
        tile_sums(code, block, i, kept, panel, vector);
    loop_value first = loop_mul(arena, panel, loop_integer(arena, code->tile));
    loop_value count =
        loop_min(arena, loop_integer(arena, code->tile), loop_sub(arena, sum->m, first));
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "row", loop_integer(arena, 0), count, NULL, &row);
    tile_row(code, body, kept, panel, loop_of(arena, row), vector);
}

/* The loop over time; `team`: threads are there for all of it. */
static struct loop_block *steps_loop(struct seq_code *code, struct loop_block *block,
                                     loop_value steps, bool team)
{
    struct arena *arena = code->arena;
    const struct ir_stage *loop = code->seq->loop;
    loop_value one = loop_integer(arena, 1), two = loop_integer(arena, 2);
    struct loop_variable *counter;
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "step", loop_integer(arena, 0), steps, NULL, &counter);
    if (team)
        loop_team(block);
    loop_value time = loop_of(arena, counter);
    code->now = loop_apply(arena, IR_FLOORMOD, time, two, NULL);
    code->now = loop_of(arena, loop_let(body, "now", code->now));
    code->next = loop_of(arena, loop_let(body, "next", loop_sub(arena, one, code->now)));
    if (loop->reverse)
        time = loop_of(arena,
                       loop_let(body, "time", loop_sub(arena, loop_sub(arena, steps, one), time)));
    code->values.indices[loop->loop_index] = time;
    return body;
}

static void lower_steps(struct seq_code *code, struct loop_block *block,
                        const struct plan_group *plan, loop_value steps)
{
    struct arena *arena = code->arena;
    struct contract_code *sum = &code->sums[0];
    bool rows = plan_is(plan, "parallel", "rows"), alone = plan_is(plan, "parallel", "none");
    enum loop_kind kind = rows || alone ? LOOP_SERIAL : LOOP_PARALLEL;
    loop_value zero = loop_integer(arena, 0);
    struct loop_variable *panel, *vector;
    struct loop_block *body = block;
    if (rows) {
        body = loop_for(block, LOOP_PARALLEL, "row_panel", zero, sum->row_panels, NULL, &panel);
        loop_note_loop(block, "parallel rows: each thread goes through all steps by itself");
    }
    body = steps_loop(code, body, steps, kind == LOOP_PARALLEL);
    struct loop_block *inner =
        loop_for(body, kind, "vector", zero, sum->lane_blocks, NULL, &vector);
    if (!rows)
        inner = loop_for(inner, kind, "row_panel", zero, sum->row_panels, NULL, &panel);
    tile(code, inner, loop_of(arena, panel), loop_of(arena, vector));
}

static void name_sizes(struct contract_code *sum, struct loop_block *block)
{
    const struct {
        const char *name;
        loop_value *size;
    } all[] = {{"rows", &sum->m},
               {"sum_terms", &sum->k},
               {"panel_terms", &sum->column_terms},
               {"lane_blocks", &sum->lane_blocks},
               {"vectors", &sum->vector_total},
               {"row_panels", &sum->row_panels}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i].size = loop_of(sum->arena, loop_let(block, all[i].name, *all[i].size));
    sum->column_panels = sum->vector_total;
}

void seq_lower(const struct skeleton_group *group, const struct plan_group *plan,
               struct loop_kernel *kernel)
{
    struct skeleton_reason why_not;
    struct skeleton_group *kept = arena_new(kernel->arena, struct skeleton_group);
    *kept = *group;
    kept->arena = kernel->arena;
    const struct seq *seq = seq_match_group(kept, &why_not);
    struct arena *arena = kernel->arena;
    struct seq_code *code = seq_code_new(seq, kernel, (int)plan_number(plan, "tile.m", 4),
                                         plan_number(plan, "block.k", 512));
    struct loop_block *block =
        loop_function(kernel, plan->name, "a recurrence, all gates of a tile in registers");
    bool alone = plan_is(plan, "parallel", "none");
    for (int i = 0; i < seq->sum_count; i++)
        name_sizes(&code->sums[i], block);
    loop_note(block, "weights as the steps read them");
    for (int i = 0; i < seq->sum_count; i++) {
        code->sums[i].serial = alone;
        contract_pack_columns(&code->sums[i], block, code->sums[i].column_panels,
                              loop_integer(arena, 0), code->sums[i].k);
    }
    loop_note(block, "states as they begin");
    for (int i = 0; i + 1 < group->stage_count; i++)
        begin_state(code, block, &group->part->stages[group->stages[i]]);
    loop_value steps =
        skeleton_size(&code->values, group->part->indices[seq->loop->loop_index].extent);
    lower_steps(code, block, plan, steps);
    for (int i = 0; i < seq->loop->carry_count; i++) {
        if (group->needed[seq->loop->carries[i].state])
            finish_state(code, block, i, steps);
    }
    loop_prune(block);
}
