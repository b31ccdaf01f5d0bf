/*
 * contract: matrix products and all that is one (linear layers, batches, convolutions by implicit
 * GEMM), with whatever computes the factors before and the maps after.
 *
 *     for terms by block.k
 *         both factors into panels (pack.a, pack.b), guards and conversions on the way
 *         for rows by block.m, columns by block.n                 <- threads
 *             for panels of columns, panels of rows
 *                 a tile of tile.m x tile.n sums in registers, over the block of terms
 *
 * Sums of a block are added to those of the blocks before, so errors grow with the blocks and with
 * their length, not with the product. At the last block the maps that follow are applied.
 */
#include <stdio.h>
#include <string.h>

#include "skeleton/contract.h"
#include "skeleton/slots.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)

static bool contract_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct contract contract;
    return contract_classify(group, &contract, why_not);
}

/* ---- what is open ---- */

static const char *const tile_m[] = {"1", "2",  "3",  "4",  "5",  "6",  "7",  "8",
                                     "9", "10", "11", "12", "13", "14", "16", "32"};
enum { FOR_TILES = 2 }; /* the last of tile_m: one and two of a machine's tiles */
static const char *const tile_n[] = {"1",  "2",  "3",  "4",  "5",  "6",  "8",  "12",
                                     "16", "24", "32", "48", "64", "80", "96", "128"};
static const char *const block_m[] = {"16", "32", "48", "64", "96", "128", "192", "256", "384"};
static const char *const block_n[] = {"32",  "64",  "128",  "192",  "256",  "384",
                                      "512", "768", "1024", "2048", "4096", "1048576"};
static const char *const block_k[] = {"16",  "32",  "64",  "128", "192",  "256",
                                      "384", "512", "576", "768", "1024", "2048"};
static const char *const yes_no[] = {"no", "yes"};
static const char *const parallels[] = {"none", "shares", "tiles", "columns", "batch"};
static const char *const splits[] = {"1",  "2",  "3",  "4",  "6",  "8",  "12",
                                     "16", "24", "32", "48", "64", "96", "128"};
static const char *const lanes[] = {"columns", "rows", "terms"};

#define SLOT(key, note, values, seed)                                     \
    {                                                                     \
        key, note, values, (int)(sizeof(values) / sizeof *(values)), seed \
    }

static const struct plan_slot all_slots[] = {
    SLOT("lanes", "what runs in the lanes of vectors; rows: the factors change places", lanes, 0),
    SLOT("tile.m", "rows of a tile of sums in registers", tile_m, 5),
    SLOT("tile.n", "columns of the tile: a multiple of the lanes", tile_n, 12),
    SLOT("block.m", "rows of the first factor that stay in the second-level cache", block_m, 7),
    SLOT("block.n", "columns a thread takes at a time", block_n, 11),
    SLOT("block.k", "terms summed before sums go back to memory", block_k, 7),
    SLOT("pack.a", "rows are copied into panels first", yes_no, 1),
    SLOT("pack.b", "columns are copied into panels first", yes_no, 1),
    SLOT("merge", "columns of small images fill the lanes together, not line by line", yes_no, 0),
    SLOT("parallel", "what threads share out", parallels, 2),
    SLOT("split.m", "shares of the rows, for as many threads", splits, 0),
    SLOT("split.n", "shares of the columns", splits, 0),
    SLOT("split.k", "shares of the terms, whose sums are added up at the end", splits, 0),
};

const struct plan_slot *contract_slot(const char *key)
{
    for (size_t i = 0; i < sizeof all_slots / sizeof *all_slots; i++) {
        if (strcmp(all_slots[i].key, key) == 0)
            return &all_slots[i];
    }
    return NULL;
}

static const char *const divisions[] = {"exact", "reciprocal"};

bool contract_divides_after(const struct skeleton_group *group)
{
    for (int i = 1; i < group->stage_count; i++) {
        const struct ir_nodes *nodes = &group->part->stages[group->stages[i]].nodes;
        for (int k = 0; k < nodes->count; k++) {
            if (nodes->at[k].op == IR_DIV)
                return true;
        }
    }
    return false;
}

static void contract_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    bool tiles = contract_has_tiles(group);
    for (size_t i = 0; i < sizeof all_slots / sizeof *all_slots; i++) {
        struct plan_slot slot = all_slots[i];
        if (slot.values == tile_m && !tiles)
            slot.value_count -= FOR_TILES;
        vector_push(group->arena, slots, slot);
    }
    contract_open_atoms(group, slots);
    if (contract_divides_after(group))
        slots_add(group, slots, "divide", "by what is the same everywhere, or times its reciprocal",
                  divisions, 2, slots_division_may_differ(group, 1));
}

/* ---- decisions as numbers ---- */

struct contract_decisions contract_decide(const struct contract *contract,
                                          const struct plan_group *plan)
{
    struct contract_decisions decisions = {
        .lanes = contract->group->target->vector_bytes / contract->element,
        .along = plan_is(plan, "lanes", "terms"),
        .rows = plan_number(plan, "tile.m", 6),
        .columns = plan_number(plan, "tile.n", 64),
        .block_m = plan_number(plan, "block.m", 256),
        .block_n = plan_number(plan, "block.n", 1048576),
        .block_k = plan_number(plan, "block.k", 512),
        .pack_a = !plan_is(plan, "pack.a", "no"),
        .pack_b = !plan_is(plan, "pack.b", "no"),
        .merge = plan_is(plan, "merge", "yes"),
        .slices = plan_is(plan, "parallel", "batch"),
        .serial = plan_is(plan, "parallel", "none"),
        .columns_shared = plan_is(plan, "parallel", "columns"),
        .shares = plan_is(plan, "parallel", "shares"),
        .split_m = plan_number(plan, "split.m", 1),
        .split_n = plan_number(plan, "split.n", 1),
        .split_k = plan_number(plan, "split.k", 1),
        .choice = contract_choose(contract, plan),
    };
    const struct machine_atom *atom = decisions.choice.atom;
    if (atom) {
        int vectors = contract_tile_vectors(atom, decisions.columns / decisions.lanes);
        decisions.rows = contract_tile_rows(atom, decisions.rows);
        if (atom->rows > 1)
            decisions.columns = vectors * decisions.lanes;
        decisions.pack_a = decisions.pack_b = true;
        decisions.shares = false;
    }
    decisions.vectors = decisions.columns / (decisions.along ? 1 : decisions.lanes);
    return decisions;
}

enum { MOST_STACK = 1 << 20 }; /* bytes of packed columns a thread keeps */

static int64_t stack_bytes(const struct contract *contract, const struct contract_decisions *d)
{
    int64_t columns = d->block_n > d->columns ? d->block_n : d->columns;
    int64_t element =
        d->choice.atom ? 4 * d->choice.parts / d->choice.atom->word : contract->element;
    return columns * d->block_k * (element > 0 ? element : 1);
}

int64_t contract_registers(const struct contract_decisions *d)
{
    if (d->choice.atom && d->choice.atom->rows > 1)
        return 1;
    return d->rows * d->vectors + d->vectors * d->choice.parts + 1;
}

static bool tile_legal(const struct contract *contract, const struct contract_decisions *d,
                       struct skeleton_reason *why_not)
{
    int registers = contract->group->target->registers;
    if (d->along && contract->sets[CONTRACT_K].count != 1)
        return REFUSE(why_not, "terms have %d indices, which cannot run in lanes together",
                      contract->sets[CONTRACT_K].count);
    if (!d->along && d->columns % d->lanes)
        return REFUSE(why_not, "tile.n %d is no multiple of the %d lanes", (int)d->columns,
                      d->lanes);
    if (d->rows > CONTRACT_MAX_ROWS || d->vectors > CONTRACT_MAX_VECTORS)
        return REFUSE(why_not, "a tile has at most %d rows and %d vectors", CONTRACT_MAX_ROWS,
                      CONTRACT_MAX_VECTORS);
    if (contract_registers(d) > registers)
        return REFUSE(why_not, "%d x %d sums need more than the %d vector registers", (int)d->rows,
                      (int)d->vectors, registers);
    return true;
}

bool contract_legal(const struct skeleton_group *group, const struct plan_group *plan,
                    struct skeleton_reason *why_not)
{
    struct contract contract;
    if (!contract_classify_plan(group, plan, &contract, why_not))
        return false;
    struct contract_decisions d = contract_decide(&contract, plan);
    if (!tile_legal(&contract, &d, why_not) || !contract_choice_legal(&contract, plan, why_not))
        return false;
    if (d.choice.atom && d.along)
        return REFUSE(why_not, "small operands are summed up with columns in lanes, not terms");
    if (d.along && d.columns_shared)
        return REFUSE(why_not, "terms in lanes and threads that pack columns do not go together");
    if (d.columns_shared && d.pack_b && stack_bytes(&contract, &d) > MOST_STACK)
        return REFUSE(why_not, "a block of %d columns of %d terms is more than %d bytes of stack",
                      (int)d.block_n, (int)d.block_k, MOST_STACK);
    if (d.merge && (contract.mergeable < 2 || d.along))
        return REFUSE(why_not, "no two columns' indices are one in all that is written");
    if (d.merge && !d.pack_b)
        return REFUSE(why_not, "columns fill lanes together only where they are packed");
    if (d.slices && contract.sets[CONTRACT_BATCH].count == 0)
        return REFUSE(why_not, "there is no batch to share out");
    if (d.split_k > 1 && !d.shares)
        return REFUSE(why_not, "terms are split only among threads with shares of their own");
    if (d.split_m * d.split_n * d.split_k > CONTRACT_MAX_SHARES)
        return REFUSE(why_not, "more than %d shares", CONTRACT_MAX_SHARES);
    return true;
}

const struct skeleton skeleton_contract = {
    .name = "contract",
    .note = "matrix products and what is one: panels, tiles of sums in registers",
    .match = contract_match,
    .open = contract_open,
    .legal = contract_legal,
    .predict = contract_predict,
    .seeds = contract_seeds,
    .lower = contract_lower,
};
