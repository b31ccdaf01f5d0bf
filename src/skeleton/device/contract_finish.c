/*
 * contract on devices, what follows the sum: the maps of the group applied to a thread's sums, and
 * stores; or sums put aside by shares of the terms, and added up by a launch of its own.
 */
#include "skeleton/device/contract.h"
#include "skeleton/device/device.h"

static loop_value number(const struct blocks_code *code, int64_t value)
{
    return loop_integer(code->arena, value);
}

/* ---- results of neighbouring columns of a row ---- */

struct quad {
    struct blocks_code *code;
    int wide;
    int at;                                 /* which of them is finished now */
    loop_value columns[BLOCKS_MAX_COLUMNS]; /* their numbers, which may lie outside */
    loop_value digits[BLOCKS_MAX_COLUMNS][CONTRACT_MAX_INDICES];
    const struct loop_buffer **results;       /* per tensor: as they will be stored */
    loop_value (*places)[BLOCKS_MAX_COLUMNS]; /* per tensor, and of each */
};

/* A result is kept beside its neighbours, in the type of its tensor. */
static void quad_keep(void *context, struct loop_block *block, int tensor, loop_value offset,
                      loop_value value)
{
    struct quad *quad = context;
    struct arena *arena = quad->code->arena;
    const struct ir_tensor *info = &quad->code->contract->group->part->tensors[tensor];
    if (quad->at == 0)
        quad->results[tensor] = loop_stack(block, info->name, info->dtype, 1, quad->wide);
    loop_store(block, quad->results[tensor], loop_integer(arena, quad->at), value);
    quad->places[tensor][quad->at] = loop_of(arena, loop_let(block, "to", offset));
}

/* All at once where they are neighbours in memory and there are as many, else one by one. */
static void quad_store(struct quad *quad, struct loop_block *block, int tensor)
{
    struct blocks_code *code = quad->code;
    struct arena *arena = code->arena;
    int last = quad->wide - 1;
    const struct loop_buffer *to = skeleton_buffer(&code->code.values, tensor);
    const struct loop_buffer *from = quad->results[tensor];
    const loop_value *places = quad->places[tensor];
    bool fits = quad->wide * (int)dtype_bytes(to->dtype) <= BLOCKS_WIDE;
    if (quad->wide > 1 && fits && code->contract->written_contiguous) {
        loop_value rest = device_remainder(arena, places[0], number(code, quad->wide));
        loop_value whole = loop_apply(arena, IR_EQ, rest, number(code, 0), NULL);
        loop_value end = loop_add(arena, places[0], number(code, last));
        whole = loop_apply(arena, IR_AND, whole, loop_apply(arena, IR_EQ, places[last], end, NULL),
                           NULL);
        whole =
            loop_apply(arena, IR_AND, whole, loop_less(arena, quad->columns[last], code->n), NULL);
        loop_move(loop_if(block, whole), to, places[0], from, number(code, 0), quad->wide);
        block = loop_else(block);
    }
    for (int v = 0; v < quad->wide; v++)
        loop_store(loop_if(block, loop_less(arena, quad->columns[v], code->n)), to, places[v],
                   loop_load(arena, from, number(code, v), 1));
}

static void quad_open(struct quad *quad, struct loop_block *block, int first)
{
    struct blocks_code *code = quad->code;
    struct arena *arena = code->arena;
    const struct contract_indices *n = &code->contract->sets[CONTRACT_N];
    loop_value last = loop_sub(arena, code->n, number(code, 1));
    loop_value at =
        loop_add(arena, code->column_first, loop_add(arena, code->column, number(code, first)));
    for (int v = 0; v < quad->wide; v++) {
        loop_value column = loop_add(arena, at, number(code, v));
        quad->columns[v] = column = loop_of(arena, loop_let(block, "column", column));
        column = loop_of(arena, loop_let(block, "inside", loop_min(arena, column, last)));
        contract_open_set(&code->code, block, CONTRACT_N, column);
        for (int j = 0; j < n->count; j++)
            quad->digits[v][j] = code->code.values.indices[n->at[j]];
    }
}

/* The row is open; its sums begin at `sums`. */
static void quad_finish(struct quad *quad, struct loop_block *block, loop_value sums)
{
    struct blocks_code *code = quad->code;
    struct arena *arena = code->arena;
    const struct contract *contract = code->contract;
    const struct contract_indices *n = &contract->sets[CONTRACT_N];
    struct skeleton_lanes lanes = {.variable = code->code.lane, .lanes = 1};
    lanes.from = number(code, 0);
    for (quad->at = 0; quad->at < quad->wide; quad->at++) {
        for (int j = 0; j < n->count; j++)
            code->code.values.indices[n->at[j]] = quad->digits[quad->at][j];
        loop_value sum =
            loop_load(arena, code->sums, loop_add(arena, sums, number(code, quad->at)), 1);
        contract_finish(&code->code, block, loop_of(arena, loop_let(block, "sum", sum)), &lanes);
    }
    for (int t = 0; t < contract->group->part->tensor_count; t++) {
        if (quad->results[t])
            quad_store(quad, block, t);
    }
}

/* ---- a thread's sums ---- */

/* Loops over the rows of a thread: the body, and the number of the row and of its first sum. */
static struct loop_block *each_row(struct blocks_code *code, struct loop_block *block,
                                   loop_value *row, loop_value *sums)
{
    struct arena *arena = code->arena;
    const struct blocks_decisions *d = &code->d;
    struct loop_variable *group, *line;
    block = loop_for(block, LOOP_UNROLL, "quad", number(code, 0),
                     number(code, d->thread_m / d->quad_m), NULL, &group);
    block =
        loop_for(block, LOOP_UNROLL, "line", number(code, 0), number(code, d->quad_m), NULL, &line);
    loop_value far =
        loop_mul(arena, loop_of(arena, group), number(code, (int64_t)d->quad_m * d->lanes_m));
    *row = loop_add(arena, loop_add(arena, code->row_first, code->row),
                    loop_add(arena, far, loop_of(arena, line)));
    *row = loop_of(arena, loop_let(block, "row", *row));
    loop_value which =
        loop_add(arena, loop_mul(arena, loop_of(arena, group), number(code, d->quad_m)),
                 loop_of(arena, line));
    *sums = loop_mul(arena, which, number(code, d->thread_n));
    return loop_if(block, loop_less(arena, *row, code->m));
}

/* Where a share puts a sum: [share][slice][row][column]. */
static loop_value partial_place(struct blocks_code *code, loop_value share, loop_value slice,
                                loop_value row, loop_value column)
{
    struct arena *arena = code->arena;
    loop_value place = loop_add(arena, loop_mul(arena, share, code->batch), slice);
    place = loop_add(arena, loop_mul(arena, place, code->m), row);
    return loop_add(arena, loop_mul(arena, place, code->n), column);
}

static void put_aside(struct blocks_code *code, struct loop_block *block)
{
    struct arena *arena = code->arena;
    const struct blocks_decisions *d = &code->d;
    loop_value row, sums;
    struct loop_block *body = each_row(code, block, &row, &sums);
    for (int j = 0; j < d->thread_n; j++) {
        int at = j / d->quad_n * d->quad_n * d->lanes_n + j % d->quad_n;
        loop_value column =
            loop_add(arena, loop_add(arena, code->column_first, code->column), number(code, at));
        loop_value place = partial_place(code, code->share, code->slice, row, column);
        loop_store(loop_if(body, loop_less(arena, column, code->n)), code->partial, place,
                   loop_load(arena, code->sums, loop_add(arena, sums, number(code, j)), 1));
    }
}

void blocks_finish(struct blocks_code *code, struct loop_block *block)
{
    const struct blocks_decisions *d = &code->d;
    struct arena *arena = code->arena;
    size_t tensors = (size_t)code->contract->group->part->tensor_count + 1;
    if (d->split > 1) {
        put_aside(code, block);
        return;
    }
    for (int q = 0; q < d->thread_n / d->quad_n; q++) {
        struct quad quad = {.code = code, .wide = d->quad_n};
        quad.results = arena_array(arena, tensors, sizeof *quad.results);
        quad.places = arena_array(arena, tensors, sizeof *quad.places);
        loop_value row, sums;
        quad_open(&quad, block, q * d->quad_n * d->lanes_n);
        struct loop_block *body = each_row(code, block, &row, &sums);
        contract_open_set(&code->code, body, CONTRACT_M, row);
        code->code.store = quad_keep;
        code->code.store_context = &quad;
        quad_finish(&quad, body, loop_add(arena, sums, number(code, (int64_t)q * d->quad_n)));
        code->code.store = NULL;
    }
}

/* ---- shares of the terms ---- */

enum { JOIN_THREADS = 256 };

static void store_one(void *context, struct loop_block *block, int tensor, loop_value offset,
                      loop_value value)
{
    struct blocks_code *code = context;
    loop_store(block, skeleton_buffer(&code->code.values, tensor), offset, value);
}

/* One element per thread. */
void blocks_join(struct blocks_code *code, const char *name)
{
    struct arena *arena = code->arena;
    const struct ir_size *count =
        ir_size_make(arena, IR_SIZE_MUL, blocks_size(code, CONTRACT_BATCH),
                     ir_size_make(arena, IR_SIZE_MUL, blocks_size(code, CONTRACT_M),
                                  blocks_size(code, CONTRACT_N)));
    struct loop_launch launch = {.grid = {blocks_ceil(code, count, JOIN_THREADS)},
                                 .block = {JOIN_THREADS}};
    struct loop_block *block =
        loop_launch(code->code.kernel, arena_printf(arena, "%s_join", name),
                    "the sums of all shares of the terms, and what follows them", &launch);
    loop_value at =
        loop_add(arena, loop_mul(arena, loop_block_number(arena, 0), number(code, JOIN_THREADS)),
                 loop_thread_number(arena, 0));
    at = loop_of(arena, loop_let(block, "element", at));
    loop_value all = skeleton_size(&code->code.values, count);
    struct loop_block *body = loop_if(block, loop_less(arena, at, all));
    loop_value column = device_remainder(arena, at, code->n);
    column = loop_of(arena, loop_let(body, "column", column));
    loop_value rest = device_quotient(arena, at, code->n);
    rest = loop_of(arena, loop_let(body, "rest", rest));
    loop_value row = device_remainder(arena, rest, code->m);
    row = loop_of(arena, loop_let(body, "row", row));
    loop_value slice = device_quotient(arena, rest, code->m);
    slice = loop_of(arena, loop_let(body, "slice", slice));
    contract_open_set(&code->code, body, CONTRACT_BATCH, slice);
    contract_open_set(&code->code, body, CONTRACT_M, row);
    contract_open_set(&code->code, body, CONTRACT_N, column);
    struct loop_variable *share;
    struct loop_variable *total = loop_let(
        body, "total", loop_unit(arena, IR_SUM, (struct loop_type){code->contract->dtype, 1}));
    struct loop_block *inner = loop_for(body, LOOP_SERIAL, "share", number(code, 0),
                                        number(code, code->d.split), NULL, &share);
    loop_value part = loop_load(arena, code->partial,
                                partial_place(code, loop_of(arena, share), slice, row, column), 1);
    loop_set(inner, total, loop_add(arena, loop_of(arena, total), part));
    struct skeleton_lanes lanes = {.variable = code->code.lane, .lanes = 1};
    lanes.from = number(code, 0);
    code->code.store = store_one;
    code->code.store_context = code;
    contract_finish(&code->code, body, loop_of(arena, total), &lanes);
    code->code.store = NULL;
    loop_prune(block);
}
