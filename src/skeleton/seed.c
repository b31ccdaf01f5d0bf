/*
 * Plans to begin with: stages grouped in a few styles, each group with the decisions its skeleton
 * would try first, ranked by what they are predicted to cost. Nothing is measured.
 */
#include <stdlib.h>
#include <string.h>

#include "ir/rewrite.h"
#include "skeleton/seed.h"
#include "skeleton/window.h"

enum {
    SEED_VARIANTS = 4,  /* that a skeleton may propose for one group */
    SEED_REWRITES = 24, /* that are looked at in one round */
    SEED_REWRITTEN = 2, /* plans with the best of them */
    SEED_STAGES = 200,  /* programs of more are not rewritten: looking would take too long */
};

/* Of the time before: what a rewrite must be predicted to leave at most. */
static const double SEED_WORTH = 0.9;

struct seed {
    struct plan *plan;
    double seconds, operations;
    char hash[65];
    int ones; /* sizes that are 1 and that it knows, parameters apart */
};

struct seeds VECTOR(struct seed);

static const struct group_style STYLES[] = {
    {.inlining = GROUP_INLINE_CHEAP, .most = GROUP_MOST},
    {.inlining = GROUP_INLINE_ONCE, .most = GROUP_MOST},
    {.inlining = GROUP_INLINE_NONE, .most = GROUP_MOST},
    {.inlining = GROUP_INLINE_CHEAP, .most = GROUP_MOST, .apart = true},
    {.inlining = GROUP_INLINE_CHEAP, .most = 1},
    {.inlining = GROUP_INLINE_NONE, .most = 1},
    {.inlining = GROUP_INLINE_NONE, .most = 1, .plain = true},
};

/* On a processor rows are in the cache when maps of them follow. */
static bool style_fits(const struct skeleton_program *program, const struct group_style *style)
{
    return program->target->device || !style->apart;
}

/* What the skeleton would try first; with pins, as far as they allow it. */
static int propose(const struct skeleton_program *program, const struct plan *plan,
                   const struct skeleton_view *view, int number, struct plan_group *variants)
{
    const struct plan_group *group = &plan->groups[number];
    const struct skeleton *skeleton = skeleton_find(program->target, group->skeleton);
    for (int i = 0; i < SEED_VARIANTS; i++) {
        variants[i] = *group;
        variants[i].decisions = NULL;
        variants[i].decision_count = 0;
    }
    if (!skeleton->seeds)
        return 1;
    struct skeleton_group seen = skeleton_group_in(program, plan, view, number);
    int count = skeleton->seeds(&seen, variants, SEED_VARIANTS);
    for (int i = 0; i < count; i++) {
        struct plan_group *variant = &variants[i];
        variant->name = group->name;
        variant->skeleton = group->skeleton;
        variant->stages = group->stages;
        variant->stage_count = group->stage_count;
        int kept = 0;
        for (int d = 0; d < variant->decision_count; d++) {
            const struct plan_decision *decision = &variant->decisions[d];
            if (!program->pins || plan_pins_allow(program->pins, group, program->graph,
                                                  decision->key, decision->value))
                variant->decisions[kept++] = *decision;
        }
        variant->decision_count = kept;
    }
    return count > 0 ? count : 1;
}

/* The group with a skeleton and the first decisions of it that are legal. False: it has none. */
static bool try_skeleton(const struct skeleton_program *program, struct plan *plan,
                         const struct skeleton_view *view, int number,
                         const struct skeleton *skeleton, double *seconds)
{
    struct plan_group variants[SEED_VARIANTS];
    struct skeleton_reason why_not = {""};
    struct error error;
    struct skeleton_group group = skeleton_group_in(program, plan, view, number);
    plan->groups[number].skeleton = skeleton->name;
    if (!skeleton->match(&group, &why_not))
        return false;
    int count = propose(program, plan, view, number, variants);
    for (int i = 0; i <= count; i++) {
        if (i < count) {
            plan->groups[number] = variants[i];
        } else { /* what the slots begin with */
            plan->groups[number].decisions = NULL;
            plan->groups[number].decision_count = 0;
        }
        if (skeleton_check_group(program, plan, view, number, &error)) {
            *seconds = skeleton->predict(&group, &plan->groups[number]).seconds;
            return true;
        }
    }
    return false;
}

/* Gives every group the skeleton that is predicted to be fastest, and its first decisions. */
static bool decide(const struct skeleton_program *program, struct plan *plan, bool plain)
{
    struct error error;
    struct skeleton_view view = skeleton_view_new(program, plan);
    struct arena scratch = {0};
    view.scratch = &scratch;
    bool found = true;
    for (int g = 0; found && g < plan->group_count; g++) {
        struct plan_group best = {0};
        double least = 0, seconds;
        for (const struct skeleton *const *at = skeleton_table(program->target); *at; at++) {
            bool wanted = !plain || strcmp((*at)->name, "plain") == 0;
            if (!wanted || !try_skeleton(program, plan, &view, g, *at, &seconds))
                continue;
            if (!best.skeleton || seconds < least) {
                best = plan->groups[g];
                least = seconds;
            }
        }
        found = best.skeleton != NULL; /* pins may leave none */
        plan->groups[g] = best;
        arena_reset(&scratch);
    }
    arena_release(&scratch);
    return found && skeleton_check(program, plan, &error);
}

static void add_seed(const struct skeleton_program *program, struct seeds *seeds, struct plan *plan)
{
    struct seed seed = {.plan = plan};
    plan_hash(plan, program->graph, seed.hash);
    for (size_t i = 0; i < seeds->count; i++) {
        if (strcmp(seeds->at[i].hash, seed.hash) == 0)
            return;
    }
    struct skeleton_cost cost = skeleton_predict(program, plan);
    seed.seconds = cost.seconds;
    seed.operations = cost.operations;
    for (int i = 0; i < plan->fix_count; i++)
        seed.ones += plan->fixes[i].value == 1 &&
                     program->part->symbols[plan->fixes[i].symbol].kind != IR_SYMBOL_PARAMETER;
    vector_push(program->arena, seeds, seed);
}

/* Of two that are predicted alike, the one that knows rows of one element, since the other gathers;
 * then the one that does less. */
static int compare_seeds(const void *a, const void *b)
{
    const struct seed *one = a, *other = b;
    if (one->seconds != other->seconds)
        return one->seconds > other->seconds ? 1 : -1;
    if (one->ones != other->ones)
        return other->ones - one->ones;
    return (one->operations > other->operations) - (one->operations < other->operations);
}

static void sort_seeds(struct seeds *seeds)
{
    if (seeds->count > 1)
        qsort(seeds->at, seeds->count, sizeof *seeds->at, compare_seeds);
}

/* The best plan with other decisions in the group that takes longest. */
static void add_variants(const struct skeleton_program *program, struct seeds *seeds)
{
    const struct plan *best = seeds->at[0].plan;
    program = skeleton_program_of(program, best);
    struct skeleton_view view = skeleton_view_new(program, best);
    int slowest = 0;
    double most = -1;
    for (int g = 0; g < best->group_count; g++) {
        struct skeleton_group group = skeleton_group_in(program, best, &view, g);
        double seconds = skeleton_find(program->target, best->groups[g].skeleton)
                             ->predict(&group, &best->groups[g])
                             .seconds;
        if (seconds > most) {
            most = seconds;
            slowest = g;
        }
    }
    struct plan_group variants[SEED_VARIANTS];
    int count = best->group_count ? propose(program, best, &view, slowest, variants) : 0;
    for (int i = 1; i < count; i++) {
        struct plan *plan = plan_copy(program->arena, best);
        struct error error;
        plan->groups[slowest] = variants[i];
        if (skeleton_check(program, plan, &error))
            add_seed(program, seeds, plan);
    }
}

/* ---- sizes worth knowing ---- */

enum { FIX_MOST = 16 }; /* a larger size is no window, stride or padding */

static void fix_symbols(const struct skeleton_program *program, const struct ir_size *size,
                        bool *fixed)
{
    if (!size || size->op == IR_SIZE_CONSTANT)
        return;
    if (size->op == IR_SIZE_SYMBOL) {
        int64_t value = program->binding->sizes[size->symbol];
        enum ir_symbol_kind kind = program->part->symbols[size->symbol].kind;
        fixed[size->symbol] |= kind != IR_SYMBOL_LET && value >= 0 && value <= FIX_MOST;
        return;
    }
    fix_symbols(program, size->a, fixed);
    fix_symbols(program, size->b, fixed);
}

/*
 * Stages that slide a window over something (reads that may be out of bounds, or places made of an
 * index of the result and one of several that are reduced) want to know its shape: strides,
 * paddings and what is reduced.
 */
static void fix_window(const struct skeleton_program *program, const struct ir_stage *stage,
                       bool *fixed)
{
    bool checked = stage->kind == IR_REDUCE && window_slides(program->part, stage);
    for (int i = 0; i < stage->nodes.count; i++)
        checked |= stage->nodes.at[i].op == IR_READ && stage->nodes.at[i].read.checked;
    int reduced = stage->index_count - stage->left_count, least = program->target->device ? 1 : 2;
    if (stage->kind != IR_REDUCE || !checked || reduced < least)
        return;
    for (int i = stage->left_count; i < stage->index_count; i++)
        fix_symbols(program, program->part->indices[stage->indices[i]].extent, fixed);
    for (int i = 0; i < stage->nodes.count; i++) {
        const struct ir_node *node = &stage->nodes.at[i];
        bool parameter = node->op == IR_SIZE && node->size->op == IR_SIZE_SYMBOL &&
                         program->part->symbols[node->size->symbol].kind == IR_SYMBOL_PARAMETER;
        if (parameter)
            fix_symbols(program, node->size, fixed);
    }
    for (int i = 0; i < stage->left_count; i++) {
        const struct ir_size *extent = program->part->indices[stage->indices[i]].extent;
        if (extent && extent->op == IR_SIZE_SYMBOL &&
            program->part->symbols[extent->symbol].kind == IR_SYMBOL_PARAMETER)
            fix_symbols(program, extent, fixed);
    }
}

/*
 * Of rows of one element, neighbouring rows are neighbours in memory, and only a kernel that knows
 * it reads them as such.
 */
static void fix_ones(const struct skeleton_program *program, bool *fixed)
{
    const struct ir_part *part = program->part;
    for (int t = 0; t < part->tensor_count && !program->target->device; t++) {
        int rank = part->tensors[t].rank;
        const struct ir_size *size = rank > 1 ? part->tensors[t].dims[rank - 1] : NULL;
        if (size && size->op == IR_SIZE_SYMBOL && program->binding->sizes[size->symbol] == 1)
            fix_symbols(program, size, fixed);
    }
}

static void fix_relied(const struct ir_size *size, bool *fixed)
{
    if (size->op == IR_SIZE_SYMBOL)
        fixed[size->symbol] = true;
    if (size->op == IR_SIZE_SYMBOL || size->op == IR_SIZE_CONSTANT)
        return;
    fix_relied(size->a, fixed);
    fix_relied(size->b, fixed);
}

/* The sizes that rewrites of the program rely on, and with `windows` those of windows and of rows
 * of one element, at what they are. */
static int find_fixes(const struct skeleton_program *program, bool windows,
                      const struct plan_fix **fixes)
{
    const struct ir_part *part = program->part;
    size_t most = (size_t)part->symbol_count + 1;
    bool *fixed = arena_array(program->arena, most, sizeof *fixed);
    struct plan_fix *found = arena_array(program->arena, most, sizeof *found);
    int count = 0;
    for (int i = 0; i < part->zero_count; i++)
        fix_relied(part->zeros[i], fixed);
    for (int i = 0; windows && i < part->stage_count; i++)
        fix_window(program, &part->stages[i], fixed);
    if (windows)
        fix_ones(program, fixed);
    for (int i = 0; i < part->symbol_count; i++) {
        if (fixed[i])
            found[count++] = (struct plan_fix){i, program->binding->sizes[i]};
    }
    *fixes = found;
    return count;
}

/* Plans for kernels that are for this window only: what is known decides skeletons, too. */
static void add_fixed(const struct skeleton_program *program, struct seeds *seeds)
{
    const struct plan_fix *fixes;
    int count = find_fixes(program, true, &fixes);
    for (size_t i = 0; i < sizeof STYLES / sizeof *STYLES && count; i++) {
        if (STYLES[i].plain || !style_fits(program, &STYLES[i]))
            continue;
        struct plan *plan = group_stages(program, &STYLES[i], fixes, count);
        if (decide(program, plan, false))
            add_seed(program, seeds, plan);
    }
}

/* ---- the whole ---- */

static struct seeds seed_program(const struct skeleton_program *program)
{
    struct seeds seeds = {0};
    const struct plan_fix *fixes;
    int count = find_fixes(program, false, &fixes);
    for (size_t i = 0; i < sizeof STYLES / sizeof *STYLES; i++) {
        if (!style_fits(program, &STYLES[i]))
            continue;
        struct plan *plan = group_stages(program, &STYLES[i], fixes, count);
        if (decide(program, plan, STYLES[i].plain))
            add_seed(program, &seeds, plan);
    }
    sort_seeds(&seeds);
    return seeds;
}

struct plan *skeleton_seed(const struct skeleton_program *program)
{
    struct seeds seeds = seed_program(program);
    return seeds.count ? seeds.at[0].plan : NULL;
}

/* Whether a rewrite pays: by its predicted time, or because it is known to spare something. */
static bool pays(const struct skeleton_program *program, const struct seed *seed,
                 const struct seed *before)
{
    const char *last = program->rewrites[program->rewrite_count - 1].name;
    return seed->seconds <= SEED_WORTH * before->seconds ||
           (ir_rewrite_find(last)->spares && seed->seconds <= before->seconds &&
            seed->operations < before->operations);
}

/* Rewrites one after the other, each the best there is, while that is predicted to pay. */
static void add_rewritten(const struct skeleton_program *program, struct seeds *seeds)
{
    const struct skeleton_program *further[SEED_REWRITES], *now = program;
    struct seed before = seeds->at[0];
    while (now && now->part->stage_count <= SEED_STAGES) {
        int count = skeleton_rewrites(now, further, SEED_REWRITES);
        struct seeds best = {0};
        now = NULL;
        for (int i = 0; i < count; i++) {
            struct seeds found = seed_program(further[i]);
            if (found.count == 0 || !pays(further[i], &found.at[0], &before))
                continue;
            before = found.at[0];
            best = found;
            now = further[i];
        }
        for (size_t i = 0; i < best.count && i < SEED_REWRITTEN; i++)
            vector_push(program->arena, seeds, best.at[i]);
    }
}

int skeleton_seeds(const struct skeleton_program *program, struct plan **plans, int most)
{
    struct seeds seeds = seed_program(program);
    struct plan *plain = seeds.count ? seeds.at[0].plan : NULL;
    if (plain)
        add_rewritten(program, &seeds);
    sort_seeds(&seeds);
    if (most > 1 && seeds.count) {
        add_variants(program, &seeds);
        const struct skeleton_program *best = skeleton_program_of(program, seeds.at[0].plan);
        add_fixed(program, &seeds);
        if (best != program)
            add_fixed(best, &seeds);
        sort_seeds(&seeds);
    }
    int count = 0;
    bool has_plain =
        false; /* predictions of rewrites may be wrong: what nothing rewrote stays in */
    for (size_t i = 0; i < seeds.count && count < most; i++) {
        plans[count++] = seeds.at[i].plan;
        has_plain |= seeds.at[i].plan == plain;
    }
    if (count > 1 && !has_plain)
        plans[count - 1] = plain;
    return count;
}
