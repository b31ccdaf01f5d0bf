/*
 * seq: recurrences (rnn, gru, lstm): a loop over time, and in each step sums of products of the
 * state with weights, and maps of them.
 *
 * Weights are packed once, before the loop. A step goes over tiles of rows and vectors of columns;
 * all gates of a tile are summed in registers, and the maps are applied while the sums are in the
 * first-level cache. States are kept twice, so one barrier per step is enough; where rows of the
 * batch never meet, threads may take rows and need none.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "skeleton/seq.h"
#include "skeleton/slots.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const char *const TILES[] = {"1", "2", "3", "4", "5", "6", "7", "8", "10", "12", "14"};
static const char *const TERMS[] = {"64", "128", "256", "384", "512", "768"};
static const char *const PARALLEL[] = {"none", "columns", "rows"};

static const double BARRIER = 1.5e-6; /* seconds until all threads know that all are there */

static bool seq_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    return seq_match_group(group, why_not) != NULL;
}

static void seq_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    slots_add(group, slots, "tile.m", "rows whose gates are summed in registers at once", TILES,
              COUNT(TILES), 3);
    slots_add(group, slots, "block.k", "terms summed before sums go back to memory", TERMS,
              COUNT(TERMS), 4);
    slots_add(group, slots, "parallel",
              "threads share columns, and meet after each step, or rows, for all steps", PARALLEL,
              COUNT(PARALLEL), group->target->threads > 1);
}

static int most_gates(const struct seq *seq)
{
    int most = 0;
    for (int i = 0; i < seq->sum_count; i++)
        most = seq->sums[i].gates > most ? seq->sums[i].gates : most;
    return most;
}

static bool tile_fits(const struct seq *seq, int64_t rows)
{
    int gates = most_gates(seq);
    return rows * gates + gates + 1 <= seq->group->target->registers;
}

static bool seq_legal(const struct skeleton_group *group, const struct plan_group *plan,
                      struct skeleton_reason *why_not)
{
    const struct seq *seq = seq_match_group(group, why_not);
    if (!seq)
        return false;
    int64_t rows = plan_number(plan, "tile.m", 4);
    if (!tile_fits(seq, rows))
        return REFUSE(why_not, "%d gates of %d rows need more than the %d vector registers",
                      most_gates(seq), (int)rows, group->target->registers);
    if (plan_is(plan, "parallel", "rows") && !seq_rows_alone(seq))
        return REFUSE(why_not, "a row reads states of other rows: threads must meet every step");
    return true;
}

/* ---- cost ---- */

struct seq_sizes {                        /* at the binding */
    double steps, rows, vectors, weights; /* weights: bytes */
    double functions;                     /* cycles of the maps for one vector of a row */
};

static double set_size(const struct contract_indices *set)
{
    return set->size;
}

/* Functions take some twenty cycles a vector, the rest about one. */
static double map_cycles(const struct seq *seq)
{
    double cycles = 0;
    for (int i = 0; i < seq->body.stage_count; i++) {
        const struct ir_stage *stage = &seq->body.part->stages[i];
        for (int k = 0; stage->kind == IR_MAP && k < stage->nodes.count; k++) {
            enum ir_op op = stage->nodes.at[k].op;
            cycles += op >= IR_EXP || op == IR_POW || op == IR_DIV ? 20 : 1;
        }
    }
    return cycles;
}

static struct seq_sizes sizes_of(const struct seq *seq)
{
    const struct skeleton_group *group = seq->group;
    const struct contract_indices *sets = seq->sums[0].contract.sets;
    const struct contract_indices *columns = &sets[CONTRACT_N];
    int64_t steps = 1, lanes = 1;
    if (group->binding) {
        ir_size_eval(group->part->indices[seq->loop->loop_index].extent, group->binding->sizes,
                     &steps);
        ir_size_eval(group->part->indices[columns->at[columns->count - 1]].extent,
                     group->binding->sizes, &lanes);
    }
    struct seq_sizes sizes = {.steps = (double)steps,
                              .rows = set_size(&sets[CONTRACT_M]),
                              .vectors = ceil((double)lanes / seq->lanes),
                              .functions = map_cycles(seq)};
    for (int i = 0; i < seq->sum_count; i++) {
        const struct contract_indices *of = seq->sums[i].contract.sets;
        sizes.weights +=
            set_size(&of[CONTRACT_N]) * set_size(&of[CONTRACT_K]) * (double)dtype_bytes(seq->dtype);
    }
    return sizes;
}

/* Cycles of one tile: multiply-adds, loads, the wait for an addition; then the maps. */
static double tile_cycles(const struct seq *seq, const struct seq_sizes *sizes, double rows)
{
    double cycles = 0;
    for (int i = 0; i < seq->sum_count; i++) {
        double gates = seq->sums[i].gates;
        double term = fmax(fmax(rows * gates, gates + rows / 2), 4) + 0.1 * (rows / 2 + gates);
        double terms = set_size(&seq->sums[i].contract.sets[CONTRACT_K]);
        cycles += terms * term + 3 * rows * gates + 20;
    }
    return cycles + rows * sizes->functions;
}

static struct skeleton_cost seq_cost(const struct seq *seq, const struct plan_group *plan)
{
    const struct skeleton_target *target = seq->group->target;
    struct seq_sizes sizes = sizes_of(seq);
    struct skeleton_cost cost = {0};
    double rows = (double)plan_number(plan, "tile.m", 4);
    double panels = ceil(sizes.rows / rows), tiles = panels * sizes.vectors;
    double element = (double)dtype_bytes(seq->dtype),
           cycle = seq->lanes * element / 2 / target->fma;
    bool alone = plan_is(plan, "parallel", "none"), by_rows = plan_is(plan, "parallel", "rows");
    double threads = alone ? 1 : target->threads, shared = by_rows ? panels : tiles;
    double share = shared > 0 ? ceil(shared / threads) / shared : 1;
    double computing = tiles * tile_cycles(seq, &sizes, rows) * cycle * share;
    /* each thread reads its weights every step, from the cache that holds them */
    double weights = sizes.weights * (by_rows ? 1 : share);
    double rate = weights <= 0.75 * (double)target->l2 ? target->l2_rate : 2 * target->memory;
    double step = fmax(computing, weights / rate) + (alone || by_rows ? 0 : BARRIER);
    cost.seconds = sizes.steps * step + sizes.weights / element * 2 * cycle + (alone ? 0 : 5e-6);
    for (int i = 0; i < seq->sum_count; i++) {
        const struct contract_indices *sets = seq->sums[i].contract.sets;
        cost.operations += 2 * sizes.steps * sizes.rows * set_size(&sets[CONTRACT_N]) *
                           set_size(&sets[CONTRACT_K]);
    }
    struct ir_work work = ir_stage_work(seq->group->binding, seq->loop);
    cost.bytes = sizes.weights + (work.read_bytes + work.write_bytes) / fmax(sizes.steps, 1);
    cost.scratch = (int64_t)sizes.weights;
    cost.stack = (int64_t)(rows * seq->gates * seq->lanes * element);
    cost.vectors = (int)rows * most_gates(seq) + most_gates(seq) + 1;
    return cost;
}

static struct skeleton_cost seq_predict(const struct skeleton_group *group,
                                        const struct plan_group *plan)
{
    struct skeleton_reason ignored;
    const struct seq *seq = seq_match_group(group, &ignored);
    return seq ? seq_cost(seq, plan) : (struct skeleton_cost){0};
}

/* ---- what to try first ---- */

static const char *terms_seed(const struct seq *seq)
{
    double most = 0;
    for (int i = 0; i < seq->sum_count; i++)
        most = fmax(most, set_size(&seq->sums[i].contract.sets[CONTRACT_K]));
    for (int i = 0; i < COUNT(TERMS); i++) {
        if (atof(TERMS[i]) >= most)
            return TERMS[i];
    }
    return "512";
}

/* For each way to use threads the best tile; the ways in order of what they cost. */
static int seq_seeds(const struct skeleton_group *group, struct plan_group *plans, int most)
{
    struct skeleton_reason ignored;
    const struct seq *seq = seq_match_group(group, &ignored);
    double seconds[COUNT(PARALLEL)];
    int count = 0;
    bool rows_alone = seq && seq_rows_alone(seq);
    for (int p = 0; seq && p < COUNT(PARALLEL) && count < most; p++) {
        if (p == 2 && !rows_alone)
            continue;
        struct plan_group best = plans[0], trial = {0};
        double least = INFINITY;
        plan_set(group->arena, &trial, "block.k", terms_seed(seq));
        plan_set(group->arena, &trial, "parallel", PARALLEL[p]);
        for (int t = 0; t < COUNT(TILES) && tile_fits(seq, atoi(TILES[t])); t++) {
            plan_set(group->arena, &trial, "tile.m", TILES[t]);
            double now = seq_cost(seq, &trial).seconds;
            if (now >= least * 0.995)
                continue;
            least = now;
            best = (struct plan_group){0};
            plan_set(group->arena, &best, "tile.m", TILES[t]);
            plan_set(group->arena, &best, "block.k", terms_seed(seq));
            plan_set(group->arena, &best, "parallel", PARALLEL[p]);
        }
        int at = count++;
        for (; at > 0 && seconds[at - 1] > least; at--) {
            plans[at] = plans[at - 1];
            seconds[at] = seconds[at - 1];
        }
        plans[at] = best;
        seconds[at] = least;
    }
    return count;
}

const struct skeleton skeleton_seq = {
    .name = "seq",
    .note = "recurrences: weights packed once, all gates of a tile in registers",
    .match = seq_match,
    .open = seq_open,
    .legal = seq_legal,
    .predict = seq_predict,
    .seeds = seq_seeds,
    .lower = seq_lower,
};
