/*
 * contract on devices, how tiles of the factors come to shared memory: each thread fetches some
 * elements into registers, and puts them where all threads of the block read them.
 *
 * Rows and columns beyond the last are the last one again: they are multiplied and never stored.
 * Terms beyond the last are zero in both factors, since a product with anything else may be NaN.
 */
#include <string.h>

#include "skeleton/device/contract.h"
#include "skeleton/device/device.h"

static loop_value number(const struct blocks_code *code, int64_t value)
{
    return loop_integer(code->arena, value);
}

static loop_value modulo(const struct blocks_code *code, loop_value value, int64_t by)
{
    return device_remainder(code->arena, value, number(code, by));
}

static bool is_true(loop_value value)
{
    return value->op == LOOP_INTEGER && value->integer;
}

static loop_value both(const struct blocks_code *code, loop_value a, loop_value b)
{
    if (!a || is_true(a))
        return b;
    return is_true(b) ? a : loop_apply(code->arena, IR_AND, a, b, NULL);
}

static enum contract_set set_of(const struct blocks_bring *bring)
{
    return bring->second ? CONTRACT_N : CONTRACT_M;
}

static loop_value first_of(const struct blocks_code *code, const struct blocks_bring *bring)
{
    return bring->second ? code->column_first : code->row_first;
}

static loop_value total_of(const struct blocks_code *code, const struct blocks_bring *bring)
{
    return bring->second ? code->n : code->m;
}

/* ---- which elements ---- */

/* Load number i of a thread: of all vectors of the tile every `threads`-th is its. */
static void open_places(struct blocks_code *code, struct loop_block *block,
                        struct blocks_bring *bring)
{
    struct arena *arena = code->arena;
    int threads = code->d.threads, groups = bring->groups;
    bool same = threads % groups == 0; /* a thread stays at its place along the neighbours */
    loop_value near = same ? modulo(code, code->thread, groups) : code->thread;
    loop_value far = device_quotient(arena, code->thread, number(code, groups));
    near = loop_mul(arena, near, number(code, bring->vector));
    near = loop_of(arena, loop_let(block, bring->along ? "term_at" : "at", near));
    far = same ? loop_of(arena, loop_let(block, bring->along ? "at" : "term_at", far))
               : number(code, 0);
    for (int i = 0; i < bring->loads; i++) {
        int64_t turns = same ? 0 : i % (groups / threads) * (int64_t)threads * bring->vector;
        int64_t lines = same ? i * (int64_t)(threads / groups) : i / (groups / threads);
        loop_value along = loop_add(arena, near, number(code, turns));
        loop_value across = loop_add(arena, far, number(code, lines));
        bring->place[i] = bring->along ? across : along;
        bring->term[i] = bring->along ? along : across;
    }
}

/* The indices that stand for a row or column, from its number. */
static void open_number(struct blocks_code *code, struct loop_block *block,
                        const struct blocks_bring *bring, loop_value place, int vector)
{
    struct arena *arena = code->arena;
    loop_value last = loop_sub(arena, total_of(code, bring), number(code, vector));
    loop_value at = loop_min(arena, loop_add(arena, first_of(code, bring), place), last);
    at = loop_of(arena, loop_let(block, bring->second ? "column" : "row", at));
    contract_open_set(&code->code, block, set_of(bring), at);
}

static void open_digits(struct blocks_code *code, struct loop_block *block,
                        struct blocks_bring *bring)
{
    const struct contract_indices *set = &code->contract->sets[set_of(bring)];
    size_t bytes = sizeof bring->digits[0];
    for (int i = 0; i < bring->loads; i++) {
        if (i > 0 && loop_equal(bring->place[i], bring->place[i - 1])) {
            memcpy(bring->digits[i], bring->digits[i - 1], bytes);
            continue;
        }
        open_number(code, block, bring, bring->place[i], bring->along ? 1 : bring->vector);
        for (int j = 0; j < set->count; j++)
            bring->digits[i][j] = code->code.values.indices[set->at[j]];
    }
}

/* Lines of the tensor, and what neighbours run over, are whole vectors. */
static loop_value is_aligned(struct blocks_code *code, const struct blocks_bring *bring)
{
    struct arena *arena = code->arena;
    const struct ir_part *part = code->contract->group->part;
    const struct ir_tensor *tensor = &part->tensors[bring->tensor];
    const struct contract_indices *set = &code->contract->sets[set_of(bring)];
    loop_value zero = number(code, 0);
    loop_value line = skeleton_size(&code->code.values, tensor->dims[tensor->rank - 1]);
    loop_value whole = loop_apply(arena, IR_EQ, modulo(code, line, bring->vector), zero, NULL);
    if (bring->along)
        return whole;
    loop_value extent =
        skeleton_size(&code->code.values, part->indices[set->at[set->count - 1]].extent);
    return both(code, whole,
                loop_apply(arena, IR_EQ, modulo(code, extent, bring->vector), zero, NULL));
}

void blocks_bring_open(struct blocks_code *code, struct loop_block *block,
                       struct blocks_bring *bring)
{
    open_places(code, block, bring);
    if (!bring->packed)
        open_digits(code, block, bring);
    if (bring->vector > 1 && !bring->packed) {
        loop_value aligned = is_aligned(code, bring);
        bring->aligned = aligned->op == LOOP_INTEGER
                             ? aligned
                             : loop_of(code->arena, loop_let(block, "aligned", aligned));
    }
    bring->held = loop_stack(block, bring->second ? "next_columns" : "next_rows", bring->dtype, 1,
                             (int64_t)bring->loads * bring->vector);
}

/* ---- fetching ---- */

static void use_digits(struct blocks_code *code, const struct blocks_bring *bring, int load)
{
    const struct contract_indices *set = &code->contract->sets[set_of(bring)];
    for (int j = 0; j < set->count; j++)
        code->code.values.indices[set->at[j]] = bring->digits[load][j];
}

/* The node that reads a factor of one element. */
static const struct ir_node *bare_read(const struct contract *contract, bool second)
{
    for (int i = 0; i < contract->term_count; i++) {
        if (contract->terms[i].second == second)
            return &contract->stage->nodes.at[contract->terms[i].node];
    }
    return NULL;
}

static loop_value offset_here(struct blocks_code *code, const struct blocks_bring *bring)
{
    const struct ir_node *read = bare_read(code->contract, bring->second);
    loop_value at[IR_MAX_RANK];
    int rank = code->contract->group->part->tensors[bring->tensor].rank;
    for (int i = 0; i < rank; i++)
        at[i] = skeleton_value(&code->code.values, code->contract->stage, read->read.at[i]);
    return skeleton_offset(&code->code.values, bring->tensor, at);
}

static void fetch_whole(struct blocks_code *code, struct loop_block *block,
                        const struct blocks_bring *bring)
{
    for (int i = 0; i < bring->loads; i++) {
        loop_value held = number(code, (int64_t)i * bring->vector);
        use_digits(code, bring, i);
        blocks_open_term(code, block, bring->term[i]);
        if (bring->vector == 1)
            loop_store(block, bring->held, held, contract_factor(&code->code, bring->second));
        else
            loop_move(block, bring->held, held, skeleton_buffer(&code->code.values, bring->tensor),
                      offset_here(code, bring), bring->vector);
    }
}

/* The factor at the indices that are open, zero where `there` is false. */
static loop_value factor_where(struct blocks_code *code, bool second, loop_value there)
{
    code->code.values.guard = there;
    loop_value value = contract_factor(&code->code, second);
    code->code.values.guard = NULL;
    if (value->op == LOOP_LOAD && !value->otherwise) /* zero already */
        return value;
    return loop_select(code->arena, there, value, loop_unit(code->arena, IR_SUM, value->type));
}

static loop_value is_term(const struct blocks_code *code, loop_value term)
{
    loop_value at = loop_add(code->arena, loop_of(code->arena, code->term), term);
    return loop_less(code->arena, at, code->k);
}

/* Element by element, with a look at each term whether there is one. */
static void fetch_edges(struct blocks_code *code, struct loop_block *block,
                        const struct blocks_bring *bring)
{
    struct arena *arena = code->arena;
    for (int i = 0; i < bring->loads; i++) {
        struct loop_block *body = block;
        loop_value step = number(code, 0), term = bring->term[i];
        if (bring->vector > 1) {
            struct loop_variable *each;
            body = loop_for(block, LOOP_UNROLL, "each", number(code, 0),
                            number(code, bring->vector), NULL, &each);
            step = loop_of(arena, each);
        }
        if (bring->along)
            term = loop_add(arena, term, step);
        if (bring->along || bring->vector == 1)
            use_digits(code, bring, i);
        else
            open_number(code, body, bring, loop_add(arena, bring->place[i], step), 1);
        blocks_open_term(code, body, term);
        loop_value held = loop_add(arena, number(code, (int64_t)i * bring->vector), step);
        loop_store(body, bring->held, held, factor_where(code, bring->second, is_term(code, term)));
    }
}

static void fetch_packed(struct blocks_code *code, struct loop_block *block,
                         const struct blocks_bring *bring)
{
    struct arena *arena = code->arena;
    loop_value tiles = bring->second ? code->column_tiles : code->row_tiles;
    loop_value padded = loop_mul(arena, tiles, number(code, bring->span));
    loop_value tile =
        loop_add(arena, loop_mul(arena, code->slice, code->term_tiles), loop_of(arena, code->tile));
    for (int i = 0; i < bring->loads; i++) {
        loop_value term =
            loop_add(arena, loop_mul(arena, tile, number(code, code->d.tile_k)), bring->term[i]);
        loop_value offset = loop_add(arena, loop_mul(arena, term, padded),
                                     loop_add(arena, first_of(code, bring), bring->place[i]));
        loop_move(block, bring->held, number(code, (int64_t)i * bring->vector), bring->panel,
                  offset, bring->vector);
    }
}

static struct loop_block *for_active(struct blocks_code *code, struct loop_block *block,
                                     const struct blocks_bring *bring)
{
    if (bring->active >= code->d.threads)
        return block;
    return loop_if(block, loop_less(code->arena, code->thread, number(code, bring->active)));
}

void blocks_bring_fetch(struct blocks_code *code, struct loop_block *block,
                        const struct blocks_bring *bring)
{
    struct arena *arena = code->arena;
    block = for_active(code, block, bring);
    if (bring->packed) {
        fetch_packed(code, block, bring);
        return;
    }
    bool whole_tiles = code->k->op == LOOP_INTEGER && code->k->integer % code->d.tile_k == 0;
    loop_value end = loop_add(arena, loop_of(arena, code->term), number(code, code->d.tile_k));
    loop_value whole =
        whole_tiles ? loop_bool(arena, true) : loop_apply(arena, IR_LE, end, code->k, NULL);
    if (bring->aligned)
        whole = both(code, bring->aligned, whole);
    if (is_true(whole)) {
        fetch_whole(code, block, bring);
        return;
    }
    fetch_whole(code, loop_if(block, whole), bring);
    fetch_edges(code, loop_else(block), bring);
}

/* ---- putting ---- */

/* Neighbours in shared memory, all of them at once; converted first where types differ. */
static void put_neighbours(struct blocks_code *code, struct loop_block *block,
                           const struct blocks_bring *bring, int load, loop_value to)
{
    struct arena *arena = code->arena;
    const struct loop_buffer *from = bring->held;
    int64_t first = (int64_t)load * bring->vector;
    int most = BLOCKS_WIDE / (int)dtype_bytes(bring->shared->dtype);
    int wide = bring->vector < most ? bring->vector : most;
    if (from->dtype != bring->shared->dtype) {
        const struct loop_buffer *wider =
            loop_stack(block, "wider", bring->shared->dtype, 1, bring->vector);
        for (int v = 0; v < bring->vector; v++)
            loop_store(block, wider, number(code, v),
                       loop_load(arena, from, number(code, first + v), 1));
        from = wider;
        first = 0;
    }
    for (int v = 0; v < bring->vector; v += wide)
        loop_move(block, bring->shared, loop_add(arena, to, number(code, v)), from,
                  number(code, first + v), wide);
}

void blocks_bring_put(struct blocks_code *code, struct loop_block *block,
                      const struct blocks_bring *bring, loop_value stage)
{
    struct arena *arena = code->arena;
    block = for_active(code, block, bring);
    loop_value base = loop_mul(arena, stage, number(code, (int64_t)code->d.tile_k * bring->stride));
    for (int i = 0; i < bring->loads; i++) {
        loop_value line = loop_mul(arena, bring->term[i], number(code, bring->stride));
        loop_value to = loop_add(arena, loop_add(arena, base, line), bring->place[i]);
        if (!bring->along && bring->vector > 1) {
            put_neighbours(code, block, bring, i, to);
            continue;
        }
        for (int v = 0; v < bring->vector; v++)
            loop_store(
                block, bring->shared, loop_add(arena, to, number(code, (int64_t)v * bring->stride)),
                loop_load(arena, bring->held, number(code, (int64_t)i * bring->vector + v), 1));
    }
}

/* ---- packing ---- */

enum { PACK_THREADS = 256 };

/* One element per thread: panel[slice][tile of terms][term][row]. */
void blocks_pack(struct blocks_code *code, struct blocks_bring *bring, const char *name)
{
    struct arena *arena = code->arena;
    const struct ir_size *padded = blocks_ceil(code, blocks_size(code, set_of(bring)), bring->span);
    padded = ir_size_make(arena, IR_SIZE_MUL, padded, ir_size_constant(arena, bring->span));
    const struct ir_size *lines = ir_size_make(arena, IR_SIZE_MUL, blocks_term_tiles(code),
                                               ir_size_constant(arena, code->d.tile_k));
    lines = ir_size_make(arena, IR_SIZE_MUL, lines, blocks_size(code, CONTRACT_BATCH));
    const struct ir_size *count = ir_size_make(arena, IR_SIZE_MUL, lines, padded);
    bring->panel = loop_scratch(code->code.kernel, bring->second ? "columns" : "rows",
                                code->contract->dtype, count);
    struct loop_launch launch = {.grid = {blocks_ceil(code, count, PACK_THREADS)},
                                 .block = {PACK_THREADS}};
    struct loop_block *block =
        loop_launch(code->code.kernel, arena_printf(arena, "%s_pack", name),
                    bring->second ? "columns, in the order in which they are read"
                                  : "rows, in the order in which they are read",
                    &launch);
    loop_value all = skeleton_size(&code->code.values, count);
    loop_value at =
        loop_add(arena, loop_mul(arena, loop_block_number(arena, 0), number(code, PACK_THREADS)),
                 loop_thread_number(arena, 0));
    at = loop_of(arena, loop_let(block, "element", at));
    struct loop_block *body = loop_if(block, loop_less(arena, at, all));
    loop_value wide = skeleton_size(&code->code.values, padded);
    loop_value place = device_remainder(arena, at, wide);
    loop_value line = device_quotient(arena, at, wide);
    place = loop_of(arena, loop_let(body, "place", place));
    line = loop_of(arena, loop_let(body, "line", line));
    loop_value term = loop_of(arena, loop_let(body, "term", modulo(code, line, code->d.tile_k)));
    loop_value tile = device_quotient(arena, line, number(code, code->d.tile_k));
    tile = loop_of(arena, loop_let(body, "tile", tile));
    loop_value tiles = skeleton_size(&code->code.values, blocks_term_tiles(code));
    loop_value slice = device_quotient(arena, tile, tiles);
    contract_open_set(&code->code, body, CONTRACT_BATCH,
                      loop_of(arena, loop_let(body, "slice", slice)));
    blocks_open_terms(code, body, device_remainder(arena, tile, tiles));
    code->column_first = code->row_first = number(code, 0);
    open_number(code, body, bring, place, 1);
    blocks_open_term(code, body, term);
    loop_store(body, bring->panel, at, factor_where(code, bring->second, is_term(code, term)));
    loop_prune(block);
}
