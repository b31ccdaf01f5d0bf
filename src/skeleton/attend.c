/*
 * attend: attention without its matrix of scores. A softmax of scores weighs values; scores, their
 * maximum, the sum of the weights and the weighted sum are one pass over the keys.
 *
 *     for blocks of queries                                       <- threads
 *         the queries, turned so that they stand in lanes
 *         for keys by block.k, but for those none of the queries can see
 *             scores: tiles of tile.k keys x block.q queries in registers
 *             maps and masks of the scores; the greatest so far
 *             weights below it; what was summed so far is scaled down to it
 *             sums: tiles of tile.d channels x block.q queries in registers
 *         the maps that follow, query by query
 *
 * With queries in lanes there is nothing to fold, and neither keys nor values are copied.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "skeleton/attend.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)

static bool attend_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct attend attend;
    return attend_classify(group, &attend, why_not);
}

/* ---- what is open ---- */

static const char *const block_q[] = {"2",  "4",  "8",  "12", "16", "24",
                                      "32", "48", "64", "80", "96", "128"};
static const char *const block_k[] = {"16", "32", "48", "64", "96", "128", "192", "256", "512"};
static const char *const tile_rows[] = {"1", "2", "3",  "4",  "5",  "6",  "7",
                                        "8", "9", "10", "11", "12", "13", "14"};
static const char *const threads[] = {"1", "2", "4", "8", "16", "32", "64", "128"};

#define COUNT(values) ((int)(sizeof(values) / sizeof *(values)))

static const struct plan_slot all_slots[] = {
    {"block.q", "queries of a block: a multiple of the lanes", block_q, COUNT(block_q), 7},
    {"block.k", "keys whose weights are kept at a time", block_k, COUNT(block_k), 5},
    {"tile.k", "keys of a tile of scores in registers", tile_rows, COUNT(tile_rows), 7},
    {"tile.d", "channels of a tile of sums in registers", tile_rows, COUNT(tile_rows), 7},
    {"threads", "workers that share the blocks of queries", threads, COUNT(threads), 1},
};

static void attend_open_slots(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    for (int i = 0; i < COUNT(all_slots); i++)
        vector_push(group->arena, slots, all_slots[i]);
}

struct attend_decisions attend_decide(const struct attend *attend, const struct plan_group *plan)
{
    int lanes = attend->group.target->vector_bytes / attend->element;
    return (struct attend_decisions){
        .lanes = lanes,
        .vectors = (int)plan_number(plan, "block.q", 48) / lanes,
        .block_k = (int)plan_number(plan, "block.k", 128),
        .tile_k = (int)plan_number(plan, "tile.k", 8),
        .tile_d = (int)plan_number(plan, "tile.d", 8),
        .threads = (int)plan_number(plan, "threads", 1),
    };
}

static bool attend_legal(const struct skeleton_group *group, const struct plan_group *plan,
                         struct skeleton_reason *why_not)
{
    struct attend attend;
    if (!attend_classify(group, &attend, why_not))
        return false;
    struct attend_decisions d = attend_decide(&attend, plan);
    int64_t queries = plan_number(plan, "block.q", 48);
    int registers = group->target->registers;
    if (queries % d.lanes)
        return REFUSE(why_not, "block.q %d is no multiple of the %d lanes", (int)queries, d.lanes);
    if (d.vectors > ATTEND_MAX_VECTORS)
        return REFUSE(why_not, "a block has at most %d vectors of queries", ATTEND_MAX_VECTORS);
    if (d.tile_k * d.vectors + d.vectors + 1 > registers)
        return REFUSE(why_not, "%d x %d scores need more than the %d vector registers", d.tile_k,
                      d.vectors, registers);
    if (d.tile_d * d.vectors + d.vectors + 1 > registers)
        return REFUSE(why_not, "%d x %d sums need more than the %d vector registers", d.tile_d,
                      d.vectors, registers);
    return true;
}

/* ---- cost ---- */

static double axis_size(const struct attend *attend, int axis)
{
    int64_t size = 1;
    if (attend->group.binding)
        ir_size_eval(attend->extents[axis], attend->group.binding->sizes, &size);
    return size > 0 ? (double)size : 1;
}

static double batch_count(const struct attend *attend)
{
    double size = 1;
    for (int i = 0; i < attend->key; i++) {
        if (i != attend->query && i != attend->channel)
            size *= axis_size(attend, i);
    }
    return size;
}

/* Cycles of a tile's loop for one term, as contract reckons; rows that are left take a tile each.
 */
static double rows_cycles(double rows, double tile, double vectors)
{
    double whole = floor(rows / tile), rest = rows - whole * tile;
    double cycles = fmax(fmax(tile * vectors, 4), vectors + tile / 2) + 0.1 * (tile / 2 + vectors);
    return whole * cycles + rest * (fmax(vectors, 4) + 0.5);
}

static struct skeleton_cost attend_predict(const struct skeleton_group *group,
                                           const struct plan_group *plan)
{
    enum { WEIGHT_CYCLES = 24, TURN_CYCLES = 30, BLOCK_CYCLES = 400 };
    struct attend attend;
    struct skeleton_reason why_not;
    struct skeleton_cost cost = {0};
    if (!attend_classify(group, &attend, &why_not))
        return cost;
    struct attend_decisions d = attend_decide(&attend, plan);
    double queries = axis_size(&attend, attend.query), keys = axis_size(&attend, attend.key);
    double channels = axis_size(&attend, attend.channel);
    double features = axis_size(&attend, attend.feature), batch = batch_count(&attend);
    double wide = (double)d.vectors * d.lanes, blocks = ceil(queries / wide);
    /* what a predicate leaves out is about half */
    double seen = attend.top.stage->predicate == IR_NONE ? keys : fmin(keys, keys / 2 + wide / 2);
    double steps = ceil(seen / d.block_k), kept = fmin(seen, d.block_k);
    double scores = features * rows_cycles(kept, d.tile_k, d.vectors);
    double sums = kept * rows_cycles(channels, d.tile_d, d.vectors) + 2 * channels * d.vectors;
    double block = steps * (scores + sums + kept * d.vectors * WEIGHT_CYCLES + BLOCK_CYCLES);
    block += TURN_CYCLES * (features + channels) * d.vectors;
    double rate = group->target->fma > 0 ? group->target->fma : 5e10;
    double clock = rate / 2 / (group->target->vector_bytes / 4.0); /* vector additions */
    double used = fmin(fmin(d.threads, group->target->threads), blocks * batch);
    cost.seconds = ceil(blocks * batch / used) * block / clock;
    cost.operations = 2 * batch * queries * seen * (features + channels);
    cost.bytes =
        batch * attend.element * (queries * (features + channels) + keys * (features + channels));
    cost.scratch = (int64_t)(d.threads * wide * (features + channels) * attend.element);
    cost.stack = (int64_t)(d.block_k * wide * attend.element);
    cost.vectors = (d.tile_k > d.tile_d ? d.tile_k : d.tile_d) * d.vectors + d.vectors + 1;
    return cost;
}

/* ---- what to try first ---- */

/* Of the tiles that fit the registers the one with the least predicted cost. */
static void seed(const struct attend *attend, struct plan_group *plan, int vectors)
{
    const struct skeleton_group *group = &attend->group;
    struct arena *arena = group->arena;
    int lanes = group->target->vector_bytes / attend->element;
    int most = (group->target->registers - vectors - 2) / vectors;
    double channels = axis_size(attend, attend->channel), keys = axis_size(attend, attend->key);
    int tile = most < 1 ? 1 : most > 14 ? 14 : most, best = tile;
    for (int i = 1; i <= tile; i++) {
        if (rows_cycles(channels, i, vectors) < rows_cycles(channels, best, vectors))
            best = i;
    }
    int64_t kept = 128;
    while (kept > 16 && (double)kept >= 2 * keys)
        kept /= 2;
    int tile_k = tile > 8 && kept % 8 == 0 && vectors > 2 ? 8 : tile;
    if (kept >= 64 && kept % tile_k &&
        kept * 3 / 4 % tile_k == 0) /* whole tiles: the last ones are slow */
        kept = kept * 3 / 4;
    int workers = 1;
    while (workers * 2 <= group->target->threads && workers < 128)
        workers *= 2;
    plan_set(arena, plan, "block.q", arena_printf(arena, "%d", vectors * lanes));
    plan_set(arena, plan, "block.k", arena_printf(arena, "%d", (int)kept));
    plan_set(arena, plan, "tile.k", arena_printf(arena, "%d", tile_k));
    plan_set(arena, plan, "tile.d", arena_printf(arena, "%d", best));
    plan_set(arena, plan, "threads", arena_printf(arena, "%d", workers));
}

static int attend_seeds(const struct skeleton_group *group, struct plan_group *plans, int most)
{
    struct attend attend;
    struct skeleton_reason why_not;
    int count = 0;
    if (!attend_classify(group, &attend, &why_not))
        return 0;
    int lanes = group->target->vector_bytes / attend.element;
    double queries = axis_size(&attend, attend.query);
    const int by_registers[] = {3, 2, 1};
    for (size_t i = 0; i < 3 && count < most; i++) {
        bool fits = group->target->registers > 16 || by_registers[i] < 3;
        if (fits && (by_registers[i] == 1 || queries > lanes * (by_registers[i] - 1)))
            seed(&attend, &plans[count++], by_registers[i]);
    }
    return count;
}

const struct skeleton skeleton_attend = {
    .name = "attend",
    .note = "attention in one pass over the keys: scores, softmax and the weighted sum",
    .match = attend_match,
    .open = attend_open_slots,
    .legal = attend_legal,
    .predict = attend_predict,
    .seeds = attend_seeds,
    .lower = attend_lower,
};
