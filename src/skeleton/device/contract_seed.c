/*
 * contract on devices, what it costs and what to try first: waves of blocks, multiply-adds per
 * value read from shared memory, warps to hide waiting, and what comes through the last cache.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "skeleton/device/contract.h"
#include "skeleton/device/device.h"

/* ---- the model ---- */

/*
 * Fitted to generated products of 4096^3 and convolutions on an H200 (docs/results/products.md).
 * READ: what a value from shared memory costs, in multiply-adds of a thread. TURN: what a tile of
 * terms costs a thread besides, barrier included. WAITING: warps at which half the time is waiting.
 */
static const double READ = 0.8, TURN = 100, WAITING = 2, CACHE_OVER_MEMORY = 2.5, JOIN_LAUNCHES = 1;

static double set_total(const struct contract *contract, enum contract_set set)
{
    return contract->sets[set].size;
}

/* Terms with what the last tile of each line leaves empty. */
static double padded_terms(const struct contract *contract, const struct blocks_decisions *d)
{
    double k = set_total(contract, CONTRACT_K);
    if (!d->nested)
        return ceil(k / d->tile_k) * d->tile_k;
    const struct skeleton_group *group = contract->group;
    int index = contract->sets[CONTRACT_K].at[blocks_cut(contract)];
    int64_t along = 1;
    if (group->binding)
        ir_size_eval(group->part->indices[index].extent, group->binding->sizes, &along);
    double length = along > 0 ? (double)along : 1;
    return k / length * ceil(length / d->tile_k) * d->tile_k;
}

/* What a division costs, or a function: calls, and everyone waits for what was just fetched (on an
 * H200 products of 512 x 512 x 1024 take 13 ms bare, 17 with exp of a factor, 40 with a factor by a
 * root). */
enum { DIVISION_STEPS = 100, FUNCTION_STEPS = 25 };

/* Instructions that a value takes besides what it reads. */
static double value_steps(const struct ir_stage *stage, int number)
{
    const struct ir_node *node = &stage->nodes.at[number];
    int arguments = ir_op_arguments(node->op);
    if (!dtype_is_float(node->type) || arguments < 1)
        return 0;
    double steps = node->op == IR_DIV || node->op == IR_SQRT ? DIVISION_STEPS
                   : node->op >= IR_EXP                      ? FUNCTION_STEPS
                                                             : 1;
    steps += value_steps(stage, node->a);
    steps += arguments > 1 ? value_steps(stage, node->b) : 0;
    return steps + (arguments > 2 ? value_steps(stage, node->c) : 0);
}

/* Of an element of a factor: it is computed each time that it is fetched. */
static double factor_steps(const struct contract *contract, bool second)
{
    double steps = 0;
    for (int i = 0; i < contract->term_count; i++) {
        if (contract->terms[i].second != second)
            continue;
        steps += value_steps(contract->stage, contract->terms[i].node);
        steps += contract->terms[i].inverse ? DIVISION_STEPS : 0;
    }
    return steps;
}

/* Instructions besides the multiply-adds, of a thread and tile of terms. */
static double fetch_steps(const struct contract *contract, const struct blocks_decisions *d)
{
    double steps = 0;
    for (int side = 0; side < 2; side++) {
        struct blocks_bring bring = blocks_bring_of(contract, d, side == 1);
        /* places of terms by division, where several indices are counted through */
        bool digits = !bring.packed && !d->nested && contract->sets[CONTRACT_K].count > 1;
        double each = bring.vector > 1 ? 4 : digits ? 150 : 10;
        if (!bring.packed)
            each += factor_steps(contract, side == 1);
        steps += bring.loads * (each + (bring.along ? bring.vector : 1));
    }
    return steps + TURN;
}

static struct device_launch launch_of(const struct contract *contract,
                                      const struct blocks_decisions *d)
{
    double m = set_total(contract, CONTRACT_M), n = set_total(contract, CONTRACT_N);
    double batch = set_total(contract, CONTRACT_BATCH);
    return (struct device_launch){
        .blocks = ceil(m / d->tile_m) * ceil(n / d->tile_n) * batch * d->split,
        .threads = d->threads,
        .registers = blocks_registers(contract, d),
        .shared = (double)blocks_shared_bytes(contract, d),
    };
}

/* What a factor is in memory: the tensors it reads, each once. */
static double factor_bytes(const struct contract *contract, bool second)
{
    const struct skeleton_group *group = contract->group;
    double bytes = 0;
    for (int i = 0; i < contract->term_count; i++) {
        const struct ir_node *node = &contract->stage->nodes.at[contract->terms[i].node];
        if (contract->terms[i].second != second || node->op != IR_READ || !group->binding)
            continue;
        const struct ir_tensor *tensor = &group->part->tensors[node->read.tensor];
        double elements = (double)dtype_bytes(tensor->dtype);
        for (int d = 0; d < tensor->rank; d++) {
            int64_t size = 1;
            ir_size_eval(tensor->dims[d], group->binding->sizes, &size);
            elements *= (double)size;
        }
        bytes += elements;
    }
    return bytes;
}

static double product_seconds(const struct contract *contract, const struct blocks_decisions *d,
                              double *bytes)
{
    const struct skeleton_device *device = contract->group->target->device;
    struct device_launch launch = launch_of(contract, d);
    double m = set_total(contract, CONTRACT_M), n = set_total(contract, CONTRACT_N);
    double k = set_total(contract, CONTRACT_K), batch = set_total(contract, CONTRACT_BATCH);
    double terms = padded_terms(contract, d) / d->split;
    double here = fmin(device_resident(device, &launch), ceil(launch.blocks / device->units));
    double waves = ceil(launch.blocks / (here * device->units));
    double sums = d->thread_m * (double)d->thread_n;
    double reads = READ * (d->thread_m + d->thread_n);
    double extra = fetch_steps(contract, d) / d->tile_k;
    double width = contract->element / 4.0 > 1 ? contract->element / 4.0 : 1;
    double rate = device->compute / 2 / device->units / width; /* of a multiprocessor */
    double warps = here * d->threads / BLOCKS_WARP;
    double useful = sums / (sums + reads + extra) * warps / (warps + WAITING);
    double computing = waves * here * d->tile_m * d->tile_n * terms / (rate * useful);
    double brought =
        batch * contract->element * (m * k * ceil(n / d->tile_n) + n * k * ceil(m / d->tile_m));
    double partial = d->split > 1 ? 2.0 * d->split * m * n * batch * contract->element : 0;
    *bytes = factor_bytes(contract, false) + factor_bytes(contract, true) +
             batch * contract->element * m * n + partial;
    double moving =
        fmax(brought / (CACHE_OVER_MEMORY * device->bandwidth), *bytes / device->bandwidth);
    double packing = 0;
    if (d->pack_a)
        packing += device->launch + 8 * batch * m * k * contract->element / device->bandwidth;
    if (d->pack_b)
        packing += device->launch + 8 * batch * n * k * contract->element / device->bandwidth;
    return device->launch + fmax(computing, moving) + packing +
           (d->split > 1 ? JOIN_LAUNCHES * device->launch + partial / device->bandwidth : 0);
}

struct skeleton_cost blocks_predict(const struct skeleton_group *group,
                                    const struct plan_group *plan)
{
    struct contract contract;
    struct skeleton_reason why_not;
    struct skeleton_cost cost = {0};
    if (!contract_classify(group, &contract, &why_not))
        return cost;
    struct blocks_decisions d = blocks_decide(&contract, plan);
    cost.seconds = product_seconds(&contract, &d, &cost.bytes);
    cost.operations = 2 * set_total(&contract, CONTRACT_M) * set_total(&contract, CONTRACT_N) *
                      set_total(&contract, CONTRACT_K) * set_total(&contract, CONTRACT_BATCH);
    if (d.split > 1)
        cost.scratch = (int64_t)(d.split * set_total(&contract, CONTRACT_M) *
                                 set_total(&contract, CONTRACT_N) *
                                 set_total(&contract, CONTRACT_BATCH) * contract.element);
    cost.vectors = blocks_registers(&contract, &d);
    cost.shared = blocks_shared_bytes(&contract, &d);
    return cost;
}

/* ---- seeds ---- */

/* Tiles worth a look, with the sums of a thread. */
static const struct {
    int tile_m, tile_n, tile_k, thread_m, thread_n, resident;
} SHAPES[] = {
    {128, 128, 16, 16, 8, 2}, {128, 128, 8, 16, 8, 2}, {128, 128, 16, 8, 16, 2},
    {128, 128, 8, 8, 8, 2},   {128, 128, 16, 8, 8, 2}, {256, 128, 16, 16, 8, 1},
    {128, 256, 16, 8, 16, 1}, {64, 128, 16, 8, 8, 3},  {128, 64, 16, 8, 8, 3},
    {64, 64, 16, 8, 8, 4},    {64, 64, 16, 4, 4, 2},   {64, 64, 16, 8, 4, 4},
    {32, 64, 16, 4, 4, 4},    {64, 32, 16, 4, 4, 4},   {32, 32, 16, 4, 4, 4},
    {32, 32, 16, 2, 4, 2},    {32, 128, 16, 4, 8, 4},  {128, 32, 16, 8, 4, 4},
    {16, 128, 16, 4, 4, 4},   {128, 16, 16, 4, 4, 4},  {16, 64, 32, 2, 4, 4},
    {32, 32, 8, 4, 4, 1},     {64, 16, 32, 4, 2, 4},   {16, 32, 32, 2, 2, 4},
    {8, 128, 32, 2, 4, 4},    {8, 64, 32, 1, 4, 4},    {64, 8, 32, 4, 1, 4},
};

/* MOST_SUMS: of a thread, where it is not known how much it can keep in registers. */
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES, MOST_SUMS = 16 };

struct choice {
    struct blocks_decisions d;
    double seconds;
};

/* Whether lines of every factor that is read as it is are whole vectors at the sizes to be good
 * at. */
static bool vector_fits(const struct contract *contract, const struct blocks_decisions *d)
{
    const struct skeleton_group *group = contract->group;
    for (int side = 0; side < 2; side++) {
        struct blocks_bring bring = blocks_bring_of(contract, d, side == 1);
        if (bring.packed || bring.vector == 1 || !group->binding)
            continue;
        const struct ir_tensor *tensor = &group->part->tensors[bring.tensor];
        const struct contract_indices *set = &contract->sets[side ? CONTRACT_N : CONTRACT_M];
        int64_t line = 1, extent = bring.vector;
        ir_size_eval(tensor->dims[tensor->rank - 1], group->binding->sizes, &line);
        if (!bring.along)
            ir_size_eval(group->part->indices[set->at[set->count - 1]].extent,
                         group->binding->sizes, &extent);
        if (line % bring.vector || extent % bring.vector)
            return false;
    }
    return true;
}

/* Elements that any factor is read by at most. */
static int widest(const struct contract *contract, const struct blocks_decisions *d)
{
    struct blocks_bring a = blocks_bring_of(contract, d, false);
    struct blocks_bring b = blocks_bring_of(contract, d, true);
    int rows = a.packed ? 1 : a.vector, columns = b.packed ? 1 : b.vector;
    return rows > columns ? rows : columns;
}

static void write_plan(const struct skeleton_group *group, struct plan_group *plan,
                       const struct blocks_decisions *d, bool terms)
{
    const struct {
        const char *key;
        int value;
    } numbers[] = {
        {"tile.m", d->tile_m},     {"tile.n", d->tile_n},     {"tile.k", d->tile_k},
        {"thread.m", d->thread_m}, {"thread.n", d->thread_n}, {"stages", d->stages},
        {"vector", d->vector},     {"pad", d->pad},           {"raster", d->raster},
        {"resident", d->resident}, {"split.k", d->split},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        plan_set(group->arena, plan, numbers[i].key,
                 arena_printf(group->arena, "%d", numbers[i].value));
    plan_set(group->arena, plan, "pack.a", d->pack_a ? "yes" : "no");
    plan_set(group->arena, plan, "pack.b", d->pack_b ? "yes" : "no");
    if (terms)
        plan_set(group->arena, plan, "terms", d->nested ? "nested" : "flat");
}

/* The shape with the widest vectors that fit, as a plan would have it; false: it is not legal. */
static bool try_choice(const struct contract *contract, const struct plan_group *blank, int shape,
                       int split, bool nested, struct choice *choice)
{
    const struct skeleton_group *group = contract->group;
    struct skeleton_reason why_not;
    struct plan_group plan = *blank;
    double bytes;
    plan.decisions = NULL;
    plan.decision_count = 0;
    struct blocks_decisions d = {.tile_m = SHAPES[shape].tile_m,
                                 .tile_n = SHAPES[shape].tile_n,
                                 .tile_k = SHAPES[shape].tile_k,
                                 .thread_m = SHAPES[shape].thread_m,
                                 .thread_n = SHAPES[shape].thread_n,
                                 .stages = 2,
                                 .vector = 8,
                                 .pad = 4,
                                 .raster = 8,
                                 .resident = SHAPES[shape].resident,
                                 .split = split,
                                 .pack_a = nested,
                                 .nested = nested};
    bool terms = contract->sets[CONTRACT_K].count > 1;
    if (ceil(contract->sets[CONTRACT_M].size / d.tile_m) < 2)
        d.raster = 1;
    write_plan(group, &plan, &d, terms);
    struct blocks_decisions whole = blocks_decide(contract, &plan);
    whole.vector = widest(contract, &whole);
    while (whole.vector > 1 && !vector_fits(contract, &whole))
        whole.vector /= 2;
    write_plan(group, &plan, &whole, terms);
    while (!skeleton_device_contract.legal(group, &plan, &why_not)) {
        if (whole.resident == 1)
            return false;
        whole.resident--;
        write_plan(group, &plan, &whole, terms);
    }
    choice->d = whole;
    choice->seconds = product_seconds(contract, &whole, &bytes);
    return true;
}

static void keep_best(struct choice *best, int *count, int most, const struct choice *choice)
{
    int at = *count;
    while (at > 0 && best[at - 1].seconds > choice->seconds)
        at--;
    if (at >= most)
        return;
    if (*count < most)
        (*count)++;
    memmove(&best[at + 1], &best[at], (size_t)(*count - 1 - at) * sizeof *best);
    best[at] = *choice;
}

int blocks_seeds(const struct skeleton_group *group, struct plan_group *plans, int most)
{
    struct contract contract;
    struct skeleton_reason why_not;
    if (!contract_classify(group, &contract, &why_not) || most < 1)
        return 0;
    bool several = contract.sets[CONTRACT_K].count > 1;
    struct choice *best = arena_array(group->arena, (size_t)most + 1, sizeof *best);
    int count = 0;
    bool known = group->target->device->unit_registers > 0;
    for (int shape = 0; shape < (int)SHAPE_COUNT; shape++) {
        int sums = SHAPES[shape].thread_m * SHAPES[shape].thread_n;
        if (!known && sums > MOST_SUMS)
            continue;
        for (int split = 1; split <= 64; split *= 2) {
            for (int nested = 0; nested <= several; nested++) {
                struct choice choice;
                bool few = set_total(&contract, CONTRACT_K) / split < 64;
                if ((split > 1 && few) ||
                    !try_choice(&contract, &plans[0], shape, split, nested == 1, &choice))
                    continue;
                keep_best(best, &count, most, &choice);
            }
        }
    }
    for (int i = 0; i < count; i++)
        write_plan(group, &plans[i], &best[i].d, several);
    return count;
}
