/*
 * attend, what fits: whether the stages of a group are those of an attention.
 *
 * Stages are compared by what they compute: each is written as an expression of the same variables,
 * one per axis, with names in place of the score and the top. So it does not matter how many maps
 * lie between the sums, nor what indices are called.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "skeleton/attend.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)

struct matching {
    struct attend *attend;
    struct arena *arena;
    struct skeleton_values values;
    struct loop_variable score, top, total, mix; /* stand for their elements */
    bool wrong;                                  /* one was read at another place than its own */
    loop_value at[ATTEND_MAX_AXES];
};

/* ---- axes ---- */

static int stage_position(const struct ir_stage *stage, int index)
{
    for (int i = 0; i < stage->index_count; i++) {
        if (stage->indices[i] == index)
            return i;
    }
    return ATTEND_NO_AXIS;
}

static int axis_of(const struct matching *matching, loop_value value)
{
    for (int i = 0; i <= matching->attend->axis_count; i++) {
        if (value->op == LOOP_VARIABLE && value->variable == &matching->attend->variables[i])
            return i;
    }
    return ATTEND_NO_AXIS;
}

static void axes_clear(struct attend_stage *stage)
{
    for (int i = 0; i < ATTEND_MAX_AXES; i++)
        stage->axes[i] = ATTEND_NO_AXIS;
}

/* Whether the left indices of a stage that writes element [i, j, ...] are the axes at[]. Those it
 * does not know yet it learns. */
static bool axes_match(struct matching *matching, struct attend_stage *stage, const loop_value *at)
{
    const struct ir_write *write = &stage->stage->writes[0];
    int rank = matching->attend->group.part->tensors[write->tensor].rank;
    if (rank != stage->stage->left_count)
        return false;
    for (int i = 0; i < rank; i++) {
        const struct ir_node *node = &stage->stage->nodes.at[write->at[i]];
        int axis = axis_of(matching, at[i]);
        int position = node->op == IR_INDEX ? stage_position(stage->stage, node->index) : -1;
        if (axis == ATTEND_NO_AXIS || position < 0)
            return false;
        if (stage->axes[position] == ATTEND_NO_AXIS)
            stage->axes[position] = axis;
        if (stage->axes[position] != axis)
            return false;
    }
    return true;
}

void attend_open(struct skeleton_values *values, const struct attend_stage *stage,
                 const loop_value *at)
{
    for (int i = 0; i < stage->stage->index_count; i++)
        values->indices[stage->stage->indices[i]] = at[stage->axes[i]];
}

/* Names for the elements of the stages that are recognised. */
static loop_value resolve(void *context, struct skeleton_values *values, int tensor,
                          const loop_value *at)
{
    struct matching *matching = context;
    struct attend *attend = matching->attend;
    (void)values;
    struct {
        struct attend_stage *stage;
        struct loop_variable *name;
    } known[] = {{&attend->score, &matching->score},
                 {&attend->top, &matching->top},
                 {&attend->total, &matching->total},
                 {&attend->mix, &matching->mix}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (attend_tensor(known[i].stage) != tensor)
            continue;
        matching->wrong |= !axes_match(matching, known[i].stage, at);
        return loop_of(matching->arena, known[i].name);
    }
    return NULL;
}

static loop_value value_of(struct matching *matching, const struct attend_stage *stage, int node)
{
    attend_open(&matching->values, stage, matching->at);
    return node == IR_NONE ? NULL : skeleton_value(&matching->values, stage->stage, node);
}

static bool same(loop_value a, loop_value b)
{
    return a == b || (a && b && loop_equal(a, b));
}

static bool mentions(const struct matching *matching, loop_value value, int axis)
{
    return loop_mentions(value, &matching->attend->variables[axis]);
}

/* ---- products ---- */

static bool add_terms(struct attend_factor *factor, const struct ir_nodes *nodes, int number,
                      bool inverse)
{
    const struct ir_node *node = &nodes->at[number];
    if (node->op == IR_MUL)
        return add_terms(factor, nodes, node->a, inverse) &&
               add_terms(factor, nodes, node->b, inverse);
    if (node->op == IR_DIV && !inverse)
        return add_terms(factor, nodes, node->a, false) && add_terms(factor, nodes, node->b, true);
    if (node->op == IR_NEG) {
        factor->negative = !factor->negative;
        return add_terms(factor, nodes, node->a, inverse);
    }
    if (factor->count == ATTEND_MAX_TERMS)
        return false;
    factor->terms[factor->count++] = (struct attend_term){number, inverse};
    return true;
}

loop_value attend_product(struct skeleton_values *values, const struct attend *attend,
                          const struct ir_stage *stage, const struct attend_factor *factor)
{
    struct arena *arena = values->kernel->arena;
    loop_value product = NULL, divisor = NULL;
    for (int i = 0; i < factor->count; i++) {
        loop_value value = skeleton_value(values, stage, factor->terms[i].node);
        loop_value *side = factor->terms[i].inverse ? &divisor : &product;
        *side = *side ? loop_mul(arena, *side, value) : value;
    }
    if (!product)
        product = loop_number(arena, 1, attend->dtype);
    if (divisor)
        product = loop_apply(arena, IR_DIV, product, divisor, NULL);
    return factor->negative ? loop_apply(arena, IR_NEG, product, NULL, NULL) : product;
}

/* ---- stages of the group ---- */

/* Marks the maps that sums of the group read, however indirectly, as computed where read. */
static bool inline_maps(struct attend *attend, struct skeleton_reason *why_not)
{
    struct skeleton_group *group = &attend->group;
    const struct ir_part *part = group->part;
    bool *inlined = arena_array(group->arena, (size_t)part->stage_count + 1, sizeof *inlined);
    bool *wanted = arena_array(group->arena, (size_t)part->tensor_count + 1, sizeof *wanted);
    bool *inside = arena_array(group->arena, (size_t)part->stage_count + 1, sizeof *inside);
    memcpy(inlined, group->inlined, (size_t)part->stage_count * sizeof *inlined);
    for (int i = 0; i < group->stage_count; i++)
        inside[group->stages[i]] = true;
    for (int s = part->stage_count - 1; s >= 0; s--) {
        const struct ir_stage *stage = &part->stages[s];
        bool map = stage->kind == IR_MAP && wanted[stage->writes[0].tensor];
        if (inside[s] && map) {
            int tensor = stage->writes[0].tensor;
            if (group->needed[tensor] || !skeleton_can_inline(part, tensor))
                return REFUSE(why_not, "%s cannot be computed where it is read",
                              part->tensors[tensor].name);
            inlined[s] = true;
        }
        bool reads = (inside[s] && stage->kind == IR_REDUCE) || (inlined[s] && map);
        for (int i = 0; reads && i < group->graph->reads[s].count; i++)
            wanted[group->graph->reads[s].at[i]] = true;
    }
    group->inlined = inlined;
    return true;
}

/* The four reductions in order; the rest that is not inlined comes after. */
static bool find_stages(struct attend *attend, struct skeleton_reason *why_not)
{
    const struct skeleton_group *group = &attend->group;
    struct attend_stage *const roles[] = {&attend->score, &attend->top, &attend->total,
                                          &attend->mix};
    static const enum ir_monoid_kind kinds[] = {IR_SUM, IR_MAXIMUM, IR_SUM, IR_SUM};
    int found = 0;
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = &group->part->stages[group->stages[i]];
        if (stage->kind == IR_MAP) {
            if (group->inlined[group->stages[i]])
                continue;
            if (attend->after_count == ATTEND_MAX_AFTER)
                return REFUSE(why_not, "more than %d maps after the sums", ATTEND_MAX_AFTER);
            axes_clear(&attend->after[attend->after_count]);
            attend->after[attend->after_count++].stage = stage;
            continue;
        }
        if (stage->kind != IR_REDUCE || found == 4 || stage->monoid->kind != kinds[found])
            return REFUSE(why_not, "not a sum, a maximum and two sums");
        if (stage->index_count > ATTEND_MAX_AXES - 1 || stage->index_count - stage->left_count != 1)
            return REFUSE(why_not, "a reduction runs over more than one index");
        axes_clear(roles[found]);
        roles[found++]->stage = stage;
    }
    if (found < 4)
        return REFUSE(why_not, "not a sum, a maximum and two sums");
    if (attend->mix.stage->index_count < attend->total.stage->index_count) {
        struct attend_stage swap = attend->mix;
        attend->mix = attend->total;
        attend->total = swap;
    }
    return true;
}

static bool check_tensor(const struct attend *attend, const struct attend_stage *stage,
                         struct skeleton_reason *why_not)
{
    const struct skeleton_group *group = &attend->group;
    int number = attend_tensor(stage);
    const struct ir_tensor *tensor = &group->part->tensors[number];
    enum dtype dtype = stage->stage->nodes.at[stage->stage->writes[0].value].type;
    if (dtype != attend->dtype || !dtype_is_float(dtype))
        return REFUSE(why_not, "the sums are of different types, or of integers");
    if (tensor->declared && tensor->dtype != dtype)
        return REFUSE(why_not, "%s is rounded", tensor->name);
    if (group->graph->writers[number].count != 1)
        return REFUSE(why_not, "%s is defined in parts", tensor->name);
    for (int i = 0; i < stage->stage->index_count; i++) {
        if (!group->part->indices[stage->stage->indices[i]].extent)
            return REFUSE(why_not, "an index runs over a range");
    }
    return true;
}

static void make_axes(struct matching *matching)
{
    struct attend *attend = matching->attend;
    const struct ir_part *part = attend->group.part;
    attend->axis_count = attend->mix.stage->index_count;
    attend->feature = attend->axis_count;
    attend->key = attend->axis_count - 1;
    attend->variables =
        arena_array(matching->arena, ATTEND_MAX_AXES + 1, sizeof *attend->variables);
    for (int i = 0; i <= attend->axis_count; i++) {
        int index = i == attend->feature
                        ? attend->score.stage->indices[attend->score.stage->left_count]
                        : attend->mix.stage->indices[i];
        attend->extents[i] = part->indices[index].extent;
        attend->variables[i] =
            (struct loop_variable){part->indices[index].name, LOOP_COUNTER, {DTYPE_I64, 1}, 0};
        matching->at[i] = loop_of(matching->arena, &attend->variables[i]);
        attend->mix.axes[i] = i;
    }
    attend->score.axes[attend->score.stage->left_count] = attend->feature;
    attend->top.axes[attend->top.stage->left_count] = attend->key;
    attend->total.axes[attend->total.stage->left_count] = attend->key;
}

/* ---- what they compute ---- */

/* exp(score - top), or nothing where the score is -inf: the score. NULL: it is no weight. */
static loop_value weight_score(struct matching *matching, loop_value weight)
{
    loop_value guard = NULL;
    if (weight->op == LOOP_APPLY && weight->apply == IR_SELECT) {
        guard = weight->a;
        bool nothing = weight->b->op == LOOP_NUMBER && weight->b->number == 0;
        if (!nothing || guard->op != LOOP_APPLY || guard->apply != IR_EQ ||
            guard->b->op != LOOP_NUMBER || guard->b->number != -INFINITY)
            return NULL;
        weight = weight->c;
    }
    if (weight->op != LOOP_APPLY || weight->apply != IR_EXP || weight->a->op != LOOP_APPLY ||
        weight->a->apply != IR_SUB)
        return NULL;
    loop_value score = weight->a->a, top = weight->a->b;
    if (top->op != LOOP_VARIABLE || top->variable != &matching->top ||
        (guard && !loop_equal(guard->a, score)))
        return NULL;
    matching->attend->guarded = guard != NULL;
    return score;
}

/* The weight among the terms of the mix; the others are the values. */
static bool split_mix(struct matching *matching, loop_value *weight,
                      struct skeleton_reason *why_not)
{
    struct attend *attend = matching->attend;
    const struct ir_stage *stage = attend->mix.stage;
    struct attend_factor all = {.count = 0};
    *weight = NULL;
    if (!add_terms(&all, &stage->nodes, stage->writes[0].value, false))
        return REFUSE(why_not, "more than %d factors", ATTEND_MAX_TERMS);
    attend->values.negative = all.negative;
    for (int i = 0; i < all.count; i++) {
        loop_value value = value_of(matching, &attend->mix, all.terms[i].node);
        if (loop_mentions(value, &matching->top) && !*weight && !all.terms[i].inverse)
            *weight = value;
        else if (loop_mentions(value, &matching->top) || loop_mentions(value, &matching->score))
            return REFUSE(why_not, "the last sum is not of weights times values");
        else
            attend->values.terms[attend->values.count++] = all.terms[i];
    }
    return *weight || REFUSE(why_not, "no weight below a maximum in the last sum");
}

/* Which indices a reduction has, from where it reads the top itself. */
static bool learn_axes(struct matching *matching, struct attend_stage *stage, int tensor,
                       const struct attend_stage *of)
{
    const struct ir_nodes *nodes = &stage->stage->nodes;
    const struct ir_write *write = &of->stage->writes[0];
    for (int i = 0; i < nodes->count; i++) {
        const struct ir_node *node = &nodes->at[i];
        if (node->op != IR_READ || node->read.tensor != tensor)
            continue;
        for (int d = 0; d < matching->attend->group.part->tensors[tensor].rank; d++) {
            const struct ir_node *from = &nodes->at[node->read.at[d]];
            const struct ir_node *to = &of->stage->nodes.at[write->at[d]];
            int position = from->op == IR_INDEX ? stage_position(stage->stage, from->index) : -1;
            if (position < 0 || to->op != IR_INDEX)
                return false;
            stage->axes[position] = of->axes[stage_position(of->stage, to->index)];
        }
        return true;
    }
    return false;
}

/* All indices of a stage are axes, each another one, of the same extent. */
static bool axes_whole(const struct attend *attend, const struct attend_stage *stage)
{
    unsigned seen = 0;
    for (int i = 0; i < stage->stage->index_count; i++) {
        int axis = stage->axes[i];
        if (axis == ATTEND_NO_AXIS || seen >> axis & 1)
            return false;
        seen |= 1u << axis;
        const struct ir_size *extent = attend->group.part->indices[stage->stage->indices[i]].extent;
        if (!extent || !skeleton_sizes_equal(extent, attend->extents[axis]))
            return false;
    }
    return true;
}

/* The top and the total are of the same scores, and weights, as the mix. */
static bool match_softmax(struct matching *matching, struct skeleton_reason *why_not)
{
    struct attend *attend = matching->attend;
    struct attend_stage *top = &attend->top, *total = &attend->total, *mix = &attend->mix;
    loop_value weight, score;
    if (!split_mix(matching, &weight, why_not))
        return false;
    score = weight_score(matching, weight);
    if (!score)
        return REFUSE(why_not, "the weights are not exp(score - top)");
    if (matching->wrong || !axes_whole(attend, top) ||
        top->stage->left_count != mix->stage->left_count - 1 ||
        total->stage->left_count != top->stage->left_count ||
        !learn_axes(matching, total, attend_tensor(top), top) || !axes_whole(attend, total))
        return REFUSE(why_not, "the reductions do not run over the same");
    loop_value predicate = value_of(matching, mix, mix->stage->predicate);
    if (!same(predicate, value_of(matching, top, top->stage->predicate)) ||
        !same(predicate, value_of(matching, total, total->stage->predicate)))
        return REFUSE(why_not, "the reductions leave different keys out");
    if (!same(score, value_of(matching, top, top->stage->writes[0].value)))
        return REFUSE(why_not, "the maximum is not that of the scores");
    if (!same(weight, value_of(matching, total, total->stage->writes[0].value)))
        return REFUSE(why_not, "the weights are not those that are summed");
    if (predicate && loop_mentions(predicate, &matching->score))
        return REFUSE(why_not, "which keys count depends on the scores");
    if (!attend->guarded && predicate)
        return REFUSE(why_not, "a query that sees no key has no weight");
    return !matching->wrong || REFUSE(why_not, "a stage reads another element than its own");
}

/* The terms of a score: those of the keys, and the rest, which belongs to the queries. */
static bool match_scores(struct matching *matching, struct skeleton_reason *why_not)
{
    struct attend *attend = matching->attend;
    const struct ir_stage *stage = attend->score.stage;
    struct attend_factor all = {.count = 0};
    unsigned of_keys = 0;
    if (stage->predicate != IR_NONE || attend->group.needed[attend_tensor(&attend->score)])
        return REFUSE(why_not, "the scores are needed, or leave terms out");
    for (int i = 0; i < stage->index_count; i++) {
        if (attend->score.axes[i] == ATTEND_NO_AXIS)
            return REFUSE(why_not, "the scores have an index that is no axis");
    }
    if (!add_terms(&all, &stage->nodes, stage->writes[0].value, false))
        return REFUSE(why_not, "more than %d factors", ATTEND_MAX_TERMS);
    attend->queries.negative = all.negative;
    for (int i = 0; i < all.count; i++) {
        loop_value value = value_of(matching, &attend->score, all.terms[i].node);
        struct attend_factor *factor =
            mentions(matching, value, attend->key) ? &attend->keys : &attend->queries;
        factor->terms[factor->count++] = all.terms[i];
        for (int axis = 0; axis < attend->axis_count && factor == &attend->keys; axis++)
            of_keys |= (unsigned)mentions(matching, value, axis) << axis;
    }
    for (int i = 0; i < attend->values.count; i++) {
        loop_value value = value_of(matching, &attend->mix, attend->values.terms[i].node);
        for (int axis = 0; axis < attend->axis_count; axis++)
            of_keys |= (unsigned)mentions(matching, value, axis) << axis;
    }
    /* queries that see the same keys and values */
    for (int axis = 0; axis < attend->key; axis++) {
        if (axis != attend->channel && !(of_keys >> axis & 1))
            attend->query = axis;
    }
    if (attend->query == ATTEND_NO_AXIS || attend->keys.count == 0)
        return REFUSE(why_not, "no two queries share keys and values");
    return true;
}

/* Maps after the sums: each of its own element. */
static bool match_after(struct matching *matching, struct skeleton_reason *why_not)
{
    struct attend *attend = matching->attend;
    struct attend_stage *const from[] = {&attend->mix, &attend->total, &attend->top};
    for (int i = 0; i < attend->after_count; i++) {
        struct attend_stage *map = &attend->after[i];
        bool learnt = false;
        for (int j = 0; j < 3 && !learnt; j++)
            learnt = learn_axes(matching, map, attend_tensor(from[j]), from[j]);
        if (!learnt || !axes_whole(attend, map))
            return REFUSE(why_not, "a map after the sums does not run over the same");
        value_of(matching, map, map->stage->writes[0].value);
        for (int j = 0; j < i; j++) {
            const struct ir_numbers *readers =
                &attend->group.graph->readers[attend_tensor(&attend->after[j])];
            for (int k = 0; k < readers->count; k++) {
                if (&attend->group.part->stages[readers->at[k]] == map->stage)
                    return REFUSE(why_not, "a map after the sums reads another one");
            }
        }
    }
    return !matching->wrong || REFUSE(why_not, "a map reads another element than its own");
}

static struct loop_variable stand_in(const char *name, enum dtype dtype)
{
    return (struct loop_variable){name, LOOP_LOCAL, {dtype, 1}, 0};
}

bool attend_classify(const struct skeleton_group *group, struct attend *attend,
                     struct skeleton_reason *why_not)
{
    *attend = (struct attend){.group = *group, .query = ATTEND_NO_AXIS, .channel = ATTEND_NO_AXIS};
    struct matching matching = {.attend = attend, .arena = group->arena};
    if (group->stage_count < 4)
        return REFUSE(why_not, "fewer stages than an attention has");
    if (!inline_maps(attend, why_not) || !find_stages(attend, why_not))
        return false;
    const struct ir_stage *mix = attend->mix.stage;
    attend->dtype = mix->nodes.at[mix->writes[0].value].type;
    attend->element = (int)dtype_bytes(attend->dtype);
    const struct attend_stage *const sums[] = {&attend->score, &attend->top, &attend->total,
                                               &attend->mix};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        if (!check_tensor(attend, sums[i], why_not))
            return false;
    }
    make_axes(&matching);
    matching.score = stand_in("score", attend->dtype);
    matching.top = stand_in("top", attend->dtype);
    matching.total = stand_in("total", attend->dtype);
    matching.mix = stand_in("mix", attend->dtype);
    matching.values = (struct skeleton_values){.group = &attend->group, .resolve = resolve};
    matching.values.kernel = loop_kernel_new(group->arena, group->part);
    matching.values.context = &matching;
    matching.values.indices =
        arena_array(group->arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    if (!match_softmax(&matching, why_not))
        return false;
    unsigned seen = 0;
    for (int i = 0; i < attend->top.stage->index_count; i++)
        seen |= 1u << attend->top.axes[i];
    for (int i = 0; i < attend->axis_count; i++)
        attend->channel = seen >> i & 1 ? attend->channel : i;
    return match_scores(&matching, why_not) && match_after(&matching, why_not);
}
