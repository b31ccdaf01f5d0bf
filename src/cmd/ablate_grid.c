/*
 * The plans a table is made of. From each kind of first plan (groups and skeletons) some decisions
 * are chosen and some values of each, and all their combinations are in the table. So a search that
 * is replayed may step from any plan of it to any neighbour, as a real one may: a table of plans
 * met by chance has most of a plan's neighbours missing, and measures who guesses what is in it.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/ablate.h"

enum { FIRSTS = 6, GRID_SLOTS = 64, GRID_VALUES = 4 };

struct grid_slot {
    int group;
    const char *key;
    const char *values[GRID_VALUES];
    int count;
    struct plan_slot open;
    uint64_t rank;
};

struct grid {
    struct arena *arena;
    const struct skeleton_program *program;
    const struct plan *base;
    struct grid_slot slots[GRID_SLOTS];
    int count;
};

static bool is_legal(const struct grid *grid, struct plan *plan)
{
    struct error error;
    return skeleton_check(grid->program, plan, &error);
}

/* Of kernels that are given one thread: what is decided so changes nothing. */
static bool shares_work(const char *key)
{
    static const char *const keys[] = {"threads", "parallel", "schedule", "split",
                                       "split.m", "split.n",  "split.k"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static void open_slots(struct grid *grid)
{
    for (int g = 0; g < grid->base->group_count; g++) {
        struct plan_slots slots = {0};
        struct skeleton_group group = skeleton_group_of(grid->program, grid->base, g);
        skeleton_open(grid->program, &group, &grid->base->groups[g], &slots);
        for (size_t s = 0; s < slots.count && grid->count < GRID_SLOTS; s++) {
            const char *now = plan_get(&grid->base->groups[g], slots.at[s].key);
            if (slots.at[s].value_count < 2 || !now ||
                (grid->program->target->threads == 1 && shares_work(slots.at[s].key)))
                continue;
            grid->slots[grid->count++] = (struct grid_slot){.group = g,
                                                            .key = slots.at[s].key,
                                                            .values = {now},
                                                            .count = 1,
                                                            .open = slots.at[s]};
        }
    }
}

static bool has_value(const struct grid_slot *slot, const char *value)
{
    for (int i = 0; i < slot->count; i++)
        if (strcmp(slot->values[i], value) == 0)
            return true;
    return false;
}

static bool is_legal_with(const struct grid *grid, const struct grid_slot *slot, const char *value)
{
    struct plan *plan = plan_copy(grid->arena, grid->base);
    plan_set(grid->arena, &plan->groups[slot->group], slot->key, value);
    return is_legal(grid, plan);
}

static int combinations(const struct grid *grid)
{
    int product = 1;
    for (int i = 0; i < grid->count; i++)
        product *= grid->slots[i].count;
    return product;
}

static uint64_t rank_of(const struct grid *grid, const struct grid_slot *slot, const char *value)
{
    const char *name = arena_printf(grid->arena, "%d %s %s %s", slot->group,
                                    grid->base->groups[slot->group].skeleton, slot->key, value);
    return hash_bytes(name, strlen(name), 0x9f1d);
}

static int compare_slots(const void *a, const void *b)
{
    const struct grid_slot *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* One more value of a decision, that of the lowest rank. */
static bool grow_slot(const struct grid *grid, struct grid_slot *slot)
{
    const char *chosen = NULL;
    uint64_t lowest = UINT64_MAX;
    for (int i = 0; i < slot->open.value_count && slot->count < GRID_VALUES; i++) {
        const char *value = slot->open.values[i];
        uint64_t rank = rank_of(grid, slot, value);
        if (rank < lowest && !has_value(slot, value) && is_legal_with(grid, slot, value)) {
            lowest = rank;
            chosen = value;
        }
    }
    if (chosen)
        slot->values[slot->count++] = chosen;
    return chosen != NULL;
}

/*
 * Values are added in turns, one to each decision, while there are fewer combinations than wanted.
 * The order is drawn, but from names alone: tables of one op at two sizes have the same decisions
 * in them. In turns, since many decisions with few values are more of a landscape than few with
 * many.
 */
static void grow(struct grid *grid, int most)
{
    for (int i = 0; i < grid->count; i++)
        grid->slots[i].rank = rank_of(grid, &grid->slots[i], "");
    if (grid->count > 1)
        qsort(grid->slots, (size_t)grid->count, sizeof *grid->slots, compare_slots);
    for (int turn = 1; turn < GRID_VALUES; turn++)
        for (int i = 0; i < grid->count; i++) {
            struct grid_slot *slot = &grid->slots[i];
            if (slot->count == turn && grow_slot(grid, slot) && combinations(grid) > most)
                slot->count--;
        }
}

static void take(struct ablate_grid *out, struct plan *plan)
{
    char hash[65];
    plan_hash(plan, out->program->graph, hash);
    if (map_get(&out->seen, hash))
        return;
    map_set(&out->seen, arena_string(out->arena, hash), plan);
    vector_push(out->arena, &out->plans, plan);
}

static void take_combinations(struct ablate_grid *out, const struct grid *grid)
{
    int total = combinations(grid);
    for (int number = 0; number < total; number++) {
        struct plan *plan = plan_copy(out->arena, grid->base);
        int rest = number;
        for (int i = 0; i < grid->count; i++) {
            const struct grid_slot *slot = &grid->slots[i];
            plan_set(out->arena, &plan->groups[slot->group], slot->key,
                     slot->values[rest % slot->count]);
            rest /= slot->count;
        }
        if (is_legal(grid, plan))
            take(out, plan);
    }
}

void ablate_grid_make(struct ablate_grid *out, int most)
{
    struct plan *firsts[FIRSTS];
    const struct plan *kinds[FIRSTS];
    int count = skeleton_seeds(out->program, firsts, FIRSTS), kind_count = 0;
    struct random random = random_new(1, 0x9f1d);
    out->seen = map_new(out->arena);
    for (int i = 0; i < count; i++) {
        bool known = false;
        for (int k = 0; k < kind_count; k++)
            known |= plan_kinds_equal(firsts[i], kinds[k]);
        if (!known)
            kinds[kind_count++] = firsts[i];
        take(out, firsts[i]);
    }
    int left = most - (int)out->plans.count;
    for (int k = 0; k < kind_count && left > 0; k++) {
        struct grid grid = {.arena = out->arena,
                            .program = skeleton_program_of(out->program, kinds[k]),
                            .base = kinds[k]};
        /* Half for the first kind, half of the rest for the next, ... */
        open_slots(&grid);
        grow(&grid, k + 1 < kind_count ? (left + 1) / 2 : left);
        take_combinations(out, &grid);
        left = most - (int)out->plans.count;
    }
    for (size_t i = out->plans.count; i > 1; i--) { /* in any order */
        size_t other = (size_t)random_below(&random, i);
        struct plan *swapped = out->plans.at[i - 1];
        out->plans.at[i - 1] = out->plans.at[other];
        out->plans.at[other] = swapped;
    }
}

int ablate_grid_next(void *context, int expert, const struct propose_view *view,
                     struct proposal *proposals, int most)
{
    struct ablate_grid *grid = context;
    (void)expert, (void)view;
    if (most < 1 || grid->next >= grid->plans.count)
        return 0;
    proposals[0] = (struct proposal){.plan = grid->plans.at[grid->next++],
                                     .action = "measured",
                                     .key = "measured",
                                     .why = "it is in the table",
                                     .promise = 1};
    return 1;
}
