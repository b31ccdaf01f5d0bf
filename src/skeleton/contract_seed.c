/*
 * contract, what to try first. Where rows, columns and terms have one index each, all arrangements
 * that may be best are compared by their predicted cost; else rules decide.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skeleton/contract.h"

/* The value nearest to what is wanted. */
static void set_number(struct arena *arena, struct plan_group *plan, const char *key, double wanted)
{
    const struct plan_slot *slot = contract_slot(key);
    int best = 0;
    for (int i = 1; i < slot->value_count; i++) {
        if (fabs(atof(slot->values[i]) - wanted) < fabs(atof(slot->values[best]) - wanted))
            best = i;
    }
    plan_set(arena, plan, key, slot->values[best]);
}

/* One block where that is not too long; the decision's values are those the slot has. */
static int64_t block_up_to(double terms, int64_t longest)
{
    const struct plan_slot *slot = contract_slot("block.k");
    for (int i = 0; i < slot->value_count && atoll(slot->values[i]) <= longest; i++) {
        if (atof(slot->values[i]) >= terms)
            return atoll(slot->values[i]);
    }
    return 0;
}

static int64_t block_of_terms(double terms)
{
    int64_t block = block_up_to(terms, 768);
    return block ? block : 512;
}

/* Rows of a block that fill half of the second-level cache. */
static double packed_rows(const struct contract *contract, const struct contract_decisions *d)
{
    double room = (double)contract->group->target->l2 / 2;
    return fmax(floor(room / (double)(d->block_k * contract->element)), (double)d->rows);
}

/*
 * Tiles read both factors from the second-level cache as fast as they multiply, so that blocks are
 * as long as a few panels of them fit: sums are put aside less often then.
 */
static void set_tile_blocks(const struct contract *contract, const struct contract_choice *choice,
                            struct plan_group *plan)
{
    struct arena *arena = contract->group->arena;
    int64_t longest = choice->parts > 1 ? 512 : 2048;
    int64_t block = block_up_to(fmax(contract->sets[CONTRACT_K].size, 256), longest);
    if (!block)
        block = longest;
    /* sums of parts are put aside more often, and want their place, too */
    double room = (double)contract->group->target->l2 / (choice->parts > 1 ? 3 : 2);
    double operand = 4.0 / choice->atom->word * choice->parts; /* bytes */
    set_number(arena, plan, "block.k", (double)block);
    set_number(arena, plan, "block.m", floor(room / ((double)block * operand)));
    const struct contract_indices *sets = contract->sets;
    double results = sets[CONTRACT_M].size * sets[CONTRACT_N].size * contract->element;
    bool kept = results <= (double)(contract->group->target->l2 * contract->group->target->threads);
    plan_set(arena, plan, "stores",
             kept || !contract->group->target->streaming ? "cached" : "streaming");
}

/* The same, but shorter where a panel of columns stays in the first-level cache then; sums are put
 * aside more often, so only of long ones. */
static int64_t block_of_panel(const struct contract *contract, const struct contract_decisions *d,
                              double terms)
{
    enum { SHORT = 256, LONG = 2048 };
    int64_t block = block_of_terms(terms);
    const struct contract_indices *sets = contract->sets;
    /* times a vector: rows are read once, and from memory long pieces of them come faster */
    if (d->along && (sets[CONTRACT_M].size == 1 || sets[CONTRACT_N].size == 1) && terms >= LONG)
        return LONG;
    double bytes = (double)d->columns * contract->element * SHORT;
    bool again = sets[CONTRACT_M].size >= 4 * (double)d->rows; /* and is read again */
    bool fits = !d->along && again && bytes <= 0.75 * (double)contract->group->target->l1;
    return fits && terms >= 4 * SHORT ? SHORT : block;
}

/* Small products, enough of them for all threads: each is the work of one. */
static bool is_batch(const struct contract *contract)
{
    const struct contract_indices *sets = contract->sets;
    double work = sets[CONTRACT_M].size * sets[CONTRACT_N].size * sets[CONTRACT_K].size;
    return sets[CONTRACT_BATCH].size >= 2 * contract->group->target->threads && work < 1e8;
}

static void seed_general(const struct contract *contract, struct plan_group *plan)
{
    const struct skeleton_group *group = contract->group;
    const struct contract_indices *sets = contract->sets;
    struct arena *arena = group->arena;
    int lanes = group->target->vector_bytes / contract->element, rows = 1, vectors = 1;
    /* lines of an image that are no whole vectors are better counted through */
    struct contract_choice choice = contract_choose(contract, plan);
    bool merge = !choice.atom && contract->mergeable > 1 &&
                 contract_vectors(contract, contract->mergeable, lanes) <
                     0.95 * contract_vectors(contract, 1, lanes);
    contract_best_tile(contract, &choice, merge ? contract->mergeable : 1, lanes, &rows, &vectors);
    double m = sets[CONTRACT_M].size, n = sets[CONTRACT_N].size, k = sets[CONTRACT_K].size;
    double work = m * n * k;
    bool batch = is_batch(contract);
    bool alone = !batch && work < 4e5; /* waking threads takes longer */
    double used = batch || alone ? 1 : group->target->threads;
    plan_set(arena, plan, "lanes", "columns");
    set_number(arena, plan, "tile.m", rows);
    set_number(arena, plan, "tile.n", vectors * lanes);
    set_number(arena, plan, "block.k", (double)block_of_terms(fmax(k, 256)));
    /* a panel of columns must serve several panels of rows, and the other way round */
    bool pack_a = !contract->rows_contiguous && n > 2.0 * vectors * lanes;
    bool pack_b = merge || !contract->columns_contiguous || m > 3.0 * rows;
    /* few rows, or columns that take more room packed than they have: threads take columns */
    bool columns = !batch && !alone && n > 4 * m && sets[CONTRACT_N].count > 1;
    bool wide = !columns && m < rows * 2 * used;
    double width = vectors * lanes;
    double terms = k <= 768 ? (double)block_of_terms(k) : 384;
    double block =
        columns ? fmax(width, floor(65536.0 / fmax(terms, 256) / width) * width) : 1048576;
    if (columns)
        set_number(arena, plan, "block.k", terms);
    set_number(arena, plan, "block.n", block);
    set_number(arena, plan, "block.m", pack_a ? 256 : 96);
    plan_set(arena, plan, "pack.a", pack_a || choice.atom ? "yes" : "no");
    plan_set(arena, plan, "pack.b", pack_b || choice.atom ? "yes" : "no");
    plan_set(arena, plan, "merge", merge ? "yes" : "no");
    plan_set(arena, plan, "parallel",
             columns ? "columns"
             : batch ? "batch"
             : alone ? "none"
                     : "tiles");
    set_number(arena, plan, "split.m", wide || columns ? 1 : used);
    set_number(arena, plan, "split.n", wide && !columns ? used : 1);
    plan_set(arena, plan, "split.k", "1");
    if (choice.atom && choice.atom->rows > 1 && !columns)
        set_tile_blocks(contract, &choice, plan);
}

/* ---- simple products: everything compared ---- */

struct search {
    const struct contract *contract;
    struct contract_decisions best;
    double seconds;
};

static void search_try(struct search *search, struct contract_decisions *d)
{
    double seconds = contract_simple_cost(search->contract, d);
    if (seconds < search->seconds * 0.9999) {
        search->seconds = seconds;
        search->best = *d;
    }
}

static void search_packing(struct search *search, struct contract_decisions *d)
{
    for (int pack = 0; pack < 4; pack++) {
        d->pack_a = pack & 1;
        d->pack_b = pack & 2;
        search_try(search, d);
    }
}

/* All tiles that registers can hold, for a share of the terms. */
static void search_tiles(struct search *search, struct contract_decisions *d, double terms)
{
    int64_t registers = search->contract->group->target->registers;
    int64_t most = d->along ? 6 : 4;
    for (d->vectors = 1; d->vectors <= most; d->vectors++) {
        for (d->rows = 1; d->rows <= 14; d->rows++) {
            if (d->rows * d->vectors + d->vectors + 1 >= registers)
                break;
            d->columns = d->vectors * (d->along ? 1 : d->lanes);
            d->block_k = block_of_panel(search->contract, d, terms);
            search_packing(search, d);
        }
    }
}

/* One share, or as many as there are threads, cut along one or two of rows, columns and terms. */
static void search_shares(struct search *search, struct contract_decisions *d)
{
    int64_t threads = d->slices ? 1 : search->contract->group->target->threads;
    double terms = search->contract->sets[CONTRACT_K].size;
    for (int64_t m = 1; m <= threads; m++) {
        for (int64_t n = 1; m * n <= threads; n++) {
            int64_t k = threads / (m * n);
            bool one = m == 1 && n == 1;
            if (!one && m * n * k != threads)
                continue;
            for (int64_t split_k = 1; split_k <= k; split_k += k > 1 ? k - 1 : 1) {
                if (!one && m * n * split_k != threads)
                    continue;
                d->split_m = m, d->split_n = n, d->split_k = split_k;
                search_tiles(search, d, ceil(terms / (double)split_k));
            }
        }
    }
}

static void write_plan(const struct search *search, const char *lanes, struct plan_group *plan)
{
    const struct contract_decisions *d = &search->best;
    struct arena *arena = search->contract->group->arena;
    plan_set(arena, plan, "lanes", lanes);
    set_number(arena, plan, "tile.m", (double)d->rows);
    set_number(arena, plan, "tile.n", (double)d->columns);
    set_number(arena, plan, "block.m", d->pack_a ? packed_rows(search->contract, d) : 96);
    set_number(arena, plan, "block.n", (double)d->block_n);
    set_number(arena, plan, "block.k", (double)d->block_k);
    plan_set(arena, plan, "pack.a", d->pack_a ? "yes" : "no");
    plan_set(arena, plan, "pack.b", d->pack_b ? "yes" : "no");
    plan_set(arena, plan, "merge", "no");
    plan_set(arena, plan, "parallel", d->slices ? "batch" : "shares");
    set_number(arena, plan, "split.m", (double)d->split_m);
    set_number(arena, plan, "split.n", (double)d->split_n);
    set_number(arena, plan, "split.k", (double)d->split_k);
}

/* The best with these lanes; false: they cannot be. */
static bool seed_simple(const struct skeleton_group *group, const char *lanes,
                        struct plan_group *plan, double *seconds)
{
    struct contract contract;
    struct skeleton_reason why_not;
    plan_set(group->arena, plan, "lanes", lanes);
    if (!contract_classify_plan(group, plan, &contract, &why_not) || !contract_is_simple(&contract))
        return false;
    struct search search = {.contract = &contract, .seconds = INFINITY};
    struct contract_decisions d = contract_decide(&contract, plan);
    d.slices = is_batch(&contract);
    d.shares = !d.slices;
    d.serial = d.columns_shared = d.merge = false;
    d.block_m = 96;
    d.block_n = 1048576;
    search_shares(&search, &d);
    write_plan(&search, lanes, plan);
    *seconds = search.seconds;
    return search.seconds < INFINITY;
}

static void seed(const struct contract *contract, struct plan_group *plan)
{
    static const char *const lanes[] = {"columns", "rows", "terms"};
    const struct skeleton_group *group = contract->group;
    struct plan_group best;
    double least = INFINITY;
    bool simple = (contract->sets[CONTRACT_BATCH].size < 2 || is_batch(contract)) &&
                  !contract_choose(contract, plan).atom;
    for (int i = 0; i < 3 && simple; i++) {
        struct plan_group tried = *plan;
        double seconds;
        if (seed_simple(group, lanes[i], &tried, &seconds) && seconds < least) {
            least = seconds;
            best = tried;
        }
    }
    if (least < INFINITY)
        *plan = best;
    else
        seed_general(contract, plan);
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
int contract_seeds(const struct skeleton_group *group, struct plan_group *plans, int most)
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
