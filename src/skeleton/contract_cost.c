/*
 * contract, what plans cost: predictions that rank plans, and the tile that wastes least.
 */
#include <math.h>

#include "skeleton/contract.h"

/* In units of one multiply-add of vectors. Vectors of 64 bytes take the machine's whole width, so
 * that two single elements are loaded in the time of one addition, and four additions fill the wait
 * for one; of narrower ones it does two at a time. */
struct pace {
    double element; /* loading one */
    double wait;    /* for the result of an addition */
    double cycle;   /* one of the machine's */
};

static struct pace pace_of(const struct contract *contract)
{
    bool whole = contract->group->target->vector_bytes >= 64;
    return whole ? (struct pace){0.5, 4, 1} : (struct pace){1, 8, 2};
}

/* Of a tile's loop for one term: additions, loads, the wait for an addition; and a little for
 * every load, since they come from ever further away. */
static double step_cycles(struct pace pace, double sums, double loads)
{
    return fmax(fmax(sums, loads), pace.wait) + 0.1 * loads;
}

/* Where additions hardly fill the wait, one that is late is never made up for. */
static double late_cycles(struct pace pace, double sums)
{
    return sums < pace.wait ? 0 : 0.1 * fmax(1.5 * pace.wait - sums, 0);
}

static double tile_cycles(struct pace pace, double rows, double vectors)
{
    double sums = rows * vectors, loads = rows * pace.element + vectors;
    return step_cycles(pace, sums, loads) + late_cycles(pace, sums);
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
double contract_vectors(const struct contract *contract, int merged, int lanes)
{
    const struct contract_indices *n = &contract->sets[CONTRACT_N];
    double along = 1;
    for (int i = n->count - merged; i < n->count; i++)
        along *= extent_at_binding(contract, n->at[i]);
    return n->size / along * ceil(along / lanes);
}

/*
 * How much longer than its rate says an instruction for tiles takes: a tile of rows comes from the
 * second-level cache, which takes half as long as a product, one of columns from the first-level
 * one: 1.35 for bf16 and 1.19 in parts, where 1.36 and 1.07 to 1.2 were seen (precision.md).
 */
static double tile_slowdown(const struct contract_choice *choice, double rows, double vectors)
{
    double down = rows / choice->atom->rows, across = vectors;
    double products = down * across * machine_scheme_products(choice->parts);
    double second = choice->parts * down; /* level of the cache */
    double first = choice->parts * across + (choice->parts > 1 ? down : 0);
    return 1 + (0.5 * second + 0.2 * first) / products;
}

/* Cycles of all tiles of one product, in units of one vector addition. */
static double tiles_cost(const struct contract *contract, const struct contract_choice *choice,
                         double rows, double vectors, int merged, int lanes)
{
    double total = contract_vectors(contract, merged, lanes);
    double tiles = ceil(contract->sets[CONTRACT_M].size / rows) * ceil(total / vectors);
    double terms = contract->sets[CONTRACT_K].size,
           cycles = tile_cycles(pace_of(contract), rows, vectors);
    if (choice->atom) { /* an instruction does more, and takes as long as its rate says */
        double slower = contract->group->target->fma * choice->atom->word / choice->rate;
        bool tile = choice->atom->rows > 1;
        terms = ceil(terms / choice->atom->terms) * choice->atom->terms / choice->atom->word *
                machine_scheme_products(choice->parts);
        cycles = tile ? tile_slowdown(choice, rows, vectors) * rows * vectors * slower
                      : cycles * fmax(slower, 0.5);
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

void contract_best_tile(const struct contract *contract, const struct contract_choice *choice,
                        int merged, int lanes, int *rows, int *vectors)
{
    double best = INFINITY;
    int registers = contract->group->target->registers;
    bool tiles = choice->atom && choice->atom->rows > 1;
    int step = tiles ? choice->atom->rows : 1;
    for (int v = 1; v <= (tiles ? 2 : 4); v++) {
        for (int r = step; r <= 14 * step; r += step) {
            if (tiles ? r > 2 * step : r * v + v * choice->parts + 1 >= registers)
                break;
            double cost = tiles_cost(contract, choice, r, v, merged, lanes);
            if (cost < best * 0.995) {
                best = cost;
                *rows = r;
                *vectors = v;
            }
        }
    }
}

/*
 * ---- one index each for rows, columns and terms, factors that are bare elements ----
 *
 * In units of one multiply-add of vectors, for the share that has most to do. The numbers are those
 * of Zen 4; what matters is which plan they prefer.
 */

bool contract_is_simple(const struct contract *contract)
{
    const struct contract_indices *sets = contract->sets;
    return contract->factors == CONTRACT_WIDE && dtype_is_float(contract->dtype) &&
           sets[CONTRACT_N].count == 1 && sets[CONTRACT_K].count == 1 &&
           (contract->columns_contiguous || contract->terms_contiguous) &&
           (contract->rows_contiguous || contract->rows_adjacent || sets[CONTRACT_M].count == 0);
}

struct work { /* of the share that has most */
    double row_panels, column_panels, terms, blocks;
    double regions; /* in which threads are woken */
    double turns;   /* shares a thread has, one after the other */
};

static struct work share_work(const struct contract *contract, const struct contract_decisions *d)
{
    bool split = d->shares || !(d->slices || d->serial || d->columns_shared);
    const struct contract_indices *sets = contract->sets;
    double m = split ? (double)d->split_m : 1, n = split ? (double)d->split_n : 1;
    double k = d->shares ? (double)d->split_k : 1;
    double vectors = d->along ? sets[CONTRACT_N].size : ceil(sets[CONTRACT_N].size / d->lanes);
    struct work work;
    work.row_panels = ceil(ceil(sets[CONTRACT_M].size / (double)d->rows) / m);
    work.column_panels = ceil(ceil(vectors / (double)d->vectors) / n);
    work.terms = ceil(sets[CONTRACT_K].size / k);
    work.blocks = ceil(work.terms / (double)d->block_k);
    work.turns = ceil(m * n * k / fmax(contract->group->target->threads, 1));
    if (d->shares)
        work.regions = (m * n * k > 1) + (k > 1);
    else
        work.regions = split ? work.blocks * (1 + (d->pack_a || d->pack_b)) : d->columns_shared;
    return work;
}

/* What loading a vector of terms or columns takes: packed, neighbours, or one by one. */
static double load_cost(bool packed, bool neighbours)
{
    return packed ? 1 : neighbours ? 1.4 : 20;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/*
 * What rows cost that are read where they are, a block of them again for every panel of columns,
 * beside packed ones: as many streams as the tile has rows. More where the second-level cache
 * cannot keep the block since too many rows meet in the same sets, as those do whose distance is a
 * multiple of a large power of two. Per row and term.
 */
static double rows_in_place(const struct contract *contract, const struct contract_decisions *d,
                            const struct work *work)
{
    enum { WAYS = 8 }; /* each of which has its sets in the order of addresses */
    const struct skeleton_target *target = contract->group->target;
    int64_t way = target->l2 / WAYS;
    int64_t distance = (int64_t)contract->sets[CONTRACT_K].size * contract->element;
    double length = fmin((double)d->block_k, work->terms) * contract->element;
    double rows = fmin((double)d->block_m, work->row_panels * (double)d->rows);
    if (way <= 0 || distance <= 0 || rows * length < (double)target->l1)
        return 0;
    double places = (double)(way / common_divisor(distance, way)); /* where rows begin */
    double reach = fmin(places * length, (double)way);
    return rows * length / reach > WAYS / 2 ? 0.2 : 0.08;
}

/* Whether a factor has something in it that is computed where it is read. */
static bool is_computed(const struct contract *contract, bool second)
{
    const struct ir_nodes *nodes = &contract->stage->nodes;
    for (int i = 0; i < contract->term_count; i++) {
        const struct ir_node *node = &nodes->at[contract->terms[i].node];
        if (contract->terms[i].second == second && node->op == IR_READ &&
            contract_is_inlined(contract->group, node->read.tensor))
            return true;
    }
    return false;
}

static double simple_tile(const struct contract *contract, const struct contract_decisions *d,
                          const struct work *work)
{
    double rows = (double)d->rows, vectors = (double)d->vectors, sums = rows * vectors;
    double steps = work->terms, loads, store, further = 0;
    struct pace pace = pace_of(contract);
    if (d->along) {
        steps = ceil(work->terms / d->lanes);
        loads = vectors * load_cost(d->pack_b, contract->terms_contiguous) +
                rows * load_cost(d->pack_a, contract->rows_contiguous);
        if (!d->pack_a && contract->rows_contiguous)
            further = rows * d->lanes * rows_in_place(contract, d, work);
        store = 10 * sums;
    } else {
        /* long lines that are read again and again where they are: pages and sets of the cache
         * run out */
        bool far =
            !d->pack_b && work->row_panels > 3 && contract->sets[CONTRACT_N].size > 8 * d->lanes;
        loads = vectors * load_cost(d->pack_b, contract->columns_contiguous) * (far ? 5 : 1) +
                rows * pace.element;
        further = late_cycles(pace, sums);
        if (!d->pack_a)
            further += contract->rows_contiguous ? rows * rows_in_place(contract, d, work) : 1;
        /* one by one; far apart, each is a line of the cache by itself */
        double apart = contract->sets[CONTRACT_M].size > d->lanes ? 5 : 1.5;
        store = sums * (contract->written_contiguous ? 3 : apart * d->lanes);
    }
    if (!d->pack_a && is_computed(contract, false)) /* anew for every tile */
        further += rows;
    if (!d->pack_b && is_computed(contract, true))
        further += vectors;
    double step = step_cycles(pace, sums, loads) + further;
    double aside = work->blocks - 1 + (d->shares && d->split_k > 1);
    return steps * step + 30 + store + 3 * sums * aside;
}

/* Cycles to pack an element of rows. */
static double row_packing(const struct contract *contract, const struct contract_decisions *d)
{
    double more = is_computed(contract, false) ? 0.5 : 0;
    if (d->along)
        return 1.2 + more;
    if (contract->rows_adjacent)
        return 4 / (double)d->rows + more;
    /* in squares, or one by one */
    return (d->rows <= d->lanes && 2 * d->rows >= d->lanes ? 0.5 : 1) + more;
}

/* Packing, per element. Tiles share panels out, shares have their own. */
static double simple_packing(const struct contract *contract, const struct contract_decisions *d,
                             const struct work *work)
{
    double rows = work->row_panels * (double)d->rows, terms = work->terms, cost = 0;
    double columns = work->column_panels * (double)d->vectors * (d->along ? 1 : d->lanes);
    double lanes = d->lanes;
    if (d->pack_b && d->along)
        cost += columns * terms * 1.2;
    else if (d->pack_b && contract->columns_contiguous)
        cost += columns * terms * 4 / lanes;
    else if (d->pack_b)
        cost += columns * ceil(terms / lanes) * lanes * 9 / lanes;
    if (!d->shares && !d->serial && !d->slices)
        cost /= (double)d->split_m;
    double rows_cost = 0;
    if (d->pack_a)
        rows_cost = rows * terms * row_packing(contract, d);
    if (d->shares)
        rows_cost *= ceil(columns / (double)d->block_n);
    else if (!d->serial && !d->slices)
        rows_cost /= (double)d->split_n;
    return (cost + rows_cost) * pace_of(contract).cycle;
}

/* Seconds for the sums of shares of terms to be written and read again, where they leave the
 * caches. */
static double shares_traffic(const struct contract *contract, const struct contract_decisions *d)
{
    const struct skeleton_target *target = contract->group->target;
    double sums = contract->sets[CONTRACT_M].size * contract->sets[CONTRACT_N].size;
    double bytes = (double)d->split_k * sums * contract->element;
    double threads = fmax(target->threads, 1);
    if (!d->shares || d->split_k <= 1 || target->memory <= 0 ||
        bytes <= (double)target->l3 * threads)
        return 0;
    return 2 * bytes / (target->memory * threads);
}

double contract_simple_cost(const struct contract *contract, const struct contract_decisions *d)
{
    static const double region = 2e-6; /* seconds to wake threads and wait for them */
    struct work work = share_work(contract, d);
    double rate = contract->group->target->fma > 0 ? contract->group->target->fma : 5e10;
    double step = 2.0 * d->lanes / (rate * 4.0 / contract->element);
    double cycles = work.row_panels * work.column_panels * simple_tile(contract, d, &work);
    cycles += simple_packing(contract, d, &work);
    if (d->shares && d->split_k > 1) /* sums of shares are added up by all */
        cycles += work.row_panels * work.column_panels * (double)(d->rows * d->vectors) * 6;
    return cycles * work.turns * step + shares_traffic(contract, d) + work.regions * region;
}

struct skeleton_cost contract_predict(const struct skeleton_group *group,
                                      const struct plan_group *plan)
{
    struct contract contract;
    struct skeleton_reason why_not;
    struct skeleton_cost cost = {0};
    if (!contract_classify_plan(group, plan, &contract, &why_not))
        return cost;
    struct contract_decisions d = contract_decide(&contract, plan);
    const struct contract_indices *sets = contract.sets;
    double m = sets[CONTRACT_M].size, n = sets[CONTRACT_N].size, k = sets[CONTRACT_K].size;
    double batch = sets[CONTRACT_BATCH].size, vectors = (double)d.vectors;
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
    if (contract_is_simple(&contract) && !d.choice.atom)
        cost.seconds = batch * contract_simple_cost(&contract, &d) /
                       (d.slices ? fmin(batch, group->target->threads) : 1);
    if (group->target->memory > 0)
        cost.seconds = fmax(cost.seconds, cost.bytes / group->target->memory / fmax(used, 1));
    cost.scratch = (int64_t)(copied * contract.element * (d.slices ? batch : 1));
    cost.vectors = (int)contract_registers(&d);
    cost.stack = d.rows * d.columns * contract.element;
    return cost;
}
