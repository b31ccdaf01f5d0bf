/*
 * contract, what fits: whether a group is a sum of products with maps after it, and which of its
 * indices are rows, columns and terms.
 */
#include <stdio.h>
#include <string.h>

#include "skeleton/contract.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)

/* ---- what nodes depend on ---- */

static void node_uses(const struct ir_nodes *nodes, int number, bool *uses,
                      const struct ir_part *part)
{
    if (number == IR_NONE)
        return;
    const struct ir_node *node = &nodes->at[number];
    if (node->op == IR_INDEX)
        uses[node->index] = true;
    if (node->op == IR_READ) {
        int rank = part->tensors[node->read.tensor].rank;
        for (int i = 0; i < rank; i++)
            node_uses(nodes, node->read.at[i], uses, part);
        node_uses(nodes, node->read.guard, uses, part);
        node_uses(nodes, node->read.otherwise, uses, part);
        return;
    }
    int count = ir_op_arguments(node->op);
    const int arguments[] = {node->a, node->b, node->c};
    for (int i = 0; i < count; i++)
        node_uses(nodes, arguments[i], uses, part);
}

/* ---- the product ---- */

static bool add_terms(struct contract *contract, int number, bool inverse)
{
    const struct ir_node *node = &contract->stage->nodes.at[number];
    if (node->op == IR_MUL)
        return add_terms(contract, node->a, inverse) && add_terms(contract, node->b, inverse);
    if (node->op == IR_DIV && !inverse)
        return add_terms(contract, node->a, false) && add_terms(contract, node->b, true);
    if (node->op == IR_NEG) {
        contract->negative = !contract->negative;
        return add_terms(contract, node->a, inverse);
    }
    if (contract->term_count == CONTRACT_MAX_TERMS)
        return false;
    contract->terms[contract->term_count++] = (struct contract_term){number, inverse, false};
    return true;
}

/* Which indices each factor depends on when the terms in `second` are the second one. */
static void factors_use(const struct contract *contract, unsigned second, bool *uses[2])
{
    const struct ir_part *part = contract->group->part;
    for (int side = 0; side < 2; side++)
        memset(uses[side], 0, (size_t)part->index_count * sizeof(bool));
    for (int i = 0; i < contract->term_count; i++)
        node_uses(&contract->stage->nodes, contract->terms[i].node, uses[second >> i & 1], part);
}

static double extent_size(const struct skeleton_group *group, int index)
{
    int64_t size = 1;
    if (group->binding)
        ir_size_eval(group->part->indices[index].extent, group->binding->sizes, &size);
    return size > 0 ? (double)size : 1;
}

static void fill_sets(struct contract *contract, unsigned second, bool *uses[2])
{
    const struct ir_stage *stage = contract->stage;
    factors_use(contract, second, uses);
    for (int i = 0; i < CONTRACT_SETS; i++) {
        contract->sets[i].count = 0;
        contract->sets[i].size = 1;
    }
    for (int i = 0; i < stage->index_count; i++) {
        int index = stage->indices[i];
        bool a = uses[0][index], b = uses[1][index];
        enum contract_set set = i >= stage->left_count ? CONTRACT_K
                                : a && !b              ? CONTRACT_M
                                : b && !a              ? CONTRACT_N
                                                       : CONTRACT_BATCH;
        struct contract_indices *indices = &contract->sets[set];
        indices->at[indices->count++] = index;
        indices->size *= extent_size(contract->group, index);
    }
}

/* The more rows and columns there are, the more often what is read is used. */
static double reuse(const struct contract *contract)
{
    double m = contract->sets[CONTRACT_M].size, n = contract->sets[CONTRACT_N].size;
    return m * n / (m + n);
}

static bool depends(const struct contract *contract, const bool *uses)
{
    for (int i = 0; i < contract->stage->index_count; i++) {
        if (uses[contract->stage->indices[i]])
            return true;
    }
    return false;
}

/* The terms shared out between the two factors: the way that reuses most. */
static unsigned choose_factors(struct contract *contract, bool *uses[2])
{
    unsigned best = 0;
    double best_reuse = -1;
    for (unsigned second = 1; second + 1 < 1u << contract->term_count; second++) {
        fill_sets(contract, second, uses);
        bool empty = contract->sets[CONTRACT_M].count + contract->sets[CONTRACT_N].count == 0;
        if (!empty && depends(contract, uses[0]) && depends(contract, uses[1]) &&
            reuse(contract) > best_reuse) {
            best_reuse = reuse(contract);
            best = second;
        }
    }
    return best;
}

/* The index whose neighbours are neighbours in memory where the sum is written; or IR_NONE. */
static int written_fastest(const struct contract *contract)
{
    const struct ir_stage *stage = contract->stage;
    const struct ir_part *part = contract->group->part;
    int rank = part->tensors[contract->tensor].rank;
    bool *uses = arena_array(contract->group->arena, (size_t)part->index_count + 1, sizeof(bool));
    if (rank == 0)
        return IR_NONE;
    node_uses(&stage->nodes, stage->writes[0].at[rank - 1], uses, part);
    for (int i = stage->left_count - 1; i >= 0; i--) {
        if (uses[stage->indices[i]])
            return stage->indices[i];
    }
    return IR_NONE;
}

static bool set_has(const struct contract_indices *set, int index)
{
    for (int i = 0; i < set->count; i++) {
        if (set->at[i] == index)
            return true;
    }
    return false;
}

/* Whether a factor is an element of a tensor, and those for neighbours of the index its
 * neighbours. */
static bool factor_is_contiguous(const struct contract *contract, bool second, int index)
{
    const struct ir_nodes *nodes = &contract->stage->nodes;
    const struct ir_part *part = contract->group->part;
    int read = IR_NONE;
    for (int i = 0; i < contract->term_count; i++) {
        if (contract->terms[i].second != second)
            continue;
        if (read != IR_NONE || nodes->at[contract->terms[i].node].op != IR_READ)
            return false;
        read = contract->terms[i].node;
    }
    const struct ir_node *node = &nodes->at[read];
    int rank = part->tensors[node->read.tensor].rank;
    bool *uses = arena_array(contract->group->arena, (size_t)part->index_count + 1, sizeof(bool));
    for (int i = 0; i + 1 < rank; i++)
        node_uses(nodes, node->read.at[i], uses, part);
    const struct ir_node *last = rank > 0 ? &nodes->at[node->read.at[rank - 1]] : node;
    return last->op == IR_INDEX && last->index == index && !uses[index] && !node->read.checked &&
           node->read.guard == IR_NONE;
}

static void share_terms(struct contract *contract, unsigned second)
{
    for (int i = 0; i < contract->term_count; i++)
        contract->terms[i].second = second >> i & 1;
}

static bool choose_sets(struct contract *contract, bool exchange, struct skeleton_reason *why_not)
{
    const struct skeleton_group *group = contract->group;
    bool *uses[2];
    for (int i = 0; i < 2; i++)
        uses[i] = arena_array(group->arena, (size_t)group->part->index_count + 1, sizeof(bool));
    if (contract->term_count < 2) /* nothing is used again */
        return REFUSE(why_not, "the sum is of no product");
    unsigned second = choose_factors(contract, uses);
    if (!second)
        return REFUSE(why_not, "no two factors of the sum have indices of their own");
    fill_sets(contract, second, uses);
    int fastest = written_fastest(contract);
    bool swap = contract->sets[CONTRACT_N].count == 0 ||
                (contract->sets[CONTRACT_M].count > 0 && fastest != IR_NONE &&
                 set_has(&contract->sets[CONTRACT_M], fastest));
    if (swap)
        fill_sets(contract, second = ~second, uses);
    share_terms(contract, second);
    if (contract->sets[CONTRACT_M].size < 2 && contract->sets[CONTRACT_K].count > 1)
        return REFUSE(why_not, "one row and a window: packing costs more than it saves");
    if (exchange && contract->sets[CONTRACT_M].count == 0)
        return REFUSE(why_not, "there are no rows to run in lanes");
    if (exchange) {
        fill_sets(contract, second = ~second, uses);
        share_terms(contract, second);
    }
    /* lanes along what is written fastest */
    struct contract_indices *columns = &contract->sets[CONTRACT_N];
    for (int i = 0; i + 1 < columns->count; i++) {
        if (columns->at[i] == fastest) {
            int last = columns->at[columns->count - 1];
            columns->at[columns->count - 1] = fastest;
            columns->at[i] = last;
        }
    }
    const struct contract_indices *terms = &contract->sets[CONTRACT_K];
    contract->columns_contiguous =
        factor_is_contiguous(contract, true, columns->at[columns->count - 1]);
    contract->rows_contiguous =
        terms->count == 1 && factor_is_contiguous(contract, false, terms->at[0]);
    contract->rows_adjacent =
        contract->sets[CONTRACT_M].count == 1 &&
        factor_is_contiguous(contract, false, contract->sets[CONTRACT_M].at[0]);
    contract->terms_contiguous =
        terms->count == 1 && factor_is_contiguous(contract, true, terms->at[0]);
    contract->written_contiguous = columns->at[columns->count - 1] == fastest;
    return true;
}

/* ---- maps after the sum ---- */

/* A read of the sum, or of a map of it, is of the very element being computed. */
static bool reads_same_element(const struct contract *contract, const struct ir_stage *stage,
                               const struct ir_node *read)
{
    const struct ir_part *part = contract->group->part;
    const struct ir_tensor *tensor = &part->tensors[contract->tensor];
    if (tensor->rank != stage->index_count || read->read.guard != IR_NONE || read->read.checked)
        return false;
    for (int i = 0; i < tensor->rank; i++) {
        const struct ir_node *at = &stage->nodes.at[read->read.at[i]];
        if (at->op != IR_INDEX || !part->indices[at->index].extent ||
            !skeleton_sizes_equal(part->indices[at->index].extent, tensor->dims[i]))
            return false;
        for (int j = 0; j < i; j++) {
            if (stage->nodes.at[read->read.at[j]].index == at->index)
                return false;
        }
    }
    return true;
}

static bool defined_here(const struct contract *contract, int tensor)
{
    for (int i = 0; i < contract->after_count; i++) {
        if (contract->after[i]->writes[0].tensor == tensor)
            return true;
    }
    return tensor == contract->tensor;
}

/* Maps of maps: their places must be the same as the sum's, index by index. */
static bool writes_same_element(const struct contract *contract, const struct ir_stage *stage,
                                const int *places)
{
    const struct ir_part *part = contract->group->part;
    const struct ir_tensor *tensor = &part->tensors[stage->writes[0].tensor];
    if (tensor->rank != part->tensors[contract->tensor].rank)
        return false;
    for (int i = 0; i < tensor->rank; i++) {
        const struct ir_node *at = &stage->nodes.at[stage->writes[0].at[i]];
        if (at->op != IR_INDEX || at->index != stage->nodes.at[places[i]].index)
            return false;
    }
    return true;
}

static bool add_map(struct contract *contract, const struct ir_stage *stage, bool last,
                    struct skeleton_reason *why_not)
{
    const int *places = NULL;
    for (int i = 0; i < stage->nodes.count; i++) {
        const struct ir_node *node = &stage->nodes.at[i];
        if (node->op != IR_READ || !defined_here(contract, node->read.tensor))
            continue;
        if (!reads_same_element(contract, stage, node))
            return REFUSE(why_not, "a map reads another element of the sum than its own");
        for (int j = 0; places && j < stage->index_count; j++) {
            if (stage->nodes.at[places[j]].index != stage->nodes.at[node->read.at[j]].index)
                return REFUSE(why_not, "a map reads two different elements of the sum");
        }
        places = node->read.at;
    }
    if (!places)
        return REFUSE(why_not, "a map of the group does not read the sum");
    if (!last && !writes_same_element(contract, stage, places))
        return REFUSE(why_not, "a map in the middle writes in another order than the sum");
    if (contract->after_count == CONTRACT_MAX_AFTER)
        return REFUSE(why_not, "more than %d maps after the sum", CONTRACT_MAX_AFTER);
    contract->after[contract->after_count++] = stage;
    return true;
}

/* ---- the whole ---- */

static bool check_sum(const struct skeleton_group *group, const struct ir_stage *stage,
                      struct skeleton_reason *why_not)
{
    if (stage->kind != IR_REDUCE || stage->monoid->kind != IR_SUM)
        return REFUSE(why_not, "the first stage is no sum");
    if (stage->predicate != IR_NONE && !group->target->device) /* which looks for itself */
        return REFUSE(why_not, "the sum leaves terms out");
    if (stage->index_count > CONTRACT_MAX_INDICES)
        return REFUSE(why_not, "more than %d indices", CONTRACT_MAX_INDICES);
    for (int i = 0; i < stage->index_count; i++) {
        if (!group->part->indices[stage->indices[i]].extent)
            return REFUSE(why_not, "an index runs over a range");
    }
    return true;
}

bool contract_add_maps(struct contract *contract, struct skeleton_reason *why_not)
{
    const struct skeleton_group *group = contract->group;
    const struct ir_part *part = group->part;
    for (int i = 1; i < group->stage_count; i++) {
        const struct ir_stage *map = &part->stages[group->stages[i]];
        if (map->kind != IR_MAP)
            return REFUSE(why_not, "what follows the sum is no map");
        if (!add_map(contract, map, i + 1 == group->stage_count, why_not))
            return false;
    }
    for (int i = 0; i < part->stage_count; i++) {
        if (&part->stages[i] != contract->stage && part->stages[i].kind != IR_LOOP &&
            part->stages[i].writes[0].tensor == contract->tensor)
            return REFUSE(why_not, "the sum defines a part of its tensor only");
    }
    return true;
}

bool contract_classify_plan(const struct skeleton_group *group, const struct plan_group *plan,
                            struct contract *contract, struct skeleton_reason *why_not)
{
    const struct ir_part *part = group->part;
    const struct ir_stage *stage = &part->stages[group->stages[0]];
    if (!check_sum(group, stage, why_not))
        return false;
    *contract = (struct contract){.group = group, .stage = stage};
    contract->tensor = stage->writes[0].tensor;
    contract->dtype = stage->nodes.at[stage->writes[0].value].type;
    contract->element = (int)dtype_bytes(contract->dtype);
    if (!add_terms(contract, stage->writes[0].value, false))
        return REFUSE(why_not, "more than %d factors", CONTRACT_MAX_TERMS);
    if (!choose_sets(contract, plan && plan_is(plan, "lanes", "rows"), why_not) ||
        !contract_find_factors(contract, why_not))
        return false;
    if (!contract_add_maps(contract, why_not))
        return false;
    contract->mergeable = contract_mergeable(contract);
    return true;
}

bool contract_classify(const struct skeleton_group *group, struct contract *contract,
                       struct skeleton_reason *why_not)
{
    return contract_classify_plan(group, NULL, contract, why_not);
}
