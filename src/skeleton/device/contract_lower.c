/*
 * contract on devices, the loops: which tile a block has, tiles of terms one after the other, and
 * the multiply-adds of a thread.
 */
#include "skeleton/device/contract.h"
#include "skeleton/device/device.h"

static loop_value number(const struct blocks_code *code, int64_t value)
{
    return loop_integer(code->arena, value);
}

/* ---- sizes ---- */

const struct ir_size *blocks_size(const struct blocks_code *code, enum contract_set set)
{
    const struct contract_indices *indices = &code->contract->sets[set];
    const struct ir_size *size = ir_size_constant(code->arena, 1);
    for (int i = 0; i < indices->count; i++)
        size = ir_size_make(code->arena, IR_SIZE_MUL, size,
                            code->contract->group->part->indices[indices->at[i]].extent);
    return size;
}

const struct ir_size *blocks_ceil(const struct blocks_code *code, const struct ir_size *size,
                                  int64_t by)
{
    return device_blocks(code->arena, size, by);
}

static const struct ir_size *cut_size(const struct blocks_code *code)
{
    int index = code->contract->sets[CONTRACT_K].at[code->cut];
    return code->contract->group->part->indices[index].extent;
}

const struct ir_size *blocks_term_tiles(const struct blocks_code *code)
{
    const struct contract_indices *terms = &code->contract->sets[CONTRACT_K];
    if (!code->d.nested)
        return blocks_ceil(code, blocks_size(code, CONTRACT_K), code->d.tile_k);
    const struct ir_size *size = blocks_ceil(code, cut_size(code), code->d.tile_k);
    for (int i = 0; i < terms->count; i++) {
        if (i != code->cut)
            size = ir_size_make(code->arena, IR_SIZE_MUL, size,
                                code->contract->group->part->indices[terms->at[i]].extent);
    }
    return size;
}

static loop_value let_size(struct blocks_code *code, struct loop_block *block, const char *name,
                           const struct ir_size *size)
{
    return device_name(block, name, skeleton_size(&code->code.values, size));
}

static void open_sizes(struct blocks_code *code, struct loop_block *block)
{
    const struct blocks_decisions *d = &code->d;
    code->m = let_size(code, block, "rows_all", blocks_size(code, CONTRACT_M));
    code->n = let_size(code, block, "columns_all", blocks_size(code, CONTRACT_N));
    code->batch = let_size(code, block, "slices", blocks_size(code, CONTRACT_BATCH));
    code->k = let_size(code, block, "terms_all",
                       d->nested ? cut_size(code) : blocks_size(code, CONTRACT_K));
    code->row_tiles = let_size(code, block, "row_tiles",
                               blocks_ceil(code, blocks_size(code, CONTRACT_M), d->tile_m));
    code->column_tiles = let_size(code, block, "column_tiles",
                                  blocks_ceil(code, blocks_size(code, CONTRACT_N), d->tile_n));
    code->term_tiles = let_size(code, block, "term_tiles", blocks_term_tiles(code));
}

/* ---- terms ---- */

void blocks_open_terms(struct blocks_code *code, struct loop_block *block, loop_value tile)
{
    struct arena *arena = code->arena;
    const struct contract_indices *terms = &code->contract->sets[CONTRACT_K];
    code->tile = loop_let(block, "term_tile", tile);
    if (!code->d.nested) {
        loop_value first =
            loop_mul(arena, loop_of(arena, code->tile), number(code, code->d.tile_k));
        code->term = loop_let(block, "term", first);
        return;
    }
    loop_value along =
        skeleton_size(&code->code.values, blocks_ceil(code, cut_size(code), code->d.tile_k));
    along = loop_of(arena, loop_let(block, "cuts", along));
    loop_value first = device_remainder(arena, loop_of(arena, code->tile), along);
    code->term = loop_let(block, "term", loop_mul(arena, first, number(code, code->d.tile_k)));
    int others[CONTRACT_MAX_INDICES], count = 0;
    for (int i = 0; i < terms->count; i++) {
        if (i != code->cut)
            others[count++] = terms->at[i];
    }
    loop_value rest = device_quotient(arena, loop_of(arena, code->tile), along);
    contract_open_digits(&code->code, block, others, count,
                         loop_of(arena, loop_let(block, "around", rest)));
    for (int i = 0; i < terms->count; i++) {
        const char *name = code->contract->group->part->indices[terms->at[i]].name;
        if (i != code->cut)
            code->outer[i] = loop_let(block, name, code->code.values.indices[terms->at[i]]);
    }
}

void blocks_open_term(struct blocks_code *code, struct loop_block *block, loop_value term)
{
    struct arena *arena = code->arena;
    const struct contract_indices *terms = &code->contract->sets[CONTRACT_K];
    loop_value at = loop_add(arena, loop_of(arena, code->term), term);
    if (!code->d.nested) {
        if (terms->count > 1)
            at = loop_of(arena, loop_let(block, "term_at", at));
        contract_open_set(&code->code, block, CONTRACT_K, at);
        return;
    }
    for (int i = 0; i < terms->count; i++)
        code->code.values.indices[terms->at[i]] =
            i == code->cut ? at : loop_of(arena, code->outer[i]);
}

/* On to the next tile of terms: the others go up when the one that is cut is through. */
static void advance(struct blocks_code *code, struct loop_block *block)
{
    struct arena *arena = code->arena;
    const struct contract_indices *terms = &code->contract->sets[CONTRACT_K];
    loop_value next = loop_add(arena, loop_of(arena, code->term), number(code, code->d.tile_k));
    loop_set(block, code->tile, loop_add(arena, loop_of(arena, code->tile), number(code, 1)));
    loop_set(block, code->term, next);
    if (!code->d.nested)
        return;
    struct loop_variable *last = code->term;
    loop_value end = code->k;
    for (int i = terms->count - 1; i >= 0; i--) {
        if (i == code->cut)
            continue;
        block = loop_if(block, loop_apply(arena, IR_LE, end, loop_of(arena, last), NULL));
        loop_set(block, last, number(code, 0));
        last = code->outer[i];
        end = skeleton_size(&code->code.values,
                            code->contract->group->part->indices[terms->at[i]].extent);
        loop_set(block, last, loop_add(arena, loop_of(arena, last), number(code, 1)));
    }
}

/* ---- places ---- */

static loop_value divide(struct blocks_code *code, struct loop_block *block, const char *name,
                         loop_value a, loop_value b, loop_value *rest)
{
    *rest = device_name(block, "rest", device_remainder(code->arena, a, b));
    return device_name(block, name, device_quotient(code->arena, a, b));
}

/* Tiles go down `raster` rows of them, then to the next column. */
static void open_tile(struct blocks_code *code, struct loop_block *block, loop_value tile)
{
    struct arena *arena = code->arena;
    loop_value row, column;
    if (code->d.raster == 1) {
        row = divide(code, block, "tile_row", tile, code->column_tiles, &column);
    } else {
        loop_value raster = number(code, code->d.raster), within;
        loop_value band = loop_mul(arena, raster, code->column_tiles);
        loop_value first = divide(code, block, "band", tile, band, &within);
        first = loop_of(arena, loop_let(block, "band_first", loop_mul(arena, first, raster)));
        loop_value high = loop_min(arena, loop_sub(arena, code->row_tiles, first), raster);
        high = loop_of(arena, loop_let(block, "band_rows", high));
        column = divide(code, block, "tile_column", within, high, &row);
        row = loop_add(arena, first, row);
    }
    code->row_first = loop_mul(arena, row, number(code, code->d.tile_m));
    code->column_first = loop_mul(arena, column, number(code, code->d.tile_n));
    code->row_first = loop_of(arena, loop_let(block, "row_first", code->row_first));
    code->column_first = loop_of(arena, loop_let(block, "column_first", code->column_first));
}

/* Which share, slice and tile a block has. */
static void open_block(struct blocks_code *code, struct loop_block *block)
{
    struct arena *arena = code->arena;
    loop_value rest, tile;
    loop_value all = loop_mul(arena, code->row_tiles, code->column_tiles);
    all = device_name(block, "tiles", all);
    code->slice = code->share = number(code, 0);
    bool sliced = code->contract->sets[CONTRACT_BATCH].count > 0;
    tile = loop_block_number(arena, 0);
    if (sliced || code->d.split > 1) {
        rest = divide(code, block, "product", tile, all, &tile);
        if (code->d.split > 1)
            code->share = divide(code, block, "share", rest, code->batch, &code->slice);
        else
            code->slice = rest;
    }
    contract_open_set(&code->code, block, CONTRACT_BATCH, code->slice);
    open_tile(code, block, tile);
}

/* A thread's first row and column of the tile: quads of neighbouring lanes are neighbours. */
static void open_thread(struct blocks_code *code, struct loop_block *block)
{
    struct arena *arena = code->arena;
    const struct blocks_decisions *d = &code->d;
    loop_value lane, warp_n, lane_n;
    code->thread = loop_of(arena, loop_let(block, "thread", loop_thread_number(arena, 0)));
    int lanes = d->lanes_m * d->lanes_n;
    loop_value warp = divide(code, block, "warp", code->thread, number(code, lanes), &lane);
    int wide = d->tile_n / (d->thread_n * d->lanes_n);
    loop_value warp_m = divide(code, block, "warp_row", warp, number(code, wide), &warp_n);
    loop_value lane_m = divide(code, block, "lane_row", lane, number(code, d->lanes_n), &lane_n);
    loop_value row = loop_mul(arena, warp_m, number(code, (int64_t)d->thread_m * d->lanes_m));
    row = loop_add(arena, row, loop_mul(arena, lane_m, number(code, d->quad_m)));
    loop_value column = loop_mul(arena, warp_n, number(code, (int64_t)d->thread_n * d->lanes_n));
    column = loop_add(arena, column, loop_mul(arena, lane_n, number(code, d->quad_n)));
    code->row = loop_of(arena, loop_let(block, "row_at", row));
    code->column = loop_of(arena, loop_let(block, "column_at", column));
}

/* ---- multiply-adds ---- */

static void read_quads(struct blocks_code *code, struct loop_block *block,
                       const struct blocks_bring *bring, const struct loop_buffer *to,
                       loop_value line)
{
    struct arena *arena = code->arena;
    int quad = bring->second ? code->d.quad_n : code->d.quad_m;
    int lanes = bring->second ? code->d.lanes_n : code->d.lanes_m;
    int count = (bring->second ? code->d.thread_n : code->d.thread_m) / quad;
    loop_value at = bring->second ? code->column : code->row;
    loop_value first = loop_mul(arena, line, number(code, bring->stride));
    first = loop_add(arena, first, at);
    for (int i = 0; i < count; i++)
        loop_move(block, to, number(code, (int64_t)i * quad), bring->shared,
                  loop_add(arena, first, number(code, (int64_t)i * quad * lanes)), quad);
}

/* Where number `at` of a thread's rows or columns is in the product. */
static loop_value place_of(struct blocks_code *code, bool second, loop_value at)
{
    struct arena *arena = code->arena;
    int quad = second ? code->d.quad_n : code->d.quad_m;
    int lanes = second ? code->d.lanes_n : code->d.lanes_m;
    loop_value which = device_quotient(arena, at, number(code, quad));
    loop_value place = loop_mul(arena, which, number(code, (int64_t)quad * lanes));
    place = loop_add(arena, place, device_remainder(arena, at, number(code, quad)));
    place = loop_add(arena, place, second ? code->column : code->row);
    return loop_add(arena, place, second ? code->column_first : code->row_first);
}

/* `first_term` of the tile, where single terms may be left out; NULL: all count. */
static void multiply(struct blocks_code *code, struct loop_block *block, loop_value stage,
                     loop_value first_term)
{
    struct arena *arena = code->arena;
    const struct blocks_decisions *d = &code->d;
    enum dtype dtype = code->contract->dtype;
    struct loop_variable *term, *row, *column;
    struct loop_block *body = loop_for(block, first_term ? LOOP_SERIAL : LOOP_UNROLL, "step",
                                       number(code, 0), number(code, d->tile_k), NULL, &term);
    const struct loop_buffer *rows = loop_stack(body, "a", dtype, 1, d->thread_m);
    const struct loop_buffer *columns = loop_stack(body, "b", dtype, 1, d->thread_n);
    loop_value line =
        loop_add(arena, loop_mul(arena, stage, number(code, d->tile_k)), loop_of(arena, term));
    read_quads(code, body, &code->bring[0], rows, line);
    read_quads(code, body, &code->bring[1], columns, line);
    body = loop_for(body, LOOP_UNROLL, "i", number(code, 0), number(code, d->thread_m), NULL, &row);
    body =
        loop_for(body, LOOP_UNROLL, "j", number(code, 0), number(code, d->thread_n), NULL, &column);
    loop_value at = loop_mul(arena, loop_of(arena, row), number(code, d->thread_n));
    at = loop_add(arena, at, loop_of(arena, column));
    loop_value product = loop_mul(arena, loop_load(arena, rows, loop_of(arena, row), 1),
                                  loop_load(arena, columns, loop_of(arena, column), 1));
    loop_value sum = loop_load(arena, code->sums, at, 1), more = loop_add(arena, sum, product);
    if (first_term) {
        loop_value keeps = blocks_leave_keeps(code, place_of(code, false, loop_of(arena, row)),
                                              place_of(code, true, loop_of(arena, column)),
                                              loop_add(arena, first_term, loop_of(arena, term)));
        more = loop_select(arena, keeps, more, sum);
    }
    loop_store(body, code->sums, at, more);
}

/* The tile that is in shared memory: as it is, unless some of its terms are left out. */
static void multiply_tile(struct blocks_code *code, struct loop_block *block, loop_value stage,
                          loop_value turn)
{
    if (code->leave.count == 0) {
        multiply(code, block, stage, NULL);
        return;
    }
    loop_value first = loop_mul(code->arena, turn, number(code, code->d.tile_k));
    first = device_name(block, "first_term", first);
    multiply(code, loop_if(block, blocks_leave_none(code, first)), stage, NULL);
    multiply(code, loop_else(block), stage, first);
}

static void bring(struct blocks_code *code, struct loop_block *block, bool put, loop_value stage)
{
    for (int i = 0; i < 2; i++) {
        if (put)
            blocks_bring_put(code, block, &code->bring[i], stage);
        else
            blocks_bring_fetch(code, block, &code->bring[i]);
    }
}

/* From tile `from` of the terms up to `to`: those of this share. */
static void open_share(struct blocks_code *code, struct loop_block *block, loop_value *from,
                       loop_value *to)
{
    struct arena *arena = code->arena;
    loop_value split = number(code, code->d.split), one = number(code, 1);
    *from = number(code, 0);
    *to = code->term_tiles;
    blocks_leave_range(code, block, from, to);
    if (code->d.split == 1)
        return;
    loop_value end = *to;
    loop_value each = loop_add(arena, loop_sub(arena, end, *from), loop_sub(arena, split, one));
    each = device_name(block, "each", device_quotient(arena, each, split));
    *from = loop_add(arena, *from, loop_mul(arena, code->share, each));
    *from = device_name(block, "from", *from);
    *to = loop_min(arena, loop_add(arena, *from, each), end);
    *to = device_name(block, "to", *to);
}

static void clear_sums(struct blocks_code *code, struct loop_block *block)
{
    const struct blocks_decisions *d = &code->d;
    int64_t count = (int64_t)d->thread_m * d->thread_n;
    struct loop_variable *sum;
    code->sums = loop_stack(block, "sums", code->contract->dtype, 1, count);
    block = loop_for(block, LOOP_UNROLL, "i", number(code, 0), number(code, count), NULL, &sum);
    struct loop_type type = {code->contract->dtype, 1};
    loop_store(block, code->sums, loop_of(code->arena, sum), loop_unit(code->arena, IR_SUM, type));
}

/*
 * Each turn fetches a tile while the one before is multiplied; the first only fetches. With two
 * stages what was fetched goes beside what is read, and threads meet once a turn.
 */
static void sum_terms(struct blocks_code *code, struct loop_block *block)
{
    struct arena *arena = code->arena;
    const struct blocks_decisions *d = &code->d;
    struct loop_variable *at;
    loop_value from, to, one = number(code, 1), stage = number(code, 0);
    struct skeleton_reason ignored;
    blocks_leave_of(code->contract, &code->code.values, &code->leave, &ignored);
    open_share(code, block, &from, &to);
    blocks_open_terms(code, block, from);
    for (int i = 0; i < 2; i++)
        blocks_bring_open(code, block, &code->bring[i]);
    clear_sums(code, block);
    struct loop_variable *turned = d->stages == 2 ? loop_let(block, "stage", stage) : NULL;
    if (turned)
        stage = loop_of(arena, turned);
    struct loop_block *body =
        loop_for(block, LOOP_SERIAL, "turn", loop_sub(arena, from, one), to, NULL, &at);
    loop_note_loop(block, arena_printf(arena, "tile.k %d", d->tile_k));
    loop_value turn = loop_of(arena, at);
    loop_value more = loop_less(arena, loop_add(arena, turn, one), to);
    more = device_name(body, "more", more);
    loop_value ready = loop_apply(arena, IR_LE, from, turn, NULL);
    struct loop_block *next = loop_if(body, more);
    advance(code, loop_if(next, ready));
    bring(code, next, false, NULL);
    struct loop_block *now = loop_if(body, ready);
    multiply_tile(code, now, stage, turn);
    if (turned)
        loop_set(now, turned, loop_sub(arena, one, stage));
    else
        loop_barrier(body);
    bring(code, loop_if(body, more), true, stage);
    loop_barrier(body);
}

/* ---- the whole ---- */

static void open_shared(struct blocks_code *code, struct loop_block *block)
{
    static const char *const NAMES[] = {"rows", "columns"};
    for (int i = 0; i < 2; i++) {
        struct blocks_bring *bring = &code->bring[i];
        bring->shared = loop_shared(block, NAMES[i], code->contract->dtype,
                                    (int64_t)code->d.stages * code->d.tile_k * bring->stride);
    }
}

static struct loop_launch launch_of(const struct blocks_code *code)
{
    struct arena *arena = code->arena;
    const struct blocks_decisions *d = &code->d;
    const struct ir_size *blocks = ir_size_make(
        arena, IR_SIZE_MUL, blocks_ceil(code, blocks_size(code, CONTRACT_M), d->tile_m),
        blocks_ceil(code, blocks_size(code, CONTRACT_N), d->tile_n));
    blocks = ir_size_make(arena, IR_SIZE_MUL, blocks, blocks_size(code, CONTRACT_BATCH));
    blocks = ir_size_make(arena, IR_SIZE_MUL, blocks, ir_size_constant(arena, d->split));
    return (struct loop_launch){
        .grid = {blocks}, .block = {d->threads}, .minimum_blocks = d->resident};
}

static void open_values(struct blocks_code *code, const struct skeleton_group *group,
                        const struct plan_group *plan, struct loop_kernel *kernel)
{
    struct arena *arena = kernel->arena;
    struct loop_variable *lane = arena_new(arena, struct loop_variable);
    *lane = (struct loop_variable){"lane", LOOP_COUNTER, {DTYPE_I64, 1}, 0};
    code->code = (struct contract_code){.contract = code->contract,
                                        .arena = arena,
                                        .kernel = kernel,
                                        .lane = lane,
                                        .merged = 1,
                                        .reciprocal = plan_is(plan, "divide", "reciprocal")};
    code->code.values = (struct skeleton_values){.group = group, .kernel = kernel};
    code->code.values.indices =
        arena_array(arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
}

/* A launch of its own for each factor that is packed. */
static void pack_factors(struct blocks_code *code, const char *name)
{
    for (int i = 0; i < 2; i++) {
        struct blocks_bring *bring = &code->bring[i];
        if (!bring->packed)
            continue;
        code->m = skeleton_size(&code->code.values, blocks_size(code, CONTRACT_M));
        code->n = skeleton_size(&code->code.values, blocks_size(code, CONTRACT_N));
        code->k = skeleton_size(&code->code.values,
                                code->d.nested ? cut_size(code) : blocks_size(code, CONTRACT_K));
        blocks_pack(code, bring, name);
    }
}

void blocks_lower(const struct skeleton_group *group, const struct plan_group *plan,
                  struct loop_kernel *kernel)
{
    struct contract contract;
    struct skeleton_reason why_not;
    struct arena *arena = kernel->arena;
    if (!contract_classify(group, &contract, &why_not))
        return;
    struct blocks_code code = {.contract = &contract, .arena = arena};
    code.d = blocks_decide(&contract, plan);
    code.cut = blocks_cut(&contract);
    for (int i = 0; i < 2; i++)
        code.bring[i] = blocks_bring_of(&contract, &code.d, i == 1);
    open_values(&code, group, plan, kernel);
    pack_factors(&code, plan->name);
    struct loop_launch launch = launch_of(&code);
    struct loop_block *block =
        loop_launch(kernel, plan->name, "a sum of products, tile by tile", &launch);
    open_shared(&code, block);
    open_sizes(&code, block);
    open_block(&code, block);
    open_thread(&code, block);
    if (code.d.split > 1) {
        const struct ir_size *count = ir_size_make(
            arena, IR_SIZE_MUL, blocks_size(&code, CONTRACT_M), blocks_size(&code, CONTRACT_N));
        count = ir_size_make(arena, IR_SIZE_MUL, count, blocks_size(&code, CONTRACT_BATCH));
        count = ir_size_make(arena, IR_SIZE_MUL, count, ir_size_constant(arena, code.d.split));
        code.partial = loop_scratch(kernel, "partial", contract.dtype, count);
    }
    sum_terms(&code, block);
    blocks_finish(&code, block);
    loop_prune(block);
    if (code.d.split == 1)
        return;
    code.m = skeleton_size(&code.code.values, blocks_size(&code, CONTRACT_M));
    code.n = skeleton_size(&code.code.values, blocks_size(&code, CONTRACT_N));
    code.batch = skeleton_size(&code.code.values, blocks_size(&code, CONTRACT_BATCH));
    blocks_join(&code, plan->name);
}
