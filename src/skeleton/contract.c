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
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skeleton/contract.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)

static bool contract_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct contract contract;
    return contract_classify(group, &contract, why_not);
}

/* ---- what is open ---- */

static const char *const tile_m[] = {"1", "2", "3",  "4",  "5",  "6",  "7",
                                     "8", "9", "10", "11", "12", "13", "14"};
static const char *const tile_n[] = {"2",  "4",  "6",  "8",  "12", "16", "24",
                                     "32", "48", "64", "80", "96", "128"};
static const char *const block_m[] = {"16", "32", "48", "64", "96", "128", "192", "256", "384"};
static const char *const block_n[] = {"32",  "64",  "128",  "192",  "256",  "384",
                                      "512", "768", "1024", "2048", "4096", "1048576"};
static const char *const block_k[] = {"16",  "32",  "64",  "128", "192",
                                      "256", "384", "512", "576", "768"};
static const char *const yes_no[] = {"no", "yes"};
static const char *const parallels[] = {"none", "tiles", "columns", "batch"};
static const char *const threads[] = {"1", "2", "4", "8", "16", "32", "64", "128"};

#define SLOT(key, note, values, seed)                                     \
    {                                                                     \
        key, note, values, (int)(sizeof(values) / sizeof *(values)), seed \
    }

static const struct plan_slot all_slots[] = {
    SLOT("tile.m", "rows of a tile of sums in registers", tile_m, 5),
    SLOT("tile.n", "columns of the tile: a multiple of the lanes", tile_n, 9),
    SLOT("block.m", "rows of the first factor that stay in the second-level cache", block_m, 7),
    SLOT("block.n", "columns a thread takes at a time", block_n, 11),
    SLOT("block.k", "terms summed before sums go back to memory", block_k, 7),
    SLOT("pack.a", "rows are copied into panels first", yes_no, 1),
    SLOT("pack.b", "columns are copied into panels first", yes_no, 1),
    SLOT("merge", "columns of small images fill the lanes together, not line by line", yes_no, 0),
    SLOT("parallel", "what threads share out", parallels, 1),
    SLOT("threads", "rows are cut so that so many threads have the same to do", threads, 1),
};

static void contract_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    for (size_t i = 0; i < sizeof all_slots / sizeof *all_slots; i++)
        vector_push(group->arena, slots, all_slots[i]);
    contract_open_atoms(group, slots);
}

/* ---- decisions as numbers ---- */

struct decisions {
    int lanes;
    int64_t rows, columns, block_m, block_n, block_k, threads;
    bool pack_a, pack_b, merge, slices, serial, columns_shared;
    struct contract_choice choice;
};

static struct decisions read_decisions(const struct contract *contract,
                                       const struct plan_group *plan)
{
    struct decisions decisions = {
        .lanes = contract->group->target->vector_bytes / contract->element,
        .rows = plan_number(plan, "tile.m", 6),
        .columns = plan_number(plan, "tile.n", 64),
        .block_m = plan_number(plan, "block.m", 256),
        .block_n = plan_number(plan, "block.n", 1048576),
        .block_k = plan_number(plan, "block.k", 512),
        .threads = plan_number(plan, "threads", 1),
        .pack_a = !plan_is(plan, "pack.a", "no"),
        .pack_b = !plan_is(plan, "pack.b", "no"),
        .merge = plan_is(plan, "merge", "yes"),
        .slices = plan_is(plan, "parallel", "batch"),
        .serial = plan_is(plan, "parallel", "none"),
        .columns_shared = plan_is(plan, "parallel", "columns"),
        .choice = contract_choose(contract, plan),
    };
    const struct machine_atom *atom = decisions.choice.atom;
    if (atom) {
        int vectors = contract_tile_vectors(atom, decisions.columns / decisions.lanes);
        decisions.rows = contract_tile_rows(atom, decisions.rows);
        if (atom->rows > 1)
            decisions.columns = vectors * decisions.lanes;
        decisions.pack_a = decisions.pack_b = true;
    }
    return decisions;
}

enum { MOST_STACK = 1 << 20 }; /* bytes of packed columns a thread keeps */

static int64_t stack_bytes(const struct contract *contract, const struct decisions *d)
{
    int64_t columns = d->block_n > d->columns ? d->block_n : d->columns;
    int64_t element =
        d->choice.atom ? 4 * d->choice.parts / d->choice.atom->word : contract->element;
    return columns * d->block_k * (element > 0 ? element : 1);
}

/* Vector registers that a tile's loop needs; tiles of the machine have registers of their own. */
static int64_t registers_of(const struct decisions *d)
{
    int64_t vectors = d->columns / d->lanes;
    if (d->choice.atom && d->choice.atom->rows > 1)
        return 1;
    return d->rows * vectors + vectors * d->choice.parts + 1;
}

static bool contract_legal(const struct skeleton_group *group, const struct plan_group *plan,
                           struct skeleton_reason *why_not)
{
    struct contract contract;
    if (!contract_classify(group, &contract, why_not))
        return false;
    struct decisions d = read_decisions(&contract, plan);
    int64_t vectors = d.columns / d.lanes;
    if (d.columns % d.lanes)
        return REFUSE(why_not, "tile.n %d is no multiple of the %d lanes", (int)d.columns, d.lanes);
    if (d.rows > CONTRACT_MAX_ROWS || vectors > CONTRACT_MAX_VECTORS)
        return REFUSE(why_not, "a tile has at most %d rows and %d vectors", CONTRACT_MAX_ROWS,
                      CONTRACT_MAX_VECTORS);
    if (!contract_choice_legal(&contract, plan, why_not))
        return false;
    if (registers_of(&d) > group->target->registers)
        return REFUSE(why_not, "%d x %d sums need more than the %d vector registers", (int)d.rows,
                      (int)vectors, group->target->registers);
    if (d.columns_shared && d.pack_b && stack_bytes(&contract, &d) > MOST_STACK)
        return REFUSE(why_not, "a block of %d columns of %d terms is more than %d bytes of stack",
                      (int)d.block_n, (int)d.block_k, MOST_STACK);
    if (d.merge && contract.mergeable < 2)
        return REFUSE(why_not, "no two columns' indices are one in all that is written");
    if (d.merge && !d.pack_b)
        return REFUSE(why_not, "columns fill lanes together only where they are packed");
    if (d.slices && contract.sets[CONTRACT_BATCH].count == 0)
        return REFUSE(why_not, "there is no batch to share out");
    return true;
}

/* ---- cost ---- */

/* Cycles of the tile's loop for one term: additions, loads, the wait for an addition; and a little
 * for every load, since they come from ever further away. */
static double tile_cycles(double rows, double vectors)
{
    return fmax(fmax(rows * vectors, vectors + rows / 2), 4) + 0.1 * (rows / 2 + vectors);
}

static double extent_at_binding(const struct contract *contract, int index)
{
    int64_t size = 1;
    if (contract->group->binding)
        ir_size_eval(contract->group->part->indices[index].extent, contract->group->binding->sizes,
                     &size);
    return size > 0 ? (double)size : 1;
}

/* Vectors that all columns take when the last `merged` indices run in lanes together. */
static double vectors_of(const struct contract *contract, int merged, int lanes)
{
    const struct contract_indices *n = &contract->sets[CONTRACT_N];
    double along = 1;
    for (int i = n->count - merged; i < n->count; i++)
        along *= extent_at_binding(contract, n->at[i]);
    return n->size / along * ceil(along / lanes);
}

/* Cycles of all tiles of one product, in units of one vector addition. */
static double tiles_cost(const struct contract *contract, const struct contract_choice *choice,
                         double rows, double vectors, int merged, int lanes)
{
    double total = vectors_of(contract, merged, lanes);
    double tiles = ceil(contract->sets[CONTRACT_M].size / rows) * ceil(total / vectors);
    double terms = contract->sets[CONTRACT_K].size, cycles = tile_cycles(rows, vectors);
    if (choice->atom) { /* an instruction does more, and takes as long as its rate says */
        double slower = contract->group->target->fma * choice->atom->word / choice->rate;
        bool tile = choice->atom->rows > 1;
        terms = ceil(terms / choice->atom->terms) * choice->atom->terms / choice->atom->word *
                machine_scheme_products(choice->parts);
        cycles = tile ? 1.4 * rows * vectors * slower : cycles * fmax(slower, 0.5);
    }
    return tiles * (terms * cycles + 3 * rows * vectors + 30);
}

/* How much more packing costs when terms have digits: divisions, cheap ones by known numbers. */
static double digits_cost(const struct contract *contract)
{
    const struct contract_indices *terms = &contract->sets[CONTRACT_K];
    double cost = 1;
    for (int i = 1; i < terms->count; i++) {
        const struct ir_size *extent = contract->group->part->indices[terms->at[i]].extent;
        bool known = extent->op == IR_SIZE_CONSTANT;
        for (int f = 0; f < contract->group->fix_count; f++)
            known |=
                extent->op == IR_SIZE_SYMBOL && contract->group->fixes[f].symbol == extent->symbol;
        cost += known ? 0.2 : 1;
    }
    return cost;
}

/* Functions (exp, tanh, ...) a node computes. */
static int functions(const struct ir_nodes *nodes, int number)
{
    const struct ir_node *node = &nodes->at[number];
    int count = ir_op_arguments(node->op), sum = node->op >= IR_EXP || node->op == IR_POW;
    const int arguments[] = {node->a, node->b, node->c};
    for (int i = 0; i < count; i++)
        sum += functions(nodes, arguments[i]);
    return sum;
}

/* What computing an element of a factor takes, beside reading it: rows are computed one by one,
 * columns in lanes. */
static double factor_cost(const struct contract *contract, bool second, int lanes)
{
    enum { FUNCTION_COST = 40 };
    double cost = 0;
    for (int i = 0; i < contract->term_count; i++) {
        if (contract->terms[i].second == second)
            cost += functions(&contract->stage->nodes, contract->terms[i].node) *
                    (second ? (double)FUNCTION_COST / lanes : FUNCTION_COST);
    }
    return cost;
}

static struct skeleton_cost contract_predict(const struct skeleton_group *group,
                                             const struct plan_group *plan)
{
    struct contract contract;
    struct skeleton_reason why_not;
    struct skeleton_cost cost = {0};
    if (!contract_classify(group, &contract, &why_not))
        return cost;
    struct decisions d = read_decisions(&contract, plan);
    const struct contract_indices *sets = contract.sets;
    double m = sets[CONTRACT_M].size, n = sets[CONTRACT_N].size, k = sets[CONTRACT_K].size;
    double batch = sets[CONTRACT_BATCH].size, vectors = (double)d.columns / d.lanes;
    double used = fmin(d.serial ? 1 : (double)group->target->threads,
                       d.slices ? batch : ceil(m / (double)d.rows) * ceil(n / (double)d.columns));
    double rate = group->target->fma > 0 ? group->target->fma : 5e10;
    rate *= 2.0 / contract.element; /* a multiply-add is two operations */
    cost.operations = 2 * batch * m * n * k;
    cost.bytes = batch * (m * k + k * n + m * n) * contract.element;
    double copied = (d.pack_a ? m * k : 0) + (d.pack_b ? k * n : 0);
    copied *= digits_cost(&contract);
    /* what is not copied is computed anew for every tile */
    double rows_made = d.pack_a ? 1 : ceil(n / (double)d.columns);
    double columns_made = d.pack_b ? 1 : ceil(m / (double)d.rows);
    double made = m * k * rows_made * factor_cost(&contract, false, d.lanes) +
                  k * n * columns_made * factor_cost(&contract, true, d.lanes);
    double seconds = batch * tiles_cost(&contract, &d.choice, (double)d.rows, vectors,
                                        d.merge ? contract.mergeable : 1, d.lanes);
    if (d.choice.atom) /* operands are converted, taken apart, joined to words */
        copied *= d.choice.parts > 1 ? 3 * d.choice.parts : 1.5;
    seconds = seconds * d.lanes / rate + batch * (copied + made) / (rate / d.lanes);
    cost.seconds = seconds / fmax(used, 1);
    if (group->target->memory > 0)
        cost.seconds = fmax(cost.seconds, cost.bytes / group->target->memory / fmax(used, 1));
    cost.scratch = (int64_t)(copied * contract.element * (d.slices ? batch : 1));
    cost.vectors = (int)registers_of(&d);
    cost.stack = d.rows * d.columns * contract.element;
    return cost;
}

/* ---- what to try first ---- */

static void set_number(struct arena *arena, struct plan_group *plan, const char *key,
                       const char *const *values, int count, double wanted)
{
    int best = 0;
    for (int i = 1; i < count; i++) {
        if (fabs(atof(values[i]) - wanted) < fabs(atof(values[best]) - wanted))
            best = i;
    }
    plan_set(arena, plan, key, values[best]);
}

#define SET_NUMBER(arena, plan, key, values, wanted) \
    set_number(arena, plan, key, values, (int)(sizeof(values) / sizeof *(values)), wanted)

/* The tile that wastes least: on edges, on loads, on waiting. */
static void choose_tile(const struct contract *contract, const struct contract_choice *choice,
                        int merged, int lanes, int *rows, int *vectors)
{
    double best = INFINITY;
    int registers = contract->group->target->registers;
    for (int v = 1; v <= 4; v++) {
        for (int r = 1; r <= 14 && r * v + v * choice->parts + 1 < registers; r++) {
            double cost = tiles_cost(contract, choice, contract_tile_rows(choice->atom, r),
                                     contract_tile_vectors(choice->atom, v), merged, lanes);
            if (cost < best * 0.995) {
                best = cost;
                *rows = r;
                *vectors = v;
            }
        }
    }
}

static void seed(const struct contract *contract, struct plan_group *plan)
{
    const struct skeleton_group *group = contract->group;
    const struct contract_indices *sets = contract->sets;
    struct arena *arena = group->arena;
    int lanes = group->target->vector_bytes / contract->element, rows = 1, vectors = 1;
    /* lines of an image that are no whole vectors are better counted through */
    struct contract_choice choice = contract_choose(contract, plan);
    bool merge =
        !choice.atom && contract->mergeable > 1 &&
        vectors_of(contract, contract->mergeable, lanes) < 0.95 * vectors_of(contract, 1, lanes);
    choose_tile(contract, &choice, merge ? contract->mergeable : 1, lanes, &rows, &vectors);
    double m = sets[CONTRACT_M].size, n = sets[CONTRACT_N].size, k = sets[CONTRACT_K].size;
    double work = m * n * k;
    bool batch = sets[CONTRACT_BATCH].size >= 2 * group->target->threads && work < 1e8;
    bool alone = !batch && work < 4e5; /* waking threads takes longer */
    double used = batch || alone ? 1 : group->target->threads;
    SET_NUMBER(arena, plan, "tile.m", tile_m, rows);
    SET_NUMBER(arena, plan, "tile.n", tile_n, vectors * lanes);
    SET_NUMBER(arena, plan, "block.k", block_k, k <= 768 ? fmax(k, 256) : 512);
    /* a panel of columns must serve several panels of rows, and the other way round */
    bool pack_a = !contract->rows_contiguous && n > 2.0 * vectors * lanes;
    bool pack_b = merge || !contract->columns_contiguous || m > 3.0 * rows;
    /* few rows, or columns that take more room packed than they have: threads take columns */
    bool columns = !batch && !alone && n > 4 * m && sets[CONTRACT_N].count > 1;
    bool wide = !columns && m < rows * 2 * used;
    double width = vectors * lanes;
    double block = columns ? fmax(width, floor(65536.0 / fmin(fmax(k, 256), 768) / width) * width)
                   : wide  ? fmax(n / used / 2, width)
                           : 1048576;
    if (columns)
        SET_NUMBER(arena, plan, "block.k", block_k, k <= 768 ? ceil(k / 16) * 16 : 384);
    SET_NUMBER(arena, plan, "block.n", block_n, block);
    SET_NUMBER(arena, plan, "block.m", block_m, pack_a ? 256 : 96);
    plan_set(arena, plan, "pack.a", pack_a ? "yes" : "no");
    plan_set(arena, plan, "pack.b", pack_b ? "yes" : "no");
    plan_set(arena, plan, "merge", merge ? "yes" : "no");
    plan_set(arena, plan, "parallel",
             columns ? "columns"
             : batch ? "batch"
             : alone ? "none"
                     : "tiles");
    SET_NUMBER(arena, plan, "threads", threads, wide ? 1 : used);
}

/* The same with an instruction and a precision: each a plan of its own. */
static bool seed_with(const struct contract *contract, struct plan_group *plan, const char *atom,
                      const char *precision)
{
    struct skeleton_reason why_not;
    struct arena *arena = contract->group->arena;
    if (atom)
        plan_set(arena, plan, "atom", atom);
    if (precision)
        plan_set(arena, plan, "precision", precision);
    seed(contract, plan);
    return contract_legal(contract->group, plan, &why_not);
}

/* The value of a slot; NULL: there is no such slot, or none of that number. */
static const char *slot_value(const struct skeleton_slots *slots, const char *key, int number)
{
    for (size_t i = 0; i < slots->count; i++) {
        if (strcmp(slots->at[i].key, key) == 0)
            return number < slots->at[i].value_count ? slots->at[i].values[number] : NULL;
    }
    return NULL;
}

/* All atoms and precisions there are, best by prediction first. */
static int contract_seeds(const struct skeleton_group *group, struct plan_group *plans, int most)
{
    enum { MOST = 8 };
    struct contract contract;
    struct skeleton_reason why_not;
    struct skeleton_slots slots = {0};
    struct plan_group found[MOST];
    double seconds[MOST];
    int count = 0;
    if (most < 1 || !contract_classify(group, &contract, &why_not))
        return 0;
    contract_open_atoms(group, &slots);
    for (int i = 0; count < MOST; i++) {
        const char *key = slot_value(&slots, "precision", 0) ? "precision" : "atom";
        const char *value = slot_value(&slots, key, i);
        if (i > 0 && !value)
            break;
        struct plan_group plan = plans[0];
        bool whole = strcmp(key, "precision") == 0;
        if (!seed_with(&contract, &plan, whole ? NULL : value, whole ? value : NULL))
            continue;
        double cost = contract_predict(group, &plan).seconds;
        int at = count++;
        for (; at > 0 && seconds[at - 1] > cost; at--) {
            seconds[at] = seconds[at - 1];
            found[at] = found[at - 1];
        }
        seconds[at] = cost;
        found[at] = plan;
    }
    if (count == 0) { /* nothing is open, or all of it fails */
        seed(&contract, &plans[0]);
        return 1;
    }
    for (int i = 0; i < count && i < most; i++)
        plans[i] = found[i];
    return count < most ? count : most;
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
