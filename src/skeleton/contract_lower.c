/*
 * contract, the loops around the tiles: batch, blocks of terms, packing, blocks shared out among
 * threads.
 */
#include "skeleton/contract.h"

/* ---- sizes ---- */

static const struct ir_size *size_of(struct arena *arena, int64_t value)
{
    return ir_size_constant(arena, value);
}

static const struct ir_size *size_ceil(struct arena *arena, const struct ir_size *a, int64_t by)
{
    a = ir_size_make(arena, IR_SIZE_ADD, a, size_of(arena, by - 1));
    return ir_size_make(arena, IR_SIZE_DIV, a, size_of(arena, by));
}

/* How many values the indices of a set from `first` up to `end` have together. */
static const struct ir_size *set_size(const struct contract *contract, enum contract_set set,
                                      int first, int end)
{
    struct arena *arena = contract->group->arena;
    const struct ir_size *size = size_of(arena, 1);
    for (int i = first; i < end; i++) {
        int index = contract->sets[set].at[i];
        size = ir_size_make(arena, IR_SIZE_MUL, size, contract->group->part->indices[index].extent);
    }
    return size;
}

struct sizes {
    const struct ir_size *m, *k, *batch, *lanes, *lane_blocks, *vectors, *row_panels,
        *column_panels, *room_a, *room_b;
};

/* Panels a share has in one block, at most. */
static const struct ir_size *room(struct arena *arena, const struct ir_size *panels, int64_t split,
                                  int64_t block)
{
    const struct ir_size *most = size_of(arena, block > 0 ? block : 1);
    return ir_size_make(arena, IR_SIZE_MIN, size_ceil(arena, panels, split), most);
}

static struct sizes sizes_make(const struct contract_code *code)
{
    const struct contract *contract = code->contract;
    const struct contract_indices *n = &contract->sets[CONTRACT_N];
    struct arena *arena = contract->group->arena;
    struct sizes sizes;
    sizes.m = set_size(contract, CONTRACT_M, 0, contract->sets[CONTRACT_M].count);
    sizes.k = set_size(contract, CONTRACT_K, 0, contract->sets[CONTRACT_K].count);
    sizes.batch = set_size(contract, CONTRACT_BATCH, 0, contract->sets[CONTRACT_BATCH].count);
    int outer = n->count - code->merged;
    sizes.lanes = set_size(contract, CONTRACT_N, outer, n->count);
    sizes.lane_blocks = size_ceil(arena, sizes.lanes, code->lanes);
    sizes.vectors = ir_size_make(arena, IR_SIZE_MUL, set_size(contract, CONTRACT_N, 0, outer),
                                 code->along ? sizes.lanes : sizes.lane_blocks);
    sizes.row_panels = size_ceil(arena, sizes.m, code->rows);
    sizes.column_panels = size_ceil(arena, sizes.vectors, code->vectors);
    bool alone = code->slices || code->serial;
    sizes.room_a =
        room(arena, sizes.row_panels, alone ? 1 : code->split_m, code->block_m / code->rows);
    sizes.room_b = room(arena, sizes.column_panels, code->split_n,
                        code->block_n / contract_column_width(code));
    return sizes;
}

/* ---- memory ---- */

static const struct loop_buffer *scratch(struct contract_code *code, const char *name,
                                         enum dtype dtype, const struct ir_size *panels,
                                         const struct sizes *sizes, int64_t width, int64_t shares)
{
    struct arena *arena = code->arena;
    const struct ir_size *count = ir_size_make(arena, IR_SIZE_MUL, panels, size_of(arena, width));
    if (code->slices)
        count = ir_size_make(arena, IR_SIZE_MUL, count, sizes->batch);
    else if (shares > 1)
        count = ir_size_make(arena, IR_SIZE_MUL, count, size_of(arena, shares));
    return loop_scratch(code->kernel, name, dtype, count);
}

/* Of words: packed rows have room for whole words, and a little more where rows lie side by side,
 * so that neighbours do not meet in the cache. */
static void make_word_buffers(struct contract_code *code, const struct sizes *sizes)
{
    enum { ROUND = 64 };
    struct arena *arena = code->arena;
    int64_t width = (int64_t)code->vectors * code->lanes;
    const struct ir_size *length = size_of(arena, code->block_k);
    if (code->whole_rows)
        length = ir_size_make(arena, IR_SIZE_MUL, size_ceil(arena, sizes->k, ROUND),
                              size_of(arena, ROUND));
    if (code->atom->rows == 1)
        length = ir_size_make(arena, IR_SIZE_ADD, length, size_of(arena, ROUND));
    code->row_length = skeleton_size(&code->values, length);
    const struct ir_size *panels = code->rows_by_block ? sizes->room_a : sizes->row_panels;
    int64_t shares = code->rows_by_block && !code->serial ? code->split_m * code->split_n : 1;
    code->a =
        scratch(code, "rows", code->row_dtype, ir_size_make(arena, IR_SIZE_MUL, panels, length),
                sizes, (int64_t)code->rows * code->parts, shares);
    if (code->piece)
        code->aside = scratch(code, "aside",
                              code->contract->factors == CONTRACT_BYTES ? DTYPE_I32 : DTYPE_F32,
                              panels, sizes, code->rows * width, shares);
    if (code->parts > 1)
        code->row_outside = scratch(code, "outside", DTYPE_F32, panels, sizes, 1, shares);
    if (code->whole_rows)
        return;
    code->b = scratch(code, "columns", code->column_dtype, sizes->column_panels, sizes,
                      code->block_k * width * code->parts, 1);
    if (code->parts > 1)
        code->column_outside =
            scratch(code, "outside", DTYPE_F32, sizes->column_panels, sizes, 1, 1);
    if (contract_rows_moved(code))
        code->column_sums =
            scratch(code, "column_sums", DTYPE_I64, sizes->column_panels, sizes, width, 1);
}

/* The same for the columns of one thread. */
static void stack_columns(struct contract_code *code, struct loop_block *block, int64_t panels)
{
    int64_t width = (int64_t)code->vectors * code->lanes, count = panels * width * code->block_k;
    if (!code->atom) {
        code->b = loop_stack(block, "columns", code->contract->dtype, 1, count);
        return;
    }
    code->b = loop_stack(block, "columns", code->column_dtype, 1, count * code->parts);
    if (code->parts > 1)
        code->column_outside = loop_stack(block, "outside", DTYPE_F32, 1, panels);
    if (contract_rows_moved(code))
        code->column_sums = loop_stack(block, "column_sums", DTYPE_I64, 1, panels * width);
}

static void make_panels(struct contract_code *code, const struct sizes *sizes)
{
    struct arena *arena = code->arena;
    int64_t shares = code->shares ? code->split_m * code->split_n * code->split_k : 1;
    const struct ir_size *terms = code->whole_rows ? sizes->k : size_of(arena, code->block_k);
    enum dtype dtype = code->contract->dtype;
    terms = ir_size_make(arena, IR_SIZE_ADD, terms, size_of(arena, CONTRACT_SPARE_TERMS));
    if (code->pack_a)
        code->a = scratch(code, "rows", dtype,
                          ir_size_make(arena, IR_SIZE_MUL,
                                       code->shares ? sizes->room_a : sizes->row_panels, terms),
                          sizes, code->rows, shares);
    if (code->pack_b && !code->whole_rows)
        code->b =
            scratch(code, "columns", dtype, code->shares ? sizes->room_b : sizes->column_panels,
                    sizes, code->block_k * contract_column_width(code), shares);
}

static void make_buffers(struct contract_code *code, const struct sizes *sizes)
{
    struct arena *arena = code->arena;
    int64_t width = (int64_t)code->vectors * code->lanes;
    if (code->atom)
        make_word_buffers(code, sizes);
    else
        make_panels(code, sizes);
    const struct ir_size *tiles =
        ir_size_make(arena, IR_SIZE_MUL, sizes->row_panels, sizes->column_panels);
    /* none when all terms are one block of one share */
    const struct ir_size *blocks = size_ceil(arena, sizes->k, code->block_k);
    blocks = ir_size_make(arena, IR_SIZE_MAX, blocks, size_of(arena, 1));
    blocks = ir_size_make(arena, IR_SIZE_SUB, blocks, size_of(arena, 1));
    blocks = ir_size_make(arena, IR_SIZE_MIN, blocks, size_of(arena, 1));
    if (code->split_k == 1)
        tiles = ir_size_make(arena, IR_SIZE_MUL, tiles, blocks);
    code->partial = scratch(code, "partial", code->contract->dtype, tiles, sizes,
                            code->rows * width, code->split_k);
}

/* ---- loops ---- */

static void lower_product(struct contract_code *code, struct loop_block *block)
{
    loop_value first, terms;
    struct loop_block *body = contract_terms_loop(code, block, &first, &terms);
    if (code->pack_a && !code->rows_by_block)
        contract_pack_rows(code, body, first, terms);
    if (code->pack_b)
        contract_pack_columns(code, body, code->column_panels, first, terms);
    contract_lower_tiles(code, body, first, terms);
}

/*
 * Threads take columns: each packs the columns it works on, a block that stays in its own cache,
 * and goes through all rows, which were packed before.
 */
static void lower_columns(struct contract_code *code, struct loop_block *block)
{
    struct arena *arena = code->arena;
    int64_t width = (int64_t)code->vectors * code->lanes;
    int64_t wide = code->block_n / width > 0 ? code->block_n / width : 1;
    loop_value zero = loop_integer(arena, 0), first, terms;
    struct loop_variable *from, *row, *column;
    if (code->pack_a)
        contract_pack_rows(code, block, zero, code->k);
    struct loop_block *body = loop_for(block, LOOP_PARALLEL, "columns_from", zero,
                                       code->column_panels, loop_integer(arena, wide), &from);
    loop_note_loop(block, arena_printf(arena, "block.n %lld", (long long)code->block_n));
    loop_value to = loop_add(arena, loop_of(arena, from), loop_integer(arena, wide));
    to = loop_of(arena, loop_let(body, "columns_to", loop_min(arena, to, code->column_panels)));
    if (code->pack_b)
        stack_columns(code, body, wide);
    code->column_from = loop_of(arena, from);
    struct loop_block *inner = contract_terms_loop(code, body, &first, &terms);
    if (code->pack_b)
        contract_pack_columns(code, inner, to, first, terms);
    contract_tiles_begin(code, inner);
    struct loop_block *over =
        loop_for(inner, LOOP_SERIAL, "column_panel", loop_of(arena, from), to, NULL, &column);
    struct contract_columns places;
    contract_open_columns(code, over, loop_of(arena, column), &places);
    struct loop_block *tiles =
        loop_for(over, LOOP_SERIAL, "row_panel", zero, code->row_panels, NULL, &row);
    loop_note_loop(over, arena_printf(arena, "tile.m %d tile.n %d", code->rows, (int)width));
    struct contract_tile tile = {.row_panel = loop_of(arena, row),
                                 .column_panel = loop_of(arena, column),
                                 .first = first,
                                 .terms = terms,
                                 .columns = &places};
    contract_tile(code, tiles, &tile);
    contract_tiles_end(code, inner);
}

static void code_sizes(struct contract_code *code, struct loop_block *block,
                       const struct sizes *sizes)
{
    struct skeleton_values *values = &code->values;
    struct arena *arena = code->arena;
    code->m = loop_of(arena, loop_let(block, "rows", skeleton_size(values, sizes->m)));
    code->k = loop_of(arena, loop_let(block, "sum_terms", skeleton_size(values, sizes->k)));
    code->lane_extent = skeleton_size(values, sizes->lanes);
    if (code->merged > 1)
        code->lane_extent = loop_of(arena, loop_let(block, "lanes_all", code->lane_extent));
    code->lane_blocks =
        loop_of(arena, loop_let(block, "lane_blocks", skeleton_size(values, sizes->lane_blocks)));
    code->vector_total =
        loop_of(arena, loop_let(block, "vectors", skeleton_size(values, sizes->vectors)));
    code->row_panels =
        loop_of(arena, loop_let(block, "row_panels", skeleton_size(values, sizes->row_panels)));
    code->column_panels = loop_of(
        arena, loop_let(block, "column_panels", skeleton_size(values, sizes->column_panels)));
    if (!code->shares && !code->rows_by_block)
        return;
    code->room_a =
        loop_of(arena, loop_let(block, "row_room", skeleton_size(values, sizes->room_a)));
    code->room_b =
        loop_of(arena, loop_let(block, "column_room", skeleton_size(values, sizes->room_b)));
}

void contract_lower(const struct skeleton_group *group, const struct plan_group *plan,
                    struct loop_kernel *kernel)
{
    struct contract contract;
    struct skeleton_reason why_not;
    struct arena *arena = kernel->arena;
    if (!contract_classify_plan(group, plan, &contract, &why_not))
        return;
    struct contract_code code = {.contract = &contract, .arena = arena, .kernel = kernel};
    code.lanes = group->target->vector_bytes / contract.element;
    code.rows = (int)plan_number(plan, "tile.m", 6);
    code.along = plan_is(plan, "lanes", "terms");
    code.vectors = (int)plan_number(plan, "tile.n", 64) / (code.along ? 1 : code.lanes);
    code.block_m = plan_number(plan, "block.m", 256);
    code.block_n = plan_number(plan, "block.n", 1048576);
    code.block_k = plan_number(plan, "block.k", 512);
    code.pack_a = !plan_is(plan, "pack.a", "no");
    code.pack_b = !plan_is(plan, "pack.b", "no");
    code.slices = plan_is(plan, "parallel", "batch");
    code.serial = plan_is(plan, "parallel", "none");
    code.whole_rows = plan_is(plan, "parallel", "columns");
    code.streaming = plan_is(plan, "stores", "streaming");
    code.reciprocal = plan_is(plan, "divide", "reciprocal");
    code.split_m = plan_number(plan, "split.m", 1);
    code.split_n = plan_number(plan, "split.n", 1);
    code.merged = plan_is(plan, "merge", "yes") ? contract.mergeable : 1;
    struct contract_choice choice = contract_choose(&contract, plan);
    contract_words_open(&code, &choice);
    code.shares = plan_is(plan, "parallel", "shares") && !choice.atom;
    code.split_k = code.shares ? plan_number(plan, "split.k", 1) : 1;
    code.rows_by_block = choice.atom && choice.atom->rows > 1 && !code.whole_rows;
    code.piece = contract_tile_piece(&code);
    code.values = (struct skeleton_values){.group = group, .kernel = kernel};
    code.values.indices =
        arena_array(arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    struct loop_variable *lane = arena_new(arena, struct loop_variable);
    *lane = (struct loop_variable){"lane", LOOP_COUNTER, {DTYPE_I64, 1}, 0};
    code.lane = lane;
    struct sizes sizes = sizes_make(&code);
    make_buffers(&code, &sizes);
    struct loop_block *whole = loop_function(kernel, plan->name, "a sum of products, tile by tile");
    struct loop_block *block = whole;
    code_sizes(&code, block, &sizes);
    struct loop_variable *slice;
    if (contract.sets[CONTRACT_BATCH].count > 0) {
        block = loop_for(block, code.slices ? LOOP_PARALLEL : LOOP_SERIAL, "slice",
                         loop_integer(arena, 0), skeleton_size(&code.values, sizes.batch), NULL,
                         &slice);
        contract_open_set(&code, block, CONTRACT_BATCH, loop_of(arena, slice));
        code.slice = code.part = code.slices ? loop_of(arena, slice) : NULL;
    }
    if (code.whole_rows)
        lower_columns(&code, block);
    else if (code.shares)
        contract_lower_shares(&code, block);
    else
        lower_product(&code, block);
    loop_prune(whole);
}
