/*
 * contract, lanes over several indices: which of the last indices of N are one in everything that
 * the sum and the maps after it write and read, so that a vector may go on in the next line.
 */
#include "skeleton/contract.h"

bool contract_mentions(const struct ir_part *part, const struct ir_nodes *nodes, int number,
                       const int *indices, int count)
{
    if (number == IR_NONE)
        return false;
    const struct ir_node *node = &nodes->at[number];
    for (int i = 0; i < count && node->op == IR_INDEX; i++) {
        if (node->index == indices[i])
            return true;
    }
    if (node->op == IR_READ) {
        int rank = part->tensors[node->read.tensor].rank;
        for (int i = 0; i < rank; i++) {
            if (contract_mentions(part, nodes, node->read.at[i], indices, count))
                return true;
        }
        return contract_mentions(part, nodes, node->read.guard, indices, count) ||
               contract_mentions(part, nodes, node->read.otherwise, indices, count);
    }
    const int arguments[] = {node->a, node->b, node->c};
    int used = ir_op_arguments(node->op);
    for (int i = 0; i < used; i++) {
        if (contract_mentions(part, nodes, arguments[i], indices, count))
            return true;
    }
    return false;
}

/* The last places of an element are the indices themselves, and lines are as long as they. */
static bool places_are_one(const struct ir_part *part, const struct ir_nodes *nodes,
                           const struct ir_tensor *tensor, const int *at, const int *indices,
                           int count)
{
    int first = tensor->rank - count;
    if (first < 0)
        return false;
    for (int i = 0; i < tensor->rank; i++) {
        if (i < first) {
            if (contract_mentions(part, nodes, at[i], indices, count))
                return false;
            continue;
        }
        const struct ir_node *place = &nodes->at[at[i]];
        int index = indices[i - first];
        if (place->op != IR_INDEX || place->index != index || !part->indices[index].extent ||
            !skeleton_sizes_equal(part->indices[index].extent, tensor->dims[i]))
            return false;
    }
    return true;
}

/* Whether anybody computes the tensor where it is read. */
static bool inlined(const struct skeleton_group *group, int tensor)
{
    const struct ir_numbers *writers = &group->graph->writers[tensor];
    for (int i = 0; i < writers->count; i++) {
        if (group->inlined[writers->at[i]])
            return true;
    }
    return false;
}

/* The node's value is the same when the last index is counted through and the others are 0: what
 * it reads is one in memory, too, or does not have the indices. */
static bool value_is_one(const struct skeleton_group *group, const struct ir_nodes *nodes,
                         int number, const int *indices, int count)
{
    const struct ir_part *part = group->part;
    const struct ir_node *node = &nodes->at[number];
    if (!contract_mentions(part, nodes, number, indices, count))
        return true;
    if (node->op == IR_READ)
        return node->read.guard == IR_NONE && !node->read.checked &&
               !inlined(group, node->read.tensor) &&
               places_are_one(part, nodes, &part->tensors[node->read.tensor], node->read.at,
                              indices, count);
    const int arguments[] = {node->a, node->b, node->c};
    int used = ir_op_arguments(node->op);
    bool one = node->op != IR_INDEX;
    for (int i = 0; i < used && one; i++)
        one = value_is_one(group, nodes, arguments[i], indices, count);
    return one;
}

/* The indices of a map that stand where the sum's last ones do. */
static bool map_indices(const struct contract *contract, const struct ir_stage *map, int *indices,
                        int count)
{
    const struct ir_part *part = contract->group->part;
    int rank = part->tensors[contract->tensor].rank;
    for (int i = 0; i < map->nodes.count; i++) {
        const struct ir_node *node = &map->nodes.at[i];
        bool sum = node->op == IR_READ && node->read.tensor == contract->tensor;
        for (int j = 0; j < contract->after_count && node->op == IR_READ; j++)
            sum |= node->read.tensor == contract->after[j]->writes[0].tensor;
        if (!sum)
            continue;
        for (int j = 0; j < count; j++)
            indices[j] = map->nodes.at[node->read.at[rank - count + j]].index;
        return true;
    }
    return false;
}

static bool merges(const struct contract *contract, int count)
{
    const struct skeleton_group *group = contract->group;
    const struct ir_part *part = group->part;
    const struct contract_indices *n = &contract->sets[CONTRACT_N];
    const struct ir_stage *sum = contract->stage;
    if (!places_are_one(part, &sum->nodes, &part->tensors[contract->tensor], sum->writes[0].at,
                        &n->at[n->count - count], count))
        return false;
    for (int i = 0; i < contract->after_count; i++) {
        const struct ir_stage *map = contract->after[i];
        const struct ir_write *write = &map->writes[0];
        int indices[CONTRACT_MAX_INDICES];
        if (!map_indices(contract, map, indices, count) ||
            !value_is_one(group, &map->nodes, write->value, indices, count) ||
            !places_are_one(part, &map->nodes, &part->tensors[write->tensor], write->at, indices,
                            count))
            return false;
    }
    return true;
}

int contract_mergeable(const struct contract *contract)
{
    int count = 1;
    while (count < contract->sets[CONTRACT_N].count && merges(contract, count + 1))
        count++;
    return count;
}
