/*
 * contract on devices: matrix products and all that is one, tile by tile of blocks of threads. What
 * it does is said in contract.h; which indices are rows, columns and terms in skeleton/contract.h.
 */
#include <stdio.h>
#include <string.h>

#include "skeleton/device/contract.h"
#include "skeleton/device/device.h"
#include "skeleton/slots.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)

static bool contract_device_match(const struct skeleton_group *group,
                                  struct skeleton_reason *why_not)
{
    struct contract contract;
    return contract_classify(group, &contract, why_not) && blocks_leave_fits(&contract, why_not);
}

/* ---- what is open ---- */

static const char *const tiles[] = {"8", "16", "32", "64", "128", "256"};
static const char *const tile_k[] = {"4", "8", "16", "32"};
static const char *const threads[] = {"1", "2", "4", "8", "16"};
static const char *const one_two[] = {"1", "2"};
static const char *const vectors[] = {"1", "2", "4", "8"};
static const char *const pads[] = {"0", "4"};
static const char *const rasters[] = {"1", "2", "4", "8", "16"};
static const char *const residents[] = {"1", "2", "3", "4"};
static const char *const splits[] = {"1", "2", "4", "8", "16", "32", "64"};
static const char *const yes_no[] = {"no", "yes"};
static const char *const orders[] = {"flat", "nested"};

#define SLOT(key, note, values, seed)                                     \
    {                                                                     \
        key, note, values, (int)(sizeof(values) / sizeof *(values)), seed \
    }

static const struct plan_slot ALWAYS[] = {
    SLOT("tile.m", "rows of the tile of a block", tiles, 3),
    SLOT("tile.n", "columns of the tile", tiles, 3),
    SLOT("tile.k", "terms in shared memory at a time", tile_k, 1),
    SLOT("thread.m", "rows of the sums a thread has in registers", threads, 2),
    SLOT("thread.n", "columns of them", threads, 2),
    SLOT("stages", "tiles of terms in shared memory: 2 fills one while the other is read", one_two,
         1),
    SLOT("vector", "elements read from memory at once, where they are neighbours", vectors, 2),
    SLOT("pad", "elements between terms that are turned over, against bank conflicts", pads, 1),
    SLOT("raster", "rows of tiles worked on together, so that columns stay in the cache", rasters,
         0),
    SLOT("resident", "blocks a multiprocessor should hold at once", residents, 0),
    SLOT("split.k", "shares of the terms, whose sums are added up at the end", splits, 0),
    SLOT("pack.a", "rows are copied once, in the order in which tiles read them", yes_no, 0),
    SLOT("pack.b", "columns are copied once", yes_no, 0),
};

static void contract_device_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    static const char *const divisions[] = {"exact", "reciprocal"};
    struct contract contract;
    struct skeleton_reason why_not;
    for (size_t i = 0; i < sizeof ALWAYS / sizeof *ALWAYS; i++)
        vector_push(group->arena, slots, ALWAYS[i]);
    if (!contract_classify(group, &contract, &why_not))
        return;
    if (contract.sets[CONTRACT_K].count > 1)
        slots_add(group, slots, "terms",
                  "all indices of the terms counted through, or loops around the longest", orders,
                  2, 0);
    if (contract_divides_after(group))
        slots_add(group, slots, "divide", "by what is the same everywhere, or times its reciprocal",
                  divisions, 2, slots_division_may_differ(group, 1));
}

/* ---- decisions as numbers ---- */

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Lanes of a warp: as square as the block of threads allows, wider than high. */
static void share_warp(struct blocks_decisions *d)
{
    int high = d->tile_m / d->thread_m, wide = d->tile_n / d->thread_n;
    d->threads = high * wide;
    int all = least(BLOCKS_WARP, d->threads);
    d->lanes_m = least(4, high);
    d->lanes_n = least(all / d->lanes_m, wide);
    d->lanes_m = least(all / d->lanes_n, high);
}

struct blocks_decisions blocks_decide(const struct contract *contract,
                                      const struct plan_group *plan)
{
    int quad = BLOCKS_WIDE / contract->element;
    struct blocks_decisions d = {
        .tile_m = (int)plan_number(plan, "tile.m", 64),
        .tile_n = (int)plan_number(plan, "tile.n", 64),
        .tile_k = (int)plan_number(plan, "tile.k", 8),
        .thread_m = (int)plan_number(plan, "thread.m", 4),
        .thread_n = (int)plan_number(plan, "thread.n", 4),
        .stages = (int)plan_number(plan, "stages", 2),
        .vector = (int)plan_number(plan, "vector", 4),
        .pad = (int)plan_number(plan, "pad", 4),
        .raster = (int)plan_number(plan, "raster", 1),
        .resident = (int)plan_number(plan, "resident", 1),
        .split = (int)plan_number(plan, "split.k", 1),
        .pack_a = plan_is(plan, "pack.a", "yes"),
        .pack_b = plan_is(plan, "pack.b", "yes"),
        .nested = plan_is(plan, "terms", "nested") && contract->sets[CONTRACT_K].count > 1,
    };
    if (d.thread_m <= d.tile_m && d.thread_n <= d.tile_n)
        share_warp(&d);
    d.quad_m = least(quad, d.thread_m);
    d.quad_n = least(quad, d.thread_n);
    return d;
}

int blocks_cut(const struct contract *contract)
{
    const struct contract_indices *k = &contract->sets[CONTRACT_K];
    int64_t longest = -1;
    int cut = 0;
    for (int i = 0; i < k->count; i++) {
        int64_t size = 1;
        const struct skeleton_group *group = contract->group;
        if (group->binding)
            ir_size_eval(group->part->indices[k->at[i]].extent, group->binding->sizes, &size);
        if (size > longest) {
            longest = size;
            cut = i;
        }
    }
    return cut;
}

/* ---- how factors are brought ---- */

/* The tensor whose elements a factor is, as they are; IR_NONE: it is computed, or guarded. */
static const struct ir_node *factor_read(const struct contract *contract, bool second)
{
    const struct ir_node *read = NULL;
    if (contract->negative && !second)
        return NULL;
    for (int i = 0; i < contract->term_count; i++) {
        if (contract->terms[i].second != second)
            continue;
        if (read || contract->terms[i].inverse)
            return NULL;
        read = &contract->stage->nodes.at[contract->terms[i].node];
    }
    if (!read || read->op != IR_READ || contract_is_inlined(contract->group, read->read.tensor))
        return NULL;
    return read;
}

/* Whether neighbouring terms are neighbours in memory rather than rows (columns): what the last
 * place of the first tensor read has. */
static bool runs_along_terms(const struct contract *contract, bool second)
{
    const struct ir_part *part = contract->group->part;
    const struct contract_indices *own = &contract->sets[second ? CONTRACT_N : CONTRACT_M];
    const struct contract_indices *terms = &contract->sets[CONTRACT_K];
    for (int i = 0; i < contract->term_count; i++) {
        const struct ir_nodes *nodes = &contract->stage->nodes;
        const struct ir_node *node = &nodes->at[contract->terms[i].node];
        if (contract->terms[i].second != second || node->op != IR_READ)
            continue;
        int rank = part->tensors[node->read.tensor].rank;
        if (rank == 0)
            continue;
        int last = node->read.at[rank - 1];
        if (own->count > 0 && contract_mentions(part, nodes, last, own->at, own->count))
            return false;
        if (contract_mentions(part, nodes, last, terms->at, terms->count))
            return true;
    }
    return false;
}

/* Vectors of a bare factor, if its neighbours are neighbours in memory. */
static int bring_vector(const struct contract *contract, const struct blocks_bring *bring,
                        int wanted, int room, int *tensor)
{
    const struct ir_node *read = factor_read(contract, bring->second);
    bool contiguous =
        bring->second ? (bring->along ? contract->terms_contiguous : contract->columns_contiguous)
                      : (bring->along ? contract->rows_contiguous : contract->rows_adjacent);
    if (!read || !contiguous)
        return 1;
    *tensor = read->read.tensor;
    int bytes = (int)dtype_bytes(contract->group->part->tensors[*tensor].dtype);
    return least(least(wanted, room), BLOCKS_WIDE / bytes);
}

struct blocks_bring blocks_bring_of(const struct contract *contract,
                                    const struct blocks_decisions *d, bool second)
{
    struct blocks_bring bring = {.second = second, .packed = second ? d->pack_b : d->pack_a};
    bring.span = second ? d->tile_n : d->tile_m;
    bring.dtype = contract->dtype;
    bring.along = !bring.packed && runs_along_terms(contract, second);
    int room = bring.along ? d->tile_k : bring.span;
    if (bring.packed)
        bring.vector = least(BLOCKS_WIDE / contract->element, room);
    else
        bring.vector = bring_vector(contract, &bring, d->vector, room, &bring.tensor);
    if (bring.vector > 1 && !bring.packed)
        bring.dtype = contract->group->part->tensors[bring.tensor].dtype;
    bring.stride = bring.span + (bring.along ? d->pad : 0);
    bring.groups = room / bring.vector;
    int all = bring.groups * (bring.along ? bring.span : d->tile_k);
    bring.loads = all > d->threads ? all / d->threads : 1;
    bring.active = least(all, d->threads);
    return bring;
}

/* ---- what it takes ---- */

int64_t blocks_shared_bytes(const struct contract *contract, const struct blocks_decisions *d)
{
    struct blocks_bring a = blocks_bring_of(contract, d, false);
    struct blocks_bring b = blocks_bring_of(contract, d, true);
    return (int64_t)d->stages * d->tile_k * (a.stride + b.stride) * contract->element;
}

int blocks_registers(const struct contract *contract, const struct blocks_decisions *d)
{
    int words = contract->element / 4 > 0 ? contract->element / 4 : 1;
    struct blocks_bring a = blocks_bring_of(contract, d, false);
    struct blocks_bring b = blocks_bring_of(contract, d, true);
    int held = (a.loads * a.vector * (int)dtype_bytes(a.dtype) +
                b.loads * b.vector * (int)dtype_bytes(b.dtype) + 3) /
               4;
    /* pointers, counters, what is read beside; places of what is read one by one, and guards of it;
     * pairs of registers leave gaps */
    enum { PLACES = 28, GUARDS = 12, GAPS = 16 };
    held += GUARDS * ((a.vector == 1 && !a.packed) + (b.vector == 1 && !b.packed));
    return (d->thread_m * d->thread_n + d->thread_m + d->thread_n) * words + held + PLACES +
           GAPS * (words - 1);
}

/* ---- legality ---- */

static bool tile_legal(const struct skeleton_device *device, const struct blocks_decisions *d,
                       struct skeleton_reason *why_not)
{
    if (d->thread_m > d->tile_m || d->thread_n > d->tile_n)
        return REFUSE(why_not, "a thread has %d x %d sums, the tile only %d x %d", d->thread_m,
                      d->thread_n, d->tile_m, d->tile_n);
    if (d->threads < BLOCKS_WARP)
        return REFUSE(why_not, "%d threads are less than a warp: sums of a thread are too many",
                      d->threads);
    if (d->threads > device->block_threads)
        return REFUSE(why_not, "%d threads are more than the %d a block may have", d->threads,
                      device->block_threads);
    return true;
}

static bool memory_legal(const struct contract *contract, const struct skeleton_device *device,
                         const struct blocks_decisions *d, struct skeleton_reason *why_not)
{
    int64_t shared = blocks_shared_bytes(contract, d);
    int registers = blocks_registers(contract, d);
    enum { MOST_REGISTERS = 255 };
    int64_t most = device->shared < DEVICE_STATIC_SHARED ? device->shared : DEVICE_STATIC_SHARED;
    if (shared > most)
        return REFUSE(why_not, "%lld bytes of shared memory are more than the %lld of a block",
                      (long long)shared, (long long)most);
    if (d->resident > 1 && device->unit_shared > 0 && shared * d->resident > device->unit_shared)
        return REFUSE(why_not, "%d blocks have more shared memory than a multiprocessor",
                      d->resident);
    if (registers > MOST_REGISTERS)
        return REFUSE(why_not, "%d x %d sums of a thread need about %d registers, there are %d",
                      d->thread_m, d->thread_n, registers, MOST_REGISTERS);
    if (d->resident > 1 && device->unit_registers > 0 &&
        (int64_t)registers * d->threads * d->resident > device->unit_registers)
        return REFUSE(why_not,
                      "%d blocks of %d threads with %d registers are more than the %d of "
                      "a multiprocessor",
                      d->resident, d->threads, registers, device->unit_registers);
    return true;
}

static bool contract_device_legal(const struct skeleton_group *group, const struct plan_group *plan,
                                  struct skeleton_reason *why_not)
{
    struct contract contract;
    if (!contract_classify(group, &contract, why_not) || !blocks_leave_fits(&contract, why_not))
        return false;
    struct blocks_decisions d = blocks_decide(&contract, plan);
    const struct skeleton_device *device = group->target->device;
    if (!tile_legal(device, &d, why_not) || !memory_legal(&contract, device, &d, why_not))
        return false;
    for (int side = 0; side < 2; side++) {
        struct blocks_bring bring = blocks_bring_of(&contract, &d, side == 1);
        if (bring.loads * bring.vector > 2 * BLOCKS_MAX_LOADS || bring.loads > BLOCKS_MAX_LOADS)
            return REFUSE(why_not, "a thread would fetch %d elements of a factor at once",
                          bring.loads * bring.vector);
    }
    return true;
}

const struct skeleton skeleton_device_contract = {
    .name = "contract",
    .note = "matrix products and what is one: tiles in shared memory, sums in registers",
    .match = contract_device_match,
    .open = contract_device_open,
    .legal = contract_device_legal,
    .predict = blocks_predict,
    .seeds = blocks_seeds,
    .lower = blocks_lower,
};
