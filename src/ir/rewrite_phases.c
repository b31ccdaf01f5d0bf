/*
 * phases: a sum whose terms are there only where a division goes up, as in transposed convolutions,
 *
 *     t[p] += x[(p + pad - r)/!s else 0] * w[r]
 *
 * has one term in s for each result, and which ones depends on the phase of p + pad = s*u + a. With
 * r = s*j + a every term is there, and the phases are results side by side of one dense sum:
 *
 *     t.phases[a, u] += x[u - j else 0] * w[s*j + a]      over j < R/s
 *     t[p]            = t.phases[(p + pad) % s, (p + pad)/s]
 *
 * All such indices of the stage are replaced at once. It holds where s divides R, where r is not
 * spread out (`r*dil` with dil = 1), and where pad is no less than 0: the plan has to fix that.
 */
#include "ir/rewriting.h"

#include <string.h>

enum { PHASES_MOST = 3 };

struct phase {
    int exact;                          /* the node that says that the division goes up */
    int quotient;                       /* the node that divides */
    int left, term;                     /* the indices p and r */
    const struct ir_size *step;         /* s */
    const struct ir_size *pad, *spread; /* NULL: 0, 1 */
};

struct phases {
    struct phase at[PHASES_MOST];
    int count;
};

static const struct ir_size *size_of(struct arena *arena, const struct ir_node *node)
{
    if (node->op == IR_INT)
        return ir_size_constant(arena, node->integer);
    return node->op == IR_SIZE ? node->size : NULL;
}

/* INDEX, or INDEX and a size combined by `op`. */
static bool index_and(struct arena *arena, const struct ir_stage *stage, int number, enum ir_op op,
                      int *index, const struct ir_size **size)
{
    const struct ir_node *node = &stage->nodes.at[number];
    *size = NULL;
    if (node->op == IR_INDEX) {
        *index = node->index;
        return true;
    }
    if (node->op != op)
        return false;
    const struct ir_node *a = &stage->nodes.at[node->a], *b = &stage->nodes.at[node->b];
    if (a->op != IR_INDEX) {
        const struct ir_node *other = a;
        a = b;
        b = other;
    }
    *index = a->index;
    *size = size_of(arena, b);
    return a->op == IR_INDEX && *size;
}

static int position(const struct ir_stage *stage, int index)
{
    for (int i = 0; i < stage->index_count; i++) {
        if (stage->indices[i] == index)
            return i;
    }
    return -1;
}

/* Whether the node says that (p + pad - r*spread) % s == 0. */
static bool find_phase(struct arena *arena, const struct ir_stage *stage, int number,
                       struct phase *phase)
{
    const struct ir_node *nodes = stage->nodes.at, *equal = &nodes[number];
    if (equal->op != IR_EQ || nodes[equal->a].op != IR_FLOORMOD || nodes[equal->b].op != IR_INT ||
        nodes[equal->b].integer != 0)
        return false;
    const struct ir_node *rest = &nodes[equal->a], *place = &nodes[rest->a];
    *phase = (struct phase){.exact = number, .quotient = IR_NONE};
    phase->step = size_of(arena, &nodes[rest->b]);
    if (!phase->step || place->op != IR_SUB ||
        !index_and(arena, stage, place->a, IR_ADD, &phase->left, &phase->pad) ||
        !index_and(arena, stage, place->b, IR_MUL, &phase->term, &phase->spread))
        return false;
    int left = position(stage, phase->left), term = position(stage, phase->term);
    if (left < 0 || left >= stage->left_count || term < stage->left_count)
        return false;
    for (int i = 0; i < stage->nodes.count; i++) {
        if (nodes[i].op == IR_FLOORDIV && nodes[i].a == rest->a && nodes[i].b == rest->b)
            phase->quotient = i;
    }
    return phase->quotient != IR_NONE;
}

static void find_phases(struct arena *arena, const struct ir_stage *stage, struct phases *phases)
{
    phases->count = 0;
    for (int i = 0; i < stage->nodes.count && phases->count < PHASES_MOST; i++) {
        struct phase *phase = &phases->at[phases->count];
        bool again = !find_phase(arena, stage, i, phase);
        for (int k = 0; k < phases->count && !again; k++)
            again = phases->at[k].left == phase->left || phases->at[k].term == phase->term;
        phases->count += !again;
    }
}

/* Whether the condition is `exact` or joined by `and` with it. */
static bool is_joined(const struct ir_stage *stage, int guard, int exact)
{
    if (guard == IR_NONE || guard == exact)
        return guard == exact;
    const struct ir_node *node = &stage->nodes.at[guard];
    return node->op == IR_AND &&
           (is_joined(stage, node->a, exact) || is_joined(stage, node->b, exact));
}

/* The read that a factor of the product is, with this condition; every term outside is 0 then. */
static bool guards_product(const struct ir_stage *stage, int exact)
{
    struct rewriting_product product;
    if (!rewriting_factors(stage, stage->writes[0].value, &product))
        return false;
    for (int i = 0; i < product.count; i++) {
        const struct ir_node *node = &stage->nodes.at[product.factors[i].node];
        if (node->op != IR_READ || product.factors[i].divides || node->read.otherwise == IR_NONE)
            continue;
        const struct ir_node *otherwise = &stage->nodes.at[node->read.otherwise];
        if (otherwise->op == IR_FLOAT && otherwise->number == 0 &&
            is_joined(stage, node->read.guard, exact))
            return true;
    }
    return false;
}

/* Whether p is used other than for the division: it has no value where t.phases has more. */
static bool is_used_besides(const struct ir_part *part, const struct ir_stage *stage, int number,
                            const struct phase *phase)
{
    if (number == IR_NONE || number == phase->exact || number == phase->quotient)
        return false;
    const struct ir_node *node = &stage->nodes.at[number];
    if (node->op == IR_INDEX)
        return node->index == phase->left;
    if (node->op == IR_READ) {
        for (int d = 0; d < part->tensors[node->read.tensor].rank; d++) {
            if (is_used_besides(part, stage, node->read.at[d], phase))
                return true;
        }
        return is_used_besides(part, stage, node->read.guard, phase) ||
               is_used_besides(part, stage, node->read.otherwise, phase);
    }
    int arguments = ir_op_arguments(node->op);
    return (arguments > 0 && is_used_besides(part, stage, node->a, phase)) ||
           (arguments > 1 && is_used_besides(part, stage, node->b, phase)) ||
           (arguments > 2 && is_used_besides(part, stage, node->c, phase));
}

static bool match(const struct ir_graph *graph, int number, struct ir_reason *why_not)
{
    const struct ir_part *part = graph->part;
    const struct ir_stage *stage = &part->stages[number];
    struct arena scratch = {0};
    struct phases phases;
    if (stage->kind != IR_REDUCE || stage->monoid->kind != IR_SUM || stage->predicate != IR_NONE)
        return rewriting_refuse(why_not, "it is no sum over all of its domain");
    if (!rewriting_is_boxed(part, stage) || stage->write_count != 1)
        return rewriting_refuse(why_not, "it sums over ranges");
    find_phases(&scratch, stage, &phases);
    int guarding = 0;
    for (int i = 0; i < phases.count; i++)
        guarding += guards_product(stage, phases.at[i].exact) &&
                    !is_used_besides(part, stage, stage->writes[0].value, &phases.at[i]);
    bool fits = phases.count > 0 && guarding == phases.count;
    int rank = stage->left_count + phases.count;
    arena_release(&scratch);
    if (rank > IR_MAX_RANK)
        return rewriting_refuse(why_not, "there would be too many dimensions");
    return fits ||
           rewriting_refuse(why_not, "no factor of it is read by a division that must go up");
}

/* ---- the sum ---- */

/* The condition without those that say that divisions go up, which they do. */
static int without_exact(struct ir_node *nodes, int guard, const struct phases *phases)
{
    if (guard == IR_NONE)
        return IR_NONE;
    for (int i = 0; i < phases->count; i++) {
        if (guard == phases->at[i].exact)
            return IR_NONE;
    }
    if (nodes[guard].op != IR_AND)
        return guard;
    int a = without_exact(nodes, nodes[guard].a, phases);
    int b = without_exact(nodes, nodes[guard].b, phases);
    if (a == IR_NONE || b == IR_NONE)
        return a == IR_NONE ? b : a;
    nodes[guard].a = a;
    nodes[guard].b = b;
    return guard;
}

static struct ir_stage without_guards(struct arena *arena, const struct ir_stage *old,
                                      const struct phases *phases)
{
    struct ir_stage stage = *old;
    size_t bytes = (size_t)old->nodes.count * sizeof *old->nodes.at;
    stage.nodes.at = arena_array(arena, (size_t)old->nodes.count + 1, sizeof *stage.nodes.at);
    memcpy(stage.nodes.at, old->nodes.at, bytes);
    for (int i = 0; i < stage.nodes.count; i++) {
        struct ir_node *node = &stage.nodes.at[i];
        if (node->op == IR_READ)
            node->read.guard = without_exact(stage.nodes.at, node->read.guard, phases);
    }
    return stage;
}

static int index_new(struct rewriting_stage *stage, const struct ir_size *extent, int like,
                     bool left)
{
    int node = rewriting_index(stage, like, left);
    stage->rewriting->indices.at[stage->nodes.at[node].index].extent = extent;
    return node;
}

static const struct ir_size *padded(struct arena *arena, const struct ir_size *size,
                                    const struct ir_size *pad)
{
    return pad ? ir_size_make(arena, IR_SIZE_ADD, size, pad) : size;
}

/* size / step, rounded up. */
static const struct ir_size *steps_of(struct arena *arena, const struct ir_size *size,
                                      const struct ir_size *step)
{
    size = ir_size_make(arena, IR_SIZE_ADD, size, step);
    size = ir_size_make(arena, IR_SIZE_SUB, size, ir_size_constant(arena, 1));
    return ir_size_make(arena, IR_SIZE_DIV, size, step);
}

static int integer(struct rewriting_stage *stage, enum ir_op op, int a, int b)
{
    return rewriting_node(stage, op, DTYPE_I64, a, b, IR_NONE);
}

/* Where phases and quotients stand in the dense sum: phases right before the first quotient. */
static int dense_rank(const struct ir_stage *old, const struct phases *phases, int *first)
{
    *first = old->left_count;
    for (int i = 0; i < phases->count; i++) {
        int at = position(old, phases->at[i].left);
        *first = at < *first ? at : *first;
    }
    return old->left_count + phases->count;
}

static int add_dense(struct rewriting *rewriting, const struct ir_stage *old,
                     const struct phases *phases)
{
    struct arena *arena = rewriting->arena;
    struct ir_stage from = without_guards(arena, old, phases);
    struct rewriting_stage sum = rewriting_stage_new(rewriting, old);
    struct rewriting_source source = rewriting_source_new(rewriting, &from);
    int at[IR_MAX_RANK], indices[IR_MAX_RANK], phase_nodes[PHASES_MOST], quotients[PHASES_MOST];
    int rank = 0, first, ranks = dense_rank(old, phases, &first);
    for (int i = 0; i < old->left_count; i++) {
        const struct ir_size *extent = rewriting->old->indices[old->indices[i]].extent;
        for (int k = 0; i == first && k < phases->count; k++)
            at[rank++] = phase_nodes[k] =
                index_new(&sum, phases->at[k].step, phases->at[k].left, true);
        int phase = -1;
        for (int k = 0; k < phases->count; k++)
            phase = phases->at[k].left == old->indices[i] ? k : phase;
        if (phase >= 0)
            extent = steps_of(arena, padded(arena, extent, phases->at[phase].pad),
                              phases->at[phase].step);
        at[rank] = index_new(&sum, extent, old->indices[i], true);
        if (phase >= 0)
            quotients[phase] = at[rank];
        else
            source.indices[old->indices[i]] = at[rank];
        rank++;
    }
    for (int i = old->left_count; i < old->index_count; i++) {
        const struct ir_size *extent = rewriting->old->indices[old->indices[i]].extent;
        int phase = -1;
        for (int k = 0; k < phases->count; k++)
            phase = phases->at[k].term == old->indices[i] ? k : phase;
        if (phase < 0) {
            source.indices[old->indices[i]] = index_new(&sum, extent, old->indices[i], false);
            continue;
        }
        const struct phase *is = &phases->at[phase];
        int term = index_new(&sum, steps_of(arena, extent, is->step), old->indices[i], false);
        int step = rewriting_size(&sum, is->step);
        source.indices[old->indices[i]] =
            integer(&sum, IR_ADD, integer(&sum, IR_MUL, term, step), phase_nodes[phase]);
        source.copied[is->quotient] = integer(&sum, IR_SUB, quotients[phase], term);
    }
    for (int i = 0; i < ranks; i++)
        indices[i] = sum.nodes.at[at[i]].index;
    const struct ir_tensor *tensor = &rewriting->old->tensors[old->writes[0].tensor];
    enum dtype type = old->nodes.at[old->writes[0].value].type;
    int dense = rewriting_tensor(rewriting, tensor->name, "phases", type, indices, ranks);
    int value = rewriting_copy(&sum, &source, old->writes[0].value);
    rewriting_finish(&sum, old->monoid, IR_NONE, dense, at, value);
    return dense;
}

/* ---- the results in their order ---- */

static void add_map(struct rewriting *rewriting, const struct ir_stage *old,
                    const struct phases *phases, int dense)
{
    struct rewriting_stage map = rewriting_stage_new(rewriting, old);
    struct rewriting_source source = rewriting_source_new(rewriting, old);
    int from[IR_MAX_RANK], at[IR_MAX_RANK], first, rank = 0;
    dense_rank(old, phases, &first);
    for (int i = 0; i < old->left_count; i++)
        source.indices[old->indices[i]] = rewriting_index(&map, old->indices[i], true);
    for (int i = 0; i < old->left_count; i++) {
        int quotient = source.indices[old->indices[i]];
        if (i == first)
            rank += phases->count;
        for (int k = 0; k < phases->count; k++) {
            const struct phase *phase = &phases->at[k];
            if (phase->left != old->indices[i])
                continue;
            int place = quotient, step = rewriting_size(&map, phase->step);
            if (phase->pad)
                place = integer(&map, IR_ADD, place, rewriting_size(&map, phase->pad));
            from[first + k] = integer(&map, IR_FLOORMOD, place, step);
            quotient = integer(&map, IR_FLOORDIV, place, step);
        }
        from[rank++] = quotient;
    }
    int tensor = old->writes[0].tensor;
    for (int d = 0; d < rewriting->old->tensors[tensor].rank; d++)
        at[d] = rewriting_copy(&map, &source, old->writes[0].at[d]);
    int value = rewriting_read(&map, dense, from, IR_NONE);
    rewriting_finish(&map, NULL, IR_NONE, tensor, at, value);
}

/* What has to be 0 for the sum to have the same terms. */
static void rely_on(struct rewriting *rewriting, const struct phases *phases)
{
    struct arena *arena = rewriting->arena;
    const struct ir_size *zero = ir_size_constant(arena, 0), *one = ir_size_constant(arena, 1);
    for (int k = 0; k < phases->count; k++) {
        const struct phase *phase = &phases->at[k];
        const struct ir_size *terms = rewriting->old->indices[phase->term].extent;
        rewriting_rely(rewriting, ir_size_make(arena, IR_SIZE_MOD, terms, phase->step));
        if (phase->spread)
            rewriting_rely(rewriting, ir_size_make(arena, IR_SIZE_SUB, phase->spread, one));
        if (phase->pad)
            rewriting_rely(rewriting, ir_size_make(arena, IR_SIZE_MIN, phase->pad, zero));
    }
}

static struct ir_program *apply(struct arena *arena, const struct ir_graph *graph, int number,
                                int64_t unused)
{
    const struct ir_part *part = graph->part;
    const struct ir_stage *old = &part->stages[number];
    struct rewriting rewriting = rewriting_new(arena, part);
    struct phases phases;
    (void)unused;
    find_phases(arena, old, &phases);
    rewriting_keep(&rewriting, 0, number);
    int dense = add_dense(&rewriting, old, &phases);
    add_map(&rewriting, old, &phases, dense);
    rewriting_keep(&rewriting, number + 1, part->stage_count);
    rely_on(&rewriting, &phases);
    return rewriting_end(&rewriting);
}

const struct ir_rewrite rewrite_phases = {
    .name = "phases",
    .note = "a sum with one term in several becomes dense sums side by side",
    .match = match,
    .apply = apply,
};
